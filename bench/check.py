#!/usr/bin/python3
"""The program's evaluation against an independent one in NumPy, on a whole split.

    bench/check.py NAME...            # of ml-1m goodbooks npm, as in results.py

Splits by liang18 and measures each model of docs/results/NAME.json at the lambda chosen
there, in float64 with the program, and does the same from the split's files in NumPy: the
weights of Eq. 8 by numpy.linalg.inv, dense scores, the metrics by their definitions.
Prints both and the largest difference, which must be below 1e-6.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import scipy.sparse as sparse

from results import METRICS, ROOT, STRONG, kept

DATA = os.path.join(os.path.dirname(ROOT), "shared", "data")
EASE = os.path.join(ROOT, "build/ease")


def ease(*args):
    return subprocess.run([EASE, *map(str, args)], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def matrix(path, users, items):
    pairs = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64, ndmin=2)
    return sparse.csr_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])),
                             shape=(users, items))


def inverse(x, lam):
    gram = (x.T @ x).toarray()
    gram[np.diag_indices_from(gram)] += lam
    return np.linalg.inv(gram)


def weights(x, model, lam):
    """Of EASE by Eq. 8, of EASE >= 0 without those below 0; popularity counts."""
    if model == "popularity":
        return None
    b = inverse(x, lam)
    b /= -np.diag(b).copy()
    np.fill_diagonal(b, 0)
    return b if model == "ease" else np.maximum(b, 0, out=b)


def measure(x, held, b, counts):
    """recall@20, recall@50 and ndcg@100 of every user with something held out."""
    values = []
    discount = 1 / np.log2(np.arange(2, 102))
    users = np.flatnonzero(np.diff(held.indptr))
    for at in range(0, len(users), 500):
        block = users[at:at + 500]
        scores = np.tile(counts, (len(block), 1)) if b is None else x[block] @ b
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


def measured_by_ease(split, model, lam, work):
    path = work + "/m.ease"
    options = [] if model == "popularity" else ["--lambda", lam, "--precision", "f64"]
    ease("train", split + "/train.csv", "-o", path, "--model", model, "--storage", "f32", *options)
    return json.loads(ease("eval", path, "--input", split + "/test_tr.csv", "--target",
                           split + "/test_te.csv", "--metrics", METRICS, "--json"))["metrics"]


def measured_by_numpy(split, model, lam):
    users, items = (sum(1 for _ in open(f"{split}/unique_{k}.txt")) for k in ("uid", "sid"))
    x, given, held = (matrix(f"{split}/{name}.csv", users, items)
                      for name in ("train", "test_tr", "test_te"))
    return measure(given, held, weights(x, model, lam), np.asarray(x.sum(axis=0)).ravel())


def compared(name, model, lam, ours, values):
    worst = 0
    for k, metric in enumerate(METRICS.split(",")):
        mean, error = values[k].mean(), values[k].std() / np.sqrt(values.shape[1])
        got = ours[metric]
        worst = max(worst, abs(got["mean"] - mean), abs(got["stderr"] - error))
        print(f"{name} {model} {metric}: ease {got['mean']:.8f} ± {got['stderr']:.8f}, "
              f"NumPy {mean:.8f} ± {error:.8f}")
    print(f"{name} {model}: {values.shape[1]} users, lambda {lam}, largest difference "
          f"{worst:.1e}", flush=True)
    return worst


def check(name):
    path, options, heldout = STRONG[name]
    worst = 0
    with tempfile.TemporaryDirectory() as work:
        split = work + "/split"
        ease("split", os.path.join(DATA, path), "-o", split, "--protocol", "liang18",
             "--heldout-users", heldout, *options)
        for m in kept(name)["compare"]["models"]:
            model, lam = m["model"], m.get("lambda")
            worst = max(worst, compared(name, model, lam,
                                        measured_by_ease(split, model, lam, work),
                                        measured_by_numpy(split, model, lam)))
    return worst


if __name__ == "__main__":
    sys.exit(0 if max(map(check, sys.argv[1:])) < 1e-6 else 1)
