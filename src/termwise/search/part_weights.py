"""Weights of the parts of a mixture for one query, which depend on the identifiers in it.

Vectors of pieces know nothing of an identifier such as ``AB-1200/X``: it is a sequence of pieces that other identifiers
have, too. The words of an identifier find the one document that has it. Therefore the weights of the parts move to the
part of whole words, by the share of the query that is an identifier:

    weight(words) = w(words) + share * sum of w(p)          weight(p) = (1 - share) * w(p)

for each part p with vectors and a weight above 0. The share is the sum of the idf of the tokens of all identifiers,
divided by that of all tokens of the query. The sum of the weights does not change.

An identifier is

- a word between white space of at least `SHORTEST` letters and digits, that has both, or digits with other characters
  between them, or at least `DIGITS` digits; or words in quotes,
- that is rare: some document contains all of its words, of compounds the joined form or all parts, but at most one in
  `RARE` documents, or in a small index `FEW` documents. For words in quotes, it need not be rare.

With terms that a search adds for mistyped words or for the last word, a document that has such a term has the word. If
no document has the word itself, it is enough that each added term is rare, and the word can be shorter, such as
``AB-1``, if all completions have the form of an identifier.

In queries of more than `MOST_WORDS` words, which are documents rather than queries, nothing is an identifier.

If the query is in a language that the vectors do not know, see `Mixture.other_language`, the share is 1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from termwise.engine.added_terms import AddedTerm, Span
from termwise.engine.codes import has_digits
from termwise.engine.query_encoder import QueryEncoder
from termwise.engine.query_settings import added_terms
from termwise.engine.text_conditions import documents_with, on_a_path
from termwise.fast_dataclass import dataclass
from termwise.search.parts import Part

if TYPE_CHECKING:
    from termwise.engine.similar_terms import SimilarTerms

DIGITS = 5
"""Least number of digits of an identifier that has nothing but digits; a year has fewer."""

SHORTEST = 4
"""Least number of letters and digits of an identifier; shorter ones, such as ``3d``, are words like others."""

RARE = 100
"""An identifier is in at most one of so many documents."""

FEW = 10
"""Number of documents that may have an identifier in a small index."""

MOST_WORDS = 32
"""Largest number of words of a query with identifiers."""

_CANDIDATE = re.compile(r'"(?P<quoted>[^"]*\w[^"]*)"|(?P<word>[^\W_](?:[^\s"]*[^\W_])?)')
LETTERS = re.compile(r"[^\W\d_]{4}")
"""Four letters in a row, which a word has and a code has not."""

_SHAPE = re.compile(rf"(?=.*\d)(?:.*[^\W\d_].*|\d+\W.*|\d{{{DIGITS},}})", re.DOTALL)


@dataclass(frozen=True)
class PartWeights:
    """Weights of the parts of a mixture for one query.

    Attributes
    ----------
    weights : tuple of float
        One for each part.
    given : tuple of float
        Weights of the mixture, or those that the relevance of the search gives.
    identifiers : tuple of str
        Identifiers in the query, because of which the weights differ from the given ones.
    share : float
        Share of the query that is an identifier, 0 without any.
    language : str or None
        Language of the query if the vectors do not know it. They have no weight then if the part of words has one.
    """

    weights: tuple[float, ...]
    given: tuple[float, ...]
    identifiers: tuple[str, ...] = ()
    share: float = 0.0
    language: str | None = None

    @property
    def differ(self) -> bool:
        """Whether the weights differ from the given ones."""
        return self.weights != self.given

    def reasons(self) -> list[str]:
        """Return for each part why its weight differs from the given one; empty if it does not."""
        if self.language is not None:
            why = f"the language of the query is {self.language}, and the vectors know English only"
        else:
            named = ", ".join(self.identifiers)
            verb = "is an identifier" if len(self.identifiers) == 1 else "are identifiers"
            why = f"{named} {verb}, {self.share:.0%} of the query"
        return [
            "" if weight == given else f"not {given:.4g}: {why}"
            for given, weight in zip(self.given, self.weights, strict=True)
        ]


def part_weights(
    parts: tuple[Part, ...],
    own: tuple[float, ...],
    words: int | None,
    text: str,
    encoder: QueryEncoder | None = None,
    other_language: str | None = None,
) -> PartWeights:
    """Return the weights of the parts for a query.

    `own` are their weights without identifiers, and `words` is the place of the part of words, if there is one.
    `encoder` encodes the query for this part, with the terms that the search adds. `other_language` is the language of
    the query if the vectors do not know it.
    """
    similar = None if words is None else parts[words].backend.similar_terms
    if words is None or similar is None or own[words] <= 0:
        return PartWeights(own, own, language=other_language)
    if '"' not in text and not has_digits(text) and other_language is None:  # most queries
        return PartWeights(own, own)
    moved = [
        part.index.term_vectors is not None and weight > 0 for part, weight in zip(parts, own, strict=True)
    ]
    if other_language is not None:
        return PartWeights(_moved(own, moved, words, 1.0), own, language=other_language)
    if not any(moved) or len(text.split()) > MOST_WORDS:
        return PartWeights(own, own)
    found = () if encoder is None else added_terms(encoder, text).terms
    added = [each for each in found if each.origin != "synonym"]
    identifiers, share = max(
        (_identifiers(each, text, added) for each in similar.languages), key=itemgetter(1), default=((), 0.0)
    )
    if not identifiers:
        return PartWeights(own, own)
    return PartWeights(_moved(own, moved, words, share), own, identifiers, share)


def _moved(own: Sequence[float], moved: Sequence[bool], words: int, share: float) -> tuple[float, ...]:
    """Return the weights after a share of those that are moved is added to the part of words."""
    given = sum(weight for weight, moves in zip(own, moved, strict=True) if moves)
    weights = [weight * (1 - share) if moves else weight for weight, moves in zip(own, moved, strict=True)]
    weights[words] += share * given
    return tuple(weights)


def _has_shape(word: str) -> bool:
    """Return whether a word has the form of an identifier.

    Examples
    --------
    >>> [word for word in ("AB-1200/X", "978-3-16", "12345", "2019", "md5", "sofa") if _has_shape(word)]
    ['AB-1200/X', '978-3-16', '12345']
    """
    return _SHAPE.fullmatch(word) is not None and sum(map(str.isalnum, word)) >= SHORTEST


def without_codes(text: str) -> str:
    """Return the words of a text that are no codes: they have not the form of an identifier, or four letters in a row.

    Examples
    --------
    >>> without_codes("grey sofa AB-9999/Z, 2019"), without_codes('"RT-4400"'), without_codes("covid-19")
    ('grey sofa 2019', '', 'covid-19')
    """
    words = (found[0] for found in _CANDIDATE.finditer(text.replace('"', " ")))
    return " ".join(word for word in words if not _has_shape(word) or LETTERS.search(word))


def has_codes_only(text: str) -> bool:
    """Return whether all words of a query are codes; see `without_codes`."""
    return has_digits(text) and not without_codes(text)


def _identifiers(
    similar: SimilarTerms, text: str, added: Sequence[AddedTerm]
) -> tuple[tuple[str, ...], float]:
    """Return the identifiers of a query, and their share of it; the words are those of an index of whole words."""
    index, analysis = similar.index, similar.analyzer.analyze(text)
    compounds, positions = analysis.compounds(), analysis.positions().tolist()
    numbers = similar.vocabulary.numbers(list(analysis.tokens))
    most = max(FEW, len(index) // RARE)
    added = [each for each in added if each.term.startswith(similar.prefix)]

    def having_token(place: int) -> npt.NDArray[np.bool_]:
        span = analysis.spans[place].tolist()
        its = [each.number for each in added if any(_inside(span, other) for other in each.spans)]
        number = numbers[[place]]
        return documents_with(index, np.union1d(number[number >= 0], its).astype(np.int32))

    def is_rare(its: Sequence[AddedTerm]) -> bool:
        """Return whether all added terms are rare, and no document has the words that they are added for."""
        typed = {text[slice(*span)] for each in its for span in each.spans}
        frequencies = index.document_frequencies[[each.number for each in its]]
        return int(frequencies.max()) <= most and not any(
            similar.documents(token)
            for token, span in zip(analysis.tokens, analysis.spans.tolist(), strict=True)
            if text[slice(*span)] in typed
        )

    identifiers, within = [], np.zeros(len(analysis.tokens), dtype=np.bool_)
    for found in _CANDIDATE.finditer(text):
        its = [each for each in added if any(_inside(span, found.span()) for span in each.spans)]
        if found["quoted"] is None and not _has_shape(found[0]) and not _is_beginning(found[0], its):
            continue
        inside = (analysis.spans[:, 0] >= found.start()) & (analysis.spans[:, 1] <= found.end())
        words = [compound for compound in compounds if inside[compound.start]]
        if not words:
            continue
        having = np.logical_and.reduce(
            [on_a_path([(having_token(place), *positions[place]) for place in word]) for word in words]
        )
        if having.any() and (
            found["quoted"] is not None or np.count_nonzero(having) <= most or (len(its) > 0 and is_rare(its))
        ):
            identifiers.append(found[0])
            within |= inside
    if not identifiers:
        return (), 0.0
    frequencies = np.array([similar.documents(token) for token in analysis.tokens])
    idf = np.log1p((len(index) - frequencies + 0.5) / (frequencies + 0.5))
    return tuple(identifiers), float(idf[within].sum() / idf.sum())


def _is_beginning(word: str, added: Sequence[AddedTerm]) -> bool:
    """Return whether a word has a digit, and all of its completions have the form of an identifier."""
    completions = [each.word for each in added if each.origin == "prefix"]
    return has_digits(word) and bool(completions) and all(map(_has_shape, completions))


def _inside(span: Span, other: Span) -> bool:
    return other[0] <= span[0] and span[1] <= other[1]
