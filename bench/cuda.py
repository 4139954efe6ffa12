#!/usr/bin/env python3
"""The backend cuda: its conformance suite, its speed beside torch and cuSOLVER, and its
results beside those of the processors.

    make cuda && bench/cuda.py [--build DIR] [--data DIR] [PART ...]

Needs an NVIDIA GPU; torch and nvcc for the part peers. Keeps what it measures in
docs/performance/cuda.json, and how long each part took. The parts:

    suite       tests/backend_suite.c: with several limits of device memory, and with the least
                that suffices; --sanitizer runs it under compute-sanitizer, as the part sanitizer
    solve       20,108, 41,140 and 91,599 items, from tiles to tiles
    wide        41,140 items in float64
    outofcore   41,140 items with 3 GB of device memory, in float32 and float64
    large       200,000 items
    peers       41,140 items by torch.cholesky_inverse and by cuSOLVER
    results     gowalla and yelp2018: metrics, weights and lists of both backends
    whole       from CSV to model in the shape of the Million Song Dataset
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import bench

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LAMBDAS = {"gowalla": 80, "yelp2018": 300}
METRICS = "plain-recall@20,plain-recall@50,ndcg@20,ndcg@50,hit@20"
PEER_ITEMS = 41_140


def run(*command, **how):
    done = subprocess.run([str(c) for c in command], text=True, capture_output=True, check=False,
                          **how)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def built(o, name):
    return os.path.abspath(os.path.join(o.build, name))


def suites(o, tool):
    """What the suite says, with all of the device's memory and with the least."""
    command = [*tool, built(o, "tests/run_backend_suite"), built(o, "libease-cuda.so")]
    return {name: run(*command, *limit).strip().splitlines()
            for name, limit in (("device", []), ("host", ["1"]))}


def suite(o, _work):
    return suites(o, [])


def sanitizer(o, _work):
    return suites(o, ["compute-sanitizer", "--error-exitcode", "9"])


def told(line):
    """What the plugin logs of a call: the arithmetic; for a matrix on the device also the
    seconds of the sweep and the residual that was found there."""
    facts = {"arithmetic": re.match("GPU, ([^:]*)", line)[1]}
    for name, pattern in (("sweep", r"sweep ([\d.]+) s"), ("residual", r"residual ([\d.e+-]+)")):
        found = re.search(pattern, line)
        if found:
            facts[name] = float(found[1])
    return facts


def parsed(text, items, number_bytes):
    """The calls that cuda-measure prints."""
    probe, made, facts = None, [], {}
    for line in text.splitlines():
        words = line.split()
        if line.startswith("GPU, "):
            facts = told(line)
        elif line.startswith("items "):
            found = dict(zip(words[::2], words[1::2]))
            made.append({**facts, "seconds": float(found["seconds"]),
                         "predicted": float(found["predicted"]),
                         "device_bytes": int(found["device_bytes"]),
                         "triangle_bytes": number_bytes * items * items // 2,
                         "host_residual": float(found["residual"]),
                         "host_bytes": int(found["host_bytes"])})
        elif line.startswith("probe "):
            probe = float(words[1])
    return {"probe": probe, "first": made[0], "runs": made[1:] or made}


def solves(o, items, repeats, limit=0, precision="f32"):
    text = run(built(o, "cuda/cuda-measure"), built(o, "libease-cuda.so"), items, repeats, limit,
               precision)
    return parsed(text, items, 8 if precision == "f64" else 4)


def solve(o, _work):
    return {str(n): solves(o, n, r) for n, r in ((20_108, 6), (41_140, 5), (91_599, 3))}


def wide(o, _work):
    return {"41140": solves(o, 41_140, 2, 0, "f64")}


def outofcore(o, _work):
    return {precision: solves(o, 41_140, 2, 3_000_000_000, precision)
            for precision in ("f32", "f64")}


def large(o, _work):
    return {"200000": solves(o, 200_000, 1)}


TORCH = """
import sys, time, torch
n = int(sys.argv[1])
a = torch.rand(n, n, device="cuda") / n
a = a + a.T
a.diagonal().add_(2)
for i in range(3):
    torch.cuda.synchronize(); t = time.time()
    p = torch.cholesky_inverse(torch.linalg.cholesky(a))
    torch.cuda.synchronize(); print("seconds", time.time() - t); del p
print("bytes", torch.cuda.max_memory_allocated())
"""


def seconds_of(text):
    return [float(s) for s in re.findall(r"seconds ([\d.]+)", text)][1:]


def peers(_o, work):
    text = run("python3", "-c", TORCH, PEER_ITEMS)
    program = os.path.join(work, "cusolver")
    run("nvcc", "-O2", "-arch=native", os.path.join(ROOT, "bench", "cusolver.cu"), "-o", program,
        "-lcusolver")
    return {"items": PEER_ITEMS, "torch": seconds_of(text),
            "torch_bytes": int(text.split()[-1]),
            "cusolver": seconds_of(run(program, PEER_ITEMS, 3))}


def trained(o, data, model, *options):
    text = run(built(o, "ease"), "train", data, "-o", model, "--json", "--verbose", *options)
    return json.loads(text[text.index("{"):text.rindex("}") + 1])


def ranks_differ(a, b, tie):
    """Whether two lists of (score, item) differ otherwise than at ties."""
    if [i for _, i in a] == [i for _, i in b]:
        return False
    return any(x[1] != y[1] and abs(x[0] - y[0]) > tie for x, y in zip(a, b))


def lists(o, model, data):
    text = run(built(o, "ease"), "recommend", model, "--users", data, "-k", 20, "--csv", "-q")
    made, largest = {}, 0.0
    for line in text.splitlines()[1:]:
        user, _, item, score = line.split(",")[:4]
        made.setdefault(user, []).append((float(score), item))
        largest = max(largest, abs(float(score)))
    return made, largest


def weights(o, model, work, name):
    import numpy
    path = os.path.join(work, name + ".npy")
    run(built(o, "ease"), "export", model, "-o", path, "-q")
    return numpy.load(path, mmap_mode="r")


def compare_weights(a, b):
    largest = off = 0.0
    for row in range(0, a.shape[0], 512):
        largest = max(largest, float(abs(a[row:row + 512]).max()))
        off = max(off, float(abs(a[row:row + 512] - b[row:row + 512]).max()))
    return off / largest


def result(o, name, work):
    """Models of both backends."""
    found = [os.path.join(o.data, name, part) for part in ("train.txt", "test.txt")]
    train, test = [f if os.path.exists(f) else f + ".gz" for f in found]
    made, models = {}, {}
    for backend in ("cpu", "cuda"):
        models[backend] = os.path.join(work, backend + ".ease")
        facts = trained(o, train, models[backend], "--lambda", LAMBDAS[name], "--storage", "f32",
                        "--backend", backend)
        text = run(built(o, "ease"), "eval", models[backend], "--input", train, "--target", test,
                   "--metrics", METRICS, "--json", "-q")
        made[backend] = {"residual": facts["residual"], "phases": facts.get("phases"),
                         **{k: v["mean"] for k, v in json.loads(text)["metrics"].items()}}
    again = os.path.join(work, "again.ease")
    trained(o, train, again, "--lambda", LAMBDAS[name], "--storage", "f32", "--backend", "cuda")
    made["same_bits_again"] = not subprocess.run(["cmp", "-s", models["cuda"], again],
                                                 check=False).returncode
    os.remove(again)
    (a, largest), (b, _) = (lists(o, models[m], train) for m in ("cpu", "cuda"))
    made["users"] = len(a)
    made["lists_that_differ"] = sum(ranks_differ(a[u], b[u], 1e-5 * largest) for u in a)
    made["weights_differ_by"] = compare_weights(weights(o, models["cpu"], work, "cpu"),
                                                weights(o, models["cuda"], work, "cuda"))
    return made


def results(o, work):
    return {name: result(o, name, work) for name in LAMBDAS}


def whole(o, work):
    data, model = os.path.join(work, "msd.csv"), os.path.join(work, "msd.ease")
    run(built(o, "ease"), "synth", "-o", data, "--users", 571_355, "--items", 41_140,
        "--interactions", 34_000_000, "-q")
    command = [built(o, "ease"), "train", data, "-o", model, "--lambda", 500, "--backend", "cuda"]
    timed = run("bash", "-c", 'TIMEFORMAT="wall %R"; time "$@"', "-", *command, "-q")
    return {"seconds": float(timed.split()[-1]),
            "phases": trained(o, *command[2:3], model, *command[5:])["phases"]}


def machine(o, work):
    made = bench.machine(argparse.Namespace(ease=built(o, "ease"), work=work))
    gpu = run("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    return {"gpu": "{}, driver {}".format(*gpu.strip().split(", ")), **made}


PARTS = {"suite": suite, "solve": solve, "wide": wide, "outofcore": outofcore, "large": large,
         "peers": peers, "results": results, "whole": whole}


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--data", default=os.path.join(os.path.dirname(ROOT), "shared", "data"))
    p.add_argument("--out", default=os.path.join(ROOT, "docs", "performance", "cuda.json"))
    p.add_argument("--sanitizer", action="store_true",
                   help="the suite under compute-sanitizer, and nothing else")
    p.add_argument("parts", nargs="*", help="of " + ", ".join(PARTS))
    o = p.parse_args()
    parts = {"sanitizer": sanitizer} if o.sanitizer else {n: PARTS[n] for n in o.parts or PARTS}
    made = {}
    if os.path.exists(o.out):
        with open(o.out, encoding="ascii") as file:
            made = json.load(file)
    for name, part in parts.items():
        work, start = tempfile.mkdtemp(prefix="ease-cuda-"), time.monotonic()
        made[name] = part(o, work)
        made.setdefault("part_seconds", {})[name] = round(time.monotonic() - start, 1)
        made["total_seconds"] = round(sum(made["part_seconds"].values()), 1)
        made["machine"], made["commands"] = machine(o, work), ["make cuda", "bench/cuda.py"]
        shutil.rmtree(work)
        print(name, json.dumps(made[name]), flush=True)
        with open(o.out, "w", encoding="ascii") as file:
            json.dump(made, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
