"""Requests for Elasticsearch against the types of its REST specification, which its client for JavaScript carries.

The client and the compiler of TypeScript come from npm into ``~/.cache/termwise/elasticsearch-types``. The test is
skipped without them. The compiler refuses unknown names and values of wrong types.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import skip_with_warning
from tests.unit.export.sources import documents, filters

import termwise
from termwise.export import ExportSource, export_index, make_target
from termwise.export.check import program
from termwise.export.linear_form import LinearForm

PACKAGES = ("@elastic/elasticsearch@9", "typescript@5", "@types/node@24")


@pytest.fixture(scope="module")
def compiler() -> Path:
    """Return the folder with the installed packages."""
    npm = shutil.which("npm")
    if npm is None:
        skip_with_warning("no npm: install Node.js")
    folder = Path.home() / ".cache" / "termwise" / "elasticsearch-types"
    if not (folder / "node_modules" / "typescript").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--silent", "--prefix", str(folder), *PACKAGES]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            skip_with_warning(f"npm could not install {', '.join(PACKAGES)}")
    return folder


def problems(compiler: Path, program: str) -> str:
    """Return what the compiler finds wrong."""
    file = compiler / "requests.mts"
    file.write_text(f"import type {{ estypes }} from '@elastic/elasticsearch'\n{program}")
    options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022"]
    command = ["node", "node_modules/typescript/bin/tsc", *options, file.name]
    return subprocess.run(command, cwd=compiler, capture_output=True, text=True, check=False).stdout


def test_requests_have_the_published_types(compiler: Path, tmp_path: Path) -> None:
    """Settings and mapping, searches of an index and of a mixture, filters."""
    pytest.importorskip("elasticsearch", reason="pip install 'termwise[elasticsearch]'")
    lines: list[str] = []

    def request(kind: str, body: Any) -> None:
        lines.append(f"const request{len(lines)}: estypes.{kind} = {json.dumps(body)}\n")

    for model in ("dirichlet", "instant"):
        index, out = tmp_path / model, tmp_path / f"{model}.out"
        termwise.build_index(documents(30), index, model=model, attributes="all", chunk=40, store_text=True)
        export_index(index, "elasticsearch", out)
        source = ExportSource(termwise.open(index))
        made = json.loads((out / "data" / "index.json").read_text())
        request("IndicesCreateRequest", {"index": "x", **made})
        engine: Any = program(out / "engine.py").Engine(out, None)
        chosen = [make_target("elasticsearch").filter(each, source.schema) for each in filters(12)]
        for filter in (None, *chosen):
            body, _, _ = engine.body(LinearForm(source).query(documents(1)[0].text), 10, filter)
            request("SearchRequest", body)
        engine.close()
    assert len(lines) == 28
    assert problems(compiler, "".join(lines)) == ""
    wrong = [
        lines[1].replace('"prune"', '"pruned"'),
        lines[0].replace('"dynamic": "strict"', '"dynamic": "strictly"'),
    ]
    assert wrong[0] != lines[1]
    found = problems(compiler, "".join(wrong))
    assert "pruned" in found
    assert "strictly" in found
