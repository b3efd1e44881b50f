"""``termwise explain``: one score, taken apart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from termwise.cli.options import IndexFolder, JsonFlag
from termwise.cli.terminal import note, print_json, refuse_overwriting, stdout, write_text
from termwise.errors import UnknownIdError, UsageError


def command(
    folder: IndexFolder,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The question.", show_default=False)],
    doc_id: Annotated[
        str, typer.Argument(metavar="DOC_ID", help="The document to explain.", show_default=False)
    ],
    competitors: Annotated[
        int,
        typer.Option("--competitors", metavar="N", min=0, help="Neighbours to name above and below."),
    ] = 2,
    full: Annotated[bool, typer.Option("--full", help="Show the whole text and every term.")] = False,
    as_json: JsonFlag = False,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="FILE", help="Write one self-contained HTML page.", show_default=False
        ),
    ] = None,
) -> None:
    """Show the score of a document for a query as a sum over terms."""
    from termwise.search import Searcher

    if as_json and html is not None:
        raise UsageError("--json and --html exclude each other")
    refuse_overwriting([html], [folder])
    searcher = Searcher.open(folder)
    if searcher.index.find(doc_id) is None and searcher.index.find(query) is not None:
        raise UnknownIdError(
            "the index holds no such document",
            facts=[("doc_id", doc_id), ("index", folder)],
            fixes=[f'termwise explain {folder} "{doc_id}" {query}, the question first'],
        )
    explanation = searcher.explain(query, doc_id, competitors=competitors)
    if as_json:
        print_json(explanation.to_dict())
    elif html is not None:
        from termwise.search.explain_html import explanation_html

        write_text(html, explanation_html(explanation))
        note(f"{html}: written")
    else:
        from termwise.search.explain_terminal import explanation_renderable

        stdout().print(explanation_renderable(explanation, full=full))
