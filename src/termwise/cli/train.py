"""``termwise train``: encoders of your own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from termwise.cli.options import JsonFlag, Threads, available_processors, model_settings, option
from termwise.cli.terminal import note, note_line, print_json, progress_bar, stdout
from termwise.cli.train_options import (
    Base,
    Data,
    Resume,
    Validation,
    counting_of,
    new_folder,
    training_settings,
)
from termwise.cli.verb_group import VerbGroup
from termwise.errors import MalformedRecordError, MissingFileError

if TYPE_CHECKING:
    from termwise.encode import Expansion
    from termwise.encode.encoder_manifest import EncoderKind, NetworkPrecision

app = typer.Typer(
    cls=VerbGroup,
    help="Train an encoder of term weights or convert a published one, which needs the extra train; or train a "
    "translation table, which does not.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Out = Annotated[Path, new_folder("The new encoder folder.")]
Settings = Annotated[list[str] | None, training_settings("batch=32")]
Card = Annotated[
    Path | None,
    option(
        "--card FILE", "JSON with what only you know for the model card: licence, sources and their licences."
    ),
]
ExpandWith = Annotated[
    str,
    option(
        "--expand-with ENCODER|none",
        "The TILDE encoder that expands passages: one that ships, a folder, or none.",
    ),
]
ExpansionTerms = Annotated[int, option("--expansion-terms N", "Terms a passage is expanded by.", min=1)]
CountingOption = Annotated[
    str,
    option(
        "--counting new|raw",
        "Count terms that are new to the passage, or as the published code does, before filtering.",
    ),
]
ExpansionLift = Annotated[
    float,
    option(
        "--expansion-lift X",
        "From 0, expand by the terms that are likeliest, to 1, by those that are likeliest in comparison "
        "with other passages.",
    ),
]
ExpansionPrecision = Annotated[
    str | None,
    option(
        "--expansion-precision float32|int8",
        "In which numbers the encoder that expands computes.  [default: what this processor is faster in, "
        "or what a run that is gone on with began with]",
    ),
]
ExpansionProvider = Annotated[
    str | None,
    option(
        "--expansion-provider NAME",
        "What the encoder that expands runs on: cpu, cuda, or another execution provider of onnxruntime.  "
        "[default: cpu]",
    ),
]


@app.command("tilde")
def tilde(
    data: Data,
    base: Base,
    out: Out,
    validation: Validation = None,
    resume: Resume = False,
    settings: Settings = None,
    card: Card = None,
    threads: Threads = None,
    as_json: JsonFlag = False,
) -> None:
    """Train TILDE: how likely each term is to be asked for, given the document.

    Example: termwise train tilde --data nfcorpus --base sentence-transformers/all-MiniLM-L6-v2 --out my-tilde
    """
    _train(
        "tilde",
        data=data,
        base=base,
        out=out,
        validation=validation,
        resume=resume,
        settings=settings,
        card=card,
        threads=threads,
        as_json=as_json,
    )


@app.command("tildev2")
def tildev2(
    data: Data,
    base: Base,
    out: Out,
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
    """Train TILDEv2: a weight for each word of a passage and for the terms it is expanded by.

    Example: termwise train tildev2 --data nfcorpus --base sentence-transformers/all-MiniLM-L6-v2 --out my-tildev2
    """
    from termwise.encode import Expansion

    expansion = None
    if expand_with != "none":
        expansion = Expansion(expand_with, expansion_terms, counting_of(counting), expansion_lift)
    _train(
        "tildev2",
        expansion=expansion,
        expansion_precision=cast(
            "NetworkPrecision | None", expansion_precision
        ),  # OnnxSession refuses other names
        expansion_providers=None if expansion_provider is None else (expansion_provider,),
        data=data,
        base=base,
        out=out,
        validation=validation,
        resume=resume,
        settings=settings,
        card=card,
        threads=threads,
        as_json=as_json,
    )


@app.command("splade-doc")
def splade_doc(
    data: Data,
    base: Base,
    out: Out,
    validation: Validation = None,
    resume: Resume = False,
    settings: Settings = None,
    card: Card = None,
    threads: Threads = None,
    as_json: JsonFlag = False,
) -> None:
    """Train a max-pooled document encoder (SPLADE-doc), to compare with.

    Example: termwise train splade-doc --data nfcorpus --base sentence-transformers/all-MiniLM-L6-v2 --out my-splade-doc
    """
    _train(
        "splade-doc",
        data=data,
        base=base,
        out=out,
        validation=validation,
        resume=resume,
        settings=settings,
        card=card,
        threads=threads,
        as_json=as_json,
    )


def _train(
    kind: EncoderKind,
    *,
    data: list[str],
    base: str,
    out: Path,
    validation: str | None,
    resume: bool,
    settings: list[str] | None,
    card: Path | None,
    threads: int | None,
    as_json: bool,
    expansion: Expansion | None = None,
    expansion_precision: NetworkPrecision | None = None,
    expansion_providers: tuple[str, ...] | None = None,
) -> None:
    """Train an encoder, and print what came of it: of several processes the first does."""
    from termwise.train.requirements import is_first_process, require_training

    require_training()
    from termwise.train.fit import train_encoder
    from termwise.train.settings import TrainSettings

    chosen = TrainSettings.for_kind(kind, model_settings(settings or ()))
    with progress_bar() as progress:
        facts = train_encoder(
            kind,
            data,
            base,
            out,
            settings=chosen,
            validation=validation,
            expansion=expansion,
            expansion_precision=expansion_precision,
            expansion_providers=expansion_providers,
            resume=resume,
            card=None if card is None else _facts(card),
            threads=threads or available_processors(),
            progress=progress,
            say=note_line,
        )
    if is_first_process():
        _say_trained(kind, out, facts, as_json)


def _say_trained(kind: EncoderKind, out: Path, facts: dict[str, Any], as_json: bool) -> None:
    """Print what a run made, for people or for programs."""
    best = facts["best"]
    measured = "".join(
        f", {name} {value:.4f}" for name, value in best.items() if name in ("nDCG@10", "RR@10")
    )
    taken = f"{facts['settings']['take']} checkpoint at step {best['step']}" if best else ""
    where = f"; {taken}{measured} on {facts['validation']}" if best else ""
    seen = f"{facts['pairs_seen']:,} pairs seen{' until there' if best else ''}"
    result = f"{out}: {kind}, {facts['steps']:,} steps, {facts['seconds']:.0f} s{where}; {seen}"
    if as_json:
        note(result)
        print_json(facts)
        return
    stdout().print(result, soft_wrap=True)
    note(f"next: termwise index COLLECTION --model {out} --out DIR")


def _facts(path: Path) -> dict[str, Any]:
    """Read the file of ``--card``."""
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MissingFileError(
            "the facts for the model card cannot be read",
            facts=[("file", path), ("reason", error.strerror)],
        ) from error
    except ValueError as error:
        raise MalformedRecordError(
            "the facts for the model card are not JSON", facts=[("file", path), ("reason", error)]
        ) from error
    if not isinstance(facts, dict):
        raise MalformedRecordError(
            "the facts for the model card are not a JSON object",
            facts=[("file", path), ("expected", '{"license": ..., "data": {...}}')],
        )
    return facts
