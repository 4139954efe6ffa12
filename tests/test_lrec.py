"""lrec against a dense fit in NumPy, against scikit-learn, and through the program."""
import json
import unittest

import numpy as np
import support

try:
    from sklearn.linear_model import LogisticRegression
except ImportError:
    LogisticRegression = None


def tastes(users=60, items=40, seed=4):
    """Tastes of three kinds; everyone has something and nobody everything."""
    rng = np.random.default_rng(seed)
    taste = rng.random((users, 3)) @ rng.random((3, items))
    x = (rng.random((users, items)) < 0.35 * taste).astype(float)
    x[np.arange(users), np.arange(users) % items] = 1
    return x


def table(x):
    return "user,item\n" + "".join(f"u{u},i{i}\n" for u, i in zip(*np.nonzero(x)))


def newton(x, user, l2):
    """The scores of a user at the minimum: undamped, from 0."""
    others = np.column_stack([np.delete(x, user, axis=0).T, np.ones(x.shape[1])])
    penalty = np.full(others.shape[1], float(l2))
    penalty[-1] = 0
    w = np.zeros(others.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-others @ w))
        gradient = others.T @ (p - x[user]) + penalty * w
        hessian = (others.T * (p * (1 - p))) @ others + np.diag(penalty)
        w -= np.linalg.solve(hessian, gradient)
        if np.abs(gradient).max() < 1e-10:
            return others @ w
    raise AssertionError("Newton's method did not converge")


class Lrec(support.Case):
    def train(self, x, *options, **settings):
        self.write("x.csv", table(x))
        text = ",".join(f"{name}={value!r}" for name, value in settings.items())
        return self.ease("train", "x.csv", "-o", "m.ease", "--model", "lrec", "--quiet",
                         *(["--set", text] if text else []), *options)

    def scores(self, x):
        """All of them, by what the program prints."""
        r = self.ease("recommend", "m.ease", "--users", "x.csv", "-k", x.shape[1],
                      "--keep-seen", "--json", "--quiet")
        got = np.full(x.shape, np.nan)
        for line in r.out.splitlines():
            row = json.loads(line)
            for item in row["items"]:
                got[int(row["user"][1:]), int(item["id"][1:])] = item["score"]
        self.assertFalse(np.isnan(got[:, x.any(axis=0)]).any())
        return got

    def test_scores_are_those_of_the_minimum(self):
        x = tastes()
        for l2 in (0.3, 3, 40):
            self.train(x, l2=l2, tolerance=1e-9)
            got = self.scores(x)
            for user in range(len(x)):
                self.assertLess(np.abs(got[user] - newton(x, user, l2)).max(), 1e-4)

    @unittest.skipUnless(LogisticRegression, "no scikit-learn")
    def test_scores_are_those_of_logistic_regression(self):
        x = tastes()
        for l2 in (0.3, 3, 40):
            self.train(x, l2=l2, tolerance=1e-9)
            got = self.scores(x)
            fit = LogisticRegression(C=1 / l2, tol=1e-6, max_iter=1000,
                                     solver="newton-cg")
            for user in range(0, len(x), 4):
                others = np.delete(x, user, axis=0).T
                want = fit.fit(others, x[user]).decision_function(others)
                self.assertLess(np.abs(got[user] - want).max(), 1e-4)

    def test_the_default_tolerance_is_near_the_minimum(self):
        x = tastes()
        self.train(x, l2=3)
        got = self.scores(x)
        for user in range(len(x)):
            self.assertLess(np.abs(got[user] - newton(x, user, 3)).max(), 0.01)

    def test_threads_do_not_change_a_bit(self):
        x = tastes(150)
        files = []
        for threads in (1, 2, 5):
            self.train(x, "--threads", threads)
            files.append(self.read("m.ease"))
        self.assertEqual(files[0], files[1])
        self.assertEqual(files[0], files[2])

    def test_known_users_are_asked_for_by_id(self):
        x = tastes()
        self.train(x)
        by_file = self.ease("recommend", "m.ease", "--users", "x.csv", "--json", "-k", 5,
                            "--quiet").out.splitlines()
        by_id = self.ease("recommend", "m.ease", "--user", "u7", "--user", "u3", "--json",
                          "-k", 5).out.splitlines()
        self.assertEqual(by_id, [by_file[7], by_file[3]])
        lines = self.ease("recommend", "m.ease", "--user", "u7", "--csv", "-k", 2).out
        self.assertRegex(lines, r"^user,rank,item,score,fallback\nu7,1,i\d+,-?[\d.]+,\n")

    def test_strangers_and_histories_are_refused(self):
        x = tastes()
        self.train(x)
        only = "lrec scores only the users that it was trained with"
        self.fails(3, only + '.*"nobody"', "recommend", "m.ease", "--user", "u1",
                   "--user", "nobody")
        self.fails(2, only + ".*--user ID", "recommend", "m.ease", "--history", "i1")
        self.fails(2, "lrec has no --reasons", "recommend", "m.ease", "--user", "u1",
                   "--reasons", 2)
        self.write("y.csv", table(x) + "other,i1\n")
        self.fails(3, only + '.*"other"', "recommend", "m.ease", "--users", "y.csv",
                   "--quiet")
        self.fails(3, only + '.*1 of 61.*"other".*weak generalization', "eval", "m.ease",
                   "--input", "x.csv", "--target", "y.csv", "--quiet")
        self.ease("train", "x.csv", "-o", "e.ease", "--lambda", 10, "--quiet")
        self.fails(2, "ease knows no users", "recommend", "e.ease", "--user", "u1")
        self.assertEqual(
            self.ease("recommend", "m.ease", "--user", "u1", "--users", "x.csv", "--csv", "-q").out,
            self.ease("recommend", "m.ease", "--user", "u1", "--csv").out)
        self.fails(2, "either --history or .*, not both", "recommend", "m.ease",
                   "--user", "u1", "--history", "i1")

    def test_a_split_by_users_is_refused(self):
        x = tastes(80)
        self.write("x.csv", table(x))
        self.ease("split", "x.csv", "-o", "s", "--protocol", "liang18", "--heldout-users",
                  10, "--quiet")
        self.ease("train", "s/train.csv", "-o", "m.ease", "--model", "lrec", "--quiet")
        self.fails(3, "weak generalization", "eval", "m.ease", "--input", "s/test_tr.csv",
                   "--target", "s/test_te.csv", "--quiet")
        r = self.fails(3, "weak generalization", "compare", "s", "--models", "ease,lrec")
        self.assertNotIn("lambda", r.err)  # before anything was tuned
        self.fails(2, "--untuned and --grid exclude", "compare", "s", "--models", "ease,wmf",
                   "--untuned", "--grid", "wmf:rank=4|8")

    def test_weak_generalization_is_measured(self):
        """As NumPy measures its own scores."""
        x = tastes()
        rng = np.random.default_rng(2)
        held = (rng.random(x.shape) < 0.3) & (x > 0)
        held &= (x - held).any(axis=1)[:, None] & (x - held).any(axis=0)
        left = x - held
        self.train(left, l2=5, tolerance=1e-9)
        self.write("target.csv", table(held))
        r = self.ease("eval", "m.ease", "--input", "x.csv", "--target", "target.csv",
                      "--metrics", "recall@5", "--json", "--quiet")
        want = []
        for user in np.flatnonzero(held.any(axis=1)):
            score = newton(left, user, 5)
            score[left[user] > 0] = -np.inf
            best = np.argsort(-score, kind="stable")[:5]
            want.append(held[user, best].sum() / min(5, held[user].sum()))
        got = json.loads(r.out)
        self.assertEqual(got["users"], len(want))
        self.assertAlmostEqual(got["metrics"]["recall@5"]["mean"], np.mean(want), 9)

    def test_wrong_settings_and_few_iterations_are_told(self):
        self.write("x.csv", table(tastes()))
        for text, pattern in (("l2=0", "l2: a number from 0.0001"),
                              ("l2=nan", "l2: a number from"),
                              ("rank=3", "lrec has no setting 'rank'"),
                              ("tolerance=2", "tolerance: a number from")):
            self.fails(2, pattern, "train", "x.csv", "-o", "m.ease", "--model", "lrec",
                       "--set", text, "--quiet")
        r = self.ease("train", "x.csv", "-o", "m.ease", "--model", "lrec",
                      "--set", "iterations=1")
        self.assertRegex(r.err, "users: not within the tolerance after 1 iterations")
        self.assertRegex(r.err, r"60 of 60 users: loss [\d.]+, [\d.]+ each")


if __name__ == "__main__":
    support.main()
