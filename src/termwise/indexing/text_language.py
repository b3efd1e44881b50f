"""Languages of the texts of a collection, as far as a mixture must know them: English or not.

The vectors of the included mixtures are those of English encoders. The language is the one whose stop words are most
frequent among the words of the first texts. It counts as another language than English only if its stop words are at
least `LEAST_SHARE` of the words, at least `DIFFERENT` of them occur, and they are `TIMES` as frequent as those of
English. Texts with few stop words, such as names and codes, have no language. Words of one letter do not count, because
they are units and sizes, such as m, l and x.

A collection of English and other texts counts, too, if at least a fifth of its texts, `LEAST_TEXTS`, are in other
languages by the same rule, with `DIFFERENT_IN_TEXT` stop words in each. In the catalogue of a shop, they are
three quarters of the German products or more; at most one in twenty English titles is taken for another language.

If no language has `MAJORITY` of the texts whose language is found so, the collection is in several languages: those
with at least `CLEAR_SHARE` of these texts. A text in which two languages have equally many stop words is in neither.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from termwise.text import stop_list
from termwise.text.languages import LANGUAGES

TEXTS = 500
"""Number of texts that are read, the first ones."""

LEAST_SHARE, DIFFERENT, TIMES = 0.08, 3, 2.0

LEAST_TEXTS, DIFFERENT_IN_TEXT = 0.2, 2

MAJORITY, CLEAR_SHARE = 2 / 3, 0.1

ENGLISH = "English"

_LENGTH = 2000  # characters of a text that are read
_WORDS = re.compile(
    r"(?<![\w/.-])[^\W\d_]{2,}(?![\w/]|[.-]\w)"
)  # without the letters of codes, such as TA-1020


class ForeignTexts(NamedTuple):
    """Texts in other languages than English.

    Attributes
    ----------
    languages : tuple of str
        Their most frequent language; or if no language has most of the texts, all with a clear share, with English.
    share : float
        Least share of these texts among all.
    """

    languages: tuple[str, ...]
    share: float

    def __str__(self) -> str:
        *others, language = self.languages
        if others:
            return f"the texts are in several languages, among them {', '.join(others)} and {language}"
        if self.share == 1:
            return f"the texts look like {language}"
        return f"at least {self.share:.0%} of the texts look like another language than English, most like {language}"


def foreign_texts(texts: Iterable[str]) -> ForeignTexts | None:
    """Return what texts are not English; None if they are few, or their language is not known.

    Examples
    --------
    >>> german, french = ["Der Hund und die Katze sind in dem Garten"], ["Le chien et le chat dans la maison"]
    >>> english = ["The dog and the cat are in the garden"]
    >>> print(foreign_texts(german * 9), foreign_texts(german + english * 3), sep="; ")
    the texts look like German; at least 25% of the texts look like another language than English, most like German
    >>> print(foreign_texts(german * 2 + french + english))
    the texts are in several languages, among them German, French and English
    >>> foreign_texts(german + english * 9), foreign_texts(["AB-1200/X"])
    (None, None)
    >>> print(foreign_texts(["東京で美味しいラーメンを食べました"]))
    the texts look like a language in another script
    """
    lists = {language: frozenset(stop_list(name)) for language, name in _stop_lists().items()}
    each = [Counter(_WORDS.findall(text[:_LENGTH].lower())) for text in islice(texts, TEXTS)]
    words: Counter[str] = Counter()
    for counts in each:
        words.update(counts)
    whole = _language(words, lists, DIFFERENT)
    found = Counter(language for counts in each if (language := _language(counts, lists, DIFFERENT_IN_TEXT)))
    ranked = found.most_common()
    foreign = [(language, count) for language, count in ranked if language != ENGLISH]
    share = sum(count for _, count in foreign) / max(1, len(each))
    several = bool(ranked) and ranked[0][1] < MAJORITY * found.total()
    if several and found.total() >= CLEAR_SHARE * len(each):
        clear = tuple(language for language, count in ranked if count >= CLEAR_SHARE * found.total())
        if len(clear) > 1:
            return ForeignTexts(clear, share)
    if whole not in (None, ENGLISH):
        return ForeignTexts((whole,), 1.0)
    return ForeignTexts((foreign[0][0],), share) if foreign and share >= LEAST_TEXTS else None


def _language(words: Counter[str], lists: Mapping[str, frozenset[str]], different: int) -> str | None:
    """Return the language of words; `different` of its stop words must occur."""
    letters = latin = 0
    for word, count in words.items():
        letters += count * len(word)
        latin += count * len(word) if unicodedata.name(word[0], "").startswith("LATIN") else 0
    if 2 * latin < letters:
        return "a language in another script"
    shares = {}
    for language, stop_words in lists.items():
        found = [words[word] for word in stop_words & words.keys()]
        if len(found) >= different or language == "english":
            shares[language] = sum(found) / max(1, words.total())
    english, of_english = shares.pop("english"), len(lists["english"] & words.keys())
    best = max(shares, key=lambda language: shares[language], default=None)
    is_alone = best is not None and list(shares.values()).count(shares[best]) == 1
    if best is not None and is_alone and shares[best] >= max(LEAST_SHARE, TIMES * english):
        return best.capitalize()
    is_english = of_english >= different and english >= max(LEAST_SHARE, *shares.values(), 0)
    return ENGLISH if is_english else None


def _stop_lists() -> dict[str, str]:
    """Return the stop list of each language in Latin letters that has one."""
    names = {step.name.removeprefix("stop:") for steps in LANGUAGES.values() for step in steps}
    found = {language: f"lucene-{language}" for language in LANGUAGES if f"lucene-{language}" in names}
    return {**found, "english": "nltk-english"}
