"""Words as people misspell them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from termwise.probes.manipulations.base import Around
from termwise.probes.manipulations.letter_case import cased_like
from termwise.probes.manipulations.positions import words
from termwise.probes.manipulations.stop_words import is_stop_word
from termwise.probes.manipulations.text_edits import Place, replaced
from termwise.probes.manipulations.typo_list import Misspellings, codespell_misspellings
from termwise.text.characters import lower_case
from termwise.text.unicode_words import UnicodeWords


@dataclass(frozen=True, eq=False)
class Misspelled:
    """Every word of a list comes to one of its misspellings, with its capitals; stop words stay.

    Attributes
    ----------
    misspellings : mapping, optional
        By the word in lower case, see `termwise.probes.manipulations.typo_list`; those of codespell unless given,
        which needs the extra ``probe``.
    """

    misspellings: Misspellings | None = None
    name: str = "typos"
    title: str = "Typos"
    makes: str = "the text with every word of a list of misspellings misspelt, but for stop words"

    def apply(self, text: str, around: Around) -> str | None:
        """See `Manipulation`."""
        known = codespell_misspellings() if self.misspellings is None else self.misspellings
        places = [
            place for place in _listed(text, known) if not is_stop_word(text[place.start : place.end], around)
        ]
        found = [text[start:end] for start, end in places]
        drawn = [cased_like(around.random.choice(known[_key(word)]), word) for word in found]
        return replaced(text, places, drawn)


def _listed(text: str, known: Misspellings) -> list[Place]:
    """Return the places of words that are listed: all that is glued together, or else what hyphens divide."""
    found = []
    for start, end in words(text):
        if _key(text[start:end]) in known:
            found.append(Place(start, end))
        else:
            found += [
                Place(start + first, start + last) for first, last in _listed_parts(text[start:end], known)
            ]
    return found


def _listed_parts(text: str, known: Misspellings) -> Iterator[tuple[int, int]]:
    for start, end in UnicodeWords().spans(text):
        bare = start + len(_key(text[start:end]).partition("'")[0])
        for last in (end, bare):
            if _key(text[start:last]) in known:
                yield start, last
                break


def _key(word: str) -> str:
    return lower_case(word).replace("’", "'")
