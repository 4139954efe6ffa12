"""The Python module: the wheel of `make wheel`, fresh virtual environments, its own tests."""
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
        made = run(os.path.join(support.ROOT, "scripts", "wheel"), "--output", PLACE,
                   env=dict(os.environ, CMAKE_ARGS="-DEASE_WERROR=ON"))
        if made.returncode:
            raise AssertionError(made.stdout)
        cls.wheel = glob.glob(os.path.join(PLACE, "*.whl"))[0]

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(PLACE, ignore_errors=True)

    def run_tests(self, python, *how):
        """Runs the module's own tests, each of which counts."""
        tests = os.path.join(support.ROOT, "python", "tests")
        done = run(python, "-m", "pytest", "-q", "-rsfE", "-p", "no:cacheprovider", tests, *how,
                   cwd=PLACE, env=dict(os.environ, EASE_BUILD=support.BUILD, PYTHONPATH=tests,
                                       PYTHONDONTWRITEBYTECODE="1"))
        for skipped in re.findall(r"(?m)^SKIPPED (.*)$", done.stdout):
            print("skipped  " + skipped)
        counts = counted(done.stdout)
        for what, count in counts.items():
            support.elsewhere[what] += count
        if counts["failed"]:  # this test counts as one of them
            support.elsewhere["failed"] -= 1
        failures = done.stdout.partition("= FAILURES =")[2] or done.stdout[-6000:]
        self.assertEqual(done.returncode, 0, failures[:12000])
        self.assertGreater(counts["passed"], 100)

    def test_the_wheel_is_of_the_stable_abi_and_of_many_systems(self):
        self.assertRegex(os.path.basename(self.wheel),
                         r"^easerec-[0-9.]+-cp311-abi3-manylinux_2_34_")

    def test_binaries_look_for_libraries_in_the_wheel_only(self):
        with tempfile.TemporaryDirectory(prefix="ease-test-") as place:
            with zipfile.ZipFile(self.wheel) as archive:
                archive.extractall(place)
            binaries = [p for p in glob.glob(place + "/**", recursive=True)
                        if p.endswith("/bin/ease") or ".so" in os.path.basename(p)]
            inside = {os.path.basename(p) for p in binaries}
            self.assertGreater(len(inside), 6)
            for binary in binaries:
                needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-dW", binary).stdout)
                others = {n for n in needed if n not in inside}
                # What every system has, by the rules of manylinux.
                self.assertLessEqual(others, {"libc.so.6", "libm.so.6", "libz.so.1",
                                              "libgcc_s.so.1", "ld-linux-x86-64.so.2",
                                              "ld-linux-aarch64.so.1"}, binary)
                for element in support.library_path(binary):
                    target = element.replace("$ORIGIN", os.path.dirname(binary))
                    self.assertEqual(os.path.commonpath([place, os.path.realpath(target)]),
                                     place, binary)

    def test_the_wheel_has_the_licences_of_what_is_inside(self):
        with zipfile.ZipFile(self.wheel) as archive:
            names = archive.namelist()
            texts = {n.split("/licenses/")[1]: archive.read(n).decode()
                     for n in names if "/licenses/" in n}
        for library, words in {"openblas": "Redistribution and use", "zstd": "Redistribution",
                               "xxhash": "Redistribution", "gomp": "GCC Runtime Library Exception",
                               "gfortran": "GCC Runtime Library Exception",
                               "quadmath": "Lesser General Public"}.items():
            found = [t for n, t in texts.items() if n.startswith("lib" + library)]
            self.assertEqual(len(found), 1, library)
            self.assertIn(words.lower(), re.sub(r"\s+", " ", found[0].lower()))
        for library in (n for n in names if ".libs/" in n):
            name = re.match(r"lib([a-z]+)", os.path.basename(library))[1]
            self.assertTrue([n for n in texts if n.startswith("lib" + name)], library)
        self.assertIn("GNU GENERAL PUBLIC LICENSE", texts["common-licenses/GPL-3"])
        self.assertIn("Permission is hereby granted", texts["LICENSE"])

    def test_pip_installs_the_program_too(self):
        python = environment("bare", sys.executable)
        support.pip(python, "install", self.wheel)
        place = os.path.dirname(python)
        data = os.path.join(support.ROOT, "examples", "npm.tsv.gz")
        with tempfile.TemporaryDirectory(prefix="ease-test-") as work:
            def ease(*args):
                return run(os.path.join(place, "ease"), *args, cwd=work, env={"PATH": place})

            done = ease("train", data, "-o", "m.ease", "--lambda", "500")
            self.assertEqual(done.returncode, 0, done.stdout)
            done = ease("recommend", "m.ease", "--history", "express", "-k", "1")
            self.assertIn("body-parser", done.stdout)
            self.assertEqual(ease("frobnicate").returncode, 2)
            done = ease("serve", "m.ease")
            self.assertEqual(done.returncode, 1)
            self.assertIn("Debian's package ease-server has it, wheels do not", done.stdout)
            done = run(python, "-c", "import ease; print(len(ease.load('m.ease').item_ids))",
                       cwd=work)
            self.assertEqual(done.stdout, "1500\n")
            # Without the package there is nothing to start.
            os.rename(glob.glob(place + "/../lib/python3*/site-packages/ease")[0], work + "/gone")
            done = ease("--version")
            self.assertEqual(done.returncode, 1)
            self.assertIn("pip install --force-reinstall easerec", done.stdout)

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

    def test_the_example_recommends_with_reasons(self):
        support.pip(self.python, "install", self.wheel + "[test]")
        with tempfile.TemporaryDirectory(prefix="ease-test-") as work:
            done = run(self.python, os.path.join(support.ROOT, "examples/python/recommend.py"),
                       "--out", work, cwd=work)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertEqual(sorted(os.listdir(work)), ["model.ease", "weights.svg"])
        for pattern in (r"lambda    50: ndcg@10 0\.\d{4} ± 0\.\d{4}\n", r"test users: ndcg@10 0\.\d{4}\n",
                        r"1500 of 1500 items have a title\n",
                        r"for a newcomer:\n(  \d\.\d{3}  \S+ \(npm\)\n +because of .*\(npm\) [+-]\d.*\n){3}"):
            self.assertRegex(done.stdout, pattern)

    def test_the_programs_lines_pipe_parquet_in(self):
        support.pip(self.python, "install", self.wheel + "[test]")
        env = dict(os.environ, EASE_PARQUET_TOOLS=os.path.dirname(self.python))
        done = run("/usr/bin/python3", os.path.join(support.ROOT, "tests", "test_encodings.py"),
                   "lines_read", env=env)
        self.assertIn("1 passed, 0 failed, 0 skipped", done.stdout)

    def test_the_wheel_works_on_the_newest_python(self):
        minor, path = newest_python()
        if minor <= sys.version_info[1]:
            self.skipTest(f"Python 3.{minor} is the newest here")
        python = environment("newest", path)
        support.pip(python, "install", self.wheel, "pytest", "scipy")
        self.run_tests(python)


if __name__ == "__main__":
    support.main()
