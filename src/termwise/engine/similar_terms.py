"""Terms of an index that resemble a word of a query: of similar spelling, or with the word as their prefix.

The distance of two terms is the number of edits between them: insertions, deletions and substitutions of one character,
and transpositions of two neighbours, none of which is edited again (optimal string alignment). `most_edits` says how
many are allowed.

Before terms are compared, most of them are ruled out by their sets of characters. With at most d edits, a term that is
longer than the word by m characters lacks at most d - max(m, 0) characters of the word, and has at most d - max(-m, 0)
that the word lacks. Characters are mapped to 32 bits; two that share a bit can only weaken the test.

The terms of an index can be stems, and a mistyped word has another stem: the analyzer removes no ending from
*solugions* or *sleepign*. Therefore words are compared as well, as far as they can be known: the terms, with the ending
of the mistyped word, and the mistyped word, with one edit at its end. The analyzer decides: *solut* with *ions* is a
word of the term *solut*, and *sleeping* one of *sleep*. Without stemming, this finds the same terms again.

A similar stem can be that of a word that resembles the mistyped one little: *dri*, the stem of *dry*, is one edit from
*dril*, the stem of *drils*. So the distance of a term is that of its words from the mistyped word: of the words that
stored texts write, with or without the last character, as in *lists* for *lsit*, or else of the word that was compared.
Where texts are stored, a term is similar only if one of its words is within `most_edits` of the mistyped one.

A missing or added blank is an edit, too; see `termwise.engine.word_breaks`.

Where the analyzer depends on an attribute, each language has similar terms of its own, among its terms, for words that
are in no other language; see `SimilarTermsByLanguage`. There, the stemmer of one language can write a mistyped word as
a term that its documents have: that of French writes *adiddas* as *adidas*. Such a word is in this language only if the
stored texts write it, up to its ending. It is doubted without a look at texts: if other languages have one of its
`respellings` with the same term, and not the word itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import ClassVar, Literal, final

import numpy as np
import numpy.typing as npt

from termwise.budget import spend
from termwise.engine.added_terms import AddedTerm, AddedTerms, Span
from termwise.engine.codes import has_digits
from termwise.engine.query_vector import query_vector
from termwise.engine.retrieval import first_stage
from termwise.engine.term_spread import term_spreads
from termwise.engine.word_breaks import WordBreak, WordBreaks, documents_with_term, documents_with_word
from termwise.engine.word_forms import is_form_of, respellings
from termwise.fast_dataclass import dataclass
from termwise.index import Index
from termwise.index.segment import concatenated_ranges
from termwise.index.terms import MappedVocabulary
from termwise.text import LOWER_CASE, Analysis, Analyzer, WordAnalyzer
from termwise.text.analyzer_by_attribute import SEPARATOR, AnalyzerByAttribute, language_of_token
from termwise.text.words_with_parts import DASHES, HYPHENS
from termwise.weights import TermWeights

MOST_TERMS = 5
"""Largest number of similar terms of a word."""

MOST_CODES = 50
"""Largest number of terms that begin with a word with a digit: codes differ little, and each is in few documents."""

LONGEST_ENDING = 4
"""Length of the longest ending of a word that a stemmer may remove."""

SHORTEST, TWO_EDITS = 4, 8
"""Numbers of characters from which on a similar word may differ by one edit and by two."""

LONGEST = 100
"""Number of characters of the longest word with similar terms; longer ones are data, and take much time and memory."""

REMEMBERED = 256
"""Number of words whose similar terms are kept."""

MOST_WORDS = 50
"""Number of words of a query, the first ones that the index lacks, for which similar terms are looked for."""

MOST_LETTERS = 40
"""Number of letters, the most frequent ones of the terms, that are tried at the end of a word."""

TEXTS = 20
"""Number of documents in which words with a term are looked for."""

CHARACTERS = 20_000
"""Length of the beginning of a text in which they are looked for; three such texts are enough."""

MOST_COMPLETIONS = 50
"""Largest number of terms that are tried as completions of the last word, those that separate documents best first."""

MOST_COMPARED = 200
"""Largest number of terms whose spread is compared for completions, the most frequent ones."""

FEW_DOCUMENTS = 200
"""If at most so many documents contain the words before the last one, completions are looked for in their terms."""

JOINTS = f"-/_{HYPHENS}{DASHES}"
"""Characters that can join the parts of a word, such as hyphens; a completion can continue after them."""


@dataclass(frozen=True)
class SimilarTerm:
    """Term of an index that resembles a word.

    Attributes
    ----------
    term : str
        The term in the index.
    number : int
        Its number.
    word : str
        A word of this term that resembles the given word: the term itself if none is known.
    distance : int
        Number of edits between the given word and the nearest word of the term; 0 for a term that begins with the word.
    documents : int
        Number of documents, or of chunks of documents, with a weight for the term.
    spread : float
        How well it separates the documents, of completions; see `termwise.engine.term_spread`.
    """

    term: str
    number: int
    word: str
    distance: int
    documents: int
    spread: float = 0.0


def most_edits(word: str) -> int:
    """Return the largest distance of a similar term: 0, or 1 from four characters on, or 2 from eight to `LONGEST`.

    Words of three characters all resemble others by chance, and with two edits, so do most words of six or seven
    (experiments/results/typos.md and typo_rules.md). A word with a digit has no similar terms, because another number
    is another thing.

    Examples
    --------
    >>> most_edits("fox"), most_edits("kettle"), most_edits("backpack"), most_edits("type66")
    (0, 1, 2, 0)
    """
    if not SHORTEST <= len(word) <= LONGEST or has_digits(word):
        return 0
    return 1 if len(word) < TWO_EDITS else 2


def edits(word: str, other: str) -> int:
    """Return the distance of two words, whatever their case.

    Examples
    --------
    >>> edits("megring", "Merging"), edits("drils", "dry")
    (1, 3)
    """
    from rapidfuzz.distance import OSA

    return int(OSA.distance(word.lower(), other.lower()))


@dataclass(frozen=True)
class Correction:
    """Words of a query that are probably mistyped, and those that they stand for.

    Attributes
    ----------
    spans : tuple of (int, int)
        Positions of the typed words in the query.
    similar : tuple of SimilarTerm
        Terms of similar spelling.
    other_break : WordBreak or None
        The words with a blank more or less.
    """

    spans: tuple[Span, ...]
    similar: tuple[SimilarTerm, ...]
    other_break: WordBreak | None

    def added_to(self, query: str, prefix: str) -> list[AddedTerm]:
        """Return the terms to add to a query, see `SimilarTerms.added_to`; `prefix` is the beginning of all terms."""
        typed, other = query[slice(*self.spans[-1])], self.other_break
        total = sum(term.documents for term in self.similar)
        total += 0 if other is None else other.documents + other.typed
        added = [
            _added(
                prefix, term, "fuzzy", (1 - term.distance / len(typed)) * term.documents / total, self.spans
            )
            for term in self.similar
        ]
        if other is not None:
            words = typed.split()
            share = (1 - 1 / len(" ".join(words))) * other.documents / total * other.weight
            added += [
                AddedTerm(prefix + term, number, other.text, "fuzzy", share, self.spans, distance=1)
                for term, number in other.terms
            ]
        return added


class SimilarTerms:
    """Looks for similar terms among those that a document of the index has.

    Parameters
    ----------
    index : Index
        An index of whole words, see `of`.
    analyzer : Analyzer
        Analyzer of its queries.
    is_word : callable, optional
        Returns whether a word is spelt correctly although no document has it. Such a word has no similar terms.
    vocabulary : MappedVocabulary or TermsOfLanguage, optional
        Terms to look among; by default those of the index.
    """

    replaces: ClassVar[bool] = False  # words with added terms

    def __init__(
        self,
        index: Index,
        analyzer: Analyzer,
        *,
        is_word: Callable[[str], bool] = lambda word: False,
        vocabulary: MappedVocabulary | TermsOfLanguage | None = None,
    ) -> None:
        self.index = index
        self.analyzer = analyzer
        self.vocabulary = index.vocabulary if vocabulary is None else vocabulary
        self._is_word = is_word
        # A search looks for the same words several times: for each part of a mixture, suggestions and explanations.
        self._remembered: dict[tuple[str, str], tuple[SimilarTerm, ...]] = {}
        self._written: dict[int, _Written] = {}

    @classmethod
    def of(cls, index: Index, analyzer: Analyzer) -> SimilarTerms | SimilarTermsByLanguage | None:
        """Return the similar terms of an index; None if its terms are pieces of words."""
        if analyzer.vocabulary is not None or index.term_vectors is not None:
            return None
        if isinstance(analyzer, AnalyzerByAttribute):
            return SimilarTermsByLanguage(index, analyzer)
        return cls(index, analyzer)

    def knowing(self, is_word: Callable[[str], bool]) -> SimilarTerms:
        """Return the look-up that also knows other words, see `is_word`."""
        return SimilarTerms(self.index, self.analyzer, is_word=is_word, vocabulary=self.vocabulary)

    def of_language(self, language: str | None) -> SimilarTerms:
        """Return the look-up itself; see `SimilarTermsByLanguage`."""
        return self

    @property
    def prefix(self) -> str:
        """Beginning of all terms in the index, which `SimilarTerm.term` lacks: language and colon, or nothing."""
        return self.vocabulary.prefix if isinstance(self.vocabulary, TermsOfLanguage) else ""

    @property
    def languages(self) -> Sequence[SimilarTerms]:
        """The look-up itself, as that of the only language."""
        return (self,)

    def has(self, word: str) -> bool:
        """Return whether a document has a word, or the analyzer removes it."""
        tokens = self.analyzer.tokens(word)
        return not tokens or any(map(self.documents, tokens))

    def is_known(self, word: str) -> bool:
        """Return whether a word is spelled correctly: a document has a token of it, or the analyzer removes it."""
        return self.has(word)

    def documents_with(self, word: str) -> int:
        """Return how many documents contain a word, a compound as a whole; 0 for a word that the analyzer removes."""
        token = self._token(word)
        return 0 if token is None else self.documents(token)

    def _token(self, word: str) -> str | None:
        if isinstance(self.analyzer, WordAnalyzer):
            return self.analyzer.token(word)  # an unknown compound takes long to take apart
        return next(iter(self.analyzer.tokens(word)), None)

    def with_same_term(self, word: str) -> list[str]:
        """Return the respellings of a word that have the same term; none if no document contains the term."""
        token = self._token(word)
        if token is None or not self.documents(token):
            return []
        return [each for each in respellings(word) if self._token(each) == token]

    def forms_of(self, word: str) -> Counter[str]:
        """Return the words that stored texts write with the term of a word, see `written`."""
        token = self._token(word)
        number = None if token is None else self.vocabulary.number(token)
        if token is None or number is None:
            return Counter()
        return self.written(SimilarTerm(token, number, word, 0, self.documents(token)))

    def writes(self, word: str, respelt: Iterable[str]) -> bool | None:
        """Return whether stored texts write a word, up to its ending, rather than other words of its term.

        Parameters
        ----------
        word : str
            A word of which documents have the term.
        respelt : iterable of str
            Other words of this term.

        Returns
        -------
        bool or None
            None if no text is known with the term.
        """
        forms, typed = {self.unstemmed(each) for each in self.forms_of(word)}, self.unstemmed(word)
        if not forms:
            return None
        return typed in forms or (
            forms.isdisjoint(map(self.unstemmed, respelt)) and any(is_form_of(typed, each) for each in forms)
        )

    def documents(self, term: str) -> int:
        """Return the number of documents with a term, 0 if it is not in the index."""
        number = self.vocabulary.number(term)
        return 0 if number is None else int(self.index.document_frequencies[number])

    def missing(self, words: Mapping[str, tuple[Span, ...]]) -> list[tuple[str, tuple[Span, ...]]]:
        """Return the first `MOST_WORDS` words of a text that no document has, with their places in the text.

        A compound is not missing if a document has one of its parts, and neither are parts of a compound that it has.
        """
        known = [span for token, spans in words.items() if self.documents(token) for span in spans]

        def is_known(start: int, end: int) -> bool:
            return any(
                (first <= start and end <= last) or (start <= first and last <= end) for first, last in known
            )

        missing = ((token, spans) for token, spans in words.items() if not is_known(*spans[0]))
        return list(islice(missing, MOST_WORDS))

    def nearest(self, token: str, word: str) -> tuple[SimilarTerm, ...]:
        """Return the terms with the smallest distance to a word, most frequent ones first.

        Parameters
        ----------
        token : str
            A word as the analyzer writes it, which the index lacks.
        word : str
            The same word as typed.

        Returns
        -------
        tuple of SimilarTerm
            At most `MOST_TERMS`, all with the same distance; empty if it would exceed `most_edits`, or the word is
            spelt correctly. Terms that stored texts write only as words of other spelling are left out.
        """
        found = self._remembered.get((token, word))
        if found is None:
            found = self._nearest(token, word)
            if len(self._remembered) >= REMEMBERED:
                self._remembered.clear()
            self._remembered[token, word] = found
        return found

    def nearest_codes(self, code: str) -> tuple[SimilarTerm, ...]:
        """Return the terms with a digit that differ from a code by one edit, most frequent ones first.

        They are for suggestions: another code is another thing, and `nearest` returns none for a word with a digit.
        """
        if len(code) > LONGEST:
            return ()
        spend()
        found = self._within(code, 1)
        numbers = [number for number, term in found.items() if has_digits(term)]
        return tuple(self._most_frequent(np.array(numbers, dtype=np.int64), 1))

    def _nearest(self, token: str, word: str) -> tuple[SimilarTerm, ...]:
        if self._is_word(word):
            return ()
        word = word.lower()
        most = max(most_edits(token), most_edits(word))
        near: dict[int, SimilarTerm] = {}
        for distance in range(1, most + 1):
            spend()
            found = self._within(token, distance) if distance <= most_edits(token) else {}
            # Other analyzers can be slow, and their form of a word depends on its neighbours.
            if isinstance(self.analyzer, WordAnalyzer):
                found |= self._of_words_within(word, distance)
            numbers = np.fromiter(found, dtype=np.int64)
            terms = self._most_frequent(numbers, distance, len(found) if self._has_stems else MOST_TERMS)
            terms = [replace(term, word=found[term.number]) for term in terms]
            if self._has_stems:
                # Some of the nearest terms can have no word of similar spelling.
                terms = sorted(terms, key=lambda term: edits(word, term.word))[: 2 * MOST_TERMS]
                terms = [
                    each for term in terms if (each := self._with_distance(word, most, term)) is not None
                ]
            near |= {term.number: term for term in terms if term.number not in near}
            least = min((term.distance for term in near.values()), default=0)
            if 0 < least <= distance:
                break
        nearest = [term for term in near.values() if term.distance == least] if near else []
        return tuple(sorted(nearest, key=lambda term: (-term.documents, term.term))[:MOST_TERMS])

    def _with_distance(self, word: str, most: int, term: SimilarTerm) -> SimilarTerm | None:
        """Return a term with the distance of its words from a word; None if texts write no word of similar spelling."""
        words = self.written(term)
        if not words:
            return replace(term, distance=edits(word, term.word))
        # The last character can be the ending of a plural, which the stemmer removes. An accent that the analyzer
        # removes is no edit.
        word = self.unstemmed(word)
        distance = min(
            edits(word, self.unstemmed(form)) for each in words for form in (each, each[:-1]) if form
        )
        return replace(term, distance=max(1, distance)) if distance <= most else None

    @cached_property
    def _has_stems(self) -> bool:
        """Whether a term can be another string than a word in lower case, which has another distance."""
        analyzer = self.analyzer
        return isinstance(analyzer, WordAnalyzer) and not all(
            step == LOWER_CASE or step.name.startswith("stop:") for step in analyzer.steps
        )

    def written(self, term: SimilarTerm) -> Counter[str]:
        """Return the words of a term in the texts in which it has its largest weights, and how often each is there.

        Parts of longer words are counted if the term is nowhere a word of its own. Empty if the index stores no texts,
        or the term is not in the first `CHARACTERS` of these `TEXTS`.
        """
        return self._in_texts(term).words

    def is_part_of_codes(self, term: SimilarTerm) -> bool:
        """Return whether these texts have a term only in compounds with a digit, as *rd* in ``AB-12/RD``.

        A part of four letters or more is a word of its own: *pack* in ``12-pack``.
        """
        return not most_edits(term.term) and self._in_texts(term).only_in_codes

    def _in_texts(self, term: SimilarTerm) -> _Written:
        found = self._written.get(term.number)
        if found is None:
            spend()
            words, parts, only_in_codes = Counter[str](), Counter[str](), True
            for text in self.texts_with([term.number]):
                analysis = self.analyzer.analyze(text)
                spans = analysis.spans.tolist()
                for places in analysis.compounds():
                    whole = text[slice(*spans[places.start])]
                    for place in places:
                        if analysis.tokens[place] == term.term:
                            (words if place == places.start else parts)[text[slice(*spans[place])]] += 1
                            only_in_codes &= place > places.start and has_digits(whole)
            found = _Written(words or parts, only_in_codes and bool(parts))
            if len(self._written) >= REMEMBERED:
                self._written.clear()
            self._written[term.number] = found
        return found

    def texts_with(self, numbers: Sequence[int]) -> Iterator[str]:
        """Yield the first part of the stored texts in which terms have their largest weights."""
        if self.index.stores_text:
            row = TermWeights.of_query(dict.fromkeys(sorted(numbers), 1.0), self.index.vocabulary.id)
            ordinals, _ = first_stage(self.index, query_vector(self.index, row), TEXTS)
            left = 3 * CHARACTERS
            for text in self.index.document_texts(ordinals):
                if text is not None and left > 0:
                    left -= min(len(text), CHARACTERS)
                    yield text[:CHARACTERS]

    def _of_words_within(self, word: str, distance: int) -> dict[int, str]:
        """Return words within a distance of a word, as far as they can be known, by the numbers of their terms."""
        found: dict[int, str] = {}
        for end in range(max(1, len(word) - LONGEST_ENDING), len(word)):
            spend()
            if distance <= most_edits(word[:end]):
                found |= {
                    number: term + word[end:]
                    for number, term in self._within(word[:end], distance).items()
                    if self.analyzer.tokens(term + word[end:]) == [term]
                }
        if distance == 1 <= most_edits(word):
            edited = " ".join(sorted(self._with_one_edit(word)))
            analysis = self.analyzer.analyze(edited)
            spans, wholes = analysis.spans.tolist(), {each.start for each in analysis.compounds()}
            words: dict[str, str] = {}
            for place in sorted(range(len(spans)), key=lambda place: place not in wholes):  # parts last
                words.setdefault(analysis.tokens[place], edited[slice(*spans[place])])
            numbers = self.vocabulary.numbers(list(words)).tolist()
            found |= {
                number: each
                for number, each in zip(numbers, words.values(), strict=True)
                if number >= 0 and self.index.document_frequencies[number] > 0
            }
        return found

    def _with_one_edit(self, word: str) -> set[str]:
        """Return all words that differ from a word by one edit among its last characters."""
        words = set()
        for place in range(max(1, len(word) - LONGEST_ENDING), len(word) + 1):
            before, after = word[:place], word[place:]
            words |= {before + letter + after for letter in self._characters.letters}
            words |= {before + letter + after[1:] for letter in self._characters.letters}
            words |= {before + after[1:], before[:-1] + after[:1] + before[-1] + after[1:]}
        return words

    def _within(self, word: str, distance: int) -> dict[int, str]:
        """Return the terms within a distance of a word by number."""
        from rapidfuzz.distance import OSA
        from rapidfuzz.process import cdist

        numbers = self._characters.candidates(word, distance)
        terms = self.vocabulary.tokens(numbers)
        distances = cdist([word], terms, scorer=OSA.distance, score_cutoff=distance, dtype=np.uint8)[0]
        return {int(numbers[place]): terms[place] for place in np.flatnonzero(distances <= distance).tolist()}

    def starting_with(self, prefix: str, *, without: str) -> list[SimilarTerm]:
        """Return the most frequent terms that begin with a prefix, except one.

        They are at most `MOST_TERMS`, or `MOST_CODES` if the prefix has a digit.
        """
        numbers = self.vocabulary.starting_with(prefix)
        most = MOST_CODES if has_digits(prefix) else MOST_TERMS
        return self._most_frequent(numbers[numbers != self.vocabulary.number(without)], 0, most)

    def completing(self, text: str, is_known: Callable[[str], bool]) -> tuple[int, Iterator[SimilarTerm]]:
        """Return where the last word of a text begins, and the terms that may complete it.

        These are the terms that begin with the word, the term of the word itself, and terms that the word begins with:
        they can be stems of longer words. Of them, only those are returned that a document has together with all words
        before the last one, and with all parts of the last one if it ends with one of `JOINTS`. Those that separate the
        documents best come first, see `term_spreads`.

        Parameters
        ----------
        text : str
        is_known : callable
            Returns whether any language has a word. Other words before the last one do not matter: they are mistyped.

        Returns
        -------
        (int, iterator of SimilarTerm)
            No terms if the text does not end with a word.
        """
        is_open = text.endswith(tuple(JOINTS))
        longer = text + "x" if is_open else text
        last = self._last_word(longer, self.analyzer.analyze(longer))
        if last is None or last[0] == len(text):
            return len(text), iter(())
        start, token = last[0], "" if is_open else last[1]
        word = self._beginning(token, text[start:])
        shorter = [word[:end] for end in range(max(1, len(word) - LONGEST_ENDING), len(word))]
        others = self.vocabulary.numbers([token, *shorter])
        numbers = np.union1d(self.vocabulary.starting_with(word), others[others >= 0])
        before = self._with_words_of(text if is_open else text[:start], is_known)
        if before is None:
            return start, iter(self._most_separating(numbers))
        ordinals = np.flatnonzero(before)
        if len(ordinals) <= FEW_DOCUMENTS:
            numbers = np.intersect1d(numbers, self.index.impacts(ordinals).terms)
        terms = self._most_separating(numbers)
        return start, (
            term for term in terms if (before & documents_with_term(self.index, term.number)).any()
        )

    def _with_words_of(self, text: str, is_known: Callable[[str], bool]) -> npt.NDArray[np.bool_] | None:
        """Return a mask of the documents that contain all known words of a text; None if no word is known."""
        analysis = self.analyzer.analyze(text)
        found: npt.NDArray[np.bool_] | None = None
        for places in analysis.compounds()[:MOST_WORDS]:
            if is_known(text[slice(*analysis.spans[places.start])]):
                having = documents_with_word(self.index, self.vocabulary.number, analysis, places)
                found = having if found is None else found & having
        return found

    def _beginning(self, token: str, typed: str) -> str:
        """Return the beginning of the terms that complete a word."""
        # A stemmer has shortened a word that is complete; other terms with its stem do not begin with it.
        return token if len(token) == len(typed) else self.unstemmed(typed)

    def unstemmed(self, word: str) -> str:
        """Return a word as the analyzer writes it before stemming, in lower case; stop words are not removed."""
        for step in self.analyzer.steps if isinstance(self.analyzer, WordAnalyzer) else ():
            if step.name.startswith(("stem:", "lemma:")):
                break
            word = step(word) or word
        return word.lower()

    def _last_word(self, text: str, analysis: Analysis) -> tuple[int, str] | None:
        """Return where the last word of a text begins, and its token; None if the text does not end with a word.

        The token is empty if the analyzer removes the word, as it does with stop words: *was* can become *washed*.
        """
        for place in analysis.compounds()[-1] if analysis.tokens else ():
            start, end = analysis.spans[place].tolist()
            if end == len(text) and " " not in text[start:]:
                return start, analysis.tokens[place]
        spans = self.analyzer.tokenizer.spans(text) if isinstance(self.analyzer, WordAnalyzer) else []
        return (spans[-1][0], "") if spans and spans[-1][1] == len(text) else None

    def added_to(self, query: str, *, fuzzy: bool, prefix: bool) -> list[AddedTerm]:
        """Return the terms to add to a query.

        A similar term has the share (1 - distance / length of the word) · its part of the documents of all similar
        terms of the word. Words that differ by a blank are such terms at the distance 1, with the documents that have
        all of them: two words have half of the share each, and a joined word, which is added for two, has the weight of
        both; its part is that of its documents and those with both words.

        The share of a term that begins with the last word is its part of the documents of all these terms and of the
        word itself: an estimate of the probability that the word will be completed to it. If the word has a digit and
        no document has it, it is the beginning of a code, and the share is 1: a document of each code matches all that
        was typed.

        Parameters
        ----------
        query : str
            Text of the query.
        fuzzy : bool
            Add similar terms of the words that the index lacks, of the first `MOST_WORDS`, and words with other blanks.
        prefix : bool
            Add the terms that begin with the last word, if the query ends with it, whether the index has it or not, and
            also if the analyzer removes it. If there are any, the word gets no terms of similar spelling.
        """
        analysis = self.analyzer.analyze(query)
        words = analysis.spans_by_token()
        added: list[AddedTerm] = []
        if prefix and (last := self._last_word(query, analysis)) is not None:
            start, token = last
            completed = self.starting_with(self._beginning(token, query[start:]), without=token)
            documents = self.documents(token)
            total = documents + sum(term.documents for term in completed)
            is_code = not documents and has_digits(token)
            span = (start, len(query))
            added += [
                _added(self.prefix, term, "prefix", 1.0 if is_code else term.documents / total, (span,))
                for term in completed
            ]
            if completed:
                words.pop(token, None)
        for each in self.corrections(query, analysis, words) if fuzzy else ():
            added += each.added_to(query, self.prefix)
        return added

    @property
    def breaks(self) -> WordBreaks:
        """Look-up of words with other blanks."""
        return WordBreaks(self.index, self.analyzer, self.vocabulary.number, self.texts_with)

    def corrections(
        self, query: str, analysis: Analysis, words: Mapping[str, tuple[Span, ...]]
    ) -> list[Correction]:
        """Return the corrections of a query; those of words that the index lacks are limited to some of its words."""
        breaks = self.breaks
        found = [Correction(each.spans, (), each) for each in breaks.joined(query, analysis)]
        joined = [span for each in found for span in each.spans]
        for token, spans in self.missing(words):
            if any(start <= first and last <= end for first, last in spans for start, end in joined):
                continue
            typed = query[slice(*spans[-1])]
            similar = self.nearest(token, typed)
            in_two = None if self._is_word(typed) else breaks.in_two(typed, spans)
            if in_two is not None and similar and similar[0].distance > 1:
                similar = ()  # a blank is one edit
            if similar or in_two is not None:
                found.append(Correction(spans, similar, in_two))
        return found

    def _most_frequent(
        self, numbers: npt.NDArray[np.int64], distance: int, n: int = MOST_TERMS
    ) -> list[SimilarTerm]:
        documents = self.index.document_frequencies[numbers]
        least = max(1, int(np.sort(documents)[-n:][:1].sum()))
        numbers = np.sort(numbers[documents >= least])
        terms = [
            SimilarTerm(term, number, term, distance, int(self.index.document_frequencies[number]))
            for term, number in zip(self.vocabulary.tokens(numbers), numbers.tolist(), strict=True)
        ]
        # Equal frequencies are in the order of the terms, which does not depend on the history of the index.
        return sorted(terms, key=lambda term: (-term.documents, term.term))[:n]

    def _most_separating(self, numbers: npt.NDArray[np.int64]) -> list[SimilarTerm]:
        """Return the terms that separate the documents best, of the most frequent ones."""
        terms = sorted(self._most_frequent(numbers, 0, MOST_COMPARED), key=lambda term: term.number)
        spreads = term_spreads(self.index, np.array([term.number for term in terms], dtype=np.int64))
        found = [replace(term, spread=spread) for term, spread in zip(terms, spreads.tolist(), strict=True)]
        return sorted(found, key=lambda term: (-term.spread, term.term))[:MOST_COMPLETIONS]

    @cached_property
    def _characters(self) -> _CharacterSets:
        return _CharacterSets.of(self.index, self.vocabulary)


@dataclass(frozen=True)
class _Written:
    """How stored texts write a term.

    Attributes
    ----------
    words : Counter of str
        See `SimilarTerms.written`.
    only_in_codes : bool
        Whether it is everywhere a part of a compound with a digit.
    """

    words: Counter[str]
    only_in_codes: bool


@dataclass(frozen=True, eq=False)
class TermsOfLanguage:
    """Terms of one language in the vocabulary of an index, without their language.

    Attributes
    ----------
    whole : MappedVocabulary
    prefix : str
        Language and colon, with which these terms begin.
    """

    whole: MappedVocabulary
    prefix: str

    def number(self, token: str) -> int | None:
        """Return the number of a token, or None if it is unknown."""
        return self.whole.number(self.prefix + token)

    def numbers(self, tokens: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the numbers of several tokens, -1 for unknown ones."""
        return self.whole.numbers([self.prefix + token for token in tokens])

    def tokens(self, numbers: npt.NDArray[np.int64]) -> list[str]:
        """Return the tokens with several numbers, in ascending order."""
        return [token.removeprefix(self.prefix) for token in self.whole.tokens(numbers)]

    def starting_with(self, prefix: str) -> npt.NDArray[np.int64]:
        """Return the numbers of the tokens that begin with a prefix, in any order."""
        return self.whole.starting_with(self.prefix + prefix)

    def code_points(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """Return the characters of all tokens as `MappedVocabulary.code_points`; terms of other languages have none."""
        points, starts = self.whole.code_points()
        own, length = self.starting_with(""), len(self.prefix)
        lengths = np.zeros(len(starts) - 1, dtype=np.int64)
        lengths[own] = np.diff(starts)[own] - length
        own.sort()
        return points[concatenated_ranges(starts[own] + length, lengths[own])], np.append(
            0, np.cumsum(lengths)
        )


@final
class SimilarTermsByLanguage:
    """Looks for similar terms in each language of an index whose analyzer depends on an attribute.

    Parameters
    ----------
    index : Index
    analyzer : AnalyzerByAttribute
    is_word : callable, optional
        See `SimilarTerms`.
    only : str, optional
        The only language to look in.

    Attributes
    ----------
    languages : tuple of SimilarTerms
        The look-up of each language. A word that another language has, or removes, is spelt correctly; see `is_known`.
    """

    replaces: ClassVar[bool] = False  # words with added terms

    def __init__(
        self,
        index: Index,
        analyzer: AnalyzerByAttribute,
        *,
        is_word: Callable[[str], bool] = lambda word: False,
        only: str | None = None,
    ) -> None:
        self.index = index
        self.analyzer = analyzer
        self._is_word = is_word

        self._remembered: dict[str, bool] = {}

        def is_known(word: str) -> bool:
            return is_word(word) or self.is_known(word)

        self.languages: tuple[SimilarTerms, ...] = tuple(
            SimilarTerms(
                index,
                analyzer.words_of(name),
                is_word=is_known,
                vocabulary=TermsOfLanguage(index.vocabulary, f"{name}{SEPARATOR}"),
            )
            for name in (analyzer.languages if only is None else (only,))
        )

    def knowing(self, is_word: Callable[[str], bool]) -> SimilarTermsByLanguage:
        """Return the look-up that also knows other words, see `SimilarTerms`."""
        return SimilarTermsByLanguage(self.index, self.analyzer, is_word=is_word)

    def of_language(self, language: str | None) -> SimilarTermsByLanguage:
        """Return the look-up in one language; in all for None."""
        if language is None:
            return self
        return SimilarTermsByLanguage(self.index, self.analyzer, is_word=self._is_word, only=language)

    def is_known(self, word: str) -> bool:
        """Return whether a word is spelled correctly: documents of some language have it, or its analyzer removes it.

        It does not have a mistyped word of which only its stemmer makes a term of the index. A word is doubted in a
        language if a respelling has the same term there, and one in the languages that lack the word; it is known if
        some language has it without doubt. Otherwise the texts of the language decide, see `SimilarTerms.writes`, or
        without texts, whether the word or the respelling has more documents.
        """
        found = self._remembered.get(word)
        if found is None:
            found = self._is_known(word)
            if len(self._remembered) >= REMEMBERED:
                self._remembered.clear()
            self._remembered[word] = found
        return found

    def _is_known(self, word: str) -> bool:
        having = [each for each in self.languages if each.has(word)]
        others = [each for each in self.languages if each not in having]
        if not having or not others or not most_edits(word):
            return bool(having)
        doubted, documents = [], 0
        for each in having:
            spend()
            of_respelt = {
                respelt: sum(other.documents_with(respelt) for other in others)
                for respelt in each.with_same_term(word.lower())
            }
            respelt = [respelt for respelt, number in of_respelt.items() if number]
            if not respelt:
                return True
            doubted.append((each, respelt))
            documents = max(documents, *of_respelt.values())
        written = [each.writes(word, respelt) for each, respelt in doubted]
        if all(each is None for each in written):
            return documents <= sum(each.documents_with(word) for each in having)
        return any(written)

    def added_to(self, query: str, *, fuzzy: bool, prefix: bool) -> list[AddedTerm]:
        """Return the terms to add to a query, see `SimilarTerms.added_to`.

        For a word, these are the terms of the languages in which they resemble it most. Each word has its part of the
        documents of all languages; a word of several languages has the same share in each of them.
        """
        found = [
            each for similar in self.languages for each in similar.added_to(query, fuzzy=fuzzy, prefix=prefix)
        ]
        completed = AddedTerms([each for each in found if each.origin == "prefix"])
        fuzzy_terms = [
            each for each in found if each.origin == "fuzzy" and not completed.are_known(each.spans)
        ]
        least: dict[tuple[Span, ...], int] = {}
        for each in fuzzy_terms:
            least[each.spans] = min(each.distance, least.get(each.spans, each.distance))
        nearest = [each for each in fuzzy_terms if each.distance == least[each.spans]]
        return [*completed.terms, *self._shared(query, nearest)]

    def _shared(self, query: str, nearest: Sequence[AddedTerm]) -> list[AddedTerm]:
        """Return terms with parts of the documents of all languages, in place of those of their own."""
        documents = self.index.document_frequencies
        of_words = defaultdict[tuple[Span, ...], Counter[str]](Counter)
        of_languages = Counter[tuple[tuple[Span, ...], str]]()
        for each in nearest:
            number = int(documents[each.number])
            of_words[each.spans][each.word.lower()] += number
            of_languages[each.spans, language_of_token(each.term)] += number
        shared = []
        for each in nearest:
            words = of_words[each.spans]
            if len(words) > 1 and not any(" " in word for word in (query[slice(*each.spans[-1])], *words)):
                own = documents[each.number] / of_languages[each.spans, language_of_token(each.term)]
                share = each.share / own * words[each.word.lower()] / words.total()
                each = replace(each, share=float(share))
            shared.append(each)
        return shared


def _added(
    language: str,
    term: SimilarTerm,
    origin: Literal["fuzzy", "prefix"],
    share: float,
    spans: tuple[Span, ...],
) -> AddedTerm:
    return AddedTerm(language + term.term, term.number, term.word, origin, share, spans, term.distance)


@dataclass(frozen=True, eq=False)
class _CharacterSets:
    """Sets of characters of the terms that a document has, by length.

    Attributes
    ----------
    numbers : ndarray of shape (n,), int64
        Numbers of the terms, in the order of their lengths.
    sets : ndarray of shape (n,), uint32
        Characters of each term as bits.
    firsts : ndarray of shape (longest + 2,), int64
        Position of the first term of each length.
    letters : str
        The most frequent letters of all terms of the index.
    """

    numbers: npt.NDArray[np.int64]
    sets: npt.NDArray[np.uint32]
    firsts: npt.NDArray[np.int64]
    letters: str

    @classmethod
    def of(cls, index: Index, vocabulary: MappedVocabulary | TermsOfLanguage) -> _CharacterSets:
        points, starts = vocabulary.code_points()
        lengths = np.diff(starts)
        written = np.flatnonzero(lengths)
        sets = _set_of(points) if len(points) else points
        if len(written):
            sets = np.bitwise_or.reduceat(sets, starts[written])
        live = index.document_frequencies[written] > 0
        numbers, sets = written[live], sets[live]
        lengths = lengths[numbers]
        order = np.argsort(lengths, kind="stable")
        firsts = np.searchsorted(lengths[order], np.arange(int(lengths.max(initial=0)) + 2))
        counts = np.bincount(points)
        characters = map(chr, np.argsort(-counts, kind="stable")[: 2 * MOST_LETTERS].tolist())
        letters = "".join(islice(filter(str.isalpha, characters), MOST_LETTERS))
        return cls(numbers[order], sets[order], firsts, letters)

    def candidates(self, word: str, edits: int) -> npt.NDArray[np.int64]:
        """Return the numbers of the terms that can be within a distance of a word, ascending."""
        points = np.frombuffer(word.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        own = np.bitwise_or.reduce(_set_of(points))
        found = [_NONE]
        longest = len(self.firsts) - 2
        for length in range(len(word) - edits, min(len(word) + edits, longest) + 1):
            range_ = slice(int(self.firsts[length]), int(self.firsts[length + 1]))
            sets, longer = self.sets[range_], length - len(word)
            near = np.flatnonzero(_have_at_most(edits - max(-longer, 0), sets & ~own))
            near = near[_have_at_most(edits - max(longer, 0), own & ~sets[near])]
            found.append(self.numbers[range_][near])
        return np.sort(np.concatenate(found))


_NONE: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)


def _set_of(points: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    sets: npt.NDArray[np.uint32] = np.left_shift(np.uint32(1), points & np.uint32(31))
    return sets


def _have_at_most(size: int, sets: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Return which sets have at most so many characters; each step removes one from every set that has any."""
    for _ in range(size):
        sets = sets & (sets - np.uint32(1))
    empty: npt.NDArray[np.bool_] = sets == 0
    return empty
