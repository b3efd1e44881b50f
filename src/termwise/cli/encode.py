"""``termwise encode``: run an encoder over one shard of a collection."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from termwise.cli.index_notes import collection_with_header_note, note_finished_blocks, resumable_work
from termwise.cli.options import (
    Fields,
    JsonFlag,
    Precision,
    Provider,
    Settings,
    Threads,
    argument,
    available_processors,
    field_choice,
    model_settings,
    network_precision,
    option,
    parsed_shard,
)
from termwise.cli.progress_bars import progress_bar
from termwise.cli.terminal import note, print_json, print_text
from termwise.errors import UsageError

if TYPE_CHECKING:
    from termwise.indexing import EncodedShare


def command(
    collection: Annotated[
        str,
        argument(
            "COLLECTION",
            "A BEIR folder, a folder of JSONL or Parquet files, a JSONL, JSON, CSV or TSV file (also .gz), a Parquet "
            "file, ir_datasets:ID, or python:stdlib.",
        ),
    ],
    model: Annotated[
        str, option("--model NAME|DIR", "tilde, tildev2, splade-doc, lookup, or the folder of an encoder.")
    ],
    encoding: Annotated[Path, option("--encoding DIR", "Work folder for encoded blocks of documents.")],
    shard: Annotated[str, option("--shard I/N", "Encode shard I of N: every N-th block.")] = "1/1",
    on: Annotated[
        str | None,
        option(
            "--on WHERE",
            "Write Parquet files of rows, on a cluster: ray, ray://HOST:PORT, spark or spark://HOST:PORT; local writes "
            "the same files in this process. COLLECTION is then a JSONL or Parquet file, or a folder of such files.",
        ),
    ] = None,
    settings: Settings = None,
    fields: Fields = None,
    threads: Threads = None,
    precision: Precision = None,
    provider: Provider = None,
    as_json: JsonFlag = False,
) -> None:
    """Run an encoder over one shard of a collection.

    With --on, a cluster encodes all of it. The command index --encoding uses the result.

    Example: termwise encode docs.jsonl --model tilde --encoding docs.rows --shard 1/4
    """
    from termwise.indexing import chosen_model, encode_collection
    from termwise.models import NetworkModel

    part = parsed_shard(shard)
    names, numbers = field_choice(fields), network_precision(precision)
    providers = None if provider is None else (provider,)
    chosen = chosen_model(model, model_settings(settings or ()))
    if isinstance(chosen, NetworkModel) and chosen.runs_network:
        note_finished_blocks(encoding, chosen, precision=numbers, providers=providers)
    documents = collection_with_header_note(collection, names)
    encode: Callable[..., EncodedShare]
    if on is None:
        encode = partial(encode_collection, shard=part, threads=threads or available_processors())
    else:
        encode = _encode_on(on, part, threads)
    begin = time.perf_counter()
    with resumable_work([encoding]), progress_bar() as progress:
        done = encode(
            documents,
            encoding,
            model=chosen,
            fields=names,
            precision=numbers,
            providers=providers,
            progress=progress,
        )
    seconds = time.perf_counter() - begin
    if as_json:
        print_json(
            {
                "encoding": str(encoding),
                "documents": done.documents,
                "blocks": done.blocks,
                "share": done.share,
                "left": done.left,
                "seconds": round(seconds, 3),
            }
        )
        return
    print_text(
        f"{encoding}: {done.share:,} of {done.blocks:,} {'blocks' if on is None else 'parts'} belong to this shard, "
        f"{done.left:,} remain in all, "
        f"{seconds:.1f} s"
    )
    if done.left == 0:
        same = [f"--set {shlex.quote(pair)}" for pair in settings or ()]
        same += [f"--fields {shlex.quote(fields)}"] if fields is not None else []
        same += [f"--precision {precision}"] if precision is not None else []
        given = " ".join([shlex.quote(collection), "--model", shlex.quote(model), *same])
        note(f"next: termwise index {given} --encoding {shlex.quote(str(encoding))} --out DIR")


def _encode_on(where: str, shard: tuple[int, int], threads: int | None) -> Callable[..., EncodedShare]:
    """Return the function that encodes on a cluster, or in this process with the same files."""
    if where == "local":
        from termwise.indexing import encode_parts

        return partial(encode_parts, shard=shard, threads=threads or available_processors())
    scheme, _, address = where.partition("://")
    if scheme not in ("ray", "spark") or (":" in where and not address):
        raise UsageError(
            "no such place to encode on",
            facts=[("given", where), ("expected", "local, ray, ray://HOST:PORT, spark or spark://HOST:PORT")],
        )
    if shard != (1, 1):
        raise UsageError(
            "a cluster distributes the parts of a collection itself",
            facts=[("given", f"--on {where} --shard {shard[0]}/{shard[1]}")],
            fixes=["omit --shard", f"use --on local --shard {shard[0]}/{shard[1]}, without a cluster"],
        )
    if scheme == "ray":
        from termwise.integrations import ray

        return partial(ray.encode_collection, address=where if address else None, threads=threads or 1)
    from termwise.integrations import spark

    return partial(spark.encode_collection, master=where if address else None, threads=threads or 1)
