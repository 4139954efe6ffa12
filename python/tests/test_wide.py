"""Matrices with far more columns or rows than anything they hold."""

import subprocess
import sys

import numpy as np
import pytest

import ease

sparse = pytest.importorskip("scipy.sparse")

METHODS = {"EASE": {"lambda_": 1.0}, "Popularity": {}, "ItemItem": {}, "SLIM": {},
           "SLIMFree": {}, "WMF": {}, "IISVD": {"rank": 2}, "CDAE": {}, "MultDAE": {},
           "MultVAE": {}, "LRec": {}}
MEASURE = """
import resource, sys, time
import numpy as np, scipy.sparse as sparse
import ease

def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

columns = int(sys.argv[1])
X = sparse.csr_matrix((np.ones(3), [0, 5, columns - 1], [0, 1, 2, 3]), shape=(3, columns))
for name, params in {methods}.items():
    before, begin = most(), time.process_time()
    try:
        getattr(ease, name)(memory_limit=2e9, **params).fit(X)
        sys.exit(name + " was fitted")
    except MemoryError as error:
        said = str(error)
    taken, grown = time.process_time() - begin, most() - before
    print(name, round(taken, 2), grown, said)
    if taken > 10 or grown > 100_000 or "GB" not in said:
        sys.exit(name)
""".replace("{methods}", repr(METHODS))


@pytest.mark.parametrize("columns", [10**8, 2**31 - 1])
def test_wide_matrices_are_refused_at_once(columns):
    done = subprocess.run([sys.executable, "-c", MEASURE, str(columns)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout


def test_the_plan_of_a_wide_matrix():
    X = sparse.csr_matrix(([1.0], [3], [0, 1]), shape=(1, 10**8))
    with pytest.raises(MemoryError, match="the plan: ") as caught:
        ease.EASE(lambda_=1.0).fit(X)
    assert caught.value.plan["items"] == 10**8 and not caught.value.plan["fits"]


def test_tall_matrices_are_fitted():
    users = 10**7
    indptr = np.zeros(users + 1, np.int64)
    indptr[1:], indptr[users // 2:], indptr[users] = 2, 4, 5
    X = sparse.csr_matrix((np.ones(5, np.float32), [0, 1, 0, 2, 1], indptr), (users, 3))
    model = ease.EASE(lambda_=1.0).fit(X)
    few = X[X.getnnz(axis=1) > 0]
    np.testing.assert_array_equal(model.B, ease.EASE(lambda_=1.0).fit(few).B)
    assert model.recommend(users - 1, X[users - 1], N=1)[0].tolist() == [0]
