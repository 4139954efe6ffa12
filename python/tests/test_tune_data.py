"""Tuning on data without a split, and the model of the best parameters."""

import pickle

import numpy as np
import pytest

import ease
from conftest import made_ratings, random_matrix

ROWS = 300


@pytest.fixture
def X():
    return random_matrix(users=ROWS, seed=4)


def frame_of(X, name=lambda n: f"n{n}"):
    coo = X.tocoo()
    return {"user": [name(u) for u in coo.row.tolist()], "item": [name(i) for i in coo.col.tolist()]}


def test_data_is_tuned_by_leaving_users_out(X, tmp_path, caplog):
    caplog.set_level("INFO", logger="ease")
    expected = ease.tune(X, leave_one_out=True, metric="ndcg@10")
    frame = frame_of(X)
    users = len(set(frame["user"]))
    for data in (X, frame, ease.interactions(frame)):
        found = ease.tune(data, metric="ndcg@10")
        if data is X:  # the others have their items in another order
            assert [t[:3] for t in found.trials] == [t[:3] for t in expected.trials]
        assert found.best_score == pytest.approx(expected.best_score, rel=0.1)
        model = found.best_model
        assert model is found.best_model and model.lambda_ == found.best_params["lambda_"]
        assert model.info["users"] == users and found.best_estimator._model is None
        assert found.protocol in (f"{ROWS} of {ROWS} users, each left out of the data",
                                  f"{users} of {users} users, each left out of the data")
        assert found.protocol in caplog.text
    assert model.recommend("n3")[0].dtype == object  # with the histories of the frame
    some = ease.tune(X, users=50, grid={"lambda_": [1.0, 50.0]}, metric="ndcg@10")
    assert some.protocol.startswith("50 of 300 users") and len(some.trials) == 2
    again = ease.tune(made_ratings(tmp_path / "r.csv"), min_rating=4, metric="ndcg@10")
    assert again.best_model.info["interactions"] == ease.interactions(
        tmp_path / "r.csv", min_rating=4).nnz


def test_other_methods_are_tuned_on_users_who_are_held_out(X):
    grid = {"neighbours": [3, 10]}
    found = ease.tune(X, ease.ItemItem(), grid=grid, metric="ndcg@10")
    x = ease.interactions(X)
    able = np.flatnonzero(X.getnnz(axis=1) > 1)
    count = len(able) // 10
    assert found.protocol == (f"{count} of 300 users, held out with a fifth of their items to be "
                              "found")
    chosen = np.sort(np.random.default_rng(0).choice(able, count, replace=False))
    rest = np.setdiff1d(np.arange(ROWS), chosen)
    for trial in found.trials:
        model = ease.ItemItem(**trial.params).fit(X[rest])
        report = ease.evaluate(model, *ease.hold_out(x[chosen]), metrics="ndcg@10")
        assert trial.mean == report["ndcg@10"]
    assert found.best_model.info["users"] == ROWS
    for estimator, how in ((ease.EASE(lambda_=1.0, nonnegative=True), {}),
                           (ease.EASE(lambda_=1.0), {"grid": {"precision": ["f32", "f64"]}}),
                           (ease.EDLAE(lambda_=1.0), {"grid": {"lambda_": [1.0, 9.0]}}),
                           (ease.EASE(lambda_=1.0), {"leave_one_out": False}),
                           (ease.EASE(lambda_=1.0), {"tags": {0: "kind=a", 1: "kind=b"}})):
        found = ease.tune(frame_of(X, int), estimator, metric="ndcg@10", **how)
        assert "held out" in found.protocol and found.best_score > 0.1
        if "tags" in how:
            assert found.best_model.tags(0) == ["kind=a"]
    found = ease.tune(X, ease.ItemItem(), grid=grid, users=12, metric="ndcg@10")
    assert found.protocol.startswith("12 of 300")


def test_methods_that_know_their_users_are_tuned_on_them(X):
    found = ease.tune(frame_of(X), ease.LRec(), grid={"l2": [1.0, 30.0]}, metric="ndcg@10")
    assert found.protocol == "a fifth of the items of each user" and len(found.trials) == 2
    assert len(found.best_model.recommend("n3", N=2)[0]) == 2


def test_the_best_model_of_a_split(X):
    parts = ease.split(X, "liang18", heldout_users=50, min_user=2)
    found = ease.tune(parts, metric="ndcg@10")
    expected = found.best_estimator.fit(parts.train)
    np.testing.assert_array_equal(found.best_model.B, expected.B)
    assert found.protocol.endswith(" validation users")
    given = ease.tune((X, *ease.hold_out(X)), grid={"lambda_": [3.0, 30.0]}, metric="ndcg@10")
    again = pickle.loads(pickle.dumps(given))
    assert again.best_params == given.best_params and repr(again) == repr(given)
    with pytest.raises(ValueError, match="fit best_estimator"):
        again.best_model
    assert given.best_model.info["users"] == ROWS
    again = pickle.loads(pickle.dumps(given))  # with the model
    np.testing.assert_array_equal(again.best_model.B, given.best_model.B)


def test_trials_as_a_frame(X):
    found = ease.tune(X, ease.EDLAE(lambda_=1.0), metric="ndcg@10",
                      grid={"lambda_": [1.0, 9.0], "dropout": [0.1, 0.5]})
    for kind in "pandas", "polars", "pyarrow":
        pytest.importorskip(kind)
        frame = found.to_frame(kind)
        names = frame.column_names if kind == "pyarrow" else list(frame.columns)
        assert names == ["lambda_", "dropout", "mean", "standard_error", "seconds"]
        assert len(frame) == 4 and max(frame["mean"].to_numpy()) == found.best_score
    report = ease.evaluate(found.best_model, *ease.hold_out(X), metrics="ndcg@10,recall@5")
    frame = report.to_frame()
    assert frame["metric"].tolist() == ["ndcg@10", "recall@5"]
    assert frame["mean"].tolist() == list(report.values())


def test_a_matrix_of_three_rows_is_no_split():
    rows = [[1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 1, 1]]
    assert ease.tune(rows, grid={"lambda_": [1.0]}, metric="ndcg@2").protocol.startswith("3 of 3")
    assert "validation" in ease.tune((rows, rows, rows), grid={"lambda_": [1.0]},
                                     metric="ndcg@2").protocol


@pytest.mark.parametrize("how, words", [
    ({"leave_one_out": True, "estimator": ease.ItemItem()}, "alone"),
    ({"estimator": ease.LRec(), "users": 5}, "measured on all users"),
    ({"min_ratin": 3}, "min_ratin")])
def test_tuning_that_cannot_be(X, how, words):
    with pytest.raises((ValueError, TypeError), match=words):
        ease.tune(X, metric="ndcg@10", **how)


def test_held_out_items_of_each_user(X):
    kept, held = ease.hold_out(frame_of(X), share=0.3, seed=5)
    again = ease.hold_out(frame_of(X), share=0.3, seed=5)
    assert (again[1].to_scipy() != held.to_scipy()).nnz == 0
    assert (kept.to_scipy() + held.to_scipy() != ease.interactions(frame_of(X)).to_scipy()).nnz == 0
    counts = np.diff((kept.to_scipy() + held.to_scipy()).tocsr().indptr)
    expected = np.maximum((counts * 0.3).astype(int), counts > 1)
    np.testing.assert_array_equal(np.diff(held.rows()[0]), expected)
    with pytest.raises(ValueError, match="share"):
        ease.hold_out(X, share=1.0)
