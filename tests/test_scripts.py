"""The scripts that run tests: whatever fails in them must not be lost."""
import os
import shutil
import subprocess
import tempfile
import unittest

import support

# Stands for another program: acts as the shell code in the variable of its name says.
STAND_IN = """#!/bin/sh
eval "$ACT_{name}"
"""
GOOD = 'echo "5 passed, 0 failed, 1 skipped"'
LOG = "build/Testing/Temporary/LastTest.log"


@unittest.skipIf(support.SANITIZED, "no part of the build")
class Scripts(support.Case):
    def setUp(self):
        super().setUp()
        self.tree = tempfile.mkdtemp(prefix="ease-scripts-")
        self.addCleanup(shutil.rmtree, self.tree, ignore_errors=True)
        for name in (".ci/run", "scripts/test"):
            os.makedirs(os.path.join(self.tree, os.path.dirname(name)))
            shutil.copy(os.path.join(support.ROOT, name), os.path.join(self.tree, name))
        os.makedirs(os.path.join(self.tree, os.path.dirname(LOG)))
        os.mkdir(os.path.join(self.tree, "bin"))
        for name in ("make", "cmake", "ctest"):
            path = os.path.join(self.tree, "bin", name)
            with open(path, "w") as f:
                f.write(STAND_IN.format(name=name))
            os.chmod(path, 0o755)

    def runs(self, *command, **acts):
        """The last line and the exit code."""
        env = dict(os.environ, PATH=self.tree + "/bin:" + os.environ["PATH"],
                   **{f"ACT_{name}": act for name, act in acts.items()})
        done = subprocess.run([os.path.join(self.tree, command[0]), *command[1:]], env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        return done.stdout.splitlines()[-1], done.returncode

    def test_all_parts_are_added_up(self):
        self.assertEqual(self.runs(".ci/run", make=GOOD), ("20 passed, 0 failed, 4 skipped", 0))

    def test_a_part_that_fails_fails_the_whole(self):
        for act, sum_of_all in (
                ('echo "4 passed, 1 failed, 1 skipped"; exit 1', "19 passed, 1 failed, 4 skipped"),
                ("exit 2", "15 passed, 1 failed, 3 skipped"),  # without its count
                ("", "15 passed, 1 failed, 3 skipped"),  # and as if all were well
                (GOOD + "; kill -9 $$", "15 passed, 1 failed, 3 skipped"),  # only a test's count
                ('echo "4 passed, 1 failed, 1 skipped"', "15 passed, 1 failed, 3 skipped")):
            with self.subTest(act=act):
                act = f"case $1 in test-long) {act or ':'} ;; *) {GOOD} ;; esac"
                self.assertEqual(self.runs(".ci/run", make=act), (sum_of_all, 1))

    def test_tests_that_die_without_a_count_are_counted(self):
        log = f"{{ {GOOD}; {GOOD}; }} >{LOG}"
        self.assertEqual(self.runs("scripts/test", "release", "long", ctest=log),
                         ("20 passed, 0 failed, 4 skipped", 0))
        self.assertEqual(self.runs("scripts/test", "release", ctest=log + "; exit 8"),
                         ("10 passed, 1 failed, 2 skipped", 1))
        self.assertEqual(self.runs("scripts/test", "release", cmake="exit 1"),
                         ("0 passed, 1 failed, 0 skipped", 1))
        self.assertEqual(self.runs("scripts/test", "release", ctest=f": >{LOG}"),
                         ("0 passed, 0 failed, 0 skipped", 1))


if __name__ == "__main__":
    support.main()
