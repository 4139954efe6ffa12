"""The verbs that make and use models, through the program."""

import csv
import gzip
import io
import json
import os
import random

import numpy as np

from small import ITEMS, Trained, as_csv, history_of, small_pairs, weights
from support import Case, main


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
            self.write("x", "".join(f"u{u // 3}{mark}i{u % 3}{mark}1\n" for u in range(9)))
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
        for line in self.ease("plan", "ratings.csv", "--nodes", 4).out.splitlines():
            self.assertEqual(line[15], " ", line)
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


if __name__ == "__main__":
    main()
