#!/usr/bin/python3
"""Requests a second of `ease serve`, and of FastAPI with two uvicorn workers that score the same
weights with NumPy, asked by wrk on the same machine in the same run.

    bench/serve.py                       20,108 items, histories of 20, lists of 20
    bench/serve.py --items 6000 --seconds 5 --runs 1

Both answer with ids and scores. The ways of asking take turns, --runs times: `ease serve` with
connections that are kept alive, with a new connection for each request, and kept alive beside 1,000
idle connections; FastAPI with connections that are kept alive. Rates depend on what else the
machine does, which is measured too, and on wrk, which needs processors itself; the processor time of
the server for each request does not. With the usual 20,108 items the figures are kept in
docs/performance/serve.json, and docs/performance.md is written again. FastAPI is installed from
PyPI into build/serve-peer, and the model is made in build/bench-work/serve, where the next run
finds it."""
import argparse
import json
import os
import re
import resource
import socket
import subprocess
import sys
import time
import types
import urllib.request

import bench
import performance

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import support  # noqa: E402
from serving import Server  # noqa: E402

ITEMS = 20108
IDLE = 1000
TICK = os.sysconf("SC_CLK_TCK")
WAYS = ("kept alive", "a connection for each request", "beside 1,000 idle connections", "fastapi")

LUA = """
math.randomseed(7)
local close = %s
local headers = {["Content-Type"] = "application/json"}
if close then headers["Connection"] = "close" end
request = function()
  local ids = {}
  for i = 1, 20 do ids[i] = '"' .. math.random(1, %d) .. '"' end
  return wrk.format("POST", "/v1/recommend", headers,
                    '{"k": 20, "history": [' .. table.concat(ids, ",") .. ']}')
end
"""

PEER = """
import os
import numpy as np
from fastapi import FastAPI
from pydantic import BaseModel

B = np.load("b.npy", mmap_mode="r")
IDS = open("ids.txt").read().split("\\n")[:-1]
NUMBER = {i: n for n, i in enumerate(IDS)}
app = FastAPI()

class Wish(BaseModel):
    history: list[str]
    k: int = 10

@app.post("/v1/recommend")
async def recommend(wish: Wish):
    at = sorted({NUMBER[i] for i in wish.history if i in NUMBER})
    scores = B[at].sum(axis=0)
    scores[at] = -np.inf
    best = np.argpartition(-scores, wish.k)[:wish.k]
    best = best[np.argsort(-scores[best], kind="stable")]
    return {"items": [{"id": IDS[j], "score": float(scores[j])} for j in best]}
"""


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--items", type=int, default=ITEMS)
    p.add_argument("--seconds", type=int, default=15, help="of each run")
    p.add_argument("--runs", type=int, default=3, help="of each way of asking")
    p.add_argument("--connections", type=int, default=16)
    p.add_argument("--storage", default="f16")
    p.add_argument("--work", default=os.path.join(ROOT, "build", "bench-work", "serve"))
    p.add_argument("--no-peer", action="store_true")
    return p.parse_args()


def make(o):
    """The model, its weights for NumPy and the program of the peer, in a directory that names
    what they depend on. Returns the directory and the commands."""
    place = os.path.join(o.work, f"{o.items}-{o.storage}")
    os.makedirs(place, exist_ok=True)
    commands = [("synth", "-o", "data.csv", "--users", o.items * 2, "--items", o.items,
                 "--interactions", o.items * 100),
                ("train", "data.csv", "-o", "model.ease", "--lambda", 300, "--storage", o.storage),
                ("export", "model.ease", "-o", "b.npy", "--items", "ids.txt")]
    for args in commands:
        if not os.path.exists(os.path.join(place, args[args.index("-o") + 1])):
            print("ease", *args, flush=True)
            done = support.run(*args, cwd=place)
            assert done.code == 0, done
    with open(os.path.join(place, "peer.py"), "w") as f:
        f.write(PEER)
    return place, [" ".join(map(str, ("ease", *args))) for args in commands]


# ---- processor time ----------------------------------------------------------------------


def processor_seconds(pid):
    """Of a process and all of its children."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        children = f.read().split()
    return (int(fields[11]) + int(fields[12])) / TICK + sum(map(processor_seconds, children))


def spent_by_children():
    """Of the processes of this one that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def spent_by_all():
    """Of the whole machine: all but idle and waiting for disks."""
    with open("/proc/stat") as f:
        ticks = [int(t) for t in f.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / TICK


# ---- asking ------------------------------------------------------------------------------


def wrk(o, place, port, pid, close=False):
    path = os.path.join(place, "load.lua")
    with open(path, "w") as f:
        f.write(LUA % ("true" if close else "false", o.items))
    before, by_all, by_wrk = processor_seconds(pid), spent_by_all(), spent_by_children()
    began = time.monotonic()
    done = subprocess.run(["wrk", "-t", "1", "-c", str(o.connections), "-d", f"{o.seconds}s",
                           "--latency", "-s", path, f"http://127.0.0.1:{port}"], text=True,
                          check=True, stdout=subprocess.PIPE)
    took = time.monotonic() - began
    spent, by_wrk = processor_seconds(pid) - before, spent_by_children() - by_wrk
    unit = {"us": 1e-3, "ms": 1, "s": 1e3}
    times = {m[1]: float(m[2]) * unit[m[3]]
             for m in re.finditer(r"(50|99)%\s+([\d.]+)(us|ms|s)", done.stdout)}
    failed = re.search(r"Non-2xx.*|Socket errors.*", done.stdout)
    requests = int(re.search(r"(\d+) requests in", done.stdout)[1])
    return {"rate": float(re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)[1]),
            "p50_ms": times["50"], "p99_ms": times["99"], "cpu_us": spent / requests * 1e6,
            "failed": failed[0] if failed else None,
            # Shares of all processors.
            "wrk_share": by_wrk / took / os.cpu_count(),
            "others_share": max(0, spent_by_all() - by_all - spent - by_wrk)
                            / took / os.cpu_count()}


def show(name, figures):
    print(f"{name:<32} {figures['rate']:8.0f} requests/s   p50 {figures['p50_ms']:6.2f} ms   "
          f"p99 {figures['p99_ms']:6.2f} ms   {figures['cpu_us']:5.0f} us of processor   "
          f"others {100 * figures['others_share']:.0f} %   {figures['failed'] or ''}", flush=True)


def ask(port):
    body = json.dumps({"history": ["1", "2", "3"], "k": 20}).encode()
    r = urllib.request.Request(f"http://127.0.0.1:{port}/v1/recommend", body,
                               {"Content-Type": "application/json"})
    with urllib.request.urlopen(r) as answer:
        return json.load(answer)["items"]


def run_ease(o, place, runs):
    """One run of each way."""
    server = Server("model.ease", cwd=place)
    items, pid = ask(server.port), server.process.pid
    wrk(types.SimpleNamespace(**{**vars(o), "seconds": 1}), place, server.port, pid)  # warms up
    runs[WAYS[0]].append(wrk(o, place, server.port, pid))
    runs[WAYS[1]].append(wrk(o, place, server.port, pid, close=True))
    held = [server.connect() for _ in range(IDLE)]
    runs[WAYS[2]].append(wrk(o, place, server.port, pid))
    for s in held:
        s.close()
    memory = server.memory()
    assert server.stop() == 0
    return items, memory


def run_peer(o, place, runs):
    python = os.path.join(ROOT, "build", "serve-peer", "bin", "python")
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", os.path.dirname(os.path.dirname(python))],
                       check=True)
        support.pip(python, "install", "fastapi", "uvicorn[standard]", "numpy")
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    p = subprocess.Popen([python, "-m", "uvicorn", "peer:app", "--workers", "2", "--port", str(port),
                          "--log-level", "warning"], cwd=place,
                         env=dict(os.environ, OPENBLAS_NUM_THREADS="1"))
    try:
        while True:
            try:
                items = ask(port)
                break
            except OSError:
                assert p.poll() is None
                time.sleep(0.2)
        wrk(types.SimpleNamespace(**{**vars(o), "seconds": 3}), place, port, p.pid)  # warms up
        runs[WAYS[3]].append(wrk(o, place, port, p.pid))
    finally:
        p.terminate()
        p.wait()
    out = subprocess.run([python, "-m", "pip", "list", "--format", "json"], text=True, check=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    versions = {p["name"]: p["version"] for p in json.loads(out)}
    return items, {name: versions[name] for name in ("fastapi", "numpy", "uvicorn")}


def main():
    o, began = parse(), time.monotonic()
    place, commands = make(o)
    runs, versions = {way: [] for way in WAYS[:3 if o.no_peer else 4]}, {}
    for _ in range(o.runs):
        items, memory = run_ease(o, place, runs)
        if not o.no_peer:
            theirs, versions = run_peer(o, place, runs)
            assert [a["id"] for a in items] == [a["id"] for a in theirs], "other lists"
        for way, figures in runs.items():
            show(way, figures[-1])
    assert not any(f["failed"] for figures in runs.values() for f in figures), "requests failed"
    if o.items != ITEMS or o.no_peer:
        return
    ease = types.SimpleNamespace(ease=support.EASE, work=place)
    performance.keep("serve", {
        "items": o.items, "storage": o.storage, "seconds": o.seconds, "connections": o.connections,
        "memory_bytes": memory, "runs": runs,
        "commands": [*commands, "python -m uvicorn peer:app --workers 2", "bench/serve.py"],
        "machine": bench.machine(ease),
        "versions": versions,
        "minutes": (time.monotonic() - began) / 60})
    performance.write()


if __name__ == "__main__":
    main()
