"""Opening whatever can score texts, by one line."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from termwise.errors import MissingExtraError, MissingFileError, ModelFormatError, UsageError
from termwise.folder_kinds import kind_of
from termwise.index import Index
from termwise.scorers.background import Background
from termwise.scorers.function import FunctionScorer
from termwise.scorers.http import HttpScorer
from termwise.scorers.models import index_scorer, model_scorer
from termwise.scorers.specification import ScorerSpecification, read_specification
from termwise.scoring import TextScorer

if TYPE_CHECKING:
    from termwise.rerank.bi_encoder import Similarity

_FUNCTION = "python:"
_CONFIG = "config.json"


@dataclass(frozen=True)
class Surroundings:
    """What scorers are opened with.

    Attributes
    ----------
    background : Background
        Collection whose statistics models of counts have.
    threads : int
        Of networks on the processor.
    device : str or None
        Where networks of torch run, as torch names it; a graphics processor, if there is one, unless given.
    """

    background: Background
    threads: int = 1
    device: str | None = None


def open_any_scorer(text: str | ScorerSpecification, around: Surroundings) -> TextScorer:
    """Open a scorer by its line.

    ===============================  =================================================================================
    ``bm25``, ``jm``, ``tildev2``    a model of termwise by name, with settings: ``bm25,k1=1.2,b=0.8,analyzer=stm2``
    folder of an encoder or table    likewise
    folder of an index               its model, with the statistics of its collection
    folder of a cross-encoder, of    of sentence-transformers or ``termwise train``; settings ``length``, ``batch``,
    a bi-encoder, or of a scorer     ``device``, and for bi-encoders ``similarity``, ``query_prompt``, ``text_prompt``
    ``http://...``                   an address, see `termwise.scorers.http`; ``batch``, ``timeout``, ``fingerprint``
    ``python:MODULE:FUNCTION``       a function of a list of queries and a list of texts; ``fingerprint``
    ===============================  =================================================================================

    Parameters
    ----------
    text : str or ScorerSpecification
        See `termwise.scorers.specification`.
    around : Surroundings
        Collection, threads, device.

    Raises
    ------
    UsageError
        If the line says nothing that can be opened.
    TermwiseError
        If what it names cannot be opened.
    """
    asked = read_specification(text) if isinstance(text, str) else text
    if asked.target.startswith(("http://", "https://")):
        return _http(asked, around)
    if asked.target.startswith(_FUNCTION):
        return _function(asked, around)
    folder = Path(asked.target)
    if folder.is_dir():
        for holds, opened in _FOLDERS.items():
            if (folder / holds).is_file():
                return opened(asked, around)
        if (folder / _CONFIG).is_file():
            return (_reader if _reads_pairs(folder / _CONFIG) else _bi_encoder)(asked, around)
    return _model(asked, around)


def _http(asked: ScorerSpecification, around: Surroundings) -> TextScorer:
    settings = asked.take(("batch", "timeout", "fingerprint"))
    return HttpScorer(
        asked.target,
        name=asked.name,
        batch=_whole(asked, "batch") or 128,
        timeout=_seconds(asked, "timeout") if "timeout" in settings else 60.0,
        fingerprint=settings.get("fingerprint"),
    )


def _function(asked: ScorerSpecification, around: Surroundings) -> TextScorer:
    module, _, function = asked.target.removeprefix(_FUNCTION).partition(":")
    settings = asked.take(("fingerprint",))
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(
            "there is no such function",
            facts=[("given", asked.target), ("Python says", error)],
            fixes=[
                "python:MODULE:FUNCTION, of a module that can be imported: PYTHONPATH=. for one of this folder"
            ],
        ) from error
    return FunctionScorer(found, name=asked.name or function, fingerprint=settings.get("fingerprint"))


def _index(asked: ScorerSpecification, around: Surroundings) -> TextScorer:
    asked.take(())
    index = Index.open(asked.target)
    background = None if index.stores_text else around.background
    return index_scorer(index, background=background, name=asked.name, threads=around.threads)


def _bi_encoder(asked: ScorerSpecification, around: Surroundings) -> TextScorer:
    from termwise.rerank.bi_encoder import BiEncoderScorer

    settings = asked.take(("device", "length", "batch", "similarity", "query_prompt", "text_prompt"))
    return BiEncoderScorer.open(
        asked.target,
        called=asked.name,
        device=_device(settings, around),
        length=_whole(asked, "length"),
        batch=_whole(asked, "batch") or 32,
        similarity=cast("Similarity", settings.get("similarity", "cosine")),
        query_prompt=settings.get("query_prompt", ""),
        text_prompt=settings.get("text_prompt", ""),
    )


def _reader(asked: ScorerSpecification, around: Surroundings) -> TextScorer:
    """Open what reads query and text together."""
    try:
        from termwise.rerank.opening import open_text_scorer
    except ImportError:
        raise MissingExtraError.of("torch", "cross-encoder", "a network that reads pairs") from None
    settings = asked.take(("device",))
    return open_text_scorer(asked.target, device=_device(settings, around), called=asked.name)


def _model(asked: ScorerSpecification, around: Surroundings) -> TextScorer:
    settings = dict(asked.settings)
    analyzer = settings.pop("analyzer", None)
    folder = Path(asked.target)
    if folder.is_dir() and kind_of(folder) is None:
        raise MissingFileError(
            "this folder holds no scorer",
            facts=[
                ("folder", folder),
                ("looked for", ", ".join([*_FOLDERS, "encoder.json", "translation.json"])),
            ],
            fixes=["name an index, an encoder, a translation table, or a network of sentence-transformers"],
        )
    return model_scorer(
        asked.target,
        around.background,
        settings=settings,
        analyzer=analyzer,
        name=asked.name or (folder.resolve().name if folder.is_dir() else None),
        threads=around.threads,
    )


_FOLDERS: Mapping[str, Callable[[ScorerSpecification, Surroundings], TextScorer]] = {
    "manifest.json": _index,
    "encoder.json": _model,
    "translation.json": _model,
    "scorer.json": _reader,
}


def _device(settings: Mapping[str, str], around: Surroundings) -> str:
    from termwise.rerank.folder import fastest_device

    return settings.get("device") or around.device or fastest_device()


def _reads_pairs(config: Path) -> bool:
    """Whether a folder in the layout of transformers holds a network that gives one number for two texts."""
    try:
        architectures = json.loads(config.read_text(encoding="utf-8")).get("architectures") or ()
        return any(str(one).endswith("ForSequenceClassification") for one in architectures)
    except (ValueError, AttributeError, TypeError) as error:
        raise ModelFormatError(
            "the settings of the network cannot be read", facts=[("file", config), ("Python says", error)]
        ) from error


def _whole(asked: ScorerSpecification, setting: str) -> int | None:
    text = asked.settings.get(setting)
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(
            f"{setting} is a whole number of 1 or more", facts=[("scorer", asked.text), (setting, text)]
        )
    return int(text)


def _seconds(asked: ScorerSpecification, setting: str) -> float:
    text = asked.settings[setting]
    try:
        return float(text)
    except ValueError:
        raise UsageError(
            f"{setting} is a number of seconds", facts=[("scorer", asked.text), (setting, text)]
        ) from None
