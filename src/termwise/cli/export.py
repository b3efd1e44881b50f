"""``termwise export``: an index or a mixture in the form of another engine."""

from __future__ import annotations

import time
from pathlib import Path
from shlex import quote
from typing import Annotated

from termwise.cli.options import IndexFolder, JsonFlag, Overwrite, model_settings, option
from termwise.cli.progress_bars import progress_bar
from termwise.cli.terminal import counted, note, print_json, print_text
from termwise.display.safe_text import human_bytes
from termwise.errors import ParameterError


def command(
    folder: IndexFolder,
    to: Annotated[str, option("--to TARGET", "Target; termwise export --to list prints all.")],
    out: Annotated[Path | None, option("--out DIR", "Folder of the export.")] = None,
    settings: Annotated[
        list[str] | None, option("--set NAME=VALUE", "Setting of the target; repeatable.")
    ] = None,
    scales: Annotated[
        list[str] | None,
        option(
            "--scale PART=NUMBER",
            "Number that the scores of a part of a mixture are divided by; repeatable.  [default: that of the mixture]",
        ),
    ] = None,
    queries: Annotated[
        Path | None,
        option(
            "--queries FILE", "Typical queries, on which the scales of the parts of a mixture are measured."
        ),
    ] = None,
    since: Annotated[
        int | None,
        option(
            "--since GENERATION",
            "Add what changed since this generation to the export in the folder, instead of exporting anew.",
            min=0,
        ),
    ] = None,
    overwrite: Overwrite = False,
    as_json: JsonFlag = False,
) -> None:
    """Export an index or a mixture to another engine.

    A program that loads the data and searches there comes with them. An interrupted export continues when the command
    is run again.

    For example:

    termwise export docs.tw --to postgresql --out docs.postgresql

    termwise export docs.tw --to postgresql --out docs.postgresql --since 3
    """
    from termwise.collection import read_queries
    from termwise.export import export_index
    from termwise.export.targets.registry import TARGETS, target_class

    if to == "list":
        for name in TARGETS:
            print_text(f"{name:<15}{target_class(name).title}")
        return
    if out is None:
        raise ParameterError("an export needs a folder", fixes=[f"--out {quote(f'{folder}.{to}')}"])
    begin = time.perf_counter()
    numbers = (
        None
        if scales is None
        else {name: _number(name, text) for name, text in model_settings(scales).items()}
    )
    texts = None if queries is None else [query.text for query in read_queries(queries)]
    with progress_bar() as progress:
        made = export_index(
            folder,
            to,
            out,
            settings=model_settings(settings or ()),
            scales=numbers,
            queries=texts,
            since=since,
            overwrite=overwrite,
            progress=progress,
        )
    seconds = time.perf_counter() - begin
    if as_json:
        made.pop("files", None)
        print_json({"export": str(out), **made, "seconds": round(seconds, 3)})
        return
    if since is not None:
        print_text(
            f"{out}: {counted(made['changed'], 'row')} changed and {made['deleted']:,} deleted "
            f"since generation {since}, {seconds:.1f} s"
        )
        if "folder" in made:
            note(f"next: python {quote(str(out / 'client.py'))} update {quote(str(out / made['folder']))}")
        return
    if "include" in made:
        print_text(
            f"{out}: {counted(made['documents'], 'document')}, {human_bytes(made['bytes'])}, {seconds:.1f} s"
        )
        note(f"next: add this line to a page beside the folder: {made['include']}")
        return
    size = sum(file["bytes"] for file in made["files"].values())
    print_text(f"{out}: {counted(made['documents'], 'document')}, {human_bytes(size)}, {seconds:.1f} s")
    if target_class(to).engine:
        note(f"next: python {quote(str(out / 'client.py'))} load; {out / 'README.md'} says what is exact")
    else:
        note(f"next: {out / 'README.md'} says what is exact")


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError(
            "--scale takes the name of a part and a number",
            facts=[("given", f"{name}={text}")],
            fixes=["--scale bm25=1.45"],
        ) from None
