"""One run against judgments: a value per query and measure.

What is evaluated is exactly what is ranked. Evaluators sort a run by score and break ties each in their own
way (trec_eval by descending document id, others by ascending), so they are never shown the scores: they get
:meth:`termwise.records.Ranking.surrogates`, which decrease strictly in our order. Nor are they shown the
identifiers, which are replaced by numbers on the way: no evaluator can stumble over a space or another
script in an id, or order by it.

Rules, each counted in :class:`Counts`:

missing query
    Judged, but not in the run. ``missing="zero"``: it counts 0 under every measure. ``missing="skip"``: the
    averages are over the queries that are in the run. A query that is in the run with no document at all was
    answered with nothing; it counts 0 under both.
query without judgments
    In the run, but not judged. It is ignored.
query without relevant documents
    Judged, and no grade reaches 1. It stays in the average with the value that trec_eval gives it, 0 for
    every measure of ranking quality (ir_measures does the same). Likewise AP(rel=2) is 0 where no grade
    reaches 2.
negative grade
    Gains nothing, like 0; Bpref and infAP take it for "not in the pool", as trec_eval does.
excluded document
    Removed from the ranking and from the judgments before any measure, and so before any cutoff: what stood
    below moves up. Judgments then read as if the line had never been there; a query that loses its only one
    is a query without judgments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import shown
from termwise.errors import DataError, DuplicateIdError, ParameterError, UnknownIdError
from termwise.evaluate.measures import LARGEST_RELEVANCE, is_count, parse_measures
from termwise.evaluate.number_format import json_line, shortlist
from termwise.records import Excluded, Exclusion, Qrel, Run

if TYPE_CHECKING:
    from ir_measures import Measure

MissingRule = Literal["zero", "skip"]
"""What a judged query that is not in the run counts: 0, or nothing at all."""

_BATCH = 1000


@dataclass(frozen=True)
class Counts:
    """How many queries and documents an evaluation is about.

    Attributes
    ----------
    queries : int
        Queries the averages are over.
    missing : int
        Judged queries that are not in the run, whichever rule is applied to them.
    unjudged : int
        Queries of the run that are not judged, and ignored.
    without_relevant : int
        Queries among `queries` for which no document is judged relevant.
    excluded_documents, excluded_judgments : int
        Lines dropped from the rankings of judged queries, and from the judgments.
    """

    queries: int
    missing: int
    unjudged: int
    without_relevant: int
    excluded_documents: int = 0
    excluded_judgments: int = 0


@final
@dataclass(frozen=True, eq=False)
class Evaluation:
    """The values of one run, per query and in mean.

    Attributes
    ----------
    run : str
        Name of the run.
    query_ids : tuple of str of length n
        The queries averaged over, in the order of the judgments.
    values : mapping of str to ndarray of shape (n,), float64
        For each measure, by its canonical name, one value a query; read-only.
    counts : Counts
        Queries and documents met, missed and left out.
    missing : {"zero", "skip"}
        The rule for missing queries.
    exclusion : {"none", "id", "listed"}
        Which documents were left out: none, those with the query's own id, or those of a list.

    Examples
    --------
    >>> from termwise.records import Qrel, Ranking, Run
    >>> run = Run([Ranking(["a", "b"], [2.0, 1.0], query_id="q1")], name="mine")
    >>> result = evaluate(run, [Qrel("q1", "b", 1), Qrel("q2", "a", 1)], ["RR@10", "P@1"])
    >>> result.means
    {'RR@10': 0.25, 'P@1': 0.0}
    >>> result.values["RR@10"].tolist(), result.counts.missing
    ([0.5, 0.0], 1)
    """

    run: str
    query_ids: tuple[str, ...]
    values: Mapping[str, npt.NDArray[np.float64]]
    counts: Counts
    missing: MissingRule
    exclusion: Literal["none", "id", "listed"]

    @property
    def measures(self) -> tuple[str, ...]:
        """Canonical names of the measures, in the order asked for."""
        return tuple(self.values)

    @property
    def means(self) -> dict[str, float | None]:
        """Average over the queries; None without a query.

        For the measures that count (NumQ, NumRel, NumRet) the total, as in ir_measures.
        """
        if not self.query_ids:
            return dict.fromkeys(self.values)
        return {
            name: float(values.sum() if is_count(name) else values.mean())
            for name, values in self.values.items()
        }

    def select(self, query_ids: Iterable[str]) -> Evaluation:
        """Return the same evaluation over some of its queries.

        Parameters
        ----------
        query_ids : iterable of str
            Which to keep; their order here does not matter.

        Returns
        -------
        Evaluation
            With ``counts.queries`` adapted; the other counts still describe the run as a whole.

        Raises
        ------
        UnknownIdError
            If one of them is not in this evaluation.
        """
        wanted = set(query_ids)
        unknown = sorted(wanted.difference(self.query_ids))
        if unknown:
            raise UnknownIdError(
                "a query is not part of this evaluation",
                facts=[("run", self.run), ("queries", shortlist(unknown))],
            )
        rows = np.array([query_id in wanted for query_id in self.query_ids], dtype=np.bool_)
        counts = Counts(**{**asdict(self.counts), "queries": int(rows.sum())})
        return Evaluation(
            self.run,
            tuple(q for q in self.query_ids if q in wanted),
            {name: _read_only(values[rows]) for name, values in self.values.items()},
            counts,
            self.missing,
            self.exclusion,
        )

    def rows(self) -> Iterator[dict[str, str | float]]:
        """Yield one flat record a query: ``run``, ``query_id`` and each measure under its name."""
        columns = {name: values.tolist() for name, values in self.values.items()}
        for row, query_id in enumerate(self.query_ids):
            yield {
                "run": self.run,
                "query_id": query_id,
                **{name: column[row] for name, column in columns.items()},
            }

    def to_json_lines(self, *, per_query: bool = False) -> Iterator[str]:
        """Yield JSON objects, one a line: first the averages, then on request one a query.

        Parameters
        ----------
        per_query : bool, optional
            Whether to add the queries.

        Yields
        ------
        str
            ``{"kind": "mean", "run": …, "measures": {name: value}, "counts": {…}, "missing": …,
            "exclusion": …}``, then ``{"kind": "query", "run": …, "query_id": …, "measures": {name: value}}``.
            Numbers are written in full, so that reading them gives the same float64. An average over no
            query is null.
        """
        yield json_line(
            {
                "kind": "mean",
                "run": self.run,
                "measures": self.means,
                "counts": asdict(self.counts),
                "missing": self.missing,
                "exclusion": self.exclusion,
            }
        )
        if per_query:
            for record in self.rows():
                run, query_id = record.pop("run"), record.pop("query_id")
                yield json_line({"kind": "query", "run": run, "query_id": query_id, "measures": record})


def _read_only(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    values.setflags(write=False)
    return values


def evaluate(
    run: Run,
    qrels: Iterable[Qrel],
    measures: Iterable[str | Measure],
    *,
    missing: MissingRule = "zero",
    exclude: Exclusion = None,
) -> Evaluation:
    """Evaluate one run. For several runs with the same judgments, make one :class:`Evaluator`.

    Parameters
    ----------
    run : Run
        The rankings. Their order is what is evaluated; scores only have to agree with it.
    qrels : iterable of Qrel
        The judgments.
    measures : iterable of str or ir_measures.Measure
        As :func:`~termwise.evaluate.parse_measures` reads them.
    missing : {"zero", "skip"}, optional
        What a judged query that is not in the run counts; see the top of this module.
    exclude : mapping of str to str or set of str, or "id", optional
        Documents to drop from rankings and judgments, by query: a listed id, several, or with ``"id"`` the
        document whose id equals the query's. Nothing is left out unless asked for.

    Returns
    -------
    Evaluation

    Raises
    ------
    UnknownNameError, ParameterError, MissingExtraError
        If a measure or an option cannot be used.
    DuplicateIdError
        If a document is judged twice for one query, with different grades.
    DataError
        If there is no judgment, a grade is out of range, or run and judgments share no query.

    Examples
    --------
    A query whose own document is found first, and left out:

    >>> from termwise.records import Qrel, Ranking, Run
    >>> run = Run([Ranking(["seed", "b"], [9.0, 1.0], query_id="q")])
    >>> qrels = [Qrel("q", "seed", 1), Qrel("q", "b", 1)]
    >>> evaluate(run, qrels, ["P@1", "R@1"], exclude={"q": "seed"}).means
    {'P@1': 1.0, 'R@1': 1.0}
    """
    return Evaluator(qrels, measures, missing=missing, exclude=exclude).evaluate(run)


@final
class Evaluator:
    """Judgments and measures made ready once, for any number of runs.

    Parameters are those of :func:`evaluate`. Evaluating changes nothing in the evaluator.

    Examples
    --------
    >>> from termwise.records import Qrel, Ranking, Run
    >>> evaluator = Evaluator([Qrel("q", "b", 1)], ["RR"])
    >>> for order in (["a", "b"], ["b", "a"]):
    ...     print(evaluator.evaluate(Run([Ranking(order, [1.0, 1.0], query_id="q")])).means)
    {'RR': 0.5}
    {'RR': 1.0}
    """

    def __init__(
        self,
        qrels: Iterable[Qrel],
        measures: Iterable[str | Measure],
        *,
        missing: MissingRule = "zero",
        exclude: Exclusion = None,
    ) -> None:
        if missing not in ("zero", "skip"):
            raise ParameterError(
                "a missing query counts zero or is skipped",
                facts=[("missing", repr(missing)), ("expected", "'zero' or 'skip'")],
            )
        self._missing: MissingRule = missing
        self._excluded = Excluded.of(exclude)
        self._measures = parse_measures(measures)
        table, self._excluded_judgments = self._read(qrels)
        self._query_ids = tuple(table)
        self._without_relevant = np.array(
            [all(grade < 1 for grade in grades.values()) for grades in table.values()], dtype=np.bool_
        )
        # Query i is shown to the evaluators as "i+1", its judged documents as "j0", "j1", ….
        self._rows = {query_id: row for row, query_id in enumerate(table)}
        self._codes = [
            {doc_id: f"j{number}" for number, doc_id in enumerate(grades)} for grades in table.values()
        ]
        self._evaluators = self._prepare(
            {
                str(row + 1): {f"j{number}": grade for number, grade in enumerate(grades.values())}
                for row, grades in enumerate(table.values())
            }
        )

    @property
    def measures(self) -> tuple[str, ...]:
        """Canonical names of the measures."""
        return tuple(str(measure) for measure in self._measures)

    @property
    def query_ids(self) -> tuple[str, ...]:
        """The judged queries, in the order of the judgments."""
        return self._query_ids

    def evaluate(self, run: Run) -> Evaluation:
        """Evaluate one run; see :func:`evaluate`."""
        rows, excluded = [], 0
        values = {m: np.full(len(self._query_ids), m.DEFAULT, dtype=np.float64) for m in self._measures}
        batch: dict[str, dict[str, float]] = {}
        for ranking in run:
            row = self._rows.get(ranking.query_id)
            if row is None:
                continue
            rows.append(row)
            kept = self._excluded.kept(ranking)
            excluded += len(ranking) - len(kept)
            if len(kept):
                codes = self._codes[row]
                names = [codes.get(doc_id) or f"u{rank}" for rank, doc_id in enumerate(kept.doc_ids)]
                batch[str(row + 1)] = dict(zip(names, kept.surrogates().tolist(), strict=True))
            if len(batch) == _BATCH:
                self._fill(values, batch)
                batch = {}
        self._fill(values, batch)
        if len(run) and not rows:
            raise DataError(
                "the run and the judgments have no query in common",
                facts=[
                    ("run", run.name),
                    ("queries of the run", shortlist(list(run.rankings))),
                    ("judged queries", shortlist(self._query_ids)),
                ],
                fixes=["check that the run was made from the queries that these judgments are about"],
            )
        used = sorted(rows) if self._missing == "skip" else list(range(len(self._query_ids)))
        return Evaluation(
            run.name,
            tuple(self._query_ids[row] for row in used),
            {str(measure): _read_only(column[used]) for measure, column in values.items()},
            Counts(
                queries=len(used),
                missing=len(self._query_ids) - len(rows),
                unjudged=len(run) - len(rows),
                without_relevant=int(self._without_relevant[used].sum()),
                excluded_documents=excluded,
                excluded_judgments=self._excluded_judgments,
            ),
            self._missing,
            self._excluded.rule,
        )

    def _fill(
        self, values: Mapping[Measure, npt.NDArray[np.float64]], batch: Mapping[str, dict[str, float]]
    ) -> None:
        if not batch:
            return
        for evaluator in self._evaluators:
            for metric in evaluator.iter_calc(batch):
                if metric.query_id in batch:  # the others are reported with their default
                    values[metric.measure][int(metric.query_id) - 1] = metric.value

    def _read(self, qrels: Iterable[Qrel]) -> tuple[dict[str, dict[str, int]], int]:
        table: dict[str, dict[str, int]] = {}
        excluded = total = 0
        conflicts: list[str] = []
        for qrel in qrels:
            total += 1
            grade = qrel.relevance
            if (
                not isinstance(grade, int | np.integer)
                or not -LARGEST_RELEVANCE <= grade <= LARGEST_RELEVANCE
            ):
                raise DataError(
                    "a grade of relevance is not a whole number in the supported range",
                    facts=[
                        ("query", qrel.query_id),
                        ("document", qrel.doc_id),
                        ("relevance", shown(grade)),
                        ("expected", f"-{LARGEST_RELEVANCE} to {LARGEST_RELEVANCE}"),
                    ],
                )
            if qrel.doc_id in self._excluded.of_query(qrel.query_id):
                excluded += 1
                continue
            grades = table.setdefault(qrel.query_id, {})
            if grades.setdefault(qrel.doc_id, int(grade)) != grade:
                conflicts.append(f"{qrel.query_id!r} {qrel.doc_id!r}: {grades[qrel.doc_id]} and {grade}")
        if conflicts:
            raise DuplicateIdError(
                "a document is judged twice for one query, with different grades",
                facts=[("conflicts", len(conflicts)), ("first", "\n".join(conflicts[:3]))],
                fixes=["keep one judgment for each query and document"],
            )
        if not table:
            left = " after leaving out the excluded documents" if total else ""
            raise DataError(
                f"there is no judgment{left}",
                facts=[("judgments", total), ("excluded", excluded)],
                fixes=["check the file of judgments: one line for each judged query and document"],
            )
        return table, excluded

    def _prepare(self, table: dict[str, dict[str, int]]) -> list[Any]:
        import ir_measures

        highest = max(grade for grades in table.values() for grade in grades.values())
        for measure in self._measures:
            exponential = measure.NAME == "ERR" or "exp-log2" in measure.params.values()
            if exponential and highest > 4:
                raise DataError(
                    f"{measure} is defined for grades up to 4",
                    facts=[
                        ("highest grade", highest),
                        ("computed by", "gdeval.pl, as shipped with ir_measures"),
                    ],
                    fixes=["use nDCG with its default gains", "judge on a scale from 0 to 4"],
                )
        # Measures with gains of their own go to evaluators of their own: ir_measures 0.4.3 may hand the changed
        # grades to an nDCG without gains in the same evaluator, as the order of a set has it.
        plain = [measure for measure in self._measures if not _has_gains(measure)]
        groups = [plain] if plain else []
        groups += [[measure] for measure in self._measures if _has_gains(measure)]
        return [ir_measures.evaluator(group, table) for group in groups]


def _has_gains(measure: Measure) -> bool:
    return "gains" in measure.params
