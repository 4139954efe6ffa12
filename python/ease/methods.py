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
        of the users of two items: cosine|jaccard|conditional
    neighbours
        an item keeps, itself among them
    shrinkage
        is added to the divisor, against chance among rare items
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
        times the sum of the weights' sizes: larger leaves fewer of them
    l2
        times half the sum of their squares, as lambda of EASE
    top
        weights are kept of those into an item, 0: all
    tolerance
        no weight changes by more in the last pass
    iterations
        passes at most, for each item
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
        times the sum of the weights' sizes: larger leaves fewer of them
    l2
        times half the sum of their squares, as lambda of EASE
    top
        weights are kept of those into an item, 0: all
    tolerance
        no weight changes by more in the last pass
    iterations
        passes at most, for each item
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
        numbers an item has
    alpha
        what is seen with value x counts 1 + alpha x, all else 1
    lambda_
        the regularization
    iterations
        over users and items
    steps
        of conjugate gradients in each half of an iteration
    seed
        of the first factors
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
        of the users of two items: cosine|jaccard|conditional
    neighbours
        an item keeps, itself among them
    shrinkage
        is added to the divisor, against chance among rare items
    rank
        singular vectors that are kept
    iterations
        towards these vectors
    seed
        of the first block
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
        each goes once through all users
    batch
        users in a step
    rate
        of Adam
    dropout
        share of a history that the network does not see
    decay
        what the squares of all weights count in the loss
    hidden
        numbers in a hidden layer
    seed
        of all that is drawn
    weight
        of the items that are there, in the square loss; of others it is 1
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
        each goes once through all users
    batch
        users in a step
    rate
        of Adam
    dropout
        share of a history that the network does not see
    decay
        what the squares of all weights count in the loss
    hidden
        numbers in a hidden layer
    seed
        of all that is drawn
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
        each goes once through all users
    batch
        users in a step
    rate
        of Adam
    dropout
        share of a history that the network does not see
    decay
        what the squares of all weights count in the loss
    hidden
        numbers in a hidden layer
    seed
        of all that is drawn
    latent
        numbers that are drawn
    anneal
        steps in which the weight of the divergence would reach 1
    cap
        of that weight
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

    It has learned of its own users alone: they are asked for by id (or row), and nobody
    else can be scored. ``user_items`` only says what is not to be recommended; without it
    that is what the user had in training. There is no ``similar_items``, ``explain`` or
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
        times half the sum of the squares of a user's weights
    tolerance
        a gradient ends this short, relative to its first length
    iterations
        of Newton's method at most, for each user
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
