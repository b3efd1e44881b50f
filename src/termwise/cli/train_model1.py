"""``termwise train model1``: training of translation tables by expectation maximisation."""

from __future__ import annotations

from shlex import quote
from typing import Annotated

from termwise.cli.options import JsonFlag, Threads, model_settings
from termwise.cli.terminal import counted, note
from termwise.cli.train_options import Data, Resume, TableOut, print_trained, run_training, training_settings
from termwise.display.safe_text import human_bytes


def command(
    data: Data,
    out: TableOut,
    resume: Resume = False,
    settings: Annotated[list[str] | None, training_settings("analyzer=english")] = None,
    threads: Threads = None,
    as_json: JsonFlag = False,
) -> None:
    """Train IBM Model 1, a translation table.

    The table holds the probability of each query term given a document term. Training needs no extra.

    Example: termwise train model1 --data nfcorpus --out my-table
    """
    from termwise.translation import Model1Settings, train_model1

    chosen = Model1Settings.parse(model_settings(settings or ()))
    facts = run_training(train_model1, data, out, settings=chosen, resume=resume, threads=threads)
    for number, perplexity in enumerate(facts["perplexities"], 1):
        note(f"iteration {number}: perplexity {perplexity:,.2f}")
    result = (
        f"{out}: {counted(facts['entries'], 'translation')} of {counted(facts['terms'], 'term')}, "
        f"{human_bytes(facts['bytes'])}; "
        f"{counted(facts['pairs'], 'pair')}, {counted(facts['chunks'], 'chunk')}, {counted(facts['cells'], 'cell')}, "
        f"{facts['lost']:.1%} of the probability pruned, {facts['seconds']['total']:.0f} s"
    )
    print_trained(result, facts, next_command=f"table {quote(str(out))} WORD", as_json=as_json)
