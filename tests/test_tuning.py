"""ease tune on data without a split, what it says to do next, and messages for a wrong
file or option, which name the way on."""

import json
import os
import shutil
import signal
import subprocess
import unittest

import made
import support
from small import Trained, as_csv, small_pairs

ITEMS = ("--model", "item-item", "--grid", "neighbours=3|10")


class Data(support.Case):
    """made.ratings_csv as ratings.csv, in a directory with nothing else."""

    def setUp(self):
        super().setUp()
        shutil.copy(made.ratings_csv(), self.path("ratings.csv"))

    def tune(self, *args, data="ratings.csv"):
        r = self.ease("tune", data, *args, "--json")
        return json.loads(r.out), r.err

    def by_the_command(self, command, name):
        """The model that the command makes, as a person would run it in a shell."""
        path = f"{support.BUILD}:{os.environ['PATH']}"
        done = subprocess.run(command, shell=True, cwd=self.dir, stderr=subprocess.PIPE,
                              env=dict(os.environ, PATH=path), check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.read(name)

    def lists(self, model):
        return self.ease("recommend", model, "--users", "ratings.csv", "--csv", "-k", 3).out


class WithoutSplit(Data):
    def test_users_are_left_out_where_the_model_allows_it(self):
        got, err = self.tune("--lambda", "30,300")
        self.assertEqual(got["measured_on"], "leave-one-out")
        self.assertIn("no split: lambda is measured by leaving users out", err)
        self.assertNotIn("path", got)
        self.assertNotIn("test", got)
        same = json.loads(self.ease("tune", "--leave-one-out", "ratings.csv", "--lambda", "30,300",
                                    "--sample", 10000, "--json").out)
        self.assertEqual([(t["lambda"], t["mean"], t["stderr"]) for t in got["trials"]],
                         [(t["lambda"], t["mean"], t["stderr"]) for t in same["trials"]])
        self.assertIn(f"train with what was found: {got['train']}\n", err)
        self.assertEqual(got["train"],
                         f"ease train ratings.csv -o model.ease --lambda {got['lambda']}")
        few, err = self.tune("--lambda", "30", "--sample", 50)
        self.assertIn("measured on 50 of 1200 users", err)
        self.assertNotEqual(few["trials"][0]["mean"], got["trials"][0]["mean"])

    def test_the_model_is_that_of_the_command(self):
        for args in (("--lambda", "30,300"), ("--lambda", "30,300", "--metrics", "ndcg@10"),
                     ("--lambda", "30", "--min-rating", 4, "--precision", "f64", "--storage",
                      "f32"), ITEMS,
                     ("--model", "rlae", "--lambda", "30,100", "--grid", "relaxation=0|0.3")):
            got, err = self.tune("-o", "t.ease", *args)
            self.assertTrue(got["all_data"])
            self.assertIn("t.ease was trained on all data", err)
            self.assertIn(got["train"], err)
            tuned = self.read("t.ease")
            self.assertEqual(self.by_the_command(got["train"], "t.ease"), tuned, args)

    def test_other_models_are_tuned_on_users_that_are_drawn(self):
        got, err = self.tune("-o", "t.ease", *ITEMS)
        self.assertEqual(got["measured_on"], "drawn users")
        self.assertRegex(err, "no split: 118 users are held out .*, and as many to measure")
        self.assertEqual(got["test"]["users"], 118)  # a tenth of those with five items
        info = json.loads(self.ease("info", "t.ease", "--json").out)
        self.assertEqual(info["users"], 1200)
        again, _ = self.tune("-o", "u.ease", *ITEMS)
        self.assertEqual(again["test"], got["test"])
        self.assertEqual(self.read("u.ease"), self.read("t.ease"))
        alone, _ = self.tune(*ITEMS)
        self.assertNotIn("test", alone)
        self.assertEqual(alone["settings"], got["settings"])

    def test_the_test_is_of_a_model_without_the_test_users(self):
        """The measurement of the same split in a directory. Items are in the order of their
        first rows, in which the program has them, so that both draw the same."""
        rows = [("u000", f"i{i:02}") for i in range(40)]
        rows += [(f"u{u:03}", f"i{i:02}") for u in range(1, 400)
                 for i in sorted({(u * 7 + k * k) % 40 for k in range(6)} |
                                 {(u * u + k) % 40 for k in range(3)})]
        self.write("r.csv", as_csv(rows))
        got, err = self.tune("-o", "t.ease", "--lambda", "0.01", "--metrics", "recall@1",
                             data="r.csv")
        self.assertIn("ease split --protocol liang18 --heldout-users 40 keeps such a split", err)
        self.ease("split", "r.csv", "-o", "s", "--protocol", "liang18", "--heldout-users", 40)
        apart = json.loads(self.ease("tune", "s", "-o", "x.ease", "--lambda", "0.01", "--metrics",
                                     "recall@1", "--json").out)
        self.assertEqual(got["test"], apart["test"])
        self.assertEqual([t["mean"] for t in got["trials"]], [t["mean"] for t in apart["trials"]])

    def test_models_of_known_users_hold_out_items(self):
        self.write("r.csv", as_csv([(u, (u + k * k) % 40) for u in range(60) for k in range(10)]))
        got, err = self.tune("-o", "t.ease", "--model", "lrec", "--grid", "l2=1|10", data="r.csv")
        self.assertIn("a fifth of each user's items is held out", err)
        self.assertEqual(got["measured_on"], "drawn users")
        self.assertIn("test", got)

    def test_weights_are_kept_where_users_are_held_out(self):
        got, _ = self.tune("-o", "t.ease", "--lambda", "30", "--metrics", "ndcg@10", "--weights")
        ones, _ = self.tune("-o", "u.ease", "--lambda", "30", "--metrics", "ndcg@10")
        self.assertNotEqual(got["trials"][0]["mean"], ones["trials"][0]["mean"])
        self.assertIn(" --weights", got["train"])
        self.assertEqual(self.by_the_command(got["train"], "t.ease"), self.read("t.ease"))

    def test_numbers_are_as_short_as_they_were_given(self):
        for given in ("3.7", "0.1", "4", "3.1415926535897931"):
            got, _ = self.tune("--lambda", "30", "--min-rating", given)
            shown = got["train"].split(" --min-rating ")[1]
            self.assertEqual(float(shown), float(given))
            self.assertEqual(shown, repr(float(given)).removesuffix(".0"))

    def test_standard_input_is_data_too(self):
        data = self.read("ratings.csv")
        r = self.ease("tune", "-", "--lambda", "30", "--json", input=data)
        self.assertEqual(json.loads(r.out)["train"], "ease train DATA -o model.ease --lambda 30")

    def test_names_are_quoted_for_the_shell(self):
        os.rename(self.path("ratings.csv"), self.path("it's a file.csv"))
        got, _ = self.tune("--lambda", 30, "-o", "m &.ease", data="it's a file.csv")
        self.assertEqual(self.by_the_command(got["train"], "m &.ease"), self.read("m &.ease"))

    def test_what_cannot_be_tuned_says_what_to_do(self):
        self.write("few.csv", as_csv(small_pairs(10)))
        self.fails(3, "item-item is tuned on held-out users, and only .* ease train with --set",
                   "tune", "few.csv", *ITEMS)
        self.fails(3, "too little data to hold a part", "tune", "few.csv", "--model", "lrec")
        self.fails(2, "--titles goes with --output", "tune", "ratings.csv", "--titles", "x")
        self.fails(2, "--sample goes with", "tune", "ratings.csv", *ITEMS, "--sample", 3)

    @unittest.skipIf(support.SANITIZED, "its time")
    def test_an_interrupt_leaves_nothing(self):
        self.write("big.csv", as_csv([(u, i) for u in range(4000) for i in range(u % 97, 400, 7)]))
        with subprocess.Popen([support.EASE, "tune", "big.csv", "-o", "t.ease", *ITEMS],
                              cwd=self.dir, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              text=True) as p:
            for line in p.stderr:
                if "users are held out" in line:
                    p.send_signal(signal.SIGTERM)
                    break
            p.communicate(timeout=support.PATIENCE)
        self.assertEqual(p.returncode, 143)
        self.assertNotIn("t.ease", os.listdir(self.dir))


class AllData(Data):
    def test_the_parts_of_a_split_are_all_data_again(self):
        for protocol, extra in (("liang18", ("--heldout-users", 100, "--min-user", 1)),
                                ("leave-last", ()), ("random", ())):
            self.ease("split", "ratings.csv", "-o", "s", "--protocol", protocol, *extra)
            got, err = self.tune("-o", "all.ease", "--lambda", "30,300", "--all-data", data="s")
            part, why = self.tune("-o", "part.ease", "--lambda", "30,300", data="s")
            self.assertEqual(got["test"]["users"], part["test"]["users"])
            for name, value in part["test"]["metrics"].items():  # float32 and float16
                self.assertAlmostEqual(got["test"]["metrics"][name]["mean"], value["mean"],
                                       delta=1e-3)
            self.assertEqual((got["all_data"], part["all_data"]), (True, False))
            self.assertIn("all.ease was trained on all data", err)
            self.assertIn("for production, --all-data trains on all data, and so does: "
                          f"ease train DATA -o part.ease --lambda {part['lambda']}", why)
            whole = json.loads(self.ease("train", "ratings.csv", "-o", "whole.ease", "--lambda",
                                         got["lambda"], "--json").out)
            info = json.loads(self.ease("info", "all.ease", "--json").out)
            if protocol == "liang18":  # items that only held-out users have are not in it
                self.assertGreater(info["interactions"], 0.99 * whole["interactions"])
            else:
                self.assertEqual({k: info[k] for k in ("users", "items", "interactions")},
                                 {k: whole[k] for k in ("users", "items", "interactions")})
                self.same_lists("all.ease", "whole.ease")

    def same_lists(self, one, other):
        """The order of items differs, and with it the last bits: scores are compared."""
        for history in ("1", "5,9", "12,3,40"):
            a, b = ({i["id"]: i["score"] for i in json.loads(
                self.ease("recommend", m, "--history", history, "-k", 700, "--json").out)["items"]}
                    for m in (one, other))
            self.assertEqual(set(a), set(b))
            for i, score in a.items():
                self.assertAlmostEqual(score, b[i], delta=1e-3)


class TheWayOn(Trained):
    def test_wrong_files_are_named_with_what_they_are_for(self):
        self.ease("split", "ratings.csv", "-o", "s", "--protocol", "leave-last")
        self.ease("gram", "ratings.csv", "-o", "x.gram")
        os.mkdir(self.path("d"))
        split = "a split, where interactions are wanted: s/train.csv .* ease tune s chooses"
        for code, why, *args in (
                (3, "a model, where .* ease recommend model.ease uses it", "train", "model.ease",
                 "-o", "m"),
                (3, "a model, where .* ease info model.ease describes it", "tune", "model.ease"),
                (3, "a Gram file, where .* ease train --gram x.gram", "train", "x.gram", "-o", "m"),
                (3, split, "train", "s", "-o", "m"), (3, split, "info", "s"),
                (3, split, "recommend", "model.ease", "--users", "s"),
                (3, "not an ease model file; ease train makes a model", "recommend", "ratings.csv",
                 "--history", "react"),
                (3, "a Gram file, where a model is wanted: ease train --gram x.gram", "similar",
                 "x.gram", "react"),
                (3, "a split, where a model is wanted: ease tune s -o MODEL", "recommend", "s",
                 "--history", "react"),
                (1, "a file, where the directory of a split .* ease split ratings.csv -o DIR",
                 "eval", "model.ease", "--split", "ratings.csv"),
                (1, "a file, where the directory of a split", "compare", "ratings.csv",
                 "--models", "ease"),
                (1, "d: no split: .* ease split DATA -o DIR", "eval", "model.ease", "--split", "d"),
                (1, "none.csv: cannot open: No such file", "tune", "none.csv", "-o", "m")):
            self.fails(code, why, *args)

    def test_options_of_other_programs_are_named_as_ours(self):
        for option in ("-n", "--n", "--top", "--limit", "--k", "--top-k"):
            self.fails(2, f"^ease: {option}: the number of items in a list is -k N", "recommend",
                       "model.ease", "--history", "react", option, 3)
        self.fails(2, "-n: the number of items in a list is -k N", "similar", "model.ease",
                   "react", "-n", 3)
        self.fails(2, "unknown option -x", "recommend", "model.ease", "-x")

    def test_arguments_too_many_are_told_where_they_belong(self):
        self.fails(2, "too many: 'react'; the items of a history go to --history", "recommend",
                   "model.ease", "react")
        self.fails(2, "too many: 'ratings.csv'; held-out data go to --input", "eval", "model.ease",
                   "ratings.csv")


if __name__ == "__main__":
    support.main()
