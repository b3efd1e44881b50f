"""Options and messages that `fuse`, `learn-weights` and `fuse-indexes` share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from termwise.cli.judged import load_queries
from termwise.cli.options import option
from termwise.cli.terminal import counted, note
from termwise.errors import DataError, UsageError
from termwise.storage.safe_read import is_file

if TYPE_CHECKING:
    from termwise.fusion import Fusion, QueryScales
    from termwise.records import Run

Alpha = Annotated[float | None, option("--alpha A", "Weight of the first of two, 0 to 1.")]
Weights = Annotated[
    Path | None,
    option(
        "--weights FILE|W,W,...",
        "Weights file written by termwise learn-weights or termwise tune, or one number for each.",
    ),
]
MissingScore = Annotated[
    str | None,
    option(
        "--missing drop|minimum|zero",
        "Score of a document that a run does not rank: the document is dropped, or it gets the lowest "
        "score of the run for the query, or 0. Required for runs, there is no default.",
    ),
]
Normalise = Annotated[
    list[str] | None,
    option(
        "--normalise NORMALISATION",
        "z, minmax, global, raw, idf or query-length; one for all runs, or one for each.  [default: z]",
    ),
]
Documents = Annotated[
    str | None,
    option(
        "--documents first|union",
        "Fuse the documents of the first run, or those of all runs.  [default: first]",
    ),
]
ScalingQueries = Annotated[
    str | None, option("--queries FILE", "Texts of the queries, for --normalise idf and query-length.")
]
ScalingIndexes = Annotated[
    list[Path] | None,
    option("--index DIR", "Index for idf and query length; one for all runs, or one for each."),
]


def check_count(paths: Sequence[Path], noun: str) -> None:
    """Refuse fewer than two runs or indexes."""
    if len(paths) < 2:
        raise UsageError(
            "there is nothing to fuse", facts=[(noun, len(paths))], fixes=[f"give two {noun} or more"]
        )


def chosen_weights(
    paths: Sequence[Path], noun: str, alpha: float | None, weights: Path | None, *, rrf: bool | None = None
) -> tuple[float, ...] | None:
    """Return one weight for each of the runs or indexes; None for a weights file and for reciprocal rank fusion.

    `noun` is ``runs`` or ``indexes``. `rrf` is None for a command that lacks this option.
    """
    from termwise.fusion.interpolation import shares_of

    ways = {"--alpha": alpha is not None, "--weights": weights is not None}
    examples = ["--alpha 0.5", "--weights 0.2,0.3,0.5", "--weights FILE, from termwise learn-weights"]
    if rrf is not None:
        ways["--rrf"] = rrf
        examples.append("--rrf")
    given = [name for name, is_given in ways.items() if is_given]
    if len(given) > 1:
        raise UsageError(
            f"there are two ways to weigh the {noun}; give only one of {', '.join(ways)}",
            facts=[("given", ", ".join(given))],
            fixes=[f"omit {name}" for name in given],
        )
    if not given:
        raise UsageError(f"say how to weigh the {noun}: one of {', '.join(ways)}", fixes=examples)
    if alpha is None:
        return weight_numbers(weights, paths, noun)
    if len(paths) != 2:
        raise UsageError(
            f"--alpha is the weight of the first of two {noun}",
            facts=[(noun, ", ".join(map(str, paths)))],
            fixes=[
                f"--weights {','.join(['W'] * len(paths))}, one number for each",
                "--weights FILE, from termwise learn-weights",
            ],
        )
    return shares_of(alpha)


def weight_numbers(weights: Path | None, paths: Sequence[Path], noun: str) -> tuple[float, ...] | None:
    """Return the numbers that are given in place of a weights file; None for a file.

    Examples
    --------
    >>> weight_numbers(Path("0.2,0.8"), [Path("one.tw"), Path("other.tw")], "indexes")
    (0.2, 0.8)
    >>> weight_numbers(Path("weights.json"), [], "indexes")
    """
    if weights is None or is_file(weights):
        return None
    try:
        numbers = tuple(float(part) for part in str(weights).split(","))
    except ValueError:
        return None
    if len(numbers) != len(paths):
        raise UsageError(
            f"--weights needs one number for each of the {noun}",
            facts=[("weights", len(numbers)), (noun, ", ".join(map(str, paths)))],
            fixes=[f"--weights {','.join(['W'] * len(paths))}"],
        )
    return numbers


def check_missing_given(missing: str | None) -> None:
    """Refuse a fusion without a rule for missing documents."""
    if missing is None:
        raise UsageError(
            "--missing is required: no default is right for all runs",
            facts=[
                ("drop", "the document is not fused"),
                ("minimum", "the lowest score of the run for this query"),
                ("zero", "0; refused for runs with scores below 0"),
            ],
            fixes=["--missing minimum", "--missing drop", "--missing zero"],
        )


def check_common_queries(runs: Sequence[Run]) -> None:
    """Refuse runs that share no query with the first."""
    first = runs[0]
    for run in runs[1:]:
        if len(first) and len(run) and not set(first.rankings) & set(run.rankings):
            raise DataError(
                "two runs have no query in common",
                facts=[
                    ("run", f"{first.name}, with queries such as {next(iter(first.rankings))}"),
                    ("run", f"{run.name}, with queries such as {next(iter(run.rankings))}"),
                ],
                fixes=["give runs of the same queries"],
            )


def one_or_each(values: Sequence[Any]) -> Any:
    """Return the value that applies to all runs, or the list with one value for each."""
    return values[0] if len(values) == 1 else list(values)


def fusion_rules(missing: str | None, normalise: list[str] | None, documents: str | None) -> dict[str, Any]:
    """Return the rules of a fusion as keyword arguments; `termwise.fusion` checks the names."""
    return {
        "missing": missing,
        "scaling": one_or_each(normalise or ["z"]),
        "documents": documents or "first",
    }


def query_scales(
    scalings: Sequence[str], queries: str | None, folders: Sequence[Path]
) -> QueryScales | list[QueryScales | None] | None:
    """Return the query statistics for the normalisations idf and query-length; None for others."""
    needed = {"idf", "query-length"} & set(scalings)
    if not needed:
        if queries is not None or folders:
            raise UsageError(
                "--queries and --index apply only to the normalisations idf and query-length",
                fixes=["add --normalise idf", "omit them"],
            )
        return None
    if queries is None or not folders:
        raise UsageError(
            f"the normalisation {' and '.join(sorted(needed))} needs the texts of the queries and an index",
            fixes=["add --queries FILE --index DIR"],
        )
    from termwise.fusion import QueryScales
    from termwise.index import Index

    texts = load_queries(queries)
    return one_or_each([QueryScales.of(Index.open(folder), texts) for folder in folders])  # type: ignore[no-any-return]


def note_left_out(runs: Sequence[Run], missing: str | None, documents: str | None) -> None:
    """Report how many documents only the later runs rank, if the default leaves them out."""
    if documents is not None or missing == "drop":
        return
    first, *others = runs
    count = 0
    for ranking in first:
        rankings = [run[ranking.query_id] for run in others if ranking.query_id in run]
        count += len(set[str]().union(*(other.doc_ids for other in rankings)) - set(ranking.doc_ids))
    if count:
        note(
            f"left out: {counted(count, 'document')} that {first.name} does not rank for their query; "
            "--documents union fuses them too"
        )


def note_weight_names(file: Path, fusion: Fusion, names: Sequence[str]) -> None:
    """Report which run or index gets the weight of a run with another name."""
    pairs = [pair for pair in zip(names, fusion.runs, strict=True) if pair[0] != pair[1]]
    if pairs:
        uses = ", ".join(f"{name} takes the weight of {learned_for}" for name, learned_for in pairs)
        note(f"{file}: {uses}")


def note_same_queries(file: Path, fusion: Fusion, run: Run) -> None:
    """Warn if weights are applied to the queries that they were learned on."""
    if fusion.learned is not None and fusion.learned.trained_on(run.rankings):
        note(f"{file}: the weights were learned on these queries; evaluate them on other queries")
