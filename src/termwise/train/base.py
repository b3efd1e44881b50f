"""The tokenizer of a base encoder, as the rest of the package reads it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from termwise.encode.folder import EncoderFolder
from termwise.encode.manifest import NAME as MANIFEST
from termwise.errors import DataError, ModelFormatError
from termwise.text import WordPieceAnalyzer

_FILES = ("tokenizer.json", "vocab.txt")


def base_analyzer(base: str | Path) -> WordPieceAnalyzer:
    """Read the WordPiece tokenizer of an encoder.

    Parameters
    ----------
    base : str or Path
        A folder with ``tokenizer.json`` or ``vocab.txt``, an encoder folder of termwise, or the name of a model on
        the hub of transformers.

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
    folder = Path(base)
    if (folder / MANIFEST).is_file():
        return EncoderFolder.open(folder).analyzer
    if folder.is_dir():
        return _read(folder, base)
    from transformers import AutoTokenizer

    with tempfile.TemporaryDirectory() as place:
        try:
            AutoTokenizer.from_pretrained(base).save_pretrained(place)
        except (OSError, ValueError) as error:
            raise ModelFormatError(
                "the tokenizer of the base encoder cannot be loaded",
                facts=[("base", base), ("transformers says", str(error).splitlines()[0][:200])],
                fixes=["name a folder with config.json, model.safetensors and tokenizer.json"],
            ) from error
        return _read(Path(place), base)


def _read(folder: Path, base: str | Path) -> WordPieceAnalyzer:
    file = next((folder / name for name in _FILES if (folder / name).is_file()), None)
    if file is None:
        raise ModelFormatError(
            "the base encoder has no tokenizer", facts=[("base", base), ("expected", " or ".join(_FILES))]
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
    same = analyzer.vocabulary == shipped.vocabulary and _cuts_alike(analyzer, shipped)
    return shipped if same else analyzer


_SAMPLE = "Ünïcode Tokenizing isn't HARD: 東京, naïve\tcafé\u0301 … U.S.A. 3.14!"


def _cuts_alike(one: WordPieceAnalyzer, other: WordPieceAnalyzer) -> bool:
    return one.tokens(_SAMPLE) == other.tokens(_SAMPLE)
