"""Conditions on the texts of documents: words and phrases that they contain, or do not contain.

A text contains a word or phrase if the tokens of the phrase are adjacent in the tokens of the text, in the same order.
Where an analyzer has compounds both joined and in parts, each of both forms in a phrase is in a text with either:
``"ab 1200"`` and ``"ab1200"`` are in "AB-1200/X", and ``"t-shirt"`` in "tshirt" and "t shirt".
Where the analyzer depends on an attribute, the analyzer of each language reads phrases and texts, and a text contains a
phrase if it does so for one of them. No phrase crosses the border of two fields, such as that of a title and the text
after it. Indexes that were written before stored texts had borders know them only if their fields have weights.

With synonyms (`termwise.engine.synonyms`), a text also contains a required word or phrase if it has synonyms in place
of its words; in an index without texts, a synonym of several words is left out. Excluded words have no synonyms.

Words that the analyzer removes are skipped in both, so their number and place does not matter: with a stop list that
has "of" and "in", the phrase "bank of england" is in "bank in England" and in "Bank England". Lucene counts the removed
words, but not which ones they are, so that "bank of england" is in "bank central england" there.

Where the postings of an index are the words of its texts, they decide conditions of one token, and rule out most texts
for the others. The remaining texts are read and analysed when a search needs a verdict on them, best documents first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from termwise.budget import spend
from termwise.engine.query_languages import in_documents
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.index import Index
from termwise.index.encoder_description import FUSION
from termwise.index.field_texts import unpack
from termwise.text.analyzer import Analysis, Analyzer, unknown_token
from termwise.text.analyzer_by_attribute import readings
from termwise.text.word_analyzer import WordAnalyzer

if TYPE_CHECKING:
    from termwise.engine.synonyms import Synonyms

Words = str | Sequence[str]
"""A word or phrase, or several."""

KEPT = 32
"""Number of words and phrases whose verdicts are kept for an index, one byte for each document."""

UNKNOWN, CONTAINED, LACKING = 0, 1, -1

Where = slice | npt.NDArray[np.int64]

_Places = dict[str, list[tuple[int, int]]]
"""Ranges of positions of each token of a text."""

Verdicts = npt.NDArray[np.int8]
"""Whether the text of each document contains a phrase, by position: `UNKNOWN`, `CONTAINED` or `LACKING`.

All chunks of a document have the verdict on its whole text.
"""


@dataclass(frozen=True)
class Phrase:
    """One or more words.

    Attributes
    ----------
    text : str
        As given.
    tokens : tuple of str
    edges : tuple of (int, int)
        For an analyzer of pieces, the number of characters of the first word before the tokens, and of the last word
        after them; both are 0 unless the analyzer removes pieces.
    steps : tuple of (str, int, int)
        For an analyzer of compounds with parts, the tokens with their ranges of positions, see `Analysis.positions`.
    analyzer : int
        Place of the analyzer in `TextReader.analyzers`.
    """

    text: str
    tokens: tuple[str, ...]
    edges: tuple[int, int] = (0, 0)
    steps: tuple[tuple[str, int, int], ...] = ()
    analyzer: int = 0


@final
class TextReader:
    """Finds the documents whose texts contain a phrase.

    Parameters
    ----------
    index : Index
        Its postings are used, and its texts if it stores them.
    analyzer : Analyzer
        Analyzer of the index.
    texts : Index, optional
        Another index of the same documents, whose texts are used if `index` stores none.

    Attributes
    ----------
    analyzers : tuple of Analyzer
        Those that read texts and phrases, see `termwise.text.analyzer_by_attribute.readings`.
    """

    def __init__(self, index: Index, analyzer: Analyzer, texts: Index | None = None) -> None:
        self.index = index
        self._analyzer = analyzer
        self.analyzers = readings(analyzer)
        self._texts = index if texts is None or index.stores_text else texts
        self._kept: OrderedDict[Phrase, Verdicts] = OrderedDict()
        self._lock = threading.Lock()

    @cached_property
    def postings_are_words(self) -> bool:
        """Whether the documents with a posting of a term are exactly those whose texts have it.

        This holds for models that count words, unless a weight was 0 and its posting was dropped. A network can give a
        word the weight 0, and a weighted sum of indexes does not know what was dropped from them.
        """
        encoder = self.index.manifest.encoder
        return (
            encoder.model.exact
            and encoder.model.name != FUSION
            and encoder.network is None
            and self.index.manifest.quantiser.dropped == 0
            and encoder.analyzer is not None
            and encoder.analyzer.fingerprint == self._analyzer.spec.fingerprint
        )

    @cached_property
    def _has_pieces(self) -> bool:
        return self._analyzer.vocabulary is not None

    @cached_property
    def _have_compounds(self) -> list[bool]:
        return [isinstance(each, WordAnalyzer) and each.tokenizer.nested for each in self.analyzers]

    def phrases(self, text: str) -> tuple[Phrase, ...]:
        """Analyse a word or phrase with each of the analyzers that leave a token of it.

        Raises
        ------
        ParameterError
            If the analyzers leave no token of it, or do not know a word of it.
        """
        analyses = [each.analyze(text) for each in self.analyzers]
        facts = [("given", text), ("analyzer", self._analyzer.spec.name)]
        if not any(analysis.tokens for analysis in analyses):
            raise ParameterError(
                "the analyzer of the index removes this from all texts, as it does with stop words",
                facts=facts,
                fixes=["omit it"],
            )
        if any(unknown_token(self._analyzer) in analysis.tokens for analysis in analyses):
            raise ParameterError(
                "the analyzer of the index does not know a word of this phrase, and cannot tell it from others",
                facts=facts,
                fixes=["omit it"],
            )
        phrases = []
        for place, analysis in enumerate(analyses):
            if analysis.tokens:
                last = len(analysis.tokens) - 1
                edges = _edges(text, analysis.spans, 0, last) if self._has_pieces else (0, 0)
                steps = _steps(analysis) if self._have_compounds[place] else ()
                phrases.append(Phrase(text, analysis.tokens, edges, steps, place))
        return tuple(phrases)

    def _is_in_postings(self, phrase: Phrase) -> bool:
        return self.postings_are_words and not self._has_pieces and len(phrase.tokens) == 1

    def can_decide(self, phrase: Phrase) -> bool:
        """Return whether postings, or stored texts, show which documents contain a phrase."""
        return self._is_in_postings(phrase) or self._texts.stores_text

    def verdicts(self, phrase: Phrase) -> Verdicts:
        """Return what is known about a phrase; `read` adds to it.

        Raises
        ------
        ParameterError
            If postings do not decide the condition and there are no texts.
        CorruptIndexError
            If the postings of the index are damaged.
        """
        key = replace(phrase, text="")
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        decided = self._is_in_postings(phrase)
        if not self.can_decide(phrase):
            raise ParameterError(
                "the index keeps no texts, which show whether a document contains this",
                facts=[
                    ("given", phrase.text),
                    ("index", self._texts.path),
                    (
                        "reason",
                        "the order of words is not in the index"
                        if self.postings_are_words
                        else "the model can weigh words that a text does not have, and leave out others",
                    ),
                ],
                fixes=[Fix.build(store_text=True)],
            )
        verdicts = np.full(len(self.index), UNKNOWN, dtype=np.int8)
        if self.postings_are_words:
            with_token = {token: self._with_token(token) for token in phrase.tokens}
            steps = phrase.steps or [(token, place, place + 1) for place, token in enumerate(phrase.tokens)]
            verdicts[~on_a_path([(with_token[token], start, end) for token, start, end in steps])] = LACKING
            if decided:
                verdicts[verdicts == UNKNOWN] = CONTAINED
        with self._lock:
            kept = self._kept.setdefault(key, verdicts)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return kept

    def read(self, ordinals: npt.NDArray[np.int64], phrases: Sequence[tuple[Phrase, Verdicts]]) -> None:
        """Read the texts of documents for which a verdict on a phrase is unknown, and add it."""
        unread = np.logical_or.reduce([verdicts[ordinals] == UNKNOWN for _, verdicts in phrases])
        ordinals = ordinals[unread]
        for ordinal, stored in zip(
            ordinals.tolist(), self._texts.store.document_texts(ordinals), strict=True
        ):
            spend()
            texts = unpack(stored or "")
            fields: dict[int, list[tuple[list[str] | _Places, str]]] = {}
            for phrase, verdicts in phrases:
                if verdicts[ordinal] == UNKNOWN:
                    place = phrase.analyzer
                    if place not in fields:
                        fields[place] = [(self._tokens(text, place), text) for text in texts]
                    chunks = self.index.chunks.of(ordinal)
                    contained = any(self._contains(tokens, text, phrase) for tokens, text in fields[place])
                    verdicts[chunks.start : chunks.stop] = CONTAINED if contained else LACKING

    def _tokens(self, text: str, place: int) -> list[str] | _Places:
        analyzer = self.analyzers[place]
        return _places_of(analyzer.analyze(text)) if self._have_compounds[place] else analyzer.tokens(text)

    def _contains(self, tokens: list[str] | _Places, text: str, phrase: Phrase) -> bool:
        if isinstance(tokens, dict):
            return _has_path(tokens, phrase)
        places = list(_places(tokens, list(phrase.tokens)))
        if not places or not self._has_pieces:
            return bool(places)
        spans = self._analyzer.analyze(text).spans
        last = len(phrase.tokens) - 1
        return any(_edges(text, spans, place, place + last) == phrase.edges for place in places)

    def _with_token(self, token: str) -> npt.NDArray[np.bool_]:
        """Return which documents have a posting of a token, by position; of chunks, all or none."""
        number = self.index.vocabulary.number(token)
        return documents_with(self.index, np.array([] if number is None else [number], dtype=np.int32))


def documents_with(index: Index, terms: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Return which documents have a posting of one of some terms, ascending, by position; of chunks, all or none."""
    spend(len(index))
    mask = np.zeros(len(index), dtype=np.bool_)
    for first, segment in zip(index.segments.firsts, index.segments, strict=True):
        places = segment.places_of_terms(terms)[0].tolist()
        if places:
            present = np.zeros(segment.documents, dtype=np.bool_)
            for place in places:
                present[segment.rows_with(place)] = True
            mask[first : first + len(segment)] = segment.live_part(present)
    if index.manifest.chunk and mask.any():
        starts = index.chunks.starts
        mask = np.repeat(np.logical_or.reduceat(mask, starts), index.chunks.counts(starts))
    return mask


def on_a_path(steps: Sequence[tuple[npt.NDArray[np.bool_], int, int]]) -> npt.NDArray[np.bool_]:
    """Return which documents have the tokens of some path from the first position to the last one.

    Each step is the documents that have a token, and the range of its positions, see `Analysis.positions`. So a
    document has a compound if it has the joined form or all parts.

    Examples
    --------
    >>> tshirt, t, shirt = np.array([True, False, False]), np.array([False, True, False]), np.array([False, True, True])
    >>> on_a_path([(tshirt, 0, 2), (t, 0, 1), (shirt, 1, 2)]).tolist()
    [True, True, False]
    """
    if len(steps) == 1:
        return steps[0][0]
    reached = {steps[0][1]: np.ones_like(steps[0][0])}
    for having, start, end in sorted(steps, key=itemgetter(1)):
        reached[end] = reached.get(end, False) | (reached[start] & having)
    return reached[max(reached)]


@dataclass(frozen=True, eq=False)
class TextConditions:
    """Words and phrases that the texts of results contain, and others that they do not contain.

    Attributes
    ----------
    reader : TextReader
    required : tuple of tuple of (Phrase, Verdicts)
        For each, the phrase as each analyzer writes it, and those with synonyms in place of its words: texts contain
        one of them.
    excluded : tuple of tuple of (Phrase, Verdicts)
        For each, the phrase as each analyzer writes it: texts contain none of them.
    """

    reader: TextReader
    required: tuple[tuple[tuple[Phrase, Verdicts], ...], ...]
    excluded: tuple[tuple[tuple[Phrase, Verdicts], ...], ...]

    @classmethod
    def of(
        cls,
        reader: TextReader,
        required: Sequence[str],
        excluded: Sequence[str],
        synonyms: Synonyms | None = None,
    ) -> TextConditions | None:
        """Analyse words and phrases; None if there are none. Required ones may have synonyms.

        Raises
        ------
        ParameterError
            If the analyzer removes all of a string, or there are no texts and a condition needs them.
        """
        if not required and not excluded:
            return None

        def known(phrase: Phrase) -> tuple[Phrase, Verdicts]:
            return phrase, reader.verdicts(phrase)

        def forms(phrases: tuple[Phrase, ...]) -> tuple[tuple[Phrase, Verdicts], ...]:
            text = phrases[0].text
            matchers = [] if synonyms is None else map(synonyms.matcher, reader.analyzers)
            has = in_documents(reader.index) if len(reader.analyzers) > 1 else None
            texts = dict.fromkeys(form for matcher in matchers for form in matcher.forms(text, has)[1:])
            others = chain.from_iterable(map(reader.phrases, texts))
            return tuple(map(known, dict.fromkeys((*phrases, *filter(reader.can_decide, others)))))

        return cls(
            reader,
            tuple(map(forms, dict.fromkeys(map(reader.phrases, required)))),
            tuple(tuple(map(known, phrases)) for phrases in dict.fromkeys(map(reader.phrases, excluded))),
        )

    def possible(self, where: Where = slice(None)) -> npt.NDArray[np.bool_]:
        """Return which of the selected documents, by default all, may still fulfil the conditions."""
        kept = [_any(verdicts[where] != LACKING for _, verdicts in forms) for forms in self.required]
        kept += [verdicts[where] != CONTAINED for _, verdicts in chain(*self.excluded)]
        possible: npt.NDArray[np.bool_] = np.logical_and.reduce(kept)
        return possible

    def proved(self, where: Where = slice(None)) -> npt.NDArray[np.bool_]:
        """Return which documents, all by default, are known to fulfil all conditions."""
        kept = [_any(verdicts[where] == CONTAINED for _, verdicts in forms) for forms in self.required]
        kept += [verdicts[where] == LACKING for _, verdicts in chain(*self.excluded)]
        proved: npt.NDArray[np.bool_] = np.logical_and.reduce(kept)
        return proved

    def fulfilled(self, ordinals: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return whether documents fulfil all conditions; texts are read where that is not known.

        Raises
        ------
        CorruptIndexError
            If a text is damaged.
        """
        self.reader.read(ordinals[self.possible(ordinals) & ~self.proved(ordinals)], self._both)
        return self.proved(ordinals)

    def first_fulfilled(self, ordinals: npt.NDArray[np.int64], k: int) -> npt.NDArray[np.int64]:
        """Return the places of the first `k` documents that fulfil all conditions; no later texts are read, or few."""
        found: list[int] = []
        place = 0
        while len(found) < k and place < len(ordinals):
            stop = place + max(k - len(found), place // 4)  # larger steps read compressed texts faster
            kept = self.fulfilled(ordinals[place:stop])
            found += (np.flatnonzero(kept) + place).tolist()
            place = stop
        return np.array(found[:k], dtype=np.int64)

    def in_text(
        self, ordinals: npt.NDArray[np.int64]
    ) -> Iterator[tuple[Phrase, bool, npt.NDArray[np.bool_]]]:
        """Yield each phrase, whether it is excluded, and which documents contain it."""
        self.reader.read(ordinals, self._both)
        for forms in self.required:
            yield forms[0][0], False, _any(verdicts[ordinals] == CONTAINED for _, verdicts in forms)
        for forms in self.excluded:
            yield forms[0][0], True, _any(verdicts[ordinals] == CONTAINED for _, verdicts in forms)

    @property
    def _both(self) -> tuple[tuple[Phrase, Verdicts], ...]:
        return tuple(chain(*self.required, *self.excluded))


def _any(masks: Iterable[npt.NDArray[np.bool_]]) -> npt.NDArray[np.bool_]:
    return reduce(np.logical_or, masks)


def _places(tokens: list[str], phrase: list[str]) -> Iterator[int]:
    """Yield the places where the tokens of a phrase are adjacent.

    Examples
    --------
    >>> list(_places(["a", "a", "b", "a", "b"], ["a", "b"]))
    [1, 3]
    """
    place = -1
    try:
        while True:
            place = tokens.index(phrase[0], place + 1)
            if tokens[place : place + len(phrase)] == phrase:
                yield place
    except ValueError:
        return


def _steps(analysis: Analysis) -> tuple[tuple[str, int, int], ...]:
    """Return the tokens with their ranges of positions."""
    starts, ends = analysis.positions().T.tolist()
    return tuple(zip(analysis.tokens, starts, ends, strict=True))


def _places_of(analysis: Analysis) -> _Places:
    """Return the ranges of positions of each token."""
    places: _Places = {}
    for token, start, end in _steps(analysis):
        places.setdefault(token, []).append((start, end))
    return places


def _has_path(places: _Places, phrase: Phrase) -> bool:
    """Return whether the tokens of some path through a phrase follow each other in a text.

    Examples
    --------
    >>> from termwise.text import make_analyzer
    >>> analyzer = make_analyzer("code")
    >>> phrase = Phrase("", (), steps=_steps(analyzer.analyze("userId")))
    >>> _has_path({"user": [(4, 5)], "id": [(5, 6)]}, phrase), _has_path({"user": [(4, 5)], "id": [(6, 7)]}, phrase)
    (True, False)
    """
    reached: dict[int, set[int]] = {}
    for token, first, last in sorted(phrase.steps, key=itemgetter(1)):
        ends = (end for start, end in places.get(token, ()) if first == 0 or start in reached[first])
        reached.setdefault(last, set()).update(ends)
    return bool(reached[max(reached)])


def _edges(text: str, spans: npt.NDArray[np.int32], first: int, last: int) -> tuple[int, int]:
    """Return the number of characters of the words around tokens, before the first token and after the last one."""
    start, end = int(spans[first][0]), int(spans[last][1])
    from termwise.text.words_around import word_around

    before, after = word_around(text, start, end)
    return start - before, after - end
