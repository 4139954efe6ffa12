"""Exact updates of models that keep what these need: users who come, leave or change."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence

import numpy as np

from . import _ease
from ._base import METRICS, READING_PART, READING_WHOLE, Recommender
from ._data import Interactions, Rows, by_id, whole
from ._histories import some_rows, with_users
from ._ids import Array, encode
from ._progress import ShowProgress, watching


class Removal(NamedTuple):
    """The check that a user's row x was removed from the model's data, by the inverse P
    before and P' after that. leverage: h = x P x', from 0 to 1. deviation:
    ||(1 - h) P'x - Px|| / ||Px||, which is 0 if the removal was exact."""

    leverage: float
    deviation: float


class Update(NamedTuple):
    """What :meth:`ease.EASE.update` or :meth:`ease.EASE.forget` has done.

    came, left, changed, same: numbers of users; the last are those whose rows are equal in
    ``was`` and ``now``. added, removed: numbers of interactions. new_items: items that the
    model did not have. lost_items: items without users, whose weights are now 0. rank: that
    of the change of X'X. residual_before, residual: ||P w - v|| / ||v|| of the inverse, as
    :meth:`ease.EASE.residual`. deviation: the largest one of ``removals``, which has a
    :class:`ease.Removal` for each user whose row was removed, by id (or row of a matrix).
    """

    came: int
    left: int
    changed: int
    same: int
    added: int
    removed: int
    new_items: int
    lost_items: int
    rank: int
    residual_before: float
    residual: float
    deviation: float
    removals: Dict[Any, Removal]

    def __repr__(self) -> str:
        return (f"<{self.came} users came, {self.left} left, {self.changed} changed; "
                f"{self.added} interactions added, {self.removed} removed; "
                f"residual {self.residual:.1e}, deviation {self.deviation:.1e}>")


# ---- rows of some users ---------------------------------------------------------------


def select_users(x: Interactions, users: Iterable[Any]) -> Optional[Interactions]:
    """The rows of users with these ids; None if there are no such users."""
    if isinstance(users, (str, bytes)) or not hasattr(users, "__iter__"):
        raise ValueError(f"users: several ids, such as a list, not {users!r}")
    names = list(dict.fromkeys(users))
    numbers = []
    for name in names:
        try:
            numbers.append(x._user_ids().number(name))
        except KeyError:
            raise KeyError(f"user {name!r} is not in the data") from None
    if not names:
        return None
    return with_users(some_rows(x, np.array(numbers, np.int64)), [encode(n) for n in names],
                      x, x._user_kind)


def without_users(x: Interactions, users: Iterable[Any]) -> Interactions:
    """The rows of all others. Users whom x does not have are ignored."""
    if isinstance(users, (str, bytes)) or not hasattr(users, "__iter__"):
        raise ValueError(f"forgotten: several ids, such as a list, not {users!r}")
    names = list(users)
    if not names:
        return x
    numbers = find_users(x, names)
    keep = np.ones(x.shape[0], bool)
    keep[numbers[numbers >= 0]] = False
    made = with_users(some_rows(x, np.flatnonzero(keep)),
                      [encode(u) for u in x.user_ids[keep].tolist()], x, x._user_kind)
    made._matrix = x._matrix
    return made


def check_same_data(model: _ease.Model, x: Interactions) -> None:
    try:
        _ease.check_data(model, x._handle)
    except ValueError as e:
        raise ValueError(f"{e}; so it is not known whether the model has the users to be "
                         "removed: give exactly its data as X, name users who were removed "
                         "before in forgotten, or say unverified=True") from None


# ---- histories ------------------------------------------------------------------------


def find_users(x: Optional[Interactions], users: Iterable[Any]) -> Array:
    """The numbers of users in x, or -1."""
    find = (lambda u: -1) if x is None else x._handle.find_user
    return np.fromiter((find(encode(u)) for u in users), np.int64)


def aligned(x: Interactions, model: _ease.Model) -> Interactions:
    """With the item numbers of the model."""
    return Interactions(x._handle.align(model)[0], x._user_kind, x._item_kind)


def ones_or(data: Optional[Array], count: int) -> Array:
    return np.ones(count, np.float32) if data is None else data


def check_histories(seen: Interactions, was: Optional[Interactions],
                    now: Optional[Interactions], model: _ease.Model) -> None:
    """Refuses rows that are not those which the model was fitted with. The library only
    knows their sums."""
    if now is not None:
        users = now.user_ids
        twice = (find_users(seen, users) >= 0) & (find_users(was, users) < 0)
        if twice.any():
            raise ValueError(f"user {users[twice.argmax()]!r} is in the model's data "
                             "already: give the row that the model has in was, and the new "
                             "one in now")
    if was is None:
        return
    numbers = find_users(seen, was.user_ids)
    if (numbers < 0).any():
        raise ValueError(f"user {was.user_ids[(numbers < 0).argmax()]!r} of was is not in "
                         "the model's data")
    have, want = aligned(was, model).rows(), some_rows(seen, numbers)
    for k, user in enumerate(was.user_ids):
        a, b = (slice(*rows[0][k:k + 2]) for rows in (have, want))
        if not (np.array_equal(have[1][a], want.indices[b])
                and np.array_equal(ones_or(have[2], len(have[1]))[a],
                                   ones_or(want.data, len(want.indices))[b])):
            raise ValueError(f"the row of user {user!r} in was is not the one in the "
                             "model's data")


def change_histories(seen: Interactions, was: Optional[Interactions],
                     now: Optional[Interactions], model: _ease.Model) -> Interactions:
    """The histories after an update to this model: without the users of ``was``, and with
    those of ``now`` behind the others."""
    before = aligned(seen, model)
    keep = np.ones(seen.shape[0], bool)
    keep[find_users(seen, () if was is None else was.user_ids)] = False
    parts, users = [some_rows(before, np.flatnonzero(keep))], seen.user_ids[keep].tolist()
    kind = seen._user_kind
    if now is not None:
        parts.append(some_rows(aligned(now, model), np.arange(now.shape[0])))
        users += now.user_ids.tolist()
        kind = kind if kind is now._user_kind else None
    indptr = np.zeros(len(users) + 1, np.int64)
    np.cumsum(np.concatenate([np.diff(p.indptr) for p in parts]), out=indptr[1:])
    data = None
    if any(p.data is not None for p in parts):
        data = np.concatenate([ones_or(p.data, len(p.indices)) for p in parts])
    rows = Rows(indptr, np.concatenate([p.indices for p in parts]), data,
                (len(users), before.shape[1]))
    return with_users(rows, [encode(u) for u in users], before, kind)


# ---- models ---------------------------------------------------------------------------


class Updatable(Recommender):
    """The base of models that can be updated."""

    updatable: bool

    @property
    def updates(self) -> int:
        """The number of updates since the model was fitted."""
        return int(self._fitted().info()["updates"])

    def update(self, *rows: Any, was: Any = None, now: Any = None,
               show_progress: ShowProgress = None, **how: Any) -> Update:
        """Changes the model, in place, to the one that fitting would give if the rows of
        ``was`` were removed from its data and those of ``now`` added: exactly, and without
        another solve. Users of ``now`` alone come, users of ``was`` alone leave, users of
        both change. If the call fails, the model stays as it was.

        Without names both are required, ``update(was, now)``, so that no row is removed by
        mistake: ``update(now=X)`` adds rows, ``update(was=X)`` removes them.

        It needs a model that was fitted with ``updatable=True``. ``was`` and ``now`` are all
        that :meth:`fit` takes, and tables are read with its keywords unless others are given,
        except ``min_user`` and ``min_item``, which only all data can be filtered by. With
        ``half_life`` the fit needs ``until``, a time after all rows that will come: ages count
        from it.
        Users are matched by their ids; rows of two matrices by their numbers: row k of both
        is one user. Items are matched by their ids, and so are columns, as in :meth:`score`;
        items that are new join the model.

        A model that keeps the histories of the table it was fitted from refuses rows of
        ``was`` that are not in them, and updates them. If ``was`` or ``now`` is a matrix,
        whose rows have no ids, the histories are dropped.

        >>> import ease
        >>> frame = {"user": ["ann", "ann", "bob", "bob", "cat"],
        ...          "item": ["tea", "milk", "tea", "milk", "tea"]}
        >>> model = ease.EASE(lambda_=1.0, updatable=True).fit(frame)
        >>> report = model.update(was={"user": ["cat"], "item": ["tea"]},
        ...                       now={"user": ["cat", "cat", "dan"],
        ...                            "item": ["tea", "cake", "cake"]})
        >>> report.came, report.changed, report.new_items, report.residual < 1e-4
        (1, 1, 1, True)
        >>> model.recommend("dan", N=1)[0]
        array(['tea'], dtype=object)
        """
        self._fitted()
        if rows:
            if len(rows) != 2 or was is not None or now is not None:
                raise TypeError("give was and now both, or by name: update(now=X) adds rows, "
                                "update(was=X) removes them")
            was, now = rows
        if was is None and now is None:
            raise ValueError("was or now is required: the rows to be removed and to be added")
        parts = [None if X is None else self._read_part(X, how) for X in (was, now)]
        bare = {part._matrix and part is not X for part, X in zip(parts, (was, now))
                if part is not None}
        if len(bare) > 1:
            raise ValueError("was or now is a matrix, whose rows have no ids, and the other "
                             "one has ids of users: give two matrices or two tables, or "
                             "ease.interactions(X) if users are called by the numbers of "
                             "its rows")
        return self._change(parts[0], parts[1], show_progress)

    def forget(self, X: Any = None, users: Optional[Iterable[Any]] = None, *,
               forgotten: Iterable[Any] = (), unverified: bool = False,
               show_progress: ShowProgress = None, **how: Any) -> Update:
        """Removes users from the model, in place: it becomes the one that fitting without
        them would give, as by ``update(was=their rows)``. Each removal is checked by itself,
        and the report says how exact it is.

        X: exactly the data of the model, as it was given to :meth:`fit`; tables are read with
        all of its keywords, unless others are given. This is checked: a user whom
        the model does not have would make its weights wrong, and nothing else would notice.
        It may be left out if the model keeps the histories of the table that it was fitted
        from; these users are removed from them too. With histories, X may be any data with
        the rows of the users, which are compared with the histories.

        users: ids of users, or numbers of rows if X is a matrix. They may be left out where X
        need not be all data, and are all users of X then.
        forgotten: users who were removed before, and are left out of X. unverified: True
        removes the rows from a model without histories even if X is not its data.

        >>> import ease
        >>> frame = {"user": ["ann", "ann", "bob", "bob", "cat"],
        ...          "item": ["tea", "milk", "tea", "milk", "tea"]}
        >>> model = ease.EASE(lambda_=1.0, updatable=True).fit(frame)
        >>> report = model.forget(users=["bob"])
        >>> report.left, report.removed, report.removals["bob"].deviation < 1e-4
        (1, 2, True)
        """
        self._fitted()
        if X is None and users is None:
            raise ValueError("users is required where there is no X: the ids of those who "
                             "leave")
        if self._seen is not None:
            x = self._data(X, how, READING_PART)  # X may be any part of the data
        else:
            x = self._read_part(X, how) if unverified and X is not None else self._data(X, how)
        x = without_users(x, forgotten)
        part: Optional[Interactions] = x
        if users is None and not unverified and (self._seen is None or x._matrix):
            raise ValueError("users is required: X is all data of the model, and users says "
                             "who of them leaves; with unverified=True all users of X are "
                             "removed, and X is not compared with the model")
        if users is not None:
            part = select_users(x, users)
            if part is not None:
                part._matrix = X is not None and x._matrix
        if part is not None and not unverified and (self._seen is None or part._matrix):
            check_same_data(self._fitted(), x)
        return self._change(part, None, show_progress)

    def residual(self) -> float:
        """Computes how far P is from the inverse: ||P w - v|| / ||v||, where
        w = (X'X + Lambda) v, for random v, is kept by models with ``updatable=True``. The
        residual after an update is at most 1e-4, or the update fails."""
        return _ease.residual(self._fitted(), self._count("threads"))

    def check_data(self, X: Any, **how: Any) -> None:
        """Raises a ValueError unless X is the data that the model was fitted with, or updated
        to: X'Xv must be that which the model keeps, and for a covariance also the number of
        users and the sums of the columns. X is as for :meth:`forget`."""
        _ease.check_data(self._fitted(), self._read(X, how, READING_WHOLE)._handle)

    def leave_one_out(self, X: Any = None, *, metrics: Any = METRICS, share: float = 0.2,
                      seed: int = 98765, users: Optional[int] = None,
                      show_progress: ShowProgress = None, **how: Any) -> Any:
        """Evaluates the model on its own data X, each user by the model that was fitted
        without this user: strong generalization without a split, at the cost of scoring. A
        random share of the user's items is to be found, and the rest is the history; users
        with one item are left out. Items that no other user has are misses. Returns an
        :class:`ease.Report`, as :func:`ease.evaluate` does.

        X is as for :meth:`forget`, and may be left out if the model keeps the histories of
        the table that it was fitted from. users: the size of a random sample of users; by
        default all are evaluated. It needs a model with ``updatable=True``, and refuses those
        that it cannot leave users out of, which it names.

        >>> import ease
        >>> X = [[1, 1, 0], [1, 1, 1], [0, 1, 1], [1, 1, 0]]
        >>> model = ease.EASE(lambda_=1.0, updatable=True).fit(X)
        >>> report = model.leave_one_out(X, metrics="hit@1")
        >>> report.info["users"], 0.0 <= report["hit@1"] <= 1.0
        (4, True)
        """
        from ._measure import Report

        model = self._fitted()
        x = self._data(X, how)
        text = metrics if isinstance(metrics, str) else ",".join(metrics)
        sample = 0 if users is None else whole(users, 1, "users")
        try:
            share = float(share)
        except (TypeError, ValueError):
            raise ValueError(f"share is a number, not {share!r}") from None
        with watching(show_progress) as watch:
            return Report(_ease.leave_one_out(
                model, x._handle, text, share, whole(seed, 0, "seed", 2**32 - 1),
                sample, self._count("memory_limit"), self._count("threads"), watch), "miss",
                          model.info()["items"])

    def _count(self, name: str) -> int:
        most = 2**31 - 1 if name == "threads" else 2**63 - 1
        return whole(getattr(self, name) or 0, 0, name, most)

    def _read_part(self, X: Any, how: Mapping[str, Any]) -> Interactions:
        """A part of the model's data, whose newest row is not that of all."""
        ages = self._read_how(X, how, READING_PART)
        if ages.get("half_life") is not None and ages.get("until") is None:
            raise ValueError("half_life needs the until of the fit: ages would count from the "
                             "newest row of this part of the data; fit with until, or give "
                             "ease.interactions(X, half_life=..., until=...)")
        return by_id(X, self._plain, **ages)

    def _data(self, X: Any, how: Mapping[str, Any],
              keywords: Sequence[str] = READING_WHOLE) -> Interactions:
        """X, or the histories that the model keeps."""
        if X is not None:
            return self._read(X, how, keywords)
        if self._seen is None:
            raise ValueError("X is required: the model keeps the histories of frames and "
                             "files it was fitted from, and of nothing else")
        return self._seen

    def _change(self, was: Optional[Interactions], now: Optional[Interactions],
                show_progress: ShowProgress) -> Update:
        model, seen = self._fitted(), self._seen
        if was is None and now is None:  # no users
            residual = model.info()["residual"]
            return Update(0, 0, 0, 0, 0, 0, 0, 0, 0, residual, residual, 0.0, {})
        named = not any(part is not None and part._matrix for part in (was, now))
        if seen is not None and named:
            check_histories(seen, was, now, model)
        checks = None if was is None else np.empty((was.shape[0], 2), np.float64)
        with watching(show_progress) as watch:
            made, done = _ease.update(
                model, None if was is None else was._handle,
                None if now is None else now._handle, checks, self._count("threads"),
                self._count("memory_limit"), watch)
        removals = {}
        if was is not None and checks is not None:
            removals = {user: Removal(*check) for user, check
                        in zip(was.user_ids.tolist(), checks.tolist())
                        if check[0] == check[0]}  # NaN: the row was not removed
        if done["came"] + done["left"] + done["changed"]:
            if seen is not None:
                seen = change_histories(seen, was, now, made) if named else None
            kind = str if self.item_ids.dtype == object else None
            self._take(made, kind, seen)
        return Update(**done, removals=removals)
