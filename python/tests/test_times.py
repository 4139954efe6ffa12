"""since, until and half_life, against weights that NumPy and pandas compute."""

import datetime

import numpy as np
import pytest

import ease

ROWS = 4000
DAY = 86400.0


@pytest.fixture(scope="module")
def table():
    """Rows over two years, some pairs several times."""
    random = np.random.default_rng(5)
    start = np.datetime64("2022-03-01T00:00:00", "s")
    return {"user": random.integers(0, 60, ROWS), "item": random.integers(0, 40, ROWS),
            "rating": random.integers(1, 11, ROWS) / 2,
            "time": start + random.integers(0, 730 * 86400, ROWS).astype("timedelta64[s]")}


def dense(x):
    """The matrix with users and items in ascending order."""
    users = np.argsort(x.user_ids.astype(int))
    items = np.argsort(x.item_ids.astype(int))
    return x.to_scipy().toarray()[users][:, items]


def wanted(table, half_life, repeat="first", weights=False, since=None, until=None):
    """The same matrix by pandas, in double precision."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(table)
    if since is not None:
        frame = frame[frame.time >= since]
    if until is not None:
        frame = frame[frame.time < until]
    newest = frame.time.max() if until is None else pandas.Timestamp(until)
    age = (newest - frame.time) / pandas.Timedelta(days=1)
    weight = 0.5 ** (age / half_life) * (frame.rating if weights else 1.0)
    frame = frame.assign(weight=weight.astype(np.float32).astype(float))
    return frame.groupby(["user", "item"]).weight.agg(repeat).unstack(fill_value=0.0).to_numpy()


def write(table, path, times):
    with open(path, "w", encoding="utf-8") as f:
        f.write("user,item,rating,time\n")
        for u, i, r, t in zip(table["user"], table["item"], table["rating"], times):
            f.write(f"{u},{i},{r},{t}\n")
    return str(path)


@pytest.mark.parametrize("repeat", ["first", "last", "max", "sum"])
@pytest.mark.parametrize("weights", [False, True])
def test_weights_by_age_are_those_of_pandas(table, tmp_path, repeat, weights):
    want = wanted(table, 45.0, repeat, weights)
    path = write(table, tmp_path / "x.csv", table["time"])
    for X in table, path:
        got = dense(ease.interactions(X, half_life=45, repeat=repeat, weights=weights))
        # each weight is rounded to a float once, and a sum of k of them once more
        np.testing.assert_array_max_ulp(got, want.astype(np.float32), 1)


def test_since_and_until_choose_rows(table, tmp_path):
    since, until = np.datetime64("2022-06-01"), np.datetime64("2023-05-31T12:30:00")
    want = wanted(table, 10.0, "max", False, since, until)
    path = write(table, tmp_path / "x.csv", table["time"].astype(np.int64) * 1000)
    kinds = [(since, until), ("2022-06-01", "2023-05-31 12:30"),
             (datetime.date(2022, 6, 1), datetime.datetime(2023, 5, 31, 12, 30)),
             (1654041600, 1685536200.0),
             ("2022-06-01T02:00+02:00",
              datetime.datetime(2023, 5, 31, 12, 30, tzinfo=datetime.timezone.utc))]
    for first, end in kinds:
        for X in table, path:
            x = ease.interactions(X, since=first, until=end, half_life=10, repeat="max")
            np.testing.assert_array_max_ulp(dense(x), want.astype(np.float32), 1)
            inside = (table["time"] >= since) & (table["time"] < until)
            assert x.info["outside_time"] == ROWS - inside.sum()
            assert x.info["newest"] == table["time"][inside].max().astype(np.int64)
            assert x.info["age_from"] == 1685536200.0


def test_times_of_every_kind_of_column_are_the_same(table):
    pandas = pytest.importorskip("pandas")
    want = dense(ease.interactions(table, half_life=45))
    naive = pandas.Series(table["time"])
    kinds = [naive, naive.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
             table["time"].astype(np.int64), table["time"].astype(np.int64) * 1e3,
             [str(t) for t in table["time"]], list(naive.dt.to_pydatetime())]
    for kind in kinds:
        got = ease.interactions({**table, "time": kind}, half_life=45)
        np.testing.assert_array_equal(dense(got), want)
        got = ease.interactions(pandas.DataFrame({**table, "time": kind}), half_life=45)
        np.testing.assert_array_equal(dense(got), want)
    for name in "polars", "pyarrow":
        try:
            module = __import__(name)
        except ImportError:
            continue
        rows = {**table, "time": table["time"].astype("datetime64[ms]")}
        frame = module.DataFrame(rows) if name == "polars" else module.table(rows)
        np.testing.assert_array_equal(dense(ease.interactions(frame, half_life=45)), want)


def test_a_model_by_age_is_that_of_the_weighted_matrix(table):
    x = ease.interactions(table, half_life=datetime.timedelta(days=45))
    by_age = ease.EASE(lambda_=3.0).fit(table, half_life=45)
    np.testing.assert_array_equal(by_age.B, ease.EASE(lambda_=3.0).fit(x).B)
    a = x.to_scipy().toarray().astype(np.float64)
    p = np.linalg.inv(a.T @ a + 3.0 * np.eye(a.shape[1]))
    b = -p / np.diag(p)
    np.fill_diagonal(b, 0)
    np.testing.assert_allclose(np.array(by_age.B), b, atol=2e-6)


def test_splits_by_date(table):
    parts = ease.split(table, "time", since="2022-04-01", test_from="2023-09-01",
                       validation_from=datetime.date(2023, 6, 1), until="2024-01-01")
    time = table["time"]
    pairs = {}
    for row in range(ROWS):
        if np.datetime64("2022-04-01") <= time[row] < np.datetime64("2024-01-01"):
            pairs.setdefault((table["user"][row], table["item"][row]), time[row])
    times = np.array(list(pairs.values()))
    test = times >= np.datetime64("2023-09-01")
    validation = ~test & (times >= np.datetime64("2023-06-01"))
    assert parts.test_target.nnz == test.sum()
    assert parts.validation_target.nnz == validation.sum()
    assert parts.validation_train.nnz == (~test & ~validation).sum()


def test_what_is_no_time_is_refused(table, tmp_path):
    for bad in "soon", True, object(), b"\0":
        with pytest.raises(ValueError):
            ease.interactions(table, since=bad)
    for bad in 0, -1, float("nan"), float("inf"):
        with pytest.raises(ValueError, match="half_life"):
            ease.interactions(table, half_life=bad)
    with pytest.raises(ValueError, match="filters are for tables"):
        ease.interactions(np.eye(3), half_life=3)
    with pytest.raises(ValueError, match="a column of times"):
        ease.interactions({"user": [1, 2], "item": [3, 4]}, half_life=3)
    with pytest.raises(ValueError, match="a column of times"):
        ease.interactions(write({**table, "rating": table["user"]}, tmp_path / "x.csv", table["item"]),
                          columns="user,item", half_life=3)
    missing = table["time"].copy()
    missing[7] = np.datetime64("NaT")
    with pytest.raises(ValueError, match="a time is missing"):
        ease.interactions({**table, "time": missing}, half_life=3)
    with pytest.raises(ValueError, match="100,000,000"):
        ease.interactions({**table, "time": table["user"]}, columns="user,item,,time", half_life=3)
