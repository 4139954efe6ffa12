"""The program and the module: the same model, each reads the other's files."""

import json

import numpy as np
import pytest

import ease
from conftest import random_matrix


@pytest.mark.parametrize("storage", ["f16", "f32", "packed"])
def test_a_model_is_bit_for_bit_the_programs(program, ratings, tmp_path, storage):
    program("train", ratings, "-o", tmp_path / "a.ease", "--lambda", 500, "--min-rating", 4,
            "--storage", storage, "--quiet")
    model = ease.EASE(lambda_=500).fit(ratings, min_rating=4)
    model.save(tmp_path / "b.ease", storage=storage)
    assert (tmp_path / "a.ease").read_bytes() == (tmp_path / "b.ease").read_bytes()


def test_a_model_from_a_frame_is_the_same(ratings):
    pd = pytest.importorskip("pandas")
    frame = pd.read_csv(ratings)
    columns = [c for c in frame.columns][:3]
    a = ease.EASE(lambda_=500).fit(frame, columns=columns, min_rating=4)
    b = ease.EASE(lambda_=500).fit(ratings, min_rating=4)
    np.testing.assert_array_equal(a.B, b.B)
    assert a.item_ids.tolist() == b.item_ids.tolist()


def test_the_program_reads_our_models(program, X, model, tmp_path):
    model.set_titles({i: f"Item {i}" for i in range(30)})
    model.save(tmp_path / "m.ease", storage="f32")
    out = json.loads(program("recommend", tmp_path / "m.ease", "--history",
                             ",".join(map(str, X[3].indices)), "-k", 5, "--json"))
    text = json.dumps(out)
    ids, _ = model.recommend(3, X[3], N=5)
    assert [f'"{i}"' in text for i in ids] == [True] * 5
    assert f"Item {ids[0]}" in text


def test_we_read_the_programs_models(program, tmp_path):
    (tmp_path / "r.tsv").write_text("".join(f"u{u}\ti{i}\n" for u in range(20)
                                            for i in range(8) if (u * i) % 3 != 1))
    program("train", tmp_path / "r.tsv", "-o", tmp_path / "m.ease", "--model", "slim",
            "--set", "l1=0.1,l2=5", "--quiet")
    model = ease.load(tmp_path / "m.ease")
    assert isinstance(model, ease.SLIM) and model.l1 == 0.1 and model.l2 == 5
    assert model.item_ids[0] == "i0"
    assert len(model.recommend("someone", ["i1"])[0]) > 0


def test_gram_files_are_the_programs(program, tmp_path):
    path = tmp_path / "x.csv"
    ease.interactions(random_matrix()).write(path)
    program("gram", path, "-o", tmp_path / "a.gram", "--quiet")
    ease.gram(path).save(tmp_path / "b.gram")
    assert (tmp_path / "a.gram").read_bytes() == (tmp_path / "b.gram").read_bytes()


def test_the_files_of_a_split_have_its_ids(program, tmp_path):
    rng = np.random.default_rng(3)
    data = tmp_path / "x.csv"
    data.write_text("user,item\n" + "".join(
        f"u{u},i{i}\n" for u in range(60) for i in rng.permutation(20)[:8]))
    where = tmp_path / "s"
    program("split", data, "-o", where, "--protocol", "liang18", "--heldout-users", 15)
    parts = ease.open_split(where)
    for name in ("train", "test_tr", "test_te"):
        x = ease.interactions(where / f"{name}.csv")
        part = {"train": parts.train, "test_tr": parts.test_input,
                "test_te": parts.test_target}[name]
        assert "part of a split" in x.info["recognized"]
        assert x.item_ids.tolist() == part.item_ids.tolist()
        assert x.user_ids.tolist() == part.user_ids.tolist()
    model = ease.EASE(lambda_=10).fit(parts.train)
    assert ease.evaluate(model, where / "test_tr.csv", where / "test_te.csv") == ease.evaluate(
        model, parts)
