"""The aggregation ``top_hits``: the first documents of a bucket."""

from __future__ import annotations

from termwise.fast_dataclass import dataclass
from termwise.serve.errors import ServiceError
from termwise.serve.opensearch.fields import Fields, SourceFilter
from termwise.serve.opensearch.json_checks import flag, known_keys, only_default, whole
from termwise.serve.opensearch.sort_keys import read_sort

MOST_HITS = 100
"""Documents of a bucket, with those that are skipped."""


@dataclass(frozen=True)
class TopHits:
    """First documents of a bucket.

    Attributes
    ----------
    size, first : int
        Number of documents, and documents to skip.
    sort : tuple of str
        Keys to sort by, see `read_sort`.
    scores : bool
        Whether hits have scores.
    source : SourceFilter
    """

    size: int
    first: int
    sort: tuple[str, ...]
    scores: bool
    source: SourceFilter


def read_top_hits(body: object, where: str, fields: Fields) -> TopHits:
    """Read the body of ``top_hits``.

    Raises
    ------
    UnsupportedError, ServiceError, UnknownNameError
        If a part is not supported, or not as expected.
    """
    unset = {"explain": False, "version": False, "seq_no_primary_term": False}
    given = known_keys(body, where, ("size", "from", "sort", "_source", "track_scores", *unset))
    only_default(given, where, **unset)
    size, first = (
        whole(given.get("size", 3), f"size of {where}"),
        whole(given.get("from", 0), f"from of {where}"),
    )
    if size + first > MOST_HITS:
        raise ServiceError(
            f"{where} has too many documents of a bucket",
            facts=[("given", size + first), ("most", MOST_HITS)],
        )
    sort, scores = read_sort(given.get("sort"), fields)
    scores = scores or flag(given.get("track_scores", False), "track_scores")
    return TopHits(size, first, sort, scores, SourceFilter.of(given.get("_source")))
