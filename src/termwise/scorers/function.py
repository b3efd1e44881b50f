"""Scorer that calls a Python function of queries and texts."""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Callable, Iterable, Sequence
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import error_text
from termwise.errors import DataError, ParameterError, TermwiseError, UsageError
from termwise.scorers.protocol import BasePairScorer
from termwise.scorers.score_pairs import as_scores
from termwise.validation import check


def import_function(module: str, name: str) -> Callable[..., Any]:
    """Import a module and return one of its functions; `DataError` names the line if the import fails.

    Examples
    --------
    >>> import_function("math", "sqrt")(4.0)
    2.0
    """
    target = f"python:{module}:{name}"
    if not all(part.isidentifier() for part in (*module.split("."), name)):
        raise _no_such_function(target, "names of modules and functions have letters, digits and _")
    try:
        imported = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise _import_failed(target, traceback_facts(error)) from error
        raise _no_such_function(target, error) from error
    except SyntaxError as error:
        facts = [("Python error", error.msg), ("where", f"{error.filename}, line {error.lineno}")]
        raise _import_failed(target, facts) from error
    except (Exception, SystemExit) as error:
        raise _import_failed(target, traceback_facts(error)) from error
    try:
        function: Callable[..., Any] = getattr(imported, name)
    except AttributeError as error:
        raise _no_such_function(target, error) from error
    except (Exception, SystemExit) as error:
        raise _import_failed(target, traceback_facts(error)) from error
    return function


def traceback_facts(error: BaseException) -> list[tuple[str, object]]:
    """Return an error of foreign code as facts: its message, and the last line that was executed.

    Examples
    --------
    >>> try:
    ...     int("x")
    ... except ValueError as error:
    ...     [label for label, _ in traceback_facts(error)]
    ['Python error', 'where']
    """
    facts: list[tuple[str, object]] = [("Python error", error_text(error))]
    frames = traceback.extract_tb(error.__traceback__)
    if frames:
        last = frames[-1]
        facts.append(("where", f"{last.filename}, line {last.lineno}, in {last.name}"))
    return facts


def _no_such_function(target: str, reason: object) -> UsageError:
    return UsageError(
        "there is no such function",
        facts=[("given", target), ("reason", reason)],
        fixes=["python:MODULE:FUNCTION, with a module that is installed or in the current folder"],
    )


def _import_failed(target: str, facts: Iterable[tuple[str, object]]) -> DataError:
    return DataError("the module of the function cannot be imported", facts=[("given", target), *facts])


class FunctionScorer(BasePairScorer):
    """Scores texts by a Python function; a `termwise.scorers.protocol.PairScorer`.

    Parameters
    ----------
    function : callable
        Takes a list of queries and a list of texts of the same length, and returns one number for each pair.
    name : str
        Name of the scorer in tables.
    fingerprint : str, optional
        Version of the function. Scores are cached only with a fingerprint, because the function can change unnoticed.

    Examples
    --------
    >>> shared = FunctionScorer(
    ...     lambda queries, texts: [
    ...         len(set(q.split()) & set(t.split())) for q, t in zip(queries, texts)
    ...     ],
    ...     name="shared words",
    ... )
    >>> shared.score("a cat", ["a cat sat", "dogs"])
    array([2., 0.])
    """

    def __init__(
        self, function: Callable[[list[str], list[str]], Any], *, name: str, fingerprint: str | None = None
    ) -> None:
        check("function", function, callable(function), "a function of queries and texts")
        check("name", name, isinstance(name, str) and bool(name), "a name")
        check("fingerprint", fingerprint, isinstance(fingerprint, str | None), "a text, or None")
        _check_signature(name, function)
        self._function = function
        self.name = name
        self.fingerprint = fingerprint

    def _score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Call the function; raise `DataError` if it fails, exits, or does not return a number for each pair."""
        try:
            result = self._function(list(queries), list(texts))
        except TermwiseError:
            raise
        except (Exception, SystemExit) as error:
            raise DataError(
                "the function of the scorer failed", facts=[("scorer", self.name), *traceback_facts(error)]
            ) from error
        return as_scores(self.name, result, len(texts))


def _check_signature(name: str, function: Callable[..., object]) -> None:
    """Refuse a function that cannot be called with two arguments, if its signature is available."""
    try:
        known = signature(function)
    except (TypeError, ValueError):
        return
    try:
        known.bind([], [])
    except TypeError as error:
        raise ParameterError(
            "a scorer is a function of queries and texts, two lists",
            facts=[("scorer", name), ("signature", f"{known}"), ("Python error", error)],
            fixes=["def NAME(queries, texts): return [a number for each pair]"],
        ) from None
