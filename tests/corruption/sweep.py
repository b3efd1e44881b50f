"""Open and use an index repeatedly, each time with one changed byte.

Every use must succeed or raise an error of termwise. Opening compares no checksums here, since large indexes have parts
that it does not compare. The program runs in a separate process, because a defect can crash
the interpreter; with ``NUMBA_DISABLE_JIT=1`` the kernels run as plain Python, in which an index outside an array raises
IndexError.

Usage: ``sweep.py PATTERN FOLDER:STEP [FOLDER:STEP ...]`` changes every STEP-th byte of each folder.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from termwise.errors import TermwiseError
from termwise.index import Index, open_files
from termwise.models.count_query_encoder import CountQueryEncoder
from termwise.search.searcher import Searcher
from termwise.text import make_analyzer

ANALYZER = make_analyzer("whitespace")


def use(folder: Path, queries: list[str], doc_ids: list[str]) -> None:
    """Use an index in all public ways."""
    index = Index.open(folder)
    searcher = Searcher.of_index(index, CountQueryEncoder(ANALYZER, index.vocabulary))
    for query in queries:
        attempt(lambda query=query: searcher.rank(query, k=1))
        attempt(lambda query=query: searcher.rank(query, k=1000))
    attempt(lambda: searcher.rank(queries[0], candidates=doc_ids))
    attempt(lambda: searcher.explain(queries[0], doc_ids[-1]))
    attempt(lambda: [index.text(i) for i in range(len(index))])
    attempt(lambda: [index.row(i) for i in range(len(index))])
    attempt(lambda: index.weights(np.arange(len(index))))
    attempt(lambda: index.document_vectors(np.arange(len(index))))
    attempt(lambda: index.texts(np.arange(len(index))))
    attempt(lambda: [index.attachment(name) for name in index.manifest.attachments])


def attempt(action: object) -> None:
    """Run an action, which may raise an error of termwise."""
    try:
        action()  # type: ignore[operator]
        outcomes["done"] += 1
    except TermwiseError as error:
        outcomes[type(error).__name__] += 1


outcomes: Counter[str] = Counter()


def sweep(folder: Path, pattern: int, step: int) -> int:
    """Change one byte at a time, and return the number of changes."""
    index = Index.open(folder)
    tokens = [index.vocabulary.token(i) for i in range(len(index.vocabulary))]
    doc_ids = [index.doc_id(i) for i in range(min(5, len(index)))]
    queries = [" ".join(tokens), tokens[0], f"{tokens[-1]} unknown"]
    del index
    changed = 0
    for path in sorted(folder.iterdir()):
        with path.open("r+b", buffering=0) as file:
            original = file.read()
            for position in range(0, len(original), step):
                file.seek(position)
                file.write(bytes([original[position] ^ pattern]))
                try:
                    attempt(lambda: use(folder, queries, doc_ids))
                except BaseException:
                    print(f"{path.name}, byte {position} changed by {pattern:#x}", file=sys.stderr)
                    raise
                changed += 1
                file.seek(position)
                file.write(original[position : position + 1])
    use(folder, queries, doc_ids)
    return changed


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # sums of damaged numbers may overflow
    open_files.CHECKED = 0
    found = {}
    for folder, step in (argument.rsplit(":", 1) for argument in sys.argv[2:]):
        outcomes.clear()
        changed = sweep(Path(folder), int(sys.argv[1], 0), int(step))
        found[Path(folder).name] = {"changed": changed, "outcomes": dict(outcomes)}
    print(json.dumps(found))
