"""Evaluating and tuning."""

from __future__ import annotations

import itertools
import math
import time
import warnings
from typing import (Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional,
                    Sequence, Tuple)

import numpy as np

from . import _ease
from ._base import UNKNOWN, Recommender, parameter_name, parameters_of
from ._closed_form import ClosedForm
from ._data import Interactions, Split, by_id, choice, interactions, whole
from ._ease_class import EASE
from ._ids import Array, encode
from ._progress import ShowProgress, watching
from ._tags import TagColumns, read_tags

METRICS = "recall@20,recall@50,ndcg@100"
KINDS = ("all", "warm", "cold")  # of items, in the order of the library


class Report(Mapping[str, float]):
    """Means by the names of the metrics.

    ``standard_error`` has theirs, ``by_user(name)`` one for each user of ``user_ids``
    where the metric has such. ``info`` has the numbers of users that were left out and of
    items that the model does not know: ``unknown_targets`` are held-out items, which are
    counted as ``unknown`` says. ``warm_targets`` and ``cold_targets`` are the numbers of
    held-out items by kind, and ``cold_items`` that of the model's cold items.
    """

    def __init__(self, handle: _ease.Report, unknown: str):
        self._handle = handle
        self.unknown = unknown
        found = handle.metrics()
        self._means: Dict[str, float] = {n: mean for n, mean, _ in found}
        self.standard_error: Dict[str, float] = {n: e for n, _, e in found}
        self.info: Dict[str, int] = handle.info()

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

    def __repr__(self) -> str:
        parts = (f"{n} {m:.5f}" + ("" if math.isnan(e) else f" ({e:.5f})")
                 for (n, m), e in zip(self.items(), self.standard_error.values()))
        strange = self.info["unknown_targets"]
        fate = "count as misses" if self.unknown == "miss" else "dropped"
        note = f"; {strange} unknown targets {fate}" if strange else ""
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
    x, y = (by_id(part, model._plain) for part in (input, target))
    with watching(show_progress) as watch:
        return Report(_ease.evaluate(fitted, x._handle, y._handle, text,
                                     choice(unknown, UNKNOWN, "unknown"),
                                     choice(items, KINDS, "items"),
                                     choice(among, KINDS, "among"),
                                     whole(threads, 0, "threads", 2**31 - 1), watch),
                      unknown)


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


def hold_out(x: Interactions, share: float, seed: int) -> Tuple[Interactions, Interactions]:
    """Holds out a random share of each row; returns the rest and the share. Users and items
    keep their ids."""
    all_, held = Entries.of(x), random_share(x.rows()[0], share, seed)
    return all_.some(~held).with_ids(x, x), all_.some(held).with_ids(x, x)


def hold_out_new(x: Interactions, seen: Interactions, find_item: Callable[[bytes], int],
                 share: float, seed: int) -> Tuple[Interactions, Interactions]:
    """The same where some users are also in ``seen``, the data that the model was fitted
    with. The history of such a user is that in ``seen``. If any of them has other items in
    x, as in a fold over the rows of a table, exactly these are held out for them."""
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
    held = random_share(x.rows()[0], share, seed)
    if new.any():
        held = np.where(known, new, held)
    kept = fitted.some(~np.isin(had, pairs[held]))
    others = wanted.some(~known & ~held & (pairs >= 0)
                         & (items[wanted.items] < seen.shape[1]))
    others = others._replace(items=items[others.items])
    return (kept + others).with_ids(x, seen), wanted.some(held).with_ids(x, x)


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


class Tuning(NamedTuple):
    """Trials and the best of them; best_estimator has its parameters, unfitted.
    unknown_targets: the number of held-out items that the models do not know."""

    best_estimator: Recommender
    best_params: Dict[str, Any]
    best_score: float
    trials: List[Trial]
    stopped: bool
    unknown_targets: int


def tune(data: Any, estimator: Optional[Recommender] = None, *,
         grid: Optional[Mapping[str, Sequence[Any]]] = None, metric: str = "ndcg@100",
         unknown: str = "miss", seconds: Optional[float] = None, tags: Any = None,
         tag_weight: float = 1.0, tag_columns: TagColumns = None,
         tag_split: Optional[str] = None, tag_kind: Optional[str] = None,
         show_progress: ShowProgress = None) -> Tuning:
    """Finds the best parameters on validation users.

    data: a :class:`ease.Split`, or (train, input, target). estimator: EASE by default;
    its other parameters stay. grid: values by name; without it lambda is searched (EASE), or
    lambda together with all settings of the method (its relatives), or the method's own grid
    is tried, a network's best epoch being its ``epochs``; what these data cannot be trained
    with is left out, with a warning. seconds: no trial begins that would end later. metric and unknown are as for :func:`ease.evaluate`,
    tags and what is said of them as for :meth:`ease.EASE.fit`.

    >>> import ease, numpy as np
    >>> x = (np.random.default_rng(0).random((80, 12)) < 0.4).astype(int)
    >>> found = ease.tune(ease.split(x, "random"), grid={"lambda_": [1, 10, 100]},
    ...                   metric="ndcg@5")
    >>> len(found.trials), found.best_estimator.lambda_ in (1, 10, 100)
    (3, True)
    """
    if estimator is None:
        estimator = EASE(lambda_=1.0)
    if not isinstance(estimator, Recommender):
        raise ValueError(f"an estimator is tuned, such as ease.WMF(), not {estimator!r}")
    if isinstance(data, Split):
        data = (data.validation_train, data.validation_input, data.validation_target)
    if not isinstance(data, (tuple, list)) or len(data) != 3:
        raise ValueError("tuning takes a split, or (train, input, target)")
    check_grid(estimator, grid)
    tagging = {"tags": read_tags(tags, tag_columns, tag_split, tag_kind),
               "tag_weight": tag_weight}
    train = interactions(data[0])
    parts = [train] + [by_id(d, train._plain) for d in data[1:]]
    if isinstance(estimator, ClosedForm) and (grid is None or set(grid) == {"lambda_"}):
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


def _tune_lambda(parts: List[Interactions], estimator: ClosedForm, grid: Any, metric: str,
                 unknown: str, seconds: Optional[float], tagging: Dict[str, Any],
                 show_progress: ShowProgress) -> Tuning:
    lambdas = None if grid is None else np.array(list(grid["lambda_"]), np.float64)
    with watching(show_progress) as watch:
        trials, best, stopped, strange = _ease.tune(
            parts[0]._handle, parts[1]._handle, parts[2]._handle, lambdas, metric,
            seconds or 0.0, estimator._options(unknown=unknown, search=grid is None, **tagging),
            watch)
    made = [Trial({"lambda_": t[0], **parameters_of(type(estimator), t[1])}, *t[2:])
            for t in trials]
    if grid is not None:
        made = [t._replace(params={"lambda_": t.params["lambda_"]}) for t in made]
    return Tuning(_copy(estimator, **made[best].params), made[best].params,
                  made[best].mean, made, stopped, strange)


def default_grid(estimator: Recommender) -> Dict[str, List[Any]]:
    """What the library tries for the method unless it is told."""
    for name, _, _, grid, settings, _ in _ease.methods():
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
                  strange)
