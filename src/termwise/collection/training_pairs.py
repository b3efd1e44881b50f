"""Training pairs of queries and relevant passages, by source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.collection.datasets import PREFIX
from termwise.collection.lines import read_json_lines
from termwise.collection.openers import open_collection
from termwise.collection.qrels import qrels_file, read_qrels
from termwise.collection.queries import read_queries
from termwise.errors import (
    EmptyCollectionError,
    MalformedRecordError,
    MissingFileError,
    ParameterError,
    UnknownIdError,
)
from termwise.fast_dataclass import dataclass
from termwise.records import Document, Qrel, Query
from termwise.storage.file_record import texts_fingerprint
from termwise.storage.safe_read import folder_entries, is_file, is_folder, path_exists

_PAIRS = (".jsonl", ".jsonl.gz")
_NOT_A_WORD = re.compile(r"\W+")


@dataclass(frozen=True)
class PairSource:
    """Pairs of one source.

    Attributes
    ----------
    name : str
        Name of the folder, file or dataset.
    queries : sequence of str of length Q
        Texts.
    passages : sequence of str of length P
        Texts. Passages of a collection that are in no pair are omitted.
    pairs : ndarray of shape (n, 2), int32
        Positions of a query and of a relevant passage.
    """

    name: str
    queries: Sequence[str]
    passages: Sequence[str]
    pairs: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.pairs)

    def sample(self, queries: int, seed: int) -> PairSource:
        """Return the pairs of at most `queries` queries, drawn at random; the texts stay."""
        random = np.random.default_rng(seed)
        chosen = random.permutation(np.unique(self.pairs[:, 0]))[:queries]
        kept = np.isin(self.pairs[:, 0], chosen)
        return PairSource(self.name, self.queries, self.passages, self.pairs[kept])

    def facts(self) -> dict[str, Any]:
        """Return name, number of pairs and digest, for the record of a training."""
        return {"name": self.name, "pairs": len(self), "digest": self.digest()}

    def digest(self) -> str:
        """Return ``sha256:`` and a digest of the texts of all pairs."""
        return texts_fingerprint(
            text
            for query, passage in self.pairs.tolist()
            for text in (self.queries[query], self.passages[passage])
        )


def read_sources(spec: str | Path, *, split: str = "train") -> list[PairSource]:
    """Read training pairs.

    Parameters
    ----------
    spec : str or Path
        - a BEIR folder: a corpus, queries, and judgments in ``qrels/<split>.tsv``, plain or gzip-compressed;
        - a JSONL file, plain or ``.gz``: one pair per line, ``{"query": ..., "passage": ...}``;
        - a folder of such folders or files: one source each, by name;
        - ``ir_datasets:ID``, such as ``ir_datasets:msmarco-passage/train``.
    split : str, optional
        Judgments of a BEIR folder.

    Returns
    -------
    list of PairSource
        A judgment of at least 1 makes a pair. Passages of a collection that are in no pair are dropped.

    Raises
    ------
    MissingFileError
        If there are no data.
    UnknownIdError
        If the query or passage of a judgment is missing.
    MalformedRecordError
        If a query or passage of a pair is empty; the error names it.
    EmptyCollectionError
        If there are no pairs.
    """
    if isinstance(spec, str) and spec.startswith(PREFIX):
        sources = [_judged(spec, open_collection(spec).documents(), read_queries(spec), read_qrels(spec))]
    else:
        sources = [_read(path, split) for path in _places(Path(spec), split)]
    if not any(len(source) for source in sources):
        raise EmptyCollectionError("there are no training pairs", facts=[("data", spec), ("split", split)])
    return sources


def different_sources(data: Iterable[str | Path]) -> Iterator[PairSource]:
    """Yield the sources of several data, or raise `ParameterError` if two have the same name; see `read_sources`."""
    names = set()
    for spec in data:
        for source in read_sources(spec):
            if source.name in names:
                raise ParameterError(
                    "two sources of training pairs have the same name",
                    facts=[("name", source.name)],
                    fixes=["give each source once; rename the folder or the file of one"],
                )
            names.add(source.name)
            yield source


def _places(path: Path, split: str) -> list[Path]:
    if is_file(path) or qrels_file(path, split) is not None:
        return [path]
    if not path_exists(path):
        raise MissingFileError(f"no such file or folder: {path}", fixes=["check the path"])
    if not is_folder(path):
        raise MissingFileError(
            "training data are a folder or a regular file, not a pipe or a device",
            facts=[("path", path)],
            fixes=["write the data to a file first"],
        )
    paths = [
        part
        for part in folder_entries(path)
        if part.name.endswith(_PAIRS) or qrels_file(part, split) is not None
    ]
    splits = sorted(file.name.partition(".tsv")[0] for file in path.glob("qrels/*.tsv*"))
    if splits or not paths:
        raise MissingFileError(
            "the folder holds no training pairs",
            facts=[
                ("folder", path),
                ("expected", f"qrels/{split}.tsv, or folders that have it, or JSONL files of pairs"),
                *([("other splits", ", ".join(splits))] if splits else []),
            ],
        )
    return paths


def _read(path: Path, split: str) -> PairSource:
    if is_file(path):
        return _pair_file(path)
    qrels = read_qrels(path, split=split)
    return _judged(path.resolve().name, open_collection(path).documents(), read_queries(path), qrels)


def _judged(
    name: str, documents: Iterator[Document], queries: Iterator[Query], qrels: list[Qrel]
) -> PairSource:
    relevant = [qrel for qrel in qrels if qrel.relevance > 0]
    doc_ids = {qrel.doc_id for qrel in relevant}
    query_ids = {qrel.query_id for qrel in relevant}
    passages = {document.doc_id: document.text for document in documents if document.doc_id in doc_ids}
    texts = {query.query_id: query.text for query in queries if query.query_id in query_ids}
    query_number = {query_id: number for number, query_id in enumerate(texts)}
    passage_number = {doc_id: number for number, doc_id in enumerate(passages)}
    pairs = np.empty((len(relevant), 2), dtype=np.int32)
    for position, qrel in enumerate(relevant):
        for kind, key, numbers in (
            ("query", qrel.query_id, query_number),
            ("passage", qrel.doc_id, passage_number),
        ):
            if key not in numbers:
                raise UnknownIdError(
                    f"the {kind} of a judgment is missing",
                    facts=[("source", name), (kind, key)],
                    fixes=["complete the collection, or remove the judgment"],
                )
        pairs[position] = query_number[qrel.query_id], passage_number[qrel.doc_id]
    for kind, given in (("query", texts), ("passage", passages)):
        for key, text in given.items():
            if not text.strip():
                raise MalformedRecordError(
                    f"a {kind} of a training pair is empty", facts=[("source", name), (kind, key)]
                )
    return PairSource(name, list(texts.values()), list(passages.values()), pairs)


def _pair_file(path: Path) -> PairSource:
    queries: dict[str, int] = {}
    passages: dict[str, int] = {}
    pairs = []
    for number, record in read_json_lines(path):
        query, passage = (_text(record.get(field)) for field in ("query", "passage"))
        if not query or not passage:
            raise MalformedRecordError.at(
                path,
                number,
                expected='{"query": text, "passage": text}, neither empty',
                seen=str(record),
                message="a training pair is not valid",
            )
        pairs.append((queries.setdefault(query, len(queries)), passages.setdefault(passage, len(passages))))
    name = path.name.removesuffix(".gz").removesuffix(".jsonl")
    return PairSource(name, list(queries), list(passages), np.array(pairs, dtype=np.int32).reshape(-1, 2))


def _text(value: object) -> str:
    return value if isinstance(value, str) and value.strip() else ""


def normalised(text: str) -> str:
    """Return a text in lower case with single spaces between words, for comparisons.

    Examples
    --------
    >>> normalised("Merge  two sorted lists!")
    'merge two sorted lists'
    """
    return _NOT_A_WORD.sub(" ", text.lower()).strip()
