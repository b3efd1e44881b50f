"""``termwise learn-weights``: learn the weights of a fusion on judged queries."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
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
from termwise.cli.judged import judged_queries, judgments_to_learn, read_runs
from termwise.cli.learn_trees import learn_trees
from termwise.cli.learned_gain import cross_validation, folds_for, gain_text, gains_of
from termwise.cli.options import JsonFlag, Overwrite, argument, option, refuse_options
from termwise.cli.progress_bars import progress_bar
from termwise.cli.terminal import counted, note, note_line, print_json, print_text, refuse_overwriting
from termwise.errors import MissingFileError, UsageError
from termwise.storage.model_folder import MIXTURE
from termwise.storage.safe_read import is_folder, path_exists
from termwise.validation import MOST_STARTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from termwise.evaluate.contrast import Contrast
    from termwise.fusion import Fusion
    from termwise.search import Searcher

LAMBDAMART = "lambdamart"

_DIGITS = range(4, 9)
"""Decimal places of the bounds of an interval: as few as tell them apart."""


def command(
    runs: Annotated[
        list[Path],
        argument(
            "RUN",
            "Run files of the judged queries, two or more, in the order of the weights; or the folder of a mixture, "
            "with --queries or --clicks.",
        ),
    ],
    qrels: Annotated[
        str | None, option("--qrels FILE", "Judgments to learn from, or ir_datasets:ID.")
    ] = None,
    clicks: Annotated[
        Path | None,
        option(
            "--clicks FILE",
            "Click log to learn from in place of judgments: query, doc_id, rank and clicked, in JSON lines or columns "
            "with tabs. Without --queries, its queries are searched for.",
        ),
    ] = None,
    method: Annotated[
        str | None,
        option(
            "--method grid|sweep|ascent|lambdamart",
            "grid tries tenths, sweep is exact for two runs, ascent is for three or more, lambdamart trains boosted "
            "trees over the scores of a mixture.  [default: sweep for two runs, ascent for more]",
        ),
    ] = None,
    measure: Annotated[str, option("-m --measure MEASURE", "Measure to maximise.")] = "nDCG@10",
    missing: MissingScore = None,
    normalise: Normalise = None,
    documents: Documents = None,
    queries: ScalingQueries = None,
    index: ScalingIndexes = None,
    seed: Annotated[
        int | None, option("--seed N", "Seed of ascent and lambdamart.  [default: 0]", min=0)
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
    folds: Annotated[
        int | None,
        option(
            "--folds N",
            "For a mixture or a relevance file: number of folds of the cross-validated gain over the present weights; "
            "0 for none.  [default: 5]",
            min=0,
        ),
    ] = None,
    relevance: Annotated[
        Path | None,
        option(
            "--relevance FILE",
            "With the folder of an index or a mixture: learn the weights of this relevance file: those of boosts, of "
            "synonyms, and of the parts of the mixture.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "--out FILE",
            "Weights file to write, for fuse and fuse-indexes; for lambdamart a folder, for rerank --scorer; with "
            "--relevance a relevance file in JSON.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    as_json: JsonFlag = False,
) -> None:
    """Learn the weights of a fusion on judged queries.

    For example:

    termwise learn-weights bm25.trec tilde.trec --qrels dev.qrels --missing minimum --out weights.json

    termwise learn-weights MIXTURE --queries dev.jsonl --qrels dev.qrels --out weights.json

    termwise learn-weights DIR --relevance boosts.toml --queries dev.jsonl --qrels dev.qrels --out learned.json

    termwise learn-weights DIR --relevance boosts.toml --clicks clicks.jsonl --out learned.json
    """
    from termwise.fusion import Starts, cross_validated_run, learn
    from termwise.search.mixture_folder import is_mixture
    from termwise.search.opening import open_searcher

    inputs = [*runs, qrels, clicks, queries, relevance, *(index or [])]
    if relevance is not None:
        from termwise.cli.learn_relevance import learn_relevance_file

        given = {"--missing": missing, "--normalise": normalise, "--documents": documents, "--index": index}
        refuse_options(
            {**given, "--method": method}, "to a relevance file, whose weights are learned by ascent"
        )
        if len(runs) > 1:
            raise UsageError(
                "the weights of a relevance file need the folder of one index or mixture",
                fixes=["termwise learn-weights DIR --relevance FILE --queries FILE --qrels FILE"],
            )
        refuse_overwriting([output], inputs, overwrite=overwrite)
        judgments = judgments_to_learn(qrels, clicks)
        learn_relevance_file(
            runs[0],
            relevance,
            judged_queries(queries, judgments, clicks, "the weights of a relevance file"),
            judgments,
            output,
            measure=measure,
            starts=Starts(starts or 5, seed or 0),
            folds=folds,
            as_json=as_json,
        )
        return
    present: Searcher | None = None
    if len(runs) == 1 and is_mixture(runs[0]):
        given = {"--missing": missing, "--normalise": normalise, "--documents": documents, "--index": index}
        refuse_options(given, "to a mixture, which scores all its candidates with z-scores")
        judgments = judgments_to_learn(qrels, clicks)
        asked = judged_queries(queries, judgments, clicks, "the weights of a mixture")
        refuse_overwriting([output], inputs, overwrite=overwrite)
        if method == LAMBDAMART:
            refuse_options({"--starts": starts, "--folds": folds}, f"to --method {LAMBDAMART}")
            if output is None or (path_exists(output) and not overwrite):
                raise UsageError(
                    "boosted trees need a new folder",
                    facts=[("--out", output or "not given")],
                    fixes=["add --out DIR" if output is None else "add --overwrite"],
                )
            learn_trees(runs[0], asked, judgments, output, seed=seed or 0, as_json=as_json)
            return
        present = open_searcher(runs[0])
        with progress_bar() as progress:
            loaded = present.part_runs(asked, progress=progress)
        missing, documents, queries = "minimum", "union", None
    else:
        if len(runs) == 1:
            _refuse_single(runs[0])
        check_count(runs, "runs")
        if method == LAMBDAMART:
            raise UsageError(
                f"--method {LAMBDAMART} needs a mixture, whose parts score the texts that are re-ranked",
                fixes=["give the folder of a mixture", "use another method for runs"],
            )
        refuse_options({"--folds": folds}, "to run files, which have no present weights")
        check_missing_given(missing)
        refuse_overwriting([output], inputs, overwrite=overwrite)
        judgments = judgments_to_learn(qrels, clicks)
        loaded = read_runs(runs)
        check_common_queries(loaded)
    method = method or ("sweep" if len(loaded) == 2 else "ascent")
    if method != "ascent":
        refuse_options(
            {"--seed": seed, "--starts": starts}, f"to --method {method}, which uses no random numbers"
        )
    scales = query_scales(normalise or [], queries, index or [])
    learner: Callable[..., Fusion] = partial(
        learn,
        method=cast(Any, method),
        measure=measure,
        queries=scales,
        starts=Starts(starts or 5, seed or 0),
        **fusion_rules(missing, normalise, documents),
    )
    with progress_bar() as progress:
        fusion = learner(loaded, judgments, progress=progress)
    note_left_out(loaded, missing, documents)
    gains: tuple[Contrast, Contrast | None] | None = None
    if present is not None:
        validated = None
        folds = folds_for(folds, judgments, loaded[0].rankings)
        if folds:
            with progress_bar() as progress:
                validated = cross_validated_run(loaded, judgments, learner, folds=folds, progress=progress)
        before = replace(fusion, weights=tuple(part.weight for part in present.parts)).apply(
            loaded, name="present"
        )
        measure = "" if fusion.learned is None else fusion.learned.measure
        gains = gains_of(before, fusion.apply(loaded, name="learned"), validated, judgments, measure)
        if gains[1] is not None and fusion.learned is not None:
            fusion = replace(fusion, learned=replace(fusion.learned, estimate=gains[1].run_mean, folds=folds))
    if output is not None:
        fusion.save(output)
    if as_json:
        report = {"weights_file": None if output is None else str(output), "fusion": fusion.to_dict()}
        if present is not None and gains is not None:
            on_these, validated_gain = gains
            report["present"] = {
                "weights": [part.weight for part in present.parts],
                "value": on_these.baseline_mean,
                "gain": on_these.difference,
                "cross_validated": cross_validation(validated_gain),
            }
        print_json(report)
    else:
        print_text(learned_text(fusion, mixture=present is not None))
        if present is not None and gains is not None:
            print_text(gain_text(present.backend.description, *gains, folds=folds or 0))
    if output is not None:
        note(f"{output}: written")
        if is_mixture(runs[0]):
            for run, weight in zip(fusion.runs, fusion.weights, strict=True):
                if weight == 0:
                    note_line(f"{run} has the weight 0: fuse-indexes leaves it out")
            note(
                f"next: termwise fuse-indexes {quote(str(runs[0]))} --weights {quote(str(output))} --out DIR"
            )


def _refuse_single(path: Path) -> None:
    """Refuse a single folder that is not a mixture, or a path that does not exist."""
    if not path_exists(path):
        raise MissingFileError("there is no such mixture or run", facts=[("path", path)])
    if is_folder(path):
        raise UsageError(
            "the weights of a mixture are learned, but this folder is not one",
            facts=[("folder", path), ("missing", MIXTURE)],
            fixes=[
                f"mix indexes first: termwise fuse-indexes {quote(str(path))} OTHER_DIR --alpha 0.3 --normalise z "
                "--out DIR",
                "give run files, two or more",
            ],
        )


def learned_text(fusion: Fusion, *, mixture: bool = False) -> str:
    """Return learned weights, and the measure they were learned for, as a table and sentences.

    The runs of a `mixture` are the scores of its parts over all its candidates.
    """
    from termwise.evaluate import Column, Table, to_text

    learned = fusion.learned
    if learned is None:
        return ""
    columns = (
        Column("run", "Run", "text"),
        Column("scaling", "normalisation", "text"),
        Column("weight", "weight", "measure"),
        Column("alone", f"{learned.measure} {'over all candidates' if mixture else 'alone'}", "measure"),
    )
    rows = tuple(zip(fusion.runs, fusion.scaling, fusion.weights, learned.alone, strict=True))
    lines = [to_text(Table(columns, rows)), ""]
    if mixture:
        lines.append(
            "In the last column, each part ranks the candidates of all parts; its own search would find other "
            "documents. Equal scores are in the order of the input."
        )
    judged = counted(learned.queries, "judged query")
    lines.append(f"{learned.measure} of the fused run: {learned.value:.4f}, over {judged}.")
    if learned.low is not None and learned.high is not None:
        first = fusion.runs[0]
        low, high = learned.low, learned.high
        digits = next((n for n in _DIGITS if f"{low:.{n}f}" != f"{high:.{n}f}"), None)
        if digits is None:
            about = "" if low == high else "about "
            interval = f"The weight of {first} that gives this value is {about}{low:.4f}"
        else:
            interval = f"Every weight of {first} from {low:.{digits}f} to {high:.{digits}f} gives this value"
        others = {0: "no other weight does", 1: "1 other interval does"}.get(
            learned.ties or 0, f"{learned.ties} other intervals do"
        )
        lines.append(f"{interval}; {others}.")
    if negative := [name for name, weight in zip(fusion.runs, fusion.weights, strict=True) if weight < 0]:
        lines.append(f"A negative weight reverses the order of {' and of '.join(negative)}.")
    lines.append("The weights were learned on these queries; evaluate them on other queries.")
    return "\n".join(lines)
