"""How well terms separate the documents of an index.

The spread of a term is the sum, over all documents, of the squared difference of its weight from its mean weight:

    spread(t) = sum_d w(t, d)^2 - (sum_d w(t, d))^2 / N

where *N* is the number of documents, and the weight is 0 in a document without the term. A word of most documents, with
the same small weight in each, has a small spread, and so has a rare word. A word that some documents have in a field
with a large weight, such as their title, has a large one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from termwise.budget import spend
from termwise.index import Index

SAMPLE = 4096
"""Number of postings per term and segment, at regular distances, from which the spread of the weights is estimated."""


def term_spreads(index: Index, terms: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the spread of each of some terms, ascending numbers; in an index of floats, the number of documents.

    Deleted documents count until their segment is merged.

    Examples
    --------
    >>> import tempfile, termwise
    >>> teas = ["green tea, in stock", "black tea, in stock", "a pot, in stock", "white cups, in stock"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     index = termwise.build_index([termwise.Document(text, text) for text in teas], folder).index
    ...     numbers = [index.vocabulary.number(word) for word in ("stock", "tea")]
    ...     stock, tea = term_spreads(index, np.array(sorted(numbers)))[np.argsort(np.argsort(numbers))]
    >>> bool(tea > stock)
    True
    """
    sums, squares = np.zeros(len(terms)), np.zeros(len(terms))
    for segment in index.segments:
        view = segment.inverted
        if view is None:
            return index.document_frequencies[terms].astype(np.float64)
        scale = index.manifest.quantiser.scale * 2.0**segment.shift
        places, which = segment.places_of_terms(terms.astype(np.int32))
        for place, number in zip(places.tolist(), np.arange(len(terms))[which].tolist(), strict=True):
            begin, end = int(view.term_postings[place]), int(view.term_postings[place + 1])
            step = max(1, (end - begin) // SAMPLE)
            weights = scale * view.posting_impact[begin:end:step].astype(np.float64)
            spend(len(weights))
            if len(weights):
                sums[number] += weights.mean() * (end - begin)
                squares[number] += np.square(weights).mean() * (end - begin)
    return np.asarray(squares - np.square(sums) / max(1, len(index)))
