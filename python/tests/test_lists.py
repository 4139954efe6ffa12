"""Users and histories in all their forms, and lists as frames."""

import importlib
import pickle
import subprocess
import sys
import uuid
import warnings

import numpy as np
import pytest

import ease
from conftest import random_matrix

ROWS = {"user": ["ann", "ann", "bob", "bob", "cat", "dan", "dan", "eve"],
        "item": ["tea", "milk", "tea", "milk", "tea", "cake", "tea", "cake"]}
NEW = {"who": ["x", "y", "x"], "what": ["tea", "milk", "cake"]}
TITLES = {"tea": "Tea", "cake": "Cake"}
KINDS = ("pandas", "polars", "pyarrow")


@pytest.fixture
def table():
    return ease.EASE(lambda_=1.0).fit(ROWS)


def rows_of(frame):
    """A frame of any kind as a list of dicts."""
    if hasattr(frame, "to_pylist"):
        return frame.to_pylist()
    return frame.to_dicts() if hasattr(frame, "to_dicts") else frame.to_dict("records")


def make(kind, rows):
    module = pytest.importorskip(kind)
    return module.table(rows) if kind == "pyarrow" else module.DataFrame(rows)


# ---- frames out ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_lists_as_frames(table, kind):
    pytest.importorskip(kind)
    users = ["cat", "ann", "eve"]
    ids, scores = table.recommend(users, N=2)
    expected = [{"user": u, "item": i, "score": pytest.approx(float(s)), "rank": k + 1}
                for u, row, values in zip(users, ids, scores)
                for k, (i, s) in enumerate(zip(row, values)) if i is not None]
    assert [len([e for e in expected if e["user"] == u]) for u in users] == [2, 1, 2]
    frame = table.recommend(users, N=2, as_frame=kind)
    assert type(frame).__module__.startswith(kind) and rows_of(frame) == expected
    assert rows_of(table.recommend("ann", N=9, as_frame=kind)) == [
        e for e in expected if e["user"] == "ann"]
    table.set_titles(TITLES)
    titled = rows_of(table.recommend(users, N=2, as_frame=kind))
    assert [list(r) for r in titled] == [["user", "item", "title", "score", "rank"]] * 5
    assert [r["title"] for r in titled if r["item"] != "milk"] == [
        TITLES[e["item"]] for e in expected if e["item"] != "milk"]
    missing = [r["title"] for r in titled if r["item"] == "milk"]
    assert missing and all(t is None or t != t for t in missing)
    assert rows_of(table.recommend([], N=2, as_frame=kind)) == []
    similar = rows_of(table.similar_items(["tea", "cake"], N=2, as_frame=kind))
    assert [r["similar"] for r in similar[:2]] == table.similar_items("tea", N=2)[0].tolist()
    assert list(similar[0]) == ["item", "similar", "title", "score", "rank"]
    assert [r["item"] for r in similar] == ["tea"] * 2 + ["cake"] * 2
    why = rows_of(table.explain("ann", None, "cake").to_frame(kind))
    assert [r["item"] for r in why] == [i for i, _ in table.explain("ann", None, "cake")[1]]
    assert list(why[0]) == ["item", "title", "contribution"]


def test_numbers_as_frames(model, X):
    pd = pytest.importorskip("pandas")
    users = np.array([5, 0, 7])
    frame = model.recommend(users, X[users], N=4, as_frame=True)
    ids, scores = model.recommend(users, X[users], N=4)
    assert frame["user"].tolist() == np.repeat(users, 4).tolist()
    assert frame["item"].tolist() == ids.ravel().tolist()
    np.testing.assert_array_equal(frame["score"], scores.ravel())
    assert frame[["user", "item", "rank"]].dtypes.tolist() == [np.dtype(np.int64)] * 3
    merged = frame.merge(pd.DataFrame({"item": range(30), "price": range(30)}), on="item")
    assert (merged["price"] == merged["item"]).all()
    huge = model.recommend(users, X[users], N=2**31 - 1, as_frame=True)
    assert len(huge) == sum(30 - X[u].nnz for u in users)


@pytest.mark.parametrize("kind", KINDS)
def test_frames_are_of_the_kind_that_was_given(kind, tmp_path):
    frame = make(kind, ROWS)
    model = ease.EASE(lambda_=1.0).fit(frame)

    def kind_of(*call, **how):
        return type(model.recommend(*call, as_frame=True, **how)).__module__.split(".")[0]

    assert kind_of("ann") == kind_of("x", ["tea"]) == kind
    for other in KINDS:
        given = make(other, NEW)
        assert kind_of(user_items=given) == other
    model = pickle.loads(pickle.dumps(model))
    assert kind_of("x", ["tea"]) == kind
    model.save(tmp_path / "m.ease")
    model = ease.load(tmp_path / "m.ease")
    assert kind_of("x", ["tea"]) == "pandas"


def test_frames_that_cannot_be(table):
    with pytest.raises(ValueError, match="as_frame is True, False or one of pandas, polars"):
        table.recommend("ann", as_frame="spark")
    done = subprocess.run([sys.executable, "-c", f"""
import sys
sys.modules["pandas"] = None  # as if it were not installed
import ease
model = ease.EASE(lambda_=1.0).fit({ROWS!r})
print(model.recommend("cat", N=1)[0])
try:
    model.recommend("cat", as_frame=True)
except ImportError as error:
    print(error)
for name in "IPython", "matplotlib", "polars", "pyarrow", "sklearn":
    assert name not in sys.modules or name == "pyarrow", name
"""], capture_output=True, text=True, check=True)
    assert "['milk']" in done.stdout and "pip install pandas" in done.stdout


# ---- users and histories ---------------------------------------------------------------


def same(got, expected):
    for a, b in zip(got, expected):
        np.testing.assert_array_equal(a, b)


def test_the_users_of_a_model(table, model, tmp_path):
    assert table.user_ids.tolist() == ["ann", "bob", "cat", "dan", "eve"]
    ids, _ = table.recommend(table.user_ids, N=1)
    assert ids.shape == (5, 1)
    table.save(tmp_path / "m.ease")
    for other in (model, ease.load(tmp_path / "m.ease")):
        with pytest.raises(ValueError, match="keeps no users"):
            other.user_ids
    with pytest.raises(ease.NotFittedError):
        ease.EASE(lambda_=1.0).user_ids
    known = ease.LRec(l2=1.0).fit(ROWS)
    known.save(tmp_path / "k.ease")
    assert ease.load(tmp_path / "k.ease").user_ids.tolist() == known.user_ids.tolist()
    with pytest.raises(ValueError, match="userid or user_items is required"):
        table.recommend()


@pytest.mark.parametrize("weights", [False, True])
def test_new_users_in_every_form_have_the_same_lists(weights):
    X = random_matrix(weights=weights)
    model = ease.EASE(lambda_=20.0).fit(X)
    part = X[[7, 3, 9]]
    rows = [part[k] for k in range(3)]
    lists = [dict(zip(r.indices.tolist(), r.data.tolist())) if weights else r.indices.tolist()
             for r in rows]
    expected = model.recommend([7, 3, 9], part, N=5)
    coo = part.tocoo()
    frame = {"user": [f"u{k}" for k in coo.row], "item": coo.col.tolist(),
             "rating": coo.data.tolist()}
    order = ["u0", "u1", "u2"]
    for histories in (part, part.toarray(), ease.interactions(part), lists, tuple(lists)):
        same(model.recommend([7, 3, 9], histories, N=5), expected)
        same(model.recommend(user_items=histories, N=5), expected)
    x = ease.interactions(frame, weights=weights)
    place = [x.user_ids.tolist().index(u) for u in order]
    ids, scores = model.recommend(user_items=x, N=5)
    same((ids[place], scores[place]), expected)
    same(model.recommend(order, x, N=5), expected)
    same(model.recommend(order[::-1], x, N=5), [part[::-1] for part in expected])
    one = [part[0] for part in expected]
    same(model.recommend("u0", x, N=5), one)
    same(model.recommend(user_items=lists[0], N=5), one)
    assert model.explain("u0", x, 4) == model.explain(0, rows[0], 4)
    for kind in KINDS:
        try:
            importlib.import_module(kind)
        except ImportError:
            continue
        given = make(kind, frame)
        fitted = ease.EASE(lambda_=20.0).fit(given, weights=weights)
        same(fitted.recommend(order, given, N=5), fitted.recommend(order, N=5))
        listed = rows_of(fitted.recommend(user_items=given, N=5, as_frame=True))
        assert {r["user"] for r in listed} == set(order)


def test_histories_of_series_and_arrays(table):
    expected = table.recommend("x", ["tea", "cake"])
    for values in (np.array(["tea", "cake"]), np.array(["tea", "cake"], object), ("tea", "cake"),
                   {"tea", "cake"}):
        same(table.recommend("x", values), expected)
        assert table.recommend(user_items=[values], N=1)[0].tolist() == [expected[0].tolist()]
    for kind, make_column in (("pandas", "Series"), ("polars", "Series"), ("pyarrow", "array")):
        try:
            column = getattr(importlib.import_module(kind), make_column)(["tea", "cake"])
        except ImportError:
            continue
        if kind == "pyarrow":
            column = column.to_pylist()
        same(table.recommend("x", column), expected)
    pd = pytest.importorskip("pandas")
    grouped = pd.DataFrame(ROWS).groupby("user")["item"].agg(list)
    same(table.recommend(grouped.index, grouped, N=2),
         table.recommend(grouped.index.tolist(), N=2))


@pytest.mark.parametrize("call, words", [
    (lambda m: m.recommend(["x", "y"], ["tea", "milk"]), "a history for each user.*not 'tea'"),
    (lambda m: m.recommend(["x", "y"], [["tea"]]), "a row for each of 2 users, not 1"),
    (lambda m: m.recommend(user_items=["tea", ["milk"]]), "is no id of an item"),
    (lambda m: m.recommend(["x", "y"], {"tea": 1.0}), "a row for each of 2 users|a history for each"),
    (lambda m: m.explain(None, [["tea"], ["milk"]], "cake"), "one user at a time")])
def test_histories_that_cannot_be(table, call, words):
    with pytest.raises(ValueError, match=words):
        call(table)


def test_users_that_a_frame_does_not_have(table):
    with pytest.raises(KeyError, match="'zoe' is not in user_items"):
        table.recommend(["x", "zoe"], NEW)
    with pytest.raises(KeyError, match="'zoe' is not in the model's data"):
        table.recommend(["ann", "zoe"])


# ---- unknown items ---------------------------------------------------------------------


def test_unknown_items_are_counted_in_every_call(table, tmp_path):
    pd = pytest.importorskip("pandas")
    table.save(tmp_path / "m.ease")
    loaded = ease.load(tmp_path / "m.ease")
    rows = {"user": ["x", "x", "x"], "item": ["tea", "coke", "rum"]}
    one, two = ["tea", "coke", "rum"], [["tea", "coke"], ["rum"]]
    for model in (table, loaded, pickle.loads(pickle.dumps(table))):
        for call in (lambda: model.recommend("x", one), lambda: model.recommend(user_items=one),
                     lambda: model.recommend("x", dict.fromkeys(one, 2.0)),
                     lambda: model.recommend(["x", "y"], two),
                     lambda: model.recommend(user_items=two, as_frame=True),
                     lambda: model.recommend(user_items=rows),
                     lambda: model.recommend("x", pd.DataFrame(rows)),
                     lambda: model.recommend("x", ease.interactions(rows)),
                     lambda: model.explain("x", one, "cake"),
                     lambda: model.explain("x", pd.DataFrame(rows), "cake")):
            with pytest.warns(RuntimeWarning, match="2 of 3 items of histories are unknown to the "
                                                    "model and are ignored: 'coke', 'rum'") as told:
                call()
            assert len(told) == 1 and told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(table.recommend("x", one), table.recommend("x", ["tea"]))
        same(table.recommend("x", ["rum"]), table.recommend("x", []))
        assert table.explain("x", one, "cake") == table.explain("x", ["tea"], "cake")
        many = [f"no{k}" for k in range(9)]
    with pytest.warns(RuntimeWarning, match=r"9 of 9 .*: 'no0', 'no1', 'no2', \.\.\."):
        table.recommend("x", many)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table.recommend("x", ["tea"])
        table.recommend(user_items=NEW)


def test_uuids_are_users_and_items():
    names = [uuid.UUID(int=k) for k in range(3)]
    model = ease.EASE(lambda_=1.0).fit({"user": [names[0], names[0], names[1]],
                                        "item": [names[1], names[2], names[1]]})
    ids, _ = model.recommend([names[1]], N=1)
    assert ids.tolist() == [[str(names[2])]]
    kind = next((k for k in KINDS if k in sys.modules), None)
    if kind:
        row = rows_of(model.recommend([names[1]], N=1, as_frame=kind))[0]
        assert (row["user"], row["item"]) == (str(names[1]), str(names[2]))
