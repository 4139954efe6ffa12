"""Models of few weights against NumPy: B, and lists that cost only the weights they touch."""

import warnings

import numpy as np
import pytest

import ease

from conftest import random_matrix

sparse = pytest.importorskip("scipy.sparse")
USERS, ITEMS, LENGTH = 1500, 3000, 400
MODELS = {"sparse": lambda: ease.EASESparse(lambda_=5.0, neighbours=20),
          "item-item": lambda: ease.ItemItem(neighbours=15),
          "slim": lambda: ease.SLIM(l1=0.5, l2=5.0)}


def clustered():
    """Users of few items each, most of which have few users; items that nobody else has."""
    r = np.random.default_rng(5)
    taste = r.integers(0, 60, USERS)
    rows, columns = [], []
    for u in range(USERS):
        near = taste[u] * 50 + (r.random(9) ** 2 * 50).astype(int)
        rows += [u] * 12
        columns += [*near, *(r.random(3) ** 3 * ITEMS).astype(int)]
    X = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), (USERS, ITEMS))
    X.data[:] = 1
    return X


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    X = clustered()
    return X, MODELS[request.param]().fit(X)


def ranked(scores, popularity, seen, n):
    """The items of a list: by score; of score 0 by popularity, then by number."""
    share = (popularity / USERS).astype(np.float32)
    order = np.lexsort((np.arange(len(scores)), np.where(scores == 0, -share, 0), -scores))
    return [i for i in order if i not in seen][:n]


def test_B_is_a_sparse_matrix_that_cannot_be_written(fitted):
    X, model = fitted
    B = model.B
    assert isinstance(B, sparse.csr_matrix) and model.B is B
    assert B.shape == (ITEMS, ITEMS) and B.dtype == np.float32 and not B.diagonal().any()
    assert 0 < B.nnz < ITEMS * 200 and (B.data != 0).all()
    for part in B.data, B.indices, B.indptr:
        with pytest.raises(ValueError):
            part[0] = 1


def test_B_of_dense_models_stays_an_array():
    assert isinstance(ease.EASE(lambda_=5.0).fit(random_matrix()).B, np.ndarray)


def test_B_after_loading_and_after_another_fit(fitted, tmp_path):
    X, model = fitted
    model.save(tmp_path / "m.ease")
    assert (ease.load(tmp_path / "m.ease").B != model.B).nnz == 0
    again = type(model)(**model.get_params()).fit(X)
    assert (again.B != model.B).nnz == 0
    again.fit(X[:, :40])
    assert again.B.shape == (40, 40)


def test_recommend_equals_numpy(fitted):
    X, model = fitted
    B = model.B.astype(np.float64)
    ids, scores = model.recommend(np.arange(USERS), X, N=LENGTH)
    completed = 0
    for u in range(0, USERS, 7):
        want = np.asarray((X[u].astype(np.float64) @ B).todense()).ravel()
        got = want[ids[u]]
        np.testing.assert_allclose(scores[u], got, rtol=1e-5, atol=1e-6)
        seen = set(X[u].indices)
        assert not seen & set(ids[u])
        # Sums in float32 may tie or swap what differs by rounding: compare the sorted scores.
        best = ranked(want, model.popularity, seen, LENGTH)
        np.testing.assert_allclose(got, want[best], rtol=1e-5, atol=1e-6)
        zeros = [i for i in ids[u] if want[i] == 0]
        assert zeros == [i for i in best if want[i] == 0][:len(zeros)]
        completed += len(zeros)
    assert completed > 0  # lists that the weights did not fill


def test_one_list_is_that_of_many(fitted):
    X, model = fitted
    ids, scores = model.recommend(np.arange(USERS), X, N=50)
    for u in range(0, USERS, 50):
        one, s = model.recommend(u, X[u], N=50)
        np.testing.assert_array_equal(one, ids[u])
        np.testing.assert_array_equal(s, scores[u])


def test_similar_items_equal_numpy(fitted):
    _, model = fitted
    B = model.B
    for item in range(0, ITEMS, 41):
        ids, scores = model.similar_items(item, N=30)
        row = np.asarray(B[item].todense()).ravel()
        assert ids.tolist() == ranked(row, model.popularity, {item}, 30)
        np.testing.assert_array_equal(scores, row[ids])


def test_explain_equals_numpy(fitted):
    X, model = fitted
    B = model.B
    for u in range(0, USERS, 101):
        item = int(model.recommend(u, X[u], N=1)[0][0])
        why = model.explain(u, X[u], item, N=None)
        want = {int(i): float(B[i, item]) for i in X[u].indices}
        assert dict(why.contributions) == pytest.approx(want)
        assert why.score == pytest.approx(sum(want.values()), abs=1e-6)


def test_an_item_that_nobody_had_with_others_gets_what_is_popular(fitted):
    X, model = fitted
    lonely = int(np.flatnonzero(np.diff(model.B.indptr) == 0)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ids, scores = model.recommend(user_items=[lonely], N=10)
    assert ids.tolist() == ranked(np.zeros(ITEMS), model.popularity, {lonely}, 10)
    assert not scores.any()
