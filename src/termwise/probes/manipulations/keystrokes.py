"""Slips of the fingers: typos that need no list."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from termwise.probes.manipulations.base import Around
from termwise.probes.manipulations.stop_words import is_stop_word
from termwise.probes.manipulations.text_edits import Place, replaced
from termwise.text.unicode_words import UnicodeWords
from termwise.validation import check_count

SHORTEST = 4
"""Letters that a word has at least to be changed."""

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


@dataclass(frozen=True)
class Mistyped:
    """One word in so many is mistyped: a letter is hit beside, dropped, doubled or swapped with the one before.

    Words of at least 4 letters from a to z are taken, no stop words, and the first letter always stays. Which words,
    where and how is drawn.

    Attributes
    ----------
    every : int
        One for so many words of the text, and one at least.
    """

    every: int = 10
    name: str = "keystrokes"
    title: str = "Typing errors"

    @property
    def makes(self) -> str:
        """See `Manipulation`."""
        return f"the text with a slip of the fingers in one of {self.every} words"

    def __post_init__(self) -> None:
        check_count("every", self.every)

    def apply(self, text: str, around: Around) -> str | None:
        """See `Manipulation`."""
        places = [Place(*span) for span in UnicodeWords().spans(text)]
        count = max(1, round(len(places) / self.every))
        fit = [place for place in places if _is_fit(text[place.start : place.end], around)]
        drawn = sorted(around.random.sample(fit, min(count, len(fit))))
        return replaced(text, drawn, [mistyped(text[start:end], around.random) for start, end in drawn])


def mistyped(word: str, random: Random) -> str:
    """Return a word with one slip; it always differs.

    Parameters
    ----------
    word : str
        Two letters or more from a to z, in any case.
    random : random.Random
        Draws the place, the slip, and the key beside.

    Examples
    --------
    >>> [mistyped("keyboard", Random(seed)) for seed in range(1, 6)]
    ['ketboard', 'keyboar', 'keuboard', 'keboard', 'keybosrd']
    """
    place = random.randrange(1, len(word))
    before, letter, after = word[:place], word[place], word[place + 1 :]
    slips = [before + after, before + letter + letter + after, before + _beside(letter, random) + after]
    if place > 1 and word[place - 1] != letter:
        slips.append(before[:-1] + letter + before[-1] + after)
    return random.choice(slips)


def _is_fit(word: str, around: Around) -> bool:
    return len(word) >= SHORTEST and word.isascii() and word.isalpha() and not is_stop_word(word, around)


def _beside(letter: str, random: Random) -> str:
    """Return a key beside that of a letter, in the same row or those above and below."""
    small = letter.lower()
    row = next(number for number, keys in enumerate(_ROWS) if small in keys)
    place = _ROWS[row].index(small)
    near = [
        keys[other]
        for number, keys in enumerate(_ROWS)
        for other in range(len(keys))
        if keys[other] != small and _are_beside(number - row, other - place)
    ]
    found = random.choice(near)
    return found.upper() if letter.isupper() else found


def _are_beside(down: int, right: int) -> bool:
    """Whether two keys touch: each row stands half a key to the right of the one above."""
    return (down, right) in {(0, -1), (0, 1), (1, -1), (1, 0), (-1, 0), (-1, 1)}
