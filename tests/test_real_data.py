"""Real data, which is not in the repository: the tests that other files run on made-up ratings,
on MovieLens and all of npm."""
import json
import os
import subprocess
import unittest

import numpy as np
import numpy_leaving
import support
import test_evaluation
import test_oracle
import test_protocols
import test_unknown


def ml_1m():
    return support.shared("ml-1m/ratings.csv")


def ml_100k():
    return support.shared("ml-100k/u.data")


def setUpModule():
    if not os.path.isdir(support.DATA):
        raise unittest.SkipTest("real data is not in the repository")


class Weights(test_oracle.Ratings):
    source = staticmethod(ml_1m)


class Metrics(test_evaluation.Ratings):
    source = staticmethod(ml_1m)


class Tuned(test_evaluation.Tuned):
    source = staticmethod(ml_100k)


class Unknown(test_unknown.Unknown):
    source = staticmethod(ml_100k)


class UnknownInSplits(test_unknown.Splits):
    source = staticmethod(ml_100k)


class Protocols(test_protocols.Large):
    source = staticmethod(ml_1m)
    heldout = 1000
    names = staticmethod(lambda: support.shared("npm/dependencies.tsv.gz"))
    heldout_names = 10000


class Updates(unittest.TestCase):
    def run_updates(self, *args):
        program = os.path.join(support.BUILD, "tests", "run_updates")
        found = json.loads(subprocess.run([program, *args], check=True, text=True,
                                          stdout=subprocess.PIPE).stdout)
        self.assertLess(found["weights"], 1e-5)
        self.assertLess(found["residual"], 1e-4)
        self.assertLess(found["deviation"], 1e-4)
        self.assertEqual(found["places"], 0)

    def test_a_thousand_batches_give_the_model_of_the_final_data(self):
        self.run_updates("batches", ml_1m(), "4", "1000")

    def test_batches_of_every_kind_of_model_that_can_be_updated(self):
        for rating, method, settings, kind in (
                ("weights", "ease", "", "counts"), ("4", "ease", "", "covariance"),
                ("weights", "ease", "", "covariance"), ("4", "rlae", "relaxation=0.3", "counts"),
                ("4", "ease-rescaled", "power=0.4", "counts"),
                ("4", "ease-ips", "power=0.4", "counts"),
                ("4", "ease-family", "user-power=0.5", "counts"),
                ("4", "ease-family", "user-power=0.5,relaxation=0.3", "covariance"),
                ("4", "edlae", "dropout=0.5", "counts")):
            with self.subTest(rating=rating, method=method, settings=settings, kind=kind):
                self.run_updates("batches", ml_100k(), rating, "100", method, settings, kind)

    def test_a_hundred_users_removed_one_by_one_leave_the_model_without_them(self):
        self.run_updates("forget", ml_1m(), "4", "100")


class LeftOut(unittest.TestCase):
    """Users of ml-100k, against models that are trained without each of them."""

    def check(self, lam, method, kind="counts", user_power=0, relaxation=0, users=50,
              precision="f32"):
        """Returns the smallest 1 - h of these users."""
        settings = {"relaxation": relaxation, "user-power": user_power}
        program = os.path.join(support.BUILD, "tests", "run_leaving")
        out = subprocess.run(
            [program, ml_100k(), "4", str(users), str(lam), method,
             ",".join(f"{k}={v}" for k, v in settings.items() if v), kind, precision],
            check=True, text=True, stdout=subprocess.PIPE).stdout
        first, *lines = map(json.loads, out.splitlines())
        with open(ml_100k()) as f:
            rows = [line.split("\t") for line in f]
        data = numpy_leaving.Data([(u, i) for u, i, r, _ in rows if int(r) >= 4], user_power)
        self.assertEqual(len(lines), abs(users))
        certain = [self.check_user(data, line, first["lambda"], kind, relaxation)
                   for line in lines]
        self.assertGreater(np.mean(certain), 0.8)
        return min(line["rest"] for line in lines)

    def check_user(self, data, line, lam, kind, relaxation):
        """Metrics are those of the ranking by the scores that are expected. Scores that differ
        by less than their error can be exchanged. Returns which values this leaves certain."""
        user = data.users[line["user"]]
        ranking = np.array([data.items[i] for i in line["items"]])
        target = np.array([data.items[i] for i in line["target"]])
        given = np.setdiff1d(np.flatnonzero(data.x[user]), target)
        want = numpy_leaving.scores(data, user, given, lam, kind, relaxation)
        listed = np.setdiff1d(np.flatnonzero(~np.isnan(want)), given)
        close = 1e-5 * np.nanmax(np.abs(want))
        self.assertEqual(set(ranking), set(listed))
        self.assertLess(np.abs(np.array(line["scores"]) - want[ranking]).max(), close)
        low, high = (numpy_leaving.values(want, listed, target, by)
                     for by in (-2 * close, 2 * close))
        self.assertTrue((low - 1e-12 <= line["values"]).all(), line["user"])
        self.assertTrue((line["values"] <= high + 1e-12).all(), line["user"])
        return low == high

    def test_users_of_ease(self):
        self.check(200, "ease")

    def test_users_with_a_relaxed_diagonal(self):
        self.check(200, "rlae", relaxation=0.3)

    def test_users_with_weights(self):
        self.check(200, "ease-family", user_power=0.5)

    def test_users_with_a_covariance(self):
        self.check(200, "ease", "covariance")

    def test_users_who_nearly_determine_their_weights(self):
        """Just above the bound of .03 sums in float32 would be wrong by up to 3e-5 of the
        largest score. With such a lambda P itself is no better in float32: it is solved in
        float64."""
        self.assertLess(self.check(1, "ease", users=-12, precision="f64"), 0.031)
        self.assertLess(self.check(1, "ease", "covariance", users=-12, precision="f64"), 0.031)
        self.assertLess(self.check(5, "ease", users=-12, precision="f64"), 0.1)
        self.check(20, "ease", users=-12)

    def test_users_with_all_of_it(self):
        self.check(200, "ease-family", "covariance", user_power=0.5, relaxation=0.3)


if __name__ == "__main__":
    support.main()
