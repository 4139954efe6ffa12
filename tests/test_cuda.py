"""The plugin of the backend cuda, as far as a machine without a GPU can tell: it compiles
wherever nvcc is, and does what it should on an emulated GPU (emulated_cuda.h) wherever the
headers of CUDA are. bench/cuda.py runs its conformance suite where a GPU is."""

import os
import shutil
import subprocess
import unittest

import emulate
from support import BUILD, EASE, ROOT, SANITIZED, Case, main

SUITE = os.path.join(BUILD, "tests", "run_backend_suite")


def said(*command, **env):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, env={**os.environ, **env})
    return done.returncode, done.stdout


@unittest.skipUnless(shutil.which("nvcc"), "no nvcc")
class Plugin(Case):
    def make(self):
        code, text = said("cmake", "-S", ROOT, "-B", self.path("build"), "-G", "Ninja",
                          "-DEASE_CUDA=ON", "-DEASE_TESTS=OFF", "-DEASE_SERVER=OFF",
                          "-DEASE_CUDA_ARCHITECTURES=90")
        self.assertEqual(code, 0, text)
        code, text = said("cmake", "--build", self.path("build"), "--target", "ease-cuda")
        self.assertEqual(code, 0, text)
        self.assertNotIn("warning", text)
        return self.path("build/libease-cuda.so")

    def test_it_compiles_and_exports_its_table_alone(self):
        plugin = self.make()
        _, symbols = said("nm", "-D", "--defined-only", plugin)
        self.assertEqual([line.split()[-1] for line in symbols.splitlines()],
                         ["ease_backend_v1"])
        _, needed = said("nm", "-D", "--undefined-only", plugin)
        self.assertNotIn(" ease_", needed)  # nothing of the library
        code, text = said(SUITE, plugin)
        if "cannot open shared object" in text:
            self.skipTest("the libraries of CUDA cannot be loaded")
        if code == 77:
            self.assertRegex(text, "NVIDIA|GPU")
        else:
            self.assertEqual(code, 0, text)


@unittest.skipUnless(emulate.headers(), "no headers of CUDA")
@unittest.skipIf(SANITIZED, "threads of the emulated GPU are not threads of a sanitizer")
class Emulated(Case):
    def make(self, name, *more):
        out = self.path(name)
        self.assertEqual(emulate.compile_plugin(self.dir, out, *more), "")
        return out

    def test_calls_keep_to_what_they_announce(self):
        program = self.make("gpu_calls", os.path.join(ROOT, "tests", "gpu_calls.cpp"))
        self.assertEqual(said(program), (0, "0 failed\n"))

    def test_the_suite_passes_with_the_matrix_on_the_device_and_on_the_host(self):
        plugin = self.make("libease-cuda.so", "-shared")
        for seed, limit in (("1", []), ("2", ["1"])):
            with self.subTest(limit=limit):
                code, text = said(SUITE, plugin, *limit, EMULATED_SEED=seed)
                self.assertEqual(code, 0, text)

    def test_the_program_trains_on_it(self):
        self.make("libease-cuda.so", "-shared")
        shutil.copy(EASE, self.path("ease"))
        self.ease("synth", "-o", "data.csv", "--users", 1000, "--items", 1200, "--interactions",
                  30000, "-q")
        tops = []
        for backend in ("cpu", "cuda"):
            code, text = said(self.path("ease"), "train", self.path("data.csv"), "-o",
                              self.path(backend + ".ease"), "--lambda", "50", "--backend", backend)
            self.assertEqual(code, 0, text)
            self.assertNotIn("again", text)
            text = self.ease("recommend", backend + ".ease", "--users", "data.csv", "-k", "1",
                             "--csv").out
            tops.append([line.split(",")[:3] for line in text.splitlines()])
        differ = sum(a != b for a, b in zip(*tops))
        self.assertEqual(len(tops[0]), len(tops[1]))
        self.assertLessEqual(differ, len(tops[0]) // 100)  # scores that tie but for rounding


if __name__ == "__main__":
    main()
