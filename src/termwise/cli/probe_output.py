"""What ``termwise probe`` prints."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from termwise.cli.terminal import note, print_json, stdout
from termwise.display.safe_text import legible_line
from termwise.errors import CheckFailedError, UsageError
from termwise.probes.core.expectations import expectation_of
from termwise.probes.core.suites import SUITES, ProbeSelection
from termwise.probes.data_sources import data_names
from termwise.probes.report import Assertion, differences, failed_assertions
from termwise.probes.report.differences import Difference
from termwise.probes.report.folder import SCORES
from termwise.probes.report.tables import (
    Shortfall,
    by_rankers,
    cell_score,
    expected_score,
    format_fact,
    sections,
    seeds_of,
    shortfalls,
    signed,
    significant,
    threshold,
)
from termwise.scorers import ScoreCache

_ASKED_WITH = ("judged", "statistics", "language", "stop words", "seed", "limit", "candidates")
"""Facts of a report that samples and scores depend on."""

CHANGED = "changed"
"""What ``--fail-if`` calls a score that has changed since the report of ``--against``."""

_FAR = 6 * " "
"""Where definitions begin in a list."""


def tell(
    report: dict[str, Any],
    *,
    as_json: bool,
    by_name: bool,
    before: dict[str, Any] | None,
    against: Path | None,
) -> None:
    """Print the scores: as tables with what stands out, or as a line of JSON each; and say what was not asked.

    Where an earlier report is given, and the folder that it was read from, say what has changed.
    """
    if as_json:
        for cell in report["cells"]:
            print_json({name: value for name, value in cell.items() if name not in ("sweep", "telling")})
    else:
        show(report, by_name=by_name)
        for line in (*unwanted(report), *contrasts(report), *alike(report), *seeds(report)):
            note(line)
    for line in skipped(report):
        note(line)
    if before is not None and against is not None:
        show_changes(before, report, against)


def check_met(
    demands: Sequence[Assertion],
    report: dict[str, Any],
    *,
    before: dict[str, Any] | None = None,
    against: Path | None = None,
) -> None:
    """End with an error where a demand is not met, or, where an earlier report is given, a score has changed."""
    facts = [
        (demand.text, f"{cell['scorer']}, {cell['probe']}: {_told(cell['score'])}")
        for demand, cell in failed_assertions(demands, report)
    ]
    if before is not None and against is not None:
        facts += [
            (CHANGED, f"{one.scorer}, {one.probe}: {_told(one.before)} before, {_told(one.after)} now")
            for one in compared_with(before, report, against)
            if one.state == "changed"
        ]
    if facts:
        one_of = "a score is" if len(facts) == 1 else f"{len(facts)} scores are"
        raise CheckFailedError(f"{one_of} what --fail-if forbids", facts=facts)


def compared_with(before: dict[str, Any], report: dict[str, Any], against: Path) -> list[Difference]:
    """Return the scores that an earlier report has on the same pairs.

    Raises
    ------
    UsageError
        If there are none: a check that nothing can fail is a mistake.
    """
    found = [
        one
        for one in differences(before, report)
        if one.state in ("changed", "same") and (one.before, one.after) != (None, None)
    ]
    if not found:
        raise UsageError(
            "no score of these can have changed: the earlier report has none on the same pairs",
            facts=[("--fail-if", CHANGED), ("--against", against)],
            fixes=[
                "ask the same rankers, by the same names, the same probes of the same texts",
                "take the same --seed and the same --limit, which is 100 in the suite quick",
            ],
        )
    return found


def show(report: dict[str, Any], *, by_name: bool) -> None:
    """Print the tables: a section a table; probes by what they are named, or titled."""
    console = stdout()
    for title, rows in sections(report):
        asked = [row for row in rows if row.probe["samples"] and any(row.cells)]
        if not asked:
            continue
        table = Table(box=None, pad_edge=False)
        table.add_column("probe")
        named = any(row.data for row in asked)
        if named:
            table.add_column("texts", style="dim")
        for scorer in report["scorers"]:
            table.add_column(legible_line(scorer["name"]), justify="right")
        table.add_column("pairs", justify="right", style="dim")
        for row in asked:
            symmetric = row.probe["symmetric"]
            table.add_row(
                legible_line(row.probe["name"].partition("@")[0] if by_name else row.title),
                *([legible_line(row.data)] if named else []),
                *(cell_score(cell, symmetric=symmetric) for cell in row.cells),
                f"{row.probe['samples']:,}",
            )
        console.print(legible_line(title), style="italic", highlight=False, markup=False)
        console.print(table)
        console.print()
    empty: dict[str, list[str]] = {}
    for probe in report["probes"]:
        if not probe["samples"]:
            empty.setdefault(legible_line(probe.get("needs", "")), []).append(legible_line(probe["name"]))
    for needs, names in empty.items():
        have = "1 probe has" if len(names) == 1 else f"{len(names)} probes have"
        why = f": there are no {needs}" if needs else ""
        console.print(f"{have} no pair in these texts{why} ({_few(names, 3)}).", style="dim", highlight=False)
    deltas = ", ".join(
        f"{legible_line(one['name'])} {legible_line(threshold(one['reading']))}" for one in report["scorers"]
    )
    console.print(
        "+1: the first text, with the quality or the change that the probe is named for, is always preferred; "
        "without a sign: how often two texts are told apart.",
        "* not significant: pairs of one query counted as one; scores without a sign are not tested.",
        f"δ, up to which scores tie: {deltas}.",
        style="dim",
        highlight=False,
    )


def _few(names: Sequence[str], most: int = 6) -> str:
    """Return names in a row, not more than a few; a single one more is named, too."""
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def unwanted(report: dict[str, Any]) -> Iterator[str]:
    """Say where each scorer is furthest from what is wanted."""
    for name, several in shortfalls(report).items():
        parts = [
            f"{one.row.probe['name']} {_score(one)} (wanted: {expected_score(one.row.probe['wanted'])})"
            for one in several
        ]
        if parts:
            yield f"{name} is furthest from what is wanted on {_few(parts, 3)}"


def _score(one: Shortfall) -> str:
    score = one.cell["score"]
    return f"{score:.2f}" if one.row.probe["symmetric"] else signed(score)


def contrasts(report: dict[str, Any]) -> Iterator[str]:
    """Say where each scorer differs most from the first: a line for each, with the probes that are told apart."""
    for names, rows in by_rankers(report["comparisons"]).items():
        parts = [f"{one['probe']} {signed(one['difference'])}" for one in rows if significant(one)]
        yield f"{' against '.join(names)}: " + (
            f"differs most on {_few(parts, 3)}" if parts else "no difference is significant"
        )


def alike(report: dict[str, Any]) -> Iterator[str]:
    """Say which scorers have a median gap of 0: what counts as a tie is then known of no other number."""
    if report["facts"].get("delta") != "median":
        return
    names = [one["name"] for one in report["scorers"] if one["gaps"] and one["reading"].get("delta") == 0]
    if names:
        yield (
            f"{_few(names)}: half of the neighbours at the top of a ranking score alike, and so every difference "
            "counts; --delta NUMBER takes another threshold"
        )


def seeds(report: dict[str, Any]) -> Iterator[str]:
    """Say how far the seeds of one model lie apart."""
    for one in seeds_of(report):
        apart = ", ".join(f"{section} {deviation:.3f}" for section, deviation, _ in one.rows)
        flips = (
            f"the sign hangs on the seed for {_few(one.flips)}" if one.flips else "no sign hangs on the seed"
        )
        yield f"{one.title}, standard deviation between them: {apart}; {flips}"


def skipped(report: dict[str, Any]) -> Iterator[str]:
    """Say what was not asked of whom, and why: a line for each reason."""
    for scorer in report["scorers"]:
        reasons: dict[str, list[str]] = {}
        for probe, why in scorer["skipped"].items():
            reasons.setdefault(why, []).append(probe)
        for why, probes in reasons.items():
            what = probes[0] if len(probes) == 1 else f"{len(probes)} probes, such as {probes[0]}"
            yield f"{scorer['name']} was not asked {what}: {why}"
    for fix, names in report["facts"].get("not made", {}).items():
        yield f"not asked, for want of a package: {_few(names)} ({fix})"


def not_kept(scorers: Mapping[str, object], out: Path | None) -> Iterator[str]:
    """Say of which rankers no score will be kept, although there is a place for them."""
    passing = [name for name, one in scorers.items() if not getattr(one, "fingerprint", name)]
    if out is not None and passing:
        yield (
            f"{_few(passing)}: no score is kept in {out}, and the next run asks anew; fingerprint=VERSION says which "
            "state of a ranker is asked"
        )


def left_behind(out: Path | None) -> str:
    """Say what is kept of a run that was interrupted."""
    if out is None:
        return "interrupted; with --out DIR what is scored is kept, and the same command goes on from there"
    kept = 0
    if (out / SCORES).is_file():
        with ScoreCache(out / SCORES) as store:
            kept = len(store)
    if not kept:
        return f"interrupted, with no score in {out}"
    return f"interrupted; {kept:,} scores are in {out}: the same command goes on from there"


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
            note(f"{name}: {format_fact(was)} in {earlier}, {format_fact(now)} now")
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


def replaced(earlier: dict[str, Any], report: dict[str, Any], out: Path) -> Iterator[str]:
    """Say that a report stood there that knew more."""
    gone = sum(one.state == "gone" for one in differences(earlier, report))
    if gone:
        scores = "1 score" if gone == 1 else f"{gone:,} scores"
        yield (
            f"{out} had a report with {scores} that this one is without; asked together with these, they are read "
            f"from {out / 'scores.sqlite'}"
        )


def show_probes(chosen: Sequence[ProbeSelection], asked: Sequence[str], as_json: bool) -> None:
    """Print what there is to ask; suites and data sets, too, where whole suites are listed."""
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
                    "wanted": expectation_of(probe),
                    "needs": probe.needs,
                }
            )
        return
    console = stdout()
    suites = [name for name in asked if name in SUITES]
    if suites:
        for suite in SUITES.values():
            console.print(f"{suite.name:<12} {suite.about}", highlight=False)
        console.print(f"\nfor --data: {', '.join(data_names())}", highlight=False)
    for section, probes in by_definition(chosen).items():
        console.print(f"\n{legible_line(section)}", style="bold", highlight=False, markup=False)
        for listed, texts in probes.items():
            marks = [
                *(["symmetric"] if listed.symmetric else []),
                *([f"wanted: {listed.wanted}"] if listed.wanted else []),
            ]
            mark = f" ({', '.join(marks)})" if marks else ""
            after = " ".join(f"@{one}" for one in texts if one)
            console.print(
                f"  {listed.name}: {listed.title}{mark}  {after}".rstrip(), highlight=False, markup=False
            )
            if listed.definition:
                told = textwrap.fill(
                    listed.definition, console.width, initial_indent=_FAR, subsequent_indent=_FAR
                )
                console.print(told, style="dim", highlight=False, markup=False)
    number = "1 probe" if len(chosen) == 1 else f"{len(chosen):,} probes"
    of = f" of {' and '.join(suites)}" if suites else ""
    console.print(
        f"\n{number}{of}{'' if 'all' in asked or not suites else '; --suite all has the others'}. Behind @: where the "
        "texts come from. One alone: --suite probe:NAME, and * for any letters. Symmetric: counted is how often two "
        "texts are told apart. Wanted: the score of a good ranker, an opinion.",
        highlight=False,
        markup=False,
    )


class Listed(NamedTuple):
    """What is told of a probe, whatever its texts.

    Attributes
    ----------
    name : str
        Without its texts.
    title, definition : str
    symmetric : bool
    wanted : str
        The score of a good ranker; empty where people may want either.
    """

    name: str
    title: str
    definition: str
    symmetric: bool
    wanted: str


def by_definition(chosen: Iterable[ProbeSelection]) -> dict[str, dict[Listed, list[str]]]:
    """Return by section what is asked, and of which texts."""
    found: dict[str, dict[Listed, list[str]]] = {}
    for one in chosen:
        name, _, texts = legible_line(one.probe.name).partition("@")
        asked = Listed(
            name,
            legible_line(one.probe.title),
            legible_line(one.probe.definition),
            one.probe.symmetric,
            expected_score(expectation_of(one.probe)),
        )
        found.setdefault(one.section, {}).setdefault(asked, []).append(texts)
    return found


def _told(score: float | None) -> str:
    return "none" if score is None else f"{score:+.3f}".replace("-", "−")
