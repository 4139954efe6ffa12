"""Ids as the user has them: columns of a matrix, whole numbers or strings."""

from __future__ import annotations

import functools
import operator
import uuid
from typing import Any, Callable, Iterable, List, Optional

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
WHOLE = 2.0**53  # up to here floats have all whole numbers


def encode(item: Any) -> bytes:
    """As the library has it; KeyError for what can be no id. UUIDs are their usual text, and
    floats that are whole numbers stand for these: a frame has made them of a column of ids
    where some were missing."""
    if isinstance(item, str):
        item = item.encode("utf-8", "surrogateescape")
    if isinstance(item, bytes) and b"\0" not in item:
        return item
    if isinstance(item, (bool, np.bool_)):  # of a mask
        raise KeyError(item)
    if isinstance(item, uuid.UUID):
        return str(item).encode()
    if isinstance(item, (float, np.floating)):
        number = float(item)
        if abs(number) <= WHOLE and number == int(number):
            return str(int(number)).encode()
    try:
        return str(operator.index(item)).encode()
    except TypeError:
        raise KeyError(item) from None


def is_missing(value: Any) -> bool:
    """None, NaN, or what pandas has for them, which cannot be compared."""
    return value is None or str(value) in ("<NA>", "NaT") or bool(value != value)


def load_ids(count: int, numbers: Callable[[Any], bool],
             texts: Callable[[], List[str]], kind: Optional[type] = None) -> Array:
    """int64 where all are whole numbers (or `kind` says so), else strings."""
    values = np.empty(count, np.int64)
    if kind is not str and numbers(values):
        return values
    found = texts()
    if kind is int:
        return np.array([int(t) for t in found], np.int64)
    values = np.empty(count, object)
    values[:] = found
    return values


class Ids:
    """Numbers of the library <-> ids. `find` returns the number of an id, or -1; `load`
    returns all ids, and is called when they are first needed."""

    def __init__(self, count: int, load: Callable[[], Array], find: Callable[[bytes], int],
                 what: str):
        self.count = count
        self.load = load
        self.find = find
        self.what = what

    @functools.cached_property
    def values(self) -> Array:
        return self.load()

    @functools.cached_property
    def plain(self) -> bool:
        """Whether the ids are the numbers 0, 1, ... in this order."""
        return bool(self.values.dtype == np.int64 and
                    np.array_equal(self.values, np.arange(self.count)))

    @functools.cached_property
    def permuted(self) -> bool:
        """Whether the ids are the numbers 0, 1, ... in another order."""
        return bool(not self.plain and self.values.dtype == np.int64 and
                    np.array_equal(np.sort(self.values), np.arange(self.count)))

    def number(self, item: Any) -> int:
        try:
            found = self.find(encode(item))
        except KeyError:
            found = -1
        if found < 0:
            raise KeyError(f"{self.what} {item!r} is not in the model")
        return found

    def numbers(self, items: Iterable[Any]) -> Array:
        if isinstance(items, (str, bytes)) or not hasattr(items, "__iter__"):
            raise ValueError(f"several {self.what}s are wanted, such as a list of ids, not "
                             f"{items!r}")
        return np.fromiter((self.number(i) for i in items), np.int32)

    def at(self, numbers: Array) -> Array:
        """Ids for numbers; -1 stays -1, or is None among strings."""
        if self.plain:
            return numbers
        if self.count == 0:
            return numbers.astype(np.int64)
        out = self.values[np.where(numbers < 0, 0, numbers)]
        out[numbers < 0] = -1 if out.dtype != object else None
        return out
