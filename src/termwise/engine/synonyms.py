"""Synonyms: words and phrases that are searched for together with, or in place of, those of a query.

A line of a file of synonyms has one of two forms:

=====================================  =================================================================================
``sofa, couch, settee``                two ways: each of these words adds the others to a query
``tv, telly => television set``        one way: the words on the right replace those on the left, as in Lucene; a word
                                       that is on both sides stays
``laptop, notebook ^0.8``              either form may end with a weight, above 0 and at most 1
=====================================  =================================================================================

Empty lines, and what follows a ``#`` at the start of a line or after white space, are comments.

Lines are compared with a query as the analyzer of the index writes both, so that case, plurals and accents are those of
its tokens. At each word of the query, from left to right, the longest words that a line has are taken; the search for
others goes on after them, and added words are not looked up again. All lines with these words apply.

An index in several languages has several analyzers, and the stemmer of another language can write a mistyped word as
the right one: that of French removes double letters, so *waserkocher* has the stem of *wasserkocher*. There, a word
with the tokens of a line matches it in a language only if documents of this language have these tokens, or if the two
spellings differ by beginning or ending (`is_form_of`).

A word or phrase that is added for a phrase of m words has m times the weight of its line in all, and each of its n
words the n-th part of it: ``m / n`` times the weight of the line. The unit is the weight that the added word would have
if it was typed as often. A word that is in the query anyway, or that several lines add, has the largest of its weights.
A phrase or compound that has all tokens of another synonym with at least its weight, or of the typed words, adds
nothing: its documents have that one, and would count both. ``wlan, wifi, wi-fi`` adds *wifi* for *wlan*, and not the
parts of *wi-fi*.

`TWO_WAY`, or the number that a relevance file gives, and `ONE_WAY` are the weights of lines without one: the words that
are typed count more than their synonyms, so that of two equal documents, the one with the words of the query is first;
words that replace others count as if they were typed.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import final

from termwise.budget import spend
from termwise.display.safe_text import shown
from termwise.engine.added_terms import AddedTerm, AddedTerms, Span
from termwise.engine.query_languages import in_documents
from termwise.engine.subwords import WordsInPieces
from termwise.engine.word_forms import is_form_of
from termwise.errors import MalformedRecordError, ParameterError
from termwise.fast_dataclass import dataclass
from termwise.index import Index
from termwise.storage.safe_read import read_input
from termwise.text.analyzer import Analyzer, unknown_token
from termwise.text.analyzer_by_attribute import AnalyzerByAttribute, language_of_token
from termwise.text.words_around import is_part_of_word, word_around
from termwise.validation import check, check_path, is_finite_number

TWO_WAY = 0.7
"""Weight of a line of words that stand for each other."""

ONE_WAY = 1.0
"""Weight of a line with ``=>``."""

MOST_BYTES = 1 << 22
"""Length of the longest file of synonyms."""

MOST_LINES = 50_000
"""Number of lines with synonyms."""

MOST_WORDS = 100
"""Number of words and phrases on each side of a line."""

LONGEST = 200
"""Number of characters of the longest word or phrase."""

MOST_FORMS = 128
"""Number of forms of a required phrase, one for each choice of synonyms of its words; more than a line has words."""

MOST_KEPT = 10_000
"""Number of synonyms of which an open index keeps the tokens."""

_Phrases = dict[tuple[str, ...], tuple[str, int]]
"""Texts, and their numbers of words, by tokens."""

_COMMENT = re.compile(r"(?:^|\s)#.*")
_WEIGHT = re.compile(r"\s\^(\S*)$")
_FORMS = "words with commas between them, such as: sofa, couch; or tv => television; a weight such as ^0.8 may follow"


@dataclass(frozen=True)
class SynonymLine:
    """A line of synonyms.

    Attributes
    ----------
    words : tuple of str
        Words and phrases that are looked for in queries.
    others : tuple of str
        Words and phrases on the right of ``=>``; empty for a line that works two ways.
    weight : float
    """

    words: tuple[str, ...]
    others: tuple[str, ...]
    weight: float


@final
@dataclass(frozen=True)
class Synonyms:
    """Lines of synonyms; see the module for their form and effect.

    Attributes
    ----------
    lines : tuple of SynonymLine

    Examples
    --------
    >>> Synonyms.parse(["sofa, couch  # furniture", "tv => television ^0.9"]).lines[1]
    SynonymLine(words=('tv',), others=('television',), weight=0.9)
    """

    lines: tuple[SynonymLine, ...] = ()

    def __post_init__(self) -> None:
        self.__dict__["_matchers"] = {}
        self.__dict__["_last"] = (None, None)

    def __bool__(self) -> bool:
        return bool(self.lines)

    def __reduce__(self) -> tuple[type[Synonyms], tuple[tuple[SynonymLine, ...]]]:
        return Synonyms, (self.lines,)

    @classmethod
    def parse(
        cls,
        lines: Iterable[str],
        source: str | Path = "synonyms",
        *,
        unit: str = "line",
        weight: float = TWO_WAY,
    ) -> Synonyms:
        """Parse lines; `source` and `unit` name the file, and what is counted, in errors.

        `weight` is that of lines that work two ways and have none.

        Raises
        ------
        ParameterError
            If `lines` are no lines of text, or the weight is out of its range.
        MalformedRecordError
            If a line has another form, or there are more than `MOST_LINES`.
        """
        holds = isinstance(lines, Iterable) and not isinstance(lines, str | bytes)
        check("lines", lines, holds, "lines of text, such as ['sofa, couch']")
        check(
            "weight", weight, is_finite_number(weight) and 0 < weight <= 1, "a number above 0 and at most 1"
        )
        parsed: list[SynonymLine] = []
        for number, line in enumerate(lines, 1):
            problem = _parse(line, parsed, weight) if isinstance(line, str) else "a line of text"
            if len(parsed) > MOST_LINES:
                problem = f"at most {MOST_LINES:,} lines with synonyms"
            if problem:
                raise MalformedRecordError.at(
                    source,
                    number,
                    expected=problem,
                    seen=shown(line),
                    message="a line of synonyms cannot be used",
                    unit=unit,
                )
        return cls(tuple(parsed))

    @classmethod
    def read(cls, path: str | Path, *, weight: float = TWO_WAY) -> Synonyms:
        """Read a file of at most `MOST_BYTES`, in UTF-8; see `parse`.

        Raises
        ------
        ParameterError
            If `path` is no path, or the weight is out of its range.
        MissingFileError
            If there is no such file, or it is longer.
        MalformedRecordError
            If it is not text, or a line has another form.
        """
        check_path("the file of synonyms", path)
        data = read_input(Path(path), MOST_BYTES, "the synonyms cannot be read")
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise MalformedRecordError(
                "the synonyms are not in UTF-8", facts=[("file", path), ("byte", error.start)]
            ) from None
        return cls.parse(text.split("\n"), path, weight=weight)

    def matcher(self, analyzer: Analyzer) -> SynonymMatcher:
        """Return the lines as an analyzer writes them; those of earlier calls are kept."""
        last: tuple[Analyzer | None, SynonymMatcher] = self.__dict__["_last"]
        if last[0] is analyzer:  # a fingerprint takes as long as a search
            return last[1]
        kept: dict[str, SynonymMatcher] = self.__dict__["_matchers"]
        fingerprint = analyzer.spec.fingerprint
        if fingerprint not in kept:
            kept[fingerprint] = SynonymMatcher(self, analyzer)
        self.__dict__["_last"] = analyzer, kept[fingerprint]
        return kept[fingerprint]


def _parse(line: str, parsed: list[SynonymLine], two_way: float) -> str:
    """Append a line if it has synonyms; return what is expected in its place, or an empty text."""
    text = _COMMENT.sub("", line).strip()
    if not text:
        return ""
    sides = text.split("=>")
    weight = two_way if len(sides) == 1 else ONE_WAY
    if given := _WEIGHT.search(sides[-1]):
        sides[-1] = sides[-1][: given.start()]
        try:
            weight = float(given[1])
        except ValueError:
            weight = 0.0
        if not 0 < weight <= 1:
            return "a weight above 0 and at most 1, such as ^0.8"
    words, *more = [[word.strip() for word in side.split(",")] for side in sides]
    others = more[0] if more else []
    misplaced = len(sides) > 2 or (len(sides) == 2 and _WEIGHT.search(sides[0].rstrip()))
    if misplaced or not all([*words, *others]) or (len(sides) == 1 and len(words) == 1):
        return _FORMS
    if max(len(words), len(others)) > MOST_WORDS:
        return f"at most {MOST_WORDS:,} words and phrases on each side"
    if max(map(len, [*words, *others])) > LONGEST:
        return f"words and phrases of at most {LONGEST:,} characters"
    parsed.append(SynonymLine(tuple(words), tuple(others), weight))
    return ""


@dataclass(frozen=True)
class Synonym:
    """Word or phrase that a line adds to a query.

    Attributes
    ----------
    text : str
    tokens : tuple of str
        As the analyzer writes it.
    words : int
        Number of its words.
    weight : float
        Weight of all its words together: that of its line, times the number of words that it is added for.
    """

    text: str
    tokens: tuple[str, ...]
    words: int
    weight: float


@dataclass(frozen=True)
class SynonymMatch:
    """Words of a text that lines of synonyms have.

    Attributes
    ----------
    tokens : tuple of str
        As the analyzer writes them.
    span : (int, int)
        Their positions.
    synonyms : tuple of Synonym
    replaced : bool
        Whether the synonyms replace the words.
    """

    tokens: tuple[str, ...]
    span: Span
    synonyms: tuple[Synonym, ...]
    replaced: bool

    def added(self) -> list[Synonym]:
        """Return the synonyms without those that have all tokens of another one that weighs as much.

        Unless they are replaced, the typed words are such another one.
        """
        if all(len(each.tokens) == 1 for each in self.synonyms):  # the most frequent case
            return list(self.synonyms)
        by_first: dict[str, list[tuple[frozenset[str], float]]] = {}
        for each in self.synonyms:
            by_first.setdefault(each.tokens[0], []).append((frozenset(each.tokens), each.weight))
        if not self.replaced:
            by_first.setdefault(self.tokens[0], []).append((frozenset(self.tokens), math.inf))
        return [each for each in self.synonyms if not _has_another(each, by_first)]


def _has_another(synonym: Synonym, by_first: Mapping[str, list[tuple[frozenset[str], float]]]) -> bool:
    """Return whether a synonym has all tokens of another one, and others, and weighs no more."""
    tokens = frozenset(synonym.tokens)
    for first in tokens if len(tokens) > 1 else ():
        for others, weight in by_first.get(first, ()):
            spend()
            if others < tokens and weight >= synonym.weight:
                return True
    return False


@final
class SynonymMatcher:
    """Finds the words of lines of synonyms in texts.

    Parameters
    ----------
    synonyms : Synonyms
    analyzer : Analyzer
        It writes lines and texts. Words of which it leaves no token, and those that it does not know, are ignored.
    """

    def __init__(self, synonyms: Synonyms, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._spellings: dict[tuple[str, ...], list[str]] = {}
        self._lines: dict[tuple[str, ...], list[tuple[_Phrases, float]]] = {}
        self._replaced: dict[tuple[str, ...], bool] = {}
        for line in synonyms.lines:
            spend()
            words = self._phrases(line.words)
            others = self._phrases(line.others) if line.others else words
            for tokens, (_, length) in words.items():
                self._lines.setdefault(tokens, []).append((others, line.weight * length))
                stays = not line.others or tokens in others
                self._replaced[tokens] = self._replaced.get(tokens, True) and not stays
        self._lengths: dict[str, list[int]] = {}
        for tokens in self._lines:
            lengths = self._lengths.setdefault(tokens[0], [])
            if len(tokens) not in lengths:
                lengths.append(len(tokens))
        for lengths in self._lengths.values():
            lengths.sort(reverse=True)

    def _phrases(self, texts: Sequence[str]) -> _Phrases:
        """Return the texts and their numbers of words by tokens."""
        phrases = {}
        for text in texts:
            tokens = tuple(self._analyzer.tokens(text))
            if tokens and unknown_token(self._analyzer) not in tokens:
                words = len(tokens)
                if self._in_pieces:
                    spans = self._analyzer.analyze(text).spans.tolist()
                    words = len({word_around(text, start, end) for start, end in spans})
                phrases[tokens] = (text, words)
                self._spellings.setdefault(tokens, []).append(text)
        return phrases

    @property
    def _in_pieces(self) -> bool:
        return self._analyzer.vocabulary is not None

    def matches(self, text: str, has: Callable[[str], bool] | None = None) -> Iterator[SynonymMatch]:
        """Yield the longest matches of a text, from left to right, without those that overlap an earlier one.

        Parameters
        ----------
        text : str
        has : callable, optional
            Returns whether a document has a token. With it, words with other tokens match only if they are spelled as
            those of a line, up to their endings.
        """
        analysis = self._analyzer.analyze(text)
        tokens, spans = tuple(analysis.tokens), analysis.spans.tolist()
        place = 0
        while place < len(tokens):
            for length in self._lengths.get(tokens[place], ()):
                words = tokens[place : place + length]
                if words not in self._lines or len(words) < length:
                    continue
                span = (spans[place][0], spans[place + length - 1][1])
                if self._in_pieces and is_part_of_word(text, spans, place, place + length):
                    continue
                if has is not None and not self._are_of_line(words, text[slice(*span)], has):
                    continue
                yield SynonymMatch(words, span, self._synonyms(words), self._replaced[words])
                place += length - 1
                while place + 1 < len(tokens) and spans[place + 1][0] < span[1]:
                    place += 1  # the parts of a compound that matches
                break
            place += 1

    def _are_of_line(self, tokens: tuple[str, ...], typed: str, has: Callable[[str], bool]) -> bool:
        """Return whether typed words with the tokens of a line are its words, see `matches`."""
        return all(map(has, tokens)) or any(is_form_of(typed, each) for each in self._spellings[tokens])

    def _synonyms(self, tokens: tuple[str, ...]) -> tuple[Synonym, ...]:
        """Return the synonyms of a word or phrase in all lines, each with its largest weight.

        They are not kept: a line of n words would need n (n - 1) of them.
        """
        found: dict[tuple[str, ...], Synonym] = {}
        for others, weight in self._lines[tokens]:
            spend()
            for each, (text, words) in others.items():
                if each != tokens and (each not in found or found[each].weight < weight):
                    found[each] = Synonym(text, each, words, weight)
        return tuple(found.values())

    def forms(self, text: str, has: Callable[[str], bool] | None = None) -> list[str]:
        """Return a text, and the texts with synonyms in place of its words, in all combinations; see `matches`.

        Raises
        ------
        ParameterError
            If there are more than `MOST_FORMS`.
        """
        choices, rest, number = [], 0, 1
        for match in self.matches(text, has):
            start, end = match.span
            choices += [[text[rest:start]], [text[start:end], *(each.text for each in match.synonyms)]]
            rest, number = end, number * len(choices[-1])
            if number > MOST_FORMS:
                raise ParameterError(
                    "the words of this phrase have too many synonyms together",
                    facts=[("given", text), ("most forms", MOST_FORMS)],
                    fixes=["require its words one by one, or give them fewer synonyms"],
                )
        return ["".join(form) for form in product(*choices, [text[rest:]])]


@final
@dataclass(frozen=True, eq=False)
class SynonymTerms:
    """Synonyms as terms of one index.

    Attributes
    ----------
    matchers : tuple of SynonymMatcher
        With the analyzers of the index (`termwise.text.analyzer_by_attribute.readings`), or, for a part of a mixture
        with word pieces, those of a part of whole words.
    words : Index
        The index of these analyzers.
    pieces : WordsInPieces
        The index.
    kept : dict of str to list
        Tokens of the index of the texts of synonyms, with the number of tokens in the same language, or 0 if they have
        no language; those of new texts are added to it, at most `MOST_KEPT`.
    """

    matchers: tuple[SynonymMatcher, ...]
    words: Index
    pieces: WordsInPieces
    kept: dict[str, list[tuple[str, int, int]]]

    def added_to(self, query: str) -> AddedTerms:
        """Return the terms that are added to a query."""
        spans: dict[tuple[tuple[str, ...], Synonym], list[Span]] = {}
        replaced = set()
        has = in_documents(self.words) if len(self.matchers) > 1 else None
        for matcher in self.matchers:
            for match in matcher.matches(query, has):
                spend()
                for synonym in match.added():
                    spans.setdefault((match.tokens, synonym), []).append(match.span)
                if match.replaced:
                    replaced.add(match.span)
        terms = []
        for (tokens, synonym), its_spans in spans.items():
            spend()
            weight, words = synonym.weight, synonym.words
            if self.pieces.index is not self.words:  # the parts of compounds are no words there
                weight *= len(query[slice(*its_spans[0])].split()) / len(tokens)
                words = len(synonym.text.split())
            terms += [
                AddedTerm(
                    token,
                    number,
                    synonym.text,
                    "synonym",
                    weight / (of_language or words),
                    tuple(its_spans),
                )
                for token, number, of_language in self._pieces_of(synonym.text)
            ]
        return AddedTerms(terms, frozenset(replaced))

    def _pieces_of(self, text: str) -> list[tuple[str, int, int]]:
        pieces = self.kept.get(text)
        if pieces is None:
            by_language = isinstance(self.pieces.analyzer, AnalyzerByAttribute)
            tokens = self.pieces.analyzer.tokens(text) if by_language else []
            of_languages = Counter(map(language_of_token, tokens))
            pieces = [
                (token, number, of_languages[language_of_token(token)])
                for token, number in self.pieces.of(text)
            ]
            if len(self.kept) < MOST_KEPT:
                self.kept[text] = pieces
        return pieces
