"""Small and capital letters."""

from __future__ import annotations

from dataclasses import dataclass

from termwise.probes.manipulations.base import Around
from termwise.text.characters import lower_case


@dataclass(frozen=True)
class CaseFolded:
    """All letters become small."""

    name: str = "fold-case"
    title: str = "Capitals made small"
    makes: str = "the text in small letters"

    def apply(self, text: str, around: Around) -> str | None:
        """See `Manipulation`."""
        return lower_case(text)


def cased_like(word: str, model: str) -> str:
    """Return a word with capitals where another has them: all, the first, or none; else as it is.

    Examples
    --------
    >>> cased_like("mouse", "MICE"), cased_like("mouse", "Mice"), cased_like("Amercia", "america")
    ('MOUSE', 'Mouse', 'amercia')
    """
    if model.islower():
        return word.lower()
    if model.isupper() and len(model) > 1:
        return word.upper()
    if model[:1].isupper() and (len(model) == 1 or model[1:].islower()):
        return word[:1].upper() + word[1:]
    return word
