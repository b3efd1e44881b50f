"""Options, calls and output that the commands of ``termwise train`` share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from termwise.cli.options import available_processors, flag, option
from termwise.cli.progress_bars import progress_bar
from termwise.cli.terminal import note, note_line, print_json, print_text
from termwise.errors import MalformedRecordError, MissingFileError
from termwise.progress import Execution

Data = Annotated[
    list[str],
    option(
        "--data DATA",
        "Training pairs: a BEIR folder with qrels/train.tsv, a JSONL file of query and passage, a folder of these "
        "files, or ir_datasets:ID; repeatable.",
    ),
]
Base = Annotated[
    str,
    option(
        "--base ENCODER",
        "Initial encoder: a local folder in the layout of transformers, the name of a shipped encoder, or a "
        "name on the Hugging Face hub, which is downloaded.",
    ),
]
Validation = Annotated[
    str | None,
    option(
        "--validation DATA|none",
        "Held-out pairs; the best checkpoint on them is kept.  [default: the split dev or validation of the data, or "
        "2 % of its queries]",
    ),
]
Resume = Annotated[bool, flag("--resume", "Continue the interrupted run in --out.")]
EncoderOut = Annotated[Path, option("--out DIR", "Folder of the new encoder.")]
Card = Annotated[
    Path | None,
    option("--card FILE", "JSON file for the model card: licence, data sources and their licences."),
]
TableOut = Annotated[Path, option("--out DIR", "Folder of the new table.")]


def training_settings(example: str) -> Any:
    """Return the option ``--set`` with an example in its help."""
    return option("--set NAME=VALUE", f"Training setting, such as {example}; repeatable.")


def run_training(
    train: Callable[..., dict[str, Any]], *inputs: object, threads: int | None, **options: object
) -> dict[str, Any]:
    """Call a training function with progress bars, and its messages on stderr."""
    with progress_bar() as progress:
        execution = Execution(threads=threads or available_processors(), progress=progress, say=note_line)
        return train(*inputs, **options, execution=execution)


def print_trained(result: str, facts: dict[str, Any], *, next_command: str, as_json: bool) -> None:
    """Print the result of training as text or as JSON, and the next command."""
    if as_json:
        note(result)
        print_json(facts)
    else:
        print_text(result)
        note(f"next: termwise {next_command}")


def read_card(path: Path | None) -> dict[str, Any] | None:
    """Read the file of ``--card``; None without one."""
    if path is None:
        return None
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(facts, dict):
            raise ValueError("it is JSON, but not an object")
    except OSError as error:
        raise MissingFileError.of("the facts for the model card cannot be read", path, error) from error
    except ValueError as error:
        raise MalformedRecordError(
            "the facts for the model card are not a JSON object",
            facts=[("file", path), ("expected", '{"license": ..., "data": {...}}'), ("reason", error)],
        ) from error
    return facts
