"""Exact retrieval with boosts, where upper bounds of the boosts of all documents take part in block-max pruning.

The boosts, less the smallest one, are rounded up to steps, which are a power of two times the unit of the impacts. They
stand where the document biases of some models do: the kernels find the documents with the largest upper bounds of
boosted scores. Exact scores are computed for these, until no other upper bound reaches the k-th one.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from termwise.budget import spend
from termwise.engine.allowed_documents import AllowedDocuments
from termwise.engine.boost_biases import LEVELS
from termwise.engine.boosts import IndexBoosts
from termwise.engine.query_vector import QueryVector
from termwise.engine.retrieval import DEEPER, MOST_CELLS, RankedOrdinals
from termwise.index import Index
from termwise.index.container import corrupt
from termwise.index.manifest_records import BLOCK_BITS
from termwise.kernels.retrieval import INTACT, max_score, ordinal_bits, retrieve_segments

MORE = 4
"""Documents to find besides the results, because upper bounds are in another order than scores."""

SLACK = 1e-9
"""Upper bound of rounding errors, as a share of the largest score."""


def best_boosted(
    index: Index,
    query: QueryVector,
    boosts: IndexBoosts,
    k: int,
    *,
    left_out: npt.NDArray[np.int64],
    allowed: AllowedDocuments | None,
) -> RankedOrdinals | None:
    """Return the `k` best documents with boosts in their scores; None if this search needs another way.

    These are searches of vectors, of chunks, of models with document biases, with very many terms, with conditions on
    texts, or of few documents, and those before the boosts of all documents are known.
    """
    blocks = (len(index) >> BLOCK_BITS) + len(index.segments)
    if (
        query.vector is not None
        or query.exact
        or index.manifest.background
        or index.manifest.chunk
        or not index.has_postings
        or len(query.terms) * blocks > MOST_CELLS
        or (allowed is not None and (allowed.few or allowed.conditions is not None))
        or (biases := boosts.biases()) is None
    ):
        return None
    power = biases.exponent - (math.frexp(query.query_scale)[1] - 1)  # step / unit = 2**power
    bits, weight = max(0, -power), 1 << max(0, power)
    bound = (query.bound << bits) + ((weight * LEVELS) << index.segments.largest_shift)
    if bound >= max_score(len(index)):
        return None
    number = np.int32 if bound < 2**31 - 1 else np.int64
    views = biases.views(index.segments.views if allowed is None else allowed.views)
    depth = k + len(left_out) + MORE
    while True:
        spend()
        ordinals, sums, damaged = retrieve_segments(
            views, query.terms, (query.weights << bits).astype(number), number(weight), depth,
            ordinal_bits(len(index)), number(1),
        )  # fmt: skip
        if damaged != INTACT:
            path = index.segments[damaged].path
            raise corrupt(path, 0, "postings inside their arrays", "a position outside")
        exact = (sums - weight * biases.steps[ordinals]) >> bits
        boosted = exact * query.unit + query.constant + boosts.of(ordinals)
        order = np.lexsort((ordinals, -boosted))
        if len(left_out):
            order = order[~np.isin(ordinals[order], left_out)]
        order = order[:k]
        is_last = len(ordinals) < depth
        if not is_last and len(order) == k:
            most = float(sums[-1]) * math.ldexp(query.unit, -bits) + query.constant + biases.least
            is_last = boosted[order[-1]] > most + SLACK * (abs(most) + abs(biases.least) + boosts.largest)
        if is_last:
            return ordinals[order], boosted[order]
        depth *= DEEPER
