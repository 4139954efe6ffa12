"""Gram matrices: all that training needs."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from . import _ease
from ._data import check_numbers, interactions, is_sparse, path_bytes, whole
from ._ids import Array, load_ids
from ._parquet import is_parquet
from ._progress import ShowProgress, watching
from ._tables import Pump, batches_of, is_path, write_items


def _options(threads: int = 0, memory_limit: Optional[int] = None,
             wide: bool = False) -> Tuple[Any, ...]:
    return (int(wide), whole(threads, 0, "threads", 2**31 - 1),
            whole(memory_limit or 0, 0, "memory_limit"))


class Gram:
    """X'X with the ids of its items; made by :func:`gram`."""

    def __init__(self, handle: _ease.Gram):
        self._handle = handle

    @property
    def info(self) -> Dict[str, Any]:
        """users, interactions (-1: unknown), items, weighted, has_sums, wide."""
        return self._handle.info()

    @property
    def item_ids(self) -> Array:
        h = self._handle
        return load_ids(self.info["items"], h.item_numbers, h.item_ids)

    def to_numpy(self) -> Array:
        """A copy, items x items in float64."""
        n = self.info["items"]
        out = np.empty((n, n), np.float64)
        self._handle.dense(out)
        return out

    def save(self, path: Any, *, show_progress: ShowProgress = None) -> None:
        """Writes a Gram file, which the program reads too."""
        with watching(show_progress) as watch:
            self._handle.save(path_bytes(path), watch)

    def __repr__(self) -> str:
        return f"<Gram matrix of {self.info['items']} items>"


def gram(X: Any, *, is_gram: bool = False, threads: int = 0,
         memory_limit: Optional[int] = None, show_progress: ShowProgress = None,
         **how: Any) -> Gram:
    """X'X of interactions, with all that :func:`ease.interactions` takes. With
    ``is_gram`` X is such a matrix already, made elsewhere: square and symmetric.

    >>> import ease
    >>> ease.gram([[1, 1], [0, 1]]).to_numpy()
    array([[1., 1.],
           [1., 2.]])
    """
    options = _options(threads, memory_limit)
    if is_gram:
        return _import_square(X, options)
    x = interactions(X, show_progress=show_progress, **how)
    with watching(show_progress) as watch:
        return Gram(_ease.gram_build(x._handle, options, watch))


def _import_square(G: Any, options: Tuple[Any, ...]) -> Gram:
    kind = type(G).__name__
    G = np.asarray(G.toarray() if is_sparse(G) else G)
    if G.ndim != 2 or G.shape[0] != G.shape[1]:
        raise ValueError(f"a Gram matrix is a square array, not {kind} of shape {G.shape}")
    check_numbers(G)
    with tempfile.TemporaryDirectory(prefix="ease-") as place:
        matrix, items = os.path.join(place, "G.npy"), os.path.join(place, "items.txt")
        np.save(matrix, np.ascontiguousarray(G, np.float64))
        with open(items, "w", encoding="ascii") as f:
            f.writelines(f"{i}\n" for i in range(len(G)))
        return Gram(_ease.gram_import([path_bytes(matrix)], path_bytes(items), -1, options,
                                      None))


def open_gram(path: Any) -> Gram:
    """Reads a Gram file of this module or of the program."""
    return Gram(_ease.gram_open(path_bytes(path), _options(), None))


def merge_grams(paths: Sequence[Any], *, show_progress: ShowProgress = None) -> Gram:
    """The sum of Gram files of disjoint sets of users; items are matched by id."""
    with watching(show_progress) as watch:
        return Gram(_ease.gram_merge([path_bytes(p) for p in paths], _options(), watch))


def import_gram(source: Any, items: Any = None, *, users: int = -1,
                columns: Optional[Sequence[str]] = None, threads: int = 0,
                memory_limit: Optional[int] = None,
                show_progress: ShowProgress = None) -> Gram:
    """Reads a Gram matrix that another engine has counted (docs/engines.md).

    source: a table item, item, count, of pairs or of one triangle: the path of a file or
    of a directory of part files, as text or Parquet, or a frame (Arrow, a reader of its
    record batches, pandas, polars, a dict). A list of them are shards, each of users that
    no other has; counts add up exactly. Or the path of a square .npy.

    items: which items there are, in this order: the path of a file or frame item, users,
    all_users as ``ease gram sql`` has it made, against which counts are checked; or ids,
    in a sequence or a file. Needed for .npy; else items are numbered as they appear.

    columns: the names of the three in Parquet or a frame that has more. users: how many
    the matrix stands for, where the list of items does not say it (-1: unknown). Parquet
    and frames need pyarrow and are read a batch at a time.

    >>> import ease, tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as pairs:
    ...     pairs.write("x,x,3\\nx,y,1\\ny,y,2\\n") and pairs.flush()
    ...     ease.import_gram(pairs.name, items=["y", "x"]).to_numpy()
    array([[2., 1.],
           [1., 3.]])
    """
    shards = list(source) if isinstance(source, (list, tuple)) else [source]
    _check_distinct([s for s in shards if is_path(s)])
    with tempfile.TemporaryDirectory(prefix="ease-") as place:
        listed = None if items is None else _list_items(items, place)
        pump, paths = Pump(place, columns), []
        for k, shard in enumerate(shards):
            batches = batches_of(shard)
            name = os.fsdecode(shard) if is_path(shard) else f"shard {k}"
            paths.append(path_bytes(shard) if batches is None else pump.add(name, batches))
        with watching(show_progress) as watch, pump:
            try:
                return Gram(_ease.gram_import(paths, listed, whole(users, -1, "users"),
                                              _options(threads, memory_limit), watch))
            except ValueError as error:
                raise ValueError(pump.say(str(error))) from None


def _check_distinct(paths: List[Any]) -> None:
    """Refuses the same file twice. The library does so too, but does not see Parquet
    files."""
    seen: Dict[Tuple[int, int], Any] = {}
    for path in paths:
        if not os.path.exists(path):
            continue
        found = os.stat(path)
        file = (found.st_dev, found.st_ino)
        if file in seen:
            raise ValueError(f"{seen[file]!s} and {path!s}: the same file, whose users "
                             "would count twice")
        seen[file] = path


def _list_items(items: Any, place: str) -> bytes:
    if is_path(items) and not is_parquet(path_bytes(items)):
        return path_bytes(items)
    name = os.path.join(place, "items")
    write_items(items, name)
    return path_bytes(name)
