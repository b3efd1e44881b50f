"""Probes of data sets of text pairs, and definitions of data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from termwise.fast_dataclass import dataclass
from termwise.probes.core.probe import Probe, SourcedProbe, Strategy
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.core.sample import Sample, random_for
from termwise.probes.sources.transfer.files import find_files, find_layout
from termwise.probes.sources.transfer.pair_files import read_pairs
from termwise.probes.sources.transfer.pairs import QueryRule, TextPair


@dataclass(frozen=True)
class PairProbe:
    """Description of one probe of a data set.

    `variant` names the pairs of this probe for the reader of the data set, and is empty for all pairs. With
    `keep_identical`, pairs of identical texts make samples.
    """

    name: str
    title: str
    definition: str
    variant: str = ""
    symmetric: bool = False
    keep_identical: bool = False


@dataclass(eq=False)
class TransferProbe(SourcedProbe[TextPair]):
    """Probe of text pairs; a positive effect means that the text with the named quality is preferred.

    Pairs with an empty text and pairs without a query make no sample. `pairs` is called each time they are needed.

    Examples
    --------
    >>> from termwise.probes.sources.transfer.pairs import given_query
    >>> pairs = [TextPair("1", "A cat.", "A katt.", query="cats"), TextPair("2", "A dog.", "A dog.", query="dogs")]
    >>> probe = TransferProbe(PairProbe("fluency@mine", "Fluency", ""), lambda: pairs, given_query)
    >>> [sample.first for sample in probe.samples(0)]
    ['A cat.']
    """

    description: PairProbe
    pairs: Callable[[], Iterable[TextPair]]
    query_rule: QueryRule
    strategy: Strategy = "transfer"

    def __post_init__(self) -> None:
        self.name, self.title = self.description.name, self.description.title
        self.definition, self.symmetric = self.description.definition, self.description.symmetric

    def sources(self) -> Iterable[tuple[str, TextPair]]:
        """See `SourcedProbe`."""
        return ((pair.pair_id, pair) for pair in self.pairs())

    def sample(self, seed: int, source: TextPair) -> Sample | None:
        """See `SourcedProbe`."""
        first, second = source.first, source.second
        is_kept = first != second or self.description.keep_identical
        if not (is_kept and first.strip() and second.strip()):
            return None
        query = self.query_rule(source, random_for(seed, self.name, source.pair_id))
        return Sample(source.pair_id, query, first, second, source.group, source.facts) if query else None


Reader = Callable[[str], Iterable[TextPair]]
"""Returns the pairs of a variant."""


@dataclass(frozen=True)
class PairDataSet:
    """Data set of text pairs. Calling it with a folder makes its probes.

    `open`, made by `by_layout` or `by_pattern`, finds the files in a folder and returns the reader of their pairs.
    `query` makes the rule that finds queries: `given_queries`, `common_chunk` or `shared_lemma`.
    """

    open: Callable[[Path], Reader]
    query: Callable[[ProbeInputs], QueryRule]
    probes: tuple[PairProbe, ...]

    def __call__(self, folder: Path, inputs: ProbeInputs) -> list[Probe]:
        """Make the probes."""
        read, query_rule = self.open(folder), self.query(inputs)
        return [TransferProbe(each, partial(read, each.variant), query_rule) for each in self.probes]


@dataclass(frozen=True)
class Layout:
    """Arrangement of the files of a data set: the file names of each part, such as a split.

    A folder may have some of the parts only. `read` yields the pairs of a part, given its name, its files and a
    variant.
    """

    name: str
    parts: Mapping[str, Sequence[str]]
    read: Callable[[str, Sequence[Path], str], Iterable[TextPair]]


def pair_layout(*parts: str, **options: Any) -> Layout:
    """Return the layout of files ``PART.jsonl``, which `read_pairs` reads with these options."""

    def read(part: str, paths: Sequence[Path], variant: str) -> Iterator[TextPair]:
        return read_pairs(paths[0], **options)

    return Layout("pairs", {part: [f"{part}.jsonl"] for part in parts}, read)


def by_layout(title: str, *layouts: Layout) -> Callable[[Path], Reader]:
    """Return a function that opens a data set in the first layout that a folder has."""
    named = {layout.name: layout for layout in layouts}

    def open_folder(folder: Path) -> Reader:
        name, parts = find_layout(folder, title, {layout.name: layout.parts for layout in layouts})

        def read(variant: str) -> Iterator[TextPair]:
            for part, paths in parts.items():
                yield from named[name].read(part, paths, variant)

        return read

    return open_folder


def by_pattern(
    title: str, patterns: Sequence[str], read: Callable[[Path, str], Iterable[TextPair]]
) -> Callable[[Path], Reader]:
    """Return a function that opens a data set of independent files, which match the first pattern with a match."""

    def open_folder(folder: Path) -> Reader:
        paths = find_files(folder, title, patterns)
        return lambda variant: (pair for path in paths for pair in read(path, variant))

    return open_folder
