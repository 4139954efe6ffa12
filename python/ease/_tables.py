"""Tables of counts that are no text: Parquet and frames, through pyarrow.

The library reads text. What pyarrow reads goes there by named pipes, a batch at a time,
so that the table need not fit into memory or on a disk.
"""

from __future__ import annotations

import errno
import os
import threading
from typing import Any, BinaryIO, Iterable, Iterator, List, Optional, Sequence, Tuple

from ._data import is_frame, path_bytes
from ._frames import collect
from ._ids import encode
from ._parquet import ROWS, is_parquet, need_pyarrow, parquet_batches

LISTED = ["item", "users", "all_users"]  # what `ease gram sql` has engines write


def is_path(source: Any) -> bool:
    return isinstance(source, (str, bytes, os.PathLike))


def frame_batches(frame: Any) -> Iterator[Any]:
    pa = need_pyarrow(f"a {type(frame).__name__}")
    frame = collect(frame)
    if isinstance(frame, pa.RecordBatch):
        return iter([frame])
    if isinstance(frame, pa.RecordBatchReader):
        return iter(frame)
    if hasattr(frame, "iloc"):  # pandas, whose index is no column
        frame = pa.Table.from_pandas(frame, preserve_index=False)
    elif not hasattr(frame, "to_batches"):
        frame = pa.table(frame)
    if isinstance(frame, pa.Table):
        return iter(frame.to_batches(max_chunksize=ROWS))
    return iter(frame.to_batches())  # of a dataset


def is_table(source: Any) -> bool:
    return isinstance(source, dict) or is_frame(source) or hasattr(source, "schema")


def batches_of(source: Any) -> Optional[Iterator[Any]]:
    """None: the library reads it itself."""
    if is_path(source):
        path = path_bytes(source)
        return parquet_batches(path) if is_parquet(path) else None
    if is_table(source):
        return frame_batches(source)
    raise ValueError(f"a table of counts is a path or a frame, not a {type(source).__name__}")


# ---- as text --------------------------------------------------------------------------


def plain_column(column: Any, number: bool) -> Any:
    """Of a type that can be written; ids are strings, bytes or whole numbers."""
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_dictionary(column.type):
        column = column.dictionary_decode()
    if str(column.type) in ("string_view", "binary_view"):
        column = column.cast(pa.large_string() if str(column.type) == "string_view"
                             else pa.large_binary())
    kind = column.type
    text = (kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_binary(kind)
            or kinds.is_large_binary(kind))
    whole = kinds.is_integer(kind)
    if number and not (whole or kinds.is_floating(kind) or kinds.is_decimal(kind)):
        raise ValueError(f"counts are numbers, not {kind}")
    if not number and not (whole or text):
        raise ValueError(f"ids are whole numbers or strings, not {kind}")
    if column.null_count:
        raise ValueError("a count is missing" if number else "an id is missing")
    return column


def write_batch(batch: Any, ids: Sequence[str], counts: Sequence[str], out: BinaryIO) -> None:
    """Rows of CSV without a header; strings are quoted."""
    import pyarrow as pa
    from pyarrow import csv

    columns = [plain_column(batch.column(name), False) for name in ids]
    columns += [plain_column(batch.column(name), True) for name in counts]
    plain = pa.RecordBatch.from_arrays(columns, [str(k) for k in range(len(columns))])
    csv.write_csv(plain, out, csv.WriteOptions(include_header=False, quoting_style="needed"))


def triplet_names(names: List[str], columns: Optional[Sequence[str]]) -> List[str]:
    wanted = names if columns is None else list(columns)
    if len(wanted) != 3:
        raise ValueError(f"three columns are wanted, item, item and count: columns= says "
                         f"which of {names}")
    for name in wanted:
        if names.count(name) != 1:
            raise ValueError(f"no column {name!r}, or several: there are {names}")
    return wanted


def write_items(items: Any, path: str) -> None:
    """The list of items as the library reads it: of a table with their users, or ids."""
    with open(path, "wb") as out:
        if not is_path(items) and not is_table(items):
            write_ids(items, out)
            return
        for number, batch in enumerate(batches_of(items) or []):
            names = batch.schema.names
            if all(name in names for name in LISTED):
                out.write(b"" if number else ",".join(LISTED).encode() + b"\n")
                write_batch(batch, LISTED[:1], LISTED[1:], out)
            elif len(names) == 1:
                write_ids(plain_column(batch.column(0), False).to_pylist(), out)
            else:
                raise ValueError(f"a list of items has the columns {', '.join(LISTED)}, or "
                                 f"ids alone, not {names}")


def write_ids(ids: Iterable[Any], out: BinaryIO) -> None:
    """One a line."""
    for item in ids:
        try:
            line = encode(item)
        except KeyError:
            line = b""
        if not line or b"\n" in line or b"\r" in line:
            raise ValueError(f"{item!r} is no id of an item")
        out.write(line + b"\n")


# ---- to the library -------------------------------------------------------------------


class Pump:
    """Writes tables to named pipes in a directory, one after the other, as the library
    opens them. Whatever fails here is raised when the `with` block ends, and the library
    sees the tables end."""

    def __init__(self, place: str, columns: Optional[Sequence[str]] = None):
        self.place = place
        self.columns = columns
        self.error: Optional[BaseException] = None
        self._tables: List[Tuple[str, str, Iterable[Any]]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def add(self, name: str, batches: Iterable[Any]) -> bytes:
        """The path where the table will be read; `name` is for messages."""
        path = os.path.join(self.place, f"{len(self._tables)}.csv")
        os.mkfifo(path, 0o600)
        self._tables.append((path, name, batches))
        return path_bytes(path)

    def say(self, text: str) -> str:
        """A message with the names of the tables instead of the pipes."""
        for path, name, _ in self._tables:
            text = text.replace(path, name)
        return text

    def _open(self, path: str) -> Optional[int]:
        """For writing, once it is open for reading; None: it will not be."""
        while True:
            try:
                end = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                os.set_blocking(end, True)
                return end
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
            if self._stop.wait(0.001):
                return None

    def _write(self, name: str, batches: Iterable[Any], out: BinaryIO) -> None:
        try:
            for batch in batches:
                if self._stop.is_set():
                    return
                names = triplet_names(batch.schema.names, self.columns)
                write_batch(batch, names[:2], names[2:], out)
        except ValueError as error:
            text = str(error)
            raise ValueError(text if text.startswith(name) else f"{name}: {text}") from None

    def _run(self) -> None:
        for path, name, batches in self._tables:
            end = self._open(path)
            if end is None:
                return
            try:
                with open(end, "wb") as out:  # which goes on after a signal, as pyarrow does not
                    if self.error is None:
                        self._write(name, batches, out)
            except BrokenPipeError:  # the library has its own error
                return
            except BaseException as error:  # told in the thread that waits
                self.error = error

    def __enter__(self) -> "Pump":
        self._thread.start()
        return self

    def __exit__(self, *unused: Any) -> None:
        self._stop.set()
        self._thread.join()
        if self.error is not None:
            raise self.error from None
