"""The folder of a report: numbers, tables, a page, and every sample with its scores.

====================  ================================================================================================
``report.json``       everything but the samples, see `termwise.probes.report.contents`
``report.html``       a page to look at, which loads nothing
``report.md``         the tables; also ``report.csv`` (every number) and ``report.tex``
``seeds.csv``         how far seeds of one model lie apart, where there are some
``samples/``          one file a probe, ``PROBE.jsonl.gz``: query and texts of each sample
``results/``          one file a probe and scorer, ``PROBE+SCORER.jsonl.gz``: scores and effects of each sample
``scores.sqlite``     scores that are known, so that a run that was interrupted goes on
====================  ================================================================================================

``report.json`` comes last: a folder that has one is whole. The files of an earlier report stay until all new ones are
written, and are replaced then; its samples and results of what is no longer asked are taken away. Scores stay.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from termwise.errors import ForeignFolderError, StorageError
from termwise.probes.core.run_suite import ProbeSamples, SuiteRun
from termwise.probes.report.contents import FORMAT
from termwise.probes.report.page import report_html
from termwise.probes.report.previous_report import REPORT, Unfit, check_version, parsed, report_at
from termwise.probes.report.tables import csv_text, latex_text, markdown_text, seeds_csv
from termwise.scorers import ScoreCache
from termwise.storage.atomic_file import write_together

SCORES = "scores.sqlite"
SEEDS = "seeds.csv"
SAMPLES, RESULTS = "samples", "results"

_LONGEST = 110
"""Bytes of a name in a file name: two of them, and what is put around them, are less than the usual 255."""


def prepare_place(out: Path) -> None:
    """Make the folder of a report, if there is none.

    Raises
    ------
    ForeignFolderError
        If it is a file, or holds something else than a report, finished or begun.
    ModelFormatError
        If it holds a report of another version.
    StorageError
        If it cannot be made, or files stand where a report has folders.
    """
    if out.exists() and not out.is_dir():
        raise ForeignFolderError(
            "the folder of the report is a file", facts=[("given", out)], fixes=["name a new folder"]
        )
    if out.is_dir() and any(out.iterdir()) and (foreign := _foreign(out)) is not None:
        raise ForeignFolderError(
            "the folder holds something that is no report of probes",
            facts=[("folder", out), ("why", foreign)],
            fixes=["name an empty or a new folder"],
        )
    for part in (SAMPLES, RESULTS):
        if (out / part).exists() and not (out / part).is_dir():
            raise StorageError(
                "a file stands where the report has a folder",
                facts=[("file", out / part)],
                fixes=["name another folder", "move the file away"],
            )
    _make_folder(out)


def _foreign(out: Path) -> str | None:
    """Say why a folder holds no report, nor the scores of one that was begun: their names alone do not tell.

    Returns
    -------
    str or None
        None where it holds one.
    """
    if (out / REPORT).exists():
        try:
            report = parsed(out / REPORT)
        except Unfit as error:
            return f"{REPORT} cannot be read: {error}"
        check_version(out / REPORT, report)
        return None if report.get("format") == FORMAT else f"{REPORT} is of something else"
    if not (out / SCORES).is_file():
        return f"neither {REPORT} nor {SCORES} is there"
    return None if ScoreCache.is_at(out / SCORES) else f"{SCORES} holds no scores"


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
    ForeignFolderError
        If the folder holds something else than a report.
    StorageError
        If the disk is full or refuses.
    """
    prepare_place(out)
    body = json.dumps(report, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    texts = {
        "report.md": markdown_text(report),
        "report.csv": csv_text(report),
        "report.tex": latex_text(report),
        "report.html": report_html(report),
        **({SEEDS: seeds_csv(report)} if report["spread"] else {}),
        REPORT: body,
    }
    for part in (SAMPLES, RESULTS):
        _make_folder(out / part)
    earlier = _named_details(out) | (set() if report["spread"] else {out / SEEDS})
    placed: set[Path] = set()

    def details() -> Iterator[tuple[Path, bytes]]:
        for path, data in _details(out, run):
            placed.add(path)
            yield path, data

    written = ((out / name, _utf8(text)) for name, text in texts.items())
    write_together(chain(details(), written), last=out / REPORT)
    for path in earlier - placed:
        path.unlink(missing_ok=True)


def _named_details(out: Path) -> set[Path]:
    """Return the files of single probes that the report of a folder speaks of, if there is one."""
    report = report_at(out)
    cells = [] if report is None else [(cell["probe"], cell["scorer"]) for cell in report["cells"]]
    return {_samples_at(out, probe) for probe, _ in cells} | {results_at(out, *cell) for cell in cells}


def _samples_at(out: Path, probe: str) -> Path:
    return out / SAMPLES / f"{file_name(probe)}.jsonl.gz"


def results_at(out: Path, probe: str, scorer: str) -> Path:
    """Return where a report has what a probe found of a scorer, sample by sample."""
    return out / RESULTS / f"{file_name(probe)}+{file_name(scorer)}.jsonl.gz"


def _details(out: Path, run: SuiteRun) -> Iterator[tuple[Path, bytes]]:
    """Yield the files of single probes."""
    for question in run.questions:
        yield _samples_at(out, question.probe.name), _packed(_said(question))
    for one in run.examined:
        for name, result in one.results.items():
            yield results_at(out, name, one.scorer.name), _packed(result.to_json_lines())


def file_name(name: str) -> str:
    """Return a name that any file system takes; a digest tells apart what would come out the same.

    Examples
    --------
    >>> file_name("typos@nfcorpus"), file_name("http://host:80/score")
    ('typos@nfcorpus', 'http---host-80-score~cb27071a479b')
    """
    plain = re.sub(r"[^\w.@-]", "-", name)
    if plain == name and len(plain.encode("utf-8")) <= _LONGEST:
        return plain
    digest = f"~{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
    cut = plain.encode("utf-8")[: _LONGEST - len(digest)].decode("utf-8", "ignore")
    return f"{cut}{digest}"


def _said(question: ProbeSamples) -> Iterable[str]:
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
    return gzip.compress(_utf8("".join(f"{line}\n" for line in lines)), mtime=0)


def _utf8(text: str) -> bytes:
    r"""Encode a text; a byte of a file name that is no UTF-8 becomes an escape such as ``\udcff``, as JSON has it."""
    return text.encode("utf-8", "backslashreplace")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            "the folder of the report cannot be made",
            facts=[("path", folder), ("the system says", error.strerror or error)],
            fixes=["name a folder that can be written"],
        ) from error
