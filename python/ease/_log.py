"""Where the library's messages go: warnings, or the logger ``ease``."""

from __future__ import annotations

import logging
import warnings

logger = logging.getLogger("ease")


def tell(level: int, text: str) -> None:
    if level <= 1:
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    else:
        logger.log(logging.INFO if level == 2 else logging.DEBUG, text)
