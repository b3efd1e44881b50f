"""Indexes of trained models for the experiments: encoded once, kept block by block, and timed."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import record

from termwise.collection import Collection
from termwise.encode import DocumentEncoder, encoded_blocks, open_document_encoder
from termwise.encode.document_encoder import Advance, network_record, no_advance
from termwise.encode.open_encoder import lazy_document_encoder
from termwise.engine.query_encoder import encoder_description
from termwise.errors import ParameterError
from termwise.index import Index
from termwise.indexing import build_index
from termwise.kernels.pooling import keep_largest
from termwise.models import CountModel, NetworkModel, Tilde, make_model
from termwise.records import Document
from termwise.search import Searcher
from termwise.text import Analyzer, Vocabulary, make_analyzer
from termwise.weights import TermWeights

Quantiser = Literal["uint8", "float32"]
Precision = Literal["float32", "int8"]

LARGEST = 1024
"""Weights a document that are kept of what TILDE reads; rows of fewer are cut from them, see `Trimmed`."""

Progress = Callable[[str, int, int | None], None]

EVERY = 20.0
"""Seconds between two lines of progress."""


@dataclass(frozen=True)
class Effort:
    """What reading documents took, over all starts that it took.

    Attributes
    ----------
    seconds : float
        Seconds the network ran.
    documents : int
        Documents it read, 1 or more: those of which the seconds are known.
    load : float or None
        Mean of the machine's load meanwhile; None where nobody looked.
    """

    seconds: float
    documents: int
    load: float | None = None


class Account:
    """The effort so far, in a file that outlives interruptions."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def effort(self) -> Effort | None:
        """None where nothing is known: rows that another machine made, or an account that was lost."""
        known = Effort(**json.loads(self._path.read_text())) if self._path.is_file() else None
        return known if known is not None and known.documents else None

    def add(self, seconds: float, documents: int) -> None:
        """Add what was read just now."""
        now = os.getloadavg()[0]
        effort, before = Effort(seconds, documents, now), self.effort
        if before is not None:
            total = before.seconds + seconds
            load = None if before.load is None else (before.load * before.seconds + now * seconds) / total
            effort = Effort(total, before.documents + documents, load)
        self._path.write_text(json.dumps(asdict(effort)) + "\n")


@dataclass(frozen=True)
class Built:
    """An index and what it cost.

    Attributes
    ----------
    searcher : Searcher
        The opened index.
    sizes : dict of str to int
        Bytes of the inverted and of the forward view, of the order of documents, and of all files together.
    effort : Effort or None
        What reading the documents took; None without a network, and where nothing is known of it.
    network : dict or None
        What the encoder says of itself.
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
    """Return what tells progress on stderr, a line now and then."""
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

    An index that is there is replaced; with `reuse`, for folders that are named by what documents they hold, it is
    taken where model, settings and analyzer are the same.
    """
    chosen = make_model(model, settings)
    if isinstance(analyzer, str):
        analyzer = make_analyzer(analyzer)
    wanted = encoder_description(
        model=chosen.name,
        parameters=chosen.parameters(),
        analyzer=analyzer.spec,
        weighting=chosen.query_weighting,
        exact=isinstance(chosen, CountModel) and not chosen.expands,
        table=chosen.table_facts if isinstance(chosen, CountModel) else None,
    )
    there = _there(folder, wanted, quantiser) if reuse else None
    searcher = there or build_index(
        documents,
        folder,
        model=model,
        settings=settings,
        analyzer=analyzer,
        quantiser=quantiser,
        threads=threads,
        overwrite=True,
        progress=progress_lines(folder.name),
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
    """Encode what is not encoded yet, and index.

    Finished blocks lie beside the index in a folder named by the fingerprint of the encoder, so that another
    network or setting has a folder of its own, an interrupted run goes on where it was, and all experiments with one
    work folder read once what they share. `reuse` is as for `index_counts`.
    """
    encoder: Timed
    kept: Path | None = None
    if isinstance(model, Tilde) and model.form == "compact":
        encoder = Trimmed(documents, folder, model, threads=threads, precision=precision)
    else:
        network = open_document_encoder(model, threads=threads, precision=precision)
        kept = blocks_folder(folder, network)
        encoder = Timed(network, kept.with_suffix(".json"))
    wanted = encoder_description(
        model=model.name,
        parameters=model.parameters(),
        analyzer=encoder.analyzer.spec,
        weighting=model.query_weighting,
        exact=encoder.only_text_terms,
        network=network_record(encoder),
    )
    there = _there(folder, wanted, quantiser) if reuse else None
    searcher = there or build_index(
        documents,
        folder,
        model=model,
        encoder=encoder,
        encoding=kept,
        quantiser=quantiser,
        threads=threads,
        overwrite=True,
        progress=progress_lines(folder.name),
    )
    return Built(searcher, view_bytes(searcher.index), encoder.effort, network_record(encoder))


def _there(folder: Path, wanted: Mapping[str, Any], quantiser: Quantiser | None) -> Searcher | None:
    """Open an index that was made as is wanted, where there is one."""
    if not (folder / "manifest.json").is_file():
        return None
    searcher = Searcher.open(folder)
    manifest = searcher.index.manifest
    same = manifest.encoder == json.loads(json.dumps(wanted))
    return searcher if same and manifest.quantiser.kind == (quantiser or manifest.quantiser.kind) else None


def blocks_folder(folder: Path, encoder: DocumentEncoder) -> Path:
    """Return where the rows of an encoder lie for the indexes beside `folder`, which are of one collection."""
    digest = hashlib.sha256(encoder.fingerprint.encode()).hexdigest()[:12]
    folder.parent.mkdir(parents=True, exist_ok=True)
    return folder.parent / f"{encoder.description['kind']}-{digest}.blocks"


def view_bytes(index: Index) -> dict[str, int]:
    """Return the bytes of each view of an index, and of all its files."""
    views = {"inverted": 0, "forward": 0, "order": 0}
    for segment in index.segments:
        for name, size in segment.section_bytes.items():
            views[
                "order" if name == "documents.order" else "forward" if "forward" in name else "inverted"
            ] += size
    return {**views, "all": sum(file.length for file in index.manifest.files())}


class Timed:
    """A `DocumentEncoder` that keeps account of its effort, see `Account`."""

    def __init__(self, encoder: DocumentEncoder, account: Path) -> None:
        self._encoder = encoder
        self._account = Account(account)

    @property
    def effort(self) -> Effort | None:
        """The effort so far, earlier runs included."""
        return self._account.effort

    def encode_documents(self, texts: Sequence[str], *, advance: Advance = no_advance) -> TermWeights:
        """Encode, and add to the account."""
        begin = time.perf_counter()
        rows = self._encoder.encode_documents(texts, advance=advance)
        self._account.add(time.perf_counter() - begin, len(texts))
        return rows

    @property
    def vocabulary(self) -> Vocabulary:
        """See `DocumentEncoder`; so below."""
        return self._encoder.vocabulary

    @property
    def analyzer(self) -> Analyzer:  # noqa: D102
        return self._encoder.analyzer

    @property
    def query_weights(self) -> npt.NDArray[np.float32] | None:  # noqa: D102
        return self._encoder.query_weights

    @property
    def floors(self) -> npt.NDArray[np.float64] | None:  # noqa: D102
        return self._encoder.floors

    @property
    def gives_log_likelihoods(self) -> bool:  # noqa: D102
        return self._encoder.gives_log_likelihoods

    @property
    def idf_power(self) -> float:  # noqa: D102
        return self._encoder.idf_power

    @property
    def only_text_terms(self) -> bool:  # noqa: D102
        return self._encoder.only_text_terms

    @property
    def block(self) -> int:  # noqa: D102
        return self._encoder.block

    @property
    def fingerprint(self) -> str:  # noqa: D102
        return self._encoder.fingerprint

    @property
    def description(self) -> dict[str, Any]:  # noqa: D102
        return self._encoder.description


class Trimmed(Timed):
    """An encoder of TILDE whose rows are cut from larger ones, which are kept: one reading gives rows of every size.

    What a document keeps is among what a larger `keep` leaves it.

    Parameters
    ----------
    documents : Collection
        What is encoded, in its order and in whole blocks, as an index is built.
    folder : Path
        Beside it lie the blocks of larger rows, as those of `index_encoded`.
    model : Tilde
        In its compact form.
    threads, precision
        As for `open_document_encoder`.
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
        self._cut = lazy_document_encoder(model, precision=precision)
        self._read = self._reading(documents, blocks, progress_lines(folder.name))

    def _reading(
        self, documents: Collection, blocks: Path, tell: Progress
    ) -> Iterator[tuple[list[Document], TermWeights]]:
        reader = Timed(self._encoder, blocks.with_suffix(".json"))
        yield from encoded_blocks(
            documents.documents(), reader, blocks, length=documents.length, progress=tell
        )

    def encode_documents(self, texts: Sequence[str], *, advance: Advance = no_advance) -> TermWeights:
        """Return the rows of the next block, which holds these texts."""
        batch, rows = next(self._read)
        if [document.text for document in batch] != list(texts):
            raise ParameterError("rows are cut in the order of the collection, in whole blocks")
        advance(1.0)
        keys = self._cut.pruning_keys(rows.terms, rows.weights)
        parts = keep_largest(rows.indptr, rows.terms, rows.weights, keys, self._keep)
        return TermWeights(*parts, rows.vocabulary)

    @property
    def description(self) -> dict[str, Any]:
        """What the encoder of the smaller size says of itself; so is the fingerprint, for the rows are the same."""
        return self._cut.description

    @property
    def fingerprint(self) -> str:  # noqa: D102
        return self._cut.fingerprint
