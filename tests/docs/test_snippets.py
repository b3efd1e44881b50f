"""Snippets of the documentation run and print the shown output."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.docs.refresh import main as refresh
from tests.docs.snippets import ROOT, Block, blocks, documents, run_document, steps

SKIPPED = [block for path in documents() for block in blocks(path) if block.skipped is not None]


TRIED_IN_THE_CLONE = tuple(ROOT / name for name in ("README.md", "docs/tutorial.md", "docs/tutorial-shop.md"))
"""Pages with commands for a checkout of the repository."""


def seen_by_git(names: list[str]) -> list[str]:
    """Return the names in the root of the repository that git does not ignore; none without git."""
    try:
        ignored = subprocess.run(
            ["git", "check-ignore", "--no-index", *names],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return []
    return sorted(set(names) - set(ignored.stdout.split("\n"))) if ignored.returncode < 2 else []


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", documents(), ids=name)
def test_document(path, tmp_path):
    outcome = run_document(path, tmp_path)
    if outcome.problems:
        pytest.fail("\n\n".join(map(str, outcome.problems)), pytrace=False)
    if path in TRIED_IN_THE_CLONE:
        left = [entry.name + "/" * entry.is_dir() for entry in tmp_path.iterdir()]
        assert seen_by_git([*left, "explanation.html", "page.html"]) == []


@pytest.mark.parametrize("block", SKIPPED, ids=lambda block: block.place)
def test_blocks_that_are_not_run(block):
    assert block.skipped, f"{block.place}: a block is left out without a reason"
    known = {
        "tilde",
        "tildev2",
        "model1",
        "lookup",
        "train",
        "spacy",
        "simplemma",
        "chinese",
        "japanese",
        "probe",
        "approximate",
        "parquet",
        "langchain",
        "llama-index",
        "haystack",
        "dataframes",
        "sklearn",
        "pyterrier",
        "mteb",
    }
    assert set(block.needs) <= known, f"{block.place}: needs what will never be there"
    print(f"not run: {block.place}: {block.skipped}")
    pytest.skip(block.skipped)


# --- tests of the runner ------------------------------------------------------------------------------------------


def document(folder: Path, *lines: str) -> Path:
    path = folder / "page.md"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    work = folder / "work"
    work.mkdir(exist_ok=True)
    return path


def problems(path: Path) -> list[str]:
    return [problem.what for problem in run_document(path, path.parent / "work").problems]


def test_commands_share_a_folder_and_output_is_compared(tmp_path):
    path = document(
        tmp_path,
        "```console",
        "$ cat > a.txt <<'EOF'",
        "one two",
        "EOF",
        "$ cat a.txt",
        "one ...",
        "```",
        "```console",
        "$ cat a.txt | head -c 3",
        "two",
        "```",
    )
    assert problems(path) == ["`cat a.txt | head -c 3` prints otherwise"]


def test_a_failing_command_must_show_its_error(tmp_path):
    path = document(tmp_path, "```console", "$ termwise inspect nowhere", "```")
    assert problems(path) == ["`termwise inspect nowhere` failed"]
    shown = document(
        tmp_path,
        "```console",
        "$ termwise inspect nowhere 2>&1",
        "termwise: there is no such index  [missing-file]",
        "...",
        "$ echo $?",
        "3",
        "$ termwise inspect nowhere",
        "$ echo $?",
        "3",
        "```",
    )
    assert problems(shown) == []


def test_python_sessions_share_names(tmp_path):
    path = document(
        tmp_path,
        "```python",
        "text = 'a b'",
        "```",
        "```python",
        ">>> text.split()",
        "['a', 'c']",
        ">>> 1 / 0",
        "Traceback (most recent call last):",
        "...",
        "ZeroDivisionError: division by zero",
        "```",
        "```python",
        "text.no_such_method()",
        "```",
        "```text",
        "$ rm -rf /",
        "```",
    )
    assert problems(path) == ["`text.split()` gives otherwise", "the program fails"]


def test_a_block_can_be_left_out_with_a_reason(tmp_path):
    path = document(tmp_path, "<!-- not run: needs a download -->", "", "```python", "1 / 0", "```")
    assert blocks(path)[0].skipped == "needs a download"
    assert problems(path) == []


def test_a_block_can_need_what_is_not_here(tmp_path):
    needing = [
        "<!-- needs: no-such-encoder -->",
        "<!-- numbers vary: with it -->",
        "```python",
        "1 / 0",
        "```",
    ]
    path = document(tmp_path, *needing, "```python", ">>> 1 + 1", "2", "```")
    assert [block.skipped for block in blocks(path)] == ["needs no-such-encoder, which is not here", None]
    assert blocks(path)[0].numbers_vary == "with it"
    assert problems(path) == []


def test_all_blocks_can_need_what_is_not_here(tmp_path):
    block = ["```python", "1 / 0", "```"]
    path = document(tmp_path, *block, "<!-- all need: no-such-encoder -->", "Text.", *block, "", *block)
    assert [each.needs for each in blocks(path)] == [(), ("no-such-encoder",), ("no-such-encoder",)]


def test_numbers_may_vary_where_the_page_says_so(tmp_path):
    lines = ["```console", "$ printf 'took 11.25 s, −3\\n  ━━━ 48%%\\n'", "took 3 s, −12", " ━╸  5%", "```"]
    assert problems(document(tmp_path, *lines)) != []
    assert problems(document(tmp_path, "<!-- numbers vary: with the machine -->", *lines)) == []
    lines[2] = "lasted 3 s, −12"
    assert problems(document(tmp_path, "<!-- numbers vary: with the machine -->", *lines)) != []


def test_programs_of_the_documentation_are_run(tmp_path):
    shop = document(
        tmp_path,
        "```console",
        "$ python docs/examples/make_shop.py",
        "$ ls",
        "shop-next-day.jsonl",
        "shop.jsonl",
        "```",
    )
    assert problems(shop) == []


@pytest.mark.parametrize(
    "command", ["curl example.org", "cat a && rm a", "cat a; rm a", "python -c 1", "python"]
)
def test_only_known_commands_are_run(tmp_path, command):
    path = document(tmp_path, "```console", f"$ {command}", "```")
    with pytest.raises(ValueError, match="documentation"):
        problems(path)


def test_output_without_a_command_is_refused(tmp_path):
    block = Block(tmp_path / "page.md", 2, "console", ("no command",))
    with pytest.raises(ValueError, match="starts with a command"):
        list(steps(block))


def test_refreshing_writes_what_is_printed_and_keeps_wildcards(tmp_path):
    path = document(
        tmp_path,
        "1. An item:",
        "   ```console",
        "   $ printf 'took 3 s\\nold no more\\n'",
        "   took ... s",
        "   old",
        "   ```",
        "```python",
        ">>> for i in range(2):",
        "...     print(i)",
        "0",
        ">>> 1 + 1",
        "3",
        "```",
    )
    assert refresh([str(path)]) == 0
    assert path.read_text().split("\n") == [
        "1. An item:",
        "   ```console",
        "   $ printf 'took 3 s\\nold no more\\n'",
        "   took ... s",
        "   old no more",
        "   ```",
        "```python",
        ">>> for i in range(2):",
        "...     print(i)",
        "0",
        "1",
        ">>> 1 + 1",
        "2",
        "```",
        "",
    ]
    assert problems(path) == []
