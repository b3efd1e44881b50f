"""Request of a search: the query, conditions on results, and their order. It is checked once, when it is made."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, field, replace
from typing import TYPE_CHECKING, final

from termwise.engine.allowed_documents import FilterLike
from termwise.engine.query_settings import DEFAULT, QuerySettings
from termwise.engine.text_conditions import Words
from termwise.errors import ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Code, Fix
from termwise.records import AttributeValue, ExcludedDocuments, Query
from termwise.search.stated_options import OPTIONS, check_options
from termwise.validation import check, check_flag, check_names, is_finite_number, is_integer
from termwise.weights import TermWeights

if TYPE_CHECKING:
    from termwise.engine.synonyms import Synonyms
    from termwise.filters import Range
    from termwise.search.relevance import Relevance

MOST_WINDOWS = 1 << 24
"""Largest number of windows that a graph may be asked for."""

MOST_RESULTS = 1 << 40
"""Largest number of results that is passed on; more than any index has."""

_NONE: tuple[str, ...] = ()

_COUNTS = {"offset": 0, "collapse_size": 1, "facet_values": 10}
"""Defaults of numbers."""

TermWeightsLike = TermWeights | Mapping[str, float]
"""Weights of the terms of a query: one row over the vocabulary of an index, or weights by term."""


@final
@dataclass(frozen=True)
class Search:
    """Request of a search, the same for an index and for a mixture of indexes.

    Parameters
    ----------
    query : str or Query, optional
        Words to search for. Without `query`, `like`, `like_text` and `weights`, all documents are results, each with
        the score 0, in the order of the index. A query without a word (empty, or white space alone) is the same as none
        if there is a condition (`filter`, `must`, `must_not`), or `sort` or `syntax`; otherwise it has no results.
    like : str, optional
        Identifier of a document whose text is the query: query by example. The document is no result.
    like_text : str, optional
        A whole document as the query. Documents with the same text, apart from white space, are no results if the index
        stores texts.
    weights : TermWeights or mapping of str to float, optional
        Query weights of terms of the index, instead of those of `query`: one row over its vocabulary, or weights by
        term. For an index with one model.
    k : int, optional
        Number of results, 1 or more.
    offset : int, optional
        Number of results to skip before these.
    candidates : sequence of str, optional
        Score and order only these documents. All of them are ranked, including those that share no term with the
        query, and ties keep the given order. In an index with vectors, documents without a vector are last, with the
        smallest score of the others.
    exclude : str or collection of str, optional
        Documents to leave out of the results; lower ones move up. Unknown identifiers are ignored.
    filter : str, mapping or Filter, optional
        Condition on the attributes of results, such as ``'lang = "de" and price < 20'``; see `termwise.filters`.
        Scores in an index are those that the documents have without a filter. In a mixture, scores of parts are
        normalised over the documents that it allows.
    or_filter : str, mapping or Filter, optional
        Condition on attributes: documents that fulfil it, and the other conditions, are results too if they do not
        match the query, such as the product whose number was typed. They have the score of the query, with boosts.
    must, must_not : str or sequence of str, optional
        Words and phrases that the texts of results contain, or do not contain. The analyzer of the index (in a mixture,
        of the first part whose terms are the words of the texts) splits each string into tokens; a text contains it if
        it has these tokens in sequence, see `termwise.engine.text_conditions`. They limit the results as a filter does,
        and are no part of the query.
    match : str, optional
        How many of the distinct words of the query a document contains if it matches by words: ``any``, ``most``
        (75 %), ``all``, a number such as ``2``, a per cent such as ``60%``, rounded down, or what may be missing, such
        as ``-1``; with a condition, ``2<75%``. At least 1, at most all. Of several, as in ``all, any``, the first that
        a document contains counts. By default ``any`` in an index, and in a mixture ``all``, or ``any`` if no document
        that the conditions allow contains all, or a part of a compound if none contains a word; see
        `termwise.engine.word_matches`. If a search of a mixture has this option, all documents that match by words come
        before those that match by meaning only.
        This option, `only_words`, `min_relevance`, `fuzzy` and `prefix` have other defaults if `relevance` does.
    only_words : bool or str, optional
        In a mixture, leave out results that match by meaning only; with ``if-any``, if some document matches by words.
    min_relevance : float, optional
        In a mixture, leave out results that match by meaning only and have a lower relevance: the share of unrelated
        queries whose best result is less near, from 0 to 1; see `termwise.engine.unrelated_queries`. By default 0 if
        a document matches by words; or else 0.9; none is near enough if the vectors know no word of the query as
        a whole. Codes such as ``AB-1200/X`` do not count as words, and for codes only, none is near enough; neither
        for a query with another `lang` than English, if the vectors have the shipped vocabulary, which is English.
    min_score : float, optional
        In an index, leave out results with a lower score, boosts included; pinned documents stay. Counts and facets
        follow. In a mixture, scores are relative to the query, and `min_relevance` is for results by meaning.
    syntax : bool, optional
        Read operators in the query, see `termwise.search.query_syntax`.
    sort : str or sequence of str, optional
        Attributes to sort by, the most important one first: ``price``, ``-price`` for the largest values first, or
        several, such as ``"-rating,price"`` or ``["-rating", "price"]``; ``_score`` stands for the score, the largest
        first, ``_id`` for the identifier and ``_doc`` for the position in the index. The results are the first `k` of
        all documents that match the query, not of the best ones. Documents with equal values are in the order of their
        scores, and those without a value are last, for each attribute. In a mixture, they are the documents that match
        by words, or if none does, those that match by meaning. By default, the order is that of the scores.
    after : sequence, optional
        A value of each key of `sort`, None for a missing one: the results are those after a document with these values,
        such as the last one of the page before, without other documents of equal values; let ``_id`` be the last key.
        Pinned documents are on the first page only. Counts and facets stay those of all matches. A query in a mixture
        that is sorted by ``_score`` alone needs `only_words`.
    collapse : str, optional
        Attribute of which each value has at most `collapse_size` results: the first ones in the order of the results.
        There are `k` results if so many documents remain. Documents without a value are all results.
    collapse_size : int, optional
        Number of results of each value of `collapse`, 1 or more.
    facets : sequence of str, optional
        Attributes of type keyword, keywords, boolean or integer whose values are counted over all matches.
    ranges : mapping of str to mapping of str to (low, high), optional
        Ranges to count by their names, for each of some attributes of type integer, float or date. A document counts
        for a range if ``low <= value < high``, as in a filter. None stands for no limit. Ranges may overlap.
    facet_values : int, optional
        Number of values of each facet, the most frequent ones.
    multi_select : bool, optional
        Count each of `facets` and `ranges` without the conditions of the filter on its own attribute that are combined
        by ``and`` with the others: after one value of an attribute is chosen, its other values keep their counts.
    lang : str, optional
        Language of the query, in an index whose analyzer depends on an attribute (see `build_index`): words
        match documents of this language only, and vectors that know English only find nothing for another language. By
        default, it is the language that the filter requires, as in ``lang = "de"``; without one, the query is read in
        each language, and a document matches by the words of its own.
    fuzzy, prefix : bool, optional
        Add terms of similar spelling for words that the index lacks, and those that differ from typed words by a blank;
        add terms that begin with the last word. See `termwise.engine.query_settings`.
    weighting : QuerySettings, optional
        Weighting of query terms, for queries that are whole documents.
    feedback : bool, optional
        Use the feedback of a mixture that has it: score the candidates again after the query is moved towards the first
        documents, see `termwise.engine.feedback`.
    relevance : Relevance, optional
        Attributes of documents that change their scores, synonyms for the words of the query, documents that come first
        or are no results for some queries, and defaults of some options.
    approximate : int, optional
        Search vectors approximately: a graph (`termwise.indexing.build_graph`) proposes this many windows, and only
        their documents are scored, exactly. Some of the best documents can be missing. By default all vectors are read.

    Raises
    ------
    ParameterError
        If a value is out of its range, or two do not go together.

    Examples
    --------
    >>> Search("green tea", must="sencha").must
    ('sencha',)
    >>> Search("tea", like="a")
    Traceback (most recent call last):
        ...
    termwise.errors.ParameterError: a search is for one of query, like and like_text  [parameter]
      given  query, like
    """

    query: str | Query | None = None
    _: KW_ONLY
    like: str | None = None
    like_text: str | None = None
    weights: TermWeightsLike | None = None
    k: int = 10
    offset: int = _COUNTS["offset"]
    candidates: Sequence[str] | None = None
    exclude: str | Collection[str] = _NONE
    filter: FilterLike | None = None
    or_filter: FilterLike | None = None
    must: Words = _NONE
    must_not: Words = _NONE
    match: str | None = None
    only_words: bool | str | None = None
    min_relevance: float | None = None
    min_score: float | None = None
    syntax: bool = False
    sort: str | Sequence[str] | None = None
    after: Sequence[AttributeValue | None] | None = None
    collapse: str | None = None
    collapse_size: int = _COUNTS["collapse_size"]
    facets: Sequence[str] = _NONE
    ranges: Mapping[str, Mapping[str, Range]] = field(default_factory=dict)
    facet_values: int = _COUNTS["facet_values"]
    multi_select: bool = False
    lang: str | None = None
    fuzzy: bool | None = None
    prefix: bool | None = None
    weighting: QuerySettings = DEFAULT
    feedback: bool = True
    approximate: int | None = None
    relevance: Relevance | None = None

    def __post_init__(self) -> None:
        given = [name for name in ("query", "like", "like_text") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ParameterError(
                "a search is for one of query, like and like_text", facts=[("given", ", ".join(given))]
            )
        if self.query is not None:
            query_text(self.query)
        elif given:
            text = self.like_text if self.like is None else self.like
            check(given[0], text, isinstance(text, str), "a string")
        if self.weights is not None:
            check(
                "weights",
                self.weights,
                _are_weights(self.weights),
                "a row of TermWeights, or numbers by term",
            )
        # What has its default, as most options of most searches have, is not checked.
        if self.k is not (k := checked_k(self.k)):
            self._set(k=k)
        for name, least in (("offset", 0), ("collapse_size", 1), ("facet_values", 1)):
            number = getattr(self, name)
            if number is not _COUNTS[name]:
                check(name, number, is_integer(number) and number >= least, f"a whole number from {least}")
                self._set(**{name: min(int(number), MOST_RESULTS)})
        for name, default in (("candidates", None), ("must", _NONE), ("must_not", _NONE), ("facets", _NONE)):
            names = getattr(self, name)
            if names is not default:
                if isinstance(names, str) and name in ("must", "must_not"):
                    names = (names,)
                check_names(name, names)
                self._set(**{name: tuple(map(str, names))})
        if self.sort is not None and not isinstance(self.sort, str):
            check_names("sort", self.sort)
            self._set(sort=tuple(self.sort))
        if self.after is not None:
            self._check_after()
        if self.exclude is not _NONE:
            self._set(exclude=ExcludedDocuments.of({"": self.exclude}).for_query("") or _NONE)
        for name in ("syntax", "multi_select"):
            if getattr(self, name) is not False:
                check_flag(name, getattr(self, name))
        stated = {name: value for name in OPTIONS if (value := getattr(self, name)) is not None}
        if stated:
            check_options(**stated)
        if self.min_relevance is not None:
            self._set(min_relevance=float(self.min_relevance))
        if self.min_score is not None:
            check("min_score", self.min_score, is_finite_number(self.min_score), "a number")
        if self.lang is not None:
            check("lang", self.lang, isinstance(self.lang, str), "a language, such as de")
        if self.feedback is not True:
            check_flag("feedback", self.feedback)
        if self.collapse is None and self.collapse_size != 1:
            raise ParameterError(
                "the number of results of each value needs an attribute",
                facts=[("collapse_size", self.collapse_size)],
                fixes=[Fix.use("name the attribute: {}", collapse=Code("NAME"))],
            )
        if self.facets or type(self.ranges) is not dict or self.ranges:
            self._check_ranges()
        if not isinstance(self.weighting, QuerySettings):
            raise ParameterError(
                "the weighting of query terms is a QuerySettings",
                facts=[("given", type(self.weighting).__name__)],
                fixes=[Fix.python("QuerySettings(max_terms=30)", "pass {}")],
            )
        if self.relevance is not None:
            from termwise.search.relevance import Relevance

            check("relevance", self.relevance, isinstance(self.relevance, Relevance), "a Relevance")
        windows = self.approximate
        if windows is not None and not (is_integer(windows) and 1 <= windows <= MOST_WINDOWS):
            raise ParameterError(
                "approximate is the number of windows from the graph for each query",
                facts=[("approximate", windows), ("expected", f"a whole number from 1 to {MOST_WINDOWS:,}")],
            )
        ranks = given == ["query"] or (not given and self.weights is not None)
        if self.or_filter is not None and (self.candidates is not None or not ranks):
            raise ParameterError(
                "or_filter is for a query of words, which it adds results to", fixes=[Fix.omit("or_filter")]
            )
        if self.candidates is not None or self.weights is not None or given not in ([], ["query"]):
            self._check_combination(given)

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _check_ranges(self) -> None:
        holds = isinstance(self.ranges, Mapping) and all(
            isinstance(name, str) and isinstance(each, Mapping) for name, each in self.ranges.items()
        )
        check(
            "ranges", self.ranges, holds, "named ranges of fields, such as {'price': {'cheap': (None, 10)}}"
        )
        check("ranges", self.ranges, self.ranges.keys().isdisjoint(self.facets), "other fields than `facets`")
        self._set(ranges=dict(self.ranges))

    def _check_after(self) -> None:
        holds = isinstance(self.after, Sequence) and not isinstance(self.after, str | bytes)
        check("after", self.after, holds, "a list with a value of each key of the sort")
        if self.sort is None:
            raise ParameterError(
                "a page begins after values of sort keys, and the search has none", fixes=[Fix.omit("after")]
            )
        if self.collapse is not None:  # of whose values the page before has results
            raise _not_together(["after"], ["collapse"])
        self._set(after=tuple(self.after or ()))

    def _check_combination(self, given: Sequence[str]) -> None:
        """Check that the options go with the query."""
        by_example = bool(given) and given != ["query"]
        for_queries = [name for name in ("exclude", "syntax", "fuzzy", "prefix") if getattr(self, name)]
        for_queries += ["candidates"] if self.candidates is not None else []
        if by_example and for_queries:
            raise _not_together(for_queries, given)
        others = [name for name in ("facets", "ranges", "match", "only_words") if getattr(self, name)]
        others += ["min_relevance"] if self.min_relevance else []
        if self.candidates is not None and others:
            raise _not_together(["candidates"], others)
        if self.weights is not None:
            others = [name for name in ("syntax", "fuzzy", "prefix") if getattr(self, name)]
            others += given if by_example else []
            others += ["weighting"] if self.weighting != DEFAULT else []
            if others:
                raise _not_together(["weights"], others)

    def with_defaults(self) -> Search:
        """Return the search with the defaults of its relevance for the options that it does not state.

        They are for searches for words: a document or weights as the query has none of them. Candidates, which are
        results whatever words they contain, have those of `fuzzy` and `prefix` only.
        """
        by_words = self.like is None and self.like_text is None and self.weights is None
        if self.relevance is None or not self.relevance.search or not by_words:
            return self
        defaults = {
            name: value
            for name, value in self.relevance.search.items()
            if getattr(self, name) is None and (name in ("fuzzy", "prefix") or self.candidates is None)
        }
        return replace(self, **defaults) if defaults else self  # type: ignore[arg-type]

    @property
    def text(self) -> str:
        """Text of the query; empty without one."""
        return "" if self.query is None else query_text(self.query)

    @property
    def synonyms(self) -> Synonyms | None:
        """Synonyms for the words of queries; None if there are none, or for other queries than words."""
        words = self.like is None and self.like_text is None and self.weights is None
        return (
            self.relevance.synonyms
            if words and self.relevance is not None and self.relevance.synonyms
            else None
        )

    @property
    def query_id(self) -> str:
        """Identifier of the query; empty without one."""
        return self.query.query_id if isinstance(self.query, Query) else ""


def _are_weights(value: object) -> bool:
    return isinstance(value, TermWeights) or (
        isinstance(value, Mapping) and all(isinstance(term, str) for term in value)
    )


def _not_together(names: Sequence[str], others: Sequence[str]) -> ParameterError:
    return ParameterError(
        f"{' and '.join(names)} cannot be combined with {' and '.join(others)}",
        fixes=[Fix.omit(name) for name in names],
    )


def query_text(query: str | Query) -> str:
    """Return the text of a query; refuse anything that is neither a string nor a `Query`."""
    text = query.text if isinstance(query, Query) else query
    if not isinstance(text, str):
        raise ParameterError(
            "a query is a string, a Query, or a row of TermWeights", facts=[("given", type(text).__name__)]
        )
    return text


def checked_k(k: int) -> int:
    """Return the number of results; refuse anything but a whole number of 1 or more."""
    if not is_integer(k) or k < 1:
        raise ParameterError("k is the number of results, 1 or more", facts=[("k", k)])
    return min(int(k), MOST_RESULTS)
