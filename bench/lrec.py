#!/usr/bin/env python3
"""lrec against scikit-learn's fits, user by user, in one run.

    bench/lrec.py SPLIT [L2 [EVERY]]     # 30 100

SPLIT is a directory of ease split, of a protocol that keeps the users. The program trains on
all users; LogisticRegression fits every EVERYth one from the sparse matrix, with its own
default tolerance, and its time is taken that many times. Prints both, their ratio, and how far
the scores are from each other at tight tolerances.
"""
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import scipy.sparse as sparse
import sklearn
from sklearn.linear_model import LogisticRegression

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EASE = os.environ.get("EASE") or os.path.join(ROOT, "build/ease")


def ours(data, l2, tolerance, out):
    began = time.perf_counter()
    subprocess.run([EASE, "train", data, "--columns", "uid,sid", "-o", out, "--model", "lrec",
                    "--quiet", "--set", f"l2={l2},tolerance={tolerance}"], check=True)
    return time.perf_counter() - began


def theirs(x, users, l2, **how):
    """The scores of these users, and the seconds all of them would take."""
    fit = LogisticRegression(C=1 / l2, **how)
    scores, began = {}, time.perf_counter()
    for u in users:
        own = slice(x.indptr[u], x.indptr[u + 1])
        y = np.zeros(x.shape[0])
        y[x.indices[own]] = 1
        x.data[own] = 0
        scores[u] = fit.fit(x, y).decision_function(x)
        x.data[own] = 1
    return scores, (time.perf_counter() - began) * x.shape[1] / len(users)


def scores_of(path, users, items):
    """What the program has for these users, in the order of the split's numbers."""
    r = subprocess.run([EASE, "recommend", path, "-k", str(items), "--keep-seen", "--json",
                        "--quiet", *(f"--user={u}" for u in users)], check=True,
                       stdout=subprocess.PIPE)
    scores = {}
    for line in r.stdout.splitlines():
        row = json.loads(line)
        scores[int(row["user"])] = np.full(items, np.nan)
        for item in row["items"]:
            scores[int(row["user"])][int(item["id"])] = item["score"]
    return scores


def main(split, l2=30, every=100):
    l2, every = float(l2), int(every)
    warnings.filterwarnings("ignore") # that a fit ends at max_iter
    data = os.path.join(split, "train.csv")
    pairs = np.loadtxt(data, delimiter=",", skiprows=1, dtype=np.int64)
    # Items that nobody has are no examples to the program.
    known = np.unique(pairs[:, 1])
    x = sparse.csc_matrix((np.ones(len(pairs)),
                           (np.searchsorted(known, pairs[:, 1]), pairs[:, 0])))
    users = range(0, x.shape[1], every)
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "lrec.ease")
        seconds = ours(data, l2, 1e-3, path)
        _, whole = theirs(x, users, l2)
        print(f"lrec l2 {l2:g}: {seconds:.1f} s, scikit-learn {sklearn.__version__} "
              f"{whole:.0f} s, {whole / seconds:.1f} x", flush=True)
        ours(data, l2, 1e-8, path)
        got = scores_of(path, users, int(known[-1]) + 1)
    want, _ = theirs(x, users, l2, solver="newton-cg", tol=1e-10, max_iter=1000)
    print(f"largest difference of scores "
          f"{max(np.abs(got[u][known] - want[u]).max() for u in users):.1e}")


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
