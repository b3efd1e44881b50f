"""Encoding on a cluster of Spark: a collection in files, or a data frame."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from termwise.errors import MissingExtraError

try:
    import pyspark
    from pyspark.sql import DataFrame, SparkSession
except ImportError as error:
    raise MissingExtraError.of("pyspark", "spark", "encoding on a cluster of Spark") from error

from termwise.collection import Collection
from termwise.encode.encoder_manifest import NetworkPrecision
from termwise.indexing.collection_encoding import EncodedShare
from termwise.indexing.context import collection_named
from termwise.indexing.encode_records import encode_records
from termwise.indexing.part_encoding import (
    EncodedPart,
    EncodingJob,
    PartEncoder,
    collect_parts,
    dataset_job,
    finish_job,
    prepare_job,
)
from termwise.models import Model
from termwise.progress import Progress, no_progress

_HEAD = "doc_id string, text_digest binary, encoder string"

_encoders: dict[str, PartEncoder] = {}
"""Encoder of the job of this worker process, which Spark uses for several tasks."""


def encode_collection(
    collection: str | Path | Collection,
    encoding: str | Path,
    *,
    model: str | Path | Model,
    spark: SparkSession | None = None,
    master: str | None = None,
    fields: tuple[str, ...] | None = None,
    threads: int = 1,
    precision: NetworkPrecision | None = None,
    providers: Sequence[str] | None = None,
    progress: Progress = no_progress,
) -> EncodedShare:
    """Encode a collection on a cluster of Spark; the files are those of `encode_parts`, byte by byte.

    All nodes must see the collection, the folder of the rows and, unless it ships with the package, the encoder under
    the same paths. Each part of the collection is one task. If an executor ends, Spark gives its parts to another one.

    Parameters
    ----------
    collection, encoding, model, fields, precision, providers, progress
        See `encode_parts`. With the provider ``cuda``, a task uses the GPU that Spark assigns to it. `progress` is
        called at the end; Spark shows its own progress.
    spark : SparkSession, optional
        By default the session of this process, or a new one.
    master : str, optional
        Master of a new session, such as ``spark://HOST:7077``; by default that of ``spark-submit`` or of the
        configuration.
    threads : int, optional
        Threads of each task; as many processors as ``spark.task.cpus``.

    Raises
    ------
    TermwiseError
        As `encode_parts`.
    """
    job, parts = prepare_job(
        collection,
        encoding,
        model=model,
        fields=fields,
        threads=threads,
        precision=precision,
        providers=providers,
    )
    session = spark or open_session(master)

    def encode(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        encoder = _part_encoder(job)
        for batch in batches:
            done = [encoder.attempt(number, parts[number]) for number in batch.column(0).to_pylist()]
            yield pyarrow.RecordBatch.from_pydict({"done": pyarrow.array(done, pyarrow.binary())})

    with collection_named(collection):
        done = collect_parts(len(parts), _encoded(session, encode, len(parts)), progress)
        return finish_job(job, len(parts), done, done)


def open_session(master: str | None = None) -> SparkSession:
    """Return the session of this process, or open one; `master` is that of a new one."""
    builder = SparkSession.builder.appName("termwise encode")
    return (builder if master is None else builder.master(master)).getOrCreate()


def _encoded(session: SparkSession, encode: Any, parts: int) -> Iterator[EncodedPart]:
    if parts:
        numbers = session.range(0, parts, 1, numPartitions=parts)
        for row in numbers.mapInArrow(encode, "done binary").collect():
            yield pickle.loads(row.done)


def _part_encoder(job: EncodingJob) -> PartEncoder:
    """Return the encoder of a job, opened once for each worker process."""
    key = repr(job)
    if key not in _encoders:
        _use_assigned_gpu()
        _encoders.clear()
        _encoders[key] = PartEncoder(job)
    return _encoders[key]


def _use_assigned_gpu() -> None:
    """Let this process see only the GPU that Spark assigned to its task, if any."""
    context = pyspark.TaskContext.get()
    gpus = None if context is None else context.resources().get("gpu")
    if gpus is not None and gpus.addresses:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpus.addresses[0]


def encode_frame(
    frame: DataFrame,
    *,
    model: str | Path | Model,
    fields: tuple[str, ...] | None = None,
    threads: int = 1,
    precision: NetworkPrecision | None = None,
    providers: Sequence[str] | None = None,
) -> DataFrame:
    """Encode the records of a data frame, read from any storage that Spark reads.

    Parameters
    ----------
    frame : DataFrame
        One document in each row; identifier and text are found as in a Parquet collection.
    model, fields, threads, precision, providers
        See `encode_collection`.

    Returns
    -------
    DataFrame
        Columns ``doc_id``, ``text_digest``, ``encoder``, and ``terms`` and ``weights``, or ``vectors`` and ``scales``.
        If it is written with ``write.parquet``, `build_index` takes the folder as `encoding`.

    Raises
    ------
    TermwiseError
        If the model has no encoder, or the encoder cannot be opened.
    """
    job = dataset_job(model=model, threads=threads, precision=precision, providers=providers)

    def encode(batches: Iterator[Any]) -> Iterator[Any]:
        encoder = _part_encoder(job).encoder
        for batch in batches:
            yield from encode_records(batch, encoder, fields).combine_chunks().to_batches()

    lists = (
        "vectors array<binary>, scales array<float>"
        if job.gives_vectors
        else "terms array<int>, weights array<float>"
    )
    return frame.mapInArrow(encode, f"{_HEAD}, {lists}")
