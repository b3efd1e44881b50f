"""Codes in stored texts: whether the parts of a code such as ``AB-1200/X`` are next to each other.

An index of words with parts knows that a document has *ab*, *1200* and *x*, but not where. Without a look at its text,
a plate AB of 1200 x 800 mm would contain the code. So texts decide for documents that have all parts of a code, but not
the code as a whole.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from termwise.budget import TEXT, spend
from termwise.index import Index
from termwise.text.folding import folded
from termwise.text.words_with_parts import DASHES, HYPHENS

MOST_READ = 300
"""Largest number of documents whose texts are read for a code.

If more have all parts of a code, all of them contain it: so many documents of a real code are mostly right. Of a number
with a unit, such as ``5mm``, only those with both as a whole contain it, which is how most texts write it.
"""

_MEASURE = re.compile(r"[0-9][0-9.,]*[ \u00a0\u2009\u202f]?[^\W\d_]+")
_PART = re.compile(r"[0-9]+(?:[.,][0-9]+)*|[^\W\d_]+|[^\W_]")
_BETWEEN = rf"(?:[ _&'’.\u00a0\u2009\u202f]| ?[-/{HYPHENS}{DASHES}] ?)?"


def has_digits(word: str) -> bool:
    """Return whether a text has digits. The parts of a compound with digits belong next to each other."""
    return any(map(str.isdigit, word))


def code_pattern(code: str) -> re.Pattern[str]:
    """Return the pattern of a code in texts that are folded and in lower case.

    The parts of the code, which are its numbers and runs of letters, are adjacent, with at most a hyphen or another
    character that joins words between them. No letter continues a part that is letters, and no digit a number.

    Examples
    --------
    >>> pattern = code_pattern("AB-1200/X")
    >>> texts = ["type ab 1200 x", "ab1200x", "ab-1200/xl", "xab-1200/x", "ab-12 for 1200 x 800", "k-ab-1200/x-2"]
    >>> [text for text in texts if pattern.search(text)]
    ['type ab 1200 x', 'ab1200x', 'k-ab-1200/x-2']
    >>> [bool(code_pattern("5mm").search(text)) for text in ("m5, 40mm", "5 mm", "2.5 mm", "5mm-thick")]
    [False, True, False, True]
    """
    parts = _PART.findall(folded(code).lower())
    written = _BETWEEN.join(re.sub("[.,]", "[.,]", part) for part in parts)
    before = r"(?<![0-9])(?<![0-9][.,])" if parts[0][0].isdigit() else r"(?<![^\W\d_])"
    after = r"(?![0-9]|[.,][0-9])" if parts[-1][-1].isdigit() else r"(?![^\W\d_])"
    return re.compile(before + written + after)


def documents_with_code(
    index: Index, texts: Index | None, code: str, whole: npt.NDArray[np.bool_], parts: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Return which documents contain a code, by position.

    Parameters
    ----------
    index : Index
    texts : Index or None
        Index that stores the texts of the same documents; without one, all parts are enough.
    code : str
        The code as typed.
    whole, parts : ndarray of shape (n,), bool
        Which documents of `index` have the code as a whole, and which have this or all of its parts.
    """
    doubtful = parts & ~whole
    if texts is None or not doubtful.any():
        return parts
    starts = index.chunks.starts
    read = starts[doubtful[starts]]
    if len(read) > MOST_READ:
        return whole if _MEASURE.fullmatch(code) else parts
    spend(len(read) * TEXT)
    pattern, found = code_pattern(code), whole.copy()
    for ordinal, text in zip(read.tolist(), texts.document_texts(read), strict=True):
        if pattern.search(folded(text or "").lower()):
            chunks = index.chunks.of(ordinal)
            found[chunks.start : chunks.stop] = True
    return found
