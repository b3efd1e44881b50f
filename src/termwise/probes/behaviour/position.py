"""Position probes: the place of the answer in a text.

The sentence with the answer moves; the other sentences keep their order. In the written passages the answer is marked,
in XQuAD it is given, and in judged texts it is the sentence with most query words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from termwise.collection import read_json_lines
from termwise.errors import MalformedRecordError
from termwise.probes.behaviour.words_and_sentences import PLACES, best_sentence, sentence_places, sentences
from termwise.probes.core.judged_texts import JudgedText, JudgedTexts
from termwise.probes.core.probe import Probe, SourcedProbe, Strategy, define_pair
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.core.sample import Sample, random_for
from termwise.probes.language.base import Language
from termwise.probes.manipulations.base import Manipulation, ManipulationContext, over_collections
from termwise.probes.manipulations.text_edits import contents, in_a_row
from termwise.probes.sources.transfer.files import find_file
from termwise.probes.sources.transfer.pair_files import strings_of
from termwise.probes.sources.written_texts import WRITTEN, Passage, neutral_sentences, written_passages

CONTRASTS = (("start", "end"), ("start", "middle"), ("middle", "end"))
"""Places of the answer in the first and in the second text."""

SHORTEST = 3
"""Minimum number of sentences of a text with a start, a middle and an end."""

PADDINGS = (3, 10, 40)
"""Numbers of neutral sentences on one side; the largest fills the window of many networks."""


def moved(passage: Passage, place: str) -> str:
    """Return the passage with its answer at one of `PLACES`.

    Examples
    --------
    >>> moved(Passage("p", "q", "?", ("One.", "Two.", "Three."), 0), "middle")
    'Two. One. Three.'
    """
    others = [sentence for number, sentence in enumerate(passage.sentences) if number != passage.answer]
    target = {"start": 0, "middle": len(others) // 2, "end": len(others)}[place]
    others.insert(target, passage.sentences[passage.answer])
    return " ".join(others)


FindPassage = Callable[[], Passage | None]
"""Function that returns a passage with its sentences, or None if no sentence contains a query word."""

Sources = Callable[[], Iterable[tuple[str, FindPassage]]]
"""Returns functions that find passages, each after the identifier of its passage."""


@dataclass(eq=False)
class PassageProbe(SourcedProbe[FindPassage]):
    """Passages in two arrangements; `arrange` returns both texts of a passage for a seed, or None if they are equal."""

    name: str
    title: str
    passages: Sources
    arrange: Callable[[Passage, int], tuple[str, str] | None]
    definition: str = ""
    strategy: Strategy = "manipulation"

    def sources(self) -> Iterable[tuple[str, FindPassage]]:
        """See `SourcedProbe`."""
        return self.passages()

    def sample(self, seed: int, source: FindPassage) -> Sample | None:
        """See `SourcedProbe`."""
        passage = source()
        texts = None if passage is None else self.arrange(passage, seed)
        if passage is None or texts is None:
            return None
        facts = {"answer": passage.sentences[passage.answer]}
        return Sample(passage.passage_id, passage.query, *texts, passage.query_id, facts)


def _position_probe(collection: str, sources: Sources, contrast: tuple[str, str]) -> PassageProbe:
    """Make the probe that moves the answer; a positive effect means that the first of two places is preferred."""

    def arrange(passage: Passage, seed: int) -> tuple[str, str] | None:
        first, second = (moved(passage, place) for place in contrast)
        return (first, second) if len(passage.sentences) >= SHORTEST and first != second else None

    first, second = (PLACES[place] for place in contrast)
    definition = define_pair(
        f"the text with its answer {first}",
        f"the text with its answer {second}, all other sentences in their order",
    )
    name = f"position-{'-'.join(contrast)}@{collection}"
    return PassageProbe(name, f"Answer {first} against {second}", sources, arrange, definition)


def _padding_probe(collection: str, sources: Sources, count: int) -> PassageProbe:
    """Make the probe with neutral sentences before and after the text; positive if they are preferred before it."""

    def arrange(passage: Passage, seed: int) -> tuple[str, str]:
        random = random_for(seed, "position-padding", passage.passage_id)
        padding = " ".join(random.sample(neutral_sentences(), count))
        text = " ".join(passage.sentences)
        return in_a_row(padding, text), in_a_row(text, padding)

    definition = define_pair(
        f"the text with {count} neutral sentences before it", "the text with the same sentences after it"
    )
    title = f"Neutral sentences before against behind, {count}"
    return PassageProbe(f"position-padding-{count}@{collection}", title, sources, arrange, definition)


def _written_sources() -> list[tuple[str, FindPassage]]:
    """Return the written passages, in which the answer is marked."""
    return [(passage.passage_id, partial(Passage, *passage)) for passage in written_passages()]


def _judged_sources(judged: JudgedTexts, inputs: ProbeInputs) -> Iterator[tuple[str, FindPassage]]:
    """Yield the relevant texts; the answer is the sentence with most query words."""

    def passage(text: JudgedText) -> Passage | None:
        parts = tuple(sentences(inputs.language, text.text))
        best = best_sentence(text.query, parts, inputs.stop_words)
        return None if best is None else Passage(text.judgment_id, text.query_id, text.query, parts, best)

    for text in judged:
        if text.grade > judged.lowest:
            yield text.judgment_id, partial(passage, text)


def xquad_sources(path: Path, language: Language) -> Iterator[tuple[str, FindPassage]]:
    """Yield the paragraphs of XQuAD with a question each; the answer is the sentence in which it begins."""

    def passage(question_id: str, query: str, context: str, start: int) -> Passage:
        places = sentence_places(language, context)
        begun = (number for number, place in enumerate(places) if place.start <= start)
        parts = tuple(contents(context, places))
        return Passage(question_id, question_id, query, parts, max(begun, default=0))

    for line, record in read_json_lines(path):
        question_id, query, context, answer = strings_of(
            record, ("id", "question", "context", "answer"), path, line
        )
        start = record.get("answer_start")
        if not isinstance(start, int) or not answer or context[start : start + len(answer)] != answer:
            expected = f"{answer!r} at 'answer_start'"
            raise MalformedRecordError.at(path, line, expected=expected, seen=f"answer_start: {start!r}")
        yield question_id, partial(passage, question_id, query, context, start)


def _prepend_neutral(text: str, context: ManipulationContext, *, count: int) -> str:
    return in_a_row(*context.random.sample(neutral_sentences(), count), text)


_MANIPULATIONS = [
    Manipulation(
        f"position-before-{count}",
        f"Neutral sentences + text, {count}",
        f"a relevant text with {count} neutral sentences before it",
        partial(_prepend_neutral, count=count),
    )
    for count in PADDINGS
]


def position_probes(inputs: ProbeInputs) -> list[Probe]:
    """Make the probes."""
    sources_of: list[tuple[str, Sources]] = [
        (WRITTEN, _written_sources),
        *((judged.name, partial(_judged_sources, judged, inputs)) for judged in inputs.judged),
    ]
    if "xquad" in inputs.folders and (path := find_file(inputs.folders["xquad"], "qa.jsonl")) is not None:
        sources_of.append(("xquad", partial(xquad_sources, path, inputs.language)))
    probes: list[Probe] = []
    for collection, sources in sources_of:
        probes += [_position_probe(collection, sources, contrast) for contrast in CONTRASTS]
        probes += [_padding_probe(collection, sources, count) for count in PADDINGS]
    return [*probes, *over_collections(_MANIPULATIONS, inputs, "relevant")]


FAMILY = Family("position", "effect of the place of the answer in a text", position_probes, ("xquad",))
