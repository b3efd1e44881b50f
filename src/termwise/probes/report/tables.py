"""The tables of a report: a section a table, probes in rows, scorers in columns, as they were published.

A score is the mean effect, from -1 to +1, of a symmetric probe from 0 to 1. An asterisk marks one that is not
significant: p >= 0.05 of the test that knows which pairs share a query, after Holm's correction over the cells of the
section. The published asterisk is of the paired t-test over all pairs, p >= 0.01 after Bonferroni's correction
(MacAvaney et al., TACL 2022); where few queries have many pairs it is too sure, so it stands in the page and the CSV
file only. Symmetric probes have no test. What was not asked, or has no sample, is a dash.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from termwise.display.safe_text import legible_line
from termwise.evaluate.formats import csv_lines
from termwise.evaluate.latex import escape
from termwise.probes.core.expectations import SCORES, distance

LEVEL = 0.05
"""Of the test by query, after the correction."""

NOT_SIGNIFICANT = "not significant: p ≥ .05, pairs of one query counted as one, after Holm over the section"
"""What an asterisk says."""

UNDEFINED = "–"

DEVIATION = "standard deviation between seeds"
"""What a column of `Seeds` is called."""


@dataclass(frozen=True)
class Row:
    """A probe in a table.

    Attributes
    ----------
    title, data : str
        What the probe is called, and what its texts come from; the latter empty where its name does not say.
    cells : tuple of (dict or None)
        One a scorer.
    probe : dict
        What the report says of the probe.
    """

    title: str
    data: str
    cells: tuple[dict[str, Any] | None, ...]
    probe: dict[str, Any]


@dataclass(frozen=True)
class Shortfall:
    """A score that is far from what is wanted.

    Attributes
    ----------
    row : Row
        The probe.
    cell : dict
        Of the ranker.
    distance : float
        From 0 to 2; see `termwise.probes.core.expectations.distance`.
    """

    row: Row
    cell: dict[str, Any]
    distance: float


@dataclass(frozen=True)
class Seeds:
    """Seeds of one model, and how far they lie apart.

    Attributes
    ----------
    model : str
    number : int
        Of seeds.
    rows : tuple of (str, float, int)
        Of each section its name, the standard deviation between the seeds, and of how many probes; see
        `termwise.probes.report.contents.spread`.
    flips : tuple of str
        Probes whose sign hangs on the seed.
    """

    model: str
    number: int
    rows: tuple[tuple[str, float, int], ...]
    flips: tuple[str, ...]

    @property
    def title(self) -> str:
        """What a table of it is called."""
        return f"{self.model}: {self.number} seeds"

    @property
    def verdict(self) -> str:
        """A sentence about the flips."""
        if not self.flips:
            return "No probe has a sign that hangs on the seed."
        return f"The sign of the score hangs on the seed: {', '.join(self.flips)}."


def seeds_of(report: Mapping[str, Any]) -> list[Seeds]:
    """Return the models of a report that have several seeds."""
    return [
        Seeds(
            one["model"],
            one["seeds"],
            tuple((name, row["deviation"], row["probes"]) for name, row in one["sections"].items()),
            tuple(one["sign_flips"]),
        )
        for one in report["spread"]
    ]


def sections(report: Mapping[str, Any]) -> Iterator[tuple[str, list[Row]]]:
    """Yield each section of a report with its rows, in the order of the probes."""
    cells = {(cell["probe"], cell["scorer"]): cell for cell in report["cells"]}
    scorers = [scorer["name"] for scorer in report["scorers"]]
    grouped: dict[str, list[Row]] = {}
    for probe in report["probes"]:
        row = Row(
            probe["title"],
            probe["name"].partition("@")[2],
            tuple(cells.get((probe["name"], scorer)) for scorer in scorers),
            probe,
        )
        grouped.setdefault(probe["section"], []).append(row)
    yield from grouped.items()


def shortfalls(report: Mapping[str, Any]) -> dict[str, list[Shortfall]]:
    """Return for each ranker where it is furthest from what is wanted, furthest first.

    A section has two at the most, and a probe stands once, whatever its texts; what is nearer than `FAR` is left out.
    """
    found: dict[str, list[Shortfall]] = {scorer["name"]: [] for scorer in report["scorers"]}
    for _, rows in sections(report):
        for place, several in enumerate(found.values()):
            best: dict[str, Shortfall] = {}
            for row in rows:
                cell = row.cells[place]
                if cell is None or cell["score"] is None:
                    continue
                away = distance(row.probe.get("wanted", ""), cell["score"])
                stem = row.probe["name"].partition("@")[0]
                if away is not None and away >= FAR and (stem not in best or away > best[stem].distance):
                    best[stem] = Shortfall(row, cell, away)
            several += sorted(best.values(), key=_furthest_first)[:_OF_SECTION]
    return {scorer: sorted(several, key=_furthest_first) for scorer, several in found.items()}


def _furthest_first(one: Shortfall) -> tuple[float, int, str]:
    return -one.distance, -one.cell["samples"], one.row.probe["name"]


def tone(wanted: str, score: float, *, symmetric: bool) -> Literal["good", "bad", "apart"]:
    """Return what the colour of a score says.

    Where nothing is wanted, a preference for the first text counts as good, and being told apart has its own colour.

    Examples
    --------
    >>> tone("second", -0.5, symmetric=False), tone("neither", 0.5, symmetric=True), tone("", 0.5, symmetric=True)
    ('good', 'bad', 'apart')
    """
    if not wanted and symmetric:
        return "apart"
    target = SCORES[wanted] if wanted else 1
    return "good" if score * target > 0 else "bad"


def wanted_score(wanted: str) -> str:
    """Write the score of a ranker that does what is wanted; nothing where people may want either.

    Examples
    --------
    >>> wanted_score("first"), wanted_score("second"), wanted_score("neither"), wanted_score("")
    ('+1', '−1', '0', '')
    """
    return f"{SCORES[wanted]:+d}".replace("-", "−").replace("+0", "0") if wanted else ""


def written(cell: Mapping[str, Any] | None, *, symmetric: bool) -> str:
    """Write the score of a cell, with two decimals.

    Examples
    --------
    >>> written({"score": 0.347, "p_holm": 0.2}, symmetric=False)
    '+0.35*'
    >>> written({"score": 0.347, "p_holm": None}, symmetric=True), written(None, symmetric=False)
    ('0.35', '–')
    """
    if cell is None or cell["score"] is None:
        return UNDEFINED
    if symmetric:
        return f"{cell['score']:.2f}"
    return f"{signed(cell['score'])}{'' if significant(cell) else '*'}"


def by_rankers(comparisons: Iterable[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the comparisons of each two rankers, by their names, those that differ most first.

    Examples
    --------
    >>> of_two = {"scorer": "jm", "baseline": "bm25"}
    >>> found = by_rankers([{**of_two, "difference": 0.1}, {**of_two, "difference": -0.5}])
    >>> [one["difference"] for one in found["jm", "bm25"]]
    [-0.5, 0.1]
    """
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in comparisons:
        found.setdefault((one["scorer"], one["baseline"]), []).append(one)
    return {names: sorted(rows, key=lambda one: -abs(one["difference"])) for names, rows in found.items()}


def significant(cell: Mapping[str, Any]) -> bool:
    """Tell whether a score that has a direction, or a difference of two, is told from 0; see the module."""
    p = cell["p_holm"]
    return p is not None and bool(p < LEVEL)


def signed(score: float) -> str:
    """Write a score with its sign; what rounds to zero has none.

    Examples
    --------
    >>> signed(0.347), signed(-0.001), signed(-0.5)
    ('+0.35', '0.00', '−0.50')
    """
    text = f"{score:+.2f}".replace("-", "−")
    return text[1:] if text[1:] == "0.00" else text


FAR = 0.5
"""From what is wanted: a score that is further away stands out."""

_OF_SECTION = 2

HEADING = "What rankers respond to"
"""Of a report."""

_MARKUP = re.compile(r"[\\`*\[\]<>|~&$]|(?<!\w)_|_(?!\w)")
"""What Markdown, or what renders it, could take for more than a character."""


def markdown_text(report: Mapping[str, Any]) -> str:
    """Write the tables as Markdown, under a heading with what was asked, and how."""
    return "\n".join(
        [
            f"# {HEADING}",
            "",
            "A score is the mean effect over pairs of texts: +1 where the first, which has the named quality or the "
            "change, is always preferred. Scores without a sign say how often two texts are told apart.",
            "",
            *about_lines(report),
            "",
            markdown_tables(report),
        ]
    )


def about_lines(report: Mapping[str, Any]) -> list[str]:
    """Return as items of a list in Markdown how a report was made, and the thresholds of its rankers."""
    return [f"- {cell_text(name)}: {cell_text(value)}" for name, value in _about(report)]


def _about(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    deltas = [(f"δ of {one['name']}", threshold(one["reading"])) for one in report["scorers"]]
    return [*facts_of(report), *deltas]


def facts_of(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what a report says of how it was made, without what there is nothing of."""
    return [(name, said(value)) for name, value in report["facts"].items() if value not in (None, {}, [])]


def said(value: object) -> str:
    """Write a fact of a report.

    Examples
    --------
    >>> said({"pets": "3 judgments of 1 query"}), said(["quick", "axioms"])
    ('pets: 3 judgments of 1 query', 'quick, axioms')
    """
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {said(one)}" for name, one in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(said, value)) or UNDEFINED
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def threshold(reading: Mapping[str, Any]) -> str:
    """Write the threshold of a ranker, or the rule where there are several.

    Examples
    --------
    >>> threshold({"kind": "constant", "delta": 0.12345}), threshold({"kind": "by-rank"})
    ('0.1235', 'by-rank')
    """
    return f"{reading['delta']:.4g}" if reading["kind"] == "constant" else str(reading["kind"])


def markdown_tables(report: Mapping[str, Any]) -> str:
    """Write the tables as Markdown: a section a table."""
    names = [scorer["name"] for scorer in report["scorers"]]
    lines = []
    for title, rows in sections(report):
        lines += [f"## {cell_text(title)}", ""]
        lines.append("| " + " | ".join(["probe", "texts", *map(cell_text, names), "pairs"]) + " |")
        lines.append("| " + " | ".join(["---", "---", *["--:"] * (len(names) + 1)]) + " |")
        for row in rows:
            values = [written(cell, symmetric=row.probe["symmetric"]) for cell in row.cells]
            written_row = [
                cell_text(row.title),
                cell_text(row.data),
                *(value.replace("*", r"\*") for value in values),
                f"{row.probe['samples']:,}",
            ]
            lines.append("| " + " | ".join(written_row) + " |")
        lines.append("")
    lines.append(rf"\*: {NOT_SIGNIFICANT}.")
    for seeds in seeds_of(report):
        lines += ["", f"## {cell_text(seeds.title)}", ""]
        lines += [f"| section | {DEVIATION} | probes |", "| --- | --: | --: |"]
        lines += [
            f"| {cell_text(name)} | {deviation:.3f} | {probes} |" for name, deviation, probes in seeds.rows
        ]
        lines += ["", cell_text(seeds.verdict)]
    return "\n".join(lines) + "\n"


def csv_text(report: Mapping[str, Any]) -> str:
    """Write every cell as a line of comma-separated values, with all its numbers."""
    columns = (
        "score", "low", "high", "positive", "neutral", "negative", "samples", "queries", "identical", "cut",
        "by_query", "consistent", "standardised_difference", "detectable", "area", "p_published", "p_bonferroni",
        "p_clustered", "p_holm", "p_benjamini_hochberg",
    )  # fmt: skip
    lengths = ("words_first", "words_second", "first_longer", "first_shorter")
    lines: list[list[object]] = []
    for title, rows in sections(report):
        for row in rows:
            for cell in row.cells:
                if cell is not None:
                    texts = map(legible_line, (title, row.probe["name"], row.data, row.title))
                    about = [
                        *texts,
                        row.probe["symmetric"],
                        row.probe["wanted"],
                        legible_line(cell["scorer"]),
                    ]
                    words = (row.probe["lengths"] or dict.fromkeys(lengths)).values()
                    lines.append([*about, *(cell[column] for column in columns), *words])
    return csv_lines(
        ["section", "probe", "texts", "title", "symmetric", "wanted", "scorer", *columns, *lengths], lines
    )


def latex_text(report: Mapping[str, Any]) -> str:
    r"""Write the tables as LaTeX (package ``booktabs``), one ``table`` a section, behind what they were made with."""
    names = [scorer["name"] for scorer in report["scorers"]]
    unsure = NOT_SIGNIFICANT.replace("≥", r"$\geq$")
    parts = ["".join(f"% {legible_line(name)}: {legible_line(value)}\n" for name, value in _about(report))]
    for title, rows in sections(report):
        lines = [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escape(title)}. *: {unsure}.}}",
            rf"\begin{{tabular}}{{ll{'r' * (len(names) + 1)}}}",
            r"\toprule",
            " & ".join(["Probe", "Texts", *map(escape, names), "$n$"]) + r" \\",
            r"\midrule",
        ]
        for row in rows:
            values = [
                "--" if text == UNDEFINED else f"${text.replace('−', '-').replace('*', '^{*}')}$"
                for text in (written(cell, symmetric=row.probe["symmetric"]) for cell in row.cells)
            ]
            lines.append(
                " & ".join([_first(row.title), escape(row.data), *values, str(row.probe["samples"])]) + r" \\"
            )
        parts.append("\n".join([*lines, *_END]))
    for seeds in seeds_of(report):
        lines = [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escape(seeds.title)}. {escape(seeds.verdict)}}}",
            r"\begin{tabular}{lrr}",
            r"\toprule",
            rf"Section & {DEVIATION.capitalize()} & Probes \\",
            r"\midrule",
            *(rf"{_first(name)} & ${deviation:.3f}$ & {probes} \\" for name, deviation, probes in seeds.rows),
        ]
        parts.append("\n".join([*lines, *_END]))
    return "\n".join(parts)


def seeds_csv(report: Mapping[str, Any]) -> str:
    """Write how far seeds of one model lie apart: a line of comma-separated values for each section."""
    return csv_lines(
        ["model", "seeds", "section", "deviation", "probes"],
        (
            [legible_line(seeds.model), seeds.number, legible_line(section), *numbers]
            for seeds in seeds_of(report)
            for section, *numbers in seeds.rows
        ),
    )


def _first(text: str) -> str:
    """Return a text as the first cell of a row: what it begins with is no argument of the line before it."""
    return f"{'{}' if text[:1] in ('[', '*') else ''}{escape(text)}"


_END = (r"\bottomrule", r"\end{tabular}", r"\end{table}", "")


def cell_text(text: str) -> str:
    r"""Return a text as a cell of a Markdown table has it: on one line, and without anything that would be markup.

    Examples
    --------
    >>> print(cell_text("TF | Overlap"), cell_text("shared_words of <b>"), cell_text("*a* _b_"))
    TF \| Overlap shared_words of \<b\> \*a\* \_b\_
    """
    return _MARKUP.sub(r"\\\g<0>", legible_line(text))
