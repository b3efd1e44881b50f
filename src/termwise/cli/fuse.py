"""``termwise fuse``: several runs into one, with weights that are given, kept in a file, or learned.

With folders of indexes in the place of runs, `termwise.cli.fuse_indexes` makes one index of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from termwise.cli.fuse_indexes import fuse_folders
from termwise.cli.judged import read_runs, wanted_queries
from termwise.cli.options import JsonFlag, Separator, Threads, column_separator
from termwise.cli.terminal import note, print_json, progress_bar, refuse_overwriting, write_text
from termwise.cli.weights import say_chosen_here, say_stand_ins
from termwise.errors import DataError, UnknownNameError, UsageError

if TYPE_CHECKING:
    from termwise.fusion import Fusion, Oracle, QueryScales
    from termwise.records import Run

_TAG, _SEPARATOR = "termwise", "space"

_WAYS = "--alpha A, --weights FILE, --learn METHOD --qrels FILE, --oracle METHOD --qrels FILE, or --rrf"


def command(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN",
            help="Run files, two or more; their order counts. Or folders of indexes of the same documents, which "
            "--out makes one index of.",
            show_default=False,
        ),
    ],
    alpha: Annotated[
        float | None,
        typer.Option("--alpha", metavar="A", help="Share of the first of two, 0 to 1.", show_default=False),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            "--weights", metavar="FILE", help="Weights that --save-weights wrote.", show_default=False
        ),
    ] = None,
    learn: Annotated[
        str | None,
        typer.Option(
            "--learn",
            metavar="grid|sweep|ascent",
            help="Choose the weights on the judged queries of --qrels.",
            show_default=False,
        ),
    ] = None,
    oracle: Annotated[
        str | None,
        typer.Option(
            "--oracle",
            metavar="grid|sweep",
            help="Write nothing, but tell what the best share of each query of --qrels would be worth.",
            show_default=False,
        ),
    ] = None,
    ties: Annotated[
        str | None,
        typer.Option(
            "--ties",
            metavar="nearest|smallest|largest",
            help="With --oracle: which of equally good shares is taken, the nearest to the best one for all, or an "
            "end.  [default: nearest]",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        list[Path] | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="With --oracle: draw what every share is worth, to a .png, .svg or .pdf, or to an .html page with "
            "every query; may be repeated. Needs the extra plot.",
            show_default=False,
        ),
    ] = None,
    rrf: Annotated[
        bool, typer.Option("--rrf", help="Add up reciprocal ranks instead of scores; nothing to choose.")
    ] = False,
    qrels: Annotated[
        str | None,
        typer.Option(
            "--qrels", metavar="FILE", help="Judgments to learn from, or ir_datasets:ID.", show_default=False
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "-m",
            "--measure",
            metavar="MEASURE",
            help="What to make large, as ir_measures spells it; with --oracle, may be repeated.  [default: nDCG@10]",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            metavar="N",
            min=0,
            help="Seed of the random starts of ascent.  [default: 0]",
            show_default=False,
        ),
    ] = None,
    starts: Annotated[
        int | None,
        typer.Option(
            "--starts",
            metavar="N",
            min=1,
            help="Starts of ascent: more take longer and may find more.  [default: 5]",
            show_default=False,
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            "--missing",
            metavar="drop|minimum|zero",
            help="What a document gets from a run that does not rank it: it is dropped, or gets the lowest "
            "score of the run for the query, or 0. No default.",
            show_default=False,
        ),
    ] = None,
    normalise: Annotated[
        list[str] | None,
        typer.Option(
            "--normalise",
            metavar="SCALING",
            help="z, minmax, global, raw, idf or query-length: once for all runs, or once for each.  "
            "[default: z]",
            show_default=False,
        ),
    ] = None,
    documents: Annotated[
        str | None,
        typer.Option(
            "--documents",
            metavar="first|union",
            help="Fuse the documents of the first run, or those of all.  [default: first]",
            show_default=False,
        ),
    ] = None,
    queries: Annotated[
        str | None,
        typer.Option(
            "--queries", metavar="FILE", help="The queries, for idf and query-length.", show_default=False
        ),
    ] = None,
    index: Annotated[
        list[Path] | None,
        typer.Option(
            "--index",
            metavar="DIR",
            help="Index whose words are meant by idf and query-length: once for all runs, or once for each.",
            show_default=False,
        ),
    ] = None,
    save_weights: Annotated[
        Path | None,
        typer.Option(
            "--save-weights", metavar="FILE", help="Keep the weights in a file.", show_default=False
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Run file to write.", show_default=False),
    ] = None,
    tag: Annotated[str, typer.Option("--tag", help="Name of the run, its last column.")] = _TAG,
    separator: Separator = _SEPARATOR,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="With indexes: folder of the new one.", show_default=False),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="With --out: replace an index that is there.")
    ] = False,
    float_weights: Annotated[
        bool,
        typer.Option(
            "--float",
            help="With --out: keep weights as float32 instead of one byte; so they are anyway if an index of the "
            "sum has them.",
        ),
    ] = False,
    threads: Threads = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="With --out: working memory for sorting postings.  [default: 2GB]",
            show_default=False,
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Fuse runs into one, or indexes.

    Examples: termwise fuse bm25.trec tilde.trec --alpha 0.3 --missing minimum --output mixed.trec,
    termwise fuse bm25.trec tilde.trec --learn sweep --qrels dev.qrels --missing minimum --save-weights w.json,
    termwise fuse bm25.trec tilde.trec --oracle sweep --qrels dev.qrels -m nDCG@10 -m AP --missing minimum --plot f.svg,
    termwise fuse bm25.tw tilde.tw --weights w.json --out both.tw
    """
    from termwise.collection import write_run
    from termwise.fusion import Fusion, reciprocal_rank_fusion

    of_indexes: dict[str, object] = {
        "--out": out,
        "--overwrite": overwrite or None,
        "--float": float_weights or None,
        "--threads": threads,
        "--memory": memory,
    }
    if any(run.is_dir() for run in runs):
        of_runs: dict[str, object] = {
            "--learn": learn,
            "--oracle": oracle,
            "--ties": ties,
            "--plot": plot or None,
            "--rrf": rrf or None,
            "--qrels": qrels,
            "--measure": measure or None,
            "--seed": seed,
            "--starts": starts,
            "--missing": missing,
            "--documents": documents,
            "--queries": queries,
            "--index": index or None,
            "--save-weights": save_weights,
            "--output": output,
            "--tag": None if tag == _TAG else tag,
            "--separator": None if separator == _SEPARATOR else separator,
        }
        files = [run for run in runs if run.exists() and not run.is_dir()]
        if files:
            raise UsageError(
                "runs and indexes cannot be fused with each other",
                facts=[("run", files[0])],
                fixes=["termwise search DIR --queries FILE --output RUN makes a run of an index"],
            )
        _refuse(of_runs, "runs, and these are indexes", ["leave them out"])
        fuse_folders(
            runs,
            out,
            alpha=alpha,
            weights=weights,
            normalise=normalise,
            overwrite=overwrite,
            float_weights=float_weights,
            threads=threads,
            memory=memory or "2GB",
            as_json=as_json,
        )
        return
    _refuse(of_indexes, "indexes, and these are runs", ["leave them out, or give folders of indexes"])
    _check_combination(
        runs,
        given={
            "--alpha": alpha,
            "--weights": weights,
            "--learn": learn,
            "--oracle": oracle,
            "--rrf": rrf or None,
        },
        judging={"--qrels": qrels, "--measure": measure or None},
        rules={"--seed": seed, "--starts": starts, "--ties": ties, "--plot": plot or None},
        choices={"--missing": missing, "--normalise": normalise, "--documents": documents},
        kept={"--save-weights": save_weights},
        scales={"--queries": queries, "--index": index},
        output=output,
        written={
            "--tag": None if tag == _TAG else tag,
            "--separator": None if separator == _SEPARATOR else separator,
        },
    )
    drawn = plot or []
    forms = [_form_of(path) for path in drawn]
    _check_drawable(drawn)
    refuse_overwriting([output, save_weights, *drawn], [*runs, qrels, weights, queries, *(index or [])])
    between = column_separator(separator)
    if learn is not None and len(measure or ()) > 1:
        raise UsageError(
            "weights are learned for one measure",
            facts=[("given", ", ".join(measure or ()))],
            fixes=[f"-m {(measure or [''])[0]}", "--oracle sweep takes several"],
        )
    read = read_runs(runs)
    _check_in_common(read)
    if oracle is not None:
        scales = _query_scales(normalise or [], queries, index or [])
        options = _rules(missing, normalise, documents) | {"queries": scales}
        measures = measure or ["nDCG@10"]
        found = _tell_oracle(read, oracle, ties, cast(str, qrels), measures, options, as_json=as_json)
        told = (
            f"{options['documents']} documents, missing: {missing}, scaled: {', '.join(normalise or ['z'])}"
        )
        _draw(found, read, dict(zip(drawn, forms, strict=True)), told)
        if documents is None and missing != "drop":
            _say_left_out(read)
        return
    fusion: Fusion | None = None
    if rrf:
        fused = reciprocal_rank_fusion(read, name=tag)
    else:
        if weights is not None:
            fusion = Fusion.open(weights)
            scales = _query_scales(fusion.scaling, queries, index or [])
        else:
            scales = _query_scales(normalise or [], queries, index or [])
            rules = _rules(missing, normalise, documents)
            drawing = {"seed": seed or 0, "restarts": starts or 5}
            fusion = _made(read, alpha, learn, qrels, (measure or ["nDCG@10"])[0], drawing, rules, scales)
            if documents is None and missing != "drop":
                _say_left_out(read)
        if output is not None:
            fused = fusion.apply(read, queries=scales, name=tag)
        if weights is not None:
            say_stand_ins(weights, fusion, [run.name for run in read])
            say_chosen_here(weights, fusion, read[0])
    if save_weights is not None and fusion is not None:
        fusion.save(save_weights)
    if output is not None:
        write_run(fused, output, separator=between)
    if as_json:
        print_json(
            {
                "run": None if output is None else str(output),
                "queries": None if output is None else len(fused),
                "weights_file": None if save_weights is None else str(save_weights),
                "fusion": None if fusion is None else fusion.to_dict(),
            }
        )
    elif learn is not None and fusion is not None:
        print(_learned_text(fusion))
    if save_weights is not None:
        note(f"{save_weights}: written")
    if output is not None:
        note(f"{output}: {len(fused):,} queries")


def _check_combination(
    runs: Sequence[Path],
    *,
    given: dict[str, object],
    judging: dict[str, object],
    rules: dict[str, object],
    choices: dict[str, object],
    kept: dict[str, object],
    scales: dict[str, object],
    output: Path | None,
    written: dict[str, object],
) -> None:
    """Refuse options that are missing, or that would be ignored."""
    if len(runs) < 2:
        raise UsageError(
            "there is nothing to fuse", facts=[("runs", len(runs))], fixes=["give two runs or more"]
        )
    ways = _named(given)
    if len(ways) != 1:
        raise UsageError(
            "say where the weights come from, in one way",
            facts=[("given", ", ".join(ways) or "none"), ("expected", _WAYS)],
            fixes=["--learn sweep --qrels FILE", "--alpha 0.5"],
        )
    way = ways[0]
    if way == "--alpha" and len(runs) != 2:
        raise UsageError(
            "--alpha is the share of the first of two runs",
            facts=[("runs", len(runs))],
            fixes=["--learn ascent --qrels FILE"],
        )
    if way not in ("--learn", "--oracle"):
        _refuse(judging, "--learn and --oracle", [f"leave them out, or learn weights: {_WAYS}"])
    elif judging["--qrels"] is None:
        raise UsageError(f"{way} goes by judgments", fixes=["add --qrels FILE"])
    if given["--learn"] != "ascent":
        _refuse(
            {name: rules[name] for name in ("--seed", "--starts")},
            "--learn ascent, the only method that draws at random",
            ["leave it out", "--learn ascent"],
        )
    if way != "--oracle":
        _refuse(
            {name: rules[name] for name in ("--ties", "--plot")},
            "--oracle",
            ["leave it out", "--oracle sweep --qrels FILE"],
        )
    else:
        _refuse(
            {**kept, "--output": output, **written},
            "weights, and --oracle finds none: a share for each query needs its judgments",
            ["--learn sweep finds one share for all"],
        )
    if way == "--weights":
        _refuse(
            {**choices, **kept}, "other weights than those of a file, which says itself how it is used", []
        )
    if way == "--rrf":
        _refuse({**choices, **kept, **scales}, "scores, and --rrf looks at ranks alone", [])
    if way in ("--alpha", "--learn", "--oracle") and choices["--missing"] is None:
        raise UsageError(
            "say what a document gets from a run that does not rank it: --missing has no default, because "
            "each is wrong for some runs",
            facts=[
                ("drop", "nothing, it is not fused"),
                ("minimum", "the lowest score that the run gives for this query"),
                ("zero", "0; right for runs that give no score below it, refused for others"),
            ],
            fixes=["--missing minimum", "--missing drop", "--missing zero"],
        )
    if output is None and way not in ("--learn", "--oracle"):
        raise UsageError("there is no run file to write", fixes=["add --output FILE"])


def _named(options: dict[str, object]) -> list[str]:
    return [name for name, value in options.items() if value is not None]


def _refuse(options: dict[str, object], belonging: str, fixes: list[str]) -> None:
    ignored = _named(options)
    if ignored:
        goes = "goes" if len(ignored) == 1 else "go"
        raise UsageError(f"{', '.join(ignored)} {goes} with {belonging}", fixes=fixes)


def _query_scales(
    scalings: Sequence[str], queries: str | None, folders: Sequence[Path]
) -> QueryScales | list[QueryScales | None] | None:
    """Read what ``idf`` and ``query-length`` need: once for all runs, or once for each index."""
    needed = {"idf", "query-length"} & set(scalings)
    if not needed:
        if queries is not None or folders:
            raise UsageError(
                "--queries and --index are for the scalings idf and query-length",
                fixes=["add --normalise idf", "leave them out"],
            )
        return None
    if queries is None or not folders:
        raise UsageError(
            f"{' and '.join(sorted(needed))} needs the queries, and the index whose words are meant",
            fixes=["add --queries FILE --index DIR"],
        )
    from termwise.fusion import QueryScales
    from termwise.index import Index

    wanted = wanted_queries(queries)
    each: list[QueryScales | None] = [QueryScales.of(Index.open(folder), wanted) for folder in folders]
    return each[0] if len(each) == 1 else each


def _rules(missing: str | None, normalise: list[str] | None, documents: str | None) -> dict[str, Any]:
    """Return how runs are scaled and what is fused; the values of names are checked where they are used."""
    scaling = normalise or ["z"]
    return {
        "missing": missing,
        "scaling": scaling[0] if len(scaling) == 1 else scaling,
        "documents": documents or "first",
    }


def _made(
    runs: list[Run],
    alpha: float | None,
    learn: str | None,
    qrels: str | None,
    measure: str,
    drawing: dict[str, Any],
    rules: dict[str, Any],
    scales: QueryScales | list[QueryScales | None] | None,
) -> Fusion:
    """Make a fusion of the options."""
    from termwise.collection import read_qrels
    from termwise.fusion import Fusion
    from termwise.fusion import learn as learn_weights
    from termwise.fusion.interpolation import shares_of

    if alpha is not None:
        return Fusion([run.name for run in runs], shares_of(alpha), **rules)
    judgments = read_qrels(cast(str, qrels))
    with progress_bar() as progress:
        return learn_weights(
            runs,
            judgments,
            method=cast(Any, learn),
            measure=measure,
            queries=scales,
            progress=progress,
            **drawing,
            **rules,
        )


def _tell_oracle(
    runs: list[Run],
    method: str,
    ties: str | None,
    qrels: str,
    measures: Sequence[str],
    options: dict[str, Any],
    *,
    as_json: bool,
) -> list[Oracle]:
    """Print what the best share of each query would be worth, and return it."""
    from termwise.collection import read_qrels
    from termwise.fusion import oracle as find

    judgments = list(read_qrels(qrels))
    with progress_bar() as progress:
        found = [
            find(
                runs,
                judgments,
                method=cast(Any, method),
                ties=cast(Any, ties or "nearest"),
                measure=measure,
                progress=progress,
                **options,
            )
            for measure in measures
        ]
    if as_json:
        for one in found:
            columns = (one.alphas, one.best, one.fixed, one.first, one.second, one.indifferent)
            each = zip(one.query_ids, *(values.tolist() for values in columns), strict=True)
            print_json(
                {
                    "runs": [run.name for run in runs],
                    **one.summary(),
                    "curve": list(zip(one.places.tolist(), one.means.tolist(), strict=True)),
                    "each": [
                        {
                            "query": query_id,
                            "alpha": alpha,
                            "oracle": best,
                            "fixed": fixed,
                            "first": first,
                            "second": second,
                            "indifferent": indifferent,
                        }
                        for query_id, alpha, best, fixed, first, second, indifferent in each
                    ],
                }
            )
    else:
        print(_oracle_text(found, runs))
    return found


def _form_of(path: Path) -> str:
    """Return what kind of figure a file holds, by its ending."""
    from termwise.fusion.figure import FORMATS

    ending = path.suffix.removeprefix(".").lower()
    if ending not in (*FORMATS, "html"):
        raise UnknownNameError.of("kind of figure", ending or path.name, (*FORMATS, "html"))
    return ending


def _check_in_common(runs: Sequence[Run]) -> None:
    """Refuse runs of which one shares no query with the first.

    Raises
    ------
    DataError
        If there is one.
    """
    first = runs[0]
    for run in runs[1:]:
        if len(first) and len(run) and not set(first.rankings) & set(run.rankings):
            raise DataError(
                "two runs have no query in common",
                facts=[
                    ("run", f"{first.name}, such as {next(iter(first.rankings))}"),
                    ("run", f"{run.name}, such as {next(iter(run.rankings))}"),
                ],
                fixes=["give runs of the same queries"],
            )


def _check_drawable(files: Sequence[Path]) -> None:
    """See that figures can be drawn and written, before anything is computed."""
    if not files:
        return
    from termwise.fusion.figure import check_matplotlib

    check_matplotlib()
    for path in files:
        if path.is_dir():
            raise UsageError("a folder stands where the figure should be", facts=[("path", path)])
        if not path.parent.is_dir():
            raise UsageError(
                "there is no folder for the figure",
                facts=[("path", path), ("missing", path.parent)],
                fixes=[f"mkdir -p {path.parent}"],
            )


def _draw(found: Sequence[Oracle], runs: Sequence[Run], files: Mapping[Path, str], told: str) -> None:
    """Write the figure of what was found into files, and say so."""
    if not files:
        return
    from termwise.fusion.figure import ShareCurve, figure_bytes, shares_figure
    from termwise.fusion.page import shares_html
    from termwise.storage.atomic_file import write_bytes_whole

    first, second = (run.name for run in runs)
    for path, form in files.items():
        if form == "html":
            write_text(path, shares_html(found, first=first, second=second, told=told))
        else:
            figure = shares_figure([ShareCurve.of(one) for one in found], first=first, second=second)
            write_bytes_whole(path, figure_bytes(figure, form))
        note(f"{path}: written")


def _oracle_text(found: Sequence[Oracle], runs: Sequence[Run]) -> str:
    from termwise.evaluate import Column, Table, to_text

    first, second = (run.name for run in runs)
    rows = [one.summary() for one in found]
    values = {"first": first, "second": second, "fixed": "one share", "oracle": "each its own"}
    shares = {"alpha": "one share", "mean alpha, others": "mean"}
    counts = {"best at 0": "at 0", "best at 1": "at 1", "indifferent": "any"}
    quartiles = ("25 %", "50 %", "75 %")
    worth = Table(
        (
            Column("measure", "mean", "text"),
            *(Column(key, title, "measure") for key, title in values.items()),
        ),
        tuple((row["measure"], *(row[key] for key in values)) for row in rows),
    )
    chosen = Table(
        (
            Column("measure", f"share of {first}", "text"),
            *(Column(key, title, "measure") for key, title in shares.items()),
            *(Column(title, title, "measure") for title in quartiles),
            *(Column(key, title, "count") for key, title in counts.items()),
        ),
        tuple(
            (
                row["measure"],
                *(row[key] for key in shares),
                *(row["quartiles, others"] or (None,) * 3),
                *(row[key] for key in counts),
            )
            for row in rows
        ),
    )
    rule = "the nearest to the one for all" if found[0].ties == "nearest" else f"the {found[0].ties}"
    told = (
        f"{found[0].judged:,} judged queries. at 0, at 1: for so many {second}, or {first}, is as good as any share.",
        "any: for so many all shares are equally good; mean and quartiles are of the others.",
        f"Of equally good shares {rule} was taken. The oracle has read the judgments: no choice of shares does better.",
    )
    return "\n".join([to_text(worth), "", to_text(chosen), "", *told])


def _say_left_out(runs: Sequence[Run]) -> None:
    """Say how many documents the first run does not rank and others do, where nobody said what is to be fused."""
    first, *others = runs
    count = 0
    for ranking in first:
        others_of = [run[ranking.query_id] for run in others if ranking.query_id in run]
        count += len(set[str]().union(*(other.doc_ids for other in others_of)) - set(ranking.doc_ids))
    if count:
        note(
            f"left out: {count:,} documents that {first.name} does not rank for their query; "
            "--documents union fuses them too"
        )


def _learned_text(fusion: Fusion) -> str:
    from termwise.evaluate import Column, Table, to_text

    learned = fusion.learned
    if learned is None:
        return ""
    columns = (
        Column("run", "Run", "text"),
        Column("scaling", "scaling", "text"),
        Column("weight", "weight", "measure"),
        Column("alone", f"{learned.measure} alone", "measure"),
    )
    rows = tuple(zip(fusion.runs, fusion.scaling, fusion.weights, learned.alone, strict=True))
    lines = [to_text(Table(columns, rows)), ""]
    judged = "judged query" if learned.queries == 1 else f"{learned.queries} judged queries"
    lines.append(f"{learned.measure} {learned.value:.4f} fused, over the {judged}.")
    if learned.low is not None and learned.high is not None:
        place = f"The same for every share of {fusion.runs[0]} from {learned.low:.4f} to {learned.high:.4f}"
        if learned.low == learned.high:
            place = f"At a share of {fusion.runs[0]} of {learned.low:.4f}"
        several = f"{learned.ties} other places are as good"
        others = {0: "no other place is as good", 1: "1 other place is as good"}.get(
            learned.ties or 0, several
        )
        lines.append(f"{place}; {others}.")
    lines.append(
        "These are the queries that the weights were chosen on: measure on others what they are worth."
    )
    return "\n".join(lines)
