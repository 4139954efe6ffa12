"""Ranking metrics in NumPy, float64, from their definitions: the oracle of the tests."""
import csv

import numpy as np
import scipy.sparse as sparse

ALL = ("recall", "plain-recall", "ndcg", "precision", "hit", "map", "mrr", "popularity",
       "novelty", "diversity", "coverage", "gini")
UNTAGGED = tuple(name for name in ALL if name != "diversity")  # that need no tags of items


def read_pairs(path):
    """Rows of the first two columns of a CSV with a header."""
    with open(path, newline="") as f:
        rows = csv.reader(f)
        next(rows)
        return [(row[0], row[1]) for row in rows]


def write_pairs(path, pairs):
    with open(path, "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(("user", "item"))
        out.writerows(pairs)


def align(pairs, users, items):
    """A matrix of ones with these users as rows and these items as columns; pairs of
    other users or items are dropped."""
    row = {u: k for k, u in enumerate(users)}
    col = {i: k for k, i in enumerate(items)}
    known = [(row[u], col[i]) for u, i in pairs if u in row and i in col]
    x = sparse.csr_matrix((np.ones(len(known)), tuple(zip(*known)) or ([], [])),
                          shape=(len(users), len(items)))
    x.data[:] = 1
    return x


def targets(pairs, items, unknown="miss"):
    """Users with something held out, with unknown="drop" something of these items, in the
    order of the pairs."""
    known = set(items)
    return list(dict.fromkeys(u for u, i in pairs if unknown == "miss" or i in known))


def held_out(pairs, users, items, unknown="miss"):
    """How many items each of these users has to find, each counted once; with
    unknown="drop" those of these items alone."""
    known = set(items)
    found = {u: set() for u in users}
    for u, i in pairs:
        if u in found and (unknown == "miss" or i in known):
            found[u].add(i)
    return np.array([len(found[u]) for u in users])


def _ranks(scores, seen):
    """Items of each row, best first, ties to the smaller number; -1 for what was seen."""
    scores = scores.copy()
    scores[seen] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")
    return np.where(np.take_along_axis(seen, order, axis=1), -1, order)


def _diversity(shown, tags):
    """Of each row's items (-1: none) the mean of 1 - cosine over its pairs; 0 without a
    pair. tags: items x tags."""
    out = np.zeros(len(shown))
    for r, items in enumerate(shown):
        v = tags[items[items >= 0]].astype(float)
        length = np.sqrt((v * v).sum(axis=1))
        v = v / np.where(length > 0, length, 1)[:, None]
        above = np.triu_indices(len(v), 1)
        if len(above[0]):
            out[r] = (1 - (v @ v.T)[above]).mean()
    return out


def _user_values(name, k, order, hits, held, popularity, train_users, tags):
    """hits is users x catalog: whether the item at that place was held out."""
    places = np.arange(1, hits.shape[1] + 1)
    top = hits[:, :k]
    possible = np.minimum(k, held)
    if name == "recall":
        return top.sum(axis=1) / possible
    if name == "plain-recall":
        return top.sum(axis=1) / held
    if name == "precision":
        return top.sum(axis=1) / k
    if name == "hit":
        return (top.sum(axis=1) > 0).astype(float)
    if name == "ndcg":
        discount = 1 / np.log2(places + 1)
        ideal = np.concatenate(([0], np.cumsum(1 / np.log2(np.arange(1, k + 1) + 1))))
        return top @ discount[:k] / ideal[possible]
    if name == "map":
        precision = np.cumsum(top, axis=1) / places[:k]
        return (precision * top).sum(axis=1) / possible
    if name == "mrr":
        return np.where(top.any(axis=1), 1 / (top.argmax(axis=1) + 1.0), 0)
    if name == "popularity":
        shown = order[:, :k]
        counts = np.where(shown >= 0, popularity[shown], 0)
        return counts.sum(axis=1) / np.maximum((shown >= 0).sum(axis=1), 1)
    if name == "novelty":
        shown = order[:, :k]
        surprise = -np.log2(np.maximum(popularity, 1) / train_users)
        return (np.where(shown >= 0, surprise[shown], 0).sum(axis=1)
                / np.maximum((shown >= 0).sum(axis=1), 1))
    if name == "diversity":
        return _diversity(order[:, :k], tags)
    raise ValueError(name)


def _gini(times):
    n, total = len(times), times.sum()
    if total == 0:
        return 0
    return np.abs(times[:, None] - times[None, :]).sum() / (2 * n * total)


def evaluate(score, inputs, target, metrics, popularity, held=None, train_users=None,
             tags=None, ranked=None):
    """score(rows) gives the scores of some rows of `inputs`. By metric: an array with a
    value a user, or one number for those of all lists together. held: how many items
    each user has to find, where these are not the columns of `target` alone.
    train_users: of the training data (novelty). tags: items x tags (diversity). ranked: a
    mask of the items that lists may have."""
    ranked = np.ones(inputs.shape[1], bool) if ranked is None else ranked
    held = np.asarray(target.sum(axis=1)).ravel() if held is None else held
    values = {m: [] for m in metrics}
    times = {}
    for first in range(0, inputs.shape[0], 500):
        rows, wanted = inputs[first:first + 500], target[first:first + 500].toarray() > 0
        scores = np.asarray(score(rows))
        empty = np.asarray(rows.sum(axis=1)).ravel() == 0
        scores[empty] = popularity
        order = _ranks(scores, (rows.toarray() > 0) | ~ranked)
        hits = np.take_along_axis(wanted, np.maximum(order, 0), axis=1) & (order >= 0)
        for m in metrics:
            name, k = m.split("@")
            k = int(k)
            if name in ("coverage", "gini"):
                shown = order[:, :k]
                count = times.setdefault(m, np.zeros(inputs.shape[1]))
                count += np.bincount(shown[shown >= 0], minlength=inputs.shape[1])
            else:
                values[m].append(_user_values(name, k, order, hits,
                                              held[first:first + 500].astype(int),
                                              popularity, train_users, tags))
    result = {}
    for m in metrics:
        if m in times:
            shown = times[m][ranked]
            result[m] = (shown > 0).mean() if m.startswith("cov") else _gini(shown)
        else:
            result[m] = np.concatenate(values[m])
    return result


def mean_and_error(values):
    """The standard error is that of the protocol: ddof 0."""
    if np.ndim(values) == 0:
        return float(values), None
    return values.mean(), values.std() / np.sqrt(len(values))
