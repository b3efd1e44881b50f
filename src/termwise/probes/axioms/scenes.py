"""The texts that pairs are made of: sentences with room for two nouns each, which read well with almost any noun.

A scene is a row of drawn sentences with a neutral noun in every place. Putting a word of a query into a place in the
stead of the neutral noun changes nothing else: not the number of words, not the other words, not their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from random import Random
from typing import Any

from termwise.collection import read_json_lines
from termwise.errors import DataError, MalformedRecordError

SENTENCES = 8
"""Sentences of a scene: about 110 words."""

LONGEST = 24
"""Sentences of the longest scene."""

PLACE = "{}"
_PLACES = 2

_SPARE = 10


@dataclass(frozen=True)
class Written:
    """What scenes are drawn from.

    Attributes
    ----------
    sentences : tuple of str
        Each has ``{}`` twice, where a noun goes, or several that are one name.
    nouns : tuple of str
        Neutral nouns.
    queries : tuple of tuple of str
        The words of queries, two or three nouns that are one name.
    rare : tuple of (str, str)
        A rare word and one that is common in any English collection. Which is which is our judgment.
    related : tuple of tuple of str
        Groups of nouns that mean much the same.
    """

    sentences: tuple[str, ...]
    nouns: tuple[str, ...]
    queries: tuple[tuple[str, ...], ...]
    rare: tuple[tuple[str, str], ...]
    related: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        least = _PLACES * LONGEST + _SPARE
        if len(self.sentences) < LONGEST or len(set(self.nouns)) < least:
            raise DataError(
                "there is too little to make texts of",
                facts=[
                    ("sentences", f"{len(self.sentences)}, expected {LONGEST} or more"),
                    ("distinct nouns", f"{len(set(self.nouns))}, expected {least} or more"),
                ],
            )

    @classmethod
    def read(cls, path: str | Path) -> Written:
        """Read a file of JSON lines, each with a ``kind``.

        ``sentence`` and ``noun`` have a ``text``, ``query`` has ``terms``, ``rare`` has ``rare`` and ``common``, and
        ``related`` has ``words``.

        Raises
        ------
        MalformedRecordError
            If a line is none of these.
        DataError
            If there are too few sentences or nouns.
        """
        found: dict[str, list[Any]] = {kind: [] for kind in _KINDS}
        for number, record in read_json_lines(Path(path)):
            item = _item(record)
            if item is None:
                raise MalformedRecordError.at(
                    path, number, expected="a sentence, noun, query, rare or related", seen=str(record)
                )
            found[record["kind"]].append(item)
        return cls(*(tuple(found[kind]) for kind in _KINDS))

    @classmethod
    def shipped(cls) -> Written:
        """Return what comes with the package.

        Examples
        --------
        >>> written = Written.shipped()
        >>> len(written.sentences), " ".join(written.queries[0])
        (48, 'harbour ferry timetable')
        """
        return _shipped()


_KINDS = ("sentence", "noun", "query", "rare", "related")


def _item(record: Mapping[str, Any]) -> Any:
    """Return what a record says, None where it says nothing that is known."""
    kind = record.get("kind")
    if kind in ("sentence", "noun"):
        text = record.get("text")
        if not isinstance(text, str) or text.count(PLACE) != (_PLACES if kind == "sentence" else 0):
            return None
        return text if kind == "sentence" or len(text.split()) == 1 else None
    if kind == "rare":
        words: Any = (record.get("rare"), record.get("common"))
    else:
        words = record.get({"query": "terms", "related": "words"}.get(str(kind), ""))
    if not isinstance(words, list | tuple) or len(words) < 2:
        return None
    if not all(isinstance(word, str) and len(word.split()) == 1 for word in words):
        return None
    return tuple(words) if len(set(words)) == len(words) else None


@cache
def _shipped() -> Written:
    with as_file(files("termwise.probes.sources") / "written" / "axioms.jsonl") as path:
        return Written.read(path)


@dataclass(frozen=True)
class Scene:
    """Sentences with a neutral noun in every place.

    Attributes
    ----------
    sentences : tuple of str
    nouns : tuple of str
        Two for each sentence, all different. The places of a scene are numbered from 0.
    spare : tuple of str
        Further neutral nouns.

    Examples
    --------
    >>> scene = Scene(("The {} met the {}.", "Then the {} left the {}."), ("fox", "hen", "owl", "cat"), ())
    >>> scene.text({1: "big dog"})
    'The fox met the big dog. Then the owl left the cat.'
    >>> scene.text(order=[1, 0])
    'Then the owl left the cat. The fox met the hen.'
    """

    sentences: tuple[str, ...]
    nouns: tuple[str, ...]
    spare: tuple[str, ...]

    @classmethod
    def drawn(cls, written: Written, random: Random, sentences: int = SENTENCES) -> Scene:
        """Draw a scene of so many sentences."""
        chosen = random.sample(written.sentences, sentences)
        nouns = random.sample(written.nouns, len(written.nouns))
        return cls(tuple(chosen), tuple(nouns[: _PLACES * sentences]), tuple(nouns[_PLACES * sentences :]))

    @property
    def places(self) -> range:
        """The places for nouns."""
        return range(len(self.nouns))

    def text(self, words: Mapping[int, str] | None = None, *, order: Sequence[int] | None = None) -> str:
        """Return the scene as text.

        Parameters
        ----------
        words : mapping of int to str, optional
            What stands at places instead of the neutral noun.
        order : sequence of int, optional
            The sentences, by number; all of them in their order unless given.
        """
        put = words or {}
        nouns = iter([put.get(place, noun) for place, noun in enumerate(self.nouns)])
        said = [_filled(sentence, nouns) for sentence in self.sentences]
        return " ".join(said if order is None else [said[number] for number in order])


def _filled(sentence: str, nouns: Iterator[str]) -> str:
    before, between, after = sentence.split(PLACE)
    return f"{before}{next(nouns)}{between}{next(nouns)}{after}"
