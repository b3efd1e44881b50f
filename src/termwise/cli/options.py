"""Options that several commands share, and parsers of their values."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from termwise.cli.commands import Argument, Option
from termwise.errors import ParameterError, UsageError
from termwise.validation import MOST_MEMORY, MOST_THREADS

if TYPE_CHECKING:
    from termwise.attributes import Schema


def option(usage: str, help: str, *, min: float | None = None, max: float | None = None) -> Any:
    """Return an option with a value. A default that the help shows is part of `help`.

    Parameters
    ----------
    usage : str
        Names and placeholder of the value, such as ``-m --measure MEASURE``.
    help : str
        Description.
    min, max : float, optional
        Bounds of a number.
    """
    *names, metavar = usage.split()
    return Option(tuple(names), metavar, help, min, max)


def flag(names: str, help: str) -> Any:
    """Return an option without a value."""
    return Option(tuple(names.split()), None, help)


def argument(metavar: str, help: str) -> Any:
    """Return a positional argument."""
    return Argument(metavar, help)


IndexFolder = Annotated[Path, argument("DIR", "Folder of the index or mixture.")]
JsonFlag = Annotated[bool, flag("--json", "Print one JSON object per line.")]
Threads = Annotated[
    int | None,
    option("--threads N", "Number of threads.  [default: all processors]", min=1, max=MOST_THREADS),
]
Approximate = Annotated[
    int | None,
    option(
        "--approximate N",
        "Do not read all vectors: score only the N windows of documents that a graph proposes (see build-graph), "
        "or as many as results are needed. Some of the best documents can be missing.",
        min=1,
    ),
]
Measures = Annotated[
    list[str] | None,
    option(
        "-m --measure MEASURE",
        "Measure in the spelling of ir_measures, such as nDCG@10; repeatable.  [default: nDCG@10, AP@1000, R@100]",
    ),
]
Missing = Annotated[
    str, option("--missing zero|skip", "Judged queries that a run lacks: count them as 0, or skip them.")
]
Ties = Annotated[
    str,
    option(
        "--ties ranking|trec-eval",
        "Order of documents with equal scores: as ranked, or as trec_eval sorts them.",
    ),
]
ExcludeSeed = Annotated[
    str | None,
    option(
        "--exclude-seed FILE|id",
        "Leave out the source document of each query: a file with query and document "
        "identifiers, or 'id' for the document that has the identifier of the query.",
    ),
]

Settings = Annotated[list[str] | None, option("--set NAME=VALUE", "Parameter of the model; repeatable.")]
Fields = Annotated[
    str | None, option("--fields A,B", "Fields to index, joined in this order.  [default: all texts]")
]
IdField = Annotated[
    str | None,
    option("--id FIELD", "Field with the identifier.  [default: _id, id, doc_id, docid or docno]"),
]
WeightedFields = Annotated[
    str | None,
    option(
        "--fields A^3,B",
        "Fields to index, joined in this order; with a weight, each word of a field counts that often (whole numbers; "
        "not for networks).  [default: all texts, by the first 1,000 records]",
    ),
]
Precision = Annotated[
    str | None,
    option(
        "--precision float32|int8",
        "Numeric precision of a network.  [default: the faster one on this processor]",
    ),
]
Provider = Annotated[
    str | None,
    option(
        "--provider NAME",
        "Execution provider of onnxruntime for a network: cpu, cuda, or another one.  [default: cpu]",
    ),
]
Separator = Annotated[
    str,
    option("--separator space|tab", "Column separator of the run file; tab allows identifiers with spaces."),
]
Memory = Annotated[str, option("--memory SIZE", "Working memory for sorting postings.")]
Overwrite = Annotated[bool, flag("--overwrite", "Replace existing output.")]

DEFAULT_MEASURES = ("nDCG@10", "AP@1000", "R@100")

_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)


def available_processors() -> int:
    """Return the number of processors that this process may use, at most `MOST_THREADS`."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors, MOST_THREADS)


def refuse_options(options: Mapping[str, object], reason: str, *others: str) -> None:
    """Refuse options that were given and would be ignored; `others` are fixes besides leaving them out."""
    given = [name for name, value in options.items() if value is not None and value is not False]
    if given:
        does = "does" if len(given) == 1 else "do"
        them = "it" if len(given) == 1 else "them"
        raise UsageError(f"{', '.join(given)} {does} not apply {reason}", fixes=[f"omit {them}", *others])


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


def field_names(text: str | None) -> tuple[str, ...] | None:
    """Parse the value of ``--fields``.

    Examples
    --------
    >>> field_names("title, abstract")
    ('title', 'abstract')
    """
    return None if text is None else tuple(name.strip() for name in text.split(","))


def field_choice(text: str | None) -> tuple[str, ...] | dict[str, Any] | None:
    """Parse the value of ``--fields`` with weights: names, or names with weights if any has one.

    Examples
    --------
    >>> field_choice("title^3, text"), field_choice("title,text")
    ({'title': 3, 'text': 1}, ('title', 'text'))
    """
    names = field_names(text)
    if names is None or not any("^" in name for name in names):
        return names
    weights: dict[str, Any] = {}
    for part in names:
        name, _, weight = part.rpartition("^") if "^" in part else (part, "", "1")
        if name in weights:
            raise ParameterError("a field is named twice", facts=[("--fields", text), ("field", name)])
        weights[name] = int(weight) if weight.isdecimal() and len(weight) < 10 else weight
    return weights


def attribute_choice(
    attributes: str | None, schema: Path | None
) -> Literal["all"] | tuple[str, ...] | Schema | None:
    """Return the value of ``--attributes`` or ``--schema``."""
    from termwise.attributes import Schema

    if schema is not None:
        if attributes is not None:
            raise UsageError("--attributes and --schema both name the attributes to keep: give one of them")
        return Schema.read(schema)
    if attributes == "none":
        return ()
    return "all" if attributes == "all" else field_names(attributes)


def network_precision(text: str | None) -> Literal["float32", "int8"] | None:
    """Return the value of ``--precision``."""
    return None if text is None else choice("--precision", text, ("float32", "int8"))


def parsed_shard(text: str) -> tuple[int, int]:
    """Parse the value of ``--shard``.

    Examples
    --------
    >>> parsed_shard("2/8")
    (2, 8)
    """
    found = re.fullmatch(r"(\d{1,18})/(\d{1,18})", text)
    if found and 1 <= int(found[1]) <= int(found[2]):
        return int(found[1]), int(found[2])
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


def model_settings(pairs: Sequence[str], *, example: str = "--set k1=0.9 --set b=0.4") -> dict[str, str]:
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
            raise ParameterError("--set takes a name and a value", facts=[("given", pair)], fixes=[example])
        if name.strip() in settings:
            raise ParameterError(
                "a parameter is set twice",
                facts=[
                    ("parameter", name.strip()),
                    ("given", f"{settings[name.strip()]} and {value.strip()}"),
                ],
                fixes=[f"--set {name.strip()}={value.strip()}, once"],
            )
        settings[name.strip()] = value.strip()
    return settings
