"""The folder of a report: contents, tables, page, samples and results.

====================  ================================================================================================
``report.json``       the report, see `termwise.probes.report.contents`
``report.html``       the page, without external resources
``report.md``         the tables; also ``report.csv`` (all numbers) and ``report.tex``
``seeds.csv``         standard deviations between seeds of one model, if there are any
``samples/``          one file per probe, ``PROBE.jsonl.gz``: query and texts of each sample
``results/``          one file per probe and scorer, ``PROBE+SCORER.jsonl.gz``: scores and effects of each sample
``scores.sqlite``     score cache, from which an interrupted run continues
====================  ================================================================================================

``report.json`` is written last, so a folder with this file is complete. The files of an earlier report are replaced
after all new files are written. Then obsolete samples and results are removed. Scores are kept.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from termwise.errors import ForeignFolderError, StorageError
from termwise.probes.core.run_suite import ProbeSamples, SuiteRun
from termwise.probes.report.contents import FORMAT
from termwise.probes.report.page import report_html
from termwise.probes.report.previous_report import (
    REPORT,
    InvalidReport,
    check_version,
    parse_report,
    report_at,
)
from termwise.probes.report.tables import csv_text, latex_text, markdown_text, seeds_csv
from termwise.storage.atomic_file import write_together
from termwise.storage.safe_read import folder_entries, is_file, is_folder, path_exists

SCORES = "scores.sqlite"
SEEDS = "seeds.csv"
SAMPLES, RESULTS = "samples", "results"

_LONGEST_NAME = 110
"""Maximum length of a name in bytes: a file name has two of them and is limited to 255 bytes."""


def prepare_folder(out: Path, *, is_score_file: Callable[[Path], bool] | None = None) -> None:
    """Create the folder of a report unless it exists; it must be new, empty, or the folder of a report.

    `is_score_file` returns whether a file is a score cache, which an interrupted run leaves in a folder without a
    report.
    """
    if path_exists(out) and not is_folder(out):
        raise ForeignFolderError(
            "the folder of the report is a file", facts=[("given", out)], fixes=["name a new folder"]
        )
    used = is_folder(out) and folder_entries(out)
    if used and (reason := _why_foreign(out, is_score_file)) is not None:
        raise ForeignFolderError(
            "the folder has contents that are not a report of probes",
            facts=[("folder", out), ("reason", reason)],
            fixes=["name an empty or a new folder"],
        )
    for part in (SAMPLES, RESULTS):
        if path_exists(out / part) and not is_folder(out / part):
            raise StorageError(
                "a file has the name of a subfolder of the report",
                facts=[("file", out / part)],
                fixes=["name another folder", "move the file"],
            )
    _make_folder(out)


def _why_foreign(out: Path, is_score_file: Callable[[Path], bool] | None) -> str | None:
    """Return the reason if a folder has neither a report nor the score cache of an interrupted run, else None."""
    if path_exists(out / REPORT):
        try:
            report = parse_report(out / REPORT)
        except InvalidReport as error:
            return f"{REPORT} cannot be read: {error}"
        check_version(out / REPORT, report)
        return None if report.get("format") == FORMAT else f"{REPORT} is not a report of probes"
    if not is_file(out / SCORES):
        return f"it has neither {REPORT} nor {SCORES}"
    return (
        None
        if is_score_file is not None and is_score_file(out / SCORES)
        else f"{SCORES} is not a score cache"
    )


def write_report(
    out: Path, report: dict[str, Any], run: SuiteRun, *, is_score_file: Callable[[Path], bool] | None = None
) -> None:
    """Write all files of a report except the score cache.

    Parameters
    ----------
    out : Path
        The folder; created if it does not exist.
    report : dict
        Value of `report_of` for the run.
    run : SuiteRun
    is_score_file : callable, optional
        See `prepare_folder`.

    Raises
    ------
    ForeignFolderError
        If the folder has contents other than a report.
    StorageError
        If a file cannot be written.
    """
    prepare_folder(out, is_score_file=is_score_file)
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
    obsolete = _detail_files(out) | (set() if report["spread"] else {out / SEEDS})

    def details() -> Iterator[tuple[Path, bytes]]:
        for path, data in _details(out, run):
            obsolete.discard(path)
            yield path, data

    written = ((out / name, _utf8(text)) for name, text in texts.items())
    write_together(chain(details(), written), last=out / REPORT)
    for path in obsolete:
        path.unlink(missing_ok=True)


def _detail_files(out: Path) -> set[Path]:
    """Return the sample and result files of the existing report of a folder."""
    report = report_at(out)
    cells = [] if report is None else [(cell["probe"], cell["scorer"]) for cell in report["cells"]]
    return {_samples_at(out, probe) for probe, _ in cells} | {results_at(out, *cell) for cell in cells}


def _samples_at(out: Path, probe: str) -> Path:
    return out / SAMPLES / f"{file_name(probe)}.jsonl.gz"


def results_at(out: Path, probe: str, scorer: str) -> Path:
    """Return the path of the results of one probe and one scorer."""
    return out / RESULTS / f"{file_name(probe)}+{file_name(scorer)}.jsonl.gz"


def _details(out: Path, run: SuiteRun) -> Iterator[tuple[Path, bytes]]:
    """Yield the sample and result files of a run."""
    for one in run.probes:
        yield _samples_at(out, one.probe.name), _gzip(_sample_lines(one))
    for scorer in run.scorers:
        for name, result in scorer.results.items():
            yield results_at(out, name, scorer.scorer.name), _gzip(result.to_json_lines())


def file_name(name: str) -> str:
    """Return a valid file name; a digest distinguishes names that would become equal.

    Examples
    --------
    >>> file_name("typos@nfcorpus"), file_name("http://host:80/score")
    ('typos@nfcorpus', 'http---host-80-score~cb27071a479b')
    """
    plain = re.sub(r"[^\w.@-]", "-", name)
    if plain == name and len(plain.encode("utf-8")) <= _LONGEST_NAME:
        return plain
    digest = f"~{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
    cut = plain.encode("utf-8")[: _LONGEST_NAME - len(digest)].decode("utf-8", "ignore")
    return f"{cut}{digest}"


def _sample_lines(one: ProbeSamples) -> Iterable[str]:
    for sample in one.samples:
        fields = {
            "sample": sample.sample_id,
            "query_id": sample.query_id,
            "query": sample.query,
            "first": sample.first,
            "second": sample.second,
        }
        if sample.second_query is not None:
            fields["second_query"] = sample.second_query
        yield json.dumps({**fields, "facts": dict(sample.facts)}, ensure_ascii=False)


def _gzip(lines: Iterable[str]) -> bytes:
    return gzip.compress(_utf8("".join(f"{line}\n" for line in lines)), mtime=0)


def _utf8(text: str) -> bytes:
    r"""Encode a text; a surrogate for a byte that is not UTF-8 becomes an escape such as ``\udcff``, as in JSON."""
    return text.encode("utf-8", "backslashreplace")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            "the folder of the report cannot be created",
            facts=[("path", folder), ("reason", error.strerror or error)],
            fixes=["name a writable folder"],
        ) from error
