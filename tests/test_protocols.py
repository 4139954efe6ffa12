"""Splits against NumPy: the published procedure, written again without our code."""
import gzip
import json
import os
import random
import shutil

import made
import numpy as np
import support

TABLES = ["train.csv", "validation_tr.csv", "validation_te.csv", "test_tr.csv", "test_te.csv"]


def table(path):
    with open(path) as f:
        head, *rows = f.read().splitlines()
    assert head == "uid,sid", head
    return [tuple(map(int, row.split(","))) for row in rows]


def lines(path):
    with open(path, "rb") as f:
        text = f.read()
    assert text.endswith(b"\n")
    return text[:-1].split(b"\n")


def order(users):
    """As the column of a data frame sorts: integers by value, else by bytes."""
    try:
        return sorted(users, key=int)
    except ValueError:
        return sorted(users)


def fold(rows):
    return list(dict.fromkeys(rows))


def filtered(rows, min_user, min_item):
    for column, least in ((1, min_item), (0, min_user)):
        count = {}
        for row in rows:
            count[row[column]] = count.get(row[column], 0) + 1
        rows = [row for row in rows if count[row[column]] >= least]
    return rows


def by_user(rows):
    groups = {}
    for row in rows:
        groups.setdefault(row[0], []).append(row)
    return groups


def liang18(rows, everyone, heldout, min_user=5, min_item=0, seed=98765, share=0.2):
    """rows: (user, item) after the rating filter, in file order; bytes. everyone: all
    ids of users that the file has. Returns the files, by name."""
    rows = filtered(fold(rows), min_user, min_item)
    ranks = {u: i for i, u in enumerate(order(everyone))}
    users = sorted({u for u, _ in rows}, key=ranks.get)
    np.random.seed(seed)
    shuffled = [users[i] for i in np.random.permutation(len(users))]
    number = {u: i for i, u in enumerate(shuffled)}
    n = len(users)
    train = [row for row in rows if number[row[0]] < n - 2 * heldout]
    item = {}
    for _, i in train:
        item.setdefault(i, len(item))

    def numbered(part):
        return [(number[u], item[i]) for u, i in part]

    files = {"unique_uid.txt": shuffled, "unique_sid.txt": list(item),
             "train.csv": numbered(train)}
    for name, first in (("validation", n - 2 * heldout), ("test", n - heldout)):
        groups = by_user(row for row in rows
                         if first <= number[row[0]] < first + heldout and row[1] in item)
        kept, held = [], []
        np.random.seed(seed)
        for u in users:
            group = groups.get(u, [])
            out = np.zeros(len(group), dtype=bool)
            if len(group) >= 5:
                out[np.random.choice(len(group), size=int(share * len(group)),
                                     replace=False)] = True
            kept += [row for row, o in zip(group, out) if not o]
            held += [row for row, o in zip(group, out) if o]
        files[name + "_tr.csv"] = numbered(kept)
        files[name + "_te.csv"] = numbered(held)
    return files


class Splits(support.Case):
    def split(self, data, name, protocol, *options):
        self.ease("split", data, "-o", name, "--protocol", protocol, "-q", *options)
        return self.path(name)

    def check_files(self, where, files):
        for name, content in files.items():
            read = table if name.endswith(".csv") else lines
            self.assertEqual(read(os.path.join(where, name)), content, name)

    def parts(self, where):
        return {name: table(os.path.join(where, name)) for name in os.listdir(where)
                if name.endswith(".csv")}

    def original(self, where, pairs):
        users, items = (list(map(int, lines(os.path.join(where, name))))
                        for name in ("unique_uid.txt", "unique_sid.txt"))
        return [(users[u], items[i]) for u, i in pairs]

    def drawn(self, pairs, seed, count):
        """Users ascending, from a fresh seed: of each one's n pairs the first count(n) of
        a permutation."""
        np.random.seed(seed)
        groups = by_user(pairs)
        return {groups[u][k] for u in sorted(groups)
                for k in np.random.permutation(len(groups[u]))[:count(len(groups[u]))]}


class Liang18(Splits):
    """Bit for bit what the published code chooses."""

    def ratings(self, seed, users, items, rows, grouped, name=lambda k: b"%d" % k):
        """(user, item, rating), some pairs again, some users with few."""
        rng = random.Random(seed)
        table_ = []
        for _ in range(rows):
            u = int(users * rng.random() ** 2)
            i = int(items * rng.random() ** 2)
            table_.append((name(u * 7 + 3), name(i * 13 + 1), rng.randint(1, 10) / 2))
        table_ += rng.sample(table_, rows // 20)
        if grouped:
            rng.shuffle(table_)
            start = {u: rng.random() for u, _, _ in table_}
            table_.sort(key=lambda r: start[r[0]])
        return table_

    def write_movielens(self, table_):
        text = b"userId,movieId,rating,timestamp\n" + b"".join(
            b"%b,%b,%.1f,%d\n" % (*row, 1112486027 - 17 * k) for k, row in enumerate(table_))
        return self.write("ratings.csv", text)

    def test_the_form_of_ml_20m(self):
        for seed, grouped, heldout in ((1, False, 40), (2, True, 25), (3, True, 1)):
            with self.subTest(seed=seed):
                rows = self.ratings(seed, 300, 120, 6000, grouped)
                data = self.write_movielens(rows)
                where = self.split(data, "ml", "liang18", "--min-rating", 4,
                                   "--heldout-users", heldout)
                self.check_files(where, liang18([r[:2] for r in rows if r[2] > 3.5],
                                                {r[0] for r in rows}, heldout))

    def test_the_form_of_msd(self):
        """String ids, tabs, no header, counts of plays; rare songs go once, then users."""
        rng = random.Random(5)
        names = {}

        def name(k):
            return names.setdefault(k, b"%040x" % rng.getrandbits(160))

        rows = self.ratings(4, 400, 150, 9000, False, name)
        data = self.write("train_triplets.txt", b"".join(
            b"%b\t%b\t%d\n" % (u, i, r * 2) for u, i, r in rows))
        where = self.split(data, "msd", "liang18", "--heldout-users", 20, "--min-user", 20,
                           "--min-item", 30)
        self.check_files(where, liang18([r[:2] for r in rows], {r[0] for r in rows}, 20, 20, 30))

    def test_other_seeds_shares_and_small_users(self):
        rows = self.ratings(6, 100, 80, 1500, True)
        data = self.write_movielens(rows)
        for seed, share in ((0, 0.2), (1, 0.5), (4294967295, 0.1)):
            with self.subTest(seed=seed):
                where = self.split(data, "s", "liang18", "--heldout-users", 30, "--seed", seed,
                                   "--share", share, "--min-user", 2)
                want = liang18([r[:2] for r in rows], {r[0] for r in rows}, 30, 2, 0, seed, share)
                self.check_files(where, want)
                held = {u for u, _ in want["test_te.csv"]}
                self.assertLess(len(held), 30, "some have fewer than 5, and hold out nothing")

    def test_integers_sort_by_value_and_anything_else_by_bytes(self):
        rng = random.Random(8)
        for ids in (["-3", "10", "9", "100", "8", "77"], ["10", "9", "100", "8x", "77", "8"],
                    ["\u00e9", "z", "a", "B", "aa", "a b"]):
            with self.subTest(ids=ids):
                pairs = [(u, "i%d" % i) for u in ids for i in range(9)]
                rng.shuffle(pairs)
                rows = [(u.encode(), i.encode()) for u, i in pairs]
                data = self.write("x.tsv", b"".join(b"%b\t%b\n" % r for r in rows))
                where = self.split(data, "x", "liang18", "--heldout-users", 2)
                self.check_files(where, liang18(rows, {r[0] for r in rows}, 2))

    def test_every_form_of_input_gives_the_same(self):
        rows = [r[:2] for r in self.ratings(9, 60, 50, 1200, True)]
        groups = by_user(rows)
        rows = [row for group in groups.values() for row in group]
        want = liang18(rows, set(groups), 10)
        text = b"".join(b"%b,%b\n" % r for r in rows)
        forms = {
            "plain.csv": b"user,item\n" + text,
            "packed.csv.gz": gzip.compress(text),
            "colons.dat": text.replace(b",", b"::"),
            "lines.txt": b"".join(u + b" " + b" ".join(i for _, i in group) + b"\n"
                                  for u, group in groups.items()),
            "matrix.mtx": b"%%%%MatrixMarket matrix coordinate pattern general\n"
                          b"1000 1000 %d\n" % len(rows) + text.replace(b",", b" "),
        }
        for name, content in forms.items():
            with self.subTest(form=name):
                self.check_files(self.split(self.write(name, content), "d", "liang18",
                                            "--heldout-users", 10), want)

    def test_a_sparse_matrix_of_scipy(self):
        import scipy.sparse
        rng = np.random.default_rng(3)
        x = scipy.sparse.random(80, 60, 0.3, format="csr", random_state=rng)
        scipy.sparse.save_npz(self.path("x.npz"), x)
        rows = [(b"%d" % u, b"%d" % i) for u, i in
                ((u, i) for u in range(80) for i in x.indices[x.indptr[u]:x.indptr[u + 1]])]
        self.check_files(self.split("x.npz", "d", "liang18", "--heldout-users", 20),
                         liang18(rows, {b"%d" % u for u in range(80)}, 20))

    def test_the_generator_is_that_of_the_notes(self):
        """permutation(10) from 98765 is 8 7 1 2 0 6 9 4 3 5."""
        data = self.write("x.csv", "user,item\n" + "".join(
            f"{u},{i}\n" for i in range(5) for u in range(10)))
        where = self.split(data, "x", "liang18", "--heldout-users", 2)
        self.assertEqual(b" ".join(lines(os.path.join(where, "unique_uid.txt"))),
                         b"8 7 1 2 0 6 9 4 3 5")


class Weak(Splits):
    def data(self, seed=1, users=120, rows=4000):
        rng = random.Random(seed)
        self.rows = [(int(users * rng.random() ** 2), rng.randrange(90), rng.randrange(10**9))
                     for _ in range(rows)]
        seen, kept = set(), []
        for u, i, t in self.rows:
            if (u, i) not in seen:
                kept.append((u, i, t))
            seen.add((u, i))
        text = "user,item,timestamp\n" + "".join("%d,%d,%d\n" % r for r in self.rows)
        self.rows = kept
        return self.write("visits.csv", text)

    def check_weak(self, where, test, validation):
        """test and validation: sets of pairs; everything else follows from them."""
        pairs = [r[:2] for r in self.rows]
        parts = {name: self.original(where, part) for name, part in self.parts(where).items()}
        users = sorted({u for u, _ in pairs})
        self.assertEqual(lines(os.path.join(where, "unique_uid.txt")), [b"%d" % u for u in users])
        train = [p for p in pairs if p not in test]
        fit = [p for p in train if p not in validation]
        self.assertEqual(parts["train.csv"], train)
        self.assertEqual(parts["validation_train.csv"], fit)

        def listed(rows, of):
            who = {u for u, _ in of}
            return [p for u in users if u in who for p in rows if p[0] == u]
        self.assertEqual(parts["test_te.csv"], listed([p for p in pairs if p in test], test))
        self.assertEqual(parts["validation_te.csv"],
                         listed([p for p in pairs if p in validation], validation))
        self.assertEqual(parts["test_tr.csv"], listed(train, test))
        self.assertEqual(parts["validation_tr.csv"], listed(fit, validation))
        first = list(dict.fromkeys([i for _, i in train] + [i for p in pairs if p in test
                                                            for i in p[1:]]))
        self.assertEqual(lines(os.path.join(where, "unique_sid.txt")), [b"%d" % i for i in first])

    def test_volkovs15(self):
        where = self.split(self.data(), "v", "volkovs15")
        pairs = [r[:2] for r in self.rows]
        train = self.drawn(pairs, 98765, lambda n: max(1, 3 * n // 10))
        validation = self.drawn([p for p in pairs if p in train], 98765, lambda n: int(0.2 * n))
        self.check_weak(where, set(pairs) - train, validation)

    def test_random(self):
        where = self.split(self.data(2), "r", "random", "--share", 0.35, "--seed", 17)
        pairs = [r[:2] for r in self.rows]
        test = self.drawn(pairs, 17, lambda n: int(0.35 * n))
        validation = self.drawn([p for p in pairs if p not in test], 17, lambda n: int(0.35 * n))
        self.check_weak(where, test, validation)

    def last(self):
        test, validation = set(), set()
        for group in by_user(self.rows).values():
            group = [r[:2] for r in sorted(group, key=lambda r: r[2])]  # stable
            if len(group) > 1:
                test.add(group[-1])
            if len(group) > 2:
                validation.add(group[-2])
        return test, validation

    def test_leave_last(self):
        self.check_weak(self.split(self.data(3), "l", "leave-last"), *self.last())

    def test_leave_last_in_the_order_of_rows(self):
        where = self.split(self.data(4), "l", "leave-last", "--columns", "user,item")
        self.rows = [(u, i, 0) for u, i, _ in self.rows]
        self.check_weak(where, *self.last())

    def test_leave_last_with_dates(self):
        self.data(5)
        rng = random.Random(5)
        self.rows = [(u, i, "%d-%02d-%02d %02d:%02d:%02d" % (
            rng.randrange(1960, 2030), rng.randrange(1, 13), rng.randrange(1, 29),
            rng.randrange(24), rng.randrange(60), rng.randrange(60))) for u, i, _ in self.rows]
        data = self.write("dates.csv", "user,item,date\n" +
                          "".join("%d,%d,%s\n" % r for r in self.rows))
        self.check_weak(self.split(data, "l", "leave-last"), *self.last())

    def test_time(self):
        where = self.split(self.data(6), "t", "time", "--share", 0.25)
        with open(os.path.join(where, "split.json")) as f:
            how = json.load(f)
        test = {r[:2] for r in self.rows if r[2] >= how["test_from"]}
        validation = {r[:2] for r in self.rows
                      if how["validation_from"] <= r[2] < how["test_from"]}
        n = len(self.rows)
        self.assertEqual(len(test), int(0.25 * n))
        self.assertEqual(len(validation), int(0.25 * (n - len(test))))
        self.check_weak(where, test, validation)

    def cold(self, pairs, everything, seed, share):
        """The test and validation targets, and the cold items of both."""
        items = order({i for _, i in pairs})
        if any(not str(i).lstrip("-").isdigit() for i in everything):
            items = sorted({i for _, i in pairs}, key=lambda i: str(i).encode())
        k = max(1, int(share * len(items)))
        np.random.seed(seed)
        drawn = [items[n] for n in np.random.permutation(len(items))]
        held = []
        for cold in (set(drawn[:k]), set(drawn[k:2 * k])):
            rest = [p for p in pairs if not any(p in h for h in held)]
            whole = {p for p in rest if p[1] in cold}
            held.append(whole | self.drawn([p for p in rest if p not in whole], seed,
                                           lambda n: int(0.2 * n)))
        return held, drawn[:k], drawn[k:2 * k]

    def test_cold_items(self):
        for seed, options, share in ((98765, [], 0.1), (7, ["--share", 0.3, "--seed", 7], 0.3),
                                     (98765, ["--share", 0.001], 0.001)):
            with self.subTest(seed=seed, share=share):
                where = self.split(self.data(8), "c", "cold-items", *options)
                pairs = [r[:2] for r in self.rows]
                (test, validation), cold, tuned = self.cold(pairs, {i for _, i in pairs}, seed,
                                                            share)
                self.check_weak(where, test, validation)
                parts = {name: {i for _, i in self.original(where, part)}
                         for name, part in self.parts(where).items()}
                self.assertFalse(parts["train.csv"] & set(cold))
                self.assertFalse(parts["validation_train.csv"] & set(cold + tuned))
                self.assertLessEqual(set(tuned), parts["train.csv"])
                with open(os.path.join(where, "split.json")) as f:
                    how = json.load(f)
                self.assertEqual((how["share"], how["cold_items"]), (share, len(cold)))

    def test_cold_items_are_drawn_in_the_order_of_all_ids_that_count(self):
        """One id that is no integer makes all of them sort by bytes, also if its item has too
        few rows, but not if its rows are below the rating."""
        self.data(9)
        more = "".join("%d,%d,%d\n" % r for r in self.rows)
        for extra, rating in ((100000, 1), ("new", 1), ("new", -1)):
            with self.subTest(extra=extra, rating=rating):
                data = self.write("x.csv", "user,item,rating\n" + more + f"0,{extra},{rating}\n")
                where = self.split(data, "c", "cold-items", "--min-rating", 0, "--min-item", 2)
                pairs = [r[:2] for r in self.rows]
                ids = {i for _, i in pairs} | ({extra} if rating > 0 else set())
                self.check_weak(where, *self.cold(pairs, ids, 98765, 0.1)[0])

    def test_users_of_cold_items_alone_have_no_input(self):
        rows = "".join(f"{u},{i}\n" for u in range(10) for i in range(20) if i != u)
        self.write("x.csv", "user,item\n" + rows)
        self.split("x.csv", "first", "cold-items")
        ids = lines(self.path("first/unique_sid.txt"))
        trained = {i for _, i in table(self.path("first/train.csv"))}
        cold = next(i.decode() for n, i in enumerate(ids) if n not in trained)
        self.write("y.csv", "user,item\n" + rows + f"99,{cold}\n")
        where = self.split("y.csv", "second", "cold-items")
        parts = {name: self.original(where, part) for name, part in self.parts(where).items()}
        self.assertIn((99, int(cold)), parts["test_te.csv"])
        for name in "train.csv", "test_tr.csv", "validation_te.csv":
            self.assertNotIn(99, {u for u, _ in parts[name]})
        self.ease("train", "second/train.csv", "-o", "m.ease", "--lambda", 10, "-q")
        got = json.loads(self.ease("eval", "m.ease", "--split", "second", "--json", "-q").out)
        self.assertEqual((got["users"], got["without_input"]), (11, 1))

    def test_repeats_may_keep_the_last_row(self):
        data = self.write("x.csv", "user,item,time\n1,a,5\n1,b,6\n1,c,7\n1,a,8\n")
        for repeat, target in (("first", b"c"), ("last", b"a")):
            where = self.split(data, "x", "leave-last", "--repeat", repeat)
            ids = lines(os.path.join(where, "unique_sid.txt"))
            self.assertEqual([ids[i] for _, i in self.parts(where)["test_te.csv"]], [target])

class Large(Splits):
    """Files of many blocks: ratings, and names, which sort by their bytes."""

    source = staticmethod(made.ratings_csv)
    heldout = 200
    names = staticmethod(lambda: os.path.join(support.ROOT, "examples", "npm.tsv.gz"))
    heldout_names = 2000

    def test_liang18_of_ratings(self):
        with open(self.source(), "rb") as f:
            rows = [line.rstrip().split(b",") for line in f][1:]
        where = self.split(self.source(), "r", "liang18", "--min-rating", 4, "--heldout-users",
                           self.heldout)
        self.check_files(where, liang18([(u, i) for u, i, r in rows if float(r) > 3.5],
                                        {r[0] for r in rows}, self.heldout))
        self.assertEqual({len(set(u for u, _ in part)) for name, part in
                          self.parts(where).items() if name != "train.csv"}, {self.heldout})

    def test_liang18_of_names(self):
        with gzip.open(self.names()) as f:
            rows = [tuple(line.rstrip(b"\n").split(b"\t")) for line in f]
        where = self.split(self.names(), "n", "liang18", "--heldout-users", self.heldout_names)
        self.check_files(where, liang18(rows, {r[0] for r in rows}, self.heldout_names))

    def test_volkovs15_of_ratings(self):
        with open(self.source()) as f:
            pairs = [tuple(map(int, line.split(",")[:2])) for line in list(f)[1:]]
        where = self.split(self.source(), "v", "volkovs15")
        train = self.drawn(pairs, 98765, lambda n: max(1, 3 * n // 10))
        self.assertEqual(self.original(where, self.parts(where)["train.csv"]),
                         [p for p in pairs if p in train])


class Verb(Splits):
    rows = "user,item\n" + "".join(f"u{u},i{i}\n" for u in range(9) for i in range(8))

    def test_the_record_and_the_report_agree(self):
        data = self.write("x.csv", self.rows)
        out = json.loads(self.ease("split", data, "-o", "d", "--protocol", "liang18",
                                   "--heldout-users", 3, "--json").out)
        with open(self.path("d/split.json")) as f:
            how = json.load(f)
        self.assertEqual(how["source"], "x.csv")
        self.assertEqual((how["protocol"], how["seed"], how["heldout_users"], how["share"],
                          how["min_user"], how["one_pass"], how["min_rating"], how["repeat"]),
                         ("liang18", 98765, 3, 0.2, 5, True, None, "first"))
        self.assertEqual((how["users"], how["items"], how["interactions"]), (9, 8, 72))
        for name, part in how["parts"].items():
            self.assertEqual(out[name], part)
        for name, key in zip(TABLES, ("train", "validation_input", "validation_target",
                                      "test_input", "test_target")):
            rows = table(self.path("d/" + name))
            self.assertEqual(how["parts"][key],
                             {"users": len({u for u, _ in rows}),
                              "items": len({i for _, i in rows}), "interactions": len(rows)})

    def test_standard_input(self):
        self.ease("split", "-", "-o", "d", "--protocol", "random", input=self.rows)
        with open(self.path("d/split.json")) as f:
            self.assertEqual(json.load(f)["source"], "standard input")

    def test_a_split_is_replaced_and_anything_else_is_not(self):
        data = self.write("x.csv", self.rows)
        self.ease("split", data, "-o", "d", "--protocol", "random")
        self.assertTrue(os.path.exists(self.path("d/validation_train.csv")))
        self.ease("split", data, "-o", "d", "--protocol", "liang18", "--heldout-users", 2)
        self.assertEqual(sorted(os.listdir(self.path("d"))), sorted(
            TABLES + ["split.json", "unique_sid.txt", "unique_uid.txt"]))
        before = self.read("d/train.csv")
        self.write("d/notes.txt", "mine")
        self.fails(1, "no split.*notes.txt", "split", data, "-o", "d", "--protocol", "random")
        self.assertEqual(self.read("d/train.csv"), before)
        os.mkdir(self.path("empty"))
        self.ease("split", data, "-o", "empty", "--protocol", "random")

    def test_bad_input(self):
        data = self.write("x.csv", self.rows)
        liang = ("--protocol", "liang18", "--heldout-users")
        self.fails(2, "protocol", "split", data, "-o", "d")
        self.fails(2, "--protocol", "split", data, "-o", "d", "--protocol", "liang19")
        self.fails(2, "heldout-users", "split", data, "-o", "d", *liang, 0)
        self.fails(2, "seed", "split", data, "-o", "d", *liang, 1, "--seed", 2**32)
        self.fails(2, "share", "split", data, "-o", "d", *liang, 1, "--share", 1)
        self.fails(2, "below 0.5", "split", data, "-o", "d", "--protocol", "cold-items",
                   "--share", 0.5)
        self.fails(2, "fixed share", "split", data, "-o", "d", "--protocol", "leave-last",
                   "--share", 0.5)
        self.fails(2, "holds out no users", "split", data, "-o", "d", "--protocol", "time",
                   "--heldout-users", 5)
        self.fails(2, "weights", "split", data, "-o", "d", *liang, 1, "--weights", "--columns",
                   "1,2,1")
        self.fails(2, "column of times", "split", data, "-o", "d", "--protocol", "time")
        self.fails(3, "9 users, where 2 x 5 to hold out", "split", data, "-o", "d", *liang, 5)
        self.fails(3, "9 users", "split", data, "-o", "d", "--protocol", "liang18")
        self.fails(3, "no interactions left", "split", data, "-o", "d", *liang, 1, "--min-user", 9)
        self.fails(1, "cannot open", "split", "nowhere.csv", "-o", "d", *liang, 1)
        self.fails(1, "cannot create", "split", data, "-o", "no/where", *liang, 1)
        self.fails(2, "a directory", "split", data, "-o", "-", *liang, 1)
        self.fails(1, "x.csv", "split", data, "-o", data, *liang, 1)
        bad = self.write("bad.csv", "user,item,time\n1,2,3\n1,3,soon\n")
        self.fails(3, "bad.csv:3: 'soon' is not a time", "split", bad, "-o", "d", "--protocol",
                   "leave-last")
        self.assertFalse(os.path.exists(self.path("d")))

    def test_a_full_disk_leaves_the_old_split(self):
        import resource
        data = self.write("x.csv", "user,item\n" + "".join(
            f"{u},{i}\n" for u in range(400) for i in range(200)))
        self.write("small.csv", self.rows)
        self.ease("split", "small.csv", "-o", "d", "--protocol", "random")
        before = {name: self.read("d/" + name) for name in os.listdir(self.path("d"))}

        def limit():
            import signal
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000))
        self.fails(1, "cannot write", "split", data, "-o", "d", "--protocol", "random",
                   before=limit)
        self.assertEqual({name: self.read("d/" + name) for name in os.listdir(self.path("d"))},
                         before)
        shutil.rmtree(self.path("d"))


if __name__ == "__main__":
    support.main()
