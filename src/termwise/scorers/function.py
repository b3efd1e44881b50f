"""A ranker that is a Python function."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise.errors import DataError, ParameterError, TermwiseError, UsageError
from termwise.scorers.adapt import as_scores
from termwise.scorers.protocol import BasePairScorer
from termwise.scorers.traceback_facts import failure
from termwise.validation import check, check_pairs


def function_of(module: str, name: str) -> Callable[..., Any]:
    """Return a function of a module, which is imported.

    Raises
    ------
    UsageError
        If there is no such module, or no such function in it.
    DataError
        If the module cannot be imported; the facts say where it fails.

    Examples
    --------
    >>> function_of("math", "sqrt")(4.0)
    2.0
    """
    where = f"{module}:{name}"
    if not all(part.isidentifier() for part in (*module.split("."), name)):
        raise _no_such(where, "a module and a function have names of letters, digits and _")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise _broken(where, failure(error)) from error
        raise _no_such(where, error) from error
    except SyntaxError as error:
        facts = [("Python says", error.msg), ("where", f"{error.filename}, line {error.lineno}")]
        raise _broken(where, facts) from error
    except (Exception, SystemExit) as error:
        raise _broken(where, failure(error)) from error
    try:
        function: Callable[..., Any] = getattr(found, name)
    except AttributeError as error:
        raise _no_such(where, error) from error
    except (Exception, SystemExit) as error:
        raise _broken(where, failure(error)) from error
    return function


def _no_such(given: str, why: object) -> UsageError:
    return UsageError(
        "there is no such function",
        facts=[("given", f"python:{given}"), ("why", why)],
        fixes=["python:MODULE:FUNCTION, of a module that is installed, or lies in the folder you are in"],
    )


def _broken(given: str, facts: Iterable[tuple[str, object]]) -> DataError:
    return DataError(
        "the module of a function cannot be imported", facts=[("given", f"python:{given}"), *facts]
    )


class FunctionScorer(BasePairScorer):
    """Scores texts by a function of pairs; a `termwise.scorers.protocol.PairScorer`.

    Parameters
    ----------
    function : callable
        Takes a list of queries and a list of texts, equally long, and returns a number for each pair: what
        ``CrossEncoder.predict`` does with its list of pairs, say.
    name : str
        What the scorer is called in tables.
    fingerprint : str, optional
        Says that the same function gives the same scores. Without it nothing is kept of a scorer from one run to the
        next: a function may change without anybody telling.

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
        self,
        function: Callable[[list[str], list[str]], Any],
        *,
        name: str,
        fingerprint: str | None = None,
    ) -> None:
        check("function", function, callable(function), "a function of queries and texts")
        check("name", name, isinstance(name, str) and bool(name), "a name")
        check("fingerprint", fingerprint, isinstance(fingerprint, str | None), "a text, or None")
        self._function = function
        _check_takes_pairs(name, function)
        self.name = name
        self.fingerprint = fingerprint

    def score_pairs(self, queries: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """Score each text for the query at the same place.

        Raises
        ------
        DataError
            If the function fails or leaves the program, or does not return a number for each pair; the facts say where.
        """
        check_pairs(queries, texts)
        try:
            given = self._function(list(queries), list(texts))
        except TermwiseError:
            raise
        except (Exception, SystemExit) as error:
            raise DataError(
                "the function of a ranker failed", facts=[("scorer", self.name), *failure(error)]
            ) from error
        return as_scores(self.name, given, len(texts))


def _check_takes_pairs(name: str, function: Callable[..., object]) -> None:
    """Refuse a function that cannot be called with two lists, where Python knows what it takes."""
    try:
        known = signature(function)
    except (TypeError, ValueError):
        return
    try:
        known.bind([], [])
    except TypeError as error:
        raise ParameterError(
            "a ranker is a function of queries and texts, two lists",
            facts=[("scorer", name), ("takes", f"{known}"), ("Python says", error)],
            fixes=["def NAME(queries, texts): return [a number for each pair]"],
        ) from None
