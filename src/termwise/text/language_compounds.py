"""Compounds of German, Dutch, Swedish, Norwegian and Danish, such as *Winterjacke*, as a whole and in their parts.

The dictionaries of simplemma 2.0.0 [1]_, which have inflected forms and their lemmas, decide which parts are words:

- A word of `SHORTEST_COMPOUND` to `LONGEST_COMPOUND` letters is split into two parts, or three if there is no split
  into two. A split without linking letters is preferred, then one with a long first part. Parts are split again.
- A part has `SHORTEST_PART` letters or more, or is a listed word of three. Stop words and listed affixes are no parts:
  without *was*, which is a stop word, every *machine* would be a *wasmachine*.
- In German, the last part is a noun. The parts before it are nouns, nouns without *-e* (*Baumwoll-*), adjectives, or
  stems of verbs (*Wasch-*).
- If the dictionary has the word itself, its lemma begins with the first parts and the first three letters of the last
  part, or with the first parts and the lemma of the last part. So Swedish *arbetarna*, from *arbetare*, is not *arbet*
  and *arna*.

References
----------
.. [1] A. Barbaresi, *Simplemma*. https://github.com/adbar/simplemma, MIT licence; its data are from the sources that
   its page names, mainly the lemmatization lists of M. Měchura (Open Database License) and Wiktionary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import ClassVar

from termwise.fast_dataclass import dataclass
from termwise.text.characters import INVISIBLE, lower_case
from termwise.text.folding import composed
from termwise.text.stop_lists import stop_list
from termwise.text.token_filters import SIMPLEMMA, checked_simplemma
from termwise.text.tokenizer import WordTokenizer
from termwise.text.word_cache import WordCache
from termwise.text.words_with_parts import RULES, WordsWithParts

SHORTEST_COMPOUND, LONGEST_COMPOUND = 7, 40
"""Lengths of words that are split."""

SHORTEST_PART = 4
"""Shortest part, beside listed words of three letters."""

_UMLAUTS = {"ae": "ä", "oe": "ö", "ue": "ü"}
_TWO_LETTERS = re.compile("[ao]e|(?<![aeioquyäöü])ue")

_LETTER = re.compile(f"[^{INVISIBLE}\u0300-\u036f][\u0300-\u036f]*")
"""A letter with its accents, decomposed or not."""

Ranges = tuple[tuple[int, int], ...]
"""Half-open ranges of the parts of a word, without the letters that link them."""


@dataclass(frozen=True)
class _Language:
    """Rules of a language.

    Attributes
    ----------
    code : str
        Name of the dictionary of simplemma.
    links : tuple of str
        Letters that link two parts, if the part before them has no such form in the dictionary.
    short : frozenset of str
        Parts of three letters.
    affixes : frozenset of str
        Words that are prefixes or endings more often than parts.
    simple : frozenset of str
        Lemmas that are no compounds.
    """

    code: str
    links: tuple[str, ...]
    short: frozenset[str]
    affixes: frozenset[str]
    simple: frozenset[str]


def _language(code: str, links: str, *, short: str, affixes: str, simple: str) -> _Language:
    sets = (frozenset(words.split()) for words in (short, affixes, simple))
    return _Language(code, tuple(links.split()), *sets)


_SCANDINAVIAN = (
    "else elsen elser ende ande inger ingen inga ingens ning ling ringer ringen ringerne ismen ismens heten lige "
    "lighed aren arna erne från till över under innan uten utan uden"
)

_LANGUAGES: Mapping[str, _Language] = MappingProxyType(
    {
        "german": _language(
            "de",
            "s",
            short="abo amt arm bad bau box bus eis fuß gas hof hut ohr ort rad rot see set tag tee tor tür uhr zug",
            affixes="schaft schaften heit heiten keit keiten lich haft tion tionen ungen chen lein ismus ismen isten "
            "fach mals weise ieren iert isch este iren ende enden ment mente rinnen",
            simple="schokolade temperatur material",
        ),
        "dutch": _language(
            "nl",
            "s e",
            short="arm bad bak bal bed bos bus dag gas hut ijs jas kip kop mat mes oog oor pan pet pot rok rug sap "
            "set tas vis weg zak zet zon",
            affixes="schap schappen heid heden lijk lijke baar bare zaam loos loze achtig ting ties eren chap lende "
            "ende enden",
            simple="chocolade temperatuur",
        ),
        "swedish": _language(
            "sv",
            "s",
            short="arm bad ben bil bok bro bär båt dag duk fot gas hav hus hår jul kam lek lås mat mur mus nät ord ost "
            "ram ris rum rör röd sal sax set sko snö sol sov såg tak tid tur tåg ugn ull vin väg öga öra",
            affixes=f"skap skapet hets {_SCANDINAVIAN}",
            simple="temperatur",
        ),
        "norwegian": _language(
            "nb",
            "s e",
            short="arm bad ben bil bok bro bær båt dag duk dør fly fot grå gul hav hus hår jul kam lek lys lås mat mur "
            "mus ord ost ris rom rød rør sag sal set ski sko snø sol tak tid tog tur ull vei vin øre øye",
            affixes=f"skap skapet {_SCANDINAVIAN}",
            simple="temperatur",
        ),
        "danish": _language(
            "da",
            "s e",
            short="arm bad ben bil bog bro bær båd dag dug dør fly fod grå gul hat hav hus hår jul kam leg lys lås mad "
            "mur mus ord ost ris rum rød rør sal sav set ski sko sne sol syg tag tid tog tur uld vej vin vår øje øre",
            affixes=f"skab skabet heder hedens {_SCANDINAVIAN}",
            simple="temperatur",
        ),
    }
)


@dataclass(frozen=True)
class _LanguageCompounds(WordTokenizer):
    """Words as in `WordsWithParts`, and the parts of compounds of a language."""

    language: ClassVar[str]
    nested: ClassVar[bool] = True

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open character ranges of all words and parts, in the order of their starts."""
        parts_of = _parts_of(self.language)
        words = WordsWithParts().spans(text)
        found = []
        for (start, end), (after, _) in zip(words, [*words[1:], (len(text), 0)], strict=False):
            found.append((start, end))
            if after >= end >= start + SHORTEST_COMPOUND:  # otherwise short, or its parts follow
                found += [(start + first, start + last) for first, last in parts_of[text[start:end]]]
        return found


@cache
def _parts_of(language: str) -> WordCache[Ranges]:
    """Return the cache of the parts of words of a language."""
    return WordCache(partial(_parts, language))


def _parts(language: str, word: str) -> Ranges:
    """Return the ranges of the parts of a word, each followed by those of its own parts; empty if it is no compound."""
    plain, letters = composed(word), [letter.span() for letter in _LETTER.finditer(word)]
    lower = lower_case(plain)
    if not (len(lower) == len(letters) <= LONGEST_COMPOUND and plain.isalpha()):
        return ()
    parts = _split(_Dictionary(language), lower, 0)
    return tuple((letters[first][0], letters[last - 1][1]) for first, last in parts)


def _split(dictionary: _Dictionary, word: str, place: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the parts of a word that begins at a place, each followed by those of its own parts."""
    parts = _best_split(dictionary, word) if len(word) >= SHORTEST_COMPOUND else ()
    for start, end in parts:
        yield place + start, place + end
        yield from _split(dictionary, word[start:end], place + start)


def _best_split(dictionary: _Dictionary, word: str) -> Ranges:
    """Return the split into the fewest parts, then the one without links, then the one with the longest first part."""
    lemma = dictionary.lemma(word)
    if dictionary.is_simple(word, lemma):
        return ()
    for count in (2, 3):
        for has_links in (False, True):
            for parts in _splits(dictionary, word, count, has_links):
                start = parts[-1][0]
                inflected = (word[: start + 3], word[:start] + (dictionary.lemma(word[start:]) or ""))
                if lemma is None or lemma.startswith(inflected):
                    return parts
    return ()


def _splits(
    dictionary: _Dictionary, word: str, count: int, has_links: bool, start: int = 0
) -> Iterator[Ranges]:
    """Yield the splits of the end of a word into a number of parts, those with the longest first part first."""
    for end in range(len(word) - 3, start + 2, -1):
        first = dictionary.first_part(word[start:end], has_links)
        if first is None:
            continue
        if count > 2:
            rest = _splits(dictionary, word, count - 1, has_links, end)
            yield from (((start, start + first), *parts) for parts in rest)
        elif dictionary.is_last_part(word[end:]):
            yield (start, start + first), (end, len(word))


class _Dictionary:
    """Words of a language that can be parts, in small letters; made for one word, whose look-ups it keeps."""

    def __init__(self, language: str) -> None:
        self._language = _LANGUAGES[language]
        self._stop = stop_list(f"lucene-{language}")
        strategies = checked_simplemma(f"the analyzer {language}-parts").strategies
        factory = strategies.LOW_MEMORY_DICTIONARY_FACTORY
        lemmas: Mapping[str, str] = factory.get_dictionary(self._language.code)
        self._has_nouns = language == "german"
        self._lemma_of = cache(lemmas.get)

    def lemma(self, word: str) -> str | None:
        """Return the lemma of a word, in German of a noun if it can be one; None if the dictionary does not have it."""
        lemma = (self._noun(word) if self._has_nouns else None) or self._lemma_of(word)
        return None if lemma is None else lower_case(lemma)

    def _noun(self, word: str) -> str | None:
        """Return the lemma of a German noun; the dictionary has nouns with a capital."""
        return self._lemma_of(word.capitalize())

    def is_simple(self, word: str, lemma: str | None) -> bool:
        """Return whether a word with a lemma is no compound: a listed one, or a German word that is no noun."""
        is_other = self._has_nouns and lemma is not None and self._noun(word) is None
        return is_other or (lemma or word) in self._language.simple

    def _can_be_part(self, word: str) -> bool:
        if len(word) < SHORTEST_PART:
            return word in self._language.short
        return word not in self._stop and word not in self._language.affixes

    def is_last_part(self, word: str) -> bool:
        """Return whether a word can be the last part: in German a noun."""
        known = self._noun if self._has_nouns else self._lemma_of
        return self._can_be_part(word) and any(known(form) is not None for form in self._forms(word))

    def _forms(self, word: str) -> set[str]:
        """Return a word, and a German one also with umlauts for *ae*, *oe* and *ue*."""
        return {word, _TWO_LETTERS.sub(lambda two: _UMLAUTS[two[0]], word)} if self._has_nouns else {word}

    def first_part(self, word: str, has_link: bool) -> int | None:
        """Return the length without linking letters of a part that others follow; None if it is no word."""
        for link in self._language.links if has_link else ("",):
            part = word.removesuffix(link)
            if (
                len(part) + len(link) == len(word)
                and self._can_be_part(part)
                and any(map(self._is_first, self._forms(part)))
            ):
                return len(part)
        return self.first_part(word, False) if has_link else None

    def _is_first(self, word: str) -> bool:
        """Return whether the dictionary has a word in a form that precedes others."""
        if not self._has_nouns:
            return self._lemma_of(word) is not None
        return (
            self._noun(word) is not None
            or self._noun(f"{word}e") == f"{word}e".capitalize()
            or self._lemma_of(word) in (word, f"{word}en", f"{word}n")
            or self._lemma_of(f"{word}n") == f"{word}n"
        )


@dataclass(frozen=True)
class _GermanCompounds(_LanguageCompounds):
    """Words, and the parts of German compounds."""

    name: ClassVar[str] = f"compounds-german-{RULES}-simplemma-{SIMPLEMMA}"
    language: ClassVar[str] = "german"


@dataclass(frozen=True)
class _DutchCompounds(_LanguageCompounds):
    """Words, and the parts of Dutch compounds."""

    name: ClassVar[str] = f"compounds-dutch-{RULES}-simplemma-{SIMPLEMMA}"
    language: ClassVar[str] = "dutch"


@dataclass(frozen=True)
class _SwedishCompounds(_LanguageCompounds):
    """Words, and the parts of Swedish compounds."""

    name: ClassVar[str] = f"compounds-swedish-{RULES}-simplemma-{SIMPLEMMA}"
    language: ClassVar[str] = "swedish"


@dataclass(frozen=True)
class _NorwegianCompounds(_LanguageCompounds):
    """Words, and the parts of Norwegian compounds, in Bokmål."""

    name: ClassVar[str] = f"compounds-norwegian-{RULES}-simplemma-{SIMPLEMMA}"
    language: ClassVar[str] = "norwegian"


@dataclass(frozen=True)
class _DanishCompounds(_LanguageCompounds):
    """Words, and the parts of Danish compounds."""

    name: ClassVar[str] = f"compounds-danish-{RULES}-simplemma-{SIMPLEMMA}"
    language: ClassVar[str] = "danish"


COMPOUNDS: Mapping[str, WordTokenizer] = MappingProxyType(
    {
        "german": _GermanCompounds(),
        "dutch": _DutchCompounds(),
        "swedish": _SwedishCompounds(),
        "norwegian": _NorwegianCompounds(),
        "danish": _DanishCompounds(),
    }
)
"""Tokenizer of each language whose compounds are split."""
