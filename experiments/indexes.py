"""Indexes of the experiments: reuse of indexes and encoded blocks, bytes, and encoding times."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import record

import termwise
from termwise.collection import Collection
from termwise.encode import DocumentEncoder, encoded_blocks, open_document_encoder
from termwise.encode.document_encoder import Advance, EncodedRows, network_record, no_advance
from termwise.errors import ParameterError
from termwise.index import Index
from termwise.index.encoder_description import encoder_description
from termwise.indexing import BuildOptions, build_index, chosen_model
from termwise.kernels.pooling import keep_largest
from termwise.models import CountModel, NetworkModel, Tilde, make_model
from termwise.records import Document
from termwise.search import Searcher
from termwise.text import Analyzer, make_analyzer
from termwise.weights import TermWeights

Quantiser = Literal["uint8", "float32"]
Precision = Literal["float32", "int8"]

LARGEST = 1024
"""Weights per document in the stored rows of TILDE, from which `TrimmedEncoder` cuts shorter rows."""

Progress = Callable[[str, int, int | None], None]

EVERY = 20.0
"""Seconds between two lines of progress."""


@dataclass(frozen=True)
class Effort:
    """Encoding time of documents, over all runs.

    Attributes
    ----------
    seconds : float
        Seconds of the network.
    documents : int
        Number of documents with a known time, 1 or more.
    load : float or None
        Mean load of the machine; None if it was not recorded.
    """

    seconds: float
    documents: int
    load: float | None = None


class Account:
    """File that accumulates the effort of interrupted runs."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def effort(self) -> Effort | None:
        """Effort so far; None if it is not known."""
        known = Effort(**json.loads(self._path.read_text())) if self._path.is_file() else None
        return known if known is not None and known.documents else None

    def add(self, seconds: float, documents: int) -> None:
        """Add seconds and documents."""
        now = os.getloadavg()[0]
        effort, before = Effort(seconds, documents, now), self.effort
        if before is not None:
            total = before.seconds + seconds
            load = None if before.load is None else (before.load * before.seconds + now * seconds) / total
            effort = Effort(total, before.documents + documents, load)
        self._path.write_text(json.dumps(asdict(effort)) + "\n")


@dataclass(frozen=True)
class Built:
    """An index with its costs.

    Attributes
    ----------
    searcher : Searcher
    sizes : dict of str to int
        Bytes of the views, see `view_bytes`.
    effort : Effort or None
        Encoding time; None without a network, and if it is not known.
    network : dict or None
        Description of the network.
    """

    searcher: Searcher
    sizes: dict[str, int]
    effort: Effort | None = None
    network: dict[str, Any] | None = None

    @property
    def documents(self) -> int:
        """Number of documents."""
        return len(self.searcher.index)


def progress_lines(name: str) -> Progress:
    """Return a progress callback that prints a line on stderr every `EVERY` seconds."""
    last = time.monotonic()

    def tell(stage: str, done: int, total: int | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= EVERY:
            last = now
            record.say(f"  {name}: {stage} {done:,}{f' of {total:,}' if total else ''}")

    return tell


def index_counts(
    documents: Collection,
    folder: Path,
    *,
    model: str,
    settings: Mapping[str, str],
    analyzer: str | Analyzer,
    quantiser: Quantiser = "uint8",
    threads: int = 1,
    reuse: bool = False,
) -> Built:
    """Index with a model that needs no network.

    An existing index is replaced. With `reuse`, for folders of one collection, it is opened instead if model, settings
    and analyzer are the same.
    """
    chosen = make_model(model, settings)
    if isinstance(analyzer, str):
        analyzer = make_analyzer(analyzer)
    description = encoder_description(
        model=chosen.name,
        parameters=chosen.parameters(),
        analyzer=analyzer.spec,
        weighting=chosen.query_weighting,
        exact=isinstance(chosen, CountModel) and not chosen.expands,
        table=chosen.table_facts if isinstance(chosen, CountModel) else None,
    )
    existing = _existing(folder, description, quantiser) if reuse else None
    searcher = existing or build_index(
        documents,
        folder,
        model=chosen_model(model, settings),
        analyzer=analyzer,
        overwrite=True,
        options=BuildOptions(quantiser=quantiser, threads=threads, progress=progress_lines(folder.name)),
    )
    return Built(searcher, view_bytes(searcher.index))


def index_encoded(
    documents: Collection,
    folder: Path,
    *,
    model: NetworkModel,
    threads: int = 1,
    precision: Precision | None = None,
    quantiser: Quantiser | None = None,
    reuse: bool = False,
) -> Built:
    """Index with a network, reusing encoded blocks.

    Finished blocks are stored beside the index in a folder named by the fingerprint of the encoder. Interrupted runs
    resume, and experiments with the same work folder share blocks. `reuse` is as for `index_counts`.
    """
    encoder: TimedEncoder
    kept: Path | None = None
    if isinstance(model, Tilde) and model.form == "compact":
        encoder = TrimmedEncoder(documents, folder, model, threads=threads, precision=precision)
    else:
        network = open_document_encoder(model, threads=threads, precision=precision)
        blocks = blocks_folder(folder, network)
        kept = blocks if model.runs_network else None
        encoder = TimedEncoder(network, blocks.with_suffix(".json"))
    description = encoder_description(
        model=model.name,
        parameters=model.parameters(),
        analyzer=encoder.analyzer.spec,
        weighting=model.query_weighting,
        exact=encoder.only_text_terms,
        network=network_record(encoder),
    )
    existing = _existing(folder, description, quantiser) if reuse else None
    searcher = existing or build_index(
        documents,
        folder,
        model=model,
        overwrite=True,
        options=BuildOptions(
            encoder=encoder,
            encoding=kept,
            quantiser=quantiser,
            threads=threads,
            progress=progress_lines(folder.name),
        ),
    )
    return Built(searcher, view_bytes(searcher.index), encoder.effort, network_record(encoder))


def _existing(folder: Path, description: Mapping[str, Any], quantiser: Quantiser | None) -> Searcher | None:
    """Open the index in a folder if it has this description and quantiser."""
    if not (folder / "manifest.json").is_file():
        return None
    searcher = termwise.open(folder)
    manifest = searcher.index.manifest
    built = {
        name: value for name, value in manifest.encoder.json.items() if name != "statistics"
    }  # known after a build
    same = built == json.loads(json.dumps(description))
    return searcher if same and manifest.quantiser.kind == (quantiser or manifest.quantiser.kind) else None


def blocks_folder(folder: Path, encoder: DocumentEncoder) -> Path:
    """Return the folder of the blocks of an encoder, beside the indexes of one collection."""
    digest = hashlib.sha256(encoder.fingerprint.encode()).hexdigest()[:12]
    folder.parent.mkdir(parents=True, exist_ok=True)
    return folder.parent / f"{encoder.description['kind']}-{digest}.blocks"


def view_bytes(index: Index) -> dict[str, int]:
    """Return the bytes of the views of an index, of its document order, its vectors, and of all files."""
    views = {"inverted": 0, "forward": 0, "order": 0, "vectors": 0}
    for segment in index.segments:
        for name, size in segment.section_bytes.items():
            view = "order" if name == "documents.order" else "forward" if "forward" in name else "inverted"
            views[view] += size
        if segment.vectors is not None:
            views["vectors"] += sum(segment.vectors.section_bytes.values())
    return {**views, "all": sum(file.length for file in index.manifest.files())}


class TimedEncoder:
    """A `DocumentEncoder` that records its effort in a file; other attributes are those of the encoder."""

    def __init__(self, encoder: DocumentEncoder, account: Path) -> None:
        self._encoder = encoder
        self._account = Account(account)

    @property
    def effort(self) -> Effort | None:
        """Effort so far, earlier runs included."""
        return self._account.effort

    def encode_documents(self, texts: Sequence[str], *, advance: Advance = no_advance) -> EncodedRows:
        """Encode texts and record the time."""
        begin = time.perf_counter()
        rows = self._encoder.encode_documents(texts, advance=advance)
        self._account.add(time.perf_counter() - begin, len(texts))
        return rows

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the encoder."""
        return getattr(self._encoder, name)


class TrimmedEncoder(TimedEncoder):
    """An encoder of TILDE that cuts its rows from longer stored ones, so that one encoding serves all sizes.

    The weights of a smaller `keep` are a subset of those of a larger one.

    Parameters
    ----------
    documents : Collection
        Documents to encode, in their order and in whole blocks, as the index builder does.
    folder : Path
        Folder of the index; the blocks of longer rows are stored beside it, as by `index_encoded`.
    model : Tilde
        Model in the compact form.
    threads, precision
        See `open_document_encoder`.
    """

    def __init__(
        self,
        documents: Collection,
        folder: Path,
        model: Tilde,
        *,
        threads: int = 1,
        precision: Precision | None = None,
    ) -> None:
        if model.keep is None:
            raise ParameterError("the exact form has no rows to cut", facts=[("form", model.form)])
        large = replace(model, keep=max(LARGEST, model.keep))
        encoder = open_document_encoder(large, threads=threads, precision=precision)
        blocks = blocks_folder(folder, encoder)
        super().__init__(encoder, blocks.with_suffix(".json"))
        self._keep = model.keep
        self._cut = open_document_encoder(model, precision=precision, load=False)
        self._blocks = self._read_blocks(documents, blocks, progress_lines(folder.name))

    def _read_blocks(
        self, documents: Collection, blocks: Path, progress: Progress
    ) -> Iterator[tuple[list[Document], TermWeights]]:
        """Encode or read the blocks of longer rows; nothing happens before the first is needed."""
        reader = TimedEncoder(self._encoder, blocks.with_suffix(".json"))
        yield from encoded_blocks(
            documents.documents(), reader, blocks, length=documents.length, progress=progress
        )

    def encode_documents(self, texts: Sequence[str], *, advance: Advance = no_advance) -> TermWeights:
        """Return the rows of the next block, which must contain these texts."""
        batch, rows = next(self._blocks)
        if [document.text for document in batch] != list(texts):
            raise ParameterError("texts are not the next block of the collection")
        advance(1.0)
        keys = self._cut.pruning_keys(rows.terms, rows.weights)
        parts = keep_largest(rows.indptr, rows.terms, rows.weights, keys, self._keep)
        return TermWeights(*parts, rows.vocabulary)

    @property
    def description(self) -> dict[str, Any]:
        """Description of the encoder of the smaller size, which has the same rows."""
        return self._cut.description

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the encoder of the smaller size."""
        return self._cut.fingerprint
