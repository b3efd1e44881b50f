"""``termwise learn-weights``: learn the weights of a fusion on judged queries."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, cast

from termwise.cli.fusion_options import (
    Documents,
    MissingScore,
    Normalise,
    ScalingIndexes,
    ScalingQueries,
    check_common_queries,
    check_count,
    check_missing_given,
    fusion_rules,
    note_left_out,
    query_scales,
)
from termwise.cli.judged import load_queries, read_runs
from termwise.cli.options import JsonFlag, argument, option, refuse_options
from termwise.cli.terminal import counted, note, print_json, print_text, progress_bar, refuse_overwriting
from termwise.errors import UsageError
from termwise.validation import MOST_STARTS

if TYPE_CHECKING:
    from termwise.fusion import Fusion
    from termwise.records import Run


def command(
    runs: Annotated[
        list[Path],
        argument(
            "RUN",
            "Run files of the judged queries, two or more, in the order of the weights; or the folder of a mixture, "
            "with --queries.",
        ),
    ],
    qrels: Annotated[str, option("--qrels FILE", "Judgments to learn from, or ir_datasets:ID.")],
    method: Annotated[
        str | None,
        option(
            "--method grid|sweep|ascent",
            "grid tries tenths, sweep is exact for two runs, ascent is for three or more.  [default: sweep "
            "for two runs, ascent for more]",
        ),
    ] = None,
    measure: Annotated[str, option("-m --measure MEASURE", "Measure to maximise.")] = "nDCG@10",
    missing: MissingScore = None,
    normalise: Normalise = None,
    documents: Documents = None,
    queries: ScalingQueries = None,
    index: ScalingIndexes = None,
    seed: Annotated[
        int | None, option("--seed N", "Seed of the random starts of ascent.  [default: 0]", min=0)
    ] = None,
    starts: Annotated[
        int | None,
        option(
            "--starts N",
            "Number of starts of ascent: more take longer and may find better weights.  [default: 5]",
            min=1,
            max=MOST_STARTS,
        ),
    ] = None,
    output: Annotated[
        Path | None, option("--output FILE", "Weights file to write, for fuse and fuse-indexes.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Learn the weights of a fusion on judged queries.

    For example:

    termwise learn-weights bm25.trec tilde.trec --qrels dev.qrels --missing minimum --output weights.json

    termwise learn-weights MIXTURE --queries dev.jsonl --qrels dev.qrels --output weights.json
    """
    from termwise.collection import read_qrels
    from termwise.fusion import learn
    from termwise.search.mixture_folder import is_mixture

    if len(runs) == 1 and is_mixture(runs[0]):
        given = {"--missing": missing, "--normalise": normalise, "--documents": documents, "--index": index}
        refuse_options(given, "to a mixture, which scores all its candidates with z-scores")
        if queries is None:
            raise UsageError("the weights of a mixture need the queries", fixes=["add --queries FILE"])
        refuse_overwriting([output], [*runs, qrels, queries])
        loaded = _part_runs(runs[0], queries)
        missing, documents, queries = "minimum", "union", None
    else:
        check_count(runs, "runs")
        check_missing_given(missing)
        refuse_overwriting([output], [*runs, qrels, queries, *(index or [])])
        loaded = read_runs(runs)
        check_common_queries(loaded)
    method = method or ("sweep" if len(loaded) == 2 else "ascent")
    if method != "ascent":
        refuse_options(
            {"--seed": seed, "--starts": starts}, f"to --method {method}, which uses no random numbers"
        )
    scales = query_scales(normalise or [], queries, index or [])
    judgments = read_qrels(qrels)
    with progress_bar() as progress:
        fusion = learn(
            loaded,
            judgments,
            method=cast(Any, method),
            measure=measure,
            queries=scales,
            seed=seed or 0,
            restarts=starts or 5,
            progress=progress,
            **fusion_rules(missing, normalise, documents),
        )
    note_left_out(loaded, missing, documents)
    if output is not None:
        fusion.save(output)
    if as_json:
        print_json({"weights_file": None if output is None else str(output), "fusion": fusion.to_dict()})
    else:
        print_text(learned_text(fusion))
    if output is not None:
        note(f"{output}: written")
        if is_mixture(runs[0]):
            note(
                f"next: termwise fuse-indexes {quote(str(runs[0]))} --weights {quote(str(output))} --out DIR"
            )


def _part_runs(folder: Path, queries: str) -> list[Run]:
    """Return the scores of the parts of a mixture."""
    from termwise.search import MixtureSearcher

    with progress_bar() as progress:
        return MixtureSearcher.open(folder).part_runs(load_queries(queries), progress=progress)


def learned_text(fusion: Fusion) -> str:
    """Return learned weights, and the measure they were learned for, as a table and sentences."""
    from termwise.evaluate import Column, Table, to_text

    learned = fusion.learned
    if learned is None:
        return ""
    columns = (
        Column("run", "Run", "text"),
        Column("scaling", "normalisation", "text"),
        Column("weight", "weight", "measure"),
        Column("alone", f"{learned.measure} alone", "measure"),
    )
    rows = tuple(zip(fusion.runs, fusion.scaling, fusion.weights, learned.alone, strict=True))
    lines = [to_text(Table(columns, rows)), ""]
    judged = counted(learned.queries, "judged query")
    lines.append(f"{learned.measure} of the fused run: {learned.value:.4f}, over {judged}.")
    if learned.low is not None and learned.high is not None:
        first = fusion.runs[0]
        interval = f"Every weight of {first} from {learned.low:.4f} to {learned.high:.4f} gives this value"
        if learned.low == learned.high:
            interval = f"The weight of {first} that gives this value is {learned.low:.4f}"
        others = {0: "no other weight does", 1: "1 other interval does"}.get(
            learned.ties or 0, f"{learned.ties} other intervals do"
        )
        lines.append(f"{interval}; {others}.")
    lines.append("The weights were learned on these queries; evaluate them on other queries.")
    return "\n".join(lines)
