"""Where the library's messages go: warnings, or the logger ``ease``."""

from __future__ import annotations

import logging
import sys
import warnings

logger = logging.getLogger("ease")


def outside() -> int:
    """The stack level of the nearest caller that is no part of this package, for whom a
    warning is."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).split(".")[0] == "ease":
        frame, level = frame.f_back, level + 1
    return level


def tell(level: int, text: str) -> None:
    if level <= 1:
        warnings.warn(text, RuntimeWarning, stacklevel=outside())
    else:
        logger.log(logging.INFO if level == 2 else logging.DEBUG, text)
