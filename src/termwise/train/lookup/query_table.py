"""Query table in closed form: ridge regression of the vectors of texts on the counts of their tokens.

The rows V minimise

    sum over texts i of  | sum over tokens t of x[i, t] * V[t] - q[i] |^2  +  ridge * sum over t of |V[t]|^2

    x[i, t] = count of t in i / sqrt(tokens of i)        q[i] = vector of text i, less the mean of all vectors

The normal equations ``(X'X + ridge I) V = X'Q`` are solved by conjugate gradients [1]_ for all dimensions at once, with
the diagonal as preconditioner. The steps are few and start at 0, so that directions in which the texts say little stay
short; more steps and a smaller ridge come closer to the minimum. A token that no text has gets a row of zeros.

A query is the sum of its rows, without the square root: a factor that is the same for all documents.

A further stage of training would start from these rows and return rows of the same form.

.. [1] M. Hestenes and E. Stiefel, *Methods of conjugate gradients for solving linear systems*, 1952.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from termwise.errors import EmptyCollectionError, ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.progress import Progress, no_progress
from termwise.train.lookup.settings import LookupSettings

Matrix = npt.NDArray[np.float32]

_ROUNDING = 2.0**-10
"""Unit of float16 below 1."""


@dataclass(frozen=True)
class QueryTable:
    """A fitted query table.

    Attributes
    ----------
    rows : ndarray of shape (V, dimensions), float32
        Zeros for tokens that no text has.
    residuals : tuple of float
        Norm of the residual of the normal equations after each step, divided by the norm of their right side.
    cosine : float or None
        Mean cosine of the held-out vectors, less the mean, and the sums of rows; None if no text was held out.
    texts : int
        Number of texts that the table was fitted to.
    """

    rows: Matrix
    residuals: tuple[float, ...]
    cosine: float | None
    texts: int


def fit_query_table(
    counts: sparse.csr_array[Any],
    vectors: Sequence[npt.NDArray[np.floating[Any]]],
    *,
    settings: LookupSettings,
    progress: Progress = no_progress,
) -> QueryTable:
    """Fit a query table to the vectors of texts, with the same result to the bit for any number of threads.

    `counts`, of shape (n, V), are those of `TokenisedTexts.counts`. The vectors, of shape (m, dimensions), are in one
    or several arrays in the order of the texts.
    """
    held = np.zeros(counts.shape[0], dtype=np.bool_)
    random = np.random.default_rng(settings.seed)
    held[random.permutation(len(held))[: round(settings.held_out * len(held))]] = True
    bounds = np.concatenate([[0], np.cumsum([len(part) for part in vectors])])
    slices = [slice(start, stop) for start, stop in itertools.pairwise(bounds.tolist())]
    blocks = [counts[part][~held[part]] for part in slices]
    seen = np.flatnonzero(np.sum([block.sum(axis=0) for block in blocks], axis=0).ravel())
    refuse_no_tokens(len(seen), texts=len(held))
    blocks = [block[:, seen] for block in blocks]
    fitted = int(len(held) - held.sum())
    total, right = np.float64(0), np.zeros((len(seen), vectors[0].shape[1]), dtype=np.float32)
    for block, part, rows in zip(blocks, vectors, slices, strict=True):
        targets = part[~held[rows]].astype(np.float32)
        total = total + targets.sum(axis=0, dtype=np.float64)
        right += block.T @ targets
    mean = (total / fitted if settings.centred else np.zeros_like(total)).astype(np.float32)
    right -= np.sum([block.sum(axis=0) for block in blocks], axis=0).reshape(-1, 1) * mean
    solution, residuals = _conjugate_gradients(
        blocks, right, ridge=settings.ridge, steps=settings.steps, progress=progress
    )
    table = np.zeros((counts.shape[1], right.shape[1]), dtype=np.float32)
    table[seen] = solution
    cosines = [
        _cosines(counts[rows][held[rows]] @ table, part[held[rows]].astype(np.float32) - mean)
        for part, rows in zip(vectors, slices, strict=True)
    ]
    cosine = float(np.concatenate(cosines).mean()) if held.any() else None
    return QueryTable(table, residuals, cosine, fitted)


def refuse_no_tokens(tokens: int, *, texts: int) -> None:
    """Raise `EmptyCollectionError` if there is no token of the query vocabulary."""
    if not tokens:
        raise EmptyCollectionError(
            "no text has a token of the query vocabulary",
            facts=[("texts", texts)],
            fixes=["give texts in the language of the encoder"],
        )


def refuse_few_texts(texts: int, settings: LookupSettings) -> None:
    """Raise `ParameterError` if a table is fitted to fewer than two texts."""
    fitted = texts - round(settings.held_out * texts)
    if fitted < 2:
        raise ParameterError(
            "there are too few different texts",
            facts=[("texts", texts), ("expected", "at least 2 besides those held out")],
            fixes=["give more texts", *([Fix.use(held_out=0)] if texts > 1 else [])],
        )


def refuse_equal(vectors: Sequence[npt.NDArray[np.floating[Any]]]) -> None:
    """Raise `ParameterError` if the vectors of all texts are equal up to rounding."""
    largest = np.max([part.max(axis=0) for part in vectors], axis=0)
    smallest = np.min([part.min(axis=0) for part in vectors], axis=0)
    if (largest.astype(np.float64) - smallest <= _ROUNDING).all():
        raise ParameterError(
            "the encoder gives the same vector for all texts",
            facts=[("texts", sum(map(len, vectors)))],
            fixes=["give texts that differ in their words", "use an encoder that was trained for retrieval"],
        )


def _conjugate_gradients(
    blocks: Sequence[sparse.csr_array[Any]], right: Matrix, *, ridge: float, steps: int, progress: Progress
) -> tuple[Matrix, tuple[float, ...]]:
    """Solve ``(X'X + ridge I) V = right``; return V and the relative norm of the residual after each step.

    Each dimension has its own step lengths. A dimension whose residual is 0 no longer changes.
    """
    diagonal = np.sum([block.power(2).sum(axis=0) for block in blocks], axis=0).reshape(-1, 1) + ridge
    inverse = (1 / diagonal).astype(np.float32)
    solution, residual = np.zeros_like(right), right.copy()
    scaled = inverse * residual
    direction, product = scaled.copy(), _dots(residual, scaled)
    norm = float(np.sqrt(_dots(right, right).sum()))
    residuals = []
    for step in range(1, steps + 1):
        image = np.float32(ridge) * direction
        for block in blocks:
            image += block.T @ (block @ direction)
        length = _ratio(product, _dots(direction, image))
        solution += length * direction
        residual -= length * image
        scaled = inverse * residual
        before, product = product, _dots(residual, scaled)
        direction = scaled + _ratio(product, before) * direction
        residuals.append(float(np.sqrt(_dots(residual, residual).sum())) / norm if norm else 0.0)
        progress(f"fit the query table: residual {residuals[-1]:.4f}", step, steps)
    return solution, tuple(residuals)


def _dots(one: Matrix, other: Matrix) -> npt.NDArray[np.float64]:
    """Return the inner products of the columns of two matrices."""
    products: npt.NDArray[np.float64] = (one * other).sum(axis=0, dtype=np.float64)
    return products


def _ratio(above: npt.NDArray[np.float64], below: npt.NDArray[np.float64]) -> Matrix:
    """Divide; 0 where the divisor is 0."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0).astype(np.float32)


def _cosines(one: Matrix, other: Matrix) -> npt.NDArray[np.float64]:
    """Return the cosines of the rows of two matrices; 0 for a row of zeros."""
    products = np.einsum("ij,ij->i", one.astype(np.float64), other.astype(np.float64))
    norms = np.linalg.norm(one, axis=1).astype(np.float64) * np.linalg.norm(other, axis=1)
    cosines: npt.NDArray[np.float64] = np.divide(
        products, norms, out=np.zeros_like(products), where=norms > 0
    )
    return cosines
