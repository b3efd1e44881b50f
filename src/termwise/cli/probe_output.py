"""What ``termwise probe`` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from termwise.cli.terminal import note, print_json, stdout
from termwise.legible import legible_line
from termwise.probes.bench import Wanted
from termwise.probes.bench.sources import data_names
from termwise.probes.report import differences
from termwise.probes.report.tables import by_rankers, sections, signed, significant, written
from termwise.probes.suites import SUITES


def show(report: dict[str, Any]) -> None:
    """Print the tables: a section a table."""
    console = stdout()
    for title, rows in sections(report):
        asked = [row for row in rows if row.probe["samples"]]
        if not asked:
            continue
        table = Table(box=None, pad_edge=False)
        table.add_column("probe")
        table.add_column("texts", style="dim")
        for scorer in report["scorers"]:
            table.add_column(legible_line(scorer["name"]), justify="right")
        table.add_column("pairs", justify="right", style="dim")
        for row in asked:
            symmetric = row.probe["symmetric"]
            table.add_row(
                legible_line(row.title),
                legible_line(row.data),
                *(written(cell, symmetric=symmetric) for cell in row.cells),
                f"{row.probe['samples']:,}",
            )
        console.print(legible_line(title), style="italic", highlight=False, markup=False)
        console.print(table)
        console.print()
    empty = [legible_line(probe["name"]) for probe in report["probes"] if not probe["samples"]]
    if empty:
        have = "1 probe has" if len(empty) == 1 else f"{len(empty)} probes have"
        console.print(f"{have} no pair in these texts: {_few(empty)}.", style="dim", highlight=False)
    deltas = ", ".join(
        f"{legible_line(one['name'])} {_threshold(one['reading'])}" for one in report["scorers"]
    )
    console.print(
        "+1: the first text, with the quality or the change that the probe is named for, is always preferred; "
        "without a sign: how often two texts are told apart.",
        "* not significant: pairs of one query counted as one.",
        f"Ties: {deltas}.",
        style="dim",
        highlight=False,
    )


def _few(names: Sequence[str], most: int = 6) -> str:
    """Return names in a row, not more than a few."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def contrasts(report: dict[str, Any]) -> Iterator[str]:
    """Say where each scorer differs most from the first: a line for each, with the probes that are told apart."""
    for names, rows in by_rankers(report["comparisons"]).items():
        parts = [f"{one['probe']} {signed(one['difference'])}" for one in rows if significant(one)]
        yield f"{' against '.join(names)}: " + (
            f"differs most on {_few(parts, 3)}" if parts else "no difference is significant"
        )


def alike(report: dict[str, Any]) -> Iterator[str]:
    """Say which scorers have a median gap of 0: what counts as a tie is then known of no other number."""
    if report["facts"]["delta"] != "median":
        return
    names = [one["name"] for one in report["scorers"] if one["gaps"] and one["reading"]["delta"] == 0]
    if names:
        yield (
            f"{_few(names)}: half of the neighbours at the top of a ranking score alike, and so every difference "
            "counts; --delta NUMBER takes another threshold"
        )


def skipped(report: dict[str, Any]) -> Iterator[str]:
    """Say what was not asked of whom, and why: a line for each reason."""
    for scorer in report["scorers"]:
        reasons: dict[str, list[str]] = {}
        for probe, why in scorer["skipped"].items():
            reasons.setdefault(why, []).append(probe)
        for why, probes in reasons.items():
            what = probes[0] if len(probes) == 1 else f"{len(probes)} probes, such as {probes[0]}"
            yield f"{scorer['name']} was not asked {what}: {why}"
    for fix, names in report["facts"]["not made"].items():
        yield f"not asked, for want of a package: {_few(names)} ({fix})"


def left_behind(scorers: Mapping[str, object], out: Path | None) -> Iterator[str]:
    """Say what is kept of a run that was interrupted."""
    if out is None:
        yield "interrupted; with --out DIR what is scored is kept, and the same command goes on from there"
        return
    yield f"interrupted; what was scored is in {out}: the same command goes on from there"
    passing = [name for name, one in scorers.items() if not getattr(one, "fingerprint", name)]
    if passing:
        yield f"of {_few(passing)} nothing is kept: fingerprint=VERSION says which state of a ranker is asked"


def show_changes(before: dict[str, Any], report: dict[str, Any], earlier: Path) -> None:
    """Say what has changed since an earlier report."""
    known = {one["name"]: one for one in before["scorers"]}
    for one in report["scorers"]:
        was = known.get(one["name"])
        if was is not None and was["fingerprint"] != one["fingerprint"]:
            note(f"{one['name']} is another ranker than it was in {earlier}, or has other settings")
        if was is not None and was["reading"] != one["reading"]:
            note(f"{one['name']}: its ties are those of another threshold than in {earlier}")
    for name, was in before["facts"].items():
        now = report["facts"].get(name)
        if name in _ASKED_WITH and was != now:
            note(f"{name}: {_fact(was)} in {earlier}, {_fact(now)} now")
    cells = differences(before, report)
    changed = [
        one
        for one in cells
        if one.state in ("changed", "other samples") and not one.before is one.after is None
    ]
    for one in changed:
        note(f"{one.probe}, {one.scorer}: {_told(one.before)} before, {_told(one.after)} now: {one.state}")
    for state, when in (("gone", "now"), ("added", f"in {earlier}")):
        unasked: dict[str, list[str]] = {}
        for one in cells:
            if one.state == state and (one.before, one.after) != (None, None):
                unasked.setdefault(one.scorer, []).append(one.probe)
        for scorer, probes in unasked.items():
            note(f"{scorer}, not asked {when}: {_few(probes)}")
    if all(one.state == "same" for one in cells):
        note(f"nothing has changed since {earlier}")


_ASKED_WITH = ("judged", "statistics", "language", "stop words", "seed", "candidates")
"""Facts of a report that samples and scores depend on."""


def _fact(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} ({said})" for name, said in value.items())
    return str(value)


def replaced(earlier: dict[str, Any], report: dict[str, Any], out: Path) -> Iterator[str]:
    """Say that a report stood there that knew more."""
    gone = sum(one.state == "gone" for one in differences(earlier, report))
    if gone:
        scores = "1 score" if gone == 1 else f"{gone:,} scores"
        yield (
            f"{out} had a report with {scores} that this one is without; asked together with these, they are read "
            f"from {out / 'scores.sqlite'}"
        )


def show_probes(chosen: Sequence[Wanted], as_json: bool) -> None:
    """Print what there is to ask."""
    if as_json:
        for one, _ in chosen:
            print_json({"probe": one.probe.name, "title": one.probe.title, "section": one.section})
        return
    console = stdout()
    for suite in SUITES.values():
        console.print(f"{suite.name:<12} {suite.about}", highlight=False)
    console.print(f"\nfor --data: {', '.join(data_names())}", highlight=False)
    section = ""
    for one, _ in chosen:
        if one.section != section:
            section = one.section
            console.print(f"\n{legible_line(section)}", highlight=False)
        name, title = legible_line(one.probe.name), legible_line(one.probe.title)
        console.print(f"  {name:<52} {title}", highlight=False)


def _threshold(reading: dict[str, Any]) -> str:
    return f"{reading['delta']:.4g}" if reading["kind"] == "constant" else str(reading["kind"])


def _told(score: float | None) -> str:
    return "none" if score is None else f"{score:+.3f}"
