"""The page docs/performance.md, from what bench.py kept in docs/performance/."""
import json
import os

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KEPT = os.path.join(ROOT, "docs", "performance")
PAGE = os.path.join(ROOT, "docs", "performance.md")

# Why a target is missed, by its name: written by hand after a run.
REASONS = {
    "reading 20 M lines: 10 x pandas":
        "the target is met with strings as ids; for numbers, pandas parses only the two "
        "columns, into arrays that it does not sort",
    "X'X, Netflix shape: 20 x SciPy":
        "an addition takes some 4 cycles, in a row of counts twice as large as the first-level "
        "cache; the 2,048 most popular items have a fifth of the pairs, so that bit sets for "
        "them would gain an eighth",
    "solve, n >= 20,000: 97 % of sgemm":
        "products of tiles of 640 to 896 pack their operands again each time: 4 to 5 % of the "
        "time, which sgemm on matrices of 4,096 spreads over more flops; larger tiles gained "
        "nothing, since more of the work is then triangular; the check takes 0.5 %",
    "solve: 6 x Algorithm 1 (inv, float32, same n)":
        "inv takes 8/3 n^3 flops: at the rate of sgemm it would take 2.7 times as long as ease, "
        "and it ran at half of that rate",
    "f16 model written: at the disk's speed (90 %)":
        "two processors transpose, scale and convert 1.5 GB/s, and the disk can write 2",
    "CSV to model, ML-20M shape: 6 x Algorithm 1, 1/10 of its memory":
        "inv takes 8/3 n^3 flops in float64, ease n^3 in float32: 5.3 times as long at the same "
        "share of the processor's peak",
}


def keep(name, made, where=None):
    os.makedirs(where or KEPT, exist_ok=True)
    with open(os.path.join(where or KEPT, name + ".json"), "w") as f:
        json.dump(made, f, indent=1)
        f.write("\n")


def kept(name):
    path = os.path.join(KEPT, name + ".json")
    if not os.path.exists(path):
        return None
    with open(path) as f:
        return json.load(f)


def median(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


# ---- words for numbers ------------------------------------------------------------------


def sec(value):
    if value >= 120:
        return f"{value / 60:.1f} min"
    return f"{value:.0f} s" if value >= 10 else f"{value:.2f} s"


def size(value):
    return f"{value / 1e9:.2f} GB" if value >= 1e8 else f"{value / 1e6:.1f} MB"


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "| --- |" + " ---: |" * (len(head) - 1)
    for row in rows:
        yield "| " + " | ".join(str(c) for c in row) + " |"
    yield ""


def commands(part):
    return "\n".join("    " + c for c in dict.fromkeys(part["commands"])) + "\n"


def place(part):
    """Where it was measured, and with what."""
    m = part["machine"]
    words = (f"{m['cpu']}, {m['cores']} cores, {size(m['memory_bytes'])} of memory, Linux "
             f"{m['kernel']}; ease {m['ease']} with {m['blas']}")
    if any(c.startswith("python") for c in part["commands"]):
        words += f"; Python {m['python']}, " + ", ".join(
            f"{k} {v}" for k, v in sorted(part["versions"].items()))
    return words


def places():
    """Each place once, with what was measured there."""
    found = {}
    for name in dict.fromkeys(part for part, _, _ in SECTIONS):
        d = kept(name)
        if d is not None:
            found.setdefault(place(d), []).append(f"{name} ({d['machine']['date']})")
    for words, names in found.items():
        yield f"- {', '.join(names)}: {words}."
    yield ""


# ---- one section a part -------------------------------------------------------------------


def spent(peer):
    """Median seconds of a peer, or None where it failed."""
    if "failed" in peer:
        return None
    s = peer["seconds"]
    return median(s) if isinstance(s, list) else s


def peer_rows(ours, peers, show):
    for name, peer in peers:
        if "failed" in peer:
            yield [name, "failed: " + peer["failed"].replace("|", "/"), ""]
        else:
            yield [name, show(spent(peer)), f"{spent(peer) / ours:.1f}"]


def reading_page(d):
    yield ("This part reads a ratings.csv in MovieLens's format "
           "(userId,movieId,rating,timestamp) into numbers for users and items; `ease` also "
           "sorts them into rows and checks for repeats. Times are medians of three runs, with "
           "the file in the page cache. pandas: read_csv of the two columns, and factorize. "
           "polars: the faster of dense ranks and categories.\n")
    for name in ("numbers", "strings"):
        e = d[name]["ease"]
        ours = e["median_seconds"]
        yield f"Ids are {name}: {e['amount']:,.0f} lines, {size(d[name]['bytes'])}.\n"
        peers = [(k, d[name][k]) for k in ("pandas", "pandas, pyarrow", "polars")]
        yield from table(["reader", "seconds", "times ease"],
                         [["ease", f"{sec(ours)}, {e['bytes_a_second'] / 1e6:.0f} MB/s", "1"],
                          *peer_rows(ours, peers, sec)])


def gram_page(d):
    yield ("This part computes X'X of synthetic data of these shapes, long-tailed in users and "
           "items. `ease bench`: median of three. SciPy: `(X.T @ X).toarray()` in float32, "
           "once.\n")
    rows = []
    for name in ("ml-20m", "netflix"):
        e, peer = d[name]["ease"], d[name]["scipy"]
        ratio = "" if "failed" in peer else f"{spent(peer) / e['median_seconds']:.1f}"
        rows.append([f"{name}: {d[name]['users']:,} x {d[name]['items']:,}, "
                     f"{d[name]['interactions']:,}", sec(e["median_seconds"]),
                     f"{e['rate'] / 1e9:.2f} G pairs/s", peer.get("failed") or sec(spent(peer)), ratio])
    yield from table(["data", "ease", "rate", "SciPy", "ratio"], rows)


def solve_page(d):
    yield ("The solve goes from counts to the inverse, including its check, as `ease bench` "
           "times it. The limit is sgemm at its best size from 512 to 4,096 squared, called by "
           "all threads at once on separate matrices, for three seconds before and after each "
           "of three solves; medians are compared. NumPy: `numpy.linalg.inv` and the division "
           "by the diagonal, once.\n")
    rows = []
    for name, peers in (("large", ["numpy float32"]),
                        ("small", ["numpy float32, small", "numpy float64, small"])):
        s, g = d[name]["parts"]["solve"], d[name]["parts"]["sgemm"]
        rows.append([f"ease, n = {s['items']:,.0f}", sec(s["median_seconds"]),
                     f"{s['rate'] / 1e9:.0f}", f"{100 * s['of_limit']:.1f} % of {s['sgemm'] / 1e9:.0f} "
                     f"(n = {g['edge']:.0f})", f"{s['bytes_an_entry']:.2f} n^2", "1"])
        for p in peers:
            peer = d[p]
            took = spent(peer)
            rows.append([p.split(",")[0] + f", n = {s['items']:,.0f}"]
                        + ([peer["failed"], "", "", "", ""] if took is None else
                           [sec(took), f"{s['amount'] / took / 1e9:.0f}",
                            f"{100 * s['amount'] / took / s['sgemm']:.0f} %",
                            f"{peer['peak_bytes'] / s['items'] ** 2:.1f} n^2, all in all",
                            f"{took / s['median_seconds']:.1f}"]))
    yield from table(["solver", "seconds", "n^3 / time, GFLOP/s", "of sgemm", "bytes", "times ease"],
                     rows)


def write_page(d):
    yield ("A model of the larger size is written, synced and renamed. The rate of the disk is "
           "that of writing and syncing as many bytes; both are measured alternately. Rates are "
           "the best of three.\n")
    copy = d["large"]["parts"]["copy"]["rate"]
    yield from table(["storage", "bytes", "ease", "disk", "of disk", "of copying memory"],
                     [[k, size(w["amount"]), f"{w['rate'] / 1e9:.2f} GB/s",
                       f"{w['disk'] / 1e9:.2f} GB/s", f"{100 * w['of_disk']:.0f} %",
                       f"{100 * w['rate'] / copy:.0f} %"]
                      for k, w in ((k, d["large"]["parts"]["write-" + k])
                                   for k in ("f32", "f16", "packed"))])


def busy_page(d):
    alone, beside = median(d["alone"]), median(d["beside"])
    yield ("The solve runs alternately alone and beside a process that keeps one core busy, "
           "three times each.\n")
    yield from table(["solve", "median", "runs"],
                     [[f"alone, n = {d['items']:,}, {d['threads']} threads", sec(alone),
                       ", ".join(sec(s) for s in d["alone"])],
                      [f"beside: {beside / alone:.2f} times", sec(beside),
                       ", ".join(sec(s) for s in d["beside"])]])


def recommend_page(d):
    yield (f"This part makes lists of 100 for users of the ML-20M shape ({d['users']:,} x "
           f"{d['items']:,}, {d['interactions']:,}), without the items that they have. `ease "
           "bench`: all users, from a float16 model, median of three. NumPy: blocks of 512 users "
           "times B in float32, masked, argpartition, sorted. implicit: `implicit.cpu.topk.topk` "
           "with the columns of B as items. Both are measured once, on a sample of users, with "
           "sparse and with dense histories.\n")
    ours = d["ease"]["amount"] / d["ease"]["median_seconds"]
    rows = [["ease", f"{d['users']:,}", f"{ours:,.0f}", "1"]]
    for name in ("numpy", "implicit"):
        peer = d[name]
        if "failed" in peer:
            rows.append([name, "", "failed: " + peer["failed"], ""])
            continue
        for way, took in peer["ways"].items():
            rate = peer["users"] / took
            rows.append([f"{name}, {way} histories", f"{peer['users']:,}", f"{rate:,.0f}",
                         f"{ours / rate:.1f}"])
    yield from table(["ranking", "users", "users/s", "ease is faster by"], rows)


def verify_page(d):
    yield (f"Every MiB of a model is verified against its checksum before its first use; "
           f"`--no-verify` turns that off. The model has {size(d['bytes'])} in float16. The time of "
           f"one list, for a history of {d['history']} items, is that of the whole program; the "
           "time of lists for all users is that of recommending alone. A cold file is not in the "
           "page cache. The table has medians of alternating runs, with minimum and maximum: if "
           "the ranges overlap, the ratio is not significant.\n")
    rows = []

    def shown(times):
        return f"{median(times):.3g} s ({min(times):.2g} to {max(times):.2g})"

    for name, what in (("one, cold", "one list, cold file"), ("one, warm", "one list"),
                       ("all, warm", "lists of 100 for all users")):
        ours, bare = median(d[name]["verified"]), median(d[name]["not"])
        rows.append([what, shown(d[name]["verified"]), shown(d[name]["not"]),
                     f"{ours / bare:.2f}"])
    yield from table(["", "verified", "not verified", "ratio"], rows)


def whole_rows(d):
    ours = median([r["seconds"] for r in d["ease"]])
    peak = max(r["peak_bytes"] for r in d["ease"])
    yield [f"ease, {d['ease'][0]['items']:,} items", sec(ours), "1", size(peak), "1"]
    for name, peer in d.items():
        if name.startswith(("ease", "commands", "machine", "versions", "minutes")):
            continue
        if "failed" in peer:
            yield [name, "failed: " + peer["failed"].replace("|", "/"), "",
                   size(peer["peak_bytes"]), ""]
        else:
            yield [name, sec(peer["seconds"]), f"{peer['seconds'] / ours:.1f}",
                   size(peer["peak_bytes"]), f"{peer['peak_bytes'] / peak:.1f}"]


WHOLE = ("This part goes from the file to weights on disk. Times are wall-clock, each program in a "
         "separate process. `ease train` with storage f32: the whole process, median of its runs. "
         "Other libraries: reading with pandas, the library's EASE, numpy.save; without imports, "
         "once. algorithm1 is the paper's code, with pandas and SciPy, in float64. Memory is the "
         "peak resident size.\n")


def whole_page(d):
    yield WHOLE
    yield from table(["program", "seconds", "times ease", "memory", "times ease"], whole_rows(d))


def growth_page(d):
    yield ("The table has the best of two runs for each of four sizes, and the exponent by least "
           "squares on logarithms.\n")
    rows = []
    for name in ("solve", "read"):
        g = d["growth"][name]
        rows.append([f"{name}, {g['unit']}",
                     ", ".join(f"{n:,.0f}: {sec(s)}" for n, s in zip(g["sizes"], g["seconds"])),
                     f"{g['exponent']:.2f}"])
    yield from table(["part", "seconds by size", "exponent"], rows)


def train_rows(runs):
    for name, r in runs:
        yield [name, f"{r['items']:,}", sec(r["seconds"]),
               ", ".join(f"{k} {sec(v)}" for k, v in r["phases"].items() if v >= 0.1),
               size(r["peak_bytes"])]


TRAIN_HEAD = ["training", "items", "seconds", "phases", "peak memory"]


def workdir_page(d):
    yield (f"The same model is trained with its matrix ({size(d['matrix_bytes'])}) in memory, and "
           "with the matrix in a file and a quarter of it in memory.\n")
    yield from table(TRAIN_HEAD, train_rows([(k, d[k]) for k in ("memory", "workdir")]))


def large_page(d):
    yield "The data has the shape of amazon-book; the peak is the resident size of the process.\n"
    yield from table(TRAIN_HEAD, train_rows([("in memory", d)]))


def sixteen_page(d):
    yield "The figures are medians of three, measured as above.\n"
    rows = [[f"solve, n = {int(n):,}", sec(d[n]["parts"]["solve"]["median_seconds"]),
             f"{100 * d[n]['parts']['solve']['of_limit']:.1f} % of "
             f"{d[n]['parts']['solve']['sgemm'] / 1e9:,.0f} GFLOP/s"] for n in ("17769", "41140")]
    rows.append(["CSV to model, MSD's shape", sec(d["msd"]["seconds"]), size(d["msd"]["peak_bytes"])])
    yield from table(["part", "seconds", "of sgemm; memory"], rows)


SECTIONS = [
    ("reading", "Reading", reading_page),
    ("gram", "X'X", gram_page),
    ("solve", "Solving", solve_page),
    ("busy", "Solving beside a busy process", busy_page),
    ("solve", "Writing models", write_page),
    ("recommend", "Recommending", recommend_page),
    ("verify", "Verifying models", verify_page),
    ("whole", "File to model: the ML-20M shape", whole_page),
    ("half", "File to model: half of that, all peers", whole_page),
    ("npm", "File to model: npm", whole_page),
    ("gowalla", "File to model: gowalla", whole_page),
    ("yelp2018", "File to model: yelp2018", whole_page),
    ("growth", "Growth", growth_page),
    ("workdir", "More items than fit into memory", workdir_page),
    ("large", "91,599 items", large_page),
    ("sixteen", "Sixteen cores", sixteen_page),
]


# ---- targets ------------------------------------------------------------------------------
# Each: the part, its name, and from the part's figures what was measured and whether it is
# met; None where a peer failed and there is nothing to compare with.


def faster(ours, peer, wanted, name):
    if "failed" in peer:
        return f"{name} failed", None
    return f"{spent(peer) / ours:.1f} x", spent(peer) / ours >= wanted


def read_target(ids, peer, wanted):
    return lambda d: faster(d[ids]["ease"]["median_seconds"], d[ids][peer], wanted, peer)


def gram_target(shape):
    return lambda d: faster(d[shape]["ease"]["median_seconds"], d[shape]["scipy"], 20, "SciPy")


def solve_rate(d):
    s = d["large"]["parts"]["solve"]
    return f"{100 * s['of_limit']:.1f} %", s["of_limit"] >= 0.97


def solve_bytes(d):
    s = d["large"]["parts"]["solve"]
    return f"{s['bytes_an_entry']:.2f} n^2", s["bytes_an_entry"] <= 2.2


def solve_numpy(d):
    return faster(d["large"]["parts"]["solve"]["median_seconds"], d["numpy float32"], 6, "NumPy")


def busy_target(d):
    ratio, cores = median(d["beside"]) / median(d["alone"]), d["threads"]
    allowed = cores / (cores - 1) if cores > 1 else float("inf")
    return f"{ratio:.2f} x the time; {allowed:.2f} x with a core less", ratio <= allowed


def write_target(storage):
    def check(d):
        share = d["large"]["parts"]["write-" + storage]["of_disk"]
        return f"{100 * share:.0f} % of the disk", share >= 0.9
    return check


def recommend_target(name, wanted, way=None):
    """Against the faster of its ways, or this one."""
    def check(d):
        if "failed" in d[name]:
            return f"{name} failed", None
        ours = d["ease"]["amount"] / d["ease"]["median_seconds"]
        ratio = {w: ours / (d[name]["users"] / s) for w, s in d[name]["ways"].items()}
        return (", ".join(f"{r:.1f} x with {w} histories" for w, r in ratio.items()),
                (ratio[way] if way else min(ratio.values())) >= wanted)
    return check


def whole_target(names, times, share):
    """Against the fastest of these peers, in time and in memory."""
    def check(d):
        done = [d[n] for n in names if "failed" not in d[n]]
        if not done:
            return "all failed", None
        best = min(done, key=lambda p: p["seconds"])
        ratio = best["seconds"] / median([r["seconds"] for r in d["ease"]])
        part = max(r["peak_bytes"] for r in d["ease"]) / best["peak_bytes"]
        return f"{ratio:.1f} x, memory 1/{1 / part:.1f}", ratio >= times and part <= share
    return check


def growth_target(name, most):
    return lambda d: (f"{d['growth'][name]['exponent']:.2f}", d["growth"][name]["exponent"] <= most)


def workdir_target(d):
    rate = d["memory"]["phases"]["solving"] / d["workdir"]["phases"]["solving"]
    return f"{100 * rate:.0f} % of the rate in memory", rate >= 1 / 3


def large_target(d):
    return f"peak {size(d['peak_bytes'])}", d["peak_bytes"] <= 24 * 2 ** 30


def sixteen_rate(n):
    return lambda d: (f"{100 * d[n]['parts']['solve']['of_limit']:.1f} %",
                      d[n]["parts"]["solve"]["of_limit"] >= 0.85)


def sixteen_msd(d):
    return sec(d["msd"]["seconds"]), d["msd"]["seconds"] < 120


TARGETS = [
    ("reading", "reading 20 M lines: 10 x pandas", read_target("numbers", "pandas", 10)),
    ("reading", "reading 20 M lines: as fast as polars", read_target("numbers", "polars", 1)),
    ("reading", "the same, string ids: 10 x pandas", read_target("strings", "pandas", 10)),
    ("reading", "the same, string ids: as fast as polars", read_target("strings", "polars", 1)),
    ("gram", "X'X, ML-20M shape: 20 x SciPy", gram_target("ml-20m")),
    ("gram", "X'X, Netflix shape: 20 x SciPy", gram_target("netflix")),
    ("solve", "solve, n >= 20,000: 97 % of sgemm", solve_rate),
    ("solve", "solve: 2.2 n^2 bytes", solve_bytes),
    ("solve", "solve: 6 x Algorithm 1 (inv, float32, same n)", solve_numpy),
    ("busy", "solve beside a busy process: no slower than without that core", busy_target),
    ("sixteen", "16 cores, n = 17,769: 85 % of sgemm", sixteen_rate("17769")),
    ("sixteen", "16 cores, n = 41,140: 85 % of sgemm", sixteen_rate("41140")),
    ("sixteen", "16 cores, CSV to model in MSD's shape: under 2 min", sixteen_msd),
    ("solve", "f32 model written: at the disk's speed (90 %)", write_target("f32")),
    ("solve", "f16 model written: at the disk's speed (90 %)", write_target("f16")),
    ("recommend", "lists of 100 for all users: 20 x dense NumPy", recommend_target("numpy", 20, "dense")),
    ("recommend", "lists of 100 for all users: as fast as implicit", recommend_target("implicit", 1)),
    ("whole", "CSV to model, ML-20M shape: 6 x Algorithm 1, 1/10 of its memory",
     whole_target(["algorithm1"], 6, 1 / 10)),
    ("whole", "CSV to model, ML-20M shape: 1.5 x the best peer, 1/4 of its memory",
     whole_target(["irspack", "lenskit"], 1.5, 1 / 4)),
    ("large", "91,599 items train in 24 GiB", large_target),
    ("workdir", "tiles in a file: a third of the rate with a quarter in memory", workdir_target),
    ("growth", "solve: exponent at most 3.0", growth_target("solve", 3.0)),
    ("growth", "reading: exponent at most 1.1", growth_target("read", 1.1)),
]


def target_rows():
    for part, name, check in TARGETS:
        d = kept(part)
        if d is None:
            yield [name, "", "not measured yet", ""]
            continue
        figure, met = check(d)
        verdict = {True: "met", False: "missed", None: "no comparison"}[met]
        yield [name, figure, verdict, "" if met else REASONS.get(name, "")]


def page():
    yield "# Performance\n"
    yield ("This page is written by `make bench` (bench/bench.py), which anyone can run again. "
           "It compares this project with other software for the same task, on the same data "
           "and the same machine, with all cores, one program at a time. Every number comes "
           "from the commands under its table; the measurements are in "
           "[performance/](performance/), as JSON. `ease bench` measures the parts of the "
           "library alone, on any machine.\n")
    yield "## Targets\n"
    yield from table(["target", "measured", "", "why it is missed"], target_rows())
    yield "## Machines\n"
    yield from places()
    for part, title, section in SECTIONS:
        d = kept(part)
        if d is None:
            continue
        yield f"## {title}\n"
        yield from section(d)
        yield commands(d)


def page_text():
    return "\n".join(page()).rstrip() + "\n"


def write():
    with open(PAGE, "w") as f:
        f.write(page_text())
