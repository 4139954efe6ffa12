"""What EASE and its relatives share: a lambda, and one solve, from interactions or a Gram
matrix."""

from __future__ import annotations

import math
import os
from typing import Any, Dict, Optional, TypeVar, Union

from . import _ease
from ._base import KINDS, PRECISIONS, Recommender
from ._data import path_bytes
from ._gram import Gram, gram
from ._progress import ShowProgress, watching
from ._tags import TagColumns, read_tags
from ._updates import Updatable

Self = TypeVar("Self", bound="ClosedForm")


class Regularized(Recommender):
    """The base of what the library trains with a lambda, and plans."""

    _has_plan = True
    _beside = Recommender._beside | {"lambda_"}
    lambda_: Union[float, str]

    @classmethod
    def _params_of(cls, info: Dict[str, Any]) -> Dict[str, Any]:
        return {"lambda_": info["lambda"]}

    def _given_lambda(self) -> float:
        if isinstance(self.lambda_, str) and self.lambda_ == "auto":
            return math.nan  # as the library has it
        try:
            value = float(self.lambda_)
        except (TypeError, ValueError):
            value = math.nan
        if math.isnan(value):
            raise ValueError(f"lambda_ is a number above 0, or 'auto', not {self.lambda_!r}")
        return value


class ClosedForm(Regularized, Updatable):
    """The base of EASE and its relatives."""

    _beside = Regularized._beside | {"kind", "precision", "nonnegative", "workdir", "backend",
                                     "updatable"}
    precision: str
    workdir: Any
    backend: Optional[str]

    @classmethod
    def _params_of(cls, info: Dict[str, Any]) -> Dict[str, Any]:
        params = {"lambda_": info["lambda"], "precision": PRECISIONS[info["precision"]],
                  "updatable": info["updatable"]}
        if "kind" in cls._names():
            params["kind"] = KINDS[info["kind"]]
        return params

    def fit_gram(self: Self, G: Any, *, tags: Any = None, tag_weight: float = 1.0,
                 tag_columns: TagColumns = None, tag_split: Optional[str] = None,
                 tag_kind: Optional[str] = None, show_progress: ShowProgress = None) -> Self:
        """Learns from a Gram matrix: a :class:`ease.Gram`, the path of a Gram file, or a
        square NumPy array. It stays as it is. Weights of users cannot be had from it, and
        the numbers of users that have an item only if it is of ones. Tags are as in
        :meth:`fit`.

        >>> import ease
        >>> G = ease.gram([[1, 1, 0], [0, 1, 1], [1, 1, 1]])
        >>> ease.EASE(lambda_=2.0).fit_gram(G).B.shape
        (3, 3)
        """
        options = self._options(tags=read_tags(tags, tag_columns, tag_split, tag_kind),
                                tag_weight=tag_weight)
        with watching(show_progress) as watch:
            if isinstance(G, (str, bytes, os.PathLike)):
                model = _ease.train_gram_file(path_bytes(G), options, watch)
            else:
                if not isinstance(G, Gram):
                    G = gram(G, is_gram=True)
                model = _ease.train_gram(G._handle, options, watch)
        self._take(model)
        return self
