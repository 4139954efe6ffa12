"""Configuring the build: what is missing, which OpenBLAS, who gets errors for warnings; and
scripts/setup, which installs packages only where that is wanted."""
import json
import os
import re
import subprocess
import unittest

import support

OPENBLAS = """
int openblas_get_parallel(void) { return BUILD; }
char *openblas_get_corename(void) { return "Fake"; }
"""
HEADER = "int openblas_get_parallel(void);\nchar *openblas_get_corename(void);\n"


@unittest.skipIf(support.SANITIZED, "no part of the build")
class Configuring(support.Case):
    def configure(self, *options, **env):
        done = subprocess.run(["cmake", "-S", support.ROOT, "-B", self.path("build"), "-G", "Ninja",
                               "-DCMAKE_C_COMPILER=gcc", "-DEASE_TESTS=OFF", *options],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=dict(os.environ, **env), check=False)
        return done.returncode, done.stdout

    def openblas(self, build, library="libopenblas.so"):
        """A prefix with an OpenBLAS that says it is of this build."""
        for place in "prefix/lib", "prefix/include":
            os.makedirs(self.path(place), exist_ok=True)
        self.write("prefix/include/cblas.h", HEADER)
        subprocess.run(["gcc", "-shared", "-fPIC", f"-DBUILD={build}", self.write("fake.c", OPENBLAS),
                        "-o", self.path("prefix/lib/" + library)], check=True)
        return self.path("prefix")

    def test_everything_that_is_missing_is_named_at_once(self):
        code, text = self.configure("-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF",
                                    PKG_CONFIG_LIBDIR=self.dir, PKG_CONFIG_PATH="")
        self.assertNotEqual(code, 0)
        self.assertIn("zlib.h, zstd.h, xxhash.h, microhttpd.h, jansson.h", re.sub(r"\s+", " ", text))
        line = re.search(r"(?m)^ *apt-get install (.*)$", text)
        self.assertIsNotNone(line, text)
        self.assertLessEqual({"zlib1g-dev", "libzstd-dev", "libxxhash-dev", "libmicrohttpd-dev",
                              "libjansson-dev"}, set(line[1].split()))
        self.assertNotIn("gcc", line[1].split())

    def test_the_python_module_needs_a_header_and_no_library_of_the_server(self):
        module = "-DEASE_PYTHON=ON", "-DPython_EXECUTABLE=/usr/bin/python3"
        code, text = self.configure(*module, "-DPython_INCLUDE_DIR=" + self.path("none"))
        self.assertNotEqual(code, 0)
        self.assertIn("these are missing: Python.h of Python 3.11 or later",
                      re.sub(r"\s+", " ", text))
        self.assertRegex(text, r"(?m)^ *apt-get install python3-dev$")
        code, text = self.configure(*module, "-DMICROHTTPD_HEADER=MICROHTTPD_HEADER-NOTFOUND",
                                    "--fresh")
        self.assertEqual(code, 0, text)
        # OpenBLAS is inside: NumPy may have loaded a shared one of another build.
        self.assertRegex(text, r"OpenBLAS: \S+\.a\n")

    def test_another_openblas_is_used_where_it_is_named(self):
        for library in "libopenblas.so", "libopenblaso.so":
            prefix = self.openblas(2, library)
            path = os.path.join(prefix, "lib", library)
            for named in prefix, path:
                code, text = self.configure("-DOPENBLAS=" + named)
                self.assertEqual(code, 0, text)
                self.assertIn("OpenBLAS: " + path, text)
            os.remove(path)

    def test_an_openblas_of_another_build_is_refused(self):
        for build, words in (0, "one thread"), (1, "pthreads"):
            code, text = self.configure("-DOPENBLAS=" + self.openblas(build), "--fresh")
            self.assertNotEqual(code, 0)
            self.assertIn(f"is built {'with' if build else 'for'} {words}, not with OpenMP",
                          re.sub(r"\s+", " ", text))
            self.assertIn("  make OPENBLAS=PREFIX", text)

    def test_no_openblas_where_one_is_named_is_an_error(self):
        for place in self.dir, self.path("none"):
            code, text = self.configure("-DOPENBLAS=" + place)
            self.assertNotEqual(code, 0)
            self.assertIn(f"There is no OpenBLAS in OPENBLAS={place}", re.sub(r"\s+", " ", text))

    def test_warnings_are_errors_for_developers_only(self):
        with open(os.path.join(support.ROOT, "CMakePresets.json"), encoding="utf-8") as f:
            presets = json.load(f)["configurePresets"]
        strict = {p["name"] for p in presets
                  if p.get("cacheVariables", {}).get("EASE_WERROR") == "ON"}
        self.assertEqual({p["name"] for p in presets} - strict, {"base", "release"})
        for option, wanted in ("OFF", False), ("ON", True):
            code, text = self.configure("-DEASE_WERROR=" + option)
            self.assertEqual(code, 0, text)
            with open(self.path("build/compile_commands.json"), encoding="utf-8") as f:
                self.assertEqual("-Werror" in f.read(), wanted)

    def test_one_version_stands_everywhere(self):
        def first(pattern, *path):
            with open(os.path.join(support.ROOT, *path), encoding="utf-8") as f:
                return re.search(pattern, f.read(), re.M)[1]

        version = first(r"^ease (\S+)$", self.write("version", self.ease("--version").out))
        self.assertEqual(first(r"^## (\d+\.\d+\.\d+)", "CHANGELOG.md"), version)
        self.assertEqual(first(r"^version: (\S+)$", "CITATION.cff"), version)
        self.assertEqual(first(r"^ease \((\S+)-\d+\)", "packaging/debian/changelog"), version)


@unittest.skipIf(support.SANITIZED, "no part of the build")
class Setup(support.Case):
    """scripts/setup with other programs in the place of Debian's."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("bin"))
        for name in "env", "id", "grep", "sh", "cat":
            os.symlink("/usr/bin/" + name, self.path("bin/" + name))

    def stand_in(self, name, code):
        if os.path.islink(self.path("bin/" + name)):
            os.remove(self.path("bin/" + name))  # writing would follow the link
        path = self.write("bin/" + name, "#!/bin/sh\n" + code)
        os.chmod(path, 0o755)

    def setup(self, **env):
        done = subprocess.run(["/bin/sh", os.path.join(support.ROOT, "scripts/setup"), "build"],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={"PATH": self.path("bin"), **env}, cwd=self.dir, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_packages_are_named_before_they_are_installed(self):
        self.stand_in("dpkg-query", 'case $* in *jansson*|*zstd*) ;; *) echo install ok installed ;; esac')
        for name in "apt-get", "sudo":
            self.stand_in(name, f'echo "{name} $*"')
        self.stand_in("id", "echo 1000")
        lines = self.setup().splitlines()
        self.assertEqual(lines[0], "installing with sudo apt-get (make SETUP=no does not): "
                                   "libzstd-dev libjansson-dev")
        self.assertEqual(lines[1], "sudo apt-get update -qq")
        self.assertEqual(self.setup(SETUP="no"), "")

    def test_nothing_is_said_or_done_if_nothing_is_missing(self):
        self.stand_in("dpkg-query", "echo install ok installed")
        self.stand_in("apt-get", 'echo "apt-get $*"')
        self.assertEqual(self.setup(), "")

    def test_other_systems_are_told_what_is_needed(self):
        text = self.setup()
        self.assertIn("this is no Debian: nothing is installed", text)
        self.assertIn("libopenblas-openmp-dev", text)
        self.assertEqual(self.setup(SETUP="no"), "")

    def test_make_passes_on_that_nothing_is_to_be_installed(self):
        done = subprocess.run(["make", "--dry-run", "--print-data-base", "SETUP=no", "all"],
                              text=True, capture_output=True, cwd=support.ROOT, check=True)
        self.assertIn("scripts/setup build", done.stdout)
        self.assertRegex(done.stdout, r"(?m)^SETUP = no$")
        with open(os.path.join(support.ROOT, "Makefile"), encoding="utf-8") as f:
            self.assertIn("\nexport SETUP\n", f.read())


if __name__ == "__main__":
    support.main()
