"""Options for query by example and for weights of query terms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from termwise.cli.options import model_settings, option, refuse_options
from termwise.errors import MalformedRecordError, MissingFileError, UsageError
from termwise.storage.manifest_json import Misfit
from termwise.storage.safe_read import read_regular

if TYPE_CHECKING:
    from termwise.engine.query_settings import QuerySettings
    from termwise.search.by_example import AnySearcher, Example

MAX_QUERY_FILE = 100_000_000
"""Largest size of a query file, in bytes."""

Like = Annotated[
    list[str] | None,
    option("--like DOC_ID", "Use this document of the index as the query; it is excluded from the results."),
]
LikeFile = Annotated[list[Path] | None, option("--like-file FILE", "Use the text of this file as the query.")]
Weigh = Annotated[
    list[str] | None,
    option(
        "--weigh NAME=VALUE",
        "Weights of query terms: max_terms=30, min_df=2, idf_power=1, counts=once, or counts=saturated "
        "with k3=8; repeatable. An index with vectors, or a mixture with such a part, takes counts and k3 only.",
    ),
]

Fuzzy = Annotated[
    bool,
    typer.Option("--fuzzy", help="For words that the index lacks, search for the words of similar spelling."),
]
Prefix = Annotated[
    bool, typer.Option("--prefix", help="Search also for words that begin with the last word of the query.")
]


def query_settings(pairs: Sequence[str] | None, *, fuzzy: bool, prefix: bool) -> QuerySettings:
    """Parse the values of ``--weigh``, and join them with the other settings.

    Raises
    ------
    UnknownNameError, ParameterError
        If a setting does not exist or a value is out of its range.
    """
    from termwise.engine.query_settings import QuerySettings

    given = model_settings(pairs or (), option="--weigh", example="--weigh max_terms=30 --weigh idf_power=1")
    return QuerySettings.parse(given, defaults={"fuzzy": fuzzy, "prefix": prefix})


def refuse_with_example(*, fuzzy: bool, prefix: bool, syntax: bool = False) -> None:
    """Refuse options that apply to typed queries only; called for ``--like`` and ``--like-file``."""
    refuse_options({"--fuzzy": fuzzy, "--prefix": prefix, "--syntax": syntax}, "to a document as the query")


def example_of(
    searcher: AnySearcher, doc_ids: Sequence[str] | None, files: Sequence[Path] | None
) -> Example | None:
    """Return the query document of ``--like`` or ``--like-file``; None if neither is given.

    Raises
    ------
    UsageError
        If both are given, or one more than once.
    MissingFileError, MalformedRecordError
        If the file does not exist, is not text, or is empty.
    TermwiseError
        See `Example.of`.
    """
    from termwise.search.by_example import Example

    if doc_ids and files:
        raise UsageError("--like and --like-file exclude each other")
    for name, given in (("--like", doc_ids), ("--like-file", files)):
        if given and len(given) > 1:
            raise UsageError(
                "only one document can be the query",
                facts=[(name, ", ".join(map(str, given)))],
                fixes=[f"{name} {given[0]}", "search for each document, and fuse the runs"],
            )
    if doc_ids:
        return Example.of(searcher, doc_ids[0])
    if not files:
        return None
    file = files[0]
    text = _text_of(file)
    if not text.strip():
        raise MalformedRecordError(
            "the text is empty", facts=[("file", file)], fixes=["give a file that contains words"]
        )
    return Example(file.name, text)


def _text_of(file: Path) -> str:
    from termwise.collection.lines import GZIP_MAGIC, conversion

    try:
        data = read_regular(file, MAX_QUERY_FILE)
        if data.startswith(GZIP_MAGIC):
            raise MalformedRecordError(
                "the file is compressed", facts=[("file", file)], fixes=[f"gunzip --keep {quote(str(file))}"]
            )
        return data.decode("utf-8-sig")
    except OSError as error:
        raise MissingFileError.of("the text cannot be read", file, error) from error
    except Misfit as error:
        raise MalformedRecordError(
            "the file is not a text file",
            facts=[("file", file), ("expected", error.expected), ("seen", error.seen)],
        ) from error
    except UnicodeDecodeError as error:
        raise MalformedRecordError(
            "the text is not in UTF-8",
            facts=[("file", file), ("byte", error.start)],
            fixes=[conversion(file, data)],
        ) from error
