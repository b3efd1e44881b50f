"""All manipulations by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from termwise.errors import UnknownNameError
from termwise.probes.manipulations import joined_tokens as joining
from termwise.probes.manipulations import positions as places
from termwise.probes.manipulations import removal as removing
from termwise.probes.manipulations.base import Manipulation
from termwise.probes.manipulations.joined_tokens import Joined
from termwise.probes.manipulations.keystrokes import Mistyped
from termwise.probes.manipulations.lemmas import Lemmatized
from termwise.probes.manipulations.letter_case import CaseFolded
from termwise.probes.manipulations.nonrelevant import NonRelevantSentenceAdded
from termwise.probes.manipulations.query_text import QueryPrepended, ReplacedByQuery
from termwise.probes.manipulations.removal import Removed
from termwise.probes.manipulations.reordering import Rearranged, reversed_, shuffled
from termwise.probes.manipulations.some_words import SomeWordsShuffled
from termwise.probes.manipulations.typos import Misspelled

_ALL: tuple[Manipulation, ...] = (
    Removed(
        "rem-stops-punct",
        "Stop words and punctuation removed",
        "the text without stop words and punctuation",
        removing.stop_words_and_punctuation,
    ),
    Lemmatized(),
    Rearranged(
        "shuffle-words",
        "Words shuffled",
        "the text with its words in a random order, spaces and punctuation where they were",
        places.all_words,
        shuffled,
    ),
    Rearranged(
        "shuffle-words-in-sentences",
        "Words shuffled in sentences",
        "the text with the words of each sentence in a random order, the last of each in its place",
        places.words_of_sentences,
        shuffled,
    ),
    Rearranged(
        "shuffle-sentences",
        "Sentences shuffled",
        "the text with its sentences in a random order",
        places.sentences,
        shuffled,
    ),
    Rearranged(
        "shuffle-prepositions",
        "Prepositions shuffled",
        "the text with its prepositions in each other's places",
        places.prepositions,
        shuffled,
    ),
    Misspelled(),
    Mistyped(),
    NonRelevantSentenceAdded(),
    NonRelevantSentenceAdded("prepend-nonrelevant-sentence", "Non-relevant sentence + text", first=True),
    CaseFolded(),
    Removed(
        "remove-punctuation", "Punctuation removed", "the text without punctuation", removing.punctuation
    ),
    Removed("remove-stops", "Stop words removed", "the text without stop words", removing.stop_words),
    Removed(
        "remove-first-sentence",
        "First sentence removed",
        "the text without its first sentence",
        removing.first_sentence,
    ),
    Removed(
        "remove-last-sentence",
        "Last sentence removed",
        "the text without its last sentence",
        removing.last_sentence,
    ),
    Removed(
        "remove-random-sentence",
        "Random sentence removed",
        "the text without one of its sentences",
        removing.random_sentence,
    ),
    Rearranged(
        "reverse-words",
        "Words reversed",
        "the text with its words from the last to the first",
        places.all_words,
        reversed_,
    ),
    Rearranged(
        "reverse-sentences",
        "Sentences reversed",
        "the text with its sentences from the last to the first",
        places.sentences,
        reversed_,
    ),
    Rearranged(
        "shuffle-noun-chunks",
        "Noun chunks shuffled",
        "the text with its noun chunks in each other's places",
        places.noun_chunks,
        shuffled,
    ),
    Rearranged(
        "reverse-noun-chunks",
        "Noun chunks reversed",
        "the text with its noun chunks from the last to the first, in each other's places",
        places.noun_chunks,
        reversed_,
    ),
    Rearranged(
        "shuffle-words-keep-chunks",
        "Words shuffled, noun chunks kept",
        "the text with its words in a random order, those of a noun chunk together",
        places.words_and_chunks,
        shuffled,
    ),
    Rearranged(
        "shuffle-words-in-sentences-keep-chunks",
        "Words shuffled in sentences, noun chunks kept",
        "the text with the words of each sentence in a random order, those of a noun chunk together",
        places.words_and_chunks_of_sentences,
        shuffled,
    ),
    SomeWordsShuffled(),
    QueryPrepended(),
    ReplacedByQuery(),
    Joined(
        "rejoin",
        "Tokens joined by blanks",
        "the tokens of the text, a blank between any two: a control of whatever joins them",
        joining.tokens,
    ),
    Joined(
        "rem-stops-punct-joined",
        "Stop words and punctuation removed, joined by blanks",
        "the tokens of the text without stop words and punctuation, a blank between any two",
        joining.without_stop_words_and_punctuation,
    ),
    Joined(
        "lemmatize-joined",
        "Words lemmatized, joined by blanks",
        "the tokens of the text as they stand in a dictionary, a blank between any two",
        joining.lemmas,
    ),
    Joined(
        "shuffle-words-joined",
        "Tokens shuffled, joined by blanks",
        "the tokens of the text in a random order, a blank between any two",
        joining.shuffled_tokens,
    ),
    Joined(
        "shuffle-words-in-sentences-joined",
        "Tokens shuffled in sentences, joined by blanks",
        "the tokens of each sentence in a random order, the last of each in its place, a blank between any two",
        joining.shuffled_tokens_of_sentences,
    ),
)

MANIPULATIONS: Mapping[str, Manipulation] = MappingProxyType({one.name: one for one in _ALL})
"""Whatever needs nothing but a text and what is around it, by name. The list of typos is that of codespell."""


def manipulation_of(name: str) -> Manipulation:
    """Return the manipulation of a name.

    Raises
    ------
    UnknownNameError
        If there is none.

    Examples
    --------
    >>> manipulation_of("shuffle-words").title
    'Words shuffled'
    """
    if name not in MANIPULATIONS:
        raise UnknownNameError.of("manipulation", name, MANIPULATIONS)
    return MANIPULATIONS[name]
