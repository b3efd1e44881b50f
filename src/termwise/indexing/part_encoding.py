"""Encoding of the parts of a collection by several processes: one Parquet file of rows for each part.

The parts and their files depend on the collection, the encoder and the versions of the libraries, not on the number of
the processes or on what each of them does. So a part whose process ended is encoded again by another one, with the same
bytes; and parts that are finished are not encoded again. `termwise.integrations.ray` and `termwise.integrations.spark`
run the parts on a cluster, `encode_parts` in this process.
"""

from __future__ import annotations

import importlib.metadata
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from termwise._version import __version__
from termwise.collection import Collection, open_collection
from termwise.collection.fields import FieldChoice
from termwise.collection.parts import CollectionPart, collection_parts
from termwise.encode import DocumentEncoder
from termwise.encode.block_encoding import checked_shard, claim
from termwise.encode.block_file import text_digests
from termwise.encode.encoder_manifest import NetworkPrecision
from termwise.encode.open_encoder import open_document_encoder
from termwise.encode.row_table import (
    encode_table,
    encoder_identity,
    read_row_file,
    row_file_name,
    write_row_file,
)
from termwise.errors import ParameterError, StorageError, TermwiseError, VocabularyMismatchError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.indexing.collection_encoding import EncodedShare
from termwise.indexing.context import collection_named, empty_collection
from termwise.indexing.field_weights import refuse_weights_for_network
from termwise.indexing.model_choice import chosen_model
from termwise.indexing.row_statistics import counted_table, statistics_of_files
from termwise.indexing.work_folder import check_outside_indexes
from termwise.models import Model, NetworkModel
from termwise.progress import Progress, no_progress
from termwise.storage.safe_read import is_folder, path_exists
from termwise.validation import check_path

LIBRARIES = ("onnxruntime", "tokenizers", "numpy", "pyarrow")
"""Packages whose version can change the rows or the bytes of their files."""

STAGE = "encode parts"

Part = tuple[int, CollectionPart]
"""Number of a part, from 0, and its documents."""


@dataclass(frozen=True)
class EncodedPart:
    """Finished part of a collection.

    Attributes
    ----------
    number : int
        Number of the part, from 0.
    file : str
        Name of its file in the folder.
    documents : int
        Documents of the part.
    error : TermwiseError or None
        Error that every process would have with this part.
    """

    number: int
    file: str = ""
    documents: int = 0
    error: TermwiseError | None = None


@dataclass(frozen=True, kw_only=True)
class EncodingJob:
    """What each process needs to know to encode parts; made by `prepare_job`, and sent to the processes.

    Attributes
    ----------
    encoding : Path or None
        Folder of the rows, absolute; None if the rows are not written by the processes.
    model : NetworkModel
        Model; a folder of an encoder is absolute.
    identity : str
        `encoder_identity` of the encoder that the job was made with.
    versions : mapping of str to str
        Versions of termwise and of `LIBRARIES`.
    gives_vectors : bool
        Whether the rows are vectors, not term weights.
    threads, precision, providers
        See `open_document_encoder`.
    """

    encoding: Path | None
    model: NetworkModel
    identity: str
    versions: Mapping[str, str]
    gives_vectors: bool
    threads: int = 1
    precision: NetworkPrecision | None = None
    providers: tuple[str, ...] | None = None

    @property
    def folder(self) -> Path:
        """Folder of the rows of a job that has one."""
        assert self.encoding is not None
        return self.encoding

    @property
    def uses_gpu(self) -> bool:
        """Whether a provider runs the network on a GPU of NVIDIA."""
        return any(name.lower() in ("cuda", "cudaexecutionprovider") for name in self.providers or ())


def prepare_job(
    collection: str | Path | Collection,
    encoding: str | Path,
    *,
    model: str | Path | Model,
    fields: FieldChoice = None,
    threads: int = 1,
    precision: NetworkPrecision | None = None,
    providers: Sequence[str] | None = None,
) -> tuple[EncodingJob, list[CollectionPart]]:
    """Claim the folder of the rows, and cut the collection into parts; see `encode_parts`.

    Without a precision, that of this machine is used everywhere.
    """
    check_path("encoding", encoding)
    check_outside_indexes(Path(encoding))
    refuse_weights_for_network(fields, network_model(model))
    job, encoder = _job(model, Path(encoding).absolute(), threads, precision, providers)
    if not isinstance(collection, Collection):
        path = Path(collection)
        collection = open_collection(path.absolute() if path_exists(path) else collection, fields=fields)
    parts = collection_parts(collection)
    claim(job.folder, encoder)
    return job, parts


def dataset_job(
    *,
    model: str | Path | Model,
    threads: int = 1,
    precision: NetworkPrecision | None = None,
    providers: Sequence[str] | None = None,
) -> EncodingJob:
    """Return the job of processes that encode records of a data set, and do not write files."""
    return _job(model, None, threads, precision, providers)[0]


def _job(
    model: str | Path | Model,
    folder: Path | None,
    threads: int,
    precision: NetworkPrecision | None,
    providers: Sequence[str] | None,
) -> tuple[EncodingJob, DocumentEncoder]:
    chosen = _with_absolute_folders(network_model(model))
    encoder = open_document_encoder(
        chosen, threads=threads, precision=precision, providers=providers, load=False
    )
    network = encoder.description.get("network") or {}
    job = EncodingJob(
        encoding=folder,
        model=chosen,
        identity=encoder_identity(encoder),
        versions=_versions(),
        gives_vectors=encoder.term_vectors is not None,
        threads=threads,
        precision=network.get("precision"),
        providers=None if providers is None else tuple(providers),
    )
    return job, encoder


def network_model(model: str | Path | Model) -> NetworkModel:
    """Return the model that an encoder belongs to; another model raises `ParameterError`."""
    chosen = chosen_model(model)
    if not isinstance(chosen, NetworkModel):
        raise ParameterError(
            "only a model with an encoder encodes documents before the index is built",
            facts=[("model", chosen.name)],
            fixes=[Fix.call("build_index", model=chosen.name)],
        )
    return chosen


class PartEncoder:
    """Encodes parts of a collection in one process; the network is loaded for the first part that needs it."""

    def __init__(self, job: EncodingJob) -> None:
        self._job = job

    @cached_property
    def encoder(self) -> DocumentEncoder:
        """Encoder of the job.

        Raises
        ------
        VocabularyMismatchError
            If this process has another encoder than the one that started the job, or other versions of the libraries.
        """
        job, here = self._job, _versions()
        encoder = open_document_encoder(
            job.model, threads=job.threads, precision=job.precision, providers=job.providers, load=False
        )
        there = {**job.versions, "encoder": job.identity}
        here["encoder"] = encoder_identity(encoder)
        differing = [name for name in there if here[name] != there[name]]
        if differing:
            raise VocabularyMismatchError(
                "a process of the cluster has another encoder or other versions than the one that started the job",
                facts=[
                    ("started with", ", ".join(f"{name} {there[name]}" for name in differing)),
                    ("in the process", ", ".join(f"{name} {here[name]}" for name in differing)),
                ],
                fixes=["install the same versions and the same encoder on all machines"],
            )
        return encoder

    def encode(self, number: int, part: CollectionPart) -> EncodedPart:
        """Write the file of a part, unless an undamaged one is in the folder."""
        documents = list(part.documents())
        doc_ids, texts = (
            [document.doc_id for document in documents],
            [document.text for document in documents],
        )
        name = row_file_name(doc_ids, text_digests(texts), self._job.identity)
        path = self._job.folder / name
        if documents and read_row_file(path, self.encoder) is None:
            table = encode_table(doc_ids, texts, self.encoder)
            write_row_file(path, counted_table(table, len(self.encoder.vocabulary)))
        return EncodedPart(number, name, len(documents))

    def attempt(self, number: int, part: CollectionPart) -> bytes:
        """Encode a part as `encode` does, and return the `EncodedPart` as bytes for another process.

        An error in the collection or the encoder becomes a part of the result, because a second attempt would fail,
        too. An error of the disk is raised, so that the cluster repeats the task.
        """
        try:
            done = self.encode(number, part)
        except StorageError:
            raise
        except TermwiseError as error:
            done = EncodedPart(number, error=error)
        return pickle.dumps(done)


def encode_parts(
    collection: str | Path | Collection,
    encoding: str | Path,
    *,
    model: str | Path | Model,
    fields: FieldChoice = None,
    shard: tuple[int, int] = (1, 1),
    threads: int = 1,
    precision: NetworkPrecision | None = None,
    providers: Sequence[str] | None = None,
    progress: Progress = no_progress,
) -> EncodedShare:
    """Encode a collection in this process, with the files that a cluster writes.

    Each part of the collection becomes a Parquet file with one row for each document: ``doc_id``, ``text_digest``,
    ``encoder``, and ``terms`` and ``weights``, or ``vectors`` and ``scales``. `build_index` takes the folder as
    `encoding`. When all parts are finished, ``statistics.json`` has the statistics of all rows.

    Parameters
    ----------
    collection : str, Path or Collection
        A JSONL or Parquet file, a folder of such files, or a BEIR folder.
    encoding : str or Path
        Folder of the rows, outside of any index.
    model, fields
        See `build_index`, which needs the same values.
    shard : (int, int), optional
        Part i of n, counted from 1: every n-th part of the collection.
    threads, precision, providers, progress
        See `BuildOptions`.

    Raises
    ------
    ParameterError
        If the model has no encoder, the collection is not in JSONL or Parquet files, or there is no such shard.
    EmptyCollectionError
        If the collection holds no documents.
    TermwiseError
        If there is an error in the collection, the settings, the encoder or the folder.
    """
    part, of = checked_shard(shard)
    job, parts = prepare_job(
        collection,
        encoding,
        model=model,
        fields=fields,
        threads=threads,
        precision=precision,
        providers=providers,
    )
    encoder = PartEncoder(job)
    share = [each for each in enumerate(parts) if each[0] % of == part - 1]

    def encoded() -> Iterator[EncodedPart]:
        for number, documents in share:
            yield encoder.encode(number, documents)

    with collection_named(collection):
        done = collect_parts(len(share), encoded(), progress)
        others = [each for each in enumerate(parts) if each[0] % of != part - 1]
        found = [_finished(job, number, documents) for number, documents in others]
        finished = [each for each, is_there in found if is_there]
        if not done and not others:
            raise empty_collection()
    return finish_job(job, len(parts), done, [*done, *finished], [each for each, _ in found])


def collect_parts(total: int, encoded: Iterable[EncodedPart], progress: Progress) -> list[EncodedPart]:
    """Return the finished parts in order, as they come from the processes; parts without documents are left out.

    The error of a part is raised.
    """
    progress(STAGE, 0, total)
    done: dict[int, EncodedPart] = {}
    for each in encoded:
        if each.error is not None:
            raise each.error
        done[each.number] = each
        progress(STAGE, len(done), total)
    return [done[number] for number in sorted(done) if done[number].documents]


def finish_job(
    job: EncodingJob,
    parts: int,
    share: Sequence[EncodedPart],
    finished: Sequence[EncodedPart],
    others: Sequence[EncodedPart] = (),
) -> EncodedShare:
    """Write the statistics when all parts are finished, and return the numbers of the job."""
    documents = sum(part.documents for part in [*share, *others])
    empty = parts - len(share) - len([part for part in others if part.documents])
    if not documents:
        raise empty_collection()
    if len(finished) + empty == parts:
        files = [job.folder / part.file for part in sorted(finished, key=lambda part: part.number)]
        statistics_of_files(files, job.identity).write(job.folder)
    return EncodedShare(documents, parts - empty, len(share), len(finished))


def _finished(job: EncodingJob, number: int, part: CollectionPart) -> tuple[EncodedPart, bool]:
    """Return a part of another shard, and whether its file is in the folder."""
    documents = list(part.documents())
    digests = text_digests(document.text for document in documents)
    name = row_file_name([document.doc_id for document in documents], digests, job.identity)
    return EncodedPart(number, name, len(documents)), bool(documents) and (job.folder / name).is_file()


def _versions() -> dict[str, str]:
    found = {"termwise": __version__}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _with_absolute_folders(model: NetworkModel) -> NetworkModel:
    """Return the model with absolute paths of its encoders, because other processes have other working folders."""
    changed: dict[str, Any] = {
        name: str(Path(value).absolute())
        for name in ("encoder", "expansion_encoder")
        if isinstance(value := getattr(model, name, None), str) and is_folder(Path(value)) and "/" in value
    }
    return replace(model, **changed) if changed else model
