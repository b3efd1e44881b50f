"""Datasets of the package ir_datasets, with the prefix ``ir_datasets:``. The package is imported on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from termwise.collection.fields import BODY_FIELDS, ID_FIELDS, FieldChoice
from termwise.errors import DataError, MissingExtraError, ParameterError, UnknownNameError
from termwise.fast_dataclass import dataclass
from termwise.fixes import NAMES, Fix
from termwise.records import Document, Qrel, Query, join_query

PREFIX = "ir_datasets:"


def load(spec: str, part: str) -> Any:
    """Return the dataset ``ir_datasets:ID``, which has ``docs``, ``queries`` or ``qrels``: the required part."""
    try:
        import ir_datasets
    except ImportError as error:
        raise MissingExtraError.of("ir-datasets", "datasets", f"reading {spec}") from error
    name = spec.removeprefix(PREFIX)
    try:
        dataset = ir_datasets.load(name)
    except KeyError as error:
        near = UnknownNameError.of("dataset of ir_datasets", name, ir_datasets.registry)
        all_names = "list them: python -c 'import ir_datasets; print(*ir_datasets.registry)'"
        raise UnknownNameError(
            near.message, facts=[("given", name)], fixes=[*near.fixes, all_names]
        ) from error
    if not dataset.has(part):
        raise DataError(
            f"a dataset has no {part}",
            facts=[("dataset", name)],
            fixes=[f"look for a subset that has them: https://ir-datasets.com/{name.split('/')[0]}.html"],
        )
    return dataset


def _supplied(spec: str, records: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """Yield records of ir_datasets; errors of the package, mostly of downloads, become `DataError`."""
    try:
        yield from records()
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        raise DataError(
            "ir_datasets could not supply a dataset",
            facts=[("dataset", spec.removeprefix(PREFIX)), ("reason", f"{type(error).__name__}: {error}")],
            fixes=["download the files and name their folder or file instead"],
        ) from error


@dataclass(frozen=True)
class DatasetCollection:
    """Documents of a dataset of ir_datasets.

    Attributes
    ----------
    name : str
        ``ir_datasets:ID``.
    fields : FieldChoice
        Fields of the text; None for the default text of the dataset or, if it has none, title and body (see
        `termwise.collection.fields`).
    """

    name: str
    fields: FieldChoice = None

    def __post_init__(self) -> None:
        known = [name for name in load(self.name, "docs").docs_cls()._fields if name not in ID_FIELDS]
        for field in self.fields or ():
            if field not in known:
                raise UnknownNameError.of(f"field of {self.name}", field, known)

    @property
    def length(self) -> int | None:
        """Number of documents, or None if ir_datasets does not record it."""
        try:
            count = load(self.name, "docs").docs_count()
        except (NotImplementedError, OSError):
            return None
        return count if isinstance(count, int) else None

    def documents(self) -> Iterator[Document]:
        """Yield the documents in the order of the dataset."""
        dataset = load(self.name, "docs")
        for record in _supplied(self.name, dataset.docs_iter):
            if isinstance(self.fields, Mapping):
                texts = _texts(record, tuple(self.fields), self.name)
                yield Document.of_fields(record.doc_id, dict(zip(self.fields, texts, strict=True)))
            else:
                yield Document.of_texts(record.doc_id, _chosen_texts(record, self.fields, self.name))


def _chosen_texts(record: Any, fields: tuple[str, ...] | None, spec: str) -> list[str]:
    """Return the texts of the chosen fields of a record, or its default text."""
    if fields is None and callable(getattr(record, "default_text", None)):
        return [str(record.default_text()).strip()]
    if fields is None:
        bodies = [name for name in BODY_FIELDS if hasattr(record, name)][:1]
        fields = (*(["title"] if hasattr(record, "title") else []), *bodies)
        if not fields:
            raise ParameterError(
                "the text fields of a dataset are unknown",
                facts=[("dataset", spec.removeprefix(PREFIX)), ("fields", ", ".join(record._fields))],
                fixes=[Fix.use("name them: {}", fields=NAMES)],
            )
    return _texts(record, fields, spec)


def _texts(record: Any, fields: tuple[str, ...], spec: str) -> list[str]:
    """Return the text of each field of a record."""
    values = [getattr(record, name) for name in fields]
    for name, value in zip(fields, values, strict=True):
        if not isinstance(value, str | None):
            raise ParameterError(
                "a field of a dataset is not text",
                facts=[
                    ("dataset", spec.removeprefix(PREFIX)),
                    ("field", name),
                    ("type", type(value).__name__),
                ],
            )
    return [value or "" for value in values]


def dataset_queries(spec: str, fields: tuple[str, ...] | None) -> Iterator[Query]:
    """Return the queries of ``ir_datasets:ID``; without `fields`, the text is the default text, or else the title."""
    dataset = load(spec, "queries")

    def chosen(record: Any) -> tuple[str, ...] | None:
        plain = fields is None and not callable(getattr(record, "default_text", None))
        return ("title",) if plain and hasattr(record, "title") and not hasattr(record, "text") else fields

    return (
        Query(record.query_id, join_query(_chosen_texts(record, chosen(record), spec)))
        for record in _supplied(spec, dataset.queries_iter)
    )


def dataset_qrels(spec: str) -> Iterator[Qrel]:
    """Return the judgments of ``ir_datasets:ID``."""
    dataset = load(spec, "qrels")
    return (
        Qrel(record.query_id, record.doc_id, record.relevance, str(getattr(record, "iteration", "0")))
        for record in _supplied(spec, dataset.qrels_iter)
    )
