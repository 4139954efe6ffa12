"""Threads, forks, signals, progress."""

import io
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import ease
from conftest import random_matrix
from ease import _progress

LARGE = """
import sys, numpy as np, ease
r = np.random.default_rng(0)
x = ease.interactions({"user": r.integers(0, 3000, 400000),
                       "item": r.integers(0, 9000, 400000)})
"""


def test_threads_share_a_model(X):
    model = ease.EASE(lambda_=20.0).fit(X)
    expected = [model.recommend(u, X[u])[0].tolist() for u in range(40)]
    similar = model.similar_items(4)[0].tolist()
    wrong = []

    def work(first):
        for _ in range(10):
            for u in range(first, 40, 4):
                if model.recommend(u, X[u])[0].tolist() != expected[u]:
                    wrong.append(u)
            if model.similar_items(4)[0].tolist() != similar:
                wrong.append("similar")
            model.recommend(np.arange(40), X[:40])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_threads_fit_at_once(X):
    expected = np.array(ease.EASE(lambda_=20.0).fit(X).B)
    made = []
    threads = [threading.Thread(target=lambda: made.append(
        np.array(ease.EASE(lambda_=20.0).fit(X).B))) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(made) == 4 and all((m == expected).all() for m in made)


def run_script(text, *args, **how):
    return subprocess.run([sys.executable, "-c", text, *args], text=True, timeout=2000,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)


def test_a_forked_child_fits_and_recommends():
    done = run_script("""
import os, sys, numpy as np, ease
X = (np.random.default_rng(0).random((300, 700)) < 0.1).astype(np.float32)
here = ease.EASE(lambda_=5.0).fit(X)
expected = np.array(here.B)
lists = here.recommend(np.arange(300), X)[0]
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            same = (ease.EASE(lambda_=5.0).fit(X).B == expected).all()
            same = same and (here.recommend(np.arange(300), X)[0] == lists).all()
            same = same and (here.similar_items(3)[0] >= 0).all()
            code = 0 if same else 2
        finally:
            os._exit(code)
    children.append(child)
for child in children:
    assert os.waitpid(child, 0)[1] == 0
""")
    assert done.returncode == 0, done.stderr


def test_a_pool_of_forked_workers():
    done = run_script("""
import multiprocessing, numpy as np, ease
X = (np.random.default_rng(0).random((300, 700)) < 0.1).astype(np.float32)
def fit(lambda_):
    return float(ease.EASE(lambda_=lambda_).fit(X).B[0, 1])
expected = [fit(l) for l in (1.0, 2.0, 3.0)]
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(fit, (1.0, 2.0, 3.0)) == expected
""")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("how", ["plain", "forked"])
def test_an_interrupt_stops_a_fit(how):
    fork = "import os\nif os.fork(): sys.exit(os.wait()[1] >> 8)\n" if how == "forked" else ""
    script = LARGE + """
ease.EASE(lambda_=1.0).fit(x.to_scipy()[:20, :50])
%s
import os, signal, threading, time
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    ease.EASE(lambda_=10.0, precision="f64", threads=1).fit(x)
except KeyboardInterrupt:
    sys.exit(7)
sys.exit(9)
""" % fork
    done = run_script(script)
    assert done.returncode in (7, 9), done.stderr
    if done.returncode == 9:
        pytest.skip("the fit was over before it could be interrupted")


def test_nothing_is_left_of_a_call_that_was_stopped_too_late(tmp_path):
    """A model that is opened in a forked child, where signals are looked at beside the
    work: it may be there when the exception comes."""
    done = run_script("""
import gc, os, signal, sys, ease
class Stop(Exception):
    pass
def stop(*unused):
    raise Stop
path = sys.argv[1]
ease.EASE(lambda_=1.0).fit([[1, 1, 0], [0, 1, 1]]).save(path)
if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
signal.signal(signal.SIGALRM, stop)
for k in range(100):
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-6 * (5 + 2 * k))
        ease._ease.open_model(os.fsencode(path))
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Stop:
        pass
gc.collect()
with open("/proc/self/maps") as f:
    sys.exit(path in f.read())
""", str(tmp_path / "m.ease"))
    assert done.returncode == 0, done.stderr


def test_an_exception_of_the_callback_stops_a_fit(X):
    class Enough(Exception):
        pass

    def watch(stage, fraction):
        raise Enough(stage)

    wide = random_matrix(users=500, items=3000, density=0.02)
    with pytest.raises(Enough):
        for _ in range(20):
            ease.EASE(lambda_=1.0, precision="f64", threads=1).fit(wide, show_progress=watch)


def test_the_lock_is_free_while_a_model_is_fitted():
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.002)

    thread = threading.Thread(target=tick)
    thread.start()
    began = time.monotonic()
    ease.EASE(lambda_=1.0, precision="f64").fit(random_matrix(users=400, items=1500))
    took = time.monotonic() - began
    done.set()
    thread.join()
    if took > 0.2:
        assert len([t for t in ticks if began < t < began + took]) > 5


def test_the_bar():
    out = io.StringIO()
    with _progress.Bar(out, delay=0) as bar:
        bar("solving", 0.5)
        bar("reading", -1)
    text = out.getvalue()
    assert "solving [############............]  50 %" in text and "reading" in text
    assert text.endswith("\r")
    quiet = _progress.watching(None)  # no terminal here
    assert isinstance(quiet, _progress.Silent) or sys.stderr.isatty()
    assert isinstance(_progress.watching(True), _progress.Bar)


def test_kernels_are_chosen_before_the_extension_is_loaded():
    script = """
import importlib.util, os, sys
place = os.path.dirname(importlib.util.find_spec("ease").origin)
spec = importlib.util.spec_from_file_location("kernels", os.path.join(place, "_kernels.py"))
kernels = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernels)
import glob
better = kernels.better_core(glob.glob(place + "/_ease*.so")[0])
if better:
    os.environ[kernels.VARIABLE] = better
import ease
print(better, ease._ease.blas_core()[0])
"""
    done = run_script(script, env=dict(os.environ, OPENBLAS_CORETYPE="Prescott"))
    assert done.returncode == 0, done.stderr
    better, chosen = done.stdout.split()
    if better != "None":
        assert chosen == better
    plain = run_script("import os, ease; print('OPENBLAS_CORETYPE' in os.environ)",
                       env={k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"})
    assert plain.stdout.strip() == "False"


def test_an_import_without_address_space_for_the_blas_raises():
    done = run_script("""
import mmap, resource  # not to be loaded under the limit
with open("/proc/self/statm") as f:
    used = int(f.read().split()[0]) * mmap.PAGESIZE
limit = used + (100 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    import ease
except MemoryError as e:
    print(e)
""")
    assert done.returncode == 0, done.stderr
    assert "OpenBLAS needs" in done.stdout and "ulimit -v" in done.stdout


def test_warnings_and_notes(X, caplog):
    caplog.set_level("INFO", logger="ease")
    ease.WMF(rank=4, iterations=2).fit(X)
    assert caplog.records


def test_signals_have_their_own_handlers_back():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
