"""Conditions on the results of a search, checked once at the public methods that take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from termwise.attributes import Schema
from termwise.engine.allowed_documents import FilterLike
from termwise.engine.text_conditions import TextConditions, TextReader, Words
from termwise.filters import as_filter
from termwise.search.query_syntax import parse_query
from termwise.validation import check_names


@dataclass(frozen=True)
class Conditions:
    """Conditions on the attributes and texts of results.

    Attributes
    ----------
    filter : str, mapping, Filter or None
        Condition on attributes.
    required, excluded : tuple of str
        Words and phrases that texts contain, or do not contain.
    """

    filter: FilterLike | None = None
    required: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, filter: FilterLike | None = None, must: Words = (), must_not: Words = (), phrases: Words = ()
    ) -> Conditions:
        """Return the conditions that the arguments of `Searcher.rank` give.

        Raises
        ------
        ParameterError
            If words are neither a string nor a sequence of strings.

        Examples
        --------
        >>> Conditions.of("price < 20", must="rock", phrases=["molten rock"])
        Conditions(filter='price < 20', required=('rock', 'molten rock'), excluded=())
        """
        if filter is None and must == () and must_not == () and phrases == ():
            return NO_CONDITIONS
        given = {"must": must, "phrases": phrases, "must_not": must_not}
        strings = {name: (value,) if isinstance(value, str) else value for name, value in given.items()}
        for name, value in strings.items():
            check_names(name, value)
        return cls(filter, (*strings["must"], *strings["phrases"]), tuple(strings["must_not"]))

    def __bool__(self) -> bool:
        return self != NO_CONDITIONS

    @property
    def arguments(self) -> dict[str, Any]:
        """The same conditions as arguments of `Searcher.rank`."""
        return {"filter": self.filter, "must": self.required, "must_not": self.excluded}

    def with_syntax(self, query: str, schema: Schema) -> tuple[str, Conditions]:
        """Return the words of a query with operators, and these conditions with those of the query added.

        Parameters
        ----------
        query : str
            See `termwise.search.query_syntax`.
        schema : Schema
            Types of the attributes of the index, to which the values of the query are converted.

        Raises
        ------
        ParameterError, UnknownNameError
            See `parse_query` and `as_filter`.
        """
        parsed = parse_query(query, schema)
        filter = self.filter
        if parsed.filter is not None:
            filter = parsed.filter if filter is None else as_filter(filter, schema) & parsed.filter
        required = self.required + parsed.must + parsed.phrases
        return parsed.query, Conditions(filter, required, self.excluded + parsed.must_not)

    def on_texts(self, reader: TextReader) -> TextConditions | None:
        """Return the conditions on texts; None without any. See `TextConditions.of`."""
        return TextConditions.of(reader, self.required, self.excluded)


NO_CONDITIONS = Conditions()
"""The conditions of most searches."""
