"""``termwise index``: from a collection to an index."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from termwise.cli.options import JsonFlag, Threads, available_processors, memory_size, model_settings
from termwise.cli.terminal import human_bytes, note, print_json, progress_bar, stdout


def command(
    collection: Annotated[
        str,
        typer.Argument(
            metavar="COLLECTION",
            help="A BEIR folder, a JSONL or TSV file (also .gz), ir_datasets:ID, or python:stdlib; "
            "a file of weights for --model vectors.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder of the index.", show_default=False)
    ],
    model: Annotated[str, typer.Option("--model", help="bm25, jm, dirichlet or vectors.")] = "bm25",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the model; may be repeated."),
    ] = None,
    analyzer: Annotated[
        str | None,
        typer.Option(
            "--analyzer",
            metavar="NAME[:FILE]",
            help="How text becomes tokens, such as english or wordpiece:tokenizer.json.  "
            "[default: english; whitespace for vectors]",
            show_default=False,
        ),
    ] = None,
    fields: Annotated[
        str | None,
        typer.Option(
            "--fields",
            metavar="A,B",
            help="Fields to index, joined in this order.  [default: title and the text]",
        ),
    ] = None,
    store_text: Annotated[
        bool, typer.Option("--store-text", help="Keep the texts, for highlights in explanations.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an index that is there.")] = False,
    float_weights: Annotated[
        bool,
        typer.Option(
            "--float", help="Keep weights as float32 instead of one byte: exact, larger and slower."
        ),
    ] = False,
    reorder: Annotated[
        bool,
        typer.Option(
            "--reorder/--no-reorder",
            help="Store similar documents as neighbours: slower to build, faster to search, same results.",
        ),
    ] = True,
    threads: Threads = None,
    memory: Annotated[
        str, typer.Option("--memory", metavar="SIZE", help="Working memory for sorting postings.")
    ] = "2GB",
    as_json: JsonFlag = False,
) -> None:
    """Index a collection.

    Example: termwise index python:stdlib --model bm25 --out python.tw --store-text
    """
    from termwise.build import build_index

    begin = time.perf_counter()
    with progress_bar() as progress:
        searcher = build_index(
            collection,
            out,
            model=model,
            settings=model_settings(settings or ()),
            analyzer=analyzer,
            fields=None if fields is None else tuple(name.strip() for name in fields.split(",")),
            store_text=store_text,
            quantiser="float32" if float_weights else "uint8",
            reorder=reorder,
            overwrite=overwrite,
            threads=threads or available_processors(),
            memory=memory_size(memory),
            progress=progress,
        )
    seconds = time.perf_counter() - begin
    manifest = searcher.index.manifest
    size = sum(file.length for file in manifest.files())
    if as_json:
        print_json(
            {
                "index": str(out),
                "documents": manifest.documents,
                "terms": manifest.terms,
                "postings": manifest.postings,
                "bytes": size,
                "seconds": round(seconds, 3),
            }
        )
        return
    stdout().print(
        f"{out}: {manifest.documents:,} documents, {manifest.terms:,} terms, "
        f"{manifest.postings:,} postings, {human_bytes(size)}, {seconds:.1f} s",
        soft_wrap=True,
    )
    note(f'next: termwise search {out} "your question" --explain')
