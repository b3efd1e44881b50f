"""The probe of a data set of pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from termwise.probes.core.probe import SourcedProbe, Strategy
from termwise.probes.core.sample import Sample, random_for
from termwise.probes.sources.transfer.pair import Pair
from termwise.probes.sources.transfer.queries import Asking

IDENTICAL, NO_QUERY, EMPTY = "identical texts", "no query", "an empty text"
"""Why a pair makes no sample."""


class TransferProbe(SourcedProbe[Pair]):
    """Pairs of a data set. Positive: the text with the named quality is preferred.

    Parameters
    ----------
    name, title : str
        See `Probe`.
    read : callable
        Returns the pairs, each time it is called.
    asking : Asking
        Where queries come from.
    definition : str, optional
        See `Probe`.
    symmetric : bool, optional
        Whether only being told apart counts.
    keep_identical : bool, optional
        Whether pairs of equal texts make samples, which no ranker can tell apart.

    Attributes
    ----------
    pairs : callable
        Returns all pairs, also those that make no sample.
    keep_identical : bool
        Whether pairs of equal texts make samples.

    Examples
    --------
    >>> from termwise.probes.sources.transfer.queries import GivenQuery
    >>> pairs = [Pair("1", "A cat.", "A katt.", query="cats"), Pair("2", "A dog.", "A dog.", query="dogs")]
    >>> probe = TransferProbe("fluency@mine", "Fluency", lambda: pairs, GivenQuery())
    >>> [sample.first for sample in probe.samples(0)], probe.left_out(0)
    (['A cat.'], {'identical texts': 1})
    """

    strategy: Strategy = "transfer"

    def __init__(
        self,
        name: str,
        title: str,
        read: Callable[[], Iterable[Pair]],
        asking: Asking,
        *,
        definition: str = "",
        symmetric: bool = False,
        keep_identical: bool = False,
    ) -> None:
        self.name = name
        self.title = title
        self.definition = definition
        self.symmetric = symmetric
        self.keep_identical = keep_identical
        self.pairs = read
        self._asking = asking

    def sources(self) -> Iterable[Pair]:
        """See `SourcedProbe`."""
        return self.pairs()

    def source_id(self, source: Pair) -> str:
        """See `SourcedProbe`."""
        return source.pair_id

    def left_out(self, seed: int) -> dict[str, int]:
        """Return how many pairs make no sample, by the reason."""
        reasons = (self._judge(seed, pair)[1] for pair in self.pairs())
        return dict(Counter(reason for reason in reasons if reason))

    def sample(self, seed: int, source: Pair) -> Sample | None:
        """See `SourcedProbe`."""
        query, reason = self._judge(seed, source)
        if reason:
            return None
        return Sample(
            sample_id=source.pair_id,
            query=query,
            first=source.first,
            second=source.second,
            query_id=source.group,
            facts=source.facts,
        )

    def _judge(self, seed: int, pair: Pair) -> tuple[str, str]:
        """Return the query of a pair, and why it makes no sample, if it does not."""
        if not pair.first.strip() or not pair.second.strip():
            return "", EMPTY
        if pair.first == pair.second and not self.keep_identical:
            return "", IDENTICAL
        query = self._asking.query(pair, random_for(seed, self.name, pair.pair_id))
        return (query, "") if query else ("", NO_QUERY)
