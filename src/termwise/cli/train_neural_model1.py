"""``termwise train neural-model1``: a translation table that a network has learned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from termwise.cli.options import JsonFlag, Threads, available_processors, model_settings
from termwise.cli.terminal import human_bytes, note, note_line, print_json, progress_bar, stdout
from termwise.cli.train_options import Data, Resume, Validation, new_folder, training_settings

Out = Annotated[Path, new_folder("The folder of the table.")]
Settings = Annotated[list[str] | None, training_settings("epochs=8")]


def command(
    data: Data,
    out: Out,
    validation: Validation = None,
    resume: Resume = False,
    settings: Settings = None,
    threads: Threads = None,
    as_json: JsonFlag = False,
) -> None:
    """Train neural Model 1, a network over two words, and export it as a translation table.

    Mind the notice on a patent publication in docs/how-to/neural-translation.md.

    Example: termwise train neural-model1 --data nfcorpus --out my-table
    """
    from termwise.train.requirements import require_training

    require_training()
    from termwise.train.neural_model1.fit import train_neural_model1
    from termwise.train.neural_model1.settings import NeuralModel1Settings

    chosen = NeuralModel1Settings.parse(model_settings(settings or ()))
    with progress_bar() as progress:
        facts = train_neural_model1(
            data,
            out,
            settings=chosen,
            validation=validation,
            resume=resume,
            threads=threads or available_processors(),
            progress=progress,
            say=note_line,
        )
    if as_json:
        print_json(facts)
        return
    best, seconds = facts["best"], facts["seconds"]
    kept = f", the best at step {best['step']:,} on {facts['validation']}" if best else ""
    stdout().print(
        f"{out}: {facts['entries']:,} translations of {facts['sources']:,} document pieces, "
        f"{human_bytes(facts['bytes'])}; {facts['queries']:,} queries, {facts['steps']:,} steps{kept}; "
        f"{seconds['train']:.0f} s of training, {seconds['export']:.0f} s of export",
        soft_wrap=True,
    )
    note(f"next: termwise table {out} WORD, or termwise index COLLECTION --model {out} --out DIR")
