"""The JavaScript program of the query kit in one process of Node, which answers line by line."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

_PROGRAM = """
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
const { QueryKit, analyzerOf } = await import("file://" + process.argv[1]);
let analyzer, kit;
const answers = {
  analyzer: (description) => { analyzer = analyzerOf(description); return true; },
  open: async (folder) => { kit = await QueryKit.open((name) => readFileSync(`${folder}/${name}`)); return true; },
  tokens: (text) => analyzer.tokens(text),
  analyze: (text) => analyzer.analyze(text),
  query: (text) => kit.query(text),
  kitTokens: (text) => kit.tokens(text),
};
for await (const line of createInterface({ input: process.stdin })) {
  const [name, value] = JSON.parse(line);
  let answer;
  try { answer = { found: await answers[name](value) }; } catch (error) { answer = { error: String(error) }; }
  process.stdout.write(JSON.stringify(answer) + "\\n");
}
"""


class JavaScriptKit:
    """One process of Node with ``query_kit.js``."""

    def __init__(self) -> None:
        node = shutil.which("node")
        if node is None:
            pytest.skip(
                "node is not installed: install Node 20 or later to test the JavaScript of the query kit"
            )
        program = Path(str(resources.files("termwise.export") / "kit" / "query_kit.js"))
        self._process = subprocess.Popen(
            [node, "--no-warnings", "--input-type=module", "-e", _PROGRAM, str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> JavaScriptKit:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _ask(self, name: str, value: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([name, value]) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["found"]

    def use(self, description: Mapping[str, Any]) -> None:
        """Make the analyzer of a description."""
        self._ask("analyzer", description)

    def open(self, folder: Path) -> None:
        """Open a kit."""
        self._ask("open", str(folder))

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a text by the analyzer."""
        return list(self._ask("tokens", text))

    def analyze(self, text: str) -> Sequence[Sequence[Any]]:
        """Return the tokens of a text with their ranges in UTF-16 code units."""
        return list(self._ask("analyze", text))

    def query(self, text: str) -> dict[str, Any]:
        """Return the query of a text by the kit."""
        return dict(self._ask("query", text))

    def kit_tokens(self, text: str) -> dict[str, list[str]]:
        """Return the tokens of a text by the kit."""
        return dict(self._ask("kitTokens", text))
