"""``termwise export``: an index or a mixture in the form of another engine."""

from __future__ import annotations

import time
from pathlib import Path
from shlex import quote
from typing import Annotated

from termwise.cli.options import (
    JsonFlag,
    Overwrite,
    argument,
    model_settings,
    option,
    refuse_options,
)
from termwise.cli.progress_bars import progress_bar
from termwise.cli.terminal import counted, note, print_json, print_text
from termwise.display.safe_text import human_bytes
from termwise.errors import ParameterError, UsageError


def command(
    folder: Annotated[Path | None, argument("DIR", "Folder of the index or mixture.")] = None,
    to: Annotated[
        str | None,
        option("--to TARGET", "Target; termwise export --to list prints all with their settings."),
    ] = None,
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
        str | None,
        option(
            "--since GENERATION",
            "Add what changed since this generation to the export in the folder, instead of exporting anew; its target "
            "and settings stay. last is the generation of the export.",
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

    termwise export docs.tw --out docs.postgresql --since last
    """
    from termwise.collection import read_queries
    from termwise.export import export_index
    from termwise.export.scripts.client import DATABASES

    if to == "list":
        _list_targets(as_json)
        return
    if folder is None:
        raise UsageError(
            "an export needs the folder of an index",
            fixes=[
                "termwise export DIR --to TARGET --out DIR",
                "termwise export --to list shows the targets",
            ],
        )
    if out is None:
        raise UsageError(
            "an export needs a folder", fixes=[f"--out {quote(str(folder) + '.' + (to or 'export'))}"]
        )
    if since is not None:
        refuse_options(
            {"--scale": scales, "--queries": queries, "--overwrite": overwrite},
            "with --since, which adds to an export",
        )
        _export_changes(folder, out, _generation(since), to, model_settings(settings or ()), as_json)
        return
    if to is None:
        raise UsageError(
            "a new export needs a target",
            fixes=["--to sqlite, for example", "termwise export --to list shows the targets"],
        )
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
            overwrite=overwrite,
            progress=progress,
        )
    seconds = time.perf_counter() - begin
    if as_json:
        made.pop("files", None)
        print_json({"export": str(out), **made, "seconds": round(seconds, 3)})
        return
    if "include" in made:
        print_text(
            f"{out}: {counted(made['documents'], 'document')}, {human_bytes(made['bytes'])}, {seconds:.1f} s"
        )
        note(f"next: add this line to a page beside the folder: {made['include']}")
        return
    size = sum(file["bytes"] for file in made["files"].values())
    print_text(f"{out}: {counted(made['documents'], 'document')}, {human_bytes(size)}, {seconds:.1f} s")
    ready = any(name.endswith(DATABASES) for name in made["files"])
    use = 'search "your question"' if ready else "load"
    load = f"python {quote(str(out / 'client.py'))} {use}; " if "client.py" in made["files"] else ""
    note(f"next: {load}{out / 'README.md'} says what is exact")


def _export_changes(
    folder: Path, out: Path, since: int | None, to: str | None, settings: dict[str, str], as_json: bool
) -> None:
    """Add changes to an export. Options that differ from the target or settings of the export are refused."""
    from termwise.export import export_changes, make_target
    from termwise.export.folder import read_description

    if to is not None or settings:
        described = read_description(out)
        target, kept = str(described["target"]), described["settings"]
        asked = vars(make_target(to or target, settings))
        other = [(name, asked[name], kept.get(name)) for name in settings if asked[name] != kept.get(name)]
        other = [("target", to, target)] if to not in (None, target) else other
        if other:
            name, given, there = other[0]
            raise UsageError(
                "the export in this folder has another target or setting",
                facts=[("folder", out), (f"{name} given", given), (f"{name} there", there)],
                fixes=[
                    "leave out --to and --set: the export has them",
                    "export anew, to another folder: --out DIR without --since",
                ],
            )
    begin = time.perf_counter()
    with progress_bar() as progress:
        made = export_changes(folder, out, since=since, progress=progress)
    seconds = time.perf_counter() - begin
    if as_json:
        print_json({"export": str(out), **made, "seconds": round(seconds, 3)})
        return
    print_text(
        f"{out}: {counted(made['changed'], 'row')} changed and {made['deleted']:,} deleted "
        f"since generation {made['since']}, {seconds:.1f} s"
    )
    if "folder" in made and (out / "client.py").is_file():
        note(f"next: python {quote(str(out / 'client.py'))} update {quote(str(out / made['folder']))}")


def _list_targets(as_json: bool) -> None:
    """Print the targets with their settings."""
    from termwise.export.targets.registry import TARGETS, target_class
    from termwise.settings import TypedSettings

    for name in TARGETS:
        kind = target_class(name)
        settings = kind.described() if issubclass(kind, TypedSettings) else []
        if as_json:
            print_json({"target": name, "title": kind.title, "settings": [vars(each) for each in settings]})
            continue
        print_text(f"{name:<15}{kind.title}")
        for each in settings:
            shown = str(each.default).lower() if isinstance(each.default, bool) else str(each.default)
            print_text(f"  --set {f'{each.name}={shown}':<24} {each.meaning}  [{each.values}]")


def _generation(text: str) -> int | None:
    """Return the number of a generation; None for that of the export."""
    if text == "last":
        return None
    if not text.isdecimal() or len(text) > 18:
        raise ParameterError(
            "--since takes the number of a generation, or last, which is that of the export",
            facts=[("given", text)],
            fixes=["--since last"],
        )
    return int(text)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError(
            "--scale takes the name of a part and a number",
            facts=[("given", f"{name}={text}")],
            fixes=["--scale bm25=1.45"],
        ) from None
