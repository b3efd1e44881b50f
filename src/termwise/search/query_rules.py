"""Rules for the results of some queries: documents that come first (pins), and documents that are no results (bans).

A rule and a query are compared as the analyzer of the index writes them; in a mixture, that of the first part whose
terms are the words of the texts. A rule has no effect if it leaves no token of the rule, or does not know a word of it.
If several rules match a query, all of them apply: rules for the exact query first, then those for a beginning of it,
longer ones first, and rules for the same words in their order. A document that is pinned and banned is banned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, final, get_args

from termwise.budget import spend
from termwise.errors import ParameterError, UnknownNameError
from termwise.fast_dataclass import dataclass
from termwise.text.analyzer import Analyzer, unknown_token
from termwise.text.words_around import is_part_of_word
from termwise.validation import check, check_names

MOST_RULES = 10_000
"""Number of rules."""

MOST_DOCUMENTS = 1000
"""Number of documents that a rule pins, and that it bans."""

Match = Literal["exact", "prefix"]


@final
@dataclass(frozen=True)
class QueryRule:
    """Documents that come first, and documents that are no results, for some queries.

    Parameters
    ----------
    query : str
        Words of these queries.
    match : {"exact", "prefix"}, optional
        Whether a query has these words only, or begins with them.
    pin : sequence of str, optional
        Identifiers of the first results, in their order, whether the query matches them or not. Conditions of a search
        apply to them.
    ban : sequence of str, optional
        Identifiers of documents that are no results.

    Raises
    ------
    ParameterError, UnknownNameError
        If a value has another type, or there are more than `MOST_DOCUMENTS` in a list.

    Examples
    --------
    >>> QueryRule("sofa", pin=["p1", "p7"])
    QueryRule(query='sofa', match='exact', pin=('p1', 'p7'), ban=())
    """

    query: str
    match: Match = "exact"
    pin: Sequence[str] = ()
    ban: Sequence[str] = ()

    def __post_init__(self) -> None:
        holds = isinstance(self.query, str) and bool(self.query.strip())
        check("query", self.query, holds, "the words of a query")
        if self.match not in get_args(Match):
            raise UnknownNameError.of("match of a rule", str(self.match), get_args(Match))
        for name in ("pin", "ban"):
            doc_ids = getattr(self, name)
            check_names(name, doc_ids)
            check(name, doc_ids, len(doc_ids) <= MOST_DOCUMENTS, f"at most {MOST_DOCUMENTS:,} documents")
            object.__setattr__(self, name, tuple(dict.fromkeys(doc_ids)))
        if not self.pin and not self.ban:
            raise ParameterError("a rule pins or bans a document", facts=[("query", self.query)])


@dataclass(frozen=True)
class MatchingRules:
    """Effect of the rules that match a query.

    Attributes
    ----------
    pinned : mapping of str to str
        The query of the rule that pins a document, by its identifier, in the order of the results.
    banned : frozenset of str
    """

    pinned: Mapping[str, str]
    banned: frozenset[str]


NO_RULES = MatchingRules({}, frozenset())
"""Effect without rules."""


_Table = dict[tuple[Match, tuple[str, ...]], list[QueryRule]]


@final
@dataclass(frozen=True)
class QueryRules:
    """Rules for queries; see the module.

    Attributes
    ----------
    rules : tuple of QueryRule
    """

    rules: tuple[QueryRule, ...] = ()

    def __post_init__(self) -> None:
        self.__dict__["_tables"] = {}
        self.__dict__["_last"] = (None, ({}, 0))

    def __reduce__(self) -> tuple[type[QueryRules], tuple[tuple[QueryRule, ...]]]:
        return QueryRules, (self.rules,)

    def prepare(self, analyzer: Analyzer) -> None:
        """Analyse the rules, so that no search has to."""
        self._table(analyzer)

    def for_query(self, query: str, analyzer: Analyzer) -> MatchingRules:
        """Return the effect of the rules that match a query.

        Examples
        --------
        >>> from termwise.text import make_analyzer
        >>> rules = QueryRules((QueryRule("sofa", "prefix", ["a", "b"]), QueryRule("sofa bed", pin=["b"], ban=["c"])))
        >>> rules.for_query("Sofa beds", make_analyzer("english"))
        MatchingRules(pinned={'b': 'sofa bed', 'a': 'sofa'}, banned=frozenset({'c'}))
        """
        table, longest = self._table(analyzer)
        if not table:
            return NO_RULES
        analysis = analyzer.analyze(query)
        tokens, spans = tuple(analysis.tokens), analysis.spans.tolist()
        pinned: dict[str, str] = {}
        banned: set[str] = set()
        keys: list[tuple[Match, tuple[str, ...]]] = [("exact", tokens)]
        keys += [
            ("prefix", tokens[:length])
            for length in range(min(len(tokens), longest), 0, -1)
            if analyzer.vocabulary is None or not is_part_of_word(query, spans, 0, length)
        ]
        for key in keys:
            for rule in table.get(key, ()):
                for doc_id in rule.pin:
                    pinned.setdefault(doc_id, rule.query)
                banned.update(rule.ban)
        kept = {doc_id: name for doc_id, name in pinned.items() if doc_id not in banned}
        return MatchingRules(kept, frozenset(banned))

    def _table(self, analyzer: Analyzer) -> tuple[_Table, int]:
        """Return the rules by their tokens, and the largest number of tokens; those of earlier calls are kept."""
        last: tuple[Analyzer | None, tuple[_Table, int]] = self.__dict__["_last"]
        if last[0] is analyzer:  # a fingerprint takes as long as a search
            return last[1]
        tables: dict[str, tuple[_Table, int]] = self.__dict__["_tables"]
        fingerprint = analyzer.spec.fingerprint
        if fingerprint not in tables:
            table: _Table = {}
            unknown = unknown_token(analyzer)
            for rule in self.rules:
                spend()
                tokens = tuple(analyzer.tokens(rule.query))
                if tokens and unknown not in tokens:
                    table.setdefault((rule.match, tokens), []).append(rule)
            tables[fingerprint] = table, max((len(words) for _, words in table), default=0)
        self.__dict__["_last"] = analyzer, tables[fingerprint]
        return tables[fingerprint]
