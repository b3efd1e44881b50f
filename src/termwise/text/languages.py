"""Analyzers of languages, step by step as Lucene's analyzers of the same languages.

Each finds words as Lucene's StandardTokenizer, converts them to lower case, and removes the stop words of Lucene's
analyzer. The stemmer is that of Lucene's analyzer: a light stemmer where it has one, otherwise Snowball. Departures:

- the Snowball stemmers are those of version 3.1; Lucene's are older;
- Greek and Indonesian words are stemmed by Snowball, and by stemmers with other rules in Lucene;
- words are composed first, see `termwise.text.folding.composed`: decomposed letters and characters that are not seen,
  such as soft hyphens, make no other words;
- a word stays if a stemmer leaves nothing of it; Lucene makes it an empty token;
- Lucene stems Polish with a table. It has no analyzer for Esperanto, Sesotho and Yiddish; they have no stop words here.

``experiments/language_analyzers.py`` measures the agreement.

References
----------
.. [1] Apache Lucene 10.4, classes ``GermanAnalyzer``, ``FrenchAnalyzer`` and so on.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import ClassVar

from termwise.fast_dataclass import dataclass
from termwise.text import light_stems, spelling
from termwise.text.spelling import ELIDED, without_elision
from termwise.text.standard_words import StandardWords
from termwise.text.token_filters import LOWER_CASE, WordStep, snowball, stop_words
from termwise.text.tokenizer import WordTokenizer


@dataclass(frozen=True)
class PersianWords(WordTokenizer):
    r"""Words as in `StandardWords`; the zero-width non-joiner separates words.

    Examples
    --------
    >>> PersianWords().words("فعالیت\u200cها")
    ['فعالیت', 'ها']
    """

    name: ClassVar[str] = "standard-words-persian"

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open character ranges of all words."""
        return StandardWords().spans(text.replace("\u200c", " "))


def dutch_stem(word: str) -> str | None:
    """Return the stem of Porter's Dutch stemmer of Snowball 3.1, except for four words, as in Lucene.

    Examples
    --------
    >>> [dutch_stem(word) for word in ("bestanden", "kind", "kinderen")]
    ['bestand', 'kinder', 'kinder']
    """
    return _DUTCH_STEMS.get(word) or _DUTCH_PORTER(word)


def greek_stem(word: str) -> str | None:
    """Return the stem of Snowball 3.1 for a Greek word of four letters or more, as in Lucene; shorter words stay.

    Examples
    --------
    >>> [greek_stem(word) for word in ("αρχεια", "αρχειου", "μια")]
    ['αρχει', 'αρχει', 'μια']
    """
    return word if len(word) < 4 else _GREEK_SNOWBALL(word)


_GREEK_SNOWBALL = snowball("greek")
_DUTCH_PORTER = snowball("dutch_porter")
_DUTCH_STEMS = {"fiets": "fiets", "bromfiets": "bromfiets", "ei": "eier", "kind": "kinder"}

_DUTCH = WordStep("stem:lucene-dutch-snowball-3.1", dutch_stem)
_GREEK = WordStep("stem:lucene-greek-snowball-3.1", greek_stem)
_DIGITS = WordStep("digits:ascii", spelling.ascii_digits)
_ARABIC = WordStep("letters:arabic", spelling.arabic_letters)
_DEVANAGARI = WordStep("vowels:devanagari", spelling.devanagari_vowels)
_GERMAN = WordStep("letters:german", spelling.german_letters)
_HINDI = WordStep("letters:hindi", spelling.hindi_letters)
_PERSIAN = WordStep("letters:persian", spelling.persian_letters)
_ROMANIAN = WordStep("letters:romanian", spelling.romanian_letters)
_SERBIAN = WordStep("letters:serbian", spelling.serbian_latin)
_TAMIL = WordStep("vowels:tamil", spelling.tamil_vowels)
_GREEK_LOWER = WordStep("lower-case:greek", spelling.greek_lower_case)
_IRISH_LOWER = WordStep("lower-case:irish", spelling.irish_lower_case)
_TURKISH_LOWER = WordStep("lower-case:turkish", spelling.turkish_lower_case)
_APOSTROPHE = WordStep("apostrophe:turkish", spelling.before_apostrophe)


def _stop(language: str) -> WordStep:
    return stop_words(f"lucene-{language}")


def _elision(language: str) -> WordStep:
    return WordStep(f"elision:{language}", partial(without_elision, elided=ELIDED[language]))


def _light(language: str) -> WordStep:
    return WordStep(f"stem:light-{language}", getattr(light_stems, f"{language}_light_stem"))


def _plain(language: str) -> tuple[WordStep, ...]:
    return LOWER_CASE, _stop(language), snowball(language)


LANGUAGES: Mapping[str, tuple[WordStep, ...]] = MappingProxyType(
    {
        "arabic": (LOWER_CASE, _DIGITS, _stop("arabic"), _ARABIC, _light("arabic")),
        "armenian": _plain("armenian"),
        "basque": _plain("basque"),
        "catalan": (_elision("catalan"), *_plain("catalan")),
        "czech": (LOWER_CASE, _stop("czech"), _light("czech")),
        "danish": _plain("danish"),
        "dutch": (LOWER_CASE, _stop("dutch"), _DUTCH),
        "esperanto": (LOWER_CASE, snowball("esperanto")),
        "estonian": _plain("estonian"),
        "finnish": _plain("finnish"),
        "french": (_elision("french"), LOWER_CASE, _stop("french"), _light("french")),
        "german": (LOWER_CASE, _stop("german"), _GERMAN, _light("german")),
        "greek": (_GREEK_LOWER, _stop("greek"), _GREEK),
        "hindi": (LOWER_CASE, _DIGITS, _DEVANAGARI, _HINDI, _stop("hindi"), _light("hindi")),
        "hungarian": _plain("hungarian"),
        "indonesian": _plain("indonesian"),
        "irish": (
            *(stop_words("irish-prefixes"), _elision("irish"), _IRISH_LOWER),
            *(_stop("irish"), snowball("irish")),
        ),
        "italian": (_elision("italian"), LOWER_CASE, _stop("italian"), _light("italian")),
        "lithuanian": _plain("lithuanian"),
        "nepali": (LOWER_CASE, _DIGITS, _DEVANAGARI, _stop("nepali"), snowball("nepali")),
        "norwegian": _plain("norwegian"),
        "persian": (LOWER_CASE, _DIGITS, _ARABIC, _PERSIAN, _stop("persian"), _light("persian")),
        "polish": _plain("polish"),
        "portuguese": (LOWER_CASE, _stop("portuguese"), _light("portuguese")),
        "romanian": (LOWER_CASE, _stop("romanian"), _ROMANIAN, snowball("romanian")),
        "russian": _plain("russian"),
        "serbian": (*_plain("serbian"), _SERBIAN),
        "sesotho": (LOWER_CASE, snowball("sesotho")),
        "spanish": (LOWER_CASE, _stop("spanish"), _light("spanish")),
        "swedish": _plain("swedish"),
        "tamil": (LOWER_CASE, _DIGITS, _TAMIL, _stop("tamil"), snowball("tamil")),
        "turkish": (_APOSTROPHE, _TURKISH_LOWER, _stop("turkish"), snowball("turkish")),
        "yiddish": (LOWER_CASE, snowball("yiddish")),
    }
)
"""Steps of the analyzer of each language, for words that are composed. The words are `StandardWords`; in Persian,
`PersianWords`."""
