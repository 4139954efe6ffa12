#!/usr/bin/env python3
"""item-item against implicit's CosineRecommender and SciPy, in one run.

    bench/item_item.py DATA [NEIGHBOURS [ROUNDS]]     # 100 5

DATA is a table of user,item or adjacency lines, by numbers: train.csv of ease split is one. The
program, SciPy (a sparse product of the normalized columns, then the largest of each row) and
implicit, which counts the item itself among its neighbours as the program does, are run by
turns, ROUNDS times each; the program and implicit on two threads, SciPy, which has no more, on
one. All begin with the matrix by users in memory and end with one of the neighbours. Prints
the median of each, the least and the most, the ratios, and whether the weights are equal: to
1e-6 wherever an item is kept by both, and where they keep different ones, these are as near to
each other (ties).
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1") # implicit asks for it

import implicit
import numpy as np
import scipy
import scipy.sparse as sparse
from implicit.nearest_neighbours import CosineRecommender

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EASE = os.environ.get("EASE") or os.path.join(ROOT, "build/ease")
THREADS = 2


def read(path):
    """Rows of user,item with a header, or a user and its items on each line."""
    with open(path, encoding="ascii") as f:
        if "," in f.readline():
            pairs = np.loadtxt(f, delimiter=",", dtype=np.int64)
        else:
            f.seek(0)
            rows = [np.array(line.split(), dtype=np.int64) for line in f]
            pairs = np.vstack([np.column_stack([np.full(len(r) - 1, r[0]), r[1:]])
                               for r in rows if len(r) > 1])
    return sparse.csr_matrix((np.ones(len(pairs), np.float32), (pairs[:, 0], pairs[:, 1])))


def ours(path, neighbours, out):
    """The seconds of training, without reading and writing."""
    with open(path, encoding="ascii") as f: # by numbers, also of a split
        columns = ["--columns", "1,2"] if "," in f.readline() else []
    r = subprocess.run([EASE, "train", path, "-o", out, "--model", "item-item", "--set",
                        f"neighbours={neighbours}", "--threads", str(THREADS), "--json",
                        "--quiet", *columns], check=True, stdout=subprocess.PIPE)
    phases = json.loads(r.stdout)["phases"]
    return sum(seconds for name, seconds in phases.items()
               if name not in ("reading", "writing"))


def with_scipy(x, neighbours):
    began = time.perf_counter()
    norm = np.sqrt(np.asarray(x.power(2).sum(axis=0)).ravel())
    unit = (x @ sparse.diags(1 / np.where(norm > 0, norm, 1))).astype(np.float32).tocsr()
    similar = unit.T.tocsr() @ unit # both by rows: nothing has to be turned afterwards
    similar.setdiag(0)
    ends, kept = similar.indptr.tolist(), []
    for begin, end in zip(ends, ends[1:]):
        drop = max(end - begin - (neighbours - 1), 0)
        row = similar.data[begin:end]
        kept.append(begin + (np.argpartition(row, drop)[drop:] if 0 < drop < len(row)
                             else np.arange(drop, len(row))))
    counts, at = [len(k) for k in kept], np.concatenate(kept)
    starts = np.concatenate([[0], np.cumsum(counts)])
    nearest = sparse.csr_matrix((similar.data[at], similar.indices[at], starts),
                                shape=similar.shape)
    nearest.eliminate_zeros()
    return nearest, time.perf_counter() - began


def with_implicit(x, neighbours):
    began = time.perf_counter()
    model = CosineRecommender(K=neighbours, num_threads=THREADS)
    model.fit(x, show_progress=False)
    return model.similarity, time.perf_counter() - began


def exported(path, directory, items):
    """The program's weights in the order of the data's numbers."""
    out = os.path.join(directory, "w.tsv")
    subprocess.run([EASE, "export", path, "-o", out, "--quiet"], check=True)
    with open(out, encoding="ascii") as f:
        f.readline()
        table = np.loadtxt(f, delimiter="\t")
    at = table[:, :2].astype(np.int64)
    return sparse.csr_matrix((table[:, 2], (at[:, 0], at[:, 1])), shape=(items, items))


def compare(w, other):
    """The largest difference where both keep an item, and of what only one keeps from
    the nearest that the other keeps last: 0 but for ties."""
    other = sparse.csr_matrix(other, dtype=np.float64, copy=True)
    other.setdiag(0)
    other.eliminate_zeros()
    common = abs(w.multiply(other != 0) - other.multiply(w != 0)).max()
    alone = (w - w.multiply(other != 0)).tocoo()
    last = np.zeros(w.shape[0])
    some = np.diff(other.indptr) > 0
    last[some] = np.minimum.reduceat(other.data, other.indptr[:-1][some])
    return common, np.abs(alone.data - last[alone.row])[alone.data != 0].max(initial=0)


def main(path, neighbours=100, rounds=5):
    neighbours, rounds = int(neighbours), int(rounds)
    x = read(path)
    times = {"ease": [], "SciPy": [], "implicit": []}
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "m.ease")
        for _ in range(rounds):
            times["ease"].append(ours(path, neighbours, out))
            plain, seconds = with_scipy(x, neighbours)
            times["SciPy"].append(seconds)
            peer, seconds = with_implicit(x, neighbours)
            times["implicit"].append(seconds)
        w = exported(out, directory, x.shape[1])
    middle = {name: statistics.median(seconds) for name, seconds in times.items()}
    print(f"{x.shape[0]} users, {x.shape[1]} items, {x.nnz} interactions, {neighbours} "
          f"neighbours, {rounds} rounds; SciPy {scipy.__version__}, implicit "
          f"{implicit.__version__}")
    for name, seconds in times.items():
        print(f"{name:8} {middle[name]:.3f} s ({min(seconds):.3f} to {max(seconds):.3f}), "
              f"{middle[name] / middle['ease']:.1f} x", flush=True)
    for name, similar in (("SciPy", plain), ("implicit", peer)):
        print("largest difference from {}: {:.1e}, of ties {:.1e}".format(
            name, *compare(w, similar)))


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 4 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
