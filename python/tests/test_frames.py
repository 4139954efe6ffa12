"""Tables: frames of every kind, files, and the ids they have."""

import pickle
import uuid

import numpy as np
import pytest

import ease

ROWS = {"user": ["ann", "ann", "bob", "bob", "cat", "bob"],
        "item": ["tea", "milk", "tea", "milk", "tea", "éclair"],
        "rating": [5.0, 3.0, 4.0, 1.0, 2.0, 5.0]}
NUMBERS = {"user": [10, 10, 20, 20, 30, 20], "item": [7, -8, 7, -8, 7, 9],
           "rating": ROWS["rating"]}


def frames(rows):
    yield "dict", rows
    for name, make in (("pandas", lambda m: m.DataFrame(rows)),
                       ("polars", lambda m: m.DataFrame(rows)),
                       ("pyarrow", lambda m: m.table(rows))):
        try:
            yield name, make(__import__(name))
        except ImportError:
            pass


@pytest.mark.parametrize("rows", [ROWS, NUMBERS], ids=["strings", "numbers"])
def test_every_frame_gives_the_same(rows):
    expected = None
    for name, frame in frames(rows):
        model = ease.EASE(lambda_=1.0).fit(frame)
        assert model.item_ids.tolist() == list(dict.fromkeys(rows["item"])), name
        expected = np.array(model.B) if expected is None else expected
        np.testing.assert_array_equal(model.B, expected)
        ids, _ = model.recommend(rows["user"][4])
        assert set(ids.tolist()) == set(rows["item"][1::4]), name
        assert type(ids.tolist()[0]) is type(rows["item"][0])


def test_arrow_streams_and_views():
    pa = pytest.importorskip("pyarrow")

    class Stream:
        def __arrow_c_stream__(self, schema=None):
            return pa.table(ROWS).__arrow_c_stream__(schema)

    table = pa.concat_tables([pa.table(ROWS).slice(0, 2), pa.table(ROWS).slice(2)])
    coded = table.set_column(1, "item", table["item"].dictionary_encode())
    for frame in (Stream(), table, coded):
        assert ease.interactions(frame).item_ids.tolist() == ["tea", "milk", "éclair"]


def test_pandas_kinds_of_columns():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROWS)
    frame["item"] = frame["item"].astype("category")
    frame["user"] = frame["user"].astype("string")
    assert ease.interactions(frame).shape == (3, 3)
    frame["user"] = [1.0, 2.0, np.nan, 1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="column 'user': 1 id is missing"):
        ease.interactions(frame)
    frame["user"] = ["a", None, "b", "a", "b", "c"]
    with pytest.raises(ValueError, match="missing"):
        ease.interactions(frame)


def test_columns_of_the_same_name():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(list(zip(*ROWS.values(), ROWS["item"])),
                         columns=["user", "item", "rating", "item"])
    for how in {}, {"columns": ["user", "item"]}, {"columns": "1,2"}:
        with pytest.raises(ValueError, match="2 columns are called 'item': rename them"):
            ease.interactions(frame, **how)
        with pytest.raises(ValueError, match="rename them"):
            ease.split(frame, "random", **how)
    frame.columns = ["user", "item", "more", "more"]
    assert ease.interactions(frame, columns=["user", "item"]).shape == (3, 3)


@pytest.mark.filterwarnings("error")
def test_a_lazy_frame_computes_only_what_is_used():
    pl = pytest.importorskip("polars")

    def fail(column, **unused):
        raise AssertionError("a column is computed that nobody needs")

    lazy = pl.LazyFrame(ROWS).with_columns(wide=pl.col("rating").map_batches(
        fail, return_dtype=pl.Float64))
    for how in {"columns": ["user", "item"]}, {"columns": "1,2,3", "min_rating": 3}:
        got, expected = ease.interactions(lazy, **how), ease.interactions(ROWS, **how)
        assert got.item_ids.tolist() == expected.item_ids.tolist() and got.nnz == expected.nnz
    lazy = pl.LazyFrame(ROWS)
    assert ease.interactions(lazy, min_rating=3).nnz == 4
    model = ease.EASE(lambda_=1.0).fit(lazy)
    assert isinstance(model.recommend("cat", as_frame=True), pl.DataFrame)
    assert isinstance(model.recommend(user_items=lazy, as_frame=True), pl.DataFrame)
    parts = ease.split(pl.LazyFrame({"user": np.repeat(range(40), 12), "item": list(range(12)) * 40}),
                       "random")
    assert parts.train.shape[0] == 40
    titles = pl.LazyFrame({"id": ["tea", "milk"], "title": ["Tea", None]})
    assert model.set_titles(titles) == 1
    tags = pl.LazyFrame({"item": ["tea"], "tag": ["kind=hot"]})
    assert model.fit(lazy, tags=tags).tags("tea") == ["kind=hot"]


def test_a_query_of_duckdb_is_a_frame():
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    query = duckdb.sql("SELECT * FROM (VALUES ('ann', 'tea'), ('bob', 'tea')) t(user, item)")
    assert ease.interactions(query).user_ids.tolist() == ["ann", "bob"]


def test_uuids_are_their_text():
    names = [uuid.UUID(int=k * 7919 + (4 << 76)) for k in range(6)]
    rows = {"user": [names[k % 3] for k in range(6)], "item": [names[3 + k // 2] for k in range(6)]}
    texts = {name: [str(v) for v in values] for name, values in rows.items()}
    made = list(frames(texts))
    for module, make in (("pandas", "DataFrame"), ("polars", "DataFrame")):
        try:
            made.append((module, getattr(__import__(module), make)(rows)))
        except ImportError:
            pass
    try:
        import pyarrow as pa
        made.append(("arrow", pa.table({n: pa.array([v.bytes for v in c], pa.uuid())
                                        for n, c in rows.items()})))
    except (ImportError, AttributeError):  # an older pyarrow
        pass
    for name, frame in [*made, ("dict", rows)]:
        model = ease.EASE(lambda_=1.0).fit(frame, columns=["user", "item"])
        assert model.item_ids.tolist() == list(dict.fromkeys(texts["item"])), name
        ids, _ = model.recommend(names[0], N=1)
        assert ids.tolist() == model.recommend(str(names[0]), N=1)[0].tolist()
        assert model.recommend("new", [names[3]], N=1)[0].tolist() == model.recommend(
            "new", [str(names[3])], N=1)[0].tolist()


def test_uuids_are_split():
    rows = {"user": [uuid.UUID(int=k // 6) for k in range(60)],
            "item": [uuid.UUID(int=k % 6) for k in range(60)]}
    parts = ease.split(rows, "random")
    assert set(parts.train.user_ids) == set(map(str, rows["user"]))


def test_ids_that_became_floats_are_whole_numbers():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"user": [1, 1, None, 2, 2], "item": [7, 8, 9, 7, None]})
    with pytest.raises(ValueError, match="column 'user': 1 id is missing, the first in row 2"):
        ease.interactions(frame)
    kept = frame.dropna()
    assert kept["user"].dtype == float
    x = ease.interactions(kept, columns=["user", "item"])
    assert x.user_ids.tolist() == [1, 2] and x.item_ids.tolist() == [7, 8]
    model = ease.EASE(lambda_=1.0).fit(kept, columns=["user", "item"])
    assert model.recommend(2.0)[0].tolist() == model.recommend(2)[0].tolist() == [8]
    more = pd.concat([kept] * 20).assign(item=[float(k % 9) for k in range(60)])
    assert set(ease.split(more, "random", columns=["user", "item"]).train.item_ids) <= set(range(9))
    for wrong in ([1.5, 2.0, 3.0], [2.0**60, 1.0, 2.0], [float("inf"), 1.0, 2.0]):
        with pytest.raises(ValueError, match="ids are whole numbers or strings, not float64"):
            ease.interactions({"user": [1, 2, 3], "item": wrong}, columns=["user", "item"])


@pytest.mark.parametrize("values, words", [
    ([None, "x", None], "2 ids are missing, the first in row 0"),
    ([1, "x", 2], "not both, such as 1 and 'x': make them strings"),
    (["x", 1.5, "y"], "not a float such as 1.5"), ([True, False, True], "not a bool"),
    (np.array([True, False, True]), "not bool"), ([1, True, 2], "not a bool such as True"),
    ([1, 2**63, 2**64], "ids above 2\\^63 - 1: give them as strings"),
    (np.array([1, 2, 2**63], np.uint64), "ids above 2\\^63 - 1: give them as strings"),
    ([1, 2, np.uint64(2**63)], "ids above 2\\^63 - 1: give them as strings"),
    ([1, 2, -2**63 - 1], "ids below -2\\^63: give them as strings"),
    (np.array(["2020-01-01"] * 3, "datetime64[s]"), "not datetime64")])
def test_ids_that_are_none(values, words):
    for rows in {"user": [1, 2, 3], "item": values}, {"item": [1, 2, 3], "user": values}:
        for call in ease.interactions, lambda x, **how: ease.split(x, "random", **how):
            with pytest.raises(ValueError, match="column '(user|item)': .*" + words):
                call(rows, columns=["user", "item"])


def test_filters_and_weights():
    x = ease.interactions(ROWS, min_rating=3)
    assert x.nnz == 4 and x.info["below_rating"] == 2
    assert not x.info["weighted"]
    w = ease.interactions(ROWS, weights=True)
    assert sorted(w.rows()[2].tolist()) == sorted(ROWS["rating"])
    twice = {k: v + v for k, v in ROWS.items()}
    assert ease.interactions(twice, weights=True, repeat="sum").rows()[2].sum() == 40
    assert ease.interactions(twice).nnz == 6
    assert ease.interactions(ROWS, min_item=2).shape == (3, 2)


@pytest.mark.parametrize("how", [{"min_rating": 9}, {"repeat": "mean"}, {"columns": ["user"]},
                                 {"columns": ["user", "thing"]}, {"min_user": -1}])
def test_wrong_options(how):
    with pytest.raises(ValueError):
        ease.interactions(ROWS, **how)


def test_wrong_tables():
    with pytest.raises(ValueError, match="finite"):
        ease.interactions({**ROWS, "rating": [1, 2, 3, 4, 5, np.nan]}, weights=True)
    with pytest.raises(ValueError, match="column of values"):
        ease.interactions({"user": [1], "item": [2]}, weights=True)
    with pytest.raises(ValueError):
        ease.interactions({"user": [1, 2], "item": [2]})
    with pytest.raises(ValueError):
        ease.interactions({"user": [], "item": []})
    with pytest.raises(ValueError, match="empty"):
        ease.interactions({"user": ["a"], "item": [""]})


def test_columns_by_name_and_number():
    rows = {"n": [1, 2], "what": ["x", "y"], "who": ["a", "b"]}
    for columns in (["who", "what"], "who,what", [2, 1]):
        x = ease.interactions(rows, columns=columns)
        assert x.user_ids.tolist() == ["a", "b"] and x.item_ids.tolist() == ["x", "y"]


def test_large_numbers_are_ids():
    big = 2**62 + 1
    model = ease.EASE(lambda_=1.0).fit({"user": [1, 1, 2], "item": [big, 5, 5]})
    assert model.item_ids.tolist() == [big, 5]
    assert model.recommend(2)[0].tolist() == [big]


def test_unknown_users(tmp_path):
    model = ease.EASE(lambda_=1.0).fit(ROWS)
    with pytest.raises(KeyError, match="dan"):
        model.recommend("dan")
    with pytest.raises(KeyError, match="coke"):
        model.similar_items("coke")
    ids, _ = model.recommend(["ann", "cat"], N=3)
    assert ids.shape == (2, 3) and ids[0].tolist() == ["éclair", None, None]
    assert model.recommend("dan", ["tea"])[0].tolist()[0] in ("milk", "éclair")
    again = pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match="user_items"):
        again.recommend("ann")
    assert again.recommend("ann", ["tea", "milk"])[0].tolist() == ["éclair"]


def test_files(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("user,item,rating\n" + "".join(
        f"{u},{i},{r}\n" for u, i, r in zip(*NUMBERS.values())))
    a = ease.EASE(lambda_=1.0).fit(path)
    b = ease.EASE(lambda_=1.0).fit(NUMBERS)
    np.testing.assert_array_equal(a.B, b.B)
    assert a.item_ids.tolist() == [7, -8, 9]
    assert ease.load(save(a, tmp_path), ids=str).item_ids.tolist() == ["7", "-8", "9"]
    with pytest.raises(FileNotFoundError):
        ease.EASE(lambda_=1.0).fit(tmp_path / "none.csv")
    path.write_text("user,item\na\n")
    with pytest.raises(ValueError, match="r.csv:2"):
        ease.EASE(lambda_=1.0).fit(path)


def save(model, tmp_path):
    model.save(tmp_path / "m.ease")
    return tmp_path / "m.ease"


def test_splits_by_time():
    n = 40
    rows = {"user": np.repeat(np.arange(n), 5), "item": np.tile(np.arange(5), n),
            "timestamp": np.tile(np.arange(5), n) + 1000}
    parts = ease.split(rows, "leave-last")
    assert parts.test_target.nnz == n
    items = parts.test_target.item_ids[parts.test_target.rows()[1]]
    assert set(items.tolist()) == {4}


def test_missing_ids_are_not_split():
    with pytest.raises(ValueError, match="missing"):
        ease.split({"user": ["a", None, "b"], "item": ["x", "y", "z"]}, "random")


def test_ids_that_are_bytes_are_split_as_they_are():
    rows = {"user": [f"u{k // 6}".encode() for k in range(60)],
            "item": [b"caf\xe9 %d" % (k % 6) for k in range(60)]}
    for kind in (list, np.array):
        parts = ease.split({k: kind(v) for k, v in rows.items()}, "random")
        assert set(parts.train.user_ids) == {f"u{k}" for k in range(10)}
        assert set(parts.train.item_ids) == {f"caf\udce9 {k}" for k in range(6)}


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = {"n": list(range(60)), "user": [f"u{k // 6}" for k in range(60)],
            "item": [b"caf\xe9 %d" % (k % 6) for k in range(60)],
            "rating": [1.0 + k % 5 for k in range(60)]}
    table = pa.table(rows)
    parquet.write_table(table, tmp_path / "x")
    (tmp_path / "parts").mkdir()
    parquet.write_table(table.slice(0, 20), tmp_path / "parts" / "a")
    parquet.write_table(table.slice(20), tmp_path / "parts" / "b")
    expected = ease.interactions(rows, weights=True)
    for path in (tmp_path / "x", str(tmp_path / "parts")):
        x = ease.interactions(path, weights=True)
        assert x.item_ids.tolist() == expected.item_ids.tolist()
        np.testing.assert_array_equal(x.rows()[2], expected.rows()[2])
        some = ease.interactions(path, columns=[1, 2, 3], min_rating=3)
        assert some.info["below_rating"] == 24
        assert ease.split(path, "random").train.shape[0] == 10
    assert ease.EASE(lambda_=1.0).fit(tmp_path / "x").item_ids.tolist() == x.item_ids.tolist()
    with pytest.raises(ValueError, match="thing"):
        ease.interactions(tmp_path / "x", columns="user,thing")
    (tmp_path / "x").write_bytes(b"PAR1 no")
    with pytest.raises(ValueError, match="/x: "):
        ease.interactions(tmp_path / "x")
