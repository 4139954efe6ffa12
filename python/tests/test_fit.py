"""What is fitted: matrices in every form, and what is refused."""

import os

import numpy as np
import pytest

import ease
from conftest import closed_form, random_matrix

sparse = pytest.importorskip("scipy.sparse")


def weights_of(X, **how):
    return np.array(ease.EASE(lambda_=20.0).fit(X, **how).B)


def test_weights_are_those_of_the_paper(X):
    np.testing.assert_allclose(weights_of(X), closed_form(X, 20.0), atol=2e-6)


def test_values_count(X):
    W = random_matrix(weights=True)
    np.testing.assert_allclose(weights_of(W), closed_form(W, 20.0), atol=2e-5)
    np.testing.assert_array_equal(weights_of(W, weights=False), weights_of(X))


@pytest.mark.parametrize("scale, lambda_", [(1e-30, 1e-58), (1e-15, 1e-28), (1e15, 1.0),
                                            (1e19, 1.0), (1e30, 1.0), (1e30, 1e62)])
def test_values_of_any_size_give_the_weights_of_float64(scale, lambda_):
    W = random_matrix(users=300, items=40, weights=True)
    W.data *= np.float32(scale)
    got = np.array(ease.EASE(lambda_=lambda_).fit(W).B)
    plain = W.toarray().astype(np.float64) / scale  # the same weights, by small numbers
    np.testing.assert_allclose(got, closed_form(plain, lambda_ / scale / scale), atol=2e-4)


def test_items_of_different_sizes_give_the_weights_of_float64():
    W = random_matrix(users=300, items=40, weights=True).toarray()
    scale = 10.0 ** np.linspace(-15, 15, 40)
    W = (W * scale).astype(np.float32)
    for kind in ("covariance", "correlation"):
        got = np.array(ease.EASE(lambda_=1.0, kind=kind).fit(W).B, np.float64)
        X = W.astype(np.float64)
        C = X - X.mean(axis=0)
        C = C.T @ C
        s = np.sqrt(np.diag(C)) if kind == "correlation" else np.ones(40)
        A = C / np.outer(s, s) + np.eye(40)
        d = np.sqrt(np.diag(A))  # for NumPy, which is no better with such a matrix
        P = np.linalg.inv(A / np.outer(d, d)) / np.outer(d, d)
        B = -P / np.diag(P) * s[None, :] / s[:, None]
        np.fill_diagonal(B, 0)
        unit = np.outer(1 / (s * d), s * d)
        np.testing.assert_allclose(got / unit, B / unit, atol=2e-4)


def test_weights_that_no_float_holds_are_refused():
    W = random_matrix(users=300, items=40, weights=True)
    W.data *= np.float32(1e-25)
    with pytest.raises(ArithmeticError, match="every weight would be 0"):
        ease.EASE(lambda_=1.0).fit(W)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "array", "dense",
                                  "list", "bool", "int8", "float64", "fortran"])
def test_every_form_gives_the_same_bits(X, form):
    forms = {"csr": X, "csc": X.tocsc(), "coo": X.tocoo(), "lil": X.tolil(),
             "dok": X.todok(), "array": sparse.csr_array(X), "dense": X.toarray(),
             "list": X.toarray().tolist(), "bool": X.astype(bool),
             "int8": X.astype(np.int8), "float64": X.astype(np.float64),
             "fortran": np.asfortranarray(X.toarray())}
    np.testing.assert_array_equal(weights_of(forms[form]), weights_of(X))


def test_int64_indices(X):
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    np.testing.assert_array_equal(weights_of(wide), weights_of(X))


def test_unsorted_and_repeated_and_zero_entries(X):
    coo = X.tocoo()
    r = np.random.default_rng(3)
    order = r.permutation(coo.nnz)
    rows, cols = coo.row[order], coo.col[order]
    messy = sparse.csr_matrix(X.shape, dtype=np.float32)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=X.shape[0]))])
    by_row = np.argsort(rows, kind="stable")
    messy = sparse.csr_matrix((np.ones(coo.nnz, np.float32), cols[by_row], indptr), X.shape)
    messy.has_sorted_indices = False
    before = messy.indices.copy()
    np.testing.assert_array_equal(weights_of(messy), weights_of(X))
    np.testing.assert_array_equal(messy.indices, before)  # the caller's matrix stays
    twice = sparse.coo_matrix((np.full(2 * coo.nnz, 0.5), (np.r_[coo.row, coo.row],
                                                          np.r_[coo.col, coo.col])), X.shape)
    np.testing.assert_array_equal(weights_of(twice), weights_of(X))
    zeros = X.toarray()
    explicit = sparse.csr_matrix(np.ones_like(zeros))
    explicit.data = zeros.ravel().copy()
    np.testing.assert_array_equal(weights_of(explicit), weights_of(X))


def test_a_canonical_matrix_is_not_copied():
    W = random_matrix(weights=True)
    x = ease.interactions(W)
    W.data[:] = 7  # seen through
    assert set(x.rows()[2].tolist()) == {7.0}


def test_negative_values_are_values():
    X = random_matrix(weights=True)
    X.data[::3] *= -1
    np.testing.assert_allclose(weights_of(X), closed_form(X, 20.0), atol=2e-5)
    with pytest.raises(ValueError):
        ease.WMF(rank=4).fit(X)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(X, bad):
    X.data[5] = bad
    with pytest.raises(ValueError, match="finite"):
        ease.EASE(lambda_=1.0).fit(X)
    with pytest.raises(ValueError, match="finite"):
        ease.EASE(lambda_=1.0).fit(X.toarray())
    X = X.astype(np.float64)
    X.data[5] = 1e300
    with pytest.raises(ValueError, match="finite"):
        ease.EASE(lambda_=1.0).fit(X)


@pytest.mark.parametrize("bad", [np.zeros(3), np.zeros((2, 2, 2)), np.array(5.0),
                                 np.array([["a"]]), np.array([[1j]]), None, 7])
def test_what_is_no_matrix(bad):
    with pytest.raises(ValueError):
        ease.EASE(lambda_=1.0).fit(bad)


def test_masked_entries_are_not_there():
    dense = np.array([[1, 5, 0], [1, 0, 1], [0, 1, 1]])
    masked = np.ma.masked_array(dense, dense == 5)
    np.testing.assert_array_equal(weights_of(masked), weights_of(masked.filled(0)))


def test_a_damaged_csr_is_refused(X):
    X.indices[3] = 99
    X.has_canonical_format = True
    with pytest.raises(ValueError, match="not within"):
        ease.EASE(lambda_=1.0).fit(X)


def test_empty_matrices():
    assert (weights_of(sparse.csr_matrix((3, 4))) == 0).all()
    assert (weights_of(np.zeros((0, 4))) == 0).all()
    with pytest.raises(ValueError):
        ease.EASE(lambda_=1.0).fit(np.zeros((4, 0)))
    with pytest.raises(ValueError):
        ease.EASE(lambda_=1.0).fit(np.zeros((0, 0)))


@pytest.mark.parametrize("wrong", [{"lambda_": 0.0}, {"lambda_": -1.0},
                                   {"lambda_": float("nan")},
                                   {"lambda_": 1.0, "kind": "sums"},
                                   {"lambda_": 1.0, "precision": "f16"},
                                   {"lambda_": 1.0, "threads": -2},
                                   {"lambda_": 1.0, "threads": 1.5},
                                   {"lambda_": 1.0, "threads": None},
                                   {"lambda_": 1.0, "memory_limit": -1},
                                   {"lambda_": 1.0, "memory_limit": "1G"},
                                   {"lambda_": None}, {"lambda_": "much"}])
def test_wrong_parameters(X, wrong):
    with pytest.raises(ValueError):
        ease.EASE(**wrong).fit(X)


@pytest.mark.parametrize("kind", ["counts", "covariance", "correlation"])
def test_the_other_kinds_and_precisions(X, kind):
    a = ease.EASE(lambda_=5.0, kind=kind).fit(X)
    b = ease.EASE(lambda_=5.0, kind=kind, precision="f64").fit(X)
    np.testing.assert_allclose(a.B, b.B, atol=1e-5)
    assert a.info["kind"] == kind and b.info["precision"] == "f64"


def test_nonnegative(X):
    assert (ease.EASE(lambda_=20.0, nonnegative=True).fit(X).B >= 0).all()


def test_threads_do_not_matter(X):
    a = ease.EASE(lambda_=20.0, threads=1).fit(X)
    np.testing.assert_array_equal(a.B, ease.EASE(lambda_=20.0, threads=3).fit(X).B)


def test_fit_twice(X):
    model = ease.EASE(lambda_=20.0).fit(X[:, :10])
    first = model.B
    assert model.fit(X) is model
    assert model.B.shape == (30, 30) and first.shape == (10, 10)
    assert np.isfinite(first).all()  # still there
    with pytest.raises(ValueError):
        model.fit(np.zeros(3))
    assert model.B.shape == (30, 30)  # a failed fit changes nothing


def test_use_before_fit(X, tmp_path):
    model = ease.EASE(lambda_=1.0)
    for use in (lambda: model.recommend(0, X[0]), lambda: model.similar_items(0),
                lambda: model.explain(0, X[0], 1), lambda: model.save(tmp_path / "m"),
                lambda: model.B, lambda: model.item_ids, lambda: model.score(X)):
        with pytest.raises(ease.NotFittedError):
            use()


def test_b_is_read_only_and_mapped(model, tmp_path):
    assert not model.B.flags.writeable
    assert isinstance(model.B, np.memmap)
    model.save(tmp_path / "m.ease", storage="f32")
    loaded = ease.load(tmp_path / "m.ease")
    B = loaded.B
    assert not B.flags.writeable and not B.flags.owndata
    expected = np.array(model.B)
    del loaded, model
    np.testing.assert_array_equal(B, expected)  # what it looks into lives on


def test_directories_have_any_name(X, tmp_path):
    for name in (tmp_path / "a", str(tmp_path / "b"), os.fsencode(tmp_path) + b"/c\xff"):
        os.mkdir(name)
        model = ease.EASE(lambda_=20.0, workdir=name).fit(X)
        np.testing.assert_array_equal(model.B, weights_of(X))
    with pytest.raises(ValueError, match="zero byte"):
        ease.EASE(lambda_=20.0, workdir="a\0b").fit(X)
    with pytest.raises(TypeError):
        ease.EASE(lambda_=20.0, workdir=7).fit(X)


def test_backends_are_chosen_by_name(X):
    model = ease.EASE(lambda_=20.0, backend="cpu").fit(X)
    np.testing.assert_array_equal(model.B, weights_of(X))
    assert model.get_params()["backend"] == "cpu"
    with pytest.raises(ValueError, match="no backend 'abacus', only cpu"):
        ease.EASE(lambda_=20.0, backend="abacus").fit(X)
    with pytest.raises(TypeError):
        ease.EASE(lambda_=20.0, backend=7).fit(X)


def test_memory_limits_may_be_written_as_8e9(X):
    np.testing.assert_array_equal(ease.EASE(lambda_=20.0, memory_limit=8e9).fit(X).B,
                                  weights_of(X))


def test_memory_errors_have_the_plan(X):
    with pytest.raises(MemoryError, match="plan") as caught:
        ease.EASE(lambda_=1.0, memory_limit=1000).fit(X)
    assert caught.value.plan["peak_bytes"] > 1000 and not caught.value.plan["fits"]


def test_a_plan_beforehand(X):
    plan = ease.EASE(lambda_=1.0).plan(X)
    assert plan["items"] == 30 and plan["fits"] and plan["peak_bytes"] > 0
    assert ease.EASE(lambda_=1.0).plan((10**6, 50000))["matrix_bytes"] > 4e9


def test_gram_matrices(X, tmp_path):
    G = ease.gram(X)
    dense = np.asarray((X.T @ X).todense(), np.float64)
    np.testing.assert_array_equal(G.to_numpy(), dense)
    G.save(tmp_path / "g.gram")
    expected = weights_of(X)
    for source in (G, G, tmp_path / "g.gram", ease.open_gram(tmp_path / "g.gram"), dense,
                   X.T @ X):
        np.testing.assert_array_equal(ease.EASE(lambda_=20.0).fit_gram(source).B, expected)
    with pytest.raises(ValueError):
        ease.EASE(lambda_=20.0).fit_gram(np.ones((2, 3)))
    with pytest.raises(ValueError):
        ease.EASE(lambda_=20.0).fit_gram(np.array([[1.0, 2.0], [3.0, 4.0]]))


def test_shards_add_up(X, tmp_path):
    for i, part in enumerate((X[:50], X[50:])):
        ease.gram(part).save(tmp_path / f"{i}.gram")
    merged = ease.merge_grams([tmp_path / "0.gram", tmp_path / "1.gram"])
    np.testing.assert_array_equal(merged.to_numpy(), ease.gram(X).to_numpy())
    with pytest.raises(ValueError, match="the same file"):
        ease.merge_grams([tmp_path / "0.gram", tmp_path / "1.gram", tmp_path / "0.gram"])


RIVALS = {"Popularity": {}, "ItemItem": {"neighbours": 5, "similarity": "jaccard"},
          "SLIM": {"l1": 0.5}, "SLIMFree": {"l1": 0.5, "l2": 10}, "WMF": {"rank": 4},
          "IISVD": {"rank": 4}, "CDAE": {"hidden": 8, "epochs": 2},
          "MultDAE": {"hidden": 8, "epochs": 2},
          "MultVAE": {"hidden": 8, "latent": 4, "epochs": 2}, "LRec": {"l2": 3.0}}


@pytest.mark.parametrize("name", RIVALS)
def test_every_rival_is_of_the_same_shape(X, name, tmp_path):
    model = getattr(ease, name)(**RIVALS[name]).fit(X)
    ids, scores = model.recommend(np.arange(3), X[:3], N=4)
    assert ids.shape == scores.shape == (3, 4)
    model.save(tmp_path / "m.ease")
    again = ease.load(tmp_path / "m.ease")
    assert type(again) is type(model)
    for key, value in RIVALS[name].items():
        assert getattr(again, key) == value
    np.testing.assert_array_equal(again.recommend(np.arange(3), X[:3], N=4)[0], ids)


def test_wrong_settings_are_named(X):
    with pytest.raises(ValueError, match="rank"):
        ease.WMF(rank=0).fit(X)
    with pytest.raises(ValueError, match="similarity"):
        ease.ItemItem(similarity="euclid").fit(X)
