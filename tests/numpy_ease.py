"""EASE in NumPy, float64, written from the paper alone: the oracle of the tests."""
import gzip

import numpy as np
import scipy.sparse as sparse


def matrix(rows):
    """X and the ids of users and items, numbered by first appearance."""
    users, items = {}, {}
    r = [users.setdefault(u, len(users)) for u, _ in rows]
    c = [items.setdefault(i, len(items)) for _, i in rows]
    x = sparse.csr_matrix((np.ones(len(r)), (r, c)), shape=(len(users), len(items)))
    x.data[:] = 1  # repeated pairs
    return x, list(users), list(items)


def movielens(path, least):
    with open(path) as f:
        next(f)
        rows = [line.split(",") for line in f]
    return matrix([(u, i) for u, i, r in rows if float(r) >= least])


def tab_separated(path):
    with gzip.open(path, "rt") as f:
        return matrix([line.rstrip("\n").split("\t") for line in f])


def weights(gram, lam):
    """Eq. 8 of the paper."""
    p = np.linalg.inv(gram + lam * np.eye(len(gram)))
    b = -p / np.diag(p)
    np.fill_diagonal(b, 0)
    return b


def model(x, lam, kind="counts", nonnegative=False):
    """W and c: a history's scores are x W + c."""
    g = (x.T @ x).toarray()
    users = x.shape[0]
    mu = np.asarray(x.sum(axis=0)).ravel() / users
    if kind == "counts":
        w, c = weights(g, lam), np.zeros(len(g))
        return (np.maximum(w, 0) if nonnegative else w), c
    centred = g - users * np.outer(mu, mu)
    s = np.sqrt(np.maximum(np.diag(centred), 0)) if kind == "correlation" else None
    dead = np.diag(centred) <= 1e-12 * np.diag(g)
    if s is None:
        s = np.ones(len(g))
    s = np.where(dead, 1, s)
    centred = centred / np.outer(s, s)
    centred[dead, :] = 0
    centred[:, dead] = 0
    w = weights(centred, lam) * s[None, :] / s[:, None]
    w[dead, :] = 0
    w[:, dead] = 0
    if nonnegative:
        w = np.maximum(w, 0)
    return w, mu - mu @ w


def top(scores, seen, k):
    """Item numbers, best first; ties to the smaller number."""
    scores = scores.copy()
    scores[seen] = -np.inf
    return np.lexsort((np.arange(len(scores)), -scores))[:k]
