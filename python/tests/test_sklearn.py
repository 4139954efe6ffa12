"""Parameters, cloning, searching: as scikit-learn expects them."""

import numpy as np
import pytest

import ease
from conftest import random_matrix


def test_parameters():
    model = ease.EASE(lambda_=3.0, kind="covariance")
    assert model.get_params()["lambda_"] == 3.0
    assert model.set_params(lambda_=4.0) is model and model.lambda_ == 4.0
    assert repr(model) == "EASE(lambda_=4.0, kind='covariance')"
    with pytest.raises(ValueError, match="lambda_"):
        model.set_params(lamda=1.0)


def test_score_and_scorer(X):
    model = ease.EASE(lambda_=20.0).fit(X)
    assert 0 < model.score(X) <= 1
    assert ease.scorer("hit@5")(model, X) == model.score(X, metric="hit@5")
    assert model.score(X[:, :], X) >= 0
    with pytest.raises(ValueError):
        model.score(X, metric="luck@5")


def test_clone_and_search(X):
    sklearn = pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV, cross_val_score

    model = ease.EASE(lambda_=20.0)
    assert sklearn.base.clone(model).get_params() == model.get_params()
    assert sklearn.base.clone(ease.WMF(rank=3)).rank == 3
    search = GridSearchCV(model, {"lambda_": [1.0, 30.0], "kind": ["counts", "covariance"]},
                          scoring=ease.scorer("ndcg@10"), cv=3)
    search.fit(X)
    assert search.best_params_["lambda_"] in (1.0, 30.0)
    assert isinstance(search.best_estimator_, ease.EASE)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert len(cross_val_score(model, X, cv=3)) == 3


def test_tuning():
    X = random_matrix(users=300, seed=4)
    parts = ease.split(X, "liang18", heldout_users=50, min_user=2)
    found = ease.tune(parts, metric="ndcg@10")
    assert len(found.trials) > 3 and not found.stopped
    assert found.best_score == max(t.mean for t in found.trials)
    model = found.best_estimator.fit(parts.train)
    report = ease.evaluate(model, parts, metrics=["ndcg@10", "recall@5"])
    assert set(report) == {"ndcg@10", "recall@5"} and report.info["users"] > 20
    assert report.by_user("ndcg@10").mean() == pytest.approx(report["ndcg@10"])
    assert len(report.user_ids) == report.info["users"]
    rival = ease.tune(parts, ease.ItemItem(), grid={"neighbours": [3, 10]}, metric="ndcg@10")
    assert len(rival.trials) == 2 and rival.best_estimator.neighbours in (3, 10)


def test_tuning_goes_by_the_direction_of_the_metric():
    parts = ease.split(random_matrix(users=300, seed=4), "liang18", heldout_users=50, min_user=2)
    for metric, best in (("gini@10", min), ("coverage@10", max)):
        found = ease.tune(parts, ease.ItemItem(), grid={"neighbours": [1, 3, 10, 30]},
                          metric=metric)
        means = [t.mean for t in found.trials]
        assert min(means) < max(means) and found.best_score == best(means)


def test_tuning_leaves_out_what_cannot_be_trained():
    parts = ease.split(random_matrix(seed=4), "random")
    grid = {"rank": [4, 4000]}
    with pytest.warns(RuntimeWarning, match="'rank': 4000.* is left out: "):
        found = ease.tune(parts, ease.IISVD(), grid=grid, metric="ndcg@10")
    assert [t.params["rank"] for t in found.trials] == [4]
    with pytest.warns(RuntimeWarning), pytest.raises(ValueError, match="rank"):
        ease.tune(parts, ease.IISVD(), grid={"rank": [4000]}, metric="ndcg@10")


def test_tuning_takes_the_best_epoch():
    parts = ease.split(random_matrix(seed=4), "random")

    def measure(**params):
        model = ease.MultDAE(hidden=8, batch=20, **params).fit(parts.validation_train)
        return ease.evaluate(model, parts.validation_input, parts.validation_target,
                             metrics="ndcg@10")["ndcg@10"]

    found = ease.tune(parts, ease.MultDAE(hidden=8, epochs=9, batch=20),
                      grid={"decay": [0.0, 0.01]}, metric="ndcg@10")
    for trial in found.trials:
        assert trial.mean == measure(**trial.params)
        assert trial.mean == max(measure(decay=trial.params["decay"], epochs=k)
                                 for k in (3, 6, 9, trial.params["epochs"]))


def test_evaluating_by_hand(X):
    model = ease.EASE(lambda_=20.0).fit(X)
    target = X.copy()
    report = ease.evaluate(model, X * 0, target, metrics="precision@5")
    top = np.argsort(-model.popularity, kind="stable")[:5]
    expected = np.asarray(X[:, top].sum(axis=1)).ravel() / 5
    assert report["precision@5"] == pytest.approx(expected[X.getnnz(axis=1) > 0].mean())
    both = ease.evaluate(model, X * 0, target, metrics="precision@5,coverage@5")
    assert "(" in repr(report) and "nan" not in repr(both)
    with pytest.raises(ValueError):
        ease.evaluate(model, X)
    with pytest.raises(ValueError):
        ease.evaluate(model, X, X, metrics="best@3")


def test_splits_are_kept(X, tmp_path):
    parts = ease.split(X, "random", directory=tmp_path / "split", seed=5)
    again = ease.open_split(tmp_path / "split")
    assert (parts.train.to_scipy() != again.train.to_scipy()).nnz == 0
    with pytest.raises(ValueError):
        ease.split(X, "alphabetical")
