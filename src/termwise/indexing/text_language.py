"""Language of the texts of a collection, as far as a mixture must know it: English or not.

The vectors of the included mixtures are those of English encoders. The language is the one whose stop words are most
frequent among the words of the first texts. It counts as another language than English only if its stop words are at
least `LEAST_SHARE` of the words, at least `DIFFERENT` of them occur, and they are `TIMES` as frequent as those of
English. Texts with few stop words, such as names and codes, have no language.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from itertools import islice

from termwise.text import stop_list
from termwise.text.languages import LANGUAGES

TEXTS = 500
"""Number of texts that are read, the first ones."""

LEAST_SHARE, DIFFERENT, TIMES = 0.08, 3, 2.0

_LENGTH = 2000  # characters of a text that are read
_WORDS = re.compile(r"[^\W\d_]+")


def foreign_language(texts: Iterable[str]) -> str | None:
    """Return the language of texts that are not English; None if they are, or if it is not known.

    Examples
    --------
    >>> foreign_language(["Der Hund und die Katze sind in dem Garten"] * 9), foreign_language(["A dog in the sun"])
    ('German', None)
    >>> foreign_language(["東京で美味しいラーメンを食べました"]), foreign_language(["AB-1200/X"])
    ('a language in another script', None)
    """
    words: Counter[str] = Counter()
    latin = letters = 0
    for text in islice(texts, TEXTS):
        for word in _WORDS.findall(text[:_LENGTH].lower()):
            words[word] += 1
            letters += len(word)
            latin += len(word) if unicodedata.name(word[0], "").startswith("LATIN") else 0
    total = words.total()
    if 2 * latin < letters:
        return "a language in another script"
    shares = {}
    for language, name in _stop_lists().items():
        found = [words[word] for word in stop_list(name) if word in words]
        if len(found) >= DIFFERENT or language == "english":
            shares[language] = sum(found) / max(1, total)
    least = max(LEAST_SHARE, TIMES * shares.pop("english"))
    best = max(shares, key=lambda language: shares[language], default=None)
    return best.capitalize() if best is not None and shares[best] >= least else None


def _stop_lists() -> dict[str, str]:
    """Return the stop list of each language in Latin letters that has one."""
    names = {step.name.removeprefix("stop:") for steps in LANGUAGES.values() for step in steps}
    found = {language: f"lucene-{language}" for language in LANGUAGES if f"lucene-{language}" in names}
    return {**found, "english": "nltk-english"}
