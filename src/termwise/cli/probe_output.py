"""Output of ``termwise probe``."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from termwise.cli.terminal import counted, note, note_line, print_json, stdout
from termwise.display.safe_text import legible_line
from termwise.errors import CheckFailedError, UsageError
from termwise.probes.core.expectations import expectation_of
from termwise.probes.core.suites import SUITES, ProbeSelection
from termwise.probes.inputs import data_names
from termwise.probes.report import Assertion, differences, failed_assertions, tables
from termwise.probes.report.differences import Difference
from termwise.probes.report.folder import SCORES
from termwise.probes.run import ProbePlan
from termwise.scorers import ScoreCache
from termwise.storage.safe_read import is_file

_FACTS_OF_SCORES = ("judged", "statistics", "language", "stop words", "seed", "limit", "candidates")
"""Facts of a report that samples and scores depend on."""

CHANGED = "changed"
"""Value of ``--fail-if`` for a score that has changed since the report of ``--against``."""

_INDENT = 6 * " "
"""Indentation of definitions in a list."""


class EarlierReport(NamedTuple):
    """Report to compare with, and its folder."""

    folder: Path
    report: dict[str, Any]


def print_report(
    report: dict[str, Any], *, as_json: bool, by_name: bool, earlier: EarlierReport | None
) -> None:
    """Print scores as tables or JSON lines; note skipped probes, and changes since an earlier report."""
    if as_json:
        for cell in report["cells"]:
            print_json({name: value for name, value in cell.items() if name not in ("sweep", "examples")})
    else:
        _print_tables(report, by_name=by_name)
        for line in (
            *_shortfall_lines(report),
            *_contrast_lines(report),
            *_tie_lines(report),
            *_seed_lines(report),
        ):
            note(line)
    for line in _skipped_lines(report):
        note(line)
    if earlier is not None:
        for line in _change_lines(report, earlier):
            note(line)


def check_report(
    assertions: Sequence[Assertion], report: dict[str, Any], *, unchanged_since: EarlierReport | None
) -> None:
    """Raise `CheckFailedError` if an assertion fails, or a score has changed since an earlier report."""
    facts = [
        (assertion.text, f"{cell['scorer']}, {cell['probe']}: {_formatted(cell['score'])}")
        for assertion, cell in failed_assertions(assertions, report)
    ]
    if unchanged_since is not None:
        facts += [
            (
                CHANGED,
                f"{one.scorer}, {one.probe}: {_formatted(one.before)} before, {_formatted(one.after)} now",
            )
            for one in comparable_scores(report, unchanged_since)
            if one.state == "changed"
        ]
    if facts:
        fail = "a score fails" if len(facts) == 1 else f"{len(facts)} scores fail"
        raise CheckFailedError(f"{fail} --fail-if", facts=facts)


def comparable_scores(report: dict[str, Any], earlier: EarlierReport) -> list[Difference]:
    """Return the scores that an earlier report has on the same pairs.

    Raises
    ------
    UsageError
        If there are none, because the check could never fail.
    """
    found = [
        one
        for one in differences(earlier.report, report)
        if one.state in ("changed", "same") and (one.before, one.after) != (None, None)
    ]
    if not found:
        raise UsageError(
            "no score can be compared: the earlier report has no score on the same pairs",
            facts=[("--fail-if", CHANGED), ("--against", earlier.folder)],
            fixes=[
                "probe the same rankers, with the same names, probes and texts",
                "use the same --seed and the same --limit, which is 100 in the suite quick",
            ],
        )
    return found


def _print_tables(report: dict[str, Any], *, by_name: bool) -> None:
    """Print a table for each section; rows begin with the name or the title of a probe."""
    console = stdout()
    for title, rows in tables.sections(report):
        scored = [row for row in rows if row.probe["samples"] and any(row.cells)]
        if not scored:
            continue
        table = Table(box=None, pad_edge=False)
        table.add_column("probe")
        named = any(row.data for row in scored)
        if named:
            table.add_column("texts", style="dim")
        for scorer in report["scorers"]:
            table.add_column(legible_line(scorer["name"]), justify="right")
        table.add_column("pairs", justify="right", style="dim")
        for row in scored:
            table.add_row(
                legible_line(row.probe["name"].partition("@")[0] if by_name else row.title),
                *([legible_line(row.data)] if named else []),
                *(tables.cell_score(cell, symmetric=row.probe["symmetric"]) for cell in row.cells),
                f"{row.probe['samples']:,}",
            )
        console.print(legible_line(title), style="italic")
        console.print(table)
        console.print()
    empty: dict[str, list[str]] = {}
    for probe in report["probes"]:
        if not probe["samples"]:
            empty.setdefault(legible_line(probe.get("needs", "")), []).append(legible_line(probe["name"]))
    for needs, names in empty.items():
        have = counted(len(names), "probe has", "probes have")
        why = f": there are no {needs}" if needs else ""
        console.print(f"{have} no pair in these texts{why} ({_few(names, 3)}).", style="dim")
    deltas = ", ".join(
        f"{legible_line(one['name'])} {legible_line(tables.threshold(one['effect_rule']))}"
        for one in report["scorers"]
    )
    console.print(
        "+1 means that the ranker always prefers the first text (the text with the quality or the change in the "
        "probe's name). A score without a sign is the share of pairs that are not ties. * means not significant (test "
        f"clustered by query); scores without a sign are not tested. Tie threshold δ: {deltas}.",
        style="dim",
    )


def _few(names: Sequence[str], most: int = 6) -> str:
    """Return the first names on one line; a list with one name more is complete."""
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def _shortfall_lines(report: dict[str, Any]) -> Iterator[str]:
    """Yield for each scorer the scores that are furthest from the expected ones, unless there is only one probe."""
    if sum(1 for probe in report["probes"] if probe["samples"]) < 2:
        return
    for name, several in tables.shortfalls(report).items():
        parts = []
        for one in several:
            probe, score = one.row.probe, one.cell["score"]
            shown = f"{score:.2f}" if probe["symmetric"] else tables.signed(score)
            expected = f"expected: {tables.expected_score(probe['expectation'])}"
            if not probe["symmetric"] and not tables.significant(one.cell):
                expected += ", not significant"
            parts.append(f"{probe['name']} {shown} ({expected})")
        if parts:
            yield f"{name} is furthest from the expected score on {_few(parts, 3)}"


def _contrast_lines(report: dict[str, Any]) -> Iterator[str]:
    """Yield for each scorer the probes on which it differs most from the first scorer."""
    for names, rows in tables.by_rankers(report["comparisons"]).items():
        parts = [
            f"{one['probe']} {tables.signed(one['difference'])}" for one in rows if tables.significant(one)
        ]
        yield f"{' against '.join(names)}: " + (
            f"differs most on {_few(parts, 3)}" if parts else "no difference is significant"
        )


def _tie_lines(report: dict[str, Any]) -> Iterator[str]:
    """Name the scorers whose median gap is 0, so that only equal scores are ties."""
    if report["facts"].get("delta") != "median":
        return
    names = [one["name"] for one in report["scorers"] if one["gaps"] and one["effect_rule"].get("delta") == 0]
    if names:
        yield (
            f"{_few(names)}: half of the neighbours at the top of the rankings have equal scores, so δ is 0; "
            "--delta NUMBER sets another tie threshold"
        )


def _seed_lines(report: dict[str, Any]) -> Iterator[str]:
    """Yield the deviation between the seeds of each model."""
    for one in tables.seeds_of(report):
        deviations = ", ".join(f"{section} {deviation:.3f}" for section, deviation, _ in one.rows)
        flips = f"depends on the seed for {_few(one.flips)}" if one.flips else "never depends on the seed"
        yield f"{one.title}, standard deviation between them: {deviations}; the sign {flips}"


def _skipped_lines(report: dict[str, Any]) -> Iterator[str]:
    """Yield the probes that were skipped for each scorer: a line for each reason."""
    for scorer in report["scorers"]:
        reasons: dict[str, list[str]] = {}
        for probe, reason in scorer["skipped"].items():
            reasons.setdefault(reason, []).append(probe)
        for reason, probes in reasons.items():
            what = probes[0] if len(probes) == 1 else f"{len(probes)} probes, such as {probes[0]}"
            yield f"skipped for {scorer['name']}: {what}: {reason}"
    yield from _missing_package_lines(report["facts"].get("not made", {}))


def _missing_package_lines(not_made: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for fix, names in not_made.items():
        yield f"skipped, because a package is missing: {_few(names)} ({fix})"


def _change_lines(report: dict[str, Any], earlier: EarlierReport) -> Iterator[str]:
    """Yield the differences from an earlier report: rankers, thresholds, facts, scores and missing scores."""
    folder, before = earlier
    known = {one["name"]: one for one in before["scorers"]}
    for one in report["scorers"]:
        was = known.get(one["name"], one)
        if was["fingerprint"] != one["fingerprint"]:
            yield f"{one['name']}: the ranker or its settings differ from those in {folder}"
        if was["effect_rule"] != one["effect_rule"]:
            yield f"{one['name']}: the tie threshold δ differs from that in {folder}"
    for name, was in before["facts"].items():
        now = report["facts"].get(name)
        if name in _FACTS_OF_SCORES and was != now:
            yield f"{name}: {tables.format_fact(was)} in {folder}, {tables.format_fact(now)} now"
    cells = differences(before, report)
    for cell in cells:
        if cell.state in ("changed", "other samples") and (cell.before, cell.after) != (None, None):
            scores = f"{_formatted(cell.before)} before, {_formatted(cell.after)} now"
            yield f"{cell.probe}, {cell.scorer}: {scores}: {cell.state}"
    for state, where in (("gone", f"in {folder}"), ("added", "now")):
        missing: dict[str, list[str]] = {}
        for cell in cells:
            if cell.state == state and (cell.before, cell.after) != (None, None):
                missing.setdefault(cell.scorer, []).append(cell.probe)
        for scorer, probes in missing.items():
            yield f"{scorer}, scored only {where}: {_few(probes)}"
    if all(cell.state == "same" for cell in cells):
        yield f"nothing has changed since {folder}"


def note_plan(plan: ProbePlan, out: Path | None) -> None:
    """Name unused data sets, rankers whose scores are not stored, and probes whose package is missing."""
    for name in plan.unused_data:
        note(f"{name}: no probe of these suites uses it; --suite all does")
    passing = [name for name, one in plan.rankers.items() if not getattr(one, "fingerprint", name)]
    if out is not None and passing:
        note(
            f"{_few(passing)}: scores are not stored in {out}, and the next run computes them again; the setting "
            "fingerprint=VERSION identifies a version of the ranker, so that they are stored"
        )
    for line in _missing_package_lines(plan.not_made):
        note_line(line)


def note_interrupted(out: Path | None) -> None:
    """Report how many scores an interrupted run has stored."""
    if out is None:
        note("interrupted; with --out DIR scores are stored, and the same command resumes from them")
        return
    stored = 0
    if is_file(out / SCORES):
        with ScoreCache(out / SCORES) as cache:
            stored = len(cache)
    resume = ": the same command resumes from them" if stored else ""
    note(f"interrupted; {counted(stored, 'score is', 'scores are')} stored in {out}{resume}")


def note_replaced_scores(earlier: EarlierReport, report: dict[str, Any]) -> None:
    """Report scores of a replaced report that the new report lacks."""
    gone = sum(one.state == "gone" for one in differences(earlier.report, report))
    if gone:
        note(
            f"the replaced report in {earlier.folder} had {counted(gone, 'score')} that the new one lacks; a run with "
            f"these rankers and probes reads them from {earlier.folder / SCORES}"
        )


def print_probes(chosen: Sequence[ProbeSelection], suites: Sequence[str], as_json: bool) -> None:
    """Print the definitions of probes; also all suites and data sets, if whole suites are listed."""
    if as_json:
        for one in chosen:
            probe = one.probe
            print_json(
                {
                    "probe": probe.name,
                    "title": probe.title,
                    "definition": probe.definition,
                    "section": one.section,
                    "strategy": probe.strategy,
                    "symmetric": probe.symmetric,
                    "expectation": expectation_of(probe),
                    "needs": probe.needs,
                    "extra": probe.extra,
                }
            )
        return
    console = stdout()
    whole = [name for name in suites if name in SUITES]
    if whole:
        for suite in SUITES.values():
            console.print(f"{suite.name:<12} {suite.about}")
        console.print(f"\nfor --data: {', '.join(data_names())}")
    for section, probes in by_definition(chosen).items():
        console.print(f"\n{legible_line(section)}", style="bold")
        for listed, texts in probes.items():
            marks = ["symmetric"] if listed.symmetric else []
            if listed.expected:
                marks.append(f"expected: {listed.expected}")
            if listed.extra:
                marks.append(f"needs the extra {listed.extra}")
            mark = f" ({', '.join(marks)})" if marks else ""
            sources = " ".join(f"@{one}" for one in texts if one)
            console.print(f"  {listed.name}: {listed.title}{mark}  {sources}".rstrip())
            if listed.definition:
                lines = textwrap.fill(
                    listed.definition, console.width, initial_indent=_INDENT, subsequent_indent=_INDENT
                )
                console.print(lines, style="dim")
    number = counted(len(chosen), "probe")
    of = f" of {' and '.join(whole)}" if whole else ""
    console.print(
        f"\n{number}{of}{'' if 'all' in suites or not whole else '; --suite all has the others'}. After @: source of "
        "the texts. --suite probe:NAME selects a probe; * stands for any letters. Symmetric: the score is the share of "
        "pairs that are not ties. Expected: the score of a good ranker, an opinion."
    )


class ListedProbe(NamedTuple):
    """Definition of a probe, without the source of its texts; `expected` is the score of a good ranker, or empty."""

    name: str
    title: str
    definition: str
    symmetric: bool
    expected: str
    extra: str


def by_definition(chosen: Iterable[ProbeSelection]) -> dict[str, dict[ListedProbe, list[str]]]:
    """Return for each section the probes, with the sources of their texts."""
    found: dict[str, dict[ListedProbe, list[str]]] = {}
    for one in chosen:
        name, _, texts = legible_line(one.probe.name).partition("@")
        listed = ListedProbe(
            name,
            legible_line(one.probe.title),
            legible_line(one.probe.definition),
            one.probe.symmetric,
            tables.expected_score(expectation_of(one.probe)),
            legible_line(one.probe.extra),
        )
        found.setdefault(one.section, {}).setdefault(listed, []).append(texts)
    return found


def _formatted(score: float | None) -> str:
    return "none" if score is None else f"{score:+.3f}".replace("-", "−")
