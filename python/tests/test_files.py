"""Files: several at once, JSON lines, encodings; python -m ease."""

import json
import subprocess
import sys

import numpy as np
import pytest

import ease

ROWS = [(f"u{i % 7}", f"ü{i * 5 % 11}", i % 5 + 1) for i in range(200)]


def csv(rows, header=True):
    lines = ["user,item,rating"] if header else []
    return "\n".join(lines + [",".join(map(str, r)) for r in rows]) + "\n"


@pytest.fixture
def whole(tmp_path):
    path = tmp_path / "whole.csv"
    path.write_text(csv(ROWS), encoding="utf-8")
    return ease.interactions(path, weights=True)


def same(a, b):
    assert a.user_ids.tolist() == b.user_ids.tolist()
    assert a.item_ids.tolist() == b.item_ids.tolist()
    assert (a.to_scipy() != b.to_scipy()).nnz == 0


def test_several_files_are_one(tmp_path, whole):
    parts = tmp_path / "parts"
    parts.mkdir()
    paths = [parts / f"part-{i}.csv" for i in range(3)]
    for i, path in enumerate(paths):
        path.write_text(csv(ROWS[70 * i:70 * i + 70]), encoding="utf-8")
    for X in paths, tuple(map(str, paths)), parts, str(parts / "part-*.csv"), [paths[0], str(
            parts / "part-[12].csv")]:
        x = ease.interactions(X, weights=True)
        same(x, whole)
        assert x.info["recognized"].startswith("CSV with header in 3 files")
    same(ease.interactions(paths[:1]), ease.interactions(paths[0]))
    np.testing.assert_array_equal(ease.EASE(lambda_=1.0).fit(paths).B,
                                  ease.EASE(lambda_=1.0).fit(parts).B)
    with pytest.raises(OSError):
        ease.interactions([paths[0], tmp_path / "none.csv"])


def test_json_lines(tmp_path, whole):
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps({"user": {"id": u}, "thing": {"sku": i}, "rating": r}) + "\n"
                            for u, i, r in ROWS), encoding="utf-8")
    same(ease.interactions(path, weights=True, columns="user.id,thing.sku,rating"), whole)
    same(ease.interactions(path, weights=True, columns=("user.id", "thing.sku", "rating"),
                           format="jsonl"), whole)


def test_encodings(tmp_path, whole):
    path = tmp_path / "x.csv"
    path.write_bytes(csv(ROWS).encode("utf-16"))
    same(ease.interactions(path, weights=True), whole)
    path.write_bytes(csv(ROWS).encode("latin-1"))
    same(ease.interactions(path, weights=True, encoding="latin-1"), whole)
    with pytest.raises(ValueError, match="encoding 'x'"):
        ease.interactions(path, encoding="x")


def run(*args):
    return subprocess.run([sys.executable, "-m", "ease", *map(str, args)], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_parquet_is_printed_as_csv(tmp_path, whole):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    users, items, ratings = zip(*ROWS)
    table = pa.table({"user": users, "item": items, "tags": [["a"]] * len(ROWS),
                      "rating": ratings,
                      "time": pa.array(range(len(ROWS)), pa.timestamp("us", tz="UTC"))})
    parts = tmp_path / "parts"
    parts.mkdir()
    for i in range(2):
        parquet.write_table(table.slice(100 * i, 100), parts / f"part-{i}.parquet")
    for path in parts, tmp_path / "one.parquet":
        if path is not parts:
            parquet.write_table(table, path)
        done = run(path)
        assert done.returncode == 0, done.stderr
        assert b"without the nested columns tags" in done.stderr
        (tmp_path / "made.csv").write_bytes(done.stdout)
        same(ease.interactions(tmp_path / "made.csv", weights=True), whole)
        assert ease.interactions(tmp_path / "made.csv", until="1971-01-01").nnz > 0
    done = run(tmp_path / "made.csv")
    assert done.returncode == 3 and b"not a Parquet file" in done.stderr and not done.stdout
    assert run().returncode == 2
    with pytest.raises(ValueError, match="give a directory"):
        ease.interactions([tmp_path / "one.parquet", tmp_path / "made.csv"])
