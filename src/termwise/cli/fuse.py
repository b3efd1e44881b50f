"""``termwise fuse``: fuse runs into one."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

from termwise.cli.fusion_options import (
    Alpha,
    Documents,
    MissingScore,
    Normalise,
    ScalingIndexes,
    ScalingQueries,
    Weights,
    check_common_queries,
    check_count,
    check_missing_given,
    chosen_weights,
    fusion_rules,
    note_left_out,
    note_same_queries,
    note_weight_names,
    query_scales,
)
from termwise.cli.judged import read_runs
from termwise.cli.options import (
    JsonFlag,
    Overwrite,
    Separator,
    argument,
    choice,
    flag,
    option,
    refuse_options,
)
from termwise.cli.terminal import counted, note, print_json, refuse_overwriting
from termwise.errors import UsageError
from termwise.storage.safe_read import is_folder


def command(
    runs: Annotated[list[Path], argument("RUN", "Run files, two or more, in the order of the weights.")],
    output: Annotated[Path, option("--out FILE", "Run file to write.")],
    alpha: Alpha = None,
    weights: Weights = None,
    rrf: Annotated[bool, flag("--rrf", "Reciprocal rank fusion: use ranks only, without weights.")] = False,
    missing: MissingScore = None,
    normalise: Normalise = None,
    documents: Documents = None,
    queries: ScalingQueries = None,
    index: ScalingIndexes = None,
    tag: Annotated[str, option("--tag NAME", "Name of the run, its last column.")] = "termwise",
    separator: Separator = "space",
    overwrite: Overwrite = False,
    as_json: JsonFlag = False,
) -> None:
    """Fuse runs into one.

    For example:

    termwise fuse bm25.trec tilde.trec --alpha 0.3 --missing minimum --out fused.trec

    termwise fuse bm25.trec tilde.trec --weights weights.json --out fused.trec

    termwise fuse bm25.trec tilde.trec dense.trec --rrf --out fused.trec
    """
    from termwise.collection import write_run
    from termwise.fusion import Fusion, reciprocal_rank_fusion

    check_count(runs, "runs")
    if any(is_folder(run) for run in runs):
        raise UsageError(
            "fuse takes run files, and one of these is a folder",
            facts=[("folder", next(run for run in runs if is_folder(run)))],
            fixes=[
                f"termwise fuse-indexes {' '.join(quote(str(run)) for run in runs)} --alpha A --out DIR fuses indexes",
                "termwise rank DIR --queries FILE --out RUN makes a run of an index",
            ],
        )
    numbers = chosen_weights(runs, "runs", alpha, weights, rrf=rrf)
    rules = {"--missing": missing, "--normalise": normalise, "--documents": documents}
    if numbers is not None:
        weights = None
        check_missing_given(missing)
    elif rrf:
        refuse_options({**rules, "--queries": queries, "--index": index}, "to --rrf, which uses ranks only")
    else:
        refuse_options(rules, "with --weights: the file states them")
    refuse_overwriting([output], [*runs, weights, queries, *(index or [])], overwrite=overwrite)
    columns = choice("--separator", separator, ("space", "tab"))
    loaded = read_runs(runs)
    check_common_queries(loaded)
    fusion: Fusion | None = None
    if numbers is not None:
        fusion = Fusion([run.name for run in loaded], numbers, **fusion_rules(missing, normalise, documents))
        note_left_out(loaded, missing, documents)
    elif weights is not None:
        fusion = Fusion.open(weights)
        note_weight_names(weights, fusion, [run.name for run in loaded])
    if fusion is None:
        fused = reciprocal_rank_fusion(loaded, name=tag)
    else:
        fused = fusion.apply(loaded, queries=query_scales(fusion.scaling, queries, index or []), name=tag)
        if weights is not None:
            note_same_queries(weights, fusion, loaded[0])
    write_run(fused, output, separator=columns)
    if as_json:
        print_json(
            {
                "run": str(output),
                "queries": len(fused),
                "fusion": None if fusion is None else fusion.to_dict(),
            }
        )
    note(f"{output}: {counted(len(fused), 'query')}")
