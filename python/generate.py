"""Prints ease/methods.py from the table of methods of the installed module.

Run `python python/generate.py > python/ease/methods.py` after that table has changed; a test
compares the two."""

from ease import _ease

NAMES = {"popularity": "Popularity", "item-item": "ItemItem", "slim": "SLIM",
         "slim-free": "SLIMFree", "wmf": "WMF", "ii-svd": "IISVD", "cdae": "CDAE",
         "mult-dae": "MultDAE", "mult-vae": "MultVAE", "lrec": "LRec"}
ABOUT = {
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
HEAD = '''"""The paper's other systems, each a class of the same shape as :class:`ease.EASE`.

Written by python/generate.py from the library's table of methods.
"""

from __future__ import annotations

from typing import Optional

from ._base import CLASSES, KnownUsers, Recommender
'''


def parameter(setting):
    name, about, value, least, most, whole, words = setting
    name = name + "_" if name == "lambda" else name
    if words:
        return name, "str", repr(words.split("|")[int(value)]), f"{about}: {words}"
    kind = "int" if whole else "float"
    return name, kind, repr(int(value) if whole else float(value)), about


def one_class(method, known, settings):
    parameters = [parameter(s) for s in settings]
    parameters += [("threads", "int", "0", "0: all"),
                   ("memory_limit", "Optional[int]", "None", "bytes")]
    base = "KnownUsers" if known else "Recommender"
    lines = ["", "", f"class {NAMES[method]}({base}):", f'    """{ABOUT[method]}', ""]
    if method in MORE:
        lines += ["    " + MORE[method]]
    lines += ["    Parameters", "    ----------"]
    for name, _, _, about in parameters:
        lines += [f"    {name}", f"        {about}"]
    lines += ['    """', "", f'    _method = "{method}"', "", "    def __init__("]
    lines += ["        self,", "        *,"]
    lines += [f"        {n}: {kind} = {value}," for n, kind, value, _ in parameters]
    lines += ["    ) -> None:"]
    lines += [f"        self.{n} = {n}" for n, _, _, _ in parameters]
    lines += ["", "", f'CLASSES["{method}"] = {NAMES[method]}']
    return lines


def source():
    lines = HEAD.rstrip("\n").split("\n")
    for method, _, known, _, settings in _ease.methods():
        if method in NAMES:
            lines += one_class(method, known, settings)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(source(), end="")
