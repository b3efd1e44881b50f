"""``termwise train``: training of encoders."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, cast

import click

from termwise.cli.commands import Group, command_of
from termwise.cli.options import JsonFlag, Threads, choice, model_settings, option, refuse_options
from termwise.cli.terminal import counted
from termwise.cli.train_options import (
    Base,
    Card,
    Data,
    EncoderOut,
    Resume,
    Validation,
    print_trained,
    read_card,
    run_training,
    training_settings,
)
from termwise.cli.train_reranker import DESCRIPTIONS, command_of_kind

if TYPE_CHECKING:
    from termwise.encode import Expansion
    from termwise.encode.encoder_manifest import EncoderKind, NetworkPrecision

Settings = Annotated[list[str] | None, training_settings("batch=32")]
ExpandWith = Annotated[
    str,
    option(
        "--expand-with ENCODER|none", "TILDE encoder that expands passages: a shipped one, a folder, or none."
    ),
]
ExpansionTerms = Annotated[int, option("--expansion-terms N", "Number of terms added to a passage.", min=1)]
CountingOption = Annotated[
    str,
    option(
        "--expansion-counting new|raw",
        "Count only terms that are new to the passage, or all terms before filtering, as the published code does.",
    ),
]
ExpansionLift = Annotated[
    float,
    option(
        "--expansion-lift X",
        "How to choose the terms: 0 by their probability, 1 by their probability relative to other passages.",
    ),
]
ExpansionPrecision = Annotated[
    str | None,
    option(
        "--expansion-precision float32|int8",
        "Numeric precision of the expanding encoder.  [default: the faster one on this processor, or that of the "
        "resumed run]",
    ),
]
ExpansionProvider = Annotated[
    str | None,
    option(
        "--expansion-provider NAME",
        "Execution provider of onnxruntime for the expanding encoder: cpu, cuda, or another one.  [default: cpu]",
    ),
]


def _command(kind: EncoderKind, description: str) -> Callable[..., None]:
    """Return the command of a kind without an expansion."""

    def command(
        data: Data,
        base: Base,
        out: EncoderOut,
        validation: Validation = None,
        resume: Resume = False,
        settings: Settings = None,
        card: Card = None,
        threads: Threads = None,
        as_json: JsonFlag = False,
    ) -> None:
        _train(kind, data, base, out, validation, resume, settings, card, threads, as_json)

    example = f"termwise train {kind} --data nfcorpus --base ./all-MiniLM-L6-v2 --out my-{kind}"
    command.__doc__ = f"{description}\n\nExample: {example}"
    return command


tilde = _command("tilde", "Train TILDE, which predicts the query terms of a document.")


def tildev2(
    data: Data,
    base: Base,
    out: EncoderOut,
    expand_with: ExpandWith = "tilde",
    expansion_terms: ExpansionTerms = 64,
    counting: CountingOption = "new",
    expansion_lift: ExpansionLift = 0.0,
    expansion_precision: ExpansionPrecision = None,
    expansion_provider: ExpansionProvider = None,
    validation: Validation = None,
    resume: Resume = False,
    settings: Settings = None,
    card: Card = None,
    threads: Threads = None,
    as_json: JsonFlag = False,
) -> None:
    """Train TILDEv2, which weighs the terms of a passage.

    Terms that expand the passage get weights too.

    Example: termwise train tildev2 --data nfcorpus --base ./all-MiniLM-L6-v2 --out my-tildev2
    """
    from termwise.encode import Expansion

    expansion = None
    if expand_with == "none":
        own = {
            "--expansion-precision": expansion_precision,
            "--expansion-provider": expansion_provider,
        }
        refuse_options(own, "without --expand-with")
    else:
        way = choice("--expansion-counting", counting, ("new", "raw"))
        expansion = Expansion(
            expand_with,
            expansion_terms,
            way,
            expansion_lift,
            precision=cast("NetworkPrecision | None", expansion_precision),  # checked by OnnxSession
            providers=None if expansion_provider is None else (expansion_provider,),
        )
    _train(
        "tildev2", data, base, out, validation, resume, settings, card, threads, as_json,
        expansion=expansion,
    )  # fmt: skip


splade_doc = _command("splade-doc", "Train SPLADE-doc, a max-pooled encoder for comparison.")


def _train(
    kind: EncoderKind,
    data: list[str],
    base: str,
    out: Path,
    validation: str | None,
    resume: bool,
    settings: list[str] | None,
    card: Path | None,
    threads: int | None,
    as_json: bool,
    *,
    expansion: Expansion | None = None,
) -> None:
    """Train an encoder; the first of several processes prints the result."""
    from termwise.train.requirements import is_first_process, require_training

    require_training()
    from termwise.train.fit import train_encoder
    from termwise.train.settings import TrainSettings

    facts = run_training(
        train_encoder, kind, data, base, out,
        settings=TrainSettings.for_kind(kind, model_settings(settings or ())),
        validation=validation, expansion=expansion, card=read_card(card), resume=resume, threads=threads,
    )  # fmt: skip
    if is_first_process():
        best = facts["best"]
        values = "".join(f", {name} {best[name]:.4f}" for name in ("nDCG@10", "RR@10") if name in best)
        taken = f"{facts['settings']['take']} checkpoint at step {best['step']}" if best else ""
        selection = f"; {taken}{values} on {facts['validation']}" if best else ""
        result = (
            f"{out}: {kind}, {counted(facts['steps'], 'step')}, {facts['seconds']:.0f} s{selection}; "
            f"{counted(facts['pairs_seen'], 'pair seen', 'pairs seen')}{' up to that step' if best else ''}"
        )
        print_trained(
            result,
            facts,
            next_command=f"index COLLECTION --model {quote(str(out))} --out DIR",
            as_json=as_json,
        )


def _made(name: str) -> click.Command:
    own = {"tilde": tilde, "tildev2": tildev2, "splade-doc": splade_doc}
    if name in own:
        return command_of(name, own[name])
    if name in DESCRIPTIONS:
        return command_of(name, command_of_kind(name))
    return command_of(name, import_module(f"termwise.cli.train_{name.replace('-', '_')}").command)


group = Group(
    "train",
    "Train encoders of term weights, translation tables and re-ranking networks.\n\nAll but model1 need the extra "
    "train.",
    {
        "Commands": {
            "tilde": "Train TILDE, which predicts the query terms of a document.",
            "tildev2": "Train TILDEv2, which weighs the terms of a passage.",
            "splade-doc": "Train SPLADE-doc, a max-pooled encoder for comparison.",
            "lookup": "Fit a query table to a dense document encoder.",
            "convert": "Convert a published checkpoint to an encoder folder.",
            "model1": "Train IBM Model 1, a translation table.",
            "neural-model1": "Train neural Model 1 and export a translation table.",
            **DESCRIPTIONS,
        }
    },
    _made,
)
