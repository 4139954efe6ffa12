"""Engines that tests and bench/engines.py run: each is started here, loads a table of
events (seq, who, what) and runs a script of `ease gram sql`."""
import ctypes
import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import support

VERSIONS = {"duckdb": "duckdb==2.0.0", "pyspark": "pyspark==4.3.0"}


def venv_python(package):
    """The interpreter of a virtual environment with the package, made when first asked for."""
    directory = os.path.join(support.BUILD, f"{package}-venv")
    python, made = os.path.join(directory, "bin/python"), os.path.join(directory, "made")
    if os.path.exists(made):
        return python
    shutil.rmtree(directory, ignore_errors=True)
    checked(["/usr/bin/python3", "-m", "venv", directory])
    support.pip(python, "install", VERSIONS[package])
    with open(made, "w"):
        return python


def checked(command, **how):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          **how)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {done.stdout.decode()[-1500:]}"
                           f"{done.stderr.decode()[-3000:]}")
    return done.stdout.decode()


class DuckDB:
    name = "duckdb"
    LOAD = """CREATE OR REPLACE TABLE events AS SELECT * FROM read_csv('{path}',
        columns = {{'seq': 'BIGINT', 'who': 'VARCHAR', 'what': 'VARCHAR'}}, header = false,
        delim = ',', quote = '"', escape = '"', nullstr = '<null>', auto_detect = false)"""

    def __init__(self):
        self.python = venv_python("duckdb")
        self.dir = tempfile.mkdtemp(prefix="ease-duckdb-")
        self.file = os.path.join(self.dir, "events.duckdb")

    def sql(self, script):
        """Runs statements; returns the rows of the last, a line each."""
        code = ("import duckdb, sys\nc = duckdb.connect(sys.argv[1])\n"
                "rows = c.execute(sys.stdin.read()).fetchall()\n"
                "for r in rows: print(*r, sep=',')\n")
        return checked([self.python, "-c", code, self.file], input=script.encode())

    def load(self, path):
        self.sql(self.LOAD.format(path=path))

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGINT)


class Postgres:
    """A server of its own on a socket in a temporary directory. It refuses to be root, so
    that root starts it as the package's user."""
    name = "postgres"
    SETTINGS = ["listen_addresses=", "fsync=off", "max_wal_size=8GB", "shared_buffers=256MB"]

    def __init__(self):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
        if not found:
            raise unittest.SkipTest("PostgreSQL is not installed: scripts/setup test")
        self.bin = os.path.dirname(found[-1])
        self.server = None
        self.dir = tempfile.mkdtemp(prefix="ease-pg-")
        self.user = {}
        if os.getuid() == 0:
            self.user = {"user": "postgres", "group": "postgres", "extra_groups": []}
            shutil.chown(self.dir, "postgres", "postgres")
        try:
            self.start()
        except Exception:
            self.close()
            raise

    def start(self):
        data = os.path.join(self.dir, "data")
        checked([os.path.join(self.bin, "initdb"), "-D", data, "-U", "ease", "-A", "trust",
                 "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"], cwd=self.dir, **self.user)
        options = [x for s in self.SETTINGS for x in ("-c", s)]
        with open(os.path.join(self.dir, "log"), "wb") as log:
            self.server = subprocess.Popen(
                [os.path.join(self.bin, "postgres"), "-D", data, "-k", self.dir, *options],
                cwd=self.dir, stdout=log, stderr=log, preexec_fn=die_with_parent, **self.user)
        for _ in range(10 * support.PATIENCE):
            if self.server.poll() is not None:
                break
            if subprocess.run([os.path.join(self.bin, "pg_isready"), "-q", "-h", self.dir],
                              check=False).returncode == 0:
                return
            time.sleep(0.1)
        with open(os.path.join(self.dir, "log")) as log:
            raise RuntimeError("PostgreSQL did not start: " + log.read()[-2000:])

    def sql(self, script):
        return checked([os.path.join(self.bin, "psql"), "-X", "-q", "-A", "-t", "-F", ",", "-h",
                        self.dir, "-U", "ease", "-d", "postgres", "-v", "ON_ERROR_STOP=1", "-f",
                        "-"], input=script.encode())

    def load(self, path):
        self.sql("DROP TABLE IF EXISTS events;\n"
                 "CREATE TABLE events (seq BIGINT, who TEXT, what TEXT);\n"
                 f"\\copy events FROM '{path}' WITH (FORMAT csv, NULL '<null>')\nANALYZE events;\n")

    def close(self):
        if self.server:
            self.server.send_signal(signal.SIGINT)
            self.server.wait(support.PATIENCE)
        shutil.rmtree(self.dir, ignore_errors=True)


SESSION = """
import sys
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[*]").config("spark.driver.memory", "3g")
         .config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "8")
         .getOrCreate())
spark.sparkContext.setLogLevel("ERROR")
print("ready", flush=True)
for path in sys.stdin:
    try:
        rows = []
        with open(path.strip()) as f:
            for statement in f.read().split(";\\n"):
                if statement.strip():
                    rows = spark.sql(statement).collect()
        for row in rows:
            print(*row, sep=",")
        print("done", flush=True)
    except Exception as e:
        print("failed", repr(str(e))[:2000], flush=True)
"""


class Spark:
    """A session of pyspark on the machine's Java; or spark-sql, which takes long to start."""
    name = "spark"

    def __init__(self):
        if not shutil.which("java"):
            raise unittest.SkipTest("Java is not installed: scripts/setup engines")
        self.python = venv_python("pyspark")
        self.dir = tempfile.mkdtemp(prefix="ease-spark-")
        self.path = None
        self.log = open(os.path.join(self.dir, "log"), "wb")
        self.session = subprocess.Popen([self.python, "-c", SESSION], cwd=self.dir, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log)
        self.answer("ready")

    def answer(self, end):
        lines = []
        while not lines or lines[-1] != end:
            line = self.session.stdout.readline()
            if not line or line.startswith("failed "):
                with open(os.path.join(self.dir, "log")) as log:
                    raise RuntimeError(f"Spark: {line} {log.read()[-2000:]}")
            lines.append(line.rstrip("\n"))
        return "\n".join(lines[:-1])

    def write(self, script):
        path = os.path.join(self.dir, "script.sql")
        with open(path, "w") as f:
            f.write(f"""CREATE OR REPLACE TEMP VIEW events (seq BIGINT, who STRING, what STRING)
                USING csv OPTIONS (path '{self.path}', quote '"', escape '"',
                nullValue '<null>', emptyValue '', ignoreLeadingWhiteSpace 'false',
                ignoreTrailingWhiteSpace 'false');\n""" + script)
        return path

    def sql(self, script):
        self.session.stdin.write(self.write(script) + "\n")
        self.session.stdin.flush()
        return self.answer("done")

    def program(self, script):
        home = checked([self.python, "-c", "import os, pyspark\n"
                        "print(os.path.dirname(pyspark.__file__))"]).strip()
        return checked([os.path.join(home, "bin/spark-sql"), "--master", "local[*]", "--conf",
                        "spark.ui.enabled=false", "--silent", "-f", self.write(script)],
                       cwd=self.dir, env=dict(os.environ, SPARK_HOME=home))

    def load(self, path):
        self.path = path

    def close(self):
        self.session.stdin.close()
        self.session.wait(support.PATIENCE)
        self.session.stdout.close()
        self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)


def outputs(directory):
    """What a script wrote: the list of items, and the shards."""
    names = sorted(os.listdir(directory))
    items = [n for n in names if n.startswith("items")]
    return (os.path.join(directory, items[0]),
            [os.path.join(directory, n) for n in names if n.startswith("pairs")])


class Tests(support.Case):
    """What must hold of each engine; its tests are one class with `engine`."""
    engine = None

    @classmethod
    def setUpClass(cls):
        cls.at = cls.engine()

    @classmethod
    def tearDownClass(cls):
        if getattr(cls, "at", None):
            cls.at.close()

    def write_events(self, rows):
        """The table as CSV, NULL as <null>, and the rows that count as a file for the reader."""
        def field(text):
            return "<null>" if text is None else '"' + text.replace('"', '""') + '"'

        self.write("events.csv", "".join(f"{k},{field(u)},{field(i)}\n"
                                         for k, (u, i) in enumerate(rows)))
        kept = [(u, i) for u, i in rows if u and i]
        self.write("data.csv", "user,item\n" + "".join(f"{field(u)},{field(i)}\n"
                                                       for u, i in kept))
        kept.sort(key=lambda r: r[1].encode())
        self.write("sorted.csv", "user,item\n" + "".join(f"{field(u)},{field(i)}\n"
                                                         for u, i in kept))
        return self.path("events.csv")

    def count(self, *options, how=None):
        """The Gram file by the engine."""
        out = self.path("out")
        shutil.rmtree(out, ignore_errors=True)
        os.mkdir(out)
        r = self.ease("gram", "sql", "--engine", self.at.name, "--table", "events", "--user", "who",
                      "--item", "what", "--dir", out, *options)
        (how or self.at.sql)(r.out)
        items, shards = outputs(out)
        self.ease("gram", "import", *shards, "--items", items, "-o", "imported.gram", "--quiet")
        return items, shards

    def same_as(self, data):
        self.ease("gram", data, "--columns", "user,item", "-o", "native.gram", "--quiet")
        self.assertEqual(self.read("native.gram"), self.read("imported.gram"))

    def same_models(self):
        for name in ("native", "imported"):
            self.ease("train", "--gram", name + ".gram", "-o", name + ".ease", "--lambda", 20,
                      "--quiet")
        self.assertEqual(self.read("native.ease"), self.read("imported.ease"))

    def test_made_up_data_is_counted_to_the_last_one(self):
        self.ease("synth", "-o", "made.csv", "--users", 2000, "--items", 700, "--interactions",
                  30000, "--quiet")
        lines = self.read("made.csv").decode().splitlines()[1:]
        self.at.load(self.write_events([tuple(s.split(",")[:2]) for s in lines]))
        self.count("--order", "seq")
        self.same_as("data.csv")
        self.same_models()
        items, shards = self.count("--shards", 5)
        self.assertEqual(len(shards), 5)
        self.same_as("sorted.csv")
        self.same_models()
        again = shutil.copy(shards[0], self.path("again.csv"))
        for wrong in (shards[:4], shards + [again]):
            self.fails(3, "a shard is missing, given twice", "gram", "import", *wrong, "--items",
                       items, "-o", "x.gram")

    def test_nasty_ids_and_rows_that_do_not_count(self):
        ids = ['a "quoted" one', "comma, comma", " spaces around ", "semi;colon", "tab\tin it",
               "Ünïcødé ✓ 漢字", "back\\slash", "'single'", '"', '""', ",", " ", "NULL", "null",
               "\\N", "0", "00", "-1", "1e3", "nan", "item", "a", "A", "ä", "x" * 300, "\\.", "#",
               "--", "é", "e\u0301"]
        rows = []
        for u in range(60):
            for k in range(1 + u % 7):
                rows.append((f"user, {u}" if u % 3 else f'"{u}\'', ids[(u * 5 + k * k) % len(ids)]))
        rows += rows[::4]
        rows[10:10] = [(None, "a"), ("u", None), ("", "b"), ("u", ""), (None, None)]
        self.at.load(self.write_events(rows))
        for shards in (1, 3):
            self.count("--order", "seq", "--shards", shards)
            self.same_as("data.csv")
            self.count("--shards", shards)
            self.same_as("sorted.csv")
            self.same_models()

    def test_the_estimate_is_the_number_of_pairs(self):
        self.at.load(self.write_events([("u", "a"), ("u", "b"), ("u", "b"), ("v", "a"), ("w", "a"),
                                        ("w", "b"), ("w", "c"), (None, "a")]))
        r = self.ease("gram", "sql", "--engine", self.at.name, "--table", "events", "--user", "who",
                      "--item", "what", "--estimate")
        shown = self.at.sql(r.out).strip().splitlines()[-1]
        self.assertEqual(re.split(r"[,\t]", shown), ["3", "6", "10"])

    def large(self):
        """The example: its table, and its file for the reader."""
        import gzip
        source = os.path.join(support.ROOT, "examples", "npm.tsv.gz")
        with gzip.open(source, "rt") as f, open(self.path("events.csv"), "w") as to:
            for k, line in enumerate(f):
                user, item = line.rstrip("\n").split("\t")
                assert '"' not in line
                to.write(f'{k},"{user}","{item}"\n')
        self.at.load(self.path("events.csv"))
        return source

    def test_npm_is_counted_to_the_last_one(self):
        source = self.large()
        self.count("--order", "seq", "--shards", 2)
        self.ease("gram", source, "-o", "native.gram", "--quiet")
        self.assertEqual(self.read("native.gram"), self.read("imported.gram"))
