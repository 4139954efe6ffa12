"""Columns that are recognized, shown and refused, in frames as in files."""

import logging

import numpy as np
import pytest

import ease
from test_frames import frames

N = 120
USERS = [100 + k * 7 % 23 for k in range(N)]
ITEMS = [f"A{k * 11 % 31:03d}" for k in range(N)]
DATES = (np.datetime64("2024-01-01") + np.arange(N) % 28).tolist()
KNOWN = [
    ({"Datum": DATES, "Kunde": USERS, "Artikel": ITEMS, "Menge": [1 + k % 4 for k in range(N)]},
     "user = Kunde, item = Artikel, value = Menge, time = Datum"),
    ({"event_id": range(N), "ts": [1700000000 + k for k in range(N)], "country": ["DE"] * N,
      "sku": ITEMS, "client": USERS}, "user = client, item = sku, time = ts"),
    ({"produit": ITEMS, "client": USERS}, "user = client, item = produit"),
    ({"InvoiceNo": USERS, "StockCode": ITEMS}, "user = InvoiceNo, item = StockCode"),
    ({"when": DATES, 0: USERS, 1: ITEMS}, "user = 0, item = 1, time = when"),
]


@pytest.mark.parametrize("rows, want", KNOWN, ids=[want for _, want in KNOWN])
def test_frames_are_recognized_and_the_guess_is_shown(rows, want, caplog):
    caplog.set_level(logging.INFO, "ease")
    for name, frame in frames({str(k): list(v) for k, v in rows.items()}):
        caplog.clear()
        x = ease.interactions(frame)
        assert x.shape == (23, 31), name
        assert x.info["recognized"] == "table: " + want
        assert "table: " + want in caplog.messages


def test_a_split_shows_the_guess_too(tmp_path, caplog):
    caplog.set_level(logging.INFO, "ease")
    rows = {"asiakas": USERS, "tuote": ITEMS}
    path = tmp_path / "x.csv"
    path.write_text("".join(f"{a},{b}\n" for a, b in zip(*rows.values())))
    for X, want in ((rows, "table: user = asiakas, item = tuote"),
                    (path, f"{path}: CSV without header: user = column 1, item = column 2")):
        caplog.clear()
        ease.split(X, "random")
        assert want in caplog.messages
    caplog.clear()
    ease.split(rows, "random", columns="asiakas,tuote")
    assert not caplog.messages


def test_names_that_are_no_strings():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(KNOWN[-1][0])
    assert ease.interactions(frame).info["recognized"].endswith(KNOWN[-1][1])
    assert ease.interactions(frame, columns="0,1").shape == (23, 31)
    assert ease.interactions(frame, columns="2,3").shape == (23, 31)  # from 1, as in files
    with pytest.raises(ValueError, match="no column 7"):
        ease.interactions(frame, columns=[0, 7])


def test_missing_values_are_no_obstacle():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"client": USERS, "sku": ITEMS, "when": pd.to_datetime(DATES)})
    frame.loc[3, "when"] = pd.NaT
    frame["rating"] = pd.Series([1, None] * (N // 2), dtype="Int64")
    frame["score"] = [np.nan, 2.0] * (N // 2)
    assert ease.interactions(frame).shape == (23, 31)


def test_an_unlikely_guess_is_refused_with_what_to_give(tmp_path):
    rows = {"a": list(range(N)), "b": USERS, "c": ITEMS}
    two = {k: rows[k] for k in "ab"}
    path = tmp_path / "x.csv"
    path.write_text("".join(f"{a},{b}\n" for a, b in zip(*two.values())))
    for X, line in ((two, "columns='b,a'"), (path, "columns='2,1'")):
        for learn in (ease.EASE(lambda_=1.0).fit, ease.ItemItem().fit, ease.gram,
                      lambda X: ease.split(X, "random")):
            with pytest.raises(ValueError, match=f"each user has one row only.*{line}"):
                learn(X)
        assert ease.interactions(X).info["doubt"]
    for columns in ("a,b", ("b", "a")):
        x = ease.interactions(two, columns=columns)
        assert x.info["doubt"] is None
        ease.EASE(lambda_=1.0).fit(x)
    ease.split(two, "random", columns=("b", "a"))


def test_what_to_give_where_names_are_numbers():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(np.array([np.arange(N), USERS]).T)  # columns 0 and 1
    with pytest.raises(ValueError, match="columns='1,0', or columns='0,1' if"):
        ease.gram(frame)
    assert ease.interactions(frame, columns="1,0").shape == (23, N)
    assert ease.interactions(frame, columns="0,1").shape == (N, 23)


def test_a_column_has_one_meaning():
    for columns in ("user,user", [0, 0], "user,item,item", ["user", "item", None, 0]):
        with pytest.raises(ValueError, match="twice"):
            ease.interactions({"user": USERS, "item": ITEMS}, columns=columns)


def test_another_reading_that_is_as_likely_is_refused():
    rows = {"customer_id": USERS, "account_id": [k * 5 % 17 for k in range(N)], "sku": ITEMS}
    for _, frame in frames(rows):
        with pytest.raises(ValueError, match="columns='account_id,sku'"):
            ease.interactions(frame)
    with pytest.raises(ValueError, match="not clear"):
        ease.split(rows, "random")


def test_parquet_is_recognized_too(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table(KNOWN[0][0]), tmp_path / "x")
    assert ease.interactions(tmp_path / "x").info["recognized"].endswith(KNOWN[0][1])
    parquet.write_table(pa.table({"a": list(range(N)), "b": USERS}), tmp_path / "y")
    with pytest.raises(ValueError, match="columns='b,a'"):
        ease.EASE(lambda_=1.0).fit(tmp_path / "y")


def test_values_that_are_not_used_are_said(caplog):
    caplog.set_level(logging.INFO, "ease")
    rows = {"user": USERS, "item": ITEMS, "rating": [1 + k % 5 for k in range(N)]}
    said = "ratings are not used: every row counts as 1; "
    ease.interactions(rows)
    assert said + "min_rating= or weights=True use them" in caplog.messages
    caplog.clear()
    ease.interactions(rows, weights=True)
    ease.interactions(rows, min_rating=3)
    ease.interactions({**rows, "rating": [1] * N})
    ease.interactions({**rows, "rating": ["good"] * N})
    assert not any(said in m for m in caplog.messages)
    ease.split(rows, "random")
    assert said + "min_rating= uses them" in caplog.messages


def test_values_below_0_that_count_as_likes_are_a_warning(tmp_path):
    rows = {"user": USERS, "item": ITEMS, "rating": [1 if k % 4 else -1 for k in range(N)]}
    path = tmp_path / "x.csv"
    path.write_text("user,item,rating\n" + "".join(f"{u},{i},{r}\n" for u, i, r in
                                                   zip(*rows.values())))
    for X in (rows, path):
        with pytest.warns(RuntimeWarning, match="also 30 with a value below 0"):
            x = ease.interactions(X)
        assert x.info["negative"] == 30 and x.info["unused"] == 30
        assert ease.interactions(X, weights=True).info["negative"] == 0
