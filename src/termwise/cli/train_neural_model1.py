"""``termwise train neural-model1``: training of translation tables with a network."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

from termwise.cli.options import JsonFlag, Threads, model_settings
from termwise.cli.terminal import counted
from termwise.cli.train_options import (
    Data,
    Resume,
    TableOut,
    Validation,
    print_trained,
    run_training,
    training_settings,
)
from termwise.display.safe_text import human_bytes


def command(
    data: Data,
    out: TableOut,
    validation: Validation = None,
    resume: Resume = False,
    settings: Annotated[list[str] | None, training_settings("epochs=8")] = None,
    threads: Threads = None,
    as_json: JsonFlag = False,
) -> None:
    """Train neural Model 1 and export a translation table.

    Read the notice on a patent publication in docs/how-to/neural-translation.md first.

    Example: termwise train neural-model1 --data nfcorpus --out my-table
    """
    from termwise.train.requirements import require_training

    require_training()
    from termwise.train.neural_model1.fit import train_neural_model1
    from termwise.train.neural_model1.settings import NeuralModel1Settings

    chosen = NeuralModel1Settings.parse(model_settings(settings or ()))
    facts = run_training(
        train_neural_model1, data, out, settings=chosen, validation=validation, resume=resume, threads=threads
    )
    best, seconds = facts["best"], facts["seconds"]
    selection = f", the best at step {best['step']:,} on {facts['validation']}" if best else ""
    result = (
        f"{out}: {facts['entries']:,} translations of {facts['sources']:,} document pieces, "
        f"{human_bytes(facts['bytes'])}; {counted(facts['queries'], 'query')}, "
        f"{counted(facts['steps'], 'step')}{selection}; "
        f"{seconds['train']:.0f} s of training, {seconds['export']:.0f} s of export"
    )
    following = (
        f"table {quote(str(out))} WORD, or termwise index COLLECTION --model {quote(str(out))} --out DIR"
    )
    print_trained(result, facts, next_command=following, as_json=as_json)
