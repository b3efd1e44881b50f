"""What changes a text, and the probe that comes of it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from termwise.probes.core.judged_texts import JudgedText, JudgedTexts
from termwise.probes.core.probe import SourcedProbe, Strategy, define_pair
from termwise.probes.core.sample import Sample, random_for
from termwise.probes.language.base import Language


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

    @property
    def makes(self) -> str:
        """What comes of a text, such as "the text with its words in another order"."""
        ...

    def apply(self, text: str, around: Around) -> str | None:
        """Return the changed text; None, or the same text, where it cannot be done: there is no sample then."""
        ...


class ManipulationProbe(SourcedProbe[JudgedText]):
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
    part : str, optional
        What name and title say of these grades, such as "higher". The samples are those of the probe over all grades.
    symmetric : bool, optional
        Whether only being told apart counts.
    needs : str, optional
        See `Probe`.
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
        part: str = "",
        symmetric: bool = False,
        needs: str = "",
    ) -> None:
        self.name = f"{manipulation.name}{part and '-' + part}@{judged.name}"
        self.title = manipulation.title + (part and f", {part} grades")
        self.definition = define_pair(
            manipulation.makes, "the text as it was" + (part and f". Texts of the {part} grades alone")
        )
        self.symmetric = symmetric
        self.needs = needs
        self._manipulation = manipulation
        self._judged = judged
        self._language = language
        self._stop_words = stop_words
        self._grades = grades

    def sources(self) -> Iterator[JudgedText]:
        """See `SourcedProbe`."""
        return (one for one in self._judged if self._grades is None or one.grade in self._grades)

    def source_id(self, source: JudgedText) -> str:
        """See `SourcedProbe`."""
        return source.judgment_id

    def sample(self, seed: int, source: JudgedText) -> Sample | None:
        """See `SourcedProbe`; a text that cannot be manipulated, or comes out as it was, gives none."""
        drawing = random_for(seed, self._manipulation.name, source.query_id, source.doc_id)
        around = Around(source, self._judged, self._language, self._stop_words, drawing)
        changed = self._manipulation.apply(source.text, around)
        if changed is None or changed == source.text:
            return None
        return Sample(
            sample_id=source.judgment_id,
            query=source.query,
            first=changed,
            second=source.text,
            query_id=source.query_id,
            facts={"document": source.doc_id, "grade": source.grade},
        )
