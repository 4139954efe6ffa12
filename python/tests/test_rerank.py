"""Lists that are chosen by tags and popularity, against NumPy."""

import numpy as np
import pytest

import ease
from conftest import random_matrix

sparse = pytest.importorskip("scipy.sparse")

USERS, ITEMS, LAMBDA = 150, 60, 20.0


def tags_of(item):
    found = [f"author={item * item % 7}"] if item % 5 else []
    return found + [f"genre={g}" for g in range(3) if item >> g & 1]


@pytest.fixture(scope="module")
def X():
    return random_matrix(USERS, ITEMS)


@pytest.fixture
def model(X):
    return ease.EASE(lambda_=LAMBDA).fit(X)


@pytest.fixture
def tagged(X, program, tmp_path):
    """A model whose items have tags, made by the program."""
    rows = np.argwhere(X.toarray())
    (tmp_path / "x.csv").write_text("user,item\n" + "".join(f"{u},{i}\n" for u, i in rows))
    (tmp_path / "tags.csv").write_text("item,tag\n" + "".join(
        f"{i},{t}\n" for i in range(ITEMS) for t in tags_of(i)))
    program("train", tmp_path / "x.csv", "--tags", tmp_path / "tags.csv",
            "--tag-weight", 0, "-o", tmp_path / "m.ease", "--lambda", LAMBDA, "--storage", "f32",
            "--quiet")
    return ease.load(tmp_path / "m.ease")


def greedy(model, history, k, power=0.0, keep=lambda item: True, at_most=None):
    """Ids by the plainest way: all items sorted, then taken one after the other."""
    ids = model.item_ids
    scores = model.B[[list(ids).index(h) for h in history]].sum(axis=0, dtype=np.float64)
    scores = scores * np.maximum(model.popularity, 1.0) ** power
    taken, used = [], {}
    for j in np.argsort(-scores, kind="stable"):
        tags = [t for t in tags_of(ids[j]) if t.split("=")[0] in (at_most or {})]
        if (ids[j] in history or not keep(ids[j]) or len(taken) == k or any(
                used.get(t, 0) >= at_most[t.split("=")[0]] for t in tags)):
            continue
        taken.append(ids[j])
        for t in tags:
            used[t] = used.get(t, 0) + 1
    return taken


@pytest.mark.parametrize("power", [-1, -0.4, 0, 0.5, 2])
def test_scores_are_multiplied_by_a_power_of_popularity(model, X, power):
    count = np.maximum(np.asarray(X.sum(axis=0)).ravel(), 1.0)
    plain = np.full(ITEMS, np.nan)
    ids, scores = model.recommend(3, X[3], N=ITEMS)
    plain[ids] = scores
    ids, scores = model.recommend(3, X[3], N=ITEMS, popularity_power=power)
    np.testing.assert_allclose(scores, (plain * count ** power)[ids], rtol=1e-6)
    assert (np.diff(scores) <= 0).all() and len(ids) == ITEMS - X[3].nnz
    many, more = model.recommend([3, 4], X[[3, 4]], N=5, popularity_power=power)
    np.testing.assert_array_equal(many[0], ids[:5])
    np.testing.assert_array_equal(more[0], scores[:5])
    like, near = model.similar_items(7, N=ITEMS - 1)
    plain[like] = near
    like, near = model.similar_items(7, N=5, popularity_power=power)
    np.testing.assert_allclose(near, (plain * count ** power)[like], rtol=1e-6)


def test_lists_with_tags_are_those_of_numpy(tagged):
    history = [1, 7, 30]
    for power in 0, -0.6:
        for caps in {}, {"author": 1}, {"author": 2, "genre": 3}:
            ids, _ = tagged.recommend(0, history, N=12, popularity_power=power,
                                      at_most=caps)
            assert list(ids) == greedy(tagged, history, 12, power, at_most=caps)
            ids, _ = tagged.recommend(
                0, history, N=12, popularity_power=power, at_most=caps,
                only=["author=1", "author=2", "genre=0"], exclude="genre=2")
            assert list(ids) == greedy(
                tagged, history, 12, power, at_most=caps,
                keep=lambda i: {"author=1", "author=2"} & set(tags_of(i))
                and "genre=0" in tags_of(i) and "genre=2" not in tags_of(i))


def test_tags_and_lists_of_items_combine(tagged):
    all_of_it = tagged.recommend(0, [1], N=ITEMS, only="genre=1")[0]
    assert len(all_of_it) > 4 and all("genre=1" in tags_of(i) for i in all_of_it)
    some = tagged.recommend(0, [1], N=ITEMS, only="genre=1", filter_items=all_of_it[:2])[0]
    np.testing.assert_array_equal(some, all_of_it[2:])
    some = tagged.recommend(0, [1], N=ITEMS, only="genre=1", items=[2, 5, 8])[0]
    assert sorted(some) == [i for i in (2, 5, 8) if "genre=1" in tags_of(i)]
    like = tagged.similar_items(4, N=ITEMS, exclude=["genre=1"], at_most={"genre": 2})[0]
    assert len(like) and all("genre=1" not in tags_of(i) for i in like)
    assert sum("genre=0" in tags_of(i) for i in like) == 2


def test_nonsense_is_refused(model, tagged, X):
    for power in 11, -10.5, float("nan"), float("inf"):
        with pytest.raises(ValueError, match="power"):
            model.recommend(3, X[3], popularity_power=power)
        with pytest.raises(ValueError, match="power"):
            model.similar_items(3, popularity_power=power)
    for how in {"only": "genre=1"}, {"exclude": ["a=b"]}, {"at_most": {"author": 1}}:
        with pytest.raises(ValueError, match="no tags"):
            model.recommend(3, X[3], **how)
    for how, text in (({"only": "genre=9"}, "genre=9"), ({"exclude": ["x"]}, "x"),
                      ({"at_most": {"autor": 1}}, "autor"),
                      ({"at_most": {"author": 0}}, "at least 1"),
                      ({"at_most": 3}, "dict"), ({"only": [3]}, "genre=Comedy")):
        with pytest.raises(ValueError, match=text):
            tagged.recommend(3, [1], **how)
        with pytest.raises(ValueError, match=text):
            tagged.similar_items(3, **how)
