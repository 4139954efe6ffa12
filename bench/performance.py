"""The page docs/performance.md, from what bench.py kept in docs/performance/."""
import json
import os

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KEPT = os.path.join(ROOT, "docs", "performance")
PAGE = os.path.join(ROOT, "docs", "performance.md")

# Why a target is missed, by its name: written by hand after a run.
REASONS = {
    "a half-life, seconds since 1970: no more time than weights":
        "a time is parsed in place of a value, takes 8 bytes of a record instead of 4 until the "
        "newest time is known, and then a power of two is computed for each row",
    "a half-life, dates: no more time than weights":
        "the same, and a date has more parts than a rating",
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
    "ease-sparse, gowalla: recall@20 .1870, ndcg@20 .1550":
        "these are the settings that a search over all of them chooses on validation data; a "
        "grid of lambda and dropout alone, on the same data, chooses some with .1890 and .1571 "
        "(below). The standard errors are .0013 and .0011",
    "ease-sparse, npm: within a standard error of the dense model":
        "popular packages need thousands of neighbours (design/sparse.md)",
    "ease-sparse: exponents of time and memory at most 1.1":
        "the work grows linearly: from 0.236 to 1.88 G pairs of items in histories, an exponent of "
        "1.00, and systems of the same size. Counts and histories are looked up at random places, "
        "which fit less and less into the caches: a likely cause, which was not measured by itself",
    "update by 100 users in memory: 1/50 of the solve":
        "100 users who come take 1/76 and 100 who leave 1/61; 100 who change are 200 rows",
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


def kept(name, where=None):
    path = os.path.join(where or KEPT, name + ".json")
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
    words = m["gpu"] + ", " if "gpu" in m else ""
    words += (f"{m['cpu']}, {m['cores']} cores, {size(m['memory_bytes'])} of memory, Linux "
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


def fed(d, name, key="cpu_seconds"):
    return min(r[key] for r in d["runs"][name])


def feeding_page(d):
    yield (f"`ease info` reads the same {d['rows']:,} rows (user, item, rating, time) as CSV and as "
           "JSON lines, with the ratings as weights, and weighted by age. The least of five "
           "runs by turns, with the files in the page cache; time is the processors' time of the "
           "whole program, memory its largest resident size.\n")
    csv = fed(d, "CSV")
    yield from table(["data", "bytes", "processor time", "times CSV", "memory"],
                     [[name, size(d["bytes"][name]), sec(fed(d, name)),
                       f"{fed(d, name) / csv:.2f}", size(fed(d, name, "peak_bytes"))] for name in d["runs"]])


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


KINDS = ("come", "leave", "change")  # of updates


def update_seconds(d):
    """Of the solve and training, by medians, and of all runs of each kind of update."""
    parts, wall = d["memory"]["parts"], lambda runs: [r["wall_seconds"] for r in runs]
    return ((median(parts["solve"]["seconds"]), {k: parts["update-" + k]["seconds"] for k in KINDS}),
            (median(wall(d["train"])), {k: wall(d[k]) for k in KINDS if k in d}))


def updates_page(d):
    parts = d["memory"]["parts"]
    (solve, memory), (train, files) = update_seconds(d)
    yield (f"100 users come or leave, or 100 users change, which are 200 rows: {d['memory']['items']:,} "
           f"items, in the ML-20M shape. In memory: `ease bench`, against the solve. From file to "
           f"file: the whole program, which reads the model ({size(d['bytes'])}) and the change, "
           "updates, checks, writes and syncs, against `ease train --updatable`. Times are medians "
           f"of {len(memory['come'])} runs in memory and {len(files['come'])} from file to file, by "
           "turns, with the slowest run beside them; memory in memory is what is allocated beside "
           "the model, and from file to file the peak resident size, in which the file of the model "
           "counts. The product of an update takes n^2 k flops, and it reads the inverse three "
           "times.\n")

    def row(where, kind, whole, runs, peak):
        return [f"update {where}: users who {kind}", sec(median(runs)), sec(max(runs)),
                f"1/{whole / median(runs):.0f}", size(peak)]

    rows = [["solve", sec(solve), sec(max(parts["solve"]["seconds"])), "1",
             size(parts["solve"]["bytes"])]]
    rows += [row("in memory", k, solve, runs, parts["update-" + k]["bytes"])
             for k, runs in memory.items()]
    rows.append(["train, file to file", sec(train), sec(max(r["wall_seconds"] for r in d["train"])),
                 "1", size(max(r["peak_bytes"] for r in d["train"]))])
    rows += [row("from file to file", k, train, runs, max(r["peak_bytes"] for r in d[k]))
             for k, runs in files.items()]
    yield from table(["", "median", "slowest", "of the solve or training", "memory"], rows)
    r = parts["leave"]
    yield (f"Leaving out one user after the other, {r['evaluated']:,.0f} users, takes "
           f"{sec(min(r['seconds']))}: {1 / r['of_limit']:.2f} times as long as lists of 100 for all "
           "users from the same model.\n")
    same = "the same bytes" if len(set(d["digests"].values())) == 1 else "DIFFERENT bytes"
    yield f"Updated by {', '.join(d['digests'])} threads, the model files have {same}.\n"


def exactness_page(d):
    yield ("Models of ml-1m are updated in float32, and then compared with models that are trained "
           "on what is left, in float64. Batches: some ten users come, leave or get another half "
           "of their items, so that items appear and disappear. One by one: users are removed, "
           "and each result is compared. The difference of weights is the largest one, relative "
           "to the largest weight; residual and deviation (of removed rows) are the largest of "
           "all updates; places are those of 100 lists of 20 items at which the items differ "
           "although their scores do not tie within 1e-5.\n")
    yield from table(
        ["model", "changes", "weights", "residual", "deviation", "places"],
        [[" ".join(w for w in (r["method"], r["settings"].replace(",", " "), r["kind"],
                               "weighted" if r["rating"] == "weights" else "") if w),
          f"{r['count']:,} " + ("batches" if r["how"] == "batches" else "users, one by one"),
          f"{r['weights']:.1e}", f"{r['residual']:.1e}", f"{r['deviation']:.1e}", r["places"]]
         for r in d["runs"]])


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


def row_of(d, model, neighbours=None):
    """The row of a model, with this number of neighbours; None: there is none."""
    return next((r for r in d["rows"] if r["model"] == model and
                 (neighbours is None or r.get("neighbours") == neighbours)), None)


SPENT_HEAD = ["time", "processor time", "memory"]


def spent_cells(row):
    return [sec(row["seconds"]), sec(row["cpu_seconds"]), size(row["peak_bytes"])]


def load(d):
    """Words about other programs, which make the time longer, but not that of processors."""
    return (f"The average load of the machine was {d['load']:.1f}: other programs were running.\n"
            if d["load"] > d["machine"]["cores"] + 0.5 else "")


def sparse_page(d):
    yield ("The split of LightGCN; lambda and settings were chosen on a part of the train file. Time "
           "and memory are those of the process, from CSV to model. The dashed line of the figure is "
           "`ease-family` with its own settings, from [results.md](results.md).\n")
    yield from table(
        ["model", "neighbours", "recall@20", "ndcg@20", *SPENT_HEAD, "model file"],
        [[r["model"], r["neighbours"] or "all", f"{r['plain-recall@20']:.4f}", f"{r['ndcg@20']:.4f}",
          *spent_cells(r), size(r["model_bytes"])] for r in d["rows"]])
    yield load(d)
    if "figure" in d:
        yield f"![Accuracy, time and memory by the number of neighbours](figures/{d['figure']})\n"


def sparse_npm_page(d):
    yield ("npm, strong generalization with 10,000 test users. The settings are those of "
           "`ease-family` in [results.md](results.md#npm), whose figures are in the last row.\n")
    cell = lambda m: f"{m['mean']:.4f} ± {m['stderr']:.4f}"
    keys = ("recall@20", "ndcg@100")
    yield from table(
        ["neighbours", *keys, *SPENT_HEAD],
        [[r["neighbours"], *(cell(r["metrics"][k]) for k in keys), *spent_cells(r)]
         for r in d["rows"]] +
        [["all", *(cell(d["dense"][k]) for k in keys), "", "", ""]])
    yield load(d)


def sparse_sizes_page(d):
    yield ("Synthetic data, long-tailed in users and items, K = 100, from CSV to model; memory is the "
           "peak of the process.\n")
    yield from table(
        ["users", "items", "interactions", *SPENT_HEAD, "model file"],
        [[f"{r['users']:,}", f"{r['items']:,}", f"{r['interactions']:,}", *spent_cells(r),
          size(r["model_bytes"])] for r in d["rows"]])
    yield load(d)
    if "exponents" in d:
        e = d["exponents"]
        yield (f"Exponents by least squares on logarithms: time {e['seconds']:.2f}, processor time "
               f"{e['cpu_seconds']:.2f}, memory {e['peak_bytes']:.2f}.\n")
    if "uses" in d:
        u = d["uses"]
        yield (f"With the largest model, `ease recommend` takes {sec(u['one_user_seconds'])} for one "
               f"history, nearly all of it to open the file, and {sec(u['many_users_seconds'])} for "
               f"lists of 20 for {u['many_users']:,} users.\n")


def sparse_imdb_page(d):
    yield ("imdb: movies of 5 actors or more as users, actors as items; a tenth of each cast, rounded "
           "up, is held out. Targets that occur in no cast of the train part count as misses, or "
           "are dropped.\n")
    yield from table(
        ["model", "recall@20", "ndcg@20", "recall@20, dropped", "ndcg@20, dropped",
         *SPENT_HEAD],
        [[r["model"], *(f"{r[u][k]:.4f}" for u in ("miss", "drop")
                        for k in ("plain-recall@20", "ndcg@20")), *spent_cells(r)]
         for r in d["rows"]])
    yield load(d)


def sparse_peers_page(d):
    yield ("The other models were trained by [bench/sparse_peers.py](../bench/sparse_peers.py), which "
           "says how each is tuned and measured. Times are from the data in memory to the model; the "
           "memory of ease includes reading the file, that of SANSA and ELSA their libraries. `mrf` is the sparse Markov random field of Steck (2019), "
           "`ease-sparse` with `lambda-power=0.75` alone.\n")
    figure = lambda r, k: f"{r[k]:.4f}" if k in r else ""
    yield from table(
        ["model", "settings", "recall@20", "ndcg@20", "model", *SPENT_HEAD],
        [[r["model"], "failed: " + r["failed"].replace("|", "/"), "", "", "", "", "", ""]
         if "failed" in r else
         [r["model"], r["settings"].replace(",", ", "), figure(r, "plain-recall@20"),
          figure(r, "ndcg@20"), size(r["model_bytes"]), *spent_cells(r)]
         for r in d["rows"]])
    yield load(d)
    if "figure" in d:
        yield f"![Accuracy against bytes of the model](figures/{d['figure']})\n"


def cuda_runs(d, n):
    return {**d["solve"], **d["large"]}[n]["runs"]


def cuda_others(d):
    """Float64, and with little device memory: where they were measured."""
    made = [("float64", d["wide"]["41140"])] if "wide" in d else []
    made += [(f"{name}, 3 GB of device memory", d["outofcore"][part])
             for name, part in (("float32", "f32"), ("float64", "f64")) if "outofcore" in d]
    if not made:
        return
    yield "41,140 items in other ways; the residual is computed by the processors:\n"
    yield from table(["way", "call", "device memory", "host memory beside the matrix", "residual"],
                     [[name, sec(median([r["seconds"] for r in m["runs"]])),
                       size(m["runs"][0]["device_bytes"]),
                       size(max(r["host_bytes"] for r in m["runs"])),
                       f"{max(r['host_residual'] for r in m['runs']):.1e}"] for name, m in made])


def cuda_page(d):
    yield ("The backend cuda on one NVIDIA H200. The sweep goes from the matrix on the device to "
           "the inverse on the device; a call goes from tiles in host memory to tiles in host "
           "memory, with the copies, the scaling and the check on the device. Medians, without "
           "the first call of a process: that one also starts the context and loads cuBLAS "
           f"({d['solve']['41140']['first']['seconds'] - median([r['seconds'] for r in cuda_runs(d, '41140')]):.1f} s "
           "more). The residual is that of the made matrix, in which all entries are positive: "
           "rounding errors add up there.\n")
    rows = []
    for n in ("20108", "41140", "91599", "200000"):
        runs = cuda_runs(d, n)
        sweep, call = (median([r[k] for r in runs]) for k in ("sweep", "seconds"))
        rows.append([f"{int(n):,}", sec(sweep), f"{int(n) ** 3 / sweep / 1e12:.0f} TFLOP/s",
                     sec(call), size(runs[0]["device_bytes"]),
                     f"{runs[0]['device_bytes'] / runs[0]['triangle_bytes']:.2f}",
                     f"{runs[0]['residual']:.1e}"])
    yield from table(["items", "sweep", "rate", "call", "device memory", "of the triangle",
                      "residual"], rows)
    yield from cuda_others(d)
    sweep = median([r["sweep"] for r in cuda_runs(d, "41140")])
    rows = [[name, sec(median(d["peers"][key])), f"{median(d['peers'][key]) / sweep:.1f}"]
            for name, key in (("torch.linalg.cholesky, torch.cholesky_inverse", "torch"),
                              ("cuSOLVER, potrf and potri in float32", "cusolver"))]
    yield "The same on the device by other libraries, 41,140 items:\n"
    yield from table(["library", "seconds", "times ease"], rows)
    yield "Models of real data by both backends:\n"
    rows = []
    for name, r in d["results"].items():
        for backend in ("cpu", "cuda"):
            b = r[backend]
            rows.append([f"{name}, {backend}", sec(b["phases"]["solving"]),
                         f"{b['residual']:.1e}", f"{b['plain-recall@20']:.6f}",
                         f"{b['ndcg@20']:.6f}",
                         "" if backend == "cpu" else f"{r['weights_differ_by']:.1e}",
                         "" if backend == "cpu" else
                         f"{r['lists_that_differ']} of {r['users']:,}"])
    yield from table(["data", "solving", "residual", "plain-recall@20", "ndcg@20",
                      "largest difference of weights", "lists of 20 that differ"], rows)
    yield ("Differences of weights are relative to the largest weight; lists differ if items "
           "change places whose scores do not tie within 1e-5. Trained again, the models have the "
           "same bytes.\n")
    phases = ", ".join(f"{k} {sec(v)}" for k, v in d["whole"]["phases"].items())
    yield (f"From CSV to model in the shape of the Million Song Dataset, 571,355 users, 41,140 "
           f"items and 34,000,000 interactions: {sec(d['whole']['seconds'])} ({phases}).\n")


SERVE_NAMES = {"fastapi": "FastAPI, two uvicorn workers, NumPy; kept alive"}


def serve_page(d):
    yield (f"`ease serve` and FastAPI answer the same requests: {d['items']:,} items in float16 (in "
           f"float32 for NumPy), histories of 20, lists of 20, {d['connections']} connections of wrk, "
           f"which runs on the same processors. Each way of asking was measured {len(d['runs']['fastapi'])} "
           f"times, {d['seconds']} s each, by turns; the table has medians, and the best rate. Processor "
           "time is that of the server for one request, with the system calls. The last column is what "
           "programs other than wrk and the server took of the processors: they change the rates "
           "from run to run, and the processor time little.\n")
    rows = []
    for way, runs in d["runs"].items():
        of = {k: median([r[k] for r in runs]) for k in runs[0] if k != "failed"}
        rows.append([SERVE_NAMES.get(way, "ease serve, " + way), f"{of['rate']:,.0f}",
                     f"{max(r['rate'] for r in runs):,.0f}", f"{of['p50_ms']:.2f} ms",
                     f"{of['p99_ms']:.2f} ms", f"{of['cpu_us']:.0f} us",
                     f"{100 * of['others_share']:.0f} %"])
    yield from table(["server", "requests/s", "best", "p50", "p99", "processor time",
                      "other programs"], rows)
    yield f"The server had {size(d['memory_bytes'])} of memory, most of it the model.\n"


SECTIONS = [
    ("reading", "Reading", reading_page),
    ("feeding", "Reading other data", feeding_page),
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
    ("updates", "Updating", updates_page),
    ("exactness", "Exactness of updates", exactness_page),
    ("large", "91,599 items", large_page),
    ("sparse-gowalla", "ease-sparse: neighbours, on gowalla", sparse_page),
    ("sparse-yelp2018", "ease-sparse: neighbours, on yelp2018", sparse_page),
    ("sparse-npm", "ease-sparse: npm", sparse_npm_page),
    ("sparse-amazon-book", "ease-sparse: 91,599 items", sparse_sizes_page),
    ("sparse-growth", "ease-sparse: up to a million items", sparse_sizes_page),
    ("sparse-imdb", "ease-sparse: imdb", sparse_imdb_page),
    ("sparse-peers-gowalla", "ease-sparse and others: gowalla", sparse_peers_page),
    ("sparse-peers-yelp2018", "ease-sparse and others: yelp2018", sparse_peers_page),
    ("sparse-peers-amazon-book", "ease-sparse and others: 91,599 items", sparse_peers_page),
    ("serve", "Serving", serve_page),
    ("sixteen", "Sixteen cores", sixteen_page),
    ("cuda", "A GPU", cuda_page),
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


def update_target(place, wanted):
    """In memory or from file to file: the slowest kind of update by its median."""
    def check(d):
        whole, runs = update_seconds(d)[place]
        slowest = max(runs.values(), key=median)
        ratio, worst = whole / median(slowest), whole / max(map(max, runs.values()))
        return f"1/{ratio:.0f} by medians, 1/{worst:.0f} in the slowest run", ratio >= wanted
    return check


def leave_target(d):
    ratio = 1 / d["memory"]["parts"]["leave"]["of_limit"]
    return f"{ratio:.2f} x", ratio <= 2


def exactness_target(d):
    worst = max(r["weights"] for r in d["runs"])
    places = sum(r["places"] for r in d["runs"])
    return (f"{worst:.1e}, {places} places", worst < 1e-5 and places == 0 and
            max(r["residual"] for r in d["runs"]) < 1e-4)


def sparse_accuracy(recall, ndcg):
    def check(d):
        r = max((r for r in d["rows"] if r["neighbours"] and r["neighbours"] <= 300),
                key=lambda r: r["neighbours"])
        return (f"{r['plain-recall@20']:.4f} / {r['ndcg@20']:.4f}",
                round(r["plain-recall@20"], 4) >= recall and round(r["ndcg@20"], 4) >= ndcg)
    return check


def sparse_share(d):
    """Of the time and memory of the dense model."""
    sparse, dense = row_of(d, "ease-sparse", 300), row_of(d, "ease-family")
    if not dense:
        return "the dense model was not measured", None
    time, memory = (dense[k] / sparse[k] for k in ("cpu_seconds", "peak_bytes"))
    return f"1/{time:.0f} of the processor time, 1/{memory:.1f} of the memory", time >= 4 and memory >= 6


def sparse_npm(d):
    """The least number of neighbours that is within a standard error, or the last one."""
    dense = d["dense"]["ndcg@100"]
    behind = [((dense["mean"] - r["metrics"]["ndcg@100"]["mean"]) / dense["stderr"], r["neighbours"])
              for r in d["rows"]]
    errors, neighbours = next((b for b in behind if b[0] <= 1), behind[-1])
    return f"{-errors:+.2f} standard errors with {neighbours:,} neighbours", errors <= 1


def sparse_limits(items, seconds, memory):
    def check(d):
        r = d["rows"][-1]
        if r["items"] != items:
            return "not measured yet", None
        return (f"{sec(r['seconds'])}, {size(r['peak_bytes'])}",
                r["seconds"] < seconds and r["peak_bytes"] < memory)
    return check


def sparse_rate(d):
    if "uses" not in d:
        return "not measured yet", None
    rate = d["uses"]["many_users"] / d["uses"]["many_users_seconds"]
    return f"{rate:,.0f}", rate >= 1000


def sparse_growth(d):
    if "exponents" not in d:
        return "not measured yet", None
    e = d["exponents"]
    return (f"{e['seconds']:.2f} (processor time {e['cpu_seconds']:.2f}), {e['peak_bytes']:.2f}",
            max(e.values()) <= 1.1)


def sparse_imdb(d):
    ours = row_of(d, "ease-sparse")
    if len(d["rows"]) < 3:
        return "not measured yet", None
    least = min(ours[u][k] / r[u][k] for r in d["rows"] if r is not ours
                for u in ("miss", "drop") for k in r[u])
    return f"at least {least:.2f} times theirs", least > 1


def cuda_sweep(n, most):
    def check(d):
        seconds = median([r["sweep"] for r in cuda_runs(d, n)])
        return sec(seconds), seconds <= most
    return check


def cuda_call(d):
    seconds = median([r["seconds"] for r in cuda_runs(d, "41140")])
    return sec(seconds), seconds <= 1


def cuda_memory(d):
    run = cuda_runs(d, "41140")[0]
    ratio = run["device_bytes"] / run["triangle_bytes"]
    return f"{ratio:.2f}", ratio <= 1.5


def cuda_peers(d):
    sweep = median([r["sweep"] for r in cuda_runs(d, "41140")])
    torch, cusolver = (median(d["peers"][k]) / sweep for k in ("torch", "cusolver"))
    return f"{torch:.1f} x, {cusolver:.1f} x", torch >= 7 and cusolver >= 4


def cuda_whole(d):
    return sec(d["whole"]["seconds"]), d["whole"]["seconds"] <= 10


def cuda_results(d):
    weights = max(r["weights_differ_by"] for r in d["results"].values())
    same = min(1 - r["lists_that_differ"] / r["users"] for r in d["results"].values())
    return f"{weights:.1e}, {100 * same:.2f} %", weights <= 1e-4 and same >= 0.999


def served(d, way, figure):
    return median([r[figure] for r in d["runs"][way]])


def serve_rate(way):
    def check(d):
        rate, late = (served(d, way, f) for f in ("rate", "p99_ms"))
        return f"{rate:,.0f}, {late:.1f} ms", rate >= 5000 and late < 10
    return check


def serve_peer(d):
    rate, less = (served(d, "kept alive", f) / served(d, "fastapi", f) for f in ("rate", "cpu_us"))
    return f"{rate:.1f} x, with 1/{1 / less:.1f} of the processor time", rate >= 4


def fed_ratio(name, to, most):
    def check(d):
        ratio = fed(d, name) / fed(d, to)
        return f"{ratio:.2f} x the time", ratio <= most
    return check


TARGETS = [
    ("reading", "reading 20 M lines: 10 x pandas", read_target("numbers", "pandas", 10)),
    ("reading", "reading 20 M lines: as fast as polars", read_target("numbers", "polars", 1)),
    ("reading", "the same, string ids: 10 x pandas", read_target("strings", "pandas", 10)),
    ("reading", "the same, string ids: as fast as polars", read_target("strings", "polars", 1)),
    ("feeding", "JSON lines: at most twice the time of CSV", fed_ratio("JSON lines", "CSV", 2.0)),
    ("feeding", "a half-life, seconds since 1970: no more time than weights",
     fed_ratio("CSV, half-life, seconds since 1970", "CSV, weights", 1.0)),
    ("feeding", "a half-life, dates: no more time than weights",
     fed_ratio("CSV with dates, half-life", "CSV with dates, weights", 1.0)),
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
    ("updates", "update by 100 users in memory: 1/50 of the solve", update_target(0, 50)),
    ("updates", "update by 100 users, file to file: 1/20 of training", update_target(1, 20)),
    ("updates", "leaving out all users: at most twice as long as recommending", leave_target),
    ("exactness", "weights after updates on ml-1m: within 1e-5, the same lists", exactness_target),
    ("serve", "serve, 20,108 items: 5,000 requests/s, p99 below 10 ms", serve_rate("kept alive")),
    ("serve", "serve, a connection for each request: the same",
     serve_rate("a connection for each request")),
    ("serve", "serve beside 1,000 idle connections: the same",
     serve_rate("beside 1,000 idle connections")),
    ("serve", "serve: 4 x FastAPI with two uvicorn workers on NumPy", serve_peer),
    ("cuda", "H200, sweep of 20,108 items: at most .09 s", cuda_sweep("20108", 0.09)),
    ("cuda", "H200, sweep of 41,140 items: at most .5 s", cuda_sweep("41140", 0.5)),
    ("cuda", "H200, sweep of 91,599 items: at most 4.5 s", cuda_sweep("91599", 4.5)),
    ("cuda", "H200, 41,140 items from tiles to tiles: at most 1 s", cuda_call),
    ("cuda", "H200, device memory: at most 1.5 triangles", cuda_memory),
    ("cuda", "H200: 7 x torch.cholesky_inverse, 4 x cuSOLVER", cuda_peers),
    ("cuda", "H200, CSV to model in MSD's shape: at most 10 s", cuda_whole),
    ("cuda", "H200, weights within 1e-4 of the processors', 99.9 % of lists the same", cuda_results),
    ("growth", "solve: exponent at most 3.0", growth_target("solve", 3.0)),
    ("growth", "reading: exponent at most 1.1", growth_target("read", 1.1)),
    ("sparse-gowalla", "ease-sparse, gowalla: recall@20 .1870, ndcg@20 .1550",
     sparse_accuracy(0.1870, 0.1550)),
    ("sparse-gowalla", "ease-sparse, gowalla: 1/4 of the dense model's time, 1/6 of its memory",
     sparse_share),
    ("sparse-yelp2018", "ease-sparse, yelp2018: recall@20 .0692, ndcg@20 .0580",
     sparse_accuracy(0.0692, 0.0580)),
    ("sparse-npm", "ease-sparse, npm: within a standard error of the dense model", sparse_npm),
    ("sparse-amazon-book", "ease-sparse, 91,599 items: 60 s, 2 GB", sparse_limits(91_599, 60, 2e9)),
    ("sparse-growth", "ease-sparse, a million items: 10 min, 8 GB", sparse_limits(10**6, 600, 8e9)),
    ("sparse-growth", "ease-sparse, a million items: 1,000 users a second", sparse_rate),
    ("sparse-growth", "ease-sparse: exponents of time and memory at most 1.1", sparse_growth),
    ("sparse-imdb", "ease-sparse, imdb: ahead of item-item and popularity", sparse_imdb),
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
