"""ease export of sparse and dense models: SciPy's .npz, .npy and tables hold the same weights."""
import os
import subprocess

import numpy as np
import scipy.sparse as sparse
import support

METHODS = {"ease-sparse": ["--lambda", "5", "--set", "neighbours=12"],
           "item-item": ["--set", "neighbours=8"],
           "slim-free": ["--set", "l1=0.5,l2=2"]}


class Export(support.Case):
    def train(self, method, *options, items=90, users=200, interactions=1080):
        self.ease("synth", "-o", "x.csv", "--users", users, "--items", items, "--interactions",
                  interactions, "-q")
        self.ease("train", "x.csv", "-o", "m.ease", "--model", method, "-q", *options)

    def export(self, name, *options):
        self.ease("export", "m.ease", "-o", name, "-q", *options)
        if name.endswith(".npy"):
            return np.load(self.path(name))
        if name.endswith(".npz"):
            return sparse.load_npz(self.path(name))
        return self.table(name)

    def text(self, name):
        return self.read(name).decode()

    def table(self, name):
        """A table of weights as a dictionary."""
        rows = [line.split(",") for line in self.text(name).splitlines()]
        return {(a, b): np.float32(w) for a, b, w in rows if a != "item"}

    def test_npz_is_read_by_scipy_and_has_the_weights(self):
        for method, options in METHODS.items():
            with self.subTest(method=method):
                self.train(method, *options)
                w, dense = self.export("w.npz"), self.export("w.npy")
                self.assertIsInstance(w, sparse.csr_matrix)
                self.assertEqual((w.dtype, w.indices.dtype, w.indptr.dtype, w.shape),
                                 (np.float32, np.int32, np.int32, dense.shape))
                np.testing.assert_array_equal(w.toarray(), dense)
                self.assertEqual(w.nnz, np.count_nonzero(dense))
                # Columns ascend, none twice. The flag of the matrix itself would only be a guess.
                again = sparse.csr_matrix((w.data, w.indices, w.indptr), w.shape)
                self.assertTrue(again.has_canonical_format)

    def test_the_archive_is_as_zip_programs_expect(self):
        self.train("ease-sparse", *METHODS["ease-sparse"])
        self.export("w.npz")
        done = subprocess.run(["python3", "-m", "zipfile", "-t", self.path("w.npz")], text=True,
                              capture_output=True, check=True)
        self.assertIn("Done testing", done.stdout)
        first = self.read("w.npz")
        self.export("w.npz")
        self.assertEqual(self.read("w.npz"), first)
        # Also by the reader of this program, to which it is a matrix of interactions.
        self.ease("train", "w.npz", "-o", "again.ease", "--weights", "--lambda", 5, "-q")

    def test_the_largest_weights_of_each_row(self):
        for method, options in {**METHODS, "ease": ["--lambda", "5"]}.items():
            with self.subTest(method=method):
                self.train(method, *options)
                dense, w = self.export("w.npy"), self.export("w.npz", "--top", 5)
                order = np.argsort(-np.abs(dense), axis=1, kind="stable")[:, :5]
                want = np.zeros_like(dense)
                np.put_along_axis(want, order, np.take_along_axis(dense, order, 1), 1)
                np.testing.assert_array_equal(w.toarray(), want)
                self.ease("export", "m.ease", "-o", "w.csv", "--items", "ids.txt", "-q", "--top", 5)
                ids = self.text("ids.txt").split()
                self.assertEqual(self.table("w.csv"),
                                 {(ids[i], ids[j]): want[i, j] for i, j in np.argwhere(want)})

    def test_tables_have_all_nonzero_weights_by_column(self):
        for method, options in METHODS.items():
            with self.subTest(method=method):
                self.train(method, *options)
                dense = self.export("w.npy")
                got = self.export("w.csv", "--items", "ids.txt")
                ids = self.text("ids.txt").split()
                want = {(ids[i], ids[j]): dense[i, j] for i, j in np.argwhere(dense)}
                self.assertEqual(list(got.items()), list(want.items()))

    def test_all_weights_of_a_dense_model_are_refused(self):
        self.train("ease", "--lambda", "5")
        self.fails(2, "w.npz: a model of ease has all weights, which is what .npy is for",
                   "export", "m.ease", "-o", "w.npz")
        self.assertFalse(os.path.exists(self.path("w.npz")))

    def test_exporting_and_drawing_cost_the_weights(self):
        """200,000 items: to read their 40 billion weights one by one takes longer."""
        self.train("item-item", "--set", "neighbours=5", items=200_000, users=40_000,
                   interactions=600_000)
        for command in ("export m.ease -o w.npz", "export m.ease -o w.csv --top 2",
                        "export m.ease -o all.csv", "plot weights m.ease -o w.svg"):
            r = self.limited("-t 15", command)
            self.assertEqual((r.returncode, r.stderr), (0, ""), command)
        self.assertEqual(sparse.load_npz(self.path("w.npz")).nnz, len(self.table("all.csv")))

    def test_npy_of_a_sparse_model_says_how_large_it_is(self):
        self.train("item-item", "--set", "neighbours=5", items=30_000, users=10_000,
                   interactions=60_000)
        r = self.limited("-f 1000", "export m.ease -o w.npy --no-progress", "")
        self.assertIn("w.npy: all 30,000 x 30,000 weights, 3.6 GB: .npz has the nonzero ones alone",
                      r.stderr)

    def limited(self, limit, command, quiet="-q"):
        """Runs the program with a limit of the shell: -t seconds of processor time, or
        -f blocks of files."""
        return subprocess.run(
            ["bash", "-c", f"ulimit {limit}; trap '' XFSZ; {support.EASE} {command} {quiet}"],
            cwd=self.dir, text=True, capture_output=True, check=False)


if __name__ == "__main__":
    support.main()
