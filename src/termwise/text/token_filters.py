"""Steps of word analyzers: lower case, stop lists, stems and lemmas.

A step is a pure function of one word, without its context. It returns the new form of the word, or None to remove it.
Results can therefore be cached, and spans refer to the original text.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar, Protocol

import Stemmer

from termwise.errors import MissingExtraError
from termwise.text.characters import lower_case
from termwise.text.porter import porter_stem
from termwise.text.stop_lists import stop_list


class WordStep(Protocol):
    """Pure function of a word."""

    @property
    def name(self) -> str:
        """Name in an `AnalyzerSpec`, which determines the function."""

    def __call__(self, word: str) -> str | None:
        """Return the form of a word, which is not empty, or None to remove it."""


@dataclass(frozen=True)
class LowerCase:
    """Lower case of each character, see `lower_case`.

    Examples
    --------
    >>> LowerCase()("Straße")
    'straße'
    """

    name: ClassVar[str] = "lower-case"

    def __call__(self, word: str) -> str:
        """Return the word in lower case."""
        return lower_case(word)


@dataclass(frozen=True)
class StraightApostrophes:
    """Replaces ’ (U+2019) by ', which stemmers expect.

    Examples
    --------
    >>> StraightApostrophes()("world’s")
    "world's"
    """

    name: ClassVar[str] = "straight-apostrophes"

    def __call__(self, word: str) -> str:
        """Return the word with straight apostrophes."""
        return word.replace("’", "'")


@dataclass(frozen=True)
class StopWords:
    """Removes the words of a stop list.

    Parameters
    ----------
    list_name : str
        See `stop_list`.

    Examples
    --------
    >>> stop = StopWords("lucene-english")
    >>> stop("the"), stop("how")
    (None, 'how')
    """

    list_name: str

    @property
    def name(self) -> str:
        """``stop:`` and the list."""
        return f"stop:{self.list_name}"

    def __call__(self, word: str) -> str | None:
        """Return None for a word of the list."""
        return None if word in stop_list(self.list_name) else word


@dataclass(frozen=True)
class SnowballEnglish:
    """The English stemmer of Snowball 3.1 ("Porter 2") [1]_.

    Raises
    ------
    MissingExtraError
        In a call, if the stems of the installed PyStemmer differ from those of Snowball 3.1. Earlier releases stem
        ``university`` to ``univers``, so a query would not match an index.

    References
    ----------
    .. [1] https://snowballstem.org/algorithms/english/stemmer.html

    Examples
    --------
    >>> [SnowballEnglish()(word) for word in ("sorted", "world's", "university")]
    ['sort', 'world', 'universiti']
    """

    name: ClassVar[str] = "stem:snowball-english-3.1"

    def __call__(self, word: str) -> str:
        """Return the stem."""
        _check_snowball()
        return _stem("english", word)


@dataclass(frozen=True)
class Snowball:
    """Stemmer of Snowball 3.1 for a language [1]_.

    Parameters
    ----------
    language : str
        One of ``Stemmer.algorithms()``, such as ``swedish``.

    Raises
    ------
    MissingExtraError
        In a call, if the installed PyStemmer is not of Snowball 3.1. Other releases have other stems, so a query would
        not match an index.

    References
    ----------
    .. [1] https://snowballstem.org/algorithms/

    Examples
    --------
    >>> [Snowball("swedish")(word) for word in ("paketet", "paketen")]
    ['paket', 'paket']
    """

    language: str

    @property
    def name(self) -> str:
        """``stem:snowball-``, the language, and ``-3.1``."""
        return f"stem:snowball-{self.language}-3.1"

    def __call__(self, word: str) -> str:
        """Return the stem."""
        _check_version()
        return _stem(self.language, word)


@dataclass(frozen=True)
class Respelling:
    """Step of a function that changes a word: a normal form of its spelling, or a light stem.

    Parameters
    ----------
    name : str
        Name in an `AnalyzerSpec`. It stands for the function: steps of the same name are equal.
    function : callable
        Pure function of a word, defined in a module, so that the step can be pickled.

    Examples
    --------
    >>> from termwise.text.spelling import german_letters
    >>> Respelling("letters:german", german_letters)("straße")
    'strasse'
    """

    name: str
    function: Callable[[str], str] = field(compare=False)

    def __call__(self, word: str) -> str | None:
        """Return the new form, or None if nothing is left."""
        return self.function(word) or None


@dataclass(frozen=True)
class Porter:
    """Porter's stemmer, see `porter_stem`.

    Examples
    --------
    >>> [Porter()(word) for word in ("sorted", "universities", "ontology")]
    ['sort', 'univers', 'ontolog']
    """

    name: ClassVar[str] = "stem:porter"

    def __call__(self, word: str) -> str:
        """Return the stem."""
        return porter_stem(word)


@dataclass(frozen=True)
class EnglishClitics:
    """Removes the English clitics ``'s 'd 'll 'm 're 've`` from the end of a word.

    Examples
    --------
    >>> [EnglishClitics()(word) for word in ("world's", "we'll", "o'clock", "'s")]
    ['world', 'we', "o'clock", "'s"]
    """

    name: ClassVar[str] = "clitics:english"

    def __call__(self, word: str) -> str:
        """Return the word without a clitic."""
        bare, apostrophe, ending = word.rpartition("'")
        return bare if bare and apostrophe and ending in ("s", "d", "ll", "m", "re", "ve") else word


@dataclass(frozen=True)
class SimpleLemma:
    """Lower-case lemma of an English word in the dictionary of simplemma 2.0.0 [1]_.

    Needs the extra ``simplemma``. A word has one lemma in all contexts.

    Raises
    ------
    MissingExtraError
        In a call, if simplemma is not installed, or the installed release has another dictionary.

    References
    ----------
    .. [1] A. Barbaresi, *simplemma*, https://github.com/adbar/simplemma

    Examples
    --------
    >>> [SimpleLemma()(word) for word in ("mice", "studied", "leaves", "left")]
    ['mouse', 'study', 'leave', 'left']
    """

    name: ClassVar[str] = "lemma:simplemma-2.0.0-english"

    def __call__(self, word: str) -> str:
        """Return the lemma, or the word if the dictionary does not have it."""
        return lower_case(_lemmatizer()(word, lang="en")) or word


_local = threading.local()  # threads cannot share a PyStemmer object


def _stem(language: str, word: str) -> str:
    try:
        stemmer = _local.stemmers[language]
    except (AttributeError, KeyError):
        stemmers = _local.__dict__.setdefault("stemmers", {})
        stemmer = stemmers[language] = Stemmer.Stemmer(language, 0)
    stem: str = stemmer.stemWord(word)
    return stem or word


_SNOWBALL_3_1 = {
    "biologists": "biolog",
    "emergency": "emergenc",
    "evening": "evening",
    "interval": "interval",
    "lateral": "lateral",
    "organic": "organic",
    "pasted": "paste",
    "running": "run",
    "skis": "ski",
    "university": "universiti",
}
"""Stems in Snowball 3.1 that differ from those of other releases."""


@cache
def _check_snowball() -> None:
    seen = {word: _stem("english", word) for word in _SNOWBALL_3_1}
    wrong = [word for word in seen if seen[word] != _SNOWBALL_3_1[word]]
    if wrong:
        word = wrong[0]
        raise MissingExtraError(
            "the installed PyStemmer does not stem English as Snowball 3.1 does",
            facts=[("word", word), ("stem seen", seen[word]), ("stem expected", _SNOWBALL_3_1[word])],
            fixes=["pip install 'PyStemmer==3.1.*'"],
        )


@cache
def _check_version() -> None:
    if Stemmer.version().split(".")[:2] != ["3", "1"]:
        raise MissingExtraError(
            "the installed PyStemmer is not of Snowball 3.1",
            facts=[("version seen", Stemmer.version()), ("version expected", "3.1")],
            fixes=["pip install 'PyStemmer==3.1.*'"],
        )


_SIMPLEMMA = "2.0.0"


@cache
def _lemmatizer() -> Callable[..., str]:
    try:
        import simplemma
    except ModuleNotFoundError as error:
        raise MissingExtraError.of("simplemma", "simplemma", "the analyzer lemmas-simple") from error
    if simplemma.__version__ != _SIMPLEMMA:
        raise MissingExtraError(
            "the installed simplemma has another dictionary",
            facts=[("version seen", simplemma.__version__), ("version expected", _SIMPLEMMA)],
            fixes=[f"pip install 'simplemma=={_SIMPLEMMA}'"],
        )
    lemmatize: Callable[..., str] = simplemma.lemmatize
    return lemmatize
