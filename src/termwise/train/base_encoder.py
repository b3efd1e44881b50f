"""Tokenizer and name of the initial encoder of training."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from termwise.encode.encoder_folder import EncoderFolder, shipped_encoders
from termwise.encode.encoder_manifest import NAME as MANIFEST
from termwise.errors import DataError, ModelFormatError
from termwise.storage.safe_read import is_file, is_folder, path_exists
from termwise.text import WordPieceAnalyzer
from termwise.train.hub import TOKENIZER, hub_options
from termwise.train.library_errors import errors_as
from termwise.train.settings import TrainSettings

_SAMPLE = "Ünïcode Tokenizing isn't HARD: 東京, naïve\tcafé\u0301 … U.S.A. 3.14!"
"""Text with all character classes that tokenizers with the same vocabulary may treat differently."""


def base_analyzer(base: str | Path) -> WordPieceAnalyzer:
    """Read the WordPiece tokenizer of an encoder: a shipped one, a folder, or a name on the hub of transformers.

    It is the shipped analyzer if the vocabulary is the same, because an index does not store a shipped analyzer.
    """
    encoder = open_base(base)
    if encoder is not None:
        if encoder.manifest.document_tokenizer is not None:
            raise ModelFormatError(
                "the network of this encoder does not read the pieces of its WordPiece tokenizer",
                facts=[
                    ("base", base),
                ],
                fixes=["use an encoder with a vocabulary in the format of BERT"],
            )
        return encoder.analyzer
    folder = Path(base)
    if is_folder(folder):
        return _read_tokenizer(folder, base)
    from transformers import AutoTokenizer

    options = hub_options(base, TOKENIZER)
    with tempfile.TemporaryDirectory() as download:
        with errors_as(
            ModelFormatError,
            "the tokenizer of the base encoder cannot be loaded",
            facts=[("base", base)],
            fixes=["name a folder with config.json, model.safetensors and tokenizer.json"],
        ):
            AutoTokenizer.from_pretrained(base, **options).save_pretrained(download)
        return _read_tokenizer(Path(download), base)


def open_base(base: str | Path) -> EncoderFolder | None:
    """Open the base if it is a shipped encoder or an encoder folder; otherwise return None."""
    shipped = isinstance(base, str) and base in shipped_encoders()
    return EncoderFolder.open(base) if shipped or is_file(Path(base) / MANIFEST) else None


def base_name(base: str | Path) -> str:
    """Return the public name of a base: the last part of its path, or its name on the hub.

    Examples
    --------
    >>> base_name("sentence-transformers/all-MiniLM-L6-v2")
    'sentence-transformers/all-MiniLM-L6-v2'
    """
    return Path(base).absolute().name if path_exists(Path(base)) else str(base)  # a link keeps its own name


def public_settings(settings: TrainSettings) -> TrainSettings:
    """Return settings without local paths: the teacher and a file of query weights are replaced by their names."""
    return replace(
        settings,
        teacher=base_name(settings.teacher) if settings.taught else settings.teacher,
        query_weights=Path(settings.query_weights).name,
    )


def tokenize_alike(first: WordPieceAnalyzer, second: WordPieceAnalyzer) -> bool:
    """Compare the tokens of two tokenizers of one vocabulary on a sample text."""
    return first.tokens(_SAMPLE) == second.tokens(_SAMPLE)


def _read_tokenizer(folder: Path, base: str | Path) -> WordPieceAnalyzer:
    file = next((folder / name for name in TOKENIZER if is_file(folder / name)), None)
    if file is None:
        raise ModelFormatError(
            "the base encoder has no tokenizer",
            facts=[("base", base), ("expected", " or ".join(TOKENIZER))],
            fixes=["in Python, transformers.AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)"],
        )
    try:
        analyzer = WordPieceAnalyzer.from_file(file)
    except DataError as error:
        raise ModelFormatError(
            "the tokenizer of the base encoder is not a WordPiece tokenizer",
            facts=[("base", base), *error.facts],
            fixes=["use an encoder with a vocabulary in the format of BERT"],
        ) from error
    shipped = WordPieceAnalyzer.shipped()
    same = analyzer.vocabulary == shipped.vocabulary and tokenize_alike(analyzer, shipped)
    return shipped if same else analyzer
