"""A line that says how far a call is: on standard error in a terminal, or as one output that
updates itself in a notebook."""

from __future__ import annotations

import importlib
import sys
import time
from typing import Any, Callable, Optional, TextIO, Union

#: None: where someone looks; a function is called with a stage and a fraction.
ShowProgress = Union[None, bool, Callable[[str, float], Any]]

WIDTH = 24
DELAY = 0.5  # what is done sooner needs no bar
INTERVAL = 0.25  # between the updates of a notebook, each of which is a message


def in_notebook() -> bool:
    """Whether outputs go to a notebook: of Jupyter, Colab, VS Code or nbconvert."""
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    return getattr(shell.get_ipython(), "kernel", None) is not None


class Bar:
    """Called with (stage, fraction); `with` clears the line in the end."""

    def __init__(self, stream: Optional[TextIO] = None, delay: float = DELAY):
        self.stream = stream or sys.stderr
        self.began = time.monotonic()
        self.delay = delay
        self.shown = 0

    def __call__(self, stage: str, fraction: float) -> None:
        seconds = time.monotonic() - self.began
        if seconds >= self.delay:
            self.draw(text_of(stage, fraction, seconds), seconds)

    def draw(self, text: str, seconds: float) -> None:
        self.stream.write("\r" + text.ljust(self.shown))
        self.stream.flush()
        self.shown = len(text)

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, kind: Any, *unused: Any) -> None:
        if self.shown:
            self.stream.write("\r" + " " * self.shown + "\r")
            self.stream.flush()


def text_of(stage: str, fraction: float, seconds: float) -> str:
    if fraction < 0:
        return f"{stage} {seconds:.0f} s"
    full = int(WIDTH * min(fraction, 1.0))
    bar = "#" * full + "." * (WIDTH - full)
    return f"{stage} [{bar}] {100 * min(fraction, 1.0):3.0f} % {seconds:.0f} s"


class Line:
    """A text that a notebook shows as it is."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


class NotebookBar(Bar):
    """The same as one output of a cell, which says in the end what was done and how long
    it took."""

    def __init__(self, what: str, delay: float = DELAY):
        super().__init__(delay=delay)
        self.what = what
        self.handle: Any = None
        self.last = 0.0

    def draw(self, text: str, seconds: float) -> None:
        if self.handle is None:
            display = importlib.import_module("IPython.display").display
            self.handle = display(Line(text), display_id=True)
        elif seconds - self.last < INTERVAL:
            return
        else:
            self.handle.update(Line(text))
        self.last = seconds

    def __exit__(self, kind: Any, *unused: Any) -> None:
        if self.handle is not None:
            seconds = time.monotonic() - self.began
            end = "done in" if kind is None else "stopped after"
            self.handle.update(Line(f"{self.what}: {end} {seconds:.1f} s"))


class Silent:
    """What the library is told instead of a bar: a function, or None."""

    def __init__(self, tell: Optional[Callable[[str, float], Any]]):
        self.tell = tell

    def __enter__(self) -> Optional[Callable[[str, float], Any]]:
        return self.tell

    def __exit__(self, *unused: Any) -> None:
        pass


def watching(show: ShowProgress, what: str = "ease") -> Union[Bar, Silent]:
    """What a call of the library is watched by; ``what`` is the call. A call within another
    one is given the watch of that, or False, so that both share one line."""
    if callable(show):
        return Silent(show)
    notebook = in_notebook()
    if show is None:
        stream = sys.stderr
        show = notebook or bool(stream and stream.isatty())
    if not show:
        return Silent(None)
    return NotebookBar(what) if notebook else Bar()
