"""Frames out: results as tables of pandas, polars or pyarrow; queries that have no rows yet."""

from __future__ import annotations

import importlib
import sys
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

import numpy as np

from ._ids import Array, encode

KINDS = ("pandas", "polars", "pyarrow")


def frame_kind(X: Any) -> Optional[str]:
    """The library that a frame is from; None for all that is no frame of these."""
    package = type(X).__module__.split(".")[0]
    return package if package in KINDS else None


def choose_kind(as_frame: Any, *kinds: Optional[str]) -> Optional[str]:
    """The library of the frames that a call returns; None: no frames. True means the first of
    ``kinds`` that is known, or else pandas."""
    if as_frame is False or as_frame is None:
        return None
    if as_frame is True:
        return next((kind for kind in kinds if kind is not None), "pandas")
    if as_frame not in KINDS:
        raise ValueError(f"as_frame is True, False or one of {', '.join(KINDS)}, not {as_frame!r}")
    return str(as_frame)


def make_frame(columns: Mapping[str, Any], kind: str) -> Any:
    try:
        library = importlib.import_module(kind)
    except ImportError:
        others = [k for k in KINDS if k != kind and k in sys.modules]
        hint = f", or as_frame={others[0]!r}" if others else ""
        raise ImportError(f"{kind} is needed for a frame: pip install {kind}{hint}") from None
    if kind == "pyarrow":
        return library.table(dict(columns))
    return library.DataFrame(dict(columns))


def id_values(ids: Sequence[Any]) -> Array:
    """Ids as a column: whole numbers if all are, else strings."""
    if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu":
        return ids.astype(np.int64)
    listed = list(ids)
    if listed and all(isinstance(i, (int, np.integer)) and -2**63 <= i < 2**63 for i in listed):
        return np.array(listed, np.int64)
    values = np.empty(len(listed), object)
    values[:] = [encode(i).decode("utf-8", "surrogateescape") for i in listed]
    return values


def list_columns(first: str, users: Sequence[Any], second: str, items: List[Array],
                 titles: Optional[List[Array]], scores: List[Array]) -> Dict[str, Any]:
    """Lists below each other: who or what each is for, its items, titles, scores and ranks."""
    lengths = [len(s) for s in scores]
    columns: Dict[str, Any] = {
        first: np.repeat(id_values(users), lengths),
        second: np.concatenate(items) if items else np.empty(0, np.int64)}
    if columns[second].dtype.kind in "iu":
        columns[second] = columns[second].astype(np.int64)
    if titles is not None:
        columns["title"] = np.concatenate(titles) if titles else np.empty(0, object)
    columns["score"] = np.concatenate(scores) if scores else np.empty(0, np.float32)
    columns["rank"] = np.concatenate(
        [np.arange(1, n + 1) for n in lengths]) if lengths else np.empty(0, np.int64)
    return columns


# ---- frames that are queries ----------------------------------------------------------


def is_lazy(X: Any) -> bool:
    """A query of polars, which has names of columns but no rows."""
    return type(X).__name__ == "LazyFrame" and hasattr(X, "collect")


def lazy_names(X: Any) -> List[str]:
    return list(X.collect_schema().names())


def collect(X: Any, columns: Optional[Sequence[str]] = None) -> Any:
    """The rows of a query; those of others as they are."""
    if not is_lazy(X):
        return X
    return (X if columns is None else X.select(list(columns))).collect()


def head_of(X: Any, rows: int) -> Tuple[Any, List[str]]:
    """The first rows of a query, and the names of its columns."""
    head = X.head(rows).collect()
    return head, list(head.columns)
