"""Options that several verbs of ``termwise train`` share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from termwise.cli.options import option
from termwise.errors import UnknownNameError

if TYPE_CHECKING:
    from termwise.models.tildev2 import Counting

Data = Annotated[
    list[str],
    option(
        "--data DATA",
        "Training pairs: a BEIR folder with qrels/train.tsv, a JSONL file of query and passage, a folder "
        "of these, or ir_datasets:ID; may be repeated.",
    ),
]
Base = Annotated[
    str,
    option(
        "--base ENCODER",
        "The encoder to start from: a folder in the layout of transformers, a name on its hub, or an "
        "encoder that ships.",
    ),
]
Validation = Annotated[
    str | None,
    option(
        "--validation DATA|none",
        "Held-out pairs; the best checkpoint on them is kept.  [default: the split dev of the data, or a "
        "fiftieth of their queries]",
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in --out where it stopped.")]


def new_folder(what: str) -> Any:
    """Return the option ``--out``, which is explained as `what`."""
    return typer.Option("--out", metavar="DIR", help=what, show_default=False)


def training_settings(example: str) -> Any:
    """Return the option ``--set``, which is explained by an example."""
    return typer.Option(
        "--set", metavar="NAME=VALUE", help=f"A training setting, such as {example}; may be repeated."
    )


def counting_of(text: str) -> Counting:
    """Read ``--counting``.

    Raises
    ------
    UnknownNameError
        If there is no such way of counting.
    """
    from termwise.models.tildev2 import Counting

    ways: tuple[Counting, ...] = get_args(Counting)
    found = next((way for way in ways if way == text), None)
    if found is None:
        raise UnknownNameError.of("way of counting", text, ways)
    return found
