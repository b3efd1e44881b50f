"""Weights of a fusion with their normalisation and rules, and the file that stores them.

``fusion.json`` is a JSON object with a checksum (see :mod:`termwise.storage.manifest_json`)::

    format, version, checksum    "termwise-fusion", 1, and the checksum of the rest
    runs                         names of the runs
    weights, scaling             one per run
    missing, documents           as in `fuse`
    learned                      null, or a `Learned`
    settings                     one object per run: settings of its model that were tuned with the weights
    tables                       per run null, or name and id of the translation table of the tuned settings; absent if
                                 there is none
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, field, fields
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, final, get_args

from termwise.errors import DataError, MissingFileError, ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.fusion.candidates import FusedDocuments, MissingScore, check_choice
from termwise.fusion.interpolation import checked_weights, fuse
from termwise.fusion.scaling import QueryScales, Scaling, scalings_of
from termwise.records import Run
from termwise.storage.atomic_file import write_bytes_whole
from termwise.storage.manifest_json import (
    Misfit,
    expect_choice,
    expect_list,
    expect_object,
    expect_text,
    expect_whole,
    sealed,
    unsealed,
)
from termwise.validation import is_finite_number

FORMAT = "termwise-fusion"
VERSION = 1

MAX_FILE = 1 << 20
"""Largest file in bytes."""

Method = Literal["grid", "sweep", "ascent"]
"""Method of learning weights."""

_T = TypeVar("_T")

Settings = Mapping[str, str | float | bool]
"""Settings of a model by name."""


@final
@dataclass(frozen=True, kw_only=True)
class Learned:
    """Origin of learned weights.

    Attributes
    ----------
    method : {"grid", "sweep", "ascent"}
        The search.
    measure : str
        Canonical name of the maximised measure.
    value : float
        Mean of the measure with these weights on the training queries.
    alone : tuple of float
        Mean of the measure for each run alone, over the same documents.
    queries : int
        Number of judged queries.
    queries_sha256 : str
        SHA-256 of the sorted identifiers of the queries, each followed by a line end.
    low, high : float or None
        For grid and sweep: bounds of the interval of alpha with the same value.
    ties : int or None
        For grid and sweep: number of other intervals or points with the same value.
    seed, restarts : int or None
        For ascent.
    estimate : float or None
        For tuned settings and weights of a mixture: the cross-validated mean of the measure.
    folds : int or None
        Number of folds of `estimate`.
    deviations : tuple of (float or None)
        For runs with the normalisation ``global``: the standard deviation of all their scores on these queries, 0 if
        the scores are equal. None for other runs.
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

    def trained_on(self, query_ids: Iterable[str]) -> bool:
        """Return whether these are exactly the queries of the training data."""
        return hash_of_queries(query_ids) == self.queries_sha256


def hash_of_queries(query_ids: Iterable[str]) -> str:
    """Return the SHA-256 of the sorted identifiers, each followed by a line end."""
    text = "".join(f"{query_id}\n" for query_id in sorted(query_ids))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@final
@dataclass(frozen=True)
class TunedTable:
    """Translation table of tuned settings.

    Attributes
    ----------
    name : str
        Name of a shipped table, or a path.
    id : str
        Identity of its content, see `termwise.translation.table_manifest.TableManifest`.
    """

    name: str
    id: str


@final
@dataclass(frozen=True)
class Fusion:
    """Weights of runs, with their normalisation and rules.

    Parameters
    ----------
    runs : sequence of str
        Names of the runs, in order.
    weights : sequence of float
        One per run, see `fuse`.
    missing : {"drop", "minimum", "zero"}
        See `fuse`.
    scaling : str or sequence of str, optional
        See `fuse`; stored as one per run.
    documents : {"first", "union"}, optional
        See `fuse`.
    learned : Learned, optional
        Origin of learned weights.
    settings : sequence of mapping, optional
        One per run: the settings of its model that were tuned with the weights; empty if there are none.
    tables : sequence of (TunedTable or None), optional
        One per run: the table of the tuned settings, if there is one.

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
        settings = [{}] * len(self.runs) if settings is None else settings
        object.__setattr__(self, "settings", tuple(map(dict, settings)))
        object.__setattr__(self, "tables", tuple([None] * len(self.runs) if tables is None else tables))
        for name, given in (("settings", self.settings), ("tables", self.tables)):
            if len(given) != len(self.runs):
                raise ParameterError(
                    f"{name} are one per run", facts=[(name, len(given)), ("runs", len(self.runs))]
                )

    def apply(
        self,
        runs: Sequence[Run],
        *,
        queries: QueryScales | Sequence[QueryScales | None] | None = None,
        name: str = "fused",
    ) -> Run:
        """Fuse runs of the same systems, for any queries.

        Parameters
        ----------
        runs : sequence of Run
            In the order of `self.runs`. Other names are allowed, but not the same names in another order.
        queries, name
            See `fuse`.

        Raises
        ------
        ParameterError
            If the number of runs differs, or they are in another order.
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
        """Return the fusion as JSON-like data."""
        plain: dict[str, Any] = json.loads(json.dumps(self._body()))
        return plain

    def to_bytes(self) -> bytes:
        """Return the bytes of the file."""
        return sealed({"format": FORMAT, "version": VERSION, **self._body()})

    def _body(self) -> dict[str, Any]:
        body = asdict(self)
        if not any(self.tables):
            del body["tables"]
        return body

    def save(self, path: str | Path) -> None:
        """Write the file atomically; an existing file is replaced."""
        write_bytes_whole(Path(path), self.to_bytes())

    @classmethod
    def open(cls, path: str | Path) -> Fusion:
        """Read a file that `save` wrote.

        Raises
        ------
        MissingFileError
            If the file cannot be read.
        DataError
            If the file is not a fusion file, is damaged, or has a later format version.
        """
        path = Path(path)
        try:
            with path.open("rb") as file:
                data = file.read(MAX_FILE + 1)
        except OSError as error:
            raise MissingFileError.of(
                "the file of weights cannot be read",
                path,
                error,
                fixes=[Fix.sentence("write one with {}", Fix.call("learn"))],
            ) from error
        return _parsed(data, path)


def check_order(fusion: Fusion, names: Sequence[str]) -> None:
    """Raise `ParameterError` if the names differ from those of the runs in number or order."""
    misplaced = [
        name
        for name, expected in zip(names, fusion.runs, strict=False)
        if name != expected and name in fusion.runs
    ]
    if len(names) != len(fusion.runs) or misplaced:
        raise ParameterError(
            "these are not the runs of this fusion in the same order",
            facts=[("given", ", ".join(names)), ("expected", ", ".join(fusion.runs))],
            fixes=[f"give them in this order: {' '.join(fusion.runs)}"],
        )


def _parsed(data: bytes, path: Path) -> Fusion:
    def foreign() -> DataError:
        return DataError(
            "this is not a file of fusion weights",
            facts=[("file", path), ("expected", f'JSON with "format": "{FORMAT}"')],
            fixes=[Fix.sentence("write one with {} or {}", Fix.call("learn"), Fix.call("tune"))],
        )

    def later(version: int) -> DataError:
        return DataError(
            "this file of fusion weights was written by a later version of termwise",
            facts=[("file", path), ("format", version), ("known here", VERSION)],
            fixes=["install a newer version of termwise"],
        )

    if len(data) > MAX_FILE:
        raise foreign()
    try:
        return _fusion(unsealed(data, FORMAT, VERSION, foreign=foreign, later=later))
    except Misfit as misfit:
        if misfit.expected in ("UTF-8 text", "JSON"):
            raise foreign() from None
        raise _damaged(path, misfit.expected, misfit.seen) from None
    except (ParameterError, TypeError) as error:
        raise _damaged(path, "consistent weights, normalisations and rules", error) from None


def _damaged(path: Path, expected: str, seen: object) -> DataError:
    return DataError(
        "the file of fusion weights is damaged",
        facts=[("file", path), ("expected", expected), ("seen", str(seen)[:200])],
        fixes=["copy it again, or learn the weights again"],
    )


def _fusion(body: Mapping[str, Any]) -> Fusion:
    names = {f.name for f in fields(Fusion)}
    body = expect_object({"tables": None, **body}, names | {"format", "version", "checksum"}, "an object")
    expect_whole(body["version"], "version", 1, VERSION)
    runs = _list(body["runs"], "runs", expect_text)
    if not runs:
        raise Misfit("runs", "none")
    learned, tables = body["learned"], body["tables"]
    return Fusion(
        runs,
        _list(body["weights"], "weights", _number),
        missing=_choice(body["missing"], "missing", MissingScore),
        scaling=_list(body["scaling"], "scaling", partial(_choice, kind=Scaling)),
        documents=_choice(body["documents"], "documents", FusedDocuments),
        learned=None if learned is None else _learned(learned, len(runs)),
        settings=_list(body["settings"], "settings", _settings),
        tables=None if tables is None else _list(tables, "tables", _optional(_table)),
    )


def _settings(value: object, where: str) -> Settings:
    if not isinstance(value, dict):
        raise Misfit(f"{where} as objects", type(value).__name__)
    for name, given in value.items():
        if not isinstance(given, str | bool):
            _number(given, f"{where}.{name}")
    return value


def _table(value: object, where: str) -> TunedTable:
    body = expect_object(value, {f.name for f in fields(TunedTable)}, where)
    return TunedTable(**{name: expect_text(text, f"{where}.{name}") for name, text in body.items()})


def _learned(value: object, runs: int) -> Learned:
    body = expect_object(value, {f.name for f in fields(Learned)}, "learned")
    readers: dict[str, Callable[[object, str], Any]] = {
        "method": partial(_choice, kind=Method),
        "measure": expect_text,
        "value": _number,
        "alone": partial(_list, item=_number),
        "queries": partial(expect_whole, least=1),
        "queries_sha256": expect_text,
        "deviations": partial(_list, item=_optional(_number)),
        **dict.fromkeys(("low", "high", "estimate"), _optional(_number)),
        **dict.fromkeys(("ties", "seed", "restarts", "folds"), _optional(partial(expect_whole, least=0))),
    }
    read = {name: readers[name](given, f"learned.{name}") for name, given in body.items()}
    for name in ("alone", "deviations"):
        if len(read[name]) != runs:
            raise Misfit(f"learned.{name} with {runs} numbers", len(read[name]))
        read[name] = tuple(read[name])
    return Learned(**read)


def _optional(reader: Callable[[object, str], _T]) -> Callable[[object, str], _T | None]:
    """Return a reader that also accepts null."""
    return lambda value, where: None if value is None else reader(value, where)


def _list(value: object, where: str, item: Callable[[object, str], _T]) -> list[_T]:
    return [item(one, where) for one in expect_list(value, where)]


def _number(value: object, where: str) -> float:
    if not is_finite_number(value):
        raise Misfit(f"{where}: a finite number", value)
    return float(value)


def _choice(value: object, where: str, kind: Any) -> Any:
    return expect_choice(value, where, get_args(kind))
