"""eval, tune, compare and plot against NumPy."""
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import types
import xml.dom.minidom

import made
import numpy as np
import numpy_ease
import numpy_eval
import scipy.stats
import support

METRICS = [f"{name}@{k}" for name in numpy_eval.UNTAGGED for k in (1, 20, 100)]


def random_split(pairs, share, seed):
    """Of each user's rows a random share is held out."""
    rng = np.random.default_rng(seed)
    by_user = {}
    for u, i in pairs:
        by_user.setdefault(u, []).append(i)
    kept, held = [], []
    for u, items in by_user.items():
        out = set(rng.permutation(len(items))[:int(share * len(items))])
        for k, i in enumerate(items):
            (held if k in out else kept).append((u, i))
    return kept, held


class Split(support.Case):
    """A split in a directory for all tests of a class, as self.data."""

    @classmethod
    def setUpClass(cls):
        cls.data = tempfile.mkdtemp(prefix="ease-test-")
        cls.addClassCleanup(shutil.rmtree, cls.data, ignore_errors=True)

    @classmethod
    def part(cls, name):
        return os.path.join(cls.data, name)

    def eval(self, model, metrics, *options):
        text = self.ease("eval", model, "--input", self.input, "--target", self.target,
                         "--metrics", ",".join(metrics), "--json", "--quiet", *options).out
        return json.loads(text)


class Ratings(Split):
    """Ratings of at least 4, of each user 80 % in and 20 % out."""

    lam = 300
    source = staticmethod(made.ratings_csv)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        x, users, items = numpy_ease.movielens(cls.source(), 4)
        pairs = [(users[u], items[i]) for u, i in zip(*x.nonzero())]
        kept, held = random_split(pairs, 0.2, 7)
        cls.input, cls.target = cls.part("in.csv"), cls.part("out.csv")
        numpy_eval.write_pairs(cls.input, kept)
        numpy_eval.write_pairs(cls.target, held)
        cls.x, _, cls.items = numpy_ease.matrix(kept)
        cls.users = numpy_eval.targets(held, cls.items)
        cls.inputs = numpy_eval.align(kept, cls.users, cls.items)
        cls.targets = numpy_eval.align(held, cls.users, cls.items)
        cls.held = numpy_eval.held_out(held, cls.users, cls.items)
        cls.popularity = np.asarray(cls.x.sum(axis=0)).ravel()
        w, _ = numpy_ease.model(cls.x, cls.lam)
        cls.exact = cls.numpy(lambda rows: rows @ w)

    def train(self, name, *options):
        model = self.path(name)
        self.ease("train", self.input, "-o", model, "--quiet", *options)
        return model

    @classmethod
    def numpy(cls, score):
        return numpy_eval.evaluate(score, cls.inputs, cls.targets, METRICS, cls.popularity,
                                   cls.held, cls.x.shape[0])

    def check(self, got, want, relative):
        self.assertEqual(got["users"], len(self.users))
        self.assertEqual(list(got["metrics"]), METRICS)
        for name, values in want.items():
            mean, error = numpy_eval.mean_and_error(values)
            self.assertAlmostEqual(got["metrics"][name]["mean"], mean,
                                   delta=relative * abs(mean), msg=name)
            if error is None:
                self.assertIsNone(got["metrics"][name]["stderr"])
            else:
                self.assertAlmostEqual(got["metrics"][name]["stderr"], error,
                                       delta=10 * relative * abs(error), msg=name)

    def test_every_metric_equals_numpy_in_float64(self):
        options = ["--lambda", self.lam, "--storage", "f32"]
        model = self.train("m.ease", *options, "--precision", "f64")
        self.check(self.eval(model, METRICS), self.exact, 1e-6)
        model = self.train("m.ease", *options)
        self.check(self.eval(model, METRICS), self.exact, 1e-5)

    def test_every_storage_gives_what_its_weights_give(self):
        for storage in "f16", "packed":
            model = self.train("m.ease", "--lambda", self.lam, "--storage", storage)
            self.ease("export", model, "-o", "w.npy", "--quiet")
            w = np.load(self.path("w.npy")).astype(float)
            self.check(self.eval(model, METRICS), self.numpy(lambda rows: rows @ w), 1e-6)

    def test_popularity_equals_numpy(self):
        model = self.train("p.ease", "--model", "popularity")
        want = self.numpy(lambda rows: np.tile(self.popularity, (rows.shape[0], 1)))
        self.check(self.eval(model, METRICS), want, 1e-11)
        info = json.loads(self.ease("info", model, "--json").out)
        self.assertEqual((info["method"], info["storage"]), ("popularity", "none"))

    def test_the_values_of_users_equal_numpy(self):
        model = self.train("m.ease", "--lambda", self.lam, "--precision", "f64",
                           "--storage", "f32")
        self.eval(model, ["ndcg@100", "coverage@5", "popularity@5"], "--per-user", "u.csv")
        want = self.exact["ndcg@100"]
        with open(self.path("u.csv"), newline="") as f:
            rows = list(csv.DictReader(f))
        self.assertEqual(list(rows[0]), ["user", "ndcg@100", "popularity@5"])
        self.assertEqual([row["user"] for row in rows], self.users)
        got = np.array([float(row["ndcg@100"]) for row in rows])
        # A tie of scores within the rounding of float32 may fall either way.
        self.assertLess((np.abs(got - want) > 1e-9).mean(), 0.01)
        self.assertAlmostEqual(got.mean(), want.mean(), delta=1e-6 * want.mean())

    def test_threads_do_not_change_a_digit(self):
        model = self.train("m.ease", "--lambda", self.lam)
        one = self.eval(model, METRICS, "--threads", 1)["metrics"]
        self.assertEqual(one, self.eval(model, METRICS, "--threads", 3)["metrics"])


class Tuned(Split):
    """Ratings split by the program itself."""

    lambdas = (5, 50, 150, 400, 2000)
    source = staticmethod(made.u_data)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        r = support.run("split", cls.source(), "-o", cls.part("s"),
                        "--protocol", "liang18", "--heldout-users", 150, "--min-rating", 4)
        assert r.code == 0, r
        cls.dir_name = cls.part("s")
        cls.train = numpy_eval.read_pairs(cls.part("s/train.csv"))
        cls.x, _, cls.items = numpy_ease.matrix(cls.train)
        cls.popularity = np.asarray(cls.x.sum(axis=0)).ravel()

    def numpy(self, part, w, metrics):
        kept = numpy_eval.read_pairs(self.part(f"s/{part}_tr.csv"))
        held = numpy_eval.read_pairs(self.part(f"s/{part}_te.csv"))
        users = numpy_eval.targets(held, self.items)
        return numpy_eval.evaluate(
            lambda rows: rows @ w if w is not None else
            np.tile(self.popularity, (rows.shape[0], 1)),
            numpy_eval.align(kept, users, self.items),
            numpy_eval.align(held, users, self.items), metrics, self.popularity)

    def test_tuning_equals_a_grid_in_numpy(self):
        for nonnegative in False, True:
            options = ["--nonnegative"] if nonnegative else []
            text = self.ease("tune", self.dir_name, "-o", "m.ease", "--json", "--precision",
                             "f64", "--lambda", ",".join(map(str, self.lambdas)),
                             "--metric", "ndcg@100", "--storage", "f32", *options).out
            got = json.loads(text)
            means = []
            for lam, trial in zip(self.lambdas, got["trials"]):
                w, _ = numpy_ease.model(self.x, lam, nonnegative=nonnegative)
                mean, error = numpy_eval.mean_and_error(
                    self.numpy("validation", w, ["ndcg@100"])["ndcg@100"])
                means.append(mean)
                self.assertEqual(trial["lambda"], lam)
                self.assertAlmostEqual(trial["mean"], mean, delta=1e-6)
                self.assertAlmostEqual(trial["stderr"], error, delta=1e-6)
            best = self.lambdas[int(np.argmax(means))]
            self.assertEqual(got["lambda"], best)
            self.assertFalse(got["stopped"])
            w, _ = numpy_ease.model(self.x, best, nonnegative=nonnegative)
            for name, values in self.numpy("test", w, list(got["test"]["metrics"])).items():
                mean, error = numpy_eval.mean_and_error(values)
                self.assertAlmostEqual(got["test"]["metrics"][name]["mean"], mean, delta=1e-6)
            info = json.loads(self.ease("info", "m.ease", "--json").out)
            self.assertEqual(info["lambda"], best)
            self.assertEqual(info["method"], "ease-nonneg" if nonnegative else "ease")

    def test_the_search_finds_the_top_of_the_curve(self):
        got = json.loads(self.ease("tune", self.dir_name, "-o", "m.ease", "--json").out)
        best = max(got["trials"], key=lambda trial: trial["mean"])
        self.assertEqual(best["lambda"], got["lambda"])
        w, _ = numpy_ease.model(self.x, got["lambda"])
        at_best = self.numpy("validation", w, ["ndcg@100"])["ndcg@100"].mean()
        for lam in 10.0**np.arange(0, 5.1, 0.5):
            w, _ = numpy_ease.model(self.x, lam)
            self.assertLessEqual(self.numpy("validation", w, ["ndcg@100"])["ndcg@100"].mean(),
                                 at_best + 1e-6)

    def test_trials_are_a_table_that_can_be_drawn(self):
        r = self.ease("tune", self.dir_name, "-o", "m.ease", "--csv", "--lambda", "5,50,500",
                      "--plot", "direct.svg")
        self.write("trials.csv", r.out)
        self.assertRegex(r.out, r"^lambda,ndcg@100,stderr,seconds\n5,0\.\d+,0\.\d+,")
        self.assertRegex(r.err, r"test: recall@20 0\.\d+, standard error 0\.\d+\n")
        self.ease("plot", "lambda", "trials.csv", "-o", "csv.svg")
        self.assertEqual(self.read("csv.svg")[:5], b"<svg ")
        r = self.ease("tune", self.dir_name, "-o", "m.ease", "--json", "--lambda", "5,50,500")
        self.write("trials.json", r.out)
        self.ease("plot", "lambda", "trials.json", "-o", "json.svg")
        self.assertEqual(self.read("csv.svg"), self.read("json.svg"))
        self.assertEqual(self.read("csv.svg"), self.read("direct.svg"))
        piped = self.ease("plot", "lambda", "-", "-o", "-", input=r.out)
        self.assertEqual(piped.raw, self.read("csv.svg"))

    def test_trials_of_settings_are_a_table_that_can_be_drawn(self):
        tune = ["tune", self.dir_name, "-o", "m.ease", "--model", "wmf", "--set", "iterations=2,rank=4",
                "--grid", "alpha=1|3|9,lambda=1|10"]
        r = self.ease(*tune, "--csv")
        self.assertRegex(r.out, r'^settings,ndcg@100,stderr,seconds\n"\S*alpha=1\S*",0\.\d+,')
        self.ease("plot", "settings", self.write("trials.csv", r.out), "-o", "csv.svg")
        r = self.ease(*tune, "--json")
        self.ease("plot", "settings", self.write("trials.json", r.out), "-o", "json.svg")
        self.assertEqual(self.read("csv.svg"), self.read("json.svg"))
        self.fails(3, "without lambda: use plot settings", "plot", "lambda", "trials.json", "-o",
                   "x.svg")
        figure = self.figure("json.svg")
        best = max(json.loads(r.out)["trials"], key=lambda trial: trial["mean"])
        self.assertEqual(figure.names, ["alpha", "lambda"])  # those that are fixed are not drawn
        for name in figure.names:
            self.assertIn(f"{name}={figure.best[name]:g}", best["settings"])
        self.assertEqual(figure.dots, 2 * 6)
        # Trials of lambda are a panel too.
        self.ease("tune", self.dir_name, "-o", "m.ease", "--json", "--lambda", "5,50,500")
        r = self.ease("tune", self.dir_name, "-o", "m.ease", "--csv", "--lambda", "5,50,500")
        piped = self.ease("plot", "settings", "-", "-o", "-", input=r.out)
        self.write("lambda.svg", piped.out)
        self.assertEqual(self.figure("lambda.svg").names, ["lambda"])

    def figure(self, name):
        """What a figure of settings shows."""
        root = xml.dom.minidom.parse(self.path(name)).documentElement
        bold = [e.firstChild.data for e in root.getElementsByTagName("text")
                if e.getAttribute("font-weight") == "bold"]
        marks = [re.match(r"(.*) = (\S+): ", e.getElementsByTagName("title")[0].firstChild.data)
                 for e in root.getElementsByTagName("circle") if e.getAttribute("r") == "5.5"]
        shown = "".join(e.getAttribute("d") for e in root.getElementsByTagName("path"))
        return types.SimpleNamespace(
            names=bold, best={m[1]: float(m[2].replace("\u2212", "-").replace(",", ""))
                              for m in marks},
            dots=shown.count("h0.01") - 1 + shown.count("l3 "))

    def test_settings_are_read_with_lambda_and_words_are_skipped(self):
        rows = [(lam, p, b) for lam in (10, 60, 300) for p in (0, .25, .5) for b in (0, .5)]
        mean = {row: .2 - .01 * abs(row[0] - 60) / 60 - row[1] * .01 + row[2] * .02 for row in rows}
        text = "".join(f'{lam},"dropout={p},user-power={b},propensity=power,x=7",'
                       f"{mean[lam, p, b]!r},0.001,0.5\n" for lam, p, b in rows)
        self.ease("plot", "settings", "-", "-o", "csv.svg",
                  input="lambda,settings,ndcg@20,stderr,seconds\n" + text)
        trials = [{"lambda": lam, "settings": f"dropout={p},user-power={b},propensity=power,x=7",
                   "mean": mean[lam, p, b], "stderr": .001} for lam, p, b in rows]
        text = json.dumps({"metric": "ndcg@20", "trials": trials, "settings": "dropout=0"})
        self.ease("plot", "settings", self.write("t.json", text), "-o", "json.svg")
        self.assertEqual(self.read("csv.svg"), self.read("json.svg"))
        figure = self.figure("json.svg")
        self.assertEqual(figure.names, ["lambda", "dropout", "user-power"])
        self.assertEqual(figure.best, {"lambda": 60, "dropout": 0, "user-power": .5})
        self.assertEqual(figure.dots, 3 * len(rows))
        # A metric whose lower values are better has its best trial below.
        self.ease("plot", "settings", "-", "-o", "x.svg", input=text.replace("ndcg@20", "gini@20"))
        self.assertEqual(self.figure("x.svg").best, {"lambda": 300, "dropout": .5, "user-power": 0})
        # Without settings that differ, those there are.
        text = '{"metric": "m", "trials": [{"settings": "a=1,b=word", "mean": 0.5}]}'
        self.ease("plot", "settings", "-", "-o", "x.svg", input=text)
        self.assertEqual(self.figure("x.svg").best, {"a": 1})
        self.fails(3, "no settings that are numbers", "plot", "settings", "-", "-o", "y.svg",
                   input=text.replace("a=1,", ""))
        text = "settings,m@1,stderr\n" + "".join(
            f'"{",".join(f"s{k}={k * i}" for k in range(10))}",0.{i},\n' for i in range(1, 5))
        r = self.ease("plot", "settings", "-", "-o", "x.svg", input=text)
        self.assertIn("the first 8 of 9 settings", r.err)  # s0 is always 0
        self.assertEqual(self.figure("x.svg").names, [f"s{k}" for k in range(1, 9)])

    def test_the_text_of_tuning_says_which_is_best(self):
        r = self.ease("tune", self.dir_name, "-o", "m.ease", "--lambda", "5,150,2000")
        self.assertRegex(r.out, r"(?m)^150 +0\.\d{5} +0\.\d{5} +\d+\.\d\d +best$")
        self.assertRegex(r.out, r"(?m)^150 test users, lambda 150$")
        self.assertRegex(r.out, r"(?m)^recall@20 +0\.\d{5} +0\.\d{5}$")
        r = self.ease("tune", self.dir_name, "-o", "m.ease", "--lambda", "1,2")
        self.assertIn("at the end of the range that was tried", r.err)

    def test_seconds_bound_the_trials(self):
        got = json.loads(self.ease("tune", self.dir_name, "-o", "m.ease", "--json",
                                   "--seconds", "1e-6").out)
        self.assertEqual(len(got["trials"]), 1)
        self.assertTrue(got["stopped"])
        self.assertEqual(got["lambda"], 100)

    def test_comparing_equals_scipy(self):
        metrics = ["recall@20", "ndcg@100", "coverage@20"]
        names = ["ease", "ease-nonneg", "popularity"]
        got = json.loads(self.ease("compare", self.dir_name, "--models", ",".join(names),
                                   "--lambda", 150, "--precision", "f64", "--metrics",
                                   ",".join(metrics), "--json").out)
        self.assertEqual([m["model"] for m in got["models"]], names)
        self.assertEqual([m["lambda"] for m in got["models"]], [150, 150, None])
        w, _ = numpy_ease.model(self.x, 150)
        values = [self.numpy("test", v, metrics) for v in (w, np.maximum(w, 0), None)]
        self.assertEqual(got["users"], len(values[0]["recall@20"]))
        self.assertNotIn("against_first", got["models"][0])
        for name in metrics[:2]:
            ps = []
            for model, value in zip(got["models"], values):
                mean, error = numpy_eval.mean_and_error(value[name])
                self.assertAlmostEqual(model["metrics"][name]["mean"], mean, delta=1e-6)
                self.assertAlmostEqual(model["metrics"][name]["stderr"], error, delta=1e-6)
            for model, value in zip(got["models"][1:], values[1:]):
                test = scipy.stats.ttest_rel(value[name], values[0][name])
                low, high = test.confidence_interval(0.95)
                d = model["against_first"][name]
                self.assertAlmostEqual(d["difference"],
                                       (value[name] - values[0][name]).mean(), delta=1e-9)
                self.assertAlmostEqual(d["low"], low, delta=1e-9)
                self.assertAlmostEqual(d["high"], high, delta=1e-9)
                self.assertAlmostEqual(d["p"], test.pvalue, delta=1e-7 * test.pvalue)
                ps.append(d)
            a, b = sorted(ps, key=lambda d: d["p"])
            self.assertAlmostEqual(a["p_holm"], min(1, 2 * a["p"]), delta=1e-12)
            self.assertAlmostEqual(b["p_holm"], max(a["p_holm"], b["p"]), delta=1e-12)
        for model, value in zip(got["models"], values):
            self.assertAlmostEqual(model["metrics"]["coverage@20"]["mean"],
                                   value["coverage@20"], delta=1e-9)
            self.assertIsNone(model["metrics"]["coverage@20"]["stderr"])
        self.assertNotIn("coverage@20", got["models"][1]["against_first"])

    def test_comparing_tunes_each_model(self):
        args = ["compare", self.dir_name, "--models", "popularity,ease,ease-nonneg"]
        got = json.loads(self.ease(*args, "--json").out)
        for model, options in (("ease", []), ("ease-nonneg", ["--nonnegative"])):
            tuned = json.loads(self.ease("tune", self.dir_name, "-o", "m.ease", "--json",
                                         "--storage", "packed", *options).out)
            mine = next(m for m in got["models"] if m["model"] == model)
            self.assertEqual(mine["lambda"], tuned["lambda"])
            self.assertEqual(mine["metrics"], tuned["test"]["metrics"])

    def test_comparing_prints_tables(self):
        args = ["compare", self.dir_name, "--models", "ease,popularity", "--lambda", "150",
                "--quiet", "--metrics", "recall@20,gini@10"]
        text = self.ease(*args).out
        self.assertRegex(text, r"(?m)^ease +lambda=150 +0\.\d{5} \(0\.\d{5}\) +0\.\d{5} +\d+\.\d\d ")
        self.assertRegex(text, r"(?m)^recall@20 +popularity +-0\.\d{5} +-0\.\d{5} \.\. -0\.")
        text = self.ease(*args, "--markdown").out
        self.assertRegex(text, r"\| model +\| +settings \| +recall@20 \|.*\n\| --- \| ---: \|")
        rows = list(csv.DictReader(self.ease(*args, "--csv").out.splitlines()))
        self.assertEqual([(row["model"], row["metric"]) for row in rows],
                         [("ease", "recall@20"), ("ease", "gini@10"),
                          ("popularity", "recall@20"), ("popularity", "gini@10")])
        self.assertEqual((rows[0]["p"], rows[1]["stderr"], rows[3]["p"]), ("", "", ""))
        self.assertGreater(float(rows[2]["p_holm"]), 0)
        self.ease(*args, "--plot", "tail.svg")
        xml.dom.minidom.parse(self.path("tail.svg"))

    # ---- the other systems

    SMALL = {"popularity": ("", ""), "item-item": ("shrinkage=10", "neighbours=10|50"),
             "slim": ("", "l1=1|5,l2=30"), "slim-free": ("", "l1=5,l2=30|100"),
             "wmf": ("iterations=3", "rank=4|8"), "ii-svd": ("neighbours=20", "rank=8|16"),
             "cdae": ("hidden=8,epochs=3,rate=0.01", "decay=0.01|0.03"),
             "mult-dae": ("hidden=8,epochs=3,rate=0.01", "decay=1e-4|1e-3"),
             "mult-vae": ("hidden=16,latent=8,epochs=3,rate=0.01", "cap=0.2|1")}

    def test_every_system_is_tuned_and_compared(self):
        options = []
        for name, (fixed, grid) in self.SMALL.items():
            options += ["--set", f"{name}:{fixed}"] if fixed else []
            options += ["--grid", f"{name}:{grid}"] if grid else []
        args = ["compare", self.dir_name, "--models", ",".join(["ease", *self.SMALL]), "--lambda",
                "150", *options]
        got = json.loads(self.ease(*args, "--json", "--plot", "tail.svg").out)
        self.assertEqual([m["model"] for m in got["models"]], ["ease", *self.SMALL])
        xml.dom.minidom.parse(self.path("tail.svg"))
        again = json.loads(self.ease(*args, "--json", "--threads", 1).out)
        for mine, other in zip(got["models"], again["models"]):
            self.assertEqual(mine["metrics"], other["metrics"])
            self.assertEqual(mine["settings"], other["settings"])
        for name, (fixed, grid) in self.SMALL.items():
            mine = next(m for m in got["models"] if m["model"] == name)
            args = ["tune", self.dir_name, "-o", "m.ease", "--model", name, "--json"]
            args += ["--set", fixed] if fixed else []
            args += ["--grid", grid] if grid else []
            tuned = json.loads(self.ease(*args).out)
            best = max(tuned["trials"], key=lambda trial: trial["mean"])
            self.assertEqual(tuned["settings"], best["settings"])
            self.assertEqual(mine["metrics"], tuned["test"]["metrics"], name)
            self.assertEqual(mine["settings"], tuned["settings"])
            self.assertEqual(mine["trials"], len(tuned["trials"]) if grid else 0)
            if mine["bytes"] is not None:
                self.assertGreaterEqual(mine["bytes"], 0)
            info = json.loads(self.ease("info", "m.ease", "--json").out)
            self.assertEqual(info["method"], name)
            for setting in filter(None, mine["settings"].split(",")):
                self.assertIn(setting, info["settings"].split(","))

    def test_tuning_neighbours_equals_a_grid_in_numpy(self):
        g = np.asarray((self.x.T @ self.x).todense(), dtype=np.float64)
        d = np.sqrt(np.outer(np.diag(g), np.diag(g)))
        got = json.loads(self.ease("tune", self.dir_name, "-o", "m.ease", "--json", "--model",
                                   "item-item", "--set", "neighbours=100000", "--grid",
                                   "shrinkage=0|10|1000").out)
        for trial, shrinkage in zip(got["trials"], (0, 10, 1000)):
            w = np.divide(g, d + shrinkage, out=np.zeros_like(g), where=g > 0)
            np.fill_diagonal(w, 0)
            mean, error = numpy_eval.mean_and_error(
                self.numpy("validation", w, ["ndcg@100"])["ndcg@100"])
            self.assertEqual(trial["settings"], f"neighbours=100000,shrinkage={shrinkage}")
            self.assertAlmostEqual(trial["mean"], mean, delta=1e-5)
            self.assertAlmostEqual(trial["stderr"], error, delta=1e-5)

    def test_weak_generalization_is_fitted_again_on_all_of_it(self):
        self.ease("split", self.source(), "-o", "w", "--protocol", "volkovs15")
        fixed, grid = self.SMALL["mult-dae"]
        tuned = json.loads(self.ease("tune", "w", "-o", "m.ease", "--model", "mult-dae", "--set",
                                     fixed, "--grid", grid, "--metrics", "ndcg@10", "--json").out)
        self.ease("train", "w/train.csv", "-o", "n.ease", "--model", "mult-dae", "--set",
                  tuned["settings"])
        again = json.loads(self.ease("eval", "n.ease", "--input", "w/test_tr.csv", "--target",
                                     "w/test_te.csv", "--metrics", "ndcg@10", "--json").out)
        self.assertEqual(tuned["test"]["users"], again["users"])
        self.assertAlmostEqual(tuned["test"]["metrics"]["ndcg@10"]["mean"],
                               again["metrics"]["ndcg@10"]["mean"], delta=1e-3)

    def test_tables_tell_settings_and_what_they_took(self):
        args = ["compare", self.dir_name, "--models", "ease,wmf", "--lambda", "150", "--set",
                "wmf:iterations=2", "--grid", "wmf:rank=4|8", "--metrics", "recall@20", "--quiet"]
        text = self.ease(*args).out
        self.assertRegex(text, r"(?m)^wmf +rank=[48],iterations=2 +0\.\d{5} \(0\.\d{5}\) +\d+\.\d\d "
                               r"+\d+\.\d +[\d.]+ .?B$")
        rows = list(csv.DictReader(self.ease(*args, "--csv").out.splitlines()))
        self.assertEqual([row["trials"] for row in rows], ["0", "2"])
        self.assertRegex(rows[1]["settings"], "^rank=[48],iterations=2$")
        got = json.loads(self.ease("compare", self.dir_name, "--models", "wmf", "--untuned",
                                   "--set", "wmf:rank=4,iterations=2", "--json").out)
        self.assertEqual((got["models"][0]["trials"], got["models"][0]["settings"]),
                         (0, "rank=4,iterations=2"))
        text = self.ease("tune", self.dir_name, "-o", "m.ease", "--model", "wmf", "--set",
                         "iterations=2", "--grid", "rank=4|8", "--csv").out
        self.assertRegex(text, r'^settings,ndcg@100,stderr,seconds\n"rank=4,iterations=2",0\.\d+,')

    def test_what_has_no_standard_error_is_told_without(self):
        r = self.ease("tune", self.dir_name, "-o", "m.ease", "--csv", "--lambda", "50",
                      "--metrics", "coverage@20")
        self.assertRegex(r.err, r"test: coverage@20 0\.\d+\n")
        self.assertNotIn("nan", r.err + r.out)

    def test_wrong_grids_are_told_before_anything_is_read(self):
        for model, options, text in (
                ("wmf", ["--grid", "rank=4|x"], "rank: a whole number"),
                ("wmf", ["--grid", "rank=4|0"], "rank: a whole number"),
                ("wmf", ["--grid", "ranks=4"], "wmf has no setting 'ranks'"),
                ("wmf", ["--grid", "rank=4|4"], "rank: 4 is given twice"),
                ("wmf", ["--grid", "rank"], "expected NAME=VALUE"),
                ("wmf", ["--grid", "rank=4|8", "--set", "rank=4"], "is fixed, and in the grid as well"),
                ("wmf", ["--set", "rank=-1"], "rank: a whole number"),
                ("wmf", ["--lambda", "5,50"], "wmf has no lambda"),
                ("popularity", ["--plot", "p.svg"], "takes no"),
                ("wmf", ["--nonnegative"], "takes no"),
                ("ease", ["--grid", "rank=4"], "no settings to tune"),
                ("ease", ["--set", "rank=4"], "ease has no setting"),
                ("item-item", ["--grid", "similarity=cosine|none"], "one of cosine"),
                ("slim", ["--set", "l1=0,l2=0"], "not determined"),
                ("slim", ["--set", "l1=0", "--grid", "l2=0"], "not determined"),
                ("nothing", [], "no model 'nothing'")):
            self.fails(2, text, "tune", "nosplit", "-o", "m", "--model", model, *options)
        for options, text in ((["--set", "wmf:ranks=4"], "wmf has no setting"),
                              (["--grid", "wmf:rank=0"], "rank: a whole number"),
                              (["--grid", "slim:l1=1"], "'slim' is none of --models"),
                              (["--grid", "rank=1"], "expected MODEL:NAME=VALUE"),
                              (["--set", "wmf:rank=1", "--set", "wmf:rank=2"], "given twice"),
                              (["--set", "ease:rank=1"], "ease has no setting")):
            self.fails(2, text, "compare", "nosplit", "--models", "ease,wmf", *options)
        self.fails(2, "rank: a whole number", "train", "nofile", "-o", "m", "--model", "wmf",
                   "--set", "rank=0")
        self.fails(2, "not determined", "train", "nofile", "-o", "m", "--model", "slim-free",
                   "--set", "l1=0,l2=0")

    def test_figures_of_models(self):
        tuned = json.loads(self.ease("tune", self.dir_name, "-o", "ease.ease", "--lambda", "150",
                                     "--json").out)
        again = json.loads(self.ease("eval", "ease.ease", "--split", self.dir_name, "--json").out)
        self.assertEqual(tuned["test"]["metrics"], again["metrics"])
        self.ease("train", self.part("s/train.csv"), "-o", "numbers.ease", "--lambda", "150")
        numbers = json.loads(self.ease("eval", "numbers.ease", "--input",
                                       self.part("s/test_tr.csv"), "--target",
                                       self.part("s/test_te.csv"), "--json").out)
        for name, value in again["metrics"].items():
            self.assertAlmostEqual(value["mean"], numbers["metrics"][name]["mean"], delta=1e-9)
        self.fails(2, "either", "eval", "ease.ease")
        self.fails(2, "either", "eval", "ease.ease", "--split", self.dir_name, "--input", "x")
        r = self.ease("plot", "weights", "ease.ease", "-o", "w.svg")
        self.assertRegex(r.out, r"(?m)^negative +\d\d\.\d\d %$")
        self.ease("export", "ease.ease", "-o", "w.npy")
        w = np.load(self.path("w.npy"))
        off = w[~np.eye(len(w), dtype=bool)]
        got = json.loads(self.ease("plot", "weights", "ease.ease", "-o", "w.svg", "--json").out)
        self.assertEqual(got["weights"], off.size)
        self.assertAlmostEqual(got["negative"], (off < 0).mean(), delta=1e-9)
        self.ease("train", self.part("s/train.csv"), "--model", "popularity", "-o", "pop.ease")
        self.ease("plot", "longtail", "numbers.ease", "pop.ease", "-k", 20, "--input",
                  self.part("s/test_tr.csv"), "--target", self.part("s/test_te.csv"), "-o",
                  "tail.svg")
        for name in "w.svg", "tail.svg":
            xml.dom.minidom.parse(self.path(name))
        self.assertIn(b"pop", self.read("tail.svg"))
        self.fails(2, "weights", "plot", "weights", "pop.ease", "-o", "p.svg")
        self.fails(2, "figures are SVG", "plot", "weights", "ease.ease", "-o", "p.png")
        self.fails(2, "figures are SVG", "tune", self.dir_name, "-o", "t.ease", "--plot", "p.png")
        self.fails(2, "figures are SVG", "compare", self.dir_name, "--models",
                   "ease,popularity", "--plot", "p.png")
        self.assertFalse(os.path.exists(self.path("p.png")))
        self.fails(2, "weights", "similar", "pop.ease", "1")

    # ---- interruptions

    def start(self, *args):
        return subprocess.Popen([support.EASE, *map(str, args)], cwd=self.dir,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def interrupt(self, number, after, *args):
        """Sends a signal once a line of standard error has `after` in it."""
        with self.start(*args) as p:
            err = ""
            for line in p.stderr:
                err += line
                if after in line:
                    break
            p.send_signal(number)
            out, rest = p.communicate(timeout=support.PATIENCE)
        return support.Result(p.returncode, out.encode(), (err + rest).encode())

    def many(self):
        return ",".join(f"{100 + k}" for k in range(900))

    def test_an_interrupted_tuning_keeps_the_best_so_far(self):
        r = self.interrupt(signal.SIGINT, "lambda 100:", "tune", self.dir_name, "-o", "m.ease",
                           "--json", "--lambda", self.many())
        self.assertEqual(r.code, 0, r)
        self.assertIn("interrupted", r.err)
        got = json.loads(r.out)
        self.assertTrue(got["stopped"])
        self.assertLess(len(got["trials"]), 900)
        best = max(got["trials"], key=lambda trial: (trial["mean"], trial["lambda"]))
        self.assertEqual(got["lambda"], best["lambda"])
        self.assertEqual(got["test"]["users"], 150)
        info = json.loads(self.ease("info", "m.ease", "--json", "--verify").out)
        self.assertEqual(info["lambda"], best["lambda"])

    def test_an_interrupted_grid_keeps_the_best_so_far(self):
        grid = "neighbours=" + "|".join(str(k) for k in range(2, 202))
        r = self.interrupt(signal.SIGINT, "trial 2 of", "tune", self.dir_name, "-o", "m.ease",
                           "--json", "--model", "item-item", "--grid", grid)
        self.assertEqual(r.code, 0, r)
        self.assertIn("interrupted", r.err)
        got = json.loads(r.out)
        self.assertTrue(got["stopped"])
        self.assertLess(len(got["trials"]), 200)
        best = max(got["trials"], key=lambda trial: trial["mean"])
        self.assertEqual(got["settings"], best["settings"])
        info = json.loads(self.ease("info", "m.ease", "--json", "--verify").out)
        self.assertIn(best["settings"], info["settings"])
        r = self.interrupt(signal.SIGTERM, "trial 2 of", "tune", self.dir_name, "-o", "n.ease",
                           "--model", "item-item", "--grid", grid)
        self.assertEqual(r.code, 143, r)
        self.assertNotIn("n.ease", os.listdir(self.dir))

    def test_a_terminated_tuning_leaves_nothing(self):
        r = self.interrupt(signal.SIGTERM, "lambda 100:", "tune", self.dir_name, "-o", "m.ease",
                           "--json", "--lambda", self.many())
        self.assertEqual(r.code, 143, r)
        self.assertEqual(os.listdir(self.dir), [])
        r = self.interrupt(signal.SIGINT, "lambda 100:", "compare", self.dir_name, "--models",
                           "ease", "--lambda", self.many())
        self.assertEqual(r.code, 130, r)
        self.assertEqual(r.out, "")


class WarmAndCold(Split):
    """Items that nobody has but that have tags, and others that the model does not know."""

    lam = 50
    source = staticmethod(made.u_data)
    parts = {"warm": ("warm", None), "cold": ("cold", None), "cold_among_cold": ("cold", "cold")}
    metrics = [f"{name}@{k}" for name in numpy_eval.ALL for k in (5, 50)]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(cls.source()) as f:
            rows = [tuple(line.split("\t")[:2]) for line in f]
        warm = [bool(int(i) % 5 and int(i) % 11) for _, i in rows]
        cls.kept, cls.held = random_split([p for p, w in zip(rows, warm) if w], 0.3, 3)
        cls.held += [p for p, w in zip(rows, warm) if not w]
        rng = np.random.default_rng(4)
        own = {i: rng.permutation(12)[:rng.integers(1, 5)] for i in sorted({i for _, i in rows})
               if int(i) % 11 and int(i) % 7}  # of warm items only some, of unknown ones none
        cls.input, cls.target, cls.tagged = (cls.part(n) for n in ("in.csv", "out.csv", "tags.csv"))
        numpy_eval.write_pairs(cls.input, cls.kept)
        numpy_eval.write_pairs(cls.target, cls.held)
        with open(cls.tagged, "w") as f:
            f.write("item,tag\n" + "".join(f"{i},t{t}\n" for i, tags in own.items() for t in tags))
        cls.model, cls.users = cls.part("m.ease"), len({u for u, _ in cls.kept})
        for args in (["train", cls.input, "-o", cls.model, "--lambda", cls.lam, "--tags",
                      cls.tagged, "--tag-weight", 3, "--precision", "f64", "--storage", "f32"],
                     ["export", cls.model, "-o", cls.part("w.npy"), "--items", cls.part("ids")]):
            r = support.run(*args)
            assert r.code == 0, r
        cls.w = np.load(cls.part("w.npy")).astype(float)
        with open(cls.part("ids")) as f:
            cls.items = f.read().splitlines()
        count = {}
        for _, i in cls.kept:
            count[i] = count.get(i, 0) + 1
        cls.popularity = np.array([count.get(i, 0) for i in cls.items], float)
        cls.tags = np.array([np.isin(np.arange(12), own.get(i, [])) for i in cls.items], float)

    def numpy(self, targets, among, unknown, metrics):
        cold = {i for i, n in zip(self.items, self.popularity) if n == 0}
        known = set(self.items)
        held = [(u, i) for u, i in self.held
                if targets == "all" or (targets == "cold") == (i in cold or i not in known)]
        users = numpy_eval.targets(held, self.items, unknown)
        ranked = None if among != "cold" else self.popularity == 0
        return users, numpy_eval.evaluate(
            lambda rows: rows @ self.w, numpy_eval.align(self.kept, users, self.items),
            numpy_eval.align(held, users, self.items), metrics, self.popularity,
            numpy_eval.held_out(held, users, self.items, unknown), self.users, self.tags, ranked)

    def check(self, got, targets, among, unknown, metrics):
        users, want = self.numpy(targets, among, unknown, metrics)
        self.assertEqual(got["users"], len(users))
        for name, values in want.items():
            mean, error = numpy_eval.mean_and_error(values)
            self.assertAlmostEqual(got["metrics"][name]["mean"], mean, delta=2e-6 * (1 + mean),
                                   msg=name)
            if error is not None:
                self.assertAlmostEqual(got["metrics"][name]["stderr"], error,
                                       delta=2e-5 * (1 + error), msg=name)

    def test_every_part_equals_numpy(self):
        metrics, counts = self.metrics, {}
        self.assertGreater(self.w[:, self.popularity == 0].any(axis=0).sum(), 100)
        for unknown in "miss", "drop":
            got = self.eval(self.model, metrics, "--unknown", unknown)
            self.assertEqual(got["cold_items"], (self.popularity == 0).sum())
            counts[unknown] = got["warm_targets"], got["cold_targets"], got["unknown_targets"]
            self.check(got, "all", None, unknown, metrics)
            for key, (targets, among) in self.parts.items():
                with self.subTest(part=key, unknown=unknown):
                    self.check(got[key], targets, among, unknown, metrics)
                    alone = self.eval(self.model, metrics, "--unknown", unknown, "--items", targets,
                                      "--among", among or "all", "--per-user", "u.csv")
                    self.assertEqual((alone["users"], alone["metrics"]),
                                     (got[key]["users"], got[key]["metrics"]))
                    self.assertEqual((alone["items"], alone["among"]), (targets, among or "all"))
                    self.assertNotIn("warm", alone)
                    with open(self.path("u.csv")) as f:
                        self.assertEqual(sum(1 for _ in f), alone["users"] + 1)
        warm, cold, strange = counts["miss"]
        self.assertEqual(counts["drop"], (warm, cold - strange, strange))
        self.assertEqual(warm + cold, len(self.held))
        self.assertGreater(strange, 0)
        self.assertGreater(cold, strange)

    def test_text_and_csv_have_every_part(self):
        args = ["eval", self.model, "--input", self.input, "--target", self.target, "--metrics",
                "recall@20,gini@20"]
        got = json.loads(self.ease(*args, "--json").out)
        r = self.ease(*args)
        self.assertEqual(r.err.count("held-out items are unknown"), 1)
        tables = r.out.split("\n\n")
        self.assertEqual(len(tables), 4)
        self.assertRegex(tables[0], r"^metric +mean +stderr\nrecall@20 ")
        for table, (key, words) in zip(tables[1:], (
                ("warm", "warm targets, ranked among all items"),
                ("cold", "cold targets, ranked among all items"),
                ("cold_among_cold", "cold targets, ranked among cold items"))):
            self.assertRegex(table, rf"^{words}: {got[key]['users']} users\nmetric +mean +stderr\n"
                                    rf"recall@20 +{got[key]['metrics']['recall@20']['mean']:.5f} ")
        rows = list(csv.DictReader(self.ease(*args, "--csv").out.splitlines()))
        self.assertEqual([(row["targets"], row["among"]) for row in rows[::2]],
                         [("all", "all"), ("warm", "all"), ("cold", "all"), ("cold", "cold")])
        for row, key in zip(rows[2::2], self.parts):
            self.assertEqual(int(row["users"]), got[key]["users"])
            self.assertAlmostEqual(float(row["mean"]), got[key]["metrics"]["recall@20"]["mean"])
            self.assertAlmostEqual(float(row["stderr"]),
                                   got[key]["metrics"]["recall@20"]["stderr"])
        one = self.ease(*args, "--items", "all").out
        self.assertEqual(one, tables[0] + "\n")


class Small(Split):
    """What is wrong is said, and what is left out is counted."""

    def setUp(self):
        super().setUp()
        self.write("train.csv", "user,item\n" + "".join(
            f"{u},{i}\n" for u in range(20) for i in "abcdef" if (u * 7 + ord(i)) % 3))
        self.input = self.write("in.csv", "user,item\nx,a\nx,b\ny,c\nz,strange\nw,a\n")
        self.target = self.write("out.csv", "user,item\nx,c\ny,a\nz,b\nv,alien\nv,martian\n")
        self.ease("train", "train.csv", "-o", "m.ease", "--lambda", 1)

    def test_json_has_the_promised_shape(self):
        got = self.eval("m.ease", ["recall@2", "coverage@2"])
        self.assertEqual(list(got)[:2], ["users", "metrics"])
        self.assertEqual(got["users"], 4)
        self.assertEqual(set(got["metrics"]["recall@2"]), {"mean", "stderr"})
        self.assertIsNone(got["metrics"]["coverage@2"]["stderr"])
        self.assertEqual((got["without_target"], got["without_input"], got["unknown"],
                          got["unknown_targets"], got["unknown_inputs"]), (1, 2, "miss", 2, 1))

    def test_text_and_csv_are_tables(self):
        args = ["eval", "m.ease", "--input", self.input, "--target", self.target]
        r = self.ease(*args)
        self.assertRegex(r.out, r"^metric +mean +stderr\nrecall@20 +\d\.\d{5} +\d\.\d{5}\n")
        self.assertIn("1 users left out", r.err)
        self.assertIn("2 of 5 held-out items", r.err)
        self.assertIn("2 users with nothing known", r.err)
        r = self.ease(*args, "--csv", "--metrics", "hit@100,gini@1")
        self.assertEqual(r.out.splitlines()[:2], ["metric,mean,stderr,targets,among,users",
                                                  "hit@100,0.75,0.216506350946,all,all,4"])
        self.assertRegex(r.out, r"\ngini@1,[\d.]+,,warm,all,3\n")
        r = self.ease(*args, "--csv", "--metrics", "hit@100,gini@1", "--items", "all")
        self.assertEqual(r.out.splitlines()[:2], ["metric,mean,stderr", "hit@100,0.75,0.216506350946"])
        self.assertRegex(r.out, r"\ngini@1,[\d.]+,\n$")

    def test_without_cold_targets_there_is_one_table(self):
        """Byte for byte what was written before there were cold items."""
        known = self.write("known.csv", "user,item\nx,c\ny,a\nz,b\n")
        args = ["eval", "m.ease", "--input", self.input, "--target", known, "--metrics",
                "hit@100,coverage@100"]
        self.assertEqual(self.ease(*args).out, "metric           mean   stderr\n"
                         "hit@100       1.00000  0.00000\ncoverage@100  1.00000         \n")
        self.assertEqual(self.ease(*args, "--csv").out,
                         "metric,mean,stderr\nhit@100,1,0\ncoverage@100,1,\n")
        self.assertEqual(list(json.loads(self.ease(*args, "--json").out)),
                         ["users", "metrics", "without_target", "without_input", "unknown",
                          "unknown_targets", "unknown_inputs", "seconds"])

    def test_kinds_of_items_that_are_not_there(self):
        args = ["eval", "m.ease", "--input", self.input, "--target"]
        known = self.write("known.csv", "user,item\nx,c\n")
        self.fails(3, "no user has a cold item held out$", *args, known, "--items", "cold")
        self.fails(3, "no user has a cold item held out that the model knows", *args,
                   self.target, "--items", "cold", "--unknown", "drop")
        self.fails(2, "--among cold requires --items cold", *args, known, "--among", "cold")
        self.fails(2, "--among warm requires --items warm", *args, known, "--items", "cold",
                   "--among", "warm")
        self.fails(2, "all.warm.cold, not 'lukewarm'", *args, known, "--items", "lukewarm")
        self.fails(3, "diversity@3 needs tags of items.*--tags", *args, known, "--metrics",
                   "diversity@3")
        r = self.ease(*args, self.target, "--unknown", "drop")
        self.assertNotIn("targets", r.out, "what is dropped is not cold")

    def test_metrics_are_told_from_one_table_and_have_twins(self):
        told = self.ease("help", "metrics").out.splitlines()
        names = [line.split("@K: ")[0] for line in told]
        self.assertEqual(names, list(numpy_eval.ALL))
        self.fails(2, f"one of {', '.join(names)}$", "eval", "m", "--split", "nowhere",
                   "--metrics", "speed@3")
        page = " ".join(self.ease("generate", "man").out.replace("\\-", "-").split())
        for name, line in zip(names, told):
            self.assertIn(f"\\fB{name}@\\fIK\\fR {line.split('@K: ')[1]}.", page)

    def test_what_is_wrong_is_said_before_the_work(self):
        args = ["eval", "m.ease", "--input", self.input, "--target"]
        self.fails(2, "no metric 'speed@3'", *args, "nowhere", "--metrics", "speed@3")
        self.fails(1, "nowhere", *args, "nowhere")
        self.fails(3, "none.csv", *args, self.write("none.csv", "user,item\n"))
        self.fails(3, "held out", *args, self.write("alien.csv", "user,item\nx,alien\n"))
        self.fails(1, "no/such", *args, self.target, "--per-user", "no/such/file")
        self.fails(2, "standard output", *args, self.target, "--per-user", "-")
        self.fails(2, "both be standard input", "eval", "m.ease", "--input", "-",
                   "--target", "-")
        self.fails(1, "nosplit", "tune", "nosplit", "-o", "t.ease")
        self.fails(2, "--lambda: expected auto", "tune", ".", "-o", "t", "--lambda", "1,x")
        self.fails(2, "--lambda: expected auto", "tune", ".", "-o", "t", "--lambda", "-1")
        self.fails(2, "no metric", "tune", ".", "-o", "t", "--metric", "x@1")
        self.fails(2, "no model 'itemknn'", "compare", ".", "--models", "ease,itemknn")
        self.fails(2, "exclude", "compare", ".", "--models", "ease", "--markdown", "--csv")
        self.fails(2, "no model 'slimmer'", "train", "train.csv", "-o", "x", "--model", "slimmer")
        self.fails(2, "lambda is required", "train", "train.csv", "-o", "x", "--nonnegative")
        self.fails(2, "takes no --lambda", "train", "train.csv", "-o", "x", "--model",
                   "popularity", "--lambda", "3")
        self.fails(2, "expected weights, longtail, lambda or settings", "plot", "pie", "-o", "x.svg")
        self.fails(2, "either --input and --target or --split", "plot", "longtail", "m.ease", "-o",
                   "x.svg")
        self.fails(2, "one MODEL", "plot", "weights", "-o", "x.svg")
        self.fails(2, "plot settings takes one file", "plot", "settings", "-o", "x.svg")
        for figure, source in (("weights", "m.ease"), ("lambda", "trials.csv"),
                               ("settings", "trials.csv")):
            for option in (["--split", "s"], ["--input", self.input], ["--target", self.target],
                           ["-k", 20], ["--min-rating", 4]):
                self.fails(2, f"are for longtail, not for {figure}", "plot", figure, source,
                           "-o", "x.svg", *option)

    def test_bad_input_is_an_error_or_counted(self):
        args = ["eval", "m.ease", "--input", self.input, "--target"]
        # More than the catalog has: the whole of it, with k as it was asked for.
        got = json.loads(self.ease(*args, self.target, "--metrics", "precision@1000,hit@6,hit@1000",
                                   "--json").out)["metrics"]
        self.assertEqual(got["hit@1000"], got["hit@6"])
        self.assertAlmostEqual(got["precision@1000"]["mean"], 0.75 / 1000)
        # Of the targets some are unknown: they are counted.
        mixed = self.write("mixed.csv", "user,item\nx,c\nx,alien\ny,a\ny,martian\n")
        r = self.ease(*args, mixed, "--json")
        got = json.loads(r.out)
        self.assertEqual((got["users"], got["unknown_targets"]), (2, 2))
        self.assertIn("2 of 4 held-out items are unknown to the model: they count as misses",
                      r.err)
        self.fails(3, "empty.csv", *args, self.write("empty.csv", ""))
        for name in ("recall@0", "recall", "recall@x", "@5", "recall@20,,ndcg@5"):
            self.fails(2, "metric", *args, self.target, "--metrics", name)

    def test_a_split_with_a_file_missing(self):
        self.ease("split", "train.csv", "-o", "s", "--protocol", "random", "--share", 0.4)
        for name in ("train.csv", "validation_tr.csv", "validation_te.csv", "test_tr.csv",
                     "test_te.csv"):
            content = self.read("s/" + name)
            os.unlink(self.path("s/" + name))
            for verb in (["tune", "s", "-o", "t.ease"], ["compare", "s", "--models", "ease"]):
                self.fails(1, f"s/{name}: .*No such file", *verb, "--lambda", "1")
            self.write("s/" + name, content)
        self.assertFalse(os.path.exists(self.path("t.ease")))

    def test_long_files_of_trials_are_read_to_the_end(self):
        trials = [{"lambda": 10 + k, "mean": 0.1 + k / 1000, "stderr": 0.01, "note": "x" * 5000}
                  for k in range(300)]
        text = json.dumps({"trials": trials, "metric": "hit@77"})
        self.assertGreater(len(text), 1 << 20)
        self.ease("plot", "lambda", self.write("long.json", text), "-o", "x.svg")
        self.assertIn(b"hit@77", self.read("x.svg"))
        text = "lambda,hit@5,stderr,seconds\n" + "".join(
            f"{10 + k},0.{k + 100},0.01,{'1' * 2000}\n" for k in range(700))
        self.ease("plot", "lambda", "-", "-o", "x.svg", input=text)
        self.fails(3, "tune --csv", "plot", "lambda", "-", "-o", "x.svg", input=text + "x\n")

    def test_files_of_trials_are_checked(self):
        for k, text in enumerate((
                "", "lambda\n", "lambda,ndcg@10,stderr\n", "lambda,ndcg@10,stderr\n1,x,2\n",
                "a,b,stderr\n1,2,3\n", "lambda,ndcg@10,stderr\n1,,2\n", "{", "{}", "[1]",
                '{"metric": "ndcg@10", "trials": []}', '{"metric": "ndcg@10"}',
                '{"metric": "ndcg@10", "trials": [{"lambda": 1}]}',
                '{"trials": [{"lambda": 1, "mean": 2, "stderr": 3}]}',
                '{"metric": "ndcg@10", "trials": [{"lambda": 1, "mean": 2, "stderr": 3}',
                "settings,ndcg@10\na=1,2\n", "settings,ndcg@10,stderr\na=1,b=2,2,3\n",
                'settings,ndcg@10,stderr\n"a=1,b=2,2,3\n', 'settings,ndcg@10,stderr\n"a=1"b,2,3\n',
                f"settings,ndcg@10,stderr\na={'1' * 400},2,3\n",
                "settings,lambda,ndcg@10,stderr\na=1,2,3,4\n",
                '{"metric": "ndcg@10", "trials": [{"settings": {"a": 1}, "mean": 2}]}',
                '{"metric": "m", "trials": [{"settings": "a=%s", "mean": 2}]}' % ("1" * 400))):
            for figure in "lambda", "settings":
                self.fails(3, "tune --csv or --json", "plot", figure,
                           self.write(f"t{k}", text), "-o", "x.svg")
        self.write("t", '{"a": [{"b": "}]\\""}, [2]], "metric": "hit@3", "c": null, "trials": '
                        '[{"x": {"y": []}, "lambda": 1e2, "mean": 0.5, "stderr": null}]}')
        self.ease("plot", "lambda", "t", "-o", "x.svg")
        self.assertIn(b"hit@3", self.read("x.svg"))

    def test_a_history_explains_a_popular_item_by_nothing(self):
        self.ease("train", "train.csv", "-o", "p.ease", "--model", "popularity")
        r = self.ease("recommend", "p.ease", "--history", "a", "-k", 2, "--json")
        items = json.loads(r.out)["items"]
        self.assertEqual(len(items), 2)
        self.fails(2, "needs weights", "export", "p.ease", "-o", "w.csv")


if __name__ == "__main__":
    support.main()
