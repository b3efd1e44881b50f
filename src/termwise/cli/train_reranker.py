"""``termwise train`` for the networks that re-rank, one command for each kind."""

from __future__ import annotations

from collections.abc import Callable
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

DESCRIPTIONS = {
    "cross-encoder": "Train a cross-encoder, a re-ranking network for comparison.",
    "cedr-knrm": "Train CEDR-KNRM, which re-ranks by kernels over similarities of tokens.",
    "cedr-drmm": "Train CEDR-DRMM, which re-ranks by histograms of similarities.",
    "cedr-pacrr": "Train CEDR-PACRR, which re-ranks by n-grams of similarities.",
    "epic": "Train EPIC, which re-ranks by saliences of query terms and weights of text terms.",
    "qlm-bert": "Train QLM-BERT, which re-ranks by the likelihood of the query or the text.",
    "bert-model1": "Train BERT-Model1, a re-ranking network for comparison.",
}
"""First line of the help of each kind."""

_NOTICE = " Read the notice on a patent publication in\ndocs/how-to/neural-translation.md first."


def command_of_kind(kind: str) -> Callable[..., None]:
    """Return the command that trains a kind of re-ranking network."""

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
        _train(kind, data, base, out, validation, resume, settings, threads, as_json)

    reads = "The network reads query and document " + ("separately." if kind == "epic" else "together.")
    notice = _NOTICE if kind == "bert-model1" else ""
    example = f"termwise train {kind} --data nfcorpus --base ./all-MiniLM-L6-v2 --out my-scorer"
    about = f"{DESCRIPTIONS[kind]}\n\n{reads}{notice}"
    command.__doc__ = f"{about}\n\nExample: {example}"
    return command


def _train(
    kind: str,
    data: list[str],
    base: str,
    out: Path,
    validation: str | None,
    resume: bool,
    settings: list[str] | None,
    threads: int | None,
    as_json: bool,
) -> None:
    from termwise.train.requirements import require_training

    require_training()
    from termwise.yardsticks.rerankers.kinds import network_type
    from termwise.yardsticks.rerankers.training import train_reranker

    network = network_type(kind)
    facts = run_training(
        train_reranker, kind, data, base, out,
        settings=network.settings_type.parse(model_settings(settings or ())),
        validation=validation, resume=resume, threads=threads,
    )  # fmt: skip
    best = facts["best"]
    selection = f", taken at step {best['step']:,}, measured on {facts['validation']}" if best else ""
    result = (
        f"{out}: {network.title}, {counted(facts['queries'], 'query')}, {counted(facts['steps'], 'step')}{selection}; "
        f"{facts['seconds']:.0f} s"
    )
    following = f"rerank INDEX --scorer {quote(str(out))} --run RUN --queries QUERIES --out FILE"
    print_trained(result, facts, next_command=following, as_json=as_json)
