"""Registry of models by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from termwise.errors import ParameterError, UnknownNameError
from termwise.fixes import Code, Fix
from termwise.models.base import Model
from termwise.models.bm25 import BM25
from termwise.models.checks import parameter_types
from termwise.models.dirichlet import QueryLikelihoodDirichlet
from termwise.models.jelinek_mercer import QueryLikelihoodJM
from termwise.models.lookup import Lookup
from termwise.models.maximum_likelihood import MaximumLikelihood
from termwise.models.model1 import Model1
from termwise.models.splade_doc import SpladeDoc
from termwise.models.tilde import Tilde
from termwise.models.tildev2 import TildeV2
from termwise.models.vectors import VectorModel

# A new model is one file and one line here.
_MODELS: dict[str, type[Model]] = {
    model.name: model
    for model in (
        BM25,
        QueryLikelihoodDirichlet,
        QueryLikelihoodJM,
        Lookup,
        MaximumLikelihood,
        Model1,
        SpladeDoc,
        Tilde,
        TildeV2,
        VectorModel,
    )
}


def model_names() -> tuple[str, ...]:
    """Return the names of all models, sorted.

    Examples
    --------
    >>> model_names()
    ('bm25', 'dirichlet', 'jm', 'lookup', 'ml', 'model1', 'splade-doc', 'tilde', 'tildev2', 'vectors')
    """
    return tuple(sorted(_MODELS))


def make_model(name: str, settings: Mapping[str, str]) -> Model:
    """Make a model from settings in text form.

    Parameters
    ----------
    name : str
        One of `model_names`.
    settings : mapping of str to str
        Parameters by name, such as ``{"k1": "0.9"}``; omitted ones keep their defaults.

    Raises
    ------
    UnknownNameError
        If there is no such model, parameter or choice; the error names the nearest ones.
    ParameterError
        If a value has the wrong type or is out of range.

    Examples
    --------
    >>> make_model("bm25", {"k1": "1.2"})
    BM25(k1=1.2, b=0.4, variant='lucene', lengths='exact', negative_idf='floor')
    >>> make_model("tilde", {"keep": "64"}).keep
    64
    """
    fields = _fields(name, settings)
    values = {fields[key][0]: _value(name, key, text, fields[key][1]) for key, text in settings.items()}
    return _MODELS[name](**values)


def model_from_parameters(name: str, parameters: Mapping[str, object]) -> Model:
    """Make a model from its `Model.parameters`, as stored in an index.

    Raises
    ------
    UnknownNameError
        If there is no such model, parameter or choice.
    ParameterError
        If a value is out of range or of the wrong type.

    Examples
    --------
    >>> model = make_model("jm", {"lambda": "0.7"})
    >>> model_from_parameters(model.name, model.parameters()) == model
    True
    """
    fields = _fields(name, parameters)
    return _MODELS[name](**{fields[key][0]: value for key, value in parameters.items()})


def _fields(name: str, given: Iterable[str]) -> dict[str, tuple[str, object]]:
    """Return field and type of each parameter by public name (``lambda`` for ``lambda_``), if it has all given ones."""
    if name not in _MODELS:
        raise UnknownNameError.of("model", name, _MODELS)
    fields = {field.rstrip("_"): (field, kind) for field, kind in parameter_types(_MODELS[name]).items()}
    for parameter in given:
        if parameter not in fields:
            raise UnknownNameError.of(f"parameter of {name}", parameter, fields)
    return fields


def _value(name: str, parameter: str, text: str, kind: object) -> object:
    """Convert a setting to the type of its parameter."""
    if kind not in _READERS:
        return text
    read, noun, example, placeholder = _READERS[kind]
    try:
        return read(text)
    except (ValueError, KeyError):
        raise ParameterError(
            f"{parameter} of {name} is not {noun}",
            facts=[("parameter", parameter), ("given", repr(text)), ("expected", noun + example)],
            fixes=[Fix.use(**{parameter: Code(placeholder)})],
        ) from None


_READERS: dict[object, tuple[Callable[[str], object], str, str, str]] = {
    float: (float, "a number", ", such as 0.5", "NUMBER"),
    int: (int, "a whole number", ", such as 100", "NUMBER"),
    bool: ({"true": True, "false": False}.__getitem__, "true or false", "", "true"),
}
"""Converter of each type, its noun for errors, an example, and a placeholder."""
