"""What every recommender can do."""

from __future__ import annotations

import importlib.util
import inspect
import os
import tempfile
from typing import (Any, Callable, Dict, FrozenSet, List, Mapping, NamedTuple, Optional, Sequence,
                    Tuple, Union)

import numpy as np

from . import _ease
from ._data import (Interactions, Rows, Split, by_id, choice, interactions, is_frame, is_sparse,
                    open_frame, path_bytes, paths_of, whole)
from ._figures import weights_figure
from ._frames import choose_kind, collect, frame_kind, id_values, list_columns, make_frame
from ._histories import is_many, read_histories, some_rows, user_numbers
from ._html import show_explanation, show_model
from ._ids import Array, Ids, encode, is_missing, load_ids
from ._progress import ShowProgress, watching
from ._tags import TagColumns, cap_list, read_tags, tag_list

KINDS = ("counts", "covariance", "correlation")
PRECISIONS = ("f32", "f64")
UNKNOWN = ("miss", "drop")
METRICS = "recall@20,recall@50,ndcg@100"
STORAGES = tuple(_ease.storages())  # the first three can be asked for
# Keywords of the fit that all tables are read with, parts of the model's data, and all of it.
READING = ("columns", "weights", "min_rating", "repeat", "format", "separator", "header",
           "encoding")
READING_PART = READING + ("since", "until", "half_life")
READING_WHOLE = READING_PART + ("min_user", "min_item")
VERIFY_USE, VERIFY_OPEN, VERIFY_NEVER = range(3)  # as ease.h has them
CLASSES: Dict[str, Any] = {}  # by the library's names of methods


def load_mapped(path: str) -> Any:
    return np.load(path, mmap_mode="r")


def require_scipy(what: str) -> None:
    if importlib.util.find_spec("scipy") is None:
        raise ImportError(f"{what} is a matrix of SciPy, which is not installed: "
                          "pip install scipy")


def load_csr(path: str) -> Any:
    from scipy.sparse import load_npz

    made = load_npz(path)
    for part in made.data, made.indices, made.indptr:
        part.flags.writeable = False
    return made


class NotFittedError(ValueError, AttributeError):
    """A model is used before it is fitted."""


class _Parts(NamedTuple):
    score: float
    contributions: List[Tuple[Any, float]]
    base: float


class Explanation(_Parts):
    """Why an item has its score: base + all contributions. A tuple of score, contributions
    (pairs of an item and what it adds) and base; ``item`` and ``title`` are those of the item,
    and ``titles`` has the titles of the others by id."""

    item: Any = None
    title: Optional[str] = None
    titles: Mapping[Any, str] = {}

    def to_frame(self, kind: str = "pandas") -> Any:
        """The contributions as a frame of pandas, polars or pyarrow with the columns item,
        title (if there are titles) and contribution."""
        items = id_values([i for i, _ in self.contributions])
        columns: Dict[str, Any] = {"item": items}
        if self.titles:
            columns["title"] = [self.titles.get(i) for i, _ in self.contributions]
        columns["contribution"] = np.array([v for _, v in self.contributions], np.float64)
        return make_frame(columns, str(choose_kind(kind)))

    def _repr_html_(self) -> str:
        return show_explanation(self)


def parameter_name(setting: str) -> str:
    """A setting of the library as a parameter: no word of the language, no hyphen."""
    return "lambda_" if setting == "lambda" else setting.replace("-", "_")


def parameters_of(cls: type, settings: str) -> Dict[str, Any]:
    """Settings of the library, "rank=64,alpha=3", as parameters of a class."""
    kinds = cls.__init__.__annotations__  # type: ignore[misc]
    params: Dict[str, Any] = {}
    for setting in filter(None, settings.split(",")):
        key, _, value = setting.partition("=")
        key = parameter_name(key)
        kind = str(kinds[key])
        params[key] = (int(float(value)) if kind == "int" else
                       float(value) if kind == "float" else value)
    return params


class Recommender:
    """The base of all classes; see :class:`ease.EASE`."""

    _method = ""
    _has_plan = False  # the library can tell what training will take
    _beside: FrozenSet[str] = frozenset({"threads", "memory_limit"})  # no settings
    _model: Optional[_ease.Model] = None
    threads: int
    memory_limit: Optional[int]
    _seen: Optional[Interactions] = None
    _ids_of_items: Optional[Ids] = None
    _weights: Any = None
    _least: Optional[int] = None  # columns that a matrix must have
    _counts: Optional[bool] = None  # whether items are called by their numbers
    _how: Mapping[str, Any] = {}  # keywords that X was read with by fit
    _named: Optional[Array] = None  # titles, once they are used
    _frames: Optional[str] = None  # the library of the frame that was fitted

    # ---- parameters, as scikit-learn has them ------------------------------------------

    @classmethod
    def _names(cls) -> List[str]:
        return [p for p in inspect.signature(cls.__init__).parameters if p != "self"]

    def get_params(self, deep: bool = True) -> Dict[str, Any]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> "Recommender":
        """Changes parameters; fit again to use them."""
        for name, value in params.items():
            if name not in self._names():
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}: there "
                                 f"are {', '.join(self._names())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        shown = []
        for name, p in inspect.signature(type(self).__init__).parameters.items():
            if name != "self" and getattr(self, name) != p.default:
                shown.append(f"{name}={getattr(self, name)!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False),
                    input_tags=InputTags(sparse=True))

    def __sklearn_is_fitted__(self) -> bool:
        return self._model is not None

    # ---- fitting -----------------------------------------------------------------------

    @classmethod
    def _params_of(cls, info: Dict[str, Any]) -> Dict[str, Any]:
        """Parameters that a model file has beside the settings of its method."""
        return {}

    def _trained_method(self) -> str:
        """The method as the library names it."""
        return self._method

    def _settings(self) -> str:
        """As the library reads them."""
        return ",".join(f"{n.rstrip('_').replace('_', '-')}={getattr(self, n)}"
                        for n in self._names() if n not in self._beside)

    def _given_lambda(self) -> float:
        """Where lambda is no setting."""
        return 0.0

    def _options(self, validation: Any = None, metric: str = "ndcg@100",
                 unknown: str = "miss", x: Optional[Interactions] = None,
                 search: bool = False, tags: Optional[_ease.Tags] = None,
                 tag_weight: Any = 1.0) -> Tuple[Any, ...]:
        """For the library. search: settings are to be found, and none is fixed."""
        try:
            weight = float(tag_weight)
        except (TypeError, ValueError):
            raise ValueError(f"tag_weight is a number, not {tag_weight!r}") from None
        given = self.get_params()
        parts: List[Optional[_ease.Interactions]] = [None, None]
        if isinstance(validation, Split):
            validation = (validation.validation_input, validation.validation_target)
        if validation is not None and x is not None:
            parts = [by_id(v, x._plain, show_progress=False)._handle for v in validation]
        return (self._trained_method(), self._given_lambda(),
                choice(given.get("kind", "counts"), KINDS, "kind"),
                choice(given.get("precision", "f32"), PRECISIONS, "precision"),
                whole(self.threads, 0, "threads", 2**31 - 1),
                whole(self.memory_limit or 0, 0, "memory_limit"),
                None if given.get("workdir") is None else path_bytes(given["workdir"]),
                None if search else self._settings(), parts[0], parts[1], metric,
                choice(unknown, UNKNOWN, "unknown"), given.get("backend"), tags,
                weight, bool(given.get("updatable", False)))

    def plan(self, X: Any, *, tags: Any = None, tag_weight: float = 1.0,
             tag_columns: TagColumns = None, tag_split: Optional[str] = None,
             tag_kind: Optional[str] = None, **how: Any) -> Dict[str, Any]:
        """What fitting will take, before anything large is allocated: memory in bytes,
        time in seconds. Of EASE and its relatives; ``X`` is as for :meth:`fit`, or its shape,
        which then includes the items that only have tags."""
        tagged = read_tags(tags, tag_columns, tag_split, tag_kind)
        handle = None
        if isinstance(X, tuple):
            if len(X) != 2:
                raise ValueError(f"a shape is (users, items), not {X}")
            users, items, count = X[0], X[1], 0
        else:
            x = interactions(X, **how)
            (users, items), count = x.shape, x.nnz
            handle = x._handle if tagged is not None else None
        return _ease.plan(users, items, count, handle,
                          self._options(tags=tagged, tag_weight=tag_weight))

    def fit(self, X: Any, y: Any = None, *, validation: Any = None,
            metric: str = "ndcg@100", unknown: str = "miss", tags: Any = None,
            tag_weight: float = 1.0, tag_columns: TagColumns = None,
            tag_split: Optional[str] = None, tag_kind: Optional[str] = None,
            show_progress: ShowProgress = None, **how: Any) -> "Recommender":
        """Learns from interactions: all that :func:`ease.interactions` takes, which gets
        the other keywords. ``y`` is there for scikit-learn and not used.

        validation: (input, target) of users by which methods that are trained by epochs
        choose the best one by ``metric``, which :func:`ease.evaluate` computes with
        ``unknown``. ``lambda_="auto"`` is chosen by ``metric`` too, on users of X.

        tags: tags of the items, such as "genre=Comedy": a mapping from item ids to a tag or
        a list of tags, a frame with columns item, tag[, weight], pairs (item, tag[, weight]),
        or the path of a table. EASE and its relatives learn from them: a tag counts as a user
        with the weight ``tag_weight`` (0: tags are only kept), and items that only have tags
        can be recommended. ``AddEASE`` has settings for this instead. Other methods keep the
        tags of their items for ``only``, ``exclude`` and ``at_most``.

        tag_columns: (item, tag[, weight]) by name or number, if a file or a frame has other
        columns; tag_split: what separates several tags in one text; tag_kind: the kind of
        tags that are not KIND=VALUE, by default the name of their column, or "tag".
        """
        x = X
        try:
            tagged = read_tags(tags, tag_columns, tag_split, tag_kind)
            with watching(show_progress, f"{type(self).__name__}.fit") as watch:
                x = interactions(X, show_progress=watch or False, **how)
                options = self._options(validation, metric, unknown, x, tags=tagged,
                                        tag_weight=tag_weight)
                model = _ease.train(x._handle, options, watch)
        except MemoryError as error:
            raise self._with_plan(error, x, tags=tags, tag_weight=tag_weight,
                                  tag_columns=tag_columns, tag_split=tag_split,
                                  tag_kind=tag_kind) from None
        table = not (is_sparse(X) or isinstance(X, np.ndarray))
        kind = x._item_kind
        if kind is int and model.info()["items"] > x.shape[1]:
            kind = None  # ids that only tags have may be strings
        self._take(model, kind, x if table else None)
        self._how = {k: v for k, v in how.items() if k in READING_WHOLE}
        self._frames = frame_kind(X)
        return self

    def _with_plan(self, error: MemoryError, x: Any, **tagging: Any) -> MemoryError:
        sized = is_sparse(x) or isinstance(x, Interactions)
        if not (self._has_plan and sized):
            return error
        try:
            if tagging["tags"] is not None and isinstance(x, Interactions):
                plan = self.plan(x, **tagging)
            else:
                plan = _ease.plan(x.shape[0], x.shape[1], x.nnz, None, self._options())
        except (ValueError, MemoryError):
            return error
        text = (f"{error}; the plan: {plan['peak_bytes'] / 1e9:.2f} GB at the peak, "
                f"{plan['available_bytes'] / 1e9:.2f} GB available, "
                f"{plan['matrix_bytes'] / 1e9:.2f} GB of it the matrix")
        made = MemoryError(text)
        made.plan = plan  # type: ignore[attr-defined]
        return made

    def _take(self, model: _ease.Model, kind: Optional[type] = None,
              seen: Optional[Interactions] = None) -> None:
        count = model.info()["items"]
        self._weights = self._least = self._counts = self._named = None
        self._ids_of_items = Ids(
            count, lambda: load_ids(count, model.item_numbers, model.item_ids, kind),
            model.find, "item")
        self._seen = seen
        self._model = model

    def _plain(self) -> bool:
        """Whether the ids of the items are 0, 1, ... in this order, except for those behind
        them that only have tags."""
        self._fitted()
        assert self._ids_of_items is not None
        if self._counts is None:
            find, columns = self._fitted().find, self._least_columns()
            self._counts = (self._ids_of_items.plain
                            or 0 < columns < self._ids_of_items.count
                            and all(find(encode(i)) == i for i in range(columns)))
        return self._counts

    def _least_columns(self) -> int:
        """How many columns a matrix must have: those of the data. Items that training has
        added behind them, from their tags, need none."""
        if self._least is None:
            model = self._fitted()
            info = model.info()
            columns: int = info["items"]
            popularity = self.popularity if info["tag_weight"] > 0 else np.ones(columns)
            while columns and popularity[columns - 1] == 0 and model.item_tags(columns - 1):
                columns -= 1
            self._least = columns
        return self._least

    def _check_columns(self, columns: int) -> None:
        """Refuses a matrix whose columns could be other items than those with these numbers."""
        ids = self._ids_of_items
        assert ids is not None
        if not self._plain():
            if ids.permuted:
                raise ValueError("a matrix where the model's items are called 0, 1, ... in "
                                 "another order (item_ids): give ids, or "
                                 "ease.interactions(X[u]) if these are its columns")
        elif not all(ids.find(encode(i)) == i for i in range(
                self._least_columns(), min(columns, ids.count))):
            raise ValueError(f"a matrix of {columns} columns, where the items behind column "
                             f"{self._least_columns() - 1} only have tags: leave their "
                             "columns out, or give ids")

    def _fitted(self) -> _ease.Model:
        if self._model is None:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit")
        return self._model

    # ---- looking -----------------------------------------------------------------------

    @property
    def info(self) -> Dict[str, Any]:
        """What the model file says of itself: items, users, lambda, residual ..."""
        found = self._fitted().info()
        for name, names in (("kind", KINDS), ("precision", PRECISIONS),
                            ("storage", STORAGES)):
            found[name] = names[found[name]]
        return found

    @property
    def item_ids(self) -> Array:
        """The ids of the items, in the order of the columns."""
        self._fitted()
        assert self._ids_of_items is not None
        return self._ids_of_items.values

    @property
    def user_ids(self) -> Array:
        """The ids of the users whose histories the model keeps: those of the frame or file
        that it was fitted from, whom :meth:`recommend` knows without ``user_items``."""
        self._fitted()
        if self._seen is None:
            raise ValueError("the model keeps no users: it was not fitted from a frame or a "
                             "file in this process")
        return self._seen.user_ids

    @property
    def titles(self) -> List[Optional[str]]:
        """The titles of the items, None for those without, as a new list."""
        return self._fitted().titles()

    def _titles(self) -> Optional[Array]:
        """The titles by number, which stay in memory; None if no item has one."""
        if self._named is None:
            model = self._fitted()
            self._named = np.array(model.titles() if model.info()["has_titles"] else [], object)
        return self._named if len(self._named) else None

    def tags(self, item: Any = None) -> Any:
        """The tags of an item, a list such as ["genre=Comedy"]; of several items, a list
        for each. Without an argument, all tags of the model. Items without tags have []."""
        model = self._fitted()
        assert self._ids_of_items is not None
        if item is None:
            return model.tags()
        if is_many(item):
            return [model.item_tags(int(n)) for n in self._ids_of_items.numbers(item)]
        return model.item_tags(self._ids_of_items.number(item))

    @property
    def popularity(self) -> Array:
        """The column sums of X."""
        model = self._fitted()
        n = model.info()["items"]
        sums, base = np.empty(n, np.float64), np.empty(n, np.float32)
        model.columns(sums, base)
        return sums

    @property
    def B(self) -> Any:
        """The weights, items x items in float32 and read-only: ``X[u] @ model.B`` are the
        scores of user u. Dense models have an array that is mapped from a file: that of the
        model if it has float32 rows (do not modify that file while B is in use), else an
        unnamed file of B's size in the temporary directory. Models of few weights
        (``EASESparse``, ``ItemItem``, ``SLIM``, ``SLIMFree``) have a csr_matrix of SciPy in
        memory, of 8 bytes for each weight that is not 0."""
        model = self._fitted()
        if self._weights is None:
            n, stride = model.info()["items"], model.stride()
            if STORAGES[model.info()["storage"]] == "sparse":
                require_scipy("B of a model of few weights")
                self._weights = self._export("B.npz", load_csr)
            elif stride is not None:
                self._weights = np.ndarray((n, n), np.float32, buffer=memoryview(model),
                                           strides=(stride, 4))
            else:
                self._weights = self._export("B.npy", load_mapped)
        return self._weights

    def _export(self, name: str, load: Callable[[str], Any]) -> Any:
        with tempfile.TemporaryDirectory(prefix="ease-") as place:
            path = os.path.join(place, name)
            self._fitted().export(path_bytes(path), 0, None)
            return load(path)

    def set_titles(self, titles: Any) -> int:
        """Titles for display, saved with the model: a mapping from ids (a dict, a Series
        of pandas), a frame with a column of ids and one of titles, or the path of such a
        table. Returns how many
        items have one. Not while other threads use the model."""
        model, self._named = self._fitted(), None
        if isinstance(titles, (str, bytes, os.PathLike)):
            return model.read_titles(path_bytes(titles))
        if hasattr(titles, "items") and not hasattr(titles, "columns"):
            pairs = iter(titles.items())
        elif is_frame(titles):
            frame, names = open_frame(collect(titles))
            pairs = zip(*(frame[c].to_numpy().tolist() for c in names[:2]))
        else:
            raise ValueError("titles are a mapping from ids, a frame or a path, not a "
                             f"{type(titles).__name__}")
        out: List[Optional[bytes]] = [None] * model.info()["items"]
        for item, title in pairs:
            number = -1 if is_missing(item) else model.find(encode(item))
            if number >= 0 and not is_missing(title):
                out[number] = str(title).encode("utf-8", "replace").replace(b"\0", b"")
        model.set_titles(out)
        return sum(t is not None for t in out)

    def plot(self, path: Any = None, *, ax: Any = None, show_progress: ShowProgress = None
             ) -> Any:
        """Draws the histogram of the weights. ``path`` writes SVG, or with matplotlib PNG or
        PDF, by its suffix; ``ax`` draws on an axis of matplotlib, and returns it. Without
        them an :class:`ease.Figure` is returned, which notebooks show."""
        return weights_figure(self._fitted(), show_progress,
                              f"{type(self).__name__}.plot").give(path, ax)

    def _repr_html_(self) -> str:
        return show_model(self)

    # ---- recommending ------------------------------------------------------------------

    def _check_new_users(self) -> None:
        """Raises unless users without ids can be scored."""

    def _users(self, users: Sequence[Any]) -> Optional[Array]:
        """Their numbers, where scores depend on who someone is."""
        return None

    def _remembered(self, users: Sequence[Any]) -> Rows:
        """What the users had when the model was fitted."""
        if self._seen is None:
            raise ValueError("user_items is required: the model keeps the histories of "
                             "frames and files it was fitted from, and of nothing else")
        return some_rows(self._seen, user_numbers(self._seen._handle.find_user, users,
                                                  "the model's data"))

    def _mask(self, filter_items: Any, items: Any, only: Any,
              exclude: Any) -> Optional[Array]:
        assert self._ids_of_items is not None
        tags = tag_list(only, "only"), tag_list(exclude, "exclude")
        if filter_items is None and items is None and not any(tags):
            return None
        if filter_items is not None and items is not None:
            raise ValueError("filter_items or items, not both")
        mask = np.full(self._ids_of_items.count, items is None, np.uint8)
        if filter_items is not None or items is not None:
            chosen = items if filter_items is None else filter_items
            mask[self._ids_of_items.numbers(chosen)] = filter_items is None
        if any(tags):
            self._fitted().filter(*tags, mask)
        return mask

    def recommend(self, userid: Any = None, user_items: Any = None, N: int = 10,
                  filter_already_liked_items: bool = True, filter_items: Any = None,
                  items: Any = None, *, popularity_power: float = 0.0, only: Any = None,
                  exclude: Any = None, at_most: Optional[Mapping[str, int]] = None,
                  as_frame: Union[bool, str] = False,
                  show_progress: ShowProgress = False) -> Any:
        """The N best items for a user, or for each of several: ids and scores.

        user_items: what the users have. For one user: a row of X (sparse or NumPy), a list of
        item ids, or a dict from item ids to weights. For several: a matrix with a row for
        each, a list with a list or dict for each, or a frame, from which the rows of these
        users are taken by id. Without it, what the users had in the frame or file that the
        model was fitted from.

        Without ``userid``, the users are new: those of the frame, or numbered from 0 where
        ``user_items`` is a matrix or a list of lists. Items of histories that the model does
        not know are ignored, and a warning counts them.

        For one user the arrays may be shorter than N; for several they are users x N,
        filled up by -1 (None among string ids) with the lowest score there is. Someone
        without a history gets what is popular.

        as_frame: True returns a frame with the columns user, item, title (if the model has
        titles), score and rank, from 1 on, without filling: of the library of the frame
        ``user_items``, or of that which the model was fitted from, or else of pandas.
        "pandas", "polars" or "pyarrow" names it.

        filter_items are never recommended; of ``items`` alone it is chosen.

        popularity_power: scores are multiplied by the popularity of the item to this
        power, -10 .. 10: below 0, less popular items rank higher.

        For models whose items have tags, such as "genre=Comedy": only items with one of
        the tags ``only`` of each kind, and with none of ``exclude``, are recommended;
        ``at_most={"author": 2}`` bounds the items of a list with the same tag of a kind.

        >>> import ease
        >>> model = ease.EASE(lambda_=1.0).fit({"user": ["ann", "ann", "bob", "bob", "cat"],
        ...                                     "item": ["tea", "milk", "tea", "milk", "tea"]})
        >>> ids, scores = model.recommend("cat")
        >>> ids.tolist()
        ['milk']
        >>> ids, scores = model.recommend(user_items=[["tea"], ["milk"]], N=1)
        >>> ids.tolist()
        [['milk'], ['tea']]
        """
        model, caps = self._fitted(), cap_list(at_most)
        kind = choose_kind(as_frame, frame_kind(user_items), self._frames)
        k = whole(N, 1, "N", 2**31 - 1)
        users, many, rows = read_histories(self, userid, user_items)
        numbers = self._users(users)
        count = len(rows.indptr) - 1
        k = min(k, model.info()["items"]) if kind is not None or not many else k
        chosen, scores = np.empty((count, k), np.int32), np.empty((count, k), np.float32)
        with watching(show_progress) as watch:
            model.recommend(numbers, rows.indptr, rows.indices, rows.data, k,
                            not filter_already_liked_items,
                            self._mask(filter_items, items, only, exclude),
                            float(popularity_power), caps,
                            whole(self.threads, 0, "threads", 2**31 - 1), chosen, scores,
                            watch)
        if kind is not None:
            return self._frame(kind, "user", [0] if userid is None and not many else users,
                               "item", chosen, scores)
        return self._lists(chosen, scores, many)

    def _frame(self, kind: str, first: str, users: Sequence[Any], second: str, chosen: Array,
               scores: Array) -> Any:
        """Lists as a frame."""
        assert self._ids_of_items is not None
        there, titles, named = chosen >= 0, None, self._titles()
        if named is not None:
            titles = [named[row[kept]] for row, kept in zip(chosen, there)]
        ids = self._ids_of_items.at(chosen[there])
        ends = np.cumsum(there.sum(axis=1))[:-1]
        return make_frame(list_columns(first, users, second, np.split(ids, ends), titles,
                                       np.split(scores[there], ends)), kind)

    def _lists(self, chosen: Array, scores: Array,
               many: bool) -> Tuple[Array, Array]:
        assert self._ids_of_items is not None
        if many:
            return self._ids_of_items.at(chosen), scores
        there = chosen[0] >= 0
        return self._ids_of_items.at(chosen[0][there]), scores[0][there]

    def similar_items(self, itemid: Any, N: int = 10, filter_items: Any = None,
                      items: Any = None, *, popularity_power: float = 0.0,
                      only: Any = None, exclude: Any = None,
                      at_most: Optional[Mapping[str, int]] = None,
                      as_frame: Union[bool, str] = False) -> Any:
        """The items most like an item, or each of several: ids and similarities, by the
        partial correlation (EASE), the weight (sparse models) or the cosine (latent). The
        other arguments are those of :meth:`recommend`, with similarities for scores; a frame
        has the columns item, similar, title, score and rank."""
        model, caps = self._fitted(), cap_list(at_most)
        kind = choose_kind(as_frame, self._frames)
        assert self._ids_of_items is not None
        many = is_many(itemid)
        like = self._ids_of_items.numbers(itemid if many else [itemid])
        k = whole(N, 1, "N", 2**31 - 1)
        k = min(k, self._ids_of_items.count) if kind is not None or not many else k
        chosen = np.empty((len(like), k), np.int32)
        scores = np.empty(chosen.shape, np.float32)
        model.similar(like, k, self._mask(filter_items, items, only, exclude),
                      float(popularity_power), caps, chosen, scores)
        if kind is not None:
            return self._frame(kind, "item", itemid if many else [itemid], "similar", chosen,
                               scores)
        return self._lists(chosen, scores, many)

    def explain(self, userid: Any, user_items: Any, itemid: Any,
                N: Optional[int] = 10) -> Explanation:
        """Why an item has its score for a user: what each item of the history adds to
        it, largest first, the N largest (None: all). ``user_items`` is as in
        :meth:`recommend`, and may be None."""
        model = self._fitted()
        assert self._ids_of_items is not None
        if is_many(userid):
            raise ValueError("one user at a time")
        if N is not None:
            N = whole(N, 0, "N")
        rows = read_histories(self, userid, user_items).rows
        if rows.shape[0] != 1:
            raise ValueError("one user at a time")
        parts = np.empty(len(rows.indices), np.float32)
        base, score = model.explain(rows.indices, rows.data,
                                    self._ids_of_items.number(itemid), parts)
        order = np.argsort(-parts, kind="stable")[:N]
        ids = self._ids_of_items.at(rows.indices[order]).tolist()
        why = Explanation(score, list(zip(ids, parts[order].tolist())), base)
        why.item, titles = itemid, self._titles()
        if titles is not None:
            why.title = titles[self._ids_of_items.number(itemid)]
            why.titles = {i: titles[n] for i, n in zip(ids, rows.indices[order])
                          if titles[n] is not None}
        return why

    # ---- files -------------------------------------------------------------------------

    def save(self, path: Any, storage: Optional[str] = None, *,
             show_progress: ShowProgress = None) -> None:
        """Writes a model file, as the program does: whole or not at all. storage: f16,
        f32 or packed, about 2, 4 and 2 bytes a weight; packed keeps every bit, and is the
        only one from which a model can be updated. By default packed for such models, f16
        for others."""
        model = self._fitted()
        if storage is None:
            storage = "packed" if model.info()["updatable"] else "f16"
        number = choice(storage, STORAGES[:3], "storage")
        with watching(show_progress) as watch:
            model.save(path_bytes(path), number, watch)

    def __getstate__(self) -> Dict[str, Any]:
        state = {n: getattr(self, n) for n in self._names()}
        if self._model is not None:
            assert self._ids_of_items is not None
            number, method = (self._model.info()[n] for n in ("storage", "method"))
            if STORAGES[number] == "packed" and method == "add-ease":  # which is two models
                number = STORAGES.index("f32")
            with tempfile.TemporaryDirectory(prefix="ease-") as place:
                path = os.path.join(place, "model")
                self._model.save(path_bytes(path), number if number < 3 else 0, None)
                with open(path, "rb") as f:
                    state["_bytes"] = f.read()
            state["_numbers"] = self._ids_of_items.values.dtype != object
            state["_how"] = dict(self._how)
            state["_frames"] = self._frames
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        state = dict(state)
        bytes_, numbers = state.pop("_bytes", None), state.pop("_numbers", None)
        self.__dict__.update(state)
        if bytes_ is None:
            return
        with tempfile.TemporaryDirectory(prefix="ease-") as place:
            path = os.path.join(place, "model")
            with open(path, "wb") as f:
                f.write(bytes_)
            self._take(_ease.open_model(path_bytes(path), VERIFY_OPEN),
                       int if numbers else str)

    # ---- scoring -----------------------------------------------------------------------

    def score(self, X: Any, y: Any = None, *, metric: str = "ndcg@100", share: float = 0.2,
              seed: int = 0, unknown: str = "miss", **how: Any) -> float:
        """The mean of a metric over the users of X. The items to be found are those of
        ``y``; without ``y``, a random share of each user's items is held out, and lists are
        made from the rest. ``unknown`` is as for :func:`ease.evaluate`.

        Users and items of tables are matched by their ids. The history of a user that the
        model was fitted with is the one in the data of the fit. If such users have other
        items in X, as in a fold over the rows of a frame, X is refused: folds must be of
        users, such as those of ``ease.interactions(frame)``. A model that was loaded or
        unpickled has no users: all are new. Tables are read with the keywords of
        :meth:`fit`, unless others are given.
        """
        from ._measure import evaluate, hold_out, hold_out_new

        model, target = self._fitted(), y
        how = {"show_progress": False, **how}
        x = self._read(X, how)
        if y is not None:
            target = self._read(y, how)
        elif self._seen is None or self._seen._matrix or x._matrix:
            x, target = hold_out(x, share, seed)
        else:
            x, target = hold_out_new(x, self._seen, model.find, share, seed)
        return evaluate(self, x, target, metrics=metric, unknown=unknown,
                        show_progress=False)[metric]

    def _read_how(self, X: Any, how: Mapping[str, Any],
                  keywords: Sequence[str] = READING) -> Dict[str, Any]:
        """The keywords to read X with: those of the fit, except those in `how`."""
        table = not is_sparse(X) and (is_frame(X) or isinstance(X, dict) or bool(paths_of(X)))
        same = {k: v for k, v in self._how.items()
                if k in keywords and (table or k == "weights")}
        return {**same, **how}

    def _read(self, X: Any, how: Mapping[str, Any],
              keywords: Sequence[str] = READING) -> Interactions:
        return by_id(X, self._plain, **self._read_how(X, how, keywords))


class KnownUsers(Recommender):
    """The base of methods that learn of each user alone: they score the users of their
    training data and nobody else. What those had then is kept, in files and pickles too,
    and ``user_items`` only says what is not to be recommended."""

    def _take(self, model: _ease.Model, kind: Optional[type] = None,
              seen: Optional[Interactions] = None) -> None:
        super()._take(model, kind)

    @property
    def user_ids(self) -> Array:
        """The ids of the users of the training data."""
        model = self._fitted()
        return load_ids(model.info()["users"], model.user_numbers, model.user_ids)

    def _check_new_users(self) -> None:
        raise ValueError(f"userid is required: {self._method} scores only the users that it "
                         "was trained with")

    def _users(self, users: Sequence[Any]) -> Array:
        return np.fromiter(map(self._user, users), np.int64, len(users))

    def _user(self, user: Any) -> int:
        try:
            number = self._fitted().find_user(encode(user))
        except KeyError:
            number = -1
        if number < 0:
            raise KeyError(f"user {user!r} is not in the model: {self._method} scores only "
                           "the users that it was trained with")
        return number

    def _remembered(self, users: Sequence[Any]) -> Rows:
        model = self._fitted()
        parts = [np.frombuffer(model.history(u), np.int32) for u in self._users(users)]
        indptr = np.zeros(len(parts) + 1, np.int64)
        np.cumsum([len(p) for p in parts], out=indptr[1:])
        return Rows(indptr, np.concatenate(parts or [np.empty(0, np.int32)]), None,
                    (len(parts), len(self.item_ids)))

    def score(self, X: Any, y: Any = None, *, metric: str = "ndcg@100", share: float = 0.2,
              seed: int = 0, unknown: str = "miss", **how: Any) -> float:
        """The mean of a metric over users of the training data X, for ``y``, what was
        held out of it. Other users cannot be scored, so that nothing can be searched by
        cross-validation over them; :func:`ease.tune` takes a split that keeps users."""
        if y is None:
            raise ValueError(f"{self._method} scores only the users that it was trained "
                             "with: y, what was held out of their rows, is required")
        return super().score(X, y, metric=metric, share=share, seed=seed, unknown=unknown,
                             **how)


def load(path: Any, ids: Optional[type] = None, *, verify: bool = True) -> Any:
    """Opens a model file of this module or of the program. Weights of more than 16 MiB are
    mapped into memory.

    ids: int or str; by default whole numbers are taken as such if all ids are.

    verify: verify each MiB of weights against its checksum before its first use; a damaged
    file is a ValueError. With False, weights are used without verification.
    """
    model = _ease.open_model(path_bytes(path), VERIFY_USE if verify else VERIFY_NEVER)
    info = model.info()
    if info["method"] not in CLASSES:
        raise ValueError(f"a model of {info['method']} is for the program only")
    cls = CLASSES[info["method"]]
    made = cls(**cls._params_of(info), **parameters_of(cls, info["settings"]))
    made._take(model, ids)
    return made
