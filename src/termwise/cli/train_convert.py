"""``termwise train convert``: conversion of published checkpoints to encoder folders."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from termwise.cli.options import JsonFlag, argument, choice, option, refuse_options
from termwise.cli.progress_bars import progress_bar
from termwise.cli.terminal import note, note_line
from termwise.cli.train_options import EncoderOut, print_trained
from termwise.errors import MissingFileError

if TYPE_CHECKING:
    from termwise.encode import EncoderFolder

PUBLISHED_TERMS = 200
"""Number of expansion terms of the published TILDEv2, counted as ``raw``."""


def command(
    folder: Annotated[
        Path,
        argument(
            "FOLDER",
            "Published checkpoint: TILDE (a BertLMHeadModel), TILDEv2 or uniCOIL (BERT with a token projection), a "
            "SparseEncoder of sentence-transformers, or a doc-only model of OpenSearch.",
        ),
    ],
    out: EncoderOut,
    kind: Annotated[
        str | None,
        option("--kind KIND", "tilde, tildev2 or splade-doc, if the checkpoint does not state it."),
    ] = None,
    activation: Annotated[
        str | None,
        option(
            "--activation relu|log1p_relu",
            "For a model of OpenSearch without modules.json: relu for doc-v1, doc-v2 and multilingual-v1, log1p_relu "
            "for doc-v3.",
        ),
    ] = None,
    floors_from: Annotated[
        str | None,
        option(
            "--floors-from COLLECTION",
            "For TILDE: collection of passages for measuring the floors of the compact form, similar to the documents "
            "to index; in a format of termwise index.",
        ),
    ] = None,
    expand_with: Annotated[
        str | None,
        option(
            "--expand-with ENCODER",
            "For TILDEv2: converted TILDE encoder that expanded its training passages.  [default: documents are not "
            "expanded]",
        ),
    ] = None,
    expansion_terms: Annotated[
        int | None,
        option(
            "--expansion-terms N",
            f"With --expand-with: number of terms added to a passage.  [default: {PUBLISHED_TERMS}]",
            min=1,
        ),
    ] = None,
    counting: Annotated[
        str | None,
        option(
            "--expansion-counting new|raw",
            "With --expand-with: count only terms that are new to the passage, or all terms before filtering, as the "
            "published code does.  [default: raw]",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Convert a published checkpoint to an encoder folder.

    For example:

    termwise train convert ./TILDE --floors-from docs.jsonl --out tilde-msmarco

    termwise train convert ./TILDEv2-TILDE200-exp --expand-with tilde-msmarco --out tildev2-msmarco
    """
    from termwise.train.requirements import require_training
    from termwise.train.settings import ACTIVATIONS

    if expand_with is None:
        refuse_options(
            {"--expansion-terms": expansion_terms, "--expansion-counting": counting}, "without --expand-with"
        )
    way = choice("--expansion-counting", counting or "raw", ("new", "raw"))
    chosen = None if activation is None else choice("--activation", activation, ACTIVATIONS)
    require_training()
    from termwise.encode import Expansion
    from termwise.train.export.published_checkpoints import convert_checkpoint

    expansion = None
    if expand_with is not None:
        expansion = Expansion(expand_with, expansion_terms or PUBLISHED_TERMS, way)
    with progress_bar() as progress:
        encoder = convert_checkpoint(
            folder,
            out,
            kind=kind,
            activation=chosen,
            floors_from=floors_from,
            expansion=expansion,
            progress=progress,
            say=note_line,
        )
    print_trained(
        f"{out}: an encoder of kind {encoder.manifest.kind}",
        {"encoder": str(out), "kind": encoder.manifest.kind},
        next_command=f"index COLLECTION --model {_model(out)}{_settings(encoder, expand_with)} --out DIR",
        as_json=as_json,
    )


def _settings(encoder: EncoderFolder, expand_with: str | None) -> str:
    """Return the settings that the encoder needs, and report missing floors or expansion on stderr."""
    from termwise.encode.encoder_folder import FLOORS
    from termwise.encode.open_encoder import expander_of
    from termwise.models import TildeV2

    if encoder.manifest.kind == "tilde" and FLOORS not in encoder.manifest.files:
        note(
            f"without floors only the exact form is available, {int(encoder.kept.sum()):,} weights a document; "
            "--floors-from COLLECTION adds the compact form, which keeps the largest weights"
        )
        return " --set form=exact"
    if encoder.manifest.kind == "tildev2" and expand_with is None:
        note(
            "documents are not expanded; if the training passages were expanded, convert again "
            "with --expand-with ENCODER"
        )
    if expand_with is not None:
        try:
            expander_of(TildeV2(encoder=str(encoder.folder)), encoder)
        except MissingFileError:
            return f" --set {shlex.quote(f'expansion_encoder={expand_with}')}"
    return ""


def _model(out: Path) -> str:
    """Return a folder as a value of ``--model``; ``./`` distinguishes it from a model of the same name."""
    from termwise.encode import shipped_encoders
    from termwise.models import model_names

    known = str(out) in {*model_names(), *shipped_encoders()}
    return shlex.quote(f"./{out}" if known else str(out))
