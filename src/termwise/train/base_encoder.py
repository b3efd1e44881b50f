"""The encoder that training starts from: its tokenizer, as the rest of the package reads it, and its name."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from termwise.encode.encoder_folder import EncoderFolder, shipped_encoders
from termwise.encode.encoder_manifest import NAME as MANIFEST
from termwise.errors import DataError, ModelFormatError
from termwise.text import WordPieceAnalyzer
from termwise.train.hub import TOKENIZER, hub_options
from termwise.train.messages import first_line
from termwise.train.settings import TrainSettings


def base_analyzer(base: str | Path) -> WordPieceAnalyzer:
    """Read the WordPiece tokenizer of an encoder.

    Parameters
    ----------
    base : str or Path
        An encoder that ships with the package or a folder of one, a folder with ``tokenizer.json`` or ``vocab.txt``,
        or the name of a model on the hub of transformers.

    Returns
    -------
    WordPieceAnalyzer
        The analyzer that ships with the package where the vocabulary is the same, since an index need not carry
        it then.

    Raises
    ------
    ModelFormatError
        If there is no tokenizer, or it does not cut words into WordPieces.
    """
    encoder = encoder_folder(base)
    if encoder is not None:
        return encoder.analyzer
    folder = Path(base)
    if folder.is_dir():
        return _read(folder, base)
    from transformers import AutoTokenizer

    options = hub_options(base, TOKENIZER)
    with tempfile.TemporaryDirectory() as place:
        try:
            AutoTokenizer.from_pretrained(base, **options).save_pretrained(place)
        except Exception as error:  # transformers documents no type
            raise ModelFormatError(
                "the tokenizer of the base encoder cannot be loaded",
                facts=[("base", base), ("transformers says", first_line(error))],
                fixes=["name a folder with config.json, model.safetensors and tokenizer.json"],
            ) from error
        return _read(Path(place), base)


def encoder_folder(base: str | Path) -> EncoderFolder | None:
    """Open the base as an encoder that ships with the package or as an encoder folder, where it is one."""
    shipped = isinstance(base, str) and base in shipped_encoders()
    return EncoderFolder.open(base) if shipped or (Path(base) / MANIFEST).is_file() else None


def base_name(base: str | Path) -> str:
    """Return what a base is called where others read it: the last part of its path, or its name on the hub.

    Examples
    --------
    >>> base_name("sentence-transformers/all-MiniLM-L6-v2")
    'sentence-transformers/all-MiniLM-L6-v2'
    """
    return Path(base).absolute().name if Path(base).exists() else str(base)  # a link by its own name


def shown_settings(settings: TrainSettings) -> TrainSettings:
    """Return settings as others may read them: with the name of the teacher in place of its folder."""
    return replace(settings, teacher=base_name(settings.teacher)) if settings.taught else settings


def _read(folder: Path, base: str | Path) -> WordPieceAnalyzer:
    file = next((folder / name for name in TOKENIZER if (folder / name).is_file()), None)
    if file is None:
        raise ModelFormatError(
            "the base encoder has no tokenizer", facts=[("base", base), ("expected", " or ".join(TOKENIZER))]
        )
    try:
        analyzer = WordPieceAnalyzer.from_file(file)
    except DataError as error:
        raise ModelFormatError(
            "the base encoder does not cut words into WordPieces",
            facts=[("base", base), *error.facts],
            fixes=["use an encoder with BERT's kind of vocabulary"],
        ) from error
    shipped = WordPieceAnalyzer.shipped()
    same = analyzer.vocabulary == shipped.vocabulary and cuts_alike(analyzer, shipped)
    return shipped if same else analyzer


_SAMPLE = "Ünïcode Tokenizing isn't HARD: 東京, naïve\tcafé\u0301 … U.S.A. 3.14!"


def cuts_alike(one: WordPieceAnalyzer, other: WordPieceAnalyzer) -> bool:
    """Tell whether two tokenizers of one vocabulary cut a text with all that they may treat differently alike."""
    return one.tokens(_SAMPLE) == other.tokens(_SAMPLE)
