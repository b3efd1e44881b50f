"""Agreement of the programs of the query kit with termwise, token by token.

Question
    Do the programs in Python and in JavaScript give the tokens of termwise for a million sentences?
Input
    Distinct sentences of the documentation of Python that is included, and of the files given with ``--texts``: JSON
    lines, compressed or not, of which all texts are read. A sentence ends at a line end, or at white space after a full
    stop, a question mark or an exclamation mark. The first ``--sentences`` are used, in turns from each file.
Ways
    Each analyzer is described as in a kit. The program in Python runs in this process, the one in JavaScript in one
    process of Node.
Run
    ``kit_agreement.py --texts FILE …``
Result
    ``results/kit_agreement.md`` and ``.json``: numbers of sentences, tokens and differences. The exit status is 5 if
    there is a difference.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import record

from termwise.collection import open_collection
from termwise.errors import CheckFailedError, MissingFileError
from termwise.export.analyzer_description import describe_analyzer
from termwise.export.kit.query_kit import analyzer_of
from termwise.text import make_analyzer

ANALYZERS = ("english", "standard", "wordpiece")
SENTENCES = 1_000_000
SHOWN = 20
"""Differences that are printed. They are not in the result, because texts may not be passed on."""

AT_ONCE = 500
PACKAGES = ("termwise", "PyStemmer", "tokenizers")

NODE = """
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
const { analyzerOf } = await import("file://" + process.argv[1]);
const analyzer = analyzerOf(JSON.parse(readFileSync(process.argv[2], "utf8")));
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(JSON.parse(line).map((text) => analyzer.tokens(text))) + "\\n");
}
"""

_END = re.compile(r"\n+|(?<=[.!?])\s+")


def sentences(paths: Sequence[Path]) -> Iterator[str]:
    """Yield distinct sentences, in turns from each file and the documentation of Python."""
    seen: set[int] = set()
    sources = [_of_documentation(), *map(_of_file, paths)]
    for row in zip_longest(*sources):
        for sentence in row:
            if sentence is not None and hash(sentence) not in seen:
                seen.add(hash(sentence))
                yield sentence


def _cut(text: str) -> Iterator[str]:
    return (sentence for sentence in _END.split(text) if sentence.strip())


def _of_documentation() -> Iterator[str]:
    for document in open_collection("python:stdlib").documents():
        yield from _cut(document.text)


def _of_file(path: Path) -> Iterator[str]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            for text in _texts(json.loads(line)):
                yield from _cut(text)


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts in a JSON value, except identifiers."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            if not name.endswith("id"):
                yield from _texts(each)


class Node:
    """Process of Node with the analyzer of a description."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        node = shutil.which("node")
        if node is None:
            raise MissingFileError("node is not installed", fixes=["install Node 20 or later"])
        program = resources.files("termwise.export") / "kit" / "analyzers.js"
        self._folder = tempfile.TemporaryDirectory()
        described = Path(self._folder.name) / "analyzer.json"
        described.write_text(json.dumps(description), encoding="utf-8")
        self._process = subprocess.Popen(
            [node, "--input-type=module", "-e", NODE, str(program), str(described)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self.version = subprocess.run(
            [node, "--version"], capture_output=True, text=True, check=True
        ).stdout.strip()

    def send(self, texts: Sequence[str]) -> None:
        """Send texts, whose tokens `receive` returns."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(texts) + "\n")
        self._process.stdin.flush()

    def receive(self) -> list[list[str]]:
        """Return the tokens of the texts that were sent."""
        assert self._process.stdout is not None
        tokens: list[list[str]] = json.loads(self._process.stdout.readline())
        return tokens

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
        self._folder.cleanup()


def compare(name: str, texts: Sequence[str]) -> dict[str, Any]:
    """Compare the tokens of an analyzer in both programs with those of termwise."""
    analyzer = make_analyzer(name)
    description = json.loads(json.dumps(describe_analyzer(analyzer)))
    program, node = analyzer_of(description), Node(description)
    tokens, distinct = 0, set()
    differing = {"Python": 0, "JavaScript": 0}
    for first in range(0, len(texts), AT_ONCE):
        block = texts[first : first + AT_ONCE]
        node.send(block)
        expected = [analyzer.tokens(text) for text in block]
        found = {"Python": [program.tokens(text) for text in block], "JavaScript": node.receive()}
        for each in expected:
            tokens += len(each)
            distinct.update(each)
        for language, its_tokens in found.items():
            for text, wanted, seen in zip(block, expected, its_tokens, strict=True):
                if wanted != seen:
                    differing[language] += 1
                    if sum(differing.values()) <= SHOWN:
                        record.say(f"{name} in {language}: {text!a}\n  {wanted!a}\n  {seen!a}")
        if first % 100_000 == 0:
            record.say(f"{name}: {first:,} sentences, {record.seconds()} s")
    node.close()
    return {
        "analyzer": name,
        "sentences": len(texts),
        "characters": sum(map(len, texts)),
        "not ascii": sum(not text.isascii() for text in texts),
        "tokens": tokens,
        "distinct tokens": len(distinct),
        "sentences that differ": differing,
        "node": node.version,
    }


def page(result: Mapping[str, Any]) -> str:
    """Write the table."""
    rows = [
        [
            row["analyzer"],
            *(f"{row[key]:,}" for key in ("sentences", "not ascii", "tokens", "distinct tokens")),
            *(f"{row['sentences that differ'][program]:,}" for program in ("Python", "JavaScript")),
        ]
        for row in result["rows"]
    ]
    head = ("analyzer", "sentences", "not ASCII", "tokens", "distinct", "differ in Python", "in JavaScript")
    return "\n\n".join(
        [
            "# Agreement of the query kit with termwise",
            "Sentences whose tokens by the programs of the query kit differ from those of termwise. Made by "
            f"`experiments/kit_agreement.py` with Node {result['rows'][0]['node']}, on the included documentation of "
            f"Python and {len(result['data'])} files of texts.",
            record.table(head, rows),
            record.about(dict(result), intervals=False),
        ]
    )


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    parser = record.parser(__doc__, "out")
    parser.add_argument("--texts", type=Path, nargs="*", default=[], help="files of JSON lines")
    parser.add_argument("--sentences", type=int, default=SENTENCES, help="number of sentences at most")
    parser.add_argument("--only", metavar="A,B", help=f"analyzers (default: {','.join(ANALYZERS)})")
    arguments = parser.parse_args(given)
    provenance = record.provenance(PACKAGES)
    names = arguments.only.split(",") if arguments.only else list(ANALYZERS)
    texts = list(islice(sentences(arguments.texts), arguments.sentences))
    record.say(f"{len(texts):,} sentences, {record.seconds()} s")
    rows = [compare(name, texts) for name in names]
    result = {
        "experiment": "kit_agreement",
        "rows": rows,
        "data": {"/".join(path.parts[-2:]): record.file_hash(path) for path in arguments.texts},
        "provenance": provenance | {"seconds": record.seconds()},
    }
    record.save(result, page(result), arguments.out, "kit_agreement" + ("_partial" if arguments.only else ""))
    differing = [
        (f"{row['analyzer']}, {program}", f"{number:,} sentences")
        for row in rows
        for program, number in row["sentences that differ"].items()
        if number
    ]
    if differing:
        raise CheckFailedError("tokens of the query kit differ from those of termwise", facts=differing)


if __name__ == "__main__":
    record.script(main)
