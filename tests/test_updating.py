"""Models that live, through the program: update, forget, and the checks of both against
NumPy; what they refuse, and that nothing can leave half a model.

EASE_KILLS in the environment: how often an update is killed (10; make test-kill: 200)."""
import csv
import hashlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import time
import zipfile

import numpy as np

from support import BUILD, EASE, Case, main, wait_until_caught

KILLS = int(os.environ.get("EASE_KILLS") or 10)
LAMBDA = 30
# Inverses in float32 are wrong by FLT_EPSILON times their condition, which is below 100.
CLOSE = 1e-5


def random_rows(rng, users, items, most=20):
    """A history for each user, as a dictionary from items to values."""
    return {u: {i: rng.randint(1, 5) for i in rng.sample(items, rng.randint(2, most))}
            for u in users}


def as_csv(rows):
    """Rows in any order, with ids that need quotes."""
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n")
    write.writerow(("user", "item", "value"))
    pairs = [(u, i, v) for u, row in rows.items() for i, v in row.items()]
    random.Random(1).shuffle(pairs)
    write.writerows(pairs)
    return out.getvalue()


def by_the_book(rows, lam=LAMBDA, weighted=False, kind="counts", power=0.0):
    """B in float64, and its items."""
    items = sorted({i for row in rows.values() for i in row})
    x = np.array([[row.get(i, 0) for i in items] for row in rows.values()], dtype=float)
    if not weighted:
        x = (x != 0).astype(float)
    g = x.T @ x
    if kind == "covariance":
        mu = x.mean(axis=0)
        g = g - len(x) * np.outer(mu, mu)
    p = np.linalg.inv(g + lam * np.eye(len(items)))
    b = -p / np.diag(p)[None, :]
    np.fill_diagonal(b, 0)
    return items, b


USERS = [f"u {i}" for i in range(150)] + ['"quoted", user']
ITEMS = [f"i{i}" for i in range(70)] + ["an, item", "żółw"]


class Living(Case):
    """A model m.ease of was.csv, of which `rows` are the histories."""

    def setUp(self):
        super().setUp()
        self.rng = random.Random(5)
        self.rows = random_rows(self.rng, USERS, ITEMS)
        # Two users alone have the item that is lost when they leave.
        for user in USERS[:2]:
            self.rows[user]["lost"] = 1
        self.write("all.csv", as_csv(self.rows))
        self.train("all.csv", "m.ease")

    def train(self, data, model, *args):
        self.ease("train", data, "-o", model, "--lambda", LAMBDA, "--updatable", "-q", *args)

    def change(self):
        """Two users leave, one changes, some come with a new item. Writes old.csv and
        new.csv; returns the histories afterwards."""
        after = {u: dict(row) for u, row in self.rows.items()}
        old = {u: after.pop(u) for u in USERS[:2]}
        old[USERS[-1]] = self.rows[USERS[-1]]
        old[USERS[5]] = self.rows[USERS[5]]  # stays the same
        new = random_rows(self.rng, ["new 1", "new 2", USERS[-1]], ITEMS)
        new["new 1"]["new item"] = 3
        new[USERS[5]] = self.rows[USERS[5]]
        after.update(new)
        self.write("old.csv", as_csv(old))
        self.write("new.csv", as_csv(new))
        self.write("after.csv", as_csv(after))
        return after

    def weights(self, model):
        """B of a model, and its items."""
        self.ease("export", model, "-o", "b.npy", "--items", "ids.txt", "-q")
        return self.read("ids.txt").decode().splitlines(), np.load(self.path("b.npy"))

    def check_model(self, model, rows, **how):
        """The weights are those by the book; items without users have none."""
        ids, got = self.weights(model)
        items, want = by_the_book(rows, **how)
        at = [ids.index(i) for i in items]
        self.assertLess(np.abs(got[np.ix_(at, at)] - want).max(), CLOSE * np.abs(want).max())
        lost = [k for k in range(len(ids)) if k not in at]
        self.assertFalse(got[lost].any() or got[:, lost].any())
        return ids

    def check_info(self, model, data, *args):
        facts = json.loads(self.ease("info", model, "--verify", "--data", data, "--json",
                                     *args).out)
        self.assertTrue(facts["data_verified"] and facts["updatable"] and facts["verified"])
        self.assertLess(facts["residual_now"], 1e-4)
        return facts

    def listing(self):
        return {name: self.read(name) for name in sorted(os.listdir(self.dir))}

    def refused(self, code, pattern, *args, **how):
        before = self.listing()
        self.fails(code, pattern, *args, **how)
        self.assertEqual(self.listing(), before, args)


class Update(Living):
    def test_users_come_leave_and_change(self):
        after = self.change()
        r = self.ease("update", "m.ease", "--was", "old.csv", "--now", "new.csv", "-o", "2.ease")
        self.assertEqual(r.out, "")
        self.assertRegex(r.err, r"plan: update by rank 6, about .* of memory")
        self.assertRegex(r.err, r"2 users came, 2 left, 1 changed; 1 items are new, 1 lost")
        self.assertRegex(r.err, r"updated in .* residual .*, before .*, wrote 2\.ease")
        self.assertIn("not verified: that the model does not have the users who come", r.err)
        self.assertIn("not verified: that the model has these rows of the users who", r.err)
        ids = self.check_model("2.ease", after)
        self.assertIn("lost", ids)
        self.assertEqual(ids[-1], "new item")
        facts = self.check_info("2.ease", "after.csv")
        self.assertEqual((facts["users"], facts["updates"]), (151, 1))
        self.assertEqual(facts["interactions"], sum(map(len, after.values())))
        self.refused(3, "not the data of the model", "info", "m.ease", "--verify", "--data",
                     "after.csv")

    def test_a_user_whom_the_model_has_is_noticed_with_data(self):
        self.write("twice.csv", as_csv({"u 7": self.rows["u 7"]}))
        args = ["update", "m.ease", "--now", "twice.csv", "-o", "2.ease"]
        self.refused(3, "not the data of the model after this change", *args, "--data",
                     "all.csv")
        r = self.ease(*args)
        self.assertIn("not verified: that the model does not have the users who come; --data",
                      r.err)
        self.assertNotIn("who leave", r.err)

    def test_json_has_the_facts(self):
        self.change()
        args = ["update", "m.ease", "--was", "old.csv", "--now", "new.csv", "-o", "2.ease"]
        r = json.loads(self.ease(*args, "--json").out)
        for key, value in {"way": "update", "came": 2, "left": 2, "changed": 1, "same": 1,
                           "new_items": 1, "lost_items": 1, "rank": 6, "users": 151,
                           "lambda": LAMBDA, "updates": 1, "path": "2.ease",
                           "data_checked": False,
                           "bytes": os.path.getsize(self.path("2.ease"))}.items():
            self.assertEqual(r[key], value, key)
        self.assertLess(max(r["residual"], r["residual_before"], r["deviation"]), 1e-4)
        rows = list(csv.reader(io.StringIO(self.ease(*args, "--csv").out)))
        self.assertEqual(dict(rows)["rank"], "6")

    def test_the_faster_way_is_chosen_and_both_give_the_same(self):
        """A change of nearly all users is faster to solve."""
        after = self.change()
        many = random_rows(self.rng, USERS, ITEMS, 60)
        self.write("many.csv", as_csv(many))
        self.ease("gram", "many.csv", "-o", "many.gram", "-q")
        self.ease("gram", "after.csv", "-o", "after.gram", "-q")
        ways = set()
        for old, new, data, rows in (("old.csv", "new.csv", "after", after),
                                     ("all.csv", "many.csv", "many", many)):
            for source in (["--data", data + ".csv"], ["--gram", data + ".gram"]):
                r = json.loads(self.ease("update", "m.ease", "--was", old, "--now", new, "-o",
                                         "2.ease", "--json", *source).out)
                faster = r["predicted_solve_seconds"] < r["predicted_update_seconds"]
                self.assertEqual(r["way"], "solve" if faster else "update")
                self.assertEqual(r["data_checked"], source[0] == "--data")
                ways.add(r["way"])
                self.check_model("2.ease", rows)
                self.check_info("2.ease", data + ".csv")
        self.assertIn("solve", ways)

    def test_both_ways_make_the_same_model(self):
        """Also if the mean weight of users changes, and items lose their users."""
        many = random_rows(self.rng, USERS, ITEMS[:60], 50)
        many["new 1"] = {"new item": 3, "i1": 1}
        self.write("many.csv", as_csv(many))
        self.ease("gram", "many.csv", "-o", "many.gram", "-q")
        for settings in ("relaxation=0", "user-power=0.5", "lambda-power=0.5,dropout=0.2",
                         "user-power=0.7,relaxation=0.3"):
            self.train("all.csv", "k.ease", "--model", "ease-family", "--set", settings)
            args = ["update", "k.ease", "--was", "all.csv", "--now", "many.csv", "--json"]
            want = json.loads(self.ease(*args, "-o", "updated.ease").out)
            self.assertEqual((want["way"], want["lost_items"]), ("update", 13))
            ids, b = self.weights("updated.ease")
            for source in (["--data", "many.csv"], ["--gram", "many.gram"]):
                if "user-power" in settings and source[0] == "--gram":
                    continue  # refused: the matrix does not tell users apart
                got = json.loads(self.ease(*args, "-o", "solved.ease", *source).out)
                self.assertEqual(got["way"], "solve")
                for key in ("came", "left", "changed", "same", "added", "removed", "new_items",
                            "lost_items", "rank", "users", "items", "interactions", "lambda"):
                    self.assertEqual(got[key], want[key], key)
                theirs, c = self.weights("solved.ease")
                self.assertEqual(sorted(theirs), sorted(ids))
                at = [theirs.index(i) for i in ids]
                self.assertLess(np.abs(c[np.ix_(at, at)] - b).max(), CLOSE * np.abs(b).max())
                self.check_info("solved.ease", "many.csv")

    def test_a_gram_file_that_the_model_cannot_be_solved_from_is_not_used(self):
        """Although a solve would be faster than this change of nearly all users."""
        many = random_rows(self.rng, USERS, ITEMS, 60)
        self.write("many.csv", as_csv(many))
        self.write("pairs.csv", "".join(
            f"{i},{j},{sum(i in row and j in row for row in many.values())}\n"
            for i in ITEMS[:70] for j in ITEMS[:70] if i <= j))
        self.ease("gram", "import", "pairs.csv", "-o", "pairs.gram", "-q")
        for train, why in ((["--weights"], "an updatable model needs the number of users of"),
                           (["--model", "dan"], "the user power of dan needs the interactions"),
                           (["--kind", "covariance"], "covariance needs the number of users")):
            reading = [a for a in train if a == "--weights"]
            gram = "pairs.gram" if "covariance" in train else "many.gram"
            self.ease("gram", "many.csv", "-o", "many.gram", "-q", *reading)
            self.train("all.csv", "k.ease", *train)
            args = ["update", "k.ease", "--was", "all.csv", "--now", "many.csv", *reading]
            r = self.ease(*args, "-o", "2.ease", "--gram", gram)
            self.assertIn(f"{gram} is not used: {why}", r.err)
            self.assertRegex(r.err, "plan: update by rank")
            self.check_info("2.ease", "many.csv", *reading)

    def test_a_gram_file_without_the_weights_of_the_model_is_refused(self):
        self.change()
        self.ease("gram", "after.csv", "-o", "counts.gram", "-q")
        self.train("all.csv", "w.ease", "--weights")
        self.refused(3, "counts.gram: it has no weights, and the model's data have weights",
                     "update", "w.ease", "--weights", "--was", "old.csv", "--now", "new.csv",
                     "-o", "x", "--gram", "counts.gram")

    def many_new_items(self):
        """Users come with so many new items that the model is 60 times as wide."""
        self.write("come.csv", as_csv({f"n{k}": {f"x{k} {j}": 1 for j in range(1500)}
                                       for k in range(3)}))
        self.write("larger.csv", self.read("all.csv").decode() +
                   self.read("come.csv").decode().split("\n", 1)[1])
        return ["update", "m.ease", "--now", "come.csv", "-o", "2.ease", "--threads", 2]

    def test_a_plan_counts_the_new_items(self):
        args = self.many_new_items()
        r = self.ease(*args)
        self.assertRegex(r.err, r"plan: update by rank 3, about .* s, 4\d\.\d MB of memory")
        os.unlink(self.path("2.ease"))
        self.refused(4, r"the update needs 4\d\.\d MB of memory, 38.0 MB are available", *args,
                     "--memory-limit", "38M")
        r = self.ease(*args, "--data", "larger.csv", "--memory-limit", "38M", "--workdir", ".")
        self.assertIn("plan: solve anew from larger.csv, since an update needs", r.err)
        self.check_info("2.ease", "larger.csv")

    def test_a_disk_that_is_too_small_for_new_items_is_refused_beforehand(self):
        """Before the removal of rows that the model does not have, which fails too."""
        self.many_new_items()
        self.write("wrong.csv", as_csv({f"x{k}": {i: 1 for i in ITEMS} for k in range(6)}))
        os.mkdir(self.path("disk"))
        mount = "mount -t tmpfs -o size=1m none disk"
        update = "\"$0\" update m.ease --was wrong.csv --now come.csv -o disk/2.ease"
        codes, errors = [], []
        for command in (mount, update, f"{mount} && {update}"):
            r = subprocess.run(["unshare", "-rm", "sh", "-c", command, EASE], cwd=self.dir,
                               check=False, capture_output=True, text=True)
            if command == mount and r.returncode:
                self.skipTest("no file system can be mounted here")
            codes.append(r.returncode)
            errors.append(r.stderr)
        self.assertEqual(codes, [0, 3, 1], errors)
        self.assertRegex(errors[1], "not a part of the model's data")
        self.assertRegex(errors[2], r"disk/2.ease: needs 4\d\.\d MB of disk, 1.05 MB are free")

    def test_in_place(self):
        after = self.change()
        os.symlink("m.ease", self.path("link.ease"))
        self.ease("update", "link.ease", "--was", "old.csv", "--now", "new.csv", "--in-place")
        self.assertTrue(os.path.islink(self.path("link.ease")))
        self.check_model("m.ease", after)
        self.ease("update", "m.ease", "--was", "new.csv", "--now", "old.csv", "--in-place")
        self.check_model("m.ease", self.rows)
        self.assertEqual(self.check_info("m.ease", "all.csv")["updates"], 2)

    def test_an_empty_change_changes_nothing(self):
        self.write("empty.csv", "user,item\n")
        self.write("zero.csv", "")
        before = self.listing()
        for args in (["--now", "empty.csv"], ["--was", "zero.csv"],
                     ["--was", "empty.csv", "--now", "zero.csv"],
                     ["--was", "all.csv", "--now", "all.csv"]):
            r = self.ease("update", "m.ease", "--in-place", *args)
            self.assertIn("the change is empty: m.ease stays as it is", r.err)
            self.assertEqual(self.listing(), before)
            r = self.ease("update", "m.ease", "-o", "copy.ease", "--json", *args)
            self.assertEqual((json.loads(r.out)["way"], json.loads(r.out)["rank"]), ("none", 0))
            self.assertEqual(self.read("copy.ease"), self.read("m.ease"))
            os.unlink(self.path("copy.ease"))

    def test_an_empty_change_is_checked_against_data(self):
        self.write("empty.csv", "user,item\n")
        other = {u: row for u, row in self.rows.items() if u != "u 7"}
        self.write("other.csv", as_csv(other))
        for now in ("empty.csv", "all.csv"):
            args = ["update", "m.ease", "--was", now, "--now", now, "-o", "x"]
            self.refused(3, "not the data of the model after this change", *args, "--data",
                         "other.csv")
            r = json.loads(self.ease(*args, "--data", "all.csv", "--json").out)
            self.assertEqual((r["way"], r["data_checked"]), ("none", True))
            os.unlink(self.path("x"))

    def test_data_that_cannot_be_read_are_no_empty_change(self):
        os.mkdir(self.path("nothing"))
        with zipfile.ZipFile(self.path("two.zip"), "w") as z:
            z.writestr("a.csv", "user,item\nu 1,i1\n")
            z.writestr("b.csv", "user,item\nu 2,i1\n")
        self.write("large.csv", "user,item,value\nu 1,i1,3e38\nu 1,i1,3e38\n")
        self.write("came.csv", "user,item,value\nnew,i1,1\nnew,i2,1\n")
        for old, why in (("nothing", "a directory without a data set"),
                         ("two.zip", "a zip file of 2 files"),
                         ("large.csv", "not a float")):
            self.fails(3, why, "update", "m.ease", "--was", old, "--now", "came.csv", "-o",
                       "x", "--weights", "--repeat", "sum")
            self.assertFalse(os.path.exists(self.path("x")))

    def test_weights_are_read_as_in_training(self):
        self.change()
        self.train("all.csv", "w.ease", "--weights")
        for args in (["--was", "old.csv"], ["--now", "new.csv"],
                     ["--was", "old.csv", "--now", "new.csv", "--data", "after.csv"]):
            self.refused(3, r"(old|new).csv: .* model's data have weights: give --weights",
                         "update", "w.ease", "-o", "x", *args)
        self.refused(3, "all.csv: .* model's data have weights: give --weights", "forget",
                     "w.ease", "--users", "all.csv", "--user", "u 7", "-o", "x")
        # One value that is not 1 leaves the matrix definite.
        self.write("one.csv", "user,item,value\nu 7,i1,1.5\n")
        self.refused(3, 'not a part of .* "i1" has the value 1.5, and only values of 1',
                     "update", "m.ease", "--was", "one.csv", "--weights", "-o", "x")
        r = self.ease("update", "m.ease", "--now", "new.csv", "--weights", "-o", "x")
        self.assertIn("warning: new.csv: it has weights, the model's data have none", r.err)

    def write_dated(self):
        """old.csv has the rows before March, new.csv later rows of other users, and all.csv
        both: the newest rows of the three differ."""
        def rows(users, months):
            return "".join(f"{u},i{self.rng.randrange(40)},2024-{self.rng.choice(months):02}-"
                           f"{self.rng.randrange(1, 29):02}\n" for u in users for _ in range(9))

        old = rows([f"o{k}" for k in range(80)], (1, 2))
        new = rows([f"n{k}" for k in range(5)], (3,))
        for name, text in (("old", old), ("new", new), ("all", old + new)):
            self.write(f"{name}.csv", "user,item,date\n" + text)

    def test_ages_count_from_a_fixed_time(self):
        self.write_dated()
        aged = ["--half-life", 30, "--until", "2024-04-01"]
        r = self.ease("train", "old.csv", "-o", "a.ease", "--lambda", LAMBDA, "--updatable",
                      *aged)
        self.assertNotIn("--until", r.err)
        self.ease("update", "a.ease", "--now", "new.csv", "-o", "2.ease", "--data", "all.csv",
                  *aged)
        self.check_info("2.ease", "all.csv", *aged)
        self.ease("forget", "2.ease", "--users", "all.csv", "--user", "n3", "-o", "3.ease", *aged)
        self.ease("update", "2.ease", "--was", "new.csv", "-o", "4.ease", *aged)
        self.check_info("4.ease", "old.csv", *aged)
        self.refused(3, "data have weights: give --weights, or --half-life with --until",
                     "update", "a.ease", "--now", "new.csv", "-o", "x")

    def test_ages_that_count_from_the_newest_row_are_refused(self):
        """It is another one in each file."""
        self.write_dated()
        aged = ["--half-life", 30]
        r = self.ease("train", "old.csv", "-o", "a.ease", "--lambda", LAMBDA, "--updatable",
                      *aged)
        self.assertIn("--half-life counts ages from the newest row: ease update needs a model "
                      "that was trained with --until", r.err)
        self.refused(2, "--half-life needs the --until of training: ages would count from the "
                     "newest row of each file", "update", "a.ease", "--now", "new.csv", "-o",
                     "x", *aged)
        # All rows are there, and their ages are those of training.
        forget = ["forget", "a.ease", "--user", "o3", "-o", "2.ease", *aged]
        self.ease(*forget, "--users", "old.csv")
        self.refused(2, "--unverified .* needs the --until of training", *forget, "--users",
                     "old.csv", "--unverified")

    def test_an_item_that_loses_its_users_loses_their_values(self):
        rows = {u: dict(row) for u, row in self.rows.items()}
        for user in USERS[:2]:
            rows[user]["lost"] = 5
        self.write("five.csv", as_csv(rows))
        self.train("five.csv", "w.ease", "--weights")
        self.write("one.csv", as_csv({u: {"lost": 1} for u in USERS[:2]}))
        self.refused(3, 'not a part of .* values of item "lost" are too small', "update",
                     "w.ease", "--was", "one.csv", "--weights", "-o", "x")

    def test_data_must_be_what_the_change_leads_to(self):
        self.change()
        args = ["update", "m.ease", "--was", "old.csv", "--now", "new.csv", "-o", "x"]
        self.ease("gram", "new.csv", "-o", "other.gram", "-q")
        self.refused(3, "all.csv: m.ease: these are not the data of the model after this "
                     "change: item .* give all data", *args, "--data", "all.csv")
        self.refused(3, r"other.gram: it has 4 users, the model after this change 151", *args,
                     "--gram", "other.gram")
        self.refused(3, "where interactions are wanted", *args, "--data", "other.gram")
        self.refused(3, "all.csv: not an ease gram file", *args, "--gram", "all.csv")

    def test_old_rows_must_be_possible(self):
        self.change()
        self.write("unknown.csv", "user,item\nu 1,not an item\nu 1,i1\nu 2,i2\n")
        more = {f"x{k}": {"lost": 1, "i1": 1} for k in range(3)}
        self.write("more.csv", as_csv(more))
        self.refused(3, 'item "not an item" .* unknown', "update", "m.ease", "--was",
                     "unknown.csv", "-o", "x")
        self.refused(3, 'not a part of the model\'s data: item "lost" has only 2', "update",
                     "m.ease", "--was", "more.csv", "-o", "x")
        self.refused(3, "no user would remain", "update", "m.ease", "--was", "all.csv", "-o",
                     "x")

    def test_usage(self):
        self.change()
        update = ["update", "m.ease", "--now", "new.csv"]
        for pattern, args in (
                ("either --output FILE or --in-place is required", update),
                ("either .* or --in-place, not both", [*update, "-o", "x", "--in-place"]),
                ("--was OLD, --now NEW or both", ["update", "m.ease", "-o", "x"]),
                ("not both", [*update, "-o", "x", "--data", "all.csv", "--gram", "g"]),
                ("--workdir is for solving", [*update, "-o", "x", "--workdir", "."]),
                ("leave rare users", [*update, "-o", "x", "--min-user", "3"]),
                ("standard input", [*update[:3], "-", "--was", "-", "-o", "x"]),
                ("standard output", [*update, "-o", "-"]),
                ("would be lost", [*update, "-o", "m.ease"]),
                ("would be lost", [*update, "-o", "new.csv"]),
                ("--lambda: an update keeps the settings of the model: .* train it again",
                 [*update, "-o", "x", "--lambda", "3"]),
                ("--set: an update keeps", [*update, "-o", "x", "--set=dropout=0"]),
                ("--kind: an update keeps", [*update, "-o", "x", "--kind", "counts"]),
                ("are packed; ease export", [*update, "-o", "x", "--storage", "f16"]),
                ("packed: leave out --storage", ["train", "all.csv", "-o", "x", "--lambda", "1",
                                                 "--updatable", "--storage", "f16"]),
                ("--data goes with a model and --verify",
                 ["info", "m.ease", "--data", "all.csv"]),
                ("--data goes with", ["info", "all.csv", "--verify", "--data", "all.csv"]),
                ("--user ID or", ["forget", "m.ease", "--users", "all.csv", "-o", "x"]),
                ("--users DATA is required", ["forget", "m.ease", "--user", "u", "-o", "x"]),
                ("planned with --update K", ["plan", "m.ease"])):
            self.refused(2, pattern, *args)

    def test_models_that_cannot_be_updated_say_what_to_do(self):
        self.change()
        for name, why, args in (
                ("f16.ease", "train it again with --updatable", ["--lambda", 9]),
                ("packed.ease", "with --updatable", ["--lambda", 9, "--storage", "packed"]),
                ("pop.ease", "popularity cannot be updatable", ["--model", "popularity"]),
                ("cor.ease", "correlation matrix cannot be updatable",
                 ["--lambda", 9, "--kind", "correlation"])):
            self.ease("train", "all.csv", "-o", name, "-q", *args)
            for verb in (["update", name, "--now", "new.csv", "-o", "x"],
                         ["forget", name, "--users", "all.csv", "--user", "u 1", "-o", "x"],
                         ["info", name, "--verify", "--data", "all.csv"],
                         ["plan", name, "--update", "3"]):
                self.refused(2, f"{name}: .*{why}", *verb)
            self.assertIs(json.loads(self.ease("info", name, "--json").out)["updatable"], False)
        self.refused(2, "popularity cannot be updatable", "train", "all.csv", "-o", "x",
                     "--model", "popularity", "--updatable")
        self.refused(3, "a model, where interactions are wanted", "update", "m.ease", "--now",
                     "f16.ease", "-o", "x")
        self.write("text.ease", "this is no model\n")
        self.refused(3, "text.ease", "update", "text.ease", "--now", "new.csv", "-o", "x")
        self.refused(1, "none.ease.*No such file", "update", "none.ease", "--now", "new.csv",
                     "--in-place")

    def test_other_members_of_the_family(self):
        after = self.change()
        for args, how in ((["--weights"], {"weighted": True}),
                          (["--kind", "covariance"], {"kind": "covariance"})):
            reading = ["--weights"] if "--weights" in args else []
            self.train("all.csv", "k.ease", *args)
            self.ease("update", "k.ease", "--was", "old.csv", "--now", "new.csv", "-o", "2.ease",
                      *reading)
            self.check_model("2.ease", after, **how)
            self.check_info("2.ease", "after.csv", *reading)
        for settings in ("dropout=0.2", "user-power=0.5", "relaxation=0.3"):
            self.train("all.csv", "k.ease", "--model", "ease-family", "--set", settings)
            self.ease("update", "k.ease", "--was", "old.csv", "--now", "new.csv", "-o", "2.ease")
            self.check_info("2.ease", "after.csv")

    def test_titles_and_tags_are_kept_both_ways(self):
        after = self.change()
        self.write("titles.csv", "id,title\ni1,First\ni2,Second\nlost,Gone\n")
        self.write("tags.csv", "item,genre\ni1,Drama\ni3,Comedy\nlost,Drama\n")
        self.train("all.csv", "t.ease", "--titles", "titles.csv", "--tags", "tags.csv",
                   "--tag-weight", 0)
        many = random_rows(self.rng, USERS, ITEMS, 60)
        self.write("many.csv", as_csv(many))
        for old, new, source in (("old.csv", "new.csv", []),
                                 ("all.csv", "many.csv", ["--data", "many.csv"])):
            self.ease("update", "t.ease", "--was", old, "--now", new, "-o", "2.ease", *source)
            r = self.ease("recommend", "2.ease", "--history", "i5,i6", "-k", 80)
            self.assertRegex(r.out, r"i1\b.*First")
            r = self.ease("recommend", "2.ease", "--history", "i5,i6", "--only", "genre=Comedy",
                          "--json")
            self.assertEqual([i["id"] for i in json.loads(r.out)["items"]], ["i3"])
        self.assertTrue(after)

    def test_updating_from_a_work_file_and_by_any_number_of_threads(self):
        self.change()
        self.train("all.csv", "w.ease", "--workdir", self.dir, "--memory-limit", "1G")
        self.assertEqual(self.read("w.ease"), self.read("m.ease"))
        for threads in (1, 2, 5):
            self.ease("update", "m.ease", "--was", "old.csv", "--now", "new.csv", "-o",
                      f"{threads}.ease", "--threads", threads)
        self.assertEqual(self.read("1.ease"), self.read("2.ease"))
        self.assertEqual(self.read("1.ease"), self.read("5.ease"))

    def test_plans(self):
        for args in (["m.ease"], ["all.csv"], ["--items", 100]):
            r = json.loads(self.ease("plan", *args, "--update", 7, "--json").out)
            faster = r["solve_anew_seconds"] < r["update_seconds"]
            self.assertEqual(r["choice"], "solve" if faster else "update")
            self.assertEqual((r["update_users"], r["update_fits"]), (7, True))
            self.assertGreater(r["update_peak_bytes"], 0)
        r = json.loads(self.ease("plan", "--items", 20108, "--update", 10, "--memory-limit",
                                 "20G", "--json").out)
        self.assertEqual(r["choice"], "update")

    def test_a_lean_copy_for_serving(self):
        r = self.ease("export", "m.ease", "-o", "lean.ease", "--storage", "f16")
        self.assertEqual(r.err.count("cannot be updated"), 1)
        self.assertIs(json.loads(self.ease("info", "lean.ease", "--json").out)["updatable"],
                      False)
        ids, lean = self.weights("lean.ease")
        self.assertEqual(ids, self.weights("m.ease")[0])
        self.assertLess(np.abs(lean - self.weights("m.ease")[1]).max(), 1e-3)
        self.ease("export", "m.ease", "-o", "copy.ease", "--storage", "packed")
        self.assertEqual(self.read("copy.ease"), self.read("m.ease"))
        self.refused(2, "train it again with --storage packed", "export", "lean.ease", "-o", "x",
                     "--storage", "packed")
        self.refused(2, "--top is not for models", "export", "m.ease", "-o", "x", "--storage",
                     "f16", "--top", 3)
        self.ease("train", "all.csv", "-o", "pop.ease", "--model", "popularity", "-q")
        self.refused(2, "have one form", "export", "pop.ease", "-o", "x", "--storage", "f16")


class Inexact(Living):
    """Models whose inverse is wrong in one entry, by tests/write_inexact.c."""

    def setUp(self):
        super().setUp()
        self.after = self.change()

    def damage(self, residual, lam=LAMBDA, item="i1", data="all.csv"):
        subprocess.run([os.path.join(BUILD, "tests", "write_inexact"), data, str(lam), item,
                        str(residual), "bad.ease"], cwd=self.dir, check=True)

    def test_an_inexact_model_is_solved_anew_or_refused(self):
        self.damage(1e-3)
        args = ["update", "bad.ease", "--was", "old.csv", "--now", "new.csv", "-o", "2.ease"]
        self.refused(5, "residual of the model is 0.001, .* train it again, or give --data",
                     *args)
        self.ease("gram", "after.csv", "-o", "weighted.gram", "-q", "--weights")
        self.refused(5, "train it again, or give --data$", *args, "--gram", "weighted.gram")
        self.refused(5, "residual .* train it again without these users", "forget", "bad.ease",
                     "--users", "all.csv", "--user", "u 1", "-o", "x")
        self.refused(5, "residual", "info", "bad.ease", "--verify")
        empty = ["update", "bad.ease", "--was", "all.csv", "--now", "all.csv", "-o", "x"]
        self.refused(5, "residual of the model is 0.001", *empty)
        r = json.loads(self.ease(*empty, "--data", "all.csv", "--json").out)
        self.assertEqual((r["way"], r["rank"], r["same"]), ("solve", 0, len(self.rows)))
        self.check_model("x", self.rows)
        os.unlink(self.path("x"))
        r = self.ease(*args, "--data", "after.csv")
        self.assertRegex(r.err, "2 users came, 2 left, 1 changed; 1 items are new, 1 lost")
        self.assertIn("solve anew from after.csv, since the model's residual is 0.001", r.err)
        self.check_model("2.ease", self.after)
        self.check_info("2.ease", "after.csv")

    def test_an_update_that_fails_its_check_is_solved_anew_or_refused(self):
        """Removing nearly all users of an item multiplies an error of its entry by
        (users + lambda) / (1 + lambda)."""
        only = {u: self.rows[u] for u in USERS[10:50]}
        for row in only.values():
            row["rare"] = 1
        rest = dict(self.rows)
        leaves = {u: rest.pop(u) for u in list(only)[1:]}
        self.write("data.csv", as_csv(self.rows))
        self.write("rest.csv", as_csv(rest))
        self.write("leave.csv", as_csv(leaves))
        self.damage(6e-5, 1, "rare", "data.csv")
        self.ease("info", "bad.ease", "--verify")
        args = ["update", "bad.ease", "--was", "leave.csv", "-o", "2.ease"]
        self.refused(5, "residual of the updated model", *args)
        r = self.ease(*args, "--data", "rest.csv")
        self.assertRegex(r.err, "warning: .*: solving anew|plan: solve anew")
        self.check_info("2.ease", "rest.csv")

    def test_training_says_that_a_lambda_is_too_small_for_updates(self):
        twins = {f"u{u}": {f"{side}{i}": 1 for i in random.Random(u).sample(range(50), 6)
                           for side in "ab"} for u in range(400)}
        self.write("twins.csv", as_csv(twins))
        self.refused(5, "larger --lambda", "train", "twins.csv", "-o", "x", "--lambda", "0.002",
                     "--updatable")


class Forget(Living):
    def test_users_are_forgotten_with_a_report(self):
        gone = [USERS[0], USERS[-1], "u 7"]
        rest = {u: row for u, row in self.rows.items() if u not in gone}
        self.write("rest.csv", as_csv(rest))
        args = ["forget", "m.ease", "--users", "all.csv", "-o", "2.ease"]
        for user in gone:
            args += ["--user", user]
        r = json.loads(self.ease(*args, "--json").out)
        self.check_model("2.ease", rest)
        self.check_info("2.ease", "rest.csv")
        for name, key in (("m.ease", "sha256_before"), ("2.ease", "sha256")):
            self.assertEqual(r[key], hashlib.sha256(self.read(name)).hexdigest())
        for key, value in {"path_before": "m.ease", "path": "2.ease", "users_before": 151,
                           "users": 148, "removed_users": 3, "rank": 3, "lambda": LAMBDA,
                           "bound": 1e-4, "lost_items": 0, "method": "ease",
                           "removed_interactions": sum(len(self.rows[u]) for u in gone),
                           "interactions": sum(map(len, rest.values()))}.items():
            self.assertEqual(r[key], value, key)
        self.assertLess(max(r["residual"], r["residual_before"]), 1e-4)
        self.assertRegex(r["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual({e["user"]: e["interactions"] for e in r["removed"]},
                         {u: len(self.rows[u]) for u in gone})
        self.assertTrue(all(e["passed"] and e["deviation"] < 1e-4 for e in r["removed"]))
        self.check_leverages({e["user"]: e["leverage"] for e in r["removed"]})
        text = self.ease(*args)
        self.assertIn(r["sha256"], text.out)
        self.assertRegex(text.out, r"(?m)^u 7 .* yes$")
        rows = dict(csv.reader(io.StringIO(self.ease(*args, "--csv").out)))
        self.assertEqual({rows[f"user_{k}"] for k in (1, 2, 3)}, set(gone))
        self.assertEqual(rows["user_1_passed"], "true")

    def check_leverages(self, got):
        """Rows are removed together, so that h is x P x' of the model before."""
        items = sorted({i for row in self.rows.values() for i in row})
        x = np.array([[i in row for i in items] for row in self.rows.values()], dtype=float)
        p = np.linalg.inv(x.T @ x + LAMBDA * np.eye(len(items)))
        for user, leverage in got.items():
            row = x[list(self.rows).index(user)]
            self.assertAlmostEqual(leverage, row @ p @ row, delta=1e-2)

    def test_users_from_a_file_in_place(self):
        self.write("ids.txt", "u 3\r\n\nu 4\nu 3\n")
        r = json.loads(self.ease("forget", "m.ease", "--users", "all.csv", "--users-from",
                                 "ids.txt", "--user", "u 4", "--in-place", "--json").out)
        self.assertEqual(sorted(e["user"] for e in r["removed"]), ["u 3", "u 4"])
        self.assertEqual(r["removed_users"], 2)
        self.assertEqual(r["sha256"], hashlib.sha256(self.read("m.ease")).hexdigest())
        self.assertNotEqual(r["sha256"], r["sha256_before"])
        self.assertIs(r["data_verified"], True)
        rest = {u: row for u, row in self.rows.items() if u not in ("u 3", "u 4")}
        self.check_model("m.ease", rest)

    def test_one_after_the_other(self):
        """DATA either has those who were removed before, in a list, or lacks them."""
        rest, gone = dict(self.rows), ""
        for k, user in enumerate(USERS[:20]):
            self.write("gone.txt", gone)
            self.write("rest.csv", as_csv(rest))
            source = ["rest.csv"] if k % 2 else ["all.csv", "--forgotten", "gone.txt"]
            r = json.loads(self.ease("forget", "m.ease", "--users", *source, "--user", user,
                                     "--in-place", "--json").out)
            self.assertEqual((r["data_verified"], r["forgotten_users"]),
                             (True, 0 if k % 2 else k))
            del rest[user]
            gone += user + "\n"
        self.assertIn("lost", self.check_model("m.ease", rest))
        self.write("rest.csv", as_csv(rest))
        self.assertEqual(self.check_info("m.ease", "rest.csv")["updates"], 20)

    def test_a_user_is_not_forgotten_twice(self):
        self.ease("forget", "m.ease", "--users", "all.csv", "--user", "u 7", "--in-place")
        again = ["forget", "m.ease", "--users", "all.csv", "-o", "x", "--user"]
        self.refused(3, "m.ease: the model does not have these users: its data are exactly "
                     "those of all.csv without them", *again, "u 7")
        # One of two, which the proof cannot tell.
        self.refused(3, "all.csv: m.ease: these are not the data of the model: item .*; so it "
                     "is not known .* --forgotten FILE", *again, "u 7", "--user", "u 8")
        self.write("gone.txt", "u 7\nu 9\n")
        self.refused(3, "gone.txt: user 'u 7' was removed before", *again, "u 7",
                     "--forgotten", "gone.txt")
        # The list must be right too: u 9 is still there.
        self.refused(3, "not the data of the model after this change", *again, "u 8",
                     "--forgotten", "gone.txt")

    def test_other_data_are_refused_unless_that_is_wanted(self):
        rest = {u: row for u, row in self.rows.items() if u != "u 7"}
        self.write("one.csv", as_csv({"u 7": self.rows["u 7"]}))
        args = ["forget", "m.ease", "--users", "one.csv", "--user", "u 7", "-o", "2.ease"]
        self.refused(3, "one.csv: .* not the data of the model: .* give exactly its data", *args)
        r = self.ease(*args, "--unverified")
        self.assertRegex(r.out, r"(?m)^data verified +no$")
        self.assertRegex(r.err, "warning: one.csv: not exactly the data .* is not known")
        self.check_model("2.ease", rest)
        r = self.ease("forget", "m.ease", "--users", "all.csv", "--user", "u 7", "-o",
                      "3.ease", "--unverified")
        self.assertRegex(r.out, r"(?m)^data verified +yes$")
        self.assertEqual(r.err.count("warning"), 0)
        self.assertEqual(self.read("3.ease"), self.read("2.ease"))

    def test_rows_of_another_sign_are_other_data_for_a_covariance(self):
        flipped = dict(self.rows)
        for user in USERS[10:30:2]:
            flipped[user] = {i: -v for i, v in self.rows[user].items()}
        self.write("flipped.csv", as_csv(flipped))
        self.train("all.csv", "c.ease", "--weights", "--kind", "covariance")
        self.check_info("c.ease", "all.csv", "--weights")
        self.refused(3, "not the data of the model: item .* other values", "info", "c.ease",
                     "--verify", "--data", "flipped.csv", "--weights")
        self.refused(3, "not the data of the model: item .* other values", "forget", "c.ease",
                     "--users", "flipped.csv", "--user", USERS[10], "--weights", "-o", "x")

    def test_a_report_that_cannot_be_written_says_that_the_users_are_removed(self):
        args = ["forget", "m.ease", "--users", "all.csv", "--user", "u 7", "--in-place", "-q"]
        with open("/dev/full", "w") as full:
            r = subprocess.run([EASE, *args], stdout=full, stderr=subprocess.PIPE, text=True,
                               cwd=self.dir)
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stderr, "m.ease was written before the failure")
        self.assertRegex(r.stderr, "standard output: cannot write")

    def test_unknown_users_and_rows(self):
        forget = ["forget", "m.ease", "--users", "all.csv", "-o", "x"]
        self.refused(3, "all.csv: no user 'nobody'", *forget, "--user", "u 1", "--user",
                     "nobody")
        self.write("none.txt", "\n\n")
        self.refused(3, "none.txt: no ids", *forget, "--users-from", "none.txt")
        self.write("wrong.csv", "user,item\nu 1,no item\nu 1,i1\nu 2,i1\n")
        self.refused(3, "unknown to the model", "forget", "m.ease", "--users", "wrong.csv",
                     "--user", "u 1", "-o", "x", "--unverified")
        self.refused(2, "--lambda: a removal keeps", *forget, "--user", "u 1", "--lambda", "2")


class Interrupted(Case):
    """Updates of a model that is large enough to be interrupted, in place."""

    def setUp(self):
        super().setUp()
        self.ease("synth", "-o", "all.csv", "--users", 4000, "--items", 1500, "--interactions",
                  60000, "-q")
        self.ease("synth", "-o", "few.csv", "--users", 1200, "--items", 1500, "--interactions",
                  15000, "--seed", 3, "-q")
        lines = self.read("few.csv").decode().splitlines()
        self.write("new.csv", "\n".join([lines[0]] + ["n" + s for s in lines[1:]]) + "\n")
        os.mkdir(self.path("place"))
        self.ease("train", "all.csv", "-o", "old.ease", "--lambda", 100, "--updatable", "-q")
        self.args = ["update", "place/m.ease", "--now", "new.csv", "--in-place", "-q"]
        self.reset()
        began = time.monotonic()
        self.ease(*self.args)
        self.takes = time.monotonic() - began
        self.old, self.new = self.read("old.ease"), self.read("place/m.ease")
        self.assertNotEqual(self.old, self.new)
        self.rng = random.Random(11)

    def reset(self):
        shutil.copy(self.path("old.ease"), self.path("place/m.ease"))

    def start(self, **how):
        return subprocess.Popen([EASE, *self.args], cwd=self.dir, **how)

    def test_killed_at_any_moment_it_leaves_a_whole_model(self):
        """Up to a little after its end, as long as the last whole run took."""
        killed, takes = 0, self.takes
        for _ in range(KILLS):
            self.reset()
            began = time.monotonic()
            with self.start() as p:
                try:
                    p.wait(self.rng.uniform(0, 1.1 * takes))
                    takes = time.monotonic() - began
                except subprocess.TimeoutExpired:
                    p.send_signal(signal.SIGKILL)
            killed += p.returncode == -signal.SIGKILL
            self.assertIn(p.returncode, (0, -signal.SIGKILL))
            self.assertTrue(self.read("place/m.ease") in (self.old, self.new))
        # Nine of ten, if all runs take the same time; a run after a slow one is late.
        self.assertGreater(killed, KILLS * 0.3)
        self.reset()
        self.ease(*self.args)
        self.assertEqual(self.read("place/m.ease"), self.new)
        self.assertEqual(os.listdir(self.path("place")), ["m.ease"])

    def test_interrupted_it_ends_and_leaves_the_old_model(self):
        for _ in range(20):
            self.reset()
            with self.start(stderr=subprocess.PIPE) as p:
                wait_until_caught(p, signal.SIGINT)
                time.sleep(self.rng.uniform(0, 0.7 * self.takes))
                p.send_signal(signal.SIGINT)
                err = p.stderr.read().decode()
            if p.returncode == 130:
                break
            self.assertEqual(p.returncode, 0, err)
        self.assertEqual((p.returncode, err), (130, "ease: interrupted\n"))
        self.assertEqual(self.read("place/m.ease"), self.old)

    def test_memory_is_refused_beforehand(self):
        self.fails(4, "update needs .*, 6.0 MB are available; --data or --gram", *self.args,
                   "--memory-limit", "6M")
        self.fails(4, "update needs .*, 6.0 MB are available", "forget", "old.ease", "--users",
                   "new.csv", "--user", "n1", "-o", "x", "--unverified",
                   "--memory-limit", "6M")
        self.assertFalse(os.path.exists(self.path("x")))

    def test_of_two_at_once_none_is_lost(self):
        for _ in range(5):
            self.reset()
            with self.start(stderr=subprocess.PIPE) as a, \
                    self.start(stderr=subprocess.PIPE) as b:
                errors = a.stderr.read().decode() + b.stderr.read().decode()
            codes = sorted((a.returncode, b.returncode))
            updates = json.loads(self.ease("info", "place/m.ease", "--json").out)["updates"]
            self.assertEqual(updates, codes.count(0), errors)
            if codes != [0, 0]:
                self.assertEqual(codes, [0, 1])
                self.assertRegex(errors, "another program is updating|was replaced while")


if __name__ == "__main__":
    main()
