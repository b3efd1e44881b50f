"""Adapt a query to the spellings of an index: codes that are typed with blanks, umlauts, and unknown codes."""

from __future__ import annotations

import re

import numpy as np

from termwise.engine.added_terms import AddedTerms, Span
from termwise.engine.codes import documents_with_code, has_digits
from termwise.engine.word_breaks import documents_with_word
from termwise.index import Index
from termwise.search.part_weights import FEW, LETTERS, MOST_WORDS, RARE, has_codes_only
from termwise.search.suggestions import AnySimilarTerms, is_code
from termwise.text.folding import composed

ARTICLE_NUMBER = 8
"""Minimum number of digits of an article number without letters; EAN-8 has eight."""

SHORTEST_CODE = 4
"""Minimum number of characters of a code with letters."""

MOST_PIECES = 4
"""Maximum number of words, separated by single blanks, that are read as one code."""

_UMLAUTS = {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"}
_SPELLED_OUT = {other.lower(): umlaut for umlaut, other in _UMLAUTS.items() if umlaut.islower()}
_UMLAUT, _WORD = re.compile("[äöüÄÖÜ]"), re.compile(r"[^\W\d_]+")
_TWO_LETTERS = re.compile("(?<![aeq])[aou]e", re.IGNORECASE)  # not in neue and queue, as in German analyzers
_CHUNK = re.compile(r"\S+")
_SEPARATOR = re.compile("[-/.]")
_PIECE = re.compile(r"(?<!\S)[^\W_]+(?:[-/.][^\W_]+)*(?=\s|$|[,;:!?])")


def with_whole_codes(text: str, similar: AnySimilarTerms) -> str:
    """Return a query with hyphens in place of the blanks in codes, such as ``AB 1200 X`` of ``AB-1200/X``.

    Words with single blanks between them are a code if they together have the form of one, no four letters in a row, or
    at least `ARTICLE_NUMBER` digits, and are a word of the index as rare as an identifier.

    Examples
    --------
    >>> import tempfile, termwise
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     texts = [{"id": 1, "text": "Filter AB-1200/X"}, {"id": 2, "text": "Plate AB, 1200 mm"}]
    ...     similar = termwise.build_index(texts, folder + "/i").backend.similar_terms
    ...     [with_whole_codes(text, similar) for text in ("AB 1200/X pump", "AB 1200 mm", "filter AB 1200")]
    ['AB-1200/X pump', 'AB 1200 mm', 'filter AB 1200']
    """
    if not has_digits(text) or len(text.split()) > MOST_WORDS:
        return text
    pieces = list(_PIECE.finditer(text))
    place = 0
    while place < len(pieces):
        for count in range(min(MOST_PIECES, len(pieces) - place), 1, -1):
            start, end = pieces[place].start(), pieces[place + count - 1].end()
            code = text[start:end].replace(" ", "-")
            if _SEPARATOR.sub("", code).isalnum() and _is_known(code, similar):
                text = text[:start] + code + text[end:]
                place += count - 1
                break
        place += 1
    return text


def with_known_umlauts(text: str, similar: AnySimilarTerms) -> str:
    """Return a query with *ae*, *oe* and *ue* for umlauts, or umlauts for these, as more documents have its words.

    German analyzers read both spellings as one word, so the other one is that of documents in other languages. These
    have *Wüsthof* as *wusthof*. Two letters are an umlaut only if a text writes it, as far as texts are stored: *does*
    is not *dos*. Those of words with digits stay.

    Examples
    --------
    >>> import tempfile, termwise
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     texts = [{"id": 1, "text": "Kaerner lamp"}, {"id": 2, "text": "Möbel"}, {"id": 3, "text": "sac à dos"}]
    ...     similar = termwise.build_index(texts, folder + "/i", store_text=True).backend.similar_terms
    ...     [with_known_umlauts(text, similar) for text in ("Kärner lamp", "möbel", "Kärnten", "moebel", "does")]
    ['Kaerner lamp', 'möbel', 'Kärnten', 'möbel', 'does']
    """

    def documents(word: str) -> int:
        return sum(each.documents_with(word) for each in similar.languages)

    def spelt(word: str) -> str:
        has_umlaut = _UMLAUT.search(word) is not None
        if has_umlaut:
            other = "".join(_UMLAUTS.get(letter, letter) for letter in word)
            other = other.upper() if word.isupper() else other
        else:
            other = _TWO_LETTERS.sub(_umlaut, word)
        if other == word or documents(other) <= documents(word):
            return word
        return other if has_umlaut or _is_written(other, similar) else word

    def read(chunk: re.Match[str]) -> str:
        if has_digits(chunk[0]) and not _UMLAUT.search(chunk[0]):
            return chunk[0]
        return _WORD.sub(lambda word: spelt(word[0]), chunk[0])

    return _CHUNK.sub(read, text) if len(text.split()) <= MOST_WORDS else text


def _umlaut(letters: re.Match[str]) -> str:
    umlaut = _SPELLED_OUT[letters[0].lower()]
    return umlaut.upper() if letters[0][0].isupper() else umlaut


def _is_written(word: str, similar: AnySimilarTerms) -> bool:
    """Return whether a stored text writes a word with an umlaut, or no stored text has its term."""
    forms = [form for each in similar.languages for form in each.forms_of(word)]
    return not forms or any(_UMLAUT.search(composed(form)) for form in forms)


def without_unknown_codes(text: str, similar: AnySimilarTerms, added: AddedTerms, texts: Index | None) -> str:
    """Return a query without the single characters and numbers of codes that no document contains.

    So ``E21`` does not find *21 inch* and ``E-3``. Longer letters stay, as *mah* of ``900mAh``; so do codes that some
    document contains, also as the beginning of a longer one, and those that `added` completes or replaces.

    Parameters
    ----------
    text : str
    similar : SimilarTerms or SimilarTermsByLanguage
        Terms of an index of whole words.
    added : AddedTerms
        Terms that the search adds to the query.
    texts : Index or None
        Index that stores the texts of the same documents.
    """
    if not has_digits(text) or len(text.split()) > MOST_WORDS or has_codes_only(text):
        return text
    contained, removed = set[Span](), set[Span]()
    for each in similar.languages:
        analysis = each.analyzer.analyze(text)
        spans: list[Span] = [(start, end) for start, end in analysis.spans.tolist()]
        for places in analysis.compounds():
            whole, parts = spans[places.start], spans[places.start + 1 : places.stop]
            code = text[slice(*whole)]
            if not parts or not has_digits(code) or added.are_known([whole]):
                continue
            number = each.vocabulary.number
            having = documents_with_word(each.index, number, analysis, places)
            if not each.documents(analysis.tokens[places.start]) and having.any():
                having = documents_with_code(each.index, texts, code, np.zeros_like(having), having)
            if having.any():
                contained.update(parts)
            else:
                removed.update(part for part in parts if _is_short(text[slice(*part)]))
    return AddedTerms((), frozenset(removed - contained)).without_replaced(text)


def _is_short(part: str) -> bool:
    """Return whether a part of a code says little: one character, or a number."""
    return len(part) == 1 or has_digits(part)


def _is_known(code: str, similar: AnySimilarTerms) -> bool:
    """Return whether an index has a code as a whole."""
    joined = _SEPARATOR.sub("", code)
    if LETTERS.search(code) or not (
        is_code(joined, SHORTEST_CODE) or (joined.isdecimal() and len(joined) >= ARTICLE_NUMBER)
    ):
        return False
    most = max(FEW, len(similar.index) // RARE)
    return any(
        0 < each.documents(token) <= most
        for each in similar.languages
        for token in each.analyzer.tokens(code)[:1]
        if each.analyzer.tokens(joined)[:1] == [token]
    )
