"""The program as a process: which libraries it loads, under which limits it runs."""
import glob
import os
import resource
import subprocess
import unittest

import support

TAKEN_OVER = r"""
#include <unistd.h>
__attribute__((constructor)) static void take_over(void) { _exit(99); }
"""

LARGE_MACHINE = r"""
int omp_get_num_procs(void) { return 200; }
"""

EASE = ("--lambda", 10)
WMF = ("--model", "wmf", "--set", "rank=8,iterations=2")


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


@unittest.skipIf(support.SANITIZED, "a sanitizer needs any amount of address space")
class AddressSpace(support.Case):
    """OpenBLAS maps 128 MiB a processor when it is loaded, or hangs."""

    def limited(self, kind, mebibytes, *args, **how):
        return self.ease(*args, **how, before=lambda: resource.setrlimit(
            kind, (mebibytes << 20, mebibytes << 20)))

    def test_a_process_that_cannot_have_it_ends_with_a_message(self):
        for kind, mebibytes in ((resource.RLIMIT_AS, 150), (resource.RLIMIT_DATA, 100)):
            for args in (("--version",), ("train", "data.csv", "-o", "m.ease")):
                with self.subTest(kind=kind, args=args):
                    r = self.limited(kind, mebibytes, *args, code=4)
                    self.assertRegex(r.err, r"\Aease: OpenBLAS needs 128 MiB.*\n\Z")
                    self.assertEqual(r.out, "")

    def test_one_buffer_suffices_for_what_does_not_solve(self):
        version = self.ease("--version").out
        self.ease("synth", "-o", "data.csv", "--users", 30, "--items", 20,
                  "--interactions", 90, "--quiet")
        self.ease("train", "data.csv", "-o", "m.ease", *EASE, "--quiet")
        recommend = ("recommend", "m.ease", "--history", "1,2", "--csv")
        lists = self.ease(*recommend).out
        for kind, mebibytes in ((resource.RLIMIT_AS, 230), (resource.RLIMIT_DATA, 170)):
            for told in ({}, {"OMP_NUM_THREADS": "1"}, {"OMP_NUM_THREADS": "7"}):
                with self.subTest(kind=kind, told=told):
                    self.assertEqual(
                        self.limited(kind, mebibytes, "--version", env=told).out, version)
                    self.assertEqual(
                        self.limited(kind, mebibytes, *recommend, env=told).out, lists)

    def test_training_without_it_is_refused(self):
        self.ease("synth", "-o", "data.csv", "--users", 30, "--items", 20,
                  "--interactions", 90, "--quiet")
        r = self.limited(resource.RLIMIT_AS, 350, "train", "data.csv", "-o", "m.ease", *EASE,
                         code=4)
        self.assertIn("address space for the buffers of", r.err)


class Threads(support.Case):
    """OpenBLAS has buffers for a limited number of threads."""

    def setUp(self):
        super().setUp()
        self.ease("synth", "-o", "data.csv", "--users", 300, "--items", 700,
                  "--interactions", 9000, "--quiet")

    def lists(self, model, *options, clamped=False, **how):
        """The lists of all users by a model that is trained with these options."""
        said = self.ease("train", "data.csv", "-o", "m.ease", *model, *options, **how).err
        lists = self.ease("recommend", "m.ease", "--users", "data.csv", "-k", 5, "--csv",
                          *options, **how)
        found = [line for line in said.splitlines() if "OpenBLAS has buffers for" in line]
        self.assertEqual(len(found), int(clamped), said)
        return lists.out

    def test_any_number_of_threads_trains_and_recommends(self):
        for model in (EASE, WMF):
            want = self.lists(model, "--threads", 1)
            for threads in (64, 256, 1024):
                with self.subTest(model=model, threads=threads):
                    self.assertEqual(self.lists(model, "--threads", threads,
                                                clamped=threads > 64), want)

    def test_a_machine_of_very_many_processors(self):
        source, shim = self.write("large.c", LARGE_MACHINE), self.path("large.so")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", shim, source], check=True)
        self.assertEqual(self.lists(EASE, clamped=True, env={"LD_PRELOAD": shim}),
                         self.lists(EASE))


if __name__ == "__main__":
    support.main()
