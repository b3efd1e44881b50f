"""``termwise train bert-model1``: a network that reads a query and a text together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from termwise.cli.options import JsonFlag, Threads, available_processors, model_settings
from termwise.cli.terminal import note, note_line, print_json, progress_bar, stdout
from termwise.cli.train_options import Base, Data, Resume, Validation, new_folder, training_settings

Out = Annotated[Path, new_folder("The new scorer folder.")]
Settings = Annotated[list[str] | None, training_settings("epochs=8")]


def command(
    data: Data,
    base: Base,
    out: Out,
    validation: Validation = None,
    resume: Resume = False,
    settings: Settings = None,
    threads: Threads = None,
    as_json: JsonFlag = False,
) -> None:
    """Train BERT-Model1, a network that reads query and document together and re-ranks, to compare with.

    Mind the notice on a patent publication in docs/how-to/neural-translation.md.

    Example: termwise train bert-model1 --data nfcorpus --base bert-base-uncased --out my-scorer
    """
    from termwise.train.requirements import require_training

    require_training()
    from termwise.yardsticks.bert_model1.settings import BertModel1Settings
    from termwise.yardsticks.bert_model1.training import train_bert_model1

    chosen = BertModel1Settings.parse(model_settings(settings or ()))
    with progress_bar() as progress:
        facts = train_bert_model1(
            data,
            base,
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
    best = facts["best"]
    kept = f", taken at step {best['step']:,}, measured on {facts['validation']}" if best else ""
    stdout().print(
        f"{out}: BERT-Model1, {facts['queries']:,} queries, {facts['steps']:,} steps{kept}; "
        f"{facts['seconds']:.0f} s",
        soft_wrap=True,
    )
    note(f"next: termwise rerank INDEX --scorer {out} --run RUN --queries QUERIES --output FILE")
