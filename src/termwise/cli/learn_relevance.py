"""``termwise learn-weights --relevance``: weights of a relevance file, learned on judged queries."""

from __future__ import annotations

import json
import os
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from termwise.attributes.json_values import json_value
from termwise.cli.learned_gain import cross_validation, folds_for, gain_text, gains_of
from termwise.cli.progress_bars import progress_bar
from termwise.cli.terminal import note, print_json, print_text, write_text
from termwise.errors import UsageError

if TYPE_CHECKING:
    from termwise.fusion import Starts
    from termwise.records import Qrel, Query


def learn_relevance_file(
    folder: Path,
    relevance: Path,
    queries: list[Query],
    judgments: list[Qrel],
    out: Path | None,
    *,
    measure: str,
    starts: Starts,
    folds: int | None,
    as_json: bool,
) -> None:
    """Learn the weights of a relevance file, print them, and write a relevance file with them."""
    from termwise.fusion.relevance_learning import learn_relevance
    from termwise.search import Relevance
    from termwise.search.opening import open_searcher
    from termwise.search.relevance import read_body

    if out is not None and out.suffix.lower() != ".json":
        raise UsageError(
            "a learned relevance file is written in JSON",
            facts=[("--out", out)],
            fixes=[f"--out {out.stem}.json"],
        )
    Relevance.read(relevance)  # so that errors come before the index is opened
    body: Any = read_body(relevance)
    folds = folds_for(folds, judgments, {query.query_id for query in queries})
    with progress_bar() as progress:
        learned = learn_relevance(
            open_searcher(folder),
            body,
            queries,
            judgments,
            file=relevance,
            measure=measure,
            starts=starts,
            folds=folds,
            progress=progress,
        )
    gain, validated = gains_of(
        learned.present, learned.learned, learned.cross_validated, judgments, learned.measure
    )
    if out is not None:
        if "synonyms_file" in body:  # its path is from the folder of the relevance file
            path = relevance.parent / body["synonyms_file"]
            learned.body["synonyms_file"] = os.path.relpath(path, out.parent)
        write_text(out, json.dumps(learned.body, indent=2, ensure_ascii=False, default=json_value) + "\n")
    if as_json:
        report = {
            "relevance_file": None if out is None else str(out),
            "measure": gain.measure,
            "weights": {name: weight for name, (_, weight) in learned.weights.items()},
            "present": {
                "weights": {name: weight for name, (weight, _) in learned.weights.items()},
                "value": gain.baseline_mean,
                "gain": gain.difference,
            },
            "cross_validated": cross_validation(validated),
        }
        print_json(report)
    else:
        from termwise.evaluate import Column, Table, to_text

        columns = (
            Column("name", "Weight of", "text"),
            Column("before", "before", "measure"),
            Column("learned", "learned", "measure"),
        )
        rows = tuple((name, *weights) for name, weights in learned.weights.items())
        print_text(to_text(Table(columns, rows)))
        print_text("\n" + gain_text("those of the column before", gain, validated, folds=folds))
        print_text("The weights were learned on these queries; evaluate them on other queries.")
    if out is not None:
        note(f"{out}: written")
        note(f'next: termwise search {quote(str(folder))} "QUERY" --relevance {quote(str(out))}')
