"""Held-out items that nobody has in the training data, measured apart."""

import numpy as np
import pytest

import ease
from conftest import random_matrix

COLD = 5  # of 40 items, the last ones


@pytest.fixture
def scene():
    """(model, input, target): the values of cold items in the training data add up to 0."""
    X = random_matrix(users=200, items=40, seed=4).toarray().astype(float)
    held = (np.random.default_rng(5).random(X.shape) < 0.3) * X
    train = X - held
    train[:, -COLD:] = np.where(np.arange(200) % 2, 1, -1)[:, None]
    shown = train.copy()
    shown[:, -COLD:] = 0
    held[:, -COLD:] = X[:, -COLD:]
    return ease.EASE(lambda_=20.0, precision="f64").fit(train), shown, held


def recall(model, shown, held, items, ranked, k=3):
    scores = shown @ model.B.astype(np.float64)
    scores[(shown > 0) | ~ranked] = -np.inf
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    wanted = held * items
    users = wanted.sum(axis=1) > 0
    return (np.take_along_axis(wanted, best, axis=1).sum(axis=1)[users]
            / np.minimum(k, wanted.sum(axis=1)[users]))


def test_each_kind_equals_numpy(scene):
    model, shown, held = scene
    cold = np.arange(40) >= 40 - COLD
    every = np.ones(40, bool)
    assert (model.popularity == 0).tolist() == cold.tolist()
    for items, among, mask, ranked in (("all", "all", every, every), ("warm", "all", ~cold, every),
                                       ("warm", "warm", ~cold, ~cold),
                                       ("cold", "all", cold, every), ("cold", "cold", cold, cold)):
        report = ease.evaluate(model, shown, held, metrics="recall@3", items=items, among=among)
        want = recall(model, shown, held, mask, ranked)
        np.testing.assert_allclose(report.by_user("recall@3"), want)
        assert report.standard_error["recall@3"] == pytest.approx(want.std() / len(want)**0.5)
        assert report.info["users"] == len(want)
        assert report.info["cold_items"] == COLD
        assert report.info["cold_targets"] == held[:, cold].sum()
        assert report.info["warm_targets"] == held[:, ~cold].sum()


def test_what_is_wrong_is_said(scene):
    with pytest.raises(ValueError, match="items: one of all, warm, cold"):
        ease.evaluate(*scene, items="new")
    with pytest.raises(ValueError, match="same kind"):
        ease.evaluate(*scene, among="cold")
    with pytest.raises(ValueError, match="diversity@3 needs tags"):
        ease.evaluate(*scene, metrics="diversity@3")


def test_a_split_of_cold_items():
    parts = ease.split(random_matrix(users=100, items=30, seed=6), "cold-items", share=0.2)
    model = ease.EASE(lambda_=20.0).fit(parts.train)
    assert len(set(parts.test_target.item_ids) - set(parts.train.item_ids)) == 6
    with pytest.warns(RuntimeWarning, match="unknown to the model"):
        report = ease.evaluate(model, parts)
    assert report.info["cold_targets"] == report.info["unknown_targets"] > 0
    assert report.info["warm_targets"] > 0
