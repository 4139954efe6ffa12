"""Weights by age in the program: each verb that reads data, against weights that NumPy
computes and writes into a file."""
import json
import os
import unittest

import numpy as np

from serving import Server
from support import Case, main

HALF = 40.0
UNTIL = np.datetime64("2024-06-01T00:00:00")


class Ages(Case):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(8)
        count = 3000
        self.users = random.integers(0, 80, count)
        self.items = random.integers(0, 30, count)
        self.times = UNTIL - np.timedelta64(1, "s") * random.integers(1, 400 * 86400, count)
        self.since = UNTIL - np.timedelta64(200, "D")
        self.inside = self.times >= self.since
        self.put("dated.csv", self.users, self.items, self.times)
        age = (UNTIL - self.times) / np.timedelta64(1, "D")
        weights = (0.5 ** (age / HALF)).astype(np.float32)
        self.put("weighted.csv", self.users[self.inside], self.items[self.inside],
                 [f"{w:.9g}" for w in weights[self.inside]])
        self.dated = ["--since", str(self.since), "--until", "2024-06-01", "--half-life", HALF]

    def put(self, name, *columns):
        head = "user,item," + ("date" if name == "dated.csv" else "rating")
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(head + "\n")
            f.writelines(",".join(map(str, row)) + "\n" for row in zip(*columns))

    def both(self, make, look):
        """What two runs print: with dates, and with the weights of the same rows."""
        seen = []
        for name, options in (("dated.csv", self.dated), ("weighted.csv", ["--weights"])):
            if make:
                self.ease(*make, name, *options)
            seen.append(look(name, options))
        return seen

    def exported(self):
        self.ease("export", "m.ease", "-o", "w.npy", "--items", "w.txt")
        with open(self.path("w.txt"), encoding="utf-8") as f:
            return np.load(self.path("w.npy")), f.read()

    def test_models_are_those_of_the_weights(self):
        for repeat in "first", "last", "max", "sum":
            (got, ids), (want, same) = self.both(
                ["train", "-o", "m.ease", "--lambda", 3, "--repeat", repeat],
                lambda *_: self.exported())
            self.assertEqual(ids, same)
            # each weight may be one float apart from NumPy's
            np.testing.assert_allclose(got, want, rtol=0, atol=3e-6)

    def test_tuning_on_held_out_users_is_that_of_the_weights(self):
        for model in ["--metrics", "ndcg@5"], ["--model", "edlae", "--grid", "dropout=0.1|0.5"]:
            got, want = (json.loads(text) for text in self.both(None, lambda name, options: self.ease(
                "tune", name, "--lambda", "3,30", "-o", "t.ease", "--json", *model, *options).out))
            self.assertEqual(got["measured_on"], "drawn users")
            for part in [t["mean"] for t in got["trials"]], [t["mean"] for t in want["trials"]]:
                self.assertTrue(all(m > 0 for m in part))
            # lists are the same but where two scores are closer than the rounding of weights
            for a, b in zip(got["trials"], want["trials"]):
                self.assertAlmostEqual(a["mean"], b["mean"], delta=1e-6)
            self.assertIn("--half-life 40", got["train"])
        plain = json.loads(self.ease("tune", "dated.csv", "--lambda", "3,30", "--metrics", "ndcg@5",
                                     "--json").out)
        self.assertNotEqual(plain["trials"][0]["mean"], got["trials"][0]["mean"])

    def test_popularity_is_the_sum_of_weights(self):
        self.ease("train", "dated.csv", "-o", "m.ease", "--model", "popularity", "--repeat",
                  "sum", *self.dated)
        age = (UNTIL - self.times) / np.timedelta64(1, "D")
        weights = np.bincount(self.items, 0.5 ** (age / HALF) * self.inside, 30)
        users = len(set(self.users[self.inside].tolist()))
        r = self.ease("recommend", "m.ease", "--history", self.items[0], "-k", 29, "--csv")
        rows = [line.split(",") for line in r.out.splitlines()]
        item, score = rows[0].index("item"), rows[0].index("score")
        got = {int(row[item]): float(row[score]) for row in rows[1:]}
        self.assertEqual(len(got), 29)
        for i, share in got.items():
            # the sum of up to 100 floats, each rounded once
            self.assertAlmostEqual(share, weights[i] / users, delta=1e-5 * weights[i])

    def test_counts_are_those_of_pairs(self):
        pairs = set(zip(self.users[self.inside].tolist(), self.items[self.inside].tolist()))
        r = self.ease("info", "dated.csv", *self.dated)
        self.assertRegex(r.out, rf"interactions +{len(pairs):,}\n")
        self.assertRegex(r.out, r"weighted +yes")

    def test_every_verb_that_reads_data_takes_them(self):
        self.ease("train", "dated.csv", "-o", "m.ease", "--lambda", 3, "--updatable", *self.dated)
        self.ease("gram", "dated.csv", "-o", "x.gram", *self.dated)
        self.ease("plan", "dated.csv", *self.dated)
        self.ease("recommend", "m.ease", "--users", "dated.csv", *self.dated)
        self.ease("tune", "--leave-one-out", "dated.csv", "--lambda", "1,3", *self.dated)
        self.ease("eval", "m.ease", "--leave-one-out", "dated.csv", *self.dated)
        self.ease("eval", "m.ease", "--input", "dated.csv", "--target", "dated.csv", *self.dated)
        self.ease("info", "m.ease", "--verify", "--data", "dated.csv", *self.dated)
        self.ease("update", "m.ease", "-o", "n.ease", "--was", "dated.csv", "--now", "dated.csv",
                  *self.dated)
        user = int(self.users[self.inside][0])
        r = self.ease("forget", "m.ease", "--users", "dated.csv", "--user", user, "-o", "n.ease",
                      *self.dated)
        self.assertNotEqual(self.read("n.ease"), self.read("m.ease"))
        self.assertIn(str(user), r.out)
        self.ease("plot", "longtail", "m.ease", "--input", "dated.csv", "--target", "dated.csv",
                  "-o", "tail.svg", *self.dated)
        self.fails(2, "could not be aged again", "journal", "j", "--users", "dated.csv", "-o", "x.csv",
                   *self.dated)
        server = Server("m.ease", "--users", "dated.csv", *self.dated, cwd=self.dir)
        try:
            asked = {"user": str(user), "k": 3}
            by_server = server.post("/v1/recommend", asked).json["items"]
        finally:
            server.stop()
        r = self.ease("recommend", "m.ease", "--users", "dated.csv", "--user", user, "-k", 3, "--csv",
                      *self.dated)
        head, *rows = [line.split(",") for line in r.out.splitlines()]
        self.assertEqual([i["id"] for i in by_server], [row[head.index("item")] for row in rows])
        self.ease("split", "dated.csv", "-o", "s", "--protocol", "time", "--since", "2024-01-01",
                  "--test-from", "2024-05-01")
        self.fails(2, "half-life", "split", "dated.csv", "-o", "t", "--protocol", "time",
                   "--half-life", 3)
        self.fails(2, "the protocol random divides by no date", "split", "dated.csv", "-o", "t",
                   "--protocol", "random", "--test-from", "2024-05-01")

    def test_an_update_with_a_fixed_end_is_exact(self):
        """The weights of old rows stay, since ages count from --until."""
        old = self.users < 70
        self.put("dated.csv", self.users[old], self.items[old], self.times[old])
        os.rename(self.path("dated.csv"), self.path("was.csv"))
        self.put("dated.csv", self.users, self.items, self.times)
        self.ease("train", "was.csv", "-o", "m.ease", "--lambda", 3, "--updatable", *self.dated)
        self.ease("update", "m.ease", "--in-place", "--was", "was.csv", "--now", "dated.csv",
                  *self.dated)
        got, ids = self.exported()
        self.ease("train", "dated.csv", "-o", "m.ease", "--lambda", 3, *self.dated)
        want, same = self.exported()
        self.assertEqual(sorted(ids.split()), sorted(same.split()))
        order = [ids.split().index(i) for i in same.split()]
        np.testing.assert_allclose(got[order][:, order], want, rtol=0, atol=1e-4)

    def test_the_notes_say_what_was_kept(self):
        r = self.ease("train", "dated.csv", "-o", "m.ease", "--lambda", 3, *self.dated)
        outside = int((~self.inside).sum())
        self.assertIn(f"rows not kept: {outside:,} not from --since until --until", r.err)
        self.assertIn(f"times: {self.times[self.inside].min()}Z to "
                      f"{self.times[self.inside].max()}Z, ages count from 2024-06-01", r.err)
        self.assertIn("--repeat first|last|max|sum chooses the weight", r.err)


if __name__ == "__main__":
    main()
