"""Constructed texts: sentence templates with two places for nouns each.

A text is a sequence of random templates with a neutral noun in every place. Almost any noun fits any place. If a query
word replaces a neutral noun, the length, the other words and their order do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any, Generic, TypeVar

from termwise.fast_dataclass import dataclass
from termwise.probes.core.sample import Sample
from termwise.probes.sources.written_texts import written

SENTENCES = 8
"""Default number of sentences of a text: about 110 words."""

LONGEST = 24
"""Largest number of sentences of a text."""

PLACES_PER_SENTENCE = 2

Variant = TypeVar("Variant")
Query = tuple[str, ...]


@dataclass(frozen=True)
class TemplateData:
    """Templates and words of constructed texts.

    Sentences have ``{}`` at two places, each for a noun or a name of several nouns. Nouns are neutral. A query has two
    or three nouns that form a name. `rare` has pairs of a rare word and a word that is common in English collections,
    `related` groups of nouns with similar meaning.
    """

    sentences: tuple[str, ...]
    nouns: tuple[str, ...]
    queries: tuple[Query, ...]
    rare: tuple[tuple[str, str], ...]
    related: tuple[Query, ...]


@cache
def template_data() -> TemplateData:
    """Return the data that ship with the package.

    Examples
    --------
    >>> data = template_data()
    >>> len(data.sentences), " ".join(data.queries[0])
    (48, 'harbour ferry timetable')
    """
    items: dict[str, list[dict[str, Any]]] = {}
    for item in written("axioms"):
        items.setdefault(item["kind"], []).append(item)
    return TemplateData(
        sentences=tuple(item["text"] for item in items["sentence"]),
        nouns=tuple(item["text"] for item in items["noun"]),
        queries=tuple(tuple(item["terms"]) for item in items["query"]),
        rare=tuple((item["rare"], item["common"]) for item in items["rare"]),
        related=tuple(tuple(item["words"]) for item in items["related"]),
    )


@dataclass(frozen=True)
class TemplateText:
    """Templates with a neutral noun in every place, and unused neutral nouns. Places are numbered from 0.

    Examples
    --------
    >>> text = TemplateText(("The {} met the {}.", "Then the {} left the {}."), ("fox", "hen", "owl", "cat"), ())
    >>> text.render({1: "big dog"})
    'The fox met the big dog. Then the owl left the cat.'
    >>> text.render(order=[1, 0])
    'Then the owl left the cat. The fox met the hen.'
    """

    sentences: tuple[str, ...]
    nouns: tuple[str, ...]
    spare: tuple[str, ...]

    @property
    def places(self) -> range:
        """All places."""
        return range(len(self.nouns))

    def render(self, words: Mapping[int, str] | None = None, *, order: Sequence[int] | None = None) -> str:
        """Return the text, with words in place of some neutral nouns, and the sentences in another order."""
        replacements = words or {}
        nouns = iter([replacements.get(place, noun) for place, noun in enumerate(self.nouns)])
        sentences = [sentence.format(next(nouns), next(nouns)) for sentence in self.sentences]
        return " ".join(sentences if order is None else [sentences[number] for number in order])


@dataclass(frozen=True)
class Case(Generic[Variant]):
    """Query and variant for which pairs are constructed, with a generator independent of other cases.

    The label describes the variant, and is unique for the query.
    """

    terms: Query
    label: str
    variant: Variant
    random: Random
    _data: TemplateData

    @property
    def query(self) -> str:
        """The query."""
        return " ".join(self.terms)

    def draw_text(self, sentences: int = SENTENCES) -> TemplateText:
        """Draw a text."""
        templates = self.random.sample(self._data.sentences, sentences)
        nouns = self.random.sample(self._data.nouns, len(self._data.nouns))
        used = PLACES_PER_SENTENCE * sentences
        return TemplateText(tuple(templates), tuple(nouns[:used]), tuple(nouns[used:]))

    def pair(self, first: str, second: str, *, detail: str = "", **facts: Any) -> Sample:
        """Return a pair whose first text the axiom prefers; the detail is appended to the label."""
        label = self.label + detail
        return Sample(f"{self.query}/{label}", self.query, first, second, facts={"pair": label, **facts})


@dataclass(frozen=True)
class TemplateSampler:
    """Source of the cases of an axiom; `random_for` returns the generator for a query and a label."""

    data: TemplateData
    random_for: Callable[[str, str], Random]

    def cases(
        self,
        variants: Mapping[str, Variant] | Callable[[Query], Mapping[str, Variant]],
        queries: Iterable[Query] | None = None,
    ) -> Iterator[Case[Variant]]:
        """Yield a case for each query, by default those of the data, and each variant.

        Variants are given by label, or by a function that returns them for the words of a query.
        """
        for terms in self.data.queries if queries is None else queries:
            for label, variant in (variants(terms) if callable(variants) else variants).items():
                random = self.random_for(" ".join(terms), label)
                yield Case(terms, label, variant, random, self.data)
