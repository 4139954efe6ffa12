"""The library as others meet it: its symbols, its header, its installation."""
import glob
import os
import re
import shutil
import subprocess
import unittest

import support

FORBIDDEN = re.compile(
    r"^_*(v?f?printf|puts|fputs|putchar|perror|exit|_exit|quick_exit|abort|assert_fail|"
    r"getenv|secure_getenv|setenv|setlocale|signal|sigaction|system|fork)(_chk)?$")

SHIM = r"""
#include <stdio.h>
#include <stdlib.h>
static const char *told(void) { return getenv("OPENBLAS_CORETYPE"); }
__attribute__((constructor)) static void say(void)
{
    fprintf(stderr, "told %s\n", told() ? told() : "nothing");
}
char *openblas_get_corename(void) { return "Prescott"; }
"""

CMAKE_PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
find_package(ease 0.2 REQUIRED COMPONENTS static)
foreach(KIND ease static)
  add_executable(by_${KIND} recommend.c)
  target_link_libraries(by_${KIND} PRIVATE ease::${KIND})
endforeach()
"""

UNLOADED = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
#include "ease.h"

#define FIND(name) __typeof__(name) *name##_ = (__typeof__(name) *)dlsym(library, #name)

int main(int argc, char **argv)
{
    const int64_t starts[] = {0, 2, 4, 6};
    const int32_t columns[] = {0, 1, 1, 2, 0, 2};

    for (int i = 0; argc == 2 && i < 3; i++) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        FIND(ease_interactions_from_csr);
        FIND(ease_interactions_free);
        FIND(ease_train_options_defaults);
        FIND(ease_train);
        FIND(ease_model_free);
        ease_interactions *x;
        ease_train_options o;
        ease_model *m;

        o.size = sizeof(o);
        ease_train_options_defaults_(&o);
        o.lambda = 1;
        o.threads = 4;
        if (ease_interactions_from_csr_(3, 3, starts, columns, NULL, &x, NULL) ||
            ease_train_(x, &o, &m, NULL))
            return 1;
        ease_model_free_(m);
        ease_interactions_free_(x);
        if (dlclose(library))
            return 2;
        usleep(20000); /* for OpenMP's threads to go on */
    }
    puts("done");
    return 0;
}
"""


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **options).stdout


@unittest.skipIf(support.SANITIZED, "a release build's concern")
class Library(support.Case):
    def test_only_ease_symbols_are_exported(self):
        text = run("nm", "-D", "--defined-only", os.path.join(support.BUILD, "libease.so"))
        names = [line.split()[-1] for line in text.splitlines()]
        self.assertGreater(len(names), 40)
        self.assertEqual([n for n in names if not re.match(r"ease_[a-z]", n)], [])

    def test_everything_in_the_header_is_exported(self):
        with open(os.path.join(support.ROOT, "include/ease.h")) as f:
            header = re.sub(r"/\*.*?\*/|^static inline.*?^}", "", f.read(), flags=re.S | re.M)
        declared = set(re.findall(r"\b(ease_\w+)\(", header))
        text = run("nm", "-D", "--defined-only", os.path.join(support.BUILD, "libease.so"))
        exported = {line.split()[-1] for line in text.splitlines()}
        self.assertEqual(declared - exported, set())
        self.assertEqual(exported - declared, set())

    def test_the_library_neither_prints_nor_exits(self):
        text = run("nm", "-u", os.path.join(support.BUILD, "libease.a"))
        used = {line.split()[-1] for line in text.splitlines() if line.startswith(" ")}
        self.assertTrue(used & {"pwrite", "pwrite64"})  # the list is what it seems
        self.assertEqual([n for n in used if FORBIDDEN.match(n)], [])

    def test_the_program_corrects_a_poor_choice_of_kernels(self):
        # A BLAS that does not know the processor unless it is told.
        source, shim = self.path("shim.c"), self.path("shim.so")
        with open(source, "w") as f:
            f.write(SHIM)
        run("gcc", "-shared", "-fPIC", "-o", shim, source)
        env = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
        program = os.path.join(support.BUILD, "ease")
        ran = subprocess.run([program, "--version"], text=True, capture_output=True,
                             env=dict(env, LD_PRELOAD=shim))
        self.assertEqual(ran.returncode, 0)
        self.assertEqual(ran.stdout, run(program, "--version"))
        with open("/proc/cpuinfo") as f:
            flags = f.read()
        wanted = ["told nothing"]
        if "avx2" in flags:
            wanted.append("told " + ("SkylakeX" if "avx512vl" in flags else "Haswell"))
        self.assertEqual(ran.stderr.splitlines(), wanted)
        told = subprocess.run([program, "--version"], text=True, capture_output=True,
                              env=dict(env, LD_PRELOAD=shim, OPENBLAS_CORETYPE="Prescott"))
        self.assertEqual(told.stderr.splitlines(), ["told Prescott"])

    def test_the_library_can_be_closed_after_it_was_used(self):
        source, program = self.write("unloaded.c", UNLOADED), self.path("unloaded")
        run("gcc", "-I", os.path.join(support.ROOT, "include"), source, "-o", program)
        self.assertEqual(run(program, os.path.join(support.BUILD, "libease.so")), "done\n")

    def test_the_header_stands_alone_in_c_and_cpp(self):
        header = os.path.join(support.ROOT, "include/ease.h")
        run("gcc", "-std=c99", "-pedantic-errors", "-Wall", "-Werror", "-fsyntax-only",
            "-include", header, "-x", "c", os.devnull)
        run("clang", "-std=c++11", "-Wall", "-Werror", "-fsyntax-only",
            "-include", header, "-x", "c++", os.devnull)

    def test_the_example_in_the_header_works(self):
        with open(os.path.join(support.ROOT, "include/ease.h")) as f:
            comment = f.read().split("*/")[0]
        lines = comment[comment.index(" *     #include"):].split(" *     }\n")[0].splitlines()
        source = self.write("example.c", "\n".join(l[7:] for l in lines) + "\n}\n")
        program, place = self.path("example"), self.path("")
        run("gcc", "-std=c99", "-Wall", "-Wextra", "-Werror",
            "-I", os.path.join(support.ROOT, "include"), source, "-o", program,
            os.path.join(support.BUILD, "libease.so"), "-Wl,-rpath," + support.BUILD)
        shutil.copy(os.path.join(support.ROOT, "examples/npm.tsv.gz"), place)
        out = run(program, cwd=place)
        self.assertEqual(len(out.splitlines()), 10)
        self.assertIn("body-parser", out)
        self.assertTrue(os.path.exists(self.path("npm.ease")))

    def test_the_installed_library_serves_a_c_program(self):
        prefix, program = self.path("usr"), self.path("recommend")
        run("cmake", "--install", support.BUILD, "--prefix", prefix)
        found = [os.path.relpath(p, prefix)
                 for p in glob.glob(prefix + "/**", recursive=True) if os.path.isfile(p)]
        for wanted in ("bin/ease", "include/ease.h", "share/man/man1/ease.1",
                       "share/bash-completion/completions/ease"):
            self.assertIn(wanted, found)
        for file in ("bin/ease", next(p for p in found if p.endswith("/libease.so"))):
            self.assertEqual([p for p in support.library_path(os.path.join(prefix, file))
                              if not os.path.isabs(p)], [], file)
        config = glob.glob(prefix + "/**/ease.pc", recursive=True)[0]
        env = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(config))
        flags = run("pkg-config", "--cflags", "--libs", "ease", env=env).split()
        self.assertIn(run("pkg-config", "--modversion", "ease", env=env).strip(),
                      run(prefix + "/bin/ease", "--version"))
        library = os.path.dirname(glob.glob(prefix + "/**/libease.so", recursive=True)[0])
        run("gcc", "-Wall", "-Werror", os.path.join(support.ROOT, "examples/c/recommend.c"),
            "-o", program, *flags)
        out = run(program, os.path.join(support.ROOT, "examples/npm.tsv.gz"), "express",
                  "body-parser", "mongoose", env=dict(os.environ, LD_LIBRARY_PATH=library))
        self.assertEqual(len(out.splitlines()), 10)
        self.assertIn("morgan", out)
        self.assertIn("cookie-parser", out)

    def test_cmake_finds_the_installed_library(self):
        run("cmake", "--install", support.BUILD, "--prefix", self.path("usr"))
        os.rename(self.path("usr"), self.path("moved"))
        self.write("CMakeLists.txt", CMAKE_PROJECT)
        shutil.copy(os.path.join(support.ROOT, "examples/c/recommend.c"), self.dir)

        def configure(project):
            self.write("CMakeLists.txt", project)
            return subprocess.run(["cmake", "-S", self.dir, "-B", self.path("user"), "-G", "Ninja",
                                   "-DCMAKE_C_COMPILER=gcc", "-DCMAKE_PREFIX_PATH=" + self.path("moved")],
                                  text=True, capture_output=True)

        done = configure(CMAKE_PROJECT)
        self.assertEqual(done.returncode, 0, done.stderr)
        run("cmake", "--build", self.path("user"))
        for name in "by_ease", "by_static":
            out = run(self.path("user/" + name), os.path.join(support.ROOT, "examples/npm.tsv.gz"),
                      "express", "body-parser", "mongoose")
            self.assertEqual(len(out.splitlines()), 10)
            self.assertIn("morgan", out)
        # A version that is not there yet, and a component that there is not.
        self.assertIn("99", configure(CMAKE_PROJECT.replace("0.2", "99.0")).stderr)
        self.assertNotEqual(configure(CMAKE_PROJECT.replace("static)", "gpu)", 1)).returncode, 0)


if __name__ == "__main__":
    support.main()
