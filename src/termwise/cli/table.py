"""``termwise table``: translations of words in a translation table."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Annotated, Any

from termwise.cli.hints import spell
from termwise.cli.options import JsonFlag, argument, option
from termwise.cli.terminal import note, print_json, stdout
from termwise.display.safe_text import legible_line
from termwise.errors import UnknownNameError

if TYPE_CHECKING:
    from termwise.translation import TranslationTable

Table = Annotated[str, argument("NAME|DIR", "Name of a shipped table, such as model1, or a folder.")]
Words = Annotated[list[str], argument("WORD...", "Words to look up.")]
Depth = Annotated[int, option("-k K", "Number of translations to show in each direction.", min=1)]
Occurrences = Annotated[
    int | None,
    option(
        "--min-occurrences N",
        "Show only document words that occur at least N times in the training data; estimates for rarer "
        "words are unreliable.  [default: the number of training tokens / 500,000]",
        min=0,
    ),
]

_RARE = 500_000
"""A word is rare if it is less than one in this number of training tokens."""

_CONTINUES = "##"


def command(
    table: Table, words: Words, k: Depth = 10, least: Occurrences = None, as_json: JsonFlag = False
) -> None:
    """Show the most probable translations of words.

    Translations in both directions: query terms given a document term, and document terms given a query term.

    Example: termwise table model1 volcano
    """
    from termwise.text import analyzer_from_spec
    from termwise.translation import open_table

    opened = open_table(table)
    analyzer = analyzer_from_spec(opened.analyzer)
    by_default = least is None
    least = int(opened.occurrences.sum()) // _RARE if least is None else least
    known: dict[str, str] = {}
    refusals: list[UnknownNameError] = []
    for word in [part for given in words for part in given.split() or [given]]:
        terms = analyzer.tokens(word)
        translated = [term for term in terms if opened.row(term) or opened.column(term)]
        if not translated:
            refusals.append(_refusal(opened, word, terms))
        else:
            refusals += [_refusal(opened, term, [term]) for term in terms if term not in translated]
        for term in translated:
            known.setdefault(term, word if len(terms) > 1 else "")
    for refusal in refusals if known else refusals[1:]:
        note("; ".join([legible_line(refusal.message), *map(legible_line, refusal.fixes_worded(spell))]))
    if not known:
        raise refusals[0]
    answers = [_looked_up(opened, term, k, least) for term in known]
    if as_json:
        for answer in answers:
            print_json(answer)
        return
    for answer, word in zip(answers, known.values(), strict=True):
        _print(answer, word)
    shown = [term for answer in answers for term, _ in (*answer["query_terms"], *answer["document_terms"])]
    if any(term.startswith(_CONTINUES) for term in [*known, *shown]):
        print(f"{_CONTINUES}: continuation piece of a word")
    others = [other for term in known for other, _ in opened.column(term)]
    if by_default and any(_occurrences(opened, other) < least for other in others):
        print(
            f"not shown: document words with fewer than {least} occurrences in the training data; "
            "--min-occurrences 0 shows them"
        )


def _looked_up(table: TranslationTable, term: str, k: int, least: int) -> dict[str, Any]:
    document_terms = [
        (other, chance) for other, chance in table.column(term) if _occurrences(table, other) >= least
    ]
    return {
        "term": term,
        "occurrences": _occurrences(table, term),
        "query_terms": table.row(term)[:k],
        "document_terms": document_terms[:k],
    }


def _occurrences(table: TranslationTable, term: str) -> int:
    """Return the number of occurrences of a document term in the training data."""
    number = table.vocabulary.number(term)
    return 0 if number is None else int(table.occurrences[number])


def _refusal(table: TranslationTable, word: str, terms: list[str]) -> UnknownNameError:
    """Build the error for a word without translations, with similar words that have translations."""
    if not terms:
        return UnknownNameError(
            f"the table has no translations of {word!r}: the analyzer removes it",
            facts=[("word", word), ("analyzer", table.analyzer.name)],
        )
    translated = sorted({table.vocabulary.token(number) for number in table.targets.tolist()})
    similar = difflib.get_close_matches(terms[0], translated, n=3, cutoff=0.5)
    return UnknownNameError(
        f"the table has no translations of {word!r}",
        facts=[
            ("word", word),
            ("analyzer", table.analyzer.name),
            ("its terms", ", ".join(terms)),
            ("similar", ", ".join(similar) or "nothing"),
        ],
        fixes=[f"did you mean {' or '.join(similar)}?"] if similar else [],
    )


def _print(found: dict[str, Any], word: str) -> None:
    """Print both directions side by side; `word` is the word that a piece belongs to, if any."""
    from rich.table import Table

    times = "once" if found["occurrences"] == 1 else f"{found['occurrences']:,} times"
    console = stdout()
    console.print(
        f"{legible_line(found['term'])}{word and f' (of {legible_line(word)})'}, seen {times}", style="bold"
    )
    shown = Table(box=None, pad_edge=False, header_style="dim")
    shown.add_column("query terms")
    shown.add_column("T", justify="right")
    shown.add_column("  document terms")
    shown.add_column("T", justify="right")
    for position in range(max(len(found["query_terms"]), len(found["document_terms"]))):
        cells: list[str] = []
        for name, margin in (("query_terms", ""), ("document_terms", "  ")):
            here = found[name][position : position + 1]
            cells += [margin + legible_line(here[0][0]), f"{here[0][1]:.4f}"] if here else ["", ""]
        shown.add_row(*cells)
    console.print(shown)
