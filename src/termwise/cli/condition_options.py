"""Options for conditions on the results of a search: a filter, and required and excluded words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from termwise.cli.options import option
from termwise.display.safe_text import legible_line

if TYPE_CHECKING:
    from termwise.search.conditions import Conditions

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
        help='Read operators in the query: +word, -word, "a phrase", -"a phrase" and field:value (an attribute).',
    ),
]


def conditions_of(
    condition: str | None,
    must: Sequence[str] | None,
    must_not: Sequence[str] | None,
    phrases: Sequence[str] | None,
) -> Conditions:
    """Return the conditions that options give."""
    from termwise.search.conditions import Conditions

    return Conditions.of(condition, must or (), must_not or (), phrases or ())


def condition_line(conditions: Conditions) -> str:
    """Describe conditions in a note; empty without any."""
    parts = [] if conditions.filter is None else [f"filtered by {legible_line(str(conditions.filter))}"]
    for name, words in (("with", conditions.required), ("without", conditions.excluded)):
        if words:
            parts.append(f"{name} {', '.join(legible_line(repr(each)) for each in words)}")
    return ", ".join(parts)
