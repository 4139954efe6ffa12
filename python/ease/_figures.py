"""Figures: SVG by the library; PNG and PDF, and axes of matplotlib, by matplotlib."""

from __future__ import annotations

import importlib
import os
import tempfile
from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple

import numpy as np

from . import _ease
from ._data import path_bytes
from ._ids import Array
from ._progress import ShowProgress, watching

SUFFIXES = (".svg", ".png", ".pdf")
MOST_MODELS = 8  # of a figure
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#888888"


class Figure:
    """A figure that a notebook shows, and that :meth:`save` writes to a file. ``svg`` is its
    text."""

    def __init__(self, write: Callable[[bytes], None], draw: Callable[[Sequence[Any]], None],
                 panels: int = 1):
        self._write = write
        self._draw = draw
        self._panels = panels
        self._text = ""

    @property
    def svg(self) -> str:
        if not self._text:
            with tempfile.TemporaryDirectory(prefix="ease-") as place:
                path = os.path.join(place, "figure.svg")
                self._write(path_bytes(path))
                with open(path, encoding="utf-8") as f:
                    self._text = f.read()
        return self._text

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: Any) -> None:
        """Writes the figure as SVG, or with matplotlib as PNG or PDF, by the suffix of the
        path. A path without a suffix is SVG."""
        name = os.fsdecode(path)
        suffix = os.path.splitext(name)[1].lower()
        if suffix not in ("", *SUFFIXES):
            raise ValueError(f"{name}: figures are SVG, PNG or PDF: give a name that ends in "
                             f"{', '.join(SUFFIXES)}")
        if suffix in ("", ".svg"):
            self._write(path_bytes(path))
            return
        figure = matplotlib("figure", f"a figure in {suffix[1:].upper()}").Figure(
            figsize=(6.4 * min(self._panels, 3), 4.4 * -(-self._panels // 3)),
            layout="constrained")
        axes = figure.subplots(-(-self._panels // 3), min(self._panels, 3), squeeze=False).ravel()
        self._draw(axes[:self._panels])
        for unused in axes[self._panels:]:
            unused.set_axis_off()
        figure.savefig(name, dpi=150)

    def on(self, ax: Any) -> Any:
        """Draws the figure on an axis of matplotlib, or several if it has several panels, and
        returns it."""
        axes = list(np.ravel(ax))
        if len(axes) != self._panels:
            raise ValueError(f"this figure has {self._panels} panels: ax has an axis for each, "
                             f"not {len(axes)}")
        self._draw(axes)
        return ax

    def give(self, path: Any, ax: Any) -> Any:
        """What a method `plot` returns."""
        if path is not None and ax is not None:
            raise ValueError("path or ax, not both")
        if ax is not None:
            return self.on(ax)
        if path is not None:
            self.save(path)
            return None
        return self


def matplotlib(module: str, what: str) -> Any:
    try:
        return importlib.import_module(f"matplotlib.{module}")
    except ImportError:
        raise ImportError(f"matplotlib is needed for {what}: pip install matplotlib") from None


# ---- weights --------------------------------------------------------------------------


def weights_figure(model: Any, show_progress: ShowProgress, what: str) -> Figure:
    """The histogram of a model's weights."""
    def write(path: bytes) -> None:
        with watching(show_progress, what) as watch:
            model.plot(path, watch)

    def draw(axes: Sequence[Any]) -> None:
        edges, counts = np.empty(129, np.float64), np.empty(128, np.int64)
        with watching(show_progress, what) as watch:
            bins, zero, below, above = model.count_weights(edges, counts, watch)
        left, width = edges[:bins], np.diff(edges[:bins + 1])
        ax, = axes
        negative = left < 0
        for part, color, name in ((negative, ORANGE, "negative"), (~negative, BLUE, "positive")):
            ax.bar(left[part], counts[:bins][part], width[part], align="edge", color=color,
                   label=f"{name}: {counts[:bins][part].sum():,}")
        ax.bar([0.0], [zero], width.min() / 4, color=GREY, label=f"exactly 0: {zero:,}")
        ax.set_yscale("log")
        ax.set(title="Learned weights", xlabel="Weight", ylabel="Number of weights")
        if below or above:
            ax.plot([], [], " ", label=f"not shown: {below + above:,}")
        ax.legend(frameon=False)

    return Figure(write, draw)


# ---- the long tail --------------------------------------------------------------------


def tail_figure(reports: Mapping[str, Any]) -> Figure:
    """How often items are in the lists of each report."""
    if not isinstance(reports, Mapping) or not 1 <= len(reports) <= MOST_MODELS:
        raise ValueError(f"reports are a dict from 1 to {MOST_MODELS} names to reports")
    tails: Dict[str, Array] = {}
    lengths = set()
    for name, report in reports.items():
        times, k = report._times()
        tails[str(name)] = times
        lengths.add(k)
    items = {len(times) for times in tails.values()}
    if len(lengths) > 1 or len(items) > 1:
        raise ValueError("reports of lists of the same length, and of models of the same number "
                         f"of items, fit a figure: K is {sorted(lengths)}, items {sorted(items)}")

    def write(path: bytes) -> None:
        _ease.plot_longtail([(n.encode("utf-8", "replace").replace(b"\0", b""), t)
                             for n, t in tails.items()], items.copy().pop(),
                            lengths.copy().pop(), path)

    def draw(axes: Sequence[Any]) -> None:
        ax, = axes
        for name, times in tails.items():
            counts = np.sort(times[times > 0])[::-1]
            ax.plot(np.arange(1, len(counts) + 1), counts, label=f"{name}: {len(counts):,} items")
        ax.set(xscale="log", yscale="log", title="How often each item is recommended",
               xlabel="Rank of the item", ylabel="Lists that hold the item")
        ax.legend(frameon=False)

    return Figure(write, draw)


def plot_long_tail(reports: Mapping[str, Any], path: Any = None, *, ax: Any = None) -> Any:
    """Draws how often each item is in the lists of several models, from the reports of
    :func:`ease.evaluate` by name. ``path`` writes SVG, PNG or PDF, ``ax`` draws on an axis of
    matplotlib; without them a :class:`ease.Figure` is returned, which notebooks show.

    >>> import ease
    >>> X = [[1, 1, 0], [1, 1, 1], [0, 1, 1], [1, 1, 0]]
    >>> reports = {f"lambda {v}": ease.evaluate(ease.EASE(lambda_=v).fit(X), [[1, 0, 0]],
    ...                                         [[0, 1, 0]], metrics="hit@1") for v in (1, 9)}
    >>> ease.plot_long_tail(reports).svg[:4]
    '<svg'
    """
    return tail_figure(reports).give(path, ax)


# ---- trials ---------------------------------------------------------------------------

Axis = Tuple[str, Array, bool]  # name, the value of each trial, whether its scale is logarithmic


def axis_of(name: str, values: Sequence[Any]) -> Axis:
    numbers = np.array([np.nan if v is None else v for v in values], np.float64)
    some = numbers[np.isfinite(numbers)]
    return name, numbers, bool(len(some) and some.min() > 0 and some.max() / some.min() >= 10)


def trials_figure(axes: List[Axis], mean: Array, error: Array, best: int, metric: str) -> Figure:
    """A metric by each setting that was searched."""
    if not axes:
        raise ValueError("there is no figure of parameters that are no numbers or have one value")
    drawn = axes[:8]

    def write(path: bytes) -> None:
        _ease.plot_trials([("lambda" if n == "lambda_" else n, v, int(log)) for n, v, log in drawn],
                          mean, error, best, metric, path)

    def draw(panels: Sequence[Any]) -> None:
        for ax, (name, values, logarithmic) in zip(panels, drawn):
            order = np.argsort(values, kind="stable")
            lines = "-" if len(drawn) == 1 else ""
            ax.errorbar(values[order], mean[order], np.nan_to_num(error[order]), fmt="o" + lines,
                        color=BLUE, markersize=4, linewidth=1.5)
            ax.plot(values[best], mean[best], "o", color=ORANGE, markersize=8,
                    label=f"best: {values[best]:.6g}")
            if logarithmic:
                ax.set_xscale("log")
            ax.set(xlabel=name.rstrip("_"), ylabel=metric)
            ax.legend(frameon=False)

    return Figure(write, draw, len(drawn))
