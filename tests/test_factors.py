"""wmf and ii-svd by the program: against SciPy, and when they are interrupted."""
import json
import os
import signal
import subprocess

import numpy as np
import scipy.linalg
import scipy.sparse as sparse
import scipy.sparse.linalg

import support

USERS, ITEMS, RANK = 300, 80, 12


def clustered(rng):
    """Users have a taste each, so that some singular values stand out."""
    taste = rng.integers(0, RANK, USERS)
    kind = rng.integers(0, RANK, ITEMS)
    chance = np.where(taste[:, None] == kind[None, :], 0.5, 0.04)
    x = (rng.random((USERS, ITEMS)) < chance).astype(float)
    x[np.arange(ITEMS), np.arange(ITEMS)] = 1
    return x


class Factors(support.Case):
    def setUp(self):
        super().setUp()
        self.x = clustered(np.random.default_rng(3))
        rows = "".join(f"u{u},{i}\n" for i in range(ITEMS)
                       for u in np.flatnonzero(self.x[:, i]))
        self.write("x.csv", "user,item\n" + rows)

    def scores(self, model, histories):
        """histories x items, from lists of everything."""
        args = [a for h in histories for a in ("--history", ",".join(map(str, h)))]
        out = self.ease("recommend", model, "--keep-seen", "-k", ITEMS, "--json", *args).out
        scores = np.zeros((len(histories), ITEMS))
        for row, line in enumerate(out.splitlines()):
            for item in json.loads(line)["items"]:
                scores[row, int(item["id"])] = item["score"]
        return scores

    def similarity(self):
        gram = self.x.T @ self.x
        s = gram / np.sqrt(np.outer(np.diag(gram), np.diag(gram)))
        np.fill_diagonal(s, 0)
        return s

    def test_ii_svd_finds_the_vectors_of_scipy(self):
        s = self.similarity()
        v = scipy.sparse.linalg.svds(sparse.csr_matrix(self.x) @ s, k=RANK,
                                     random_state=1)[2].T
        self.ease("train", "x.csv", "-o", "m.ease", "--model", "ii-svd", "--set",
                  f"rank={RANK},neighbours={ITEMS},iterations=40", "-q")
        each = self.scores("m.ease", [[i] for i in range(ITEMS)])  # S V V'
        np.testing.assert_allclose(each, s @ v @ v.T, atol=1e-3 * np.abs(s).max())
        mine = np.linalg.svd(each)[2][:RANK].T
        self.assertLess(scipy.linalg.subspace_angles(mine, v).max(), 1e-3)

    def test_wmf_scores_as_its_users_are_solved_for(self):
        """Users who have the same are scored the same, and their own items high."""
        self.ease("train", "x.csv", "-o", "m.ease", "--model", "wmf", "--set",
                  f"rank={RANK},alpha=10,lambda=1", "-q")
        mine = [np.flatnonzero(self.x[u]) for u in range(20)]
        scores = self.scores("m.ease", mine)
        seen = self.x[:20] > 0
        self.assertGreater(scores[seen].mean(), 0.6)
        self.assertLess(scores[~seen].mean(), 0.4)

    def test_an_interrupted_training_keeps_its_last_iteration(self):
        args = [support.EASE, "train", "x.csv", "-o", "m.ease", "--model", "wmf", "--set",
                "rank=64,iterations=10000"]
        for number, code in ((signal.SIGINT, 0), (signal.SIGTERM, 143)):
            p = subprocess.Popen(args, cwd=self.dir, stderr=subprocess.PIPE, text=True)
            said = ""
            for line in p.stderr:
                said += line
                if "iteration 2 of" in line:
                    p.send_signal(number)
                    break
            said += p.stderr.read()
            p.stderr.close()
            self.assertEqual(p.wait(support.PATIENCE), code, said)
            self.assertRegex(said, r"stopped after \d+ of 10000 iterations")
            self.assertEqual(os.path.exists(self.path("m.ease")), code == 0, said)
            if code == 0:
                self.ease("info", "m.ease", "--verify")
                os.remove(self.path("m.ease"))


if __name__ == "__main__":
    support.main()
