#!/usr/bin/env python3
"""ease-sparse beside SANSA, ELSA and the sparse Markov random field of Steck (2019).

    bench/sparse_peers.py [--ease PROGRAM] [--data DIR] [--python PYTHON] [--minutes N]
                          [--models NAME,...] [--threads N] [--small] [PART ...]

    gowalla, yelp2018   the splits of LightGCN: every model is tuned on a fifth of each user's
                        train items (bench/family.py), trained on all of them, and measured
                        once on the test file; accuracy against bytes of the model
    amazon-book         synthetic data in the shape of amazon-book: time and memory alone

Each row is kept in docs/performance/sparse-peers-PART.json as soon as it is measured, and
drawn in docs/figures/PART-peers.svg. A part ends after --minutes (25): rows that are left are
named with that reason; the first row of each model comes before all others. --models measures
only these, and keeps the rows of the others. --small tries everything out on parts of the data
(bench/sparse.py).

Peers are installed from PyPI into build/sparse-venv, unless --python names a Python that has
them: sansa 1.1.0 with scikit-sparse 0.4.16 (which needs libsuitesparse-dev), and elsarec 0.1.4
with torch. What cannot be installed or fails is a row with its reason.

Times are those from the data in memory to the model, of ease the phases of `ease train --json`
without reading and writing; those of processors include, for ease, reading and writing. The
peak of memory is, for ease, that of the process, from the text file to the file of the model.
For peers it is the peak from the beginning of the fit on, with the data as a matrix in memory;
it includes the libraries, and `before` says what the process had then. All have the same
number of threads. Bytes of models are those of the arrays: for ease the file, for SANSA both
factors (CSR), for ELSA n x r float32. Each model is tuned over a grid of at most six settings:

    ease-sparse  lambda and dropout, with user-power=0.4 and nearness=regularized
    mrf          lambda, with lambda-power=0.75 and nothing else
    SANSA        l2; incomplete factorization (ICF), which its authors recommend for large
                 sparse data; other settings are the defaults
    ELSA         the number of epochs; lr=0.1 and batches of 1,024 users
"""
import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
import types

import bench
import family
import performance
import sparse

PINS = {"sansa": ["scikit-sparse==0.4.16", "sansa==1.1.0"], "elsa": ["torch", "elsarec==0.1.4"]}
NEIGHBOURS = (100, 25, 50, 300)
MRF_NEIGHBOURS = (100, 300)
SANSA_WEIGHTS = (100, 50, 300)  # of both factors, for each item
ELSA_DIMS = (100, 200)
EASE_GRID = (("40", "80", "160"), "dropout=0.5|0.7")
EASE = "nearness=regularized,user-power=0.4"
MRF_GRID = (("1", "2", "4", "8", "16", "32"), None)
MRF = "lambda-power=0.75"
SANSA_L2 = (3, 10, 30, 100, 300, 1000)
EPOCHS, BATCH, LR, PATIENCE = 6, 1024, 0.1, 2
METRICS = ("plain-recall@20", "ndcg@20")


# ---- a peer, in a process of its own ------------------------------------------------


def write_matrix(path, shape, to):
    """A table uid,sid of numbers as a CSR matrix."""
    import numpy as np
    import scipy.sparse as matrices

    pairs = np.loadtxt(path, delimiter=",", skiprows=1, usecols=(0, 1), dtype=np.int64, ndmin=2)
    x = matrices.csr_matrix((np.ones(len(pairs), np.float32), pairs.T), shape=shape)
    x.data[:] = 1
    matrices.save_npz(to, x)


def accuracy_of(scores, x, target):
    """Means of plain recall@20 and ndcg@20 over the users with targets, of whom `scores` gives
    dense scores in blocks."""
    import numpy as np

    discounts = 1 / np.log2(np.arange(2, 22))
    users, sums = np.flatnonzero(target.getnnz(axis=1)), np.zeros(2)
    for at in range(0, len(users), BATCH):
        part = users[at:at + BATCH]
        s = scores(x[part])
        s[x[part].nonzero()] = -np.inf
        best = np.argpartition(-s, 20, axis=1)[:, :20]
        order = np.argsort(-np.take_along_axis(s, best, axis=1), axis=1, kind="stable")
        best = np.take_along_axis(best, order, axis=1)
        t = target[part]
        hits = np.asarray(t[np.repeat(np.arange(len(part)), 20), best.ravel()]).reshape(-1, 20)
        counts = t.getnnz(axis=1)
        ideal = np.cumsum(discounts)[np.minimum(counts, 20) - 1]
        sums += (hits.sum(axis=1) / counts).sum(), (hits @ discounts / ideal).sum()
    return dict(zip(METRICS, (sums / len(users)).tolist()))


def memory(key):
    """A number of this process, in bytes."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key)) * 1024


def begin():
    """The state before a fit; the peak of memory is that from here on."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    return [time.perf_counter(), time.process_time(), memory("VmRSS:")]


def spent(began):
    return {"seconds": time.perf_counter() - began[0],
            "cpu_seconds": time.process_time() - began[1], "peak_bytes": memory("VmHWM:"),
            "before_bytes": began[2]}


def fit_sansa(order, x, target):
    """It is fitted to a small matrix first, so that its kernels are compiled by then. It
    fails if the last items have no interaction, so that items without any are left out."""
    import numpy as np
    import sansa
    import scipy.sparse as matrices

    def model_of(items):
        return sansa.SANSA(sansa.SANSAConfig(
            l2=order["l2"], weight_matrix_density=min(order["weights"] / 2 / items, 0.5),
            gramian_factorizer_config=sansa.ICFGramianFactorizerConfig(),
            lower_triangle_inverter_config=sansa.UMRUnitLowerTriangleInverterConfig(
                scans=1, finetune_steps=5)))

    model_of(50).fit(matrices.random(100, 50, 0.1, format="csr", dtype=np.float32, random_state=1))
    present = np.flatnonzero(x.getnnz(axis=0))
    known = x[:, present]
    model = model_of(len(present))
    began = begin()
    model.fit(known)
    row = {**spent(began), "model_bytes": sum(
        a.nbytes for w in model.weights for a in (w.data, w.indices, w.indptr))}

    def scores(part):
        full = np.zeros(part.shape, np.float32)
        full[:, present] = model.forward(part[:, present]).toarray()
        return full

    if target is not None:
        row.update(accuracy_of(scores, x, target))
    return row


def fit_elsa(order, x, target):
    """With "stop", the epochs end when ndcg@20 on the target stops improving, and the best
    of them is returned."""
    import torch
    from elsa import ELSA

    torch.manual_seed(1)
    torch.set_num_threads(order["threads"])
    model = ELSA(n_items=x.shape[1], n_dims=order["dims"], device=torch.device("cpu"), lr=LR)

    def scores(part):
        with torch.no_grad():
            return model(torch.from_numpy(part.toarray())).numpy()

    best, began = {METRICS[1]: -1}, begin()
    for epoch in range(1, order["epochs"] + 1):
        model.fit(x, epochs=1, batch_size=BATCH, shuffle=True, verbose=False)
        last = epoch == order["epochs"]
        if target is None or not (order["stop"] or last):
            continue
        row = {**spent(began), "epochs": epoch}
        measuring = time.perf_counter(), time.process_time()
        row.update(accuracy_of(scores, x, target))
        began[0] += time.perf_counter() - measuring[0]  # measuring is no part of the fit
        began[1] += time.process_time() - measuring[1]
        print("epoch", row, file=sys.stderr, flush=True)
        if row[METRICS[1]] > best[METRICS[1]] or last and not order["stop"]:
            best = row
        if order["stop"] and epoch - best["epochs"] >= PATIENCE:
            break
    if target is None:
        best = {**spent(began), "epochs": order["epochs"]}
    return {**best, "model_bytes": 4 * x.shape[1] * order["dims"]}


def worker(order):
    import scipy.sparse as matrices

    if order["peer"] == "matrix":
        write_matrix(order["table"], order["shape"], order["to"])
        return
    x = matrices.load_npz(order["train"])
    target = matrices.load_npz(order["target"]) if order["target"] else None
    made = {"sansa": fit_sansa, "elsa": fit_elsa}[order["peer"]](order, x, target)
    print(json.dumps(made))


# ---- the session --------------------------------------------------------------------


class Failed(Exception):
    pass


def need_python(o):
    if o.python:
        return
    venv = os.path.join(family.ROOT, "build", "sparse-venv")
    o.python = os.path.join(venv, "bin", "python")
    if not os.path.exists(o.python):
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    for names in PINS.values():  # a row of a peer that is missing tells why
        subprocess.run([o.python, "-m", "pip", "-q", "install", *names], check=False)


def time_left(o):
    """Seconds until the part must end."""
    left = o.end - time.monotonic()
    if left <= 0:
        raise Failed(f"not measured within {o.minutes:g} minutes")
    return left


def run_worker(o, order):
    order["threads"] = o.threads
    threads = {f"{library}_NUM_THREADS": str(o.threads)
               for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    try:
        done = subprocess.run([o.python, os.path.abspath(__file__), "--worker", json.dumps(order)],
                              text=True, capture_output=True, check=False,
                              timeout=time_left(o), env={**os.environ, **threads})
    except subprocess.TimeoutExpired as e:
        raise Failed(f"no end within {o.minutes:g} minutes of this part") from e
    if done.returncode:
        raise Failed((done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1][:200])
    return done.stdout.strip().splitlines()


def matrix_of(o, table, shape):
    """The path of the table as a matrix."""
    path = table.removesuffix(".csv") + ".npz"
    if not os.path.exists(path):
        run_worker(o, {"peer": "matrix", "table": table, "shape": shape, "to": path})
    return path


def run_peer(o, peer, train, target, shape, **settings):
    row = json.loads(run_worker(o, {
        "peer": peer, "train": matrix_of(o, train, shape),
        "target": target and matrix_of(o, target, shape), **settings})[-1])
    print(peer, settings, row, file=sys.stderr, flush=True)
    return row


def ease(o, *arguments):
    """Runs the program; peak bytes and processor time of the process, and what it prints."""
    done = subprocess.run(["/usr/bin/time", "-f", "%M %U %S", o.ease,
                           *map(str, arguments), "--threads", str(o.threads), "--quiet"],
                          text=True, capture_output=True, check=False)
    if done.returncode:
        raise Failed(done.stderr.strip()[-300:])
    kib, user, system = map(float, done.stderr.strip().splitlines()[-1].split())
    return {"cpu_seconds": user + system, "peak_bytes": int(kib) * 1024}, done.stdout


def ease_fit(o, table, model, lam, settings):
    row, out = ease(o, "train", table, "-o", model, "--model", "ease-sparse", "--lambda", lam,
                    "--set", settings, "--json")
    phases = json.loads(out)["phases"]
    seconds = sum(v for k, v in phases.items() if k not in ("reading", "writing"))
    return {"settings": f"lambda={lam},{settings}", "seconds": seconds, **row,
            "model_bytes": os.path.getsize(model)}


def tuned_ease_row(o, split, settings, grid):
    """The row of the best settings of the grid, on the validation part of the split."""
    model = os.path.join(o.work, "model.ease")
    lambdas, more = grid
    took, out = ease(o, "tune", split, "-o", model, "--model", "ease-sparse", "--set", settings,
                     "--lambda", ",".join(lambdas), *(["--grid", more] if more else []),
                     "--metric", "ndcg@20", "--metrics", ",".join(METRICS), "--json")
    found = json.loads(out)
    row = ease_fit(o, os.path.join(split, "train.csv"), model, f"{found['lambda']:g}",
                   found["settings"])
    _, out = ease(o, "eval", model, "--split", split, "--metrics", ",".join(METRICS), "--json")
    return {**row, "trials": len(found["trials"]), "tuning_cpu_seconds": took["cpu_seconds"],
            **{k: v["mean"] for k, v in json.loads(out)["metrics"].items()}}


def tuned(o, peer, split, shape, grid, **fixed):
    """The row of the best settings of the grid; for ELSA the epochs are the grid."""
    place = lambda name: os.path.join(split, name + ".csv")
    validate = lambda **s: run_peer(o, peer, place("validation_train"), place("validation_te"),
                                    shape, **fixed, **s)
    if peer == "elsa":
        found = validate(epochs=EPOCHS, stop=True)
        best = {"epochs": found["epochs"], "stop": False}
    else:
        tried = []
        for settings in grid:
            tried.append((validate(**settings)[METRICS[1]], settings))
            if len(tried) > 1 and tried[-1][0] < tried[-2][0]:
                break  # the grid ascends, and the best has been passed
        best = max(tried, key=lambda t: t[0])[1]
    row = run_peer(o, peer, place("train"), place("test_te"), shape, **fixed, **best)
    return {"settings": ", ".join(f"{k}={v}" for k, v in {**fixed, **best}.items() if k != "stop"),
            **row}


def rows_of(o, split, shape):
    """Pairs of a model and a function that makes its row; the first row of each model comes
    before the others."""
    models = {
        "ease-sparse": [lambda k=k: tuned_ease_row(o, split, f"neighbours={k},{EASE}", EASE_GRID)
                        for k in NEIGHBOURS],
        "mrf": [lambda k=k: tuned_ease_row(o, split, f"neighbours={k},{MRF}", MRF_GRID)
                for k in MRF_NEIGHBOURS],
        "SANSA": [lambda k=k: tuned(o, "sansa", split, shape, [{"l2": v} for v in SANSA_L2],
                                    weights=k) for k in SANSA_WEIGHTS],
        "ELSA": [lambda k=k: tuned(o, "elsa", split, shape, None, dims=k) for k in ELSA_DIMS],
    }
    for rows in itertools.zip_longest(*models.values()):
        yield from ((model, make) for model, make in zip(models, rows) if make)


def synthetic_rows(o, table, shape):
    model = os.path.join(o.work, "model.ease")
    yield "ease-sparse", lambda: ease_fit(o, table, model, 100, "neighbours=100")
    yield "SANSA", lambda: {"settings": "weights=100, l2=10",
                            **run_peer(o, "sansa", table, None, shape, weights=100, l2=10)}
    yield "ELSA", lambda: {"settings": "dims=200, one epoch",
                           **run_peer(o, "elsa", table, None, shape, dims=200, epochs=1,
                                      stop=False)}


def measure(o, name, found):
    """Adds one row after the other to what was found, and yields after each."""
    split = os.path.join(o.work, name)
    o.end = time.monotonic() + 60 * o.minutes
    os.makedirs(split)
    if name == "amazon-book":
        table = os.path.join(split, "data.csv")
        users, items, interactions = (n // o.divide for n in (52_643, 91_599, 2_400_000))
        ease(o, "synth", "-o", table, "--users", users, "--items", items, "--interactions",
             interactions)
        rows = synthetic_rows(o, table, (users, items))
    else:
        found["figure"] = name + "-peers.svg"
        family.lightgcn_split(os.path.join(o.data, name), split)
        shape = [sum(1 for _ in open(os.path.join(split, f"unique_{what}.txt"), encoding="ascii"))
                 for what in ("uid", "sid")]
        rows = rows_of(o, split, shape)
    for model, make in rows:
        if model not in o.models.split(","):
            continue
        try:
            time_left(o)
            row = {"model": model, **make()}
        except Failed as e:
            row = {"model": model, "failed": str(e)}
        print(name, row, flush=True)
        found["rows"].append(row)
        yield


# ---- the figure ---------------------------------------------------------------------

COLORS = {"ease-sparse": "#1b6ca8", "mrf": "#7a9e3f", "SANSA": "#b0413e", "ELSA": "#8a5aa8"}


def panel(left, key, rows):
    import math

    width, height, top = 380, 220, 40
    done = [r for r in rows if key in r]
    if not done:
        return
    x = [math.log(r["model_bytes"]) for r in done]
    y = [r[key] for r in done]
    at = lambda r: (left + width * (math.log(r["model_bytes"]) - min(x)) / ((max(x) - min(x)) or 1),
                    top + height * (max(y) - r[key]) / ((max(y) - min(y)) or 1))
    yield f'<text x="{left}" y="24" font-weight="bold">{key.removeprefix("plain-")}</text>'
    yield f'<path d="M{left} {top}V{top + height}H{left + width}" fill="none" stroke="currentColor"/>'
    for value in (min(y), max(y)):
        line = top + height * (max(y) - value) / ((max(y) - min(y)) or 1)
        yield f'<text x="{left - 4}" y="{line + 4:.1f}" text-anchor="end">{value:.4f}</text>'
    for value in (min(x), max(x)):
        place = left + width * (value - min(x)) / ((max(x) - min(x)) or 1)
        yield (f'<text x="{place:.1f}" y="{top + height + 16}" text-anchor="middle">'
               f"{math.exp(value) / 1e6:.0f} MB</text>")
    for i, (model, color) in enumerate(COLORS.items()):
        mine = sorted((r for r in done if r["model"] == model), key=lambda r: r["model_bytes"])
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in map(at, mine))
        yield f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>'
        for a, b in map(at, mine):
            yield f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{color}"/>'
        if mine:
            yield (f'<text x="{left + width - 90}" y="{top + height - 70 + 16 * i}" fill="{color}">'
                   f"{model}</text>")


def draw(name, rows, path):
    lines = [line for i, key in enumerate(METRICS) for line in panel(70 + i * 480, key, rows)]
    if not lines:
        return
    with open(path, "w", encoding="ascii") as file:
        file.write('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 980 310" '
                   f'font-family="sans-serif" font-size="12" role="img"><title>{name}: accuracy '
                   "against bytes of the model, of ease-sparse and others</title>\n"
                   + "\n".join(lines) + '\n<text x="70" y="300">bytes of the model '
                   "(logarithmic)</text>\n</svg>\n")


PARTS = ("gowalla", "yelp2018", "amazon-book")


def main():
    parse = sparse.parser(__doc__)
    parse.add_argument("--python", help="a Python that has the peers")
    parse.add_argument("--models", default=",".join(COLORS), help="of these alone; others are kept")
    parse.add_argument("--minutes", type=float, default=25, help="for each part")
    parse.add_argument("--worker", help=argparse.SUPPRESS)
    parse.add_argument("parts", nargs="*", choices=[[], *PARTS])
    o = parse.parse_args()
    if o.worker:
        worker(json.loads(o.worker))
        return
    o.divide = 1
    if o.small:
        sparse.make_small(o)
    need_python(o)
    for name in o.parts or PARTS:
        kept = performance.kept("sparse-peers-" + name, o.out) or {"rows": []}
        found = {"rows": [r for r in kept["rows"] if r["model"] not in o.models.split(",")]}
        with tempfile.TemporaryDirectory() as o.work:
            found["machine"] = bench.machine(types.SimpleNamespace(ease=o.ease, work=o.work))
            found["commands"] = [f"bench/sparse_peers.py {name}"]
            for _ in measure(o, name, found):
                found["load"] = os.getloadavg()[2]
                performance.keep("sparse-peers-" + name, found, o.out)
                draw(name, found["rows"], os.path.join(o.figures, name + "-peers.svg"))
    sparse.write_page(o)


if __name__ == "__main__":
    main()
