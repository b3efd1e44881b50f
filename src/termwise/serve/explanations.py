"""Explanations of scores in answers, without empty values, and without texts that were not asked for."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any, cast

from termwise.explain import Explanation
from termwise.serve.answers import ExplanationAnswer


def explanation_record(explanation: Explanation, *, texts: bool = False) -> ExplanationAnswer:
    """Return an explanation as JSON-like data.

    Parameters
    ----------
    explanation : Explanation
        Not centred.
    texts : bool, optional
        With the query and the text of the document, in which the spans are positions.

    Examples
    --------
    >>> from termwise.explain import Contribution
    >>> part = Contribution("tea", "exact", 2.0, 1.5, 3.0, ((0, 3),))
    >>> record = explanation_record(Explanation("tea", "sencha", 3.0, 0.0, (part,), (), "Green tea"))
    >>> record["contributions"]
    [{'term': 'tea', 'origin': 'exact', 'query_weight': 2.0, 'weight': 1.5, 'score': 3.0, 'query_spans': [[0, 3]]}]
    >>> sorted(record)
    ['constant', 'contributions', 'doc_id', 'score']
    """
    record = _filled(vars(explanation))
    for filled, part in zip(record.get("parts", ()), explanation.parts, strict=True):
        filled |= {"scale": part.scale, "shift": part.shift}
    for name in ("index", "centred", *(() if texts else ("query", "text"))):
        record.pop(name, None)
    for part in record.setdefault("contributions", []):
        del part["mean"]  # of a centred explanation
        if "part" not in part:
            del part["scale"]
    return cast(ExplanationAnswer, record)


def _filled(value: Any) -> Any:
    """Return records as JSON-like data, without empty values."""
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict):
        return {name: _filled(each) for name, each in value.items() if each not in (None, (), "")}
    return [_filled(each) for each in value] if isinstance(value, tuple) else value
