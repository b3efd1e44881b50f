"""``termwise train convert``: a published checkpoint as an encoder folder."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from termwise.cli.options import JsonFlag, argument, option
from termwise.cli.terminal import note, note_line, print_json, progress_bar, stdout
from termwise.cli.train_options import counting_of, new_folder
from termwise.errors import MissingFileError, UsageError

if TYPE_CHECKING:
    from termwise.encode import EncoderFolder

PUBLISHED_TERMS = 200
"""Terms that the published TILDEv2 looks at to expand a passage, counted as ``raw``."""

Folder = Annotated[
    Path,
    argument(
        "FOLDER",
        "A published checkpoint: TILDE (a BertLMHeadModel), TILDEv2 or uniCOIL (BERT with a token "
        "projection), or a SparseEncoder of sentence-transformers.",
    ),
]
Out = Annotated[Path, new_folder("The new encoder folder.")]
Kind = Annotated[
    str | None, option("--kind KIND", "tilde, tildev2 or splade-doc, where the checkpoint does not tell.")
]
FloorsFrom = Annotated[
    str | None,
    option(
        "--floors-from COLLECTION",
        "For a TILDE: passages like those it will read, over which the floors of its compact form are "
        "measured. A collection as termwise index takes it.",
    ),
]
ExpandWith = Annotated[
    str | None,
    option(
        "--expand-with ENCODER",
        "For a TILDEv2: the TILDE encoder that expanded the passages it was trained on, converted before.  "
        "[default: documents are not expanded]",
    ),
]
ExpansionTerms = Annotated[
    int | None,
    option(
        "--expansion-terms N",
        f"With --expand-with: terms a passage is expanded by.  [default: {PUBLISHED_TERMS}]",
        min=1,
    ),
]
CountingOption = Annotated[
    str | None,
    option(
        "--counting new|raw",
        "With --expand-with: count terms that are new to the passage, or as the published code does, "
        "before filtering.  [default: raw]",
    ),
]


def command(
    folder: Folder,
    out: Out,
    kind: Kind = None,
    floors_from: FloorsFrom = None,
    expand_with: ExpandWith = None,
    expansion_terms: ExpansionTerms = None,
    counting: CountingOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Convert a published checkpoint to an encoder folder.

    Examples: termwise train convert ./TILDE --floors-from docs.jsonl --out tilde-msmarco,
    termwise train convert ./TILDEv2-TILDE200-exp --expand-with tilde-msmarco --out tildev2-msmarco
    """
    from termwise.train.requirements import require_training

    if expand_with is None and (expansion_terms, counting) != (None, None):
        raise UsageError(
            "--expansion-terms and --counting say how --expand-with expands",
            facts=[("--expansion-terms", expansion_terms), ("--counting", counting)],
            fixes=["--expand-with ENCODER", "leave both out"],
        )
    way = counting_of(counting or "raw")
    require_training()
    from termwise.encode import Expansion
    from termwise.train.export.published_checkpoints import convert_checkpoint

    with progress_bar() as progress:
        made = convert_checkpoint(
            folder,
            out,
            kind=kind,
            floors_from=floors_from,
            expansion=None
            if expand_with is None
            else Expansion(expand_with, expansion_terms or PUBLISHED_TERMS, way),
            progress=progress,
            say=note_line,
        )
    if as_json:
        print_json({"encoder": str(out), "kind": made.manifest.kind})
        return
    stdout().print(f"{out}: an encoder of kind {made.manifest.kind}", soft_wrap=True)
    settings = _settings(made, expand_with)
    note(f"next: termwise index COLLECTION --model {_model(out)}{settings} --out DIR")


def _settings(made: EncoderFolder, expand_with: str | None) -> str:
    """Return the settings that the encoder cannot be run without, and say what it lacks."""
    from termwise.encode.encoder_folder import FLOORS
    from termwise.encode.open_encoder import expander_of
    from termwise.models import TildeV2

    if made.manifest.kind == "tilde" and FLOORS not in made.manifest.files:
        note(
            f"without floors there is the exact form only, {int(made.kept.sum()):,} weights a document; "
            "with --floors-from COLLECTION there is the compact form, which keeps the largest"
        )
        return " --set form=exact"
    if made.manifest.kind == "tildev2" and expand_with is None:
        note(
            "documents are not expanded: no checkpoint says how its passages were; if they were, convert with "
            "--expand-with ENCODER"
        )
    if expand_with is not None:
        try:
            expander_of(TildeV2(encoder=str(made.folder)), made)
        except MissingFileError:
            return f" --set {shlex.quote(f'expansion_encoder={expand_with}')}"
    return ""


def _model(out: Path) -> str:
    """Return the folder as ``--model`` takes it, told apart from a model or an encoder of that name."""
    from termwise.encode import shipped_encoders
    from termwise.models import model_names

    known = str(out) in {*model_names(), *shipped_encoders()}
    return shlex.quote(f"./{out}" if known else str(out))
