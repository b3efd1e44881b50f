r"""Time and memory of exports of the reference workload: 616,387 passages, 29 million postings.

    pip install -e '.[dev]'
    python benchmarks/export.py --workload FOLDER --work SCRATCH     # about 15 minutes, the index included

The index has the impacts of the workload, with term numbers as tokens. Each target runs in a process of its own, with
the command ``termwise export``; the clock runs from its start to its end. Memory is the largest resident memory of that
process. The peer, in the same run, writes what the target ``jsonl`` writes for the first 20,000 documents, with
``json.dumps`` for each, in one process. ``--targets`` names others.

Exports of SQLite and DuckDB are compared with the index by ``termwise export-check``: the first queries of the workload
at k = 1,000.

Results are printed and appended to ``benchmarks/results/export.jsonl``.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

import numpy as np  # noqa: E402
from record import parser  # noqa: E402
from timing import about, append, say  # noqa: E402
from workload import load  # noqa: E402

TERMWISE = [sys.executable, "-m", "termwise"]
TARGETS = ["jsonl", "ciff", "pisa", "numpy", "anserini", "sqlite", "duckdb", "postgresql"]
FILES = {"jsonl", "ciff", "pisa", "numpy", "anserini"}
"""Targets that only write files."""

EMBEDDED = {"sqlite", "duckdb"}
"""Targets that are searched without a server."""

NAIVE = """
import json, sys
import numpy as np
from termwise.index import Index
index = Index.open(sys.argv[1])
with open(sys.argv[2], "w") as file:
    for row in range(20_000):
        weights = index.weights(np.array([row]))
        pairs = zip(weights.terms.tolist(), weights.weights.tolist())
        vector = {index.vocabulary.token(term): weight for term, weight in pairs}
        file.write(json.dumps({"id": index.doc_id(row), "vector": vector}) + "\\n")
"""


def measured(command: list[str]) -> dict[str, Any]:
    """Run a command, and return its seconds and largest memory in MB."""
    begin = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert child.stderr is not None, "a pipe"
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(command)}\n{said.decode()}")
    assert isinstance(usage, resource.struct_rusage), "of the child"
    return {
        "seconds": round(time.perf_counter() - begin, 1),
        "cpu": round(usage.ru_utime + usage.ru_stime, 1),
        "MB": round(usage.ru_maxrss / 1024),
    }


def main() -> None:
    """Build the index, unless it is there, and export it."""
    arguments = parser(__doc__, "work")
    arguments.add_argument("--workload", type=Path, required=True, help="folder of the workload")
    arguments.add_argument("--targets", nargs="+", default=TARGETS, help="targets to measure")
    arguments.add_argument("--queries", type=int, default=100, help="queries of the check")
    given = arguments.parse_args()
    work: Path = given.work
    work.mkdir(parents=True, exist_ok=True)
    index, queries = work / "index", work / "queries.tsv"
    if not index.exists():
        data = load(given.workload)
        indptr, terms, impacts = data.matrix
        shape = (data.documents, 30_522)
        np.savez(
            work / "matrix.npz", indptr=indptr, indices=terms, data=impacts.astype(np.float32), shape=shape
        )
        texts = [f"{number}\t{' '.join(map(str, query))}\n" for number, query in enumerate(data.queries)]
        queries.write_text("".join(texts[: given.queries]))
        command = ["index", str(work / "matrix.npz"), "--model", "vectors", "--out", str(index)]
        say(f"built: {measured([*TERMWISE, *command])}")
    report: dict[str, Any] = {"about": about(["duckdb", "psycopg"]), "targets": {}}
    for name in given.targets:
        out = work / name
        shutil.rmtree(out, ignore_errors=True)
        row = measured([*TERMWISE, "export", str(index), "--to", name, "--out", str(out)])
        row["GB"] = round(
            sum(path.stat().st_size for path in (out / "data").rglob("*") if path.is_file()) / 1e9, 2
        )
        if name in EMBEDDED:
            check = [*TERMWISE, "export-check", str(index), str(out), "--queries", str(queries), "--json"]
            found = json.loads(subprocess.run(check, capture_output=True, check=False).stdout)
            row |= {key: found[key] for key in ("queries", "identical", "score_difference")}
        say(f"{name}: {row}")
        report["targets"][name] = row
        shutil.rmtree(out, ignore_errors=True)
    naive = measured([sys.executable, "-c", NAIVE, str(index), str(work / "naive.jsonl")])
    (work / "naive.jsonl").unlink()
    say(f"json.dumps, 20,000 documents: {naive}")
    report["json.dumps, 20,000 documents"] = naive
    append(report, "export")


if __name__ == "__main__":
    main()
