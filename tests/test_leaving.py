"""Leaving users of the training data out: ease eval and ease tune --leave-one-out, and the
lambda that ease train chooses, against NumPy that trains without the user."""
import csv
import json
import os
import re
import signal
import subprocess
import unittest

import numpy as np

import made
import numpy_ease
import numpy_eval
import support

WORD = (1 << 64) - 1


class Draw:
    """xoshiro256** seeded by splitmix64, as the library draws held-out items."""

    def __init__(self, seed, stream):
        self.state = seed
        self.state = self._split() ^ (stream * 0xd1342543de82ef95 & WORD)
        self.s = [self._split() for _ in range(4)]

    def _split(self):
        self.state = (self.state + 0x9e3779b97f4a7c15) & WORD
        z = self.state
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & WORD
        z = (z ^ z >> 27) * 0x94d049bb133111eb & WORD
        return z ^ z >> 31

    def below(self, bound):
        turn = lambda x, k: (x << k | x >> 64 - k) & WORD
        s = self.s
        result, shifted = turn(s[1] * 5 & WORD, 7) * 9 & WORD, s[1] << 17 & WORD
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = turn(s[3], 45)
        return result * bound >> 64


def divide(items, seed, user, share):
    """The input and the target of a user: each item is drawn with the chance that is left."""
    draw, left = Draw(seed, user), max(1, int(share * len(items)))
    target = []
    for k, item in enumerate(items):
        if draw.below(len(items) - k) < left:
            target.append(item)
            left -= 1
    return [i for i in items if i not in target], target


class Left(support.Case):
    """A model of made ratings, and one without each of some users."""

    lam = 30
    metrics = ("recall@20", "ndcg@100", "mrr@50")

    @classmethod
    def setUpClass(cls):
        cls.data = made.u_data()
        with open(cls.data) as f:
            rows = [line.split("\t")[:2] for line in f]
        cls.x, cls.users, cls.items = numpy_ease.matrix([(u, i) for u, i in rows])
        cls.first = np.unique(cls.x.nonzero()[0])[:60]

    def train(self, *args):
        return self.ease("train", self.data, "-o", "m.ease", *args)

    def leave(self, *args):
        return json.loads(self.ease("eval", "m.ease", "--leave-one-out", self.data, "--json",
                                    *args).out)

    def by_user(self, path="users.csv"):
        with open(self.path(path), newline="") as f:
            return {row.pop("user"): {k: float(v) for k, v in row.items()}
                    for row in csv.DictReader(f)}

    def brute_force(self, u, kind="counts", seed=98765, share=0.2):
        """The metrics of a user by a model that was trained without this user."""
        n = len(self.items)
        rest = self.x[np.arange(len(self.users)) != u]
        w, c = numpy_ease.model(rest, self.lam, kind)
        own = sorted(self.x[u].indices.tolist())
        given, wanted = divide(own, seed, u, share)
        popularity = np.asarray(rest.sum(axis=0)).ravel()
        history = numpy_eval.sparse.csr_matrix(
            (np.ones(len(given)), ([0] * len(given), given)), shape=(1, n))
        # Items that nobody else has cannot be found, but are held out.
        known = [i for i in wanted if popularity[i] > 0]
        target = numpy_eval.sparse.csr_matrix(
            (np.ones(len(known)), ([0] * len(known), known)), shape=(1, n))
        got = numpy_eval.evaluate(lambda rows: rows @ w + c, history, target, self.metrics,
                                  popularity, held=np.array([len(wanted)]))
        return {m: float(got[m][0]) for m in self.metrics}


@unittest.skipIf(support.SANITIZED, "seconds of NumPy, and nothing new for a sanitizer")
class BruteForce(Left):
    def test_users_are_measured_as_by_a_model_without_them(self):
        for kind in ("counts", "covariance"):
            self.train("--lambda", self.lam, "--kind", kind, "--updatable")
            got = self.leave("--per-user", "users.csv", "--metrics", ",".join(self.metrics))
            users = self.by_user()
            self.assertEqual(got["users"], len(users))
            self.assertEqual(got["refused"] + got["without_target"] + got["users"],
                             len(self.users))
            for m in self.metrics:
                mean = np.mean([row[m] for row in users.values()])
                self.assertAlmostEqual(got["metrics"][m]["mean"], mean, delta=1e-9)
            for u in self.first[::6]:
                want = self.brute_force(int(u), kind)
                for m in self.metrics:  # float32 may exchange scores that are nearly equal
                    self.assertAlmostEqual(users[self.users[u]][m], want[m], delta=2e-3,
                                           msg=f"user {self.users[u]}, {m}, {kind}")

    def test_seed_and_share_say_what_is_held_out(self):
        self.train("--lambda", self.lam, "--updatable")
        self.leave("--per-user", "users.csv", "--metrics", ",".join(self.metrics), "--seed", 7,
                   "--share", 0.5)
        users = self.by_user()
        for u in self.first[:5]:
            want = self.brute_force(int(u), seed=7, share=0.5)
            for m in self.metrics:
                self.assertAlmostEqual(users[self.users[u]][m], want[m], delta=2e-3)


class Eval(Left):
    def test_a_sample_is_a_part_of_all(self):
        self.train("--lambda", self.lam, "--updatable")
        self.leave("--per-user", "all.csv")
        got = self.leave("--per-user", "some.csv", "--sample", 50)
        everyone, some = self.by_user("all.csv"), self.by_user("some.csv")
        self.assertEqual(got["users"], 50)
        self.assertEqual({u: everyone[u] for u in some}, some)
        text = self.ease("eval", "m.ease", "--leave-one-out", self.data, "--sample", 50)
        self.assertIn("ndcg@100", text.out)
        self.assertIn("50 users measured", text.err)

    def test_dropout_is_approximate(self):
        self.train("--lambda", self.lam, "--updatable", "--model", "edlae", "--set",
                   "dropout=0.2")
        self.assertTrue(self.leave()["approximate"])
        r = self.ease("eval", "m.ease", "--leave-one-out", self.data)
        self.assertIn("approximate", r.err)
        self.train("--lambda", self.lam, "--updatable")
        self.assertFalse(self.leave()["approximate"])

    def test_what_does_not_fit_is_refused(self):
        self.train("--lambda", self.lam)
        left = ("eval", "m.ease", "--leave-one-out", self.data)
        self.fails(2, "train it again with --updatable", *left)
        self.train("--lambda", self.lam, "--updatable")
        other = self.write("other.csv", "user,item\nx,1\nx,2\ny,1\n")
        self.fails(3, "not the data of the model", "eval", "m.ease", "--leave-one-out", other)
        self.fails(3, "a model, where interactions", "eval", "m.ease", "--leave-one-out",
                   "m.ease")
        self.fails(1, "none.csv", "eval", "m.ease", "--leave-one-out", "none.csv")
        for option in (("--input", "x"), ("--target", "x"), ("--split", "x"),
                       ("--unknown", "drop"), ("--items", "warm"), ("--among", "all")):
            self.fails(2, f"--leave-one-out and {option[0]}.* exclude each other", *left, *option)
        for option in (("--share", 0.1), ("--seed", 1), ("--sample", 0)):
            self.fails(2, f"{option[0]} goes with --leave-one-out", "eval", "m.ease", "--input",
                       "x", "--target", "x", *option)
        self.fails(2, "between 0 and 1", *left, "--share", 1)
        self.fails(2, "no metric", *left, "--metrics", "x@1")
        self.fails(2, "would be lost", *left, "--per-user", self.data)
        self.ease("train", self.data, "-o", "dan.ease", "--model", "dan", "--lambda", 3,
                  "--updatable")
        self.fails(2, "users cannot be left out of a model of dan", "eval", "dan.ease",
                   "--leave-one-out", self.data)


class Tune(Left):
    def tune(self, *args):
        return json.loads(self.ease("tune", "--leave-one-out", self.data, "--json", *args).out)

    def test_the_curve_is_that_of_eval(self):
        got = self.tune("--lambda", "3,30,300", "--metric", "recall@20")
        self.assertEqual([t["lambda"] for t in got["trials"]], [3, 30, 300])
        best = max(got["trials"], key=lambda t: t["mean"])
        self.assertEqual(got["lambda"], best["lambda"])
        self.assertNotIn("path", got)
        self.assertEqual(os.listdir(self.dir), [])
        self.train("--lambda", 30, "--updatable")
        whole = self.leave()
        self.assertEqual(whole["refused"], 0)
        self.assertAlmostEqual(whole["metrics"]["recall@20"]["mean"], got["trials"][1]["mean"],
                               delta=1e-9)
        self.assertAlmostEqual(whole["metrics"]["recall@20"]["stderr"],
                               got["trials"][1]["stderr"], delta=1e-9)

    def test_it_writes_the_best_model_and_draws_the_curve(self):
        got = self.tune("-o", "m.ease", "--plot", "curve.svg", "--sample", 60)
        self.assertTrue(self.read("curve.svg").startswith(b"<svg"))
        self.assertEqual(got["path"], "m.ease")
        self.assertEqual(got["solves"], len(got["trials"]))
        self.ease("train", self.data, "-o", "same.ease", "--lambda", got["lambda"])
        self.assertEqual(self.read("m.ease"), self.read("same.ease"))
        r = self.ease("tune", "--leave-one-out", self.data, "--sample", 60)
        self.assertRegex(r.out, r"(?m)^%g .* best$" % got["lambda"])
        self.assertIn(f"lambda {got['lambda']:g} is the best of", r.err)
        table = self.ease("tune", "--leave-one-out", self.data, "--sample", 60, "--csv").out
        self.assertEqual(len(table.splitlines()), 1 + len(got["trials"]))

    def test_settings_are_fixed(self):
        got = self.tune("--model", "rlae", "--set", "relaxation=0.1", "--lambda", "10,100",
                        "--sample", 100)
        self.assertEqual([t["settings"] for t in got["trials"]], ["relaxation=0.1"] * 2)

    def test_what_does_not_fit_is_refused(self):
        left = ("tune", "--leave-one-out", self.data)
        self.fails(2, "either DATA, the DIR of a split or --leave-one-out DATA, not both", *left,
                   "dir")
        self.fails(2, "--leave-one-out DATA is required", "tune", "-o", "m")
        self.fails(2, "--output FILE is required", "tune", "dir")
        self.fails(2, "--sample goes with --leave-one-out", "tune", "dir", "-o", "m",
                   "--sample", 3)
        self.fails(2, "options for reading DATA", "tune", "dir", "-o", "m", "--min-rating", 3)
        self.fails(2, "--metrics is for test users", *left, "--metrics", "ndcg@10")
        self.fails(2, "--titles goes with --output", *left, "--titles", self.data)
        self.fails(2, "lambda, which wmf does not have", *left, "--model", "wmf")
        self.fails(2, "left out of a model of ease-nonneg", *left, "--nonnegative")
        self.fails(2, "correlation matrix", *left, "--kind", "correlation")
        self.fails(2, "count as misses", *left, "--unknown", "drop")
        self.fails(2, "measures hits", *left, "--metric", "novelty@10")
        self.fails(2, "would be lost", *left, "-o", self.data)
        self.fails(1, "none.csv", "tune", "--leave-one-out", "none.csv")


class Train(Left):
    def test_lambda_is_chosen_if_none_is_given(self):
        got = json.loads(self.train("--json").out)
        means = {t["lambda"]: t["mean"] for t in got["trials"]}
        self.assertEqual(means[got["lambda"]], max(means.values()))
        self.assertGreaterEqual(len(means), 7)
        self.assertEqual(json.loads(self.ease("info", "m.ease", "--json").out)["lambda"],
                         got["lambda"])
        chosen = self.read("m.ease")
        r = self.train("--lambda", "auto", "--threads", 1)
        self.assertEqual(self.read("m.ease"), chosen)
        self.assertIn(f"lambda is measured on {len(self.users)} of {len(self.users)} users",
                      r.err)
        self.assertIn(f"lambda {got['lambda']:g} is the best of {len(means)}", r.err)
        self.assertRegex(r.err, "plan: .* for some 11 solves")
        self.train("--lambda", got["lambda"])
        self.assertEqual(self.read("m.ease"), chosen)

    def test_a_sample_of_users_may_be_enough(self):
        r = self.train("--lambda-users", 50)
        self.assertIn("lambda is measured on 50 of", r.err)
        self.assertIn(f"measured on {len(self.users)} of", self.train("--lambda-users", 0).err)

    def test_where_it_cannot_be_chosen_it_is_required(self):
        for args, why in ((("--model", "dan"), "scaled by the popularity"),
                          (("--nonnegative",), "ease-nonneg"),
                          (("--kind", "correlation"), "correlation matrix"),
                          (("--tags", self.write("tags.csv", "item,tag\n1,a\n2,a\n")), "tags")):
            self.fails(2, f"lambda is required, since it cannot be chosen: .*{why}", "train",
                       self.data, "-o", "m.ease", *args)
        self.ease("gram", self.data, "-o", "x.gram")
        for args in ((), ("--lambda", "auto")):
            self.fails(2, "lambda is required: .* Gram matrix does not tell them apart", "train",
                       "--gram", "x.gram", "-o", "m.ease", *args)
        self.fails(2, "--lambda-users goes with", "train", self.data, "-o", "m.ease", "--lambda",
                   3, "--lambda-users", 3)
        self.fails(2, "popularity takes no --lambda-users", "train", self.data, "-o", "m.ease",
                   "--model", "popularity", "--lambda-users", 3)
        lonely = self.write("x.csv", "user,item\nu,a\nv,b\nw,a\n")
        r = self.ease("train", lonely, "-o", "m.ease", "--columns", "user,item", code=3)
        self.assertRegex(r.err, "lambda cannot be chosen: .*give --lambda L")
        self.assertNotIn("m.ease", os.listdir(self.dir))

    def test_an_interrupt_during_the_search_leaves_nothing(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with subprocess.Popen([support.EASE, "train", self.data, "-o", "m.ease"],
                                  cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True) as p:
                for line in p.stderr:
                    if "lambda 100:" in line:
                        break
                p.send_signal(number)
                p.communicate(timeout=support.PATIENCE)
            self.assertEqual(p.returncode, code)
            self.assertEqual(os.listdir(self.dir), [])

    def test_the_plan_tells_both_costs(self):
        plan = json.loads(self.ease("plan", self.data, "--json").out)
        self.assertGreater(plan["auto_solves"], 5)
        self.assertGreater(plan["auto_peak_bytes"], plan["peak_bytes"])
        self.ease("gram", self.data, "-o", "x.gram")
        self.assertNotIn("auto_solves", json.loads(self.ease("plan", "x.gram", "--json").out))
        limit = (plan["peak_bytes"] + plan["auto_peak_bytes"]) // 2
        r = self.fails(4, r"choosing lambda for .*; --lambda L takes at least .* less; "
                       r"--model ease-sparse needs .* of memory and about", "train",
                       self.data, "-o", "m.ease", "--memory-limit", limit)
        self.assertTrue(re.search("plan:", r.err))
        self.train("--memory-limit", limit, "--lambda", 10)


if __name__ == "__main__":
    support.main()
