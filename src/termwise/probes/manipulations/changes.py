"""Changes of a text: parts in another order, parts removed, other forms of words, tokens joined by spaces.

The published manipulations join tokens by spaces, which also changes the spaces around punctuation. They exist for
comparison with published figures; `tokens` shows the effect of only the spaces.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from itertools import chain
from random import Random

from termwise.probes.language.base import Parsed, Token
from termwise.probes.manipulations.base import Change, ManipulationContext
from termwise.probes.manipulations.positions import Groups, has_word, is_punctuation, place_of, words
from termwise.probes.manipulations.text_edits import Place, contents, merged, replaced, without
from termwise.text.characters import lower_case

Order = Callable[[Sequence[str], Random], list[str]]
"""Function that returns items in another order: `shuffled` or `in_reverse`."""


def reordering(places: Callable[[Parsed], Groups], order: Order) -> Change:
    """Return the change that reorders the parts of each group; the text between them is unchanged.

    No word is lost, added or changed, so the text is the same for a ranker that counts words.
    """

    def apply(text: str, context: ManipulationContext) -> str:
        groups = places(context.language.parse(text))
        ordered = [order(contents(text, group), context.random) for group in groups]
        return replaced(text, [*chain(*groups)], [*chain(*ordered)])

    return apply


def shuffle_some_words(text: str, context: ManipulationContext) -> str:
    """Shuffle randomly chosen words, as many as there are noun chunks: the control of shuffled noun chunks."""
    places = words(text)
    count = min(len(places), len(context.language.parse(text).chunks))
    chosen = sorted(context.random.sample(places, count))
    return replaced(text, chosen, shuffled(contents(text, chosen), context.random))


def shuffled(items: Sequence[str], random: Random) -> list[str]:
    """Return items in a random order that differs from the given order, if possible.

    Examples
    --------
    >>> shuffled(["a", "b"], Random(0)), shuffled(["a", "a"], Random(0))
    (['b', 'a'], ['a', 'a'])
    """
    result = list(items)
    if len(set(result)) > 1:
        while result == list(items):
            random.shuffle(result)
    return result


def in_reverse(items: Sequence[str], random: Random) -> list[str]:
    """Return items in reverse order; nothing is random."""
    return list(items)[::-1]


def removal(places: Callable[[Parsed, ManipulationContext], list[Place]]) -> Change:
    """Return the change that removes parts of a text, such as `punctuation`; one space is kept if there was one.

    A text without any other word makes no sample.
    """

    def apply(text: str, context: ManipulationContext) -> str | None:
        removed = places(context.language.parse(text), context)
        changed = without(text, removed)
        return changed if removed and has_word(changed) else None

    return apply


def punctuation(parsed: Parsed, context: ManipulationContext) -> list[Place]:
    """Return the places of punctuation outside words; the punctuation in *don't* and *3.14* is inside."""
    return [Place(token.start, token.end) for token in parsed.tokens if is_punctuation(token.text)]


def stop_words(parsed: Parsed, context: ManipulationContext) -> list[Place]:
    """Return the places of stop words. If the language splits *don't* into two tokens, the whole is looked up."""
    whole_words = merged(
        Place(token.start, token.end) for token in parsed.tokens if not is_punctuation(token.text)
    )
    return [place for place in whole_words if context.is_stop_word(parsed.text[place.start : place.end])]


def stop_words_and_punctuation(parsed: Parsed, context: ManipulationContext) -> list[Place]:
    """Return the places of stop words and punctuation."""
    return sorted([*stop_words(parsed, context), *punctuation(parsed, context)])


def sentence_removal(position: int | None) -> Change:
    """Return the change that removes the sentence at a position; None for a random one."""

    def chosen(parsed: Parsed, context: ManipulationContext) -> list[Place]:
        if not parsed.sentences:
            return []
        sentences = parsed.sentences
        sentence = context.random.choice(sentences) if position is None else sentences[position]
        return [place_of(parsed, sentence)]

    return removal(chosen)


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
