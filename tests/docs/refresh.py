"""Write the current output of snippets to the documents.

Run from the root of the repository, and review the difference::

    python -m tests.docs.refresh [--check] [FILE ...]

Output that still matches is not changed, including ``...``. Programs and commands that fail are reported, and their
output is not changed.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.docs.snippets import ROOT, blocks, documents, run_document


def main(arguments: Sequence[str]) -> int:
    """Refresh the named documents, or all; return 1 if ``--check`` finds something to change."""
    check = "--check" in arguments
    named = [Path(argument).resolve() for argument in arguments if argument != "--check"]
    changed = 0
    for path in named or documents():
        with tempfile.TemporaryDirectory() as folder:
            outcome = run_document(path, Path(folder))
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        for problem in outcome.problems:
            print(problem if check else f"{shown}:{problem.line}: {problem.what}", file=sys.stderr)
        if outcome.problems and not check:
            path.write_text("\n".join(outcome.lines), encoding="utf-8")
        for block in blocks(path):
            if block.skipped is not None:
                print(f"{block.place}: not run: {block.skipped}", file=sys.stderr)
        changed += bool(outcome.problems)
        print(f"{shown}: {len(outcome.problems) or 'nothing'} to change", file=sys.stderr)
    return int(check and changed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
