"""A bar on standard error, in a terminal or a notebook."""

from __future__ import annotations

import sys
import time
from typing import Any, Callable, Optional, TextIO, Union

#: None: where someone looks; a function is called with a stage and a fraction.
ShowProgress = Union[None, bool, Callable[[str, float], Any]]

WIDTH = 24
DELAY = 0.5  # what is done sooner needs no bar


def in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    found = shell.get_ipython()
    return found is not None and found.__class__.__name__ == "ZMQInteractiveShell"


class Bar:
    """Called with (stage, fraction); `with` clears the line in the end."""

    def __init__(self, stream: Optional[TextIO] = None, delay: float = DELAY):
        self.stream = stream or sys.stderr
        self.began = time.monotonic()
        self.delay = delay
        self.shown = 0

    def __call__(self, stage: str, fraction: float) -> None:
        seconds = time.monotonic() - self.began
        if seconds < self.delay:
            return
        if fraction < 0:
            text = f"{stage} {seconds:.0f} s"
        else:
            full = int(WIDTH * min(fraction, 1.0))
            bar = "#" * full + "." * (WIDTH - full)
            text = f"{stage} [{bar}] {100 * min(fraction, 1.0):3.0f} % {seconds:.0f} s"
        self.stream.write("\r" + text.ljust(self.shown))
        self.stream.flush()
        self.shown = len(text)

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *unused: Any) -> None:
        if self.shown:
            self.stream.write("\r" + " " * self.shown + "\r")
            self.stream.flush()


class Silent:
    """What the library is told instead of a bar: a function, or None."""

    def __init__(self, tell: Optional[Callable[[str, float], Any]]):
        self.tell = tell

    def __enter__(self) -> Optional[Callable[[str, float], Any]]:
        return self.tell

    def __exit__(self, *unused: Any) -> None:
        pass


def watching(show: ShowProgress) -> Union[Bar, Silent]:
    if callable(show):
        return Silent(show)
    if show is None:
        stream = sys.stderr
        show = in_notebook() or bool(stream and stream.isatty())
    return Bar() if show else Silent(None)
