"""Options that several verbs share, and how their texts are read."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from termwise.errors import ParameterError
from termwise.validation import MOST_MEMORY, MOST_THREADS

IndexFolder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the index.", show_default=False)]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        min=1,
        max=MOST_THREADS,
        help="Threads to use; all processors unless given.",
        show_default=False,
    ),
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--measure",
        metavar="MEASURE",
        help="A measure as ir_measures spells it, such as nDCG@10; may be repeated.  "
        "[default: nDCG@10, AP@1000, R@100]",
        show_default=False,
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        "--missing",
        metavar="zero|skip",
        help="What a judged query counts that a run does not hold: 0, or nothing (it is left out).",
    ),
]
Ties = Annotated[
    str,
    typer.Option(
        "--ties",
        metavar="ranking|trec-eval",
        help="Order of documents with equal scores: as ranked, or as trec_eval sorts them.",
    ),
]
ExcludeSeed = Annotated[
    str | None,
    typer.Option(
        "--exclude-seed",
        metavar="FILE|id",
        help="Drop the document a query was made of from runs and judgments: a file of query and document "
        "identifiers, or 'id' where a document with the identifier of the query is meant.",
        show_default=False,
    ),
]

Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the model; may be repeated."),
]
Fields = Annotated[
    str | None,
    typer.Option(
        "--fields",
        metavar="A,B",
        help="Fields to index, joined in this order.  [default: title and the text]",
        show_default=False,
    ),
]
Precision = Annotated[
    str | None,
    typer.Option(
        "--precision",
        metavar="float32|int8",
        help="In which numbers a network computes.  [default: what this processor is faster in]",
        show_default=False,
    ),
]
Provider = Annotated[
    str | None,
    typer.Option(
        "--provider",
        metavar="NAME",
        help="What a network runs on: cpu, cuda, or another execution provider of onnxruntime.  [default: cpu]",
        show_default=False,
    ),
]
Separator = Annotated[
    str,
    typer.Option(
        "--separator",
        metavar="space|tab",
        help="What separates the columns of the run file; tab allows identifiers with spaces.",
    ),
]

DEFAULT_MEASURES = ("nDCG@10", "AP@1000", "R@100")

_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)


def available_processors() -> int:
    """Return how many processors this process may use, as far as there may be threads for them."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors, MOST_THREADS)


def column_separator(text: str) -> Literal["space", "tab"]:
    """Check the value of ``--separator``."""
    if text == "space":
        return "space"
    if text == "tab":
        return "tab"
    raise ParameterError(
        "--separator is space or tab", facts=[("given", text)], fixes=["--separator space", "--separator tab"]
    )


def field_names(text: str | None) -> tuple[str, ...] | None:
    """Read the value of ``--fields``.

    Examples
    --------
    >>> field_names("title, abstract")
    ('title', 'abstract')
    """
    return None if text is None else tuple(name.strip() for name in text.split(","))


def network_precision(text: str | None) -> Literal["float32", "int8"] | None:
    """Check the value of ``--precision``."""
    if text is None:
        return None
    if text == "float32":
        return "float32"
    if text == "int8":
        return "int8"
    raise ParameterError(
        "--precision is float32 or int8",
        facts=[("given", text)],
        fixes=["--precision float32", "--precision int8"],
    )


_LONGEST_SHARE = 40


def share(text: str) -> tuple[int, int]:
    """Read the value of ``--shard``.

    Examples
    --------
    >>> share("2/8")
    (2, 8)
    """
    part, slash, parts = text.partition("/")
    if (
        len(text) <= _LONGEST_SHARE
        and slash
        and part.isdecimal()
        and parts.isdecimal()
        and 1 <= int(part) <= int(parts)
    ):
        return int(part), int(parts)
    raise ParameterError(
        "--shard is one part of several, counted from 1",
        facts=[("given", text), ("expected", "1/4, 2/4, 3/4 or 4/4, for example")],
        fixes=["--shard 1/4"],
    )


def memory_size(text: str) -> int:
    """Read a size such as ``2GB``, ``512MiB`` or a number of bytes.

    Examples
    --------
    >>> memory_size("2GB"), memory_size("1.5 MiB"), memory_size("4096")
    (2000000000, 1572864, 4096)
    """
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ParameterError(
            "--memory is a size",
            facts=[("given", text), ("expected", "a number with B, KB, MB, GB, KiB, MiB or GiB")],
            fixes=["--memory 2GB"],
        )
    number, unit, binary = found.groups()
    power = "kmgt".find(unit.lower()) + 1 if unit else 0
    size = float(number) * (1024**power if binary else _UNITS[unit.lower()])
    if not 1 <= size <= MOST_MEMORY:
        raise ParameterError("--memory is out of range", facts=[("given", text)], fixes=["--memory 2GB"])
    return int(size)


def model_settings(
    pairs: Sequence[str], *, option: str = "--set", example: str = "--set k1=0.9 --set b=0.4"
) -> dict[str, str]:
    """Read ``--set name=value`` pairs, or those of another option.

    Examples
    --------
    >>> model_settings(["k1=0.9", "b=0.4"])
    {'k1': '0.9', 'b': '0.4'}
    """
    settings: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise ParameterError(
                f"{option} takes a name and a value", facts=[("given", pair)], fixes=[example]
            )
        if name.strip() in settings:
            raise ParameterError(
                "a parameter is set twice",
                facts=[
                    ("parameter", name.strip()),
                    ("given", f"{settings[name.strip()]} and {value.strip()}"),
                ],
                fixes=[f"{option} {name.strip()}={value.strip()}, once"],
            )
        settings[name.strip()] = value.strip()
    return settings
