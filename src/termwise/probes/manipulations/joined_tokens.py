"""Published manipulations that join tokens by spaces.

They also change the spaces around punctuation. They exist for comparison with published figures; `tokens` shows the
effect of only the spaces.
"""

from __future__ import annotations

import string
from collections.abc import Callable

from termwise.probes.language.base import Parsed
from termwise.probes.manipulations.base import Change, ManipulationContext
from termwise.probes.manipulations.positions import has_word
from termwise.probes.manipulations.reordering import shuffled

_PUNCTUATION_TO_SPACES = str.maketrans(dict.fromkeys(string.punctuation, " "))


def joined(tokens: Callable[[Parsed, ManipulationContext], list[str]]) -> Change:
    """Return the change that joins tokens by one space each; a text without any other word makes no sample."""

    def apply(text: str, context: ManipulationContext) -> str | None:
        changed = " ".join(tokens(context.language.parse(text), context))
        return changed if has_word(changed) else None

    return apply


def tokens(parsed: Parsed, context: ManipulationContext) -> list[str]:
    """Return all tokens."""
    return [token.text for token in parsed.tokens]


def shuffled_tokens(parsed: Parsed, context: ManipulationContext) -> list[str]:
    """Return all tokens of the text, shuffled."""
    return shuffled(tokens(parsed, context), context.random)


def shuffled_tokens_of_sentences(parsed: Parsed, context: ManipulationContext) -> list[str]:
    """Return the tokens of each sentence, shuffled except the last."""
    result: list[str] = []
    for first, last in parsed.sentences:
        *moved, fixed = (token.text for token in parsed.tokens[first:last])
        result += [*shuffled(moved, context.random), fixed]
    return result


def lemmas(parsed: Parsed, context: ManipulationContext) -> list[str]:
    """Return the lemmas; stop words are unchanged."""
    return [token.text if context.is_stop_word(token.text) else token.lemma for token in parsed.tokens]


def without_stop_words_and_punctuation(parsed: Parsed, context: ManipulationContext) -> list[str]:
    """Return the tokens that are not stop words, with spaces in place of ASCII punctuation."""
    kept = (token.text for token in parsed.tokens if not context.is_stop_word(token.text))
    return [word.translate(_PUNCTUATION_TO_SPACES) for word in kept]
