"""Prepares the loading of OpenBLAS, which is inside the extension.

OpenBLAS chooses its kernels when it is loaded, and on a processor that it does not know
falls back to those of 2004. Only the environment can overrule that, and only before it is
loaded. So the extension is loaded and asked for its kernels; if there are better ones, it
is unloaded and loaded again with OPENBLAS_CORETYPE set. The environment is restored.

OpenBLAS also maps 128 MiB for each processor when it is loaded, and retries for ever if a
resource limit does not allow that. So as much is mapped, as a test, before.
"""

from __future__ import annotations

import ctypes
import glob
import mmap
import os
from contextlib import contextmanager
from typing import Iterator, Optional

VARIABLE = "OPENBLAS_CORETYPE"


def check_address_space() -> None:
    """Raises MemoryError if the BLAS could not map its buffers."""
    buffers = min(len(os.sched_getaffinity(0)), 64)  # which it is built for
    told = os.environ.get("OMP_NUM_THREADS", "")
    if told.isdecimal() and int(told) > 0:
        buffers = min(buffers, int(told))
    try:
        mapped = [mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
                  for size in [128 << 20] * buffers + [64 << 20]]
    except OSError:
        raise MemoryError(
            f"ease: OpenBLAS needs {128 * buffers} MiB of address space to start, and ease "
            "64 MiB more: 'ulimit -v' or 'ulimit -d' does not allow that"
            + ("; with OMP_NUM_THREADS=1 in the environment OpenBLAS needs 128 MiB"
               if buffers > 1 else "")) from None
    for part in mapped:
        part.close()


class BlasInfo(ctypes.Structure):
    """As ease_blas_info of the library."""
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p),
                ("core", ctypes.c_char_p), ("better", ctypes.c_char_p)]


def better_core(path: str) -> Optional[str]:
    """What the variable should be for the extension at ``path``; None: nothing."""
    library = ctypes.PyDLL(path)
    blas = BlasInfo(size=ctypes.sizeof(BlasInfo))
    library.ease_blas_describe(ctypes.byref(blas))
    name = blas.better.decode() if blas.better else None
    if name:  # else it stays loaded, for the import that follows
        close = ctypes.CDLL(None).dlclose
        close.argtypes = [ctypes.c_void_p]
        close(library._handle)
    return name


@contextmanager
def best_kernels(directory: str) -> Iterator[None]:
    """Within it the extension is to be imported."""
    found = glob.glob(os.path.join(glob.escape(directory), "_ease*.so"))
    better = None
    check_address_space()
    if VARIABLE not in os.environ and found:
        better = better_core(found[0])
    if better is None:
        yield
        return
    os.environ[VARIABLE] = better
    try:
        yield
    finally:
        del os.environ[VARIABLE]
