"""Interactions, from files, matrices and data frames."""

from __future__ import annotations

import csv
import math
import operator
import os
import tempfile
import uuid
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _ease
from ._frames import collect, head_of, is_lazy, lazy_names
from ._html import show_interactions
from ._ids import WHOLE, Array, Ids, encode, is_missing, load_ids
from ._log import tell
from ._parquet import is_parquet, parquet_head, read_parquet
from ._progress import ShowProgress, watching
from ._times import Time, bound, column_seconds, half_life_days

Columns = Union[None, str, Sequence[Union[None, str, int]]]

REPEATS = ("first", "last", "max", "sum")
SAMPLE = 4096  # rows that columns are recognized by
BLOCK = 65536  # users whose rows are counted at a time
TOO_LARGE = "ids above 2^63 - 1: give them as strings"


def choice(value: Any, names: Sequence[str], what: str) -> int:
    if value in names:
        return names.index(value)
    raise ValueError(f"{what}: one of {', '.join(names)}, not {value!r}")


def whole(value: Any, least: int, what: str, most: int = 2**63 - 1) -> int:
    """A number that is whole, be it of NumPy or 8e9, and within bounds."""
    try:
        number = (int(value) if isinstance(value, float) and value.is_integer()
                  else operator.index(value))
    except TypeError:
        raise ValueError(f"{what} is a whole number, not {value!r}") from None
    if not least <= number <= most:
        raise ValueError(f"{what} is at {'least' if number < least else 'most'} "
                         f"{least if number < least else most}, not {value!r}")
    return number


def path_bytes(path: Any) -> bytes:
    made = os.fsencode(path)
    if b"\0" in made:
        raise ValueError("a path with a zero byte")
    return made


def paths_of(X: Any) -> Tuple[bytes, ...]:
    """A path, or a list of paths; nothing for anything else."""
    kinds = (str, bytes, os.PathLike)
    if isinstance(X, kinds):
        return (path_bytes(X),)
    if isinstance(X, (list, tuple)) and X and all(isinstance(p, kinds) for p in X):
        return tuple(path_bytes(p) for p in X)
    return ()


class Interactions:
    """Who interacted with what, as the library stores it. Made by :func:`interactions`.

    >>> import ease
    >>> x = ease.interactions([[1, 0, 1], [0, 1, 1]])
    >>> x.shape, x.nnz
    ((2, 3), 4)
    """

    def __init__(self, handle: _ease.Interactions, user_kind: Optional[type] = None,
                 item_kind: Optional[type] = None, matrix: bool = False):
        self._handle = handle
        self._matrix = matrix  # users and items have numbers, and no ids of their own
        self._user_kind = user_kind
        self._item_kind = item_kind
        self._users: Optional[Ids] = None
        self.info: Dict[str, Any] = handle.info()

    @property
    def shape(self) -> Tuple[int, int]:
        return self.info["users"], self.info["items"]

    @property
    def nnz(self) -> int:
        return int(self.info["interactions"])

    def _plain(self) -> bool:
        """Whether the ids of the items are 0, 1, ... in this order."""
        return self._matrix or bool(np.array_equal(self.item_ids, np.arange(self.shape[1])))

    def _user_ids(self) -> Ids:
        if self._users is None:
            h, count, kind = self._handle, self.shape[0], self._user_kind
            self._users = Ids(count, lambda: load_ids(count, h.user_numbers, h.user_ids, kind),
                              h.find_user, "user")
        return self._users

    @property
    def user_ids(self) -> Array:
        """The users, in the order of the rows."""
        return self._user_ids().values

    @property
    def item_ids(self) -> Array:
        """The items, in the order of the columns."""
        h = self._handle
        return load_ids(self.shape[1], h.item_numbers, h.item_ids, self._item_kind)

    def __getitem__(self, key: Any) -> "Interactions":
        """Some users, by place: a number, a slice, a list of numbers or a mask. All items
        stay. With scikit-learn, folds of interactions are therefore folds of users."""
        from ._histories import take_users

        return take_users(self, key)

    def __reduce__(self) -> Any:
        """As arrays, so that processes of scikit-learn (``n_jobs=``) can have them."""
        from ._histories import rebuild

        ids = (self._handle.user_ids(), self._handle.item_ids()) if not self._matrix else None
        return rebuild, (Rows(*self.rows(), self.shape), ids, self._user_kind, self._item_kind)

    __iter__ = None  # by the numbers of users it would have no end

    def rows(self, first: int = 0, end: Optional[int] = None
             ) -> Tuple[Array, Array, Optional[Array]]:
        """indptr, indices and data (None: ones) of some rows."""
        end = self.shape[0] if end is None else end
        count = self._handle.count(first, end)
        indptr = np.empty(end - first + 1, np.int64)
        indices = np.empty(count, np.int32)
        data = np.empty(count, np.float32) if self.info["weighted"] else None
        self._handle.rows(first, end, indptr, indices, data)
        return indptr, indices, data

    def to_scipy(self) -> Any:
        """A copy as a SciPy CSR matrix."""
        from scipy.sparse import csr_matrix

        indptr, indices, data = self.rows()
        if data is None:
            data = np.ones(len(indices), np.float32)
        return csr_matrix((data, indices, indptr), shape=self.shape)

    def write(self, path: Any, *, show_progress: ShowProgress = None) -> None:
        """Writes a CSV with a header, user by user."""
        with watching(show_progress) as watch:
            self._handle.write(path_bytes(path), watch)

    def _counts(self) -> Tuple[Array, Array]:
        """The numbers of interactions of each user and of each item."""
        users, items = self.shape
        by_user, by_item = np.zeros(users, np.int64), np.zeros(items, np.int64)
        for first in range(0, users, BLOCK):
            indptr, indices, _ = self.rows(first, min(users, first + BLOCK))
            by_user[first:first + BLOCK] = np.diff(indptr)
            by_item += np.bincount(indices, minlength=items)
        return by_user, by_item

    def _repr_html_(self) -> str:
        return show_interactions(self)

    def __repr__(self) -> str:
        users, items = self.shape
        return f"<{users} users, {items} items, {self.nnz} interactions>"


# ---- matrices -------------------------------------------------------------------------


class Rows(NamedTuple):
    """A canonical CSR matrix in the library's types; data is None for ones."""

    indptr: Array
    indices: Array
    data: Optional[Array]
    shape: Tuple[int, int]


def is_sparse(X: Any) -> bool:
    return hasattr(X, "tocsr") and hasattr(X, "shape")


def check_numbers(data: Array) -> None:
    if data.dtype.kind not in "biuf":
        raise ValueError(f"values are numbers, not {data.dtype}")
    if data.dtype.kind == "f" and not np.isfinite(data).all():
        raise ValueError("a value is not finite")


def sparse_rows(X: Any, weights: bool) -> Rows:
    """SciPy's own arrays where they can be used as they are."""
    if len(X.shape) != 2:
        raise ValueError(f"a matrix has two dimensions, not {len(X.shape)}")
    X = X.tocsr()
    check_numbers(X.data)
    if not X.has_canonical_format or (X.data == 0).any():
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    indices = X.indices
    if indices.dtype != np.int32:
        if len(indices) and (indices.min() < 0 or indices.max() > 2**31 - 1):
            raise ValueError("a column is not within the matrix")
        indices = indices.astype(np.int32)
    return Rows(np.ascontiguousarray(X.indptr, np.int64), np.ascontiguousarray(indices),
                values_or_none(X.data, weights), X.shape)


def values_or_none(data: Array, weights: bool) -> Optional[Array]:
    if not weights or (data == 1).all():
        return None
    with np.errstate(over="ignore"):  # the library says which value is too large
        return np.ascontiguousarray(data, np.float32)


def dense_rows(X: Any, weights: bool) -> Rows:
    X = X.filled(0) if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"a matrix has two dimensions, not {X.ndim}")
    check_numbers(X)
    rows, columns = np.nonzero(X)
    indptr = np.zeros(X.shape[0] + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=X.shape[0]), out=indptr[1:])
    return Rows(indptr, columns.astype(np.int32),
                values_or_none(X[rows, columns], weights), X.shape)


def matrix_rows(X: Any, weights: bool = True) -> Rows:
    rows = sparse_rows(X, weights) if is_sparse(X) else dense_rows(X, weights)
    if rows.shape[1] > 2**31 - 1:
        raise ValueError(f"{rows.shape[1]} items are too many")
    return rows


# ---- frames ---------------------------------------------------------------------------


def is_frame(X: Any) -> bool:
    return is_lazy(X) or any(hasattr(X, a) for a in ("columns", "column_names", "__arrow_c_stream__",
                                       "__dataframe__"))


def open_frame(X: Any) -> Tuple[Any, List[Any]]:
    """Something whose columns are had by name, and the names."""
    name = f"{type(X).__module__.split('.')[0]} {type(X).__name__}"
    for remote, call in (("toPandas", "toPandas()"), ("npartitions", "compute()")):
        if hasattr(type(X), remote):  # of Spark and Dask
            raise ValueError(f"a {name} has its rows elsewhere: give its {call}")
    if hasattr(X, "column_names"):
        return X, list(X.column_names)
    if not name.startswith("duckdb") and hasattr(X, "columns") and hasattr(X, "__getitem__"):
        return X, list(X.columns)
    try:
        import pyarrow
    except ImportError:
        raise ImportError(f"pyarrow is needed for a {name}: pip install pyarrow") from None
    table = pyarrow.table(X)
    return table, list(table.column_names)


class Chosen(NamedTuple):
    """The names of the columns user, item, value and time, of which the latter two may be
    None, and the library's guess if they were recognized."""

    names: List[Any]
    guess: Optional[bytes] = None


def find_column(names: List[Any], column: Any) -> Any:
    if column is None or column in names:
        return column
    if isinstance(column, int) and -len(names) <= column < len(names):
        return names[column]
    for name in names:
        if str(name) == column:
            return name
    if isinstance(column, str) and column.isdigit() and 1 <= int(column) <= len(names):
        return names[int(column) - 1]  # as in files
    raise ValueError(f"no column {column!r}: there are {names}")


def check_once(names: List[Any], used: List[Any]) -> None:
    """Columns are had by name, and must be had one by one."""
    for name in used:
        if names.count(name) > 1:
            raise ValueError(f"{names.count(name)} columns are called {name!r}: rename them")


def choose_columns(frame: Any, names: List[Any], columns: Union[Columns, Chosen]) -> Chosen:
    """The given columns, or if there are none those that the library recognizes."""
    if isinstance(columns, Chosen):
        return columns
    if columns is None:
        return recognize(frame, names)
    if isinstance(columns, str):
        columns = [c.strip() or None for c in columns.split(",")]
    if not 2 <= len(columns) <= 4:
        raise ValueError("columns: user, item[, value[, time]]")
    found = [find_column(names, c) for c in columns]
    given = [c for c in found if c is not None]
    check_once(names, given)
    if any(c in given[:i] for i, c in enumerate(given)):
        raise ValueError(f"columns: {given} has a column twice")
    return Chosen(found + [None] * (4 - len(found)))


def recognize(frame: Any, names: List[Any]) -> Chosen:
    if len(names) < 2:
        raise ValueError("columns of users and items are required")
    check_once(names, names)
    columns = [first_texts(frame[name]) for name in names]
    rows = min(map(len, columns))
    values = [column[row] for row in range(rows) for column in columns]
    *found, guess = _ease.recognize([as_text(name) or b"" for name in names], values)
    return Chosen([names[c] if c >= 0 else None for c in found], guess)


def first_texts(column: Any) -> List[Optional[bytes]]:
    """The first values of a column as text, as they would be in a file."""
    rows = getattr(column, "iloc", column)[:SAMPLE]
    if hasattr(rows, "to_numpy"):
        rows = rows.to_numpy()
    if not isinstance(rows, np.ndarray):
        return [as_text(v) for v in rows]
    if rows.dtype.kind == "M":
        rows = rows.astype("datetime64[s]").astype(str)
    return [as_text(v) for v in rows.tolist()]


def as_text(value: Any) -> Optional[bytes]:
    """A value as text; None if it is missing."""
    if (value is None or (isinstance(value, float) and math.isnan(value))
            or str(value) in ("NaT", "<NA>")):  # pandas, which need not be there
        return None
    text = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")
    return text.split(b"\0")[0]


def arrow_strings(column: Any) -> Optional[Tuple[Array, Array]]:
    """Bytes and offsets of a pyarrow column of strings, as they lie there."""
    try:
        import pyarrow as pa
    except ImportError:
        return None
    if not isinstance(column, (pa.ChunkedArray, pa.Array)):
        return None
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = str(column.type)
    if column.null_count:
        missing = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)
                                 if isinstance(column, pa.Array) else column.is_null().to_numpy())
        refuse_missing(len(missing), int(missing[0]))
    if kind == "extension<arrow.uuid>":
        return text_column([encode(v) for v in column.to_pylist()])
    if kind not in ("string", "large_string", "string_view"):
        return None
    column = column.cast(pa.large_string())
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else None
    if column is None or len(column) == 0:
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int64)[column.offset:column.offset + len(column) + 1]
    return np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8), ends


def refuse_missing(count: int, first: int) -> None:
    raise ValueError(f"{count} {'ids are' if count > 1 else 'id is'} missing, the first in row "
                     f"{first} (from 0): leave these rows out, or give them an id")


def text_column(encoded: List[bytes]) -> Tuple[Array, Array]:
    """Bytes and offsets of texts."""
    ends = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=ends[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), ends


def id_column(column: Any, name: Any = None) -> Tuple[Any, type]:
    """What the library takes, and the kind of ids they are."""
    try:
        return _id_column(column)
    except ValueError as error:
        raise ValueError(str(error) if name is None else f"column {name!r}: {error}") from None


def _id_column(column: Any) -> Tuple[Any, type]:
    strings = arrow_strings(column)
    if strings is not None:
        return strings, str
    if isinstance(column, (list, tuple)):
        values = np.empty(len(column), object)  # of several types, NumPy would make strings
        values[:] = column
    else:
        values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    if values.dtype.kind in "iu":
        if values.dtype == np.uint64 and len(values) and int(values.max()) > 2**63 - 1:
            raise ValueError(TOO_LARGE)
        return np.ascontiguousarray(values, np.int64), int
    if values.dtype.kind == "f":
        return whole_floats(values), int
    if values.dtype.kind not in "OUTS":
        raise ValueError(f"ids are whole numbers or strings, not {values.dtype}")
    listed = values.tolist()
    kinds = set(map(type, listed))
    if kinds <= {str}:
        return text_column([v.encode("utf-8", "surrogateescape") for v in listed]), str
    if kinds == {int}:
        return whole_numbers(listed), int
    if kinds == {float}:
        return whole_floats(np.array(listed)), int
    return mixed_ids(listed)


def whole_numbers(listed: List[Any]) -> Array:
    try:
        return np.array(listed, np.int64)
    except OverflowError:
        raise ValueError(TOO_LARGE if max(map(int, listed)) > 2**63 - 1
                         else "ids below -2^63: give them as strings") from None


def whole_floats(values: Array) -> Array:
    """Ids of a column that is of floats because ids were missing once."""
    missing = np.flatnonzero(np.isnan(values))
    if len(missing):
        refuse_missing(len(missing), int(missing[0]))
    odd = values[~((values == np.floor(values)) & (np.abs(values) <= WHOLE))]
    if len(odd):
        raise ValueError(f"ids are whole numbers or strings, not {values.dtype} such as {odd[0]}")
    return values.astype(np.int64)


def mixed_ids(listed: List[Any]) -> Tuple[Any, type]:
    """Ids of several types, or of one that needs a look."""
    missing = [row for row, v in enumerate(listed) if is_missing(v)]
    if missing:
        refuse_missing(len(missing), missing[0])
    numbers = [v for v in listed if isinstance(v, (int, np.integer)) and not isinstance(v, bool)]
    texts = [v for v in listed if isinstance(v, (str, bytes, uuid.UUID))]
    if len(numbers) == len(listed):
        return whole_numbers(listed), int
    if len(texts) == len(listed):
        return text_column([v.encode("utf-8", "surrogateescape") if isinstance(v, str) else
                            v if isinstance(v, bytes) else encode(v) for v in listed]), str
    if len(numbers) + len(texts) == len(listed):
        raise ValueError(f"ids are whole numbers or strings, not both, such as {numbers[0]!r} "
                         f"and {texts[0]!r}: make them strings")
    odd = next(v for v in listed if isinstance(v, bool)
               or not isinstance(v, (int, np.integer, str, bytes, uuid.UUID)))
    raise ValueError(f"ids are whole numbers or strings, not a {type(odd).__name__} such as "
                     f"{odd!r}")


def value_column(column: Any) -> Array:
    values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    if values.dtype.kind == "O":
        values = values.astype(np.float64)
    check_numbers(values)
    return np.ascontiguousarray(values, np.float64)


def unused_values(column: Any) -> Optional[Array]:
    """Values that are only counted; None if they are not plain numbers."""
    values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    return np.ascontiguousarray(values, np.float64) if values.dtype.kind in "biuf" else None


# ---- all of them ----------------------------------------------------------------------


def read_options(columns: Columns, weights: bool, min_rating: Optional[float], repeat: str,
                 min_user: int, min_item: int, format: Optional[str],
                 separator: Optional[str], header: Optional[bool], threads: int,
                 memory_limit: Optional[int], guess: Optional[bytes] = None,
                 since: Time = None, until: Time = None, half_life: Any = None,
                 encoding: Optional[str] = None) -> Tuple[Any, ...]:
    text = columns
    if columns is not None and not isinstance(columns, str):
        text = ",".join("" if c is None else str(c) for c in columns)
    return (format, text, separator, -1 if header is None else int(header),
            math.nan if min_rating is None else float(min_rating), int(weights),
            choice(repeat, REPEATS, "repeat"), whole(min_user, 0, "min_user"),
            whole(min_item, 0, "min_item"), whole(threads, 0, "threads", 2**31 - 1),
            whole(memory_limit or 0, 0, "memory_limit"), bound(since, "since"),
            bound(until, "until"), half_life_days(half_life), encoding, guess)


def tell_of_values(unused: int, negative: int, use: str) -> None:
    if negative:
        tell(1, f"ratings are not used: every row counts as 1, also {negative} with a value "
                f"below 0; {use}")
    elif unused:
        tell(2, f"ratings are not used: every row counts as 1; {use}")


def interactions(X: Any, *, columns: Columns = None, weights: Optional[bool] = None,
                 min_rating: Optional[float] = None, repeat: str = "first",
                 min_user: int = 0, min_item: int = 0, format: Optional[str] = None,
                 separator: Optional[str] = None, header: Optional[bool] = None,
                 threads: int = 0, memory_limit: Optional[int] = None,
                 since: Time = None, until: Time = None, half_life: Any = None,
                 encoding: Optional[str] = None,
                 show_progress: ShowProgress = None) -> Interactions:
    """Takes interactions from a matrix, a frame or a file.

    ``X`` is a SciPy sparse matrix or a NumPy array (rows are users, columns items), a
    frame of pandas, polars or Arrow with a row for each interaction, or the path of any
    file that the program ``ease`` reads, or (through pyarrow) of Parquet. The path may be a
    directory of parts or a pattern such as ``"day-*.csv.gz"``, and several paths may be given
    in a list: all of them are one data set.

    weights: True: the entries of X are the values; False: they are ones. By default the
    values of a matrix are used (repeated entries are added, as in SciPy), and those of a
    table are not.
    A LazyFrame of polars computes only the columns that are used.
    A CSR matrix with int32 indices, in order and without zeros, is not copied, nor are
    its values if they are float32; it must not be changed as long as it is in use.

    For tables: columns (user, item[, value[, time]], by name or number; by default
    recognized by their names and values: the guess is logged by the logger ``ease`` and is
    in ``info["recognized"]``; fitting refuses an implausible one), min_rating
    (drops what is below), repeat (which of several rows for a pair counts: first, last,
    max or sum), min_user and min_item (users and items with fewer are dropped), since and
    until (rows with since <= time < until are kept: dates, datetimes, texts such as
    "2024-01-31", or numbers of seconds, milli-, micro- or nanoseconds since 1970, in which
    the times of the table may be too; without a zone times are UTC), half_life (in days:
    the value of a row, 1 without weights, is multiplied by 2 ** -(age / half_life), where
    ages count from until, or else from the newest row that is kept). For
    files: format, separator, header and encoding ("utf-8", "utf-16" or "latin-1"), where they
    are not recognized. The formats:
    FORMATS.

    >>> import ease
    >>> ease.interactions({"user": ["ann", "bob", "ann"], "item": ["x", "x", "y"]})
    <2 users, 2 items, 3 interactions>
    """
    if isinstance(X, Interactions):
        return X
    if isinstance(X, dict) and not is_sparse(X):
        X = _Dict(X)
    paths = paths_of(X)
    path = bool(paths)
    chosen: Union[Columns, Chosen] = columns
    if any(is_parquet(p) for p in paths):
        if len(paths) > 1:
            raise ValueError("several paths, one of which is Parquet: give a directory")
        X, chosen = open_parquet(paths[0], columns)
        path = False
    elif is_lazy(X):
        X, chosen = open_lazy(X, columns)
    frame = not path and not is_sparse(X) and is_frame(X)
    if not path and not frame:
        if (columns is not None or min_user or min_item
                or any(v is not None for v in (min_rating, since, until, half_life))):
            raise ValueError("filters are for tables and files: filter the matrix itself")
        return borrow(matrix_rows(X, weights is not False))
    options = read_options(columns if path else None, bool(weights), min_rating, repeat,
                           min_user, min_item, format, separator, header, threads,
                           memory_limit, None, since, until, half_life, encoding)
    with watching(show_progress, "ease.interactions") as watch:
        if path:
            made = Interactions(_ease.read(paths, options, watch))
        else:
            made = from_frame(X, chosen, bool(weights) or min_rating is not None,
                              any(v is not None for v in (since, until, half_life)),
                              options, watch)
    info = made.info
    if info["recognized"]:
        several = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        tell(2, (f"{os.fsdecode(paths[0])}{several}: " if path else "") + info["recognized"])
    tell_of_values(info["unused"], info["negative"], "min_rating= or weights=True use them")
    return made


interactions.__doc__ = (interactions.__doc__ or "").replace(
    "FORMATS", ";\n    ".join(f"{name} ({about})" for name, about in _ease.formats()))


def by_id(X: Any, plain: Callable[[], bool], **how: Any) -> Interactions:
    """Interactions of X for a model whose items are matched by id. A matrix is accepted only
    if ``plain()``: the ids of the model's items are 0, 1, ..., as those of its columns."""
    x = interactions(X, **how)
    if x is not X and x._matrix and not plain():
        raise ValueError("a matrix where the model's items have ids of their own (item_ids): "
                         "give a frame, or ease.interactions(X) if items are called by the "
                         "numbers of these columns")
    return x


def open_parquet(path: bytes, columns: Columns) -> Tuple[Any, Chosen]:
    """The columns that are wanted, as a frame, and what they are."""
    head = parquet_head(path, SAMPLE)
    chosen = choose_columns(head, list(head.column_names), columns)
    return read_parquet(path, [c for c in chosen.names if c is not None]), chosen


def open_lazy(X: Any, columns: Columns) -> Tuple[Any, Chosen]:
    """The same of a query of polars, which computes no other columns."""
    head, names = (None, lazy_names(X)) if columns is not None else head_of(X, SAMPLE)
    chosen = choose_columns(head, names, columns)
    return collect(X, [c for c in chosen.names if c is not None]), chosen


def borrow(rows: Rows) -> Interactions:
    return Interactions(_ease.borrow_csr(rows.shape[0], rows.shape[1], rows.indptr,
                                         rows.indices, rows.data), int, int, True)


def from_frame(X: Any, columns: Union[Columns, Chosen], values: bool, times: bool,
               options: Tuple[Any, ...], watch: Any) -> Interactions:
    frame, names = open_frame(X)
    (user, item, value, time), guess = choose_columns(frame, names, columns)
    if times and time is None:
        raise ValueError("since, until and half_life need a column of times")
    if values and value is None:
        raise ValueError("weights or a minimal rating need a column of values")
    users, user_kind = id_column(frame[user], user)
    items, item_kind = id_column(frame[item], item)
    numbers = None
    if value is not None:
        numbers = value_column(frame[value]) if values else unused_values(frame[value])
    moments = column_seconds(frame[time]) if times else None
    count, *others = [len(c[1]) - 1 if isinstance(c, tuple) else len(c)
                      for c in (users, items, numbers, moments) if c is not None]
    if any(other != count for other in others):
        raise ValueError(f"columns of different lengths: {[count, *others]}")
    handle = _ease.from_table(count, users, items, numbers, (*options[:-1], guess), watch,
                              moments)
    return Interactions(handle, user_kind, item_kind)


class _Dict(Dict[str, Any]):
    """A frame of plain sequences."""

    @property
    def columns(self) -> List[str]:
        return list(self)


# ---- splits ---------------------------------------------------------------------------


class Split(NamedTuple):
    """Parts of the data: what to fit, what to tune on, what to test on."""

    train: Interactions
    validation_train: Interactions
    validation_input: Interactions
    validation_target: Interactions
    test_input: Interactions
    test_target: Interactions


def write_frame(X: Any, columns: Union[Columns, Chosen], path: str) -> Optional[bytes]:
    """Writes the columns to a file; shows and returns the guess if they were recognized."""
    frame, names = open_frame(X)
    chosen, guess = choose_columns(frame, names, columns)
    if guess is not None:
        roles = zip(("user", "item", "value", "time"), chosen)
        tell(2, "table: " + ", ".join(f"{role} = {c}" for role, c in roles if c is not None))
    for c in chosen[:2]:
        id_column(frame[c], c)  # for what it refuses: "nan" would be an id in a file
    used = [c for c in chosen if c is not None]
    heads = [h for h, c in zip(("user", "item", "rating", "timestamp"), chosen)
             if c is not None]
    listed = []
    for c in used:
        column = frame[c]
        values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
        if values.dtype.kind == "M":
            values = values.astype("datetime64[s]").astype(np.int64)
        listed.append([v.decode("utf-8", "surrogateescape") if isinstance(v, bytes) else
                       int(v) if c in chosen[:2] and isinstance(v, float) else v
                       for v in values.tolist()])
    with open(path, "w", newline="", encoding="utf-8", errors="surrogateescape") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(heads)
        out.writerows(zip(*listed))
    return guess


def split(X: Any, protocol: Optional[str] = None, *, directory: Any = None,
          recipe: Optional[str] = None, heldout_users: int = 0, share: float = 0.0,
          seed: int = 98765, columns: Columns = None, min_rating: Optional[float] = None,
          min_user: Optional[int] = None, min_item: Optional[int] = None,
          since: Time = None, until: Time = None, test_from: Time = None,
          validation_from: Time = None, show_progress: ShowProgress = None) -> Split:
    """Divides data by a protocol: liang18 (the default), volkovs15, random,
    leave-last, time or cold-items; or by the recipe of one of the paper's data sets.

    heldout_users (liang18) are for validation, and as many for testing; share is what is
    held out, for cold-items the share of items; min_user is 5 for liang18 unless told, as published. since
    and until choose rows by time, as in :func:`interactions`; for the protocol time, test_from
    and validation_from are the times where the test and the validation data begin, in place
    of a share. With a directory the
    split is kept there, in the published layout, for the program to use too.

    >>> import ease, numpy as np
    >>> x = np.random.default_rng(0).random((60, 20)) < 0.5
    >>> parts = ease.split(x, "random", share=0.3)
    >>> parts.train.shape[0], parts.test_target.nnz > 0
    (60, True)
    """
    if protocol is None and recipe is None:
        protocol = "liang18"
    filtered = any(v is not None for v in (min_rating, min_user, min_item, since, until))
    guess = None
    chosen: Union[Columns, Chosen] = columns
    if isinstance(X, (str, bytes, os.PathLike)) and is_parquet(path_bytes(X)):
        X, chosen = open_parquet(path_bytes(X), columns)
    elif is_lazy(X):
        X, chosen = open_lazy(X, columns)
    with tempfile.TemporaryDirectory(prefix="ease-") as place:
        if isinstance(X, (str, bytes, os.PathLike)):
            data = path_bytes(X)
        else:
            if isinstance(X, dict) and not is_sparse(X):
                X = _Dict(X)
            name = os.path.join(place, "data.csv")
            if isinstance(X, Interactions) or is_sparse(X) or not is_frame(X):
                interactions(X).write(name, show_progress=False)
            else:
                guess = write_frame(X, chosen, name)
            columns = None
            data = path_bytes(name)
        if min_user is None:
            min_user = 5 if protocol == "liang18" else 0
        options = read_options(columns, False, min_rating, "first", min_user,
                               min_item or 0, None, None, None, 0, None, guess, since, until)
        target = path_bytes(directory if directory is not None
                            else os.path.join(place, "split"))
        with watching(show_progress, "ease.split") as watch:
            try:
                recognized, unused, negative = _ease.split(
                    data, target, options, not filtered, recipe, protocol,
                    whole(heldout_users, 0, "heldout_users"), share,
                    whole(seed, 0, "seed", 2**32 - 1), bound(test_from, "test_from"),
                    bound(validation_from, "validation_from"), watch)
            except ValueError as error:  # of a table of ours the path says nothing
                raise ValueError(str(error).replace(place + "/data.csv: ", "")) from None
        if isinstance(X, (str, bytes, os.PathLike)):
            tell(2, f"{os.fsdecode(X)}: {recognized}")
        tell_of_values(unused, negative, "min_rating= uses them")
        return open_split(os.fsdecode(target))


def open_split(directory: Any) -> Split:
    """Reads a split that :func:`split`, the program or the published code has written."""
    parts = _ease.split_open(path_bytes(directory))
    made: List[Any] = [p and Interactions(p) for p in parts]
    made[1] = made[1] or made[0]
    return Split(*made)
