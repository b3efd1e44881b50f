"""Query probes: the same text scored for a query and for a variation of it.

Both sides of a sample have one text and two queries, see `Sample.second_query`. Each change of the query makes two
probes:

- ``…-moves`` is symmetric, over all texts: the effect is 1 if the score changes by more than the tie threshold.
- ``…-kept`` is over relevant texts: the effect is positive if the original query gives the higher score.

Scores for two queries are comparable only if the queries mean the same. A scorer that sums over query words gives a
lower sum to fewer words. The symmetric probe therefore compares scorers best if the variation has fewer words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from random import Random

from termwise.collection import read_json_lines
from termwise.probes.behaviour.words_and_sentences import WORD, content_words
from termwise.probes.core.judged_texts import JudgedTexts
from termwise.probes.core.probe import Probe, Strategy, define_pair
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.core.sample import Sample, random_for
from termwise.probes.manipulations.base import collections, selected_grades
from termwise.probes.manipulations.text_edits import Place, replaced
from termwise.probes.sources.transfer.files import find_files
from termwise.probes.sources.transfer.pair_files import strings_of
from termwise.probes.sources.written_texts import written, written_texts

VARIATION_TYPES = {
    "real_typo": ("real-typo", "typos that people made"),
    "synthetic_typo": ("rule-typo", "typos by rule"),
    "mispelling": ("misspelling", "misspellings"),
    "naturality": ("keywords", "keywords"),
    "ordering": ("order", "word order"),
    "paraphrase": ("paraphrase", "paraphrase"),
    "synonym": ("synonym", "synonyms"),
}
"""Types of variations: their form in names of probes, and in titles."""

NEIGHBOURS = {
    key: row[max(0, place - 1) : place] + row[place + 1 : place + 2]
    for row in ("qwertyuiop", "asdfghjkl", "zxcvbnm")
    for place, key in enumerate(row)
}
"""Keys to the left and the right of a key."""

Variations = Callable[[int, str, str], Iterable[tuple[str, str]]]
"""Returns the variations of a query with their identifiers, possibly empty, for a seed, a query id and a query."""


def typo(query: str, stop_words: frozenset[str], random: Random) -> str | None:
    """Make one typing error in a word of four letters or more that is not a stop word."""
    matches = [
        match
        for match in WORD.finditer(query)
        if len(match[0]) >= 4 and match[0].isalpha() and match[0].lower() not in stop_words
    ]
    if not matches:
        return None
    match = random.choice(matches)
    return replaced(query, [Place(*match.span())], [mistyped_word(match[0], random)])


def mistyped_word(word: str, random: Random) -> str:
    """Return a word with a letter dropped, doubled, swapped with the next or replaced by a neighbouring key.

    The first letter is unchanged. `termwise.probes.manipulations.typos.mistyped` makes other errors.
    """
    place = random.randrange(1, len(word))
    before, letter, after = word[:place], word[place], word[place + 1 :]
    errors = [before + after, before + letter + letter + after]
    if after and after[0] != letter:
        errors.append(before + after[0] + letter + after[1:])
    if neighbours := NEIGHBOURS.get(letter.lower()):
        errors.append(before + random.choice(neighbours) + after)
    return random.choice(errors)


def reordered(query: str, stop_words: frozenset[str], random: Random) -> str | None:
    """Shuffle the words of a query, without punctuation at its end."""
    words = query.rstrip("?.! ").split()
    if len(set(words)) < 2:
        return None
    while (shuffled := random.sample(words, len(words))) == words:
        pass
    return " ".join(shuffled)


def without_stop_words(query: str, stop_words: frozenset[str], random: Random) -> str | None:
    """Remove stop words and punctuation."""
    return " ".join(content_words(query, stop_words)) or None


_CHANGES = (
    ("query-typo", "a typo", typo),
    ("query-order", "words in another order", reordered),
    ("query-content-words", "without function words", without_stop_words),
    ("query-upper-case", "upper case", lambda query, stop_words, random: query.upper()),
)
"""Name, title and function; the function returns None for a query that it cannot change."""


class QueryProbe(Probe):
    """Texts scored for a query and for a variation of it: ``…-moves`` if symmetric, else ``…-kept``."""

    strategy: Strategy = "manipulation"

    def __init__(
        self, name: str, title: str, judged: JudgedTexts, variations: Variations, *, symmetric: bool
    ) -> None:
        self.name = f"{name}-{'moves' if symmetric else 'kept'}@{judged.name}"
        self.title = f"Query, {title}: {'score moves' if symmetric else 'first one scores higher'}"
        self.definition = define_pair(
            f"a {'judged' if symmetric else 'relevant'} text, scored for the original query",
            f"the same text, scored for the changed query: {title}",
        )
        self.symmetric = symmetric
        self._judged = judged
        self._variations = variations
        self._grades = selected_grades(judged, "all" if symmetric else "relevant")

    def samples(self, seed: int) -> Iterator[Sample]:
        """See `Probe`; an unchanged query makes no sample."""
        for query_id, query in sorted(self._judged.queries.items()):
            variations = [each for each in self._variations(seed, query_id, query) if each[1] != query]
            for text in self._judged.of(query_id) if query_id in self._judged.grades else ():
                if self._grades is not None and text.grade not in self._grades:
                    continue
                for variation_id, variation in variations:
                    yield Sample(
                        sample_id="/".join(filter(None, (query_id, text.doc_id, variation_id))),
                        query=query,
                        first=text.text,
                        second=text.text,
                        query_id=query_id,
                        facts={"document": text.doc_id, "grade": text.grade},
                        second_query=variation,
                    )


def read_variations(folder: Path) -> dict[str, dict[str, list[tuple[str, str]]]]:
    """Read variations of queries from all files of a folder, by type and by normalised query.

    A line has ``id``, ``query``, ``variant`` and ``kind``; those with ``valid`` false are left out.
    """
    variations: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for path in find_files(folder, "the query variations", ["*.jsonl"]):
        for line, record in read_json_lines(path):
            variation_id, query, variation, variation_type = strings_of(
                record, ("id", "query", "variant", "kind"), path, line
            )
            if record.get("valid", True):
                by_query = variations.setdefault(variation_type, {})
                by_query.setdefault(_normalised(query), []).append((variation_id, variation))
    return variations


def _normalised(query: str) -> str:
    return " ".join(query.lower().split())


def _changed(
    change: Callable[[str, frozenset[str], Random], str | None],
    name: str,
    stop_words: frozenset[str],
    seed: int,
    query_id: str,
    query: str,
) -> Iterator[tuple[str, str]]:
    changed = change(query, stop_words, random_for(seed, name, query_id))
    if changed is not None:
        yield "", changed


def _from_file(
    by_query: Mapping[str, Iterable[tuple[str, str]]], seed: int, query_id: str, query: str
) -> Iterable[tuple[str, str]]:
    return by_query.get(_normalised(query), ())


def _written_keywords(seed: int, query_id: str, query: str) -> Iterator[tuple[str, str]]:
    for item in written("passages"):
        if item["id"] == query_id:
            yield "", item["keywords"]


def _both(name: str, title: str, judged: JudgedTexts, variations: Variations) -> list[Probe]:
    return [QueryProbe(name, title, judged, variations, symmetric=symmetric) for symmetric in (True, False)]


def query_probes(inputs: ProbeInputs) -> list[Probe]:
    """Make the probes; variations of a folder apply to every judged collection with one of their queries."""
    probes: list[Probe] = _both("query-keywords", "keywords", written_texts(), _written_keywords)
    for judged in collections(inputs):
        for name, title, change in _CHANGES:
            probes += _both(name, title, judged, partial(_changed, change, name, inputs.stop_words))
    if inputs.judged and "query-variations" in inputs.folders:
        for variation_type, by_query in sorted(read_variations(inputs.folders["query-variations"]).items()):
            name, title = VARIATION_TYPES.get(variation_type, (variation_type, variation_type))
            for judged in inputs.judged:
                if any(_normalised(query) in by_query for query in judged.queries.values()):
                    variations = partial(_from_file, by_query)
                    probes += _both(f"query-variation-{name}", title, judged, variations)
    return probes


FAMILY = Family("queries", "effect of the wording of the query", query_probes, ("query-variations",))
