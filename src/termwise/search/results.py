"""Results of a search: ranking, counts, snippets and explanations, all of one generation of an index or mixture."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, final

import numpy as np
import numpy.typing as npt

from termwise.budget import spend
from termwise.engine.allowed_documents import (
    AllowedDocuments,
    FilterLike,
    allowed_for,
    facets_at,
    segments_at,
)
from termwise.engine.codes import has_digits
from termwise.engine.query_settings import added_terms
from termwise.engine.query_vector import query_vector
from termwise.engine.result_order import SCORE, Best, ResultOrder
from termwise.engine.retrieval import RankedOrdinals, candidate_ordinals, documents_in_order
from termwise.engine.text_conditions import TextConditions
from termwise.engine.word_forms import SPELLED_OUT
from termwise.errors import ParameterError
from termwise.fixes import Code, Fix
from termwise.records import Query, Ranking
from termwise.search.backend import Backend, Matches, find_documents
from termwise.search.hits import Hit, Matching, hits_of
from termwise.search.parts import EncodedQuery, Floats, Ordinals, PartEncoding
from termwise.search.request import MOST_RESULTS, Search
from termwise.search.single_index import IndexMatches, SingleIndex
from termwise.search.stated_options import OPTIONS
from termwise.text.analyzer_by_attribute import AnalyzerByAttribute, readings
from termwise.validation import is_integer

if TYPE_CHECKING:
    from termwise.engine.boosts import Boost, IndexBoosts
    from termwise.explain.explanation import Explanation
    from termwise.filters import Filter, ValueCount, ValueStatistics
    from termwise.filters.facets import Segments
    from termwise.search.boosted_matches import BoostedMatches
    from termwise.search.mixture import MixtureMatches
    from termwise.search.relevance import Relevance
    from termwise.search.snippets import Snippet
    from termwise.search.suggestions import AnySimilarTerms, Suggestion

MOST_COMPARED = 1000
"""Number of the best matches of a text among which documents with the same text are looked for, before matches are
counted."""

MOST_KEPT = 4
"""Relevances whose boosts an open index keeps, for the next searches."""


@final
class Results:
    """Results of one search; `Searcher.search` makes them. What is not asked for is not computed.

    Attributes
    ----------
    search : Search
        The request.
    text : str
        The words of the query without operators, or the text of the example; empty if documents are listed.
    filter : str, mapping, Filter or None
        Condition on attributes, also from operators in the query.
    must, must_not : tuple of str
        Required and excluded words and phrases, also from operators in the query.
    """

    def __init__(self, backend: Backend, search: Search) -> None:
        stated, search = search, search.with_defaults()
        self.search = search
        self._backend = backend
        schema = backend.attribute_index.schema
        self.text = search.text
        self._exclude = frozenset(search.exclude)
        self.filter, self.must, self.must_not = search.filter, tuple(search.must), tuple(search.must_not)
        example = None
        if search.syntax and search.query is not None:
            from termwise.filters import as_filter
            from termwise.search.query_syntax import parse_query

            parsed = parse_query(self.text, schema)
            self.text = parsed.query
            self.must, self.must_not = self.must + parsed.must, self.must_not + parsed.must_not
            if parsed.filter is not None:
                given = self.filter
                self.filter = parsed.filter if given is None else as_filter(given, schema) & parsed.filter
        self._stated_lang = search.lang
        if search.lang is None and self.filter is not None:
            language = _language_of_filter(backend, self.filter)
            search = self.search = search if language is None else replace(search, lang=language)
        if search.like is not None:
            example = int(find_documents(backend, [search.like])[0])
            self.text = _stored_text(backend, search.like, example)
            self._exclude = frozenset((search.like,))
        elif search.like_text is not None:
            self.text = search.like_text
        without_query = search.query is None and search.like is None and search.like_text is None
        if search.query is not None and not self.text.strip():
            conditions = (self.filter is not None, self.must, self.must_not, search.sort)
            without_query = search.syntax or any(conditions)
        self._lists = search.weights is None and without_query
        synonyms = None
        if search.relevance is not None and search.relevance.synonyms and self.must:
            synonyms = search.relevance.synonyms
        self.conditions = TextConditions.of(backend.text_reader, self.must, self.must_not, synonyms)
        self._allowed_documents = allowed_for(backend.attribute_index, self.filter, self.conditions)
        self._allowed = backend.allowed(self._allowed_documents)
        self._others = self._allowed_others()
        self._order = ResultOrder.parse(
            search.sort, search.collapse, search.collapse_size, schema, search.after
        )
        by_meaning = not (self._lists or search.only_words) and search.candidates is None
        by_score = {name for name, _ in self._order.keys} <= {SCORE}
        if search.after is not None and self._is_mixture and by_meaning and by_score:
            raise ParameterError(
                "in a mixture, pages after a score have the results that match by words",
                fixes=[Fix.use(only_words=True)],
            )
        if search.min_score is not None and backend.scores_are_relative:
            raise ParameterError(
                "in a mixture, scores are relative to the query, so that a least score means nothing",
                facts=[("min_score", search.min_score)],
                fixes=[Fix.omit("min_score"), Fix.use(min_relevance=0.9)],
            )
        relevance = search.relevance
        self._boosts = None if relevance is None else boosts_of(backend, relevance, relevance.boosts)
        for name in (*search.facets, *search.ranges):
            schema.check_name(name)
        try:
            self._encodings = backend.encodings(search, example)
        except ParameterError as error:
            refused = {label for label, _ in error.facts}
            of_file = [name for name in OPTIONS if name in refused and getattr(stated, name) is None]
            if search.relevance is None or not of_file:
                raise
            with search.relevance.naming(f"search.{of_file[0]}"):
                raise
        self._set_rules()
        self._k, self._query_id = search.k + search.offset, search.query_id or search.like or ""
        self._candidates = search.candidates
        # Not cached properties: in Python 3.11, one thread at a time computes those of all objects.
        self._query: EncodedQuery | None = None
        self._matched: tuple[frozenset[str], IndexMatches | MixtureMatches] | None = None
        self._ranking: Ranking | None = None
        self._similar: list[Suggestion] | None = None
        self._suggestions: list[Suggestion] | None = None
        self._same_text: tuple[str, ...] = ()
        self._same_text_of_all: tuple[str, ...] | None = None

    def _allowed_others(self) -> AllowedDocuments | None:
        """Return the documents that fulfil `Search.or_filter` and the conditions; None without it."""
        from termwise.filters import as_filter

        if self.search.or_filter is None:
            return None
        index = self._backend.attribute_index
        condition = as_filter(self.search.or_filter, index.schema)
        if self.filter is not None:
            condition = as_filter(self.filter, index.schema) & condition
        return allowed_for(index, condition, self.conditions)

    def for_query(
        self, query: Query, k: int, candidates: Sequence[str] | None, exclude: frozenset[str]
    ) -> Results:
        """Return the results of another query under the conditions and in the order of a search without one."""
        results = copy(self)
        results.text, results._query_id, results._lists = query.text, query.query_id, False
        results._k, results._candidates, results._exclude = k, candidates, exclude
        results._set_rules()
        results._query = results._matched = results._ranking = results._similar = results._suggestions = None
        return results

    def _set_rules(self) -> None:
        """Look up the rules that match the query, and exclude the documents that they ban."""
        relevance, self._pins = self.search.relevance, dict[str, str]()
        by_example = self.search.like is not None or self.search.like_text is not None
        if relevance is None or not relevance.rules or by_example:
            return
        pinned = dict[str, str]()
        for analyzer in readings(self._encoding_of(self._backend.words).encoder.analyzer):
            rules = relevance.query_rules.for_query(self.text, analyzer)
            self._exclude |= rules.banned
            pinned = {**rules.pinned, **pinned}
        self._pins = {doc_id: rule for doc_id, rule in pinned.items() if doc_id not in self._exclude}

    def without_conditions(self) -> Search:
        """Return the search for the same words or example without conditions."""
        changes: dict[str, object] = {
            "filter": None,
            "or_filter": None,
            "must": (),
            "must_not": (),
            "syntax": False,
            "lang": self._stated_lang,
        }
        if self.search.query is not None:
            changes["query"] = self.text or None
        return replace(self.search, **changes)  # type: ignore[arg-type]

    @property
    def query(self) -> EncodedQuery:
        """The text, encoded for each part."""
        if self._query is None:
            text = self._with_known_spellings()
            vectors = [
                query_vector(each.index, each.encoder.encode_query(self._without_unknown_codes(text, each)))
                for each in self._encodings
            ]
            self._query = EncodedQuery(text, self._encodings, tuple(vectors))
        return self._query

    @property
    def _is_typed(self) -> bool:
        """Whether the query is a text that was typed: no example, and no weights of terms."""
        search = self.search
        return search.like is None and search.like_text is None and search.weights is None

    def _with_known_spellings(self) -> str:
        """Return the text with codes and umlauts as the index has them."""
        backend, text = self._backend.suggesting, self.text
        if text.isascii() and not has_digits(text) and not SPELLED_OUT.search(text.lower()):
            return text
        similar = self._similar_terms(backend)
        if not self._is_typed or similar is None:
            return text
        from termwise.search.query_spellings import with_known_umlauts, with_whole_codes

        return with_whole_codes(with_known_umlauts(text, similar), similar)

    def _without_unknown_codes(self, text: str, part: PartEncoding) -> str:
        """Return the text without parts of codes that no document contains, in a part of whole words."""
        if not has_digits(text) or not self._is_typed:
            return text
        backend = next(each.backend for each in self._backend.parts if each.index is part.index)
        similar = self._similar_terms(backend)
        if similar is None:
            return text
        from termwise.search.query_spellings import without_unknown_codes

        texts = next((each.index for each in self._encodings if each.index.stores_text), None)
        return without_unknown_codes(text, similar, added_terms(part.encoder, text), texts)

    @property
    def ranking(self) -> Ranking:
        """The documents with their scores: at most `Search.k`, in the order of their scores, or of `Search.sort`."""
        if self._ranking is None:
            k, same = self._k, tuple[str, ...]()
            if self.search.like_text is not None and self._backend.scores_are_relative:
                same = self._with_same_text_of_all  # each excluded document changes the scores of the others
            ranking = self._rank(frozenset(same) or self._exclude, k)
            while self.search.like_text is not None and (found := self._with_same_text(ranking.doc_ids)):
                k, same = 2 * k, same + found
                ranking = self._rank(frozenset(same), k)
            ranking = ranking.top(self._k)
            self._same_text = same
            self._ranking = ranking.after(self.search.offset) if self.search.offset else ranking
        return self._ranking

    @property
    def same_text(self) -> tuple[str, ...]:
        """Documents that are no results, because their text is that of `Search.like_text`; the ranking finds them."""
        _ = self.ranking
        return self._same_text

    def _rank(self, exclude: frozenset[str], k: int) -> Ranking:
        """Return the first `k` results without the excluded documents."""
        names = by_words = None
        if self._candidates is not None:
            best, names = self._best_candidates(exclude, self._candidates)
        elif self._lists:
            listed = self._listed(exclude)
            scores = np.zeros(len(listed))
            if self._boosts is not None:
                scores = self._boosts.of(listed)
                order = np.argsort(-scores, kind="stable")
                listed, scores = listed[order], scores[order]
            best = _in_order(listed, scores)
        else:
            best, found = self.matches(exclude).best, self._unboosted(exclude)
            if self._order.keys and not found.by_meaning:
                by_words = partial(self._by_words, found)
        ordinals, pinned = self._pinned(), None
        if ordinals is not None and names is not None:
            scores_of = dict(zip(*(values.tolist() for values in best(len(names))), strict=True))
            pinned = ordinals, np.array([scores_of[each] for each in ordinals.tolist()])
        elif ordinals is not None:
            pinned = ordinals, self.matches(exclude).scores(ordinals)[0]
        index, best = self._backend.attribute_index, self._above(best)
        return self._order.ranking(index, best, k, self._query_id, names, pinned, by_words)

    def _above(self, best: Best) -> Best:
        """Return the function that finds the best documents with at least `Search.min_score`."""
        least = self.search.min_score
        if least is None:
            return best

        def above(k: int) -> RankedOrdinals:
            ordinals, scores = best(k)
            return ordinals[scores >= least], scores[scores >= least]

        return above

    def _pinned(self) -> Ordinals | None:
        """Return the positions of pinned documents that are results; None if there are none."""
        if not self._pins:
            return None
        candidates = None if self._candidates is None else frozenset(self._candidates)
        pins = [each for each in self._pins if candidates is None or each in candidates]
        ordinals = self._positions(pins)
        ordinals = ordinals[ordinals >= 0]
        if self._allowed_documents is not None:
            ordinals = ordinals[self._allowed_documents.allow(ordinals)]
        return ordinals if len(ordinals) else None

    @property
    def unknown_pins(self) -> tuple[str, ...]:
        """Documents that a rule for the query pins, and that the index does not hold."""
        if not self._pins:
            return ()
        found = zip(self._pins, self._positions(self._pins).tolist(), strict=True)
        return tuple(doc_id for doc_id, ordinal in found if ordinal < 0)

    def matches(self, exclude: frozenset[str]) -> Matches:
        """Return the documents that match the query, with boosts in their scores, without the excluded ones."""
        found = self._unboosted(exclude) if self._boosts is None else self._boosted(exclude, self._boosts)
        others = self._other_results(exclude)
        if others is None:
            return found
        from termwise.search.extended_matches import ExtendedMatches

        return ExtendedMatches(found, others)

    def _other_results(self, exclude: frozenset[str]) -> Ordinals | None:
        """Return the positions of the documents that are results by `Search.or_filter`; None without it."""
        if self._others is None:
            return None
        left_out = self._positions(exclude)
        return documents_in_order(self._backend.index, None, left_out=left_out, allowed=self._others)

    def _with_others(self, ordinals: Ordinals | None) -> Ordinals | None:
        """Return some positions with those of the other results; None without any."""
        others = self._other_results(self._exclude)
        if ordinals is None or others is None:
            return others if ordinals is None else ordinals
        return self._united(ordinals, others)

    def _boosted(self, exclude: frozenset[str], boosts: IndexBoosts) -> BoostedMatches:
        from termwise.search.boosted_matches import BoostedMatches

        penalties, relevance = None, self.search.relevance
        if self._is_mixture and relevance is not None:
            penalties = boosts_of(self._backend, relevance, relevance.penalties)
        others = self._other_results(exclude) if self._is_mixture else None
        return BoostedMatches(self._unboosted(exclude), boosts, penalties, others)

    def _unboosted(self, exclude: frozenset[str]) -> IndexMatches | MixtureMatches:
        """Return the documents that match the query, without the excluded ones; those of the last call are kept."""
        if self._matched is None or self._matched[0] != exclude:
            left_out = self._positions(exclude)
            self._matched = exclude, self._backend.match(self.query, left_out, self._allowed, self.search)
        return self._matched[1]

    def _positions(self, doc_ids: Collection[str]) -> Ordinals:
        return self._backend.index.find_many(list(doc_ids)) if doc_ids else np.empty(0, dtype=np.int64)

    def _best_candidates(
        self, exclude: frozenset[str], candidates: Sequence[str]
    ) -> tuple[Best, dict[int, str]]:
        """Return the function that finds the best candidates, and their names by position.

        Ties are in the order of the candidates, and those without a score are last.
        """
        backend = self._backend
        ordinals = candidate_ordinals(backend.index, candidates, self._query_id, path=backend.path)
        names = dict(zip(ordinals.tolist(), candidates, strict=True))
        if self._allowed_documents is not None:
            ordinals = ordinals[self._allowed_documents.allow(ordinals)]
        if self._lists:
            scores, scored = np.zeros(len(ordinals)), np.ones(len(ordinals), dtype=np.bool_)
        else:
            scores, scored = self._unboosted(exclude).scores(ordinals)
        scores = np.where(scored, scores, scores[scored].min() if scored.any() else 0.0)
        if self._boosts is not None:
            boosted = self._boosts if self._lists else self._boosted(exclude, self._boosts)
            scores = scores + boosted.of(ordinals)
        order = np.lexsort((~scored, -scores))
        if exclude:
            order = order[~np.isin(ordinals[order], self._positions(exclude))]
        return _in_order(ordinals[order], scores[order]), names

    @property
    def windows(self) -> int | None:
        """Least number of windows that a graph proposes for an approximate search; None if the search is exact."""
        search = self.search
        k = search.k + search.offset if search.sort is None else max(1, len(self._backend.index))
        return self._backend.windows_for(self._encodings, k)

    @property
    def matched(self) -> str | None:
        """What makes a document a match: the number of words of the query that it contains, see `Search.match`.

        ``meaning`` if no document of a mixture contains enough words, and there are results by meaning: then they are
        the matches. None without a query, for candidates, where documents match by vectors alone, and in an index
        without `Search.match`, where any word is enough.
        """
        if self._lists or self.search.candidates is not None or not (self._is_mixture or self.search.match):
            return None
        matches = self._all_matches
        is_by_meaning = self._is_mixture and matches.level is not None and matches.by_meaning
        return "meaning" if is_by_meaning and len(matches.ordinals()) else matches.level

    def count(self) -> int:
        """Return the number of matches, or of candidates that fulfil the conditions.

        In an index, the documents that share a term with the query match it, or those with enough of its words, see
        `Search.match`; and with vectors, all documents with a vector. In a mixture, the documents that match by words
        do, or if none does, all results; see `count_is_exact`. Pinned documents count as matches. Without a query, all
        documents that fulfil the conditions match.
        """
        return len(self._matching())

    @property
    def count_is_exact(self) -> bool:
        """Whether `count` is exact, and not the least number of matches.

        Each part of a mixture finds a limited number of documents by meaning, 1,000 by default. If so many pass, more
        could.
        """
        if self._lists or self.search.candidates is not None or not self._is_mixture:
            return True
        matches = self._all_matches
        return not matches.by_meaning or (matches.count_is_exact and self.windows is None)

    def is_match(self, doc_id: str) -> bool:
        """Return whether a document is a match; see `count`.

        Raises
        ------
        UnknownIdError
            If the index holds no such document.
        """
        return bool(np.isin(find_documents(self._backend, [doc_id]), self._matching()).all())

    @property
    def _is_mixture(self) -> bool:
        return not isinstance(self._backend, SingleIndex)

    def length(self) -> int:
        """Return the number of results that paging reaches without collapsing.

        In a mixture, these are all results, also those that do not match; if results are sorted, the matches.
        """
        matches, added = self._mixture_matches, self._with_others(self._pinned())
        if matches is None or self._order.keys:
            return self.count()
        return matches.size + (0 if added is None else int((~matches.is_ranked(added)).sum()))

    def facets(self) -> dict[str, list[ValueCount]]:
        """Count the values of `Search.facets` and the ranges of `Search.ranges` over all matches.

        Returns
        -------
        dict of str to list of ValueCount
            For each of the facets, the most frequent values, those of equal frequency in ascending order; for each of
            the ranges, the number of documents in each range, with its name as value, in the order of the names.

        Raises
        ------
        ParameterError
            If an attribute has another type.

        Examples
        --------
        >>> import tempfile, termwise
        >>> from termwise.search import Search
        >>> tea = [
        ...     termwise.Document("a", "green tea", {"kind": "tea", "price": 4}),
        ...     termwise.Document("b", "pot", {"kind": "pot", "price": 20}),
        ... ]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     searcher = termwise.build_index(tea, folder)
        ...     searcher.search(Search(facets=["kind"])).facets()
        ...     searcher.search(Search("green", facets=["kind"])).facets()
        ...     searcher.search(Search(ranges={"price": {"to 10": (None, 10), "from 10": (10, None)}})).facets()
        {'kind': [ValueCount(value='pot', documents=1), ValueCount(value='tea', documents=1)]}
        {'kind': [ValueCount(value='tea', documents=1)]}
        {'price': [ValueCount(value='to 10', documents=1), ValueCount(value='from 10', documents=1)]}
        """
        search, index = self.search, self._backend.attribute_index
        counts = facets_at(index, self._matching(), search.facets, search.ranges, search.facet_values)
        if search.multi_select and self.filter is not None:
            from termwise.filters import as_filter

            for results in self._without_own_conditions(as_filter(self.filter, index.schema)):
                counts |= results.facets()
        return counts

    def _without_own_conditions(self, filter: Filter) -> Iterator[Results]:
        """Yield a search for each counted attribute with conditions in the filter, without these conditions."""
        from termwise.filters import without_field

        for name in (*self.search.facets, *self.search.ranges):
            if (kept := without_field(filter, name)) != filter:
                ranges = self.search.ranges.get(name)
                search = replace(
                    self.without_conditions(),
                    filter=kept,
                    or_filter=self.search.or_filter,
                    must=self.must,
                    must_not=self.must_not,
                    multi_select=False,
                    facets=(name,) if ranges is None else (),
                    ranges={} if ranges is None else {name: ranges},
                )
                yield Results(self._backend, search)

    def reasons(self, *, advice: bool = True) -> list[str]:
        """Return why there are no results, in sentences without a full stop; empty if there are results.

        The words to search for instead are those of `did_you_mean`.

        Parameters
        ----------
        advice : bool, optional
            Whether to add advice on another model, analyzer or text of the index, which is for the people who build it.

        Examples
        --------
        >>> import tempfile, termwise
        >>> from termwise.search import Search
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     searcher = termwise.build_index([termwise.Document("a", "green tea", {"price": 4})], folder)
        ...     searcher.search(Search("tea", filter="price < 2")).reasons()
        ['the conditions allow no document that matches the query (filtered by price < 2)']
        """
        if len(self.ranking):
            return []
        from termwise.search.reasons import reasons_for_none

        return reasons_for_none(self, self._backend, partial(Results, self._backend), advice=advice)

    def statistics(self, attribute: str) -> ValueStatistics:
        """Return the number, the smallest, the largest and the sum of the values of an attribute over all matches.

        Raises
        ------
        UnknownNameError
            If the documents have no such attribute.

        Examples
        --------
        >>> import tempfile, termwise
        >>> from termwise.search import Search
        >>> tea = [termwise.Document("a", "tea", {"price": 4}), termwise.Document("b", "teapot", {"price": 20})]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     termwise.build_index(tea, folder).search(Search()).statistics("price")
        ValueStatistics(values=2, distinct=2, least=4, most=20, total=24)
        """
        from termwise.filters import value_statistics

        self._backend.attribute_index.schema.check_name(attribute)
        return value_statistics(self.segments(), attribute)

    def first_of(self, segments: Segments, k: int, sort: str | Sequence[str] | None = None) -> Ranking:
        """Return the first of some matches, in the order of their scores, or of `sort`; see `Search.sort`.

        Parameters
        ----------
        segments : sequence of (AttributeColumns or None, ndarray of bool)
            Rows of `segments`, or some of them.
        k : int
            Number of documents.
        sort : str or sequence of str, optional

        Examples
        --------
        >>> import tempfile, termwise
        >>> from termwise.search import Search
        >>> tea = [termwise.Document("a", "tea", {"price": 4}), termwise.Document("b", "tea", {"price": 2})]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     results = termwise.build_index(tea, folder).search(Search("tea"))
        ...     results.first_of(results.segments(), 1, sort="price").doc_ids
        ('b',)
        """
        index = self._backend.attribute_index
        places = [
            first + np.flatnonzero(segment.live_part(mask))
            for first, segment, (_, mask) in zip(index.segments.firsts, index.segments, segments, strict=True)
        ]
        ordinals = np.concatenate([np.empty(0, dtype=np.int64), *places])
        spend(len(ordinals))
        scores = self._scores_of(ordinals)
        order = np.lexsort((ordinals, -scores))
        best = _in_order(ordinals[order], scores[order])
        return ResultOrder.parse(sort, None, 1, index.schema, None).ranking(index, best, k, self._query_id)

    def segments(self) -> Segments:
        """Return the attribute columns of each segment and a mask of its matching rows, for `termwise.filters.facets`.

        Of candidates, those that fulfil the conditions match.
        """
        return segments_at(self._backend.attribute_index, self._matching())

    def _matching(self) -> Ordinals:
        if self.search.candidates is not None:
            best, _ = self._best_candidates(self._exclude, self.search.candidates)
            return self._above(best)(len(self.search.candidates))[0]
        if self._lists:
            return self._scored_enough(self._listed(self._exclude))
        pinned, others = self._pinned(), self._other_results(self._exclude)
        matches = self._all_matches.ordinals()
        found = self._scored_enough(matches if others is None else self._united(matches, others))
        return found if pinned is None else self._united(found, pinned)

    def _united(self, ordinals: Ordinals, others: Ordinals) -> Ordinals:
        """Return positions that are among some or others, ascending; faster than ``np.union1d`` if they are many."""
        mask = np.zeros(len(self._backend.index), dtype=np.bool_)
        mask[ordinals] = mask[others] = True
        return np.flatnonzero(mask)

    def _scored_enough(self, ordinals: Ordinals) -> Ordinals:
        """Return the positions of those of some matches that have at least `Search.min_score`."""
        if self.search.min_score is None:
            return ordinals
        spend(len(ordinals))
        return ordinals[self._scores_of(ordinals) >= self.search.min_score]

    def _scores_of(self, ordinals: Ordinals) -> Floats:
        """Return the scores of documents at some positions."""
        if not self._lists:
            return self.matches(self._exclude).scores(ordinals)[0]
        return np.zeros(len(ordinals)) if self._boosts is None else self._boosts.of(ordinals)

    @property
    def _all_matches(self) -> IndexMatches | MixtureMatches:
        return self._unboosted(
            self._exclude if self.search.like_text is None else frozenset(self._with_same_text_of_all)
        )

    def _listed(self, exclude: frozenset[str]) -> Ordinals:
        left_out, allowed = self._positions(exclude), self._allowed_documents
        return documents_in_order(self._backend.index, None, left_out=left_out, allowed=allowed)

    def explain(
        self,
        doc_ids: Sequence[str] | None = None,
        *,
        competitors: int | None = None,
        centred: bool = False,
    ) -> list[Explanation]:
        """Explain the score of each document as a sum over terms, in a mixture over those of all parts.

        Parameters
        ----------
        doc_ids : sequence of str, optional
            Documents of the index; by default those of the ranking.
        competitors : int, optional
            Number of documents above and below each to name, together with its rank. Requires a full ranking.
        centred : bool, optional
            In a mixture, subtract from each contribution its mean over the candidates.

        Raises
        ------
        UnknownIdError
            If the index holds no such document.
        """
        if competitors is not None and (not is_integer(competitors) or competitors < 0):
            raise ParameterError(
                "competitors is the number of documents to name, 0 or more",
                facts=[("competitors", competitors)],
            )
        if competitors is not None:
            competitors = min(int(competitors), MOST_RESULTS)
        doc_ids = self.ranking.doc_ids if doc_ids is None else doc_ids
        ordinals = find_documents(self._backend, doc_ids)
        exclude = self._exclude
        # Excluded documents do not change the scores of an index, but the scale of the parts of a mixture.
        if self.search.like_text is not None and (
            competitors is not None or self._backend.scores_are_relative
        ):
            exclude = frozenset(self._with_same_text_of_all) - set(doc_ids)
        matches = self.matches(exclude)
        explanations = matches.explain(doc_ids, ordinals, centred)
        from termwise.explain.explainer import with_conditions, with_ranks

        if competitors is not None:
            neighbours = np.where(matches.is_ranked(ordinals), competitors, 0)
            ranked = matches.best(max(1, len(self._backend.index)))
            explanations = with_ranks(explanations, self._backend.index, ordinals, neighbours, ranked)
        if self.search.like is not None or self.search.like_text is not None:
            name = self.search.like or "text"
            explanations = [replace(explanation, example=name) for explanation in explanations]
        explanations = with_conditions(explanations, self.conditions, self._backend.index)
        pinned = self._pinned()
        if pinned is None:
            return explanations
        return [
            replace(explanation, pinned=self._pins[explanation.doc_id]) if ordinal in pinned else explanation
            for explanation, ordinal in zip(explanations, ordinals.tolist(), strict=True)
        ]

    def hits(self, *, show: Sequence[str] | None = None, texts: bool = True) -> list[Hit]:
        """Return the results with attributes and texts, and what they match; see `Searcher.hits`."""
        hits = hits_of(self._backend, self.ranking, show, texts)
        found = zip(hits, self.matching(), self.relevance(), strict=True)
        return [hit._replace(matches=matches, relevance=relevance) for hit, matches, relevance in found]

    def matching(self) -> list[Matching | None]:
        """Return for each document of the ranking whether it matches by words, see `Search.match`, or by meaning only.

        None without a query, for candidates, and in an index, where all results match alike.

        Examples
        --------
        >>> import tempfile, termwise
        >>> from termwise.search import Search
        >>> tea = [termwise.Document("a", "green tea"), termwise.Document("b", "a pot of tea")]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     searcher = termwise.build_index(tea, folder, model="instant")
        ...     results = searcher.search(Search("pot"))
        ...     results.ranking.doc_ids, results.matching(), results.count(), results.matched
        (('b', 'a'), ['words', 'meaning'], 1, 'all')
        """
        if self._lists or self.search.candidates is not None or not self._is_mixture:
            return [None] * len(self.ranking)
        by_words = self._by_words(self._all_matches, self._positions(self.ranking.doc_ids))
        return ["words" if each else "meaning" for each in by_words.tolist()]

    def _by_words(self, matches: IndexMatches | MixtureMatches, ordinals: Ordinals) -> npt.NDArray[np.bool_]:
        """Return which documents match by words, or are results by `Search.or_filter`."""
        found, others = matches.by_words(ordinals), self._other_results(self._exclude)
        return found if others is None else found | np.isin(ordinals, others)

    def relevance(self) -> list[float | None]:
        """Return for each document of the ranking the share of unrelated queries whose best result is less near.

        It is estimated from the vectors of a mixture alone; see `termwise.engine.unrelated_queries`, and
        `Search.min_relevance`. None without a query, for candidates, in an index, and in a mixture without vectors or
        of an earlier version.

        Examples
        --------
        >>> import tempfile, termwise
        >>> from termwise.search import Search
        >>> tea = [termwise.Document("a", "green tea"), termwise.Document("b", "a pot for coffee")]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     searcher = termwise.build_index(tea, folder, model="instant")
        ...     results = searcher.search(Search("espresso", min_relevance=0))
        ...     results.ranking.doc_ids, results.relevance()[0] > results.relevance()[1]
        (('b', 'a'), True)
        """
        matches = self._mixture_matches
        found = None if matches is None else matches.relevance(self._positions(self.ranking.doc_ids))
        return [None] * len(self.ranking) if found is None else found.tolist()

    @property
    def least_relevance(self) -> float:
        """Least relevance of results that match by meaning only: `Search.min_relevance`, or its default for the query.

        0 where relevance leaves nothing out.
        """
        matches = self._mixture_matches
        return 0.0 if matches is None else matches.least_relevance

    @property
    def left_out_by_relevance(self) -> int:
        """Number of documents that are near in meaning, and no results because of their relevance."""
        matches = self._mixture_matches
        return 0 if matches is None else matches.left_out_by_relevance

    @property
    def other_language(self) -> str | None:
        """Language of the query if it is one that the vectors of a mixture do not know; None otherwise."""
        matches = self._mixture_matches
        return None if matches is None else matches.weights.language

    @property
    def _mixture_matches(self) -> MixtureMatches | None:
        """Matches by words and by meaning; None if the search has other results than these."""
        if self._lists or self.search.candidates is not None:
            return None
        matches = self._all_matches
        return None if isinstance(matches, IndexMatches) else matches

    def snippets(
        self, doc_ids: Sequence[str] | None = None, *, length: int = 200, field: str | None = None
    ) -> list[Snippet]:
        """Return a snippet of each document with the words of the query, without explaining scores.

        A snippet has the largest sum of the weights of different words of the query, where rare words weigh more. The
        beginning of the text is preferred if it has four fifths of this sum; it is the snippet of a text without these
        words. Words that are added for mistyped or unfinished words count as well.

        Parameters
        ----------
        doc_ids : sequence of str, optional
            Documents of the index; by default those of the ranking.
        length : int, optional
            Largest number of characters of a snippet, 20 or more. Snippets begin and end between words if possible.
        field : str, optional
            Field of which snippets are taken, in an index with weights of fields; by default, the texts of all fields,
            joined.

        Returns
        -------
        list of Snippet
            In the order of `doc_ids`. Words are looked for in the first 100,000 characters of a text.

        Raises
        ------
        ParameterError
            If the index keeps no texts, or not those of the fields, or an argument is out of range.
        UnknownNameError
            If the index has no such field.
        UnknownIdError
            If the index holds no such document.

        Examples
        --------
        >>> import tempfile, termwise
        >>> from termwise.search import Search
        >>> documents = [termwise.Document("a", "A heap is a tree. To merge two sorted lists takes one pass.")]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     searcher = termwise.build_index(documents, folder, store_text=True)
        ...     (found,) = searcher.search(Search("sorting lists")).snippets(length=30)
        >>> found.text, [found.text[start:end] for start, end in found.spans], found.before
        ('sorted lists takes one pass.', ['sorted', 'lists'], 31)
        """
        from termwise.search.snippets import snippets_of

        doc_ids = self.ranking.doc_ids if doc_ids is None else doc_ids
        part = self._encoding_of(self._backend.words)
        return snippets_of(
            self.query.text,
            doc_ids,
            find_documents(self._backend, doc_ids),
            part.encoder,
            index=part.index,
            texts=self._backend.index,
            length=length,
            field=field,
        )

    def did_you_mean(self) -> list[Suggestion]:
        """Return the suggestions of `similar_words` that lead to other results under the options of this search.

        The query with the first word of each suggestion has results, and they are not those of this search. The other
        words of a suggestion lead to others, too, in its place. A fuzzy search has suggestions for codes only.

        Examples
        --------
        >>> import tempfile, termwise
        >>> from termwise.search import Search
        >>> tea = [termwise.Document("a", "green tea", {"price": 4}), termwise.Document("b", "a pot", {"price": 20})]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     searcher = termwise.build_index(tea, folder, store_text=True)
        ...     searches = [Search("gren"), Search("gren", filter="price > 9"), Search("gren pot", match="all")]
        ...     [[each.words[0].word for each in searcher.search(search).did_you_mean()] for search in searches]
        [['green'], [], []]
        """
        if self._suggestions is None:
            self._suggestions = self._leading_suggestions()
        return self._suggestions

    def _leading_suggestions(self) -> list[Suggestion]:
        from termwise.search.suggestions import corrected, leading

        similar = [each for each in self.similar_words() if not self.search.fuzzy or each.is_code]
        if not similar:
            return []
        same = self if not self.search.offset else self._like_this(self.search.text)
        shown = same.ranking.doc_ids, same.matching()

        def leads_on(words: Sequence[str]) -> bool:
            found = self._like_this(corrected(self.search.text, self.text, similar, words))
            return bool(found.ranking.doc_ids) and (found.ranking.doc_ids, found.matching()) != shown

        return leading(similar, leads_on)

    def _like_this(self, query: str) -> Results:
        """Return the first results of the same search for another text."""
        return Results(self._backend, replace(self.search, query=query, offset=0, facets=(), ranges={}))

    def similar_words(self) -> list[Suggestion]:
        """Return the probably mistyped words of the query, with the nearest ones; see `Searcher.did_you_mean`."""
        if self._similar is None:
            self._similar = self._mistyped()
        return self._similar

    def _mistyped(self) -> list[Suggestion]:
        backend = self._backend.suggesting
        similar = self._similar_terms(backend)
        if similar is None or self.search.like is not None or self.search.like_text is not None:
            return []
        from termwise.search.suggestions import suggestions

        return suggestions(similar, self._encoding_of(backend).encoder, self.text)

    def _similar_terms(self, backend: SingleIndex) -> AnySimilarTerms | None:
        """Return the terms of similar spelling in the language of the query, or None for an index of word pieces."""
        similar = backend.similar_terms
        return None if similar is None else similar.of_language(backend.language_of(self.search))

    def _encoding_of(self, backend: SingleIndex) -> PartEncoding:
        return next(part for part in self._encodings if part.index is backend.index)

    @property
    def _with_same_text_of_all(self) -> tuple[str, ...]:
        """Documents with the text of the example, looked for among the best matches.

        They have nearly the best scores, so that the texts of the others need not be read.
        """
        if self._same_text_of_all is None:
            by_score = Results(
                self._backend,
                replace(
                    self.search,
                    k=MOST_COMPARED,
                    offset=0,
                    sort=None,
                    after=None,
                    relevance=None,
                    collapse=None,
                    collapse_size=1,
                ),
            )
            same: tuple[str, ...] = ()
            while found := by_score._with_same_text(by_score._rank(frozenset(same), MOST_COMPARED).doc_ids):
                same += found
            self._same_text_of_all = same
        return self._same_text_of_all

    def _with_same_text(self, doc_ids: Sequence[str]) -> tuple[str, ...]:
        """Return the documents with the same words in the same order."""
        words, index = self.text.split(), self._backend.index
        texts = index.document_texts(index.find_many(doc_ids))
        return tuple(
            doc_id
            for doc_id, text in zip(doc_ids, texts, strict=True)
            if text is not None and text.split() == words
        )


def _in_order(ordinals: Ordinals, scores: Floats) -> Best:
    """Return the function that returns the first documents."""
    return lambda k: (ordinals[:k], scores[:k])


def _language_of_filter(backend: Backend, given: FilterLike) -> str | None:
    """Return the language that a filter requires, if it is that of an analyzer which depends on an attribute."""
    analyzer = backend.words.encoder.analyzer
    if not isinstance(analyzer, AnalyzerByAttribute):
        return None
    from termwise.filters import as_filter, required_values

    filter = as_filter(given, backend.attribute_index.schema)
    values = required_values(filter, analyzer.attribute)
    languages = {analyzer.known(value) if isinstance(value, str) else None for value in values}
    return languages.pop() if len(languages) == 1 else None


def boosts_of(backend: Backend, relevance: Relevance, boosts: tuple[Boost, ...]) -> IndexBoosts | None:
    """Return some of the boosts of a relevance for the documents of a backend, or None without any.

    Raises
    ------
    ParameterError, UnknownNameError
        If the documents lack an attribute, or it has another type; the error names the file and the key.
    """
    kept = backend.kept_boosts
    if not boosts:
        return None
    for (given, at), same in [*kept.items()]:  # faster than by hashes
        if given is boosts and at == 0:
            return same
    from termwise.engine.boosts import MINUTE, IndexBoosts

    now = time.time_ns() // 1000 // MINUTE * MINUTE if any(boost.moves for boost in boosts) else 0
    found = kept.get((boosts, now))
    if found is None:
        for number, boost in enumerate(boosts):
            with relevance.naming(f"boosts[{number}]"):
                boost.check_schema(backend.attribute_index.schema)
        with_text = any(boost.contains is not None for boost in boosts)
        reader = backend.text_reader if with_text else None
        found = IndexBoosts(backend.attribute_index, boosts, now, reader)
        for key in [*kept][: 1 - MOST_KEPT]:
            kept.pop(key, None)
        kept[boosts, now] = found
    return found


def _stored_text(backend: Backend, doc_id: str, ordinal: int) -> str:
    """Return the text of a document that is the query."""
    (text,) = backend.index.document_texts(np.array([ordinal], dtype=np.int64))
    if text is None:
        raise ParameterError(
            "the index keeps no texts, which query by example needs",
            facts=[("doc_id", doc_id), ("index", backend.index.path)],
            fixes=[
                Fix.build(store_text=True),
                Fix.use("pass the text itself: {}", like_text=Code("TEXT")),
            ],
        )
    return text
