#!/usr/bin/env python3
"""What people use now, one function each, run by bench.py in processes of their own:

    bench/peers.py NAME ARGUMENT ...

Prints one JSON object. Seconds are measured inside, without the imports; every library
uses all cores, which is the default of each."""
import csv
import json
import sys
import time


def seconds_of(repeat, work):
    """Of each run, in order; what a run returns is dropped outside the time."""
    taken = []
    for _ in range(repeat):
        began = time.perf_counter()
        result = work()
        taken.append(time.perf_counter() - began)
        del result
    return taken


# ---- reading: two columns of ids into codes from 0 on ------------------------------


def read_pandas(path, repeat, engine="c"):
    import pandas as pd

    def work():
        frame = pd.read_csv(path, usecols=["userId", "movieId"], engine=engine)
        return pd.factorize(frame["userId"]), pd.factorize(frame["movieId"])

    return {"seconds": seconds_of(int(repeat), work)}


def read_polars(path, repeat):
    """The faster of two ways to codes: dense ranks and categories."""
    import polars as pl

    def ranks():
        return pl.read_csv(path, columns=["userId", "movieId"]).select(
            pl.all().rank("dense").cast(pl.Int32) - 1)

    def categories():
        return pl.read_csv(path, columns=["userId", "movieId"],
                           schema_overrides={"userId": pl.Categorical, "movieId": pl.Categorical}
                           ).select(pl.all().to_physical())

    ways = {w.__name__: seconds_of(int(repeat), w) for w in (ranks, categories)}
    best = min(ways, key=lambda w: sorted(ways[w])[len(ways[w]) // 2])
    return {"seconds": ways[best], "way": best, "ways": ways}


# ---- data ----------------------------------------------------------------------------


def table(path):
    """The file by pandas: its first two columns, user and item."""
    import pandas as pd

    if path.endswith((".tsv", ".tsv.gz")):
        frame = pd.read_csv(path, sep="\t", header=None, dtype=str,
                            keep_default_na=False, quoting=csv.QUOTE_NONE)
    elif path.endswith(".txt"):  # adjacency lines
        with open(path) as f:
            rows = [line.split() for line in f]
        frame = pd.DataFrame({"user": [r[0] for r in rows for _ in r[1:]],
                              "item": [i for r in rows for i in r[1:]]})
    else:
        frame = pd.read_csv(path)
    frame = frame.iloc[:, :2]
    frame.columns = ["user", "item"]
    return frame


def matrix(frame):
    """X by SciPy, in float32."""
    import numpy as np
    import pandas as pd
    import scipy.sparse as sparse

    users, _ = pd.factorize(frame["user"])
    items, _ = pd.factorize(frame["item"])
    x = sparse.csr_matrix((np.ones(len(users), dtype=np.float32), (users, items)))
    x.data[:] = 1
    return x


# ---- X'X, inverses ---------------------------------------------------------------------


def gram_scipy(path, repeat):
    x = matrix(table(path))
    return {"seconds": seconds_of(int(repeat), lambda: (x.T @ x).toarray())}


def invert_numpy(n, dtype, repeat):
    """numpy.linalg.inv of a definite matrix, and what else of Algorithm 1 follows."""
    import numpy as np

    n = int(n)
    g = np.random.default_rng(1).random((n, n), dtype=np.float32).astype(dtype, copy=False)
    g += g.T
    g[np.diag_indices(n)] += 2 * n

    def work():
        p = np.linalg.inv(g)
        b = p / (-np.diag(p))
        b[np.diag_indices(n)] = 0
        return b

    return {"seconds": seconds_of(int(repeat), work), "items": n}


# ---- lists of 100 for users --------------------------------------------------------------


def sample(path, users):
    import numpy as np

    x = matrix(table(path))
    some = np.random.default_rng(1).choice(x.shape[0], min(int(users), x.shape[0]), replace=False)
    return x[np.sort(some)]


def recommend_numpy(path, weights, users, block=512):
    """Scores of a block, what the user has masked, the best 100 by argpartition, sorted.
    The faster of two ways to scores: SciPy's sparse product and a dense one (BLAS)."""
    import numpy as np

    x, b = sample(path, users), np.load(weights)

    def lists(score):
        for at in range(0, x.shape[0], block):
            part = x[at:at + block]
            s = score(part)
            s[part.nonzero()] = -np.inf
            best = np.argpartition(-s, 100, axis=1)[:, :100]
            order = np.argsort(-np.take_along_axis(s, best, axis=1), axis=1)
            np.take_along_axis(best, order, axis=1)

    ways = {"sparse": seconds_of(1, lambda: lists(lambda part: part @ b))[0],
            "dense": seconds_of(1, lambda: lists(lambda part: part.toarray() @ b))[0]}
    best = min(ways, key=ways.get)
    return {"users": x.shape[0], "seconds": ways[best], "way": best, "ways": ways}


def recommend_implicit(path, weights, users):
    """implicit.cpu.topk.topk with the columns of B as items and the histories as
    queries, sparse (as RecTools calls it) and dense; what the user has is filtered."""
    import numpy as np
    from implicit.cpu.topk import topk

    x, b = sample(path, users), np.ascontiguousarray(np.load(weights).T)
    ways = {}
    for name, query in (("sparse", x), ("dense", x.toarray())):
        ways[name] = seconds_of(1, lambda q=query: topk(b, q, 100, filter_query_items=x))[0]
    best = min(ways, key=ways.get)
    return {"users": x.shape[0], "seconds": ways[best], "way": best, "ways": ways}


# ---- from a file to weights on disk ---------------------------------------------------------


def whole(path, out, fit):
    """Reading with pandas, `fit(frame)`, and B as .npy, in one time."""
    import numpy as np
    import pandas  # noqa: F401  before the time begins
    import scipy.sparse  # noqa: F401

    began = time.perf_counter()
    frame = table(path)
    read = time.perf_counter()
    b = fit(frame)
    fitted = time.perf_counter()
    np.save(out, b)
    done = time.perf_counter()
    return {"seconds": done - began, "items": b.shape[0], "dtype": str(b.dtype),
            "phases": {"reading": read - began, "fitting": fitted - read, "writing": done - fitted}}


def whole_algorithm1(path, lam, out):
    """As the paper prints it: numpy.linalg.inv, in float64."""
    import numpy as np

    def fit(frame):
        x = matrix(frame)
        g = (x.T @ x).toarray().astype(np.float64)
        diagonal = np.diag_indices(g.shape[0])
        g[diagonal] += float(lam)
        p = np.linalg.inv(g)
        b = p / (-np.diag(p))
        b[diagonal] = 0
        return b

    return whole(path, out, fit)


def whole_rectools(path, lam, out):
    import pandas as pd
    from rectools import Columns
    from rectools.dataset import Dataset
    from rectools.models import EASEModel

    def fit(frame):
        frame = frame.rename(columns={"user": Columns.User, "item": Columns.Item})
        frame[Columns.Weight] = 1
        frame[Columns.Datetime] = pd.Timestamp("2020-01-01")
        model = EASEModel(regularization=float(lam))
        model.fit(Dataset.construct(frame))
        return model.weight

    return whole(path, out, fit)


def whole_irspack(path, lam, out):
    import numpy as np
    from irspack.recommenders import DenseSLIMRecommender

    def fit(frame):
        return np.asarray(DenseSLIMRecommender(matrix(frame), reg=float(lam)).learn().W)

    return whole(path, out, fit)


def whole_lenskit(path, lam, out):
    from lenskit.data import from_interactions_df
    from lenskit.knn import EASEScorer

    def fit(frame):
        model = EASEScorer(regularization=float(lam))
        model.train(from_interactions_df(frame, user_col="user", item_col="item"))
        return model.weights

    return whole(path, out, fit)


def whole_recpack(path, lam, out):
    from recpack.algorithms import EASE

    def fit(frame):
        return EASE(l2=float(lam)).fit(matrix(frame)).similarity_matrix_.toarray()

    return whole(path, out, fit)


def whole_cornac(path, lam, out):
    import numpy as np
    from cornac.data import Dataset
    from cornac.models import EASE

    def fit(frame):
        rows = zip(frame["user"].to_numpy(), frame["item"].to_numpy(), np.ones(len(frame)))
        return EASE(lamb=float(lam), posB=False, verbose=False).fit(Dataset.build(rows)).B

    return whole(path, out, fit)


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
