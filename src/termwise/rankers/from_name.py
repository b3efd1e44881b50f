"""Opening whatever can score texts, by one line."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

from termwise.display.safe_text import error_said, shown
from termwise.errors import (
    MissingExtraError,
    MissingFileError,
    ModelFormatError,
    ParameterError,
    UnknownNameError,
    UsageError,
)
from termwise.index import Index
from termwise.rankers.specification import ScorerSpecification, parse_specification
from termwise.scorers.background import Background
from termwise.scorers.function import FunctionScorer, function_of
from termwise.scorers.http import HttpScorer, is_address
from termwise.scorers.model_scorers import index_scorer, model_scorer
from termwise.scorers.protocol import TextScorer
from termwise.storage.model_folder import kind_of

if TYPE_CHECKING:
    from termwise.yardsticks.bi_encoder import Similarity
    from termwise.yardsticks.expanded import CachedExpander

_FUNCTION = "python:"
_WORD_MOVER = "wmd:"
_EXPANDED = "doc2query:"
_OF_EXPANDER = ("count", "top", "longest", "length", "batch")
_SAID_OF_EXPANDER = (*_OF_EXPANDER, "prompt", "seed", "device", "tokenizer", "kept")
_CONFIG = "config.json"
_DIGITS = 9
"""Of a number in the settings of a scorer, at the most."""

_PUBLISHED: Mapping[str, tuple[str, ...]] = {
    "mono-t5:": ("tokenizer",),
    "colbert:": ("mask_punctuation",),
    "epic:": (),
    "ance:": ("lower_case",),
}
"""Kinds of published checkpoints, and the settings of each alone; see `termwise.yardsticks.open_yardstick`."""

_FLAGS = ("mask_punctuation", "lower_case")
"""Settings that are true or false."""

_NO_SCHEME = re.compile(r"[\w.-]+:\d{2,5}(/.*)?")
"""An address without ``http://``."""


@dataclass(frozen=True)
class ScorerContext:
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


def open_scorer(text: str | ScorerSpecification, around: ScorerContext) -> TextScorer:
    """Open a scorer by its line.

    ===============================  =================================================================================
    ``bm25``, ``jm``, ``tildev2``    a model of termwise by name, with settings: ``bm25,k1=1.2,b=0.8,analyzer=stm2``
    folder of an encoder or table    likewise
    folder of an index               its model, with the statistics of its collection
    folder of a cross-encoder, of    of sentence-transformers or ``termwise train``; settings ``length``, ``batch``,
    a bi-encoder, or of a scorer     ``device``, and for bi-encoders ``similarity``, ``query_prompt``, ``text_prompt``
    ``OWNER/NAME``                   such a network on the hub of transformers, downloaded once; likewise
    folder of boosted trees          see `termwise.yardsticks.gradient_boosting`; no settings
    ``http://...``                   an address, see `termwise.scorers.http`; ``batch``, ``timeout``, ``fingerprint``;
                                     ``authorization=VARIABLE``, of the environment, holds the header of that name
    ``python:MODULE:FUNCTION``       a function of a list of queries and a list of texts; ``fingerprint``
    ``mono-t5:FOLDER``,              a published checkpoint of monoT5, ColBERT, EPIC or ANCE, see their modules in
    ``colbert:FOLDER``,              `termwise.yardsticks`; ``length``, ``batch``, ``device``, and for ColBERT
    ``epic:FOLDER``, ``ance:FOLDER`` ``mask_punctuation=false``, for ANCE ``lower_case=false``, for monoT5
                                     ``tokenizer=FOLDER``. A folder may be a name on the hub, here and below
    ``wmd:FILE``                     Word Mover's Distance on word vectors, see `termwise.collection.read_word_vectors`;
                                     ``analyzer``, and ``unit=true`` for vectors that are made one long
    ``doc2query:FOLDER``             texts with queries that a network generates of them
                                     (`termwise.yardsticks.doc2query`),
                                     scored by ``scorer=``, ``bm25`` unless given: ``count``, ``top``, ``longest``,
                                     ``length``, ``batch``, ``prompt``, ``seed``, ``device``, ``tokenizer``;
                                     ``kept=FILE`` remembers what was generated; all other settings are of the scorer
    ===============================  =================================================================================

    Parameters
    ----------
    text : str or ScorerSpecification
        See `termwise.rankers.specification`.
    around : ScorerContext
        Collection, threads, device.

    Raises
    ------
    UsageError
        If the line says nothing that can be opened.
    TermwiseError
        If what it names cannot be opened.
    """
    asked = parse_specification(text) if isinstance(text, str) else text
    if is_address(asked.target):
        return _http(asked, around)
    if _NO_SCHEME.fullmatch(asked.target) and not Path(asked.target).exists():
        raise UsageError(
            "an address begins with http:// or https://",
            facts=[("given", asked.target)],
            fixes=[f"http://{asked.target}"],
        )
    if asked.target.startswith(_FUNCTION):
        return _function(asked, around)
    if asked.target.startswith(_WORD_MOVER):
        return _word_mover(asked)
    if asked.target.startswith(_EXPANDED):
        return _expanded(asked, around)
    if asked.target.startswith(tuple(_PUBLISHED)):
        return _published(asked, around)
    if "/" in asked.target:
        asked = _downloaded(asked)
    folder = Path(asked.target)
    if folder.is_dir():
        for holds, opened in _FOLDERS.items():
            if (folder / holds).is_file():
                return opened(asked, around)
        if (folder / _CONFIG).is_file():
            return (_reader if _reads_pairs(folder / _CONFIG) else _bi_encoder)(asked, around)
    return _model(asked, around)


def _downloaded(asked: ScorerSpecification) -> ScorerSpecification:
    """Return what asks for the copy of a network of the hub, if this is the name of one."""
    from termwise.yardsticks.locate import is_hub_name, located, usual_name

    if not is_hub_name(asked.target):
        return asked
    if find_spec("sentence_transformers") is None:  # before anything is downloaded
        raise MissingFileError(
            "there is no such folder",
            facts=[("ranker", asked.target)],
            fixes=[
                "name a model, or a folder that is there",
                "pip install 'termwise[cross-encoder]', for networks that are named as on a hub",
            ],
        )
    fixes = ("name a model, a folder that is there, or a network of sentence-transformers on the hub",)
    copy = located("ranker", asked.target, fixes)
    return asked._replace(target=str(copy), name=asked.name or usual_name(asked.target))


def _http(asked: ScorerSpecification, around: ScorerContext) -> TextScorer:
    settings = asked.take(("batch", "timeout", "fingerprint", "authorization"))
    variable = settings.get("authorization")
    if variable is not None and not os.environ.get(variable):
        raise UsageError(
            "the environment lacks what a service is to be asked with",
            facts=[("ranker", asked.target), ("variable", variable)],
            fixes=[f"export {variable}='Bearer KEY'"],
        )
    return HttpScorer(
        asked.target,
        name=asked.name,
        batch=_whole(asked, "batch") or 128,
        timeout=_seconds(asked, "timeout") if "timeout" in settings else 60.0,
        fingerprint=_of_target(asked, settings.get("fingerprint")),
        authorization=None if variable is None else os.environ[variable],
    )


def _of_target(asked: ScorerSpecification, fingerprint: str | None) -> str | None:
    """Tie what a user calls the state of a ranker to where it is: the same word may be said of another."""
    return None if fingerprint is None else f"{asked.target} {fingerprint}"


def _function(asked: ScorerSpecification, around: ScorerContext) -> TextScorer:
    module, _, function = asked.target.removeprefix(_FUNCTION).partition(":")
    settings = asked.take(("fingerprint",))
    return FunctionScorer(
        function_of(module, function),
        name=asked.name or function,
        fingerprint=_of_target(asked, settings.get("fingerprint")),
    )


def _word_mover(asked: ScorerSpecification) -> TextScorer:
    from termwise.yardsticks.word_mover import DEFAULT_ANALYZER, WordMoverScorer

    settings = asked.take(("analyzer", "unit"))
    return WordMoverScorer.open(
        asked.target.removeprefix(_WORD_MOVER),
        analyzer=settings.get("analyzer", DEFAULT_ANALYZER),
        unit=_yes(asked, "unit"),
        name=asked.name or "wmd",
    )


def _expanded(asked: ScorerSpecification, around: ScorerContext) -> TextScorer:
    from termwise.yardsticks.expanded import ExpandedScorer

    settings = dict(asked.settings)
    inner = settings.pop("scorer", "bm25")
    of_expander = {name: settings.pop(name) for name in _SAID_OF_EXPANDER if name in settings}
    expander = open_expander(
        asked._replace(target=asked.target.removeprefix(_EXPANDED), settings=of_expander), around
    )
    scorer = open_scorer(ScorerSpecification(asked.text, None, inner, settings), around)
    return ExpandedScorer(scorer, expander, name=asked.name)


def open_expander(asked: ScorerSpecification, around: ScorerContext) -> CachedExpander:
    """Open a network that generates queries, by its folder and the settings of ``doc2query:FOLDER``.

    Raises
    ------
    MissingExtraError
        If torch or transformers is not installed.
    TermwiseError
        If it cannot be opened.
    """
    from termwise.yardsticks.expanded import CachedExpander

    try:
        from termwise.yardsticks.doc2query import Doc2Query
    except ImportError:
        raise MissingExtraError.of("torch", "train", "doc2query") from None
    settings = asked.take(_SAID_OF_EXPANDER)
    numbers = {name: found for name in _OF_EXPANDER if (found := _whole(asked, name)) is not None}
    expander = Doc2Query.open(
        asked.target,
        device=_device(settings, around),
        prompt=settings.get("prompt", ""),
        seed=_whole(asked, "seed", least=0) or 0,
        tokenizer=settings.get("tokenizer"),
        **numbers,
    )
    return CachedExpander(expander, settings.get("kept"))


def _index(asked: ScorerSpecification, around: ScorerContext) -> TextScorer:
    asked.take(())
    index = Index.open(asked.target)
    background = None if index.stores_text else around.background
    return index_scorer(index, background=background, name=asked.name, threads=around.threads)


def _boosted(asked: ScorerSpecification, around: ScorerContext) -> TextScorer:
    from termwise.yardsticks.gradient_boosting_folder import open_gradient_boosting

    asked.take(())
    return open_gradient_boosting(asked.target, name=asked.name)


def _bi_encoder(asked: ScorerSpecification, around: ScorerContext) -> TextScorer:
    try:
        from termwise.yardsticks.bi_encoder import BiEncoderScorer
    except ImportError:
        raise MissingExtraError.of("torch", "cross-encoder", "a bi-encoder") from None
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


def _published(asked: ScorerSpecification, around: ScorerContext) -> TextScorer:
    """Open a published checkpoint by its kind."""
    try:
        from termwise.yardsticks.open_yardstick import PUBLISHED
    except ImportError:
        raise MissingExtraError.of("torch", "cross-encoder", "a published ranker") from None
    prefix = next(prefix for prefix in _PUBLISHED if asked.target.startswith(prefix))
    settings = asked.take(("device", "length", "batch", *_PUBLISHED[prefix]))
    return PUBLISHED[prefix](
        asked.target.removeprefix(prefix),
        called=asked.name,
        device=_device(settings, around),
        length=_whole(asked, "length"),
        batch=_whole(asked, "batch") or 32,
        **{
            name: _yes(asked, name) if name in _FLAGS else settings[name]
            for name in _PUBLISHED[prefix]
            if name in settings
        },
    )


def _reader(asked: ScorerSpecification, around: ScorerContext) -> TextScorer:
    """Open what reads query and text together."""
    try:
        from termwise.yardsticks.open_yardstick import open_text_scorer
    except ImportError:
        raise MissingExtraError.of("torch", "cross-encoder", "a network that reads pairs") from None
    settings = asked.take(("device", "length", "batch"))
    numbers = {name: found for name in ("length", "batch") if (found := _whole(asked, name)) is not None}
    return open_text_scorer(asked.target, device=_device(settings, around), called=asked.name, **numbers)


def _model(asked: ScorerSpecification, around: ScorerContext) -> TextScorer:
    settings = dict(asked.settings)
    analyzer = settings.pop("analyzer", None)
    folder = Path(asked.target)
    if folder.is_dir() and kind_of(folder) is None:
        raise MissingFileError(
            "this folder holds no scorer",
            facts=[
                ("folder", folder),
                ("looked for", ", ".join(_FOLDERS)),
            ],
            fixes=["name an index, an encoder, a translation table, or a network of sentence-transformers"],
        )
    try:
        return model_scorer(
            asked.target,
            around.background,
            settings=settings,
            analyzer=analyzer,
            name=asked.name or (folder.resolve().name if folder.is_dir() else None),
            threads=around.threads,
        )
    except UnknownNameError as error:
        raise _with_analyzer(error) from None
    except ParameterError as error:
        # A specification writes the setting k1 of bm25 as bm25,k1=1.2.
        fixes = [
            re.sub(r"`(?=\w+=)", f"`{asked.target},", fix.replace("--set ", f"{asked.target},"))
            for fix in error.fixes
        ]
        raise ParameterError(error.message, facts=error.facts, fixes=fixes) from None


def _with_analyzer(error: UnknownNameError) -> UnknownNameError:
    """Name the analyzer, too, where an error lists the parameters of a model."""
    if not error.message.startswith("unknown parameter"):
        return error
    facts = [(name, f"{value}, analyzer" if name == "known" else value) for name, value in error.facts]
    return UnknownNameError(error.message, facts=facts, fixes=error.fixes)


_FOLDERS: Mapping[str, Callable[[ScorerSpecification, ScorerContext], TextScorer]] = {
    "manifest.json": _index,
    "encoder.json": _model,
    "translation.json": _model,
    "scorer.json": _reader,
    "gradient-boosting.json": _boosted,
}


def _device(settings: Mapping[str, str], around: ScorerContext) -> str:
    from termwise.yardsticks.bert_model1.folder import fastest_device

    return settings.get("device") or around.device or fastest_device()


def _reads_pairs(config: Path) -> bool:
    """Whether a folder in the layout of transformers holds a network that gives one number for two texts."""
    try:
        architectures = json.loads(config.read_text(encoding="utf-8")).get("architectures") or ()
        return any(str(one).endswith("ForSequenceClassification") for one in architectures)
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise ModelFormatError(
            "the settings of the network cannot be read",
            facts=[("file", config), ("Python says", error_said(error))],
        ) from error


def _whole(asked: ScorerSpecification, setting: str, *, least: int = 1) -> int | None:
    text = asked.settings.get(setting)
    if text is None:
        return None
    if not text.isdecimal() or len(text) > _DIGITS or int(text) < least:
        raise UsageError(
            f"{setting} is a whole number from {least} to {10**_DIGITS - 1:,}",
            facts=[("scorer", shown(asked.text)), (setting, shown(text))],
        )
    return int(text)


def _yes(asked: ScorerSpecification, setting: str) -> bool:
    text = asked.settings.get(setting, "false")
    if text not in ("true", "false"):
        raise UsageError(f"{setting} is true or false", facts=[("scorer", asked.text), (setting, text)])
    return text == "true"


def _seconds(asked: ScorerSpecification, setting: str) -> float:
    text = asked.settings[setting]
    try:
        return float(text)
    except ValueError:
        raise UsageError(
            f"{setting} is a number of seconds", facts=[("scorer", asked.text), (setting, text)]
        ) from None
