"""Relatives of EASE and the other systems of its paper, each a class of the same shape as
:class:`ease.EASE`.

Written by python/generate.py from the library's table of methods.
"""

from __future__ import annotations

from typing import Any, Optional, Union

from ._base import CLASSES, KnownUsers, Recommender
from ._closed_form import ClosedForm, Regularized


class EDLAE(ClosedForm):
    """EASE trained with dropout (Steck, NeurIPS 2020).

    Parameters
    ----------
    lambda_
        the regularization, above 0, or 'auto'
    dropout
        probability that an interaction is dropped in training: p / (1 - p) times an item's count is added to lambda
    kind
        the Gram matrix: counts, covariance or correlation
    precision
        precision of the solve: f32 or f64
    threads
        0: all
    memory_limit
        bytes
    workdir
        directory for a matrix that does not fit into memory
    backend
        the backend that inverts the matrix
    updatable
        keep what update, forget and leave_one_out need
    """

    _method = "edlae"

    def __init__(
        self,
        lambda_: Union[float, str],
        *,
        dropout: float = 0.33,
        kind: str = 'counts',
        precision: str = 'f32',
        threads: int = 0,
        memory_limit: Optional[int] = None,
        workdir: Any = None,
        backend: Optional[str] = None,
        updatable: bool = False,
    ) -> None:
        self.lambda_ = lambda_
        self.dropout = dropout
        self.kind = kind
        self.precision = precision
        self.threads = threads
        self.memory_limit = memory_limit
        self.workdir = workdir
        self.backend = backend
        self.updatable = updatable


CLASSES["edlae"] = EDLAE


class RLAE(ClosedForm):
    """EASE with a relaxed diagonal (Moon, Kim and Lee, SIGIR 2023).

    Parameters
    ----------
    lambda_
        the regularization, above 0, or 'auto'
    relaxation
        largest weight of an item into itself in training: 0 is a zero diagonal, 1 a free one
    kind
        the Gram matrix: counts, covariance or correlation
    precision
        precision of the solve: f32 or f64
    threads
        0: all
    memory_limit
        bytes
    workdir
        directory for a matrix that does not fit into memory
    backend
        the backend that inverts the matrix
    updatable
        keep what update, forget and leave_one_out need
    """

    _method = "rlae"

    def __init__(
        self,
        lambda_: Union[float, str],
        *,
        relaxation: float = 0.5,
        kind: str = 'counts',
        precision: str = 'f32',
        threads: int = 0,
        memory_limit: Optional[int] = None,
        workdir: Any = None,
        backend: Optional[str] = None,
        updatable: bool = False,
    ) -> None:
        self.lambda_ = lambda_
        self.relaxation = relaxation
        self.kind = kind
        self.precision = precision
        self.threads = threads
        self.memory_limit = memory_limit
        self.workdir = workdir
        self.backend = backend
        self.updatable = updatable


CLASSES["rlae"] = RLAE


class RDLAE(ClosedForm):
    """EDLAE with a relaxed diagonal (Moon, Kim and Lee, SIGIR 2023).

    Parameters
    ----------
    lambda_
        the regularization, above 0, or 'auto'
    dropout
        probability that an interaction is dropped in training: p / (1 - p) times an item's count is added to lambda
    relaxation
        largest weight of an item into itself in training: 0 is a zero diagonal, 1 a free one
    kind
        the Gram matrix: counts, covariance or correlation
    precision
        precision of the solve: f32 or f64
    threads
        0: all
    memory_limit
        bytes
    workdir
        directory for a matrix that does not fit into memory
    backend
        the backend that inverts the matrix
    updatable
        keep what update, forget and leave_one_out need
    """

    _method = "rdlae"

    def __init__(
        self,
        lambda_: Union[float, str],
        *,
        dropout: float = 0.33,
        relaxation: float = 0.5,
        kind: str = 'counts',
        precision: str = 'f32',
        threads: int = 0,
        memory_limit: Optional[int] = None,
        workdir: Any = None,
        backend: Optional[str] = None,
        updatable: bool = False,
    ) -> None:
        self.lambda_ = lambda_
        self.dropout = dropout
        self.relaxation = relaxation
        self.kind = kind
        self.precision = precision
        self.threads = threads
        self.memory_limit = memory_limit
        self.workdir = workdir
        self.backend = backend
        self.updatable = updatable


CLASSES["rdlae"] = RDLAE


class DAN(ClosedForm):
    """EASE with data-adaptive normalization (Park et al., SIGIR 2025).

    Parameters
    ----------
    lambda_
        the regularization, above 0, or 'auto'
    dropout
        probability that an interaction is dropped in training: p / (1 - p) times an item's count is added to lambda
    user_power
        a user with n items counts with the weight n^-VALUE
    item_power
        weights are multiplied by (users of the item of the history / users of the item that is scored)^VALUE
    relaxation
        largest weight of an item into itself in training: 0 is a zero diagonal, 1 a free one
    kind
        the Gram matrix: counts, covariance or correlation
    precision
        precision of the solve: f32 or f64
    threads
        0: all
    memory_limit
        bytes
    workdir
        directory for a matrix that does not fit into memory
    backend
        the backend that inverts the matrix
    updatable
        keep what update, forget and leave_one_out need
    """

    _method = "dan"

    def __init__(
        self,
        lambda_: Union[float, str],
        *,
        dropout: float = 0.0,
        user_power: float = 0.5,
        item_power: float = 0.2,
        relaxation: float = 0.0,
        kind: str = 'counts',
        precision: str = 'f32',
        threads: int = 0,
        memory_limit: Optional[int] = None,
        workdir: Any = None,
        backend: Optional[str] = None,
        updatable: bool = False,
    ) -> None:
        self.lambda_ = lambda_
        self.dropout = dropout
        self.user_power = user_power
        self.item_power = item_power
        self.relaxation = relaxation
        self.kind = kind
        self.precision = precision
        self.threads = threads
        self.memory_limit = memory_limit
        self.workdir = workdir
        self.backend = backend
        self.updatable = updatable


CLASSES["dan"] = DAN


class RescaledEASE(ClosedForm):
    """EASE with scores rescaled by popularity (Steck, arXiv 2019).

    Parameters
    ----------
    lambda_
        the regularization, above 0, or 'auto'
    power
        the score of an item with n users is multiplied by n^-VALUE
    kind
        the Gram matrix: counts, covariance or correlation
    precision
        precision of the solve: f32 or f64
    threads
        0: all
    memory_limit
        bytes
    workdir
        directory for a matrix that does not fit into memory
    backend
        the backend that inverts the matrix
    updatable
        keep what update, forget and leave_one_out need
    """

    _method = "ease-rescaled"

    def __init__(
        self,
        lambda_: Union[float, str],
        *,
        power: float = 0.1,
        kind: str = 'counts',
        precision: str = 'f32',
        threads: int = 0,
        memory_limit: Optional[int] = None,
        workdir: Any = None,
        backend: Optional[str] = None,
        updatable: bool = False,
    ) -> None:
        self.lambda_ = lambda_
        self.power = power
        self.kind = kind
        self.precision = precision
        self.threads = threads
        self.memory_limit = memory_limit
        self.workdir = workdir
        self.backend = backend
        self.updatable = updatable


CLASSES["ease-rescaled"] = RescaledEASE


class PropensityEASE(ClosedForm):
    """EASE with inverse propensities (Onishi et al., SIGIR-AP 2025).

    Parameters
    ----------
    lambda_
        the regularization, above 0, or 'auto'
    propensity
        model of the probability that an item is observed: a sigmoid of the logarithm of its count, or a power of its share of the largest count: sigmoid|power
    power
        steepness of the sigmoid, or the power
    kind
        the Gram matrix: counts, covariance or correlation
    precision
        precision of the solve: f32 or f64
    threads
        0: all
    memory_limit
        bytes
    workdir
        directory for a matrix that does not fit into memory
    backend
        the backend that inverts the matrix
    updatable
        keep what update, forget and leave_one_out need
    """

    _method = "ease-ips"

    def __init__(
        self,
        lambda_: Union[float, str],
        *,
        propensity: str = 'sigmoid',
        power: float = 0.1,
        kind: str = 'counts',
        precision: str = 'f32',
        threads: int = 0,
        memory_limit: Optional[int] = None,
        workdir: Any = None,
        backend: Optional[str] = None,
        updatable: bool = False,
    ) -> None:
        self.lambda_ = lambda_
        self.propensity = propensity
        self.power = power
        self.kind = kind
        self.precision = precision
        self.threads = threads
        self.memory_limit = memory_limit
        self.workdir = workdir
        self.backend = backend
        self.updatable = updatable


CLASSES["ease-ips"] = PropensityEASE


class MRF(ClosedForm):
    """A dense Markov random field, of the covariance matrix (Steck, NeurIPS 2019).

    Parameters
    ----------
    lambda_
        the regularization, above 0, or 'auto'
    lambda_power
        lambda is multiplied by an item's entry of the diagonal of the covariance matrix to this power
    precision
        precision of the solve: f32 or f64
    threads
        0: all
    memory_limit
        bytes
    workdir
        directory for a matrix that does not fit into memory
    backend
        the backend that inverts the matrix
    updatable
        keep what update, forget and leave_one_out need
    """

    _method = "mrf"

    def __init__(
        self,
        lambda_: Union[float, str],
        *,
        lambda_power: float = 0.75,
        precision: str = 'f32',
        threads: int = 0,
        memory_limit: Optional[int] = None,
        workdir: Any = None,
        backend: Optional[str] = None,
        updatable: bool = False,
    ) -> None:
        self.lambda_ = lambda_
        self.lambda_power = lambda_power
        self.precision = precision
        self.threads = threads
        self.memory_limit = memory_limit
        self.workdir = workdir
        self.backend = backend
        self.updatable = updatable


CLASSES["mrf"] = MRF


class EASEFamily(ClosedForm):
    """EASE with all settings of its relatives.

    P = (C + diagMat(Lambda))^-1,   B[i, j] = -s[i] P[i, j] m[j] t[j] off the diagonal

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

    Parameters
    ----------
    lambda_
        the regularization, above 0, or 'auto'
    lambda_power
        lambda is multiplied by an item's entry of the diagonal of the Gram matrix to this power
    dropout
        probability that an interaction is dropped in training: p / (1 - p) times an item's count is added to lambda
    user_power
        a user with n items counts with the weight n^-VALUE
    relaxation
        largest weight of an item into itself in training: 0 is a zero diagonal, 1 a free one
    input_power
        weights are multiplied by the number of users of the item of the history to this power
    output_power
        weights are multiplied by the number of users of the item that is scored to this power
    kind
        the Gram matrix: counts, covariance or correlation
    precision
        precision of the solve: f32 or f64
    threads
        0: all
    memory_limit
        bytes
    workdir
        directory for a matrix that does not fit into memory
    backend
        the backend that inverts the matrix
    updatable
        keep what update, forget and leave_one_out need
    """

    _method = "ease-family"

    def __init__(
        self,
        lambda_: Union[float, str],
        *,
        lambda_power: float = 0.0,
        dropout: float = 0.0,
        user_power: float = 0.0,
        relaxation: float = 0.0,
        input_power: float = 0.0,
        output_power: float = 0.0,
        kind: str = 'counts',
        precision: str = 'f32',
        threads: int = 0,
        memory_limit: Optional[int] = None,
        workdir: Any = None,
        backend: Optional[str] = None,
        updatable: bool = False,
    ) -> None:
        self.lambda_ = lambda_
        self.lambda_power = lambda_power
        self.dropout = dropout
        self.user_power = user_power
        self.relaxation = relaxation
        self.input_power = input_power
        self.output_power = output_power
        self.kind = kind
        self.precision = precision
        self.threads = threads
        self.memory_limit = memory_limit
        self.workdir = workdir
        self.backend = backend
        self.updatable = updatable


CLASSES["ease-family"] = EASEFamily


class AddEASE(ClosedForm):
    """EASE plus EASE on tags of the items (Jeunen et al., RecSys 2020).

    B = (1 - blend) B(X) + blend B(T)

    It needs tags, see ``fit(tags=)``. Items that only have tags can be recommended.

    >>> import numpy as np, ease
    >>> X = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]])
    >>> tags = {0: "genre=Drama", 1: "genre=Comedy", 2: ["genre=Drama", "year=1999"],
    ...         3: "genre=Comedy"}
    >>> model = ease.AddEASE(lambda_=1.0, blend=0.5).fit(X, tags=tags)
    >>> ids, scores = model.recommend(0, X[0], N=1, only="genre=Comedy")
    >>> ids.tolist(), model.tags(2)
    ([3], ['genre=Drama', 'year=1999'])

    Parameters
    ----------
    lambda_
        the regularization, above 0, or 'auto'
    blend
        share of the weights that come from tags
    tag_lambda
        lambda of the weights from tags
    precision
        precision of the solve: f32 or f64
    threads
        0: all
    memory_limit
        bytes
    workdir
        directory for a matrix that does not fit into memory
    backend
        the backend that inverts the matrix
    updatable
        keep what update, forget and leave_one_out need
    """

    _method = "add-ease"

    def __init__(
        self,
        lambda_: Union[float, str],
        *,
        blend: float = 0.2,
        tag_lambda: float = 10.0,
        precision: str = 'f32',
        threads: int = 0,
        memory_limit: Optional[int] = None,
        workdir: Any = None,
        backend: Optional[str] = None,
        updatable: bool = False,
    ) -> None:
        self.lambda_ = lambda_
        self.blend = blend
        self.tag_lambda = tag_lambda
        self.precision = precision
        self.threads = threads
        self.memory_limit = memory_limit
        self.workdir = workdir
        self.backend = backend
        self.updatable = updatable


CLASSES["add-ease"] = AddEASE


class EASESparse(Regularized):
    """EASE with a few neighbours of each item, for millions of items.

    The weights into item j are exact within its support N, the items nearest to it:

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

    Parameters
    ----------
    lambda_
        the regularization, above 0
    neighbours
        number of items that have a weight into an item
    nearness
        what the neighbours of an item are chosen by: the cosine of the users of two items, or the same with the regularized diagonal, which prefers popular items: cosine|regularized
    lambda_power
        lambda is multiplied by an item's entry of the diagonal of the Gram matrix to this power
    dropout
        probability that an interaction is dropped in training: p / (1 - p) times an item's count is added to lambda
    user_power
        a user with n items counts with the weight n^-VALUE
    relaxation
        largest weight of an item into itself in training: 0 is a zero diagonal, 1 a free one
    input_power
        weights are multiplied by the number of users of the item of the history to this power
    output_power
        weights are multiplied by the number of users of the item that is scored to this power
    threads
        0: all
    memory_limit
        bytes
    """

    _method = "ease-sparse"

    def __init__(
        self,
        lambda_: float,
        *,
        neighbours: int = 100,
        nearness: str = 'cosine',
        lambda_power: float = 0.0,
        dropout: float = 0.0,
        user_power: float = 0.0,
        relaxation: float = 0.0,
        input_power: float = 0.0,
        output_power: float = 0.0,
        threads: int = 0,
        memory_limit: Optional[int] = None,
    ) -> None:
        self.lambda_ = lambda_
        self.neighbours = neighbours
        self.nearness = nearness
        self.lambda_power = lambda_power
        self.dropout = dropout
        self.user_power = user_power
        self.relaxation = relaxation
        self.input_power = input_power
        self.output_power = output_power
        self.threads = threads
        self.memory_limit = memory_limit


CLASSES["ease-sparse"] = EASESparse


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
