"""Steps of word analyzers: lower case, stop lists, stems and lemmas.

A step does not see the context of a word, so its results can be cached, and spans refer to the original text.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import field
from functools import cache, partial
from types import ModuleType
from typing import final

import Stemmer

from termwise.errors import MissingExtraError
from termwise.fast_dataclass import dataclass
from termwise.text.characters import lower_case
from termwise.text.english_plurals import english_singular
from termwise.text.folding import composed, folded, joined
from termwise.text.porter import porter_stem
from termwise.text.stop_lists import stop_list


@final
@dataclass(frozen=True)
class WordStep:
    """Pure function of a word.

    Parameters
    ----------
    name : str
        Name in an `AnalyzerSpec`. It stands for the function: steps of the same name are equal.
    function : callable
        Returns the new form of a word; None or an empty text removes the word. It is defined in a module, so that the
        step can be pickled.

    Examples
    --------
    >>> from termwise.text.spelling import german_letters
    >>> WordStep("letters:german", german_letters)("straße")
    'strasse'
    """

    name: str
    function: Callable[[str], str | None] = field(compare=False, repr=False)

    def __call__(self, word: str) -> str | None:
        """Return the form of a word, or None to remove it."""
        return self.function(word) or None


def stop_words(list_name: str) -> WordStep:
    """Return the step that removes the words of a stop list; see `stop_list`.

    Examples
    --------
    >>> step = stop_words("lucene-english")
    >>> step("the"), step("how")
    (None, 'how')
    """
    return WordStep(f"stop:{list_name}", partial(_unless_listed, list_name))


def snowball(language: str) -> WordStep:
    """Return the step that stems words as Snowball 3.1 does [1]_.

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
    >>> [snowball("swedish")(word) for word in ("paketet", "paketen")]
    ['paket', 'paket']
    >>> [snowball("english")(word) for word in ("sorted", "world's", "university")]
    ['sort', 'world', 'universiti']
    """
    return WordStep(f"stem:snowball-{language}-3.1", partial(_stem, language))


def stop_words_without_accents(list_name: str) -> WordStep:
    """Return the step that removes the words of a stop list that are written without their accents.

    Examples
    --------
    >>> step = stop_words_without_accents("lucene-german")
    >>> step("fur"), step("wahrend"), step("kinder")
    (None, None, 'kinder')
    """
    return WordStep(f"stop:{list_name}{WITHOUT_ACCENTS}", partial(_unless_listed_without_accents, list_name))


@cache
def without_accents(list_name: str) -> frozenset[str]:
    """Return the words of a stop list without their accents."""
    return frozenset(map(folded, stop_list(list_name)))


def unless_number(step: WordStep) -> WordStep:
    """Return the step for words without digits; words with digits, such as codes, do not change.

    Examples
    --------
    >>> stem = unless_number(snowball("english"))
    >>> stem("sorted"), stem("ab1200s"), snowball("english")("ab1200s")
    ('sort', 'ab1200s', 'ab1200')
    """
    return WordStep(f"{step.name}{UNLESS_NUMBER}", partial(_unless_number, step.function))


def _unless_number(function: Callable[[str], str | None], word: str) -> str | None:
    return word if _DIGIT.search(word) else function(word)


def _unless_listed_without_accents(list_name: str, word: str) -> str | None:
    return None if word in without_accents(list_name) else word


def _unless_listed(list_name: str, word: str) -> str | None:
    return None if word in stop_list(list_name) else word


WITHOUT_ACCENTS = ":folded"
"""End of the name of a step that removes stop words without accents."""

UNLESS_NUMBER = ":letters"
"""End of the name of a step for words without digits."""

DIGIT = "[0-9]"
"""Pattern of the digits of words that such a step does not change."""

_DIGIT = re.compile(DIGIT)
_local = threading.local()  # threads cannot share a PyStemmer object


def _stem(language: str, word: str) -> str:
    _check_version()
    try:
        stemmer = _local.stemmers[language]
    except (AttributeError, KeyError):
        stemmers = _local.__dict__.setdefault("stemmers", {})
        stemmer = stemmers[language] = Stemmer.Stemmer(language, 0)
    stem: str = stemmer.stemWord(word)
    return stem or word


@cache
def _check_version() -> None:
    if Stemmer.version().split(".")[:2] != ["3", "1"]:
        raise MissingExtraError(
            "the installed PyStemmer is not of Snowball 3.1",
            facts=[("version seen", Stemmer.version()), ("version expected", "3.1")],
            fixes=["pip install 'PyStemmer==3.1.*'"],
        )


def _with_straight_apostrophes(word: str) -> str:
    return word.replace("’", "'")


def _without_clitic(word: str) -> str:
    bare, apostrophe, ending = word.rpartition("'")
    return bare if bare and apostrophe and ending in ("s", "d", "ll", "m", "re", "ve") else word


POSSESSIVE_S = re.compile("(?<=.)['’][sS]$")


def _without_possessive(word: str) -> str:
    return POSSESSIVE_S.sub("", word)


SIMPLEMMA = "2.0.0"
"""Version of simplemma, whose dictionaries change with releases."""


def _simple_lemma(word: str) -> str:
    return lower_case(_lemmatizer()(word, lang="en")) or word


@cache
def _lemmatizer() -> Callable[..., str]:
    lemmatize: Callable[..., str] = checked_simplemma("the analyzer lemmas-simple").lemmatize
    return lemmatize


def has_simplemma() -> bool:
    """Return whether simplemma is installed in the version above; does not import it."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import

    try:
        return version("simplemma") == SIMPLEMMA
    except PackageNotFoundError:
        return False


def checked_simplemma(user: str) -> ModuleType:
    """Import simplemma for an analyzer; raises `MissingExtraError` unless it is installed in the version above."""
    try:
        import simplemma
    except ModuleNotFoundError as error:
        raise MissingExtraError.of("simplemma", "simplemma", user) from error
    if simplemma.__version__ != SIMPLEMMA:
        raise MissingExtraError(
            "the installed simplemma has another dictionary",
            facts=[("version seen", simplemma.__version__), ("version expected", SIMPLEMMA)],
            fixes=[f"pip install 'simplemma=={SIMPLEMMA}'"],
        )
    module: ModuleType = simplemma
    return module


LOWER_CASE = WordStep("lower-case", lower_case)
"""Lower case of each character, see `termwise.text.characters.lower_case`."""

COMPOSED, FOLDED, JOINED = (
    WordStep("composed", composed),
    WordStep("folded", folded),
    WordStep("joined", joined),
)
"""Normal forms of words, see `termwise.text.folding`."""

STRAIGHT_APOSTROPHES = WordStep("straight-apostrophes", _with_straight_apostrophes)
"""Replaces ’ (U+2019) by ', which stemmers expect."""

ENGLISH_CLITICS = WordStep("clitics:english", _without_clitic)
"""Removes the English clitics ``'s 'd 'll 'm 're 've`` from the end of a word."""

POSSESSIVE = WordStep("possessive", _without_possessive)
"""Removes *'s* at the end of a name, such as *Kellogg's*, in languages other than English, whose stemmer does it."""

ENGLISH_SINGULAR = WordStep("singular:english", english_singular)
"""Replaces irregular English plurals such as *knives* by their singulars, see `termwise.text.english_plurals`."""

PORTER = WordStep("stem:porter", porter_stem)
"""Porter's stemmer, see `termwise.text.porter`."""

SIMPLE_LEMMA = WordStep("lemma:simplemma-2.0.0-english", _simple_lemma)
"""Lower-case lemma of an English word in the dictionary of simplemma 2.0.0 (https://github.com/adbar/simplemma).

Needs the extra ``simplemma``, in this version. A word has one lemma in all contexts; other words stay.
"""
