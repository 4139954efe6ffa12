"""ease tune of EASE's relatives: lambda and all settings searched together."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile

import made
import support

MEMBERS = {"edlae": ["dropout"], "rlae": ["relaxation"], "rdlae": ["dropout", "relaxation"],
           "dan": ["dropout", "user-power", "item-power", "relaxation"], "ease-rescaled": ["power"],
           "ease-ips": ["power"], "mrf": ["lambda-power"],
           "ease-family": ["lambda-power", "dropout", "user-power", "relaxation", "input-power",
                           "output-power"]}
NEED_SOLVES = {"lambda-power", "dropout", "user-power"}


def settings_of(trial):
    return {name: float(value) for name, value in
            (part.split("=") for part in trial["settings"].split(",")) if name != "propensity"}


class Searched(support.Case):
    @classmethod
    def setUpClass(cls):
        cls.data = tempfile.mkdtemp(prefix="ease-test-")
        cls.addClassCleanup(shutil.rmtree, cls.data, ignore_errors=True)
        cls.split = os.path.join(cls.data, "split")
        r = support.run("split", made.ratings_csv(), "-o", cls.split, "--protocol", "liang18",
                        "--heldout-users", 150, "--min-rating", 4)
        assert r.code == 0, r

    def part(self, name):
        return os.path.join(self.split, name)

    def tune(self, model, *options):
        r = self.ease("tune", self.split, "-o", "m.ease", "--model", model, "--json", *options)
        return json.loads(r.out)

    def measured(self, lam, settings, model, storage="packed"):
        """The validation metric of a model that is trained with these settings alone."""
        self.ease("train", self.part("train.csv"), "-o", "alone.ease", "--model", model, "--lambda",
                  lam, "--set", settings, "--storage", storage)
        got = json.loads(self.ease("eval", "alone.ease", "--input", self.part("validation_tr.csv"),
                                   "--target", self.part("validation_te.csv"), "--metrics",
                                   "ndcg@100", "--json").out)
        return got["metrics"]["ndcg@100"]["mean"]

    def test_every_member_is_searched_in_few_solves(self):
        for model, names in MEMBERS.items():
            got = self.tune(model)
            self.assertLessEqual(got["solves"], 18, model)
            self.assertEqual(got["solves"], sum(trial["solves"] for trial in got["trials"]), model)
            best = max(got["trials"], key=lambda trial: trial["mean"])
            self.assertEqual((got["lambda"], got["settings"]), (best["lambda"], best["settings"]))
            seen = [(trial["lambda"], trial["settings"]) for trial in got["trials"]]
            self.assertEqual(len(seen), len(set(seen)), model)  # nothing is tried twice
            for trial in got["trials"]:
                self.assertEqual(set(settings_of(trial)), set(names), trial)
            self.assertTrue(all(len({settings_of(t)[n] for t in got["trials"]}) > 1 for n in names))

    def test_trials_are_those_of_models_trained_alone(self):
        got = self.tune("ease-family")
        trials = got["trials"]
        read_off = [i for i, trial in enumerate(trials) if not trial["solves"]]
        self.assertGreater(len(read_off), 5)
        for i in [0, read_off[0], read_off[-1], len(trials) - 1]:
            trial = trials[i]
            self.assertAlmostEqual(
                self.measured(trial["lambda"], trial["settings"], "ease-family"), trial["mean"],
                delta=1e-9)

    def test_a_solve_is_spent_only_on_another_inverse(self):
        before = None
        for trial in self.tune("ease-family")["trials"]:
            values = settings_of(trial)
            inverse = (trial["lambda"], *(values[name] for name in sorted(NEED_SOLVES)))
            self.assertEqual(trial["solves"], int(inverse != before), trial)
            before = inverse

    def test_the_search_comes_close_to_a_full_grid(self):
        found = max(trial["mean"] for trial in self.tune("ease-family")["trials"])
        full = self.tune("ease-family", "--lambda", "10,30,100,300", "--grid",
                         "dropout=0|0.3|0.6,user-power=0|0.4,relaxation=0|0.3,"
                         "input-power=-0.2|0|0.2,output-power=-0.2|0|0.2")
        self.assertEqual(len(full["trials"]), 4 * 3 * 2 * 2 * 3 * 3)
        self.assertEqual(full["solves"], 4 * 3 * 2)
        self.assertGreater(found, max(trial["mean"] for trial in full["trials"]) - 0.001)
        plain = max(trial["mean"] for trial in self.tune("ease")["trials"])
        self.assertGreaterEqual(found, plain - 0.001)

    def test_the_model_is_that_of_training_with_the_best_settings(self):
        got = self.tune("rdlae", "--storage", "f32")
        self.ease("train", self.part("train.csv"), "-o", "alone.ease", "--model", "rdlae",
                  "--lambda", got["lambda"], "--set", got["settings"], "--storage", "f32")
        self.assertEqual(self.read("m.ease"), self.read("alone.ease"))

    def test_fixed_settings_stay(self):
        got = self.tune("ease-family", "--set", "user-power=0.25,relaxation=0")
        for trial in got["trials"]:
            self.assertEqual(settings_of(trial)["user-power"], 0.25)
            self.assertEqual(settings_of(trial)["relaxation"], 0)

    def test_other_kinds_are_searched(self):
        for kind in "covariance", "correlation":
            got = self.tune("ease-family", "--kind", kind)
            self.assertGreater(len(got["trials"]), 10)
            names = set(settings_of(got["trials"][0]))
            self.assertEqual("dropout" in names and "lambda-power" in names, kind == "covariance")
            best = max(got["trials"], key=lambda trial: trial["mean"])
            info = json.loads(self.ease("info", "m.ease", "--json").out)
            self.assertEqual((info["kind"], info["lambda"]), (kind, best["lambda"]))

    def test_a_time_limit_ends_it_with_the_best_so_far(self):
        got = self.tune("ease-family", "--seconds", "0.000001")
        self.assertEqual(len(got["trials"]), 1)
        self.assertTrue(got["stopped"])

    def test_an_interrupted_search_keeps_the_best_so_far(self):
        command = [support.EASE, "tune", self.split, "-o", os.path.join(self.dir, "m.ease"),
                   "--model", "ease-family", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as p:
            err = ""
            for line in p.stderr:
                err += line
                if "trial 3," in line:
                    break
            p.send_signal(signal.SIGINT)
            out, rest = p.communicate(timeout=support.PATIENCE)
        self.assertEqual(p.returncode, 0, err + rest)
        self.assertIn("interrupted after", err + rest)
        got = json.loads(out)
        self.assertTrue(got["stopped"])
        best = max(got["trials"], key=lambda trial: trial["mean"])
        self.assertEqual(got["settings"], best["settings"])
        info = json.loads(self.ease("info", "m.ease", "--json", "--verify").out)
        self.assertEqual(info["lambda"], best["lambda"])

    def test_it_says_what_it_spent_and_draws_it(self):
        r = self.ease("tune", self.split, "-o", "m.ease", "--model", "edlae", "--plot", "t.svg")
        self.assertRegex(r.err, r"best of \d+ with \d+ solves, lambda=\S+,dropout=\S+: ndcg@100")
        self.assertRegex(r.out, r"^lambda +settings +ndcg@100 ")
        self.assertIn(b"dropout", self.read("t.svg"))

    def test_compare_tunes_lambda_and_settings(self):
        got = json.loads(self.ease("compare", self.split, "--models", "ease,edlae", "--json").out)
        edlae = got["models"][1]
        self.assertTrue(re.fullmatch(r"lambda=\S+,dropout=\S+", edlae["settings"]), edlae)
        self.assertIn("against_first", edlae)

    def test_fixed_settings_are_kept_for_the_final_model(self):
        for model in "edlae", "rdlae":
            got = self.tune(model, "--kind", "correlation", "--set", "dropout=0")
            info = json.loads(self.ease("info", "m.ease", "--json").out)
            self.assertIn("dropout=0", info["settings"])
            self.assertEqual(info["lambda"], got["lambda"])

    def test_compare_checks_all_models_before_it_reads(self):
        self.write("t.csv", "item,genre\n1,a\n2,a\n")
        tags = ["--tags", "t.csv"]
        for options, text in (
                (["ease,edlae", "--kind", "correlation", "--lambda", "1"], "correlation has no dropout"),
                (["ease,mrf", "--kind", "correlation", "--lambda", "1"], "mrf"),
                (["popularity,item-item", "--untuned", *tags, "--tag-weight", "3"],
                 "none of --models takes --tag-weight"),
                (["ease,popularity", *tags, "--unknown", "drop"], "their users would differ")):
            self.fails(2, text, "compare", "nosplit", "--models", *options)
        self.fails(2, "cannot be packed", "tune", "nosplit", "-o", "m", "--model", "add-ease", *tags,
                   "--storage", "packed")

    def test_wrong_requests_are_told_before_anything_is_read(self):
        for options, text in (
                (["--grid", "dropout=0.1|0.2"], "needs the values of lambda"),
                (["--grid", "dropout=0.1|2", "--lambda", "10"], "dropout"),
                (["--set", "dropout=1"], "dropout"),
                (["--set", "dropout=0.1", "--grid", "dropout=0.2", "--lambda", "1"], "is fixed"),
                (["--kind", "correlation"], "correlation has no dropout"),
                (["--lambda", "0,1"], "lambda")):
            self.fails(2, text, "tune", "nosplit", "-o", "m", "--model", "edlae", *options)
        self.fails(2, "nothing that a correlation matrix has", "tune", "nosplit", "-o", "m",
                   "--model", "ease-family", "--kind", "correlation", "--lambda", "1", "--grid",
                   "dropout=0.1|0.2")


if __name__ == "__main__":
    support.main()
