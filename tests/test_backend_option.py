"""--backend in the verbs that solve, and the list of backends."""

import csv
import io
import json

from small import Trained
from support import main

SOLVING = ("train", "tune", "compare", "reproduce", "plan", "bench")


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

    def test_info_has_a_file_or_backends(self):
        self.fails(2, "either FILE or --backends is required", "info")
        self.fails(2, "not both", "info", "model.ease", "--backends")
        self.fails(2, "--verify", "info", "--backends", "--verify")

    def test_help_has_the_names_of_the_table(self):
        for verb in SOLVING:
            text = " ".join(self.ease(verb, "--help").out.split())
            self.assertIn(" or ".join(self.names()) + "; the backend that inverts the matrix", text, verb)

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
