"""Options of a search that several commands share, and the search that they describe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from termwise.cli.options import flag, model_settings, option, refuse_options
from termwise.cli.terminal import counted
from termwise.errors import MalformedRecordError, MissingFileError, UsageError
from termwise.storage.manifest_json import Misfit
from termwise.storage.safe_read import read_regular

if TYPE_CHECKING:
    from termwise.engine.query_settings import QuerySettings
    from termwise.search import Search

MAX_QUERY_FILE = 100_000_000
"""Largest size of a query file, in bytes."""

Like = Annotated[
    list[str] | None,
    option("--like DOC_ID", "Use this document of the index as the query; it is excluded from the results."),
]
LikeFile = Annotated[list[Path] | None, option("--like-file FILE", "Use the text of this file as the query.")]
Fuzzy = Annotated[
    bool | None,
    flag(
        "--fuzzy/--no-fuzzy",
        "For words that the index lacks, search for the words of similar spelling.  [default: no, or as --relevance "
        "says]",
    ),
]
Prefix = Annotated[
    bool | None,
    flag(
        "--prefix/--no-prefix",
        "Search also for words that begin with the last word of the query.  [default: no, or as --relevance says]",
    ),
]
Lang = Annotated[
    str | None,
    option(
        "--lang CODE",
        "Language of the query, in an index with --analyzer-by: words match documents of this language only.  "
        "[default: the query is read in each language]",
    ),
]
Condition = Annotated[
    str | None,
    option(
        "--filter EXPR",
        "Rank only documents with these attributes, such as 'lang = \"de\" and price < 20'.",
    ),
]
OrFilter = Annotated[
    str | None,
    option(
        "--or-filter EXPR",
        "Documents with these attributes are results too if they do not match the query, such as 'sku = \"AB-1200\"'.",
    ),
]
Must = Annotated[
    list[str] | None,
    option("--must WORD", "Rank only documents whose text contains this word or phrase; repeatable."),
]
MustNot = Annotated[
    list[str] | None,
    option(
        "--must-not WORD", "Rank only documents whose text does not contain this word or phrase; repeatable."
    ),
]
Match = Annotated[
    str | None,
    option(
        "--match any|most|all|N|N%",
        "Words of the query that a document contains to match by words: most is 75 %, -1 says that one may be missing, "
        "and 2<75% is for more than 2 words.  [default: any; in a mixture all, or any if no document contains "
        "all; or as --relevance says]",
    ),
]
OnlyWords = Annotated[
    bool | None,
    flag(
        "--only-words/--no-only-words",
        "Leave out results of a mixture that match by meaning only.  [default: no, or as --relevance says]",
    ),
]
MinRelevance = Annotated[
    float | None,
    option(
        "--min-relevance P",
        "Leave out results of a mixture that match by meaning only, unless they are nearer than the best results of "
        "this share of unrelated queries.  [default: 0 if a document matches by words; or else 0.9; none is near "
        "enough if no word of the query is known as a whole, all are codes, or --lang is not English; or as "
        "--relevance says]",
    ),
]
MinScore = Annotated[
    float | None,
    option(
        "--min-score X",
        "Leave out results with a lower score; not in a mixture, whose scores are relative to the query.",
    ),
]
Syntax = Annotated[
    bool,
    flag(
        "--syntax",
        'Read operators in the query: +word, -word, "a phrase", -"a phrase" and field:value (an attribute).',
    ),
]
Collapse = Annotated[
    str | None,
    option("--collapse NAME", "Rank at most one result, or N results, for each value of this attribute."),
]
CollapseSize = Annotated[
    int, option("--collapse-size N", "Number of results for each value of --collapse.", min=1)
]
RelevanceFile = Annotated[
    Path | None,
    option(
        "--relevance FILE", "Boosts, synonyms, pins, bans and defaults of searches: a file in TOML or JSON."
    ),
]
NoFeedback = Annotated[
    bool,
    flag(
        "--no-feedback", "Do not move the query towards the first documents, as some mixtures do by default."
    ),
]
QuerySet = Annotated[
    list[str] | None,
    option(
        "--set NAME=VALUE",
        "Weights of query terms: max_terms=30, min_df=2, idf_power=1, counts=once, or counts=saturated "
        "with k3=8; repeatable. An index with vectors, or a mixture with such a part, takes counts and k3 only.",
    ),
]


def query_settings(pairs: Sequence[str] | None) -> QuerySettings:
    """Parse the weighting of query terms.

    Raises
    ------
    UnknownNameError, ParameterError
        If a setting does not exist or a value is out of its range.
    """
    from termwise.engine.query_settings import QuerySettings

    return QuerySettings.parse(model_settings(pairs or (), example="--set max_terms=30 --set idf_power=1"))


def search_of(
    query: str | None,
    *,
    like: Sequence[str] | None = None,
    like_file: Sequence[Path] | None = None,
    relevance: Path | None = None,
    **options: Any,
) -> Search:
    """Return the search that options describe; `options` are those of `Search`, and `relevance` is a file.

    Raises
    ------
    UsageError
        If several of a query, ``--like`` and ``--like-file`` are given, or one more than once, or an option applies to
        typed queries only.
    MissingFileError, MalformedRecordError
        If the file does not exist, is not text, or is empty.
    ParameterError
        See `Search`.
    """
    from termwise.search import Search

    for name, given in (("--like", like), ("--like-file", like_file)):
        if given and len(given) > 1:
            raise UsageError(
                "only one document can be the query",
                facts=[(name, ", ".join(map(str, given)))],
                fixes=[f"{name} {given[0]}", "search for each document, and fuse the runs"],
            )
    if (query is not None) + bool(like) + bool(like_file) > 1:
        raise UsageError("a query, --like and --like-file exclude each other")
    if like or like_file:
        typed = {f"--{name}": options.get(name) for name in ("fuzzy", "prefix", "syntax")}
        refuse_options(typed, "to a document as the query")
    text = _text_of(like_file[0]) if like_file else None
    if relevance is not None:
        from termwise.search import Relevance

        options["relevance"] = Relevance.read(relevance)
    return Search(query, like=like[0] if like else None, like_text=text, **options)


def approximate_note(windows: int | None, search: Search) -> str:
    """Return words that say whether results are approximate; empty if an exact search was requested."""
    if search.approximate is None or search.sort is not None:  # sorting takes all matches
        return ""
    if windows is None:
        return "; exact: all vectors were read, because the index is small"
    raised = (
        ""
        if windows == search.approximate
        else f", because as many results are needed (--approximate {search.approximate:,})"
    )
    return f"; approximate, from {counted(windows, 'window')}{raised}: some of the best can be missing"


def _text_of(file: Path) -> str:
    from termwise.collection.lines import GZIP_MAGIC, conversion

    try:
        data = read_regular(file, MAX_QUERY_FILE)
        if data.startswith(GZIP_MAGIC):
            raise MalformedRecordError(
                "the file is compressed", facts=[("file", file)], fixes=[f"gunzip --keep {quote(str(file))}"]
            )
        text = data.decode("utf-8-sig")
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
    if not text.strip():
        raise MalformedRecordError(
            "the text is empty", facts=[("file", file)], fixes=["give a file that contains words"]
        )
    return text
