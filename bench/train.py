#!/usr/bin/env python3
"""Training side by side with the paper's Algorithm 1 in NumPy, as a Markdown table.

    bench/train.py [NAME ...]        # of ml-1m goodbooks npm; all by default

Both go from the file to weights on disk, in processes of their own, one after the
other; time is wall-clock, memory the largest resident size. Algorithm 1 reads with
the standard library, counts with SciPy's sparse product and inverts in float64.
"""
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = os.path.join(os.path.dirname(ROOT), "shared", "data")
SETS = {
    "ml-1m": ("ml-1m/ratings.csv", ["--min-rating", "4"], 300),
    "goodbooks": ("goodbooks/ratings.csv", ["--min-rating", "4"], 300),
    "npm": ("npm/dependencies.tsv.gz", [], 200),
}

ALGORITHM_1 = r"""
import csv, gzip, sys
import numpy as np, scipy.sparse as sparse
path, lam, out = sys.argv[1], float(sys.argv[2]), sys.argv[3]
users, items, r, c = {}, {}, [], []
with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as f:
    rows = csv.reader(f, delimiter="\t" if ".tsv" in path else ",")
    swapped = False
    if ".tsv" not in path:
        swapped = next(rows)[0] == "book_id"
    for row in rows:
        if len(row) > 2 and float(row[2]) < 4:
            continue
        u, i = (row[1], row[0]) if swapped else (row[0], row[1])
        r.append(users.setdefault(u, len(users)))
        c.append(items.setdefault(i, len(items)))
X = sparse.csr_matrix((np.ones(len(r)), (r, c)))
X.data[:] = 1
G = (X.T @ X).toarray()
diagIndices = np.diag_indices(G.shape[0])
G[diagIndices] += lam
P = np.linalg.inv(G)
B = P / (-np.diag(P))
B[diagIndices] = 0
np.save(out, B.astype(np.float32))
print(G.shape[0])
"""


def measure(command):
    begin = time.monotonic()
    p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    out = p.stdout.read()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode:
        sys.exit(f"{command[0]} failed")
    return time.monotonic() - begin, usage.ru_maxrss * 1024, out


def main(names):
    print("| data | items | ease | Algorithm 1, NumPy | times faster | ease, peak | NumPy, peak |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as work:
        for name in names or SETS:
            path, options, lam = SETS[name]
            path = os.path.join(DATA, path)
            ours = [measure([os.path.join(ROOT, "build/ease"), "train", path, "-o",
                             work + "/m.ease", "--lambda", str(lam), "--storage", "f32", *options])
                    for _ in range(3)]
            ours = sorted(ours)[1]
            theirs = measure(["/usr/bin/python3", "-c", ALGORITHM_1, path, str(lam), work + "/b.npy"])
            print(f"| {name} | {int(theirs[2]):,} | {ours[0]:.2f} s | {theirs[0]:.1f} s | "
                  f"{theirs[0] / ours[0]:.0f} | {ours[1] / 1e6:.0f} MB | {theirs[1] / 1e6:,.0f} MB |",
                  flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
