"""A fusion: weights, and all that has to be the same where they are used; and the small file that keeps one.

``fusion.json`` is a sealed JSON object (see :mod:`termwise.storage.manifest_json`)::

    format, version, checksum    "termwise-fusion", 1, and the checksum of the rest
    runs                         names of the runs that it was made for
    weights, scaling             one for each run
    missing, documents           as in `fuse`
    learned                      null, or how the weights were found: `Learned`
    settings                     one object for each run: settings of its model that were tuned with the weights
    tables                       for each run null, or name and id of the translation table that its settings were tuned
                                 for; absent where there is none
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, cast, final, get_args

from termwise.errors import DataError, MissingFileError, ParameterError
from termwise.fusion.candidates import FusedDocuments, MissingScore, check_choice
from termwise.fusion.interpolation import checked_weights, fuse
from termwise.fusion.query_scales import QueryScales
from termwise.fusion.scaling import Scaling, scalings_of
from termwise.records import Run
from termwise.storage.atomic_file import write_bytes_whole
from termwise.storage.manifest_json import Misfit, canonical_bytes, checksum_of, expect_object, expect_whole
from termwise.validation import is_finite_number

FORMAT = "termwise-fusion"
VERSION = 1

MAX_FILE = 1 << 20
"""Bytes of a file; what is longer is not read."""

Method = Literal["grid", "sweep", "ascent"]
"""How weights are learned."""

Settings = Mapping[str, str | float | bool]
"""Settings of a model, by the names of the command line."""


@final
@dataclass(frozen=True, kw_only=True)
class Learned:
    """How weights were found.

    Attributes
    ----------
    method : {"grid", "sweep", "ascent"}
        The search.
    measure : str
        What was made large, by its canonical name.
    value : float
        The mean of the measure with these weights, on the very queries they were chosen on.
    alone : tuple of float
        The same for each run alone, over the same documents.
    queries : int
        Judged queries.
    queries_sha256 : str
        Of their identifiers, sorted, each followed by a line end: tells later whether weights are used on the
        queries they were chosen on.
    low, high : float or None
        For grid and sweep: between these shares of the first run nothing changes.
    ties : int or None
        For grid and sweep: how many other intervals or points are as good.
    seed, restarts : int or None
        For ascent.
    estimate : float or None
        Where settings were tuned: the mean of the measure with what was chosen on the other queries, by parts of them.
    folds : int or None
        How many parts.
    deviations : tuple of (float or None)
        For runs that are scaled ``global``: the standard deviation of all their scores on these queries, 0 where they
        are equal. None for other runs.
    """

    method: Method
    measure: str
    value: float
    alone: tuple[float, ...]
    queries: int
    queries_sha256: str
    low: float | None = None
    high: float | None = None
    ties: int | None = None
    seed: int | None = None
    restarts: int | None = None
    estimate: float | None = None
    folds: int | None = None
    deviations: tuple[float | None, ...]

    def chose_on(self, query_ids: Iterable[str]) -> bool:
        """Tell whether these are the queries that the weights were chosen on: all of them, and no other."""
        return hash_of_queries(query_ids) == self.queries_sha256


def hash_of_queries(query_ids: Iterable[str]) -> str:
    """Return the SHA-256 of identifiers, sorted, each followed by a line end."""
    text = "".join(f"{query_id}\n" for query_id in sorted(query_ids))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@final
@dataclass(frozen=True)
class TunedTable:
    """The translation table that settings were tuned for.

    Attributes
    ----------
    name : str
        As it was given: the name of one that ships, or a path.
    id : str
        Equal ids mean equal tables, see `termwise.translation.table_manifest.TableManifest`.
    """

    name: str
    id: str


@final
@dataclass(frozen=True)
class Fusion:
    """Weights for runs, with the scaling and the rules they belong to.

    Parameters
    ----------
    runs : sequence of str
        Names of the runs, in order.
    weights : sequence of float
        One for each run, see `fuse`.
    missing : {"drop", "minimum", "zero"}
        See `fuse`.
    scaling : str or sequence of str, optional
        See `fuse`; kept as one for each run.
    documents : {"first", "union"}, optional
        See `fuse`.
    learned : Learned, optional
        How the weights were found.
    settings : sequence of mapping, optional
        One for each run: the settings of its model that were tuned with the weights, by the names of the command line;
        empty for the others, and where nothing was tuned.
    tables : sequence of (TunedTable or None), optional
        One for each run: the table that its settings were tuned for; None where that is not known, or there is none.

    Raises
    ------
    ParameterError, UnknownNameError
        See `fuse`.

    Examples
    --------
    >>> from termwise.records import Ranking
    >>> fusion = Fusion(["bm25", "tilde"], [0.25, 0.75], missing="drop", scaling="raw")
    >>> bm25 = Run([Ranking(["a", "b"], [8.0, 4.0], query_id="q")], name="bm25")
    >>> tilde = Run([Ranking(["b", "a"], [-1.0, -5.0], query_id="q")], name="tilde")
    >>> fusion.apply([bm25, tilde])["q"].scores.tolist()
    [0.25, -1.75]
    """

    runs: tuple[str, ...]
    weights: tuple[float, ...]
    missing: MissingScore
    scaling: tuple[Scaling, ...]
    documents: FusedDocuments
    learned: Learned | None
    settings: tuple[Settings, ...] = field(hash=False)
    tables: tuple[TunedTable | None, ...]

    def __init__(
        self,
        runs: Sequence[str],
        weights: Sequence[float],
        *,
        missing: MissingScore,
        scaling: Scaling | Sequence[Scaling] = "z",
        documents: FusedDocuments = "first",
        learned: Learned | None = None,
        settings: Sequence[Settings] | None = None,
        tables: Sequence[TunedTable | None] | None = None,
    ) -> None:
        check_choice("missing", missing, MissingScore)
        check_choice("documents", documents, FusedDocuments)
        object.__setattr__(self, "runs", tuple(runs))
        object.__setattr__(self, "weights", checked_weights(weights, len(self.runs)))
        object.__setattr__(self, "missing", missing)
        object.__setattr__(self, "scaling", scalings_of(scaling, len(self.runs)))
        object.__setattr__(self, "documents", documents)
        object.__setattr__(self, "learned", learned)
        object.__setattr__(self, "settings", _checked_settings(settings, len(self.runs)))
        object.__setattr__(self, "tables", _checked_tables(tables, len(self.runs)))

    def apply(
        self,
        runs: Sequence[Run],
        *,
        queries: QueryScales | Sequence[QueryScales | None] | None = None,
        name: str = "fused",
    ) -> Run:
        """Fuse runs of the same systems, for these or for other queries.

        Parameters
        ----------
        runs : sequence of Run
            In the order of `self.runs`. Their names may be others; one of these names in the place of another is
            refused.
        queries, name
            See `fuse`.

        Raises
        ------
        ParameterError
            If there is another number of runs, or one stands in the place of another.
        """
        check_order(self, [run.name for run in runs])
        return fuse(
            runs,
            self.weights,
            missing=self.missing,
            scaling=self.scaling,
            documents=self.documents,
            queries=queries,
            name=name,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, texts and numbers."""
        plain: dict[str, Any] = json.loads(json.dumps(self._body()))
        return plain

    def to_bytes(self) -> bytes:
        """Return the bytes of the file."""
        body = {"format": FORMAT, "version": VERSION, **self._body()}
        return canonical_bytes({**body, "checksum": checksum_of(body)})

    def _body(self) -> dict[str, Any]:
        body = asdict(self)
        if not any(self.tables):
            del body["tables"]
        return body

    def save(self, path: str | Path) -> None:
        """Write the file, whole or not at all; one that is there is replaced.

        Raises
        ------
        StorageError
            If the system refuses.
        """
        write_bytes_whole(Path(path), self.to_bytes())

    @classmethod
    def open(cls, path: str | Path) -> Fusion:
        """Read a file that `save` wrote.

        Raises
        ------
        MissingFileError
            If it cannot be read.
        DataError
            If it is not such a file, was changed, or was written by a later version.
        """
        path = Path(path)
        try:
            with path.open("rb") as file:
                data = file.read(MAX_FILE + 1)
        except OSError as error:
            raise MissingFileError(
                "the file of weights cannot be read",
                facts=[("file", path), ("why", error.strerror or error)],
                fixes=["termwise fuse RUN RUN --qrels FILE --learn sweep --save-weights FILE writes one"],
            ) from error
        return _parsed(data, path)


def check_order(fusion: Fusion, names: Sequence[str]) -> None:
    """Refuse systems of another number than those of a fusion, or one of them in the place of another.

    Raises
    ------
    ParameterError
        Naming both orders.
    """
    misplaced = [
        name
        for name, expected in zip(names, fusion.runs, strict=False)
        if name != expected and name in fusion.runs
    ]
    if len(names) != len(fusion.runs) or misplaced:
        raise ParameterError(
            "these are not the runs of this fusion, in their order",
            facts=[("given", ", ".join(names)), ("expected", ", ".join(fusion.runs))],
            fixes=[f"give them in this order: {' '.join(fusion.runs)}"],
        )


def _parsed(data: bytes, path: Path) -> Fusion:
    try:
        body = json.loads(data.decode("utf-8", "surrogatepass")) if len(data) <= MAX_FILE else None
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise DataError(
            "this is not a file of fusion weights",
            facts=[("file", path), ("expected", f'JSON with "format": "{FORMAT}"')],
            fixes=["give a file that termwise fuse --save-weights wrote"],
        )
    version = body.get("version")
    if type(version) is int and version > VERSION:
        raise DataError(
            "this file of fusion weights was written by a later version of termwise",
            facts=[("file", path), ("format", version), ("known here", VERSION)],
            fixes=["pip install --upgrade termwise"],
        )
    try:
        sealed = body.get("checksum") == checksum_of(body)
    except (ValueError, RecursionError):
        sealed = False  # numbers that no such file holds
    if not sealed:
        raise _damaged(path, "a file that matches its checksum", "one that does not")
    try:
        return _fusion(body)
    except Misfit as misfit:
        raise _damaged(path, misfit.expected, misfit.seen) from None
    except (ParameterError, TypeError) as error:
        raise _damaged(path, "weights, scalings and rules that fit each other", error) from None


def _damaged(path: Path, expected: str, seen: object) -> DataError:
    return DataError(
        "the file of fusion weights was changed",
        facts=[("file", path), ("expected", expected), ("seen", str(seen)[:200])],
        fixes=["copy it again, or learn the weights again"],
    )


def _fusion(body: Mapping[str, Any]) -> Fusion:
    names = {one.name for one in fields(Fusion)}
    body = expect_object({"tables": None, **body}, names | {"format", "version", "checksum"}, "an object")
    expect_whole(body["version"], "version", 1, VERSION)
    runs = [_text(value, "runs") for value in _list(body["runs"], "runs")]
    if not runs:
        raise Misfit("runs", "none")
    return Fusion(
        runs,
        [_number(value, "weights") for value in _list(body["weights"], "weights")],
        missing=cast(MissingScore, _choice(body["missing"], "missing", MissingScore)),
        scaling=[
            cast(Scaling, _choice(value, "scaling", Scaling)) for value in _list(body["scaling"], "scaling")
        ],
        documents=cast(FusedDocuments, _choice(body["documents"], "documents", FusedDocuments)),
        learned=None if body["learned"] is None else _learned(body["learned"], len(runs)),
        settings=[_settings(value) for value in _list(body["settings"], "settings")],
        tables=None
        if body["tables"] is None
        else [_table(value) for value in _list(body["tables"], "tables")],
    )


def _settings(value: object) -> Settings:
    if not isinstance(value, dict):
        raise Misfit("settings as objects", type(value).__name__)
    for name, given in value.items():
        if not isinstance(given, str | bool):
            _number(given, f"settings.{name}")
    return value


def _table(value: object) -> TunedTable | None:
    if value is None:
        return None
    body = expect_object(value, {one.name for one in fields(TunedTable)}, "tables")
    return TunedTable(_text(body["name"], "tables.name"), _text(body["id"], "tables.id"))


def _checked_tables(tables: Sequence[TunedTable | None] | None, runs: int) -> tuple[TunedTable | None, ...]:
    made = tuple(tables) if tables is not None else (None,) * runs
    if len(made) != runs:
        raise ParameterError(
            "there is a table or None for each run, or nothing for all",
            facts=[("tables", len(made)), ("runs", runs)],
        )
    return made


def _checked_settings(settings: Sequence[Settings] | None, runs: int) -> tuple[Settings, ...]:
    made = tuple(dict(one) for one in settings) if settings is not None else ({},) * runs
    if len(made) != runs:
        raise ParameterError(
            "there are settings for each run, or for none", facts=[("settings", len(made)), ("runs", runs)]
        )
    return made


def _learned(value: object, runs: int) -> Learned:
    body = expect_object(value, {one.name for one in fields(Learned)}, "learned")
    alone = tuple(_number(number, "learned.alone") for number in _list(body["alone"], "learned.alone"))
    deviations = tuple(
        None if number is None else _number(number, "learned.deviations")
        for number in _list(body["deviations"], "learned.deviations")
    )
    for where, numbers in (("alone", alone), ("deviations", deviations)):
        if len(numbers) != runs:
            raise Misfit(f"learned.{where} with {runs} numbers", len(numbers))
    low, high, estimate = (
        None if body[name] is None else _number(body[name], f"learned.{name}")
        for name in ("low", "high", "estimate")
    )
    ties, seed, restarts, folds = (
        None if body[name] is None else expect_whole(body[name], f"learned.{name}", 0)
        for name in ("ties", "seed", "restarts", "folds")
    )
    return Learned(
        method=cast(Method, _choice(body["method"], "learned.method", Method)),
        measure=_text(body["measure"], "learned.measure"),
        value=_number(body["value"], "learned.value"),
        alone=alone,
        queries=expect_whole(body["queries"], "learned.queries", 1),
        queries_sha256=_text(body["queries_sha256"], "learned.queries_sha256"),
        low=low,
        high=high,
        ties=ties,
        seed=seed,
        restarts=restarts,
        estimate=estimate,
        folds=folds,
        deviations=deviations,
    )


def _list(value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise Misfit(f"{where} as an array", type(value).__name__)
    return value


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise Misfit(f"{where}: a text", value)
    return value


def _number(value: object, where: str) -> float:
    if not is_finite_number(value):
        raise Misfit(f"{where}: a finite number", value)
    return float(value)


def _choice(value: object, where: str, kind: object) -> str:
    if not isinstance(value, str) or value not in get_args(kind):
        raise Misfit(f"{where}: one of {', '.join(get_args(kind))}", value)
    return value
