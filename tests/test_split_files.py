"""The directory of a split from outside: replaced whole whatever happens, read for what it
is wherever its files are given."""
import gzip
import hashlib
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import time

from support import EASE, PATIENCE, SANITIZED, Case, main, run


def rows(seed, users=150, items=40, each=12):
    """Pairs of two tastes, users in any order, with times around June 2024; ids are no
    numbers."""
    rng = random.Random(seed)
    found = []
    for u in range(users):
        half = [i for i in range(items) if i % 2 == u % 2]
        found += [(f"u{u}", f"i{i}") for i in rng.sample(half, min(each, len(half)))]
    rng.shuffle(found)
    return [(u, i, 4 + k % 2, 1717200000 + 2000 * (k - 900)) for k, (u, i) in enumerate(found)]


def as_text(table, separator=","):
    lines = [("user", "item", "rating", "timestamp"), *table]
    return "".join(separator.join(map(str, row)) + "\n" for row in lines)


class Places(Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("place"))
        for name in ("old", "new"):
            self.write(name + ".csv", as_text(rows(name)))

    def split(self, name):
        protocol = {"old": "random", "new": "leave-last"}[name]
        return ["split", name + ".csv", "-o", "place/s", "--protocol", protocol, "--quiet"]

    def contents(self):
        """A digest of each file."""
        return {name: hashlib.sha256(self.read("place/s/" + name)).hexdigest()[:12]
                for name in sorted(os.listdir(self.path("place/s")))}

    def both(self):
        self.ease(*self.split("new"))
        new = self.contents()
        self.ease(*self.split("old"))
        return self.contents(), new

    def start(self, name):
        return subprocess.Popen([EASE, *self.split(name)], cwd=self.dir)

    def test_killed_at_any_time(self):
        old, new = self.both()
        began = time.monotonic()
        self.ease(*self.split("old"))
        takes = time.monotonic() - began
        rng = random.Random(7)
        killed = 0
        for _ in range(10 if SANITIZED else 40):
            with self.start("new") as p:
                time.sleep(rng.uniform(0, 1.2 * takes))
                p.send_signal(signal.SIGKILL)
            killed += p.returncode == -signal.SIGKILL
            self.assertIn(self.contents(), (old, new))
            self.ease(*self.split("old"))
            self.assertEqual(self.contents(), old)
            self.assertEqual(os.listdir(self.path("place")), ["s"])
        self.assertGreater(killed, 0)

    def test_two_at_once(self):
        old, new = self.both()
        for _ in range(10):
            with self.start("old") as a, self.start("new") as b:
                pass
            self.assertEqual((a.returncode, b.returncode), (0, 0))
            self.assertIn(self.contents(), (old, new))
            self.assertEqual(os.listdir(self.path("place")), ["s"])

    def test_interrupted(self):
        old, _ = self.both()
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            # A pipe without an end: it is still reading.
            with subprocess.Popen([EASE, "split", "-", *self.split("new")[2:]], cwd=self.dir,
                                  stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
                p.stdin.write(b"user,item\n" + b"a,b\n" * 100000)
                p.stdin.flush()
                deadline = time.monotonic() + PATIENCE
                while len(os.listdir(self.path("place"))) < 2 and time.monotonic() < deadline:
                    time.sleep(0.01)
                p.send_signal(number)
            self.assertEqual(p.returncode, code)
            self.assertEqual(self.contents(), old)
            self.assertEqual(os.listdir(self.path("place")), ["s"])

    def test_a_part_that_is_missing_is_not_made_up_for(self):
        self.both()
        os.unlink(self.path("place/s/validation_train.csv"))
        self.fails(1, "validation_train.csv: cannot open", "tune", "place/s", "-o", "m.ease",
                   "--quiet")
        self.ease(*self.split("old"))
        lines = self.read("place/s/validation_te.csv").splitlines(keepends=True)
        self.write("place/s/validation_te.csv", b"".join(lines[:-3]))
        for args in (["tune", "place/s", "-o", "m.ease"],
                     ["compare", "place/s", "--models", "ease"]):
            self.fails(3, r"validation_te.csv: \d+ interactions, where split.json has \d+", *args,
                       "--quiet")

    def test_the_working_directory(self):
        old, new = self.both()
        here = os.stat(self.path("place/s")).st_ino
        r = run("split", "../../new.csv", "-o", ".", "--protocol", "leave-last", "--quiet",
                cwd=self.path("place/s"))
        self.assertEqual(r.code, 0, r)
        self.assertEqual(self.contents(), new)
        self.assertEqual(os.stat(self.path("place/s")).st_ino, here)
        self.assertNotEqual(old, new)


class Tables(Case):
    """A split's own files where data is wanted."""

    def setUp(self):
        super().setUp()
        self.write("x.csv", as_text(rows(3)))
        self.ease("split", "x.csv", "-o", "s", "--protocol", "liang18", "--heldout-users", 30)
        self.ease("tune", "s", "-o", "ease.ease", "--lambda", "20", "--quiet")
        self.ease("train", "s/train.csv", "-o", "pop.ease", "--model", "popularity", "--quiet")

    FILES = ("--input", "s/test_tr.csv", "--target", "s/test_te.csv")

    def metrics(self, *args):
        found = json.loads(self.ease("eval", *args, "--metrics", "ndcg@10,recall@5", "--json").out)
        return found["users"], found["metrics"], found["unknown_targets"], found["without_input"]

    def test_eval_takes_them_as_the_split(self):
        for model in ("ease.ease", "pop.ease"):
            want = self.metrics(model, "--split", "s")
            self.assertEqual(self.metrics(model, *self.FILES), want)
        self.assertIn("part of a split: ids from unique_uid.txt, unique_sid.txt",
                      self.ease("eval", "ease.ease", *self.FILES).err)
        self.assertEqual(want[2:], (0, 0))

    def test_a_model_of_train_csv_knows_the_ids(self):
        self.ease("train", "s/train.csv", "-o", "m.ease", "--lambda", "20", "--quiet")
        self.assertEqual(self.metrics("m.ease", *self.FILES),
                         self.metrics("ease.ease", "--split", "s"))
        self.assertIn("i3", self.ease("recommend", "m.ease", "--history", "i1", "-k", 40).out)

    def test_lists_are_for_users_by_id(self):
        r = self.ease("recommend", "ease.ease", "--users", "s/test_tr.csv", "-k", 1, "--csv")
        users = {line.split(",")[0] for line in r.out.splitlines()[1:]}
        self.assertEqual(len(users), 30)
        self.assertTrue(all(u.startswith("u") for u in users), users)

    def test_columns_that_are_given_are_taken_at_their_word(self):
        r = self.ease("recommend", "ease.ease", "--users", "s/test_tr.csv", "--columns", "uid,sid",
                      "-k", 1, "--csv")
        self.assertNotIn("part of a split", r.err)
        self.assertRegex(r.out, r"\n\d+,")

    def test_the_long_tail_of_a_split(self):
        plot = ("plot", "longtail", "ease.ease", "pop.ease", "-k", 5, "-o")
        self.ease(*plot, "a.svg", "--split", "s")
        self.ease(*plot, "b.svg", *self.FILES)
        self.assertEqual(self.read("a.svg"), self.read("b.svg"))
        self.fails(2, "either --input and --target or --split", "plot", "longtail", "ease.ease",
                   "-o", "c.svg")
        self.fails(2, "either --input and --target or --split", "plot", "longtail", "ease.ease",
                   "--split", "s", *self.FILES, "-o", "c.svg")
        self.fails(2, "do not apply to a split", "plot", "longtail", "ease.ease", "--split", "s",
                   "--min-user", 2, "-o", "c.svg")


class Examples(Case):
    """Those of the help that measure. Netflix's data is too large to make up, and
    reproduce wants it too."""

    VERBS = ("split", "tune", "eval", "compare", "plot")

    def examples(self, verb):
        text = self.ease("help", verb).out.split("\nExamples:\n")[1]
        return [s.strip() for s in text.splitlines() if s.strip() and "netflix" not in s]

    def test_the_examples_of_the_help_work(self):
        table = rows(4)
        self.write("ratings.csv", as_text(rows(5, users=20050, items=30, each=6)))
        self.write("ml-1m.csv", as_text(rows(6, users=2050, each=6)))
        self.write("visits.tsv.gz", gzip.compress(as_text(table, "\t").encode()))
        self.write("train.txt", "".join(f"{u} " + " ".join(i for v, i, *_ in table if u == v)
                                        + "\n" for u in dict.fromkeys(u for u, *_ in table)))
        shutil.copy(self.path("train.txt"), self.path("test.txt"))
        self.write("x.csv", as_text(table))
        self.ease("split", "x.csv", "-o", "split", "--protocol", "liang18", "--heldout-users", 30)
        self.ease("train", "split/train.csv", "-o", "popular.ease", "--model", "popularity")
        self.ease("tune", "split", "-o", "ease.ease", "--lambda", "10,100")
        self.write("trials.csv", self.ease("tune", "split", "-o", "m", "--lambda", "10,100",
                                           "--csv").out)
        self.write("trials.json", self.ease("tune", "split", "-o", "m", "--lambda", "10,100",
                                            "--json").out)
        self.ease("split", "x.csv", "-o", "new", "--protocol", "cold-items")
        self.write("tags.csv", "item,kind\n" + "".join(f"{i},{k % 3}\n" for k, i in enumerate(
            dict.fromkeys(i for _, i, *_ in table))))
        self.ease("train", "new/train.csv", "-o", "tagged.ease", "--lambda", 10, "--tags", "tags.csv")
        self.ease("train", "ratings.csv", "-o", "living.ease", "--lambda", 10, "--updatable")
        for verb in self.VERBS:
            lines = self.examples(verb)
            self.assertTrue(lines)
            for line in lines:
                words = shlex.split(line)
                self.assertEqual(words[:2], ["ease", verb])
                with self.subTest(line=line):
                    r = self.ease(*words[1:])
                    self.assertNotIn("does not know", r.err)
                    self.assertNotIn("nothing known", r.err)


if __name__ == "__main__":
    main()
