"""``termwise train convert``: conversion of published checkpoints to encoder folders."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from termwise.cli.options import JsonFlag, argument, choice, option, refuse_options
from termwise.cli.terminal import note, note_line, progress_bar
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
            "Published checkpoint: TILDE (a BertLMHeadModel), TILDEv2 or uniCOIL (BERT with a token projection), or a "
            "SparseEncoder of sentence-transformers.",
        ),
    ],
    out: EncoderOut,
    kind: Annotated[
        str | None,
        option("--kind KIND", "tilde, tildev2 or splade-doc, if the checkpoint does not state it."),
    ] = None,
    floors_from: Annotated[
        str | None,
        option(
            "--floors-from COLLECTION",
            "For TILDE: passages on which the floors of its compact form are measured, similar to those to index. A "
            "collection as termwise index takes it.",
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
            "--counting new|raw",
            "With --expand-with: count only terms that are new to the passage, or all terms before filtering, as the "
            "published code does.  [default: raw]",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Convert a published checkpoint to an encoder folder.

    Examples: termwise train convert ./TILDE --floors-from docs.jsonl --out tilde-msmarco,
    termwise train convert ./TILDEv2-TILDE200-exp --expand-with tilde-msmarco --out tildev2-msmarco
    """
    from termwise.train.requirements import require_training

    if expand_with is None:
        refuse_options(
            {"--expansion-terms": expansion_terms, "--counting": counting}, "without --expand-with"
        )
    way = choice("--counting", counting or "raw", ("new", "raw"))
    require_training()
    from termwise.encode import Expansion
    from termwise.train.export.published_checkpoints import convert_checkpoint

    expansion = None
    if expand_with is not None:
        expansion = Expansion(expand_with, expansion_terms or PUBLISHED_TERMS, way)
    with progress_bar() as progress:
        made = convert_checkpoint(
            folder,
            out,
            kind=kind,
            floors_from=floors_from,
            expansion=expansion,
            progress=progress,
            say=note_line,
        )
    print_trained(
        f"{out}: an encoder of kind {made.manifest.kind}",
        {"encoder": str(out), "kind": made.manifest.kind},
        next_command=f"index COLLECTION --model {_model(out)}{_settings(made, expand_with)} --out DIR",
        as_json=as_json,
    )


def _settings(made: EncoderFolder, expand_with: str | None) -> str:
    """Return the settings that the encoder needs, and report on stderr what it lacks."""
    from termwise.encode.encoder_folder import FLOORS
    from termwise.encode.open_encoder import expander_of
    from termwise.models import TildeV2

    if made.manifest.kind == "tilde" and FLOORS not in made.manifest.files:
        note(
            f"without floors only the exact form is available, {int(made.kept.sum()):,} weights a document; "
            "--floors-from COLLECTION adds the compact form, which keeps the largest weights"
        )
        return " --set form=exact"
    if made.manifest.kind == "tildev2" and expand_with is None:
        note(
            "documents are not expanded; if the training passages were, convert again with --expand-with ENCODER"
        )
    if expand_with is not None:
        try:
            expander_of(TildeV2(encoder=str(made.folder)), made)
        except MissingFileError:
            return f" --set {shlex.quote(f'expansion_encoder={expand_with}')}"
    return ""


def _model(out: Path) -> str:
    """Return a folder as a value of ``--model`` that no model or shipped encoder has as its name."""
    from termwise.encode import shipped_encoders
    from termwise.models import model_names

    known = str(out) in {*model_names(), *shipped_encoders()}
    return shlex.quote(f"./{out}" if known else str(out))
