"""Real data, which is not in the repository: the tests that other files run on made-up ratings,
on MovieLens and all of npm."""
import os
import unittest

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


if __name__ == "__main__":
    support.main()
