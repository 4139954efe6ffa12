"""item-item against SciPy: every weight, and which of them are kept."""
import os

import numpy as np
import scipy.sparse as sparse
import support


def similarities(x, how, shrinkage):
    gram = np.asarray((x.T @ x).todense(), dtype=float)
    own = np.diag(gram)
    divisor = {"cosine": np.sqrt(own)[:, None] * np.sqrt(own)[None, :],
               "jaccard": own[:, None] + own[None, :] - gram,
               "conditional": np.broadcast_to(own[:, None], gram.shape)}[how] + shrinkage
    similar = np.divide(gram, divisor, out=np.zeros_like(gram), where=gram != 0)
    np.fill_diagonal(similar, 0)
    return similar


class ItemItem(support.Case):
    def weights(self, x, how, neighbours, shrinkage, weighted):
        entries = x.tocoo()
        self.write("x.csv", "user,item,value\n" + "".join(
            f"u{u},{i},{v!r}\n" for u, i, v in zip(entries.row, entries.col,
                                                   entries.data.tolist())))
        self.ease("train", "x.csv", "-o", "m.ease", "--model", "item-item", "--set",
                  f"similarity={how},neighbours={neighbours},shrinkage={shrinkage!r}",
                  "--quiet", *(["--weights"] if weighted else []))
        self.ease("export", "m.ease", "-o", "w.npy", "--items", "ids.txt", "--quiet")
        place = np.array(self.read("ids.txt").split(), dtype=int)
        w = np.zeros((x.shape[1], x.shape[1]))
        w[np.ix_(place, place)] = np.load(self.path("w.npy"))
        return w

    def check(self, x, how, neighbours, shrinkage, weighted):
        w = self.weights(x, how, neighbours, shrinkage, weighted)
        want = similarities(x, how, shrinkage)
        kept = w != 0
        self.assertLess(np.abs(w - want)[kept].max(), 1e-6 * np.abs(want).max())
        # As many as there may be, and no other is nearer.
        most = np.minimum((want != 0).sum(axis=1), neighbours - 1)
        self.assertTrue((kept.sum(axis=1) == most).all())
        last = np.where(kept, w, np.inf).min(axis=1)
        left = np.where(kept | (want == 0), -np.inf, want).max(axis=1)
        self.assertTrue((left <= last * (1 + 1e-6)).all())

    def test_weights_equal_scipy(self):
        """Few users an item, so that rows are made by lists, and many."""
        rng = np.random.default_rng(6)
        for density in (0.01, 0.3):
            x = sparse.random(200, 150, density, "csr", random_state=6)
            for weighted in (False, True):
                x.data[:] = rng.integers(1, 9, x.nnz) / 2 if weighted else 1
                for how in ("cosine", "jaccard", "conditional"):
                    if weighted and how == "jaccard":
                        continue # its divisor can be anything then
                    for neighbours, shrinkage in ((20, 0), (5, 3.5), (1000, 1)):
                        with self.subTest(density=density, weighted=weighted, how=how,
                                          neighbours=neighbours):
                            self.check(x, how, neighbours, shrinkage, weighted)

    def test_items_of_few_and_of_many_users(self):
        """Counts that a byte is enough for, and such that it is not."""
        rng = np.random.default_rng(7)
        x = sparse.csr_matrix((rng.random((700, 40)) < np.linspace(0.05, 0.95, 40)) * 1.0)
        for how in ("cosine", "jaccard", "conditional"):
            with self.subTest(how=how):
                self.check(x, how, 10, 0, False)

    def test_of_equal_neighbours_the_first_items_are_kept(self):
        """Ten users with the same items: all are as near as can be."""
        x = sparse.csr_matrix(np.ones((10, 30)))
        w = self.weights(x, "cosine", 4, 0, False)
        order = [int(s) for s in self.read("ids.txt").split()]
        for place, item in enumerate(order):
            first = [i for i in order if i != item][:3]
            self.assertEqual(sorted(np.flatnonzero(w[item])), sorted(first), place)

    def test_a_few_nearest_where_a_sample_of_the_row_is_taken(self):
        """Every 8th item is looked at first: here these alone are near, and not enough."""
        rng = np.random.default_rng(8)
        x = np.zeros((60, 400))
        x[0] = 1
        x[1:31, np.r_[1, 8:97:8]] = 1
        for row in x[31:]:
            row[rng.choice(np.arange(100, 400), 10, replace=False)] = 1
        for how in ("cosine", "jaccard"):
            with self.subTest(how=how):
                self.check(sparse.csr_matrix(x), how, 21, 0, False)

    def test_values_too_far_apart_are_refused(self):
        """1e38 over 1e-30 is no float: such a model could not be opened again."""
        self.write("far.csv", "user,item,value\na,x,1e-30\na,y,1e38\nb,x,1e-30\nb,y,1\n")
        self.fails(5, "a weight is not finite", "train", "far.csv", "-o", "far.ease", "--model",
                   "item-item", "--set", "similarity=conditional", "--weights", "--quiet")
        self.assertFalse(os.path.exists(self.path("far.ease")))

    def test_threads_do_not_change_a_bit(self):
        x = sparse.random(300, 200, 0.05, "csr", random_state=1)
        x.data[:] = 1
        files = []
        self.weights(x, "cosine", 20, 0, False)
        for threads in (1, 2, 5):
            self.ease("train", "x.csv", "-o", "m.ease", "--model", "item-item", "--quiet",
                      "--threads", threads)
            files.append(self.read("m.ease"))
        self.assertEqual(files[0], files[1])
        self.assertEqual(files[0], files[2])


if __name__ == "__main__":
    support.main()
