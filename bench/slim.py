#!/usr/bin/env python3
"""SLIM against scikit-learn's fits, item by item, in one run.

    bench/slim.py SPLIT [slim|slim-free [L1 L2 [EVERY]]]     # slim 1 300 50

SPLIT is a directory of ease split. The program trains on all items; ElasticNet fits every
EVERYth one from the sparse matrix, with its own default tolerance (1e-4) and with 1e-8, and
its time is taken that many times. Prints both, their ratio, and how far the program's
weights (tolerance 1e-8 for that) are from the tight fits.
"""
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import scipy.sparse as sparse
import sklearn
from sklearn.linear_model import ElasticNet

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EASE = os.environ.get("EASE") or os.path.join(ROOT, "build/ease")


def ours(data, model, l1, l2, out, tolerance):
    began = time.perf_counter()
    subprocess.run([EASE, "train", data, "--columns", "uid,sid", "-o", out, "--model", model,
                    "--quiet", "--set", f"l1={l1},l2={l2},tolerance={tolerance}"], check=True)
    return time.perf_counter() - began


def theirs(x, items, model, l1, l2, tolerance):
    """The weights into these items, and the seconds all items would take."""
    net = ElasticNet(alpha=(l1 + l2) / x.shape[0], l1_ratio=l1 / (l1 + l2),
                     positive=model == "slim", fit_intercept=False, tol=tolerance,
                     max_iter=10000, copy_X=False)
    weights, began = {}, time.perf_counter()
    for j in items:
        own = slice(x.indptr[j], x.indptr[j + 1])
        y = x[:, j].toarray().ravel()
        x.data[own] = 0
        weights[j] = net.fit(x, y).coef_.copy()
        x.data[own] = 1
    return weights, (time.perf_counter() - began) * x.shape[1] / len(items)


def exported(path, directory):
    """The weights in the order of the split's numbers."""
    out, ids = os.path.join(directory, "w.npy"), os.path.join(directory, "ids.txt")
    subprocess.run([EASE, "export", path, "-o", out, "--items", ids, "--quiet"], check=True)
    place = np.argsort(np.loadtxt(ids, dtype=np.int64))
    return np.load(out)[np.ix_(place, place)]


def main(split, model="slim", l1=1, l2=300, every=50):
    l1, l2, every = float(l1), float(l2), int(every)
    warnings.filterwarnings("ignore") # that a fit ends at max_iter
    data = os.path.join(split, "train.csv")
    pairs = np.loadtxt(data, delimiter=",", skiprows=1, dtype=np.int64)
    x = sparse.csc_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])))
    items = range(0, x.shape[1], every)
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "slim.ease")
        for tolerance in (1e-4, 1e-8):
            seconds = ours(data, model, l1, l2, path, tolerance)
            weights, whole = theirs(x, items, model, l1, l2, tolerance)
            print(f"{model} l1 {l1:g} l2 {l2:g}, tolerance {tolerance:g}: {seconds:.2f} s, "
                  f"scikit-learn {sklearn.__version__} {whole:.1f} s, "
                  f"{whole / seconds:.1f} x", flush=True)
        w = exported(path, directory)
    print(f"largest difference {max(np.abs(w[:, j] - weights[j]).max() for j in items):.1e}")


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 6 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
