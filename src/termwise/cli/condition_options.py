"""Options for conditions on the results of a search: a filter, and required and excluded words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from termwise.cli.options import option
from termwise.display.safe_text import legible_line

if TYPE_CHECKING:
    from termwise.filters import Filter

Condition = Annotated[
    str | None,
    option(
        "--filter EXPR",
        "Rank only documents with these attributes, such as 'lang = \"de\" and price < 20'.",
    ),
]
Must = Annotated[
    list[str] | None, option("--must WORD", "Rank only documents whose text contains this word; repeatable.")
]
MustNot = Annotated[
    list[str] | None,
    option(
        "--must-not WORD", "Rank only documents whose text does not contain this word or phrase; repeatable."
    ),
]
Phrase = Annotated[
    list[str] | None,
    option("--phrase WORDS", "Rank only documents whose text contains these words in sequence; repeatable."),
]
Syntax = Annotated[
    bool,
    typer.Option(
        "--syntax",
        help='Read operators in the query: +word, -word, "a phrase", -"a phrase" and field:word.',
    ),
]


@dataclass(frozen=True)
class Conditions:
    """Conditions on the results of a search.

    Attributes
    ----------
    filter : Filter, str or None
    must, must_not, phrases : tuple of str
        See `Searcher.rank`.
    """

    filter: Filter | str | None = None
    must: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        condition: str | None,
        must: list[str] | None,
        must_not: list[str] | None,
        phrases: list[str] | None,
    ) -> Conditions:
        """Return the conditions that options give."""
        return cls(condition, tuple(must or ()), tuple(must_not or ()), tuple(phrases or ()))

    def with_syntax(self, query: str) -> tuple[str, Conditions]:
        """Return the words of a query with operators, and these conditions with those of the query."""
        from termwise.filters import parse_filter
        from termwise.search.query_syntax import parse_query

        parsed = parse_query(query)
        filter = self.filter
        if parsed.filter is not None:
            given = parse_filter(filter) if isinstance(filter, str) else filter
            filter = parsed.filter if given is None else given & parsed.filter
        return parsed.query, Conditions(
            filter,
            self.must + parsed.must,
            self.must_not + parsed.must_not,
            self.phrases + parsed.phrases,
        )

    @property
    def on_texts(self) -> bool:
        """Whether there are conditions on texts."""
        return bool(self.must or self.must_not or self.phrases)

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of `Searcher.rank`."""
        return dict(vars(self))

    def __bool__(self) -> bool:
        return self.filter is not None or self.on_texts

    def __str__(self) -> str:
        parts = [] if self.filter is None else [f"filtered by {legible_line(str(self.filter))}"]
        for name, words in (("with", self.must + self.phrases), ("without", self.must_not)):
            if words:
                parts.append(f"{name} {', '.join(legible_line(repr(each)) for each in words)}")
        return ", ".join(parts)
