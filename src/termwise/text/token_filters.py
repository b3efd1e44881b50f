"""What is done to each word after it was found: lower-casing, stop lists, stems and lemmas.

A step is a pure function of one word. It returns the word's new form, or None where the word is left out, and
never looks at the words around it: so forms can be remembered, and spans stay those of the original text.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Protocol

import Stemmer

from termwise.errors import MissingExtraError, UnknownNameError
from termwise.text.characters import lower_case
from termwise.text.porter import porter_stem
from termwise.text.stop_lists import stop_list


class WordStep(Protocol):
    """One pure function of a word."""

    @property
    def name(self) -> str:
        """How the step is called in an `AnalyzerSpec`; the name says everything the step depends on."""
        ...

    def __call__(self, word: str) -> str | None:
        """Return the form `word` takes, never empty, or None to leave it out."""
        ...


@dataclass(frozen=True)
class LowerCase:
    """Lower-case each character by itself, as `lower_case` does.

    Examples
    --------
    >>> LowerCase()("Straße")
    'straße'
    """

    name: ClassVar[str] = "lower-case"

    def __call__(self, word: str) -> str:
        """Return the lower-cased word."""
        return lower_case(word)


@dataclass(frozen=True)
class StraightApostrophes:
    """Write ’ (U+2019) as ', which is what stemmers know.

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
    """Leave out the words of a stop list.

    Parameters
    ----------
    list_name : {"lucene-english", "nltk-english"}
        Which list, see `stop_list`.

    Examples
    --------
    >>> stop = StopWords("lucene-english")
    >>> stop("the"), stop("how")
    (None, 'how')
    """

    list_name: str

    @property
    def name(self) -> str:
        """The kind of step and the list."""
        return f"stop:{self.list_name}"

    def __call__(self, word: str) -> str | None:
        """Return the word, or None if the list has it."""
        return None if word in stop_list(self.list_name) else word


@dataclass(frozen=True)
class SnowballEnglish:
    """The English stemmer of Snowball 3.1 ("Porter 2") [1]_.

    Raises
    ------
    MissingExtraError
        When a word is stemmed and the installed PyStemmer stems otherwise than Snowball 3.1: earlier releases
        turn ``university`` into ``univers``, and an index would silently not match its queries.

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
        return _stem(word)


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
    """Cut off what English writes on to a word after an apostrophe: ``'s 'd 'll 'm 're 've``.

    Examples
    --------
    >>> [EnglishClitics()(word) for word in ("world's", "we'll", "o'clock", "'s")]
    ['world', 'we', "o'clock", "'s"]
    """

    name: ClassVar[str] = "clitics:english"

    def __call__(self, word: str) -> str:
        """Return the word without it."""
        bare, apostrophe, ending = word.rpartition("'")
        return bare if bare and apostrophe and ending in ("s", "d", "ll", "m", "re", "ve") else word


@dataclass(frozen=True)
class SimpleLemma:
    """The lemma of an English word in the dictionary of simplemma 2.0.0 [1]_, lower-cased.

    Needs the extra ``simplemma``. A word has one lemma, whatever it means where it stands.

    Raises
    ------
    MissingExtraError
        When a word is looked up and simplemma is not installed, or another release is: its dictionary differs.

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
        """Return the lemma; the word where the dictionary has none."""
        return lower_case(_lemmatizer()(word, lang="en")) or word


def step_named(name: str) -> WordStep:
    """Return the step an `AnalyzerSpec` calls `name`.

    Raises
    ------
    UnknownNameError
        If there is no such step.
    """
    steps = {step.name: step for step in _known_steps()}
    if name not in steps:
        raise UnknownNameError.of("analyzer step", name, steps)
    return steps[name]


def _known_steps() -> tuple[WordStep, ...]:
    return (
        LowerCase(),
        StraightApostrophes(),
        StopWords("lucene-english"),
        StopWords("nltk-english"),
        SnowballEnglish(),
        Porter(),
        EnglishClitics(),
        SimpleLemma(),
    )


_local = threading.local()  # a PyStemmer object must not be used by two threads at once


def _stem(word: str) -> str:
    try:
        stemmer = _local.stemmer
    except AttributeError:
        stemmer = _local.stemmer = Stemmer.Stemmer("english", 0)
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
"""Words that releases of Snowball stem differently, and what 3.1 makes of them."""


@cache
def _check_snowball() -> None:
    seen = {word: _stem(word) for word in _SNOWBALL_3_1}
    wrong = [word for word in seen if seen[word] != _SNOWBALL_3_1[word]]
    if wrong:
        word = wrong[0]
        raise MissingExtraError(
            "the installed PyStemmer does not stem English as Snowball 3.1 does",
            facts=[("word", word), ("stem seen", seen[word]), ("stem expected", _SNOWBALL_3_1[word])],
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
