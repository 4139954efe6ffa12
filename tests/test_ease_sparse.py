"""ease-sparse against NumPy: which neighbours an item has, and the weights from them."""
import json
import os
import re
import signal
import subprocess
import time

import numpy as np
import scipy.sparse as sparse
import support

PLAIN = {"lambda": 10.0, "neighbours": 20, "nearness": "cosine", "lambda-power": 0.0,
         "dropout": 0.0, "user-power": 0.0, "relaxation": 0.0, "input-power": 0.0,
         "output-power": 0.0}


def matrix_of(x, o):
    """C = X' diagMat(w) X, and Lambda."""
    sizes = np.maximum(np.diff(x.indptr), 1)
    w = sizes ** -float(o["user-power"])
    gram = np.asarray((x.T @ sparse.diags(w) @ x).todense(), dtype=float)
    d = np.diag(gram)
    squares = np.asarray(x.multiply(x).sum(axis=0)).ravel()
    lam = o["lambda"] * d.sum() / squares.sum()
    power = np.where(d > 0, np.where(d > 0, d, 1) ** o["lambda-power"], 1)
    return gram, lam * power + o["dropout"] / (1 - o["dropout"]) * d


def supports(gram, penalty, o):
    """True where item i is a neighbour of item j, and a mask of ties that rounding decides."""
    d = np.diag(gram) + (penalty if o["nearness"] == "regularized" else 0)
    near = np.abs(gram) / np.sqrt(np.where(d > 0, d, 1))[:, None]
    np.fill_diagonal(near, 0)
    if o["neighbours"] >= len(d) - 1:
        others = ~np.eye(len(d), dtype=bool)
        return near > 0, others
    last = np.sort(near, axis=0)[-min(o["neighbours"], len(d) - 1)]
    return near > last * (1 + 1e-6), (near > 0) & (near >= last * (1 - 1e-6))


def solve(gram, penalty, counts, j, own, o):
    """The weights into item j from the items `own`."""
    a = gram[np.ix_(own, own)] + np.diag(penalty[own])
    b = np.linalg.solve(a, gram[own, j])
    pivot = gram[j, j] + penalty[j] - gram[own, j] @ b
    xi = o["relaxation"]
    if xi > 0:
        b = b * (1 - xi if 1 - penalty[j] / pivot > xi else penalty[j] / pivot)
    return b * counts[own] ** o["input-power"] * counts[j] ** o["output-power"]


class EaseSparse(support.Case):
    def write_data(self, x):
        entries = x.tocoo()
        self.write("x.csv", "user,item,value\n" + "".join(
            f"u{u},{i},{v!r}\n" for u, i, v in zip(entries.row, entries.col,
                                                   entries.data.tolist())))

    def weights(self, n, *options):
        """The n x n weights of a model of x.csv."""
        self.ease("train", "x.csv", "-o", "m.ease", "--quiet", *options)
        self.ease("export", "m.ease", "-o", "w.npy", "--items", "ids.txt", "--quiet")
        place = np.array(self.read("ids.txt").split(), dtype=int)
        w = np.zeros((n, n))
        w[np.ix_(place, place)] = np.load(self.path("w.npy"))
        return w

    def sparse_weights(self, n, o, *more):
        settings = ",".join(f"{k}={v}" for k, v in o.items() if k != "lambda")
        return self.weights(n, "--model", "ease-sparse", "--lambda", o["lambda"], "--set",
                            settings, *more)

    def check(self, x, weighted=False, **changes):
        o = {**PLAIN, **changes}
        w = self.sparse_weights(x.shape[1], o, *(["--weights"] if weighted else []))
        gram, penalty = matrix_of(x, o)
        sure, possible = supports(gram, penalty, o)
        counts = np.maximum(np.diff(x.tocsc().indptr), 1).astype(float)
        for j in range(x.shape[1]):
            own = np.flatnonzero(w[:, j])
            self.assertTrue(set(np.flatnonzero(sure[:, j])) <= set(own), j)
            self.assertTrue(set(own) <= set(np.flatnonzero(possible[:, j])), j)
            if o["neighbours"] < x.shape[1] - 1:
                self.assertEqual(len(own), min(possible[:, j].sum(), o["neighbours"]), j)
            want = solve(gram, penalty, counts, j, own, o)
            # Rounding of float32: 2^-24 times the condition, which is below
            # trace / lambda of systems of this size.
            condition = (gram[own, own] + penalty[own]).sum() / penalty[own].min() \
                if len(own) else 1
            tolerance = 8 * len(own) * 2.0 ** -24 * condition * (np.abs(want).max(initial=0))
            self.assertLessEqual(np.abs(w[own, j] - want).max(initial=0), tolerance + 1e-12, j)

    def data(self, density, weighted=False, users=300, items=80):
        rng = np.random.default_rng(11)
        share = np.linspace(2 * density, 0, items, endpoint=False)
        x = sparse.csr_matrix((rng.random((users, items)) < share) * 1.0)
        x = x[:, np.asarray(x.sum(axis=0)).ravel() > 0].tocsr()
        if weighted:
            x.data[:] = rng.integers(1, 9, x.nnz) / 2
        self.write_data(x)
        return x

    def test_weights_equal_numpy(self):
        for density in (0.02, 0.2):
            x = self.data(density)
            for neighbours in (1, 7, 40, 1000):
                with self.subTest(density=density, neighbours=neighbours):
                    self.check(x, neighbours=neighbours)

    def test_settings_of_the_family_equal_numpy(self):
        x = self.data(0.1)
        for changes in ({"user-power": 0.5}, {"dropout": 0.6}, {"lambda-power": 0.75},
                        {"relaxation": 0.3}, {"relaxation": 1}, {"input-power": -0.2},
                        {"output-power": 0.3}, {"nearness": "regularized"},
                        {"user-power": 0.4, "dropout": 0.5, "relaxation": 0.1,
                         "input-power": 0.1, "output-power": -0.1,
                         "nearness": "regularized"}):
            with self.subTest(**changes):
                self.check(x, **changes)

    def test_weighted_data_equal_numpy(self):
        self.check(self.data(0.1, weighted=True), weighted=True)
        self.check(self.data(0.1, weighted=True), weighted=True, **{"user-power": 0.5})

    def test_histories_that_are_not_remembered_are_searched_again(self):
        """No row of X'X is kept if entries are beyond float32. A support remembers the hits of
        65,536 users."""
        x = self.data(0.1, weighted=True, users=80_000, items=20)
        x.data *= 1e20
        self.write_data(x)
        self.check(x, weighted=True, **{"lambda": 1e42})
        self.check(x, weighted=True, **{"lambda": 1e42, "user-power": 0.5, "neighbours": 5})

    def test_with_all_neighbours_it_is_ease(self):
        """The dense model solves one matrix in float32; data and lambda make it easy."""
        n = self.data(0.15).shape[1]
        dense = self.weights(n, "--model", "ease", "--lambda", 20, "--storage", "f32")
        w = self.sparse_weights(n, {**PLAIN, "lambda": 20, "neighbours": n - 1})
        self.assertLess(np.abs(w - dense).max(), 1e-4)
        family = "user-power=0.4,dropout=0.5,input-power=0.1,output-power=-0.1,relaxation=0.2"
        dense = self.weights(n, "--model", "ease-family", "--lambda", 20, "--storage", "f32",
                             "--set", family)
        w = self.weights(n, "--model", "ease-sparse", "--lambda", 20, "--set",
                         f"neighbours={n},{family}")
        self.assertLess(np.abs(w - dense).max(), 1e-4)

    def test_an_item_without_neighbours_has_no_weights(self):
        self.write("x.csv", "user,item,value\na,0,1\nb,1,1\nb,2,1\nc,1,1\nc,2,1\n")
        w = self.sparse_weights(3, PLAIN)
        self.assertFalse(w[0].any() or w[:, 0].any())
        self.assertTrue(w[1, 2] > 0 and w[2, 1] > 0)
        out = self.ease("recommend", "m.ease", "--history", "0", "-k", 2, "--csv", "--quiet").out
        self.assertEqual(len(out.split()), 3) # a header, and two items by popularity

    def test_a_small_lambda_is_solved_in_float64(self):
        """Three equal items: float32 cannot tell lambda from 0."""
        self.write("x.csv", "user,item,value\n" + "".join(
            f"{u},{i},1\n" for u in range(50) for i in range(4)))
        w = self.sparse_weights(4, {**PLAIN, "lambda": 1e-6})
        self.assertLess(np.abs(w - (1 - np.eye(4)) / 3).max(), 1e-6)

    def test_a_singular_system_is_refused_with_the_items_id(self):
        self.write("x.csv", "user,item,value\n" + "".join(
            f"{u},item-{i},1\n" for u in range(50) for i in range(4)))
        self.fails(5, 'item "item-', "train", "x.csv", "-o", "bad.ease", "--model",
                   "ease-sparse", "--lambda", 1e-15, "--quiet")
        self.assertFalse(os.path.exists(self.path("bad.ease")))

    def test_bad_numbers_of_neighbours_are_refused(self):
        self.data(0.1)
        for value in ("0", "-1", "1.5", "many"):
            self.fails(2, "neighbours", "train", "x.csv", "-o", "m2.ease", "--model",
                       "ease-sparse", "--lambda", 10, "--set", f"neighbours={value}", "--quiet")

    def test_too_many_neighbours_for_the_memory_are_refused(self):
        self.ease("synth", "-o", "x.csv", "--users", 3000, "--items", 3000, "--interactions",
                  20000, "--quiet")
        train = ["train", "x.csv", "-o", "m.ease", "--quiet", "--model", "ease-sparse", "--lambda",
                 10, "--memory-limit", "60M", "--threads", 2, "--set"]
        self.fails(4, "3,000 items need .* of memory", *train, "neighbours=3000")
        self.ease(*train, "neighbours=10")

    def test_a_dense_model_that_does_not_fit_names_this_one(self):
        self.ease("synth", "-o", "x.csv", "--users", 3000, "--items", 4000, "--interactions",
                  20000, "--quiet")
        limit = ["--memory-limit", "25M", "--quiet"]
        self.fails(4, "--model ease-sparse needs .* of memory and about", "train", "x.csv", "-o",
                   "m.ease", "--lambda", 10, *limit)
        plan = json.loads(self.ease("plan", "x.csv", "--json", *limit, code=4).out)
        self.assertEqual((plan["fits"], plan["smaller_model"], plan["smaller_fits"]),
                         (False, "ease-sparse", True))
        self.assertLessEqual(plan["smaller_least_bytes"], plan["smaller_peak_bytes"])
        self.assertLessEqual(plan["smaller_peak_bytes"], 25e6)
        self.fails(4, "choosing lambda .* --model ease-sparse needs .* of memory and about",
                   "train", "x.csv", "-o", "m.ease", *limit)
        self.ease("train", "x.csv", "-o", "m.ease", "--lambda", 10, "--model", "ease-sparse",
                  *limit)
        self.assertLess(os.path.getsize(self.path("m.ease")), 1.2 * plan["smaller_model_bytes"])

    def test_lambda_is_chosen_on_held_out_users(self):
        """The model is trained on all users with the best lambda."""
        self.ease("synth", "-o", "x.csv", "--users", 1200, "--items", 200, "--interactions",
                  20000, "--quiet")
        options = ["--model", "ease-sparse", "--set", "neighbours=20,user-power=0.3"]
        r = self.ease("train", "x.csv", "-o", "m.ease", "--json", *options)
        out = json.loads(r.out)
        self.assertRegex(r.err, "lambda is measured on [0-9]+ of 1200 users, who are held out")
        self.assertRegex(r.err, "plan: .* for some 11 solves")
        means = [t["mean"] for t in out["trials"]]
        self.assertGreater(len(means), 5)
        self.assertEqual(out["trials"][means.index(max(means))]["lambda"], out["lambda"])
        self.ease("train", "x.csv", "-o", "given.ease", "--lambda", out["lambda"], "--quiet",
                  *options)
        self.assertEqual(self.read("m.ease"), self.read("given.ease"))
        some = json.loads(self.ease("train", "x.csv", "-o", "some.ease", "--json", "--quiet",
                                    "--lambda", "auto", "--lambda-users", 30, "--threads", 1,
                                    *options).out)
        self.assertGreater(some["trials"][0]["stderr"], out["trials"][0]["stderr"])

    def test_lambda_is_not_chosen_on_few_users(self):
        self.ease("synth", "-o", "x.csv", "--users", 15, "--items", 20, "--interactions", 120,
                  "--quiet")
        self.fails(3, "lambda cannot be chosen: .* held out, and only .* give --lambda L", "train",
                   "x.csv", "-o", "m.ease", "--model", "ease-sparse", "--quiet")
        self.assertFalse(os.path.exists(self.path("m.ease")))

    def test_a_lambda_that_is_chosen_takes_the_data_twice(self):
        self.ease("synth", "-o", "x.csv", "--users", 20000, "--items", 3000, "--interactions",
                  300000, "--quiet")
        options = ["--model", "ease-sparse", "--set", "neighbours=10", "--threads", 2, "--quiet",
                   "--memory-limit"]
        r = self.fails(4, "choosing lambda for 3,000 items takes .* --lambda L takes .* less",
                       "train", "x.csv", "-o", "m.ease", *options, "11M")
        need = float(re.search(r"takes ([0-9.]+) MB of memory", r.err)[1])
        self.ease("train", "x.csv", "-o", "m.ease", *options, f"{need + 0.5:.1f}M")

    def test_the_plan_with_less_memory_takes_longer(self):
        """The time that is named is that with the memory that is named."""
        sizes = ["plan", "--items", 125000, "--users", 250000, "--interactions", 6250000, "--json",
                 "--memory-limit"]
        plans = [json.loads(self.ease(*sizes, limit, code=4).out) for limit in ("2G", "350M")]
        kept = [p["smaller_peak_bytes"] for p in plans]
        self.assertGreater(kept[0], 700e6)
        self.assertLessEqual(kept[1], 350e6)
        self.assertGreater(plans[1]["smaller_seconds"], 1.2 * plans[0]["smaller_seconds"])

    def test_tuning_searches_the_settings_of_the_family(self):
        """The model is that of the best trial, and no worse than the first one."""
        self.ease("synth", "-o", "x.csv", "--users", 1500, "--items", 300, "--interactions",
                  40000, "--quiet")
        self.ease("split", "x.csv", "-o", "split", "--protocol", "liang18", "--heldout-users",
                  200, "--quiet")
        out = json.loads(self.ease("tune", "split", "-o", "m.ease", "--model", "ease-sparse",
                                   "--set", "neighbours=20", "--json", "--quiet").out)
        means = [t["mean"] for t in out["trials"]]
        self.assertGreater(len(means), 12)
        self.assertGreater(out["solves"], 8)
        best = out["trials"][means.index(max(means))]
        self.assertEqual((out["lambda"], out["settings"]), (best["lambda"], best["settings"]))
        self.ease("train", "split/train.csv", "-o", "again.ease", "--model", "ease-sparse",
                  "--lambda", out["lambda"], "--set", out["settings"], "--quiet")
        mean = [json.loads(self.ease("eval", name, "--split", "split", "--metrics", "ndcg@100",
                                     "--json", "--quiet").out)["metrics"]["ndcg@100"]["mean"]
                for name in ("m.ease", "again.ease")]
        self.assertEqual(mean[0], mean[1])
        listed = json.loads(self.ease(
            "tune", "split", "-o", "m.ease", "--model", "ease-sparse", "--set", "neighbours=20",
            "--lambda", "10,50", "--grid", "dropout=0|0.5", "--json", "--quiet").out)
        self.assertEqual(len(listed["trials"]), 4)

    def check_trials(self, out, options):
        """Trials have the means of models trained with their settings."""
        for trial in out["trials"]:
            self.ease("train", "split/train.csv", "-o", "again.ease", *options, trial["settings"])
            found = json.loads(self.ease(
                "eval", "again.ease", "--input", "split/validation_tr.csv", "--target",
                "split/validation_te.csv", "--metrics", "ndcg@100", "--json", "--quiet").out)
            self.assertEqual(found["metrics"]["ndcg@100"]["mean"], trial["mean"])
            if trial["settings"] == out["settings"]:
                self.assertEqual(self.read("m.ease"), self.read("again.ease"))

    def test_trials_that_only_scale_items_have_the_bits_of_training(self):
        """The last trial of a grid, whose model is that of the one before, with other scales."""
        self.ease("synth", "-o", "x.csv", "--users", 1500, "--items", 300, "--interactions",
                  40000, "--quiet")
        self.ease("split", "x.csv", "-o", "split", "--protocol", "liang18", "--heldout-users",
                  200, "--quiet")
        options = ["--model", "ease-sparse", "--quiet", "--lambda", 50, "--set"]
        for relaxation in (0, 0.2):
            for powers in ((0, -0.3), (-0.3, 0)):
                grid = "|".join(map(str, powers))
                out = json.loads(self.ease(
                    "tune", "split", "-o", "m.ease", *options,
                    f"neighbours=20,relaxation={relaxation},output-power=-0.1", "--grid",
                    f"input-power={grid}", "--json").out)
                self.assertEqual((len(out["trials"]), out["solves"]), (2, 1))
                self.check_trials(out, options)
        out = json.loads(self.ease("tune", "split", "-o", "m.ease", *options, "dropout=0.2",
                                   "--grid", "neighbours=5|40", "--json").out)
        self.check_trials(out, options)

    def test_kept_rows_do_not_change_a_bit(self):
        """With just enough memory most rows of X'X are counted whenever they are needed."""
        self.ease("synth", "-o", "x.csv", "--users", 20000, "--items", 8000, "--interactions",
                  300000, "--quiet")
        train = ["train", "x.csv", "-o", "m.ease", "--quiet", "--model", "ease-sparse", "--lambda",
                 10, "--set", "neighbours=100,user-power=0.3", "--threads", 2, "--memory-limit"]
        self.ease(*train, "1G")
        kept = self.read("m.ease")
        refused = self.fails(4, "8,000 items need", *train, "12M")
        need = float(re.search(r"need ([0-9.]+) MB", refused.err)[1])
        self.ease(*train, f"{need + 0.5:.1f}M")
        self.assertEqual(kept, self.read("m.ease"))

    def processor_seconds(self, p):
        """Those that a running process has used."""
        with open(f"/proc/{p.pid}/stat", encoding="ascii") as file:
            user, system = file.read().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def seconds_after_an_interrupt(self, moment):
        """Processor time from SIGINT, sent when `moment` seconds were used, to the end."""
        before = os.times()
        with subprocess.Popen([support.EASE, "train", "x.csv", "-o", "m.ease", "--model",
                               "ease-sparse", "--lambda", "10", "--set", "neighbours=3000",
                               "--threads", "2", "--quiet"], cwd=self.dir,
                              stderr=subprocess.PIPE) as p:
            while p.poll() is None and self.processor_seconds(p) < moment:
                time.sleep(0.02)
            used = self.processor_seconds(p)
            p.send_signal(signal.SIGINT)
            p.communicate(timeout=support.PATIENCE)
        after = os.times()
        self.assertEqual(p.returncode, 130)
        self.assertFalse(os.path.exists(self.path("m.ease")))
        return (after.children_user + after.children_system
                - before.children_user - before.children_system - used)

    def test_an_interrupt_ends_large_systems_at_once(self):
        """Each item takes some tenth of a second, all of them minutes. Processor time of two
        threads, each of which has a second, is measured: that of the clock depends on other
        programs."""
        most = 8 if support.SANITIZED else 2
        self.ease("synth", "-o", "x.csv", "--users", 2000, "--items", 3001, "--interactions",
                  100000, "--quiet")
        for moment in (1.5, 2, 2.5, 3):
            self.assertLess(self.seconds_after_an_interrupt(moment), most)

    def test_threads_do_not_change_a_bit(self):
        x = self.data(0.1)
        files = []
        for threads in (1, 2, 5):
            self.sparse_weights(x.shape[1], {**PLAIN, "user-power": 0.3}, "--threads", threads)
            files.append(self.read("m.ease"))
        self.assertEqual(files[0], files[1])
        self.assertEqual(files[0], files[2])


if __name__ == "__main__":
    support.main()
