"""Ratings that are made up, the same in every run, in the two forms in which MovieLens has
them: what tests need of real data, for a clone that has none. test_real_data.py runs the
same tests on MovieLens itself."""
import atexit
import os
import shutil
import tempfile

import numpy as np
import support

_files = {}


def _ratings(users, items, count):
    """Rows of user, item, rating and time, user by user: pairs by `ease synth`, more than half
    of them rated 4 or 5. Items come out over the years, so that later rows have new ones."""
    r = support.run("synth", "-o", "-", "--users", users, "--items", items, "--interactions",
                    count, "--seed", 7)
    assert r.code == 0, r
    pairs = np.array([line.split(",") for line in r.out.split()[1:]], dtype=int)
    rng = np.random.default_rng(7)
    rating = rng.choice([1, 2, 3, 4, 5], size=count, p=[0.06, 0.11, 0.26, 0.35, 0.22])
    since = 9e8 + 6e7 * rng.random(items)[pairs[:, 1]]
    time = since + (9.6e8 - since) * rng.random(count)
    return np.column_stack([pairs + 1, rating, time.astype(int)])


def _file(name, write):
    if name not in _files:
        place = tempfile.mkdtemp(prefix="ease-test-")
        atexit.register(shutil.rmtree, place, ignore_errors=True)
        path = os.path.join(place, name)
        with open(path, "w") as f:
            write(f)
        _files[name] = path
    return _files[name]


def ratings_csv():
    """As ml-1m/ratings.csv: a header, user by user."""
    def write(f):
        f.write("userId,movieId,rating\n")
        f.writelines("%d,%d,%d\n" % tuple(row[:3]) for row in _ratings(1200, 700, 90000))
    return _file("ratings.csv", write)


def u_data():
    """As ml-100k/u.data: user, item, rating and time by tabs, in any order."""
    def write(f):
        rows = _ratings(943, 900, 70000)
        np.random.default_rng(8).shuffle(rows)
        f.writelines("%d\t%d\t%d\t%d\n" % tuple(row) for row in rows)
    return _file("u.data", write)
