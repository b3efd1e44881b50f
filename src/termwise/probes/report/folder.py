"""The folder of a report: numbers, tables, a page, and every sample with its scores.

====================  ================================================================================================
``report.json``       everything but the samples, see `termwise.probes.report.contents`
``report.html``       a page to look at, which loads nothing
``report.md``         the tables; also ``report.csv`` (every number) and ``report.tex``
``samples/``          one file a probe, ``PROBE.jsonl.gz``: query and texts of each sample
``results/``          one file a probe and scorer, ``PROBE+SCORER.jsonl.gz``: scores and effects of each sample
``scores.sqlite``     scores that are known, so that a run that was interrupted goes on
====================  ================================================================================================

``report.json`` is written last: a folder that has one is whole.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from termwise.collection.writing import write_bytes_whole
from termwise.errors import ForeignFolderError, ModelFormatError, StorageError
from termwise.probes.report.contents import FORMAT, VERSION
from termwise.probes.report.page import report_html
from termwise.probes.report.tables import csv_text, latex_text, markdown_text
from termwise.probes.suite_run import Question, SuiteRun

REPORT = "report.json"
SCORES = "scores.sqlite"


def prepare_place(out: Path) -> None:
    """Make the folder of a report, if there is none.

    Raises
    ------
    ForeignFolderError
        If it is a file, or holds something else than a report, finished or begun.
    StorageError
        If it cannot be made.
    """
    if out.exists() and not out.is_dir():
        raise ForeignFolderError(
            "the folder of the report is a file", facts=[("given", out)], fixes=["name a new folder"]
        )
    if out.is_dir() and any(out.iterdir()) and not any((out / name).is_file() for name in (REPORT, SCORES)):
        raise ForeignFolderError(
            "the folder holds something that is no report of probes",
            facts=[("folder", out)],
            fixes=["name an empty or a new folder"],
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            "the folder of the report cannot be made",
            facts=[("folder", out), ("the system says", error.strerror or error)],
            fixes=["name a folder that can be written"],
        ) from error


def write_report(out: Path, report: dict[str, Any], run: SuiteRun) -> None:
    """Write all files of a report but the scores.

    Parameters
    ----------
    out : Path
        A folder; made if there is none.
    report : dict
        What `report_of` returned for the run.
    run : SuiteRun

    Raises
    ------
    StorageError
        If the disk is full or refuses.
    """
    for part in ("samples", "results"):
        (out / part).mkdir(parents=True, exist_ok=True)
    for question in run.questions:
        write_bytes_whole(
            out / "samples" / f"{file_name(question.probe.name)}.jsonl.gz", _packed(_said(question))
        )
    for one in run.examined:
        for name, result in one.results.items():
            path = out / "results" / f"{file_name(name)}+{file_name(one.scorer.name)}.jsonl.gz"
            write_bytes_whole(path, _packed(result.to_json_lines()))
    for name, text in (
        ("report.md", markdown_text(report)),
        ("report.csv", csv_text(report)),
        ("report.tex", latex_text(report)),
        ("report.html", report_html(report)),
    ):
        write_bytes_whole(out / name, text.encode("utf-8"))
    body = json.dumps(report, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    write_bytes_whole(out / REPORT, body.encode("utf-8"))


def read_report(path: str | Path) -> dict[str, Any]:
    """Read the numbers of a report.

    Parameters
    ----------
    path : str or Path
        The folder, or its ``report.json``.

    Raises
    ------
    ModelFormatError
        If it is no report, or one of a later version.
    """
    file = Path(path) / REPORT if Path(path).is_dir() else Path(path)
    try:
        report = json.loads(file.read_text(encoding="utf-8"))
        told = (report["format"], report["version"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelFormatError(
            "this is no report of probes",
            facts=[("file", file), ("why", error)],
            fixes=["name a folder that termwise probe --out wrote"],
        ) from error
    if told != (FORMAT, VERSION):
        raise ModelFormatError(
            "this report is of another version of termwise",
            facts=[("file", file), ("format", told), ("expected", (FORMAT, VERSION))],
            fixes=["run the probes again"],
        )
    return dict(report)


def file_name(name: str) -> str:
    """Return a name that any file system takes.

    Examples
    --------
    >>> file_name("typos@nfcorpus"), file_name("http://host:80/score")
    ('typos@nfcorpus', 'http---host-80-score')
    """
    return re.sub(r"[^\w.@-]", "-", name)[:150]


def _said(question: Question) -> Iterable[str]:
    for sample in question.samples:
        said = {
            "sample": sample.sample_id,
            "query_id": sample.query_id,
            "query": sample.query,
            "first": sample.first,
            "second": sample.second,
        }
        if sample.second_query is not None:
            said["second_query"] = sample.second_query
        yield json.dumps({**said, "facts": dict(sample.facts)}, ensure_ascii=False)


def _packed(lines: Iterable[str]) -> bytes:
    return gzip.compress("".join(f"{line}\n" for line in lines).encode("utf-8"), mtime=0)
