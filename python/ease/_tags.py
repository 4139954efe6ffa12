"""Tags of items, from files, mappings, frames and pairs."""

from __future__ import annotations

import os
from typing import Any, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _ease
from ._data import check_once, find_column, is_frame, open_frame, path_bytes, text_column, whole
from ._frames import collect
from ._ids import Array, encode, is_missing
from ._parquet import is_parquet, parquet_head, read_parquet

TagColumns = Union[None, str, Sequence[Union[str, int]]]


def tag_text(text: Any, what: str) -> bytes:
    if not isinstance(text, str) or "\0" in text:
        raise ValueError(f"{what}: a text such as 'genre=Comedy', not {text!r}")
    return text.encode("utf-8", "surrogateescape")


def tag_list(tags: Any, what: str) -> List[bytes]:
    """Tags given as one text, several or None."""
    if tags is None:
        return []
    return [tag_text(t, what) for t in ([tags] if isinstance(tags, str) else tags)]


def cap_list(at_most: Optional[Mapping[str, int]]) -> List[Tuple[bytes, int]]:
    """The caps of lists, as the library has them."""
    if at_most is not None and not isinstance(at_most, Mapping):
        raise ValueError(f"at_most is a dict such as {{'author': 2}}, not {at_most!r}")
    return [(tag_text(kind, "at_most"), whole(most, 1, "at_most", 2**31 - 1))
            for kind, most in (at_most or {}).items()]


def split_tags(tags: Any, split: Optional[str]) -> List[bytes]:
    """One text or several; a missing one is none."""
    if isinstance(tags, str):
        return tag_list(tags if split is None else tags.split(split), "tags")
    if hasattr(tags, "__iter__") and not isinstance(tags, (bytes, Mapping)):
        return [t for part in tags for t in split_tags(part, split)]
    return [] if is_missing(tags) else [tag_text(tags, "tags")]


def tag_weight_of(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"tags: the weight {value!r} is not a number") from None


def tags_of_rows(rows: Iterable[Sequence[Any]], split: Optional[str],
                 kind: Optional[str]) -> _ease.Tags:
    """From rows (item, tags[, weight])."""
    items: List[bytes] = []
    tags: List[bytes] = []
    weights: List[float] = []
    weighted = False
    for item, value, *weight in rows:
        try:
            encoded = encode(item)
        except KeyError:
            raise ValueError(f"tags: {item!r} is no id of an item") from None
        found = split_tags(value, split)
        items += [encoded] * len(found)
        tags += found
        weights += [tag_weight_of(weight[0]) if weight else 1.0] * len(found)
        weighted = weighted or bool(weight)
    values: Optional[Array] = np.array(weights, np.float64) if weighted else None
    return _ease.tags_from_table(len(items), text_column(items), text_column(tags), values, kind)


def tag_columns_of(names: List[Any], columns: TagColumns) -> List[Any]:
    """The names of the columns item, tag and perhaps weight of a frame."""
    if columns is None:
        found = [n for n in ("item", "tag", "weight") if n in names]
        if found[:2] != ["item", "tag"]:
            raise ValueError("tags: a frame has the columns item, tag[, weight], unless "
                             f"tag_columns= names others: there are {names}")
    else:
        if isinstance(columns, str):
            columns = [c.strip() for c in columns.split(",")]
        if not 2 <= len(columns) <= 3:
            raise ValueError("tag_columns: item, tag[, weight]")
        found = [find_column(names, c) for c in columns]
    check_once(names, found)
    return found


def tags_of_frame(frame: Any, names: List[Any], columns: TagColumns, split: Optional[str],
                  kind: Optional[str]) -> _ease.Tags:
    chosen = tag_columns_of(names, columns)
    parts = [frame[c] for c in chosen]
    values = [(p.to_numpy() if hasattr(p, "to_numpy") else np.asarray(p)).tolist()
              for p in parts]
    if any(len(v) != len(values[0]) for v in values):
        raise ValueError(f"tags: columns of different lengths: {[len(v) for v in values]}")
    return tags_of_rows(zip(*values), split, str(chosen[1]) if kind is None else kind)


def tags_of_pairs(pairs: Iterable[Any]) -> List[Sequence[Any]]:
    rows: List[Sequence[Any]] = []
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or not 2 <= len(pair) <= 3:
            raise ValueError(f"tags: pairs are (item, tag), or (item, tag, weight), not {pair!r}")
        rows.append(pair)
    if len({len(r) for r in rows}) > 1:
        rows = [(*r, 1.0)[:3] for r in rows]
    return rows


def read_tags(tags: Any, columns: TagColumns = None, split: Optional[str] = None,
              kind: Optional[str] = None) -> Optional[_ease.Tags]:
    """Tags as the library has them, from all that :meth:`ease.EASE.fit` takes."""
    if split is not None and (not isinstance(split, str) or not split):
        raise ValueError(f"tag_split is a separator such as '|', not {split!r}")
    if tags is None or isinstance(tags, _ease.Tags):
        if columns is not None or split is not None or kind is not None:
            raise ValueError("tag_columns, tag_split and tag_kind are for tags=")
        return tags
    if isinstance(tags, (str, bytes, os.PathLike)):
        path = path_bytes(tags)
        if not is_parquet(path):
            if columns is not None and not isinstance(columns, str):
                columns = ",".join(str(c) for c in columns)
            return _ease.read_tags(path, columns, split, kind)
        chosen = tag_columns_of(list(parquet_head(path, 1).column_names), columns)
        return tags_of_frame(read_parquet(path, chosen), chosen, chosen, split, kind)
    if isinstance(tags, Mapping) and (columns is not None or {"item", "tag"} <= set(tags)):
        return tags_of_frame(tags, list(tags), columns, split, kind)  # a dict of columns
    if hasattr(tags, "items") and not hasattr(tags, "columns") and columns is None:
        return tags_of_rows(tags.items(), split, kind)
    if is_frame(tags):
        frame, names = open_frame(collect(tags))
        return tags_of_frame(frame, names, columns, split, kind)
    if columns is not None or not hasattr(tags, "__iter__"):
        raise ValueError("tags are a path, a mapping from items, a frame or pairs, not a "
                         f"{type(tags).__name__}" if columns is None else
                         "tag_columns is for files and frames")
    return tags_of_rows(tags_of_pairs(tags), split, kind)
