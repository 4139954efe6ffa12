"""The backends cuda and auto with a plugin beside the program: tests/toy/toy_device.c in the
place of the GPU's, which claims and fails what the environment says."""

import json
import os
import re
import shutil
import subprocess

from small import Trained
from support import BUILD, EASE, PATIENCE, Result, main

LIBRARY = "libease-cuda.so"
NO_MEMORY, INACCURATE = 4, 5  # exit codes
NARROW = "the backend's fast arithmetic is not enough here (residual 1.0e-01): solving again in " \
         "plain float32"
WIDE = "float32 is not enough here (residual 1.0e-01): solving again in float64"
HOST = "float64 does not fit into the memory of the GPU: solving on the processors"


def plugin(name):
    return os.path.join(BUILD, "tests", f"lib{name}.so")


class Plugin(Trained):
    def setUp(self):
        super().setUp()
        shutil.copy(EASE, self.path("ease"))
        shutil.copy(plugin("toy_device"), self.path(LIBRARY))

    def beside(self, *args, code=0, **env):
        """Runs the copy of the program that has the plugin beside it."""
        done = subprocess.run([self.path("ease"), *map(str, args)], cwd=self.dir, check=False,
                              env={**os.environ, **{k: str(v) for k, v in env.items()}},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)
        r = Result(done.returncode, done.stdout, done.stderr)
        self.assertNotIn("Sanitizer", r.err, r)
        self.assertEqual(r.code, code, r)
        return r

    def train(self, model, backend="cuda", *more, **how):
        return self.beside("train", "ratings.csv", "-o", model, "--lambda", "2", "--backend",
                           backend, *more, **how)

    def told(self, result):
        """What was said about arithmetic and backends."""
        lines = [re.sub(r"^ease: (warning: |note: )?", "", line)
                 for line in result.err.splitlines()]
        return [line for line in lines if re.search("float|backend|processors", line)]

    def assert_weights(self, model):
        """They are those of the processors, but for rounding."""
        self.beside("train", "ratings.csv", "-o", "cpu.ease", "--lambda", "2")
        rows = {}
        for name in (model, "cpu.ease"):
            text = self.beside("recommend", name, "--history", "react,lodash", "-k", "5",
                               "--csv").out
            rows[name] = [line.split(",") for line in text.splitlines()]
        got, want = rows[model], rows["cpu.ease"]
        self.assertEqual([r[:-1] for r in got if r[-1] == "score"],
                         [r[:-1] for r in want if r[-1] == "score"])
        self.assertEqual(len(got), len(want))
        for a, b in zip(got[1:], want[1:]):
            for x, y in zip(a, b):
                try:
                    self.assertAlmostEqual(float(x), float(y), places=5)
                except ValueError:
                    self.assertEqual(x, y)

    def test_a_plugin_beside_the_program_is_found(self):
        listed = {b["name"]: b for b in json.loads(
            self.beside("info", "--backends", "--json").out)["backends"]}
        self.assertTrue(listed["cuda"]["usable"])
        self.assertIsNone(listed["cuda"]["why_not"])
        self.assertEqual(self.told(self.train("m.ease")), [])
        self.assert_weights("m.ease")

    def test_without_one_the_message_says_how_to_get_it(self):
        os.remove(self.path(LIBRARY))
        listed = {b["name"]: b for b in json.loads(
            self.beside("info", "--backends", "--json").out)["backends"]}
        if listed["cuda"]["usable"]:
            self.skipTest("a plugin is installed")
        self.assertIn("`make cuda` builds it", self.train("m.ease", code=1).err)

    def test_one_of_another_version_is_refused(self):
        shutil.copy(plugin("refused_OTHER_ABI"), self.path(LIBRARY))
        self.assertIn("a plugin of another version: it does not have ABI",
                      self.train("m.ease", code=1).err)

    def test_a_device_that_is_too_small_is_refused_by_numbers(self):
        r = self.train("m.ease", code=NO_MEMORY, TOY_NEEDS=80e9, TOY_AVAILABLE=24e9)
        self.assertIn("8 items need 80.0 GB of the device's memory, 24.0 GB are available there",
                      r.err)
        self.assertFalse(os.path.exists(self.path("m.ease")))
        r = self.train("m.ease", "cuda", "--device-memory", "1G", code=NO_MEMORY, TOY_NEEDS=2e9,
                       TOY_AVAILABLE=24e9)
        self.assertRegex(r.err, r"need 2\.00? GB of the device's memory, 1\.\d+ GB are available")

    def test_each_arithmetic_that_fails_is_told_and_followed_by_the_next(self):
        for letters, lines in (("a", [NARROW]), ("ab", [NARROW, WIDE])):
            with self.subTest(letters):
                self.assertEqual(self.told(self.train("m.ease", TOY_FAILS=letters)), lines)
                self.assert_weights("m.ease")

    def test_the_processors_come_last(self):
        r = self.train("m.ease", TOY_FAILS="abc", TOY_NEEDS=20e9, TOY_AVAILABLE=24e9)
        self.assertEqual(self.told(r), [NARROW, WIDE, HOST])
        self.assert_weights("m.ease")

    def test_an_inverse_that_is_never_right_is_an_error(self):
        r = self.train("m.ease", code=INACCURATE, TOY_FAILS="abc")
        self.assertEqual(self.told(r)[:2], [NARROW, WIDE])
        self.assertIn("the solution fails its check (residual 1.0e-01", r.err)
        self.assertFalse(os.path.exists(self.path("m.ease")))

    def test_float64_works_on_the_device_if_it_is_asked_for(self):
        self.assertEqual(self.told(self.train("m.ease", "cuda", "--precision", "f64",
                                              TOY_FAILS="ab")), [])
        r = self.train("m.ease", "cuda", "--precision", "f64", TOY_NEEDS=20e9,
                       TOY_AVAILABLE=24e9, TOY_FAILS="abc")
        self.assertEqual(self.told(r), [HOST])

    def test_auto_takes_the_backend_that_promises_to_be_faster(self):
        self.assertEqual(self.told(self.train("m.ease", "auto")), ["backend cuda"])
        self.assert_weights("m.ease")
        self.train("cpu.ease", "cpu")
        for env in ({"TOY_RATE": 1}, {"TOY_NEEDS": 80e9}):
            with self.subTest(env):
                self.assertEqual(self.told(self.train("m.ease", "auto", **env)), [])
                self.assertEqual(self.read("m.ease"), self.read("cpu.ease"))

    def test_auto_decides_once(self):
        for first, later, said in ((1e15, 1, ["backend cuda"]), (1, 1e15, [])):
            with self.subTest(first=first):
                r = self.train("m.ease", "auto", TOY_RATE=first, TOY_RATE_LATER=later)
                self.assertEqual(self.told(r), said)

    def test_auto_follows_a_failure_as_its_choice_does(self):
        self.assertEqual(self.told(self.train("m.ease", "auto", TOY_FAILS="a")),
                         ["backend cuda", NARROW])

    def test_the_plan_of_auto_has_the_rate_of_its_choice(self):
        facts = json.loads(self.beside("plan", "ratings.csv", "--backend", "auto", "--json",
                                       TOY_RATE=1e15).out)
        self.assertEqual(facts["gflops"], 1e6)
        self.assertEqual(facts["device_bytes"], 1e6)

    def test_a_search_tells_that_float32_was_not_enough(self):
        self.beside("synth", "-o", "more.csv", "--users", 300, "--items", 50, "--interactions",
                    5000)
        self.beside("split", "more.csv", "-o", "split", "--protocol", "random", "-q")
        r = self.beside("tune", "split", "-o", "m.ease", "--lambda", "1,10", "--backend", "cuda",
                        TOY_FAILS="a")
        for value in (1, 10):
            self.assertIn(f"lambda {value}: float32 is not enough: solving again in float64",
                          r.err)


if __name__ == "__main__":
    main()
