#!/usr/bin/python3
"""Lets the server run under everything at once: full load, a swap of the model every six
seconds, feedback, and clients that stall, lie about lengths or vanish. No request may fail,
memory may not grow after the first minute, and no descriptor may be left over.

    bench/soak.py                 ten minutes
    bench/soak.py --seconds 60

Prints figures every ten seconds, and ends with exit code 1 if something was wrong. The load
comes from wrk, or from Python where there is none."""
import argparse
import json
import os
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from serving import Server  # noqa: E402
from support import EASE, PATIENCE, SANITIZED, run  # noqa: E402

ITEMS = 300 if SANITIZED else 3000
LUA = """
math.randomseed(os.time())
request = function()
  local ids = {}
  for i = 1, 20 do ids[i] = '"' .. math.random(1, %d) .. '"' end
  return wrk.format("POST", "/v1/recommend", {["Content-Type"] = "application/json"},
                    '{"k": 20, "history": [' .. table.concat(ids, ",") .. ']}')
end
""" % ITEMS


def parse():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--seconds", type=float, default=600)
    p.add_argument("--swap-every", type=float, default=6)
    p.add_argument("--connections", type=int, default=32)
    p.add_argument("--python", action="store_true", help="load from Python, not wrk")
    return p.parse_args()


class Soak:
    def __init__(self, options):
        self.options = options
        self.dir = tempfile.mkdtemp(prefix="ease-soak-")
        self.stop = threading.Event()
        self.wrong, self.counts = [], {"swaps": 0, "events": 0, "bad clients": 0, "lists": 0}
        self.lock = threading.Lock()
        self.memory = []  # before each swap
        self.slowest_swap = 0

    def path(self, name):
        return os.path.join(self.dir, name)

    def make(self):
        for args in (("synth", "-o", "data.csv", "--users", 20000, "--items", ITEMS,
                      "--interactions", 400000),
                     ("train", "data.csv", "-o", "one.ease", "--lambda", 100, "-q"),
                     ("train", "data.csv", "-o", "two.ease", "--lambda", 300, "-q")):
            r = run(*args, cwd=self.dir)
            assert r.code == 0, r
        shutil.copy(self.path("one.ease"), self.path("model.ease"))

    def count(self, what, number=1):
        with self.lock:
            self.counts[what] += number

    def fail(self, text):
        with self.lock:
            self.wrong.append(text)
        print("WRONG:", text, flush=True)

    # ---- what goes on ----------------------------------------------------------------

    def wait_for_swap(self, began):
        """Until the server has counted as many swaps as there were."""
        while self.server.metric("ease_reloads_total") < self.counts["swaps"]:
            assert time.monotonic() < began + PATIENCE, "a replaced model is not served"
            time.sleep(0.02)
        self.slowest_swap = max(self.slowest_swap, time.monotonic() - began)

    def swap(self):
        while not self.stop.wait(self.options.swap_every):
            name = "two.ease" if self.counts["swaps"] % 2 == 0 else "one.ease"
            shutil.copy(self.path(name), self.path("next"))
            self.memory.append(self.server.memory())
            began = time.monotonic()
            os.replace(self.path("next"), self.path("model.ease"))
            self.count("swaps")
            self.wait_for_swap(began)

    def feed(self):
        client = self.server.client()
        while not self.stop.is_set():
            events = [{"user": f"u{random.randrange(500)}", "item": str(random.randrange(ITEMS)),
                       "remove": random.random() < 0.5} for _ in range(5)]
            answer = self.server.post("/v1/feedback", {"events": events}, client=client)
            if answer.status != 200:
                self.fail(f"feedback: {answer}")
            self.count("events", 5)
            self.stop.wait(0.02)
        client.close()

    def annoy(self):
        head = b"POST /v1/recommend HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        held = []
        while not self.stop.is_set():
            s = self.server.connect()
            kind = random.randrange(6)
            if kind == 0:    # stalls in the header
                s.sendall(head[:20])
                held.append(s)
            elif kind == 1:  # stalls in the body
                s.sendall(head + b"Content-Length: 100\r\n\r\n{")
                held.append(s)
            elif kind == 2:  # lies about the length
                s.sendall(head + b'Content-Length: 3\r\n\r\n{"history": []}')
                held.append(s)
            elif kind == 3:  # vanishes after its request
                s.sendall(head + b'Content-Length: 15\r\n\r\n{"history": []}')
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                s.close()
            elif kind == 4:  # vanishes in the body
                s.sendall(head + b"Content-Length: 100\r\n\r\n{")
                s.close()
            else:            # reads nothing
                batch = json.dumps({"requests": [{"history": ["1"], "k": 100}] * 100}).encode()
                s.sendall(head + b"Content-Length: %d\r\n\r\n" % len(batch) + batch)
                held.append(s)
            self.count("bad clients")
            while len(held) > 200:
                held.pop(0).close()
            self.stop.wait(0.05)
        for s in held:
            s.close()

    def ask(self):
        client = self.server.client()
        while not self.stop.is_set():
            history = [str(random.randrange(1, ITEMS)) for _ in range(20)]
            answer = self.server.post("/v1/recommend", {"history": history, "k": 20}, client=client)
            if answer.status != 200 or len(answer.json["items"]) != 20:
                self.fail(f"list: {answer}")
            self.count("lists")
        client.close()

    def load(self):
        with open(self.path("load.lua"), "w") as f:
            f.write(LUA)
        done = subprocess.run(["wrk", "-t", "2", "-c", str(self.options.connections), "-d",
                               f"{max(1, round(self.options.seconds))}s", "--latency", "-s",
                               self.path("load.lua"), f"http://127.0.0.1:{self.server.port}"],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        print(done.stdout)
        found = re.search(r"(\d+) requests in", done.stdout)
        self.count("lists", int(found[1]) if found else 0)
        if done.returncode or not found or re.search("Non-2xx|Socket errors", done.stdout):
            self.fail("wrk: requests failed")

    # ---- watching --------------------------------------------------------------------

    def guarded(self, what):
        try:
            what()
        except Exception as e:  # pylint: disable=broad-except
            self.fail(f"{what.__name__}: {e!r}")

    def watch(self, threads):
        began, shown = time.monotonic(), 0
        while time.monotonic() < began + self.options.seconds:
            time.sleep(0.5)
            now = time.monotonic() - began
            if now >= shown + 10:
                shown = now
                print(f"{now:6.0f} s  {self.server.memory() / 1e6:7.1f} MB  "
                      f"{self.server.descriptors():5d} descriptors  {self.counts}", flush=True)
        self.stop.set()
        for t in threads:
            t.join()

    def growth(self):
        """Of the memory, from the second and third tenth of the time (of ten minutes: after the
        first minute) to the last two. There is one model in memory then, not two: it is
        measured before each swap."""
        tenth = len(self.memory) // 10
        return (statistics.median(self.memory[-2 * tenth - 1:])
                - statistics.median(self.memory[tenth:3 * tenth + 1]))

    def most_growth(self):
        """An event may add an item with a weight to a user's row, in an array of up to twice the
        length. The number of connections varies by some 30, of 32 KB each, twice; the first
        seconds, which a short run does not leave out, make the threads' memory."""
        return 16 * self.counts["events"] + (2e6 if self.options.seconds >= 120 else 8e6)

    def wait_for_descriptors(self, most):
        end = time.monotonic() + 60
        while self.server.descriptors() > most and time.monotonic() < end:
            time.sleep(0.1)
        return self.server.descriptors()

    def run(self):
        self.make()
        self.server = Server("model.ease", "--users", "data.csv", "--journal", "journal",
                             "--header-timeout", "3", "--body-timeout", "3", cwd=self.dir)
        before = self.server.descriptors()
        load = [self.ask] * 4 if self.options.python or not shutil.which("wrk") else [self.load]
        threads = [threading.Thread(target=self.guarded, args=(what,))
                   for what in [self.swap, self.feed, self.annoy] + load]
        for t in threads:
            t.start()
        self.watch(threads)
        reloads, refused = (self.server.metric(f"ease_{name}_total")
                            for name in ("reloads", "reload_failures"))
        left = self.wait_for_descriptors(before)
        code = self.server.stop()
        print(f"{self.counts}; {reloads:.0f} models swapped in, the slowest in "
              f"{self.slowest_swap:.1f} s; descriptors {before}, then {left}; memory "
              f"{self.memory[-1] / 1e6:.1f} MB, grown by {self.growth() / 1e6:.1f} MB (of "
              f"{self.most_growth() / 1e6:.1f} MB that may be); exit {code}")
        if self.growth() > self.most_growth() and not SANITIZED:  # which keep what was freed
            self.fail("memory has grown")
        if (reloads, refused) != (self.counts["swaps"], 0):
            self.fail(f"{reloads:.0f} models were swapped in, {refused:.0f} refused")
        if left > before:
            self.fail("descriptors are left over")
        if code or not self.counts["lists"] or not self.counts["swaps"]:
            self.fail("the server did not end well, or nothing went on")
        shutil.rmtree(self.dir, ignore_errors=True)
        return 1 if self.wrong else 0


if __name__ == "__main__":
    if not os.path.exists(EASE):
        sys.exit(f"{EASE}: not built")
    sys.exit(Soak(parse()).run())
