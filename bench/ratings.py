#!/usr/bin/env python3
"""Ones, good rows or values: the table of docs/howto/ratings.md.

    bench/ratings.py ml-1m/ratings.csv

A fifth of all ratings is held out, and those of them with four stars or more are to be found.
Films that a user has rated in training are not listed. The closed form is computed by NumPy."""
import csv
import random
import sys

import numpy as np

LAMBDAS = {"ones": (300, 1000, 2000, 4000), "good rows only": (200, 500, 1000, 2000),
           "values": (4000, 12000, 24000, 48000)}


def read(path):
    """Matrices of users x items: the ratings for training, and what is to be found."""
    with open(path, newline="") as f:
        rows = [(row[0], row[1], float(row[2])) for row in list(csv.reader(f))[1:]]
    users = {u: n for n, u in enumerate(dict.fromkeys(r[0] for r in rows))}
    items = {i: n for n, i in enumerate(dict.fromkeys(r[1] for r in rows))}
    train = np.zeros((len(users), len(items)), np.float32)
    target = np.zeros(train.shape, bool)
    draw = random.Random(1)
    for user, item, stars in rows:
        at = users[user], items[item]
        if draw.random() >= 0.2:
            train[at] = stars
        elif stars >= 4:
            target[at] = True
    return train, target


def measured(x, seen, target, lam):
    """recall@20 and ndcg@100: for each the mean and its standard error."""
    p = np.linalg.inv((x.T @ x).astype(np.float64) + lam * np.eye(x.shape[1]))
    b = -p / np.diag(p)
    np.fill_diagonal(b, 0)
    scores = x @ b.astype(np.float32)
    scores[seen] = -np.inf
    best = np.argsort(-scores, axis=1, kind="stable")[:, :100]
    hits, counts = np.take_along_axis(target, best, 1), target.sum(1)
    hits, counts = hits[counts > 0], counts[counts > 0]
    gains = 1 / np.log2(np.arange(2, 102))
    for metric in (hits[:, :20].sum(1) / np.minimum(20, counts),
                   hits @ gains / np.cumsum(gains)[np.minimum(100, counts) - 1]):
        yield metric.mean(), metric.std() / len(metric) ** 0.5


def main():
    train, target = read(sys.argv[1])
    inputs = {"ones": train > 0, "good rows only": train >= 4, "values": train}
    for name, lambdas in LAMBDAS.items():
        for lam in lambdas:
            (recall, r_error), (ndcg, n_error) = measured(
                inputs[name].astype(np.float32), train > 0, target, lam)
            print(f"| {name} | {lam:,} | {recall:.3f} ± {r_error:.3f} | {ndcg:.3f} ± {n_error:.3f} |",
                  flush=True)


if __name__ == "__main__":
    main()
