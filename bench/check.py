#!/usr/bin/env python3
"""The program's evaluation against an independent one in NumPy, on a whole split.

    bench/check.py NAME LAMBDA        # NAME of ml-1m goodbooks npm, as in results.py

Splits by liang18, trains and evaluates in float64 with the program, and does the same
from the split's files in NumPy: the weights of Eq. 8 by numpy.linalg.inv, dense scores,
the metrics by their definitions. Prints both and the largest difference, which must be
below 1e-6.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import scipy.sparse as sparse

from results import METRICS, ROOT, STRONG

DATA = os.path.join(os.path.dirname(ROOT), "shared", "data")
EASE = os.path.join(ROOT, "build/ease")


def ease(*args):
    return subprocess.run([EASE, *map(str, args)], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def matrix(path, users, items):
    pairs = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64, ndmin=2)
    return sparse.csr_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])),
                             shape=(users, items))


def weights(x, lam):
    p = np.linalg.inv((x.T @ x).toarray() + lam * np.eye(x.shape[1]))
    b = p / -np.diag(p)
    np.fill_diagonal(b, 0)
    return b


def measure(x, held, b):
    """recall@20, recall@50 and ndcg@100 of every user with something held out."""
    values = []
    discount = 1 / np.log2(np.arange(2, 102))
    users = np.flatnonzero(np.diff(held.indptr))
    for at in range(0, len(users), 500):
        block = users[at:at + 500]
        scores = x[block] @ b
        scores[x[block].nonzero()] = -np.inf
        best = np.argsort(-scores, axis=1, kind="stable")[:, :100]
        wanted = held[block].toarray()
        hits = np.take_along_axis(wanted, best, axis=1)
        count = wanted.sum(axis=1)
        ideal = np.concatenate(([0], np.cumsum(discount)))[np.minimum(count, 100).astype(int)]
        values.append(np.stack([hits[:, :20].sum(1) / np.minimum(count, 20),
                                hits[:, :50].sum(1) / np.minimum(count, 50),
                                hits @ discount / ideal]))
    return np.concatenate(values, axis=1)


def main(name, lam):
    path, options, heldout = STRONG[name]
    with tempfile.TemporaryDirectory() as work:
        split, model = work + "/split", work + "/m.ease"
        ease("split", os.path.join(DATA, path), "-o", split, "--protocol", "liang18",
             "--heldout-users", heldout, *options)
        ease("train", split + "/train.csv", "-o", model, "--lambda", lam, "--precision", "f64",
             "--storage", "f32")
        ours = json.loads(ease("eval", model, "--input", split + "/test_tr.csv", "--target",
                               split + "/test_te.csv", "--metrics", METRICS, "--json"))["metrics"]
        users, items = (sum(1 for _ in open(f"{split}/unique_{k}.txt")) for k in ("uid", "sid"))
        b = weights(matrix(split + "/train.csv", users, items), float(lam))
        values = measure(matrix(split + "/test_tr.csv", users, items),
                         matrix(split + "/test_te.csv", users, items), b)
    worst = 0
    for k, metric in enumerate(METRICS.split(",")):
        mean = values[k].mean()
        error = values[k].std() / np.sqrt(values.shape[1])
        worst = max(worst, abs(ours[metric]["mean"] - mean), abs(ours[metric]["stderr"] - error))
        print(f"{name} {metric}: ease {ours[metric]['mean']:.8f} ± {ours[metric]['stderr']:.8f}, "
              f"NumPy {mean:.8f} ± {error:.8f}")
    print(f"{name}: {values.shape[1]} users, lambda {lam}, largest difference {worst:.1e}")
    return 0 if worst < 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
