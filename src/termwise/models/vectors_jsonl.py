"""Reader of term weights in JSON lines, as written by Anserini, SPLADE and Seismic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from termwise.collection.lines import read_json_lines
from termwise.errors import (
    DataError,
    EmptyCollectionError,
    MalformedRecordError,
    VocabularyMismatchError,
    WeightError,
)
from termwise.fast_dataclass import dataclass
from termwise.fixes import Code, Fix
from termwise.text.vocabulary import Vocabulary
from termwise.weights import TermWeights

if TYPE_CHECKING:
    from termwise.text.analyzer import Analyzer

BATCH_WEIGHTS = 1 << 20
"""Upper bound for the weights of a batch; a batch ends when it has as many."""


class VectorBatch(NamedTuple):
    """Consecutive documents of a file of weights, in file order; a document without text has None."""

    doc_ids: tuple[str, ...]
    weights: TermWeights
    texts: tuple[str | None, ...]


_ID_KEYS = ("id", "_id", "docid")
_TEXT_KEYS = ("contents", "content", "text")
_FORM = '{"id": str, "vector": {token: weight}}'
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class JsonVectors:
    """Documents with their weights in JSON lines, read as a stream.

    Each line is an object with the identifier of the document (``id``, ``_id`` or ``docid``; whole numbers become
    strings), its weights (``vector``, an object of token and weight) and, optionally, its text (``contents``,
    ``content`` or ``text``); other keys are ignored. Weights are whole or decimal numbers, finite and at least 0; they
    are not rounded. An empty vector is an empty row. Blank lines are skipped.

    Without a closed vocabulary the files are read twice: once for the tokens, which are numbered in the order of their
    code points, and once for the weights. Memory holds the tokens, not the documents.

    `read_vectors` and `open` make an instance.

    Attributes
    ----------
    paths : tuple of Path
        The files, in reading order.
    vocabulary : Vocabulary
        Closed vocabulary of the analyzer, otherwise the tokens of the files.
    length : int or None
        Number of documents; None if the files were not read for their tokens.
    closed : str or None
        Name of the analyzer with the closed vocabulary, for messages.
    """

    paths: tuple[Path, ...]
    vocabulary: Vocabulary
    length: int | None
    closed: str | None = None

    @classmethod
    def open(cls, paths: Sequence[str | Path], *, analyzer: Analyzer | None = None) -> JsonVectors:
        """Open the files, and collect their tokens unless the analyzer has a closed vocabulary.

        Raises
        ------
        EmptyCollectionError
            If the files hold no document.
        MissingFileError, MalformedRecordError, WeightError
            If the first pass finds a bad file or line.
        """
        files = tuple(Path(path) for path in paths)
        if analyzer is not None and analyzer.vocabulary is not None:
            return cls(files, analyzer.vocabulary, None, analyzer.spec.name)
        tokens: set[str] = set()
        length = 0
        for record in _checked_records(files):
            tokens.update(record.tokens)
            length += 1
        return cls(files, Vocabulary(sorted(tokens)), length)

    def batches(self, *, rows: int = 4096) -> Iterator[VectorBatch]:
        """Read the documents in the order of the files.

        Parameters
        ----------
        rows : int, optional
            Largest number of documents in a batch; a batch also ends at about a million weights.

        Yields
        ------
        VectorBatch
            Doc ids, weights and texts of some documents.

        Raises
        ------
        EmptyCollectionError
            If the files hold no document.
        MalformedRecordError
            If a line is malformed.
        WeightError
            If a weight is negative, not finite or too large for 32 bits; the error names line and token.
        VocabularyMismatchError
            If a token is not part of a closed vocabulary; the error names line and token.
        """
        batch = _Batch()
        for record in _checked_records(self.paths):
            batch.add(record, self._numbers(record))
            if len(batch.doc_ids) >= rows or len(batch.weights) >= BATCH_WEIGHTS:
                yield batch.finish(self.vocabulary)
                batch = _Batch()
        if batch.doc_ids:
            yield batch.finish(self.vocabulary)

    def _numbers(self, record: _Record) -> list[int]:
        numbers = list(map(self.vocabulary.number, record.tokens))
        if None not in numbers:
            return cast(list[int], numbers)
        token = record.tokens[numbers.index(None)]
        where: list[tuple[str, object]] = [
            ("file", record.path),
            ("line", record.line),
            ("document", record.doc_id),
            ("token", repr(token)),
        ]
        if self.closed is None:
            raise DataError("the file changed between two readings", facts=where)
        raise VocabularyMismatchError(
            f"a token of the file is not in the vocabulary of the analyzer {self.closed}",
            facts=[*where, ("vocabulary", f"{len(self.vocabulary):,} tokens")],
            fixes=[
                Fix.use("use {}, the analyzer of the weights", analyzer=Code("NAME")),
                Fix.use("use {}: the tokens of the file become the vocabulary", analyzer="whitespace"),
            ],
        )


@dataclass(frozen=True, slots=True)
class _Record:
    path: Path
    line: int
    doc_id: str
    tokens: list[str]
    weights: list[float]
    text: str | None


@dataclass(slots=True)
class _Batch:
    doc_ids: list[str] = field(default_factory=list)
    texts: list[str | None] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    terms: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)

    def add(self, record: _Record, terms: list[int]) -> None:
        self.doc_ids.append(record.doc_id)
        self.texts.append(record.text)
        self.sizes.append(len(terms))
        self.terms.extend(terms)
        self.weights.extend(record.weights)

    def finish(self, vocabulary: Vocabulary) -> VectorBatch:
        sizes = np.array(self.sizes, dtype=np.int64)
        terms = np.array(self.terms, dtype=np.int64)
        order = np.lexsort((terms, np.repeat(np.arange(len(sizes)), sizes)))
        rows = TermWeights(
            np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)]),
            terms[order],
            np.array(self.weights, dtype=np.float64)[order],
            vocabulary.id,
        )
        return VectorBatch(tuple(self.doc_ids), rows, tuple(self.texts))


def _checked_records(paths: Sequence[Path]) -> Iterator[_Record]:
    """Yield the checked documents; raise an error if there are none."""
    count = 0
    for path in paths:
        for line, record in read_json_lines(path):
            yield _record(path, line, record)
            count += 1
    if count == 0:
        raise EmptyCollectionError(
            "there is no document to index",
            facts=[("file", ", ".join(map(str, paths)))],
            fixes=[f"write one document per line, as {_FORM}"],
        )


def _record(path: Path, line: int, record: dict[str, Any]) -> _Record:
    def refuse(expected: str, seen: str) -> MalformedRecordError:
        return MalformedRecordError.at(path, line, expected=expected, seen=seen)

    ids = [record[key] for key in _ID_KEYS if key in record]
    if len(ids) != 1 or isinstance(ids[0], bool) or not isinstance(ids[0], str | int) or ids[0] == "":
        raise refuse(f"one identifier, under {' or '.join(_ID_KEYS)}", str(record))
    vector = record.get("vector")
    if not isinstance(vector, dict):
        raise refuse('"vector": {token: weight}', str(record))
    contents = next((record[key] for key in _TEXT_KEYS if record.get(key) is not None), None)
    if not isinstance(contents, str | None):
        raise refuse(f"text under {' or '.join(_TEXT_KEYS)}", repr(contents))
    checked = _Record(path, line, str(ids[0]), list(vector), list(vector.values()), contents)
    _refuse_bad_weights(checked)
    return checked


def _refuse_bad_weights(record: _Record) -> None:
    kinds = set(map(type, record.weights))
    if kinds <= {int, float} and all(0 <= weight <= _LARGEST for weight in record.weights):
        return
    token, weight = next(
        (token, weight)
        for token, weight in zip(record.tokens, record.weights, strict=True)
        if type(weight) not in (int, float) or not 0 <= weight <= _LARGEST
    )
    is_negative = type(weight) in (int, float) and -_LARGEST <= weight < 0
    raise WeightError(
        "a weight is not a number, not finite, or negative",
        facts=[
            ("file", record.path),
            ("line", record.line),
            ("document", record.doc_id),
            ("token", repr(token)),
            ("weight", repr(weight)[:60]),
            ("expected", f"a number from 0 to {_LARGEST:.3g}"),
        ],
        fixes=["subtract the smallest weight of each term before indexing"] if is_negative else [],
    )
