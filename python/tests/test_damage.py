"""Model files that are damaged, or that change while they are in use."""

import os
import pickle
import struct
import subprocess
import sys
import threading

import numpy as np
import pytest

import ease
from conftest import random_matrix

ITEMS = 3000  # 18 MB in float16: past what is read when a model is opened


@pytest.fixture(scope="module")
def many():
    return random_matrix(400, ITEMS, 0.01)


@pytest.fixture(scope="module")
def large(many):
    return ease.EASE(lambda_=20.0).fit(many)


@pytest.fixture(params=["f16", "f32", "packed"])
def path(large, tmp_path, request):
    large.save(tmp_path / "m.ease", storage=request.param)
    return tmp_path / "m.ease"


def weights_of(header):
    """Where the section begins, and how long it is."""
    for i in range(struct.unpack_from("<I", header, 32)[0]):
        name, offset, size = struct.unpack_from("<16sQQ", header, 48 + 48 * i)
        if name.rstrip(b"\0") == b"weights":
            return offset, size
    raise AssertionError("no weights")


def flip(path, at):
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 0x40]))


def uses(many):
    one = many[3]
    return {
        "recommend": lambda m: m.recommend(3, one)[1].tolist(),
        "many": lambda m: m.recommend(np.arange(400), many)[1].tolist(),
        "similar": lambda m: m.similar_items([0, 1500, 2999])[1].tolist(),
        "explain": lambda m: m.explain(3, one, 7),
        "B": lambda m: m.B.sum(dtype=np.float64),
        "evaluate": lambda m: ease.evaluate(m, many, many, show_progress=False)["ndcg@100"],
        "pickle": lambda m: pickle.dumps(m)[-100:],
    }


def test_no_result_comes_from_a_damaged_block(many, path):
    offset, size = weights_of(path.read_bytes())
    whole = {name: use(ease.load(path)) for name, use in uses(many).items()}
    found = set()
    for at in range(5000, size, size // 5):
        flip(path, offset + at)
        for name, use in uses(many).items():
            try:
                assert use(ease.load(path)) == whole[name], (name, at)
            except ValueError as error:
                assert "damaged: wrong checksum in section 'weights'" in str(error)
                found.add(name)
        flip(path, offset + at)
    assert found == set(whole)


def test_verifying_can_be_turned_off(many, path):
    offset, size = weights_of(path.read_bytes())
    flip(path, offset + size // 2)
    with pytest.raises(ValueError, match="damaged"):
        ease.load(path).B
    assert ease.load(path, verify=False).B.shape == (ITEMS, ITEMS)


def test_a_damaged_pickle_does_not_come_back(large, model):
    for pickled in (large, model):  # mapped, and read
        data = bytearray(pickle.dumps(pickled))
        assert pickle.loads(bytes(data)).info["items"] == pickled.info["items"]
        begin = data.index(b"\x89EASE\r\n")
        offset, size = weights_of(data[begin:])
        data[begin + offset + size // 2] ^= 0x40
        with pytest.raises(ValueError, match="damaged"):
            pickle.loads(bytes(data))


def overwrite(path, data):
    with open(path, "r+b") as f:
        f.write(data)


def test_a_file_overwritten_in_place_is_no_longer_used(many, large, path):
    model = ease.load(path)
    before = model.recommend(3, many[3])[1].tolist()
    other = path.with_name("other.ease")
    ease.EASE(lambda_=90.0).fit(many).save(other, storage=model.info["storage"])
    os.rename(other, path)  # another file: nothing happens to ours
    assert model.recommend(3, many[3])[1].tolist() == before

    model = ease.load(path)
    large.save(other, storage=model.info["storage"])
    overwrite(path, other.read_bytes())
    for use in uses(many).values():
        with pytest.raises(ValueError, match="was changed while in use"):
            use(model)
    assert ease.load(path).recommend(3, many[3])[1].tolist() == before


def test_a_small_file_may_be_overwritten(X, model, tmp_path):
    model.save(tmp_path / "m.ease")
    loaded = ease.load(tmp_path / "m.ease")
    before = loaded.recommend(3, X[3])[1].tolist()
    os.truncate(tmp_path / "m.ease", 0)
    assert loaded.recommend(3, X[3])[1].tolist() == before


def test_a_file_that_becomes_shorter_during_a_call_is_an_error(many, path):
    model = ease.load(path)

    def shorten(stage, fraction):
        os.truncate(path, 8192)

    # Progress is told again only after 50 ms: so often that it surely is.
    rows = many[np.arange(40000) % 400]
    with pytest.raises(ValueError, match="was changed while in use"):
        model.recommend(np.arange(40000), rows, show_progress=shorten)


CRASH = """
import ctypes, mmap, os, signal, sys
import ease
model = ease.load(sys.argv[1])
with open(sys.argv[2], "w+b") as f:
    f.truncate(8192)
    view = mmap.mmap(f.fileno(), 8192)
    f.truncate(0)
    {before}
    view[5000]
"""


@pytest.mark.parametrize("before, told", [("pass", ""),
                                          ("import faulthandler; faulthandler.enable()",
                                           "Bus error")])
def test_other_faults_are_not_ours(path, tmp_path, before, told):
    done = subprocess.run([sys.executable, "-c", CRASH.format(before=before), str(path),
                           str(tmp_path / "other")], stderr=subprocess.PIPE, text=True,
                          timeout=2000, check=False)
    assert done.returncode == -7  # SIGBUS
    assert told in done.stderr


def test_threads_verify_together(many, path):
    expected = [ease.load(path).recommend(u, many[u])[1].tolist() for u in range(8)]
    model, wrong = ease.load(path), []

    def work(u):
        if model.recommend(u, many[u])[1].tolist() != expected[u]:
            wrong.append(u)

    threads = [threading.Thread(target=work, args=(u,)) for u in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []
