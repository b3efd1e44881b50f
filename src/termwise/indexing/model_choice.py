"""Find the model that a user asks for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from termwise.encode import EncoderFolder
from termwise.errors import MissingFileError, ParameterError, TermwiseError, UnknownNameError
from termwise.models import Model, Model1, make_model, model_names
from termwise.translation.table_folder import read_manifest, table_folder
from termwise.translation.table_manifest import NAME as TABLE
from termwise.validation import wrong


def chosen_model(model: str | Path | Model, settings: Mapping[str, str]) -> Model:
    """Return the model given as such, by name, or as the folder of an encoder or a translation table.

    Values that a translation table recommends for parameters are the defaults.

    Parameters
    ----------
    model : str, Path or Model
        See `build_index`. A name of a model is never taken for a folder; ``./tilde`` is a folder.
    settings : mapping of str to str
        Parameters of a model given by name or folder.

    Raises
    ------
    UnknownNameError
        If there is no such model or parameter.
    ParameterError
        If a value is out of range, or settings come with a model that is not given by name or folder.
    MissingFileError
        If there is no such folder.
    ModelFormatError, CorruptModelError
        If a folder is neither an encoder nor a translation table, or is damaged.
    """
    if not isinstance(model, str | Path):
        if isinstance(model, type) or not isinstance(model, Model):
            raise wrong(
                "model",
                model,
                f"a model, a folder of an encoder or of a translation table, or one of {', '.join(model_names())}",
            )
        if settings:
            raise ParameterError("settings go with the name of a model; this one is made already")
        return model
    if model in model_names():
        return make_model(str(model), _with_recommended(settings) if model == Model1.name else settings)
    if not os.path.exists(model):
        raise _missing(model)
    table = (Path(model) / TABLE).is_file()
    parameter = "table" if table else "encoder"
    if parameter in settings:
        raise ParameterError(
            f"the {parameter} is named twice",
            facts=[("model", model), (parameter, settings[parameter])],
            fixes=[f"leave the setting {parameter} out"],
        )
    kind = Model1.name if table else EncoderFolder.open(Path(model)).manifest.kind
    name = str(model) if os.sep in str(model) else os.path.join(os.curdir, model)
    chosen = {**settings, parameter: name}
    return make_model(kind, _with_recommended(chosen) if table else chosen)


def _with_recommended(settings: Mapping[str, str]) -> Mapping[str, str]:
    """Add the values that a translation table recommends to the settings."""
    table = settings.get("table", Model1.table)
    if not (table_folder(table) / TABLE).is_file():
        return settings
    scoring = read_manifest(table).scoring
    return {**{name: str(value) for name, value in scoring.items()}, **settings}


def _missing(model: str | Path) -> TermwiseError:
    """Build the error for a model that is neither a known name nor an existing folder."""
    names = model_names()
    if isinstance(model, Path) or os.sep in model:
        return MissingFileError(
            "there is no such folder, which would be that of an encoder or of a translation table",
            facts=[("folder", model), ("models", ", ".join(names))],
            fixes=["check the path", "name one of the models"],
        )
    unknown = UnknownNameError.of("model", model, names)
    message = f"{unknown.message}, and there is no folder of that name"
    return UnknownNameError(message, facts=unknown.facts, fixes=unknown.fixes)
