#!/usr/bin/env python3
"""Cuts the embedded example out of the whole npm dependency data.

    make-npm.py dependencies.tsv.gz npm.tsv.gz

Keeps the 1,500 packages that are depended on most, and a random 30,000 of the
packages that depend on at least five of them.
"""
import collections
import gzip
import random
import sys

ITEMS, LEAST, USERS = 1500, 5, 30000


def main(source, target):
    with gzip.open(source, "rt") as f:
        rows = [line.rstrip("\n").split("\t") for line in f]
    counts = collections.Counter(item for _, item in rows)
    kept = {item for item, _ in counts.most_common(ITEMS)}
    histories = {}
    for user, item in rows:
        if item in kept:
            histories.setdefault(user, []).append(item)
    users = [u for u, items in histories.items() if len(items) >= LEAST]
    random.seed(1)
    chosen = set(random.sample(users, USERS))
    text = "".join(f"{u}\t{i}\n" for u in users if u in chosen for i in histories[u])
    with open(target, "wb") as f:
        f.write(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main(*sys.argv[1:])
