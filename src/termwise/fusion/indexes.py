"""Fusion of indexes into one index whose scores are weighted sums of their scores.

A score is a sum over terms, and a weighted sum of scores is also a sum over terms:

    w(t, D) = beta_1 * w_1(t, D) + beta_2 * w_2(t, D) + ...        floor(t) = beta_1 * floor_1(t) + ...

Document biases are added in the same way. Up to quantisation, the score of every query and document in the new index is
beta_1 times the score in the first index, plus beta_2 times that in the second, and so on.

Rows are read from the forward indexes in batches, in the order of the first index. No texts are needed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from termwise.engine.query_encoder import analyzer_of, query_weighting_of
from termwise.errors import ParameterError, UnknownIdError, VocabularyMismatchError, WeightError
from termwise.explain.attribution import fused_translations
from termwise.fast_dataclass import dataclass
from termwise.fixes import Code, Fix
from termwise.fusion.interpolation import checked_weights
from termwise.index import Index, IndexWriter
from termwise.index.encoder_description import FUSION, fused_description
from termwise.index.writer import DEFAULT_MEMORY
from termwise.progress import Progress, no_progress
from termwise.search.opening import open_searcher
from termwise.search.searcher import Searcher
from termwise.text import AnalyzerSpec, Numbering, Vocabulary
from termwise.validation import check, check_path
from termwise.weights import TermWeights

BATCH = 1 << 12
"""Documents per batch of identifiers and texts."""

CHUNK = 1 << 20
"""Weights per batch, of all indexes together; at least one document."""

_BIAS = "the bias is multiplied by the number of known query terms, which would increase"

Ordinals = npt.NDArray[np.int64]


def fuse_indexes(
    indexes: Sequence[str | Path | Index],
    weights: Sequence[float],
    path: str | Path,
    *,
    quantiser: Literal["uint8", "float32"] | None = None,
    reorder: bool = True,
    overwrite: bool = False,
    threads: int = 1,
    memory: int = DEFAULT_MEMORY,
    progress: Progress = no_progress,
) -> Searcher:
    """Fuse indexes of the same documents into one index.

    Parameters
    ----------
    indexes : sequence of str, Path or Index
        Two or more different indexes with the same documents, in any order, and the same analyzer. The vocabulary of
        the new index is the union of theirs.
    weights : sequence of float
        One per index, for unscaled scores; `index_weights` returns those of a `Fusion`. An index with the weight 0 adds
        nothing. Negative weights are allowed if no sum is negative.
    path : str or Path
        Folder of the new index.
    quantiser : {"uint8", "float32"}, optional
        See `IndexWriter`. By default ``float32`` if one of the indexes has it, else ``uint8``.
    reorder, overwrite, threads, memory, progress
        See `IndexWriter`.

    Returns
    -------
    Searcher
        Searcher over the new index. Documents are in the order of the first index; texts come from the first index
        that stores them.

    Raises
    ------
    ParameterError
        If there are fewer than two indexes, one is given twice or would be replaced, one ranks by vectors, the weights
        are not one finite number per index, or the query weights differ.
    UnknownIdError
        If an index lacks a document of another one.
    VocabularyMismatchError
        If the analyzers differ, or an index with a document bias lacks terms of another index.
    WeightError
        If a sum is negative or too large.
    TermwiseError
        Errors of `IndexWriter`; an existing index is left unchanged.

    Examples
    --------
    >>> import tempfile, termwise
    >>> documents = [termwise.Document("a", "merge sorted lists"), termwise.Document("b", "shuffle a list")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parts = [f"{folder}/bm25.tw", f"{folder}/jm.tw"]
    ...     searchers = [termwise.build_index(documents, p, model=p[len(folder) + 1 : -3]) for p in parts]
    ...     fused = fuse_indexes(parts, [0.5, 2.0], f"{folder}/fused.tw", quantiser="float32")
    ...     one, other = (searcher.rank("merging", k=1).scores[0] for searcher in searchers)
    ...     bool(abs(fused.rank("merging", k=1).scores[0] - (0.5 * one + 2.0 * other)) < 1e-6)
    True
    """
    check_indexes(indexes)
    check_path("path", path)
    opened = [index if isinstance(index, Index) else Index.open(index) for index in indexes]
    for index in opened:
        index.check_not_cut("a fused index")
    shares = checked_weights(weights, len(opened))
    check_folders([index.path for index in opened], Path(path))
    mixing = _mixing(opened, shares)
    for index in opened:
        if index.term_vectors is not None:
            raise ParameterError(
                "an index that ranks by vectors cannot be added to another one",
                facts=[("index", index.path)],
                fixes=[mixing],
            )
    spec, weighting = _common_analyzer(opened, mixing), _common_weighting(opened, mixing)
    weighted = [(index, share) for index, share in zip(opened, shares, strict=True) if share != 0]
    parts = _Parts.of([index for index, _ in weighted], [share for _, share in weighted])
    query_weights = parts.query_weights() if weighting == "idf" else None
    if quantiser is None:
        kinds = {index.manifest.quantiser.kind for index in parts.indexes}
        quantiser = "float32" if "float32" in kinds else "uint8"
    texts = next((index for index in opened if index.stores_text), None)
    with IndexWriter(
        path,
        quantiser=quantiser,
        store_text=texts is not None,
        reorder=reorder,
        overwrite=overwrite,
        memory=memory,
        threads=threads,
        progress=progress,
    ) as writer:
        # Indexes with the weight 0 are checked too, because they may be given by mistake.
        ordinals_of = {index.path: _matching_ordinals(opened[0], index, progress) for index in opened}
        _write_rows(writer, opened[0], texts, parts, ordinals_of, progress)
        writer.commit(
            parts.vocabulary,
            encoder=fused_description(
                [index.manifest.encoder for index in parts.indexes], parts.weights, spec, weighting
            ),
            floors=parts.floors(),
            query_weights=query_weights,
            attachments={
                **spec.files,
                **fused_translations(parts.indexes, parts.numbers, len(parts.vocabulary)),
            },
        )
    return open_searcher(path)


@dataclass(frozen=True, eq=False)
class _Parts:
    """Fused indexes, those with a weight other than 0, in one numbering of terms.

    `vocabulary` is the union of the vocabularies. `numbers` has for each index the new number of each of its terms, and
    of its background term if it has one: an array of int32.
    """

    indexes: list[Index]
    weights: list[float]
    vocabulary: Vocabulary
    numbers: list[npt.NDArray[np.int32]]

    @classmethod
    def of(cls, indexes: list[Index], weights: list[float]) -> _Parts:
        """Number the terms of the first index, then the new terms of the others."""
        numbering = Numbering()
        known: dict[str, npt.NDArray[np.int32]] = {}
        for index in indexes:
            if index.manifest.vocabulary not in known:
                known[index.manifest.vocabulary] = numbering.of(list(index.vocabulary.load()))
        vocabulary = Vocabulary(numbering, background=any(index.manifest.background for index in indexes))
        numbers = []
        for index in indexes:
            new = known[index.manifest.vocabulary]
            if index.manifest.background:
                if len(new) < len(vocabulary):
                    raise VocabularyMismatchError(
                        "an index with a document bias must have all terms of the others",
                        facts=[
                            ("index", f"{index.path}  {index.manifest.terms:,} terms"),
                            ("all", f"{len(vocabulary):,} terms"),
                            ("reason", _BIAS),
                        ],
                        fixes=[
                            _mixing(indexes, weights),
                            "use an analyzer with a fixed vocabulary, such as wordpiece",
                        ],
                    )
                new = np.append(new, np.int32(len(vocabulary)))
            numbers.append(new)
        return cls(indexes, weights, vocabulary, numbers)

    def floors(self) -> npt.NDArray[np.float64] | None:
        """Return the contribution of an absent term, per term; None if all are 0."""
        floors = np.zeros(len(self.vocabulary) + (self.vocabulary.background is not None), dtype=np.float64)
        for index, weight, new in zip(self.indexes, self.weights, self.numbers, strict=True):
            if len(index.floors):
                floors[new] += weight * index.floors
        return floors if floors.any() else None

    def query_weights(self) -> npt.NDArray[np.float64]:
        """Return the static query weight of each term; refuse different weights of one term."""
        common = np.full(len(self.vocabulary), np.nan)
        for index, new in zip(self.indexes, self.numbers, strict=True):
            terms = new[: index.manifest.terms]
            conflicts = np.flatnonzero(~np.isnan(common[terms]) & (common[terms] != index.query_weights))
            if len(conflicts):
                term = int(terms[conflicts[0]])
                raise ParameterError(
                    "the indexes have different query weights for a term, so their scores cannot be added",
                    facts=[
                        ("index", index.path),
                        ("term", repr(self.vocabulary.token(term))),
                        ("weight", float(index.query_weights[conflicts[0]])),
                        ("in another", float(common[term])),
                        ("such terms", len(conflicts)),
                    ],
                    fixes=[
                        _mixing(self.indexes, self.weights),
                        "build them with the same query weights",
                    ],
                )
            common[terms] = index.query_weights
        return common

    def rows(self, ordinals_by_index: Sequence[Ordinals], doc_ids: Sequence[str]) -> TermWeights:
        """Return the weighted sums of the rows of documents, added in double precision in the order of the indexes.

        `ordinals_by_index` are the ordinals of the n documents in each index, and `doc_ids` are for errors.
        """
        width = len(self.vocabulary) + 1
        keys, values = [], []
        for index, weight, new, ordinals in zip(
            self.indexes, self.weights, self.numbers, ordinals_by_index, strict=True
        ):
            stored = index.weights(ordinals)
            row = np.repeat(np.arange(len(ordinals)), np.diff(stored.indptr))
            keys.append(row * width + new[stored.terms])
            factors = index.query_factors(stored.terms)
            with np.errstate(over="ignore"):  # a weight that is not finite is refused below
                values.append(
                    weight * stored.weights.astype(np.float64) * (1.0 if factors is None else factors)
                )
        key, value = np.concatenate(keys), np.concatenate(values)
        order = np.argsort(key, kind="stable")  # merges sorted runs
        key = key[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        sums = np.add.reduceat(value[order], first) if len(first) else value
        rows, terms = np.divmod(key[first], width)
        negative = np.flatnonzero(sums < 0)
        if len(negative):
            place = negative[0]
            raise WeightError(
                "a weighted sum is negative, which an index cannot store",
                facts=[
                    ("document", doc_ids[rows[place]]),
                    ("term", repr(self.vocabulary.token(int(terms[place])))),
                    ("sum", float(sums[place])),
                    ("weights", ", ".join(map(str, self.weights))),
                ],
                fixes=[
                    "omit the index with the negative weight, and learn the weights again",
                    "fuse runs, which allow any weights",
                ],
            )
        indptr = np.searchsorted(rows, np.arange(len(doc_ids) + 1))
        return TermWeights(indptr, terms, sums, self.vocabulary.id)


def _write_rows(
    writer: IndexWriter,
    first: Index,
    texts: Index | None,
    parts: _Parts,
    ordinals_of: dict[Path, Ordinals],
    progress: Progress,
) -> None:
    for batch, doc_ids in _identifiers(first):
        stored_texts = (
            None
            if texts is None
            else [text or "" for text in texts.store.texts(ordinals_of[texts.path][batch])]
        )
        writer.add_documents(doc_ids, stored_texts)
        batch_ordinals = [ordinals_of[index.path][batch] for index in parts.indexes]
        lengths = [
            index.lengths(ordinals) for index, ordinals in zip(parts.indexes, batch_ordinals, strict=True)
        ]
        for rows in _slices(np.sum(lengths, axis=0, dtype=np.int64)):
            writer.add_weights(parts.rows([ordinals[rows] for ordinals in batch_ordinals], doc_ids[rows]))
        progress("add rows", int(batch[-1]) + 1, len(first))


def _slices(lengths: npt.NDArray[np.int64]) -> Iterator[slice]:
    """Yield slices of documents with about `CHUNK` weights."""
    ends = np.cumsum(lengths)
    start = 0
    while start < len(ends):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + CHUNK, side="right")))
        yield slice(start, stop)
        start = stop


def _matching_ordinals(first: Index, other: Index, progress: Progress) -> Ordinals:
    """Return the ordinals in another index for the documents of the first index."""
    if other is first:
        return np.arange(len(first), dtype=np.int64)
    ordinals = np.empty(len(first), dtype=np.int64)
    for batch, doc_ids in _identifiers(first):
        ordinals[batch] = other.find_many(doc_ids)
        progress("compare documents", int(batch[-1]) + 1, len(first))
    missing = np.flatnonzero(ordinals < 0)
    if len(missing):
        raise _missing_document(other, first, first.doc_id(int(missing[0])), len(missing))
    if len(other) > len(first):
        for _, doc_ids in _identifiers(other):
            extra = np.flatnonzero(first.find_many(doc_ids) < 0)
            if len(extra):
                raise _missing_document(first, other, doc_ids[int(extra[0])], len(other) - len(first))
    return ordinals


def _identifiers(index: Index) -> Iterator[tuple[Ordinals, list[str]]]:
    """Yield the ordinals of the documents of an index in batches, with their identifiers."""
    for start in range(0, len(index), BATCH):
        batch = np.arange(start, min(start + BATCH, len(index)), dtype=np.int64)
        yield batch, index.doc_ids(batch)


def _missing_document(index: Index, other: Index, doc_id: str, missing: int) -> UnknownIdError:
    return UnknownIdError(
        "the indexes hold different documents",
        facts=[
            ("index", f"{index.path}  {len(index):,} documents"),
            ("other", f"{other.path}  {len(other):,} documents"),
            ("doc_id", doc_id),
            ("missing", f"{missing:,} documents of the other index, for example this one"),
        ],
        fixes=["build both from the same collection", "fuse runs, which allow different documents"],
    )


def _common_analyzer(indexes: Sequence[Index], mixing: Fix) -> AnalyzerSpec:
    first, *others = (analyzer_of(index).spec for index in indexes)
    for index, spec in zip(indexes[1:], others, strict=True):
        if spec.fingerprint != first.fingerprint:
            one, other = first.differences(spec)
            raise VocabularyMismatchError(
                "the indexes have different analyzers",
                facts=[
                    ("index", f"{indexes[0].path}  {one}"),
                    ("other", f"{index.path}  {other}"),
                    ("reason", "a query has one sequence of tokens"),
                ],
                fixes=[
                    mixing,
                    *_rebuilding("first", indexes[0], spec),
                    *_rebuilding("other", index, first),
                ],
            )
    return first


def _rebuilding(which: str, index: Index, analyzer: AnalyzerSpec) -> list[Fix]:
    """Return how to rebuild an index with another analyzer; nothing if its model has its own analyzer."""
    description = index.manifest.encoder
    name = description.model.name
    if name == FUSION or description.network is not None or description.table is not None:
        return []
    file = ":FILE" if analyzer.files else ""
    build = Fix.call("build_index", model=name, analyzer=f"{analyzer.name}{file}")
    return [Fix.sentence("rebuild the {}: {}", which, build)]


def _mixing(indexes: Sequence[Index], weights: Sequence[float]) -> Fix:
    """Return how to rank with indexes whose weights cannot be added term by term."""
    folders = [str(index.path) for index in indexes]
    shares = [Code(f"{weight:g}") for weight in weights]
    return Fix.sentence(
        "add their scores at search time instead: {}", Fix.call("mix_indexes", folders, weights=shares)
    )


def _common_weighting(indexes: Sequence[Index], mixing: Fix) -> str:
    first, *others = (query_weighting_of(index) for index in indexes)
    for index, weighting in zip(indexes[1:], others, strict=True):
        if weighting != first:
            raise ParameterError(
                "the indexes have different query weightings, so their scores cannot be added",
                facts=[("index", f"{indexes[0].path}  {first}"), ("other", f"{index.path}  {weighting}")],
                fixes=[mixing],
            )
    return str(first)


def check_indexes(indexes: Sequence[str | Path | Index]) -> None:
    """Raise `ParameterError` for anything but two or more indexes."""
    usable = isinstance(indexes, Sequence) and not isinstance(indexes, str)
    usable = usable and all(isinstance(index, str | Path | Index) for index in indexes)
    check("indexes", indexes, usable, "a sequence of paths or opened indexes")
    for index in indexes:
        if not isinstance(index, Index):
            check_path("the index", index)
    if len(indexes) < 2:
        raise ParameterError(
            "there is nothing to fuse", facts=[("indexes", len(indexes))], fixes=["give two indexes or more"]
        )


def check_folders(indexes: Sequence[Path], path: Path) -> None:
    """Raise `ParameterError` for an index given twice, and for a new folder inside or around an old one."""
    real = [Path(os.path.realpath(index)) for index in indexes]
    for number, index in enumerate(real):
        if index in real[:number]:
            raise ParameterError(
                "an index is given twice", facts=[("index", indexes[number])], fixes=["give each index once"]
            )
    new = Path(os.path.realpath(path))
    for index in real:
        if new == index or index in new.parents or new in index.parents:
            raise ParameterError(
                "the folder of the new index overlaps the folder of an old index",
                facts=[("new", path), ("index", index)],
                fixes=["choose another folder"],
            )
