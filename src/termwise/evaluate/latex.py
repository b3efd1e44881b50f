r"""Results as a LaTeX table (package ``booktabs``).

Runs are rows and measures are columns. The best value of a column is bold, with all values that round to it. Against a
baseline, † marks a significantly better run and ‡ a significantly worse one. For all pairs, each run has a letter, and
a value has the letters of the runs that it is significantly better than. The caption states test, correction and level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from termwise.evaluate.comparison import Comparison
from termwise.evaluate.contrast import DEFAULT_CRITERION, Criterion
from termwise.evaluate.evaluation import Evaluation
from termwise.evaluate.formats import format_value
from termwise.evaluate.tables import best_averages, conventions, measure_style

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",
}


def escape(text: str) -> str:
    r"""Escape text for LaTeX; line breaks and control characters become spaces.

    Examples
    --------
    >>> print(escape("bm25_k1=0.9 & 50%"))
    bm25\_k1=0.9 \& 50\%
    """
    return "".join(_ESCAPES.get(c, c if c.isprintable() else " ") for c in text)


def comparison_latex(
    comparison: Comparison, *, criterion: Criterion = DEFAULT_CRITERION, label: str = "tab:comparison"
) -> str:
    r"""Write a comparison as a LaTeX table with marks of significance.

    Parameters
    ----------
    comparison : Comparison
    criterion : Criterion, optional
        Criterion for the marks.
    label : str, optional
        Label for ``\ref``; characters other than letters, digits and ``:.-`` are removed.
    """
    marks: dict[tuple[str, str], str] = {}
    letters: dict[str, str] = {}
    beaten: dict[tuple[str, str], list[str]] = {}
    if comparison.pairs == "all":
        letters = {run: _letters(number) for number, run in enumerate(comparison.runs)}
    for contrast in comparison.contrasts:
        verdict = criterion.verdict(contrast)
        if verdict == "not significant":
            continue
        if letters:
            better, worse = contrast.run, contrast.baseline
            if verdict == "worse":
                better, worse = worse, better
            beaten.setdefault((better, contrast.measure), []).append(letters[worse])
        else:
            marks[contrast.run, contrast.measure] = r"\dagger" if verdict == "better" else r"\ddagger"
    if letters:
        meaning = "Letters: significantly better than the run of that letter"
        order = list(letters.values())
        marks = {
            key: rf"\mathrm{{{','.join(sorted(runs, key=order.index))}}}" for key, runs in beaten.items()
        }
    else:
        baseline = escape(comparison.baseline)
        meaning = rf"$\dagger$/$\ddagger$: significantly better/worse than {baseline}"
    family = comparison.family
    over = f" over {family} comparisons" if criterion.correction != "none" and family > 1 else ""
    how = f"{criterion.how}{over}, $p < {criterion.level:g}$"
    notes = " ".join(escape(note) for note in conventions(comparison.evaluations))
    return _table(comparison.evaluations, marks, letters, f"{meaning} ({how}). {notes}", label)


def _letters(number: int) -> str:
    """Number runs a, b, …, z, aa, ab, …; the first is 0."""
    letters = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        letters = chr(ord("a") + digit) + letters
    return letters


def _table(
    evaluations: Sequence[Evaluation],
    marks: Mapping[tuple[str, str], str],
    letters: Mapping[str, str],
    caption: str,
    label: str,
) -> str:
    measures = evaluations[0].measures
    best = best_averages(evaluations)
    body = []
    for evaluation in evaluations:
        name = escape(evaluation.run)
        cells = [f"{letters[evaluation.run]}: {name}" if letters else name]
        for measure, mean in evaluation.means.items():
            cell = "--" if mean is None else format_value(mean, measure_style(measure))
            if cell == best.get(measure):
                cell = rf"\textbf{{{cell}}}"
            mark = marks.get((evaluation.run, measure))
            cells.append(f"{cell}$^{{{mark}}}$" if mark else cell)
        body.append("  " + " & ".join(cells) + r" \\")
    safe_label = "".join(c for c in label if c.isascii() and (c.isalnum() or c in ":.-"))
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{caption}}}",
            rf"  \label{{{safe_label}}}",
            rf"  \begin{{tabular}}{{l{'l' * len(measures)}}}",
            r"  \toprule",
            "  " + " & ".join(["Run", *(escape(measure) for measure in measures)]) + r" \\",
            r"  \midrule",
            *body,
            r"  \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )
