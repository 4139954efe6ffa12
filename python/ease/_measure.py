"""Evaluating and tuning."""

from __future__ import annotations

import functools
import itertools
import math
import os
import time
import warnings
from typing import (Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional,
                    Sequence, Tuple)

import numpy as np

from . import _ease
from ._base import METRICS, UNKNOWN, KnownUsers, Recommender, parameter_name, parameters_of
from ._closed_form import ClosedForm, Regularized
from ._data import Interactions, Split, by_id, choice, interactions, whole
from ._ease_class import EASE
from ._figures import Axis, axis_of, tail_figure, trials_figure
from ._frames import choose_kind, make_frame
from ._html import show_report, show_tuning
from ._ids import Array, encode
from ._log import tell
from ._progress import ShowProgress, watching
from ._tags import TagColumns, read_tags

MOST_USERS = 10000  # that tuning measures, unless told otherwise
KINDS = ("all", "warm", "cold")  # of items, in the order of the library


class Report(Mapping[str, float]):
    """Means by the names of the metrics.

    ``standard_error`` has theirs, ``by_user(name)`` one for each user of ``user_ids``
    where the metric has such. ``info`` has the numbers of users that were left out and of
    items that the model does not know: ``unknown_targets`` are held-out items, which are
    counted as ``unknown`` says. ``warm_targets`` and ``cold_targets`` are the numbers of
    held-out items by kind, and ``cold_items`` that of the model's cold items. Of
    :meth:`ease.EASE.leave_one_out`, ``refused`` is the number of users that float32 does not
    suffice for, and ``approximate`` is True if a regularizer that depends on the data was kept
    as it is with all users.
    """

    def __init__(self, handle: _ease.Report, unknown: str, items: int):
        self._handle = handle
        self._items = items  # of the model
        self.unknown = unknown
        found = handle.metrics()
        self._means: Dict[str, float] = {n: mean for n, mean, _ in found}
        self.standard_error: Dict[str, float] = {n: e for n, _, e in found}
        self.info: Dict[str, Any] = handle.info()

    def __getitem__(self, name: str) -> float:
        return self._means[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._means)

    def __len__(self) -> int:
        return len(self._means)

    def by_user(self, name: str) -> Array:
        """The metric for each user, in the order of ``user_ids``."""
        out = np.empty(self.info["users"], np.float64)
        self._handle.values(list(self._means).index(name), out)
        return out

    @property
    def user_ids(self) -> List[str]:
        return self._handle.user_ids()

    def to_frame(self, kind: str = "pandas") -> Any:
        """A frame of pandas, polars or pyarrow with the columns metric, mean and
        standard_error."""
        return make_frame({"metric": list(self), "mean": list(self.values()),
                           "standard_error": list(self.standard_error.values())},
                          str(choose_kind(kind)))

    def _times(self) -> Tuple[Array, int]:
        """In how many lists each item of the model is, and the length of the lists."""
        times = np.empty(self._items, np.int64)
        return times, self._handle.times(times)

    def plot(self, path: Any = None, *, ax: Any = None, name: str = "model") -> Any:
        """Draws how often each item is in the lists, as :func:`ease.plot_long_tail` does for
        several reports."""
        return tail_figure({name: self}).give(path, ax)

    def _repr_html_(self) -> str:
        return show_report(self)

    def __repr__(self) -> str:
        parts = (f"{n} {m:.5f}" + ("" if math.isnan(e) else f" ({e:.5f})")
                 for (n, m), e in zip(self.items(), self.standard_error.values()))
        strange = self.info["unknown_targets"]
        fate = "count as misses" if self.unknown == "miss" else "dropped"
        note = f"; {strange} unknown targets {fate}" if strange else ""
        note += "; approximate" if self.info["approximate"] else ""
        return f"<{', '.join(parts)}; {self.info['users']} users{note}>"


def evaluate(model: Recommender, input: Any, target: Any = None, *,
             metrics: Any = METRICS, unknown: str = "miss", items: str = "all",
             among: str = "all", threads: int = 0,
             show_progress: ShowProgress = None) -> Report:
    """Ranks all items for each user from the row of ``input`` and measures where the
    items of ``target`` are. For a :class:`ease.Split`, its test users. metrics: recall,
    plain-recall, ndcg, precision, hit, map, mrr, popularity, novelty, diversity,
    coverage, gini, each with @K. diversity is that of the items' tags.

    unknown: how items of ``target`` that the model does not know are counted. "miss": as
    misses, and a user with no other held-out items scores 0. "drop": such items and users
    are left out, which gives higher figures. A warning says how many there are.

    items: "warm" or "cold" measures only held-out items of this kind. Cold items are those
    that nobody has in the training data: items of the model with a popularity of 0, and
    items that the model does not know. among: "all" items are ranked, or only those of the
    same kind.

    >>> import ease
    >>> X = [[1, 1, 0], [1, 1, 1], [0, 1, 1], [1, 1, 0]]
    >>> model = ease.EASE(lambda_=1.0).fit(X)
    >>> ease.evaluate(model, [[1, 0, 0]], [[0, 1, 0]], metrics="hit@1")["hit@1"]
    1.0
    """
    if isinstance(input, Split):
        if target is not None:
            raise ValueError("a split has its own target")
        input, target = input.test_input, input.test_target
    if target is None:
        raise ValueError("a target is required")
    if not isinstance(model, Recommender):
        raise ValueError(f"a model is evaluated, such as ease.EASE(...), not {model!r}")
    text = metrics if isinstance(metrics, str) else ",".join(metrics)
    fitted = model._fitted()
    with watching(show_progress, "ease.evaluate") as watch:
        x, y = (by_id(part, model._plain, show_progress=watch or False)
                for part in (input, target))
        return Report(_ease.evaluate(fitted, x._handle, y._handle, text,
                                     choice(unknown, UNKNOWN, "unknown"),
                                     choice(items, KINDS, "items"),
                                     choice(among, KINDS, "among"),
                                     whole(threads, 0, "threads", 2**31 - 1), watch),
                      unknown, fitted.info()["items"])


def random_share(indptr: Array, share: float, seed: int) -> Array:
    """A mask of a random share of each row's entries, at least one if there are two."""
    if not 0 < share < 1:
        raise ValueError(f"share is above 0 and below 1, not {share}")
    counts = np.diff(indptr)
    rows = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((np.random.default_rng(seed).random(len(rows)), rows))
    place = np.empty(len(rows), np.int64)
    place[order] = np.arange(len(rows)) - np.repeat(indptr[:-1], counts)
    take = np.maximum((counts * share).astype(np.int64), (counts > 1).astype(np.int64))
    made: Array = place < take[rows]
    return made


class Entries(NamedTuple):
    """Interactions as coordinates: three arrays of equal length."""

    users: Array
    items: Array
    data: Array

    @classmethod
    def of(cls, x: Interactions) -> "Entries":
        indptr, indices, data = x.rows()
        users = np.repeat(np.arange(x.shape[0]), np.diff(indptr))
        return cls(users, indices, np.ones(len(users), np.float32) if data is None else data)

    def some(self, keep: Array) -> "Entries":
        return Entries(*(column[keep] for column in self))

    def __add__(self, other: "Entries") -> "Entries":  # type: ignore[override]
        return Entries(*map(np.concatenate, zip(self, other)))

    def with_ids(self, users: Interactions, items: Interactions) -> Interactions:
        """Interactions with the users and ids of `users` and the items and ids of
        `items`."""
        indptr = np.zeros(users.shape[0] + 1, np.int64)
        np.cumsum(np.bincount(self.users, minlength=users.shape[0]), out=indptr[1:])
        order = np.argsort(self.users, kind="stable")
        data = None if (self.data == 1).all() else self.data[order]
        return Interactions(_ease.from_csr_ids(users._handle, items._handle, indptr,
                                               self.items[order].astype(np.int32), data),
                            users._user_kind, items._item_kind)


def hold_out(X: Any, share: float = 0.2, seed: int = 0, **how: Any
             ) -> Tuple[Interactions, Interactions]:
    """Holds out a random share of the items of each user: (input, target) for
    :func:`ease.evaluate`. This is what :meth:`ease.EASE.score`, and with it scikit-learn's
    ``cross_val_score``, does with a fold of users. X and the other keywords are as for
    :func:`ease.interactions`; users and items keep their ids.

    >>> import ease
    >>> input, target = ease.hold_out([[1, 1, 0, 1], [0, 1, 1, 1]], share=0.4)
    >>> input.nnz, target.nnz
    (4, 2)
    """
    x = interactions(X, **how)
    all_, held = Entries.of(x), random_share(x.rows()[0], share, seed)
    return all_.some(~held).with_ids(x, x), all_.some(held).with_ids(x, x)


def hold_out_new(x: Interactions, seen: Interactions, find_item: Callable[[bytes], int],
                 share: float, seed: int) -> Tuple[Interactions, Interactions]:
    """The same where some users may also be in ``seen``, the data that the model was fitted
    with: their history is that in ``seen``. If any of them has other items in x, x is a fold
    over the rows of a table and not over users, and is refused."""
    wanted, fitted = Entries.of(x), Entries.of(seen)
    users = np.array([seen._handle.find_user(encode(u)) for u in x.user_ids], np.int64)
    items = np.array([find_item(encode(i)) for i in x.item_ids], np.int64)
    number = np.full(seen.shape[0], -1, np.int64)  # in x
    number[users[users >= 0]] = np.flatnonzero(users >= 0)
    fitted = fitted._replace(users=number[fitted.users])
    fitted = fitted.some(fitted.users >= 0)

    known = users[wanted.users] >= 0
    width = max(seen.shape[1], int(items.max(initial=-1)) + 1)  # some items only have tags
    pairs = wanted.users * width + items[wanted.items]
    pairs[items[wanted.items] < 0] = -1
    had = fitted.users * width + fitted.items
    new = known & ~np.isin(pairs, had)
    if new.any():
        refuse_folds_of_rows(len(np.unique(wanted.users[new])), x.shape[0])
    held = random_share(x.rows()[0], share, seed)
    kept = fitted.some(~np.isin(had, pairs[held]))
    others = wanted.some(~known & ~held & (pairs >= 0)
                         & (items[wanted.items] < seen.shape[1]))
    others = others._replace(items=items[others.items])
    return (kept + others).with_ids(x, seen), wanted.some(held).with_ids(x, x)


def refuse_folds_of_rows(count: int, users: int) -> None:
    raise ValueError(
        f"{count} of {users} users of X are in the model's data with other items, as where a "
        "frame is divided by its rows: divide it by user. With scikit-learn, give "
        "ease.interactions(frame) in place of the frame, or groups=frame['user'] and "
        "cv=GroupKFold(). score(X, y) measures how users of X find their items in y")


def scorer(metric: str = "ndcg@100", *, share: float = 0.2, seed: int = 0,
           unknown: str = "miss") -> Callable[..., float]:
    """For scikit-learn's ``scoring=``: :meth:`EASE.score` with this metric.

    >>> import ease
    >>> X = [[1, 1, 0], [1, 1, 1], [0, 1, 1], [1, 1, 0]]
    >>> measure = ease.scorer("hit@1")
    >>> 0.0 <= measure(ease.EASE(lambda_=1.0).fit(X), X) <= 1.0
    True
    """
    def measure(model: Recommender, X: Any, y: Any = None) -> float:
        return model.score(X, y, metric=metric, share=share, seed=seed, unknown=unknown)

    return measure


# ---- tuning ---------------------------------------------------------------------------


class Trial(NamedTuple):
    params: Dict[str, Any]
    mean: float
    standard_error: float
    seconds: float


class Tuning:
    """What :func:`tune` has found.

    best_estimator has the best parameters, best_params, and is not fitted; best_score is its
    mean of ``metric``. ``trials`` are all that was tried, and stopped says whether more was
    left out for lack of time. unknown_targets: the number of held-out items that the models
    do not know. ``protocol`` says in words how it was measured.
    """

    def __init__(self, best_estimator: Recommender, best_params: Dict[str, Any],
                 best_score: float, trials: List[Trial], stopped: bool, unknown_targets: int,
                 metric: str):
        self.best_estimator = best_estimator
        self.best_params = best_params
        self.best_score = best_score
        self.trials = trials
        self.stopped = stopped
        self.unknown_targets = unknown_targets
        self.metric = metric
        self.protocol = ""
        self._fit: Callable[[Recommender], Recommender] = _cannot_fit

    @functools.cached_property
    def best_model(self) -> Recommender:
        """A model with the best parameters, fitted when it is first asked for: to all data
        where :func:`tune` was given data, to ``split.train`` of a split, or to the first of
        (train, input, target)."""
        return self._fit(_copy(self.best_estimator))

    @property
    def best_trial(self) -> Trial:
        return next(t for t in self.trials if t.params == self.best_params)

    def to_frame(self, kind: str = "pandas") -> Any:
        """The trials as a frame of pandas, polars or pyarrow: the parameters, mean,
        standard_error and seconds."""
        names = dict.fromkeys(name for t in self.trials for name in t.params)
        columns: Dict[str, Any] = {n: [t.params.get(n) for t in self.trials] for n in names}
        for field in ("mean", "standard_error", "seconds"):
            columns[field] = np.array([getattr(t, field) for t in self.trials], np.float64)
        return make_frame(columns, str(choose_kind(kind)))

    def _axes(self) -> List[Axis]:
        """The parameters that are numbers, and of which several were tried."""
        out = []
        for name in self.best_params:
            values = [t.params.get(name) for t in self.trials]
            if len(set(values)) > 1 and all(v is None or isinstance(v, (int, float))
                                            for v in values):
                out.append(axis_of(name, values))
        return out

    def plot(self, path: Any = None, *, ax: Any = None) -> Any:
        """Draws the metric by lambda, or by each parameter that was searched. ``path`` writes
        SVG, PNG or PDF, ``ax`` draws on an axis of matplotlib, or on one for each parameter;
        without them an :class:`ease.Figure` is returned, which notebooks show."""
        mean, error = (np.array([getattr(t, f) for t in self.trials], np.float64)
                       for f in ("mean", "standard_error"))
        return trials_figure(self._axes(), mean, error, self.trials.index(self.best_trial),
                             self.metric).give(path, ax)

    def _repr_html_(self) -> str:
        return show_tuning(self)

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_fit": _cannot_fit}  # which has the data

    def __repr__(self) -> str:
        best = ", ".join(f"{n}={v!r}" for n, v in self.best_params.items())
        return (f"<{len(self.trials)} trials; best {best}: {self.metric} "
                f"{self.best_score:.5f}>")


def _cannot_fit(estimator: Recommender) -> Recommender:
    raise ValueError("the data is not part of a pickle: fit best_estimator")


def tune(data: Any, estimator: Optional[Recommender] = None, *,
         grid: Optional[Mapping[str, Sequence[Any]]] = None, metric: str = "ndcg@100",
         unknown: str = "miss", seconds: Optional[float] = None, tags: Any = None,
         tag_weight: float = 1.0, tag_columns: TagColumns = None,
         tag_split: Optional[str] = None, tag_kind: Optional[str] = None,
         leave_one_out: Optional[bool] = None, users: Optional[int] = None,
         show_progress: ShowProgress = None, **how: Any) -> Tuning:
    """Finds the best parameters, and with ``best_model`` the model that has them.

    data: all that :func:`ease.interactions` takes, with its keywords; a :class:`ease.Split`;
    or (train, input, target). estimator: EASE by default;
    its other parameters stay. grid: values by name; without it lambda is searched (EASE), or
    lambda together with all settings of the method (its relatives), or the method's own grid
    is tried, a network's best epoch being its ``epochs``; what these data cannot be trained
    with is left out, with a warning. seconds: no trial begins that would end later. metric and unknown are as for :func:`ease.evaluate`,
    tags and what is said of them as for :meth:`ease.EASE.fit`.

    A split is measured on its validation users. Of other data, the lambda of EASE is measured
    by leaving out one user after the other, and all else on a tenth of the users, at most
    10,000, who are held out with a fifth of their items to be found (or for methods that
    score only the users they were trained with, on a fifth of all items). ``protocol`` of the
    result and the logger ``ease`` say which.

    leave_one_out: True: data is the training data alone, and the lambda of EASE or a relative
    is measured on its users, each by the model without this user, as
    :meth:`ease.EASE.leave_one_out` does. False: users are held out. users: the number of users
    that are left out, a random sample (with leave_one_out=True all by default, else at most
    10,000), or that are held out.

    >>> import ease, numpy as np
    >>> x = (np.random.default_rng(0).random((80, 12)) < 0.4).astype(int)
    >>> found = ease.tune(ease.split(x, "random"), grid={"lambda_": [1, 10, 100]},
    ...                   metric="ndcg@5")
    >>> len(found.trials), found.best_estimator.lambda_ in (1, 10, 100)
    (3, True)
    >>> found = ease.tune(x, metric="ndcg@5")
    >>> found.protocol, found.best_model.info["users"]
    ('80 of 80 users, each left out of the data', 80)
    """
    if estimator is None:
        estimator = EASE(lambda_=1.0)
    if not isinstance(estimator, Recommender):
        raise ValueError(f"an estimator is tuned, such as ease.WMF(), not {estimator!r}")
    check_grid(estimator, grid)
    tagging: Dict[str, Any] = {"tags": read_tags(tags, tag_columns, tag_split, tag_kind),
                               "tag_weight": tag_weight}
    with watching(show_progress, "ease.tune") as watch:
        arguments = estimator, grid, metric, unknown, seconds, tagging, watch or False
        if not is_parted(data):
            made = _tune_data(data, how, arguments, leave_one_out, users)
            made._fit = lambda model: model.fit(data, **tagging, show_progress=show_progress,
                                                **how)
            return made
        if leave_one_out:
            raise ValueError("leave_one_out=True needs no split: give the training data")
        if users is not None:
            raise ValueError("users is the size of a sample of data without a split")
        train, fit = data[0], data[0]
        if isinstance(data, Split):
            train, fit = data.validation_train, data.train
            data = (train, data.validation_input, data.validation_target)
        x = interactions(train, **how)
        parts = [x] + [by_id(d, x._plain, **how) for d in data[1:]]
        made = _search(parts, *arguments)
        made.protocol = f"{parts[2].shape[0]:,} validation users"
        made._fit = lambda model: model.fit(fit, **tagging, show_progress=show_progress, **how)
        return made


def is_parted(data: Any) -> bool:
    """Whether data is a split or (train, input, target), and no matrix of nested lists."""
    if isinstance(data, Split):
        return True
    if isinstance(data, tuple) or (isinstance(data, list) and not all(
            isinstance(row, (list, tuple, str, bytes, os.PathLike)) for row in data)):
        if len(data) != 3:
            raise ValueError("tuning takes data, a split, or (train, input, target)")
        return True
    return False


def _tune_data(data: Any, how: Dict[str, Any], arguments: Tuple[Any, ...],
               leave_one_out: Optional[bool], users: Optional[int]) -> Tuning:
    """On data without a split."""
    estimator, grid, metric, unknown, seconds, tagging, show = arguments
    x = interactions(data, show_progress=show, **how)
    if leave_one_out is None:
        leave_one_out = (type(estimator) is EASE and not estimator.get_params()["nonnegative"]
                         and estimator.get_params()["kind"] != "correlation"
                         and tagging["tags"] is None
                         and (grid is None or set(grid) == {"lambda_"}))
        if leave_one_out and users is None and x.shape[0] > MOST_USERS:
            users = MOST_USERS
    if leave_one_out:
        made = _leave_out(x, estimator, grid, metric, seconds, users, tagging, show)
        count = min(users or x.shape[0], x.shape[0])
        made.protocol = f"{count:,} of {x.shape[0]:,} users, each left out of the data"
    else:
        parts, protocol = divide(x, estimator, users)
        made = _search(parts, *arguments)
        made.protocol = protocol
    tell(2, f"ease.tune: measured on {made.protocol}")
    return made


def divide(x: Interactions, estimator: Recommender, users: Optional[int]
           ) -> Tuple[List[Interactions], str]:
    """(train, input, target), and in words what they are."""
    if isinstance(estimator, KnownUsers):
        if users is not None:
            raise ValueError(f"users: {type(estimator).__name__} is measured on all users, since "
                             "it scores only those that it was trained with")
        kept, held = hold_out(x)
        return [kept, kept, held], "a fifth of the items of each user"
    able = np.flatnonzero(np.diff(x.rows()[0]) > 1)
    count = min(MOST_USERS, max(1, len(able) // 10)) if users is None else whole(users, 1, "users")
    if count >= x.shape[0] or len(able) == 0:
        raise ValueError(f"too little data to hold {count} users out: there are {x.shape[0]}, "
                         f"{len(able)} of them with two items or more")
    chosen = np.sort(np.random.default_rng(0).choice(able, min(count, len(able)), replace=False))
    rest = np.ones(x.shape[0], bool)
    rest[chosen] = False
    return ([x[rest], *hold_out(x[chosen])],
            f"{len(chosen):,} of {x.shape[0]:,} users, held out with a fifth of their items to be "
            "found")


def _search(parts: List[Interactions], estimator: Recommender, grid: Any, metric: str,
            unknown: str, seconds: Optional[float], tagging: Dict[str, Any],
            show_progress: ShowProgress) -> Tuning:
    if isinstance(estimator, Regularized) and (grid is None or set(grid) == {"lambda_"}):
        return _tune_lambda(parts, estimator, grid, metric, unknown, seconds, tagging,
                            show_progress)
    if grid is None:
        grid = default_grid(estimator)
    return _try_all(parts, estimator, grid, metric, unknown, seconds, tagging, show_progress)


def check_grid(estimator: Recommender, grid: Optional[Mapping[str, Sequence[Any]]]) -> None:
    for name, values in (grid or {}).items():
        if name not in estimator.get_params():
            raise ValueError(f"{type(estimator).__name__} has no parameter {name!r}: there "
                             f"are {', '.join(estimator.get_params())}")
        if isinstance(values, str) or not hasattr(values, "__len__") or len(values) == 0:
            raise ValueError(f"{name}: a list of values to try, not {values!r}")


def _copy(estimator: Recommender, **params: Any) -> Recommender:
    return type(estimator)(**{**estimator.get_params(), **params})


def _leave_out(x: Interactions, estimator: Recommender, grid: Any, metric: str,
               seconds: Optional[float], users: Optional[int], tagging: Dict[str, Any],
               show_progress: ShowProgress) -> Tuning:
    if not isinstance(estimator, ClosedForm) or (grid and set(grid) != {"lambda_"}):
        raise ValueError("leave_one_out=True is for the lambda of EASE and its relatives alone")
    grid = grid or {"lambda_": None}
    sample = 0 if users is None else whole(users, 1, "users")
    return _tune_lambda([x], estimator, grid, metric, "miss", seconds, tagging,
                        show_progress, sample)


def _tune_lambda(parts: List[Interactions], estimator: Regularized, grid: Any, metric: str,
                 unknown: str, seconds: Optional[float], tagging: Dict[str, Any],
                 show_progress: ShowProgress, users: int = 0) -> Tuning:
    """On validation users, or without them by leaving users out. Without a grid, settings
    are searched too; lambda is if the grid has no values of it."""
    lambdas = None
    if grid is not None and grid["lambda_"] is not None:
        lambdas = np.array(list(grid["lambda_"]), np.float64)
    held: List[Optional[_ease.Interactions]] = [p._handle for p in parts[1:]] or [None, None]
    with watching(show_progress) as watch:
        trials, best, stopped, strange = _ease.tune(
            parts[0]._handle, held[0], held[1], lambdas, metric, seconds or 0.0, users,
            estimator._options(unknown=unknown, search=grid is None, **tagging), watch)
    made = [Trial({"lambda_": t[0], **parameters_of(type(estimator), t[1])}, *t[2:])
            for t in trials]
    if grid is not None:
        made = [t._replace(params={"lambda_": t.params["lambda_"]}) for t in made]
    return Tuning(_copy(estimator, **made[best].params), made[best].params,
                  made[best].mean, made, stopped, strange, metric)


def default_grid(estimator: Recommender) -> Dict[str, List[Any]]:
    """What the library tries for the method unless it is told."""
    for name, _, _, grid, settings, _, _ in _ease.methods():
        if name == estimator._method:
            break
    kinds = {s[0]: (str if s[6] else int if s[5] else float) for s in settings}
    out: Dict[str, List[Any]] = {}
    for part in filter(None, (grid or "").split(",")):
        key, _, values = part.partition("=")
        out[parameter_name(key)] = [kinds[key](v)
                                                      for v in values.split("|")]
    return out


def _try(parts: List[Interactions], estimator: Recommender, params: Dict[str, Any],
         metric: str, unknown: str, tagging: Dict[str, Any],
         show_progress: ShowProgress) -> Tuple[Trial, int]:
    """A trial, and the number of unknown targets."""
    start = time.monotonic()
    how: Dict[str, Any] = {}
    if hasattr(estimator, "epochs"):
        how = {"validation": (parts[1], parts[2]), "metric": metric, "unknown": unknown}
    model = _copy(estimator, **params).fit(parts[0], show_progress=show_progress, **how,
                                           **tagging)
    if how:  # fewer than it was told to make, where those are better
        settings = dict(s.split("=") for s in model.info["settings"].split(","))
        params = {**params, "epochs": int(settings["epochs"])}
    report = evaluate(model, parts[1], parts[2], metrics=metric, unknown=unknown,
                      show_progress=show_progress)
    return (Trial(params, report[metric], report.standard_error[metric],
                  time.monotonic() - start), report.info["unknown_targets"])


def _try_all(parts: List[Interactions], estimator: Recommender,
             grid: Mapping[str, Sequence[Any]], metric: str, unknown: str,
             seconds: Optional[float], tagging: Dict[str, Any],
             show_progress: ShowProgress) -> Tuning:
    began, stopped, strange = time.monotonic(), False, 0
    trials: List[Trial] = []
    why: Optional[Exception] = None
    for values in itertools.product(*grid.values()):
        params = dict(zip(grid, values))
        longest = max((t.seconds for t in trials), default=0.0)
        if seconds and trials and time.monotonic() - began + longest > seconds:
            stopped = True
            break
        try:
            trial, strange = _try(parts, estimator, params, metric, unknown, tagging,
                                  show_progress)
            trials.append(trial)
        except (ValueError, ArithmeticError, MemoryError) as error:  # the others may do
            warnings.warn(f"{params} is left out: {error}", RuntimeWarning, stacklevel=3)
            why = error
    if not trials and why is not None:
        raise why
    sign = -1 if dict(_ease.metrics())[metric.split("@")[0]] < 0 else 1
    best = max(trials, key=lambda t: sign * t.mean if not math.isnan(t.mean) else -math.inf)
    return Tuning(_copy(estimator, **best.params), best.params, best.mean, trials, stopped,
                  strange, metric)
