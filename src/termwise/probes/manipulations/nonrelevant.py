"""A sentence that has nothing to do with the query."""

from __future__ import annotations

from dataclasses import dataclass

from termwise.probes.manipulations.base import Around
from termwise.probes.manipulations.positions import has_word, place_of
from termwise.probes.manipulations.text_edits import in_a_row


@dataclass(frozen=True)
class NonRelevantSentenceAdded:
    """A sentence of a text that was judged not relevant to the query is added.

    A text of the lowest grade is drawn, never the one that is changed nor a copy of it, and a sentence of it. There is
    no sample where the query has no such text.

    Attributes
    ----------
    name, title : str
        See `Manipulation`.
    first : bool
        Whether it comes before the text.
    """

    name: str = "append-nonrelevant-sentence"
    title: str = "Text + non-relevant sentence"
    first: bool = False

    @property
    def makes(self) -> str:
        """See `Manipulation`."""
        place = "before" if self.first else "behind"
        return f"the text with a sentence {place} it from a text that was judged not relevant to the query"

    def apply(self, text: str, around: Around) -> str | None:
        """See `Manipulation`."""
        sentence = _drawn(text, around)
        if sentence is None:
            return None
        return in_a_row(sentence, text) if self.first else in_a_row(text, sentence)


def _drawn(text: str, around: Around) -> str | None:
    others = [
        one.text
        for one in around.judged.of(around.about.query_id)
        if one.grade == around.judged.lowest and one.doc_id != around.about.doc_id and one.text != text
    ]
    around.random.shuffle(others)
    for other in others:
        parsed = around.language.parse(other)
        places = [place_of(parsed, sentence) for sentence in parsed.sentences]
        sentences = [sentence for start, end in places if has_word(sentence := other[start:end])]
        if sentences:
            return around.random.choice(sentences)
    return None
