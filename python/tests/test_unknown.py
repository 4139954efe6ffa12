"""Held-out items that the model does not know, against the NumPy of the program's tests."""

import os
import sys
import warnings

import numpy as np
import pytest

import ease
from conftest import ROOT, random_matrix

METRICS = [f"{name}@{k}" for name, _ in ease._ease.metrics() for k in (1, 5, 20)
           if name != "diversity"]  # which needs tags
KNOWN = 30  # of 40 items


@pytest.fixture
def numpy_eval(monkeypatch):
    pytest.importorskip("scipy")
    monkeypatch.syspath_prepend(os.path.join(ROOT, "tests"))
    yield pytest.importorskip("numpy_eval")
    sys.modules.pop("numpy_eval")


def columns(pairs):
    return {"user": [u for u, _ in pairs], "item": [i for _, i in pairs]}


def scene():
    """(train, input, target) as pairs: of the target a quarter is unknown; one user has
    nothing else, one no input, and some rows stand twice."""
    X = random_matrix(users=200, items=40, seed=8)
    rng = np.random.default_rng(9)
    train, kept, held = [], [], []
    for u, i in zip(*X.nonzero()):
        pair = (f"u{u}", f"i{i}")
        if u < 100:
            if i < KNOWN:
                train.append(pair)
        elif u == 100:
            (held if i >= KNOWN else kept).append(pair)
        elif u == 101 or rng.random() < 0.4:
            held.append(pair)
        else:
            kept.append(pair)
    return train, kept, held + held[::7]


def expected(numpy_eval, model, kept, held, unknown):
    items = [str(i) for i in model.item_ids]
    users = numpy_eval.targets(held, items, unknown)
    return users, numpy_eval.evaluate(
        lambda rows: rows @ model.B.astype(np.float64), numpy_eval.align(kept, users, items),
        numpy_eval.align(held, users, items), METRICS, model.popularity,
        numpy_eval.held_out(held, users, items, unknown), model.info["users"])


@pytest.fixture
def parts():
    return [columns(pairs) for pairs in scene()]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_metric_equals_numpy(numpy_eval, parts):
    train, kept, held = scene()
    model = ease.EASE(lambda_=20.0, precision="f64").fit(parts[0])
    strange = len({(u, i) for u, i in held if int(i[1:]) >= KNOWN})
    for unknown in "miss", "drop":
        report = ease.evaluate(model, parts[1], parts[2], metrics=METRICS, unknown=unknown)
        users, values = expected(numpy_eval, model, kept, held, unknown)
        assert report.user_ids == users
        assert report.info["unknown_targets"] == strange
        assert report.unknown == unknown
        assert f"{strange} unknown" in repr(report)
        for name, value in values.items():
            mean, error = numpy_eval.mean_and_error(value)
            assert report[name] == pytest.approx(mean, rel=1e-6), name
            if error is not None:
                assert report.standard_error[name] == pytest.approx(error, rel=1e-5), name
                np.testing.assert_allclose(report.by_user(name), value, rtol=1e-6)
    miss = ease.evaluate(model, parts[1], parts[2], metrics=METRICS)
    assert miss.unknown == "miss"
    assert miss["recall@20"] < report["recall@20"]
    assert miss.by_user("ndcg@20")[miss.user_ids.index("u100")] == 0
    assert "u100" not in report.user_ids


def test_their_number_is_said(parts):
    model = ease.EASE(lambda_=20.0).fit(parts[0])
    with pytest.warns(RuntimeWarning, match=r"\d+ of \d+ held-out items are unknown to the model: "
                                            "they count as misses"):
        ease.evaluate(model, parts[1], parts[2])
    with pytest.warns(RuntimeWarning, match="interactions of the input"):
        model.score(parts[1], parts[2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = ease.evaluate(model, parts[0], parts[0])
    assert report.info["unknown_targets"] == report.info["unknown_inputs"] == 0
    assert "unknown" not in repr(report)
    with pytest.raises(ValueError, match="unknown: one of miss, drop"):
        ease.evaluate(model, parts[1], parts[2], unknown="ignore")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_scores_and_tuning_count_them(parts):
    model = ease.EASE(lambda_=20.0).fit(parts[0])
    for unknown in "miss", "drop":
        report = ease.evaluate(model, parts[1], parts[2], metrics="ndcg@10", unknown=unknown)
        assert model.score(parts[1], parts[2], metric="ndcg@10",
                           unknown=unknown) == report["ndcg@10"]
        assert ease.scorer("ndcg@10", unknown=unknown)(model, parts[1],
                                                       parts[2]) == report["ndcg@10"]
        for estimator, grid in ((ease.EASE(lambda_=1.0), {"lambda_": [20.0]}),
                                (ease.EASE(lambda_=20.0), {"precision": ["f32"]})):
            found = ease.tune(parts, estimator, grid=grid, metric="ndcg@10", unknown=unknown)
            assert found.best_score == report["ndcg@10"]
            assert found.unknown_targets == report.info["unknown_targets"] > 0
    assert model.score(parts[1], parts[2], metric="ndcg@10") < report["ndcg@10"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_best_epoch_is_chosen_by_them(parts):
    for unknown in "miss", "drop":
        found = ease.tune(parts, ease.MultDAE(hidden=8, epochs=9, batch=20),
                          grid={"decay": [0.0]}, metric="ndcg@10", unknown=unknown)
        trial = found.trials[0]
        assert trial.mean == max(
            ease.evaluate(ease.MultDAE(hidden=8, epochs=k, batch=20, decay=0.0).fit(parts[0]),
                          parts[1], parts[2], metrics="ndcg@10", unknown=unknown)["ndcg@10"]
            for k in range(1, 10))
    with pytest.raises(ValueError, match="unknown"):
        ease.MultDAE(hidden=8, epochs=1).fit(parts[0], validation=parts[1:], unknown="ignore")
