#!/usr/bin/env python3
"""ease-sparse: accuracy against the number of neighbours, and cost against the size of data.

    bench/sparse.py [--ease PROGRAM] [--data DIR] [--out DIR] [--threads N] [--small] [PART ...]

Each part keeps each row in docs/performance/sparse-PART.json as soon as it is measured, and
the page docs/performance.md is written again. --small tries everything out in some minutes, on
parts of the data: results go to build/sparse-small, and the page is only made, not written.
The parts, with their time on two cores:

    gowalla, yelp2018   2 minutes each: the split of LightGCN with the settings in SETTINGS,
                        which were chosen on a fifth of the train file (bench/family.py). Draws
                        docs/figures/PART-neighbours.svg
    gowalla-dense, yelp2018-dense
                        10 to 20 minutes each: the dense model, as another row of these parts
    npm                 4 minutes: strong generalization with the settings of ease-family
    amazon-book         a minute: synthetic, in the shape of amazon-book
    growth              10 minutes: 125,000 to 1,000,000 items at equal density, and exponents;
                        of the last model also the time of opening it and of recommending
    imdb                5 minutes: casts of 5 or more, a tenth of each held out

Times and memory are those of the whole process, from CSV to model.
"""
import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
import types

import bench
import family
import performance

# lambda and settings, chosen on validation data: for ease-family by bench/family.py. For
# ease-sparse on gowalla by `ease tune` with 300 neighbours; on yelp2018 they are the same.
DENSE_SETTINGS = {
    "gowalla": (147, "dropout=0.66,user-power=0.39,relaxation=0.14,input-power=-0.11,"
                     "output-power=-0.05"),
    "yelp2018": (842, "lambda-power=-0.25,dropout=0.76,user-power=0.4,relaxation=0.05,"
                      "input-power=-0.28,output-power=-0.25"),
}
SETTINGS = {
    **DENSE_SETTINGS,
    "gowalla": (125, "nearness=regularized,lambda-power=0.06,dropout=0.41,user-power=0.33,"
                     "relaxation=0.12,input-power=-0.17,output-power=-0.02"),
}
NEIGHBOURS = (10, 25, 50, 100, 200, 300)
GROWTH = (125_000, 250_000, 500_000, 1_000_000)
METRICS = "plain-recall@20,ndcg@20"
USERS = 100_000  # for whom the largest model recommends


def measured(o, *arguments):
    """Runs the program; seconds, those of processors, peak bytes, and what it prints."""
    command = ["/usr/bin/time", "-f", "%e %M %U %S", o.ease, *map(str, arguments)]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    seconds, kib, user, system = map(float, done.stderr.strip().splitlines()[-1].split())
    words = ["ease", *(os.path.relpath(a, o.work) if str(a).startswith(o.work) else a
                       for a in arguments)]
    o.commands.append(" ".join(map(str, words)))
    return {"seconds": seconds, "cpu_seconds": user + system,
            "peak_bytes": int(kib) * 1024}, done.stdout


def train(o, data, model, *options):
    did, _ = measured(o, "train", data, "-o", model, "--threads", o.threads, "--quiet", *options)
    return {**did, "model_bytes": os.path.getsize(model)}


def accuracy(o, model, split):
    _, out = measured(o, "eval", model, "--split", split, "--metrics", METRICS, "--items", "all",
                      "--json", "--quiet")
    return {k: v["mean"] for k, v in json.loads(out)["metrics"].items()}


def npm(o, name, work):
    """Beside the model with the inverse, which bench/family.py measured with these settings."""
    split, model = os.path.join(work, name), os.path.join(work, "model.ease")
    family.strong_split(o, name, split)
    with open(os.path.join(family.ROOT, "docs", "results", name + "-family.json"),
              encoding="ascii") as file:
        dense = next(m for m in json.load(file)["models"] if m["model"] == "ease-family")
    lam, settings = dense["settings"].removeprefix("lambda=").split(",", maxsplit=1)
    found = {"rows": [], "dense": {k: dense["metrics"][k] for k in ("recall@20", "ndcg@100")}}
    for k in (100, 300, 1000, 3000, 6000):
        row = train(o, os.path.join(split, "train.csv"), model, "--model", "ease-sparse", "--lambda",
                    lam, "--set", f"neighbours={k},{settings}")
        _, out = measured(o, "eval", model, "--split", split, "--metrics", "recall@20,ndcg@100",
                          "--json", "--quiet")
        found["rows"].append({"neighbours": k, **row, "metrics": json.loads(out)["metrics"]})
        yield found


def dense_metrics(name):
    """Those of ease-family on the same test file, measured by bench/family.py."""
    with open(os.path.join(family.ROOT, "docs", "results", name + "-family.json"),
              encoding="ascii") as file:
        model = next(m for m in json.load(file)["models"] if m["model"] == "ease-family")
    return {k: v["mean"] for k, v in model["metrics"].items()}


def curve_row(o, work, method, neighbours, lam, settings):
    model = os.path.join(work, "model.ease")
    row = train(o, os.path.join(work, "train.csv"), model, "--model", method, "--lambda", lam,
                "--set", settings)
    return {"model": method, "neighbours": neighbours, **row, **accuracy(o, model, work),
            "load": os.getloadavg()[2]}


def curve(o, name, work):
    """A row for each number of neighbours; the row of the dense model is kept."""
    family.lightgcn_split(os.path.join(o.data, name), work)
    lam, settings = SETTINGS[name]
    kept = performance.kept("sparse-" + name, o.out) or {"rows": []}
    found = {"rows": [], "figure": name + "-neighbours.svg"}
    dense = [r for r in kept["rows"] if r["model"] == "ease-family"]
    for k in NEIGHBOURS:
        found["rows"].append(curve_row(o, work, "ease-sparse", k, lam, f"neighbours={k},{settings}"))
        yield {**found, "rows": found["rows"] + dense}
    draw(name, found["rows"], dense_metrics(name), os.path.join(o.figures, found["figure"]))


def dense_row(o, name, work):
    """Adds the dense model to the rows of a curve."""
    name = name.removesuffix("-dense")
    family.lightgcn_split(os.path.join(o.data, name), work)
    kept = performance.kept("sparse-" + name, o.out)
    if not kept:
        sys.exit(f"measure {name} first")
    row = curve_row(o, work, "ease-family", None, *DENSE_SETTINGS[name])
    o.commands = kept["commands"] + o.commands
    yield {**kept, "rows": [r for r in kept["rows"] if r["model"] != "ease-family"] + [row]}


def synthetic(o, work, users, items, interactions):
    data, model = os.path.join(work, "data.csv"), os.path.join(work, "model.ease")
    measured(o, "synth", "-o", data, "--users", users, "--items", items, "--interactions",
             interactions, "--quiet")
    row = train(o, data, model, "--model", "ease-sparse", "--lambda", 100)
    return {"users": users, "items": items, "interactions": interactions, **row}


def exponent(rows, key):
    """The slope of log key against log items, by least squares."""
    x = [math.log(r["items"]) for r in rows]
    y = [math.log(r[key]) for r in rows]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mx) * (b - my) for a, b in zip(x, y)) / sum((a - mx) ** 2 for a in x)


def uses(o, work):
    """The time of opening the model, and of lists of 20 for some users of its data."""
    model, some = os.path.join(work, "model.ease"), os.path.join(work, "users.csv")
    with open(os.path.join(work, "data.csv"), encoding="ascii") as file, \
            open(some, "w", encoding="ascii") as to:
        to.write(file.readline())
        users, item = set(), ""
        for line in file:
            user, item, *_ = line.split(",")
            users.add(user)
            if len(users) > USERS:
                break
            to.write(line)
    one, _ = measured(o, "recommend", model, "--history", item.strip(), "--csv", "--quiet")
    many, _ = measured(o, "recommend", model, "--users", some, "-k", 20, "--csv", "--quiet")
    return {"one_user_seconds": one["seconds"], "many_users_seconds": many["seconds"],
            "many_users": min(len(users), USERS), "peak_bytes": many["peak_bytes"]}


def growth(o, _name, work):
    found = {"rows": []}
    for n in (n // o.divide for n in GROWTH):
        found["rows"].append(synthetic(o, work, 2 * n, n, 50 * n))
        yield found
    found["exponents"] = {k: exponent(found["rows"], k)
                          for k in ("seconds", "cpu_seconds", "peak_bytes")}
    yield {**found, "uses": uses(o, work)}


def amazon(o, _name, work):
    yield {"rows": [synthetic(o, work, *(n // o.divide for n in (52_643, 91_599, 2_400_000)))]}


def imdb(o, _name, work):
    """Movies are the users, actors the items: casts of 5 or more; of each a tenth, rounded up, is
    held out."""
    draw_from, parts = random.Random(family.SEED), {"train": [], "test": []}
    text = subprocess.run(["zstd", "-dc", os.path.join(o.data, "imdb", "cast.txt.zst")], text=True,
                          stdout=subprocess.PIPE, check=True).stdout
    for line in text.splitlines():
        movie, *cast = line.split()
        if len(cast) < 5:
            continue
        draw_from.shuffle(cast)
        held = -(-len(cast) // 10)
        parts["test"] += [(movie, a) for a in cast[:held]]
        parts["train"] += [(movie, a) for a in cast[held:]]
    for part, pairs in parts.items():
        with open(os.path.join(work, part + ".csv"), "w", encoding="ascii") as file:
            file.write("user,item\n")  # "movie" would be recognized as the items
            file.writelines(f"{m},{a}\n" for m, a in pairs)
    files, model, rows = [os.path.join(work, p + ".csv") for p in parts], \
        os.path.join(work, "model.ease"), []
    for name, options in (("ease-sparse", ["--lambda", 5]), ("item-item", []), ("popularity", [])):
        row = {"model": name, **train(o, files[0], model, "--model", name, *options)}
        for unknown in ("miss", "drop"):
            _, out = measured(o, "eval", model, "--input", files[0], "--target", files[1],
                              "--metrics", METRICS, "--unknown", unknown, "--json", "--quiet")
            row[unknown] = {k: v["mean"] for k, v in json.loads(out)["metrics"].items()}
        rows.append(row)
        yield {"rows": rows}


# ---- the figure ---------------------------------------------------------------------


def panel(left, title, unit, points, level):
    """One curve over the number of neighbours, on a logarithmic axis; a level of the dense
    model is a dashed line."""
    width, height, top = 200, 150, 40
    values = [v for _, v in points] + ([level] if level is not None else [])
    low, high = min(values), max(values)
    span = (high - low) or 1
    place = lambda k, v: (left + width * math.log(k / NEIGHBOURS[0])
                          / math.log(NEIGHBOURS[-1] / NEIGHBOURS[0]),
                          top + height * (high - v) / span)
    yield f'<text x="{left}" y="24" font-weight="bold">{title}</text>'
    yield (f'<path d="M{left} {top}V{top + height}H{left + width}" fill="none" '
           'stroke="currentColor"/>')
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*p) for p in points))
    yield f'<polyline points="{path}" fill="none" stroke="#1b6ca8" stroke-width="2"/>'
    for k, v in points:
        x, y = place(k, v)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#1b6ca8"/>'
        yield f'<text x="{x:.1f}" y="{top + height + 14}" text-anchor="middle">{k}</text>'
    for v in (low, high):
        yield (f'<text x="{left - 4}" y="{place(NEIGHBOURS[0], v)[1] + 4:.1f}" '
               f'text-anchor="end">{v:.4g}{unit}</text>')
    if level is not None:
        y = place(NEIGHBOURS[0], level)[1]
        yield (f'<path d="M{left} {y:.1f}h{width}" stroke="#b0413e" stroke-dasharray="5 3"/>')


def draw(name, rows, dense, path):
    curve_rows = [r for r in rows if r["neighbours"]]
    parts = [("plain-recall@20", "recall@20", "", 1), ("ndcg@20", "ndcg@20", "", 1),
             ("cpu_seconds", "processor time", " s", 1), ("peak_bytes", "memory", " MB", 1e6)]
    lines = []
    for i, (key, title, unit, scale) in enumerate(parts):
        lines += panel(60 + i * 270, title, unit,
                       [(r["neighbours"], r[key] / scale) for r in curve_rows],
                       dense[key] if key in METRICS else None)
    words = f"{name}: accuracy, time and memory of ease-sparse by its number of neighbours"
    with open(path, "w", encoding="ascii") as file:
        file.write('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1100 240" '
                   f'font-family="sans-serif" font-size="11" role="img"><title>{words}</title>\n'
                   + "\n".join(lines)
                   + '\n<text x="60" y="228">neighbours (logarithmic); dashed: the dense model'
                   "</text>\n</svg>\n")


PARTS = {"gowalla": curve, "yelp2018": curve, "gowalla-dense": dense_row,
         "yelp2018-dense": dense_row, "npm": npm, "amazon-book": amazon, "growth": growth,
         "imdb": imdb}


# ---- trying out ---------------------------------------------------------------------

SMALL = {"gowalla/train.txt": 60, "gowalla/test.txt": 60, "yelp2018/train.txt": 60,
         "yelp2018/test.txt": 60, "npm/dependencies.tsv.gz": 8_000, "imdb/cast.txt.zst": 2_000}


def first_lines(source, lines, to):
    """The first lines of a file, compressed as it is."""
    program = {".gz": "gzip", ".zst": "zstd"}.get(os.path.splitext(source)[1], "")
    unpack, pack = (f"{program} -dc", f"{program} -c") if program else ("cat", "cat")
    subprocess.run(f"{unpack} '{source}' 2>/dev/null | head -n {lines} | {pack} > '{to}'",
                   shell=True, check=True)


def make_small(o):
    """Smaller data in o.data, and results that are not kept."""
    family.STRONG["npm"] = (*family.STRONG["npm"][:2], 50)
    small = os.path.join(family.ROOT, "build", "sparse-small")
    for path, lines in SMALL.items():
        to = os.path.join(small, path)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        first_lines(os.path.join(o.data, path), lines, to)
    o.data, o.out, o.figures, o.divide = small, small, small, 100


def write_page(o):
    """Small results are only tried: a page is made of them."""
    if o.small:
        performance.KEPT = o.out
        performance.page_text()
    else:
        performance.write()


def parser(doc):
    docs = os.path.join(family.ROOT, "docs")
    parse = argparse.ArgumentParser(description=doc.split("\n", maxsplit=1)[0])
    parse.add_argument("--ease", default=os.path.join(family.ROOT, "build", "ease"))
    parse.add_argument("--data", default=os.path.join(os.path.dirname(family.ROOT), "shared",
                                                      "data"))
    parse.add_argument("--out", default=os.path.join(docs, "performance"))
    parse.add_argument("--figures", default=os.path.join(docs, "figures"))
    parse.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parse.add_argument("--small", action="store_true", help="try everything out")
    return parse


def main():
    parse = parser(__doc__)
    parse.add_argument("parts", nargs="*", choices=[[], *PARTS])
    o = parse.parse_args()
    o.divide = 1
    if o.small:
        make_small(o)
    for name in o.parts or PARTS:
        o.commands, began = [], time.monotonic()
        with tempfile.TemporaryDirectory() as o.work:
            place = bench.machine(types.SimpleNamespace(ease=o.ease, work=o.work))
            for found in PARTS[name](o, name, o.work):
                print(name, found["rows"][-1], flush=True)
                performance.keep("sparse-" + name.removesuffix("-dense"), {
                    **found, "commands": o.commands, "machine": place,
                    "load": os.getloadavg()[2],
                    "minutes": (time.monotonic() - began) / 60}, o.out)
    write_page(o)


if __name__ == "__main__":
    main()
