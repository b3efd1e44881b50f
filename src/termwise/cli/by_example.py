"""Options of the verbs that take a document as the query, and long queries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from termwise.cli.options import model_settings
from termwise.errors import MalformedRecordError, MissingFileError, UsageError
from termwise.storage.manifest_json import Misfit
from termwise.storage.safe_read import read_regular

if TYPE_CHECKING:
    from termwise.engine.query_settings import QuerySettings
    from termwise.search import Searcher
    from termwise.search.by_example import Example

LONGEST = 100_000_000
"""Bytes of the largest file that is read as a query."""

Like = Annotated[
    list[str] | None,
    typer.Option(
        "--like",
        metavar="DOC_ID",
        help="The query is this document of the index, which is no answer to itself.",
        show_default=False,
    ),
]
LikeFile = Annotated[
    list[Path] | None,
    typer.Option(
        "--like-file", metavar="FILE", help="The query is the text of this file.", show_default=False
    ),
]
Weigh = Annotated[
    list[str] | None,
    typer.Option(
        "--weigh",
        metavar="NAME=VALUE",
        help="How the terms of long queries weigh: max_terms=30, min_df=2, idf_power=1, counts=once, counts=saturated "
        "with k3=8; may be repeated.",
        show_default=False,
    ),
]


def query_settings(pairs: Sequence[str] | None) -> QuerySettings:
    """Read ``--weigh``.

    Raises
    ------
    UnknownNameError, ParameterError
        If there is no such setting, or it cannot have this value.
    """
    from termwise.engine.query_settings import QuerySettings

    given = model_settings(pairs or (), option="--weigh", example="--weigh max_terms=30 --weigh idf_power=1")
    return QuerySettings.parse(given)


def example_of(
    searcher: Searcher, doc_ids: Sequence[str] | None, files: Sequence[Path] | None
) -> Example | None:
    """Read the document that ``--like`` or ``--like-file`` names; None where neither is given.

    Raises
    ------
    UsageError
        If both are given, or one more than once.
    MissingFileError, MalformedRecordError
        If the file is not there, or is no text, or an empty one.
    TermwiseError
        As `Example.of` does.
    """
    from termwise.search.by_example import Example

    if doc_ids and files:
        raise UsageError("--like and --like-file exclude each other")
    for option, given in (("--like", doc_ids), ("--like-file", files)):
        if given and len(given) > 1:
            raise UsageError(
                "the query is one document",
                facts=[(option, ", ".join(map(str, given)))],
                fixes=[f"{option} {given[0]}", "search for each, and fuse the runs"],
            )
    if doc_ids:
        return Example.of(searcher, doc_ids[0])
    if not files:
        return None
    file = files[0]
    text = _text_of(file)
    if not text.strip():
        raise MalformedRecordError(
            "the text is empty", facts=[("file", file)], fixes=["name a file with words"]
        )
    return Example(file.name, text)


def _text_of(file: Path) -> str:
    from termwise.collection.lines import CONVERT, GZIP_MAGIC

    try:
        data = read_regular(file, LONGEST)
        if data.startswith(GZIP_MAGIC):
            raise MalformedRecordError(
                "the file is compressed", facts=[("file", file)], fixes=[f"gunzip --keep {file}"]
            )
        return data.decode("utf-8-sig")
    except OSError as error:
        raise MissingFileError(
            "the text cannot be read", facts=[("file", file), ("reason", error.strerror or error)]
        ) from error
    except Misfit as error:
        raise MalformedRecordError(
            "this is not a file of text",
            facts=[("file", file), ("expected", error.expected), ("seen", error.seen)],
        ) from error
    except UnicodeDecodeError as error:
        raise MalformedRecordError(
            "the text is not in UTF-8",
            facts=[("file", file), ("byte", error.start)],
            fixes=[CONVERT],
        ) from error
