"""The BLAS inside the extension chooses its kernels when it is loaded.

Where it does not know the processor it takes those of 2004. Only the environment can
overrule that, and only before: so the extension is asked once, and if there are better
kernels it is unloaded, told and loaded again. What the environment was is restored.
"""

from __future__ import annotations

import ctypes
import glob
import os
from contextlib import contextmanager
from typing import Iterator, Optional

VARIABLE = "OPENBLAS_CORETYPE"


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
