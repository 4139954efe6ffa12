"""The program as a process: which libraries it loads, under which limits it runs."""
import glob
import os
import subprocess
import unittest

import support

TAKEN_OVER = r"""
#include <unistd.h>
__attribute__((constructor)) static void take_over(void) { _exit(99); }
"""


def is_elf(path):
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF"


@unittest.skipIf(support.SANITIZED, "a release build's concern")
class Libraries(support.Case):
    def test_no_file_of_the_build_looks_for_libraries_in_a_relative_place(self):
        built = glob.glob(support.BUILD + "/*") + glob.glob(support.BUILD + "/tests/*")
        files = [p for p in built if is_elf(p) and not p.endswith((".o", ".a"))]
        self.assertGreater(len(files), 10)
        for file in files:
            with self.subTest(file=os.path.relpath(file, support.BUILD)):
                self.assertEqual([p for p in support.library_path(file)
                                  if not os.path.isabs(p)], [])

    def test_a_library_in_the_current_directory_is_not_loaded(self):
        source = self.write("fake.c", TAKEN_OVER)
        text = subprocess.run(["readelf", "--dynamic", "--wide", support.EASE], check=True,
                              text=True, stdout=subprocess.PIPE).stdout
        needed = [line.split("[")[1].split("]")[0] for line in text.splitlines()
                  if "(NEEDED)" in line]
        self.assertIn("libxxhash.so.0", needed)
        for name in needed:
            subprocess.run(["gcc", "-shared", "-fPIC", "-o", self.path(name), source],
                           check=True)
        self.ease("--version")


if __name__ == "__main__":
    support.main()
