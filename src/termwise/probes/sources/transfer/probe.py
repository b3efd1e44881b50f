"""Probes of data sets of text pairs, and how a data set defines them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from termwise.probes.core.probe import Probe, SourcedProbe, Strategy
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.core.sample import Sample, random_for
from termwise.probes.sources.transfer.files import find_files, find_layout
from termwise.probes.sources.transfer.pair_files import read_pairs
from termwise.probes.sources.transfer.pairs import Pair, QueryRule, common_chunk, given_query, shared_lemma

IDENTICAL, NO_QUERY, EMPTY = "identical texts", "no query", "an empty text"
"""Reasons why a pair makes no sample."""


class TransferProbe(SourcedProbe[Pair]):
    """Text pairs of a data set. Positive: the text with the named quality is preferred.

    Parameters
    ----------
    name, title : str
        See `Probe`.
    read : callable
        Returns the pairs; called each time they are needed.
    query_rule : callable
        Finds the query of a pair.
    definition : str, optional
        See `Probe`.
    symmetric : bool, optional
        See `Probe`.
    keep_identical : bool, optional
        Whether pairs of identical texts make samples.

    Attributes
    ----------
    pairs : callable
        Returns all pairs, including those that make no sample.
    keep_identical : bool

    Examples
    --------
    >>> pairs = [Pair("1", "A cat.", "A katt.", query="cats"), Pair("2", "A dog.", "A dog.", query="dogs")]
    >>> probe = TransferProbe("fluency@mine", "Fluency", lambda: pairs, given_query)
    >>> [sample.first for sample in probe.samples(0)], probe.left_out(0)
    (['A cat.'], {'identical texts': 1})
    """

    strategy: Strategy = "transfer"

    def __init__(
        self,
        name: str,
        title: str,
        read: Callable[[], Iterable[Pair]],
        query_rule: QueryRule,
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
        self._query_rule = query_rule

    def sources(self) -> Iterable[Pair]:
        """See `SourcedProbe`."""
        return self.pairs()

    def source_id(self, source: Pair) -> str:
        """See `SourcedProbe`."""
        return source.pair_id

    def left_out(self, seed: int) -> dict[str, int]:
        """Count the pairs that make no sample, by reason."""
        reasons = (self._query_or_reason(seed, pair)[1] for pair in self.pairs())
        return dict(Counter(reason for reason in reasons if reason))

    def sample(self, seed: int, source: Pair) -> Sample | None:
        """See `SourcedProbe`."""
        query, reason = self._query_or_reason(seed, source)
        if reason:
            return None
        return Sample(source.pair_id, query, source.first, source.second, source.group, source.facts)

    def _query_or_reason(self, seed: int, pair: Pair) -> tuple[str, str]:
        """Return the query of a pair, or the reason why it makes no sample; the other one is empty."""
        if not pair.first.strip() or not pair.second.strip():
            return "", EMPTY
        if pair.first == pair.second and not self.keep_identical:
            return "", IDENTICAL
        query = self._query_rule(pair, random_for(seed, self.name, pair.pair_id))
        return (query, "") if query else ("", NO_QUERY)


@dataclass(frozen=True)
class ProbeDefinition:
    """Definition of one probe of a data set.

    Attributes
    ----------
    name, title, definition : str
        See `Probe`.
    variant : str
        Tells the reader of the data set which pairs belong to this probe; empty if all do.
    symmetric, keep_identical : bool
        See `TransferProbe`.
    """

    name: str
    title: str
    definition: str
    variant: str = ""
    symmetric: bool = False
    keep_identical: bool = False


Reader = Callable[[str], Iterable[Pair]]
"""Returns the pairs of a variant."""


@dataclass(frozen=True)
class PairDataSet:
    """Data set of text pairs. Calling it with a folder makes its probes.

    Attributes
    ----------
    open : callable
        Finds the files in a folder, and returns the reader of their pairs. Raises `MissingFileError` if the folder
        lacks files. See `by_layout` and `by_pattern`.
    query : callable
        Makes the rule that finds queries: `given_queries`, `chunk_queries` or `lemma_queries`.
    probes : tuple of ProbeDefinition
    """

    open: Callable[[Path], Reader]
    query: Callable[[ProbeInputs], QueryRule]
    probes: tuple[ProbeDefinition, ...]

    def __call__(self, folder: Path, inputs: ProbeInputs) -> list[Probe]:
        """Make the probes."""
        read, query_rule = self.open(folder), self.query(inputs)
        return [
            TransferProbe(
                each.name,
                each.title,
                partial(read, each.variant),
                query_rule,
                definition=each.definition,
                symmetric=each.symmetric,
                keep_identical=each.keep_identical,
            )
            for each in self.probes
        ]


def given_queries(inputs: ProbeInputs) -> QueryRule:
    """Take queries from the data set."""
    return given_query


def chunk_queries(inputs: ProbeInputs) -> QueryRule:
    """Draw a noun chunk that both texts share."""
    return common_chunk(inputs.language)


def lemma_queries(inputs: ProbeInputs) -> QueryRule:
    """Take queries that share a lemma with both texts."""
    return shared_lemma(inputs.language, inputs.stop_words)


@dataclass(frozen=True)
class Layout:
    """Arrangement of the files of a data set.

    Attributes
    ----------
    name : str
        For the error if files are missing.
    parts : mapping of str to sequence of str
        File names of each part, such as a split; a folder may have some of the parts only.
    read : callable
        Yields the pairs of a part: called with its name, its files and a variant.
    """

    name: str
    parts: Mapping[str, Sequence[str]]
    read: Callable[[str, Sequence[Path], str], Iterable[Pair]]


def pair_layout(*parts: str, **options: Any) -> Layout:
    """Return the layout of files ``PART.jsonl`` in the format of `read_pairs`, to which the options go."""

    def read(part: str, paths: Sequence[Path], variant: str) -> Iterator[Pair]:
        return read_pairs(paths[0], **options)

    return Layout("pairs", {part: [f"{part}.jsonl"] for part in parts}, read)


def by_layout(title: str, *layouts: Layout) -> Callable[[Path], Reader]:
    """Return what opens a data set in the first layout that a folder has."""
    named = {layout.name: layout for layout in layouts}

    def open_folder(folder: Path) -> Reader:
        name, parts = find_layout(folder, title, {layout.name: layout.parts for layout in layouts})

        def read(variant: str) -> Iterator[Pair]:
            for part, paths in parts.items():
                yield from named[name].read(part, paths, variant)

        return read

    return open_folder


def by_pattern(
    title: str, patterns: Sequence[str], read: Callable[[Path, str], Iterable[Pair]]
) -> Callable[[Path], Reader]:
    """Return what opens a data set of independent files: those that match the first pattern with a match."""

    def open_folder(folder: Path) -> Reader:
        paths = find_files(folder, title, patterns)
        return lambda variant: (pair for path in paths for pair in read(path, variant))

    return open_folder
