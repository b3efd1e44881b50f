"""Words as they stand in a dictionary."""

from __future__ import annotations

from dataclasses import dataclass

from termwise.probes.language.base import Token
from termwise.probes.manipulations.base import Around
from termwise.probes.manipulations.letter_case import cased_like
from termwise.probes.manipulations.positions import has_word
from termwise.probes.manipulations.stop_words import is_stop_word
from termwise.probes.manipulations.text_edits import Place, replaced
from termwise.text.characters import lower_case


@dataclass(frozen=True)
class Lemmatized:
    """Words come to their lemmas, with the capitals that they have; stop words stay as they are.

    A word stays as well where its lemma would run into its neighbour: *n't* in *don't*.
    """

    name: str = "lemmatize"
    title: str = "Words lemmatized"
    makes: str = "the text with each word but stop words as it stands in a dictionary"

    def apply(self, text: str, around: Around) -> str | None:
        """See `Manipulation`."""
        changed = [
            token
            for token in around.language.parse(text).tokens
            if not is_stop_word(token.text, around) and has_word(token.text) and _is_changed(text, token)
        ]
        places = [Place(token.start, token.end) for token in changed]
        return replaced(text, places, [cased_like(token.lemma, token.text) for token in changed])


def _is_changed(text: str, token: Token) -> bool:
    """Whether the lemma is another word, and one of its own where the token stands."""
    if lower_case(token.lemma) == lower_case(token.text):
        return False
    before, after = text[max(0, token.start - 1) : token.start], text[token.end : token.end + 1]
    runs_together = (has_word(before) and has_word(token.lemma[:1])) or (
        has_word(after) and has_word(token.lemma[-1:])
    )
    return has_word(token.lemma) and not runs_together
