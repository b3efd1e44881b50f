"""Language of the texts of a collection, as far as a mixture must know it: English or not.

The vectors of the included mixtures are those of English encoders. The language is the one whose stop words are most
frequent among the words of the first texts. It counts as another language than English only if its stop words are at
least `LEAST_SHARE` of the words, at least `DIFFERENT` of them occur, and they are `TIMES` as frequent as those of
English. Texts with few stop words, such as names and codes, have no language.

A collection of English and other texts counts, too, if at least a fifth of its texts, `LEAST_TEXTS`, are in other
languages by the same rule, with `DIFFERENT_IN_TEXT` stop words in each. In the catalogue of a shop, they are
three quarters of the German products or more; at most one in twenty English titles is taken for another language.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice

from termwise.text import stop_list
from termwise.text.languages import LANGUAGES

TEXTS = 500
"""Number of texts that are read, the first ones."""

LEAST_SHARE, DIFFERENT, TIMES = 0.08, 3, 2.0

LEAST_TEXTS, DIFFERENT_IN_TEXT = 0.2, 2

_LENGTH = 2000  # characters of a text that are read
_WORDS = re.compile(r"(?<![\w/.-])[^\W\d_]+(?![\w/]|[.-]\w)")  # without the letters of codes, such as TA-1020


def foreign_language(texts: Iterable[str]) -> tuple[str, float] | None:
    """Return the language of texts that are not English, and their share; None if there are few, or it is not known.

    If all texts together are English, the language is the most frequent one of the others.

    Examples
    --------
    >>> german = ["Der Hund und die Katze sind in dem Garten"]
    >>> foreign_language(german * 9), foreign_language(german + ["A dog in the sun"] * 3)
    (('German', 1.0), ('German', 0.25))
    >>> foreign_language(german + ["A dog in the sun"] * 9), foreign_language(["AB-1200/X"])
    (None, None)
    >>> foreign_language(["東京で美味しいラーメンを食べました"])
    ('a language in another script', 1.0)
    """
    lists = {language: frozenset(stop_list(name)) for language, name in _stop_lists().items()}
    each = [Counter(_WORDS.findall(text[:_LENGTH].lower())) for text in islice(texts, TEXTS)]
    words: Counter[str] = Counter()
    for counts in each:
        words.update(counts)
    if (language := _foreign(words, lists, DIFFERENT)) is not None:
        return language, 1.0
    found = Counter(language for counts in each if (language := _foreign(counts, lists, DIFFERENT_IN_TEXT)))
    share = found.total() / max(1, len(each))
    return (found.most_common(1)[0][0], share) if share >= LEAST_TEXTS else None


def _foreign(words: Counter[str], lists: Mapping[str, frozenset[str]], different: int) -> str | None:
    """Return the language of words that are not English; `different` of its stop words must occur."""
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
    least = max(LEAST_SHARE, TIMES * shares.pop("english"))
    best = max(shares, key=lambda language: shares[language], default=None)
    return best.capitalize() if best is not None and shares[best] >= least else None


def _stop_lists() -> dict[str, str]:
    """Return the stop list of each language in Latin letters that has one."""
    names = {step.name.removeprefix("stop:") for steps in LANGUAGES.values() for step in steps}
    found = {language: f"lucene-{language}" for language in LANGUAGES if f"lucene-{language}" in names}
    return {**found, "english": "nltk-english"}
