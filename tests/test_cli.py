"""The program from outside: each verb, each kind of bad input, each way to end."""

import csv
import gzip
import io
import json
import os
import pty
import random
import re
import resource
import select
import shlex
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

import numpy as np

from support import EASE, SANITIZED, Case, main, run

VERBS = ["train", "recommend", "similar", "explain", "gram", "plan", "info", "synth",
         "export", "help"]
ITEMS = ["react", "redux", "webpack", "babel", "express", "mongoose", "passport", "lodash"]


def small_pairs(users=60, seed=5):
    """Two tastes: front-end and back-end, lodash in both."""
    rng = random.Random(seed)
    pairs = []
    for u in range(users):
        taste = ITEMS[:4] if u % 2 else ITEMS[4:7]
        have = [i for i in taste if rng.random() < 0.7] or taste[:1]
        if rng.random() < 0.5:
            have.append("lodash")
        pairs += [(f"u{u}", i) for i in have]
    return pairs


def as_csv(pairs, header="user,item"):
    return header + "\n" + "".join(",".join(map(str, p)) + "\n" for p in pairs)


def history_of(pairs, user):
    return [i for u, i in pairs if u == user]


def weights(pairs, lam):
    """B by the book: rows are inputs. Items in the order in which they appear."""
    ids = list(dict.fromkeys(i for _, i in pairs))
    users = list(dict.fromkeys(u for u, _ in pairs))
    x = np.zeros((len(users), len(ids)))
    for u, i in pairs:
        x[users.index(u), ids.index(i)] = 1
    p = np.linalg.inv(x.T @ x + lam * np.eye(len(ids)))
    b = -p / np.diag(p)[None, :]
    np.fill_diagonal(b, 0)
    return ids, b, p


class Trained(Case):
    """Tests that need a model: model.ease of ratings.csv, and its oracle."""

    LAMBDA = 2.0

    @classmethod
    def setUpClass(cls):
        cls.store = tempfile.mkdtemp(prefix="ease-test-")
        cls.addClassCleanup(shutil.rmtree, cls.store, ignore_errors=True)
        cls.pairs = small_pairs()
        with open(os.path.join(cls.store, "ratings.csv"), "w") as f:
            f.write(as_csv(cls.pairs))
        r = run("train", "ratings.csv", "-o", "model.ease", "--lambda", cls.LAMBDA,
                "--storage", "f32", cwd=cls.store)
        assert r.code == 0, r
        cls.ids, cls.b, cls.p = weights(cls.pairs, cls.LAMBDA)

    def setUp(self):
        super().setUp()
        for name in ("ratings.csv", "model.ease"):
            shutil.copy(os.path.join(self.store, name), self.dir)

    def expected(self, history, k=10, keep_seen=False):
        at = [self.ids.index(h) for h in history]
        scores = self.b[at].sum(axis=0)
        order = sorted(range(len(self.ids)), key=lambda j: (-scores[j], j))
        return [(self.ids[j], scores[j]) for j in order
                if keep_seen or self.ids[j] not in history][:k]


class Train(Case):
    def test_tells_what_was_read_planned_and_written(self):
        self.write("ratings.csv", as_csv(small_pairs()))
        r = self.ease("train", "ratings.csv", "-o", "m.ease", "--lambda", "10")
        self.assertEqual(r.out, "")
        self.assertRegex(r.err, r"60 users, 8 items, \d+ interactions")
        self.assertRegex(r.err, r"plan: .* of memory .*available.* on disk")
        self.assertRegex(r.err, r"trained in .* s, residual .*, wrote m\.ease, .*B")
        self.assertNotIn("\r", r.err)
        self.assertNotIn("\033", r.err)
        self.assertGreater(os.path.getsize(self.path("m.ease")), 0)

    def test_quiet_says_nothing(self):
        self.write("ratings.csv", as_csv(small_pairs()))
        r = self.ease("train", "-q", "ratings.csv", "-o", "m.ease", "--lambda", "10")
        self.assertEqual((r.out, r.err), ("", ""))

    def test_json_has_the_facts(self):
        pairs = small_pairs()
        self.write("ratings.csv", as_csv(pairs))
        r = self.ease("train", "ratings.csv", "-o", "m.ease", "--lambda", "10", "--json")
        facts = json.loads(r.out)
        self.assertEqual(facts["users"], 60)
        self.assertEqual(facts["items"], 8)
        self.assertEqual(facts["interactions"], len(pairs))
        self.assertEqual(facts["lambda"], 10)
        self.assertEqual(facts["path"], "m.ease")
        self.assertEqual(facts["bytes"], os.path.getsize(self.path("m.ease")))
        self.assertLess(facts["residual"], 1e-4)
        self.assertGreater(facts["seconds"], 0)

    def test_standard_input_and_gzip_give_the_same_model(self):
        text = as_csv(small_pairs()).encode()
        self.write("a.csv", text)
        self.write("b.csv.gz", gzip.compress(text))
        self.ease("train", "a.csv", "-o", "a.ease", "--lambda", "3")
        self.ease("train", "b.csv.gz", "-o", "b.ease", "--lambda", "3")
        self.ease("train", "-", "-o", "c.ease", "--lambda", "3", input=text)
        self.assertEqual(self.read("a.ease"), self.read("b.ease"))
        self.assertEqual(self.read("a.ease"), self.read("c.ease"))

    def test_threads_do_not_change_a_bit(self):
        self.write("a.csv", as_csv(small_pairs()))
        for n in (1, 2, 3):
            self.ease("train", "a.csv", "-o", f"{n}.ease", "--lambda", "3", "--threads", n)
        self.assertEqual(self.read("1.ease"), self.read("2.ease"))
        self.assertEqual(self.read("1.ease"), self.read("3.ease"))

    def test_reading_options_are_obeyed(self):
        rows = "".join(f"{i}|u{u}|{v}\n" for u, i, v in
                       [(1, "a", 5), (1, "b", 1), (2, "a", 4), (2, "b", 4), (3, "a", 2)])
        self.write("x", rows)
        r = self.ease("train", "x", "-o", "m", "--lambda", "1", "--columns", "2,1,3",
                      "--separator", "|", "--header", "no", "--min-rating", "4", "--json")
        facts = json.loads(r.out)
        self.assertEqual((facts["users"], facts["items"], facts["interactions"]), (2, 2, 3))
        self.assertRegex(r.err, "2 below --min-rating")

    def test_separators_have_names(self):
        for name, mark in (("tab", "\t"), ("\\t", "\t"), ("space", " "), ("::", "::")):
            self.write("x", "".join(f"u{u}{mark}i{u % 3}{mark}1\n" for u in range(9)))
            self.ease("train", "x", "-o", "m", "--lambda", "1", "--separator", name)

    def test_options_take_values_in_every_spelling(self):
        self.write("x", as_csv(small_pairs()))
        self.ease("train", "-om", "--lambda=5", "x")
        self.ease("train", "--output=m", "--lambda", "5", "--", "x")
        self.ease("train", "-qo", "m", "--lambda", "5", "x")

    def test_titles_travel_with_the_model(self):
        self.write("x", as_csv(small_pairs()))
        self.write("t.csv", "id,title\nreact,Réact the first\nredux,\"State, kept\"\n")
        self.ease("train", "x", "-o", "m", "--lambda", "5", "--titles", "t.csv")
        r = self.ease("recommend", "m", "--history", "webpack", "--json")
        titles = {i["id"]: i.get("title") for i in json.loads(r.out)["items"]}
        self.assertEqual(titles["react"], "Réact the first")
        self.assertEqual(titles["redux"], "State, kept")
        self.assertNotIn("title", next(i for i in json.loads(r.out)["items"]
                                       if i["id"] == "lodash"))
        r = self.ease("recommend", "m", "--history", "webpack", "--csv")
        rows = list(csv.DictReader(io.StringIO(r.out)))
        self.assertIn("State, kept", [row["title"] for row in rows])
        self.assertIn("Réact the first", self.ease("similar", "m", "redux").out)

    def test_gram_file_gives_the_same_weights(self):
        self.write("x", as_csv(small_pairs()))
        self.ease("gram", "x", "-o", "x.gram")
        for kind in ("counts", "covariance", "correlation"):
            self.ease("train", "x", "-o", "a", "--lambda", "2", "--kind", kind)
            self.ease("train", "--gram", "x.gram", "-o", "b", "--lambda", "2", "--kind", kind)
            self.ease("export", "a", "-o", "a.npy")
            self.ease("export", "b", "-o", "b.npy")
            np.testing.assert_array_equal(np.load(self.path("a.npy")),
                                          np.load(self.path("b.npy")))

    def test_storages_and_nonnegative_work(self):
        self.write("x", as_csv(small_pairs()))
        for storage in ("f32", "f16", "packed"):
            self.ease("train", "x", "-o", "m", "--lambda", "2", "--storage", storage,
                      "--nonnegative", "--precision", "f64")
            facts = json.loads(self.ease("info", "m", "--json", "--verify").out)
            self.assertEqual(facts["storage"], storage)
            self.assertTrue(facts["nonnegative"])
            self.assertTrue(facts["verified"])
            self.ease("export", "m", "-o", "b.npy")
            self.assertGreaterEqual(np.load(self.path("b.npy")).min(), 0)


class Recommend(Trained):
    def test_lists_are_those_of_the_formula(self):
        for history in (["react"], ["react", "redux"], ["express", "lodash", "react"]):
            r = self.ease("recommend", "model.ease", "--history", ",".join(history),
                          "-k", 4, "--json")
            got = json.loads(r.out)
            want = self.expected(history, 4)
            self.assertEqual([i["id"] for i in got["items"]], [i for i, _ in want])
            np.testing.assert_allclose([i["score"] for i in got["items"]],
                                       [s for _, s in want], atol=1e-5)
            self.assertEqual(got["user"], "1")
            self.assertNotIn("unknown", got)
            self.assertNotIn("fallback", got)
            self.assertEqual(r.err, "")

    def test_text_has_rank_score_and_id(self):
        r = self.ease("recommend", "model.ease", "--history", "react", "-k", 3)
        rows = [line.split() for line in r.out.splitlines()[1:]]
        self.assertEqual([row[0] for row in rows], ["1", "2", "3"])
        self.assertEqual([row[2] for row in rows], [i for i, _ in self.expected(["react"], 3)])

    def test_csv_parses(self):
        r = self.ease("recommend", "model.ease", "--history", "react", "--history",
                      "express", "-k", 3, "--csv")
        rows = list(csv.DictReader(io.StringIO(r.out)))
        self.assertEqual(list(rows[0]), ["user", "rank", "item", "score", "fallback"])
        self.assertEqual([row["user"] for row in rows], ["1"] * 3 + ["2"] * 3)
        self.assertEqual([row["item"] for row in rows[3:]],
                         [i for i, _ in self.expected(["express"], 3)])

    def test_duplicates_count_once(self):
        a = self.ease("recommend", "model.ease", "--history", "react,redux,react", "--json")
        b = self.ease("recommend", "model.ease", "--history", "redux,react", "--json")
        self.assertEqual(a.out, b.out)

    def test_unknown_ids_are_counted_and_named(self):
        r = self.ease("recommend", "model.ease", "--history", "react,nope,nil", "--json")
        self.assertEqual(json.loads(r.out)["unknown"], 2)
        self.assertRegex(r.err, r"warning: .*2 of 3 ids unknown.*nope, nil")

    def test_nothing_known_gets_the_popular_items_and_says_so(self):
        count = {i: sum(1 for _, j in self.pairs if i == j) for i in self.ids}
        popular = sorted(self.ids, key=lambda i: (-count[i], self.ids.index(i)))
        for history in ("nope", ""):
            r = self.ease("recommend", "model.ease", "--history", history, "-k", 3, "--json")
            got = json.loads(r.out)
            self.assertEqual(got["fallback"], "popular")
            self.assertEqual([i["id"] for i in got["items"]], popular[:3])
            np.testing.assert_allclose(got["items"][0]["score"], count[popular[0]] / 60,
                                       rtol=1e-6)
        r = self.ease("recommend", "model.ease", "--history", "nope")
        self.assertIn("popular items", r.out)
        r = self.ease("recommend", "model.ease", "--history", "nope", "--csv")
        self.assertTrue(all(row["fallback"] == "popular"
                            for row in csv.DictReader(io.StringIO(r.out))))

    def test_history_comes_from_a_file_or_standard_input(self):
        self.write("mine.txt", "\ufeffreact\r\n\r\nredux\n")
        want = self.ease("recommend", "model.ease", "--history", "react,redux", "--json").out
        for args, text in ((["@mine.txt"], b""), (["@-"], b"react\nredux")):
            r = self.ease("recommend", "model.ease", "--history", *args, "--json", input=text)
            self.assertEqual(r.out, want)
        self.fails(1, "missing.txt: cannot open", "recommend", "model.ease", "--history",
                   "@missing.txt")
        self.write("nul.txt", b"react\0redux\n")
        self.fails(3, "nul.txt: .*NUL", "recommend", "model.ease", "--history", "@nul.txt")

    def test_allow_deny_and_keep_seen(self):
        self.write("few.txt", "redux\nlodash\nnobody\n")
        r = self.ease("recommend", "model.ease", "--history", "react", "--allow", "few.txt",
                      "--json")
        self.assertEqual({i["id"] for i in json.loads(r.out)["items"]}, {"redux", "lodash"})
        self.assertRegex(r.err, "few.txt: 1 of 3 ids unknown.*nobody")
        r = self.ease("recommend", "model.ease", "--history", "react", "--deny", "few.txt",
                      "--keep-seen", "--json")
        got = {i["id"] for i in json.loads(r.out)["items"]}
        self.assertEqual(got, set(self.ids) - {"redux", "lodash"})
        self.fails(1, "none.txt", "recommend", "model.ease", "--history", "react", "--deny",
                   "none.txt")

    def test_every_user_of_a_file_gets_a_list(self):
        r = self.ease("recommend", "model.ease", "--users", "ratings.csv", "-k", 3, "--json")
        lines = [json.loads(s) for s in r.out.splitlines()]
        self.assertEqual([x["user"] for x in lines], [f"u{u}" for u in range(60)])
        for x in lines:
            want = self.expected(history_of(self.pairs, x["user"]), 3)
            np.testing.assert_allclose([i["score"] for i in x["items"]],
                                       [s for _, s in want], atol=1e-5)
        text = self.ease("recommend", "model.ease", "--users", "-", "-k", 3,
                         input=self.read("ratings.csv")).out
        self.assertEqual(text.count("user u"), 60)
        rows = list(csv.DictReader(io.StringIO(
            self.ease("recommend", "model.ease", "--users", "ratings.csv", "-k", 2,
                      "--csv").out)))
        self.assertEqual(len(rows), 120)

    def test_users_in_another_order_of_items_with_strangers(self):
        text = "user,item\nx,zzz\nx,redux\nx,react\ny,zzz\ny,yyy\n"
        r = self.ease("recommend", "model.ease", "--users", "-", "-k", 2, "--json", input=text)
        x, y = (json.loads(s) for s in r.out.splitlines())
        self.assertEqual([i["id"] for i in x["items"]],
                         [i for i, _ in self.expected(["react", "redux"], 2)])
        self.assertEqual(x["unknown"], 1)
        self.assertEqual((y["unknown"], y["fallback"]), (2, "popular"))
        self.assertRegex(r.err, "2 items unknown to the model, with 3 interactions: zzz, yyy")
        self.assertRegex(r.err, "1 users with nothing known")

    def test_weights_of_users_are_used(self):
        text = "user,item,value\nx,react,3\nx,express,0.5\n"
        r = self.ease("recommend", "model.ease", "--users", "-", "--weights", "--json",
                      input=text)
        at = [self.ids.index("react"), self.ids.index("express")]
        scores = 3 * self.b[at[0]] + 0.5 * self.b[at[1]]
        for i in json.loads(r.out)["items"]:
            self.assertAlmostEqual(i["score"], scores[self.ids.index(i["id"])], places=5)

    def test_many_users_come_in_blocks(self):
        rng = random.Random(1)
        text = as_csv((f"u{u}", rng.choice(ITEMS)) for u in range(9000))
        r = self.ease("recommend", "model.ease", "--users", "-", "-k", 2, "--csv", input=text)
        rows = list(csv.DictReader(io.StringIO(r.out)))
        self.assertEqual([row["user"] for row in rows[::2]], [f"u{u}" for u in range(9000)])

    def test_k_past_the_items_is_fine(self):
        r = self.ease("recommend", "model.ease", "--history", "react", "-k", 1000, "--json")
        self.assertEqual(len(json.loads(r.out)["items"]), len(self.ids) - 1)

    def test_reasons_are_the_strongest_contributions(self):
        history = ["react", "redux", "lodash"]
        r = self.ease("recommend", "model.ease", "--history", ",".join(history), "-k", 2,
                      "--reasons", 2, "--json")
        for i in json.loads(r.out)["items"]:
            parts = {h: self.b[self.ids.index(h), self.ids.index(i["id"])] for h in history}
            strongest = sorted(history, key=lambda h: -abs(parts[h]))[:2]
            self.assertEqual([x["id"] for x in i["reasons"]], strongest)
        r = self.ease("recommend", "model.ease", "--history", "react", "--reasons", 1)
        self.assertIn("because of react", r.out)
        r = self.ease("recommend", "model.ease", "--users", "ratings.csv", "--reasons", 1)
        self.assertIn("because of", r.out)

    def test_usage(self):
        for args in (["model.ease"], ["model.ease", "--history", "a", "--users", "b"],
                     ["model.ease", "--history", "a", "--min-user", "2"],
                     ["model.ease", "--history", "a", "-k", "0"],
                     ["model.ease", "--history", "a", "--json", "--csv"], []):
            self.fails(2, "ease: ", "recommend", *args)


class Similar(Trained):
    def test_is_the_partial_correlation(self):
        d = np.sqrt(np.diag(self.p))
        want = -self.p / np.outer(d, d)
        r = self.ease("similar", "model.ease", "react", "-k", 3, "--json")
        got = json.loads(r.out)
        self.assertEqual(got["item"], "react")
        row = want[self.ids.index("react")]
        order = sorted((j for j in range(len(row)) if self.ids[j] != "react"),
                       key=lambda j: -row[j])
        self.assertEqual([i["id"] for i in got["items"]], [self.ids[j] for j in order[:3]])
        for i in got["items"]:
            self.assertAlmostEqual(i["similarity"], row[self.ids.index(i["id"])], places=5)

    def test_csv_and_text(self):
        rows = list(csv.DictReader(io.StringIO(
            self.ease("similar", "model.ease", "react", "--csv").out)))
        self.assertEqual(list(rows[0]), ["item", "rank", "other", "similarity"])
        self.assertEqual(len(self.ease("similar", "model.ease", "react", "-k", 2)
                             .out.splitlines()), 3)

    def test_an_unknown_item_gets_suggestions(self):
        r = self.fails(3, "model.ease: no item 'raect'; did you mean .*react", "similar",
                       "model.ease", "raect")
        self.assertNotIn("mongoose", r.err)
        self.fails(3, "no item 'zzzzzz'$", "similar", "model.ease", "zzzzzz")


class Explain(Trained):
    def test_reasons_add_up_to_the_score_of_recommend(self):
        history = ["react", "redux", "lodash"]
        r = self.ease("explain", "model.ease", "--history", ",".join(history), "webpack",
                      "--json")
        got = json.loads(r.out)
        self.assertEqual(got["id"], "webpack")
        self.assertEqual({x["id"] for x in got["reasons"]}, set(history))
        parts = [x["contribution"] for x in got["reasons"]]
        self.assertEqual(parts, sorted(parts, key=lambda v: -abs(v)))
        self.assertAlmostEqual(sum(parts) + got["base"], got["score"], places=6)
        r = self.ease("recommend", "model.ease", "--history", ",".join(history), "--json")
        scores = {i["id"]: i["score"] for i in json.loads(r.out)["items"]}
        self.assertEqual(scores["webpack"], got["score"])
        for x in got["reasons"]:
            self.assertAlmostEqual(
                x["contribution"],
                self.b[self.ids.index(x["id"]), self.ids.index("webpack")], places=5)

    def test_base_is_shown_where_there_is_one(self):
        self.ease("train", "ratings.csv", "-o", "c", "--lambda", "2", "--kind", "correlation")
        r = self.ease("explain", "c", "--history", "react", "webpack")
        self.assertIn("(base)", r.out)
        rows = list(csv.DictReader(io.StringIO(
            self.ease("explain", "c", "--history", "react", "webpack", "--csv").out)))
        self.assertEqual([row["role"] for row in rows], ["score", "base", "reason"])
        self.assertAlmostEqual(float(rows[0]["contribution"]),
                               sum(float(row["contribution"]) for row in rows[1:]), places=6)
        r = self.ease("explain", "model.ease", "--history", "react", "webpack")
        self.assertNotIn("(base)", r.out)

    def test_unknown_ids_and_empty_histories_are_told(self):
        r = self.ease("explain", "model.ease", "--history", "react,nope", "webpack")
        self.assertIn("1 of the history unknown", r.out)
        self.assertIn("nope", r.err)
        r = self.ease("explain", "model.ease", "--history", "nope", "webpack")
        self.assertIn("no item of the history is known", r.out)
        self.fails(3, "no item 'webpak'; did you mean webpack", "explain", "model.ease",
                   "--history", "react", "webpak")
        self.ease("explain", "model.ease", "--history", "react,redux", "react")
        self.fails(2, "--history", "explain", "model.ease", "react")
        self.fails(2, "one --history", "explain", "model.ease", "react", "--history", "a",
                   "--history", "b")


class Gram(Case):
    def test_merge_equals_the_whole(self):
        pairs = small_pairs()
        half = [p for p in pairs if int(p[0][1:]) < 30]
        rest = [p for p in pairs if int(p[0][1:]) >= 30]
        for name, rows in (("a", half), ("b", rest), ("all", pairs)):
            self.write(name + ".csv", as_csv(rows))
            self.ease("gram", name + ".csv", "-o", name + ".gram")
        r = self.ease("gram", "merge", "a.gram", "b.gram", "-o", "c.gram", "--json")
        facts = json.loads(r.out)
        self.assertEqual((facts["users"], facts["items"], facts["interactions"]),
                         (60, 8, len(pairs)))
        for name in ("c", "all"):
            self.ease("train", "--gram", name + ".gram", "-o", name, "--lambda", "2")
            self.ease("export", name, "-o", name + ".npy", "--items", name + ".txt")
        c, whole = (np.load(self.path(n + ".npy")) for n in ("c", "all"))
        order = [self.read("c.txt").split().index(i) for i in self.read("all.txt").split()]
        np.testing.assert_allclose(c[np.ix_(order, order)], whole, atol=1e-5)

    def test_import_of_triplets_and_npy(self):
        pairs = small_pairs()
        ids, b, _ = weights(pairs, 2.0)
        users = sorted({u for u, _ in pairs})
        have = set(pairs)
        g = np.array([[sum((u, i) in have and (u, j) in have for u in users)
                       for j in ids] for i in ids], dtype=np.float64)
        self.write("ids.txt", "".join(i + "\n" for i in ids))
        self.write("t.csv", "".join(f"{ids[i]},{ids[j]},{int(g[i, j])}\n"
                                    for i in range(8) for j in range(i, 8) if g[i, j]))
        np.save(self.path("g.npy"), g)
        for source in ("t.csv", "g.npy"):
            self.ease("gram", "import", source, "-o", "g.gram", "--items", "ids.txt",
                      "--users", "60")
            self.ease("train", "--gram", "g.gram", "-o", "m", "--lambda", "2", "--storage",
                      "f32")
            self.ease("export", "m", "-o", "b.npy")
            np.testing.assert_allclose(np.load(self.path("b.npy")), b, atol=1e-5)
        g[0, 1] += 1
        np.save(self.path("bad.npy"), g)
        self.fails(3, "bad.npy", "gram", "import", "bad.npy", "-o", "x", "--items", "ids.txt")
        self.write("bad.csv", "a,a,1\nb,b,1\na,b,2\n")
        self.fails(3, "bad.csv", "gram", "import", "bad.csv", "-o", "x")
        self.assertFalse(os.path.exists(self.path("x")))

    def test_usage(self):
        self.write("a.csv", as_csv(small_pairs()))
        for args in (["merge", "a.gram"], ["import"], ["sql"], ["a.csv", "b.csv"],
                     ["a.csv", "--users", "3"], ["merge", "a", "b", "--min-user", "2"], []):
            self.fails(2, "ease: ", "gram", *args, "-o", "x.gram")
        self.fails(2, "--output", "gram", "a.csv")
        self.fails(2, "standard output", "gram", "a.csv", "-o", "-")


class PlanInfoSynthExport(Trained):
    def test_plan_of_data_sizes_and_gram(self):
        self.ease("gram", "ratings.csv", "-o", "x.gram")
        for args in (["ratings.csv"], ["--items", "8", "--users", "60", "--interactions",
                                       "200"], ["x.gram"]):
            r = self.ease("plan", *args, "--json")
            facts = json.loads(r.out)
            self.assertEqual(facts["items"], 8)
            self.assertTrue(facts["fits"])
            for key in ("matrix_bytes", "peak_bytes", "model_bytes_f32", "model_bytes_f16",
                        "model_bytes_packed", "gram_seconds", "solve_seconds",
                        "write_seconds", "gflops"):
                self.assertGreaterEqual(facts[key], 0, key)
        self.assertRegex(self.ease("plan", "ratings.csv").out, r"peak memory +[\d.]+ .?B")
        rows = list(csv.DictReader(io.StringIO(self.ease("plan", "x.gram", "--csv").out)))
        self.assertIn({"fact": "items", "value": "8"}, rows)

    def test_plan_of_f32_is_what_f32_takes(self):
        n = 20480
        r = self.ease("plan", "--items", n, "--memory-limit", "100G", "--json")
        facts = json.loads(r.out)
        self.assertGreaterEqual(facts["matrix_bytes"], 2 * n * n)
        self.assertLessEqual(facts["peak_bytes"], 2.2 * n * n + 100e6)
        r = self.ease("plan", "--items", n, "--memory-limit", "100GiB", "--precision", "f64",
                      "--json")
        self.assertGreaterEqual(json.loads(r.out)["matrix_bytes"], 4 * n * n)

    def test_what_does_not_fit_is_refused_before_the_work(self):
        r = self.ease("plan", "--items", "2000000", code=4)
        self.assertRegex(r.out, r"fits +no")
        self.assertRegex(r.err, r"ease: 2,000,000 items need .* of memory, .* available")
        r = self.ease("plan", "--items", "20000", "--memory-limit", "500M", code=4)
        self.assertIn("500 MB are available", r.err)
        self.ease("synth", "-o", "s.csv", "--users", 3000, "--items", 3000,
                  "--interactions", 9000)
        self.fails(4, "3,000 items need .*15.0 MB are available", "train", "s.csv", "-o", "m",
                   "--lambda", "1", "--memory-limit", "15M")
        self.assertFalse(os.path.exists(self.path("m")))

    def test_info_of_each_kind_of_file(self):
        facts = json.loads(self.ease("info", "ratings.csv", "--json").out)
        self.assertEqual(facts["file"], "data")
        self.assertEqual((facts["users"], facts["items"], facts["interactions"]),
                         (60, 8, len(self.pairs)))
        lengths = sorted(len(history_of(self.pairs, f"u{u}")) for u in range(60))
        self.assertEqual(facts["longest_user"], lengths[-1])
        self.assertEqual(facts["median_user"], lengths[29])
        top = max(self.ids, key=lambda i: sum(1 for _, j in self.pairs if i == j))
        self.assertEqual(facts["popular"][0]["id"], top)
        facts = json.loads(self.ease("info", "model.ease", "--json").out)
        self.assertEqual((facts["file"], facts["items"], facts["lambda"], facts["kind"]),
                         ("model", 8, 2, "counts"))
        self.assertEqual(facts["popular"][0]["id"], top)
        self.assertEqual(facts["bytes"], os.path.getsize(self.path("model.ease")))
        self.ease("gram", "ratings.csv", "-o", "x.gram")
        facts = json.loads(self.ease("info", "x.gram", "--json", "--verify").out)
        self.assertEqual((facts["file"], facts["users"], facts["entries"]),
                         ("gram", 60, "counts"))
        for name in ("ratings.csv", "model.ease", "x.gram"):
            r = self.ease("info", name)
            self.assertRegex(r.out, r"items +8\n")
            self.assertEqual(r.err, "")
            rows = list(csv.DictReader(io.StringIO(self.ease("info", name, "--csv").out)))
            self.assertIn({"fact": "items", "value": "8"}, rows)
        facts = json.loads(self.ease("info", "-", "--json", input=self.read("ratings.csv")).out)
        self.assertEqual(facts["users"], 60)
        self.fails(3, "ratings.csv", "info", "ratings.csv", "--verify")

    def test_synth_keeps_its_promises(self):
        args = ["--users", 300, "--items", 50, "--interactions", 2000, "--seed", 9]
        self.ease("synth", "-o", "a.csv", *args)
        self.ease("synth", "-o", "b.csv", *args, "--threads", 1)
        out = self.ease("synth", "-o", "-", *args).raw
        self.assertEqual(self.read("a.csv"), self.read("b.csv"))
        self.assertEqual(self.read("a.csv"), out)
        rows = [tuple(line.split(",")) for line in out.decode().splitlines()[1:]]
        self.assertEqual(len(rows), 2000)
        self.assertEqual(len(set(rows)), 2000)
        self.assertEqual(len({u for u, _ in rows}), 300)
        self.assertEqual(len({i for _, i in rows}), 50)
        self.ease("synth", "-o", "c.csv", *args[:-1], 10)
        self.assertNotEqual(self.read("a.csv"), self.read("c.csv"))
        r = self.ease("synth", "-o", "d.csv", *args, "--json")
        self.assertEqual(json.loads(r.out)["interactions"], 2000)
        for pairs in (3, 26):
            self.fails(2, "interactions|pairs", "synth", "-o", "x", "--users", 5, "--items", 5,
                       "--interactions", pairs)
        self.fails(2, "--seed", "synth", "-o", "x", *args[:-1], "1" * 30)

    def test_export_in_every_form(self):
        self.ease("export", "model.ease", "-o", "b.npy", "--items", "ids.txt")
        b = np.load(self.path("b.npy"))
        self.assertEqual(b.dtype, np.float32)
        self.assertEqual(self.read("ids.txt").decode().split(), self.ids)
        np.testing.assert_allclose(b, self.b, atol=1e-5)
        self.assertTrue((np.diag(b) == 0).all())
        for name, mark in (("b.csv", ","), ("b.tsv", "\t")):
            self.ease("export", "model.ease", "-o", name)
            got = np.zeros_like(b)
            for row in csv.reader(io.StringIO(self.read(name).decode()), delimiter=mark):
                if row[0] in self.ids:
                    got[self.ids.index(row[0]), self.ids.index(row[1])] = float(row[2])
            np.testing.assert_array_equal(got, b)
        out = self.ease("export", "model.ease", "-o", "-", "--top", 2).out
        rows = [r for r in csv.reader(io.StringIO(out)) if r[0] in self.ids]
        self.assertEqual(len(rows), 16)
        for i, item in enumerate(self.ids):
            largest = set(np.argsort(-abs(b[i]))[:2])
            self.assertEqual({self.ids.index(r[1]) for r in rows if r[0] == item}, largest)
        self.fails(2, "--top", "export", "model.ease", "-o", "x.npy", "--top", 3)
        self.ease("train", "-", "-o", "n", "--lambda", 1, input='u,i\na,"x\ry"\na,z\nb,z\n')
        self.fails(3, "ids.txt: item 2 has a line break", "export", "n", "-o", "x.npy",
                   "--items", "ids.txt")
        self.assertEqual(self.read("ids.txt").decode().split(), self.ids)
        self.fails(1, "no/dir", "export", "model.ease", "-o", "x.npy", "--items", "no/dir/x")
        left = set(os.listdir(self.dir))
        self.assertFalse([n for n in left if "part" in n], left)


class BadData(Case):
    """Each gets a line that says where and what, exit 3, and no model."""

    def bad(self, content, pattern, *options, code=3):
        self.write("bad.csv", content)
        self.fails(code, pattern, "train", "-q", "bad.csv", "-o", "m", "--lambda", "1",
                   *options)
        self.assertEqual(os.listdir(self.dir), ["bad.csv"])

    def test_empty_file(self):
        self.bad("", r"bad\.csv.*(empty|no )")

    def test_only_blank_lines(self):
        self.bad("\n\n\n", r"bad\.csv")

    def test_header_only(self):
        self.bad("user,item,rating\n", r"bad\.csv")

    def test_binary_file(self):
        self.bad(bytes(range(256)) * 40, r"bad\.csv")
        self.bad(b"\x7fELF\x02\x01\x01" + bytes(3000), r"bad\.csv")

    def test_lines_that_end_with_cr_alone(self):
        self.bad("1\ta\r2\tb\r1\tc\r", r"bad\.csv:1: lines end with CR alone")

    def test_a_line_without_end_keeps_to_the_limit(self):
        self.fails(3, "binary", "info", "/dev/zero", timeout=20)
        line = b"u," + b"x" * (80 << 20)
        for text in (line, b"u,x\n" * 90000 + line, line[:200000] + b"\r" + line):
            self.write("x.gz", gzip.compress(text, 1))
            code, pattern = (3, "CR alone") if b"\r" in text else (4, "MB; the limit is 30 MB")
            self.fails(code, pattern, "train", "x.gz", "-o", "m", "--lambda", "1",
                       "--memory-limit", "30M")

    def test_damaged_compression(self):
        good = gzip.compress(as_csv(small_pairs()).encode())
        self.bad(good[:len(good) // 2], r"bad\.csv")
        self.bad(good[:20] + b"xxxx" + good[24:], r"bad\.csv")
        self.bad(b"\x28\xb5\x2f\xfd" + bytes(50), r"bad\.csv")

    def test_missing_path(self):
        self.fails(1, r"none\.csv.*No such file", "train", "none.csv", "-o", "m", "--lambda",
                   "1")
        self.fails(1, r"none\.ease.*No such file", "recommend", "none.ease", "--history", "a")
        self.fails(1, r"none\.gram.*No such file", "train", "--gram", "none.gram", "-o", "m",
                   "--lambda", "1")
        self.fails(1, r"none.*No such file", "info", "none")
        self.write("x.csv", as_csv(small_pairs()))
        self.fails(1, r"none\.csv.*No such file", "train", "x.csv", "-o", "m", "--lambda",
                   "1", "--titles", "none.csv")

    def test_directory_for_a_file(self):
        os.mkdir(self.path("d"))
        self.fails(3, r"\bd: a directory without a data set", "train", "d", "-o", "m", "--lambda",
                   "1")
        self.fails(1, r"\bd\b", "recommend", "d", "--history", "a")

    def as_nobody(self):
        """How to run the program without the rights of root."""
        if os.geteuid() != 0:
            return {}
        how = {"before": lambda: os.setuid(65534)}
        try:
            run("--version", **how)
        except (PermissionError, subprocess.SubprocessError):
            self.skipTest("root may do everything, and nobody cannot run the program")
        return how

    def test_devices_need_no_right_to_their_directory(self):
        os.chmod(self.dir, 0o755)
        os.chmod(self.write("x.csv", as_csv(small_pairs())), 0o644)
        how = self.as_nobody()
        self.ease("train", "x.csv", "-o", "/dev/null", "--lambda", "1", **how)
        self.ease("gram", "x.csv", "-o", "/dev/null", **how)
        os.mkfifo(self.path("f"), 0o400)
        self.fails(1, "f: cannot write: Permission denied", "train", "x.csv", "-o", "f",
                   "--lambda", "1", **how)

    def test_a_link_is_checked_where_it_leads(self):
        how = self.as_nobody()
        os.chmod(self.dir, 0o755)
        os.chmod(self.write("x.csv", as_csv(small_pairs())), 0o644)
        for name, mode in (("open", 0o777), ("shut", 0o555)):
            os.mkdir(self.path(name))
            os.chmod(self.path(name), mode)
        os.mkdir(self.path("links"))
        os.symlink("../open/new", self.path("links/a"))
        os.symlink(self.path("links/a"), self.path("links/b"))
        os.symlink("../shut/new", self.path("links/c"))
        r = self.fails(1, "c: cannot write to the directory '.*shut'.*denied", "train",
                       "x.csv", "-o", "links/c", "--lambda", "1", **how)
        self.assertNotIn("users", r.err)
        os.chmod(self.write("open/new", "old"), 0o666)
        self.ease("train", "x.csv", "-o", "links/b", "--lambda", "1", **how)
        self.assertTrue(os.path.islink(self.path("links/b")))
        self.ease("info", "open/new")

    def test_unreadable_path(self):
        how = self.as_nobody()
        os.chmod(self.dir, 0o777)
        os.chmod(self.write("x.csv", "u,i\na,b\n"), 0)
        self.fails(1, r"x\.csv.*Permission denied", "train", "x.csv", "-o", "m", "--lambda",
                   "1", **how)
        os.chmod(self.dir, 0o555)
        os.chmod(self.path("x.csv"), 0o644)
        r = self.fails(1, r"m: cannot write.*Permission denied", "train", "x.csv", "-o", "m",
                       "--lambda", "1", **how)
        self.assertNotIn("users", r.err)
        os.chmod(self.dir, 0o755)

    def test_ragged_rows_are_named_by_line(self):
        self.bad("user,item,rating\na,b,3\nc,d\n", r"bad\.csv:3: ")
        self.bad("user,item,rating\n" + "a,b,3\n" * 5000 + "a,b,3,4\n" + "a,c,3\n" * 5000,
                 r"bad\.csv:5002: ")

    def test_bad_ratings_are_named_by_line(self):
        for value in ("x", "nan", "NaN", "inf", "-inf", "1e400", "1.5.2", "--3", ""):
            with self.subTest(value=value):
                self.bad(f"user,item,rating\na,b,3\nc,d,{value}\ne,f,2\n", r"bad\.csv:3: ")

    def test_values_are_checked_with_every_use(self):
        for options in ([], ["--weights"], ["--min-rating", "2"]):
            self.bad("user,item,rating\na,b,3\nc,d,zzz\n", r"bad\.csv:3: ", *options)

    def test_unclosed_quote(self):
        self.bad('user,item\na,b\nc,"d\n', r"bad\.csv")

    def test_nothing_left_after_filters(self):
        self.bad("user,item,rating\na,b,3\nc,d,1\n", r"bad\.csv", "--min-rating", "4")
        self.bad("user,item\na,b\nc,d\n", r"bad\.csv", "--min-user", "5")

    def test_columns_that_do_not_exist(self):
        self.write("x.csv", as_csv(small_pairs()))
        for columns in ("user,thing", "1,9", "user", "1,1,1,1", ""):
            with self.subTest(columns=columns):
                r = run("train", "x.csv", "-o", "m", "--lambda", "1", "--columns", columns,
                        cwd=self.dir)
                self.assertIn(r.code, (2, 3), r)
                self.assertRegex(r.err, "(?m)^ease: ")

    def test_models_and_gram_files_are_no_data(self):
        self.write("x.csv", as_csv(small_pairs()))
        self.ease("train", "x.csv", "-o", "m", "--lambda", "1")
        self.ease("gram", "x.csv", "-o", "g")
        self.fails(3, "m: a model", "train", "m", "-o", "n", "--lambda", "1")
        self.fails(3, "g: a Gram file", "train", "g", "-o", "n", "--lambda", "1")
        self.fails(3, "x.csv", "recommend", "x.csv", "--history", "a")
        self.fails(3, "g: ", "recommend", "g", "--history", "a")
        self.fails(3, "m: ", "train", "--gram", "m", "-o", "n", "--lambda", "1")


class OddData(Case):
    """What looks bad and is not."""

    def trained(self, content, *options):
        self.write("odd.csv", content)
        r = self.ease("train", "odd.csv", "-o", "m", "--lambda", "1", "--json", *options)
        return json.loads(r.out)

    def test_ids_of_any_length_and_bytes(self):
        long = "x" * 100_000
        rows = b"user,item\nu1," + long.encode() + b"\nu1,\xff\xfe\nu2,\xff\xfe\nu2,b\n"
        self.assertEqual(self.trained(rows)["items"], 3)
        out = self.ease("recommend", "m", "--history", "b", "--json").out
        self.assertEqual({i["id"] for i in json.loads(out)["items"]}, {long, "\ufffd\ufffd"})
        self.assertIn(b"\xff\xfe", self.ease("recommend", "m", "--history", "b", "--csv").raw)
        text = self.ease("recommend", "m", "--history", "b").raw
        self.assertNotIn(b"\xff", text)

    def test_numbers_past_64_bits_are_ids_like_others(self):
        a, b = "9" * 30, "1" + "0" * 40
        self.assertEqual(self.trained(f"user,item\nx,{a}\nx,{b}\ny,{a}\n")["items"], 2)
        out = self.ease("recommend", "m", "--history", b, "--json").out
        self.assertEqual(json.loads(out)["items"][0]["id"], a)

    def test_hostile_ids_do_not_drive_the_terminal(self):
        rows = 'user,item\nu,"\033[31mred\033]0;x\007"\nu,b\nv,\u202eback\nv,b\n'
        self.trained(rows)
        r = self.ease("recommend", "m", "--history", "b")
        self.assertNotIn("\033", r.out)
        self.assertNotIn("\007", r.out)
        self.assertNotIn("\u202e", r.out)
        self.assertEqual(len(r.out.splitlines()), 3)
        ids = {i["id"] for i in json.loads(
            self.ease("recommend", "m", "--history", "b", "--json").out)["items"]}
        self.assertEqual(ids, {"\033[31mred\033]0;x\007", "\u202eback"})
        rows = list(csv.DictReader(io.StringIO(
            self.ease("recommend", "m", "--history", "b", "--csv").out)))
        self.assertEqual({row["item"] for row in rows}, ids)
        r = self.ease("similar", "m", "\033[2J", code=3)
        self.assertNotIn("\033", r.err)

    def test_quotes_and_crlf(self):
        facts = self.trained('user,item\r\n"a","x, ""y"""\r\nb,"x, ""y"""\r\nb,z\r\n')
        self.assertEqual((facts["users"], facts["items"], facts["interactions"]), (2, 2, 3))
        out = self.ease("recommend", "m", "--history", "z", "--json").out
        self.assertEqual(json.loads(out)["items"][0]["id"], 'x, "y"')

    def test_one_user_one_item(self):
        self.assertEqual(self.trained("user,item\na,x\na,y\n")["users"], 1)
        self.assertEqual(self.trained("user,item\na,x\nb,x\n")["items"], 1)
        out = self.ease("recommend", "m", "--history", "x", "--json").out
        self.assertEqual(json.loads(out)["items"], [])
        out = self.ease("similar", "m", "x", "--json").out
        self.assertEqual(json.loads(out)["items"], [])
        self.assertEqual(self.trained("user,item\na,x\n")["interactions"], 1)
        for kind in ("covariance", "correlation"):
            self.trained("user,item\na,x\na,y\n", "--kind", kind)

    def test_items_nobody_rated(self):
        self.write("ids.txt", "a\nb\nnobody\n")
        self.write("t.csv", "a,a,3\na,b,1\nb,b,2\n")
        self.ease("gram", "import", "t.csv", "-o", "g", "--items", "ids.txt", "--users", "4")
        for kind in ("counts", "covariance", "correlation"):
            self.ease("train", "--gram", "g", "-o", "m", "--lambda", "1", "--kind", kind)
            self.ease("export", "m", "-o", "b.npy")
            b = np.load(self.path("b.npy"))
            self.assertTrue(np.isfinite(b).all())
            self.assertTrue((b[2] == 0).all() and (b[:, 2] == 0).all())

    def test_repeated_pairs_are_told(self):
        self.write("x", "user,item\na,x\na,x\nb,x\nb,y\n")
        r = self.ease("train", "x", "-o", "m", "--lambda", "1")
        self.assertRegex(r.err, "1 repeated")


class Lambda(Case):
    def test_must_be_finite_and_above_zero(self):
        self.write("x.csv", as_csv(small_pairs()))
        for value in ("0", "-1", "nan", "inf", "-inf", "1e999", "x", "", "1x", "0x", "-0"):
            with self.subTest(value=value):
                r = self.fails(2, "--lambda", "train", "x.csv", "-o", "m", "--lambda", value)
                self.assertEqual(r.err.splitlines()[1], "try 'ease train --help'")
        self.fails(2, "--lambda L is required", "train", "x.csv", "-o", "m")
        self.fails(2, "--lambda needs a value", "train", "x.csv", "-o", "m", "--lambda")

    def test_too_small_is_a_numerical_failure(self):
        # Two columns are equal: without lambda the matrix has no inverse.
        self.write("x.csv", "user,item\n" + "".join(f"u{u},a\nu{u},b\n" for u in range(5)))
        self.fails(5, "lambda", "train", "x.csv", "-o", "m", "--lambda", "1e-30")
        self.assertFalse(os.path.exists(self.path("m")))


class Usage(Case):
    def test_nothing_at_all_gets_an_overview_and_exit_2(self):
        r = self.ease(code=2)
        self.assertEqual(r.out, "")
        for verb in VERBS:
            self.assertRegex(r.err, rf"(?m)^  {verb} ")

    def test_help_of_every_verb(self):
        self.assertIn("train", self.ease("--help").out)
        self.assertIn("train", self.ease("help").out)
        for verb in VERBS:
            a, b = self.ease("help", verb), self.ease(verb, "--help")
            self.assertEqual(a.out, b.out)
            self.assertEqual(a.err, "")
            self.assertRegex(a.out, rf"Usage: ease {verb} ")
            self.assertLessEqual(max(map(len, a.out.splitlines())), 88)
            self.assertEqual(self.ease(verb, "-h").out, a.out)

    def test_version(self):
        self.assertRegex(self.ease("--version").out, r"^ease \d+\.\d+\.\d+\n$")

    def test_slips_get_a_suggestion(self):
        self.fails(2, r"unknown verb 'trian'; did you mean train\?", "trian")
        self.fails(2, r"unknown option --lamda; did you mean --lambda\?", "train", "x",
                   "--lamda", "3")
        self.fails(2, r"unknown option --xyzzy$", "train", "--xyzzy")
        self.fails(2, r"unknown option -z", "train", "-z")
        self.fails(2, r"--quiet takes no value", "train", "--quiet=yes")
        self.fails(2, r"a verb comes first", "--lambda")
        self.fails(2, r"unknown verb 'nothing'", "help", "nothing")

    def test_one_of_two_is_wanted(self):
        for args, other in ((["train", "-o", "m", "--lambda", "1"], ["--gram", "g"]),
                            (["plan"], ["--items", "5"])):
            self.fails(2, "either DATA or .* is required", *args)
            self.fails(2, "either DATA or .*, not both", *args, "x.csv", *other)
        self.fails(2, "either --history or .* is required", "recommend", "m")
        self.fails(2, "either --history or .*, not both", "recommend", "m", "--history", "a",
                   "--users", "x.csv")

    def test_options_for_reading_need_data(self):
        self.write("x.csv", as_csv(small_pairs()))
        self.ease("train", "x.csv", "-o", "m", "--lambda", "1")
        self.ease("gram", "x.csv", "-o", "g")
        for verb, name in (("info", "m"), ("info", "g"), ("plan", "g")):
            self.fails(2, "options for reading do not apply", verb, name, "--weights")

    def test_bad_values_are_usage_errors(self):
        for args in (["--threads", "x"], ["--threads", "-1"], ["--threads", "9" * 30],
                     ["--kind", "count"], ["--storage", "f8"], ["--precision", ""],
                     ["--memory-limit", "2X"], ["--memory-limit", "-1G"],
                     ["--memory-limit", "nan"], ["--header", "maybe"], ["--min-rating", "x"],
                     ["--min-user", "1.5"], ["--repeat", "all"], ["--format", "x"],
                     ["extra"], ["--gram", "g"]):
            with self.subTest(args=args):
                self.write("x.csv", as_csv(small_pairs()))
                r = self.fails(2, "ease: ", "train", "x.csv", "-o", "m", "--lambda", "1", *args)
                self.assertFalse(os.path.exists(self.path("m")), r)
        self.fails(2, "DATA or --gram", "train", "-o", "m", "--lambda", "1")
        self.fails(2, "--gram|Gram", "train", "--gram", "g", "-o", "m", "--lambda", "1",
                   "--min-user", "3")
        self.fails(2, "--output FILE is required", "train", "x.csv", "--lambda", "1")
        self.fails(2, "standard output", "train", "x.csv", "-o", "-", "--lambda", "1")

    def test_sizes(self):
        for text, bytes_ in (("500M", 500_000_000), ("2G", 2_000_000_000),
                             ("2GiB", 2 << 30), ("1.5kB", 1500), ("64KiB", 65536),
                             ("3000000", 3_000_000)):
            r = run("plan", "--items", "100", "--memory-limit", text, "--json")
            self.assertEqual(json.loads(r.out)["available_bytes"], bytes_, text)


class Documents(Case):
    """The man page and the completions come from the same tables as the help."""

    def options_of(self, verb):
        return re.findall(r"(?m)^  (?:-\w, |    )(--[a-z-]+)", self.ease("help", verb).out)

    def test_every_option_is_in_the_man_page(self):
        page = self.ease("generate", "man").out
        plain = page.replace("\\-", "-")
        for verb in VERBS:
            self.assertIn(f".SS ease {verb}\n", page)
            section = plain.split(f".SS ease {verb}\n")[1].split("\n.SS")[0]
            options = self.options_of(verb)
            self.assertIn("--help", options)
            for option in options:
                self.assertIn(option, section)

    def test_the_man_page_is_clean(self):
        self.write("ease.1", self.ease("generate", "man").out)
        if not shutil.which("mandoc"):
            self.skipTest("no mandoc")
        done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", self.path("ease.1")],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_completions_are_valid_and_complete(self):
        for shell in ("bash", "zsh", "fish"):
            text = self.ease("generate", shell).out
            for verb in VERBS:
                for option in self.options_of(verb):
                    wanted = f"-l {option[2:]}" if shell == "fish" else option
                    self.assertIn(wanted, text)
            if shutil.which(shell):
                self.write("c", text)
                done = subprocess.run([shell, "-n", self.path("c")], capture_output=True,
                                      text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def complete(self, *words):
        self.write("c", self.ease("generate", "bash").out)
        script = (f"source {self.path('c')}; COMP_WORDS=({' '.join(map(shlex.quote, words))});"
                  f" COMP_CWORD={len(words) - 1}; _ease; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True,
                              cwd=self.dir, check=True)
        return done.stdout.split()

    def test_bash_completes(self):
        self.assertEqual(self.complete("ease", "tr"), ["train"])
        self.assertEqual(self.complete("ease", "train", "--la"), ["--lambda"])
        self.assertEqual(self.complete("ease", "train", "--kind", "cov"), ["covariance"])
        self.write("ratings.csv", "")
        self.assertEqual(self.complete("ease", "train", "rat"), ["ratings.csv"])
        self.assertEqual(self.complete("ease", "gram", "me"), ["merge"])

    def test_generate_is_hidden_and_strict(self):
        self.assertNotIn("generate", self.ease("--help").out)
        self.fails(2, "man, bash, zsh or fish", "generate", "html")

    def test_the_examples_of_the_help_work(self):
        pairs = small_pairs()
        for name in ("ratings.csv", "monday.csv", "tuesday.csv"):
            self.write(name, as_csv([(u, i, 3 + len(i) % 3) for u, i in pairs],
                                    "user,item,rating"))
        self.write("items.csv", "id,title\n" + "".join(f"{i},About {i}\n" for i in ITEMS))
        self.write("mine.txt", "react\nlodash\n")
        self.write("seen.txt", "redux\n")
        self.write("pairs.csv", "a,a,3\na,b,1\nb,b,2\n")
        self.write("ids.txt", "a\nb\n")
        for verb in ("synth", "gram", "train", "recommend", "similar", "explain", "plan",
                     "info", "export", "help"):
            text = self.ease("help", verb).out.split("\nExamples:\n")[1]
            examples = [s.strip() for s in text.splitlines() if s.strip()]
            self.assertTrue(examples)
            for line in examples:
                words = shlex.split(line)
                self.assertEqual(words[:2], ["ease", verb])
                r = run(*words[1:], cwd=self.dir)
                allowed = (0, 4) if "--items 40981" in line else (0,)
                self.assertIn(r.code, allowed, f"{line}\n{r}")


class Output(Trained):
    """Where results go, and what happens when they cannot."""

    def test_an_output_directory_must_exist_before_the_work(self):
        for args in (["train", "ratings.csv", "--lambda", "1"], ["gram", "ratings.csv"],
                     ["export", "model.ease"],
                     ["synth", "--users", 5, "--items", 5, "--interactions", 9]):
            r = self.fails(1, "no/such/x.npy.*No such file or directory", *args, "-o",
                           "no/such/x.npy")
            self.assertNotIn("users", r.err)
        self.fails(1, "is a directory", "train", "ratings.csv", "--lambda", "1", "-o", ".")

    def test_what_was_made_is_told_in_json_and_csv(self):
        for args in (["train", "ratings.csv", "-o", "m", "--lambda", "1"],
                     ["train", "ratings.csv", "-o", "m", "--model", "popularity"],
                     ["gram", "ratings.csv", "-o", "g"],
                     ["synth", "-o", "s", "--users", 5, "--items", 5, "--interactions", 9],
                     ["split", "ratings.csv", "-o", "d", "--protocol", "leave-last"]):
            made = json.loads(self.ease(*args, "--json").out)
            shutil.rmtree(self.path("d"), ignore_errors=True)
            flat = {}
            for key, value in made.items():
                if isinstance(value, dict):
                    flat.update({f"{key}_{k}": v for k, v in value.items()})
                else:
                    flat[key] = value
            rows = list(csv.reader(io.StringIO(self.ease(*args, "--csv").out)))
            self.assertEqual(rows[0], ["fact", "value"])
            self.assertEqual([row[0] for row in rows[1:]], list(flat))
            for key, value in rows[1:]:
                if key != "seconds" and not key.startswith("phases_"):
                    self.assertEqual(value.lower(), str(flat[key]).lower().removesuffix(".0"),
                                     key)
        self.fails(2, "--csv and -o - exclude", "synth", "-o", "-", "--users", 5, "--items", 5,
                   "--interactions", 9, "--csv")

    def test_a_full_disk_for_standard_output(self):
        for args in (["recommend", "model.ease", "--history", "react"],
                     ["recommend", "model.ease", "--users", "ratings.csv"],
                     ["similar", "model.ease", "react", "--json"],
                     ["explain", "model.ease", "--history", "react", "redux"],
                     ["info", "model.ease"], ["plan", "--items", "10"], ["help"],
                     ["export", "model.ease", "-o", "-"],
                     ["synth", "-o", "-", "--users", 5, "--items", 5, "--interactions", 9],
                     ["train", "ratings.csv", "-o", "m", "--lambda", "1", "--json"]):
            with open("/dev/full", "wb") as full, self.subTest(args=args):
                r = run(*args, cwd=self.dir, stdout=full)
                self.assertEqual(r.code, 1, r)
                self.assertRegex(r.err, "ease: .*No space left on device")

    def test_a_full_disk_for_a_file(self):
        self.fails(1, "No space left", "train", "ratings.csv", "-o", "/dev/full", "--lambda",
                   "1")
        self.fails(1, "No space left", "gram", "ratings.csv", "-o", "/dev/full")
        self.fails(1, "No space left", "export", "model.ease", "-o", "/dev/full")
        self.assertTrue(os.path.exists("/dev/full"))

    def test_a_disk_full_in_mid_write_leaves_the_old_file(self):
        self.ease("synth", "-o", "s.csv", "--users", 500, "--items", 400, "--interactions",
                  4000)
        before = self.read("model.ease")
        files = set(os.listdir(self.dir))
        # Not below 1,024: clang's OpenMP makes a file of that size before main begins.
        for limit in (5000, 100_000, 500_000):
            self.fails(1, "model.ease.*File too large", "train", "s.csv", "-o", "model.ease",
                       "--lambda", "1", "--storage", "f32",
                       before=lambda n=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (n, n)))
            self.assertEqual(self.read("model.ease"), before)
            self.assertEqual(set(os.listdir(self.dir)), files)

    def test_closed_standard_files_are_no_trap(self):
        for which in (0, 1, 2):
            done = subprocess.run(
                ["bash", "-c", f"exec {which}>&-; exec {EASE} train -q ratings.csv -o "
                 f"c{which} --lambda 2 --storage f32"], cwd=self.dir, check=False)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(self.read(f"c{which}"), self.read("model.ease"))
        done = subprocess.run(["bash", "-c", f"exec {EASE} info model.ease >&-"],
                              cwd=self.dir, capture_output=True, check=False)
        self.assertEqual(done.returncode, 1)

    def test_a_reader_that_goes_away_is_no_complaint(self):
        done = subprocess.run(
            ["bash", "-c", f"{EASE} recommend -q model.ease --users ratings.csv --json | "
             "head -n 1; echo ${PIPESTATUS[0]}"], cwd=self.dir, capture_output=True,
            text=True, check=True)
        self.assertIn(done.stdout.splitlines()[-1], ("0", "141"))
        self.assertEqual(done.stderr, "")


class Damage(Trained):
    """Files that are cut, flipped, foreign or from the future: exit 3, never a crash."""

    def setUp(self):
        super().setUp()
        self.ease("gram", "ratings.csv", "-o", "x.gram")

    def uses(self, name, content):
        self.write(name, content)
        gram = name.endswith(".gram")
        yield ["info", name, "--verify"]
        if gram:
            yield ["train", "--gram", name, "-o", "out", "--lambda", "1"]
        else:
            yield ["recommend", name, "--history", "react"]

    def test_cut_files(self):
        rng = random.Random(3)
        for name in ("model.ease", "x.gram"):
            good = self.read(name)
            for size in [1, 7, 8, 100, 4095, 4096, len(good) - 1] + \
                    [rng.randrange(len(good)) for _ in range(6)]:
                for args in self.uses("cut-" + name, good[:size]):
                    if args[0] == "info" and size < 8:
                        continue  # too short to be told from a text
                    self.fails(3, "cut-" + name, *args)

    def test_files_with_more_behind(self):
        for name in ("model.ease", "x.gram"):
            for args in self.uses("long-" + name, self.read(name) + b"more"):
                self.fails(3, "long-" + name, *args)

    def test_flipped_bits(self):
        rng = random.Random(4)
        for name in ("model.ease", "x.gram"):
            good = self.read(name)
            used = [i for i, b in enumerate(good) if b and i >= 8]
            for at in rng.sample(used, 12):
                bad = bytearray(good)
                bad[at] ^= 1 << rng.randrange(8)
                for args in self.uses("flip-" + name, bytes(bad)):
                    r = run(*args, cwd=self.dir)
                    # Weights of a model are checked only when asked for.
                    codes = (0, 3) if args[0] == "recommend" else (3,)
                    self.assertIn(r.code, codes, f"byte {at} of {name}: {r}")

    def test_foreign_files(self):
        for content in (b"\x89PNG\r\n\x1a\n" + bytes(9000), bytes(8192), b"user,item\na,b\n"):
            self.write("foreign", content)
            self.fails(3, "foreign", "recommend", "foreign", "--history", "a")
            self.fails(3, "foreign", "train", "--gram", "foreign", "-o", "m", "--lambda", "1")
            self.fails(3, "foreign", "gram", "merge", "x.gram", "foreign", "-o", "m")

    def test_files_of_a_newer_version(self):
        for name in ("model.ease", "x.gram"):
            newer = bytearray(self.read(name))
            newer[16:20] = struct.pack("<I", 99)
            for args in self.uses("newer-" + name, bytes(newer)):
                if args[0] != "info":
                    self.fails(3, "version 99", *args)

    def test_empty_files(self):
        self.write("empty", b"")
        self.fails(3, "empty", "recommend", "empty", "--history", "a")
        self.fails(3, "empty", "train", "--gram", "empty", "-o", "m", "--lambda", "1")
        self.fails(3, "empty", "info", "empty")


class Ending(Case):
    """Signals and memory, in the middle of a longer training."""

    @classmethod
    def setUpClass(cls):
        cls.store = tempfile.mkdtemp(prefix="ease-test-")
        cls.addClassCleanup(shutil.rmtree, cls.store, ignore_errors=True)
        cls.data = os.path.join(cls.store, "s.csv")
        r = run("synth", "-o", cls.data, "--users", 20000, "--items", 5000,
                "--interactions", 400000)
        assert r.code == 0, r

    def interrupt(self, number, wait, *args):
        with subprocess.Popen([EASE, *args], cwd=self.dir, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as p:
            first = p.stderr.readline()  # it has begun, and its handlers are there
            time.sleep(wait)
            p.send_signal(number)
            err = (first + p.stderr.read()).decode()
            return p.wait(), err

    def test_signals_leave_nothing_behind(self):
        self.write("m.ease", b"the old one")
        args = ["train", self.data, "-o", "m.ease", "--lambda", "100"]
        began = time.monotonic()
        self.ease(*args[:3], "full.ease", *args[4:])
        length = time.monotonic() - began
        os.remove(self.path("full.ease"))
        rng = random.Random()
        for i in range(10):
            number = (signal.SIGINT, signal.SIGTERM)[i % 2]
            code, err = self.interrupt(number, rng.random() * length, *args)
            self.assertEqual(os.listdir(self.dir), ["m.ease"], err)
            if code == 0:
                self.ease("info", "m.ease", "--verify")
                self.write("m.ease", b"the old one")
                continue
            self.assertEqual(code, 128 + number, err)
            self.assertEqual(self.read("m.ease"), b"the old one")
            word = "interrupted" if number == signal.SIGINT else "terminated"
            self.assertTrue(err.endswith(f"ease: {word}\n"), err)

    def test_signals_while_waiting_for_standard_input(self):
        with subprocess.Popen([EASE, "train", "-", "-o", "m", "--lambda", "1"], cwd=self.dir,
                              stdin=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            time.sleep(2 if SANITIZED else 0.7)
            p.send_signal(signal.SIGINT)
            try:
                self.assertEqual(p.wait(20), 130)
            finally:
                p.kill()
        self.assertEqual(os.listdir(self.dir), [])

    def test_signals_while_nobody_reads_the_output(self):
        self.write("x.csv", as_csv((f"u{u}", f"i{(u * k) % 997}") for u in range(2000)
                                   for k in range(1, 6)))
        self.ease("train", "x.csv", "-o", "m", "--lambda", "1")
        for format in ([], ["--json"], ["--csv"]):
            for args in (["recommend", "m", "--users", "x.csv"],
                         ["recommend", "m", "--users", "x.csv", "-k", "900"],
                         ["recommend", "m"] + ["--history", "i1,i2", "-k", "990"] * 9):
                number = signal.SIGTERM if format else signal.SIGINT
                with subprocess.Popen([EASE, *args, *format], cwd=self.dir,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
                    p.stdout.read(1)
                    time.sleep(0.3)
                    p.send_signal(number)
                    try:
                        self.assertEqual(p.wait(20), 128 + number, args)
                    finally:
                        p.kill()
                    self.assertRegex(p.stderr.read().decode(), r"ease: (interrup|termina)ted\n$")

    def test_an_ignored_signal_stays_ignored(self):
        self.write("x.csv", as_csv(small_pairs()))
        r = subprocess.run(["bash", "-c", f"trap '' INT; {EASE} train {self.data} -o m "
                            "--lambda 1 & sleep 0.5; kill -INT $!; wait $!"], cwd=self.dir,
                           capture_output=True, check=False)
        self.assertEqual(r.returncode, 0, r)

    @unittest.skipIf(SANITIZED, "sanitizers reserve more address space than that")
    def test_out_of_memory_is_exit_4(self):
        # From the bare start of the program, in steps, to just short of enough.
        need = 2 * 5000 * 5000
        for limit in range(200 << 20, 1200 << 20, 100 << 20):
            r = run("train", self.data, "-o", "m", "--lambda", "1", "--threads", "1",
                    cwd=self.dir, env={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                    before=lambda n=limit: resource.setrlimit(resource.RLIMIT_AS, (n, n)))
            if r.code == 0:
                break
            self.assertEqual(r.code, 4, f"{limit >> 20} MiB for {need >> 20}: {r}")
            self.assertFalse(os.path.exists(self.path("m")))
        else:
            self.fail("1.2 GB were not enough")


class Inputs(Case):
    """What is read is never destroyed."""

    def test_an_output_that_is_an_input_is_refused(self):
        self.write("d.csv", "u,i\na,x\na,y\nb,x\nb,y\n")
        self.ease("gram", "d.csv", "-o", "d.gram")
        self.ease("train", "d.csv", "-o", "d.ease", "--lambda", "1")
        for args in (["train", "d.csv", "-o", "d.csv", "--lambda", "1"],
                     ["train", "--gram", "d.gram", "-o", "./d.gram", "--lambda", "1"],
                     ["gram", "d.csv", "-o", "d.csv"],
                     ["export", "d.ease", "-o", "d.ease"]):
            before = self.read(args[-3] if "--lambda" in args else args[-1])
            self.fails(2, "would be lost", *args)
            self.assertEqual(self.read(args[-3] if "--lambda" in args else args[-1]), before)
        self.ease("gram", "merge", "d.gram", "d.gram", "-o", "d.gram")


class Progress(Case):
    """A bar on a terminal, and only there."""

    def on_terminal(self, *args, env=None, stdout=subprocess.DEVNULL):
        try:
            ours, theirs = pty.openpty()
        except OSError as why:
            self.skipTest(str(why))
        full = {**os.environ, "TERM": "xterm"}
        full.pop("NO_COLOR", None)
        full.update(env or {})
        seen = b""
        with subprocess.Popen([EASE, *args], cwd=self.dir, env=full, stdout=stdout,
                              stderr=theirs) as p:
            os.close(theirs)
            while True:
                ready, _, _ = select.select([ours], [], [], 60)
                try:
                    part = os.read(ours, 65536) if ready else b""
                except OSError:
                    part = b""
                if not part:
                    break
                seen += part
            code = p.wait()
        os.close(ours)
        self.assertEqual(code, 0, seen)
        return seen.decode()

    def setUp(self):
        super().setUp()
        self.write("x.csv", as_csv(small_pairs(3000)))
        self.args = ["train", "x.csv", "-o", "m", "--lambda", "1"]

    def test_a_terminal_gets_a_bar_that_is_cleared(self):
        seen = self.on_terminal(*self.args)
        self.assertRegex(seen, r"\r\033\[K\w[\w ]* \[\033\[32m#*\033\[m\.*\] +\d+ %")
        self.assertNotIn("%", seen.split("\033[K")[-1])
        lines = [line.split("\033[K")[-1].strip() for line in seen.split("\n")]
        self.assertTrue(any(line.startswith("trained in") for line in lines))

    def test_no_color_has_no_colour(self):
        seen = self.on_terminal(*self.args, env={"NO_COLOR": "1"})
        self.assertRegex(seen, r"\[#*\.*\] +\d+ %")
        self.assertNotRegex(seen, r"\033\[\d*m")

    def test_no_bar_when_nobody_wants_one(self):
        for args, env in ((["--no-progress"], {}), (["--quiet"], {}), ([], {"TERM": "dumb"}),
                          ([], {"TERM": ""})):
            seen = self.on_terminal(*self.args, *args, env=env)
            self.assertNotIn("\033", seen)
            self.assertNotIn("%", seen)

    def test_no_bar_when_not_a_terminal(self):
        r = self.ease(*self.args, env={"TERM": "xterm"})
        self.assertNotIn("\r", r.err)
        self.assertNotIn("\033", r.err)


if __name__ == "__main__":
    main()
