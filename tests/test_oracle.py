"""The program against NumPy in float64."""
import filecmp
import json
import os
import threading

import made
import numpy as np
import numpy_ease
import scipy.sparse
import support


def npy(path):
    return np.load(path)


class Ratings(support.Case):
    """Ratings of at least 4 as ones, lambda 300."""

    lam = 300
    kind = "counts"
    source = staticmethod(made.ratings_csv)

    @classmethod
    def setUpClass(cls):
        cls.ratings = cls.source()
        cls.x, cls.users, cls.items = numpy_ease.movielens(cls.ratings, 4)

    def train(self, name, *options):
        model = self.path(name)
        self.ease("train", self.ratings, "-o", model, "--lambda", self.lam,
                  "--min-rating", 4, "--storage", "f32", "--quiet", *options)
        return model

    def weights(self, model):
        out, ids = self.path("weights.npy"), self.path("ids.txt")
        self.ease("export", model, "-o", out, "--items", ids, "--quiet")
        with open(ids) as f:
            self.assertEqual([line.rstrip("\n") for line in f], self.items)
        return npy(out)

    def check_weights(self, got, want):
        self.assertLessEqual(np.abs(got - want).max(), 1e-4 * np.abs(want).max())
        self.assertTrue((np.diag(got) == 0).all())

    def check_lists(self, model, w, c, k=20):
        """Every user's top k, except where scores tie within 1e-5."""
        text = self.ease("recommend", model, "--users", self.ratings, "--min-rating", 4,
                         "-k", k, "--json", "--quiet").out
        index = {item: i for i, item in enumerate(self.items)}
        lines = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([line["user"] for line in lines], self.users)
        differing = 0
        for u, line in enumerate(lines):
            row = self.x[u]
            scores = np.asarray(row @ w).ravel() + c
            got = [index[item["id"]] for item in line["items"]]
            want = numpy_ease.top(scores, row.indices, k)
            self.assertEqual(len(got), k)
            for a, b in zip(got, want):
                if a != b:
                    differing += 1
                    self.assertLessEqual(abs(scores[a] - scores[b]), 1e-5)
            for item in line["items"][:3]:
                self.assertAlmostEqual(item["score"], scores[index[item["id"]]], delta=1e-4)
        self.assertLess(differing, len(lines) * k // 200)

    def test_weights_and_lists_equal_the_closed_form(self):
        model = self.train("m.ease")
        w, c = numpy_ease.model(self.x, self.lam)
        self.check_weights(self.weights(model), w)
        self.check_lists(model, w, c)

    def test_float64_is_closer_than_float32(self):
        w, _ = numpy_ease.model(self.x, self.lam)
        got = self.weights(self.train("m64.ease", "--precision", "f64"))
        self.assertLessEqual(np.abs(got - w).max(), 2e-7 * np.abs(w).max())

    def test_covariance_ranks_as_its_formula(self):
        model = self.train("cov.ease", "--kind", "covariance")
        w, c = numpy_ease.model(self.x, self.lam, "covariance")
        self.check_weights(self.weights(model), w)
        self.check_lists(model, w, c)

    def test_correlation_ranks_as_its_formula(self):
        # Entries of a correlation are at most 1, so that lambda is small too.
        self.lam = 0.5
        model = self.train("cor.ease", "--kind", "correlation")
        w, c = numpy_ease.model(self.x, self.lam, "correlation")
        self.check_weights(self.weights(model), w)
        self.check_lists(model, w, c)

    def test_nonnegative_has_no_weight_below_zero(self):
        model = self.train("nn.ease", "--nonnegative")
        w, c = numpy_ease.model(self.x, self.lam, nonnegative=True)
        got = self.weights(model)
        self.assertGreaterEqual(got.min(), 0)
        self.check_weights(got, w)
        self.check_lists(model, w, c)

    def test_packed_and_rows_are_the_same_weights(self):
        rows = self.weights(self.train("rows.ease"))
        packed = self.weights(self.train("packed.ease", "--storage", "packed"))
        self.assertTrue((rows == packed).all())

    def test_threads_do_not_change_a_bit(self):
        one = self.train("t1.ease", "--threads", 1)
        for threads in (2, 3):
            self.assertTrue(filecmp.cmp(one, self.train("tn.ease", "--threads", threads),
                                        shallow=False))

    def test_a_gram_file_gives_the_same_model(self):
        gram = self.path("x.gram")
        self.ease("gram", self.ratings, "-o", gram, "--min-rating", 4, "--quiet")
        for kind in ("counts", "covariance"):
            direct = self.train("direct.ease", "--kind", kind)
            model = self.path("from-gram.ease")
            self.ease("train", "--gram", gram, "-o", model, "--lambda", self.lam, "--kind",
                      kind, "--storage", "f32", "--quiet")
            self.assertTrue(filecmp.cmp(direct, model, shallow=False))

    def test_merged_shards_give_the_same_counts(self):
        parts = [[], [], []]
        with open(self.ratings) as f:
            header = next(f)
            for line in f:
                parts[int(line.split(",")[0]) % 3].append(line)
        names = []
        for k, lines in enumerate(parts):
            path = self.path(f"part{k}.csv")
            with open(path, "w") as f:
                f.write(header + "".join(lines))
            names.append(self.path(f"part{k}.gram"))
            self.ease("gram", path, "-o", names[-1], "--min-rating", 4, "--quiet")
        merged, model = self.path("merged.gram"), self.path("merged.ease")
        self.ease("gram", "merge", *names, "-o", merged, "--quiet")
        info = json.loads(self.ease("info", merged, "--json").out)
        self.assertEqual((info["users"], info["items"], info["interactions"]),
                         (len(self.users), len(self.items), self.x.nnz))
        self.ease("train", "--gram", merged, "-o", model, "--lambda", self.lam, "--storage",
                  "f32", "--quiet")
        out, ids = self.path("merged.npy"), self.path("merged.txt")
        self.ease("export", model, "-o", out, "--items", ids, "--quiet")
        with open(ids) as f:
            order = [self.items.index(line.rstrip("\n")) for line in f]
        w, _ = numpy_ease.model(self.x, self.lam)
        self.check_weights(npy(out), w[np.ix_(order, order)])


class Weighted(support.Case):
    """Values instead of ones, one column the same for everyone."""

    def test_centred_kinds_with_weights_and_a_constant_column(self):
        rng = np.random.default_rng(12)
        print("seed 12")
        users, items = 5003, 12
        dense = np.where(rng.random((users, items)) < 0.3, rng.random((users, items)), 0)
        dense = dense.astype(np.float32).astype(float)
        dense[:, 5] = np.float32(0.1)
        ids = [f"i{i}" for i in range(items)]
        with open(self.path("w.csv"), "w") as f:
            f.write("user,item,value\n")
            f.writelines(f"{u},{ids[i]},{dense[u, i]:.9g}\n" for u in range(users)
                         for i in np.flatnonzero(dense[u]))
        for kind in ("counts", "covariance", "correlation"):
            self.ease("train", "w.csv", "--weights", "-o", "w.ease", "--lambda", 1, "--kind", kind,
                      "--storage", "f32", "--quiet")
            self.ease("export", "w.ease", "-o", "w.npy", "--items", "w.txt", "--quiet")
            with open(self.path("w.txt")) as f:
                order = [ids.index(line.rstrip("\n")) for line in f]
            got = np.empty((items, items))
            got[np.ix_(order, order)] = npy(self.path("w.npy"))
            w, _ = numpy_ease.model(scipy.sparse.csr_matrix(dense), 1, kind)
            self.assertLessEqual(np.abs(got - w).max(), 1e-4 * np.abs(w).max(), kind)
            if kind != "counts":
                self.assertTrue((got[5] == 0).all() and (got[:, 5] == 0).all(), kind)


class Import(support.Case):
    """Gram matrices made elsewhere, here by NumPy."""

    @classmethod
    def setUpClass(cls):
        rng = np.random.default_rng(11)
        print("seed 11")
        cls.dense = (rng.random((400, 37)) < 0.15).astype(float)
        cls.gram = cls.dense.T @ cls.dense
        cls.ids = [f"item {i}" for i in range(37)]

    def write_ids(self):
        path = self.path("ids.txt")
        with open(path, "w") as f:
            f.writelines(i + "\n" for i in self.ids)
        return path

    def write_triplets(self, which):
        path = self.path("triplets.csv")
        with open(path, "w") as f:
            f.write("item_a,item_b,count\n")
            for i in range(37):
                for j in range(37):
                    if self.gram[i, j] and (which == "full" or j >= i):
                        f.write(f"{self.ids[i]},{self.ids[j]},{int(self.gram[i, j])}\n")
        return path

    def check(self, gram, **want):
        for kind in ("counts", "covariance"):
            model, out = self.path("i.ease"), self.path("i.npy")
            self.ease("train", "--gram", gram, "-o", model, "--lambda", 5, "--kind", kind,
                      "--storage", "f32", "--quiet")
            self.ease("export", model, "-o", out, "--quiet")
            w, _ = numpy_ease.model(scipy.sparse.csr_matrix(self.dense), 5, kind)
            self.assertLessEqual(np.abs(npy(out) - w).max(), 1e-4 * np.abs(w).max())

    def test_triplets_upper_and_full(self):
        for which in ("upper", "full"):
            gram = self.path("t.gram")
            self.ease("gram", "import", self.write_triplets(which), "-o", gram, "--items",
                      self.write_ids(), "--users", 400, "--quiet")
            self.check(gram)

    def test_counts_without_users_train_and_pipes_are_whole(self):
        gram, table = self.path("p.gram"), self.write_triplets("upper")
        with open(table) as f:
            text = f.read()
        self.ease("gram", "import", "-", "-o", gram, "--quiet", input=text)
        self.ease("train", "--gram", gram, "-o", self.path("p.ease"), "--lambda", 5, "--quiet")
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        writer = threading.Thread(target=lambda: open(fifo, "w").write(text))
        writer.start()
        self.ease("gram", "import", fifo, "-o", self.path("f.gram"), "--quiet")
        writer.join()
        self.assertTrue(filecmp.cmp(gram, self.path("f.gram"), shallow=False))

    def test_an_array_from_standard_input_and_ids_with_a_mark(self):
        gram, path, ids = self.path("s.gram"), self.path("s.npy"), self.path("marked.txt")
        np.save(path, self.gram)
        with open(ids, "wb") as f:
            f.write(b"\xef\xbb\xbf" + "".join(i + "\r\n" for i in self.ids).encode())
        with open(path, "rb") as f:
            self.ease("gram", "import", "-", "-o", gram, "--items", ids, "--users", 400, "--quiet",
                      input=f.read())
        self.check(gram)

    def test_dense_npy(self):
        gram, path = self.path("d.gram"), self.path("d.npy")
        for dtype in (np.float64, np.float32, np.int64, np.int32):
            np.save(path, self.gram.astype(dtype))
            self.ease("gram", "import", path, "-o", gram, "--items", self.write_ids(),
                      "--users", 400, "--quiet")
            self.check(gram)

    def test_wrong_matrices_are_refused(self):
        gram, path = self.path("w.gram"), self.path("w.npy")

        def refused(change, words):
            wrong = self.gram.copy()
            change(wrong)
            np.save(path, wrong)
            r = self.ease("gram", "import", path, "-o", gram, "--items", self.write_ids(),
                          "--users", 400, code=3)
            self.assertIn(words, r.err)

        def asymmetric(m):
            m[3, 4] += 1

        def too_large(m):
            m[3, 4] = m[4, 3] = m[3, 3] + 1

        def not_finite(m):
            m[5, 5] = np.nan

        def negative(m):
            m[5, 5] = -1

        refused(asymmetric, "symmetric")
        refused(too_large, "item 3")
        refused(not_finite, "finite")
        refused(negative, "negative")
        np.save(path, self.gram[:30])
        r = self.ease("gram", "import", path, "-o", gram, "--items", self.write_ids(), code=3)
        self.assertIn("square", r.err)


if __name__ == "__main__":
    support.main()
