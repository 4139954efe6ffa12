"""Recommendations in closed form.

>>> import ease, numpy as np
>>> X = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1], [1, 0, 1, 1]])
>>> model = ease.EASE(lambda_=1.0).fit(X)
>>> ids, scores = model.recommend(0, X[[0]], N=1)
>>> ids.tolist()
[2]

Interactions can be a SciPy or NumPy matrix, a data frame of pandas, polars or Arrow, or a
file. Relatives of EASE (:class:`EDLAE`, :class:`RLAE`, ...) and the other systems of its paper
are classes with the same interface, and model files are those of the program ``ease``.
"""

import os as _os

from ._kernels import best_kernels as _best_kernels

with _best_kernels(_os.path.dirname(__file__)):
    from . import _ease

from ._base import Explanation, NotFittedError, Recommender, load
from ._data import Interactions, Split, interactions, open_split, split
from ._ease_class import EASE
from ._figures import Figure, plot_long_tail
from ._gram import Gram, gram, import_gram, merge_grams, open_gram
from ._measure import Report, Trial, Tuning, evaluate, hold_out, scorer, tune
from ._updates import Removal, Update
from .methods import (CDAE, DAN, EDLAE, IISVD, MRF, RDLAE, RLAE, SLIM, WMF, AddEASE, EASEFamily,
                      EASESparse, ItemItem, LRec, MultDAE, MultVAE, Popularity,
                      PropensityEASE, RescaledEASE, SLIMFree)

__version__: str = _ease.version()

__all__ = [
    "AddEASE", "CDAE", "DAN", "EASE", "EASEFamily", "EASESparse", "EDLAE", "Explanation", "Figure", "Gram",
    "IISVD", "Interactions",
    "ItemItem", "LRec", "MRF", "MultDAE", "MultVAE", "NotFittedError", "Popularity",
    "PropensityEASE", "RDLAE", "RLAE", "Recommender", "Removal", "Report", "RescaledEASE", "SLIM",
    "SLIMFree", "Split", "Trial", "Tuning", "Update", "WMF", "evaluate", "gram", "hold_out", "import_gram", "interactions",
    "load", "merge_grams", "open_gram", "open_split",
    "plot_long_tail", "scorer", "split", "tune",
]
