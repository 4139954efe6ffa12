"""What users have, in all the ways in which it can be given, as rows for a model."""

from __future__ import annotations

from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, NamedTuple,
                    Optional, Sequence, Tuple)

import numpy as np

from . import _ease
from ._data import (Interactions, Rows, borrow, is_frame, is_sparse, matrix_rows, read_options,
                    text_column, values_or_none)
from ._frames import is_lazy
from ._ids import Array, Ids, encode
from ._log import tell

if TYPE_CHECKING:
    from ._base import Recommender

FEW = 20  # reading one row takes less time than copying so many
SHOWN = 3  # unknown items that a warning names


class Histories(NamedTuple):
    """The users of a call, and a row for each."""

    users: Sequence[Any]
    many: bool  # the call returns a list for each of several users
    rows: Rows


def is_many(ids: Any) -> bool:
    if isinstance(ids, (str, bytes)) or not hasattr(ids, "__len__"):
        return False
    if np.ndim(ids) > 1:
        raise ValueError("ids have one dimension")
    return np.ndim(ids) == 1


def is_column(X: Any) -> bool:
    """A Series of pandas or polars, or an array of Arrow, which all have types of their
    own. Properties of the class are looked at: a frame can have a column called dtype."""
    return hasattr(type(X), "dtype") or hasattr(type(X), "type")


def is_columns(X: Any) -> bool:
    """A dict of columns, unlike one of weights."""
    return (isinstance(X, Mapping) and len(X) > 1
            and all(hasattr(v, "__len__") and not isinstance(v, (str, bytes, Mapping))
                    for v in X.values()))


def is_table(X: Any) -> bool:
    """Whether the users of X have ids."""
    if isinstance(X, Interactions):
        return not X._matrix
    if is_sparse(X) or isinstance(X, np.ndarray):
        return False
    return is_columns(X) or is_lazy(X) or (is_frame(X) and not is_column(X))


# ---- unknown items --------------------------------------------------------------------


def warn_unknown(unknown: Sequence[Any], total: int, count: Optional[int] = None) -> None:
    """Says how many of the items of histories the model does not know, and names some."""
    count = len(unknown) if count is None else count
    if count:
        some = ", ".join(repr(i) for i in list(dict.fromkeys(unknown))[:SHOWN])
        more = ", ..." if len(dict.fromkeys(unknown)) > SHOWN else ""
        tell(1, f"{count} of {total} items of histories are unknown to the model and are "
                f"ignored: {some}{more}")


def align(model: "Recommender", x: Interactions) -> Rows:
    """The rows of x with the item numbers of the model; says which items it does not know."""
    handle, lost = x._handle.align(model._fitted())
    if lost:
        find = model._fitted().find
        warn_unknown([i for i in x.item_ids.tolist() if find(encode(i)) < 0], x.nnz, lost)
    aligned = Interactions(handle)
    return Rows(*aligned.rows(), aligned.shape)


# ---- rows -----------------------------------------------------------------------------


def some_rows(x: Interactions, users: Array) -> Rows:
    """The rows of these users, by number."""
    if len(users) * FEW < x.shape[0]:
        parts = [x.rows(int(u), int(u) + 1) for u in users]
        ends = np.zeros(len(parts) + 1, np.int64)
        np.cumsum([len(p[1]) for p in parts], out=ends[1:])
        indices = np.concatenate([p[1] for p in parts] or [np.empty(0, np.int32)])
        data = [p[2] for p in parts if p[2] is not None]
        return Rows(ends, indices, np.concatenate(data) if data else None,
                    (len(parts), x.shape[1]))
    return pick_rows(Rows(*x.rows(), x.shape), users)


def pick_rows(rows: Rows, users: Array) -> Rows:
    indptr, indices, data, shape = rows
    counts = np.diff(indptr)[users]
    ends = np.zeros(len(users) + 1, np.int64)
    np.cumsum(counts, out=ends[1:])
    at = np.arange(ends[-1]) + np.repeat(indptr[users] - ends[:-1], counts)
    return Rows(ends, indices[at], None if data is None else data[at], (len(users), shape[1]))


def with_users(rows: Rows, users: List[bytes], items: Interactions,
               kind: Optional[type]) -> Interactions:
    """Interactions of users with these ids, and the items of ``items``."""
    ids = id_rows(users, True)
    return Interactions(_ease.from_csr_ids(ids, items._handle, rows.indptr, rows.indices,
                                           rows.data), kind, items._item_kind)


def id_rows(ids: List[bytes], of_users: bool) -> Any:
    """Interactions that have these ids of users, or of items, in this order."""
    options = read_options(None, False, None, "first", 0, 0, None, None, None, 0, None)
    texts, ones = text_column(ids), np.zeros(len(ids), np.int64)
    return _ease.from_table(len(ids), texts if of_users else ones, ones if of_users else texts,
                            None, options, None)


def rebuild(rows: Rows, ids: Optional[Tuple[List[str], List[str]]], user_kind: Optional[type],
            item_kind: Optional[type]) -> Interactions:
    """Unpickles interactions."""
    if ids is None:
        return borrow(rows)
    users, items = ([encode(i) for i in part] for part in ids)
    return with_users(rows, users, Interactions(id_rows(items, False), int, item_kind), user_kind)


def take_users(x: Interactions, key: Any) -> Interactions:
    """The users at some places, as ``x[key]`` has them, with all items of x."""
    if isinstance(key, tuple) and len(key) == 2 and (key[1] is Ellipsis or key[1] == slice(None)):
        key = key[0]
    if isinstance(key, tuple):
        raise IndexError("interactions are indexed by users alone")
    users = np.atleast_1d(np.arange(x.shape[0])[key])
    rows = some_rows(x, users)
    if x._matrix:
        return borrow(rows)
    if len(np.unique(users)) < len(users):
        raise IndexError("a user is twice in the index")
    return with_users(rows, [encode(u) for u in x.user_ids[users]], x, x._user_kind)


def user_numbers(find: Callable[[bytes], int], users: Iterable[Any], where: str) -> Array:
    """The numbers of users by id."""
    numbers = []
    for user in users:
        try:
            number = find(encode(user))
        except KeyError:
            number = -1
        if number < 0:
            raise KeyError(f"user {user!r} is not in {where}")
        numbers.append(number)
    return np.array(numbers, np.int64)


# ---- lists and dicts of items ---------------------------------------------------------


def check_weights(weights: Mapping[Any, Any]) -> Array:
    values = np.array(list(weights.values()))
    if len(values) and (values.ndim != 1 or values.dtype.kind not in "biuf"):
        raise ValueError(f"weights of a history are numbers, not {list(weights.values())!r}")
    values = values.astype(np.float64)
    if not (np.abs(values) <= np.finfo(np.float32).max).all():
        raise ValueError("a weight of a history is not finite, or too large")
    return values


def known_items(ids: Ids, items: Iterable[Any], unknown: List[Any],
                found: Dict[Any, int]) -> Array:
    """Numbers of items, -1 for those that the model does not know. ``found`` has the numbers
    of whole numbers and strings that were looked up before."""
    if isinstance(items, (str, bytes)) or not hasattr(items, "__iter__"):
        raise ValueError(f"several items are wanted, such as a list of ids, not {items!r}")
    numbers = []
    for item in items.tolist() if isinstance(items, np.ndarray) else items:
        kind = type(item)  # True and 1.0 are equal to 1, but no keys for it
        number = found.get(item) if kind is int or kind is str else None
        if number is None:
            try:
                number = ids.find(encode(item))
            except KeyError:
                raise ValueError(f"{item!r} is no id of an item: ids are whole numbers or "
                                 "strings, and none is missing") from None
            if kind is int or kind is str:
                found[item] = number
        numbers.append(number)
        if number < 0:
            unknown.append(item)
    return np.array(numbers, np.int32)


def one_history(ids: Ids, items: Any, unknown: List[Any], found: Dict[Any, int]
                ) -> Tuple[Array, Optional[Array]]:
    """Numbers of the items in order, and their weights if it is a dict. Items of weight 0
    are left out."""
    numbers = known_items(ids, items, unknown, found)
    if not isinstance(items, Mapping):
        return np.unique(numbers[numbers >= 0]), None
    values = check_weights(items)
    values, numbers = values[numbers >= 0], numbers[numbers >= 0]
    if len(np.unique(numbers)) < len(numbers):
        raise ValueError("an item is twice in a history")
    order = np.argsort(numbers)
    order = order[values[order] != 0]
    return numbers[order], values[order]


def list_rows(ids: Ids, histories: Iterable[Any]) -> Rows:
    """A row for each history."""
    unknown: List[Any] = []
    numbered: Dict[Any, int] = {}
    found, total = [], 0
    for history in histories:
        if isinstance(history, (str, bytes)) or not hasattr(history, "__iter__"):
            raise ValueError("user_items has a history for each user, such as a list of item "
                             f"ids, not {history!r}")
        history = history if hasattr(history, "__len__") else list(history)
        total += len(history)
        found.append(one_history(ids, history, unknown, numbered))
    warn_unknown(unknown, total)
    indptr = np.zeros(len(found) + 1, np.int64)
    np.cumsum([len(numbers) for numbers, _ in found], out=indptr[1:])
    indices = np.concatenate([numbers for numbers, _ in found] or [np.empty(0, np.int32)])
    data = None
    if any(values is not None for _, values in found):
        data = values_or_none(np.concatenate([np.ones(len(n)) if v is None else v
                                              for n, v in found]), True)
    return Rows(indptr, indices, data, (len(found), ids.count))


def is_nested(histories: Any) -> bool:
    """Whether this is a history for each of several users, rather than the items of one."""
    return (hasattr(histories, "__len__") and len(histories) > 0
            and not isinstance(histories, (str, bytes, Mapping))
            and all(hasattr(h, "__iter__") and not isinstance(h, (str, bytes))
                    for h in histories))


# ---- all of them ----------------------------------------------------------------------


def read_histories(model: "Recommender", userid: Any, user_items: Any) -> Histories:
    """The users of a call and their rows, from all that :meth:`ease.EASE.recommend` takes."""
    model._fitted()
    ids = model._ids_of_items
    assert ids is not None
    X, many = user_items, is_many(userid)
    users: Sequence[Any] = list(userid) if many else [userid]
    if X is None:
        if userid is None:
            raise ValueError("userid or user_items is required")
        return Histories(users, many, model._remembered(users))
    if is_table(X):
        return _of_table(model, userid, users, many, X)
    if userid is None:
        model._check_new_users()
    if (is_sparse(X) or isinstance(X, np.ndarray) and X.dtype.kind in "biufc"
            ) and len(X.shape) == 1:
        X = X.reshape(1, -1)  # X[userid] of an array
    elif userid is None and (isinstance(X, Interactions) or is_sparse(X)
                             or isinstance(X, np.ndarray) and X.ndim == 2):
        many, users = True, range(X.shape[0])
    if isinstance(X, Interactions):
        rows = align(model, X)
    elif is_sparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2):
        model._check_columns(X.shape[1])
        rows = matrix_rows(X)
    elif many or (userid is None and is_nested(X)):
        rows = list_rows(ids, X if hasattr(X, "__iter__") and not isinstance(X, Mapping) else [X])
        many, users = True, (users if many else range(rows.shape[0]))
    else:
        if isinstance(X, (str, bytes)) or not hasattr(X, "__iter__"):
            known_items(ids, X, [], {})  # which says what is wanted
        rows = list_rows(ids, [X])
    if rows.shape[0] != len(users):
        raise ValueError(f"user_items must have a row for each of {len(users)} users, not "
                         f"{rows.shape[0]}")
    if not model._least_columns() <= rows.shape[1] <= ids.count:
        raise ValueError(f"user_items has {rows.shape[1]} columns, the model "
                         f"{ids.count} items")
    return Histories(users, many, rows)


def _of_table(model: "Recommender", userid: Any, users: Sequence[Any], many: bool,
              X: Any) -> Histories:
    """The users of a frame are those that it has rows of, or some of them, by id."""
    x = model._read(X, {"show_progress": False})
    rows = align(model, x)
    if userid is None:
        return Histories(x.user_ids.tolist(), True, rows)
    return Histories(users, many, pick_rows(
        rows, user_numbers(x._handle.find_user, users, "user_items")))
