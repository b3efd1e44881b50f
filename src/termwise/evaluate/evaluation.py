"""Evaluation of one run against judgments: one value per query and measure.

By default the order of the ranking is measured. Evaluators sort a run by score and break ties in different ways
(trec_eval by descending document id, others by ascending), so they receive the scores of
:meth:`termwise.records.Ranking.rank_scores`, which decrease strictly in the order of the ranking. They also receive
numbers in place of identifiers, so no evaluator depends on spaces, scripts or the order of identifiers.

Rules; :class:`Counts` reports how often each one applied:

equal scores
    ``ties="ranking"``: in the order of the ranking. ``ties="trec_eval"``: as trec_eval sorts, by descending score,
    rounded to float32, then by descending document id.
missing query
    A query with judgments that is not in the run. With ``missing="zero"`` it counts 0 under every measure; with
    ``missing="skip"`` it is not part of the averages. A query of the run with an empty ranking counts 0 under both
    rules.
query without judgments
    A query of the run without judgments is ignored.
query without relevant documents
    A query whose grades are all below 1 stays in the average with the value of trec_eval, which is 0 for every measure
    of ranking quality (as in ir_measures). Likewise AP(rel=2) is 0 if no grade is 2 or more.
negative grade
    Its gain is 0. Bpref and infAP treat the document as not in the pool, as trec_eval does.
excluded document
    The document is removed from the ranking and from the judgments before any cutoff; lower documents move up. A query
    that loses its only judgment counts as a query without judgments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final, get_args

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import shown
from termwise.errors import DataError, DuplicateIdError, ParameterError
from termwise.evaluate.formats import json_line, shortlist
from termwise.evaluate.measures import LARGEST_RELEVANCE, is_count, parse_measures, provider_of
from termwise.fast_dataclass import dataclass
from termwise.records import ExcludedDocuments, Exclusion, Qrel, Ranking, Run
from termwise.validation import check_run

if TYPE_CHECKING:
    from ir_measures import Measure

MissingRule = Literal["zero", "skip"]
"""Rule for judged queries that are not in the run: count 0, or leave out of the averages."""

TieRule = Literal["ranking", "trec_eval"]
"""Order of documents with equal scores: that of the ranking, or that of trec_eval."""

_BATCH = 1000


@dataclass(frozen=True)
class Counts:
    """Numbers of queries and documents in an evaluation.

    Attributes
    ----------
    queries : int
        Queries in the averages.
    missing : int
        Judged queries that are not in the run, under either rule.
    unjudged : int
        Queries of the run without judgments; they are ignored.
    without_relevant : int
        Queries among `queries` without a relevant document.
    excluded_documents, excluded_judgments : int
        Lines removed from the rankings of judged queries, and from the judgments.
    """

    queries: int
    missing: int
    unjudged: int
    without_relevant: int
    excluded_documents: int = 0
    excluded_judgments: int = 0


@final
@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Values of one run, per query and averaged.

    Attributes
    ----------
    run : str
        Name of the run.
    query_ids : tuple of str of length n
        Queries in the averages, in the order of the judgments.
    values : mapping of str to ndarray of shape (n,), float64
        For each measure, by its canonical name, one value per query; read-only.
    counts : Counts
        Numbers of queries and documents.
    missing : {"zero", "skip"}
        Rule for missing queries.
    exclusion : {"none", "id", "listed"}
        Excluded documents: none, those with the query's own id, or listed ones.
    ties : {"ranking", "trec_eval"}
        Order of documents with equal scores.

    Examples
    --------
    >>> from termwise.records import Qrel, Ranking, Run
    >>> run = Run([Ranking(["a", "b"], [2.0, 1.0], query_id="q1")], name="mine")
    >>> result = evaluate(run, [Qrel("q1", "b", 1), Qrel("q2", "a", 1)], ["RR@10", "P@1"])
    >>> result.means
    {'RR@10': 0.25, 'P@1': 0.0}
    >>> result.values["RR@10"].tolist(), result.counts.missing
    ([0.5, 0.0], 1)
    >>> result
    Evaluation(run='mine', queries=2, means={'RR@10': 0.25, 'P@1': 0.0})
    """

    run: str
    query_ids: tuple[str, ...]
    values: Mapping[str, npt.NDArray[np.float64]]
    counts: Counts
    missing: MissingRule
    exclusion: Literal["none", "id", "listed"]
    ties: TieRule = "ranking"

    def __repr__(self) -> str:
        return f"Evaluation(run={self.run!r}, queries={len(self.query_ids)}, means={self.means})"

    def _repr_html_(self) -> str:
        from termwise.display.html import notebook_frame
        from termwise.evaluate.html import evaluation_html

        return notebook_frame(evaluation_html([self]), "Evaluation of a run")

    @property
    def measures(self) -> tuple[str, ...]:
        """Canonical names of the measures, in the order given."""
        return tuple(self.values)

    @property
    def means(self) -> dict[str, float | None]:
        """Average per measure, None without a query; the total for NumQ, NumRel and NumRet, as in ir_measures."""
        if not self.query_ids:
            return dict.fromkeys(self.values)
        return {
            name: float(values.sum() if is_count(name) else values.mean())
            for name, values in self.values.items()
        }

    def at_rows(self, rows: Sequence[int]) -> Evaluation:
        """Return the evaluation of the queries in these rows, in this order.

        Only ``counts.queries`` changes; the other counts still describe the whole run.
        """
        return replace(
            self,
            counts=replace(self.counts, queries=len(rows)),
            query_ids=tuple(self.query_ids[row] for row in rows),
            values={name: _read_only(values[list(rows)]) for name, values in self.values.items()},
        )

    def rows(self) -> Iterator[dict[str, str | float]]:
        """Yield one flat record per query: ``run``, ``query_id`` and each measure under its name."""
        columns = {name: values.tolist() for name, values in self.values.items()}
        for row, query_id in enumerate(self.query_ids):
            yield {
                "run": self.run,
                "query_id": query_id,
                **{name: column[row] for name, column in columns.items()},
            }

    def to_json_lines(self, *, per_query: bool = False) -> Iterator[str]:
        """Yield JSON objects, one per line: the averages, then optionally one object per query.

        Parameters
        ----------
        per_query : bool, optional
            Also yield the queries.

        Yields
        ------
        str
            ``{"kind": "mean", "run": …, "measures": {name: value}, "counts": {…}, "missing": …,
            "exclusion": …}``, then ``{"kind": "query", "run": …, "query_id": …, "measures": {name: value}}``.
            Numbers are written in full, so that reading them gives the same float64. An average over no
            query is null. With ``ties="trec_eval"`` the averages also hold ``"ties"``.
        """
        yield json_line(
            {
                "kind": "mean",
                "run": self.run,
                "measures": self.means,
                "counts": asdict(self.counts),
                "missing": self.missing,
                "exclusion": self.exclusion,
                **({} if self.ties == "ranking" else {"ties": self.ties}),
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
    ties: TieRule = "ranking",
) -> Evaluation:
    """Evaluate one run. For several runs with the same judgments, use one :class:`Evaluator`.

    Parameters
    ----------
    run : Run
        The rankings.
    qrels : iterable of Qrel
        The judgments.
    measures : iterable of str or ir_measures.Measure
        Measures or their names, see :func:`~termwise.evaluate.parse_measures`.
    missing : {"zero", "skip"}, optional
        Rule for judged queries that are not in the run: count 0, or leave out of the averages.
    exclude : mapping of str to str or set of str, or "id", optional
        Documents to remove from rankings and judgments, by query: one id or several; with ``"id"`` the document that
        has the id of the query.
    ties : {"ranking", "trec_eval"}, optional
        Order of documents with equal scores. ``"ranking"``: the order of the ranking. ``"trec_eval"``: the whole
        ranking is sorted as trec_eval does, by descending score, rounded to float32, then by descending document id;
        use it to compare values with those of trec_eval, pytrec_eval or PyTerrier.

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
    The query document has rank 1, and is excluded:

    >>> from termwise.records import Qrel, Ranking, Run
    >>> run = Run([Ranking(["seed", "b"], [9.0, 1.0], query_id="q")])
    >>> qrels = [Qrel("q", "seed", 1), Qrel("q", "b", 1)]
    >>> evaluate(run, qrels, ["P@1", "R@1"], exclude={"q": "seed"}).means
    {'P@1': 1.0, 'R@1': 1.0}

    Two documents with equal scores, in the order of the ranking and in that of trec_eval:

    >>> run = Run([Ranking(["a", "b"], [1.0, 1.0], query_id="q")])
    >>> [evaluate(run, qrels, ["P@1"], ties=ties).means["P@1"] for ties in ("ranking", "trec_eval")]
    [0.0, 1.0]
    """
    return Evaluator(qrels, measures, missing=missing, exclude=exclude, ties=ties).evaluate(run)


@final
class Evaluator:
    """Judgments and measures, prepared once for any number of runs; parameters as in :func:`evaluate`.

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
        ties: TieRule = "ranking",
    ) -> None:
        for name, value, rule in (("missing", missing, MissingRule), ("ties", ties, TieRule)):
            if value not in get_args(rule):
                raise ParameterError(
                    f"unknown rule for {'missing queries' if name == 'missing' else 'equal scores'}",
                    facts=[(name, repr(value)), ("expected", " or ".join(map(repr, get_args(rule))))],
                )
        self._missing: MissingRule = missing
        self._ties: TieRule = ties
        self._excluded = ExcludedDocuments.of(exclude)
        self._measures = parse_measures(measures)
        table, self._excluded_judgments = self._read(qrels)
        self._query_ids = tuple(table)
        self._without_relevant = np.array(
            [all(grade < 1 for grade in grades.values()) for grades in table.values()], dtype=np.bool_
        )
        # The evaluators receive query i as "i+1" and its judged documents as "j0", "j1", ….
        self._rows = {query_id: row for row, query_id in enumerate(table)}
        self._codes = [
            {doc_id: f"j{number}" for number, doc_id in enumerate(grades)} for grades in table.values()
        ]
        self._evaluators = _evaluators(
            self._measures,
            {
                str(row + 1): {f"j{number}": grade for number, grade in enumerate(grades.values())}
                for row, grades in enumerate(table.values())
            },
        )

    @property
    def measures(self) -> tuple[str, ...]:
        """Canonical names of the measures."""
        return tuple(str(measure) for measure in self._measures)

    @property
    def query_ids(self) -> tuple[str, ...]:
        """Judged queries, in the order of the judgments."""
        return self._query_ids

    def evaluate(self, run: Run) -> Evaluation:
        """Evaluate one run; see :func:`evaluate`."""
        check_run(run)
        rows, excluded = [], 0
        values = {m: np.full(len(self._query_ids), m.DEFAULT, dtype=np.float64) for m in self._measures}
        batch: dict[str, dict[str, float]] = {}
        for ranking in run:
            row = self._rows.get(ranking.query_id)
            if row is None:
                continue
            rows.append(row)
            kept = self._excluded.remove_from(ranking)
            excluded += len(ranking) - len(kept)
            if len(kept):
                codes = self._codes[row]
                doc_ids = kept.doc_ids if self._ties == "ranking" else _trec_eval_order(kept)
                names = [codes.get(doc_id) or f"u{rank}" for rank, doc_id in enumerate(doc_ids)]
                batch[str(row + 1)] = dict(zip(names, kept.rank_scores().tolist(), strict=True))
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
                fixes=["check that the run and the judgments are for the same queries"],
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
            self._ties,
        )

    def _fill(
        self, values: Mapping[Measure, npt.NDArray[np.float64]], batch: Mapping[str, dict[str, float]]
    ) -> None:
        """Store the values of a batch of rankings."""
        if not batch:
            return
        for group in self._evaluators:
            evaluable = {query: scores for query, scores in batch.items() if query in group.queries}
            if group.judged_only:
                evaluable = {
                    query: kept
                    for query, scores in evaluable.items()
                    if (kept := {doc: score for doc, score in scores.items() if doc.startswith("j")})
                }
            if evaluable:
                for metric in group.evaluator.iter_calc(evaluable):
                    if metric.query_id in evaluable:  # queries outside the batch have default values
                        values[group.measures[metric.measure]][int(metric.query_id) - 1] = metric.value
            for query in batch.keys() - group.queries:
                for measure in group.measures.values():
                    values[measure][int(query) - 1] = _without_relevant(measure, len(batch[query]))

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
                    "a relevance grade is not a whole number in the supported range",
                    facts=[
                        ("query", qrel.query_id),
                        ("document", qrel.doc_id),
                        ("relevance", shown(grade)),
                        ("expected", f"-{LARGEST_RELEVANCE} to {LARGEST_RELEVANCE}"),
                    ],
                )
            if qrel.doc_id in self._excluded.for_query(qrel.query_id):
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
            raise DataError(
                "all judgments are of excluded documents" if total else "there is no judgment",
                facts=[("judgments", total), ("excluded", excluded)],
                fixes=["check the judgments: one for each judged query and document"],
            )
        return table, excluded


def _trec_eval_order(ranking: Ranking) -> list[str]:
    """Return document ids as trec_eval sorts them: by descending float32 score, then by descending id."""
    with np.errstate(over="ignore"):
        scores = ranking.scores.astype(np.float32).tolist()
    return [doc_id for _, doc_id in sorted(zip(scores, ranking.doc_ids, strict=True), reverse=True)]


class _Group(NamedTuple):
    """Measures that one evaluator computes.

    `measures` are those asked for, by the one that the evaluator computes; `queries` are those that it can measure. If
    `judged_only`, it receives rankings without unjudged documents. pytrec_eval would remove those with a negative grade
    too.
    """

    measures: dict[Measure, Measure]
    queries: set[str]
    judged_only: bool
    evaluator: Any


def _evaluators(measures: Sequence[Measure], table: dict[str, dict[str, int]]) -> list[_Group]:
    import ir_measures

    highest = max(grade for grades in table.values() for grade in grades.values())
    for measure in measures:
        exponential = measure.NAME == "ERR" or "exp-log2" in measure.params.values()
        if exponential and highest > 4:
            raise DataError(
                f"{measure} is defined for grades up to 4",
                facts=[("highest grade", highest), ("computed by", "gdeval.pl, as shipped with ir_measures")],
                fixes=["use nDCG with its default gains", "judge on a scale from 0 to 4"],
            )
    # An nDCG with its own gains has its own evaluator: ir_measures 0.4.3 may pass the changed grades to another nDCG
    # in the same evaluator, depending on the order of a set.
    groups: dict[tuple[str, bool], list[Measure]] = {}
    for measure in measures:
        by_trec_eval = provider_of(measure).NAME == "pytrec_eval"
        key = str(measure) if "gains" in measure.params else "pytrec_eval" if by_trec_eval else "others"
        groups.setdefault((key, bool(measure.params.get("judged_only"))), []).append(measure)
    evaluators: list[_Group] = []
    for (key, judged_only), group in groups.items():
        judged = table
        if key != "others":
            # pytrec_eval 0.5.11 crashes on queries without a positive grade.
            gains: Mapping[int, int] = group[0].params.get("gains", {})
            judged = {
                query: grades
                for query, grades in table.items()
                if any(gains.get(grade, grade) > 0 for grade in grades.values())
            }
        computed = {_of_all_documents(measure): measure for measure in group}
        evaluator = ir_measures.evaluator(list(computed), judged) if judged else None
        evaluators.append(_Group(computed, set(judged), judged_only, evaluator))
    return evaluators


def _of_all_documents(measure: Measure) -> Measure:
    """Return a measure without its parameter ``judged_only``."""
    from ir_measures import measures

    parameters = {key: value for key, value in measure.params.items() if key != "judged_only"}
    family = measures.registry[measure.NAME]
    made: Measure = family(**parameters) if parameters else family
    return made


def _without_relevant(measure: Measure, documents: int) -> float:
    """Return the value of trec_eval for a query without relevant documents, from the length of its ranking."""
    if measure.NAME == "NumRet" and "rel" not in measure.params:
        return float(documents)
    return 1.0 if measure.NAME == "NumQ" else 0.0
