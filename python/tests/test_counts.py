"""Counts of other engines: Parquet and frames are what the program makes of text."""

import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
import time

import numpy as np
import pytest

import ease
from conftest import ROOT, random_matrix

IDS = ["tea", "a, b", 'so "called"', "éclair", " ", "x;y", "7", "-8", "漢字", "\\N"]


def shards(seed=3, users=90, count=3):
    """Triplets of each, of users of its own, and the whole as rows user, item."""
    r = np.random.default_rng(seed)
    x = (r.random((users, len(IDS))) < 0.3).astype(np.int64)
    x[np.arange(users) % count == 0, 9] = 0
    x[1, 9] = 1
    made = []
    for k in range(count):
        g = x[k::count].T @ x[k::count]
        i, j = np.nonzero(np.triu(g))
        made.append({"item": [IDS[a] for a in i], "other": [IDS[b] for b in j],
                     "users": g[i, j]})
    listed = {"item": IDS, "users": x.sum(axis=0), "all_users": [int(x.any(axis=1).sum())] * 10}
    return made, listed, x


def text(table):
    def field(v):
        return '"' + v.replace('"', '""') + '"' if isinstance(v, str) else str(v)
    return "\n".join([",".join(table)] + [",".join(map(field, row))
                                          for row in zip(*table.values())]) + "\n"


def write_parquet(table, path, **how):
    pq = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    pq.write_table(pa.table(table), path, **how)
    return path


def saved(gram, path):
    gram.save(path)
    return path.read_bytes()


def test_parquet_is_what_the_program_reads_as_text(program, tmp_path):
    tables, listed, x = shards()
    for k, t in enumerate(tables):
        (tmp_path / f"{k}.csv").write_text(text(t))
        write_parquet(t, tmp_path / f"{k}.parquet", row_group_size=7)
    (tmp_path / "items.csv").write_text(text(listed))
    write_parquet(listed, tmp_path / "items.parquet", row_group_size=3)
    paths = [tmp_path / f"{k}.parquet" for k in range(3)]
    program("gram", "import", *(tmp_path / f"{k}.csv" for k in range(3)), "--items",
            tmp_path / "items.csv", "-o", tmp_path / "a.gram", "--quiet")
    expected = (tmp_path / "a.gram").read_bytes()
    G = ease.import_gram(paths, tmp_path / "items.parquet")
    with pytest.raises(ValueError, match="the same file"):
        ease.import_gram(paths + paths[:1], tmp_path / "items.parquet")
    assert saved(G, tmp_path / "b.gram") == expected
    np.testing.assert_array_equal(G.to_numpy(), x.T @ x)
    assert G.item_ids.tolist() == IDS and G.info["users"] == listed["all_users"][0]
    mixed = [paths[0], tmp_path / "1.csv", os.fsencode(paths[2])]
    assert saved(ease.import_gram(mixed, listed), tmp_path / "b.gram") == expected
    assert ease.EASE(lambda_=2.0).fit_gram(G).B.shape == (10, 10)
    script = os.path.join(ROOT, "examples", "engines", "parquet.py")
    subprocess.run([sys.executable, script, "-o", tmp_path / "c.gram", "--items",
                    tmp_path / "items.parquet", *paths], check=True)
    assert (tmp_path / "c.gram").read_bytes() == expected


def test_every_frame_is_a_shard(tmp_path):
    pa = pytest.importorskip("pyarrow")
    tables, listed, x = shards(count=1)
    table = pa.table(tables[0])
    coded = table.set_column(0, "item", table["item"].dictionary_encode())
    raw = table.set_column(1, "other", table["other"].cast(pa.binary()))
    real = table.set_column(2, "users", table["users"].cast(pa.float64()))
    frames = [tables[0], table, coded, raw, real, pa.RecordBatchReader.from_batches(
        table.schema, table.to_batches(max_chunksize=5))]
    frames.append(pytest.importorskip("pyarrow.dataset").dataset(table))
    for name in ("pandas", "polars"):
        try:
            frames.append(__import__(name).DataFrame(tables[0]))
        except ImportError:
            pass
    for frame in frames:
        np.testing.assert_array_equal(ease.import_gram(frame, listed).to_numpy(), x.T @ x)
    more = table.append_column("note", pa.array(["."] * len(table)))
    G = ease.import_gram(more, IDS, columns=["item", "other", "users"], users=500)
    np.testing.assert_array_equal(G.to_numpy(), x.T @ x)
    assert G.info["users"] == 500
    numbers = {"a": [5, 5, 7], "b": [5, 7, 7], "n": [3, 1, 2]}
    assert ease.import_gram(numbers).item_ids.tolist() == [5, 7]
    assert ease.import_gram(numbers, np.array([7, 5])).to_numpy().tolist() == [[2, 1], [1, 3]]


def test_parquet_of_duckdb_is_the_native_matrix(program, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    data = tmp_path / "data.txt"
    ease.interactions(random_matrix()).write(data)
    sql = program("gram", "sql", "--engine", "duckdb", "--table",
                  f"(SELECT * FROM read_csv('{data}', header = true))", "--user", "user",
                  "--item", "item", "--dir", tmp_path, "--shards", 3)
    duckdb.connect().execute(sql.replace("(FORMAT csv, HEADER)", "(FORMAT parquet)")
                             .replace(".csv'", ".parquet'"))
    parts = sorted(tmp_path.glob("pairs-*.parquet"))
    assert len(parts) == 3
    made, native = ease.import_gram(parts, tmp_path / "items.parquet"), ease.gram(data)
    order = [native.item_ids.tolist().index(i) for i in made.item_ids.tolist()]
    np.testing.assert_array_equal(made.to_numpy(), native.to_numpy()[np.ix_(order, order)])
    assert made.info["users"] == native.info["users"]


def test_directories_of_part_files(tmp_path):
    tables, listed, x = shards(count=1)
    (tmp_path / "pairs").mkdir()
    for k, rows in enumerate((slice(20, None), slice(0, 20))):
        write_parquet({n: c[rows] for n, c in tables[0].items()},
                      tmp_path / "pairs" / f"part-{k}")
    (tmp_path / "pairs" / "_SUCCESS").touch()
    G = ease.import_gram(tmp_path / "pairs", listed)
    np.testing.assert_array_equal(G.to_numpy(), x.T @ x)
    (tmp_path / "pairs" / "part-2").write_bytes(b"PAR1 no")
    with pytest.raises(ValueError, match="part-2"):
        ease.import_gram(tmp_path / "pairs", listed)


def test_what_is_wrong_is_named(tmp_path):
    pytest.importorskip("pyarrow")
    tables, listed, _ = shards()
    path = write_parquet(tables[0], tmp_path / "first.parquet")
    with pytest.raises(ValueError, match="a shard is missing"):
        ease.import_gram(tables[:2], listed)
    twice = {n: list(c) + list(c)[:1] for n, c in tables[0].items()}
    write_parquet(twice, tmp_path / "twice.parquet")
    with pytest.raises(ValueError, match=f"twice.parquet:{len(twice['item'])}: .*twice"):
        ease.import_gram([path, tmp_path / "twice.parquet"], listed)
    with pytest.raises(ValueError, match="shard 1: an id is missing"):
        ease.import_gram([tables[0], {"a": ["tea", None], "b": ["tea", "tea"], "n": [1, 1]}],
                         listed)
    for wrong, why in (({"a": [1.5], "b": ["x"], "n": [1]}, "ids are"),
                       ({"a": ["x"], "b": ["x"], "n": ["1"]}, "counts are"),
                       ({"a": ["x"], "b": ["x"], "n": [None]}, "counts are|missing"),
                       ({"a": ["x"], "b": ["x"]}, "three columns"),
                       ({"a": ["x\ny"], "b": ["x\ny"], "n": [1]}, "shard 0"),
                       (7, "a path or a frame"), ([], "is required")):
        with pytest.raises(ValueError, match=why):
            ease.import_gram(wrong)
    for items in ([""], ["a\nb"], [None], {"thing": ["a"], "n": [1]}):
        with pytest.raises(ValueError):
            ease.import_gram(tables, items)
    with pytest.raises(FileNotFoundError):
        ease.import_gram(["no such file", tables[0]])
    with pytest.raises(ValueError, match="column 'thing'"):
        ease.import_gram(tables[0], columns=["item", "other", "thing"])


def test_file_names_are_any_bytes(tmp_path):
    place = os.fsencode(tmp_path)
    with open(place + b"/p\xff.csv", "w") as f:
        f.write("a,a,3\na,b,1\nb,b,2\n")
    with open(place + b"/i\xff.txt", "w") as f:
        f.write("b\na\n")
    G = ease.import_gram(place + b"/p\xff.csv", place + b"/i\xff.txt")
    assert G.item_ids.tolist() == ["b", "a"] and G.to_numpy().tolist() == [[2, 1], [1, 3]]
    assert ease.import_gram([os.fsdecode(place + b"/p\xff.csv")]).item_ids.tolist() == ["a", "b"]


def wait_until_full(pipe):
    held, seen = 0, -1
    while held == 0 or held != seen:
        time.sleep(0.5)
        seen, held = held, struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def test_no_row_is_lost_to_a_signal(tmp_path):
    """One that comes while a write waits for the reader: part of it is done then."""
    pa = pytest.importorskip("pyarrow")
    from ease._tables import Pump

    count = 60000
    rows = pa.record_batch({"a": np.arange(count), "b": np.arange(count), "n": np.ones(count)})
    pump = Pump(str(tmp_path))
    path = pump.add("rows", [rows])
    before = signal.signal(signal.SIGUSR1, lambda *unused: None)
    try:
        with pump, open(path, "rb") as pipe:
            wait_until_full(pipe)
            signal.pthread_kill(pump._thread.ident, signal.SIGUSR1)
            time.sleep(0.1)
            read = pipe.read()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert read.count(b"\n") == count and read.endswith(b"%d,%d,1\n" % (count - 1, count - 1))


def test_pyarrow_is_asked_for_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        ease.import_gram({"a": ["x"], "b": ["x"], "n": [1]})
