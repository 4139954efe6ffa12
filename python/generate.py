"""Prints ease/methods.py from the library's table of methods: the installed module is
asked. `python python/generate.py > python/ease/methods.py` after that table has changed;
a test holds the two against each other."""

from ease import _ease

NAMES = {"popularity": "Popularity", "item-item": "ItemItem", "slim": "SLIM",
         "slim-free": "SLIMFree", "wmf": "WMF", "ii-svd": "IISVD", "cdae": "CDAE",
         "mult-dae": "MultDAE", "mult-vae": "MultVAE"}
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
}
HEAD = '''"""The paper's other systems, each a class of the same shape as :class:`ease.EASE`.

Written by python/generate.py from the library's table of methods.
"""

from __future__ import annotations

from typing import Optional

from ._base import CLASSES, Recommender
'''


def parameter(setting):
    name, about, value, least, most, whole, words = setting
    name = name + "_" if name == "lambda" else name
    if words:
        return name, "str", repr(words.split("|")[int(value)]), f"{about}: {words}"
    kind = "int" if whole else "float"
    return name, kind, repr(int(value) if whole else float(value)), about


def one_class(method, settings):
    parameters = [parameter(s) for s in settings]
    parameters += [("threads", "int", "0", "0: all"),
                   ("memory_limit", "Optional[int]", "None", "bytes")]
    lines = ["", "", f"class {NAMES[method]}(Recommender):", f'    """{ABOUT[method]}', "",
             "    Parameters", "    ----------"]
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
    for method, _, _, settings in _ease.methods():
        if method in NAMES:
            lines += one_class(method, settings)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(source(), end="")
