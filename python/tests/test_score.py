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


def oracle(model, fitted, test, metric):
    """Weak generalization by hand: what was fitted is had, what else there is is wanted."""
    had = set(pairs_of(fitted))
    wanted = [p for p in dict.fromkeys(pairs_of(test)) if p not in had]
    target = {"user": [u for u, _ in wanted], "item": [i for _, i in wanted]}
    return ease.evaluate(model, fitted, target, metrics=metric)[metric]


@pytest.mark.parametrize("name", NAMES)
def test_a_fold_of_rows_is_what_is_to_be_recommended(X, name):
    rows = rows_of(X, NAMES[name])
    count = len(rows["user"])
    train, test = take(rows, range(count // 5, count)), take(rows, range(count // 5))
    assert set(test["user"]) <= set(train["user"])
    model = ease.EASE(lambda_=20.0).fit(train)
    expected = oracle(model, train, test, METRIC)
    assert model.score(test, metric=METRIC) == expected > 0.1
    assert model.score(rows, metric=METRIC) == expected  # with what was fitted again
    assert model.score(train, test, metric=METRIC) == expected


def test_pairs_that_repeat_are_not_wanted_again(X):
    rows = rows_of(X)
    count = len(rows["user"])
    train, test = take(rows, range(count // 5, count)), take(rows, range(count // 5))
    model = ease.EASE(lambda_=20.0).fit(train)
    again = {name: test[name] + train[name][:50] for name in test}
    assert model.score(again, metric=METRIC) == oracle(model, train, test, METRIC)


def test_a_fold_with_new_users_too(X):
    rows = rows_of(X)
    test_rows = [k for k, u in enumerate(rows["user"]) if int(u) >= 100 or k % 5 == 0]
    train = take(rows, sorted(set(range(len(rows["user"]))) - set(test_rows)))
    test = take(rows, test_rows)
    model = ease.EASE(lambda_=20.0).fit(train)
    from ease._measure import hold_out_new

    x = ease.interactions(test)
    had, wanted = hold_out_new(x, model._seen, model._model.find, 0.2, 0)

    def pairs(part):
        r = part.to_scipy().tocoo()
        return {(part.user_ids[u], part.item_ids[i]) for u, i in zip(r.row, r.col)}

    fitted, known, everything = set(pairs_of(train)), set(train["user"]), set(pairs_of(test))
    had, wanted = pairs(had), pairs(wanted)
    assert not had & wanted
    assert {p for p in wanted if p[0] in known} == {p for p in everything if p[0] in known}
    assert {p for p in had if p[0] in known} == {p for p in fitted if p[0] in dict(everything)}
    new = {p for p in everything if p[0] not in known}
    assert {p for p in had | wanted if p[0] not in known} == new
    assert 0 < len([p for p in wanted if p[0] not in known]) < len(new) / 2


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


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_searching_over_rows_and_over_users(X, frame):
    pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score

    rows = rows_of(X)
    data, model = FRAMES[frame](rows), ease.EASE(lambda_=20.0)
    for cv in (KFold(3), KFold(3, shuffle=True, random_state=1)):
        scores = cross_val_score(model, data, scoring=ease.scorer(METRIC), cv=cv)
        folds = [(take(rows, a), take(rows, b)) for a, b in cv.split(rows["user"])]
        expected = [oracle(ease.EASE(lambda_=20.0).fit(a), a, b, METRIC) for a, b in folds]
        assert scores == pytest.approx(expected) and min(expected) > 0.1
    search = GridSearchCV(model, {"lambda_": [20.0, 1e9]}, scoring=ease.scorer(METRIC), cv=3)
    search.fit(data)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    groups = cross_val_score(model, data, groups=rows["user"], cv=GroupKFold(3))
    assert ((groups > 0.2) & (groups < 1)).all()


def test_folds_of_users_that_follow_each_other():
    """Rows sorted by user, as most files are: scikit-learn's folds have new users, but for
    those at their edges."""
    pytest.importorskip("sklearn")
    pd = pytest.importorskip("pandas")
    from sklearn.model_selection import cross_val_score

    X = random_matrix(users=300)
    coo = X.tocoo()
    data = pd.DataFrame({"user": coo.row + 7, "item": coo.col}).sort_values("user")
    by_rows = cross_val_score(ease.EASE(lambda_=20.0), data, cv=3)
    by_users = cross_val_score(ease.EASE(lambda_=20.0), X, cv=3)
    assert by_rows.mean() == pytest.approx(by_users.mean(), abs=0.05)


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
