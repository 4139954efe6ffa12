"""EASE itself."""

from __future__ import annotations

from typing import Any, Dict, Optional, Union

from ._base import CLASSES
from ._closed_form import ClosedForm


class EASE(ClosedForm):
    """EASE (Steck, WWW 2019): an item-item model in closed form.

    P = (X'X + lambda I)^-1,   B = I - P diagMat(1 / diag P)

    Parameters
    ----------
    lambda_
        The regularization, above 0. There is no value that suits all data: 200 to 1000
        is usual, and :func:`ease.tune` finds it. ``"auto"``: ``fit`` chooses it by leaving
        out one user after the other; it is then ``info["lambda"]``.
    kind
        The Gram matrix: ``counts`` (the paper's), ``covariance`` or ``correlation``.
    precision
        Precision of the solve: ``f32`` or ``f64``.
    nonnegative
        True: negative weights are set to 0.
    threads
        0: all. Results do not depend on it.
    memory_limit
        Bytes; by default the memory that is available.
    workdir
        Directory for the matrix, in a temporary file, if it does not fit into memory.
    backend
        Name of the backend that inverts the matrix; by default ``cpu``.
        ``ease info --backends`` lists them.
    updatable
        True: the model keeps what :meth:`update`, :meth:`forget` and :meth:`leave_one_out`
        need.

    Examples
    --------
    >>> import numpy as np, ease
    >>> X = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1], [1, 0, 1, 1]])
    >>> model = ease.EASE(lambda_=1.0).fit(X)
    >>> ids, scores = model.recommend(0, X[[0]], N=2)
    >>> ids
    array([2, 3], dtype=int32)
    >>> model.B.shape
    (4, 4)

    A model of a table has the ids of the table, and knows the histories:

    >>> frame = {"user": ["ann", "ann", "bob", "bob", "cat"],
    ...          "item": ["tea", "milk", "tea", "milk", "tea"]}
    >>> model = ease.EASE(lambda_=1.0).fit(frame)
    >>> ids, scores = model.recommend("cat")
    >>> ids
    array(['milk'], dtype=object)
    >>> model.explain("cat", None, "milk").contributions[0][0]
    'tea'
    """

    _method = "ease"

    def __init__(self, lambda_: Union[float, str], *, kind: str = "counts", precision: str = "f32",
                 nonnegative: bool = False, threads: int = 0,
                 memory_limit: Optional[int] = None,
                 workdir: Any = None, backend: Optional[str] = None,
                 updatable: bool = False) -> None:
        self.lambda_ = lambda_
        self.kind = kind
        self.precision = precision
        self.nonnegative = nonnegative
        self.threads = threads
        self.memory_limit = memory_limit
        self.workdir = workdir
        self.backend = backend
        self.updatable = updatable

    @classmethod
    def _params_of(cls, info: Dict[str, Any]) -> Dict[str, Any]:
        return {**super()._params_of(info), "nonnegative": bool(info["nonnegative"])}

    def _trained_method(self) -> str:
        return "ease-nonneg" if self.nonnegative else "ease"


CLASSES["ease"] = CLASSES["ease-nonneg"] = EASE
