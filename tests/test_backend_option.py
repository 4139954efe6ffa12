"""--backend in the verbs that solve, and the list of backends."""

import csv
import io
import json

from small import Trained
from support import main

SOLVING = ("train", "update", "tune", "compare", "reproduce", "plan", "bench")


class Backends(Trained):
    def names(self):
        return [b["name"] for b in json.loads(self.ease("info", "--backends",
                                                        "--json").out)["backends"]]

    def make_split(self):
        self.ease("synth", "-o", "more.csv", "--users", 300, "--items", 50, "--interactions",
                  5000)
        self.ease("split", "more.csv", "-o", "split", "--protocol", "random", "-q")

    def test_info_lists_what_there_is(self):
        listed = json.loads(self.ease("info", "--backends", "--json").out)["backends"]
        self.assertEqual(listed[0]["name"], "cpu")
        self.assertTrue(listed[0]["usable"])
        self.assertIsNone(listed[0]["why_not"])
        rows = list(csv.DictReader(io.StringIO(self.ease("info", "--backends", "--csv").out)))
        self.assertEqual([r["name"] for r in rows], [b["name"] for b in listed])
        self.assertEqual((rows[0]["usable"], rows[0]["why_not"]), ("true", ""))
        self.assertEqual([line for line in self.ease("info", "--backends").out.splitlines()
                          if not line.startswith(" ")],
                         [f"{b['name']}: {b['about']}" for b in listed])

    def test_backends_that_cannot_be_used_here_say_why(self):
        for b in json.loads(self.ease("info", "--backends", "--json").out)["backends"]:
            if b["usable"]:
                continue
            self.assertIn(f"backend {b['name']} cannot be used here: ", b["why_not"])
            self.fails(1, b["why_not"], "train", "ratings.csv", "-o", "m", "--lambda", "2",
                       "--backend", b["name"])

    def test_auto_gives_the_model_of_the_only_backend(self):
        usable = [b["name"] for b in json.loads(
            self.ease("info", "--backends", "--json").out)["backends"] if b["usable"]]
        if usable != ["cpu", "auto"]:
            self.skipTest("more than one backend can be used here")
        for name in usable:
            self.ease("train", "ratings.csv", "-o", name + ".ease", "--lambda", "2",
                      "--backend", name)
        self.assertEqual(self.read("auto.ease"), self.read("cpu.ease"))

    def test_info_has_a_file_or_backends(self):
        self.fails(2, "either FILE or --backends is required", "info")
        self.fails(2, "not both", "info", "model.ease", "--backends")
        self.fails(2, "--verify", "info", "--backends", "--verify")

    def test_help_has_the_names_of_the_table(self):
        for verb in SOLVING:
            text = " ".join(self.ease(verb, "--help").out.split())
            listed = ", ".join(self.names()[:-1]) + " or " + self.names()[-1]
            self.assertIn(listed + "; the backend that inverts the matrix", text, verb)

    def test_completions_have_the_names_of_the_table(self):
        words = " ".join(self.names())
        bash = self.ease("generate", "bash").out
        for verb in SOLVING:
            self.assertIn(f"{verb}:--backend) COMPREPLY=($(compgen -W '{words}'", bash)
        self.assertIn(f"describes each]:choice:({words})", self.ease("generate", "zsh").out)
        self.assertIn(f"-l backend -x -a '{words}'", self.ease("generate", "fish").out)

    def test_unknown_names_are_refused_with_the_list(self):
        for args in (["train", "ratings.csv", "-o", "m", "--lambda", "2"],
                     ["tune", "split", "-o", "m"], ["compare", "split", "--models", "ease"],
                     ["reproduce", "table1", "--data", "."], ["plan", "ratings.csv"],
                     ["bench", "--quick"]):
            self.fails(2, "no backend 'abacus', only " + ", ".join(self.names()), *args,
                       "--backend", "abacus")

    def test_a_comparison_refuses_it_before_the_first_model(self):
        self.make_split()
        said = self.fails(2, "no backend 'abacus'", "compare", "split", "--models",
                          "popularity,ease", "--lambda", 2, "--backend", "abacus").err
        self.assertNotIn("train: ", said)  # the split was not read

    def test_the_default_by_its_name_gives_the_same_model(self):
        self.ease("train", "ratings.csv", "-o", "plain.ease", "--lambda", "2")
        self.ease("train", "ratings.csv", "-o", "named.ease", "--lambda", "2",
                  "--backend", self.names()[0])
        self.assertEqual(self.read("named.ease"), self.read("plain.ease"))
        facts = json.loads(self.ease("plan", "ratings.csv", "--backend", "cpu", "--json").out)
        self.assertGreater(facts["gflops"], 0)
        self.assertNotIn("device_bytes", facts)  # the CPU has no memory of its own

    def test_tuning_and_benching_take_it(self):
        self.make_split()
        got = json.loads(self.ease("tune", "split", "-o", "m.ease", "--lambda", "1,10",
                                   "--backend", "cpu", "--json").out)
        self.assertEqual(len(got["trials"]), 2)
        self.ease("bench", "--parts", "solve", "--items", 100, "--users", 100,
                  "--interactions", 500, "--repeat", 1, "--backend", "cpu")

    def test_memory_of_a_device_is_no_matter_to_the_processors(self):
        for limit in ([], ["--device-memory", "1M"]):
            self.ease("train", "ratings.csv", "-o", f"m{len(limit)}.ease", "--lambda", "2",
                      "--backend", "cpu", *limit)
        self.assertEqual(self.read("m0.ease"), self.read("m2.ease"))
        self.fails(2, "popularity takes no --device-memory", "train", "ratings.csv", "-o", "m",
                   "--model", "popularity", "--device-memory", "1G")

    def test_updates_take_it_for_solving_anew(self):
        self.ease("train", "ratings.csv", "-o", "live.ease", "--lambda", "2", "--updatable")
        self.fails(2, "--backend is for solving anew, from --data or --gram", "update",
                   "live.ease", "--now", "ratings.csv", "-o", "m", "--backend", "cpu")
        self.fails(2, "no backend 'abacus'", "update", "live.ease", "--now", "ratings.csv",
                   "--data", "ratings.csv", "-o", "m", "--backend", "abacus")
        self.ease("update", "live.ease", "--now", "ratings.csv", "--was", "ratings.csv",
                  "--data", "ratings.csv", "-o", "m", "--backend", "cpu")

    def test_models_that_solve_nothing_take_none(self):
        for option in (["--backend", "cpu"], ["--kind", "correlation"], ["--precision", "f64"],
                       ["--workdir", "."]):
            self.fails(2, f"popularity takes no {option[0]}$", "train", "ratings.csv", "-o", "m",
                       "--model", "popularity", *option)
            if option[0] != "--workdir":
                self.fails(2, f"wmf takes no {option[0]}$", "tune", "split", "-o", "m", "--model",
                           "wmf", *option)
        self.fails(2, "none of --models takes --backend", "compare", "split", "--models",
                   "popularity,wmf", "--backend", "cpu")
        self.fails(2, "none of --models takes --backend", "reproduce", "table1", "--data", ".",
                   "--models", "popularity", "--backend", "cpu")


if __name__ == "__main__":
    main()
