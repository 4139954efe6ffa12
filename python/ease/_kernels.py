"""What the BLAS inside the extension needs before it is loaded.

It chooses its kernels then.
Where it does not know the processor it takes those of 2004. Only the environment can
overrule that, and only before: so the extension is asked once, and if there are better
kernels it is unloaded, told and loaded again. What the environment was is restored.

It also maps 128 MiB for each processor, and where a limit of the process does not allow
that it tries again for ever: hence the attempt to map as much first.
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
    """Raises MemoryError where the BLAS could not map its buffers."""
    buffers = min(len(os.sched_getaffinity(0)), 64)  # which it is built for
    told = os.environ.get("OMP_NUM_THREADS", "")
    if told.isdecimal() and int(told) > 0:
        buffers = min(buffers, int(told))
    try:
        mapped = [mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
                  for size in [128 << 20] * buffers + [64 << 20]]
    except OSError:
        raise MemoryError(
            f"ease: OpenBLAS needs {128 * buffers} MiB of address space to start, and 64 MiB "
            "are needed beside it: more than 'ulimit -v' or 'ulimit -d' leaves"
            + ("; OMP_NUM_THREADS=1 in the environment makes it 128 MiB"
               if buffers > 1 else "")) from None
    for part in mapped:
        part.close()


def better_core(path: str) -> Optional[str]:
    """What the variable should be for the extension at ``path``; None: nothing."""
    library = ctypes.PyDLL(path)
    ask = library.ease_blas_core
    ask.restype = ctypes.c_char_p
    ask.argtypes = [ctypes.POINTER(ctypes.c_char_p)]
    better = ctypes.c_char_p()
    ask(ctypes.byref(better))
    name = better.value.decode() if better.value else None
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
