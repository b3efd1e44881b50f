"""Search of a folder of the target web under Node.js, for the check of an export."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import final

from termwise.errors import EngineError

PROGRAM = "node"

_REASON = re.compile(r"^\[?\w*Error\b.*", re.MULTILINE)
"""Message of an error, after the line of the script that throws it."""


@final
class NodeSearch:
    """Running search of a folder.

    Parameters
    ----------
    process : Popen
        Node.js with the program ``check.mjs``.
    doc_ids : sequence of str
        Identifiers of the documents in the order of the export.
    """

    def __init__(self, process: subprocess.Popen[str], doc_ids: Sequence[str]) -> None:
        self._process = process
        self._doc_ids = doc_ids

    def search(self, text: str, k: int) -> list[tuple[str, float]]:
        """Return identifiers and scores of the best documents.

        Raises
        ------
        BrokenPipeError, ValueError
            If Node.js has stopped.
        """
        assert self._process.stdin is not None, "it is a pipe"
        assert self._process.stdout is not None, "it is a pipe"
        self._process.stdin.write(json.dumps({"text": text, "k": k}) + "\n")
        self._process.stdin.flush()
        return [(self._doc_ids[place], score) for place, score in json.loads(self._process.stdout.readline())]


@contextmanager
def node_search(folder: Path, doc_ids: Sequence[str]) -> Iterator[NodeSearch]:
    """Start the search of a folder, and stop it at the end.

    Raises
    ------
    EngineError
        If there is no Node.js, or the search fails, also inside the context.
    """
    node = shutil.which(PROGRAM)
    if node is None:
        raise EngineError(
            "the search of a static site runs in Node.js for a check, which is not installed",
            facts=[("program", PROGRAM), ("export", folder)],
            fixes=["install Node.js 18 or later"],
        )
    script = resources.files("termwise.export").joinpath("web", "script", "check.mjs").read_text("utf-8")
    command = [node, "--input-type=module", "--eval", script, str(folder)]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            encoding="utf-8",
        )
        try:
            yield NodeSearch(process, doc_ids)
        except (BrokenPipeError, ValueError) as error:
            process.wait()
            said.seek(0)
            found = _REASON.search(said.read())
            raise EngineError(
                "the search of the folder fails under Node.js",
                facts=[("export", folder), ("reason", (found[0] if found else str(error))[:200])],
                fixes=["export the index anew", "install Node.js 18 or later"],
            ) from error
        finally:
            process.kill()
            process.communicate()
