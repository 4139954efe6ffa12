"""Compiles the plugin of the backend cuda for the emulated GPU of emulated_cuda.h: with the
headers of CUDA and a C++ compiler, without nvcc or a GPU."""

import glob
import os
import re
import shutil
import subprocess

from support import EASE, ROOT

LAUNCH = re.compile(r"(\w+)<<<(.*?)>>>\(", re.DOTALL)


def closing(text, at):
    """Where the parenthesis is closed that was opened before `at`."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at - 1


def split_commas(text):
    parts, depth = [""], 0
    for c in text:
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts]


def translated(source):
    """C++ that calls emulated_launch() where `source` launches a kernel."""
    made, at = [], 0
    for m in LAUNCH.finditer(source):
        name, end = m[1], closing(source, m.end())
        grid, block, shared, stream = split_commas(m[2])
        made.append(source[at:m.start()])
        made.append(f'emulated_launch("{name}", [](auto... emulated_given) '
                    f'{{ {name}(emulated_given...); }}, dim3({grid}), dim3({block}), {shared}, '
                    f"{stream}, {source[m.end():end]})")
        at = end + 1
    text = "".join(made) + source[at:]
    return text.replace("clock_gettime(", "emulated_clock(")


def headers():
    """The folder of the headers of CUDA; None: there are none."""
    nvcc = shutil.which("nvcc")
    places = ["/usr/local/cuda/include", "/usr/include"]
    if nvcc:
        places.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(nvcc))),
                                      "include"))
    return next((p for p in places if os.path.exists(os.path.join(p, "cublas_v2.h"))), None)


def openblas():
    """The OpenBLAS that the program is linked with."""
    text = subprocess.run(["ldd", EASE], check=True, text=True, stdout=subprocess.PIPE).stdout
    return re.search(r"libopenblas\S* => (\S+)", text)[1]


def compile_plugin(folder, out, *more):
    """Translates the sources into `folder`, and links them to `out`. Returns what the compiler
    says, if that is anything."""
    files = []
    for path in sorted(glob.glob(os.path.join(ROOT, "cuda", "*.cu"))):
        name = os.path.join(folder, os.path.basename(path) + ".cpp")
        with open(path, encoding="ascii") as source, open(name, "w", encoding="ascii") as made:
            made.write('#include "emulated_cuda.h"\nextern "C" int emulated_clock(clockid_t, '
                       f'struct timespec *);\n#line 1 "{path}"\n{translated(source.read())}')
        files.append(name)
    include = [f"-I{p}" for p in (os.path.join(ROOT, "tests"), ROOT, os.path.join(ROOT, "src"),
                                  os.path.join(ROOT, "cuda"))]
    done = subprocess.run(
        ["g++", "-std=c++17", "-O2", "-g", "-w", "-fPIC", "-fopenmp", "-fvisibility=hidden",
         *include, "-isystem", headers(), "-idirafter", "/usr/include/x86_64-linux-gnu/openblas-openmp",
         *more, *files, os.path.join(ROOT, "tests", "emulated_cuda.cpp"), openblas(), "-o", out],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.stdout if done.returncode else ""
