"""What changes a text, and the probe that comes of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, runtime_checkable

from termwise.probes.judged import JudgedText, JudgedTexts
from termwise.probes.language.contract import Language
from termwise.probes.probe import Probe, Strategy, first_made
from termwise.probes.sample import Sample, random_for


@dataclass(frozen=True, eq=False)
class Around:
    """What a manipulation may look at besides the text.

    Attributes
    ----------
    about : JudgedText
        The text with its query.
    judged : JudgedTexts
        The collection that it comes from.
    language : Language
        Words and sentences.
    stop_words : frozenset of str
        In lower case.
    random : random.Random
        For this text and this manipulation alone, so that nothing depends on which texts came before.
    """

    about: JudgedText
    judged: JudgedTexts
    language: Language
    stop_words: frozenset[str]
    random: random.Random


@runtime_checkable
class Manipulation(Protocol):
    """Changes one thing in a text."""

    @property
    def name(self) -> str:
        """Lower case with hyphens; names the probe together with the collection."""
        ...

    @property
    def title(self) -> str:
        """What tables call it."""
        ...

    def apply(self, text: str, around: Around) -> str | None:
        """Return the changed text; None, or the same text, where it cannot be done: there is no sample then."""
        ...


class ManipulationProbe(Probe):
    """Each judged text against itself, manipulated. Positive: the manipulated text is preferred.

    Parameters
    ----------
    manipulation : Manipulation
        What is done to the texts.
    judged : JudgedTexts
        Whose texts.
    language, stop_words
        See `Around`.
    grades : frozenset of int, optional
        Judgments whose texts are taken; all unless given.
    symmetric : bool, optional
        Whether only being told apart counts.
    """

    strategy: Strategy = "manipulation"

    def __init__(
        self,
        manipulation: Manipulation,
        judged: JudgedTexts,
        *,
        language: Language,
        stop_words: frozenset[str],
        grades: frozenset[int] | None = None,
        symmetric: bool = False,
    ) -> None:
        self.name = f"{manipulation.name}@{judged.name}"
        self.title = manipulation.title
        self.symmetric = symmetric
        self._manipulation = manipulation
        self._judged = judged
        self._language = language
        self._stop_words = stop_words
        self._grades = grades

    def samples(self, seed: int) -> Iterator[Sample]:
        """See `Probe`; a text that cannot be manipulated, or comes out as it was, gives no sample."""
        for one in self._texts():
            if (sample := self._sample(seed, one)) is not None:
                yield sample

    def drawn(self, seed: int, most: int, order: Callable[[str], Any]) -> tuple[list[Sample], int]:
        """See `Probe`; texts that are not wanted are not manipulated."""
        return first_made(self._texts(), name=_name, make=partial(self._sample, seed), most=most, order=order)

    def _texts(self) -> Iterator[JudgedText]:
        return (one for one in self._judged if self._grades is None or one.grade in self._grades)

    def _sample(self, seed: int, one: JudgedText) -> Sample | None:
        drawing = random_for(seed, self._manipulation.name, one.query_id, one.doc_id)
        around = Around(one, self._judged, self._language, self._stop_words, drawing)
        changed = self._manipulation.apply(one.text, around)
        if changed is None or changed == one.text:
            return None
        return Sample(
            sample_id=_name(one),
            query=one.query,
            first=changed,
            second=one.text,
            query_id=one.query_id,
            facts={"document": one.doc_id, "grade": one.grade},
        )


def _name(one: JudgedText) -> str:
    return f"{one.query_id}/{one.doc_id}"
