"""Tags of items, from all that fit() takes, against NumPy."""

import pickle

import numpy as np
import pytest

import ease
from conftest import random_matrix

USERS, ITEMS, LAMBDA = 120, 30, 20.0
COLD = [30, 31]  # only have tags
NAMES = [f"author={a}" for a in range(5)] + [f"genre={g}" for g in range(3)]


def tags_of(item):
    return [f"author={item % 5}"] + [f"genre={g}" for g in range(3) if item >> g & 1]


TAGS = {i: tags_of(i) for i in range(ITEMS + len(COLD))}


def tag_matrix():
    """T: tags x items."""
    return np.array([[t in tags for tags in TAGS.values()] for t in NAMES], np.float64)


def inverse_weights(G, lambda_):
    P = np.linalg.inv(G + lambda_ * np.eye(len(G)))
    B = -P / np.diag(P)
    np.fill_diagonal(B, 0)
    return B


def padded(X):
    return np.hstack([X.toarray(), np.zeros((X.shape[0], len(COLD)))]).astype(np.float64)


@pytest.fixture
def X():
    return random_matrix(USERS, ITEMS)


@pytest.fixture
def model(X):
    return ease.EASE(LAMBDA, precision="f64").fit(X, tags=TAGS)


@pytest.mark.parametrize("weight", [0.5, 1.0, 3.0])
def test_tags_are_added_to_the_gram_matrix(X, weight):
    model = ease.EASE(LAMBDA, precision="f64").fit(X, tags=TAGS, tag_weight=weight)
    full, T = padded(X), tag_matrix()
    want = inverse_weights(full.T @ full + weight**2 * T.T @ T, LAMBDA)
    np.testing.assert_allclose(model.B, want, rtol=2e-5, atol=1e-7)
    assert model.item_ids.tolist() == list(range(ITEMS + len(COLD)))
    np.testing.assert_array_equal(model.popularity, full.sum(axis=0))
    assert model.info["tag_weight"] == weight and model.info["tags"] == len(NAMES)


def test_a_gram_matrix_takes_tags(X, model):
    again = ease.EASE(LAMBDA, precision="f64").fit_gram(ease.gram(X), tags=TAGS)
    np.testing.assert_array_equal(again.B, model.B)
    assert again.tags(31) == model.tags(31)


def test_add_ease_blends_both_models(X):
    model = ease.AddEASE(LAMBDA, blend=0.3, tag_lambda=2.0, precision="f64").fit(X, tags=TAGS)
    full, T = padded(X), tag_matrix()
    want = (0.7 * inverse_weights(full.T @ full, LAMBDA) + 0.3 * inverse_weights(T.T @ T, 2.0))
    np.testing.assert_allclose(model.B, want, rtol=2e-5, atol=1e-7)
    with pytest.raises(ValueError, match="add-ease needs tags"):
        ease.AddEASE(LAMBDA).fit(X)


def test_files_keep_tags_and_parameters(X, tmp_path):
    made = ease.AddEASE(LAMBDA, blend=0.3, tag_lambda=2.0).fit(X, tags=TAGS)
    made.save(tmp_path / "m.ease", "f32")
    for again in ease.load(tmp_path / "m.ease"), pickle.loads(pickle.dumps(made)):
        assert again.get_params() == made.get_params()
        assert again.tags() == made.tags() and again.tags(31) == tags_of(31)
        ids, scores = again.recommend(3, X[3], N=5)
        np.testing.assert_array_equal(ids, made.recommend(3, X[3], N=5)[0])


def test_the_tags_of_items(model):
    assert sorted(model.tags()) == NAMES
    assert [sorted(t) for t in model.tags([7, 31, 0])] == [tags_of(7), tags_of(31), tags_of(0)]
    assert sorted(model.tags(7)) == tags_of(7)
    with pytest.raises(KeyError, match="99"):
        model.tags(99)
    plain = ease.EASE(LAMBDA).fit([[1, 1], [0, 1]])
    assert plain.tags() == [] and plain.tags(1) == []
    assert plain.info["tags"] == 0 and plain.info["tag_weight"] == 0


# ---- what tags may be ----------------------------------------------------------------


def pairs():
    return [(i, t) for i, tags in TAGS.items() for t in tags]


def as_path(tmp_path):
    path = tmp_path / "tags.csv"
    path.write_text("item,tag\n" + "".join(f"{i},{t}\n" for i, t in pairs()))
    return path


def as_pandas(tmp_path):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(pairs(), columns=["item", "tag"])


def as_series(tmp_path):
    return pytest.importorskip("pandas").Series(TAGS)


def as_polars(tmp_path):
    polars = pytest.importorskip("polars")
    return polars.DataFrame({"item": [i for i, _ in pairs()], "tag": [t for _, t in pairs()]})


def as_arrow(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.table({"item": [i for i, _ in pairs()], "tag": [t for _, t in pairs()]})


def as_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(as_arrow(tmp_path), tmp_path / "tags.parquet")
    return tmp_path / "tags.parquet"


def as_columns(tmp_path):
    return {"item": [i for i, _ in pairs()], "tag": [t for _, t in pairs()]}


def as_pairs(tmp_path):
    return pairs()


@pytest.mark.parametrize("made", [as_path, as_pandas, as_series, as_polars, as_arrow, as_parquet,
                                  as_columns, as_pairs])
def test_every_source_gives_the_same_bits(X, model, made, tmp_path):
    again = ease.EASE(LAMBDA, precision="f64").fit(X, tags=made(tmp_path))
    np.testing.assert_array_equal(again.B, model.B)
    assert again.tags(list(TAGS)) == model.tags(list(TAGS))


@pytest.mark.parametrize("columns", [("film", "genres"), "film,genres", (2, 3)])
def test_columns_and_several_tags_in_a_text(X, tmp_path, columns):
    rows = [("x", 0, "Drama | Comedy"), ("y", 1, ""), ("z", 2, "Comedy|year=1999")]
    (tmp_path / "films.csv").write_text("title,film,genres\n" + "".join(
        f"{a},{b},{c}\n" for a, b, c in rows))
    how = {"tag_columns": columns, "tag_split": "|"}
    model = ease.EASE(LAMBDA).fit(X, tags=tmp_path / "films.csv", **how)
    want = [["genres=Drama", "genres=Comedy"], [], ["genres=Comedy", "year=1999"]]
    assert model.tags([0, 1, 2]) == want
    named = model.fit(X, tags=tmp_path / "films.csv", **how, tag_kind="genre")
    assert named.tags(0) == ["genre=Drama", "genre=Comedy"]
    if columns != (2, 3):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(rows, columns=["title", "film", "genres"])
        for missing in None, float("nan"), pandas.NA:
            frame["genres"] = pandas.Series([rows[0][2], missing, rows[2][2]], dtype=object)
            assert model.fit(X, tags=frame, **how).tags([0, 1, 2]) == want
        columns = {"film": [0, 1, 2], "genres": [r[2] for r in rows]}
        assert model.fit(X, tags=columns, **how).tags([0, 1, 2]) == want


@pytest.mark.parametrize("frame", [True, False])
def test_tags_have_weights(X, frame):
    weights = 0.5 + np.arange(ITEMS) % 4
    rows = [(i, f"author={i % 5}", w) for i, w in enumerate(weights)]
    tags = dict(zip(("item", "tag", "weight"), map(list, zip(*rows)))) if frame else rows
    model = ease.EASE(LAMBDA, precision="f64").fit(X, tags=tags, tag_weight=2.0)
    T = weights * (np.arange(ITEMS) % 5 == np.arange(5)[:, None])
    G = X.toarray().T.astype(np.float64) @ X.toarray() + 4 * T.T @ T
    np.testing.assert_allclose(model.B, inverse_weights(G, LAMBDA), rtol=2e-5, atol=1e-7)


def test_a_tag_without_a_kind(X):
    model = ease.EASE(LAMBDA).fit(X, tags={0: "new", 1: ["new", "genre=Comedy"]})
    assert model.tags([0, 1]) == [["tag=new"], ["tag=new", "genre=Comedy"]]


@pytest.mark.parametrize("tags, how, message", [
    (7, {}, "a path, a mapping from items, a frame or pairs, not a int"),
    ({0: 7}, {}, "such as 'genre=Comedy', not 7"), ({0: ["a\0b"]}, {}, "genre=Comedy"),
    ({1.5: "a"}, {}, "1.5 is no id"), ([(0,)], {}, "pairs are"), (["ab"], {}, "pairs are"),
    ([(0, "a", -1.0)], {}, "row 0.*at least 0"), ([(0, "a", float("nan"))], {}, "row 0.*finite"),
    ({}, {}, "no row has"), ({0: ""}, {}, "no row has"), ({0: None}, {}, "no row has"),
    ({0: {"a": 1}}, {}, "such as"), ({0: "a"}, {"tag_weight": -1}, "at least 0, not -1"),
    ({0: "a"}, {"tag_weight": "much"}, "tag_weight is a number"),
    ({0: "a"}, {"tag_split": ""}, "tag_split is a separator"),
    ({0: "a"}, {"tag_columns": ("a", "b")}, "no column 'a'"),
    ([(0, "a")], {"tag_columns": ("a", "b")}, "for files and frames"),
    ([(0, "a", "b")], {}, "weight 'b' is not a number"), ([(0, "a", None)], {}, "weight None"),
    ({0: "a"}, {"tag_columns": "item"}, "tag_columns: item, tag"),
    (None, {"tag_split": "|"}, "for tags="),
    ({"item": [1], "genre": ["a"]}, {}, "not 1"),
    ({"item": [1], "tag": ["a"]}, {"tag_columns": ("item", "kind")}, "no column 'kind'"),
    ({"item": [1, 2], "tag": ["a"]}, {}, "different lengths"),
])
def test_what_is_wrong_is_said(X, tags, how, message):
    with pytest.raises(ValueError, match=message):
        ease.EASE(LAMBDA).fit(X, tags=tags, **how)


def test_a_file_that_is_not_there(X, tmp_path):
    with pytest.raises(FileNotFoundError):
        ease.EASE(LAMBDA).fit(X, tags=tmp_path / "none.csv")


# ---- items that only have tags -------------------------------------------------------


def test_items_that_only_have_tags_are_recommended(X, model):
    scores = padded(X) @ model.B.astype(np.float64)
    ids, found = model.recommend(3, X[3], N=ITEMS + 2)
    assert set(COLD) <= set(ids)
    np.testing.assert_allclose(found, scores[3][ids], rtol=1e-4, atol=1e-6)
    ids, _ = model.recommend(3, X[3], items=COLD)
    assert ids.tolist() == sorted(COLD, key=lambda i: -scores[3, i])
    wide = padded(X)[3]
    np.testing.assert_array_equal(model.recommend(3, wide)[0], model.recommend(3, X[3])[0])
    assert 31 in model.similar_items(1, N=ITEMS + 1)[0]
    assert model.recommend("new", [31])[0].size == 10
    with pytest.raises(ValueError, match="29 columns"):
        model.recommend(3, X[3][:, :29])
    report = ease.evaluate(model, X, X, metrics="recall@5")
    assert report.info["unknown_targets"] == 0


def test_their_ids_may_be_strings(X):
    tags = {**{i: TAGS[i] for i in range(ITEMS)}, "new": "genre=1"}
    model = ease.EASE(LAMBDA).fit(X, tags=tags)
    assert model.item_ids.tolist() == [str(i) for i in range(ITEMS)] + ["new"]
    assert model.recommend(3, X[3], items=["new"])[0].tolist() == ["new"]
    assert model.tags("new") == ["genre=1"] and sorted(model.tags(7)) == tags_of(7)
    assert ease.evaluate(model, X, X, metrics="hit@5").info["unknown_targets"] == 0


def test_numbers_in_another_order_are_no_columns(X):
    tags = {**{i: TAGS[i] for i in range(ITEMS)}, 31: "genre=0", 30: "genre=1"}
    model = ease.EASE(LAMBDA).fit(X, tags=tags)
    assert model.item_ids.tolist()[-2:] == [31, 30]
    assert len(model.recommend(3, X[3])[0]) == 10
    with pytest.raises(ValueError, match="only have tags"):
        model.recommend(3, padded(X)[3])


def test_histories_of_a_frame(X):
    users, items = np.nonzero(X.toarray())
    frame = {"user": [f"u{u}" for u in users], "item": [f"i{i}" for i in items]}
    model = ease.EASE(LAMBDA).fit(frame, tags={"i3": "genre=A", "new": "genre=A"})
    assert model.item_ids[-1] == "new"
    assert "new" in model.recommend("u3", N=ITEMS + 1)[0]
    first = model.item_ids[0]  # of another user: no pair may be taken for that of u3
    other = next(u for u, i in zip(frame["user"], frame["item"]) if i == first and u != "u3")
    fold = {"user": ["u3", other], "item": ["new", first]}
    with pytest.raises(ValueError, match="^1 of 2 users of X"):
        model.score(fold)
    new = {"user": ["z", "z"], "item": ["new", first]}
    assert model.score(new, metric=f"hit@{ITEMS + 1}") == 1


# ---- filters -------------------------------------------------------------------------



@pytest.mark.parametrize("estimator", [ease.EASE(LAMBDA), ease.AddEASE(LAMBDA), ease.ItemItem(),
                                       ease.Popularity(), ease.WMF(rank=4)])
def test_lists_are_chosen_by_the_tags_of_fit(X, estimator):
    model = estimator.fit(X, tags=TAGS)
    ids, _ = model.recommend(3, X[3], N=20, only=["genre=1", "genre=2"], exclude="author=2")
    assert len(ids)
    for i in ids:
        assert {"genre=1", "genre=2"} & set(tags_of(i)) and "author=2" not in tags_of(i)
    ids, _ = model.recommend(3, X[3], N=20, at_most={"author": 2})
    assert np.bincount(ids % 5).max() == 2
    with pytest.raises(ValueError, match="genre=9"):
        model.recommend(3, X[3], only="genre=9")


@pytest.mark.parametrize("estimator, how", [(ease.ItemItem(), {}),
                                            (ease.EASE(LAMBDA), {"tag_weight": 0})])
def test_tags_that_are_only_kept_change_no_weight(X, estimator, how):
    model = estimator.fit(X, tags=TAGS, **how)
    kept = model.B
    assert len(model.item_ids) == ITEMS and sorted(model.tags(7)) == tags_of(7)
    without = model.fit(X).B
    if hasattr(kept, "toarray"):  # of a sparse model
        kept, without = kept.toarray(), without.toarray()
    np.testing.assert_array_equal(kept, without)
    assert model.tags() == []
    with pytest.raises(ValueError, match="tags"):
        model.fit(X, tags={"unknown": "genre=A"}, **how)


# ---- tuning --------------------------------------------------------------------------


@pytest.mark.parametrize("estimator, grid", [
    (ease.EASE(1.0), {"lambda_": [5, 50]}), (ease.AddEASE(1.0), {"lambda_": [5, 50]}),
    (ease.AddEASE(20.0), {"blend": [0.1, 0.6]}), (ease.RLAE(1.0), {"relaxation": [0.1, 0.3]})])
def test_a_trial_learns_from_tags(X, estimator, grid):
    parts = ease.split(X, "random", share=0.3, seed=4)
    how = {"tags": TAGS} if isinstance(estimator, ease.AddEASE) else {"tags": TAGS, "tag_weight": 3}
    found = ease.tune(parts, estimator, grid=grid, metric="ndcg@10", **how)
    assert len(found.trials) == 2
    for trial in found.trials:
        model = type(estimator)(**{**estimator.get_params(), **trial.params})
        model.fit(parts.validation_train, **how)
        report = ease.evaluate(model, parts.validation_input, parts.validation_target,
                               metrics="ndcg@10")
        assert trial.mean == pytest.approx(report["ndcg@10"], rel=1e-6)


def test_the_blend_is_searched_with_lambda(X):
    parts = ease.split(X, "random", share=0.3, seed=4)
    found = ease.tune(parts, ease.AddEASE(1.0), metric="ndcg@10", tags=TAGS)
    assert {"lambda_", "blend"} <= set(found.best_params)
    assert found.best_estimator.fit(X, tags=TAGS).info["tags"] == len(NAMES)
    with pytest.raises(ValueError, match="needs tags"):
        ease.tune(parts, ease.AddEASE(1.0), metric="ndcg@10")


# ---- plans ---------------------------------------------------------------------------


def test_a_plan_has_the_items_that_only_have_tags(X):
    assert ease.EASE(LAMBDA).plan(X)["items"] == ITEMS
    plan = ease.EASE(LAMBDA).plan(X, tags=TAGS)
    assert plan["items"] == ITEMS + len(COLD) and plan["users"] == USERS
    assert ease.EASE(LAMBDA).plan(X, tags=TAGS, tag_weight=0)["items"] == ITEMS
    both = ease.AddEASE(LAMBDA).plan((10**4, 10**4), tags=TAGS)
    assert both["peak_bytes"] > 1.5 * ease.EASE(LAMBDA).plan((10**4, 10**4))["peak_bytes"]
    with pytest.raises(ValueError, match="needs tags"):
        ease.AddEASE(LAMBDA).plan((100, 50))


def test_an_error_of_memory_has_the_plan_with_tags(X):
    with pytest.raises(MemoryError) as error:
        ease.AddEASE(LAMBDA, memory_limit=1000).fit(X, tags=TAGS)
    assert error.value.plan["items"] == ITEMS + len(COLD)
