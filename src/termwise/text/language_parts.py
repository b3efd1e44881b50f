"""Analyzers of languages with codes and other compounds in parts: `french-parts`, `spanish-parts` and so on.

They are to the analyzer of a language what `english-parts` is to `english`, with these rules:

- The words are those of `WordsWithParts`. A single letter and a word are a compound only for letters that are no words
  of the languages, so Spanish *y vino* is none.
- Catalan, French and Italian articles and other words before an apostrophe are left out, as in *l'eau*, except in names
  such as *L'Oréal*, which also match *loreal*. Turkish endings after an apostrophe are left out.
- Accents are folded after stop words are removed and before words are stemmed, so words with and without accents have
  equal stems. Finnish, Estonian and Spanish letters of their own are kept, see `KEPT_LETTERS`. The stemmers of
  `FOLDED_LAST` need the accents of their languages, which are therefore folded in stems: *čeština* and *cestina* have
  two stems if the accents decide about the ending.
- Stop words are removed also without their accents, such as French *meme*, where accents are folded before words are
  stemmed.
- Words with digits are not stemmed.

``experiments/language_folding.py`` measures both orders. The other languages have scripts without accents as in Latin,
or, in Irish, hyphens and capitals inside words with other meanings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import ClassVar

from termwise.fast_dataclass import dataclass
from termwise.text.folding import KEPT_LETTERS, folded_except
from termwise.text.languages import LANGUAGES
from termwise.text.light_stems import with_dutch_ending, without_dutch_s, without_german_s
from termwise.text.spelling import ELIDED
from termwise.text.stop_lists import stop_list
from termwise.text.token_filters import (
    COMPOSED,
    FOLDED,
    JOINED,
    POSSESSIVE,
    WordStep,
    stop_words_without_accents,
    unless_number,
    without_accents,
)
from termwise.text.words_with_parts import (
    LETTERS,
    RULES,
    WordsWithParts,
    compound_pattern,
    lead_pattern,
    part_pattern,
    run_pattern,
)

_SINGLE = "[B-DF-HJLMNP-RTXb-df-hjlmnp-rtx]"
"""Letters that are no words of the languages below."""

FOLDED_LAST = frozenset(
    ("czech", "esperanto", "hungarian", "lithuanian", "polish", "portuguese", "serbian", "turkish")
)
"""Languages whose stems are folded, because their stemmers need accents."""


@dataclass(frozen=True)
class LanguageWords(WordsWithParts):
    """Words as in `WordsWithParts`; of single letters, those that are words of some language form no compounds.

    Examples
    --------
    >>> LanguageWords().words("pan y vino, T-shirt"), LanguageWords().words("t shirt")
    (['pan', 'y', 'vino', 'T-shirt', 'T', 'shirt'], ['t shirt', 't', 'shirt'])
    """

    name: ClassVar[str] = f"words-with-parts-languages-{RULES}"
    compound: ClassVar[re.Pattern[str]] = compound_pattern(_SINGLE)


@dataclass(frozen=True)
class FrenchWords(LanguageWords):
    """Words without elided ones before an apostrophe.

    Examples
    --------
    >>> FrenchWords().words("l'eau qu’il jusqu'à aujourd'hui L'Oréal")
    ['eau', 'il', 'à', "aujourd'hui", 'aujourd', 'hui', "L'Oréal", 'L', 'Oréal']
    """

    name: ClassVar[str] = f"words-with-parts-french-{RULES}"
    compound: ClassVar[re.Pattern[str]] = compound_pattern(_SINGLE, ELIDED["french"])


@dataclass(frozen=True)
class ItalianWords(LanguageWords):
    """Words without elided ones before an apostrophe.

    Examples
    --------
    >>> ItalianWords().words("dell’acqua un'altra L'Aquila")
    ['acqua', 'altra', "L'Aquila", 'L', 'Aquila']
    """

    name: ClassVar[str] = f"words-with-parts-italian-{RULES}"
    compound: ClassVar[re.Pattern[str]] = compound_pattern(_SINGLE, ELIDED["italian"])


@dataclass(frozen=True)
class CatalanWords(LanguageWords):
    """Words without elided ones before an apostrophe; a middle dot does not end a word.

    Examples
    --------
    >>> CatalanWords().words("l'aigua col·lecció")
    ['aigua', 'col·lecció']
    """

    name: ClassVar[str] = f"words-with-parts-catalan-{RULES}"
    compound: ClassVar[re.Pattern[str]] = compound_pattern(_SINGLE, ELIDED["catalan"])

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the half-open character ranges of all words and parts, in the order of their starts."""
        return super().spans(text.replace("·", "\u00ad"))


@dataclass(frozen=True)
class TurkishWords(LanguageWords):
    """Words whose endings after an apostrophe are no parts.

    Examples
    --------
    >>> TurkishWords().words("İstanbul'un T-shirt")
    ["İstanbul'un", 'T-shirt', 'T', 'shirt']
    """

    name: ClassVar[str] = f"words-with-parts-turkish-{RULES}"
    part: ClassVar[re.Pattern[str]] = part_pattern(LETTERS)
    run: ClassVar[re.Pattern[str]] = run_pattern(LETTERS)
    lead: ClassVar[re.Pattern[str]] = lead_pattern(LETTERS)


LANGUAGE_PARTS: Mapping[str, WordsWithParts] = MappingProxyType(
    {
        "catalan": CatalanWords(),
        "french": FrenchWords(),
        "italian": ItalianWords(),
        "turkish": TurkishWords(),
        **dict.fromkeys(
            (
                *("basque", "czech", "esperanto", "estonian", "finnish", "greek", "hungarian", "indonesian"),
                *(
                    "lithuanian",
                    "polish",
                    "portuguese",
                    "romanian",
                    "russian",
                    "serbian",
                    "sesotho",
                    "spanish",
                ),
            ),
            LanguageWords(),
        ),
    }
)
"""Tokenizer of each language with codes and other compounds in parts, without a dictionary of compounds."""


def steps_with_parts(language: str) -> tuple[WordStep, ...]:
    """Return the steps of the analyzer of a language with parts.

    Examples
    --------
    >>> [step.name for step in steps_with_parts("spanish")][4:]
    ['stop:lucene-spanish', 'folded:spanish', 'stop:lucene-spanish:folded', 'stem:light-spanish:letters']
    """
    steps = [of_letters(step) for step in LANGUAGES[language] if not step.name.startswith("elision:")]
    names = [step.name.partition(":")[0] for step in steps]
    stem, lower = names.index("stem"), names.index("lower-case") + 1
    if language in FOLDED_LAST:
        return (
            COMPOSED,
            *steps[:lower],
            JOINED,
            POSSESSIVE,
            *steps[lower:stem],
            folded_in(language),
            *steps[stem:],
            FOLDED,
        )
    plain = _stop_words_without_accents(steps)
    before = (COMPOSED, *steps[:lower], JOINED, POSSESSIVE, *steps[lower:stem])
    return (*before, folded_in(language), *plain, *steps[stem:])


def steps_with_compounds(language: str) -> tuple[WordStep, ...]:
    """Return the steps of the analyzer of a language with compounds, whose letters are those that `KEPT_LETTERS` has.

    Examples
    --------
    >>> [step.name for step in steps_with_compounds("german")][4:7]
    ['stop:lucene-german', 'plural:german-s:letters', 'letters:german']
    >>> [step.name.removesuffix(":letters") for step in steps_with_compounds("dutch")][5:]
    ['plural:dutch-s', 'stem:lucene-dutch-snowball-3.1', 'ending:dutch']
    """
    steps = [of_letters(step) for step in LANGUAGES[language]]
    if language == "dutch":
        steps.insert(-1, unless_number(WordStep("plural:dutch-s", without_dutch_s)))
        steps.append(unless_number(WordStep("ending:dutch", with_dutch_ending)))
    places = [place for place, step in enumerate(steps) if step.name.startswith("letters:")]
    for place in places:  # *für* is written as *fur* and *fuer*, too
        steps[place + 1 : place + 1] = _stop_words_without_accents(steps)
        if language == "german":
            steps.insert(place, unless_number(WordStep("plural:german-s", without_german_s)))
    return (folded_in(language), JOINED, POSSESSIVE, *steps)


def _stop_words_without_accents(steps: Sequence[WordStep]) -> list[WordStep]:
    """Return the step that removes the stop words of other steps without their accents, if some have accents."""
    lists = [step.name.removeprefix("stop:") for step in steps if step.name.startswith("stop:")]
    return [
        stop_words_without_accents(name) for name in lists if not without_accents(name) <= stop_list(name)
    ]


def folded_in(language: str) -> WordStep:
    """Return the step that folds accents, except those of letters of the language."""
    letters = KEPT_LETTERS.get(language)
    return FOLDED if letters is None else WordStep(f"folded:{language}", partial(folded_except, letters))


def of_letters(step: WordStep) -> WordStep:
    """Return a step of a language as analyzers with parts have it: they do not stem words with digits."""
    return unless_number(step) if step.name.startswith("stem:") else step
