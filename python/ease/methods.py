"""The paper's other systems, each a class of the same shape as :class:`ease.EASE`.

Written by python/generate.py from the library's table of methods.
"""

from __future__ import annotations

from typing import Optional

from ._base import CLASSES, KnownUsers, Recommender


class Popularity(Recommender):
    """What most users have: a score is an item's share of users.

    Parameters
    ----------
    threads
        0: all
    memory_limit
        bytes
    """

    _method = "popularity"

    def __init__(
        self,
        *,
        threads: int = 0,
        memory_limit: Optional[int] = None,
    ) -> None:
        self.threads = threads
        self.memory_limit = memory_limit


CLASSES["popularity"] = Popularity


class ItemItem(Recommender):
    """Neighbours by the users that two items share.

    Parameters
    ----------
    similarity
        similarity measure of the users of two items: cosine|jaccard|conditional
    neighbours
        number of neighbours of an item, including itself
    shrinkage
        added to the divisor, against chance similarities of rare items
    threads
        0: all
    memory_limit
        bytes
    """

    _method = "item-item"

    def __init__(
        self,
        *,
        similarity: str = 'cosine',
        neighbours: int = 100,
        shrinkage: float = 0.0,
        threads: int = 0,
        memory_limit: Optional[int] = None,
    ) -> None:
        self.similarity = similarity
        self.neighbours = neighbours
        self.shrinkage = shrinkage
        self.threads = threads
        self.memory_limit = memory_limit


CLASSES["item-item"] = ItemItem


class SLIM(Recommender):
    """Sparse linear weights by least squares, none below 0.

    Parameters
    ----------
    l1
        factor of the sum of absolute weights: larger values give fewer nonzero weights
    l2
        factor of half the sum of squared weights, like lambda of EASE
    top
        largest weights into an item that are kept; 0: all
    tolerance
        largest change of a weight in the last pass
    iterations
        most passes for each item
    threads
        0: all
    memory_limit
        bytes
    """

    _method = "slim"

    def __init__(
        self,
        *,
        l1: float = 1.0,
        l2: float = 300.0,
        top: int = 0,
        tolerance: float = 0.0001,
        iterations: int = 1000,
        threads: int = 0,
        memory_limit: Optional[int] = None,
    ) -> None:
        self.l1 = l1
        self.l2 = l2
        self.top = top
        self.tolerance = tolerance
        self.iterations = iterations
        self.threads = threads
        self.memory_limit = memory_limit


CLASSES["slim"] = SLIM


class SLIMFree(Recommender):
    """SLIM without its constraint: weights may be below 0.

    Parameters
    ----------
    l1
        factor of the sum of absolute weights: larger values give fewer nonzero weights
    l2
        factor of half the sum of squared weights, like lambda of EASE
    top
        largest weights into an item that are kept; 0: all
    tolerance
        largest change of a weight in the last pass
    iterations
        most passes for each item
    threads
        0: all
    memory_limit
        bytes
    """

    _method = "slim-free"

    def __init__(
        self,
        *,
        l1: float = 1.0,
        l2: float = 300.0,
        top: int = 0,
        tolerance: float = 0.0001,
        iterations: int = 1000,
        threads: int = 0,
        memory_limit: Optional[int] = None,
    ) -> None:
        self.l1 = l1
        self.l2 = l2
        self.top = top
        self.tolerance = tolerance
        self.iterations = iterations
        self.threads = threads
        self.memory_limit = memory_limit


CLASSES["slim-free"] = SLIMFree


class WMF(Recommender):
    """Weighted matrix factorization by alternating least squares.

    Parameters
    ----------
    rank
        number of factors of an item
    alpha
        an interaction of value x has the confidence 1 + alpha x, other pairs 1
    lambda_
        regularization
    iterations
        iterations over users and items
    steps
        conjugate gradient steps in each half of an iteration
    seed
        seed of the first factors
    threads
        0: all
    memory_limit
        bytes
    """

    _method = "wmf"

    def __init__(
        self,
        *,
        rank: int = 64,
        alpha: float = 3.0,
        lambda_: float = 30.0,
        iterations: int = 15,
        steps: int = 3,
        seed: int = 0,
        threads: int = 0,
        memory_limit: Optional[int] = None,
    ) -> None:
        self.rank = rank
        self.alpha = alpha
        self.lambda_ = lambda_
        self.iterations = iterations
        self.steps = steps
        self.seed = seed
        self.threads = threads
        self.memory_limit = memory_limit


CLASSES["wmf"] = WMF


class IISVD(Recommender):
    """The scores of item-item through a truncated singular value decomposition.

    Parameters
    ----------
    similarity
        similarity measure of the users of two items: cosine|jaccard|conditional
    neighbours
        number of neighbours of an item, including itself
    shrinkage
        added to the divisor, against chance similarities of rare items
    rank
        number of singular vectors
    iterations
        iterations towards these vectors
    seed
        seed of the first block
    threads
        0: all
    memory_limit
        bytes
    """

    _method = "ii-svd"

    def __init__(
        self,
        *,
        similarity: str = 'cosine',
        neighbours: int = 100,
        shrinkage: float = 0.0,
        rank: int = 500,
        iterations: int = 4,
        seed: int = 0,
        threads: int = 0,
        memory_limit: Optional[int] = None,
    ) -> None:
        self.similarity = similarity
        self.neighbours = neighbours
        self.shrinkage = shrinkage
        self.rank = rank
        self.iterations = iterations
        self.seed = seed
        self.threads = threads
        self.memory_limit = memory_limit


CLASSES["ii-svd"] = IISVD


class CDAE(Recommender):
    """Collaborative denoising autoencoder.

    Parameters
    ----------
    epochs
        passes over all users
    batch
        users in an update
    rate
        learning rate of Adam
    dropout
        share of the input that is dropped in training
    decay
        factor of the sum of squared weights in the loss
    hidden
        width of a hidden layer
    seed
        seed of all random numbers
    weight
        factor of the items of a history in the square loss; that of other items is 1
    threads
        0: all
    memory_limit
        bytes
    """

    _method = "cdae"

    def __init__(
        self,
        *,
        epochs: int = 200,
        batch: int = 500,
        rate: float = 0.001,
        dropout: float = 0.5,
        decay: float = 0.03,
        hidden: int = 200,
        seed: int = 98765,
        weight: float = 1.0,
        threads: int = 0,
        memory_limit: Optional[int] = None,
    ) -> None:
        self.epochs = epochs
        self.batch = batch
        self.rate = rate
        self.dropout = dropout
        self.decay = decay
        self.hidden = hidden
        self.seed = seed
        self.weight = weight
        self.threads = threads
        self.memory_limit = memory_limit


CLASSES["cdae"] = CDAE


class MultDAE(Recommender):
    """Denoising autoencoder with a multinomial likelihood.

    Parameters
    ----------
    epochs
        passes over all users
    batch
        users in an update
    rate
        learning rate of Adam
    dropout
        share of the input that is dropped in training
    decay
        factor of the sum of squared weights in the loss
    hidden
        width of a hidden layer
    seed
        seed of all random numbers
    threads
        0: all
    memory_limit
        bytes
    """

    _method = "mult-dae"

    def __init__(
        self,
        *,
        epochs: int = 200,
        batch: int = 500,
        rate: float = 0.001,
        dropout: float = 0.5,
        decay: float = 2e-05,
        hidden: int = 200,
        seed: int = 98765,
        threads: int = 0,
        memory_limit: Optional[int] = None,
    ) -> None:
        self.epochs = epochs
        self.batch = batch
        self.rate = rate
        self.dropout = dropout
        self.decay = decay
        self.hidden = hidden
        self.seed = seed
        self.threads = threads
        self.memory_limit = memory_limit


CLASSES["mult-dae"] = MultDAE


class MultVAE(Recommender):
    """Variational autoencoder with a multinomial likelihood.

    Parameters
    ----------
    epochs
        passes over all users
    batch
        users in an update
    rate
        learning rate of Adam
    dropout
        share of the input that is dropped in training
    decay
        factor of the sum of squared weights in the loss
    hidden
        width of a hidden layer
    seed
        seed of all random numbers
    latent
        width of the sampled layer
    anneal
        updates after which the weight of the divergence would be 1
    cap
        largest weight of the divergence
    threads
        0: all
    memory_limit
        bytes
    """

    _method = "mult-vae"

    def __init__(
        self,
        *,
        epochs: int = 200,
        batch: int = 500,
        rate: float = 0.001,
        dropout: float = 0.5,
        decay: float = 0.0,
        hidden: int = 600,
        seed: int = 98765,
        latent: int = 200,
        anneal: float = 200000.0,
        cap: float = 0.2,
        threads: int = 0,
        memory_limit: Optional[int] = None,
    ) -> None:
        self.epochs = epochs
        self.batch = batch
        self.rate = rate
        self.dropout = dropout
        self.decay = decay
        self.hidden = hidden
        self.seed = seed
        self.latent = latent
        self.anneal = anneal
        self.cap = cap
        self.threads = threads
        self.memory_limit = memory_limit


CLASSES["mult-vae"] = MultVAE


class LRec(KnownUsers):
    """A logistic regression for each user, on the other users.

    It scores only the users that it was trained with, by id (or row). ``user_items`` only
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

    Parameters
    ----------
    l2
        factor of half the sum of a user's squared weights
    tolerance
        length of the gradient at the end, relative to the first one
    iterations
        most iterations of Newton's method for each user
    threads
        0: all
    memory_limit
        bytes
    """

    _method = "lrec"

    def __init__(
        self,
        *,
        l2: float = 30.0,
        tolerance: float = 0.001,
        iterations: int = 100,
        threads: int = 0,
        memory_limit: Optional[int] = None,
    ) -> None:
        self.l2 = l2
        self.tolerance = tolerance
        self.iterations = iterations
        self.threads = threads
        self.memory_limit = memory_limit


CLASSES["lrec"] = LRec
