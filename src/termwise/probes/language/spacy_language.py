"""Parser by spaCy's small English pipeline."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import version
from threading import Lock
from typing import Any

from termwise.fast_dataclass import dataclass
from termwise.probes.language.base import Entity, Parsed, Span, Token
from termwise.text.characters import without_surrogates
from termwise.text.lemmas import load_pipeline, windows

_LOCK = Lock()  # spaCy does not guarantee that threads can share a pipeline


@dataclass(frozen=True)
class SpacyLanguage:
    """Parser of English by spaCy [1]_ with the pipeline ``en_core_web_sm``.

    Texts are parsed one at a time, so that results do not depend on other texts. A text is split into windows of 20,000
    characters at white space, or after 500 characters without white space. A split ends a sentence.

    Raises
    ------
    MissingExtraError
        If spaCy or the pipeline is not installed.

    References
    ----------
    .. [1] https://spacy.io

    Examples
    --------
    >>> parsed = SpacyLanguage().parse("The old dogs slept. Mr. Hale went to Paris.")
    >>> [parsed.of(sentence) for sentence in parsed.sentences]
    ['The old dogs slept.', 'Mr. Hale went to Paris.']
    >>> [parsed.of(chunk) for chunk in parsed.chunks]
    ['The old dogs', 'Mr. Hale', 'Paris']
    >>> [(token.lemma, token.tag) for token in parsed.tokens[2:5]]
    [('dog', 'NOUN'), ('sleep', 'VERB'), ('.', 'PUNCT')]
    """

    def __post_init__(self) -> None:
        _pipeline()

    @property
    def name(self) -> str:
        """Name with the versions of spaCy and of the pipeline."""
        return f"spacy {version('spacy')}, en_core_web_sm {_pipeline().meta['version']}"

    def parse(self, text: str) -> Parsed:
        """See `Language`."""
        readable = without_surrogates(text).replace("’", "'")
        tokens: list[Token] = []
        sentences: list[Span] = []
        chunks: list[Span] = []
        entities: list[Entity] = []
        for begin, end in windows(readable):
            # The zone frees the memory that spaCy would keep for each text.
            with _LOCK, _pipeline().memory_zone():
                document = _pipeline()(readable[begin:end])
                number = _numbers(document, len(tokens))
                sentences += [Span(first, last) for first, last, _ in _ranges(document.sents, number)]
                chunks += [Span(first, last) for first, last, _ in _ranges(document.noun_chunks, number)]
                entities += [Entity(*found) for found in _ranges(document.ents, number)]
                tokens += [_token(text, begin, word) for word in document if not word.is_space]
        return Parsed(text, tuple(tokens), tuple(sentences), tuple(chunks), tuple(entities))


@cache
def _pipeline() -> Any:
    return load_pipeline("reading texts with spaCy")


def _numbers(document: Any, first: int) -> list[int]:
    """Return `first` plus the number of previous words other than white space, for each word of spaCy and the end."""
    numbers = [first]
    for word in document:
        numbers.append(numbers[-1] + (not word.is_space))
    return numbers


def _ranges(spans: Iterable[Any], number: list[int]) -> Iterator[tuple[int, int, str]]:
    for span in spans:
        first, last = number[span.start], number[span.end]
        if first < last:
            yield first, last, sys.intern(span.label_)


def _token(text: str, begin: int, word: Any) -> Token:
    start = begin + word.idx
    end = start + len(word.text)
    form = sys.intern(text[start:end])
    return Token(form, start, end, sys.intern(word.lemma_) or form, sys.intern(word.pos_))
