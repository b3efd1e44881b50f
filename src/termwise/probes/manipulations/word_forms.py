"""Manipulations of word forms: lemmas and letter case."""

from __future__ import annotations

from termwise.probes.language.base import Token
from termwise.probes.manipulations.base import ManipulationContext
from termwise.probes.manipulations.positions import has_word
from termwise.probes.manipulations.text_edits import Place, replaced
from termwise.text.characters import lower_case


def fold_case(text: str, context: ManipulationContext) -> str:
    """Convert all letters to lower case."""
    return lower_case(text)


def lemmatize(text: str, context: ManipulationContext) -> str:
    """Replace words except stop words by their lemmas, with the case of the word.

    A word is unchanged if its lemma would merge with its neighbour, such as *n't* in *don't*.
    """
    tokens = [
        token
        for token in context.language.parse(text).tokens
        if not context.is_stop_word(token.text) and has_word(token.text) and _has_new_lemma(text, token)
    ]
    places = [Place(token.start, token.end) for token in tokens]
    return replaced(text, places, [cased_like(token.lemma, token.text) for token in tokens])


def _has_new_lemma(text: str, token: Token) -> bool:
    """Return whether the lemma differs from the word and remains a separate word in the text."""
    if lower_case(token.lemma) == lower_case(token.text):
        return False
    before, after = text[max(0, token.start - 1) : token.start], text[token.end : token.end + 1]
    merges = (has_word(before) and has_word(token.lemma[:1])) or (
        has_word(after) and has_word(token.lemma[-1:])
    )
    return has_word(token.lemma) and not merges


def cased_like(word: str, model: str) -> str:
    """Return a word with the case of another word: all upper, first upper, or all lower; otherwise unchanged.

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
