"""``termwise train bert-model1``: training of a re-ranking network."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

from termwise.cli.options import JsonFlag, Threads, model_settings, option
from termwise.cli.terminal import counted
from termwise.cli.train_options import (
    Base,
    Data,
    Resume,
    Validation,
    print_trained,
    run_training,
    training_settings,
)


def command(
    data: Data,
    base: Base,
    out: Annotated[Path, option("--out DIR", "Folder of the new scorer.")],
    validation: Validation = None,
    resume: Resume = False,
    settings: Annotated[list[str] | None, training_settings("epochs=8")] = None,
    threads: Threads = None,
    as_json: JsonFlag = False,
) -> None:
    """Train BERT-Model1, a re-ranking network for comparison.

    The network reads query and document together. Read the notice on a patent publication in
    docs/how-to/neural-translation.md first.

    Example: termwise train bert-model1 --data nfcorpus --base ./bert-base-uncased --out my-scorer
    """
    from termwise.train.requirements import require_training

    require_training()
    from termwise.yardsticks.bert_model1.settings import BertModel1Settings
    from termwise.yardsticks.bert_model1.training import train_bert_model1

    chosen = BertModel1Settings.parse(model_settings(settings or ()))
    facts = run_training(
        train_bert_model1,
        data,
        base,
        out,
        settings=chosen,
        validation=validation,
        resume=resume,
        threads=threads,
    )
    best = facts["best"]
    selection = f", taken at step {best['step']:,}, measured on {facts['validation']}" if best else ""
    result = (
        f"{out}: BERT-Model1, {counted(facts['queries'], 'query')}, {counted(facts['steps'], 'step')}{selection}; "
        f"{facts['seconds']:.0f} s"
    )
    following = f"rerank INDEX --scorer {quote(str(out))} --run RUN --queries QUERIES --out FILE"
    print_trained(result, facts, next_command=following, as_json=as_json)
