"""Manipulations of texts, and their probes over the written passages and the judged collections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Literal

from termwise.fast_dataclass import dataclass
from termwise.probes.core.judged_texts import JudgedText, JudgedTexts
from termwise.probes.core.probe import SourcedProbe, Strategy, define_pair
from termwise.probes.core.probe_inputs import ProbeInputs
from termwise.probes.core.sample import Sample, random_for
from termwise.probes.language.base import Language
from termwise.probes.sources.written_texts import written_texts


@dataclass(frozen=True, eq=False)
class ManipulationContext:
    """The text with its query, its collection, and a random generator independent of other texts."""

    about: JudgedText
    judged: JudgedTexts
    language: Language
    stop_words: frozenset[str]
    random: Random

    def is_stop_word(self, word: str) -> bool:
        """Return whether a word is a stop word, ignoring case and the form of apostrophes."""
        return word.lower().replace("’", "'") in self.stop_words


Change = Callable[[str, ManipulationContext], str | None]
"""Returns the changed text; None or the same text if there is nothing to change. The text then makes no sample."""


@dataclass(frozen=True)
class Manipulation:
    """Change of one property of a text.

    The name of the probe is this name, ``@`` and the collection. `makes` describes the changed text, such as "the text
    with its words in random order". `needs` and `extra` are those of `Probe`.
    """

    name: str
    title: str
    makes: str
    apply: Change
    needs: str = ""
    extra: str = ""


class ManipulationProbe(SourcedProbe[JudgedText]):
    """Each judged text against its manipulated form; a positive effect means that the manipulated text is preferred.

    `grades` selects texts, all by default, and `part` is the name of these grades, such as "higher". Samples are those
    of the probe over all grades.
    """

    strategy: Strategy = "manipulation"

    def __init__(
        self,
        manipulation: Manipulation,
        judged: JudgedTexts,
        inputs: ProbeInputs,
        *,
        grades: frozenset[int] | None = None,
        part: str = "",
    ) -> None:
        self.name = f"{manipulation.name}{part and '-' + part}@{judged.name}"
        self.title = manipulation.title + (part and f", {part} grades")
        self.definition = define_pair(
            manipulation.makes, "the original text" + (part and f". Only texts of the {part} grades")
        )
        self.needs, self.extra = manipulation.needs, manipulation.extra
        self._manipulation = manipulation
        self._judged = judged
        self._inputs = inputs
        self._grades = grades

    def sources(self) -> Iterator[tuple[str, JudgedText]]:
        """See `SourcedProbe`."""
        for text in self._judged:
            if self._grades is None or text.grade in self._grades:
                yield text.judgment_id, text

    def sample(self, seed: int, source: JudgedText) -> Sample | None:
        """See `SourcedProbe`; a text that the manipulation leaves unchanged makes no sample."""
        random = random_for(seed, self._manipulation.name, source.query_id, source.doc_id)
        language, stop_words = self._inputs.language, self._inputs.stop_words
        context = ManipulationContext(source, self._judged, language, stop_words, random)
        changed = self._manipulation.apply(source.text, context)
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


TextSelection = Literal["all", "relevant", "unrelated"]
"""Selection of judged texts: all, those above the lowest grade, or those with the lowest grade."""


def collections(inputs: ProbeInputs) -> tuple[JudgedTexts, ...]:
    """Return the written passages and the judged collections."""
    return (written_texts(), *inputs.judged)


def selected_grades(judged: JudgedTexts, selection: TextSelection) -> frozenset[int] | None:
    """Return the grades of a selection; None for all."""
    if selection == "all":
        return None
    grades = {grade for judgments in judged.grades.values() for grade in judgments.values()}
    return frozenset(grade for grade in grades if (grade > judged.lowest) == (selection == "relevant"))


def over_collections(
    manipulations: Sequence[Manipulation], inputs: ProbeInputs, selection: TextSelection = "all"
) -> list[ManipulationProbe]:
    """Make a probe for each collection and manipulation."""
    return [
        ManipulationProbe(manipulation, judged, inputs, grades=selected_grades(judged, selection))
        for judged in collections(inputs)
        for manipulation in manipulations
    ]
