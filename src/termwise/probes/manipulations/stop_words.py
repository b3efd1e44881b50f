"""Words that say nothing."""

from __future__ import annotations

from termwise.probes.manipulations.base import Around


def is_stop_word(word: str, around: Around) -> bool:
    """Whether a word is on the list of stop words, whichever apostrophe and capitals it has."""
    return word.lower().replace("’", "'") in around.stop_words
