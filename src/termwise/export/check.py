"""Check of an export: the same queries in termwise and in the engine, compared."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, final

import numpy as np

from termwise.display.safe_text import error_text
from termwise.errors import (
    CorruptIndexError,
    EngineError,
    MissingExtraError,
    MissingFileError,
    ParameterError,
    TermwiseError,
)
from termwise.evaluate import evaluate
from termwise.export.folder import read_description
from termwise.export.kit.query_kit import SNOWBALL
from termwise.export.linear_form import LinearForm
from termwise.export.source import exported_source
from termwise.export.target import Publisher
from termwise.export.targets.registry import target_class
from termwise.fast_dataclass import dataclass
from termwise.filters.evaluation import as_filter
from termwise.fixes import Fix
from termwise.progress import Progress, no_progress
from termwise.records import Qrel, Query, Ranking, Run
from termwise.validation import check_count

MEASURE = "nDCG@10"
"""Measure of the rankings with judgments."""

TIE = 1e-6
"""Scores of termwise whose difference is at most this, relative to the largest score of the query, are equal for the
comparison of orders."""


NEAR = 1e-5
"""Largest difference of the score of a document in an exact export, relative to the largest score of the query."""

MOST_RESULTS = 1 << 31
"""Upper bound for the number of results, as in ``client.py``."""


class Engine(Protocol):
    """Engine of a target, in ``engine.py`` of an export."""

    def load(self, say: Any) -> None:
        """Load the data."""

    def update(self, changes: Path, say: Any) -> None:
        """Load what changed."""

    def search(self, query: Mapping[str, Any], k: int, filter: Any = None) -> list[tuple[str, float]]:
        """Return identifiers and scores of the best documents for a query of the query kit."""

    def close(self) -> None:
        """Close the connection."""


@final
@dataclass(frozen=True)
class ExportCheck:
    """Comparison of the rankings of an engine with those of termwise.

    Attributes
    ----------
    queries, k : int
        Number of queries, and of results of each.
    identical : int
        Queries with the same documents in the same order, except for documents whose scores are equal.
    overlap : float
        Mean share of the results of termwise that the engine has.
    score_difference : float
        Largest difference of the scores of a document, relative to the largest score of its query.
    tau : float
        Mean of Kendall's tau-b over the documents that both have.
    measure : str
    termwise_value, engine_value : float or None
        Means of the measure of both rankings, with judgments.
    is_mixture : bool
    native_overlap : float or None
        For a mixture, the mean share of the results of its z-scores that the engine has; None if the results may be
        all documents, because `k` is not below their number.
    native_value : float or None
        For a mixture with judgments, the mean of the measure of its z-scores.
    differing : tuple of str
        Identifiers of the first queries whose results differ.
    results : int
        Number of results of termwise, over all queries.
    without_results : int
        Number of queries without a result on both sides.
    first_difference : str
        The first difference in words; empty if there is none.
    """

    queries: int
    k: int
    identical: int
    overlap: float
    score_difference: float
    tau: float
    measure: str
    termwise_value: float | None
    engine_value: float | None
    is_mixture: bool
    native_overlap: float | None
    native_value: float | None
    differing: tuple[str, ...]
    results: int
    without_results: int
    first_difference: str

    @property
    def is_exact(self) -> bool:
        """Whether all queries have the same documents in the same order, with scores equal to 1e-5."""
        return self.identical == self.queries and self.score_difference <= NEAR


def check_export(
    path: str | Path,
    folder: str | Path,
    queries: Iterable[Query],
    *,
    at: str | None = None,
    k: int = 1000,
    filter: str | Mapping[str, Any] | None = None,
    qrels: Sequence[Qrel] | None = None,
    progress: Progress = no_progress,
) -> ExportCheck:
    """Search an index and its export with the same queries, and compare the results.

    Queries are encoded by the query kit of the export, and searched by its ``engine.py``, as its users do. If the
    export has no kit, termwise encodes them.

    Parameters
    ----------
    path : str or Path
        Folder of the index or mixture.
    folder : str or Path
        Folder of the export, whose data were loaded into the engine.
    queries : iterable of Query
        Queries with distinct identifiers.
    at : str, optional
        Where the engine is; ``engine.py`` says what this means.
    k : int, optional
        Number of results that are compared.
    filter : str or mapping, optional
        Condition on attributes, which is translated for the engine.
    qrels : sequence of Qrel, optional
        Judgments, for nDCG@10 of both.
    progress : callable, optional
        Called with a stage, the number of queries done, and their total.

    Raises
    ------
    MissingFileError, CorruptIndexError
        If the folder holds no finished export, or one of another index or generation.
    ParameterError
        If the export has no engine, or an argument is out of range.
    MissingExtraError
        If the library of the engine is missing.

    Examples
    --------
    >>> import tempfile, termwise
    >>> from termwise.export import export_index
    >>> documents = [termwise.Document("a", "green tea"), termwise.Document("b", "black tea")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = termwise.build_index(documents, f"{folder}/tea.tw", model="bm25")
    ...     _ = export_index(f"{folder}/tea.tw", "sqlite", f"{folder}/out")
    ...     found = check_export(f"{folder}/tea.tw", f"{folder}/out", [termwise.Query("1", "green tea")])
    >>> found.identical, found.score_difference
    (1, 0.0)
    """
    check_count("k", k, most=MOST_RESULTS)
    asked = list(queries)
    if not asked:
        raise ParameterError("a check needs at least one query")
    exported = Path(folder).resolve()
    description = read_description(exported, published=True)
    source = exported_source(path, description)
    if description["source"] != source.identity:
        is_other = source.generation <= description["generation"]
        anew = "if the index was built anew, export it anew, and replace what the engine holds"
        raise ParameterError(
            "the export was made from another index"
            if is_other
            else "the export was made from another index, or before its last change",
            facts=[
                ("index", path),
                ("export", folder),
                ("generation of the index", source.generation),
                ("generation of the export", description["generation"]),
            ],
            fixes=["give the index that was exported", anew]
            if is_other
            else [
                Fix.sentence(
                    "export the changes, and load them: {}",
                    Fix.call("export_changes", path, folder),
                ),
                anew,
            ],
        )
    form = LinearForm(source)
    kind = target_class(description["target"])
    condition, translated = None, None
    if filter is not None and not issubclass(kind, Publisher):
        condition = as_filter(filter, source.schema)
        translated = kind().filter(condition, source.schema)
    elif issubclass(kind, Publisher) and (filter is not None or at is not None):
        raise ParameterError(
            f"{kind.title} is searched in its folder, and compared without a filter",
            facts=[("target", kind.name)],
            fixes=[Fix.omit(name) for name, value in (("filter", filter), ("at", at)) if value is not None],
        )
    ours, theirs, native = [], [], []
    with _open_search(exported, at, form, description, translated) as search:
        for number, query in enumerate(asked):
            ours.append(_named(form.rank(query.text, k=k, filter=condition), query))
            theirs.append(search(query.text, k))
            if source.is_mixture:
                native.append(_named(source.searcher.rank(query.text, k=k, filter=condition), query))
            progress("compare", number + 1, len(asked))
    compared = [compare_rankings(one, other, k) for one, other in zip(ours, theirs, strict=True)]
    ranked = [_in_order(found, query) for found, query in zip(theirs, asked, strict=True)]

    def value(rankings: Sequence[Ranking]) -> float | None:
        if qrels is None or not rankings:
            return None
        return evaluate(Run(rankings, "run"), qrels, [MEASURE]).means[MEASURE]

    return ExportCheck(
        queries=len(asked),
        k=k,
        identical=sum(each.identical for each in compared),
        overlap=float(np.mean([each.overlap for each in compared])),
        score_difference=max(each.difference for each in compared),
        tau=float(np.mean([each.tau for each in compared])),
        measure=MEASURE,
        termwise_value=value(ours),
        engine_value=value(ranked),
        is_mixture=source.is_mixture,
        native_overlap=None
        if not native or k >= source.index.documents
        else float(np.mean([_overlap(one, other) for one, other in zip(native, ranked, strict=True)])),
        native_value=value(native),
        differing=tuple(
            query.query_id for query, each in zip(asked, compared, strict=True) if not each.identical
        )[:10],
        results=sum(len(each.doc_ids) for each in ours),
        without_results=sum(
            not len(one.doc_ids) and not found for one, found in zip(ours, theirs, strict=True)
        ),
        first_difference=next(
            (
                f"query {query.query_id}, {difference_of(one, found)}"
                for query, one, found, each in zip(asked, ours, theirs, compared, strict=True)
                if not each.identical
            ),
            "",
        ),
    )


def difference_of(ours: Ranking, theirs: Sequence[tuple[str, float]]) -> str:
    """Return the first difference of two rankings in words, without regard to equal scores.

    Examples
    --------
    >>> difference_of(Ranking(["a", "b"], [2.0, 1.0]), [("a", 2.0), ("c", 1.0)])
    'rank 2: b with 1 in the index, c with 1 in the engine'
    """
    expected = list(zip(ours.doc_ids, ours.scores.tolist(), strict=True))
    unit = max((abs(score) for _, score in expected), default=1.0) or 1.0
    for rank in range(max(len(expected), len(theirs))):
        pair = [side[rank] if rank < len(side) else None for side in (expected, theirs)]
        one, other = pair
        if one is None or other is None or one[0] != other[0] or abs(one[1] - other[1]) > NEAR * unit:
            seen = ["nothing" if each is None else f"{each[0]} with {each[1]:.6g}" for each in pair]
            return f"rank {rank + 1}: {seen[0]} in the index, {seen[1]} in the engine"
    return "documents that occur twice"


@final
@dataclass(frozen=True)
class RankingComparison:
    """Comparison of two rankings of one query; see `ExportCheck`."""

    identical: bool
    overlap: float
    difference: float
    tau: float


def compare_rankings(ours: Ranking, theirs: Sequence[tuple[str, float]], k: int) -> RankingComparison:
    """Compare the results of an engine with a ranking, whose documents with equal scores may have any order.

    If both are cut at `k` documents, other documents may take the place of those whose score equals the last one.

    Examples
    --------
    >>> ours = Ranking(["a", "b", "c"], [2.0, 1.0, 1.0])
    >>> compare_rankings(ours, [("a", 2.0), ("c", 1.0), ("b", 1.0)], 10).identical
    True
    >>> compare_rankings(ours, [("b", 2.0), ("a", 1.0), ("c", 1.0)], 10).identical
    False
    """
    expected = dict(zip(ours.doc_ids, ours.scores.tolist(), strict=True))
    seen = dict(theirs)
    common = [doc_id for doc_id in seen if doc_id in expected]
    unit = max(map(abs, expected.values()), default=0.0) or 1.0
    differences = [abs(expected[doc_id] - seen[doc_id]) / unit for doc_id in common]
    other = ours.scores[-1] if len(expected) == k else np.inf
    identical = len(theirs) == len(seen) == len(expected) and all(
        abs(expected.get(doc_id, other) - score) <= TIE * unit and abs(score - found) <= NEAR * unit
        for (doc_id, found), score in zip(theirs, ours.scores.tolist(), strict=False)
    )
    return RankingComparison(
        identical,
        len(common) / len(expected) if expected else 1.0,
        max(differences, default=0.0),
        _tau([expected[doc_id] for doc_id in common], [seen[doc_id] for doc_id in common]),
    )


def _tau(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return Kendall's tau-b of two lists of scores of the same documents; 1 if either list has equal scores only."""
    from scipy.stats import kendalltau

    if len(set(ours)) < 2 or len(set(theirs)) < 2:
        return 1.0
    return float(kendalltau(ours, theirs).statistic)


def _in_order(found: Sequence[tuple[str, float]], query: Query) -> Ranking:
    """Return the ranking of the results of an engine in its order, whatever its scores are."""
    return Ranking([doc_id for doc_id, _ in found], np.arange(len(found), 0, -1), query.query_id)


def _overlap(one: Ranking, other: Ranking) -> float:
    return len({*one.doc_ids} & {*other.doc_ids}) / len(one.doc_ids) if len(one.doc_ids) else 1.0


def _named(ranking: Ranking, query: Query) -> Ranking:
    return Ranking(ranking.doc_ids, ranking.scores, query.query_id)


@contextmanager
def _open_search(
    folder: Path, at: str | None, form: LinearForm, description: Mapping[str, Any], condition: Any
) -> Iterator[Callable[[str, int], list[tuple[str, float]]]]:
    """Open the search of an export: its engine behind its query kit, or that of a folder that a site publishes."""
    target = target_class(description["target"])()
    if isinstance(target, Publisher):
        with target.opened(form.source, folder) as published:
            yield published.search
        return
    kit = _query_kit(folder / "query_kit") if (folder / "query_kit").is_dir() else form
    with open_engine(folder, at) as engine:
        held = engine.generation() if hasattr(engine, "generation") else description["generation"]
        if held != description["generation"]:
            raise EngineError(
                "the engine holds another generation than the export",
                facts=[("engine", held), ("export", description["generation"])],
                fixes=["load the data, or the changes: client.py in the folder of the export"],
            )
        yield lambda text, k: engine.search(kit.query(text), k, condition)


@contextmanager
def open_engine(folder: Path, at: str | None) -> Iterator[Engine]:
    """Open the engine of an export, and close it at the end.

    Raises
    ------
    ParameterError
        If the target is a file format.
    MissingExtraError
        If the library of the engine is missing.
    EngineError
        If the engine cannot be reached, or refuses a request, also inside the context.
    """
    folder = folder.resolve()
    description = read_description(folder, published=True)
    kind = target_class(description["target"])
    if not kind.engine:
        raise ParameterError(
            f"{kind.title}: a file format or a folder of a site, and no engine holds its data",
            facts=[("export", folder), ("target", kind.name)],
            fixes=["compare an export to an engine, such as sqlite, which has the same scores"],
        )
    facts = [("engine", kind.title), ("at", at or "the default of engine.py"), ("export", folder)]
    engine: Engine | None = None
    try:
        engine = program(folder / "engine.py").Engine(folder, at)
        assert engine is not None, "it was made"
        yield engine
    except (TermwiseError, KeyboardInterrupt):
        raise
    except ImportError as error:
        if f"{error.name}.py" in kind.helpers:
            raise MissingFileError(
                "a program of the export is missing",
                facts=[("file", folder / f"{error.name}.py")],
                fixes=["export the index anew"],
            ) from error
        raise MissingExtraError.of(str(error.name), kind.extra, f"searching in {kind.title}") from error
    except SystemExit as error:  # of a program of the export, with a message
        raise EngineError(str(error.code), facts=facts) from error
    except Exception as error:
        raise EngineError(
            "the engine cannot be reached, or refuses a request",
            facts=[*facts, ("reason", error_text(error))],
            fixes=[
                "load the data: python client.py load in the folder of the export",
                Fix.use(at="LOCATION"),
            ],
        ) from error
    finally:
        if engine is not None:
            engine.close()


def _query_kit(folder: Path) -> Any:
    """Open the query kit of an export; raise `CorruptIndexError` if it is damaged."""
    try:
        return program(folder / "query_kit.py").QueryKit(folder)
    except ImportError as error:
        raise MissingExtraError(
            f"the query kit of the export needs {error.name}, which is not installed or has another version",
            facts=[("folder", folder)],
            fixes=[f"pip install '{error.name}=={SNOWBALL}.*'"],
        ) from error
    except (ValueError, AttributeError, SyntaxError) as error:
        raise CorruptIndexError(
            "the query kit of the export is damaged",
            facts=[("folder", folder), ("reason", error_text(error))],
            fixes=["export the index anew"],
        ) from error


def check_files(folder: Path) -> None:
    """Compare the data of an export with the checksums in ``export.json``, except databases, which change.

    Raises
    ------
    CorruptIndexError
        If a file is missing or damaged.
    """
    folder = folder.resolve()
    description = read_description(folder)
    damaged: list[str] = program(folder / "client.py").damaged_files(folder, description)
    if damaged:
        raise CorruptIndexError(
            "files of the export are missing or damaged",
            facts=[("export", folder), ("files", ", ".join(damaged[:5]))],
            fixes=["export the index anew"],
        )


def program(path: Path) -> ModuleType:
    """Import a program of an export, with the files beside it."""
    name = f"termwise_export_{path.stem}_{abs(hash(path))}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise MissingFileError("a program of the export is missing", facts=[("file", path)])
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
        for helper in path.parent.glob("*.py"):  # another export has files of the same names
            sys.modules.pop(helper.stem, None)
    return module
