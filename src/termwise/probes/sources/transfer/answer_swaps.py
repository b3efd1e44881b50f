"""Factuality probes: passages with the right answer to a question, and with another answer in its place.

The method is from MacAvaney et al. (TACL 2022), section 2.2.3, and from their code:

- Only questions with a single answer are used, and only if no word of the answer occurs in the question.
- An answer has a type if a name of this type is found in it; its size is its number of published terms.
- Every occurrence of the answer in the passage is replaced by an answer of the same type and size, drawn from the
  answers of the other questions.

Departures: answers are replaced as whole words only, the new answer is inserted literally, and if a drawn answer would
change nothing, another one is drawn. All distinct answers are equally likely.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from random import Random

from termwise.errors import DataError
from termwise.fast_dataclass import dataclass
from termwise.probes.core.probe import Probe, Strategy, define_pair
from termwise.probes.core.sample import Sample, random_for
from termwise.probes.language.base import Language
from termwise.probes.sources.matching.measurements import PublishedTerms

NAME_TYPES = {"PERSON": "PER", "GPE": "GPE", "LOC": "LOC", "NORP": "NORP", "ORG": "ORG"}
"""The published types of names, and their form in titles."""

_DRAWS = 100


@dataclass(frozen=True)
class AnsweredQuestion:
    """Question with all accepted answers, and the passages that answer it: identifier and text of each."""

    question_id: str
    text: str
    answers: tuple[str, ...]
    passages: tuple[tuple[str, str], ...]


class AnswerPool:
    """Answers of all questions of a data set by type and size, read on first use.

    The language finds the names in answers. Stop words do not count in the size of an answer. `read` returns the
    questions and is called each time they are needed.
    """

    def __init__(
        self, read: Callable[[], Iterable[AnsweredQuestion]], language: Language, stop_words: frozenset[str]
    ) -> None:
        self.read = read
        self._language = language
        self._terms = PublishedTerms(stop_words)

    def substitutes(self, answer: str, label: str) -> list[str]:
        """Return the answers of a type with the size of this answer, sorted; empty if this answer has another type."""
        if label not in self._types.get(answer, ()):
            return []
        return self._by_type[label, self._size(answer)]

    def _size(self, answer: str) -> int:
        return len(self._terms.tokens(answer))

    @cached_property
    def _types(self) -> dict[str, frozenset[str]]:
        answers = {question.answers[0] for question in self.read() if len(question.answers) == 1}
        types = {
            answer: frozenset(entity.label for entity in self._language.parse(answer).entities)
            for answer in answers
        }
        if answers and not any(types.values()):
            raise DataError(
                "the language finds no name in any answer",
                facts=[("language", self._language.name), ("answers", len(answers))],
                fixes=["use spaCy, which finds names: pip install 'termwise[spacy]'"],
            )
        return types

    @cached_property
    def _by_type(self) -> dict[tuple[str, int], list[str]]:
        by_type: dict[tuple[str, int], list[str]] = {}
        for answer in sorted(self._types):
            for label in self._types[answer]:
                by_type.setdefault((label, self._size(answer)), []).append(answer)
        return by_type


class AnswerSwapProbe(Probe):
    """Passages with the right answer, and with another answer of a type such as PERSON."""

    strategy: Strategy = "transfer"

    def __init__(self, name: str, title: str, answers: AnswerPool, label: str) -> None:
        self.name = name
        self.title = title
        self.definition = define_pair(
            "a passage that answers the question",
            f"the passage with another answer of the same type ({label}) and length in place of the right one",
        )
        self._answers = answers
        self._label = label

    def samples(self, seed: int) -> Iterator[Sample]:
        """See `Probe`."""
        for question in self._answers.read():
            if len(question.answers) != 1 or shares_word(question.answers[0], question.text):
                continue
            answer = question.answers[0]
            substitutes = self._answers.substitutes(answer, self._label)
            for passage_id, text in question.passages if len(substitutes) > 1 else ():
                random = random_for(seed, self.name, question.question_id, passage_id)
                swapped = swapped_answer(text, answer, substitutes, random)
                if swapped is not None:
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


def swapped_answer(text: str, answer: str, substitutes: list[str], random: Random) -> tuple[str, str] | None:
    """Replace an answer wherever it occurs in a text as whole words, ignoring case, by a drawn substitute.

    Return the changed text and the substitute; None if the answer does not occur or no substitute changes the text.

    Examples
    --------
    >>> swapped_answer("Ada Byron wrote it.", "ada byron", ["Ada Byron", "Al Green"], Random(0))
    ('Al Green wrote it.', 'Al Green')
    """
    pattern = re.compile(rf"(?<!\w){' ?'.join(map(re.escape, answer.split()))}(?!\w)", re.IGNORECASE)
    if not answer.strip() or not pattern.search(text):
        return None
    for substitute in random.sample(substitutes, min(len(substitutes), _DRAWS)):
        changed = pattern.sub(substitute.replace("\\", r"\\"), text)
        if changed.casefold() != text.casefold():
            return changed, substitute
    return None


def shares_word(answer: str, question: str) -> bool:
    """Whether a word of the answer occurs in the question, which may then be a choice between alternatives.

    Examples
    --------
    >>> question = "Which new bridge is longest?"
    >>> shares_word("New York", question), shares_word("Newark", question)
    (True, False)
    """
    return any(
        re.search(rf"(?<!\w){re.escape(word)}(?!\w)", question, re.IGNORECASE) for word in answer.split()
    )


def finds_names(language: Language) -> bool:
    """Whether a language finds names in texts; the rule-based one does not."""
    return bool(language.parse("Napoleon was born in France.").entities)
