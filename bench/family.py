#!/usr/bin/env python3
"""The closed-form family beside EASE: each member tuned on validation data, tested once.

    bench/family.py [--ease PROGRAM] [--data DIR] [--out DIR] [--backend NAME]
                    [--models NAME,...] [PART ...]

The parts: ml-1m, goodbooks, npm (strong generalization, liang18), gowalla, yelp2018 (the
split of LightGCN; a tenth of each user's train items is validation data, and the test
file is used once, by models that were trained on the whole train file). Each part runs
`ease compare`, whose first model is EASE with a tuned lambda, and keeps what it prints in
docs/results/PART-family.json. On two cores ml-1m takes 2 minutes, goodbooks 30, npm 3
hours; gowalla and yelp2018 take 3 hours for each model.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STRONG = {
    "ml-1m": ("ml-1m/ratings.csv", ["--min-rating", "4"], 1000),
    "goodbooks": ("goodbooks/ratings.csv", ["--min-rating", "4"], 5000),
    "npm": ("npm/dependencies.tsv.gz", [], 10000),
}
LIGHTGCN = ("gowalla", "yelp2018")
MODELS = "ease,edlae,rlae,rdlae,dan,ease-rescaled,ease-ips,mrf,ease-family"
SEED, SHARE = 98765, 0.1


def read_adjacency(path):
    """{user: items} of lines `user item item ...`."""
    with open(path, encoding="ascii") as file:
        rows = [line.split() for line in file]
    return {row[0]: row[1:] for row in rows if row}


def write_table(path, rows, users, items):
    with open(path, "w", encoding="ascii") as file:
        file.write("uid,sid\n")
        for user, row in rows.items():
            file.writelines(f"{users[user]},{items[item]}\n" for item in row)


def write_ids(path, ids):
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f"{name}\n" for name in ids)


def lightgcn_split(source, to):
    """A split whose test data are the test file, with validation data from the train file."""
    train = read_adjacency(os.path.join(source, "train.txt"))
    test = read_adjacency(os.path.join(source, "test.txt"))
    draw, kept, held = random.Random(SEED), {}, {}
    for user, row in train.items():
        chosen = set(draw.sample(row, int(SHARE * len(row) + 0.5)))
        kept[user] = [item for item in row if item not in chosen]
        held[user] = [item for item in row if item in chosen]
    users, items = {}, {}
    for rows in (kept, held, test):
        for user, row in rows.items():
            users.setdefault(user, len(users))
            for item in row:
                items.setdefault(item, len(items))
    held = {user: row for user, row in held.items() if row}
    tables = {"train": train, "validation_train": kept, "validation_te": held,
              "validation_tr": {user: kept[user] for user in held},
              "test_tr": {user: train.get(user, []) for user in test}, "test_te": test}
    for name, rows in tables.items():
        write_table(os.path.join(to, name + ".csv"), rows, users, items)
    write_ids(os.path.join(to, "unique_uid.txt"), users)
    write_ids(os.path.join(to, "unique_sid.txt"), items)


def compare(o, name, work):
    split = os.path.join(work, name)
    if name in LIGHTGCN:
        os.makedirs(split)
        lightgcn_split(os.path.join(o.data, name), split)
        metrics = ["--metric", "ndcg@20",
                   "--metrics", "plain-recall@20,ndcg@20,plain-recall@50,ndcg@50,coverage@20"]
    else:
        path, options, heldout = STRONG[name]
        subprocess.run([o.ease, "split", os.path.join(o.data, path), "-o", split, "--protocol",
                        "liang18", "--heldout-users", str(heldout), *options, "--quiet"],
                       check=True)
        metrics = ["--metrics", "recall@20,recall@50,ndcg@100,coverage@100"]
    command = ["compare", split, "--models", o.models, *metrics, "--json"]
    command += ["--backend", o.backend] if o.backend else []
    print("$ ease " + " ".join(command).replace(work + "/", ""), file=sys.stderr, flush=True)
    out = subprocess.run([o.ease, *command], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    result = json.loads(out)
    command[1] = name
    result["command"] = "ease " + " ".join(command)
    return result


def main():
    parse = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parse.add_argument("--ease", default=os.path.join(ROOT, "build", "ease"))
    parse.add_argument("--data", default=os.path.join(os.path.dirname(ROOT), "shared", "data"))
    parse.add_argument("--out", default=os.path.join(ROOT, "docs", "results"))
    parse.add_argument("--backend")
    parse.add_argument("--models", default=MODELS)
    parse.add_argument("parts", nargs="*", default=[])
    o = parse.parse_args()
    for name in o.parts or [*STRONG, *LIGHTGCN]:
        with tempfile.TemporaryDirectory() as work:
            result = compare(o, name, work)
        path = os.path.join(o.out, name + "-family.json")
        with open(path, "w", encoding="ascii") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
        for m in result["models"]:
            print(name, m["model"], m["settings"],
                  *(f"{k} {x['mean']:.5f}" for k, x in m["metrics"].items()), flush=True)


if __name__ == "__main__":
    main()
