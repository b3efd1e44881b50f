"""Order of training pairs by similarity of their passages, for hard in-batch negatives."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from termwise.collection.pairs import PairSource
from termwise.index.ordering import document_order
from termwise.text import make_analyzer


def neighbour_order(source: PairSource, *, threads: int = 1) -> npt.NDArray[np.int64]:
    """Order the pairs of a source so that pairs with similar passages are neighbours.

    The passages are tokenised into stemmed words and ordered by recursive graph bisection, like the documents of an
    index, down to sets of 32 passages in arbitrary order. Pairs follow their passages. Pairs of one passage are
    distributed over rounds, so that a run of neighbours rarely contains a passage twice.

    Parameters
    ----------
    source : PairSource
    threads : int, optional
        The result does not depend on it.

    Returns
    -------
    ndarray of shape (n,), int64
        Positions in ``source.pairs``.
    """
    analyzer = make_analyzer("english")
    numbers: dict[str, int] = {}
    indptr, terms = [0], []
    for text in source.passages:
        distinct = {numbers.setdefault(token, len(numbers)) for token in analyzer.tokens(text)}
        terms.extend(sorted(distinct))
        indptr.append(len(terms))
    order = document_order(
        np.array(indptr, dtype=np.int64),
        np.array(terms, dtype=np.uint32),
        n_terms=len(numbers),
        threads=threads,
    )
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    seen: Counter[int] = Counter()
    rounds = np.empty(len(source.pairs), dtype=np.int64)
    for position, passage in enumerate(source.pairs[:, 1].tolist()):
        rounds[position] = seen[passage]
        seen[passage] += 1
    return np.lexsort((rank[source.pairs[:, 1]], rounds))
