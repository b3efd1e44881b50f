"""Encoding on a cluster of Ray: a collection in files, or a data set of Ray Data."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from termwise.errors import MissingExtraError, ParameterError

try:
    import ray
    import ray.data
except ImportError as error:
    raise MissingExtraError.of("ray", "ray", "encoding on a cluster of Ray") from error

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

BATCH = 1024
"""Records that `encode_dataset` encodes together."""


def encode_collection(
    collection: str | Path | Collection,
    encoding: str | Path,
    *,
    model: str | Path | Model,
    address: str | None = None,
    workers: int | None = None,
    fields: tuple[str, ...] | None = None,
    threads: int = 1,
    precision: NetworkPrecision | None = None,
    providers: Sequence[str] | None = None,
    progress: Progress = no_progress,
) -> EncodedShare:
    """Encode a collection on a cluster of Ray; the files are those of `encode_parts`, byte by byte.

    All nodes must see the collection, the folder of the rows and, unless it ships with the package, the encoder under
    the same paths. Each worker is an actor that loads the network once. If a worker or its node ends, its part is
    encoded again by another worker.

    Parameters
    ----------
    collection, encoding, model, fields, precision, providers, progress
        See `encode_parts`. With the provider ``cuda``, each worker has one GPU.
    address : str, optional
        Address of the cluster, such as ``ray://HOST:10001``. By default that of ``RAY_ADDRESS``, or the cluster that
        runs on this machine, or else a new one on this machine.
    workers : int, optional
        Largest number of workers; by default as many as the cluster has processors for, or GPUs. With more, a cluster
        that can grow is asked for nodes.
    threads : int, optional
        Threads and processors of each worker.

    Raises
    ------
    TermwiseError
        As `encode_parts`; also if a worker has another version of termwise or of a library, or another encoder.
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
    if not ray.is_initialized():
        ray.init(address, log_to_driver=False, logging_level=logging.WARNING)
        logging.getLogger("ray.data").setLevel(logging.WARNING)
    items = [{"part": (number, part)} for number, part in enumerate(parts)]
    with collection_named(collection):
        done = collect_parts(len(parts), _encoded(items, job, workers), progress)
        return finish_job(job, len(parts), done, done)


def _encoded(items: list[dict[str, Any]], job: EncodingJob, workers: int | None) -> Iterator[EncodedPart]:
    if not items:
        return
    dataset = ray.data.from_items(items, override_num_blocks=len(items)).map(
        _PartWorker,  # type: ignore[arg-type]
        fn_constructor_args=(job,),
        **_resources(job, workers, len(items)),
    )
    for row in dataset.iter_rows():
        yield pickle.loads(row["done"])


def _resources(job: EncodingJob, workers: int | None, most: int | None = None) -> dict[str, Any]:
    """Return the options of an operator with `workers` actors, or as many as fit, and at most `most`."""
    total = ray.cluster_resources()
    fitting = int(total.get("GPU", 0) if job.uses_gpu else total.get("CPU", 0) / job.threads)
    if fitting == 0 and workers is None:
        raise ParameterError(
            "the cluster has no room for a worker",
            facts=[
                ("needed", "1 GPU" if job.uses_gpu else f"{job.threads} processors"),
                ("cluster", f"{total.get('CPU', 0):g} processors, {total.get('GPU', 0):g} GPUs"),
            ],
            fixes=[
                "add nodes",
                "fewer threads" if job.threads > 1 else "omit the provider to run on processors",
            ],
        )
    largest = min(workers or fitting, most or workers or fitting)
    pool = ray.data.ActorPoolStrategy(
        min_size=1,
        max_size=largest,
        initial_size=max(1, min(fitting, largest)),
        max_tasks_in_flight_per_actor=1,
    )
    return {"compute": pool, **({"num_gpus": 1} if job.uses_gpu else {"num_cpus": job.threads})}


class _PartWorker:
    """Actor that encodes parts of a collection."""

    def __init__(self, job: EncodingJob) -> None:
        self._encoder = PartEncoder(job)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        return {"done": self._encoder.attempt(*row["part"])}


def encode_dataset(
    dataset: ray.data.Dataset,
    *,
    model: str | Path | Model,
    workers: int | None = None,
    fields: tuple[str, ...] | None = None,
    threads: int = 1,
    precision: NetworkPrecision | None = None,
    providers: Sequence[str] | None = None,
) -> ray.data.Dataset:
    """Encode the records of a data set of Ray Data, read from any storage that Ray reads.

    Parameters
    ----------
    dataset : ray.data.Dataset
        One document in each row; identifier and text are found as in a Parquet collection.
    model, workers, fields, threads, precision, providers
        See `encode_collection`.

    Returns
    -------
    ray.data.Dataset
        Columns ``doc_id``, ``text_digest``, ``encoder``, and ``terms`` and ``weights``, or ``vectors`` and ``scales``.
        If it is written with ``write_parquet``, `build_index` takes the folder as `encoding`.

    Raises
    ------
    TermwiseError
        If the model has no encoder, or the encoder cannot be opened.
    """
    job = dataset_job(model=model, threads=threads, precision=precision, providers=providers)
    return dataset.map_batches(
        _RecordWorker,
        fn_constructor_args=(job, fields),
        batch_size=BATCH,
        batch_format="pyarrow",
        **_resources(job, workers),
    )


class _RecordWorker:
    """Actor that encodes records of a data set."""

    def __init__(self, job: EncodingJob, fields: tuple[str, ...] | None) -> None:
        self._encoder = PartEncoder(job).encoder
        self._fields = fields

    def __call__(self, records: Any) -> Any:
        return encode_records(records, self._encoder, self._fields)
