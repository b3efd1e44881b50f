"""Tables of a report in Markdown, CSV and LaTeX: one table per section, probes in rows, scorers in columns.

A score is the mean effect, from -1 to +1, or from 0 to 1 for a symmetric probe. An asterisk marks scores that are not
significant: p >= 0.05 in the clustered test, with Holm's correction over the cells of the section. The published
asterisk uses the paired t-test over all pairs, with p >= 0.01 after Bonferroni's correction (MacAvaney et al., TACL
2022). This test underestimates p if few queries have many pairs; its p is only in the page and the CSV file. Symmetric
probes have no test. A dash marks skipped probes and probes without samples.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from termwise.display.safe_text import legible_line
from termwise.evaluate.formats import UNDEFINED, csv_lines, format_value, with_minus_sign
from termwise.evaluate.latex import escape
from termwise.probes.core.expectations import EXPECTED_SCORES

LEVEL = 0.05
"""Significance level of the clustered test, after the correction."""

NOT_SIGNIFICANT = "not significant: p ≥ .05, pairs of one query counted as one, after Holm over the section"
"""Meaning of an asterisk."""

DEVIATION = "standard deviation between seeds"
"""Column title of `Seeds`."""

FAR = 0.5
"""Minimum distance of a shortfall from the expected score."""

_PER_SECTION = 2

HEADING = "What rankers respond to"
"""Title of a report."""

_MARKUP = re.compile(r"[\\`*\[\]<>|~&$]|(?<!\w)_|_(?!\w)")
"""Characters that Markdown can interpret as markup."""


class Row(NamedTuple):
    """A probe in a table: its title, the origin of its texts, a cell per scorer, and the probe in the report."""

    title: str
    data: str
    cells: tuple[dict[str, Any] | None, ...]
    probe: dict[str, Any]


class Shortfall(NamedTuple):
    """A score of a ranker that is far from the expected one; `distance` is from 0 to 2."""

    row: Row
    cell: dict[str, Any]
    distance: float


class Seeds(NamedTuple):
    """Standard deviations between the seeds of one model; see `termwise.probes.report.contents.spread`.

    `rows` has the name, the standard deviation and the number of probes of each section, `flips` the probes whose
    scores have both signs.
    """

    model: str
    number: int
    rows: tuple[tuple[str, float, int], ...]
    flips: tuple[str, ...]

    @property
    def title(self) -> str:
        """Title of the table."""
        return f"{self.model}: {self.number} seeds"

    @property
    def verdict(self) -> str:
        """Sentence about probes whose scores have both signs."""
        if not self.flips:
            return "No score changes its sign between seeds."
        return f"The sign of the score depends on the seed: {', '.join(self.flips)}."


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
    """Return the scores of each ranker that are furthest from the expected ones, furthest first.

    A section has at most two, each probe occurs once, on the texts with the largest distance, and distances are at
    least `FAR`.
    """
    by_scorer: dict[str, list[Shortfall]] = {scorer["name"]: [] for scorer in report["scorers"]}
    for _, rows in sections(report):
        for position, selected in enumerate(by_scorer.values()):
            furthest: dict[str, Shortfall] = {}
            for row in rows:
                cell, expectation = row.cells[position], row.probe["expectation"]
                if cell is None or cell["score"] is None or not expectation:
                    continue
                away = abs(cell["score"] - EXPECTED_SCORES[expectation])
                name = row.probe["name"].partition("@")[0]
                nearest = furthest[name].distance if name in furthest else 0.0
                if away >= FAR and away > nearest:
                    furthest[name] = Shortfall(row, cell, away)
            selected += sorted(furthest.values(), key=_furthest_first)[:_PER_SECTION]
    return {scorer: sorted(selected, key=_furthest_first) for scorer, selected in by_scorer.items()}


def _furthest_first(shortfall: Shortfall) -> tuple[float, int, str]:
    return -shortfall.distance, -shortfall.cell["samples"], shortfall.row.probe["name"]


def tone(expectation: str, score: float, *, symmetric: bool) -> Literal["good", "bad", "apart"]:
    """Return the meaning of the colour of a score: as expected, not as expected, or distinguished.

    Without an expectation, a preference for the first text is "good", and the score of a symmetric probe "apart".

    Examples
    --------
    >>> tone("second", -0.5, symmetric=False), tone("neither", 0.5, symmetric=True), tone("", 0.5, symmetric=True)
    ('good', 'bad', 'apart')
    """
    if not expectation and symmetric:
        return "apart"
    target = EXPECTED_SCORES[expectation] if expectation else 1
    return "good" if score * target > 0 else "bad"


def expected_score(expectation: str) -> str:
    """Format the expected score; empty without an expectation.

    Examples
    --------
    >>> expected_score("first"), expected_score("second"), expected_score("neither"), expected_score("")
    ('+1', '−1', '0', '')
    """
    return f"{EXPECTED_SCORES[expectation]:+d}".replace("-", "−").replace("+0", "0") if expectation else ""


def cell_score(cell: Mapping[str, Any] | None, *, symmetric: bool) -> str:
    """Format the score of a cell with two decimals.

    Examples
    --------
    >>> cell_score({"score": 0.347, "p_holm": 0.2}, symmetric=False)
    '+0.35*'
    >>> cell_score({"score": 0.347, "p_holm": None}, symmetric=True), cell_score(None, symmetric=False)
    ('0.35', '–')
    """
    if cell is None or cell["score"] is None:
        return UNDEFINED
    if symmetric:
        return f"{cell['score']:.2f}"
    return f"{signed(cell['score'])}{'' if significant(cell) else '*'}"


def by_rankers(comparisons: Iterable[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the comparisons of each pair of rankers, largest differences first.

    Examples
    --------
    >>> names = {"scorer": "jm", "baseline": "bm25"}
    >>> groups = by_rankers([{**names, "difference": 0.1}, {**names, "difference": -0.5}])
    >>> [one["difference"] for one in groups["jm", "bm25"]]
    [-0.5, 0.1]
    """
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in comparisons:
        groups.setdefault((one["scorer"], one["baseline"]), []).append(one)
    return {names: sorted(rows, key=lambda one: -abs(one["difference"])) for names, rows in groups.items()}


def significant(cell: Mapping[str, Any]) -> bool:
    """Whether a signed score, or a difference of scores, is significant; see the module."""
    p = cell["p_holm"]
    return p is not None and bool(p < LEVEL)


def signed(score: float) -> str:
    """Format a score with its sign; a score that rounds to zero has no sign.

    Examples
    --------
    >>> signed(0.347), signed(-0.001), signed(-0.5)
    ('+0.35', '0.00', '−0.50')
    """
    return with_minus_sign(format_value(score, "statistic"))


def markdown_text(report: Mapping[str, Any]) -> str:
    """Return the tables as Markdown, with the metadata of the report."""
    about = "\n".join(about_lines(report))
    return (
        f"# {HEADING}\n\nA score is the mean effect over pairs of texts: +1 if the first text, with the named quality "
        "or the change, is always preferred. A score without a sign is the share of pairs that are not ties.\n\n"
        f"{about}\n\n{markdown_tables(report)}"
    )


def about_lines(report: Mapping[str, Any]) -> list[str]:
    """Return the metadata of a report and the thresholds of its rankers as a Markdown list."""
    return [f"- {cell_text(name)}: {cell_text(value)}" for name, value in _about(report)]


def _about(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    deltas = [(f"δ of {one['name']}", threshold(one["effect_rule"])) for one in report["scorers"]]
    return [*facts_of(report), *deltas]


def facts_of(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the metadata of a report without empty values."""
    return [
        (name, format_fact(value)) for name, value in report["facts"].items() if value not in (None, {}, [])
    ]


def format_fact(value: object) -> str:
    """Format a value of the metadata.

    Examples
    --------
    >>> format_fact({"pets": "3 judgments of 1 query"}), format_fact(["quick", "axioms"])
    ('pets: 3 judgments of 1 query', 'quick, axioms')
    """
    if isinstance(value, Mapping):
        return "; ".join(f"{name}: {format_fact(item)}" for name, item in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(format_fact, value)) or UNDEFINED
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def threshold(rule: Mapping[str, Any]) -> str:
    """Format the threshold of a ranker, or the name of its rule if it has several thresholds.

    Examples
    --------
    >>> threshold({"kind": "constant", "delta": 0.12345}), threshold({"kind": "by-rank"})
    ('0.1235', 'by-rank')
    """
    return f"{rule['delta']:.4g}" if rule["kind"] == "constant" else str(rule["kind"])


def markdown_tables(report: Mapping[str, Any]) -> str:
    """Return the tables as Markdown."""
    names = [cell_text(scorer["name"]) for scorer in report["scorers"]]
    lines = []
    for title, rows in sections(report):
        cells = [
            [
                cell_text(row.title),
                cell_text(row.data),
                *(
                    cell_score(cell, symmetric=row.probe["symmetric"]).replace("*", r"\*")
                    for cell in row.cells
                ),
                f"{row.probe['samples']:,}",
            ]
            for row in rows
        ]
        lines += [*_markdown_table(title, 2, ["probe", "texts", *names, "pairs"], cells), ""]
    lines.append(rf"\*: {NOT_SIGNIFICANT}.")
    for seeds in seeds_of(report):
        cells = [[cell_text(name), f"{deviation:.3f}", str(probes)] for name, deviation, probes in seeds.rows]
        lines += ["", *_markdown_table(seeds.title, 1, ["section", DEVIATION, "probes"], cells)]
        lines += ["", cell_text(seeds.verdict)]
    return "\n".join(lines) + "\n"


def _markdown_table(title: str, left: int, header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table with its title; the first columns are aligned to the left."""
    rules = ["---"] * left + ["--:"] * (len(header) - left)
    return [
        f"## {cell_text(title)}",
        "",
        *(f"| {' | '.join(cells)} |" for cells in (header, rules, *rows)),
    ]


def csv_text(report: Mapping[str, Any]) -> str:
    """Return all cells with all their numbers as CSV."""
    columns = (
        "score", "low", "high", "positive", "neutral", "negative", "samples", "queries", "identical", "cut",
        "by_query", "consistent", "standardised_difference", "detectable", "area", "p_published", "p_bonferroni",
        "p_clustered", "p_holm", "p_benjamini_hochberg",
    )  # fmt: skip
    lengths = ("words_first", "words_second", "first_longer", "first_shorter")
    lines: list[list[object]] = []
    for title, rows in sections(report):
        for row in rows:
            probe = row.probe
            texts = [legible_line(text) for text in (title, probe["name"], row.data, row.title)]
            words = (probe["lengths"] or dict.fromkeys(lengths)).values()
            lines += [
                [*texts, probe["symmetric"], probe["expectation"], legible_line(cell["scorer"])]
                + [cell[column] for column in columns]
                + list(words)
                for cell in row.cells
                if cell is not None
            ]
    return csv_lines(
        ["section", "probe", "texts", "title", "symmetric", "expectation", "scorer", *columns, *lengths],
        lines,
    )


def latex_text(report: Mapping[str, Any]) -> str:
    r"""Return the tables as LaTeX (package ``booktabs``), one ``table`` per section, after the metadata as comments."""
    names = [escape(scorer["name"]) for scorer in report["scorers"]]
    unsure = NOT_SIGNIFICANT.replace("≥", r"$\geq$")
    parts = ["".join(f"% {legible_line(name)}: {legible_line(value)}\n" for name, value in _about(report))]
    for title, rows in sections(report):
        cells = [
            [
                row.title,
                escape(row.data),
                *(_latex_score(cell_score(cell, symmetric=row.probe["symmetric"])) for cell in row.cells),
                str(row.probe["samples"]),
            ]
            for row in rows
        ]
        header = ["Probe", "Texts", *names, "$n$"]
        parts.append(_latex_table(f"{escape(title)}. *: {unsure}.", 2, header, cells))
    for seeds in seeds_of(report):
        caption = f"{escape(seeds.title)}. {escape(seeds.verdict)}"
        cells = [[name, f"${deviation:.3f}$", str(probes)] for name, deviation, probes in seeds.rows]
        parts.append(_latex_table(caption, 1, ["Section", DEVIATION.capitalize(), "Probes"], cells))
    return "\n".join(parts)


def _latex_score(score: str) -> str:
    return "--" if score == UNDEFINED else f"${score.replace('−', '-').replace('*', '^{*}')}$"


def _latex_table(caption: str, left: int, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the first cell of each row is escaped here, the others are LaTeX."""
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{caption}}}",
            rf"\begin{{tabular}}{{{'l' * left}{'r' * (len(header) - left)}}}",
            r"\toprule",
            rf"{' & '.join(header)} \\",
            r"\midrule",
            *(rf"{' & '.join([_first_cell(first), *cells])} \\" for first, *cells in rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _first_cell(text: str) -> str:
    """Escape the first cell of a row so that LaTeX does not read it as an argument of the previous line."""
    return f"{'{}' if text[:1] in ('[', '*') else ''}{escape(text)}"


def seeds_csv(report: Mapping[str, Any]) -> str:
    """Return the standard deviations between seeds as CSV, one line per section."""
    return csv_lines(
        ["model", "seeds", "section", "deviation", "probes"],
        (
            [legible_line(seeds.model), seeds.number, legible_line(section), *numbers]
            for seeds in seeds_of(report)
            for section, *numbers in seeds.rows
        ),
    )


def cell_text(text: str) -> str:
    r"""Escape a text for a cell of a Markdown table.

    Examples
    --------
    >>> print(cell_text("TF | Overlap"), cell_text("shared_words of <b>"), cell_text("*a* _b_"))
    TF \| Overlap shared_words of \<b\> \*a\* \_b\_
    """
    return _MARKUP.sub(r"\\\g<0>", legible_line(text))
