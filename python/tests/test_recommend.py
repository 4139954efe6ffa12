"""Lists, reasons, files, pickles."""

import pickle

import numpy as np
import pytest

import ease
from conftest import random_matrix

sparse = pytest.importorskip("scipy.sparse")


def best(scores, k):
    return np.argsort(-scores, kind="stable")[:k]


def test_one_user(model, X):
    ids, scores = model.recommend(3, X[3], N=5)
    expected = np.asarray(X[3] @ model.B).ravel()
    expected[X[3].indices] = -np.inf
    np.testing.assert_array_equal(ids, best(expected, 5))
    np.testing.assert_allclose(scores, expected[ids], rtol=1e-5)
    assert ids.dtype == np.int32 and scores.dtype == np.float32


def test_many_users_have_the_lists_of_each(model, X):
    users = np.array([5, 0, 7])
    ids, scores = model.recommend(users, X[users], N=6)
    assert ids.shape == scores.shape == (3, 6)
    for row, user in enumerate(users):
        one, s = model.recommend(user, X[user], N=6)
        np.testing.assert_array_equal(ids[row], one)
        np.testing.assert_array_equal(scores[row], s)
    none, _ = model.recommend(np.array([], int), X[:0], N=6)
    assert none.shape == (0, 6)


def test_seen_items(model, X):
    assert not set(model.recommend(3, X[3], N=30)[0]) & set(X[3].indices)
    everything = model.recommend(3, X[3], N=30, filter_already_liked_items=False)[0]
    assert len(everything) == 30


def test_short_lists_are_filled_up(model, X):
    ids, scores = model.recommend([3, 4], X[[3, 4]], N=30)
    left = 30 - X[3].nnz
    assert (ids[0, left:] == -1).all() and (ids[0, :left] >= 0).all()
    assert (scores[0, left:] == -np.finfo(np.float32).max).all()
    assert len(model.recommend(3, X[3], N=30)[0]) == left


def test_filters(model, X):
    ids = model.recommend(3, X[3], N=5)[0]
    assert ids[0] not in model.recommend(3, X[3], N=5, filter_items=[ids[0]])[0]
    np.testing.assert_array_equal(
        np.sort(model.recommend(3, X[3], N=5, items=ids[:2])[0]), np.sort(ids[:2]))
    with pytest.raises(ValueError):
        model.recommend(3, X[3], items=[1], filter_items=[2])
    with pytest.raises(KeyError):
        model.recommend(3, X[3], items=[30])


def test_an_empty_history_gets_what_is_popular(model, X):
    ids, _ = model.recommend(0, sparse.csr_matrix((1, 30)), N=3)
    np.testing.assert_array_equal(ids, best(model.popularity, 3))


@pytest.mark.parametrize("call", [
    lambda m, X: m.recommend(0, X[:2]), lambda m, X: m.recommend([0, 1], X[0]),
    lambda m, X: m.recommend(0, X[0, :5]), lambda m, X: m.recommend(0, X[0], N=0),
    lambda m, X: m.recommend(0), lambda m, X: m.recommend([0, 1], [3, 4]),
    lambda m, X: m.similar_items(0, N=-1), lambda m, X: m.explain([0, 1], X[:2], 3)])
def test_wrong_shapes(model, X, call):
    with pytest.raises(ValueError):
        call(model, X)


@pytest.mark.parametrize("call, words", [
    (lambda m, X: m.recommend(0, X[0], N=2.5), "N is a whole number, not 2.5"),
    (lambda m, X: m.recommend(0, X[0], N="3"), "N is a whole number"),
    (lambda m, X: m.similar_items(0, N=0), "N is at least 1"),
    (lambda m, X: m.explain(0, X[0], 3, N=-1), "N is at least 0"),
    (lambda m, X: m.recommend(0, "tea"), "several items are wanted"),
    (lambda m, X: m.recommend(0, 3), "several items are wanted"),
    (lambda m, X: m.recommend(0, X[0], items=3), "several items are wanted"),
    (lambda m, X: m.recommend(np.zeros((2, 2), int), X[:2]), "one dimension"),
    (lambda m, X: m.set_titles(["a"] * 30), "a mapping from ids"),
    (lambda m, X: m.plan((5,)), "users, items"),
    (lambda m, X: ease.evaluate(X, X, X), "a model is evaluated"),
    (lambda m, X: ease.tune((X, X)), "a split, or"),
    (lambda m, X: ease.tune(X[:5], ease.ItemItem(), users=5), "too little data"),
    (lambda m, X: ease.tune((X, X, X), users=5), "data without a split"),
    (lambda m, X: ease.tune((X, X, X), grid={"lamda": [1]}), "no parameter 'lamda'.*lambda_"),
    (lambda m, X: ease.tune((X, X, X), grid={"lambda_": 5}), "a list of values"),
    (lambda m, X: ease.tune((X, X, X), ease.WMF(), grid={"rank": []}), "a list of values"),
    (lambda m, X: ease.tune((X, X, X), ease.WMF), "an estimator is tuned"),
    (lambda m, X: ease.split(X, "random", seed=-1), "seed is at least 0"),
    (lambda m, X: ease.split(X), "^[0-9]+ users"),  # and no path of a file of ours
    (lambda m, X: ease.interactions({"user": [1, 2], "item": [1]}), r"lengths: \[2, 1\]")])
def test_messages_say_what_is_wanted(model, X, call, words):
    with pytest.raises(ValueError, match=words):
        call(model, X)


def test_a_long_list_takes_no_more_than_there_are_items(model, X):
    assert len(model.recommend(3, X[3], N=2**31 - 1)[0]) == 30 - X[3].nnz
    assert len(model.similar_items(3, N=2**31 - 1)[0]) == 29


@pytest.mark.parametrize("item", [30, -1, "x", "1\0", 1.5, None, True, np.True_])
def test_ids_that_are_not_in_the_model(model, X, item):
    for call in (lambda: model.similar_items(item), lambda: model.explain(0, X[0], item),
                 lambda: model.recommend(0, X[0], filter_items=[item])):
        with pytest.raises(KeyError):
            call()


@pytest.mark.parametrize("item", ["1\0", 1.5, None, np.nan, True, np.True_])
def test_what_can_be_no_id_is_refused_in_every_history(model, item):
    for call in (lambda: model.recommend(0, [3, item]), lambda: model.recommend(0, {item: 1.0}),
                 lambda: model.recommend([0, 1], [[3], [item]]),
                 lambda: model.explain(0, [item], 3)):
        with pytest.raises(ValueError, match="is no id of an item"):
            call()


def test_a_list_of_items_is_a_history(model, X):
    np.testing.assert_array_equal(model.recommend(3, X[3].indices.tolist())[0],
                                  model.recommend(3, X[3])[0])


@pytest.mark.parametrize("cls", [ease.EASE, ease.ItemItem, ease.SLIM, ease.WMF])
@pytest.mark.parametrize("weights", [False, True])
def test_a_dict_is_a_history_with_weights(cls, weights):
    params = {ease.EASE: {"lambda_": 20.0}, ease.WMF: {"rank": 4}}.get(cls, {})
    X = random_matrix(weights=weights)
    model = cls(**params).fit(X)
    history = {7: 2.0, 3: 0.5, 20: -1, 11: 0}
    row = sparse.csr_matrix(([0.5, 2, -1], ([0, 0, 0], [3, 7, 20])), shape=(1, 30))
    for got, expected in zip(model.recommend(0, history), model.recommend(0, row)):
        np.testing.assert_array_equal(got, expected)
    assert model.recommend(0, history)[1][0] != model.recommend(0, [7, 3, 20])[1][0]
    for got, expected in zip(model.recommend(0, {3: 1, 7: True}), model.recommend(0, [3, 7])):
        np.testing.assert_array_equal(got, expected)
    if cls is not ease.WMF:
        assert model.explain(0, history, 5) == model.explain(0, row, 5)
    assert len(model.recommend(0, {}, N=3)[0]) == 3


def test_scores_of_a_dict_are_weighted_sums():
    model = ease.EASE(lambda_=1.0).fit({"user": ["a", "a", "b", "b", "c", "c"],
                                        "item": ["tea", "milk", "tea", "cake", "milk", "tea"]})
    tea, milk, cake = (list(model.item_ids).index(i) for i in ("tea", "milk", "cake"))
    ids, scores = model.recommend("x", {"milk": 2.0, "cake": 3.0}, N=1)
    assert ids.tolist() == ["tea"]
    assert scores[0] == pytest.approx(2 * model.B[milk, tea] + 3 * model.B[cake, tea])


@pytest.mark.parametrize("history, words", [
    ({3: "much"}, "weights of a history are numbers"), ({3: None}, "are numbers"),
    ({3: np.nan}, "not finite"), ({3: 1e39}, "not finite, or too large"),
    ({3: [1, 2]}, "are numbers"), ({3: 1.0, "3": 2.0}, "twice"), ({3: 1j}, "are numbers")])
def test_weights_of_a_history_are_checked(model, history, words):
    with pytest.raises(ValueError, match=words):
        model.recommend(0, history)
    with pytest.raises(ValueError):
        model.recommend([0, 1], {3: 1.0})


def test_a_row_of_an_array_is_a_history(model, X):
    expected = model.recommend(3, X[3])[0]
    np.testing.assert_array_equal(model.recommend(3, X.toarray()[3])[0], expected)
    np.testing.assert_array_equal(model.recommend(3, X.toarray().astype(int)[3])[0], expected)
    np.testing.assert_array_equal(model.recommend(3, sparse.csr_array(X)[[3]])[0], expected)
    np.testing.assert_array_equal(model.recommend(3, sparse.csr_array(X)[3])[0], expected)
    with pytest.raises(ValueError, match="columns"):
        model.recommend(3, np.array([1, 2]))


def test_similar_items(model):
    ids, scores = model.similar_items(4, N=3)
    assert len(ids) == 3 and 4 not in ids and (np.abs(scores) <= 1).all()
    batch, _ = model.similar_items([4, 5], N=3)
    assert batch.shape == (2, 3)
    np.testing.assert_array_equal(batch[0], ids)


def test_reasons_add_up(model, X):
    item = model.recommend(3, X[3])[0][0]
    why = model.explain(3, X[3], item, N=None)
    assert len(why.contributions) == X[3].nnz
    assert why.base + sum(c for _, c in why.contributions) == pytest.approx(why.score)
    assert why.score == model.recommend(3, X[3])[1][0]
    assert model.explain(3, X[3], item, N=2).contributions == why.contributions[:2]
    with pytest.raises(ValueError):
        ease.WMF(rank=4).fit(X).explain(3, X[3], 1)


def test_values_of_a_history_count():
    X = random_matrix(weights=True)
    model = ease.EASE(lambda_=20.0).fit(X)
    ids, scores = model.recommend(3, X[3], N=4)
    np.testing.assert_allclose(scores, np.asarray(X[3] @ model.B).ravel()[ids], rtol=1e-5)


@pytest.mark.parametrize("storage", ["f16", "f32", "packed"])
def test_files(model, X, tmp_path, storage):
    path = tmp_path / "modèle.ease"
    model.save(path, storage=storage)
    again = ease.load(path)
    assert again.get_params() == model.get_params()
    np.testing.assert_allclose(again.B, model.B, atol=0 if storage != "f16" else 1e-3)
    assert again.info["storage"] == storage
    again.save(path, storage="f16")  # over the file it is mapped from
    np.testing.assert_array_equal(again.recommend(0, X[0])[0],
                                  ease.load(path).recommend(0, X[0])[0])


def test_files_that_are_none(tmp_path, model):
    with pytest.raises(FileNotFoundError):
        ease.load(tmp_path / "nothing")
    (tmp_path / "junk").write_bytes(b"junk" * 100)
    with pytest.raises(ValueError):
        ease.load(tmp_path / "junk")
    with pytest.raises(OSError):
        model.save(tmp_path / "no" / "such" / "place")
    with pytest.raises(ValueError):
        model.save(tmp_path / "m", storage="f8")


@pytest.mark.parametrize("cls", [ease.EASE, ease.Popularity, ease.SLIM, ease.WMF])
def test_pickles(X, cls):
    params = {ease.EASE: {"lambda_": 20.0}, ease.WMF: {"rank": 4}}.get(cls, {})
    fresh = pickle.loads(pickle.dumps(cls(**params)))
    assert fresh.get_params() == cls(**params).get_params()
    model = cls(**params).fit(X)
    again = pickle.loads(pickle.dumps(model))
    assert again.get_params() == model.get_params()
    for a, b in zip(again.recommend([0, 1], X[:2]), model.recommend([0, 1], X[:2])):
        np.testing.assert_array_equal(a, b)


def test_titles(model, tmp_path):
    assert set(model.titles) == {None}
    assert model.set_titles({0: "Heat", 7: "Amélie", 99: "unknown"}) == 2
    model.save(tmp_path / "m.ease")
    assert ease.load(tmp_path / "m.ease").titles[7] == "Amélie"
    pd = pytest.importorskip("pandas")
    for titles in (pd.Series(["Heat"], index=[4]), pd.DataFrame({"id": [4], "title": ["Heat"]})):
        assert model.set_titles(titles) == 1 and model.titles[4] == "Heat"
    (tmp_path / "t.csv").write_text("id,title\n1,One\n2,Two\n")
    assert model.set_titles(tmp_path / "t.csv") == 2
    assert model.titles[1] == "One" and model.titles[0] is None
    assert pickle.loads(pickle.dumps(model)).titles[2] == "Two"


def test_a_figure(model, tmp_path):
    model.plot(tmp_path / "w.svg")
    assert (tmp_path / "w.svg").read_text().startswith("<svg")
    with pytest.raises(ValueError, match="w.gif: figures are SVG, PNG or PDF"):
        model.plot(tmp_path / "w.gif")
    assert not (tmp_path / "w.gif").exists()


def test_histories_of_other_data_go_by_ids():
    model = ease.EASE(lambda_=1.0).fit({"user": ["a", "a", "b", "b", "c", "c"],
                                        "item": ["tea", "milk", "tea", "cake", "milk", "tea"]})
    other = ease.interactions({"user": ["x", "x"], "item": ["cake", "milk"]})
    ids, scores = model.recommend("x", other, N=3)
    wanted, expected = model.recommend("x", ["cake", "milk"], N=3)
    assert list(ids) == list(wanted) == ["tea"]
    assert list(scores) == list(expected)
