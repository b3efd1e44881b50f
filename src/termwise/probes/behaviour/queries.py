"""Changed queries: the same text is scored for a query and for another way to put it.

Both sides of a sample have one text; the query differs, see `Sample.second_query`. Each change makes two probes:

- ``…-moves`` is symmetric, over all texts: does the score move by more than counts as a tie?
- ``…-kept`` is over relevant texts alone. Positive: the query as it was gives the higher score.

Scores for two queries are compared. That means something as long as the two say the same; a scorer that sums over the
words of a query gives a lower sum to fewer words, so that dropping words is best read by the symmetric probe of several
scorers, or not at all.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from termwise.collection import read_json_lines
from termwise.probes.behaviour.changes import collections, grades
from termwise.probes.behaviour.wording import WORD, content_words
from termwise.probes.core.judged_texts import JudgedTexts
from termwise.probes.core.probe import Probe, Strategy, define_pair
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.core.sample import Sample, random_for
from termwise.probes.manipulations.text_edits import Place, replaced
from termwise.probes.sources.transfer.files import any_of
from termwise.probes.sources.transfer.pair_files import string_of
from termwise.probes.sources.written_texts import written, written_texts

KINDS = {
    "real_typo": ("real-typo", "typos that people made"),
    "synthetic_typo": ("rule-typo", "typos by rule"),
    "mispelling": ("misspelling", "misspellings"),
    "naturality": ("keywords", "keywords"),
    "ordering": ("order", "word order"),
    "paraphrase": ("paraphrase", "paraphrase"),
    "synonym": ("synonym", "synonyms"),
}
"""Kinds of variations, as files name them, and what probes and tables call them."""

NEIGHBOURS = {
    key: row[max(0, place - 1) : place] + row[place + 1 : place + 2]
    for row in ("qwertyuiop", "asdfghjkl", "zxcvbnm")
    for place, key in enumerate(row)
}
"""Keys to the left and the right of a key."""

Variants = Callable[[int, str, str], Iterable[tuple[str, str]]]
"""Returns the variations of a query, with a name each that may be empty, for a seed, its identifier and its text."""


@dataclass(frozen=True)
class QueryChange:
    """A way to change a query.

    Attributes
    ----------
    name, title : str
        As in a manipulation.
    change : callable
        Returns the changed query; None where it cannot be done.
    """

    name: str
    title: str
    change: Callable[[str, frozenset[str], random.Random], str | None]

    def variants(
        self, stop_words: frozenset[str], seed: int, query_id: str, query: str
    ) -> Iterator[tuple[str, str]]:
        """Yield the changed query, if it can be changed."""
        found = self.change(query, stop_words, random_for(seed, self.name, query_id))
        if found is not None:
            yield "", found


def typo(query: str, stop_words: frozenset[str], drawing: random.Random) -> str | None:
    """Make one slip of the fingers in a word of four letters or more that says something.

    A letter is left out, doubled, exchanged with the next one, or its neighbour on the keyboard is hit. The first
    letter stays.
    """
    matches = [
        match
        for match in WORD.finditer(query)
        if len(match[0]) >= 4 and match[0].isalpha() and match[0].lower() not in stop_words
    ]
    if not matches:
        return None
    match = drawing.choice(matches)
    return replaced(query, [Place(*match.span())], [slip(match[0], drawing)])


def slip(word: str, drawing: random.Random) -> str:
    """Return a word with one slip that changes it."""
    place = drawing.randrange(1, len(word))
    before, letter, after = word[:place], word[place], word[place + 1 :]
    found = [before + after, before + letter + letter + after]
    if after and after[0] != letter:
        found.append(before + after[0] + letter + after[1:])
    if near := NEIGHBOURS.get(letter.lower()):
        found.append(before + drawing.choice(near) + after)
    return drawing.choice(found)


def reordered(query: str, stop_words: frozenset[str], drawing: random.Random) -> str | None:
    """Bring the words of a query into another order, without its punctuation at the end."""
    words = query.rstrip("?.! ").split()
    if len(set(words)) < 2:
        return None
    while (mixed := drawing.sample(words, len(words))) == words:
        pass
    return " ".join(mixed)


def without_function_words(query: str, stop_words: frozenset[str], drawing: random.Random) -> str | None:
    """Leave the words that say something."""
    return " ".join(content_words(query, stop_words)) or None


def in_capitals(query: str, stop_words: frozenset[str], drawing: random.Random) -> str | None:
    """Write everything in capitals."""
    return query.upper()


CHANGES = (
    QueryChange("query-typo", "a typo", typo),
    QueryChange("query-order", "words in another order", reordered),
    QueryChange("query-content-words", "without function words", without_function_words),
    QueryChange("query-upper-case", "upper case", in_capitals),
)


class QueryProbe(Probe):
    """Texts scored for a query, and for a variation of it.

    Parameters
    ----------
    name, title : str
        Of the change.
    judged : JudgedTexts
        Whose queries and texts.
    variants : callable
        See `Variants`.
    symmetric : bool
        Whether every move of the score counts, over all texts; else relevant texts alone, and a positive effect says
        that the query as it was gives the higher score.
    """

    strategy: Strategy = "manipulation"

    def __init__(
        self, name: str, title: str, judged: JudgedTexts, variants: Variants, *, symmetric: bool
    ) -> None:
        self.name = f"{name}-{'moves' if symmetric else 'kept'}@{judged.name}"
        self.title = f"Query, {title}: {'score moves' if symmetric else 'first one scores higher'}"
        self.definition = define_pair(
            f"a {'judged' if symmetric else 'relevant'} text, scored for the query as it was",
            f"the same text, scored for the query changed: {title}",
        )
        self.symmetric = symmetric
        self._judged = judged
        self._variants = variants
        self._grades = grades(judged, "all" if symmetric else "relevant")

    def samples(self, seed: int) -> Iterator[Sample]:
        """See `Probe`; a query that comes out as it was gives none."""
        for query_id, query in sorted(self._judged.queries.items()):
            found = [one for one in self._variants(seed, query_id, query) if one[1] != query]
            for one in self._judged.of(query_id) if query_id in self._judged.grades else ():
                if self._grades is not None and one.grade not in self._grades:
                    continue
                for variant_id, variant in found:
                    yield Sample(
                        sample_id="/".join(filter(None, (query_id, one.doc_id, variant_id))),
                        query=query,
                        first=one.text,
                        second=one.text,
                        query_id=query_id,
                        facts={"document": one.doc_id, "grade": one.grade},
                        second_query=variant,
                    )


def read_variations(folder: Path) -> dict[str, dict[str, list[tuple[str, str]]]]:
    """Read variations of queries from all files of a folder, by kind and by the query in lower case.

    A line has ``id``, ``query``, ``variant`` and ``kind``; those with ``valid`` false are left out.

    Raises
    ------
    MissingFileError
        If there is no file of JSON lines.
    MalformedRecordError
        If a line lacks something.
    """
    found: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for path in any_of(folder, "the query variations", ["*.jsonl"]):
        for number, record in read_json_lines(path):
            variant_id, query, variant, kind = (
                string_of(record, (name,), path, number) for name in ("id", "query", "variant", "kind")
            )
            if record.get("valid", True):
                of_query = found.setdefault(kind, {}).setdefault(_plain(query), [])
                of_query.append((variant_id, variant))
    return found


def _plain(query: str) -> str:
    return " ".join(query.lower().split())


def _known(
    by_query: Mapping[str, Iterable[tuple[str, str]]], seed: int, query_id: str, query: str
) -> Iterable[tuple[str, str]]:
    return by_query.get(_plain(query), ())


def _keywords(seed: int, query_id: str, query: str) -> Iterator[tuple[str, str]]:
    for item in written("passages"):
        if item["id"] == query_id:
            yield "", item["keywords"]


def _both(name: str, title: str, judged: JudgedTexts, variants: Variants) -> list[Probe]:
    return [QueryProbe(name, title, judged, variants, symmetric=symmetric) for symmetric in (True, False)]


def query_probes(material: ProbeInputs) -> list[Probe]:
    """Make the probes; variations from a folder are asked of every judged collection that has such a query."""
    made: list[Probe] = _both("query-keywords", "keywords", written_texts(), _keywords)
    for judged in collections(material):
        for change in CHANGES:
            made += _both(change.name, change.title, judged, partial(change.variants, material.stop_words))
    if material.judged and "query-variations" in material.folders:
        for kind, by_query in sorted(read_variations(material.folders["query-variations"]).items()):
            for judged in material.judged:
                if any(_plain(query) in by_query for query in judged.queries.values()):
                    name, title = KINDS.get(kind, (kind, kind))
                    made += _both(f"query-variation-{name}", title, judged, partial(_known, by_query))
    return made


FAMILY = Family("queries", "does it matter how the same thing is asked?", query_probes, ("query-variations",))
