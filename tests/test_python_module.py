"""The Python module: `pip wheel .`, a fresh virtual environment, its own tests."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

import support

PLACE = os.path.join(support.BUILD, "python-module")
PARALLEL = {"CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count())}


def run(*command, **options):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **options)


def environment(name, python):
    """A fresh one; the path of its interpreter."""
    place = os.path.join(PLACE, name)
    shutil.rmtree(place, ignore_errors=True)
    made = run(python, "-m", "venv", place)
    if made.returncode:
        raise AssertionError(made.stdout)
    return os.path.join(place, "bin", "python")


def newest_python():
    """The newest Python of this machine that starts: (minor version, path)."""
    places = os.get_exec_path() + ["/usr/bin", "/usr/local/bin"] + glob.glob(
        os.path.expanduser("~/.pyenv/versions/*/bin")) + glob.glob("/opt/*/bin")
    found = set()
    for path in places:
        for name in glob.glob(os.path.join(path, "python3.*")):
            match = re.fullmatch(r"python3\.(\d+)", os.path.basename(name))
            if match:
                found.add((int(match[1]), name))
    for minor, name in sorted(found, reverse=True):
        if run(name, "-m", "venv", "--help").returncode == 0:
            return minor, name
    return sys.version_info[1], sys.executable


def counted(text):
    """The numbers in the last line of pytest's output."""
    def number(what):
        found = re.search(rf"(\d+) {what}", text.strip().splitlines()[-1])
        return int(found[1]) if found else 0

    return {"passed": number("passed"), "failed": number("failed") + number("errors?"),
            "skipped": number("skipped")}


class Module(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(PLACE, ignore_errors=True)
        cls.python = environment("here", sys.executable)
        support.pip(cls.python, "wheel", "--no-deps", "-w", PLACE, support.ROOT, **PARALLEL)
        cls.wheel = glob.glob(os.path.join(PLACE, "*.whl"))[0]

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(PLACE, ignore_errors=True)

    def run_tests(self, python, *how):
        """Runs the module's own tests, each of which counts."""
        tests = os.path.join(support.ROOT, "python", "tests")
        done = run(python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", tests, *how,
                   cwd=PLACE, env=dict(os.environ, EASE_BUILD=support.BUILD, PYTHONPATH=tests,
                                       PYTHONDONTWRITEBYTECODE="1"))
        for skipped in re.findall(r"(?m)^SKIPPED (.*)$", done.stdout):
            print("skipped  " + skipped)
        counts = counted(done.stdout)
        for what, count in counts.items():
            support.elsewhere[what] += count
        if counts["failed"]:  # this test counts as one of them
            support.elsewhere["failed"] -= 1
        self.assertEqual(done.returncode, 0, done.stdout[-6000:])
        self.assertGreater(counts["passed"], 100)

    def test_the_wheel_is_of_the_stable_abi(self):
        self.assertRegex(os.path.basename(self.wheel), r"^ease-[0-9.]+-cp311-abi3-linux_")

    def test_the_extension_looks_for_libraries_in_fixed_places_only(self):
        with tempfile.TemporaryDirectory(prefix="ease-test-") as place:
            with zipfile.ZipFile(self.wheel) as archive:
                name = next(n for n in archive.namelist() if n.endswith(".so"))
                archive.extract(name, place)
            path = support.library_path(os.path.join(place, name))
        self.assertEqual([p for p in path if not os.path.isabs(p)], [])

    def test_that_pip_fails_is_no_reason_to_skip(self):
        for index in {}, {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_EXTRA_INDEX_URL": "",
                          "PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0"}:
            with self.assertRaisesRegex(AssertionError, "ease-has-no-such-package"):
                support.pip(self.python, "install", "ease-has-no-such-package", **index)

    def test_what_pytest_counts_is_counted(self):
        self.assertEqual(counted("F.s\n1 failed, 24 passed, 3 skipped, 2 errors in 4.15s"),
                         {"passed": 24, "failed": 3, "skipped": 3})
        self.assertEqual(counted("..\n2 passed in 0.10s\n"),
                         {"passed": 2, "failed": 0, "skipped": 0})

    def test_the_wheel_passes_its_tests(self):
        support.pip(self.python, "install", self.wheel + "[test]")
        self.run_tests(self.python)

    def test_the_wheel_works_on_the_newest_python(self):
        minor, path = newest_python()
        if minor <= sys.version_info[1]:
            self.skipTest(f"Python 3.{minor} is the newest here")
        python = environment("newest", path)
        support.pip(python, "install", self.wheel, "pytest", "scipy")
        self.run_tests(python)


if __name__ == "__main__":
    support.main()
