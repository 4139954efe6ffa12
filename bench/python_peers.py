#!/usr/bin/env python3
"""The Python module beside RecTools' and irspack's EASE on one matrix: the time of a fit,
the peak of memory, and whether the lists of ten are the same.

Lists of the peers are made here from their weights, the best of X B. RecTools' own
recommend ranks by the rows of B, X B', which is another matrix: its lists are compared
too, place by place.

    pip install . rectools irspack pandas
    bench/python_peers.py [DATA] [--items N] [--lambda 80] [--repeat 3]
                          [--peers rectools,irspack] [--held-out 0.2]

DATA is any file that bench/peers.py reads; by default gowalla, whose fits take up to an
hour and, by the peers, 20 and more GB; --items keeps the N most popular. Each fit has a
process of its own, which may take nine tenths of the machine's memory; the peak is that
of the process when the fit is done. They take turns, and ratios are of medians. Prints
a table, and one JSON object with all that was measured. --held-out takes a random share
of each user's items away first, and measures ndcg@10 on it."""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import peers

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOWALLA = os.path.join(os.path.dirname(ROOT), "shared", "data", "gowalla", "train.txt")
K, BLOCK = 10, 256


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def lists_of(x, weights):
    """The best ten of each user by a matrix of weights, and their scores."""
    import numpy as np

    weights = np.ascontiguousarray(weights)  # else SciPy turns it for each block
    ids = np.empty((x.shape[0], K), np.int32)
    scores = np.empty((x.shape[0], K), np.float32)
    for at in range(0, x.shape[0], BLOCK):
        part = x[at:at + BLOCK]
        s = np.asarray(part @ weights)
        s[part.nonzero()] = -np.inf
        best = np.argpartition(-s, K, axis=1)[:, :K]
        order = np.argsort(-np.take_along_axis(s, best, axis=1), axis=1, kind="stable")
        best = np.take_along_axis(best, order, axis=1)
        ids[at:at + BLOCK] = best
        scores[at:at + BLOCK] = np.take_along_axis(s, best, axis=1)
    return ids, scores


def fit_ease(x, lam):
    import numpy as np

    import ease

    model = ease.EASE(lambda_=lam)
    return lambda: model.fit(x), lambda: model.recommend(np.arange(x.shape[0]), x, N=K)


def fit_irspack(x, lam):
    import numpy as np
    from irspack.recommenders import DenseSLIMRecommender

    model = DenseSLIMRecommender(x, reg=lam)
    return model.learn, lambda: lists_of(x, np.asarray(model.W))


def fit_rectools(x, lam):
    import numpy as np
    import pandas as pd
    from rectools import Columns
    from rectools.dataset import Dataset
    from rectools.models import EASEModel

    coo = x.tocoo()
    data = Dataset.construct(pd.DataFrame({
        Columns.User: coo.row, Columns.Item: coo.col, Columns.Weight: 1.0,
        Columns.Datetime: pd.Timestamp("2020-01-01")}))
    model = EASEModel(regularization=lam)

    def lists():
        order = np.argsort(data.item_id_map.external_ids)  # ours are 0, 1, ...
        ids, scores = lists_of(x, np.asarray(model.weight)[np.ix_(order, order)])
        found = model.recommend(np.arange(x.shape[0]), data, k=K, filter_viewed=True)
        own = np.full_like(ids, -1)
        own[found[Columns.User], found[Columns.Rank] - 1] = found[Columns.Item]
        return ids, scores, own

    return lambda: model.fit(data), lists


def popular(x, most):
    """X with its most popular items alone, in their order, and the users who have some."""
    import numpy as np

    if most:
        x = x[:, np.sort(np.argsort(-x.getnnz(axis=0), kind="stable")[:most])]
    return x[x.getnnz(axis=1) > 0]


def held_out(x, share):
    """X without a random share of each row, and that share. Every item stays in X: RecTools
    numbers those that are there."""
    import numpy as np

    coo = x.tocoo()
    order = np.lexsort((np.random.default_rng(1).random(x.nnz), coo.row))
    counts = x.getnnz(axis=1)
    place = np.arange(x.nnz) - np.repeat(np.cumsum(counts) - counts, counts)
    taken = np.empty(x.nnz, bool)
    taken[order] = place < np.repeat((counts * share).astype(int), counts)
    taken &= np.bincount(coo.col[~taken], minlength=x.shape[1])[coo.col] > 0
    target = coo.copy()
    coo.data, target.data = np.where(taken, 0, coo.data), np.where(taken, coo.data, 0)
    parts = coo.tocsr(), target.tocsr()
    for part in parts:
        part.eliminate_zeros()
    return parts


def ndcg(ids, target):
    """The mean over users with something held out."""
    import numpy as np

    discounts = 1 / np.log2(np.arange(2, K + 2))
    users = np.flatnonzero(target.getnnz(axis=1))
    hits = np.asarray(target[np.repeat(users, K), ids[users].ravel()] > 0).reshape(-1, K)
    best = np.cumsum(discounts)[np.minimum(target.getnnz(axis=1)[users], K) - 1]
    return float(((hits & (ids[users] >= 0)) @ discounts / best).mean())


def limit_memory():
    """So that what does not fit ends by an error, and not the machine."""
    most = int(0.9 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def worker(name, options):
    """One fit, and its lists if they are wanted."""
    import numpy as np

    x = popular(peers.matrix(peers.table(options.data)), options.items)
    if options.held_out:
        x, target = held_out(x, options.held_out)
    x.sort_indices()
    fit, lists = {"ease": fit_ease, "irspack": fit_irspack,
                  "rectools": fit_rectools}[name](x, options.lam)
    before, out = peak_bytes(), options.lists
    limit_memory()
    began = time.perf_counter()
    try:
        fit()
    except MemoryError as e:
        return {"error": str(e)}
    result = {"seconds": time.perf_counter() - began, "peak_bytes": peak_bytes(),
              "before_bytes": before, "users": x.shape[0], "items": x.shape[1]}
    if out:
        ids, scores, *own = lists()
        np.savez(out, ids=ids, scores=scores, own=own[0] if own else ids)
        if options.held_out:
            result["ndcg@10"] = ndcg(ids, target)
            result["own ndcg@10"] = ndcg(own[0] if own else ids, target)
    return result


def share_alike(a, b):
    """Of users whose lists are the same, but for items of (nearly) equal score."""
    import numpy as np

    a, b = np.load(a), np.load(b)
    near = 1e-4 * np.abs(b["scores"]).max(axis=1, keepdims=True)
    alike = (a["ids"] == b["ids"]) | (np.abs(a["scores"] - b["scores"]) <= near)
    exact = (a["ids"] == b["ids"]).all(axis=1)
    return {"alike": float(alike.all(axis=1).mean()), "identical": float(exact.mean()),
            "own places": float((a["ids"] == b["own"]).mean())}


def run_worker(name, options, out):
    done = subprocess.run([sys.executable, os.path.abspath(__file__), options.data, "--lambda",
                           str(options.lam), "--items", str(options.items), "--held-out",
                           str(options.held_out), "--worker", name, "--lists", out], stdout=subprocess.PIPE, text=True, check=True)
    result = json.loads(done.stdout.splitlines()[-1])
    print(name, result, file=sys.stderr, flush=True)
    return result


def compare(options):
    names = ["ease"] + options.peers.split(",")
    runs = {n: [] for n in names}
    with tempfile.TemporaryDirectory() as place:
        lists = {n: os.path.join(place, n + ".npz") for n in names}
        for turn in range(options.repeat):
            for n in list(names):
                runs[n].append(run_worker(n, options, lists[n] if turn == 0 else ""))
                if "error" in runs[n][-1]:
                    print(f"{n}: out of memory: {runs[n][-1]['error']}")
                    names.remove(n)
        alike = {n: share_alike(lists["ease"], lists[n]) for n in names[1:]}
    seconds = {n: statistics.median(r["seconds"] for r in runs[n]) for n in names}
    peak = {n: statistics.median(r["peak_bytes"] for r in runs[n]) for n in names}
    print(f"{options.data}: {runs['ease'][0]['users']:,} users, {runs['ease'][0]['items']:,} items")
    print("           fit    times ease's   peak      times ease's  same lists  own places")
    for n in names:
        same = (f"{100 * alike[n]['alike']:10.3f} %{100 * alike[n]['own places']:10.1f} %"
                if n in alike else "")
        print(f"{n:8} {seconds[n]:7.2f} s {seconds[n] / seconds['ease']:9.1f}   "
              f"{peak[n] / 1e6:9,.0f} MB {peak[n] / peak['ease']:9.1f}  {same}")
    if options.held_out:
        for n in names:
            print(f"{n:8} ndcg@10 {runs[n][0]['ndcg@10']:.4f}, of its own lists "
                  f"{runs[n][0]['own ndcg@10']:.4f}")
    print(json.dumps({"runs": runs, "alike": alike}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", default=GOWALLA)
    parser.add_argument("--items", type=int, default=0)
    parser.add_argument("--lambda", dest="lam", type=float, default=80.0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--peers", default="rectools,irspack")
    parser.add_argument("--held-out", type=float, default=0.0)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--lists", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(worker(options.worker, options)))
    else:
        compare(options)


if __name__ == "__main__":
    main()
