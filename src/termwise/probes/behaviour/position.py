"""Position: where in a text the answer stands.

The sentence that answers moves; all others keep their order, and nothing is added or lost. In our own passages it is
marked, in XQuAD it holds the answer, and in judged texts it is the one with most words of the query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from termwise.collection import read_json_lines
from termwise.errors import MalformedRecordError
from termwise.probes.behaviour.changes import Change, changed
from termwise.probes.behaviour.wording import best_sentence, sentences
from termwise.probes.behaviour.written import WRITTEN, Passage, neutral_sentences, written_passages
from termwise.probes.judged import JudgedTexts
from termwise.probes.language.contract import Language
from termwise.probes.manipulations.contract import Around
from termwise.probes.manipulations.editing import in_a_row
from termwise.probes.material import Family, Material
from termwise.probes.probe import Probe, Strategy
from termwise.probes.sample import Sample, random_for
from termwise.probes.transfer.files import found
from termwise.probes.transfer.reading import string_of

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


class PositionProbe(Probe):
    """A text with its answer in one place, and in another. Positive: the first place is preferred.

    Parameters
    ----------
    source : str
        What the name and nothing else says of the passages.
    passages : callable
        Returns them; those of less than three sentences are left out.
    contrast : (str, str)
        The two places: start, middle, end.
    """

    strategy: Strategy = "manipulation"

    def __init__(
        self, source: str, passages: Callable[[], Iterable[Passage]], contrast: tuple[str, str]
    ) -> None:
        self.name = f"position-{'-'.join(contrast)}@{source}"
        self.title = f"Answer {PLACES[contrast[0]]} against {PLACES[contrast[1]]}"
        self._passages = passages
        self._contrast = contrast

    def samples(self, seed: int) -> Iterator[Sample]:
        """See `Probe`."""
        for passage in self._passages():
            first, second = (moved(passage, place) for place in self._contrast)
            if len(passage.sentences) >= SHORTEST and first != second:
                yield Sample(
                    sample_id=passage.passage_id,
                    query=passage.query,
                    first=first,
                    second=second,
                    query_id=passage.query_id,
                    facts={"answer": passage.sentences[passage.answer]},
                )


class PaddingProbe(Probe):
    """A text with neutral sentences before it, and with the same ones behind it. Positive: before is preferred.

    Parameters
    ----------
    source, passages
        See `PositionProbe`; a single sentence is enough.
    count : int
        How many neutral sentences.
    """

    strategy: Strategy = "manipulation"

    def __init__(self, source: str, passages: Callable[[], Iterable[Passage]], count: int) -> None:
        self.name = f"position-padding-{count}@{source}"
        self.title = f"Neutral sentences before against behind, {count}"
        self._passages = passages
        self._count = count

    def samples(self, seed: int) -> Iterator[Sample]:
        """See `Probe`."""
        for passage in self._passages():
            drawing = random_for(seed, "position-padding", passage.passage_id)
            padding = " ".join(drawing.sample(neutral_sentences(), self._count))
            text = " ".join(passage.sentences)
            yield Sample(
                sample_id=passage.passage_id,
                query=passage.query,
                first=in_a_row(padding, text),
                second=in_a_row(text, padding),
                query_id=passage.query_id,
            )


def judged_passages(judged: JudgedTexts, language: Language, stop_words: frozenset[str]) -> Iterator[Passage]:
    """Yield the relevant texts; the answer is the sentence with most words of the query."""
    for one in judged:
        if one.grade > judged.lowest:
            parts = tuple(sentences(language, one.text))
            best = best_sentence(one.query, parts, stop_words)
            if best is not None:
                yield Passage(f"{one.query_id}/{one.doc_id}", one.query_id, one.query, parts, best)


def xquad_passages(path: Path, language: Language) -> Iterator[Passage]:
    """Yield the paragraphs of XQuAD with a question each; the answer is the sentence that it begins in.

    Raises
    ------
    MalformedRecordError
        If a line lacks something, or the answer does not stand where the line says.
    """
    for number, record in read_json_lines(path):
        question_id, query, context, answer = (
            string_of(record, (name,), path, number) for name in ("id", "question", "context", "answer")
        )
        start = record.get("answer_start")
        if not isinstance(start, int) or not answer or context[start : start + len(answer)] != answer:
            raise MalformedRecordError.at(
                path, number, expected=f"{answer!r} at 'answer_start'", seen=f"answer_start: {start!r}"
            )
        parsed = language.parse(context)
        spans = [span for span in parsed.sentences if span.last > span.first]
        place = max(
            (which for which, span in enumerate(spans) if parsed.tokens[span.first].start <= start), default=0
        )
        yield Passage(question_id, question_id, query, tuple(map(parsed.of, spans)), place)


def _padded(text: str, around: Around, *, count: int) -> str:
    return in_a_row(*around.random.sample(neutral_sentences(), count), text)


def _of(source: str, passages: Callable[[], Iterable[Passage]]) -> list[Probe]:
    return [
        *(PositionProbe(source, passages, contrast) for contrast in CONTRASTS),
        *(PaddingProbe(source, passages, count) for count in PADDINGS),
    ]


def position_probes(material: Material) -> list[Probe]:
    """Make the probes."""
    made = _of(WRITTEN, written_passages)
    for judged in material.judged:
        made += _of(judged.name, partial(judged_passages, judged, material.language, material.stop_words))
    path = found(material.folders["xquad"], "qa.jsonl") if "xquad" in material.folders else None
    if path is not None:
        made += _of("xquad", partial(xquad_passages, path, material.language))
    before = [
        Change(
            f"position-before-{count}", f"Neutral sentences + text, {count}", partial(_padded, count=count)
        )
        for count in PADDINGS
    ]
    return [*made, *changed(before, material, "relevant")]


FAMILY = Family("position", "does it matter where in a text the answer stands?", position_probes, ("xquad",))
