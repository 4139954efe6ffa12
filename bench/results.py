#!/usr/bin/env python3
"""Makes docs/results.md: the paper's protocols on data that is at hand.

    bench/results.py [--ease PROGRAM] [--data DIR] [--models DIR] [--only PART,...]
                     [--methods NAME,...] [--write]

Each part runs the program's own verbs and keeps what they print in
docs/results/PART.json, with the commands; --write makes the page and its figures
from those files, without running anything that is there already.

The parts, with the time they take on two cores:
    ml-1m-auto, ...             lambda by leaving users out: 1, 4 and 15 min
    gowalla, yelp2018           15 min each in float32, 30 in float64 (gowalla-f64, ...)
    ml-1m, goodbooks, npm       1, 5 and 20 min: liang18, EASE tuned, and the figures
    ml-1m-systems, ...          the paper's other systems, each tuned; they run one after the
    volkovs15-systems           other (--methods: only these), and what is there is kept, so that
                                a run can be stopped and taken up, here or on another machine
"""
import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import family

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DOCS = os.path.join(ROOT, "docs")
KEPT = os.path.join(DOCS, "results")
FIGURES = os.path.join(DOCS, "figures")

LIGHTGCN = "plain-recall@20,plain-recall@50,ndcg@20,ndcg@50,hit@20"
PUBLISHED = {  # BARS: recall@20 and ndcg@20; the rest measured in float64 by a prototype
    "gowalla": (80, {"plain-recall@20": .176493, "plain-recall@50": .270126, "ndcg@20": .146657,
                     "ndcg@50": .175974, "hit@20": .572677}),
    "yelp2018": (300, {"plain-recall@20": .065707, "plain-recall@50": .122483, "ndcg@20": .055216,
                       "ndcg@50": .076210, "hit@20": .396615}),
}
STRONG = family.STRONG
METRICS = "recall@20,recall@50,ndcg@100"
MODELS = "ease,ease-nonneg,popularity"
SYSTEMS = ["ease", "ease-nonneg", "popularity", "item-item", "slim", "slim-free", "wmf", "ii-svd",
           "cdae", "mult-dae", "mult-vae", "lrec"]
KNOWN_USERS = ["lrec"]  # in weak generalization alone
SYSTEM_PARTS = [name + "-systems" for name in STRONG] + ["volkovs15-systems"]
# Where the program's own grid would take too long, or is not meant for such data.
OPTIONS = {
    ("ml-1m-systems", "cdae"): ["--grid", "cdae:decay=0.01|0.03"],
    ("volkovs15-systems", "slim-free"): ["--grid", "slim-free:l1=1|2,l2=300|1000"],
    ("volkovs15-systems", "cdae"): ["--set", "cdae:epochs=140", "--grid", "cdae:decay=0.01|0.03"],
    ("volkovs15-systems", "mult-dae"): [
        "--set", "mult-dae:epochs=140", "--grid", "mult-dae:decay=2e-5|2e-3"],
    ("volkovs15-systems", "mult-vae"): ["--set", "mult-vae:epochs=60"],
    ("goodbooks-systems", "ii-svd"): ["--set", "ii-svd:rank=500"],
    ("goodbooks-systems", "cdae"): [
        "--set", "cdae:epochs=40", "--grid", "cdae:decay=0.0003|0.001|0.003"],
    ("goodbooks-systems", "mult-dae"): ["--set", "mult-dae:epochs=60"],
    ("goodbooks-systems", "mult-vae"): [
        "--set", "mult-vae:epochs=30,anneal=2000", "--grid", "mult-vae:cap=0.2"],
    ("npm-systems", "item-item"): [
        "--grid", "item-item:similarity=cosine|jaccard|conditional,"
        "neighbours=20|50|100|200|500|1000,shrinkage=0|10"],
    ("npm-systems", "slim"): ["--grid", "slim:l1=0.01|0.1|1,l2=1|3|10|30"],
    ("npm-systems", "slim-free"): ["--grid", "slim-free:l1=1|3,l2=3"],
    ("npm-systems", "wmf"): ["--grid", "wmf:rank=128|256,alpha=10|30,lambda=1|3|10"],
    ("npm-systems", "ii-svd"): [
        "--set", "ii-svd:rank=500,similarity=conditional",
        "--grid", "ii-svd:neighbours=100|500,shrinkage=0|10"],
    ("npm-systems", "cdae"): ["--set", "cdae:epochs=12", "--grid", "cdae:decay=0.0003"],
    ("npm-systems", "mult-dae"): [
        "--set", "mult-dae:epochs=15", "--grid", "mult-dae:decay=2e-5"],
    ("npm-systems", "mult-vae"): [
        "--set", "mult-vae:epochs=10,anneal=5000", "--grid", "mult-vae:cap=0.2"],
}
# Remarks below a table: where its order differs from the paper's, and the likely reason.
REMARKS = {
    "ml-1m-systems":
        "In the paper's Table 1, on ML-20M, mult-vae (.426) is ahead of EASE (.420), followed "
        "by mult-dae, cdae, EASE >= 0, slim (.401) and wmf (.386). Here wmf is level with EASE: "
        "the paper took its figures from Liang et al., while here alpha and the regularization "
        "are tuned together at ranks up to 256, on a catalog a sixth as large. slim is nearer "
        "to EASE, and slim-free level with it: both keep all their weights, and without the "
        "constraint slim-free solves the problem of EASE with a small l1 penalty. mult-vae is "
        "last of the methods that learn: with nine updates in an epoch it had some 1,500 "
        "updates until its best epoch, instead of 46,800 in the paper. cdae and mult-dae are a "
        "little below EASE, as in the paper. Item-item and ii-svd are not in that table; both "
        "are far below. mult-dae was trained on a busy machine, in some three times the time "
        "that it needs alone.",
    "goodbooks-systems":
        "EASE >= 0, slim and slim-free are ahead of EASE, which is first in the paper. wmf and "
        "the networks are far behind, as on MSD in the paper (wmf .257, cdae .237, mult-vae "
        ".316, EASE .389). In this edition of the data every book has 100 ratings, so that "
        "popularity has no information, and a network can learn little from all users together. "
        "The following reasons for the rest are likely, but were not tested. Users have few "
        "books and the best lambda is small (56), so that constraints on the weights, by sign "
        "or by l1, still help. The best recommendation is often the next volume of a series, "
        "which the weight of one pair can represent, and a code of 200 numbers cannot.",
    "npm-systems":
        "The order is that of the paper's results on MSD, which also has many items and short histories: "
        "there EASE (.389) and EASE >= 0 (.379) are far ahead of mult-vae (.316), mult-dae "
        "(.313), wmf (.257) and cdae (.237). slim, which did not finish in the paper, is level "
        "with EASE >= 0. slim-free is below EASE because its grid was reduced for time: l1=0.3, "
        "tried once, gave .6010 on the validation users, and EASE .6039. Here cdae is ahead of "
        "wmf, and mult-vae, with ten epochs, behind mult-dae. The networks had few epochs, and "
        "their best epoch was the last or next to it, so that more epochs would improve them.",
    "volkovs15-systems":
        "The order differs from the paper's: mult-dae and wmf are first, mult-vae is slightly "
        "ahead of EASE, and item-item is far behind. On ML-10M, EASE was first (.6258), "
        "followed by ii-svd (.6113), wmf (.5969) and item-item (.5957). There are two likely "
        "reasons. Three tenths of one million ratings are few for each pair of the 3,700 items, "
        "which favours models with few parameters for each item. And in tuning only a fifth of "
        "the train rows are targets, while the seven tenths that are held out for testing count "
        "as misses; this favours other lists than the test does (ndcg@10 is some .07 in tuning "
        "and .6 in the test). Item-item, which learns no parameters, suffers most: no setting "
        "that was tried on the test itself, with up to 3,600 neighbours, exceeded .52. slim and "
        "EASE are equal.",
}


class Run:
    """Runs the program and remembers how."""

    def __init__(self, program, data, work, models):
        self.program, self.data, self.work, self.commands = program, data, work, []
        self.models = models or work

    def __call__(self, *args, unless=None):
        shown = shlex.join(map(str, args))
        for place in (self.data, self.work, self.models, FIGURES):
            shown = shown.replace(place + "/", "")
        self.commands.append("ease " + shown)
        if unless and os.path.exists(unless):
            return None
        print("$ ease " + shown, file=sys.stderr, flush=True)
        return subprocess.run([self.program, *map(str, args)], check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def json(self, *args):
        return json.loads(self(*args, "--json"))


def lightgcn(run, name, precision):
    """One of the LightGCN splits, at the published lambda."""
    lam, _ = PUBLISHED[name]
    train, test = (os.path.join(run.data, name, f) for f in ("train.txt", "test.txt"))
    model = os.path.join(run.models, f"{name}-{precision}.ease")
    run("train", train, "-o", model, "--lambda", lam, "--precision", precision, "--storage", "f32",
        unless=model)
    return {"model": run.json("info", model),
            "eval": run.json("eval", model, "--input", train, "--target", test, "--metrics",
                             LIGHTGCN)}


def figure(name):
    os.makedirs(FIGURES, exist_ok=True)
    return os.path.join(FIGURES, name + ".svg")


def make_strong(run, name):
    """The split of liang18."""
    path, options, heldout = STRONG[name]
    split = os.path.join(run.work, name)
    run("split", os.path.join(run.data, path), "-o", split, "--protocol", "liang18",
        "--heldout-users", heldout, *options)
    return split


def make_weak(run):
    """volkovs15 on ml-1m: every rating is a 1, three of ten train."""
    split = os.path.join(run.work, "volkovs15")
    run("split", os.path.join(run.data, "ml-1m/ratings.csv"), "-o", split, "--protocol",
        "volkovs15")
    return split


def strong(run, name):
    """EASE on liang18, tuned on the validation users, and the figures."""
    split, model = make_strong(run, name), os.path.join(run.work, name + ".ease")
    tuned = run.json("tune", split, "-o", model, "--storage", "f32", "--plot",
                     figure(name + "-lambda"))
    run("compare", split, "--models", MODELS, "--metrics", METRICS, "--plot",
        figure(name + "-longtail"))
    weights = run.json("plot", "weights", model, "-o", figure(name + "-weights"))
    with open(os.path.join(split, "split.json")) as f:
        made = json.load(f)
    shutil.rmtree(split)
    os.remove(model)
    return {"split": made, "tune": tuned, "weights": weights}


# ---- every system ----------------------------------------------------------------


def grids(program):
    """What the program tunes each model over, as it tells."""
    text = subprocess.run([program, "help", "models"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    found, name = {}, None
    for line in text.splitlines():
        if not line.startswith(" "):
            name = line.split(":")[0]
            found[name] = None
        elif line.startswith("    tuned over "):
            found[name] = line[len("    tuned over "):]
    return found


def tuned_over(part, method, usual):
    """The grid, and what was not tuned."""
    given = OPTIONS.get((part, method), [])
    own = {name: given[given.index(name) + 1].split(":", 1)[1]
           for name in ("--grid", "--set") if name in given}
    return own.get("--grid", usual), own.get("--set", "")


def system(run, split, part, method, lam, options):
    """One system beside EASE, whose lambda is known from the first."""
    names = method if method == "ease" else "ease," + method
    given = ["--lambda", lam] if method not in ("ease", "ease-nonneg") else []
    given += OPTIONS.get((part, method), [])
    run.commands = []
    got = run.json("compare", split, "--models", names, *given, *options)
    row = got["models"][-1]
    row["usual_grid"] = grids(run.program)[method]
    row["grid"], row["fixed"] = tuned_over(part, method, row["usual_grid"])
    row["processors"] = len(os.sched_getaffinity(0))
    row["command"] = run.commands[0]
    return got["users"], row


def systems(run, part, make, options, methods):
    """All that is not there yet; kept after each, beside what others kept meanwhile."""
    there = [row["model"] for row in (kept(part) or {"models": []})["models"]]
    wanted = [m for m in methods if m in grids(run.program) and m not in there]
    split = make(run) if wanted else None
    made = run.commands
    for method in wanted:
        lam = next((row["lambda"] for row in (kept(part) or {"models": []})["models"]
                    if row["model"] == "ease"), None)
        users, row = system(run, split, part, method, lam, options)
        found = kept(part) or {"models": []}
        found["users"], found["commands"] = users, made
        found["models"].append(row)
        found["models"].sort(key=lambda row: SYSTEMS.index(row["model"]))
        keep(part, run, found)


def holm(rows, metric):
    """p corrected for the number of rows."""
    least, fixed = 0.0, {}
    order = sorted(rows, key=lambda row: row["against_first"][metric]["p"])
    for i, row in enumerate(order):
        p = (len(order) - i) * row["against_first"][metric]["p"]
        least = max(least, min(1.0, p))
        fixed[row["model"]] = least
    return fixed


def without_paths(value):
    """What a run printed, without where its files happened to be."""
    if isinstance(value, dict):
        return {k: without_paths(v) for k, v in value.items() if k != "path"}
    if isinstance(value, list):
        return [without_paths(v) for v in value]
    return value


def parts(methods):
    """Names, and what runs them; it keeps what it finds itself where it gives nothing."""
    for name in PUBLISHED:
        yield name, lambda run, name=name: lightgcn(run, name, "f32")
        yield name + "-f64", lambda run, name=name: lightgcn(run, name, "f64")
    for name in STRONG:
        yield name, lambda run, name=name: strong(run, name)
    for name in STRONG:
        yield name + "-systems", lambda run, name=name: systems(
            run, name + "-systems", lambda run: make_strong(run, name), ["--metrics", METRICS],
            methods or [m for m in SYSTEMS if m not in KNOWN_USERS])
    yield "volkovs15-systems", lambda run: systems(
        run, "volkovs15-systems", make_weak, ["--metrics", "ndcg@10", "--metric", "ndcg@10"],
        methods or SYSTEMS)
    yield "tags", cold_items
    for name in STRONG:
        yield name + "-auto", lambda run, name=name: chosen(run, name)


def chosen(run, name):
    """Lambda by leaving out training users, beside lambda by validation users: each model
    is trained on the training users, and measured on the test users."""
    split, made = make_strong(run, name), {}
    ways = {"validation": ("tune", split), "auto": ("train", os.path.join(split, "train.csv"))}
    for way, command in ways.items():
        model = os.path.join(run.work, way + ".ease")
        began = time.monotonic()
        found = run.json(*command, "-o", model)
        seconds = time.monotonic() - began
        tested = run.json("eval", model, "--split", split, "--metrics", "ndcg@100")
        made[way] = {"lambda": found["lambda"], "trials": found["trials"], "seconds": seconds,
                     "test": tested["metrics"]["ndcg@100"]}
        os.remove(model)
    shutil.rmtree(split)
    return made


def cold_items(run):
    import tags  # it uses this module
    return tags.everything(run)


def keep(name, run, made):
    made = without_paths(made)
    made["version"] = subprocess.run([run.program, "--version"], text=True, check=True,
                                     stdout=subprocess.PIPE).stdout.strip()
    with open(os.path.join(KEPT, name + ".json"), "w") as f:
        json.dump(made, f, indent=1)
        f.write("\n")


# ---- the page --------------------------------------------------------------------


def kept(name):
    path = os.path.join(KEPT, name + ".json")
    if not os.path.exists(path):
        return None
    with open(path) as f:
        return json.load(f)


def cell(value):
    error = value["stderr"]
    return f"{value['mean']:.4f} ± {error:.4f}" if error is not None else f"{value['mean']:.4f}"


def commands(part):
    return "\n".join("    " + c for c in part["commands"]) + "\n"


def lightgcn_page():
    yield "## The LightGCN splits\n"
    yield ("This section reproduces published figures. Recall is plain (divided by the number "
           "of test items), over all users of the test file, with train items masked. BARS "
           "gives recall@20 .17649 and ndcg@20 .14666 for EASE on gowalla, and .06571 and "
           ".05522 on yelp2018; the rows marked expected have more digits, from a prototype in "
           "float64.\n")
    names = LIGHTGCN.split(",")
    yield "| data | lambda | precision | users | " + " | ".join(names) + " | residual |"
    yield "| --- " * (len(names) + 5) + "|"
    for name, (lam, wanted) in PUBLISHED.items():
        yield (f"| {name} | {lam} | expected | | "
               + " | ".join(f"{wanted[m]:.6f}" for m in names) + " | |")
        for precision in ("f32", "f64"):
            part = kept(name + ("" if precision == "f32" else "-f64"))
            if part:
                e = part["eval"]
                yield (f"| {name} | {lam} | {precision} | {e['users']:,} | "
                       + " | ".join(f"{e['metrics'][m]['mean']:.6f} ± {e['metrics'][m]['stderr']:.4f}"
                                    for m in names) + f" | {part['model']['residual']:.0e} |")
    yield ""
    for name in PUBLISHED:
        for part in (kept(name), kept(name + "-f64")):
            if part:
                yield commands(part)


def missed():
    """What lies further from the expected figures than rounding allows."""
    for name, (_, wanted) in PUBLISHED.items():
        for part, allowed, hit in ((name, 1e-5, 7e-5), (name + "-f64", 2e-6, 2e-6)):
            found = kept(part)
            for metric, value in wanted.items() if found else ():
                off = abs(found["eval"]["metrics"][metric]["mean"] - value)
                if off > (hit if metric.startswith("hit") else allowed):
                    yield f"{part}: {metric} is off by {off:.1e}"


def memory(row):
    return "" if row["bytes"] is None else f"{row['bytes'] / 1e6:,.0f} MB"


def model_rows(part, names):
    for m in part["models"]:
        tuned = f"{m['trials']} in {m['tuning_seconds']:,.0f} s" if m["trials"] else ""
        yield (f"| {m['model']} | {m['settings'].replace(',', ', ')} | "
               + " | ".join(cell(m["metrics"][n]) for n in names)
               + f" | {m['seconds']:,.1f} s | {memory(m)} | {tuned} | {m['processors']} |")


def differences(part, name):
    rows = part["models"][1:]
    fixed = holm(rows, name)
    for m in rows:
        d = m["against_first"][name]
        yield (f"- {m['model']} against {part['models'][0]['model']}, {name}: "
               f"{d['difference']:+.4f} (95 % interval {d['low']:+.4f} to {d['high']:+.4f}, "
               f"p {fixed[m['model']]:.1e} after Holm)")


def systems_table(name, names):
    """The rows of the paper's tables, on this data."""
    part = kept(name)
    if not part:
        return
    yield ("| model | settings chosen | " + " | ".join(names)
           + " | training | memory | tuning: trials | processors |")
    yield "| --- " * (len(names) + 6) + "|"
    yield from model_rows(part, names)
    yield ""
    yield from differences(part, names[-1])
    yield ""
    there = [row["model"] for row in part["models"]]
    missing = [m for m in SYSTEMS if m not in there
               and (name == "volkovs15-systems" or m not in KNOWN_USERS)]
    if missing:
        yield "Not measured yet: " + ", ".join(missing) + ".\n"
    if name in REMARKS:
        yield REMARKS[name] + "\n"
    own = [m for m in part["models"] if m["grid"] != m["usual_grid"] or m["fixed"]]
    if own:
        yield "These systems were tuned over other grids, mostly smaller ones to save time:\n"
        for m in own:
            yield f"- {m['model']}: `{m['grid']}`" + (f" with `{m['fixed']}`" if m["fixed"] else "")
        yield ""
    ran = part["commands"] + [m["command"] for m in part["models"]]
    yield commands({"commands": list(dict.fromkeys(ran))})


def usual_grids():
    found = {m["model"]: m["usual_grid"] for name in SYSTEM_PARTS
             for m in (kept(name) or {"models": []})["models"] if m["usual_grid"]}
    return dict(sorted(found.items(), key=lambda at: SYSTEMS.index(at[0])))


def grids_page():
    yield "## What was tuned\n"
    yield ("Every system is tuned on the validation users, over all points of a grid (EASE: by "
           "a search over lambda), then trained with the best settings and measured once on the "
           "test users. Networks use their best epoch on the validation users. In weak "
           "generalization every system is trained again on the whole train part, networks for "
           "the best number of epochs. \"Training\" is the time of the last fit alone, and "
           "\"memory\" its peak beside the data. The last column is the number of processors; "
           "other programs ran on the same machine. The default grids are:\n")
    for method, grid in usual_grids().items():
        yield f"- {method}: `{grid}`"
    yield ""


def strong_page(name):
    part = kept(name)
    if not part:
        return
    w, systems_part = part["weights"], kept(name + "-systems")
    yield f"## {name}, strong generalization (liang18)\n"
    if systems_part:
        yield (f"The table has means ± standard errors over {systems_part['users']:,} test users. "
               "Settings were chosen on as many validation users.\n")
    yield from systems_table(name + "-systems", METRICS.split(","))
    yield (f"{100 * w['negative']:.1f} % of the {w['weights']:,} weights of EASE are negative "
           "(the paper: about 60 %).\n")
    for kind, words in (("weights", "the learned weights"), ("longtail", "the long tail"),
                        ("lambda", "ndcg@100 on the validation users")):
        yield f"![{name}: {words}](figures/{name}-{kind}.svg)"
    yield ""
    yield commands(part)


def weak_page():
    part = kept("volkovs15-systems")
    if not part:
        return
    yield "## ml-1m, weak generalization (volkovs15)\n"
    yield (f"The table has means ± standard errors over {part['users']:,} users. Three tenths of "
           "each user's ratings are for training, and every rating counts as 1. Settings were "
           "chosen on a fifth of the train rows, and the models then fitted to all of them. The "
           "paper's Table 2, on ML-10M, has EASE .6258 and EASE >= 0 .6199.\n")
    yield from systems_table("volkovs15-systems", ["ndcg@10"])


def auto_page():
    found = {name: kept(name + "-auto") for name in STRONG}
    if not all(found.values()):
        return
    yield "## Lambda without a split\n"
    yield ("`ease train` chooses lambda by leaving out one training user after the other. The table "
           "compares this with `ease tune`, which chooses it on the validation users. Both "
           "models are trained on the training users alone and measured on the test users; the "
           "time is from the file to the model.\n")
    yield "| data | lambda chosen by | lambda | solves | ndcg@100 | seconds |"
    yield "| --- " * 6 + "|"
    words = {"validation": "validation users", "auto": "leaving users out"}
    for name, part in found.items():
        for way, text in words.items():
            w = part[way]
            yield (f"| {name} | {text} | {w['lambda']:g} | {len(w['trials'])} | {cell(w['test'])} | "
                   f"{'' if part.get('busy') else format(w['seconds'], '.0f')} |")
    yield ""
    if any(part.get("busy") for part in found.values()):  # noted by hand
        yield "Times are left out where the machine was busy with other work.\n"
    for part in found.values():
        yield commands(part)


def cold_items_page():
    part = kept("tags")
    if part:
        import tags
        yield from tags.section(part)


def page():
    yield "# Results\n"
    yield ("This page is written by `bench/results.py`, which anyone with the data can run "
           "again. Every number is printed by the commands under its table; the measurements "
           "are in [results/](results/), as JSON.\n")
    yield from lightgcn_page()
    yield from grids_page()
    for name in STRONG:
        yield from strong_page(name)
    yield from weak_page()
    yield from family.section()
    yield from cold_items_page()
    yield from auto_page()


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--ease", default=os.path.join(ROOT, "build/ease"))
    p.add_argument("--data", default=os.path.join(os.path.dirname(ROOT), "shared", "data"))
    p.add_argument("--models", help="a directory where large models are kept and found again")
    p.add_argument("--only", help="parts, divided by commas")
    p.add_argument("--methods", help="systems, divided by commas, of the parts with systems")
    p.add_argument("--write", action="store_true", help="only write the page")
    a = p.parse_args()
    methods = a.methods.split(",") if a.methods else None
    wanted = a.only.split(",") if a.only else [name for name, _ in parts(methods)]
    os.makedirs(KEPT, exist_ok=True)
    for name, make in parts(methods):
        if a.write or name not in wanted:
            continue
        with tempfile.TemporaryDirectory() as work:
            run = Run(a.ease, a.data, work, a.models)
            made = make(run)
        if made:
            made["commands"] = run.commands
            made["processors"] = len(os.sched_getaffinity(0))
            keep(name, run, made)
    text = "\n".join(page()).rstrip() + "\n"
    with open(os.path.join(DOCS, "results.md"), "w") as f:
        f.write(text)
    wrong = list(missed())
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()
