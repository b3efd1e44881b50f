"""Options that several verbs share, and parsers of their values."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

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
        help="Number of threads.  [default: all processors]",
        show_default=False,
    ),
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "-m",
        "--measure",
        metavar="MEASURE",
        help="A measure as ir_measures spells it, such as nDCG@10; repeatable.  "
        "[default: nDCG@10, AP@1000, R@100]",
        show_default=False,
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        "--missing",
        metavar="zero|skip",
        help="Judged queries that a run lacks: count them as 0, or skip them.",
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
        help="Remove the source document of each query from runs and judgments: a file with query and document "
        "identifiers, or 'id' for the document that has the identifier of the query.",
        show_default=False,
    ),
]

Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Parameter of the model; repeatable."),
]
Fields = Annotated[
    str | None,
    typer.Option(
        "--fields",
        metavar="A,B",
        help="Fields to index, joined in this order.  [default: title and text]",
        show_default=False,
    ),
]
Precision = Annotated[
    str | None,
    typer.Option(
        "--precision",
        metavar="float32|int8",
        help="Numeric precision of a network.  [default: the faster one on this processor]",
        show_default=False,
    ),
]
Provider = Annotated[
    str | None,
    typer.Option(
        "--provider",
        metavar="NAME",
        help="Execution provider of onnxruntime for a network: cpu, cuda, or another one.  [default: cpu]",
        show_default=False,
    ),
]
Separator = Annotated[
    str,
    typer.Option(
        "--separator",
        metavar="space|tab",
        help="Column separator of the run file; tab allows identifiers with spaces.",
    ),
]
Memory = Annotated[str, typer.Option("--memory", metavar="SIZE", help="Working memory for sorting postings.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]

DEFAULT_MEASURES = ("nDCG@10", "AP@1000", "R@100")

_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)


def available_processors() -> int:
    """Return the number of processors that this process may use, at most `MOST_THREADS`."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors, MOST_THREADS)


def choice(option: str, text: str, choices: Sequence[str]) -> Any:
    """Return the value of an option that takes one of a few words.

    Examples
    --------
    >>> choice("--separator", "tab", ("space", "tab"))
    'tab'
    """
    if text not in choices:
        raise ParameterError(
            f"{option} is {' or '.join(choices)}",
            facts=[("given", text)],
            fixes=[f"{option} {one}" for one in choices],
        )
    return text


def column_separator(text: str) -> Literal["space", "tab"]:
    """Return the value of ``--separator``."""
    return choice("--separator", text, ("space", "tab"))  # type: ignore[no-any-return]


def field_names(text: str | None) -> tuple[str, ...] | None:
    """Parse the value of ``--fields``.

    Examples
    --------
    >>> field_names("title, abstract")
    ('title', 'abstract')
    """
    return None if text is None else tuple(name.strip() for name in text.split(","))


def network_precision(text: str | None) -> Literal["float32", "int8"] | None:
    """Return the value of ``--precision``."""
    return None if text is None else choice("--precision", text, ("float32", "int8"))


_LONGEST_SHARD = 40


def parsed_shard(text: str) -> tuple[int, int]:
    """Parse the value of ``--shard``.

    Examples
    --------
    >>> parsed_shard("2/8")
    (2, 8)
    """
    part, slash, parts = text.partition("/")
    if (
        len(text) <= _LONGEST_SHARD
        and slash
        and part.isdecimal()
        and parts.isdecimal()
        and 1 <= int(part) <= int(parts)
    ):
        return int(part), int(parts)
    raise ParameterError(
        "--shard is PART/PARTS, counted from 1",
        facts=[("given", text), ("expected", "1/4, 2/4, 3/4 or 4/4, for example")],
        fixes=["--shard 1/4"],
    )


def memory_size(text: str) -> int:
    """Parse a size such as ``2GB``, ``512MiB`` or a number of bytes.

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
    """Parse ``name=value`` pairs.

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
