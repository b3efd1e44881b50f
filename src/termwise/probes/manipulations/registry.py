"""Registry of all manipulations."""

from __future__ import annotations

from functools import partial

from termwise.probes.core.judged_texts import NOT_RELEVANT
from termwise.probes.manipulations import additions, changes
from termwise.probes.manipulations import positions as places
from termwise.probes.manipulations.base import Manipulation
from termwise.probes.manipulations.changes import (
    in_reverse,
    joined,
    removal,
    reordering,
    sentence_removal,
    shuffle_some_words,
    shuffled,
)
from termwise.probes.manipulations.text_edits import in_a_row
from termwise.probes.manipulations.typos import misspelling, mistype
from termwise.text.characters import lower_case

_ALL = (
    Manipulation(
        "rem-stops-punct",
        "Stop words and punctuation removed",
        "the text without stop words and punctuation",
        removal(changes.stop_words_and_punctuation),
    ),
    Manipulation(
        "lemmatize",
        "Words lemmatized",
        "the text with lemmas in place of words, except stop words",
        changes.lemmatize,
    ),
    Manipulation(
        "shuffle-words",
        "Words shuffled",
        "the text with its words in random order; spaces and punctuation stay",
        reordering(places.all_words, shuffled),
    ),
    Manipulation(
        "shuffle-words-in-sentences",
        "Words shuffled in sentences",
        "the text with the words of each sentence in random order; the last word of each sentence stays",
        reordering(places.words_of_sentences, shuffled),
    ),
    Manipulation(
        "shuffle-sentences",
        "Sentences shuffled",
        "the text with its sentences in random order",
        reordering(places.sentences, shuffled),
    ),
    Manipulation(
        "shuffle-prepositions",
        "Prepositions shuffled",
        "the text with its prepositions in random order",
        reordering(places.prepositions, shuffled),
    ),
    misspelling(),
    Manipulation("keystrokes", "Typing errors", "the text with a typing error in one of 10 words", mistype),
    Manipulation(
        "append-nonrelevant-sentence",
        "Text + non-relevant sentence",
        "the text followed by a sentence of a text that was judged not relevant to the query",
        partial(additions.add_nonrelevant_sentence, before=False),
        needs=NOT_RELEVANT,
    ),
    Manipulation(
        "prepend-nonrelevant-sentence",
        "Non-relevant sentence + text",
        "the text after a sentence of a text that was judged not relevant to the query",
        partial(additions.add_nonrelevant_sentence, before=True),
        needs=NOT_RELEVANT,
    ),
    Manipulation("fold-case", "Lower case", "the text in lower case", lambda text, context: lower_case(text)),
    *(
        Manipulation(f"remove-{name}", f"{title} removed", f"the text without {part}", change)
        for name, title, part, change in (
            ("punctuation", "Punctuation", "punctuation", removal(changes.punctuation)),
            ("stops", "Stop words", "stop words", removal(changes.stop_words)),
            ("first-sentence", "First sentence", "its first sentence", sentence_removal(0)),
            ("last-sentence", "Last sentence", "its last sentence", sentence_removal(-1)),
            ("random-sentence", "Random sentence", "a random sentence", sentence_removal(None)),
        )
    ),
    Manipulation(
        "reverse-words",
        "Words reversed",
        "the text with its words in reverse order",
        reordering(places.all_words, in_reverse),
    ),
    Manipulation(
        "reverse-sentences",
        "Sentences reversed",
        "the text with its sentences in reverse order",
        reordering(places.sentences, in_reverse),
    ),
    Manipulation(
        "shuffle-noun-chunks",
        "Noun chunks shuffled",
        "the text with its noun chunks in random order",
        reordering(places.noun_chunks, shuffled),
    ),
    Manipulation(
        "reverse-noun-chunks",
        "Noun chunks reversed",
        "the text with its noun chunks in reverse order",
        reordering(places.noun_chunks, in_reverse),
    ),
    Manipulation(
        "shuffle-words-keep-chunks",
        "Words shuffled, noun chunks kept",
        "the text with its words in random order; noun chunks stay together",
        reordering(places.words_and_chunks, shuffled),
    ),
    Manipulation(
        "shuffle-words-in-sentences-keep-chunks",
        "Words shuffled in sentences, noun chunks kept",
        "the text with the words of each sentence in random order; noun chunks stay together",
        reordering(places.words_and_chunks_of_sentences, shuffled),
    ),
    Manipulation(
        "shuffle-some-words",
        "As many words shuffled as there are noun chunks",
        "the text with as many shuffled words as it has noun chunks",
        shuffle_some_words,
    ),
    Manipulation(
        "prepend-query",
        "Query + text",
        "the text with the query before it",
        lambda text, context: in_a_row(context.about.query, text),
    ),
    Manipulation(
        "replace-by-query",
        "Query in place of the text",
        "the query",
        lambda text, context: context.about.query,
    ),
    Manipulation(
        "rejoin",
        "Tokens joined by blanks",
        "the tokens of the text, joined by spaces: a control of the probes that join tokens",
        joined(changes.tokens),
    ),
    Manipulation(
        "rem-stops-punct-joined",
        "Stop words and punctuation removed, joined by blanks",
        "the tokens of the text without stop words and punctuation, joined by spaces",
        joined(changes.without_stop_words_and_punctuation),
    ),
    Manipulation(
        "lemmatize-joined",
        "Words lemmatized, joined by blanks",
        "the lemmas of the text, joined by spaces",
        joined(changes.lemmas),
    ),
    Manipulation(
        "shuffle-words-joined",
        "Tokens shuffled, joined by blanks",
        "the tokens of the text in random order, joined by spaces",
        joined(changes.shuffled_tokens),
    ),
    Manipulation(
        "shuffle-words-in-sentences-joined",
        "Tokens shuffled in sentences, joined by blanks",
        "the tokens of each sentence in random order except the last, joined by spaces",
        joined(changes.shuffled_tokens_of_sentences),
    ),
)

MANIPULATIONS = {each.name: each for each in _ALL}
"""Manipulations that need no data of the user, by name; ``typos`` uses the list of codespell."""
