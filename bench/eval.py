#!/usr/bin/python3
"""Users a second of `ease eval`, against dense NumPy scoring with argpartition and, with
--implicit, against implicit's top-k, in one run on one machine; and memory.

    bench/eval.py                     gowalla (29,858 users, 40,981 items), lambda 80: trains
                                      first, some minutes and 7 GB of disk and memory
    bench/eval.py --synth 30000,20000,70
                                      synthetic data of so many users, items, and items a user
    bench/eval.py --model FILE        a model of the data at hand, trained before

NumPy scores a sample of the users in blocks, in two ways: the histories as a sparse matrix
(SciPy) or as a dense one (BLAS) times the weights; its faster way counts. It only ranks;
ease also measures. implicit's top-k gets the same weights and histories, and, as it is
commonly used, 128 factors an item and a user, a problem of its own. Each side is run once
to warm up and then --repeat times, by turns; figures are medians."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import scipy.sparse as sparse

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOWALLA = os.path.join(os.path.dirname(ROOT), "shared", "data", "gowalla")
BLOCK = 256  # users that NumPy scores at once
FACTORS = 128


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--ease", default=os.path.join(ROOT, "build", "ease"))
    p.add_argument("--data", default=GOWALLA, help="a directory with train.txt and test.txt")
    p.add_argument("--synth", metavar="USERS,ITEMS[,A_USER]", help="synthetic data instead")
    p.add_argument("--model", help="a model trained before")
    p.add_argument("--storage", default="f32", help="f32, f16 or packed")
    p.add_argument("--lam", default="80", help="lambda of the training")
    p.add_argument("--cutoffs", default="20,100", help="lengths of the lists")
    p.add_argument("--sample", type=int, default=1024, help="users that NumPy scores")
    p.add_argument("--repeat", type=int, default=3, help="runs, of which the median counts")
    p.add_argument("--implicit", action="store_true", help="implicit's top-k as well")
    return p.parse_args()


class Peak(threading.Thread):
    """The most anonymous memory of a process; the mapped model is not counted."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.anonymous, self.over = pid, 0, False

    def run(self):
        while not self.over:
            try:
                with open(f"/proc/{self.pid}/status") as f:
                    for line in f:
                        if line.startswith("RssAnon:"):
                            self.anonymous = max(self.anonymous, int(line.split()[1]) * 1024)
            except OSError:
                return
            time.sleep(0.01)


def run(args):
    """Standard output, and the peak of anonymous memory."""
    p = subprocess.Popen(list(map(str, args)), stdout=subprocess.PIPE, text=True)
    peak = Peak(p.pid)
    peak.start()
    out, _ = p.communicate()
    peak.over = True
    if p.returncode:
        sys.exit(f"{args[0]} {args[1]} ended with {p.returncode}")
    return out, peak.anonymous


def make_synthetic(a, where):
    """Adjacency lines as gowalla has them, a fifth of each user's items held out."""
    users, items, each = (list(map(int, a.synth.split(","))) + [34])[:3]
    made = os.path.join(where, "made.csv")
    run([a.ease, "synth", "-o", made, "--users", users, "--items", items, "--interactions",
         each * users, "-q"])
    rows = {}
    with open(made) as f:
        next(f)
        for line in f:
            u, i = line.rstrip("\n").split(",")
            rows.setdefault(u, []).append(i)
    with open(os.path.join(where, "train.txt"), "w") as train, \
            open(os.path.join(where, "test.txt"), "w") as test:
        for u, mine in rows.items():
            out = len(mine) // 5
            train.write(" ".join([u, *mine[out:]]) + "\n")
            if out:
                test.write(" ".join([u, *mine[:out]]) + "\n")
    return where


def histories(path, ids):
    """The rows of a file of adjacency lines, in the model's items."""
    number = {item: k for k, item in enumerate(ids)}
    rows, cols = [], []
    count = 0
    with open(path) as f:
        for line in f:
            known = [number[i] for i in line.split()[1:] if i in number]
            rows += [count] * len(known)
            cols += known
            count += 1
    return sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, cols)),
                             shape=(count, len(ids)))


def top(scores, seen, k):
    scores[seen.nonzero()] = -np.inf
    best = np.argpartition(-scores, k, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)
    return np.take_along_axis(best, order, axis=1)


def numpy_rate(x, weights, k, dense):
    """Users a second, over all rows of x."""
    began = time.perf_counter()
    for first in range(0, x.shape[0], BLOCK):
        block = x[first:first + BLOCK]
        scores = block.toarray() @ weights if dense else block @ weights
        top(np.asarray(scores), block, k)
    return x.shape[0] / (time.perf_counter() - began)


def implicit_rate(items, query, x, k):
    """Users a second of implicit's top-k: the k largest of query @ items.T, all threads."""
    from implicit.cpu.topk import topk
    began = time.perf_counter()
    for first in range(0, x.shape[0], BLOCK):
        block = x[first:first + BLOCK]
        rows = block.toarray() if query is None else query[first:first + BLOCK]
        topk(items, rows, k, filter_query_items=block)
    return x.shape[0] / (time.perf_counter() - began)


def ease_rate(a, model, data, k):
    """Users a second, how many there were, and the peak of memory beside the model."""
    out, peak = run([a.ease, "eval", model, "--input", f"{data}/train.txt", "--target",
                     f"{data}/test.txt", "--metrics", f"plain-recall@{k},ndcg@{k}", "--json",
                     "-q"])
    got = json.loads(out)
    return got["users"] / got["seconds"], got["users"], peak


def compare(a, x, weights, model, data, k):
    """One line: medians, by turns, after a run of each to warm up."""
    rng = np.random.default_rng(1)
    sample = x[rng.permutation(x.shape[0])[:a.sample]]
    ways = {"NumPy, sparse": lambda: numpy_rate(sample, weights, k, False),
            "NumPy, dense": lambda: numpy_rate(sample, weights, k, True)}
    if a.implicit:
        factors = rng.standard_normal((x.shape[1] + sample.shape[0], FACTORS), np.float32)
        turned = np.ascontiguousarray(weights.T)
        ways["implicit, weights"] = lambda: implicit_rate(turned, None, sample, k)
        ways[f"implicit, {FACTORS} factors"] = lambda: implicit_rate(
            factors[:x.shape[1]], factors[x.shape[1]:], sample, k)
    rates, peaks, users = {name: [] for name in ["ease", *ways]}, [], 0
    for turn in range(a.repeat + 1):
        rate, users, peak = ease_rate(a, model, data, k)
        now = {"ease": rate, **{name: way() for name, way in ways.items()}}
        if turn:
            peaks.append(peak)
            for name in now:
                rates[name].append(now[name])
    middle = {name: statistics.median(values) for name, values in rates.items()}
    print(f"k = {k}: ease {middle['ease']:.0f} users/s ({users} users, {max(peaks) / 1e6:.0f} MB "
          "beside the model); " +
          "; ".join(f"{name} {middle[name]:.0f} users/s, ease is {middle['ease'] / middle[name]:.1f} times "
                    "as fast" for name in ways) +
          f"; NumPy holds {weights.nbytes / 1e6:.0f} MB of weights and "
          f"{BLOCK * weights.shape[1] * 4 / 1e6:.0f} MB of scores", flush=True)


def main():
    a = parse()
    with tempfile.TemporaryDirectory(prefix="ease-bench-") as where:
        data = make_synthetic(a, where) if a.synth else a.data
        model = a.model or os.path.join(where, "model.ease")
        if not a.model:
            run([a.ease, "train", f"{data}/train.txt", "-o", model, "--lambda", a.lam,
                 "--storage", a.storage, "-q"])
        weights, ids = os.path.join(where, "weights.npy"), os.path.join(where, "ids.txt")
        run([a.ease, "export", model, "-o", weights, "--items", ids, "-q"])
        with open(ids) as f:
            x = histories(f"{data}/train.txt", f.read().splitlines())
        b = np.load(weights)
        print(f"{x.shape[0]} histories, {x.shape[1]} items, {x.nnz / x.shape[0]:.0f} items a user, "
              f"storage {a.storage}, {os.cpu_count()} processors, medians of {a.repeat}")
        for k in map(int, a.cutoffs.split(",")):
            compare(a, x, b, model, data, k)


if __name__ == "__main__":
    main()
