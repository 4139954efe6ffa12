"""Prints ease/methods.py from the table of methods of the installed module.

Run `python python/generate.py > python/ease/methods.py` after that table has changed; a test
compares the two."""

from ease import _ease

NAMES = {"edlae": "EDLAE", "rlae": "RLAE", "rdlae": "RDLAE", "dan": "DAN",
         "ease-rescaled": "RescaledEASE", "ease-ips": "PropensityEASE", "mrf": "MRF",
         "ease-family": "EASEFamily", "add-ease": "AddEASE",
         "ease-sparse": "EASESparse", "popularity": "Popularity", "item-item": "ItemItem", "slim": "SLIM",
         "slim-free": "SLIMFree", "wmf": "WMF", "ii-svd": "IISVD", "cdae": "CDAE",
         "mult-dae": "MultDAE", "mult-vae": "MultVAE", "lrec": "LRec"}
ABOUT = {
    "edlae": "EASE trained with dropout (Steck, NeurIPS 2020).",
    "rlae": "EASE with a relaxed diagonal (Moon, Kim and Lee, SIGIR 2023).",
    "rdlae": "EDLAE with a relaxed diagonal (Moon, Kim and Lee, SIGIR 2023).",
    "dan": "EASE with data-adaptive normalization (Park et al., SIGIR 2025).",
    "ease-rescaled": "EASE with scores rescaled by popularity (Steck, arXiv 2019).",
    "ease-ips": "EASE with inverse propensities (Onishi et al., SIGIR-AP 2025).",
    "mrf": "A dense Markov random field, of the covariance matrix (Steck, NeurIPS 2019).",
    "ease-family": "EASE with all settings of its relatives.",
    "add-ease": "EASE plus EASE on tags of the items (Jeunen et al., RecSys 2020).",
    "ease-sparse": "EASE with a few neighbours of each item, for millions of items.",
    "popularity": "What most users have: a score is an item's share of users.",
    "item-item": "Neighbours by the users that two items share.",
    "slim": "Sparse linear weights by least squares, none below 0.",
    "slim-free": "SLIM without its constraint: weights may be below 0.",
    "wmf": "Weighted matrix factorization by alternating least squares.",
    "ii-svd": "The scores of item-item through a truncated singular value decomposition.",
    "cdae": "Collaborative denoising autoencoder.",
    "mult-dae": "Denoising autoencoder with a multinomial likelihood.",
    "mult-vae": "Variational autoencoder with a multinomial likelihood.",
    "lrec": "A logistic regression for each user, on the other users.",
}
MORE = {
    "ease-family": """P = (C + diagMat(Lambda))^-1,   B[i, j] = -s[i] P[i, j] m[j] t[j] off the diagonal

    Settings that would change nothing, which are the defaults, give the weights of
    :class:`ease.EASE` to the last bit.

    >>> import numpy as np, ease
    >>> X = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1], [1, 0, 1, 1]])
    >>> plain = ease.EASEFamily(lambda_=1.0).fit(X)
    >>> bool((plain.B == ease.EASE(lambda_=1.0).fit(X).B).all())
    True
    >>> relaxed = ease.EASEFamily(lambda_=1.0, relaxation=0.2, dropout=0.3).fit(X)
    >>> relaxed.info["settings"][:48]
    'lambda-power=0,dropout=0.3,user-power=0,relaxati'
""",
    "ease-sparse": """The weights into item j are exact within its support N, the items nearest to it:

    B[N, j] = (C_NN + diagMat(Lambda_N))^-1 C_Nj

    With as many neighbours as other items they are those of :class:`ease.EASEFamily`.

    >>> import numpy as np, ease
    >>> X = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1], [1, 0, 1, 1]])
    >>> dense = ease.EASE(lambda_=1.0).fit(X)
    >>> sparse = ease.EASESparse(lambda_=1.0, neighbours=3).fit(X)
    >>> bool(np.allclose(sparse.B.toarray(), dense.B, atol=1e-5))
    True
    >>> int((ease.EASESparse(lambda_=1.0, neighbours=1).fit(X).B != 0).sum(axis=0).max())
    1
""",
    "add-ease": """B = (1 - blend) B(X) + blend B(T)

    It needs tags, see ``fit(tags=)``. Items that only have tags can be recommended.

    >>> import numpy as np, ease
    >>> X = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]])
    >>> tags = {0: "genre=Drama", 1: "genre=Comedy", 2: ["genre=Drama", "year=1999"],
    ...         3: "genre=Comedy"}
    >>> model = ease.AddEASE(lambda_=1.0, blend=0.5).fit(X, tags=tags)
    >>> ids, scores = model.recommend(0, X[0], N=1, only="genre=Comedy")
    >>> ids.tolist(), model.tags(2)
    ([3], ['genre=Drama', 'year=1999'])
""",
    "lrec": """It scores only the users that it was trained with, by id (or row). ``user_items`` only
    says which items are not recommended; without it, these are the items that the user had
    in training. There is no ``similar_items``, ``explain`` or
    ``B``. Measure it in weak generalization: on users that it was trained with.

    >>> import ease
    >>> frame = {"user": ["ann", "ann", "bob", "bob", "cat", "dan"],
    ...          "item": ["tea", "milk", "tea", "milk", "tea", "cake"]}
    >>> model = ease.LRec(l2=0.1).fit(frame)
    >>> ids, scores = model.recommend("cat", N=1)
    >>> ids
    array(['milk'], dtype=object)
    >>> model.recommend("eve")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    KeyError: "user 'eve' is not in the model: lrec scores only the users that ...
""",
}
HEAD = '''"""Relatives of EASE and the other systems of its paper, each a class of the same shape as
:class:`ease.EASE`.

Written by python/generate.py from the library's table of methods.
"""

from __future__ import annotations

from typing import Any, Optional, Union

from ._base import CLASSES, KnownUsers, Recommender
from ._closed_form import ClosedForm, Regularized
'''


def parameter(setting):
    name, about, value, least, most, whole, words = setting
    name = "lambda_" if name == "lambda" else name.replace("-", "_")
    if words:
        return name, "str", repr(words.split("|")[int(value)]), f"{about}: {words}"
    kind = "int" if whole else "float"
    return name, kind, repr(int(value) if whole else float(value)), about


LAMBDA = ("lambda_", "Union[float, str]", None, "the regularization, above 0, or 'auto'")
GIVEN_LAMBDA = ("lambda_", "float", None, "the regularization, above 0")
COMMON = [("threads", "int", "0", "0: all"), ("memory_limit", "Optional[int]", "None", "bytes")]
KIND = ("kind", "str", "'counts'", "the Gram matrix: counts, covariance or correlation")
PRECISION = ("precision", "str", "'f32'", "precision of the solve: f32 or f64")
CLOSED = [("workdir", "Any", "None", "directory for a matrix that does not fit into memory"),
          ("backend", "Optional[str]", "None", "the backend that inverts the matrix"),
          ("updatable", "bool", "False",
           "keep what update, forget and leave_one_out need")]


def declared(parameters):
    """The arguments: those without a default come first, others by keyword."""
    lines = [f"        {n}: {kind}," for n, kind, value, _ in parameters if value is None]
    lines += ["        *,"]
    return lines + [f"        {n}: {kind} = {value}," for n, kind, value, _ in parameters
                    if value is not None]


def one_class(method, regularized, known, settings, any_kind, closed):
    parameters = [parameter(s) for s in settings]
    if closed:
        parameters = ([LAMBDA, *parameters] + ([KIND] if any_kind else []) +
                      [PRECISION, *COMMON, *CLOSED])
    else:
        parameters = ([GIVEN_LAMBDA] if regularized else []) + parameters + COMMON
    base = "ClosedForm" if closed else "Regularized" if regularized else "KnownUsers" if known else "Recommender"
    lines = ["", "", f"class {NAMES[method]}({base}):", f'    """{ABOUT[method]}', ""]
    if method in MORE:
        lines += ["    " + MORE[method]]
    lines += ["    Parameters", "    ----------"]
    for name, _, _, about in parameters:
        lines += [f"    {name}", f"        {about}"]
    lines += ['    """', "", f'    _method = "{method}"', "", "    def __init__("]
    lines += ["        self,", *declared(parameters)]
    lines += ["    ) -> None:"]
    lines += [f"        self.{n} = {n}" for n, _, _, _ in parameters]
    lines += ["", "", f'CLASSES["{method}"] = {NAMES[method]}']
    return lines


def source():
    lines = HEAD.rstrip("\n").split("\n")
    for method, regularized, known, _, settings, any_kind, closed in _ease.methods():
        if method in NAMES:
            lines += one_class(method, regularized, known, settings, any_kind, closed)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(source(), end="")
