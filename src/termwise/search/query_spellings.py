"""Spellings of query words that the index has: codes that are typed with blanks, and *ae* in place of *ä*."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from termwise.engine.codes import has_digits
from termwise.search.part_weights import FEW, LETTERS, MOST_WORDS, RARE
from termwise.search.suggestions import is_code

if TYPE_CHECKING:
    from termwise.engine.similar_terms import SimilarTerms, SimilarTermsByLanguage

MOST_PIECES = 4
"""Largest number of pieces with blanks between them that are read as a code."""

_UMLAUTS = {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"}
_UMLAUT, _WORD = re.compile("[äöüÄÖÜ]"), re.compile(r"[^\W\d_]+")
_PIECE = re.compile(r"(?<!\S)[^\W_]+(?=\s|$|[,;:!?])")


def with_whole_codes(text: str, similar: SimilarTerms | SimilarTermsByLanguage) -> str:
    """Return a query with hyphens in place of the blanks in codes, such as ``AB 1200 X`` of ``AB-1200/X``.

    Words with single blanks between them are a code if they together have the form of one, no four letters in a row,
    and are a word of the index as rare as an identifier.

    Examples
    --------
    >>> import tempfile, termwise
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     filters = termwise.build_index({"1": "Filter AB-1200/X", "2": "Plate AB, 1200 mm"}, folder + "/i")
    ...     similar = filters.backend.similar_terms
    ...     [with_whole_codes(text, similar) for text in ("AB 1200 X pump", "AB 1200 mm", "filter AB 1200")]
    ['AB-1200-X pump', 'AB 1200 mm', 'filter AB 1200']
    """
    if not has_digits(text) or len(text.split()) > MOST_WORDS:
        return text
    pieces = list(_PIECE.finditer(text))
    place = 0
    while place < len(pieces):
        for count in range(min(MOST_PIECES, len(pieces) - place), 1, -1):
            start, end = pieces[place].start(), pieces[place + count - 1].end()
            code = text[start:end].replace(" ", "-")
            if "".join(text[start:end].split(" ")).isalnum() and _is_known(code, similar):
                text = text[:start] + code + text[end:]
                place += count - 1
                break
        place += 1
    return text


def with_known_umlauts(text: str, similar: SimilarTerms | SimilarTermsByLanguage) -> str:
    """Return a query with *ae*, *oe* and *ue* for umlauts in the words that more documents have in this spelling.

    German analyzers read both spellings as one word, so the other one is that of documents in other languages.

    Examples
    --------
    >>> import tempfile, termwise
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lamps = termwise.build_index({"1": "Kaerner lamp", "2": "Möbel"}, folder + "/i")
    ...     [with_known_umlauts(text, lamps.backend.similar_terms) for text in ("Kärner lamp", "möbel", "Kärnten")]
    ['Kaerner lamp', 'möbel', 'Kärnten']
    """

    def documents(word: str) -> int:
        return sum(
            each.documents(token) for each in similar.languages for token in each.analyzer.tokens(word)[:1]
        )

    def spelt(word: re.Match[str]) -> str:
        other = "".join(_UMLAUTS.get(letter, letter) for letter in word[0])
        other = other.upper() if word[0].isupper() else other
        return other if other != word[0] and documents(other) > documents(word[0]) else word[0]

    return _WORD.sub(spelt, text) if _UMLAUT.search(text) and len(text.split()) <= MOST_WORDS else text


def _is_known(code: str, similar: SimilarTerms | SimilarTermsByLanguage) -> bool:
    """Return whether an index has a code as a whole."""
    if not is_code(code.replace("-", "")) or LETTERS.search(code):
        return False
    most = max(FEW, len(similar.index) // RARE)
    return any(
        0 < each.documents(token) <= most
        for each in similar.languages
        for token in each.analyzer.tokens(code)[:1]
        if each.analyzer.tokens(code.replace("-", ""))[:1] == [token]
    )
