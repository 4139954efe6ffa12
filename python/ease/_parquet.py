"""Parquet, through pyarrow: a file, or a directory of part files."""

from __future__ import annotations

import os
from typing import Any, Iterator, List

ROWS = 1 << 16  # of a batch


def need_pyarrow(what: str) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ImportError(f"pyarrow is needed for {what}: pip install pyarrow") from None
    return pyarrow


def part_files(path: bytes) -> List[bytes]:
    """A file, or the files of a directory as the library takes them."""
    if not os.path.isdir(path):
        return [path]
    return [os.path.join(path, name) for name in sorted(os.listdir(path))
            if name[:1] not in (b".", b"_")]


def is_parquet(path: bytes) -> bool:
    """By the first file; what can be read but once is left alone."""
    for name in part_files(path)[:1]:
        if os.path.isfile(name):
            with open(name, "rb") as f:
                return f.read(4) == b"PAR1"
    return False


def open_parts(path: bytes) -> Iterator[Any]:
    """Each file as pyarrow has it, open until the next; errors name it."""
    pa = need_pyarrow("Parquet")
    from pyarrow import parquet

    for name in part_files(path):
        with open(name, "rb") as f:
            try:
                yield parquet.ParquetFile(f)
            except pa.ArrowInvalid as error:
                raise ValueError(f"{os.fsdecode(name)}: {error}") from None


def parquet_batches(path: bytes) -> Iterator[Any]:
    for part in open_parts(path):
        yield from part.iter_batches(batch_size=ROWS)


def parquet_head(path: bytes, rows: int) -> Any:
    """The first rows of the first file; all files have its columns."""
    pa = need_pyarrow("Parquet")
    for part in open_parts(path):  # which stays open until the next
        first = next(part.iter_batches(batch_size=rows), None)
        return pa.Table.from_batches([] if first is None else [first], part.schema_arrow)
    raise ValueError(f"{os.fsdecode(path)}: a directory without files")


def read_parquet(path: bytes, names: List[str]) -> Any:
    """Some columns, whole."""
    pa = need_pyarrow("Parquet")
    return pa.concat_tables([part.read(columns=names) for part in open_parts(path)])
