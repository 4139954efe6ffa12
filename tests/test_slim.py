"""SLIM against scikit-learn, and against what only the minimum fulfils."""
import unittest

import numpy as np
import support

try:
    from sklearn.linear_model import ElasticNet
except ImportError:
    ElasticNet = None


def coordinates(x):
    """A Matrix Market file of what is not 0."""
    lines = [f"{u + 1} {i + 1} {float(x[u, i])!r}" for u, i in zip(*np.nonzero(x))]
    return "\n".join(["%%MatrixMarket matrix coordinate real general",
                      f"{x.shape[0]} {x.shape[1]} {len(lines)}", *lines, ""])


class Slim(support.Case):
    """Each column is an elastic net of its own."""

    def random(self, weighted, users=150, items=40):
        """Tastes of three kinds, so that items have to do with each other."""
        rng = np.random.default_rng(8)
        taste = rng.random((users, 3)) @ rng.random((3, items))
        x = (rng.random((users, items)) < 0.35 * taste).astype(float)
        x[:, 7] = 0
        if weighted:
            x *= rng.integers(1, 21, x.shape) / 4
        return x

    def weights(self, x, model, *options, **settings):
        text = ",".join(f"{name}={value!r}" for name, value in settings.items())
        self.write("x.mtx", coordinates(x))
        self.ease("train", "x.mtx", "-o", "m.ease", "--model", model, "--set", text,
                  "--weights", "--quiet", *options)
        self.ease("export", "m.ease", "-o", "w.npy", "--items", "ids.txt", "--quiet")
        got = np.load(self.path("w.npy"))
        at = [int(line) - 1 for line in self.read("ids.txt").split()]
        w = np.zeros((x.shape[1], x.shape[1]))
        w[np.ix_(at, at)] = got
        return w

    CASES = [(l1, l2) for l1 in (0, 0.3, 4) for l2 in (0, 0.5, 20) if l1 + l2 > 0]

    def check_optimal(self, x, w, l1, l2, free):
        """The conditions that only the minimum fulfils: what draws a weight is l1 where
        there is one, and no more where there is none."""
        gram = x.T @ x
        pull = gram - gram @ w - l2 * w
        slack = 1e-5 * gram.max()
        off = ~np.eye(len(w), dtype=bool)
        self.assertTrue((np.diag(w) == 0).all())
        there, none = off & (w != 0), off & (w == 0)
        self.assertTrue((np.abs(pull - l1 * np.sign(w))[there] <= slack).all())
        self.assertTrue((pull[none] <= l1 + slack).all())
        if free:
            self.assertTrue((pull[none] >= -l1 - slack).all())
        else:
            self.assertTrue((w >= 0).all())

    def test_weights_are_the_minimum(self):
        for weighted in (False, True):
            x = self.random(weighted)
            for l1, l2 in self.CASES:
                for model in ("slim", "slim-free"):
                    with self.subTest(weighted=weighted, l1=l1, l2=l2, model=model):
                        w = self.weights(x, model, l1=l1, l2=l2, tolerance=1e-8,
                                         iterations=100000)
                        self.check_optimal(x, w, l1, l2, model == "slim-free")

    def test_interactions_below_zero_are_no_exception(self):
        x = self.random(True) * np.random.default_rng(3).choice([-1, 1], (150, 40))
        for model in ("slim", "slim-free"):
            w = self.weights(x, model, l1=2, l2=5, tolerance=1e-8, iterations=100000)
            self.check_optimal(x, w, 2, 5, model == "slim-free")

    @unittest.skipUnless(ElasticNet, "no scikit-learn")
    def test_weights_are_those_of_elastic_net(self):
        for weighted in (False, True):
            x = self.random(weighted)
            for l1, l2 in ((0.3, 0.5), (4, 20), (0.01, 20)):
                for model in ("slim", "slim-free"):
                    with self.subTest(weighted=weighted, l1=l1, l2=l2, model=model):
                        w = self.weights(x, model, l1=l1, l2=l2, tolerance=1e-8,
                                         iterations=100000)
                        want = self.elastic_net(x, l1, l2, model == "slim")
                        self.assertLessEqual(np.abs(w - want).max(), 1e-4)

    @staticmethod
    def elastic_net(x, l1, l2, positive):
        """Its loss is divided by the number of rows."""
        net = ElasticNet(alpha=(l1 + l2) / len(x), l1_ratio=l1 / (l1 + l2), tol=1e-9,
                         positive=positive, fit_intercept=False, max_iter=100000)
        w = np.zeros((x.shape[1], x.shape[1]))
        for j in np.flatnonzero(x.any(axis=0)):
            others = x.copy()
            others[:, j] = 0
            w[:, j] = net.fit(others, x[:, j]).coef_
        return w

    def test_the_largest_weights_of_a_column_are_kept(self):
        x = self.random(False)
        for model in ("slim", "slim-free"):
            w = self.weights(x, model, l1=0.1, l2=5)
            few = self.weights(x, model, l1=0.1, l2=5, top=6)
            for j in range(len(w)):
                kept = few[:, j] != 0
                self.assertEqual(kept.sum(), min(6, (w[:, j] != 0).sum()))
                self.assertTrue((few[kept, j] == w[kept, j]).all())
                if kept.any():
                    self.assertLessEqual(np.abs(w[~kept, j]).max(),
                                         np.abs(w[kept, j]).min())

    def test_threads_do_not_change_a_bit(self):
        x = self.random(True)
        files = []
        for threads in (1, 2, 5):
            self.weights(x, "slim-free", "--threads", threads, l1=0.1, l2=5)
            files.append(self.read("m.ease"))
        self.assertEqual(files[0], files[1])
        self.assertEqual(files[0], files[2])

    def test_what_cannot_be_fitted_is_refused(self):
        self.write("x.mtx", coordinates(self.random(False)))
        for text, pattern in (("l1=0,l2=0", "not determined"),
                              ("l1=nan", "l1: a number from"),
                              ("l2=-1", "l2: a number from"),
                              ("top=1.5", "top: a whole number")):
            self.fails(2, pattern, "train", "x.mtx", "-o", "m.ease", "--model", "slim",
                       "--set", text, "--quiet")

    def test_few_passes_are_told(self):
        self.write("x.mtx", coordinates(self.random(False)))
        r = self.ease("train", "x.mtx", "-o", "m.ease", "--model", "slim",
                      "--set", "iterations=2")
        self.assertRegex(r.err, "items: weights still changed by more than 0.0001")


if __name__ == "__main__":
    support.main()
