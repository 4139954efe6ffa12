#!/usr/bin/env python3
"""Makes docs/performance.md: this project beside what people use now, on one machine.

    bench/bench.py [--only PART,...] [--write] [--ease PROGRAM] [--data DIR] [--work DIR]

Each part runs on its own and keeps what it measured, with its commands and the machine,
in docs/performance/PART.json; --write only makes the page from those files. Peers come
from PyPI into a virtual environment, made at the first need; they run one at a time, each
in a process of its own (peers.py). The standard library is enough for what needs no peer.

The parts, with the minutes they take on two cores:
    reading 4, feeding 3, gram 6, solve 9, busy 2, recommend 5, verify 4, whole 14, half 7, npm 7, growth 4,
    workdir 4, updates 12, exactness 4
and those that only --only runs:
    gowalla 20, yelp2018 20, large 70 (91,599 items), sixteen (for a machine of 16 cores)
"""
import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time

import performance

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE, page_text, kept = performance.PAGE, performance.page_text, performance.kept
PACKAGES = ["numpy", "scipy", "pandas", "polars", "implicit", "rectools", "irspack", "lenskit",
            "recpack", "cornac"]
SHAPES = {  # users, items, interactions
    "ml-20m": (136677, 20108, 10000000),
    "netflix": (463435, 17769, 57000000),
    "msd": (571355, 41140, 34000000),
    "amazon-book": (52643, 91599, 2400000),
    "ml-20m-half": (68338, 10054, 5000000),
    "ratings": (138493, 26744, 20000263),
    "feeding": (41548, 20108, 6000000),
}
REAL = {"npm": ("npm/dependencies.tsv.gz", 200), "gowalla": ("gowalla/train.txt", 80),
        "yelp2018": ("yelp2018/train.txt", 300)}
LAMBDA = 500
TIMEOUT = 1500  # seconds, of a peer


class Bench:
    """Runs programs, and remembers how."""

    def __init__(self, a):
        self.ease, self.data, self.work, self.scale = a.ease, a.data, a.work, a.scale
        self.venv = os.path.join(ROOT, "build", "bench-venv")
        self.commands, self.failed_installs = [], {}
        os.makedirs(self.work, exist_ok=True)

    def path(self, name):
        return os.path.join(self.work, name)

    def shown(self, args):
        text = " ".join(map(str, args))
        for place, name in ((self.ease, "ease"), (os.path.join(self.venv, "bin/python"), "python"),
                            (self.work + "/", ""), (self.data + "/", ""), (self.work, "."), (ROOT + "/", "")):
            text = text.replace(place, name)
        return text

    def child(self, args, timeout=None):
        """Output, wall seconds and the largest resident size; or why there is none."""
        print("$ " + self.shown(args), file=sys.stderr, flush=True)
        began = time.monotonic()
        out, said = self.path("stdout"), self.path("stderr")
        with open(out, "w") as f, open(said, "w") as g:
            p = subprocess.Popen([str(a) for a in args], stdout=f, stderr=g if timeout else None)
            pid, status, usage = 0, 0, None
            while pid == 0:
                pid, status, usage = os.wait4(p.pid, os.WNOHANG if timeout else 0)
                if pid == 0 and time.monotonic() - began > timeout:
                    p.kill()
                    timeout = 1e9
                elif pid == 0:
                    time.sleep(0.02)
        p.returncode = os.waitstatus_to_exitcode(status)
        result = {"wall_seconds": time.monotonic() - began, "peak_bytes": usage.ru_maxrss * 1024,
                  "cpu_seconds": usage.ru_utime + usage.ru_stime}
        with open(out) as f, open(said) as g:
            result["out"], lines = f.read(), g.read().strip().splitlines()
        if timeout == 1e9:
            result["failed"] = f"not done within {TIMEOUT} s"
        elif p.returncode < 0:
            result["failed"] = f"killed by signal {-p.returncode}"
        elif p.returncode:
            result["failed"] = (lines or [f"exit {p.returncode}"])[-1][:300]
        os.remove(out)
        os.remove(said)
        return result

    def run(self, *args):
        """The program; its JSON, with wall seconds and peak."""
        self.commands.append(self.shown(["ease", *args]))
        r = self.child([self.ease, *args])
        if "failed" in r:
            raise RuntimeError(f"ease {args[0]}: {r['failed']}")
        printed = json.loads(r.pop("out") or "{}")
        printed.pop("path", None)
        return {**printed, **r}

    def bench(self, *args):
        return self.run("bench", *args, "--dir", self.work, "--json", "-q")

    def peer(self, name, *args):
        self.need_venv()
        self.commands.append(self.shown(["python", "bench/peers.py", name, *args]))
        r = self.child([os.path.join(self.venv, "bin/python"),
                        os.path.join(ROOT, "bench/peers.py"), name, *args], TIMEOUT)
        out = r.pop("out").strip().splitlines()
        return {**(json.loads(out[-1]) if "failed" not in r else {}), **r}

    # ---- what they need

    def need_venv(self):
        python = os.path.join(self.venv, "bin/python")
        notes = os.path.join(self.venv, "failed.json")
        if not os.path.exists(notes):
            subprocess.run([sys.executable, "-m", "venv", self.venv], check=True)
            failed = {}
            for name in PACKAGES:  # one by one: one that fails takes no other along
                print("installing " + name, file=sys.stderr, flush=True)
                r = subprocess.run([python, "-m", "pip", "-q", "install", name], text=True,
                                   stderr=subprocess.PIPE)
                if r.returncode:
                    failed[name] = (r.stderr.strip().splitlines() or ["failed"])[-1][:300]
            with open(notes, "w") as f:
                json.dump(failed, f)
        with open(notes) as f:
            self.failed_installs = json.load(f)

    def versions(self):
        if not os.path.exists(os.path.join(self.venv, "failed.json")):
            return {}
        out = subprocess.run([os.path.join(self.venv, "bin/python"), "-m", "pip", "list",
                              "--format", "json"], text=True, check=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL).stdout
        found = {p["name"].lower(): p["version"] for p in json.loads(out)}
        return {n: found.get(n, "not installed: " + self.failed_installs.get(n, "?"))
                for n in PACKAGES + ["torch"]}

    def sizes(self, shape):
        """Scaled, for trying out: the same interactions a user."""
        return tuple(max(1, int(n * self.scale)) for n in SHAPES[shape])

    def synth(self, shape):
        users, items, interactions = self.sizes(shape)
        path = self.path(f"{shape}.csv")
        args = ["synth", "-o", path, "--users", users, "--items", items, "--interactions",
                interactions, "-q", "--json"]
        if os.path.exists(path):
            self.commands.append(self.shown(["ease", *args]))
        else:
            self.run(*args)
        return path

    def shape_options(self, shape):
        return [str(o) for pair in zip(("--users", "--items", "--interactions"),
                                       self.sizes(shape)) for o in pair]

    def solve_options(self, items):
        """A sparse matrix: the solve takes the same time."""
        items = max(64, int(items * self.scale))
        return ["--items", items, "--users", items, "--interactions", 10 * items]


# ---- parts ---------------------------------------------------------------------------


def ratings_file(b, name, line, shape="ratings", head="userId,movieId,rating,timestamp"):
    """MovieLens's form: userId,movieId,rating,timestamp; `line` is awk's for a row."""
    path = b.path(name)
    source = b.synth(shape)
    if not os.path.exists(path):
        first = f'print "{head}"; ' if head else ""
        with open(path + ".part", "w") as f:
            subprocess.run(["awk", "-F,", "NR == 1 { " + first + "next } { " + line + " }", source],
                           stdout=f, check=True, env={**os.environ, "TZ": "UTC"})
        os.rename(path + ".part", path)
    return path


def reading(b):
    numbers = ('printf "%d,%d,%.1f,%d\\n", $1 + 1, $2 * 7 + 1, (NR * 7 % 10 + 1) / 2, '
               '789652004 + NR * 31')
    strings = ('printf "U%08X%04d,item-%06d-%d,%.1f,%d\\n", $1 * 2654435 % 4294967291, $1 % 9973, '
               '$2, $2 % 97, (NR * 7 % 10 + 1) / 2, 789652004 + NR * 31')
    made = {}
    for name, line in (("numbers", numbers), ("strings", strings)):
        path = ratings_file(b, f"ratings-{name}.csv", line)
        made[name] = {"bytes": os.path.getsize(path),
                      "ease": b.bench(path, "--parts", "read", "--repeat", 3)["parts"]["read"],
                      "pandas": b.peer("read_pandas", path, 3),
                      "pandas, pyarrow": b.peer("read_pandas", path, 3, "pyarrow"),
                      "polars": b.peer("read_polars", path, 3)}
    return made


def feeding(b):
    """The same rows as CSV and JSON lines, with weights and with weights by age, by turns."""
    fields = "$1, $2, (NR * 7 % 10 + 1) / 2, "
    seconds = "1600000000 + NR * 7919 % 100000000"
    csv = ratings_file(b, "feeding-seconds.csv", f'printf "%d,%d,%.1f,%d\\n", {fields}{seconds}',
                       "feeding")
    dates = ratings_file(b, "feeding-dates.csv", 'printf "%d,%d,%.1f,%s\\n", '
                         f'{fields}strftime("%Y-%m-%dT%H:%M:%SZ", {seconds})', "feeding")
    lines = ratings_file(
        b, "feeding.jsonl", 'printf "{\\"userId\\":%d,\\"movieId\\":%d,\\"rating\\":%.1f,'
        f'\\"timestamp\\":%d}}\\n", {fields}{seconds}', "feeding", None)
    names = ["--columns", "userId,movieId,rating,timestamp"]
    ways = {"CSV": [csv], "JSON lines": [lines, *names],
            "CSV, weights": [csv, "--weights"],
            "CSV, half-life, seconds since 1970": [csv, "--half-life", 90],
            "CSV with dates": [dates], "CSV with dates, weights": [dates, "--weights"],
            "CSV with dates, half-life": [dates, "--half-life", 90]}
    runs = {name: [] for name in ways}
    for _ in range(5):
        for name, args in ways.items():
            r = b.run("info", *args, "--json", "-q")
            runs[name].append({k: r[k] for k in ("wall_seconds", "cpu_seconds", "peak_bytes")})
    return {"rows": b.sizes("feeding")[2],
            "bytes": {name: os.path.getsize(args[0]) for name, args in ways.items()}, "runs": runs}


def gram(b):
    made = {}
    for shape in ("ml-20m", "netflix"):
        path = b.synth(shape)
        ours = b.bench(path, "--parts", "gram", "--repeat", 3)
        made[shape] = {"users": ours["users"], "items": ours["items"],
                       "interactions": ours["interactions"], "ease": ours["parts"]["gram"],
                       "scipy": b.peer("gram_scipy", path, 1)}
    return made


def solve(b):
    """And writing, which needs a model of that size anyway."""
    large, small = b.solve_options(20480), b.solve_options(10240)
    return {"large": b.bench(*large, "--parts", "sgemm,copy,solve,write", "--repeat", 3),
            "numpy float32": b.peer("invert_numpy", large[1], "float32", 1),
            "small": b.bench(*small, "--parts", "sgemm,solve", "--repeat", 3),
            "numpy float32, small": b.peer("invert_numpy", small[1], "float32", 1),
            "numpy float64, small": b.peer("invert_numpy", small[1], "float64", 1)}


def busy(b):
    """Alone and beside a process that keeps one core busy, in turns."""
    made = {"alone": [], "beside": []}
    core = max(os.sched_getaffinity(0))
    for _ in range(3):
        for name in made:
            spin = None
            if name == "beside":
                spin = subprocess.Popen([sys.executable, "-c", "while True: pass"])
                os.sched_setaffinity(spin.pid, {core})
            try:
                r = b.bench(*b.solve_options(10240), "--parts", "solve", "--repeat", 1)
            finally:
                if spin:
                    spin.kill()
                    spin.wait()
            made[name] += r["parts"]["solve"]["seconds"]
    return {**made, "items": r["items"], "threads": r["threads"]}


def recommend(b):
    path, model, weights = b.synth("ml-20m"), b.path("rec.ease"), b.path("rec.npy")
    ours = b.bench(path, "--parts", "recommend", "--repeat", 3)
    b.run("train", path, "-o", model, "--lambda", LAMBDA, "--storage", "f32", "-q", "--json")
    b.run("export", model, "-o", weights, "-q")
    os.remove(model)
    made = {"users": ours["users"], "items": ours["items"], "interactions": ours["interactions"],
            "ease": ours["parts"]["recommend"],
            "numpy": b.peer("recommend_numpy", path, weights, 4096),
            "implicit": b.peer("recommend_implicit", path, weights, 4096)}
    os.remove(weights)
    return made


def forget_cached(path):
    """The file is read from the disk the next time."""
    with open(path, "rb") as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def spread_items(path, count):
    """So many from all over a model's rows, which have the order of first appearance."""
    found = {}
    with open(path) as f:
        next(f)
        for line in f:
            found.setdefault(line.rstrip("\n").split(",")[1])
    return list(found)[::max(1, len(found) // count)][:count]


def seconds_of(b, args, phase=None):
    """Wall seconds of the program, or of one phase of it as --verbose tells."""
    shown = b.shown(["ease", *args])
    if shown not in b.commands:
        b.commands.append(shown)
    began = time.monotonic()
    done = subprocess.run([b.ease, *map(str, args)], text=True, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    wall = time.monotonic() - began
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    if not phase:
        return wall
    words = [line.split() for line in done.stderr.splitlines()]
    return next(float(w[1]) for w in words if w[:1] == [phase])


def verify(b):
    """What it costs that every part of a model is verified before its first use."""
    path, model = b.synth("ml-20m"), b.path("verify.ease")
    b.run("train", path, "-o", model, "--lambda", LAMBDA, "-q", "--json")
    one = ["recommend", model, "--history", ",".join(spread_items(path, 50)), "--csv", "-q"]
    everyone = ["recommend", model, "--users", path, "-k", 100, "--csv", "--verbose"]
    ways = {"verified": [], "not": ["--no-verify"]}
    made = {"bytes": os.path.getsize(model), "history": 50}
    for name, repeat, cold, args, phase in (("one, cold", 7, True, one, None),
                                            ("one, warm", 7, False, one, None),
                                            ("all, warm", 3, False, everyone, "recommending")):
        made[name] = {w: [] for w in ways}
        seconds_of(b, args)
        for _ in range(repeat):  # by turns: a machine's mood changes
            for way, option in ways.items():
                if cold:
                    forget_cached(model)
                made[name][way].append(seconds_of(b, args + option, phase))
    os.remove(model)
    return made


def compare_whole(b, path, lam, peers, repeat=3):
    model, weights = b.path("whole.ease"), b.path("whole.npy")
    made = {"ease": [b.run("train", path, "-o", model, "--lambda", lam, "--storage", "f32", "-q",
                           "--json") for _ in range(repeat)]}
    for name in peers:
        made[name] = b.peer("whole_" + name, path, lam, weights)
        for left in (weights, model):
            if os.path.exists(left):
                os.remove(left)
    return made


def whole(b):
    return compare_whole(b, b.synth("ml-20m"), LAMBDA, ["algorithm1", "irspack", "lenskit"])


def half(b):
    return compare_whole(b, b.synth("ml-20m-half"), LAMBDA,
                         ["algorithm1", "rectools", "irspack", "lenskit", "recpack", "cornac"])


def real(name, peers, repeat):
    def part(b):
        path, lam = REAL[name]
        return compare_whole(b, os.path.join(b.data, path), lam, peers, repeat)
    return part


def growth(b):
    users, items, _ = b.sizes("ml-20m")
    return b.bench("--growth", "--items", items, "--users", users, "--interactions",
                   b.sizes("ratings")[2], "--repeat", 2)


def workdir(b):
    """The same training in memory and on tiles in a file, with a quarter of the matrix
    in memory."""
    path, model, tiles = b.synth("ml-20m"), b.path("w.ease"), b.path("tiles")
    plan = b.run("plan", *b.shape_options("ml-20m"), "--json", "-q")
    train = ["train", path, "-o", model, "--lambda", LAMBDA, "-q", "--json"]
    os.makedirs(tiles, exist_ok=True)
    made = {"matrix_bytes": plan["matrix_bytes"], "memory": b.run(*train),
            "workdir": b.run(*train, "--workdir", tiles, "--memory-limit", plan["matrix_bytes"] // 4)}
    shutil.rmtree(tiles)
    os.remove(model)
    return made


def change_files(b, path, count=100):
    """100 users from all over the data: their rows, the same rows for new users, and for
    these users the rows of their neighbours."""
    was, now, other = (b.path(name + ".csv") for name in ("was", "now", "other"))
    with open(path) as f:
        next(f)
        users = int(f.read().splitlines()[-1].split(",")[0]) + 1
    chosen = {str(k * (users // count)) for k in range(count)}
    neighbours = {str(int(user) + 1): user for user in chosen}
    with open(path) as f, open(was, "w") as old, open(now, "w") as new, \
            open(other, "w") as changed:
        for out in (old, new, changed):
            out.write("user,item\n")
        next(f)
        for line in f:
            user, rest = line.split(",", 1)
            if user in chosen:
                old.write(line)
                new.write("new" + line)
            if user in neighbours:
                changed.write(f"{neighbours[user]},{rest}")
    return was, now, other


UPDATES = 7  # runs of each kind of update


def updates(b):
    """In memory by `ease bench`, from file to file by the program. All kinds of updates by
    turns, so that a machine's mood does not choose between them."""
    path, model, changed = b.synth("ml-20m"), b.path("up.ease"), b.path("changed.ease")
    was, now, other = change_files(b, path)
    made = {"memory": b.bench(path, "--parts", "solve,leave", "--repeat", 3),
            "train": [], "come": [], "leave": [], "change": []}
    made["memory"]["parts"].update(
        b.bench(path, "--parts", "update", "--repeat", UPDATES)["parts"])
    for _ in range(3):
        made["train"].append(b.run("train", path, "-o", model, "--lambda", LAMBDA, "--updatable",
                                   "-q", "--json"))
    for _ in range(UPDATES):
        for name, option in (("come", ["--now", now]), ("leave", ["--was", was]),
                             ("change", ["--was", was, "--now", other])):
            made[name].append(b.run("update", model, *option, "-o", changed, "-q", "--json"))
    made["digests"] = {}
    for threads in (1, 2, 3):
        b.run("update", model, "--was", was, "--now", now, "-o", changed, "--threads", threads,
              "-q", "--json")
        with open(changed, "rb") as f:
            made["digests"][threads] = hashlib.file_digest(f, "sha256").hexdigest()
    made["bytes"] = os.path.getsize(model)
    os.remove(model)
    os.remove(changed)
    return made


VARIANTS = [("ease", "", "counts", "4", 1000), ("ease", "", "counts", "weights", 100),
            ("ease", "", "covariance", "4", 100),
            ("rlae", "relaxation=0.3", "counts", "4", 100),
            ("ease-rescaled", "power=0.4", "counts", "4", 100),
            ("ease-ips", "power=0.4", "counts", "4", 100),
            ("ease-family", "user-power=0.5", "counts", "4", 100),
            ("edlae", "dropout=0.5", "counts", "4", 20)]


def exactness(b):
    """Of updates on ml-1m, by the tests' own program: see tests/run_updates.c."""
    program = os.path.join(ROOT, "build", "tests", "run_updates")
    made = {"runs": []}
    for how, count, variant in ([("batches", v[4], v) for v in VARIANTS] +
                                [("forget", 100, VARIANTS[0])]):
        method, settings, kind, rating, _ = variant
        args = [program, how, os.path.join(b.data, "ml-1m/ratings.csv"), rating, count, method,
                settings, kind]
        b.commands.append(" ".join(repr(a) if a == "" else a for a in
                                   map(str, [*map(b.shown, [[a] for a in args])])))
        r = b.child(args)
        if "failed" in r:
            raise RuntimeError(r["failed"])
        made["runs"].append({"how": how, "count": count, "method": method, "settings": settings,
                             "kind": kind, "rating": rating, **json.loads(r["out"])})
    return made


def large(b):
    model = b.path("large.ease")
    made = b.run("train", b.synth("amazon-book"), "-o", model, "--lambda", LAMBDA, "--json",
                 "--verbose")
    os.remove(model)
    return made


def sixteen(b):
    """For another machine: needs nothing but the program."""
    made = {str(n): b.bench(*b.solve_options(n), "--parts", "sgemm,solve", "--repeat", 3)
            for n in (17769, 41140)}
    model = b.path("msd.ease")
    made["msd"] = b.run("train", b.synth("msd"), "-o", model, "--lambda", LAMBDA, "--json", "-q")
    os.remove(model)
    return made


PARTS = {"reading": reading, "feeding": feeding, "gram": gram, "solve": solve, "busy": busy, "recommend": recommend,
         "verify": verify, "whole": whole, "half": half, "npm": real("npm", ["algorithm1", "lenskit"], 3),
         "growth": growth, "workdir": workdir, "updates": updates,
         "exactness": exactness}
BY_HAND = {"gowalla": real("gowalla", ["lenskit"], 1), "yelp2018": real("yelp2018", ["lenskit"], 1),
           "large": large, "sixteen": sixteen}


# ---- all of it -------------------------------------------------------------------------


def field(path, key):
    with open(path) as f:
        for line in f:
            if line.startswith(key):
                return line.split(":", 1)[1].strip()
    return "unknown"


def kernel():
    """Its version as 6.18, without what a build adds."""
    return ".".join(platform.release().split(".")[:2])


def machine(b):
    quick = json.loads(subprocess.run(
        [b.ease, "bench", "--parts", "copy", "--quick", "--json", "-q", "--dir", b.work],
        text=True, check=True, stdout=subprocess.PIPE).stdout)
    return {"cpu": field("/proc/cpuinfo", "model name"), "cores": len(os.sched_getaffinity(0)),
            "memory_bytes": int(field("/proc/meminfo", "MemTotal").split()[0]) * 1024,
            "blas": quick["blas"], "ease": quick["version"], "python": platform.python_version(),
            "kernel": kernel(), "date": time.strftime("%Y-%m-%d")}


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--ease", default=os.path.join(ROOT, "build/ease"))
    p.add_argument("--data", default=os.path.join(os.path.dirname(ROOT), "shared", "data"))
    p.add_argument("--work", default=os.path.join(ROOT, "build", "bench-work"),
                   help="a directory for made data, which is found again, and models")
    p.add_argument("--only", help="parts, divided by commas")
    p.add_argument("--write", action="store_true", help="only write the page")
    p.add_argument("--scale", type=float, default=1.0,
                   help="sizes times this, for trying out; results go to --work, no page")
    a = p.parse_args()
    trying = a.scale != 1.0
    if trying:
        a.work = os.path.join(a.work, f"scale-{a.scale}")
    parts = {**PARTS, **BY_HAND}
    wanted = [] if a.write else a.only.split(",") if a.only else list(PARTS)
    unknown = [n for n in wanted if n not in parts]
    if unknown:
        sys.exit("no such part: " + ", ".join(unknown))
    failed = []
    for name in wanted:
        b = Bench(a)
        began = time.monotonic()
        try:
            made = parts[name](b)
        except RuntimeError as e:  # the other parts can still be done
            failed.append(f"{name}: {e}")
            continue
        performance.keep(name, {**made, "commands": b.commands, "machine": machine(b),
                                "versions": b.versions(), "minutes": (time.monotonic() - began) / 60},
                         a.work if trying else None)
    if not trying:
        performance.write()
    sys.exit("\n".join(failed) if failed else 0)


if __name__ == "__main__":
    main()
