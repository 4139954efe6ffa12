"""A method, a metric, a reader and a backend are each added by one file and one line in one table:
a copy of the sources gets tests/toy/ in this way, and everything else follows."""
import csv
import io
import json
import os
import re
import shutil
import subprocess
import tempfile

import support

# The file, where it goes, the header with the table, and the line.
TOYS = [("toy_method.c", "src/methods", "src/methods/methods.h", "METHOD(ease__toy_method)"),
        ("toy_weights.c", "src/methods", "src/methods/methods.h", "METHOD(ease__toy_weights)"),
        ("toy_metric.c", "src/eval", "src/eval/metrics.h", "METRIC(ease__toy_metric)"),
        ("toy_reader.c", "src/read", "src/read/readers.h", "READER(ease__toy_reader)"),
        ("toy_backend.c", "src/solve", "src/solve/backends.h", "BACKEND(ease__toy_backend)")]
SUITES = ["test_method_contract", "test_form_contract", "test_metric_contract",
          "test_reader_contract", "test_backends"]


def checked(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}\n{done.stdout[-6000:]}")
    return done.stdout


def copy_sources(to):
    """What git has, as it is now; a tree without git as a whole, but for its build."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=support.ROOT, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=False)
    if listed.returncode:
        shutil.copytree(support.ROOT, to, ignore=shutil.ignore_patterns("build"))
        return
    for name in filter(None, listed.stdout.decode().split("\0")):
        place = os.path.join(to, name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if os.path.exists(os.path.join(support.ROOT, name)):
            shutil.copy(os.path.join(support.ROOT, name), place)


def add_line(path, line):
    """Below the first entry of the table, which is a macro; one that stands beside the macro's
    name gets a line of its own."""
    with open(path) as f:
        text = f.read()
    entry = re.escape(line.split("(")[0])
    text, tables = re.subn(rf"(?m)( +{entry}\(ease__\w+\))( *\\)?$", rf"\1 \\\n    {line}\2", text,
                           count=1)
    assert tables == 1, path
    with open(path, "w") as f:
        f.write(text)


class Toys(support.Case):
    @classmethod
    def setUpClass(cls):
        cls.tree = tempfile.mkdtemp(prefix="ease-toys-")
        cls.addClassCleanup(shutil.rmtree, cls.tree, ignore_errors=True)
        copy_sources(cls.tree)
        for name, folder, header, line in TOYS:
            shutil.copy(os.path.join(support.ROOT, "tests", "toy", name),
                        os.path.join(cls.tree, folder))
            add_line(os.path.join(cls.tree, header), line)
        build = os.path.join(cls.tree, "build")
        checked("cmake", "-S", cls.tree, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
                "-DCMAKE_C_FLAGS=-DEASE_TOY_READER", "-DCMAKE_C_FLAGS_DEBUG=-O1")
        checked("cmake", "--build", build, "--target", "ease", *SUITES)
        cls.built, support.EASE = support.EASE, os.path.join(build, "ease")

    @classmethod
    def tearDownClass(cls):
        support.EASE = cls.built

    def suite(self, name):
        """All of its tests pass, in the copy."""
        done = subprocess.run([os.path.join(self.tree, "build", "tests", name)], cwd=self.tree,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=dict(os.environ, OMP_WAIT_POLICY="passive"), check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"(?m)^[1-9]\d* passed, 0 failed, 0 skipped$")

    def test_every_contract_holds_for_them(self):
        for name in SUITES:
            with self.subTest(suite=name):
                self.suite(name)

    def test_the_order_of_folders_is_kept(self):
        checked(os.path.join(self.tree, "scripts", "check-structure"), self.tree)

    def test_help_and_messages_name_them(self):
        self.assertRegex(self.ease("help", "models").out, r"(?m)^toy: items in their order$")
        self.assertRegex(self.ease("help", "metrics").out, r"(?m)^toy@K: 1 if the first item")
        self.assertRegex(self.ease("help", "formats").out, r"(?m)^toy: ")
        self.write("x.csv", "user,item\nu,a\nv,b\n")
        self.fails(2, "\\btoy\\b", "train", "x.csv", "-o", "m", "--model", "none")
        self.fails(2, "\\btoy\\b", "train", "x.csv", "-o", "m", "--lambda", 1, "--format", "none")
        self.ease("train", "x.csv", "-o", "m", "--lambda", 1)
        self.fails(2, "\\btoy\\b", "eval", "m", "--input", "x.csv", "--target", "x.csv",
                   "--metrics", "none@10")

    def test_a_backend_solves(self):
        self.assertRegex(self.ease("info", "--backends").out, r"(?m)^toy: an example")
        self.assertIn("cpu, toy, cuda or auto; the backend",
                      " ".join(self.ease("train", "--help").out.split()))
        self.write("x.csv", "user,item\n" + "".join(f"u{u},i{(u * k) % 7}\n" for u in range(30)
                                                    for k in range(1, 4)))
        found = []
        for backend in ("cpu", "toy"):
            self.ease("train", "x.csv", "-o", backend, "--lambda", 2, "--storage", "f32", "--backend",
                      backend)
            rows = csv.DictReader(io.StringIO(self.ease("similar", backend, "i1", "--csv").out))
            found.append({row["other"]: float(row["similarity"]) for row in rows})
        self.assertEqual(found[0].keys(), found[1].keys())
        for item, similarity in found[0].items():
            self.assertAlmostEqual(found[1][item], similarity, delta=1e-5)
        self.fails(1, "backend toy solves in memory only", "train", "x.csv", "-o", "m", "--lambda", 2,
                   "--backend", "toy", "--workdir", ".")

    def test_they_work_from_end_to_end(self):
        # Items are numbered as they appear: a 0, b 1, c 2, d 3.
        self.write("train.toy", "#toy\nu|a\nu|b\nv|c\nv|d\nw|a\nw|d\n")
        self.write("held.toy", "#toy\nu|c\nv|b\nw|c\n")
        self.ease("train", "train.toy", "-o", "m.ease", "--model", "toy", "--set", "step=2")
        info = json.loads(self.ease("info", "m.ease", "--json").out)
        self.assertEqual((info["method"], info["settings"], info["items"]), ("toy", "step=2", 4))
        lists = [json.loads(line) for line in self.ease(
            "recommend", "m.ease", "--users", "train.toy", "--json").out.splitlines()]
        self.assertEqual([[(i["id"], i["score"]) for i in line["items"]] for line in lists],
                         [[("c", 2), ("d", 0)], [("a", 6), ("b", 4)], [("b", 4), ("c", 2)]])
        # Only the first item of u was held out.
        got = json.loads(self.ease("eval", "m.ease", "--input", "train.toy", "--target",
                                   "held.toy", "--metrics", "toy@10,hit@1,hit@2", "--json").out)
        means = {name: metric["mean"] for name, metric in got["metrics"].items()}
        self.assertAlmostEqual(means["toy@10"], 1 / 3, delta=1e-12)
        self.assertEqual(means["toy@10"], means["hit@1"])
        self.assertEqual(means["hit@2"], 1)

    def test_a_method_may_have_a_lambda_few_weights_and_settings(self):
        self.write("x.csv", "user,item\nu,a\nu,b\nv,c\nv,d\nw,a\n")
        self.fails(3, "lambda cannot be chosen: .* held out, and only 0 users", "train", "x.csv",
                   "-o", "m", "--model", "toy-weights")
        self.ease("train", "x.csv", "-o", "m", "--model", "toy-weights", "--lambda", 4, "--set",
                  "reach=2")
        info = json.loads(self.ease("info", "m", "--json").out)
        self.assertEqual([info[k] for k in ("method", "settings", "lambda", "storage")],
                         ["toy-weights", "reach=2", 4, "sparse"])
        best = json.loads(self.ease("recommend", "m", "--history", "a", "--json").out)["items"]
        self.assertEqual([(i["id"], i["score"]) for i in best],
                         [("b", 0.25), ("c", 0.25), ("d", 0)])

    def test_a_split_is_tuned_over_the_grid_of_the_entry(self):
        self.write("x.toy", "#toy\n" + "".join(f"u{u}|i{(u * k) % 17}\n" for u in range(40)
                                               for k in range(1, 12)))
        self.ease("split", "x.toy", "-o", "s", "--protocol", "random")
        tuned = json.loads(self.ease("tune", "s", "-o", "t.ease", "--model", "toy", "--metric",
                                     "toy@10", "--json").out)
        self.assertEqual([t["settings"] for t in tuned["trials"]], ["step=1", "step=2"])
        self.assertEqual((tuned["model"], tuned["settings"]), ("toy", "step=1"))


if __name__ == "__main__":
    support.main()
