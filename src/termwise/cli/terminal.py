"""Output of the command line: results on stdout, notes and progress on stderr."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from termwise.display.safe_text import legible
from termwise.errors import StorageError, UsageError
from termwise.kernels.jit import compilation_seconds
from termwise.storage.safe_read import is_file, is_folder

if TYPE_CHECKING:
    from rich.console import Console

    from termwise.index import Index


def may_be_terminal() -> bool:
    """Return whether stdout is a terminal, or a variable of the environment says that it has colours."""
    return sys.stdout.isatty() or any(name in os.environ for name in ("FORCE_COLOR", "TTY_COMPATIBLE"))


def plain_columns() -> int:
    """Return the number of columns of output that does not go to a terminal."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if re.fullmatch("[1-9][0-9]{0,5}", columns) else 120


def stdout() -> Console:
    """Return a console for results; 120 columns wide if the output is not a terminal."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120
    return Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def print_text(text: str) -> None:
    """Print a result on stdout as plain text; control characters are replaced."""
    print(legible(text))


_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Characters that JSON allows and that change the display of a terminal: DEL, C1 controls, bidirectional controls."""


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object on one line.

    Control characters, bidirectional controls and characters outside the encoding of stdout are escaped.
    """
    print_json_text(json.dumps(value, ensure_ascii=False, allow_nan=False))


def print_json_text(text: str) -> None:
    """Print one JSON object, given as text, with the escapes of `print_json`."""
    text = _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(json.loads(text), allow_nan=False)
    print(text)


def note(text: str) -> None:
    """Print text on stderr; control characters are replaced."""
    print(legible(text), file=sys.stderr)


def note_line(line: str) -> None:
    """Print one line on stderr, above the progress bar if there is one; control characters are replaced."""
    note("".join(character if character.isprintable() else " " for character in line))


def working_seconds() -> float:
    """Return a clock in seconds that stands still while kernels are compiled."""
    return time.perf_counter() - compilation_seconds()


def write_text(path: Path, text: str) -> None:
    """Write a result file atomically.

    Raises
    ------
    StorageError
        If the file cannot be written.
    """
    from termwise.storage.atomic_file import written_whole

    with written_whole(path) as write:
        write(text)


_BEIR_FILES = ("corpus.jsonl", "corpus.jsonl.gz", "queries.jsonl", "queries.jsonl.gz")
"""Input files of a folder in BEIR layout."""


def refuse_overwriting(
    outputs: Sequence[Path | None], inputs: Sequence[Path | str | None], *, overwrite: bool = True
) -> None:
    """Refuse outputs that would overwrite an input or another output, or lie inside an index or a model.

    A device or a pipe is never refused. `overwrite` says whether any other file may be replaced.

    Raises
    ------
    UsageError
        If two paths name one file, an output is a file of an input folder, or an output would lie in the folder of an
        index or a model; or if an output exists and `overwrite` is False.
    StorageError
        If an output is a link that leads back to itself.
    """
    read = [Path(os.path.realpath(path)) for path in inputs if path is not None]
    folders = [path for path in read if is_folder(path)]
    read += [folder / name for folder in folders for name in _BEIR_FILES]
    managed = [folder for folder in folders if _is_managed(folder)]
    written: list[Path] = []
    for output in outputs:
        if output is None or (os.path.exists(output) and not os.path.isfile(output)):
            continue
        path = Path(os.path.realpath(output))
        if os.path.islink(path):
            raise StorageError(
                "the output cannot be written",
                facts=[("output", output), ("reason", "the link leads back to itself")],
                fixes=["choose another name"],
            )
        if path in read:
            raise UsageError(
                "the output would be written over an input",
                facts=[("output", output)],
                fixes=["choose another name"],
            )
        for folder in managed:
            if folder in path.parents:
                raise UsageError(
                    "the output would be written into the folder of an input",
                    facts=[("output", output), ("folder", folder)],
                    fixes=["choose a path outside it"],
                )
        if path in written:
            raise UsageError(
                "two outputs have one name", facts=[("output", output)], fixes=["choose a name for each"]
            )
        if not overwrite and os.path.exists(path):
            raise UsageError(
                "the output file exists",
                facts=[("file", output)],
                fixes=["replace it with --overwrite", "choose another name"],
            )
        written.append(path)


def _is_managed(folder: Path) -> bool:
    """Return whether a folder is an index or a model."""
    from termwise.index.manifest import NAME
    from termwise.storage.model_folder import kind_of

    return is_file(folder / NAME) or kind_of(folder) is not None


def quoted(text: str) -> str:
    """Quote a text for a shell command that the user may copy.

    Examples
    --------
    >>> print(quoted("merge lists"), quoted('what is "yield"?'))
    "merge lists" 'what is "yield"?'
    """
    return shlex.quote(text) if set(text) & set('"$`\\!') else f'"{text}"'


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "document"), counted(2000, "document"), counted(0, "query")
    ('1 document', '2,000 documents', '0 queries')
    """
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {plural or (f'{noun[:-1]}ies' if noun.endswith('y') else f'{noun}s')}"


def counted_documents(index: Index) -> str:
    """Return the number of documents of an index, and of chunks if they are cut, as in ``2 documents in 6 chunks``."""
    documents = counted(index.documents, "document")
    return f"{documents} in {counted(len(index), 'chunk')}" if index.manifest.chunk else documents


def document_count(index: Index) -> dict[str, int]:
    """Return the number of documents, and of chunks if they are cut, for a line of JSON."""
    return {"documents": index.documents, **({"chunks": len(index)} if index.manifest.chunk else {})}


def human_time(seconds: float) -> str:
    """Format a duration in seconds, minutes or hours, rounded up.

    Examples
    --------
    >>> human_time(41.2), human_time(61), human_time(9000)
    ('42 s', '2 min', '2.5 h')
    """
    if seconds < 60:
        return f"{math.ceil(seconds)} s"
    return f"{math.ceil(seconds / 60)} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
