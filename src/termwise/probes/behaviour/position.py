"""Position: where in a text the answer stands.

The sentence that answers moves; all others keep their order, and nothing is added or lost. In our own passages it is
marked, in XQuAD it holds the answer, and in judged texts it is the one with most words of the query.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from termwise.collection import read_json_lines
from termwise.errors import MalformedRecordError
from termwise.probes.behaviour.changes import Change, changed
from termwise.probes.behaviour.wording import best_sentence, sentences
from termwise.probes.core.judged_texts import JudgedText, JudgedTexts
from termwise.probes.core.probe import Probe, SourcedProbe, Strategy, define_pair
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.core.sample import Sample, random_for
from termwise.probes.language.base import Language
from termwise.probes.manipulations.base import Around
from termwise.probes.manipulations.text_edits import in_a_row
from termwise.probes.sources.transfer.files import found
from termwise.probes.sources.transfer.pair_files import string_of
from termwise.probes.sources.written_texts import WRITTEN, Passage, neutral_sentences, written_passages

CONTRASTS = (("start", "end"), ("start", "middle"), ("middle", "end"))
"""Where the answer stands in the first text, and in the second."""

PLACES = {"start": "at the start", "middle": "in the middle", "end": "at the end"}

SHORTEST = 3
"""Sentences that a text needs to have a start, a middle and an end."""

PADDINGS = (3, 10, 40)
"""Neutral sentences on one side; the most of them fill the window of many a network."""


def moved(passage: Passage, place: str) -> str:
    """Return the passage with its answer at the start, in the middle or at the end.

    Examples
    --------
    >>> moved(Passage("p", "q", "?", ("One.", "Two.", "Three."), 0), "middle")
    'Two. One. Three.'
    """
    others = [sentence for number, sentence in enumerate(passage.sentences) if number != passage.answer]
    target = {"start": 0, "middle": len(others) // 2, "end": len(others)}[place]
    others.insert(target, passage.sentences[passage.answer])
    return " ".join(others)


@dataclass(frozen=True, eq=False)
class Source:
    """Where a passage comes from; its sentences are looked for when they are wanted.

    Attributes
    ----------
    passage_id : str
    passage : callable
        Returns the passage, None where there is none.
    """

    passage_id: str
    passage: Callable[[], Passage | None]


class PassageProbe(SourcedProbe[Source]):
    """A passage, laid out in two ways.

    Parameters
    ----------
    name, title, definition : str
        See `Probe`.
    sources : callable
        Returns where the passages come from.
    """

    strategy: Strategy = "manipulation"

    def __init__(
        self, name: str, title: str, definition: str, sources: Callable[[], Iterable[Source]]
    ) -> None:
        self.name = name
        self.title = title
        self.definition = definition
        self._sources = sources

    @abstractmethod
    def texts(self, passage: Passage, seed: int) -> tuple[str, str] | None:
        """Return both texts; None where the passage has not two."""

    def sources(self) -> Iterable[Source]:
        """See `SourcedProbe`."""
        return self._sources()

    def source_id(self, source: Source) -> str:
        """See `SourcedProbe`."""
        return source.passage_id

    def sample(self, seed: int, source: Source) -> Sample | None:
        """See `SourcedProbe`."""
        passage = source.passage()
        texts = None if passage is None else self.texts(passage, seed)
        if passage is None or texts is None:
            return None
        return Sample(
            sample_id=passage.passage_id,
            query=passage.query,
            first=texts[0],
            second=texts[1],
            query_id=passage.query_id,
            facts={"answer": passage.sentences[passage.answer]},
        )


class PositionProbe(PassageProbe):
    """A text with its answer in one place, and in another. Positive: the first place is preferred.

    Parameters
    ----------
    source : str
        What the name and nothing else says of the passages.
    sources : callable
        See `PassageProbe`; passages of less than three sentences are left out.
    contrast : (str, str)
        The two places: start, middle, end.
    """

    def __init__(
        self, source: str, sources: Callable[[], Iterable[Source]], contrast: tuple[str, str]
    ) -> None:
        super().__init__(
            f"position-{'-'.join(contrast)}@{source}",
            f"Answer {PLACES[contrast[0]]} against {PLACES[contrast[1]]}",
            define_pair(
                f"the text with its answer {PLACES[contrast[0]]}",
                f"the text with its answer {PLACES[contrast[1]]}, all other sentences in their order",
            ),
            sources,
        )
        self._contrast = contrast

    def texts(self, passage: Passage, seed: int) -> tuple[str, str] | None:
        """See `PassageProbe`."""
        first, second = (moved(passage, place) for place in self._contrast)
        return (first, second) if len(passage.sentences) >= SHORTEST and first != second else None


class PaddingProbe(PassageProbe):
    """A text with neutral sentences before it, and with the same ones behind it. Positive: before is preferred.

    Parameters
    ----------
    source, sources
        See `PositionProbe`; a single sentence is enough.
    count : int
        How many neutral sentences.
    """

    def __init__(self, source: str, sources: Callable[[], Iterable[Source]], count: int) -> None:
        super().__init__(
            f"position-padding-{count}@{source}",
            f"Neutral sentences before against behind, {count}",
            define_pair(
                f"the text with {count} neutral sentences before it", "the text with the same ones behind it"
            ),
            sources,
        )
        self._count = count

    def texts(self, passage: Passage, seed: int) -> tuple[str, str]:
        """See `PassageProbe`."""
        drawing = random_for(seed, "position-padding", passage.passage_id)
        padding = " ".join(drawing.sample(neutral_sentences(), self._count))
        text = " ".join(passage.sentences)
        return in_a_row(padding, text), in_a_row(text, padding)


def written_sources() -> Iterator[Source]:
    """Yield our own passages, in which the answer is marked."""
    for passage in written_passages():
        yield Source(passage.passage_id, partial(_itself, passage))


def judged_sources(judged: JudgedTexts, language: Language, stop_words: frozenset[str]) -> Iterator[Source]:
    """Yield the relevant texts; the answer is the sentence with most words of the query."""

    def passage(one: JudgedText) -> Passage | None:
        parts = tuple(sentences(language, one.text))
        best = best_sentence(one.query, parts, stop_words)
        return None if best is None else Passage(one.judgment_id, one.query_id, one.query, parts, best)

    for one in judged:
        if one.grade > judged.lowest:
            yield Source(one.judgment_id, partial(passage, one))


def xquad_sources(path: Path, language: Language) -> Iterator[Source]:
    """Yield the paragraphs of XQuAD with a question each; the answer is the sentence that it begins in.

    Raises
    ------
    MalformedRecordError
        If a line lacks something, or the answer does not stand where the line says.
    """

    def passage(question_id: str, query: str, context: str, start: int) -> Passage:
        parsed = language.parse(context)
        spans = [span for span in parsed.sentences if span.last > span.first]
        place = max(
            (which for which, span in enumerate(spans) if parsed.tokens[span.first].start <= start), default=0
        )
        return Passage(question_id, question_id, query, tuple(map(parsed.of, spans)), place)

    for number, record in read_json_lines(path):
        question_id, query, context, answer = (
            string_of(record, (name,), path, number) for name in ("id", "question", "context", "answer")
        )
        start = record.get("answer_start")
        if not isinstance(start, int) or not answer or context[start : start + len(answer)] != answer:
            raise MalformedRecordError.at(
                path, number, expected=f"{answer!r} at 'answer_start'", seen=f"answer_start: {start!r}"
            )
        yield Source(question_id, partial(passage, question_id, query, context, start))


def _itself(passage: Passage) -> Passage:
    return passage


def _padded(text: str, around: Around, *, count: int) -> str:
    return in_a_row(*around.random.sample(neutral_sentences(), count), text)


def _of(source: str, sources: Callable[[], Iterable[Source]]) -> list[Probe]:
    return [
        *(PositionProbe(source, sources, contrast) for contrast in CONTRASTS),
        *(PaddingProbe(source, sources, count) for count in PADDINGS),
    ]


def position_probes(material: ProbeInputs) -> list[Probe]:
    """Make the probes."""
    made = _of(WRITTEN, written_sources)
    for judged in material.judged:
        made += _of(judged.name, partial(judged_sources, judged, material.language, material.stop_words))
    path = found(material.folders["xquad"], "qa.jsonl") if "xquad" in material.folders else None
    if path is not None:
        made += _of("xquad", partial(xquad_sources, path, material.language))
    before = [
        Change(
            f"position-before-{count}",
            f"Neutral sentences + text, {count}",
            f"a relevant text with {count} neutral sentences before it",
            partial(_padded, count=count),
        )
        for count in PADDINGS
    ]
    return [*made, *changed(before, material, "relevant")]


FAMILY = Family("position", "does it matter where in a text the answer stands?", position_probes, ("xquad",))
