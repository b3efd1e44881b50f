"""Factuality: a passage that answers a question, and the same passage with another answer in its place.

The recipe is that of MacAvaney et al. (TACL 2022), section 2.2.3, as their code has it:

- questions with a single answer, none of whose words stands in the question;
- an answer is of a kind if a name of this kind is found in it, and its size is the number of its published terms;
- the answer is replaced, wherever it stands in the passage, by one of the same kind and size that is drawn among the
  answers of the other questions.

Here answers are replaced as whole words only; the drawn answer is inserted as it is, whatever characters it has; and
where a drawn one would change nothing, another one is drawn instead of leaving the sample out. All distinct answers are
equally likely.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from termwise.errors import DataError
from termwise.probes.core.probe import Probe, Strategy, define_pair
from termwise.probes.core.sample import Sample, random_for
from termwise.probes.language.base import Language
from termwise.probes.sources.matching.terms import PublishedTerms

KINDS = {
    "PERSON": ("person", "PER"),
    "GPE": ("gpe", "GPE"),
    "LOC": ("loc", "LOC"),
    "NORP": ("norp", "NORP"),
    "ORG": ("org", "ORG"),
}
"""The published kinds of names: what probes are called, and what tables call them."""

_DRAWS = 100


@dataclass(frozen=True)
class Question:
    """A question with its answers, and passages that answer it.

    Attributes
    ----------
    question_id, text : str
    answers : tuple of str
        What counts as right.
    passages : tuple of (str, str)
        Identifier and text of each.
    """

    question_id: str
    text: str
    answers: tuple[str, ...]
    passages: tuple[tuple[str, str], ...]


class Answers:
    """The answers of questions, by kind and size; they are read when they are first needed.

    Parameters
    ----------
    read : callable
        Returns the questions, each time it is called.
    language : Language
        Finds names.
    stop_words : frozenset of str
        They do not count in the size of an answer.
    """

    def __init__(
        self, read: Callable[[], Iterable[Question]], language: Language, stop_words: frozenset[str]
    ) -> None:
        self.read = read
        self._language = language
        self._terms = PublishedTerms(stop_words)

    def size(self, answer: str) -> int:
        """Return the number of terms."""
        return len(self._terms.tokens(answer))

    def alike(self, answer: str, label: str) -> list[str]:
        """Return all answers of a kind that have the size of this one, ordered; none if it is not of that kind."""
        if label not in self._kinds.get(answer, ()):
            return []
        return self._by_kind[label, self.size(answer)]

    @cached_property
    def _kinds(self) -> dict[str, frozenset[str]]:
        answers = {question.answers[0] for question in self.read() if len(question.answers) == 1}
        kinds = {
            answer: frozenset(entity.label for entity in self._language.parse(answer).entities)
            for answer in answers
        }
        if answers and not any(kinds.values()):
            raise DataError(
                "no answer has a name that is known to the language",
                facts=[("language", self._language.name), ("answers", len(answers))],
                fixes=["use spaCy, which finds names: pip install 'termwise[spacy]'"],
            )
        return kinds

    @cached_property
    def _by_kind(self) -> dict[tuple[str, int], list[str]]:
        found: dict[tuple[str, int], list[str]] = {}
        for answer in sorted(self._kinds):
            for label in self._kinds[answer]:
                found.setdefault((label, self.size(answer)), []).append(answer)
        return found


class SwapProbe(Probe):
    """Passages with their answer, and with another one. Positive: the true passage is preferred.

    Parameters
    ----------
    name, title : str
        See `Probe`.
    answers : Answers
        Probes of one data set share them.
    label : str
        The kind of names, such as PERSON.
    """

    strategy: Strategy = "transfer"

    def __init__(self, name: str, title: str, answers: Answers, label: str) -> None:
        self.name = name
        self.title = title
        self.definition = define_pair(
            "a passage that answers the question",
            f"the passage with another answer of its kind ({label}) and length in place of the right one",
        )
        self._answers = answers
        self._label = label

    def samples(self, seed: int) -> Iterator[Sample]:
        """See `Probe`."""
        for question in self._answers.read():
            if len(question.answers) != 1 or words_in(question.answers[0], question.text):
                continue
            answer = question.answers[0]
            alike = self._answers.alike(answer, self._label)
            for passage_id, text in question.passages if len(alike) > 1 else ():
                drawing = random_for(seed, self.name, question.question_id, passage_id)
                swapped = swapped_answer(text, answer, alike, drawing)
                if swapped is None:
                    continue
                changed, substitute = swapped
                yield Sample(
                    sample_id=f"{question.question_id}/{passage_id}",
                    query=question.text,
                    first=text,
                    second=changed,
                    query_id=question.question_id,
                    facts={
                        "passage": passage_id,
                        "answer": answer,
                        "substitute": substitute,
                        "type": self._label,
                    },
                )


def swapped_answer(
    text: str, answer: str, alike: list[str], drawing: random.Random
) -> tuple[str, str] | None:
    """Replace an answer wherever it stands in a text, as whole words, in upper or lower case.

    Parameters
    ----------
    text, answer : str
    alike : list of str
        What may take its place; what would change nothing is never drawn.
    drawing : random.Random

    Returns
    -------
    (str, str) or None
        The changed text, and what was drawn; None if the answer is not there or nothing can take its place.

    Examples
    --------
    >>> swapped_answer("Ada Byron wrote it.", "ada byron", ["Ada Byron", "Al Green"], random.Random(0))
    ('Al Green wrote it.', 'Al Green')
    """
    place = re.compile(rf"(?<!\w){' ?'.join(map(re.escape, answer.split()))}(?!\w)", re.IGNORECASE)
    if not answer.strip() or not place.search(text):
        return None
    for substitute in drawing.sample(alike, min(len(alike), _DRAWS)):
        changed = place.sub(substitute.replace("\\", r"\\"), text)
        if changed.casefold() != text.casefold():
            return changed, substitute
    return None


def words_in(answer: str, question: str) -> bool:
    """Tell whether any word of an answer stands in the question, so that it may be about choosing one of two.

    Examples
    --------
    >>> words_in("New York", "Which new bridge is longest?"), words_in("Newark", "Which new bridge is longest?")
    (True, False)
    """
    return any(
        re.search(rf"(?<!\w){re.escape(word)}(?!\w)", question, re.IGNORECASE) for word in answer.split()
    )


def knows_names(language: Language) -> bool:
    """Tell whether a language finds names in texts: that of rules does not."""
    return bool(language.parse("Napoleon was born in France.").entities)
