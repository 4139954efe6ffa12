"""The paper's data sets in their original forms, in small: what is read, how it is split
and what is reproduced, against NumPy."""
import csv
import glob
import gzip
import io
import json
import os
import random
import signal
import subprocess
import time
import zipfile

import numpy as np
import numpy_ease
import numpy_eval
import support
import test_protocols as twin

HELD = 12  # users for validation, and as many to test


def tastes(rng, users, items, share):
    """Pairs (user, item) from 0, in the order of users: items of one's own half more."""
    return [(u, i) for u in range(users) for i in range(items)
            if rng.random() < share * (1.5 if (u + i) % 2 else 0.5)]


def movielens(seed, users=70, items=45, share=0.45):
    """Rows (user, movie, rating, time) as MovieLens has them, by user and movie."""
    rng = random.Random(seed)
    movies = sorted(rng.sample(range(1, 9000), items))
    return [(b"%d" % (u + 1), b"%d" % movies[i], rng.choice(
                [b"0.5", b"1.0", b"2.5", b"3.0", b"3.5", b"4.0", b"4.0", b"4.5", b"5.0", b"5.0"]),
             b"%d" % rng.randrange(789652009, 1427784002))
            for u, i in tastes(rng, users, items, share)]


def ml_20m(rows):
    return b"userId,movieId,rating,timestamp\r\n" + b"".join(
        b",".join(row) + b"\r\n" for row in rows)


def ml_10m(rows):
    """Whole stars stand without a point in ratings.dat."""
    return b"".join(b"%s::%s::%s::%s\n" % (u, i, r.replace(b".0", b""), t) for u, i, r, t in rows)


def netflix(seed, users=80, movies=30, share=0.6):
    """Blocks (movie, rows (customer, rating, date)), customers in no order."""
    rng = random.Random(seed)
    ids = rng.sample(range(6, 2649430), users)
    blocks = [(m + 1, []) for m in range(movies)]
    pairs = tastes(rng, users, movies, share)
    rng.shuffle(pairs)
    for u, m in pairs:
        blocks[m][1].append((b"%d" % ids[u], b"%d" % rng.choice([1, 2, 3, 3, 4, 4, 4, 5, 5]),
                             b"200%d-%02d-%02d" % (rng.randrange(6), rng.randrange(1, 13),
                                                   rng.randrange(1, 29))))
    return blocks


def block(movie, rows):
    return b"%d:\n" % movie + b"".join(b",".join(row) + b"\n" for row in rows)


def msd(seed, users=420, songs=60):
    """Rows (user, song, plays). A third of the songs is too rare for the recipe, and some
    users have too few of the rest."""
    rng = random.Random(seed)
    names = [b"SO" + b"%016X" % rng.getrandbits(64) for _ in range(songs)]
    rows = []
    for u in range(users):
        who = b"%040x" % rng.getrandbits(160)
        keen = 0.35 if u % 11 == 0 else 0.75
        rows += [(who, names[i], b"%d" % (1 + int(rng.expovariate(0.4)))) for i in range(songs)
                 if rng.random() < keen * (0.35 if i % 3 == 0 else 1)]
    return rows


def triplets(rows):
    return b"".join(b"\t".join(row) + b"\n" for row in rows)


def as_files(parts):
    """What the twin of a protocol gives, as the bytes of its files."""
    return {name: (b"uid,sid\n" + b"".join(b"%d,%d\n" % row for row in content)
                   if name.endswith(".csv") else b"".join(c + b"\n" for c in content))
            for name, content in parts.items()}


def volkovs15(rows, seed=98765):
    """rows: (user, item), distinct, of integer users."""
    users = sorted({u for u, _ in rows}, key=int)

    def drawn(pairs, count):
        groups = {}
        for row in pairs:
            groups.setdefault(row[0], []).append(row)
        np.random.seed(seed)
        return {groups[u][k] for u in users if u in groups
                for k in np.random.permutation(len(groups[u]))[:count(len(groups[u]))]}

    fitted = drawn(rows, lambda n: max(1, 3 * n // 10))
    train = [row for row in rows if row in fitted]
    tuned = drawn(train, lambda n: int(0.2 * n))
    user = {u: k for k, u in enumerate(users)}
    items = list(dict.fromkeys([i for _, i in train] + [i for _, i in rows]))
    item = {i: k for k, i in enumerate(items)}

    def by_user(pairs, of):
        who = {u for u, _ in of}
        return numbered(sorted((row for row in pairs if row[0] in who),
                               key=lambda row: user[row[0]]))

    def numbered(pairs):
        return [(user[u], item[i]) for u, i in pairs]

    rest = [row for row in train if row not in tuned]
    test = [row for row in rows if row not in fitted]
    return {"unique_uid.txt": users, "unique_sid.txt": items, "train.csv": numbered(train),
            "validation_train.csv": numbered(rest), "validation_tr.csv": by_user(rest, tuned),
            "validation_te.csv": by_user([row for row in train if row in tuned], tuned),
            "test_tr.csv": by_user(train, test), "test_te.csv": by_user(test, test)}


class Forms(support.Case):
    """Files of exactly the forms that are distributed."""

    def put(self, name, content):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        return self.write(name, content)

    def put_movies(self, name, blocks, ending=""):
        for movie, rows in blocks:
            text = block(movie, rows)
            self.put(f"{name}/mv_{movie:07d}.txt{ending}", gzip.compress(text) if ending else text)

    def put_combined(self, name, blocks, ending=""):
        at = [0, 3, len(blocks) // 2, len(blocks) - 1, len(blocks)]
        for k in range(4):
            text = b"".join(block(*b) for b in blocks[at[k]:at[k + 1]])
            self.put(f"{name}/combined_data_{k + 1}.txt{ending}",
                     gzip.compress(text) if ending else text)

    def put_all(self, dir):
        """The sets of both tables; returns what each split must be."""
        ml = movielens(1)
        self.put(dir + "/ml-20m/ratings.csv", ml_20m(ml))
        self.put(dir + "/ml-20m/movies.csv", b"movieId,title,genres\n1,Toy Story (1995),x\n")
        self.put(dir + "/ml-10M100K/ratings.dat", ml_10m(ml))
        nf = netflix(2)
        self.put_movies(dir + "/nf_prize_dataset/training_set", nf)
        songs = msd(3)
        self.put(dir + "/train_triplets.txt", triplets(songs))
        return {"ml-20m": self.liang18([(u, i) for u, i, r, _ in ml if float(r) > 3.5], ml),
                "netflix": self.netflix_split(nf),
                "msd": self.liang18([row[:2] for row in songs], songs, 20, 200),
                "ml-10m": as_files(volkovs15([row[:2] for row in ml]))}

    def liang18(self, rows, all_rows, min_user=5, min_item=0):
        return as_files(twin.liang18(rows, {row[0] for row in all_rows}, HELD, min_user,
                                     min_item))

    def netflix_split(self, blocks):
        rows = [(row[0], b"%d" % movie, row[1]) for movie, group in blocks for row in group]
        return self.liang18([(u, i) for u, i, r in rows if r in (b"4", b"5")], rows)

    def check_split(self, where, want, recipe):
        for name, content in want.items():
            self.assertEqual(self.read(where + "/" + name), content, name)
        how = json.loads(self.read(where + "/split.json"))
        self.assertEqual(how["recipe"], recipe)
        self.assertEqual(set(os.listdir(self.path(where))), {*want, "split.json"})
        return how

    def split(self, data, recipe, *options):
        if recipe != "ml-10m":
            options += ("--heldout-users", HELD)
        self.ease("split", data, "-o", "s", "--recipe", recipe, "-q", *options)
        return "s"


class Recipes(Forms):
    def test_each_recipe_equals_numpy(self):
        want = self.put_all("d")
        for recipe, data in (("ml-20m", "d/ml-20m"), ("ml-20m", "d/ml-20m/ratings.csv"),
                             ("ml-10m", "d/ml-10M100K/"), ("ml-10m", "d/ml-10M100K/ratings.dat"),
                             ("netflix", "d/nf_prize_dataset"),
                             ("netflix", "d/nf_prize_dataset/training_set"),
                             ("msd", "d/train_triplets.txt")):
            with self.subTest(data=data):
                how = self.check_split(self.split(data, recipe), want[recipe], recipe)
                self.assertEqual(how["source"], os.path.basename(data.rstrip("/")))
                self.assertEqual(how["protocol"], "volkovs15" if recipe == "ml-10m" else "liang18")

    def test_the_published_sizes_are_the_defaults(self):
        """Too few users here, and the message says how many would be held out."""
        self.put_all("d")
        for recipe, data, count in (("ml-20m", "d/ml-20m", 10000),
                                    ("netflix", "d/nf_prize_dataset", 40000),
                                    ("msd", "d/train_triplets.txt", 50000)):
            self.fails(3, f"2 x {count} to hold out", "split", data, "-o", "s", "--recipe", recipe)

    def test_threads_do_not_change_a_byte(self):
        want = self.put_all("d")
        for data, recipe in (("d/nf_prize_dataset", "netflix"), ("d/train_triplets.txt", "msd")):
            for threads in 1, 2, 3:
                self.check_split(self.split(data, recipe, "--threads", threads), want[recipe],
                                 recipe)

    def test_both_forms_of_netflix_are_the_same(self):
        blocks = netflix(4, users=300, movies=41)
        want = self.netflix_split(blocks)
        self.put_movies("a/training_set", blocks)
        self.put_movies("a.gz/training_set", blocks, ".gz")
        self.put_combined("b", blocks)
        self.put("b/movie_titles.csv", b"1,2003,Dinosaur Planet\n")
        self.put_combined("b.gz", blocks, ".gz")
        whole = b"".join(block(*b) for b in blocks)
        self.write("all.txt", whole)
        self.write("all.txt.gz", gzip.compress(whole))
        self.write("crlf.txt", whole.replace(b"\n", b"\r\n"))
        self.write("cut.txt", b"\xef\xbb\xbf" + whole[:-1])
        for data in "a", "a/training_set", "a.gz", "b", "b.gz", "all.txt", "all.txt.gz", \
                "crlf.txt", "cut.txt":
            for threads in 1, 3:
                with self.subTest(data=data, threads=threads):
                    self.check_split(self.split(data, "netflix", "--threads", threads), want,
                                     "netflix")

    def test_long_blocks_and_small_ones(self):
        """More than a round of blocks is read, with movies that go on from one to another
        and others of a row or none."""
        rng = random.Random(9)
        blocks = []
        for movie in range(1, 40):
            count = rng.choice([0, 1, 2, 20000, 100000])
            first = rng.randrange(1000)
            blocks.append((movie, [(b"%d" % (first + k), b"%d" % rng.randrange(1, 6),
                                    b"2004-01-02") for k in range(count)]))
        self.put_movies("a", blocks)
        self.put_combined("b", blocks)
        rows = sum(len(group) for _, group in blocks)
        found = []
        for data in "a", "b":
            for threads in 1, 2:
                got = json.loads(self.ease("split", data, "-o", "s", "--recipe", "netflix",
                                           "--min-user", 1, "--heldout-users", 50, "--json",
                                           "--threads", threads).out)
                how = json.loads(self.read("s/split.json"))
                self.assertEqual(how["rows"], rows)
                del got["seconds"]
                found.append((got, self.read("s/train.csv"), self.read("s/test_te.csv")))
        self.assertEqual(found[1:], found[:1] * 3)
        by_item = {}
        for movie, group in blocks:
            by_item[movie] = sum(r[1] in (b"4", b"5") for r in group)
        self.ease("train", "b", "-o", "m.ease", "--model", "popularity", "--recipe", "netflix",
                  "--min-user", 1)
        info = json.loads(self.ease("info", "m.ease", "--json").out)
        self.assertEqual((info["items"], info["interactions"]),
                         (sum(n > 0 for n in by_item.values()), sum(by_item.values())))

    def test_zip_files_as_they_are_distributed(self):
        ml, songs = movielens(5), msd(6)
        for name, members in (
                ("train_triplets.txt.zip", {"train_triplets.txt": triplets(songs)}),
                ("ml-20m.zip", {"ml-20m/": b"", "ml-20m/movies.csv": b"movieId,title\n1,x\n",
                                "ml-20m/ratings.csv": ml_20m(ml)})):
            for method in zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED:
                with zipfile.ZipFile(self.path(name), "w", method) as z:
                    for member, content in members.items():
                        z.writestr(member, content)
                recipe = "msd" if "triplets" in name else "ml-20m"
                want = (self.liang18([r[:2] for r in songs], songs, 20, 200) if recipe == "msd"
                        else self.liang18([(u, i) for u, i, r, _ in ml if float(r) > 3.5], ml))
                how = self.check_split(self.split(name, recipe), want, recipe)
                self.assertTrue(how["recognized"].startswith("zip, "))
        os.mkdir(self.path("msd"))
        os.rename(self.path("train_triplets.txt.zip"), self.path("msd/train_triplets.txt.zip"))
        self.split("msd", "msd")
        data = bytearray(self.read("msd/train_triplets.txt.zip"))
        data[len(data) // 2] ^= 1
        self.write("bad.zip", data)
        self.fails(3, "bad.zip: damaged zip file", "split", "bad.zip", "-o", "x", "--recipe",
                   "msd")
        with zipfile.ZipFile(self.path("many.zip"), "w") as z:
            z.writestr("a.csv", "user,item\n1,2\n")
            z.writestr("b.csv", "user,item\n1,2\n")
        self.fails(3, "many.zip: a zip file of 2 files", "info", "many.zip")
        self.write("cut.zip", self.read("many.zip")[:60])
        self.fails(3, "cut.zip: damaged zip", "info", "cut.zip")

    def test_options_change_a_recipe(self):
        self.put_all("d")
        self.split("d/ml-20m", "ml-20m", "--min-rating", 3, "--min-user", 9, "--seed", 5)
        how = json.loads(self.read("s/split.json"))
        self.assertEqual((how["recipe"], how["min_rating"], how["min_user"], how["seed"],
                          how["one_pass"]), ("ml-20m", 3, 9, 5, True))
        self.ease("split", "d/ml-20m", "-o", "s", "--recipe", "ml-20m", "--protocol", "liang18",
                  "--heldout-users", 3)
        for options, what in ((("--protocol", "random"), "is for the protocol liang18, not random"),
                              (("--weights",), "no weights"), (("--repeat", "sum"), "first or")):
            self.fails(2, what, "split", "d/ml-20m", "-o", "x", "--recipe", "ml-20m", *options)
        self.fails(2, "holds out no users", "split", "d/ml-10M100K", "-o", "x", "--recipe",
                   "ml-10m", "--heldout-users", 3)
        self.fails(2, "--recipe: expected ml-20m", "split", "d/ml-20m", "-o", "x", "--recipe",
                   "ml-1m")
        self.fails(2, "--protocol or --recipe", "split", "d/ml-20m", "-o", "x")

    def test_training_takes_recipes_too(self):
        self.put_all("d")
        for options in (("--recipe", "ml-20m"), ("--min-rating", 4, "--min-user", 5)):
            self.ease("train", "d/ml-20m", "-o", "m.ease", "--lambda", 5, "-q", *options)
            self.write("m" + options[0], self.read("m.ease"))
        self.assertEqual(self.read("m--recipe"), self.read("m--min-rating"))
        r = self.ease("info", "d/nf_prize_dataset/training_set/mv_0000003.txt")
        self.assertIn("Netflix Prize", r.out)
        r = self.ease("train", "d/nf_prize_dataset", "-o", "m.ease", "--lambda", 5)
        self.assertIn("Netflix Prize in 30 files", r.err)


class Errors(Forms):
    def bad(self, code, pattern, data="d"):
        self.fails(code, pattern, "split", data, "-o", "x", "--recipe", "netflix",
                   "--heldout-users", HELD)
        self.assertFalse(os.path.exists(self.path("x")))

    def test_files_of_a_form_that_are_missing(self):
        blocks = netflix(1)
        self.put_combined("d", blocks)
        third = self.path("d/combined_data_3.txt")
        os.rename(third, self.path("third"))
        self.bad(1, r"d/combined_data_3\.txt: missing, where combined_data_4\.txt is there")
        os.unlink(self.path("d/combined_data_4.txt"))
        self.bad(1, r"d/combined_data_3\.txt: missing: there are 4 such files")
        self.put_movies("e", blocks)
        os.unlink(self.path("e/mv_0000007.txt"))
        self.bad(1, r"e/mv_0000007\.txt: missing, where mv_0000008\.txt is there", "e")
        self.put_movies("f", blocks)
        self.put("f/mv_0000003.txt.gz", gzip.compress(block(*blocks[2])))
        self.bad(3, r"f: both mv_0000003\.txt and mv_0000003\.txt\.gz are there", "f")

    def test_directories_without_data(self):
        os.makedirs(self.path("d/training_set"))
        os.mkdir(self.path("e"))
        self.bad(3, "e: a directory without training_set", "e")
        self.bad(3, "d/training_set: a directory without mv_0000001.txt", "d")
        self.bad(1, "nowhere.*No such file", "nowhere")
        self.fails(3, "e: a directory without a data set: ratings.csv", "info", "e")
        for name in "ratings.csv", "train_triplets.txt":
            self.put("f/" + name, b"1,2\n")
        self.fails(3, "f: both .* and .* are there: name the one", "info", "f")

    def test_lines_that_are_wrong(self):
        good = b"1:\n1488844,3,2005-09-06\n822109,5,2005-05-13\n"
        for text, line, what in (
                (b"1488844,3,2005-09-06\n" + good, 1, "a rating before the first movie"),
                (good + b"x:\n", 4, "'x:' is neither a movie such as 1: nor a row"),
                (good + b":\n", 4, "neither a movie"), (good + b"2\n", 4, "neither a movie"),
                (good + b"2:3\n", 4, "neither a movie"),
                (good + b"1234567890123456789:\n1,2,3\n", 4, "neither a movie"),
                (good + b"885013,4\n", 4, "expected 3 fields, found 2"),
                (good + b"885013,4,2005-10-19,1\n", 4, "expected 3 fields, found 4"),
                (good + b"885013,four,2005-10-19\n", 4, "'four' is not a number"),
                (good + b",4,2005-10-19\n", 4, "the user is empty"),
                (good + b"885013,4,\0\n", 4, "a NUL byte")):
            self.put("d/mv_0000001.txt", good)
            self.put("d/mv_0000002.txt", text)
            with self.subTest(text=text):
                self.bad(3, rf"d/mv_0000002\.txt:{line}: .*{what}")
        self.put("d/mv_0000002.txt", b"2:\n" + b"9,4,2005-10-19\n" * 400000 + b"9,?,2005\n")
        self.bad(3, r"d/mv_0000002\.txt:400002: '\?' is not a number")
        self.put("d/mv_0000002.txt.gz", gzip.compress(good)[:-9])
        os.unlink(self.path("d/mv_0000002.txt"))
        self.bad(3, r"d/mv_0000002\.txt\.gz: (truncated|damaged) gzip stream")
        self.put("e/mv_0000001.txt", b"")
        self.bad(3, "e: empty", "e")
        self.write("rows.txt", good[3:])
        self.bad(3, r"rows\.txt:1: a rating before the first movie", "rows.txt")
        self.fails(2, "columns are for tables", "split", "rows.txt", "-o", "x", "--recipe",
                   "netflix", "--columns", "1,2")


class Reproduce(Forms):
    def numpy(self, where, metrics, model):
        """Means and errors of `model(x) -> weights, or None for popularity`."""
        pairs = {name: numpy_eval.read_pairs(self.path(f"{where}/{name}.csv"))
                 for name in ("train", "test_tr", "test_te")}
        count = len(twin.lines(self.path(where + "/unique_sid.txt")))
        items = list(map(str, range(count)))
        x = numpy_eval.align(pairs["train"], list(dict.fromkeys(u for u, _ in pairs["train"])),
                             items)
        users = numpy_eval.targets(pairs["test_te"], items)
        popularity = np.asarray(x.sum(axis=0)).ravel()
        w = model(x)
        values = numpy_eval.evaluate(
            (lambda rows: rows @ w) if w is not None else
            (lambda rows: np.tile(popularity, (rows.shape[0], 1))),
            numpy_eval.align(pairs["test_tr"], users, items),
            numpy_eval.align(pairs["test_te"], users, items), metrics, popularity)
        return len(users), {m: numpy_eval.mean_and_error(v) for m, v in values.items()}

    def check_set(self, got, lam, metrics, published):
        models = {m["model"]: m for m in got["models"]}
        for name, model in (("ease", lambda x: numpy_ease.model(x, lam)[0]),
                            ("ease-nonneg", lambda x: numpy_ease.model(x, lam, "counts", True)[0]),
                            ("popularity", lambda x: None)):
            users, want = self.numpy(got["split"], metrics, model)
            self.assertEqual(got["users"], users)
            self.assertEqual(models[name]["lambda"], None if name == "popularity" else lam)
            for metric, (mean, error) in want.items():
                self.assertAlmostEqual(models[name]["metrics"][metric]["mean"], mean, delta=1e-6)
                self.assertAlmostEqual(models[name]["metrics"][metric]["stderr"], error,
                                       delta=1e-6)
        for name, figures in published.items():
            self.assertEqual(list(models[name]["published"].values()), figures)

    def test_table_1(self):
        want = self.put_all("d")
        r = self.ease("reproduce", "table1", "--data", "d", "--heldout-users", HELD, "-o", "out",
                      "--json", "--precision", "f64")
        got = json.loads(r.out)
        self.assertEqual([s["set"] for s in got["sets"]], ["ml-20m", "netflix", "msd"])
        self.assertEqual(got["absent"], [])
        metrics = ["recall@20", "recall@50", "ndcg@100"]
        for s, lam, ease in zip(got["sets"], (500, 1000, 200),
                                ([.391, .521, .420], [.362, .445, .393], [.333, .428, .389])):
            self.check_split("out/" + s["set"], want[s["set"]], s["set"])
            self.check_set(s, lam, metrics, {"ease": ease})
            self.assertRegex(r.err, f"plan for {s['set']}: .* of memory")
        self.assertEqual([m["model"] for m in got["sets"][0]["models"]],
                         ["ease", "ease-nonneg", "popularity", "slim", "wmf", "cdae", "mult-vae",
                          "mult-dae"])
        self.assertNotIn("metrics", got["sets"][0]["models"][3])

    def test_table_2(self):
        want = self.put_all("d")
        got = json.loads(self.ease("reproduce", "table2", "--data", "d", "--json", "--precision",
                                   "f64").out)
        self.assertEqual([s["set"] for s in got["sets"]], ["ml-10m"])
        self.check_split("table2/ml-10m", want["ml-10m"], "ml-10m")
        self.check_set(got["sets"][0], 3000, ["ndcg@10"],
                       {"ease": [.6258], "ease-nonneg": [.6199], "ii-svd": [.6113],
                        "popularity": [None]})

    def test_lambda_can_be_chosen(self):
        self.put_all("d")
        args = ("reproduce", "table1", "--data", "d", "--heldout-users", HELD, "--sets", "ml-20m",
                "--models", "ease", "--json")
        chosen = json.loads(self.ease(*args, "--lambda", "auto").out)["sets"][0]["models"][0]
        tuned = json.loads(self.ease("tune", "table1/ml-20m", "-o", "m.ease", "--json").out)
        self.assertEqual(chosen["lambda"], tuned["lambda"])
        fixed = json.loads(self.ease(*args, "--lambda", "33").out)["sets"][0]["models"][0]
        self.assertEqual(fixed["lambda"], 33)

    def test_the_tables_for_people_and_programs(self):
        self.put_all("d")
        args = ("reproduce", "table1", "--data", "d", "--heldout-users", HELD, "--sets",
                "netflix,ml-20m")
        r = self.ease(*args)
        self.assertRegex(r.out, r"Table 1: .*MovieLens 20M: trained on \d+ users and \d+ items, "
                                r"means over 12 test users\n\nmodel +settings +recall@20 +paper")
        self.assertRegex(r.out, r"\nease +lambda=500 +0\.\d{5} \(0\.\d{5}\) +0\.391 ")
        self.assertRegex(r.out, r"\nmult-vae +0\.395 +0\.537 +0\.426")
        self.assertIn("Netflix Prize: trained on", r.out)
        self.assertIn("published of MovieLens 20M: 136,677 users", r.err)
        rows = list(csv.DictReader(io.StringIO(self.ease(*args, "--csv").out)))
        self.assertEqual(len(rows), 2 * 8 * 3)
        self.assertEqual([rows[1][k] for k in ("set", "model", "lambda", "metric", "published")],
                         ["ml-20m", "ease", "500", "recall@50", "0.521"])
        self.assertEqual((rows[12]["model"], rows[12]["mean"]), ("wmf", ""))
        self.assertIn("| model ", self.ease(*args, "--markdown", "-q").out)

    def test_what_is_not_there(self):
        os.mkdir(self.path("d"))
        self.fails(1, r"d: no data set of table1 .*d/ml-20m \(from grouplens\.org.*d/netflix",
                   "reproduce", "table1", "--data", "d")
        self.fails(1, "nowhere.*No such file", "reproduce", "table1", "--data", "nowhere")
        self.put_combined("d", netflix(1))
        r = self.ease("reproduce", "table1", "--data", "d", "--heldout-users", HELD, "--json")
        self.assertEqual(json.loads(r.out)["absent"], ["ml-20m", "msd"])
        self.assertIn("MovieLens 20M was not found: d/ml-20m, from grouplens.org", r.err)
        self.fails(1, "no data set of table1 was found: put it into d/msd", "reproduce", "table1",
                   "--data", "d", "--sets", "msd")
        self.fails(2, "no table 'table3'", "reproduce", "table3", "--data", "d")
        self.fails(2, "'ml-10m' is none of table1", "reproduce", "table1", "--data", "d",
                   "--sets", "msd,ml-10m")
        self.fails(2, "no model 'deep'", "reproduce", "table1", "--data", "d", "--models", "deep")
        self.fails(2, "--lambda: expected", "reproduce", "table1", "--data", "d", "--lambda", "0")
        self.fails(2, "holds out no users", "reproduce", "table2", "--data", "d",
                   "--heldout-users", 3)
        self.fails(2, "--data", "reproduce", "table1")
        os.mkdir(self.path("d/msd"))
        self.fails(3, "d/msd: a directory without a data set", "reproduce", "table1", "--data",
                   "d", "--sets", "msd", "--heldout-users", 3)

    def test_too_little_memory_is_refused_before_training(self):
        self.put("d/ml-20m/ratings.csv", ml_20m(movielens(1)))
        args = ("reproduce", "table1", "--data", "d", "--heldout-users", HELD)
        self.fails(4, "ml-20m: 45 items need .* of memory", *args, "--memory-limit", "9M")
        self.ease(*args, "--models", "popularity", "--memory-limit", "9M")

    def test_an_interrupt_leaves_no_half_split(self):
        blocks = [(m, [(b"%d" % u, b"5", b"2004-01-02") for u in range(60000)])
                  for m in range(1, 40)]
        self.put_movies("d/training_set", blocks)
        p = subprocess.Popen([support.EASE, "reproduce", "table1", "--data", "d",
                              "--heldout-users", "9", "-q"], cwd=self.dir,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not glob.glob(self.path("table1/.netflix.*.part")):
            time.sleep(0.001)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=support.PATIENCE)
        self.assertEqual((p.returncode, out), (130, b""), err)
        self.assertEqual(os.listdir(self.path("table1")), [])


if __name__ == "__main__":
    support.main()
