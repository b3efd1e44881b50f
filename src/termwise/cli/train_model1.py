"""``termwise train model1``: a translation table of your own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from termwise.cli.options import JsonFlag, Threads, available_processors, model_settings
from termwise.cli.terminal import human_bytes, note, note_line, print_json, progress_bar, stdout
from termwise.cli.train_options import Data, Resume, new_folder, training_settings

Out = Annotated[Path, new_folder("The folder of the table.")]
Settings = Annotated[list[str] | None, training_settings("analyzer=english")]


def command(
    data: Data,
    out: Out,
    resume: Resume = False,
    settings: Settings = None,
    threads: Threads = None,
    as_json: JsonFlag = False,
) -> None:
    """Train IBM Model 1: how likely each word of a document is to be asked for with each word. Needs no extra.

    Example: termwise train model1 --data nfcorpus --out my-table
    """
    from termwise.translation import Model1Settings, train_model1

    chosen = Model1Settings.parse(model_settings(settings or ()))
    with progress_bar() as progress:
        facts = train_model1(
            data,
            out,
            settings=chosen,
            resume=resume,
            threads=threads or available_processors(),
            progress=progress,
            say=note_line,
        )
    if as_json:
        print_json(facts)
        return
    for number, perplexity in enumerate(facts["perplexities"], 1):
        note(f"iteration {number}: perplexity {perplexity:,.2f}")
    stdout().print(
        f"{out}: {facts['entries']:,} translations of {facts['terms']:,} terms, {human_bytes(facts['bytes'])}; "
        f"{facts['pairs']:,} pairs, {facts['chunks']:,} chunks, {facts['cells']:,} cells, "
        f"{facts['lost']:.1%} of the probability pruned, {facts['seconds']['total']:.0f} s",
        soft_wrap=True,
    )
    note(f"next: termwise table {out} WORD")
