"""Scores for a user by the model that is trained without this user, in NumPy, float64: the inverse
is computed anew for each user."""
import numpy as np
import scipy.linalg

METRICS = {"recall": 20, "ndcg": 100}


class Data:
    """The rows of all users, and what they add up to."""

    def __init__(self, pairs, user_power):
        self.users, self.items = {}, {}
        where = [(self.users.setdefault(u, len(self.users)),
                  self.items.setdefault(i, len(self.items))) for u, i in pairs]
        self.x = np.zeros((len(self.users), len(self.items)))
        self.x[tuple(np.transpose(where))] = 1
        self.weights = self.x.sum(axis=1)**-user_power
        self.gram = self.x.T @ (self.weights[:, None] * self.x)

    def without(self, user):
        """The Gram matrix, the sums of columns and the mass of all other users."""
        row, weight = self.x[user], self.weights[user]
        own = weight * np.outer(row, row)
        return self.gram - own, self.weights @ self.x - weight * row, self.weights.sum() - weight


def scores(data, user, given, lam, kind, relaxation):
    """Of all items for the input `given`, numbers of items; NaN: no other user has the item."""
    c, sums, mass = data.without(user)
    known = data.x.sum(axis=0) - data.x[user] > 0
    mu = np.zeros(len(c))
    if kind == "covariance":
        mu = sums / mass
        c = c - mass * np.outer(mu, mu)
    z = np.zeros(len(c))
    z[given] = 1
    z[~known] = 0
    factor, failed = scipy.linalg.lapack.dpotrf(c + lam * np.eye(len(c)), lower=1)
    assert not failed
    p, failed = scipy.linalg.lapack.dpotri(factor, lower=1)
    assert not failed
    p = np.tril(p) + np.tril(p, -1).T
    d = np.diag(p)
    pull = np.where(1 - lam * d > relaxation, (1 - relaxation) / d, lam)
    found = mu - pull * (p @ (z - mu) - d * (z - mu))
    return np.where(known, found, np.nan)


def values(scored, items, target, by=0):
    """Recall and NDCG of the items in the order of their scores, where those of the target are
    raised by so much: near ties can come out either way."""
    raised = scored[items] + by * np.isin(items, target)
    ranking = items[np.argsort(-raised, kind="stable")]
    hits = np.isin(ranking, target)
    gains = 1 / np.log2(np.arange(len(ranking)) + 2)
    recall, ndcg = METRICS["recall"], METRICS["ndcg"]
    return np.array([hits[:recall].sum() / min(recall, len(target)),
                     (hits * gains)[:ndcg].sum() / gains[:min(ndcg, len(target))].sum()])
