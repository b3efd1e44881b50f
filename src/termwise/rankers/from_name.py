"""Functions that open scorers by their specification, and the table of all kinds of scorers.

To add a kind, write a function that takes a `ScorerSpecification` and a `ScorerContext` and returns a `TextScorer`, and
add one line to `PREFIXES` or `FOLDERS`, and one to the table in the docstring of `open_scorer`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, cast

from termwise.display.safe_text import error_text
from termwise.errors import (
    MissingExtraError,
    MissingFileError,
    ModelFormatError,
    ParameterError,
    UnknownNameError,
    UsageError,
)
from termwise.fast_dataclass import dataclass
from termwise.fixes import Arguments, Code, Fix, Part
from termwise.index import Index
from termwise.indexing.recipes import RECIPES
from termwise.rankers.specification import ScorerSpecification, parse_specification
from termwise.scorers.function import FunctionScorer, import_function
from termwise.scorers.http import HttpScorer, is_address
from termwise.scorers.model_scorers import index_scorer, model_scorer, part_scorers
from termwise.scorers.protocol import TextScorer
from termwise.scorers.token_statistics import Background
from termwise.search.mixture import Mixture
from termwise.search.mixture_folder import is_mixture
from termwise.storage.model_folder import kind_of
from termwise.storage.safe_read import is_file, is_folder, path_exists

_ADDRESS_WITHOUT_SCHEME = re.compile(r"[\w.-]+:\d{2,5}(/.*)?")


@dataclass(frozen=True)
class ScorerContext:
    """Resources shared by the scorers that are opened together.

    Attributes
    ----------
    background : Background
        Collection with the statistics of count models.
    threads : int
        Threads of networks on the CPU.
    device : str or None
        Torch device of networks; by default a GPU if there is one, else the CPU.
    """

    background: Background
    threads: int = 1
    device: str | None = None


def open_scorer(text: str | ScorerSpecification, context: ScorerContext) -> TextScorer:
    """Open a scorer by its specification, ``[NAME=]TARGET[,SETTING=VALUE...]``.

    =================================  ================================================================================
    target                             scorer and settings
    =================================  ================================================================================
    ``bm25``, ``jm``, ``tildev2``, …   a model of termwise with its parameters: ``bm25,k1=1.2,b=0.8,analyzer=stm2``
    folder of an encoder or a table    a model of termwise, likewise
    folder of an index                 the model of the index, with the statistics of its collection; no settings
    folder of a cross-encoder          a network of sentence-transformers; ``length``, ``batch``, ``device``
    folder of a bi-encoder             the same settings, and ``similarity``, ``query_prompt``, ``text_prompt``
    ``OWNER/NAME``                     a cross-encoder or bi-encoder of the Hugging Face hub, downloaded once
    folder of a trained re-ranker      a network of `termwise.yardsticks.rerankers`; ``batch``, ``device``, and the
                                       settings of its configuration, such as ``document_length``
    folder of boosted trees            see `termwise.yardsticks.gradient_boosting`; ``mixture=FOLDER`` if the mixture
                                       that it was trained with was moved
    ``http://...``, ``https://...``    a service, see `termwise.scorers.http`; ``batch``, ``timeout``, ``fingerprint``,
                                       and ``authorization=VARIABLE``, an environment variable that holds the value of
                                       the ``Authorization`` header
    ``python:MODULE:FUNCTION``         a function of a list of queries and a list of texts; ``fingerprint``
    ``mono-t5:FOLDER``                 a published checkpoint; ``length``, ``batch``, ``device``, ``tokenizer=FOLDER``
    ``qlm-t5:FOLDER``                  a network that generates queries, such as doc2query; the same settings, and
                                       ``likelihood=query|document|both`` with ``alpha``, see
                                       `termwise.yardsticks.qlm_t5`
    ``colbert:FOLDER``                 a published checkpoint, with ``mask_punctuation=false`` if needed
    ``epic:FOLDER``                    a published checkpoint
    ``ance:FOLDER``                    a published checkpoint, with ``lower_case=false`` if needed
    ``wmd:FILE``                       Word Mover's Distance on word vectors; ``analyzer``, and ``unit=true`` for
                                       vectors normalised to length 1
    ``doc2query:FOLDER``               texts expanded with queries that a network generates, scored by ``scorer=``
                                       (by default ``bm25``); ``count``, ``top``, ``longest``, ``length``, ``batch``,
                                       ``prompt``, ``seed``, ``device``, ``tokenizer``, and ``kept=FILE``, a cache of
                                       generated queries; all other settings are those of the scorer
    =================================  ================================================================================

    A folder after a prefix may also be the name of a model on the hub.

    Parameters
    ----------
    text : str or ScorerSpecification
    context : ScorerContext

    Raises
    ------
    UsageError
        If the specification is invalid.
    TermwiseError
        If the target cannot be opened.
    """
    spec = parse_specification(text) if isinstance(text, str) else text
    if is_address(spec.target):
        return _open_service(spec, context)
    for prefix, opener in PREFIXES.items():
        if spec.target.startswith(prefix):
            return opener(spec._replace(target=spec.target.removeprefix(prefix)), context)
    if _ADDRESS_WITHOUT_SCHEME.fullmatch(spec.target) and not path_exists(Path(spec.target)):
        raise UsageError(
            "an address begins with http:// or https://",
            facts=[("given", spec.target)],
            fixes=[f"http://{spec.target}"],
        )
    if "/" in spec.target:
        spec = _downloaded(spec)
    if spec.target in RECIPES:
        _refuse_mixture(spec, context)
    for manifest, opener in FOLDERS.items():
        if is_file(Path(spec.target) / manifest):
            return opener(spec, context)
    return _open_model(spec, context)


class MixtureParts(NamedTuple):
    """Scorers of the parts of a mixture, and their weights."""

    scorers: list[TextScorer]
    weights: list[float]


def open_mixture_parts(spec: ScorerSpecification, context: ScorerContext) -> MixtureParts | None:
    """Open the parts of a mixture by its folder, or by the name of a recipe such as ``best``; None for other targets.

    Parts of a folder have the statistics of its collection, as the folder of an index has.
    """
    recipe = RECIPES.get(spec.target)
    if recipe is not None:
        spec.check_settings(())
        parts = [
            ScorerSpecification(spec.text, part.name, part.model, part.settings) for part in recipe.parts
        ]
        return MixtureParts(
            [open_scorer(part, context) for part in parts], [part.weight for part in recipe.parts]
        )
    if not is_mixture(spec.target):
        return None
    spec.check_settings(())
    mixture = Mixture.open(Path(spec.target))
    scorers = part_scorers(mixture, background=context.background, threads=context.threads)
    return MixtureParts([*scorers], [part.weight for part in mixture.parts])


def _downloaded(spec: ScorerSpecification) -> ScorerSpecification:
    """Return the specification of the local copy, if the target is the name of a model on the hub."""
    from termwise.yardsticks.locate import default_name, is_hub_name, locate_model

    if not is_hub_name(spec.target):
        return spec
    if find_spec("sentence_transformers") is None:  # before anything is downloaded
        error = MissingExtraError.of(
            "sentence_transformers", "cross-encoder", "a model of the Hugging Face hub"
        )
        raise MissingExtraError(
            error.message,
            facts=[("ranker", f"{spec.target}, which is no folder here"), *error.facts],
            fixes=[*error.fixes, "name a model or an existing folder"],
        )
    fixes = ("name a model, an existing folder, or a model of sentence-transformers on the hub",)
    folder = locate_model("ranker", spec.target, fixes)
    return spec._replace(target=str(folder), name=spec.name or default_name(spec.target))


def _open_service(spec: ScorerSpecification, context: ScorerContext) -> TextScorer:
    spec.check_settings(("batch", "timeout", "fingerprint", "authorization"))
    variable = spec.settings.get("authorization")
    if variable is not None and not os.environ.get(variable):
        raise UsageError(
            "the environment variable with the authorization is not set",
            facts=[("ranker", spec.target), ("variable", variable)],
            fixes=[f"export {variable}='Bearer KEY'"],
        )
    timeout = spec.number("timeout")
    return HttpScorer(
        spec.target,
        name=spec.name,
        batch=spec.integer("batch") or 128,
        timeout=60.0 if timeout is None else timeout,
        fingerprint=_user_fingerprint(spec.target, spec),
        authorization=None if variable is None else os.environ[variable],
    )


def _open_function(spec: ScorerSpecification, context: ScorerContext) -> TextScorer:
    spec.check_settings(("fingerprint",))
    module, _, function = spec.target.partition(":")
    return FunctionScorer(
        import_function(module, function),
        name=spec.name or function,
        fingerprint=_user_fingerprint(f"python:{spec.target}", spec),
    )


def _user_fingerprint(target: str, spec: ScorerSpecification) -> str | None:
    """Return the target and the user's version of it, because two targets may have equal versions."""
    version = spec.settings.get("fingerprint")
    return None if version is None else f"{target} {version}"


def _open_word_mover(spec: ScorerSpecification, context: ScorerContext) -> TextScorer:
    from termwise.yardsticks.word_mover import DEFAULT_ANALYZER, WordMoverScorer

    spec.check_settings(("analyzer", "unit"))
    return WordMoverScorer.open(
        spec.target,
        analyzer=spec.settings.get("analyzer", DEFAULT_ANALYZER),
        unit=spec.flag("unit") or False,
        name=spec.name or "wmd",
    )


def _open_expanded(spec: ScorerSpecification, context: ScorerContext) -> TextScorer:
    from termwise.yardsticks.expanded import CachedExpander, ExpandedScorer

    with _extra("train", "doc2query"):
        from termwise.yardsticks.doc2query import Doc2Query
    counts = ("count", "top", "longest", "length", "batch")
    own = (*counts, "prompt", "seed", "device", "tokenizer", "kept")
    expander = Doc2Query.open(
        spec.target,
        device=_device(spec, context),
        prompt=spec.settings.get("prompt", ""),
        seed=spec.integer("seed", least=0) or 0,
        tokenizer=spec.settings.get("tokenizer"),
        **{name: value for name in counts if (value := spec.integer(name)) is not None},
    )
    settings = {name: value for name, value in spec.settings.items() if name not in (*own, "scorer")}
    inner = ScorerSpecification(spec.text, None, spec.settings.get("scorer", "bm25"), settings)
    return ExpandedScorer(
        open_scorer(inner, context), CachedExpander(expander, spec.settings.get("kept")), name=spec.name
    )


def _open_mono_t5(spec: ScorerSpecification, context: ScorerContext) -> TextScorer:
    with _extra("cross-encoder", "monoT5"):
        from termwise.yardsticks.mono_t5 import MonoT5Scorer
    options = _network_options(spec, context, "tokenizer")
    return MonoT5Scorer.open(spec.target, **options, tokenizer=spec.settings.get("tokenizer"))


def _open_qlm_t5(spec: ScorerSpecification, context: ScorerContext) -> TextScorer:
    with _extra("cross-encoder", "QLM-T5"):
        from termwise.yardsticks.qlm_t5 import Likelihood, QlmT5Scorer
    options = _network_options(spec, context, "tokenizer", "likelihood", "alpha")
    alpha = spec.number("alpha")
    return QlmT5Scorer.open(
        spec.target,
        **options,
        tokenizer=spec.settings.get("tokenizer"),
        likelihood=cast("Likelihood", spec.settings.get("likelihood", "query")),
        alpha=0.5 if alpha is None else alpha,
    )


def _open_colbert(spec: ScorerSpecification, context: ScorerContext) -> TextScorer:
    with _extra("cross-encoder", "ColBERT"):
        from termwise.yardsticks.colbert import ColbertScorer
    options = _network_options(spec, context, "mask_punctuation")
    return ColbertScorer.open(spec.target, **options, mask_punctuation=spec.flag("mask_punctuation"))


def _open_epic(spec: ScorerSpecification, context: ScorerContext) -> TextScorer:
    with _extra("cross-encoder", "EPIC"):
        from termwise.yardsticks.epic import EpicScorer
    return EpicScorer.open(spec.target, **_network_options(spec, context))


def _open_ance(spec: ScorerSpecification, context: ScorerContext) -> TextScorer:
    with _extra("cross-encoder", "ANCE"):
        from termwise.yardsticks.ance import AnceScorer
    options = _network_options(spec, context, "lower_case")
    return AnceScorer.open(spec.target, **options, lower_case=spec.flag("lower_case") is not False)


def _open_index(spec: ScorerSpecification, context: ScorerContext) -> TextScorer:
    spec.check_settings(())
    index = Index.open(spec.target)
    background = None if index.stores_text else context.background
    return index_scorer(index, background=background, name=spec.name, threads=context.threads)


def _refuse_mixture(spec: ScorerSpecification, context: ScorerContext) -> NoReturn:
    is_recipe = spec.target in RECIPES
    folder = Code("DIR") if is_recipe else spec.target
    build = [Fix.call("build_index", model=spec.target)] if is_recipe else []
    raise UsageError(
        "a mixture scores the candidates of a query, and no text by itself",
        facts=[("mixture", spec.target)],
        fixes=[
            *build,
            Fix.sentence("search or re-rank with the mixture: {}", Fix.call("termwise.open", folder)),
            "name one of its parts",
        ],
    )


def _open_boosted(spec: ScorerSpecification, context: ScorerContext) -> TextScorer:
    from termwise.yardsticks.gradient_boosting_folder import open_gradient_boosting

    spec.check_settings(("mixture",))
    return open_gradient_boosting(
        spec.target, name=spec.name, mixture=spec.settings.get("mixture"), threads=context.threads
    )


def _open_reranker(spec: ScorerSpecification, context: ScorerContext) -> TextScorer:
    with _extra("cross-encoder", "a re-ranking network"):
        from termwise.yardsticks.rerankers.folder import read_scorer_folder
    own = ("device", "batch")
    return read_scorer_folder(
        spec.target,
        name=spec.name,
        device=_device(spec, context),
        batch=spec.integer("batch") or 32,
        reading={name: value for name, value in spec.settings.items() if name not in own},
    )


def _open_transformer(spec: ScorerSpecification, context: ScorerContext) -> TextScorer:
    """Open a cross-encoder or a bi-encoder of sentence-transformers."""
    if _is_cross_encoder(Path(spec.target) / "config.json"):
        with _extra("cross-encoder", "a cross-encoder"):
            from termwise.yardsticks.cross_encoder import CrossEncoderScorer
        return CrossEncoderScorer.open(spec.target, **_network_options(spec, context))
    with _extra("cross-encoder", "a bi-encoder"):
        from termwise.yardsticks.bi_encoder import BiEncoderScorer, Similarity
    return BiEncoderScorer.open(
        spec.target,
        **_network_options(spec, context, "similarity", "query_prompt", "text_prompt"),
        similarity=cast("Similarity", spec.settings.get("similarity", "cosine")),
        query_prompt=spec.settings.get("query_prompt", ""),
        text_prompt=spec.settings.get("text_prompt", ""),
    )


def _is_cross_encoder(config: Path) -> bool:
    """Return whether the configuration of a transformer names a network with a classification head."""
    try:
        architectures = json.loads(config.read_text(encoding="utf-8")).get("architectures") or ()
        return any(str(name).endswith("ForSequenceClassification") for name in architectures)
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise ModelFormatError(
            "the configuration of the network cannot be read",
            facts=[("file", config), ("Python error", error_text(error))],
        ) from error


def _open_model(spec: ScorerSpecification, context: ScorerContext) -> TextScorer:
    folder = Path(spec.target)
    if is_folder(folder) and kind_of(folder) is None:
        raise MissingFileError(
            "this folder does not contain a scorer",
            facts=[("folder", folder), ("looked for", ", ".join(FOLDERS))],
            fixes=["name an index, an encoder, a translation table, or a network of sentence-transformers"],
        )
    settings = dict(spec.settings)
    analyzer = settings.pop("analyzer", None)
    try:
        return model_scorer(
            spec.target,
            context.background,
            settings=settings,
            analyzer=analyzer,
            name=spec.name or (folder.resolve().name if is_folder(folder) else None),
            threads=context.threads,
        )
    except UnknownNameError as error:
        if not error.message.startswith("unknown parameter"):
            raise
        facts = [(name, f"{value}, analyzer" if name == "known" else value) for name, value in error.facts]
        raise UnknownNameError(error.message, facts=facts, fixes=error.fixes) from None
    except ParameterError as error:
        fixes = error.fixes_worded(lambda fix: fix.worded(partial(_in_specification, spec.target)))
        raise ParameterError(error.message, facts=error.facts, fixes=fixes) from None


def _in_specification(target: str, part: Part) -> str:
    """Return arguments as settings of a specification, such as ``bm25,k1=1.2``."""
    if isinstance(part, Arguments):
        return ",".join([target, *(f"{name}={value}" for name, value in part.values)])
    return str(part)


def _network_options(spec: ScorerSpecification, context: ScorerContext, *others: str) -> dict[str, Any]:
    """Return the settings shared by all networks; refuse settings that are neither these nor `others`."""
    spec.check_settings(("device", "length", "batch", *others))
    return {
        "name": spec.name,
        "device": _device(spec, context),
        "length": spec.integer("length"),
        "batch": spec.integer("batch") or 32,
    }


def _device(spec: ScorerSpecification, context: ScorerContext) -> str:
    from termwise.yardsticks.compatibility import fastest_device

    return spec.settings.get("device") or context.device or fastest_device()


@contextmanager
def _extra(extra: str, purpose: str) -> Iterator[None]:
    """Replace a failed import of torch or transformers by an error that names the extra to install."""
    try:
        yield
    except ImportError:
        raise MissingExtraError.of("torch", extra, purpose) from None


Opener = Callable[[ScorerSpecification, ScorerContext], TextScorer]

PREFIXES: Mapping[str, Opener] = {
    "python:": _open_function,
    "wmd:": _open_word_mover,
    "doc2query:": _open_expanded,
    "mono-t5:": _open_mono_t5,
    "qlm-t5:": _open_qlm_t5,
    "colbert:": _open_colbert,
    "epic:": _open_epic,
    "ance:": _open_ance,
}
"""Kinds of scorers by the prefix of their target; the opener gets the target without it."""

FOLDERS: Mapping[str, Opener] = {
    "mixture.json": _refuse_mixture,
    "manifest.json": _open_index,
    "encoder.json": _open_model,
    "translation.json": _open_model,
    "scorer.json": _open_reranker,
    "gradient-boosting.json": _open_boosted,
    "config.json": _open_transformer,
}
"""Kinds of scorers by a file of their folder; the first that exists decides."""
