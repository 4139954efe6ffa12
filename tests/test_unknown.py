"""Held-out items that the model does not know: misses, or dropped, as NumPy counts them."""
import csv
import json
import os

import made
import numpy as np
import numpy_ease
import numpy_eval
import support

METRICS = [f"{name}@{k}" for name in numpy_eval.UNTAGGED for k in (1, 5, 20, 100)]
LAMBDA = 200


def divided(path):
    """Of a file as ml-100k's what was rated 4 or 5, for each user 70 % in and 30 % held out, such that
    the model, which is trained on the input of all users but the last hundred, lacks many
    items: every fifth is in no training row. Some users have nothing but such items held
    out, some nothing known as input, some no input at all."""
    rng = np.random.default_rng(3)
    with open(path) as f:
        rows = [line.split("\t") for line in f]
    pairs = [(u, i) for u, i, rating, _ in rows if int(rating) >= 4]
    users = list(dict.fromkeys(u for u, _ in pairs))
    strange = {i for _, i in pairs if int(i) % 5 == 0}
    only_strange, bare, absent = set(users[:7]), set(users[7:12]), set(users[12:17])
    kept, held = [], []
    for u, i in pairs:
        out = rng.random() < 0.3
        if u in only_strange:
            out = i in strange
        if (u in bare and i not in strange) or u in absent:
            out = True
        (held if out else kept).append((u, i))
    late = set(users[-100:])
    train = [(u, i) for u, i in kept if u not in late and i not in strange]
    again = [pair for pair in held if pair[1] in strange][:50]
    return train, kept, held + again


class Unknown(support.Case):
    source = staticmethod(made.u_data)

    @classmethod
    def setUpClass(cls):
        train, kept, held = divided(cls.source())
        cls.pairs = {"train.csv": train, "in.csv": kept, "out.csv": held}
        x, _, cls.items = numpy_ease.matrix(train)
        cls.popularity = np.asarray(x.sum(axis=0)).ravel()
        w, _ = numpy_ease.model(x, LAMBDA)
        cls.users, cls.values = {}, {}
        for unknown in "miss", "drop":
            users = numpy_eval.targets(held, cls.items, unknown)
            cls.users[unknown] = users
            cls.values[unknown] = numpy_eval.evaluate(
                lambda rows: rows @ w, numpy_eval.align(kept, users, cls.items),
                numpy_eval.align(held, users, cls.items), METRICS, cls.popularity,
                numpy_eval.held_out(held, users, cls.items, unknown), x.shape[0])
        known = set(cls.items)
        cls.strange = len({(u, i) for u, i in held if i not in known})
        cls.strange_input = len({(u, i) for u, i in kept if i not in known})

    def setUp(self):
        super().setUp()
        for name, pairs in self.pairs.items():
            numpy_eval.write_pairs(self.path(name), pairs)
        self.ease("train", "train.csv", "-o", "m.ease", "--lambda", LAMBDA, "--precision",
                  "f64", "--storage", "f32")

    def eval(self, *options):
        return self.ease("eval", "m.ease", "--input", "in.csv", "--target", "out.csv",
                         "--metrics", ",".join(METRICS), *options)

    def check(self, got, unknown):
        self.assertEqual(got["users"], len(self.users[unknown]))
        self.assertEqual((got["unknown"], got["unknown_targets"], got["unknown_inputs"]),
                         (unknown, self.strange, self.strange_input))
        for name, values in self.values[unknown].items():
            mean, error = numpy_eval.mean_and_error(values)
            found = got["metrics"][name]
            self.assertAlmostEqual(found["mean"], mean, delta=1e-6 * abs(mean), msg=name)
            if error is not None:
                self.assertAlmostEqual(found["stderr"], error, delta=1e-5 * error, msg=name)

    def test_they_count_as_misses_in_every_metric(self):
        self.assertGreater(len(self.users["miss"]), len(self.users["drop"]))
        self.check(json.loads(self.eval("--json").out), "miss")
        self.check(json.loads(self.eval("--json", "--unknown", "miss").out), "miss")

    def test_they_can_be_dropped(self):
        self.check(json.loads(self.eval("--json", "--unknown", "drop").out), "drop")
        self.fails(2, "--unknown: expected miss|drop", "eval", "m.ease", "--input", "in.csv",
                   "--target", "out.csv", "--unknown", "ignore")

    def test_users_with_no_other_have_zero(self):
        self.eval("--per-user", "u.csv")
        with open(self.path("u.csv"), newline="") as f:
            rows = {row["user"]: row for row in csv.DictReader(f)}
        self.assertEqual(list(rows), self.users["miss"])
        only = set(self.users["miss"]) - set(self.users["drop"])
        self.assertGreaterEqual(len(only), 3)
        for user in only:
            self.assertEqual(float(rows[user]["recall@100"]), 0)
            self.assertEqual(float(rows[user]["ndcg@100"]), 0)
            self.assertGreater(float(rows[user]["popularity@5"]), 0)

    def test_their_number_is_always_said(self):
        for form in [], ["--csv"], ["--json"], ["--quiet"]:
            r = self.eval(*form)
            self.assertRegex(r.err, rf"warning: {self.strange} of \d+ held-out items are unknown "
                                    "to the model: they count as misses")
            self.assertRegex(r.err, rf"warning: {self.strange_input} of \d+ interactions of the "
                                    "input are with items unknown to the model")
            r = self.eval(*form, "--unknown", "drop")
            self.assertRegex(r.err, rf"{self.strange} of \d+ held-out items .*: they are dropped")

    def test_nothing_is_said_where_all_is_known(self):
        r = self.ease("eval", "m.ease", "--input", "train.csv", "--target", "train.csv")
        self.assertNotIn("unknown", r.err)

    def test_nothing_known_at_all_is_an_error(self):
        self.write("alien.csv", "user,item\n1,alien\n")
        self.fails(3, "anything held out that the model knows", "eval", "m.ease", "--input",
                   "in.csv", "--target", "alien.csv")


class Splits(support.Case):
    """By time: what is new after a moment cannot be known."""

    source = staticmethod(made.u_data)

    def setUp(self):
        super().setUp()
        self.ease("split", self.source(), "-o", "s", "--protocol", "time", "--min-rating", 4)

    def part(self, name):
        return numpy_eval.read_pairs(self.path(os.path.join("s", name)))

    def numpy(self, train, part, lam, metric, unknown):
        """Mean over the users of a part of the split, and how many items are unknown."""
        x, _, items = numpy_ease.matrix(self.part(train))
        kept, held = self.part(f"{part}_tr.csv"), self.part(f"{part}_te.csv")
        users = numpy_eval.targets(held, items, unknown)
        w, _ = numpy_ease.model(x, lam)
        values = numpy_eval.evaluate(
            lambda rows: rows @ w, numpy_eval.align(kept, users, items),
            numpy_eval.align(held, users, items), [metric],
            np.asarray(x.sum(axis=0)).ravel(),
            numpy_eval.held_out(held, users, items, unknown))[metric]
        return values.mean(), len({pair for pair in held if pair[1] not in set(items)})

    def check_tuning(self, unknown, *options):
        r = self.ease("tune", "s", "-o", "m.ease", "--json", "--precision", "f64", "--storage",
                      "f32", "--lambda", "50,500", "--metric", "recall@20", "--metrics",
                      "recall@20", *options)
        got = json.loads(r.out)
        for trial in got["trials"]:
            mean, strange = self.numpy("validation_train.csv", "validation", trial["lambda"],
                                       "recall@20", unknown)
            self.assertAlmostEqual(trial["mean"], mean, delta=1e-6)
            self.assertEqual((got["unknown"], got["unknown_targets"]), (unknown, strange))
            self.assertGreater(strange, 0)
            self.assertEqual(r.err.count(f"{strange} of {len(self.part('validation_te.csv'))} "
                                         "held-out items"), 1)
        mean, strange = self.numpy("train.csv", "test", got["lambda"], "recall@20", unknown)
        self.assertAlmostEqual(got["test"]["metrics"]["recall@20"]["mean"], mean, delta=1e-6)
        self.assertEqual(got["test"]["unknown_targets"], strange)
        return got

    def test_tuning_counts_them_on_both_parts(self):
        miss = self.check_tuning("miss")
        drop = self.check_tuning("drop", "--unknown", "drop")
        self.assertLess(miss["test"]["metrics"]["recall@20"]["mean"],
                        drop["test"]["metrics"]["recall@20"]["mean"])

    def test_comparing_counts_them(self):
        args = ["compare", "s", "--models", "ease,popularity", "--lambda", 50, "--precision",
                "f64", "--metrics", "recall@20"]
        for unknown in "miss", "drop":
            options = [] if unknown == "miss" else ["--unknown", "drop"]
            got = json.loads(self.ease(*args, *options, "--json").out)
            mean, strange = self.numpy("train.csv", "test", 50, "recall@20", unknown)
            self.assertEqual((got["unknown"], got["unknown_targets"]), (unknown, strange))
            self.assertAlmostEqual(got["models"][0]["metrics"]["recall@20"]["mean"], mean,
                                   delta=1e-6)
            r = self.ease(*args, *options)
            self.assertRegex(r.out, rf"(?m)^{strange:,} held-out items are unknown to the models: "
                                    + ("they count as misses" if unknown == "miss" else
                                       "they are dropped"))


if __name__ == "__main__":
    support.main()
