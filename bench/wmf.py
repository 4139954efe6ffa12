#!/usr/bin/env python3
"""wmf against implicit's AlternatingLeastSquares: loss, NDCG@100, time an iteration.

    OPENBLAS_NUM_THREADS=1 PYTHON bench/wmf.py SPLIT [RANK [ALPHA [LAMBDA [ITERATIONS]]]]

PYTHON has numpy, scipy and implicit; SPLIT is a directory of `ease split` by liang18. A
pair that was seen counts 1 + ALPHA here, which implicit calls alpha. Both are trained
three times in turn, with two threads, and the median iteration is taken; NDCG is on the
test users, folded in. The loss of both is that of the last iteration, in float64 for
implicit's factors and as the program's log has it.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy.sparse as sparse
from implicit.als import AlternatingLeastSquares

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EASE = os.path.join(ROOT, "build/ease")
THREADS, ROUNDS = 2, 3


def pairs(path):
    return np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64, ndmin=2)


def matrix(rows, items):
    users, row = np.unique(rows[:, 0], return_inverse=True)
    ones = np.ones(len(rows), np.float32)
    return users, sparse.csr_matrix((ones, (row, rows[:, 1])), shape=(len(users), items))


def loss_of(x, u, v, alpha, lam):
    """The sum over all pairs, by those that were seen and the squares of all."""
    u, v = u.astype(np.float64), v.astype(np.float64)
    row, col = x.nonzero()
    s = np.einsum("ij,ij->i", u[row], v[col])
    every = np.sum((u.T @ u) * (v.T @ v))
    return (every + np.sum((1 + alpha) * (1 - s) ** 2 - s ** 2) +
            lam * (np.sum(u * u) + np.sum(v * v)))


def ndcg(model, split, items):
    users, x = matrix(pairs(os.path.join(split, "test_tr.csv")), items)
    held_users, held = matrix(pairs(os.path.join(split, "test_te.csv")), items)
    assert (users == held_users).all()
    ids, _ = model.recommend(np.arange(len(users)), x, N=100, recalculate_user=True)
    discount = 1 / np.log2(np.arange(2, 102))
    values = []
    for u, list_of in enumerate(ids):
        mine = held.indices[held.indptr[u]:held.indptr[u + 1]]
        values.append(discount[np.isin(list_of, mine)].sum() /
                      discount[:min(len(mine), 100)].sum())
    return np.mean(values), np.std(values) / np.sqrt(len(values))


def theirs(x, rank, alpha, lam, iterations):
    took = []
    model = AlternatingLeastSquares(factors=rank, regularization=lam, alpha=1 + alpha,
                                    iterations=iterations, num_threads=THREADS,
                                    random_state=1)
    model.fit(x, show_progress=False, callback=lambda i, seconds, loss: took.append(seconds))
    return model, took


def ours(split, out, rank, alpha, lam, iterations):
    """The loss of the last iteration, and the times between the lines of the log."""
    settings = f"rank={rank},alpha={alpha},lambda={lam},iterations={iterations}"
    child = subprocess.Popen([EASE, "train", os.path.join(split, "train.csv"), "-o", out,
                              "--model", "wmf", "--set", settings, "--threads",
                              str(THREADS)], stderr=subprocess.PIPE, text=True)
    times, loss = [], None
    for line in child.stderr:
        if "iteration" in line:
            times.append(time.monotonic())
            loss = float(line.rsplit(" ", 1)[1])
    if child.wait():
        sys.exit("ease train failed")
    return loss, list(np.diff(times))


def main(split, rank=64, alpha=10.0, lam=100.0, iterations=15):
    rank, alpha, lam, iterations = int(rank), float(alpha), float(lam), int(iterations)
    rows = pairs(os.path.join(split, "train.csv"))
    x = matrix(rows, int(rows[:, 1].max()) + 1)[1]
    their_times, our_times = [], []
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "wmf.ease")
        for _ in range(ROUNDS):
            model, took = theirs(x, rank, alpha, lam, iterations)
            their_times += took
            loss, took = ours(split, out, rank, alpha, lam, iterations)
            our_times += took
        report = json.loads(subprocess.run(
            [EASE, "eval", out, "--input", os.path.join(split, "test_tr.csv"), "--target",
             os.path.join(split, "test_te.csv"), "--metrics", "ndcg@100", "--json", "-q"],
            check=True, stdout=subprocess.PIPE).stdout)["metrics"]["ndcg@100"]
    mean, error = ndcg(model, split, x.shape[1])
    their_loss = loss_of(x, model.user_factors, model.item_factors, alpha, lam)
    their_time, our_time = statistics.median(their_times), statistics.median(our_times)
    print(f"rank {rank}, alpha {alpha:g}, lambda {lam:g}, {iterations} iterations")
    print(f"implicit  loss {their_loss:.7g}  ndcg@100 {mean:.5f} +- {error:.5f}  "
          f"{their_time * 1e3:.1f} ms an iteration")
    print(f"ease      loss {loss:.7g}  ndcg@100 {report['mean']:.5f} +- "
          f"{report['stderr']:.5f}  {our_time * 1e3:.1f} ms an iteration")
    print(f"loss {loss / their_loss - 1:+.4%}, time {our_time / their_time:.2f} of implicit's")


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
