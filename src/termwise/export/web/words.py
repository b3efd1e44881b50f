"""Words of the texts with their terms, for typos and unfinished words; the vocabulary of analyzers of word pieces.

A mistyped word is compared with the words of the texts, not with stems. An analyzer that is not a `WordAnalyzer` can
change a word by its neighbours, and an index without texts has no words: then the terms themselves stand for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from os.path import commonprefix
from typing import Any

import numpy as np

from termwise.export.source import ExportPart, ExportSource
from termwise.export.web.files import SearchFiles, short_names
from termwise.export.web.terms import utf16_key
from termwise.progress import Progress
from termwise.text import WordAnalyzer

SHARD = 1000
"""Words of a shard."""

LONGEST = 100
"""Characters of the longest word; longer ones are data."""


def write_words(
    files: SearchFiles, source: ExportSource, part: ExportPart, progress: Progress
) -> dict[str, Any]:
    """Write the words and terms of a part of whole words in shards; return their description."""
    index = part.index
    numbers = np.flatnonzero(index.document_frequencies)
    terms = dict(
        zip(
            index.vocabulary.tokens(numbers.astype(np.int64)),
            index.document_frequencies[numbers].tolist(),
            strict=True,
        )
    )
    words = _words_of(source, part, terms, progress)
    entries = sorted({*words, *(term for term in terms if len(term) <= LONGEST)}, key=utf16_key)
    firsts, names = [], []
    for first in range(0, len(entries), SHARD):
        shard = entries[first : first + SHARD]
        owners = [words.get(word, word) for word in shard]
        header = {
            "words": shard,
            "terms": ["" if owner == word else owner for word, owner in zip(shard, owners, strict=True)],
            "documents": [terms[owner] for owner in owners],
            # 1: a term; 2: a word of the texts; 3: both
            "kinds": [(word in terms) + 2 * (word in words or not words) for word in shard],
        }
        firsts.append(shard[0])
        names.append(files.add_shard("words", header))
    return {"firsts": firsts, "files": short_names(names)}


def folded(pieces: Sequence[str]) -> list[str]:
    """Return sorted strings without what each has in common with the one before it.

    In place of it is a character: the one at the number of its UTF-16 units from ``0`` on.

    Examples
    --------
    >>> folded(["bee", "ant", "beech"])
    ['0ant', '0bee', '3ch']
    """
    ordered = sorted(pieces, key=utf16_key)
    commons = [commonprefix(pair) for pair in pairwise(["", *ordered])]  # noqa: RUF071 (no paths)
    return [
        chr(48 + len(utf16_key(common)) // 2) + piece[len(common) :]
        for piece, common in zip(ordered, commons, strict=True)
    ]


def _words_of(
    source: ExportSource, part: ExportPart, terms: dict[str, int], progress: Progress
) -> dict[str, str]:
    """Return the words of the texts in lower case that have one term, with this term."""
    analyzer = part.part.backend.encoder.analyzer
    if not source.has_texts or not isinstance(analyzer, WordAnalyzer):
        return {}
    words: Counter[str] = Counter()
    for batch in source.batches():
        for text in batch.texts or ():
            words.update(text[start:end].lower() for start, end in analyzer.tokenizer.spans(text))
        progress(f"{part.name}: read words", int(batch.positions[-1]) + 1, len(source))
    found = {}
    for word in words:
        if len(word) <= LONGEST:
            tokens = analyzer.tokens(word)
            if len(tokens) == 1 and tokens[0] in terms:
                found[word] = tokens[0]
    return found
