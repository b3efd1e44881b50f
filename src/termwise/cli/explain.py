"""``termwise explain``: one score as a sum over terms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

from termwise.cli.options import Approximate, IndexFolder, JsonFlag, argument, flag, option
from termwise.cli.search_options import (
    Condition,
    Fuzzy,
    Lang,
    Like,
    LikeFile,
    Must,
    MustNot,
    NoFeedback,
    Prefix,
    QuerySet,
    RelevanceFile,
    query_settings,
    search_of,
)
from termwise.cli.terminal import note, print_json, refuse_overwriting, stdout, write_text
from termwise.errors import UnknownIdError, UsageError

if TYPE_CHECKING:
    from termwise.search import Searcher


def command(
    folder: IndexFolder,
    query: Annotated[str, argument("QUERY", "The query; with --like, the document to explain.")],
    doc_id: Annotated[str | None, argument("DOC_ID", "The document to explain.")] = None,
    condition: Condition = None,
    must: Must = None,
    must_not: MustNot = None,
    lang: Lang = None,
    fuzzy: Fuzzy = None,
    prefix: Prefix = None,
    like: Like = None,
    like_file: LikeFile = None,
    settings: QuerySet = None,
    relevance: RelevanceFile = None,
    no_feedback: NoFeedback = False,
    competitors: Annotated[
        int, option("--competitors N", "Number of ranking neighbours to show above and below.", min=0)
    ] = 2,
    centred: Annotated[
        bool,
        flag(
            "--centred",
            "Of a mixture: subtract from each contribution its mean over the candidates, so that the sum says why "
            "the document ranks above or below them.",
        ),
    ] = False,
    approximate: Approximate = None,
    full: Annotated[bool, flag("--full", "Show the whole text and every term.")] = False,
    as_json: JsonFlag = False,
    html: Annotated[Path | None, option("--html FILE", "Write one self-contained HTML page.")] = None,
) -> None:
    """Show the score of a document as a sum over query terms.

    For example:

    termwise explain DIR "the query" DOC_ID

    termwise explain DIR --like OTHER_ID DOC_ID
    """
    from termwise.search.opening import open_searcher

    if as_json and html is not None:
        raise UsageError("--json and --html exclude each other")
    refuse_overwriting([html], [folder, *(like_file or [])])
    by_example = like is not None or like_file is not None
    if by_example is (doc_id is not None):
        raise UsageError(
            "with --like, give only the document to explain"
            if by_example
            else "give a query and the document to explain",
            fixes=[
                f'termwise explain {quote(str(folder))} "query" DOC_ID',
                f"termwise explain {quote(str(folder))} --like OTHER_ID DOC_ID",
            ],
        )
    search = search_of(
        query if doc_id is not None else None,
        like=like,
        like_file=like_file,
        filter=condition,
        must=must or (),
        must_not=must_not or (),
        lang=lang,
        fuzzy=fuzzy,
        prefix=prefix,
        weighting=query_settings(settings),
        relevance=relevance,
        feedback=not no_feedback,
        approximate=approximate,
    )
    searcher = open_searcher(folder)
    if doc_id is not None:
        _refuse_swapped(searcher, query, doc_id)
    (explanation,) = searcher.search(search).explain(
        [query if doc_id is None else doc_id], competitors=competitors, centred=centred
    )
    if like_file:
        explanation = replace(explanation, example=like_file[0].name)
    if as_json:
        print_json(explanation.to_dict())
    elif html is not None:
        from termwise.explain.explanation_html import explanation_html

        write_text(html, explanation_html(explanation))
        note(f"{html}: written")
    else:
        from termwise.explain.explanation_terminal import explanation_renderable

        stdout().print(explanation_renderable(explanation, full=full))


def _refuse_swapped(searcher: Searcher, query: str, doc_id: str) -> None:
    if searcher.index.find(doc_id) is None and searcher.index.find(query) is not None:
        folder = searcher.path
        raise UnknownIdError(
            "the index holds no such document",
            facts=[("doc_id", doc_id), ("index", folder)],
            fixes=[f'termwise explain {folder} "{doc_id}" {query}, the question first'],
        )
