"""The wheel and the Debian packages of dist/ in bare systems: Debian 12 and 13 with nothing
but Python, made by debootstrap. For `make test-packages`; needs root and Debian's mirror.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import support

SUITES = ["bookworm", "trixie"]
PLACE = os.environ.get("EASE_CHROOTS", os.path.join(support.ROOT, "build", "chroots"))
MIRROR = os.environ.get("EASE_MIRROR", "http://deb.debian.org/debian")
DATA = os.path.join(support.ROOT, "examples", "npm.tsv.gz")

CMAKE_PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
find_package(ease 0.2 REQUIRED COMPONENTS static)
add_executable(shared recommend.c)
target_link_libraries(shared PRIVATE ease::ease)
add_executable(static recommend.c)
target_link_libraries(static PRIVATE ease::static)
"""

# Two libraries with OpenBLAS inside in one process, and the program's files both ways.
MODULE = """
import numpy as np
a = np.ones((300, 300)); assert (a @ a == 300).all()
import ease
from importlib.metadata import version
assert ease.__version__ == version("easerec"), version("easerec")
model = ease.load("/root/m.ease")
print(len(model.item_ids))
own = ease.EASE(lambda_=500).fit("/root/npm.tsv.gz")
own.save("/root/own.ease")
assert (a @ a == 300).all()
"""

SERVED = """
import json, re, subprocess, urllib.request
server = subprocess.Popen(["ease", "serve", "/root/m.ease", "--listen", "127.0.0.1:0"],
                          stderr=subprocess.PIPE, text=True)
url = re.search(r"http://[0-9.:]+/", server.stderr.readline())[0]
print(json.load(urllib.request.urlopen(urllib.request.Request(
    url + "v1/recommend", b'{"history": ["express"], "k": 1}',
    {"Content-Type": "application/json"}))))
server.terminate()
assert server.wait() == 0
"""


def run(*command, **options):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, **options)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}\nexit {done.returncode}\n{done.stdout[-6000:]}")
    return done.stdout


class System:
    """A copy of a bare Debian, which is made once."""

    def __init__(self, suite):
        bare = os.path.join(PLACE, "bare-" + suite)
        if not os.path.exists(bare):
            os.makedirs(PLACE, exist_ok=True)
            run("debootstrap", "--variant=minbase", "--include=python3,python3-venv", suite,
                bare + ".part", MIRROR)
            os.rename(bare + ".part", bare)
        self.root = tempfile.mkdtemp(prefix=suite + "-", dir=PLACE)
        run("cp", "--archive", bare + "/.", self.root)
        shutil.copy("/etc/resolv.conf", os.path.join(self.root, "etc"))

    def add(self, *paths):
        for path in paths:
            shutil.copy(path, os.path.join(self.root, "root"))

    def write(self, name, text):
        with open(os.path.join(self.root, "root", name), "w", encoding="utf-8") as f:
            f.write(text)

    def run(self, script, network=False):
        """Runs a shell script in it as root, in /root; processes and mounts end with it."""
        inside = f'mount -t proc proc "{self.root}/proc" && exec chroot "{self.root}" /bin/sh -ec "$0"'
        return run("unshare", "--mount", "--pid", "--fork", "--kill-child",
                   *([] if network else ["--net"]), "sh", "-c", inside, "cd /root\n" + script,
                   env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                        "HOME": "/root", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"})

    def remove(self):
        run("rm", "-rf", "--one-file-system", self.root)


class Packages(support.Case):
    def system(self, suite):
        made = System(suite)
        self.addCleanup(made.remove)
        made.add(DATA)
        return made

    def dist(self, pattern):
        found = glob.glob(os.path.join(support.ROOT, "dist", pattern))
        self.assertNotEqual(found, [], pattern)
        return found

    def setUp(self):
        super().setUp()
        # What the program of this tree answers.
        self.ease("train", DATA, "-o", "m.ease", "--lambda", "500")
        self.expected = self.recommend_of(self.ease("recommend", "m.ease", "--history",
                                                    "express,mongoose").out)

    def recommend_of(self, text):
        rows = re.findall(r"(?m)^ *\d+ +(-?[\d.]+)  (\S+)$", text)
        self.assertEqual(len(rows), 10, text)
        return [(name, float(score)) for score, name in rows]

    def same_lists(self, text, tolerance):
        got = self.recommend_of(text)
        self.assertEqual([name for name, _ in got], [name for name, _ in self.expected])
        for (_, score), (_, wanted) in zip(got, self.expected):
            self.assertLessEqual(abs(score - wanted), tolerance)

    def wheel_works(self, suite):
        system = self.system(suite)
        version = system.run("python3 -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])'").strip()
        numpy = self.path("numpy")
        support.pip(sys.executable, "download", "--no-deps", "--only-binary=:all:",
                    "--python-version", version, "--dest", numpy, "numpy")
        system.add(*glob.glob(numpy + "/*"), *self.dist("easerec-*-manylinux_2_34_*.whl"))
        system.run("python3 -m venv v && v/bin/pip install --no-index --find-links . easerec")
        out = system.run("export PATH=/root/v/bin:$PATH\n"
                         "ease train npm.tsv.gz -o m.ease --lambda 500 --quiet\n"
                         "ease recommend m.ease --history express,mongoose")
        self.same_lists(out, 0.0)  # the same OpenBLAS, therefore the same bits
        system.write("module.py", MODULE)
        self.assertEqual(system.run("v/bin/python module.py").strip(), "1500")
        self.same_lists(system.run("v/bin/ease recommend own.ease --history express,mongoose"), 0.0)
        system.run("v/bin/pip uninstall --yes easerec\ntest ! -e v/bin/ease")

    def sdist_builds(self, suite):
        """With the packages that docs/installing.md names. The compiler comes first: what
        is missing then is named in one message."""
        with open(os.path.join(support.ROOT, "docs", "installing.md"), encoding="utf-8") as f:
            documented = re.search(r"(?m)^    apt-get install (gcc [^\n]+)$", f.read())[1].split()
        system = self.system(suite)
        system.add(*self.dist("easerec-*.tar.gz"))
        # Certificates of this system, where PyPI is reached through another host.
        certificates = os.path.join(system.root, "etc/ssl/certs")
        os.makedirs(certificates, exist_ok=True)
        shutil.copy("/etc/ssl/certs/ca-certificates.crt", certificates)
        install = "PIP_CERT=/etc/ssl/certs/ca-certificates.crt v/bin/pip install easerec-*.tar.gz"
        compiler = {"gcc", "libc6-dev"}
        system.run("python3 -m venv v\napt-get update -q\napt-get install -q -y "
                   "--no-install-recommends " + " ".join(compiler), network=True)
        with self.assertRaises(AssertionError) as refused:
            system.run(install, network=True)
        named = re.search(r"(?m)^ *apt-get install ([^\n]+)$", str(refused.exception))
        self.assertIsNotNone(named, str(refused.exception))
        self.assertEqual(set(named[1].split()) | compiler, set(documented))
        system.run("apt-get install -q -y --no-install-recommends " + named[1], network=True)
        system.run(install, network=True)
        out = system.run("export PATH=/root/v/bin:$PATH\n"
                         "ease train npm.tsv.gz -o m.ease --lambda 500 --quiet\n"
                         "ease recommend m.ease --history express,mongoose")
        self.same_lists(out, 0.0 if suite == "bookworm" else 1e-3)
        system.write("module.py", MODULE)
        self.assertEqual(system.run("v/bin/python module.py").strip(), "1500")

    def debs_work(self, suite):
        system = self.system(suite)
        debs = self.dist("*.deb")
        names = sorted(os.path.basename(d).split("_")[0] for d in debs)
        self.assertEqual(names, ["ease", "ease-server", "libease-dev", "libease1", "python3-ease"])
        system.add(*debs, os.path.join(support.ROOT, "examples/c/recommend.c"))
        system.run("apt-get update -q\napt-get install -q -y --no-install-recommends ./*.deb",
                   network=True)
        # In trixie with the kernels of a newer OpenBLAS: other bits, float16 weights.
        tolerance = 0.0 if suite == "bookworm" else 1e-3
        self.same_lists(system.run("ease train npm.tsv.gz -o m.ease --lambda 500 --quiet\n"
                                   "ease recommend m.ease --history express,mongoose"), tolerance)
        system.write("module.py", MODULE)
        self.assertEqual(system.run("python3 module.py").strip(), "1500")
        self.same_lists(system.run("ease recommend own.ease --history express,mongoose"), tolerance)
        system.write("served.py", SERVED)
        self.assertIn("body-parser", system.run("python3 served.py", network=True))
        files = system.run("dpkg -L ease ease-server")
        for wanted in ("/man1/ease.1.gz", "/bash-completion/completions/ease",
                       "/zsh/vendor-completions/_ease", "/fish/vendor_completions.d/ease.fish",
                       "/systemd/system/ease-serve.service", "/systemd/system/ease-serve.socket"):
            self.assertIn(wanted, files)
        self.assertEqual(glob.glob(system.root + "/etc/systemd/system/*/ease-serve*"), [])

        # Programs by pkg-config and by CMake.
        system.run("apt-get install -q -y --no-install-recommends gcc libc6-dev pkg-config cmake make",
                   network=True)
        system.write("CMakeLists.txt", CMAKE_PROJECT)
        system.run("cc recommend.c $(pkg-config --cflags --libs ease) -o by-pkg-config\n"
                   "cmake -S . -B user && cmake --build user")
        for program in "./by-pkg-config", "user/shared", "user/static":
            out = system.run(f"{program} npm.tsv.gz express mongoose")
            self.assertEqual(len(out.splitlines()), 10, out)
            self.assertIn("body-parser", out)

        system.run("apt-get purge -q -y ease libease1 libease-dev python3-ease ease-server")
        self.assertEqual(system.run("find / -xdev -name '*ease*' \\( -path '/usr/bin/*' -o -path "
                                    "'*ist-packages*' -o -name 'libease*' -o -path '/etc/*' \\) "
                                    "! -path '/root/*' ! -name '*release*' ! -path '*/python3.*/*'"), "")


for name in SUITES:
    setattr(Packages, f"test_the_wheel_works_in_a_bare_{name}",
            lambda self, suite=name: self.wheel_works(suite))
    setattr(Packages, f"test_the_debian_packages_work_in_a_bare_{name}",
            lambda self, suite=name: self.debs_work(suite))
    setattr(Packages, f"test_the_sdist_builds_in_a_bare_{name}",
            lambda self, suite=name: self.sdist_builds(suite))


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("tests/packages.py: chroot needs root")
    support.main()
