"""``termwise table``: what a translation table has learned."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from termwise.cli.options import JsonFlag
from termwise.cli.terminal import print_json, stdout
from termwise.errors import UnknownNameError

if TYPE_CHECKING:
    from termwise.translation import TranslationTable

Table = Annotated[
    str,
    typer.Argument(
        metavar="NAME|DIR",
        help="A table that ships, such as model1, or the folder of one.",
        show_default=False,
    ),
]
Words = Annotated[
    list[str],
    typer.Argument(metavar="WORD...", help="Words to look up.", show_default=False),
]
Depth = Annotated[int, typer.Option("-k", metavar="K", min=1, help="Translations to show each way.")]
Seen = Annotated[
    int,
    typer.Option(
        "--seen",
        metavar="N",
        min=0,
        help="Show document words that training has seen N times or more: rare ones take what nothing else explains.",
    ),
]


def command(table: Table, words: Words, k: Depth = 10, seen: Seen = 1, as_json: JsonFlag = False) -> None:
    """Show the strongest translations of words, both ways.

    Example: termwise table model1 volcano
    """
    from termwise.text import analyzer_from_spec
    from termwise.translation import open_table

    opened = open_table(table)
    analyzer = analyzer_from_spec(opened.analyzer)
    terms: dict[str, None] = {}
    for word in words:
        terms |= dict.fromkeys(_known(opened, word, analyzer.tokens(word)))
    for term in terms:
        asks = [(other, chance) for other, chance in opened.column(term) if _seen(opened, other) >= seen]
        found = {"term": term, "seen": _seen(opened, term), "asked": opened.row(term)[:k], "asks": asks[:k]}
        if as_json:
            print_json(found)
        else:
            _print(found)


def _seen(table: TranslationTable, term: str) -> int:
    """Return how often a term is on the source side of what the table was trained on."""
    number = table.vocabulary.number(term)
    return 0 if number is None else int(table.occurrences[number])


def _known(table: TranslationTable, word: str, terms: list[str]) -> list[str]:
    """Return the terms of a word that the table knows translations of; at least one."""
    known = [term for term in terms if table.row(term) or table.column(term)]
    if known:
        return known
    translated = sorted({table.vocabulary.token(number) for number in table.targets.tolist()})
    near = difflib.get_close_matches(terms[0] if terms else word, translated, n=3, cutoff=0.5)
    raise UnknownNameError(
        f"the table has no translations of {word!r}",
        facts=[
            ("word", word),
            ("analyzer", table.analyzer.name),
            ("its terms", ", ".join(terms) or "none: the analyzer leaves it out"),
            ("near it", ", ".join(near) or "nothing"),
        ],
        fixes=[f"did you mean {' or '.join(near)}?"] if near else [],
    )


def _print(found: dict[str, Any]) -> None:
    from rich.table import Table

    term = found["term"]
    title = f"{term}, seen {found['seen']:,} times"
    shown = Table(box=None, pad_edge=False, title=title, title_justify="left", title_style="bold")
    shown.add_column(f"a document with {term} is asked for with")
    shown.add_column("T", justify="right")
    shown.add_column(f"  {term} asks for documents with")
    shown.add_column("T", justify="right")
    for place in range(max(len(found["asked"]), len(found["asks"]))):
        cells: list[str] = []
        for name, margin in (("asked", ""), ("asks", "  ")):
            here = found[name][place : place + 1]
            cells += [margin + here[0][0], f"{here[0][1]:.4f}"] if here else ["", ""]
        shown.add_row(*cells)
    stdout().print(shown)
