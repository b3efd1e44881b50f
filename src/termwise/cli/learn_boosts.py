"""``termwise learn-weights --relevance``: weights of boosts, learned on judged queries."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from termwise.attributes.json_values import json_value
from termwise.cli.learned_gain import gain_text, gains_of
from termwise.cli.progress_bars import progress_bar
from termwise.cli.terminal import note, print_json, print_text, write_text
from termwise.errors import DataError, UsageError

if TYPE_CHECKING:
    from termwise.evaluate.contrast import Contrast
    from termwise.fusion import Starts
    from termwise.records import Qrel, Query


def learn_boosts(
    folder: Path,
    relevance: Path,
    queries: Sequence[Query],
    judgments: list[Qrel],
    out: Path | None,
    *,
    measure: str,
    starts: Starts,
    folds: int,
    as_json: bool,
) -> None:
    """Learn the weights of the boosts of a relevance file, print them, and write a relevance file with them."""
    from termwise.fusion import cross_validated_run, learn
    from termwise.search import Relevance
    from termwise.search.opening import open_searcher

    if out is not None and out.suffix.lower() != ".json":
        raise UsageError(
            "a learned relevance file is written in JSON",
            facts=[("--out", out)],
            fixes=[f"--out {out.stem}.json"],
        )
    given = Relevance.read(relevance)
    if not given.boosts:
        raise UsageError("the relevance file has no boosts", facts=[("file", relevance)])
    searcher = open_searcher(folder)
    learner = partial(
        learn,
        method="ascent",
        measure=measure,
        missing="minimum",
        scaling="raw",
        documents="union",
        starts=starts,
    )
    with progress_bar() as progress:
        runs = searcher.boost_runs(queries, given, progress=progress)
        fusion = learner(runs, judgments, progress=progress)
        validated = (
            cross_validated_run(runs, judgments, learner, folds=folds, progress=progress) if folds else None
        )
    before = [boost.weight for boost in given.boosts]
    gains = gains_of([1.0, *before], runs, fusion, validated, judgments)
    if fusion.weights[0] <= 0:
        raise DataError(
            "the best weights that were found do not use the scores of the query, so no boost can be added to them",
            facts=[("weights", ", ".join(f"{weight:.4g}" for weight in fusion.weights))],
            fixes=["judge more queries"],
        )
    weights = [weight / fusion.weights[0] for weight in fusion.weights[1:]]
    if out is not None:
        _write(out, relevance, weights)
    if as_json:
        print_json({"relevance_file": None if out is None else str(out), **_report(before, weights, *gains)})
    else:
        from termwise.evaluate import Column, Table, to_text

        columns = (
            Column("boost", "Boost", "text"),
            Column("before", "weight before", "measure"),
            Column("weight", "learned weight", "measure"),
        )
        rows = tuple(zip((run.name for run in runs[1:]), before, weights, strict=True))
        print_text(to_text(Table(columns, rows)))
        print_text("\n" + gain_text("those of the file", *gains, folds=folds))
        print_text("The weights were learned on these queries; evaluate them on other queries.")
    if out is not None:
        note(f"{out}: written")
        note(f'next: termwise search {quote(str(folder))} "QUERY" --relevance {quote(str(out))}')


def _report(
    before: Sequence[float], weights: Sequence[float], gain: Contrast, validated: Contrast | None
) -> dict[str, Any]:
    cross_validated = None
    if validated is not None:
        cross_validated = {
            "gain": validated.difference,
            "ci_low": validated.ci_low,
            "ci_high": validated.ci_high,
        }
    return {
        "measure": gain.measure,
        "weights": list(weights),
        "present": {"weights": list(before), "value": gain.baseline_mean, "gain": gain.difference},
        "cross_validated": cross_validated,
    }


def _write(out: Path, relevance: Path, weights: Sequence[float]) -> None:
    """Write a relevance file with other weights of its boosts."""
    from termwise.search.relevance import read_body

    body: Any = read_body(relevance)
    for boost, weight in zip(body["boosts"], weights, strict=True):
        boost["weight"] = weight
    write_text(out, json.dumps(body, indent=2, ensure_ascii=False, default=json_value) + "\n")
