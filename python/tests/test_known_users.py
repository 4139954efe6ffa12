"""LRec: a method that scores the users of its training data alone."""

import pickle

import numpy as np
import pytest

import ease
from conftest import random_matrix

ROWS = {"user": ["ann", "ann", "bob", "bob", "cat", "dan"],
        "item": ["tea", "milk", "tea", "milk", "tea", "cake"]}


@pytest.fixture
def known(X):
    return ease.LRec(l2=3.0).fit(X)


def test_users_are_asked_for_by_row(known, X):
    ids, scores = known.recommend(7, N=5)
    assert len(ids) == 5 and not set(ids) & set(X[7].indices)
    np.testing.assert_array_equal(known.recommend(7, X[7], N=5)[0], ids)
    batch, _ = known.recommend([7, 3], N=5)
    np.testing.assert_array_equal(batch[0], ids)
    np.testing.assert_array_equal(known.recommend([7, 3], X[[7, 3]], N=5)[0], batch)
    everything, _ = known.recommend(7, N=30, filter_already_liked_items=False)
    assert len(everything) == 30
    assert known.recommend(np.array([], int), N=3)[0].shape == (0, 3)
    one, score = known.recommend(7, [], N=1, items=ids[1:2])
    assert one.tolist() == [ids[1]] and score[0] == scores[1]


def test_users_are_asked_for_by_id():
    model = ease.LRec(l2=0.1).fit(ROWS)
    assert model.recommend("cat", N=1)[0].tolist() == ["milk"]
    with pytest.raises(KeyError, match="'eve' is not in the model: lrec scores only"):
        model.recommend(["ann", "eve"])
    with pytest.raises(KeyError, match="eve"):
        model.recommend("eve", ["tea"])
    for wrong in (1.5, True):
        with pytest.raises(KeyError, match=f"{wrong} is not in the model: lrec scores only"):
            model.recommend(wrong)
    with pytest.raises(ValueError, match="userid is required: lrec scores only"):
        model.recommend(user_items=[["tea"]])
    assert model.user_ids.tolist() == ["ann", "bob", "cat", "dan"]


def test_users_of_a_series():
    pd = pytest.importorskip("pandas")
    model = ease.LRec(l2=0.1).fit(ROWS)
    users = pd.Series(["cat", "bob", "eve"], index=[7, 8, 9])
    np.testing.assert_array_equal(model.recommend(users[:2])[0], model.recommend(["cat", "bob"])[0])
    with pytest.raises(KeyError, match="'eve' is not in the model"):
        model.recommend(users)


def test_files_and_pickles_know_the_users(known, X, tmp_path):
    known.save(tmp_path / "m.ease")
    for again in (ease.load(tmp_path / "m.ease"), pickle.loads(pickle.dumps(known))):
        assert isinstance(again, ease.LRec) and again.get_params() == known.get_params()
        assert again.info["storage"] == "known"
        for a, b in zip(again.recommend([3, 4]), known.recommend([3, 4])):
            np.testing.assert_array_equal(a, b)


def test_the_programs_models(program, tmp_path):
    (tmp_path / "r.csv").write_text("user,item\n" + "".join(
        f"{u},{i}\n" for u, i in zip(*ROWS.values())))
    program("train", tmp_path / "r.csv", "-o", tmp_path / "a.ease", "--model", "lrec",
            "--set", "l2=0.1", "--quiet")
    ease.LRec(l2=0.1).fit(tmp_path / "r.csv").save(tmp_path / "b.ease")
    assert (tmp_path / "a.ease").read_bytes() == (tmp_path / "b.ease").read_bytes()
    assert ease.load(tmp_path / "a.ease").recommend("cat", N=1)[0].tolist() == ["milk"]


def test_what_it_has_not(known, X):
    for call in (lambda: known.similar_items(3), lambda: known.explain(3, X[3], 4),
                 lambda: known.B):
        with pytest.raises(ValueError, match="lrec"):
            call()
    with pytest.raises(ease.NotFittedError):
        ease.LRec().recommend(3)


def test_weak_generalization_alone(X):
    parts = ease.split(X, "random", share=0.3)
    model = ease.LRec(l2=3.0).fit(parts.train)
    report = ease.evaluate(model, parts.train, parts.test_target, metrics="ndcg@10")
    assert 0 < report["ndcg@10"] <= 1
    assert model.score(parts.train, parts.test_target, metric="ndcg@10") == report["ndcg@10"]
    with pytest.raises(ValueError, match="only the users"):
        model.score(X)
    strangers = ease.interactions({"user": ["x", "x"], "item": [1, 2]})
    with pytest.raises(ValueError, match="weak generalization"):
        ease.evaluate(model, strangers, strangers)


def test_tuning_and_cloning():
    sklearn = pytest.importorskip("sklearn")
    parts = ease.split(random_matrix(seed=4), "random")
    found = ease.tune(parts, ease.LRec(), grid={"l2": [1.0, 30.0]}, metric="ndcg@10")
    assert found.best_params["l2"] in (1.0, 30.0) and len(found.trials) == 2
    assert sklearn.base.clone(ease.LRec(l2=7.0)).l2 == 7.0
