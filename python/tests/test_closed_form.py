"""The relatives of EASE, as classes."""

import pickle

import numpy as np
import pytest
from conftest import closed_form, random_matrix

import ease

CLASSES = [
    (ease.EDLAE, {"dropout": 0.4}), (ease.RLAE, {"relaxation": 0.2}),
    (ease.RDLAE, {"dropout": 0.2, "relaxation": 0.6}),
    (ease.DAN, {"user_power": 0.3, "item_power": 0.4, "dropout": 0.1}),
    (ease.RescaledEASE, {"power": 0.3}),
    (ease.PropensityEASE, {"propensity": "power", "power": 0.2}), (ease.MRF, {}),
    (ease.EASEFamily, {"user_power": 0.5, "relaxation": 0.3, "output_power": -0.2,
                       "kind": "covariance"}),
]
NEUTRAL = [
    (ease.EDLAE, {"dropout": 0}), (ease.RLAE, {"relaxation": 0.0}),
    (ease.RDLAE, {"dropout": 0, "relaxation": 0}), (ease.DAN, {"user_power": 0, "item_power": 0}),
    (ease.RescaledEASE, {"power": 0}), (ease.PropensityEASE, {"power": 0}),
    (ease.EASEFamily, {}),
]


def parts(X, lambda_, dropout=0.0):
    """G, Lambda and the inverse."""
    G = np.asarray((X.T @ X).todense(), np.float64)
    ridge = lambda_ + dropout / (1 - dropout) * np.diag(G)
    return G, ridge, np.linalg.inv(G + np.diag(ridge))


def zero_diagonal(B):
    np.fill_diagonal(B, 0)
    return B


def test_dropout_is_a_regularizer_by_counts(X):
    _, _, P = parts(X, 20.0, 0.4)
    want = zero_diagonal(-P / np.diag(P))
    np.testing.assert_allclose(ease.EDLAE(20.0, dropout=0.4).fit(X).B, want, atol=1e-4)


def test_a_relaxed_diagonal_is_bounded(X):
    for xi in (0.05, 0.3, 1.0):
        _, ridge, P = parts(X, 20.0)
        q = np.diag(P)
        m = np.where(1 - ridge * q > xi, (1 - xi) / q, ridge)
        np.testing.assert_allclose(ease.RLAE(20.0, relaxation=xi).fit(X).B,
                                   zero_diagonal(-P * m), atol=1e-4)


def test_scores_are_rescaled_by_popularity(X):
    n = np.asarray(X.sum(axis=0)).ravel()
    want = closed_form(X, 20.0)
    np.testing.assert_allclose(ease.RescaledEASE(20.0, power=0.5).fit(X).B, want * n**-0.5,
                               atol=1e-4)
    got = ease.PropensityEASE(20.0, propensity="power", power=0.5).fit(X).B
    np.testing.assert_allclose(got, want * (n / n.max())**-0.5, atol=1e-4)


@pytest.mark.parametrize("cls, settings", NEUTRAL)
def test_settings_without_effect_give_the_bits_of_ease(X, cls, settings):
    np.testing.assert_array_equal(cls(20.0, **settings).fit(X).B, ease.EASE(20.0).fit(X).B)


@pytest.mark.parametrize("cls, settings", CLASSES)
def test_files_and_pickles_have_class_and_parameters(X, tmp_path, cls, settings):
    path = tmp_path / "m.ease"
    model = cls(lambda_=7.5, **settings).fit(X)
    model.save(path, storage="packed")
    for back in (ease.load(path), pickle.loads(pickle.dumps(model))):
        assert type(back) is cls
        assert back.get_params() == model.get_params()
        np.testing.assert_array_equal(back.B, model.B)
        assert back.similar_items(3)[0].tolist() == model.similar_items(3)[0].tolist()


@pytest.mark.parametrize("cls, settings", CLASSES)
def test_the_program_gives_the_same_bits(program, tmp_path, cls, settings):
    X = random_matrix(seed=5)
    rows = "".join(f"{u},{i}\n" for u, i in zip(*X.nonzero()))
    (tmp_path / "x.csv").write_text("user,item\n" + rows)
    text = ",".join(f"{n.replace('_', '-')}={v}" for n, v in settings.items() if n != "kind")
    more = ["--set", text] if text else []
    if "kind" in settings:
        more += ["--kind", settings["kind"]]
    program("train", tmp_path / "x.csv", "-o", tmp_path / "m.ease", "--model", cls._method,
            "--lambda", 5, "--storage", "f32", *more)
    theirs = ease.load(tmp_path / "m.ease")
    ours = cls(5.0, **settings).fit(str(tmp_path / "x.csv"))
    assert type(theirs) is cls
    assert {k: v for k, v in theirs.get_params().items() if k in settings} == settings
    np.testing.assert_array_equal(theirs.B, ours.B)


@pytest.mark.parametrize("cls, settings", CLASSES)
def test_a_gram_matrix_gives_the_same_model_unless_users_have_weights(X, tmp_path, cls, settings):
    model, G = cls(5.0, **settings), ease.gram(X)
    G.save(tmp_path / "x.gram")
    if settings.get("user_power"):
        with pytest.raises(ValueError, match="needs the interactions"):
            model.fit_gram(G)
        model.set_params(user_power=0)
    want = np.array(model.fit(X).B)
    for source in (G, tmp_path / "x.gram"):
        np.testing.assert_array_equal(model.fit_gram(source).B, want)


def test_a_gram_matrix_of_weighted_data_lacks_numbers_of_users(tmp_path):
    W = random_matrix(weights=True)
    ease.gram(W).save(tmp_path / "w.gram")
    ease.RDLAE(5.0).fit_gram(tmp_path / "w.gram")
    with pytest.raises(ValueError, match="number of users of each item"):
        ease.RescaledEASE(5.0).fit_gram(tmp_path / "w.gram")


def test_wrong_parameters_are_refused(X):
    for wrong in ({"dropout": 1}, {"dropout": float("nan")}, {"dropout": "much"},
                  {"dropout": None}, {"kind": "correlation"}, {"kind": "sums"},
                  {"lambda_": 0.0}, {"lambda_": "much"}):
        with pytest.raises(ValueError):
            ease.EDLAE(**{"lambda_": 1.0, **wrong}).fit(X)
    with pytest.raises(TypeError):
        ease.MRF(1.0, kind="counts")
    with pytest.raises(TypeError):
        ease.EDLAE()
    assert ease.MRF(1.0).fit(X).info["kind"] == "covariance"


def test_they_can_be_planned_and_tuned(X):
    assert ease.DAN(1.0).plan(X)["fits"]
    split = ease.split(X, "random")
    found = ease.tune(split, ease.EDLAE(1.0, dropout=0.2), grid={"lambda_": [1, 10, 100]},
                      metric="ndcg@5")
    assert len(found.trials) == 3 and found.best_estimator.dropout == 0.2
    found = ease.tune(split, ease.RDLAE(5.0), metric="ndcg@5",
                      grid={"dropout": [0.0, 0.3], "relaxation": [0.0, 0.5]})
    assert len(found.trials) == 4 and found.best_estimator.lambda_ == 5.0
    assert set(found.best_params) == {"dropout", "relaxation"}


def test_lambda_and_settings_are_searched_together(X):
    found = ease.tune(ease.split(X, "random"), ease.DAN(1.0, kind="covariance"), metric="ndcg@5")
    settings = {"lambda_", "dropout", "user_power", "item_power", "relaxation"}
    assert set(found.best_params) == settings
    assert len({t.params["lambda_"] for t in found.trials}) > 2
    assert len({t.params["item_power"] for t in found.trials}) > 2
    best = found.best_estimator
    assert best.kind == "covariance"
    assert {n: getattr(best, n) for n in settings} == found.best_params
    assert found.best_score == max(t.mean for t in found.trials)


def test_representations_show_what_was_given():
    assert repr(ease.RDLAE(5.0, relaxation=0.1)) == "RDLAE(lambda_=5.0, relaxation=0.1)"
