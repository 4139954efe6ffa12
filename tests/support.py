"""What the tests of the program have in common: running it, files, counting."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(os.environ.get("EASE_BUILD") or os.path.join(ROOT, "build"))
EASE = os.path.join(BUILD, "ease")
SANITIZED = bool(os.environ.get("EASE_SANITIZE"))
DATA = os.path.join(os.path.dirname(ROOT), "shared", "data")
PATIENCE = 2000  # seconds until something hangs: far more than a slow machine needs


def shared(*names):
    """A file of the real data, or a skipped test where there is none."""
    path = os.path.join(DATA, *names)
    if not os.path.exists(path):
        raise unittest.SkipTest(f"real data is not in the repository: no {os.path.join(*names)}")
    return path


def pip(python, *args, **env):
    """Runs pip. That it fails is a failed test, with its words, also where PyPI cannot be
    reached: else nobody would see that nothing was tested."""
    done = subprocess.run([python, "-m", "pip", "--quiet", "--disable-pip-version-check", *args],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT,
                          env=dict(os.environ, **env), check=False)
    if done.returncode:
        raise AssertionError(f"pip {' '.join(args)}\n{done.stdout[-4000:]}")


def library_path(file):
    """The elements of the RPATH and RUNPATH of an ELF file."""
    text = subprocess.run(["readelf", "--dynamic", "--wide", file], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout
    found = re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", text)
    return [element for path in found for element in path.split(":")]


class Result:
    def __init__(self, code, out, err):
        self.code, self.raw = code, out
        self.out = out.decode("utf-8", "replace")
        self.err = err.decode("utf-8", "replace")

    def __repr__(self):
        return f"exit {self.code}\nstdout: {self.out[:2000]}\nstderr: {self.err[:4000]}"


def run(*args, input=b"", cwd=None, env=None, timeout=PATIENCE, before=None, stdout=None):
    """Runs the program; `before` is called in the child."""
    if isinstance(input, str):
        input = input.encode()
    full = dict(os.environ)
    full.pop("NO_COLOR", None)
    full.update(env or {})
    done = subprocess.run([EASE, *map(str, args)], input=input, cwd=cwd, env=full,
                          stdout=stdout or subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=timeout, preexec_fn=before, check=False)
    return Result(done.returncode, done.stdout or b"", done.stderr)


def wait_until_caught(p, number):
    """Until a process that was just started has a handler for the signal."""
    while p.poll() is None:
        with open(f"/proc/{p.pid}/status") as f:
            caught = int(re.search(r"SigCgt:\s*(\w+)", f.read()).group(1), 16)
        if caught >> (number - 1) & 1:
            return
        time.sleep(0.01)


class Case(unittest.TestCase):
    """A test with a directory of its own, at self.dir, in which the program runs."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="ease-test-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, content):
        if isinstance(content, str):
            content = content.encode()
        with open(self.path(name), "wb") as f:
            f.write(content)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def ease(self, *args, code=0, **how):
        """Runs the program, which must end with `code` and without a crash."""
        r = run(*args, cwd=self.dir, **how)
        self.assertNotIn("Sanitizer", r.err, r)
        self.assertNotIn("runtime error", r.err, r)
        self.assertEqual(r.code, code, f"ease {' '.join(map(str, args))}\n{r}")
        return r

    def fails(self, code, pattern, *args, **how):
        """It must end with this code and one line that matches, and print nothing."""
        r = self.ease(*args, code=code, **how)
        lines = [s for s in r.err.splitlines() if s.startswith("ease: ")
                 and not s.startswith(("ease: warning:", "ease: note:"))]
        self.assertEqual(len(lines), 1, r)
        self.assertRegex(lines[0], pattern, r)
        self.assertEqual(r.out, "", r)
        return r


# What other test runners, started by a test, have counted beside that test.
elsewhere = {"passed": 0, "failed": 0, "skipped": 0}


class _Lines(unittest.TestResult):
    """A line for each test that did not pass."""

    def __init__(self):
        super().__init__()
        self.passed = 0

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def stopTest(self, test):
        super().stopTest(test)
        if os.environ.get("EASE_TEST_TIMES"):
            print(f"  {time.monotonic() - self.began:6.2f} s  {name_of(test)}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1

    def _failed(self, test, err):
        for line in self._exc_info_to_string(err, test).splitlines():
            print("  " + line)
        print("FAILED   " + name_of(test), flush=True)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._failed(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self._failed(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"skipped  {name_of(test)}: {reason}", flush=True)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._failed(subtest, err)


def heed_signals():
    """Signals that a shell has told this process to ignore, as in `make test &` or under
    nohup, would be ignored by the programs that it starts, too."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def name_of(test):
    return re.sub(r"^__main__\.", "", test.id()) if hasattr(test, "id") else str(test)


def main():
    """Runs the tests of __main__, or those whose names contain an argument.
    EASE_TEST_TIMES in the environment: with the time of each."""
    if not os.path.exists(EASE):
        sys.exit(f"{EASE}: not built")
    heed_signals()
    suite = unittest.TestSuite()
    for group in unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]):
        for test in group:
            if len(sys.argv) < 2 or any(a in test.id() for a in sys.argv[1:]):
                suite.addTest(test)
    if not suite.countTestCases():
        sys.exit(f"no test has a name with {' or '.join(sys.argv[1:]) or 'test_'} in it")
    result = _Lines()
    suite.run(result)
    passed = result.passed + elsewhere["passed"]
    failed = elsewhere["failed"] + len({name_of(t).split(" ")[0]
                                        for t, _ in result.failures + result.errors})
    skipped = len(result.skipped) + elsewhere["skipped"]
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    if failed:
        sys.exit(1)
    sys.exit(77 if skipped and not passed else 0)
