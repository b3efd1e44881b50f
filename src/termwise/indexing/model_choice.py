"""Choice of the model by name, folder or object, and of the encoder that runs its network."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from termwise.display.safe_text import short_digest
from termwise.encode import DocumentEncoder, EncoderFolder, open_document_encoder
from termwise.encode.document_encoder import check_encoder
from termwise.errors import MissingFileError, ParameterError, TermwiseError, UnknownNameError, UsageError
from termwise.fixes import Call, Code, Fix
from termwise.index import Index
from termwise.index.container import corrupt
from termwise.index.manifest import NAME
from termwise.indexing.context import refuse_arguments
from termwise.indexing.options import BuildOptions
from termwise.indexing.recipes import RECIPES
from termwise.models import Model, Model1, NetworkModel, make_model, model_from_parameters, model_names
from termwise.models.checks import check_parameter
from termwise.models.idf_power import POWER
from termwise.storage.safe_read import is_file, path_exists
from termwise.translation.table_folder import read_manifest, table_folder
from termwise.translation.table_manifest import NAME as TABLE
from termwise.validation import check, wrong

NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


def chosen_model(model: str | Path | Model, settings: Mapping[str, str] = NO_SETTINGS) -> Model:
    """Return a model given as an object, by name, or as the folder of an encoder or a translation table.

    Parameter values that a translation table recommends replace the defaults.

    Parameters
    ----------
    model : str, Path or Model
        See `build_index`. A model name is never a folder; ``./tilde`` is a folder.
    settings : mapping of str to str, optional
        Parameters of a model given by name or folder.

    Raises
    ------
    UnknownNameError
        If there is no such model or parameter.
    ParameterError
        If a value is out of range, or settings come with a model object.
    MissingFileError
        If there is no such folder.
    ModelFormatError, CorruptModelError
        If a folder is neither an encoder nor a translation table, or is damaged.

    Examples
    --------
    >>> chosen_model("jm", {"lambda": "0.3"})
    QueryLikelihoodJM(lambda_=0.3)
    """
    strings = isinstance(settings, Mapping) and all(
        isinstance(part, str) for pair in settings.items() for part in pair
    )
    check("settings", settings, strings, 'names and values, all of them strings, such as {"keep": "64"}')
    if not isinstance(model, str | Path):
        if not isinstance(model, Model):
            raise wrong(
                "model",
                model,
                f"a model, a folder of an encoder or of a translation table, or one of {', '.join(model_names())}",
            )
        if settings:
            raise ParameterError("settings require the name or folder of a model, not a model object")
        return model
    if model in model_names():
        return make_model(str(model), _with_recommended(settings) if model == Model1.name else settings)
    if not path_exists(Path(model)):
        raise _missing(model)
    is_table = is_file(Path(model) / TABLE)
    parameter = "table" if is_table else "encoder"
    if parameter in settings:
        raise ParameterError(
            f"the {parameter} is given twice",
            facts=[("model", model), (parameter, settings[parameter])],
            fixes=[f"omit the setting {parameter}"],
        )
    name = Model1.name if is_table else EncoderFolder.open(Path(model)).manifest.kind
    folder = str(model) if os.sep in str(model) else os.path.join(os.curdir, model)
    all_settings = {**settings, parameter: folder}
    return make_model(name, _with_recommended(all_settings) if is_table else all_settings)


def _with_recommended(settings: Mapping[str, str]) -> Mapping[str, str]:
    """Add the parameter values that a translation table recommends to the settings."""
    table = settings.get("table", Model1.table)
    if not is_file(table_folder(table) / TABLE):
        return settings
    scoring = read_manifest(table).scoring
    return {**{name: str(value) for name, value in scoring.items()}, **settings}


def _missing(model: str | Path) -> TermwiseError:
    """Return the error for a model that is neither a known name nor an existing folder."""
    names = (*model_names(), *RECIPES)
    recipe = RECIPES.get(str(model))
    if recipe is not None:
        parts = {part.name: make_model(part.model, part.settings) for part in recipe.parts}
        networks = [
            part.name for part in parts.values() if isinstance(part, NetworkModel) and part.runs_network
        ]
        with_network = Fix.sentence(
            "name the part: {}; the mixture takes its encoded documents: {}",
            Fix.use(model=networks[0] if networks else ""),
            Fix.call("build_index", model=model, options=Call.of("BuildOptions", encoding=Code("FOLDER"))),
        )
        return ParameterError(
            "this is the name of a mixture, and one model is needed here",
            facts=[("model", model), ("parts", ", ".join(parts))],
            fixes=[with_network if networks else Fix.call("build_index", model=model)],
        )
    if isinstance(model, Path) or os.sep in model:
        return MissingFileError(
            "there is no such folder of an encoder or of a translation table",
            facts=[("folder", model), ("models", ", ".join(names))],
            fixes=["check the path", "pass the name of a model"],
        )
    unknown = UnknownNameError.of("model", model, names)
    message = f"{unknown.message}, and there is no folder of that name"
    return UnknownNameError(message, facts=unknown.facts, fixes=unknown.fixes)


def opened_encoder(model: NetworkModel, options: BuildOptions) -> DocumentEncoder:
    """Return the encoder of the options, or open the one that the model names and load its network.

    An encoder together with options for opening one raises `ParameterError`.
    """
    precision, providers = options.precision, options.providers
    if options.encoder is None:
        return open_document_encoder(model, threads=options.threads, precision=precision, providers=providers)
    arguments = {"precision": precision, "providers": providers}
    refuse_arguments("an open encoder has its own precision and providers", model, arguments)
    return options.encoder


def model_of(index: Index) -> Model | None:
    """Return the model that weighed the documents of an index.

    None for a weighted sum of indexes, and for an index whose description names no model of termwise. Parameters that
    the model cannot have raise `CorruptIndexError`.
    """
    described = index.manifest.encoder.model
    if described.name not in model_names():
        return None
    try:
        return model_from_parameters(described.name, described.parameters)
    except UsageError as error:
        seen = f"{described.parameters}: {error.message}"
        raise corrupt(
            index.path / NAME, None, f"encoder.model.parameters of {described.name}", seen[:200]
        ) from error


def check_same_encoder(model: NetworkModel, encoder: DocumentEncoder) -> None:
    """Refuse an encoder that is not the one of the model, or that has other settings; `ParameterError` names them.

    An encoder whose description has no kind was not made from a folder; only its power of the idf is checked.
    """
    check_encoder(encoder)
    _check_power(model, encoder)
    description = encoder.description
    if description.get("kind") is None:
        return
    folder = EncoderFolder.open(model.encoder)
    expected = {"kind": folder.manifest.kind, "id": folder.id, "vocabulary": folder.vocabulary.id}
    actual = {"kind": description["kind"], "id": description.get("id"), "vocabulary": encoder.vocabulary.id}
    differing = [key for key in expected if expected[key] != actual[key]]
    if differing or expected["kind"] != model.name:
        raise ParameterError(
            "the encoder is not the one that the model names",
            facts=[
                ("model", f"{model.name}, encoder {model.encoder}: {_kind_and_id(expected)}"),
                ("encoder", f"{description.get('name')}: {_kind_and_id(actual)}"),
                ("differ in", ", ".join(differing) or "kind"),
            ],
            fixes=[
                "omit the encoder",
                Fix.use("pass the folder of the encoder as the model: {}", model=Code("FOLDER")),
            ],
        )
    encoder_settings, model_settings = _settings(encoder), _settings(open_document_encoder(model, load=False))
    unequal = [
        name
        for name in {**model_settings, **encoder_settings}
        if encoder_settings.get(name) != model_settings.get(name)
    ]
    if unequal:
        raise ParameterError(
            "the encoder runs with other settings than the model has",
            facts=[
                ("model", f"{model.name}, encoder {model.encoder}"),
                *(
                    (name, f"{model_settings.get(name)}, and {encoder_settings.get(name)} in the encoder")
                    for name in unequal
                ),
            ],
            fixes=["omit the encoder", "give model and encoder the same settings"],
        )


def _kind_and_id(encoder: Mapping[str, object]) -> str:
    return f"kind {encoder['kind']}, {short_digest(str(encoder['id']))}"


def _check_power(model: NetworkModel, encoder: DocumentEncoder) -> None:
    """Refuse a power of the idf that is out of range or differs from that of the model."""
    power = check_parameter("the encoder", "idf_power", encoder.idf_power, float, POWER)
    if power and (encoder.gives_log_likelihoods or encoder.floors is not None):
        raise ParameterError(
            "weights above a floor cannot be multiplied by an idf, because absent terms would need other floors",
            facts=[("encoder", encoder.description.get("name")), ("idf_power", power)],
            fixes=["an encoder with idf_power 0", "an encoder without floors"],
        )
    expected = getattr(model, "idf_power", None)
    if expected is not None and expected != power:
        raise ParameterError(
            "the encoder runs with another power of the idf than the model has",
            facts=[("model", f"{model.name}, idf_power {expected:g}"), ("encoder", f"idf_power {power:g}")],
            fixes=["omit the encoder", "give model and encoder the same settings"],
        )


def _settings(encoder: DocumentEncoder) -> dict[str, object]:
    """Return the settings of an encoder by parameter name of its model."""
    description = encoder.description
    expansion = description.get("expansion") or {}
    expansion_settings = expansion.get("settings") or {}
    return {
        **(description.get("settings") or {}),
        "idf_power": encoder.idf_power,
        "expansion_encoder": expansion.get("id"),
        "expansion_terms": expansion_settings.get("terms"),
        "counting": expansion_settings.get("counting"),
        "expansion_lift": expansion_settings.get("lift", 0.0),
    }
