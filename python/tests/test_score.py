"""Scores of tables: users and items go by their ids, folds are of rows."""

import pickle

import numpy as np
import pytest

import ease
from conftest import random_matrix

METRIC = "ndcg@10"


@pytest.fixture
def X():
    return random_matrix(density=0.5)  # each user has rows in every fold


def rows_of(X, name=str, seed=3):
    """The entries of X in random order, users and items called as `name` says."""
    coo = X.tocoo()
    order = np.random.default_rng(seed).permutation(coo.nnz)
    return {"user": [name(u) for u in coo.row[order].tolist()],
            "item": [name(i) for i in coo.col[order].tolist()]}


def take(frame, chosen):
    return {name: [column[i] for i in chosen] for name, column in frame.items()}


def pairs_of(frame):
    return list(zip(frame["user"], frame["item"]))


FRAMES = {"dict": lambda rows: rows,
          "pandas": lambda rows: pytest.importorskip("pandas").DataFrame(rows),
          "polars": lambda rows: pytest.importorskip("polars").DataFrame(rows),
          "pyarrow": lambda rows: pytest.importorskip("pyarrow").table(rows)}
NAMES = {"strings": lambda n: f"n{n * 7 % 1000}", "numbers": lambda n: 1000 - n}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("name", NAMES)
def test_a_frame_scores_as_its_matrix(X, frame, name):
    rows = rows_of(X, NAMES[name])
    x = ease.interactions(rows)
    matrix = x.to_scipy()
    expected = ease.EASE(lambda_=20.0).fit(matrix).score(matrix, metric=METRIC)
    model = ease.EASE(lambda_=20.0).fit(FRAMES[frame](rows))
    assert model.score(FRAMES[frame](rows), metric=METRIC) == expected > 0.3
    assert model.score(x, metric=METRIC) == ease.scorer(METRIC)(model, rows) == expected


def test_ratings_score_as_their_matrix(ratings):
    x = ease.interactions(ratings)
    model = ease.EASE(lambda_=500.0).fit(ratings)
    matrix = x.to_scipy()
    expected = ease.EASE(lambda_=500.0).fit(matrix).score(matrix)
    assert model.score(ratings) == expected > 0


def test_new_users_have_a_share_held_out(X):
    rows = rows_of(X)
    new = [int(u) >= 90 for u in rows["user"]]
    model = ease.EASE(lambda_=20.0).fit(take(rows, np.flatnonzero(~np.array(new))))
    test = take(rows, np.flatnonzero(new))
    x = ease.interactions(test)
    assert x.shape[0] == 30
    again = ease.EASE(lambda_=20.0).fit(X[:90])
    columns = [int(i) for i in x.item_ids]
    matrix = np.zeros((30, 30), np.float32)
    matrix[:, columns] = x.to_scipy().toarray()
    got, expected = model.score(test, metric=METRIC), again.score(matrix, metric=METRIC)
    assert got == pytest.approx(expected, abs=0.1) and got > 0.2  # another share


def test_nothing_to_hold_out(X):
    rows = rows_of(X)
    model = ease.EASE(lambda_=20.0).fit(rows)
    first = [rows["user"].index(user) for user in set(rows["user"])]
    with pytest.raises(ValueError, match="no user has anything held out$"):
        model.score(take(rows, first))


def test_items_that_the_model_does_not_know(X):
    rows = rows_of(X)
    model = ease.EASE(lambda_=20.0).fit(rows)
    more = {"user": rows["user"] + ["new", "new", "new"],
            "item": rows["item"] + ["0", "never", "seen"]}
    report = ease.evaluate(model, rows, more, metrics=METRIC)
    assert report.info["unknown_targets"] == 2
    assert 0 < model.score(more, metric=METRIC) <= 1


REFUSED = r"users of X are in the model's data with other items.*ease.interactions\(frame\)"


@pytest.mark.parametrize("name", NAMES)
def test_a_fold_of_rows_is_refused(X, name):
    rows = rows_of(X, NAMES[name])
    count = len(rows["user"])
    train, test = take(rows, range(count // 5, count)), take(rows, range(count // 5))
    assert set(test["user"]) <= set(train["user"])
    model = ease.EASE(lambda_=20.0).fit(train)
    for fold in test, rows:  # also with what was fitted again
        with pytest.raises(ValueError, match=REFUSED):
            model.score(fold, metric=METRIC)
    with pytest.raises(ValueError, match="^1 of 1 users"):
        model.score(take(test, range(1)))
    report = ease.evaluate(model, train, test, metrics=METRIC)
    assert model.score(train, test, metric=METRIC) == report[METRIC] > 0.1


def test_known_users_without_new_items_and_new_ones(X):
    """As a model scores the data of its fit, and others."""
    rows = rows_of(X)
    train = take(rows, [k for k, u in enumerate(rows["user"]) if int(u) < 100])
    test = take(rows, [k for k, u in enumerate(rows["user"]) if int(u) >= 80])
    model = ease.EASE(lambda_=20.0).fit(train)
    from ease._measure import hold_out_new

    x = ease.interactions(test)
    had, wanted = hold_out_new(x, model._seen, model._model.find, 0.2, 0)

    def pairs(part):
        r = part.to_scipy().tocoo()
        return {(part.user_ids[u], part.item_ids[i]) for u, i in zip(r.row, r.col)}

    assert not pairs(had) & pairs(wanted) and pairs(had) | pairs(wanted) == set(pairs_of(test))
    assert {int(u) for u, _ in pairs(wanted)} == set(range(80, 120))
    assert 0 < model.score(test, metric=METRIC) < 1


def test_part_of_what_was_fitted(X):
    """The rest of the users' rows is no candidate."""
    rows = rows_of(X)
    model = ease.EASE(lambda_=20.0).fit(rows)
    part = take(rows, range(0, len(rows["user"]), 2))
    from ease._measure import hold_out_new

    x = ease.interactions(part)
    had, wanted = hold_out_new(x, model._seen, model._model.find, 0.2, 0)
    users = set(part["user"])
    assert had.nnz + wanted.nnz == len([u for u in rows["user"] if u in users])


def test_weights_are_kept():
    X = random_matrix(weights=True)
    coo = X.tocoo()
    rows = {"user": coo.row.tolist(), "item": (coo.col + 5).tolist(), "rating": coo.data.tolist()}
    model = ease.EASE(lambda_=20.0).fit(rows, weights=True)
    matrix = ease.interactions(rows, weights=True).to_scipy()
    expected = ease.EASE(lambda_=20.0).fit(matrix).score(matrix, metric=METRIC)
    assert model.score(rows, metric=METRIC) == expected


def test_columns_are_those_of_the_fit(X):
    rows = rows_of(X)
    odd = {"a": [0] * len(rows["user"]), "b": rows["item"], "c": rows["user"]}
    model = ease.EASE(lambda_=20.0).fit(odd, columns=("c", "b"))
    expected = ease.EASE(lambda_=20.0).fit(rows).score(rows, metric=METRIC)
    assert model.score(odd, metric=METRIC) == expected
    assert model.score(odd, odd, metric=METRIC) == 0  # all of it is seen
    again = pickle.loads(pickle.dumps(model))  # without users, but with the columns
    assert again.score(odd, metric=METRIC) == again.score(rows, metric=METRIC, columns=None) > 0
    assert model.score(rows, metric=METRIC, columns=None) == expected
    ones = ease.EASE(lambda_=20.0).fit(X * 3, weights=False)
    assert ones.score(X * 3, metric=METRIC) == ones.score(X, metric=METRIC)


def by_hand(params, folds):
    """The mean of each fold by ease.evaluate: (data of the fit, data of the fold)."""
    out = []
    for train, test in folds:
        model = ease.EASE(**params).fit(train)
        out.append(ease.evaluate(model, *ease.hold_out(test, share=0.2, seed=0),
                                 metrics=METRIC)[METRIC])
    return out


@pytest.mark.filterwarnings("ignore:.* unknown to the model")
@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_a_search_over_a_frame_gives_the_figures_of_evaluate(X, frame):
    pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score

    rows = rows_of(X)
    data, grid = FRAMES[frame](rows), {"lambda_": [1.0, 20.0, 1e6]}
    scoring = ease.scorer(METRIC)

    def search(x, cv, **how):
        found = GridSearchCV(ease.EASE(lambda_=5.0), grid, scoring=scoring, cv=cv,
                             error_score="raise").fit(x, **how)
        results = found.cv_results_
        return found, np.array([results[f"split{k}_test_score"] for k in range(3)]).T

    users = GroupKFold(3)
    found, got = search(data, users, groups=rows["user"])
    folds = [(take(rows, a), take(rows, b))
             for a, b in users.split(rows["user"], groups=rows["user"])]
    expected = [by_hand({"lambda_": value}, folds) for value in grid["lambda_"]]
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9)
    assert np.unique(got[:2]).size == 6 and got.min() > 0.1
    best = int(np.argmax(np.mean(expected, axis=1)))
    assert found.best_params_["lambda_"] == grid["lambda_"][best]
    assert found.best_estimator_.user_ids.tolist() == list(dict.fromkeys(rows["user"]))

    x, folds = ease.interactions(data), KFold(3, shuffle=True, random_state=1)
    _, got = search(x, folds)
    parts = [(x[a], x[b]) for a, b in folds.split(np.zeros(x.shape[0]))]
    expected = [by_hand({"lambda_": value}, parts) for value in grid["lambda_"]]
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9)
    matrix = [(X[a], X[b]) for a, b in folds.split(X)]
    np.testing.assert_allclose(
        cross_val_score(ease.EASE(lambda_=20.0), X, scoring=scoring, cv=folds),
        by_hand({"lambda_": 20.0}, matrix), rtol=0, atol=1e-9)


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_a_search_over_the_rows_of_a_frame_gives_no_figures(X, frame):
    pytest.importorskip("sklearn")
    from sklearn.model_selection import KFold, cross_val_score

    rows = rows_of(X)
    data, model = FRAMES[frame](rows), ease.EASE(lambda_=20.0)
    ordered = take(rows, np.argsort([int(u) for u in rows["user"]], kind="stable"))
    for x, cv in (data, KFold(3)), (data, KFold(3, shuffle=True)), (FRAMES[frame](ordered), 3):
        with pytest.warns(UserWarning, match=REFUSED):
            scores = cross_val_score(model, x, cv=cv)
        assert np.isnan(scores).any() and (x is not data or np.isnan(scores).all())
        with pytest.raises(ValueError, match=REFUSED):
            cross_val_score(model, x, cv=cv, error_score="raise")


def test_interactions_are_pickled(X):
    for x in (ease.interactions(X), ease.interactions(rows_of(X, NAMES["strings"])),
              ease.interactions(rows_of(X, NAMES["numbers"]))[5:20],
              ease.interactions({"user": [1], "item": [2], "rating": [3.5]}, weights=True)):
        again = pickle.loads(pickle.dumps(x))
        assert (again.to_scipy() != x.to_scipy()).nnz == 0 and again._matrix == x._matrix
        for name in "user_ids", "item_ids":
            np.testing.assert_array_equal(getattr(again, name), getattr(x, name))
            assert getattr(again, name).dtype == getattr(x, name).dtype


def test_interactions_are_indexed_by_users(X):
    x, rows = ease.interactions(X), ease.interactions(rows_of(X))
    assert (x[5:9].to_scipy() != X[5:9]).nnz == 0 and x[[3, 1]].shape == (2, 30)
    assert (x[np.arange(120) % 2 == 0].to_scipy() != X[::2]).nnz == 0
    part = rows[[7, 2]]
    assert part.user_ids.tolist() == rows.user_ids[[7, 2]].tolist()
    assert part.item_ids.tolist() == rows.item_ids.tolist()
    assert (part.to_scipy() != rows.to_scipy()[[7, 2]]).nnz == 0
    assert (rows[np.array([4]), ...].to_scipy() != rows[4].to_scipy()).nnz == 0
    for wrong in ([1, 1], 120, (1, 2)):
        with pytest.raises(IndexError):
            rows[wrong]
    with pytest.raises(TypeError):
        iter(x)


def test_a_matrix_has_no_ids(X):
    rows = rows_of(X)
    model = ease.EASE(lambda_=20.0).fit(rows)
    for call in (lambda: model.score(X), lambda: model.score(rows, X),
                 lambda: ease.evaluate(model, X, X),
                 lambda: ease.tune((rows, X, X), grid={"lambda_": [1.0]}),
                 lambda: ease.MultDAE(hidden=4, epochs=1).fit(rows, validation=(X, X))):
        with pytest.raises(ValueError, match="a matrix where the model's items have ids"):
            call()
    parts = X.multiply(np.arange(30) % 2 == 0).tocsr(), X.multiply(np.arange(30) % 2).tocsr()
    assert ease.evaluate(model, *map(ease.interactions, parts)) == pytest.approx(
        ease.evaluate(ease.EASE(lambda_=20.0).fit(X), *parts))


def test_columns_in_another_order_are_no_history(X):
    model = ease.EASE(lambda_=20.0).fit(ease.split(X, "random").train)
    assert sorted(model.item_ids) == list(range(30)) != model.item_ids.tolist()
    with pytest.raises(ValueError, match="in another order"):
        model.recommend(3, X[3])
    ids, scores = model.recommend(3, ease.interactions(X[3]))
    wanted, expected = model.recommend(3, X[3].indices.tolist())
    np.testing.assert_array_equal(ids, wanted)
    np.testing.assert_array_equal(scores, expected)
    assert not set(ids) & set(X[3].indices)


def test_rows_of_matrices_are_other_users(X):
    x, y = ease.interactions(X[:60]), ease.interactions(X[60:])
    expected = ease.EASE(lambda_=20.0).fit(X[:60]).score(X[60:], metric=METRIC)
    assert ease.EASE(lambda_=20.0).fit(x).score(y, metric=METRIC) == expected
    lists = X[60:].toarray().tolist()
    assert ease.EASE(lambda_=20.0).fit(X[:60].toarray().tolist()).score(
        lists, metric=METRIC) == expected
