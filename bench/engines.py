#!/usr/bin/python3
"""X'X by engines beside the native one, on npm and gowalla: the table of docs/engines.md.

    bench/engines.py [npm|gowalla|duckdb|postgres|spark ...]     # all of them

For each, the table is loaded first, which is not timed. Timed are the script of
`ease gram sql`, as a whole, and `ease gram import`; and `ease gram` from the plain file
between two engines. The Gram files are compared byte by byte. Spark's own start is not in
its time, nor is the server's of PostgreSQL.
"""
import filecmp
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import engines  # noqa: E402
import support  # noqa: E402

ENGINES = {"duckdb": engines.DuckDB, "postgres": engines.Postgres, "spark": engines.Spark}


def npm():
    with gzip.open(support.shared("npm", "dependencies.tsv.gz"), "rt") as f:
        for line in f:
            yield line.rstrip("\n").split("\t")


def gowalla():
    with open(support.shared("gowalla", "train.txt")) as f:
        for line in f:
            user, *items = line.split()
            for item in items:
                yield user, item


DATA = {"npm": npm, "gowalla": gowalla}


def timed(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def ease(*args):
    return subprocess.run([support.EASE, *args], check=True, stdout=subprocess.PIPE).stdout.decode()


def megabytes(paths):
    total = 0
    for path in paths:
        for directory, _, names in os.walk(path) if os.path.isdir(path) else [("", [], [path])]:
            total += sum(os.path.getsize(os.path.join(directory, n)) for n in names)
    return total / 1e6


def write(rows, directory):
    table, plain = os.path.join(directory, "events.csv"), os.path.join(directory, "plain.tsv")
    with open(table, "w") as t, open(plain, "w") as p:
        for k, (user, item) in enumerate(rows):
            t.write(f'{k},"{user}","{item}"\n')
            p.write(f"{user}\t{item}\n")
    return table, plain


def measure(name, kind, table, plain, directory):
    native, imported = (os.path.join(directory, n + ".gram") for n in ("native", "imported"))
    out = os.path.join(directory, "out")
    engine = kind()
    try:
        engine.load(table)
        shutil.rmtree(out, ignore_errors=True)
        os.mkdir(out)
        script = ease("gram", "sql", "--engine", engine.name, "--table", "events", "--user", "who",
                      "--item", "what", "--order", "seq", "--dir", out)
        counting = timed(lambda: engine.sql(script))
    finally:
        engine.close()
    items, shards = engines.outputs(out)
    reading = timed(lambda: ease("gram", "import", *shards, "--items", items, "-o", imported,
                                 "--quiet"))
    whole = timed(lambda: ease("gram", plain, "--columns", "1,2", "-o", native, "--quiet"))
    same = "same" if filecmp.cmp(native, imported, shallow=False) else "DIFFERENT"
    print(f"| {name} | {engine.name} | {counting:.1f} s | {megabytes(shards):,.0f} MB | "
          f"{reading:.2f} s | {whole:.2f} s | {same} |", flush=True)


def main(words):
    data = [w for w in DATA if w in words] or list(DATA)
    chosen = [w for w in ENGINES if w in words] or list(ENGINES)
    print("| data | engine | script | triplets | `gram import` | native `gram` | bytes |\n"
          "| --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for name in data:
        with tempfile.TemporaryDirectory(prefix="ease-engines-") as directory:
            table, plain = write(DATA[name](), directory)
            for engine in chosen:
                measure(name, ENGINES[engine], table, plain, directory)


if __name__ == "__main__":
    if set(sys.argv[1:]) - set(DATA) - set(ENGINES):
        sys.exit(__doc__)
    main(sys.argv[1:])
