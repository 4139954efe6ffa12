"""A small data set, a model of it, and the same by the book."""

import os
import random
import shutil
import tempfile

import numpy as np

from support import Case, run

ITEMS = ["react", "redux", "webpack", "babel", "express", "mongoose", "passport", "lodash"]


def small_pairs(users=60, seed=5):
    """Two tastes: front-end and back-end, lodash in both."""
    rng = random.Random(seed)
    pairs = []
    for u in range(users):
        taste = ITEMS[:4] if u % 2 else ITEMS[4:7]
        have = [i for i in taste if rng.random() < 0.7] or taste[:1]
        if rng.random() < 0.5:
            have.append("lodash")
        pairs += [(f"u{u}", i) for i in have]
    return pairs


def as_csv(pairs, header="user,item"):
    return header + "\n" + "".join(",".join(map(str, p)) + "\n" for p in pairs)


def history_of(pairs, user):
    return [i for u, i in pairs if u == user]


def weights(pairs, lam):
    """B by the book: rows are inputs. Items in the order in which they appear."""
    ids = list(dict.fromkeys(i for _, i in pairs))
    users = list(dict.fromkeys(u for u, _ in pairs))
    x = np.zeros((len(users), len(ids)))
    for u, i in pairs:
        x[users.index(u), ids.index(i)] = 1
    p = np.linalg.inv(x.T @ x + lam * np.eye(len(ids)))
    b = -p / np.diag(p)[None, :]
    np.fill_diagonal(b, 0)
    return ids, b, p


class Trained(Case):
    """Tests that need a model: model.ease of ratings.csv, and its oracle."""

    LAMBDA = 2.0

    @classmethod
    def setUpClass(cls):
        cls.store = tempfile.mkdtemp(prefix="ease-test-")
        cls.addClassCleanup(shutil.rmtree, cls.store, ignore_errors=True)
        cls.pairs = small_pairs()
        with open(os.path.join(cls.store, "ratings.csv"), "w") as f:
            f.write(as_csv(cls.pairs))
        r = run("train", "ratings.csv", "-o", "model.ease", "--lambda", cls.LAMBDA,
                "--storage", "f32", cwd=cls.store)
        assert r.code == 0, r
        cls.ids, cls.b, cls.p = weights(cls.pairs, cls.LAMBDA)

    def setUp(self):
        super().setUp()
        for name in ("ratings.csv", "model.ease"):
            shutil.copy(os.path.join(self.store, name), self.dir)

    def expected(self, history, k=10, keep_seen=False):
        at = [self.ids.index(h) for h in history]
        scores = self.b[at].sum(axis=0)
        order = sorted(range(len(self.ids)), key=lambda j: (-scores[j], j))
        return [(self.ids[j], scores[j]) for j in order
                if keep_seen or self.ids[j] not in history][:k]
