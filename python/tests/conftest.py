"""Data that the tests share."""

import os
import subprocess

import numpy as np
import pytest

import ease

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(os.environ.get("EASE_BUILD", os.path.join(ROOT, "build")), "ease")
DATA = os.path.join(os.path.dirname(ROOT), "shared", "data")


def closed_form(X, lambda_):
    """B by the paper's equation, in float64."""
    G = (X.T @ X).astype(np.float64)
    G = np.asarray(G.todense()) if hasattr(G, "todense") else G
    P = np.linalg.inv(G + lambda_ * np.eye(len(G)))
    B = -P / np.diag(P)
    np.fill_diagonal(B, 0)
    return B


def random_matrix(users=120, items=30, density=0.2, seed=1, weights=False):
    sparse = pytest.importorskip("scipy.sparse")
    r = np.random.default_rng(seed)
    dense = (r.random((users, items)) < density).astype(np.float32)
    dense[0, 0] = dense[1, items - 1] = 1
    if weights:
        dense *= r.integers(1, 6, dense.shape)
    return sparse.csr_matrix(dense)


@pytest.fixture
def X():
    return random_matrix()


@pytest.fixture
def model(X):
    return ease.EASE(lambda_=20.0).fit(X)


@pytest.fixture
def program():
    if not os.path.exists(PROGRAM):
        pytest.skip("the program is not built")

    def run(*args):
        return subprocess.run([PROGRAM, *map(str, args)], check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout
    return run


def made_ratings(path):
    """Ratings in the form of MovieLens' ratings.csv."""
    r = np.random.default_rng(4)
    taste = r.random((300, 4)) @ r.random((4, 80))
    rows = np.argwhere(r.random(taste.shape) < taste / 8)
    path.write_text("userId,movieId,rating\n" + "".join(
        f"{u},{i},{r.integers(1, 6)}\n" for u, i in rows))
    return path


# Real data is not in the repository.
ML_1M = os.path.join(DATA, "ml-1m", "ratings.csv")


@pytest.fixture(params=["made", "ml_1m"] if os.path.exists(ML_1M) else ["made"])
def ratings(request, tmp_path):
    return made_ratings(tmp_path / "ratings.csv") if request.param == "made" else ML_1M
