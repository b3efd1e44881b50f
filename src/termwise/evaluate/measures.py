"""Parser for names of measures in the spelling of ir_measures.

``nDCG@10``, ``AP@1000``, ``AP(rel=2)``, ``R@100``, ``RR@10``, ``P(rel=2)@5``, ``Success@5``, ``Judged@10``:
name, parameters in parentheses, cutoff after ``@``. Aliases such as ``MRR@10`` are accepted and reported under the
main name, ``RR@10``. Names are parsed with Python's literal parser and become measure objects of ir_measures.

Two groups of measures are refused: measures over subtopics (``alpha_nDCG``, ``ERR_IA`` and others), because a
:class:`~termwise.records.Qrel` judges a document once per query; and ``Accuracy``, which is undefined for a query whose
ranking holds no relevant document, so averages of two runs would be over different queries.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from termwise.errors import MissingExtraError, ParameterError, UnknownNameError, UsageError, near_names

if TYPE_CHECKING:
    from ir_measures import Measure, ParamInfo

LARGEST_RELEVANCE = 10_000
"""Largest relevance grade and gain; nDCG allocates a table of this length for every query."""

_SUBTOPICS = frozenset(
    ["ERR_IA", "nERR_IA", "alpha_DCG", "alpha_nDCG", "NRBP", "nNRBP", "AP_IA", "P_IA", "StRecall"]
)

_COUNTS = frozenset(["NumQ", "NumRel", "NumRet"])

_FORM = "NAME, NAME@CUTOFF or NAME(parameter=value)@CUTOFF"


def is_count(name: str) -> bool:
    """Return whether the values of a measure are added over queries, not averaged.

    Examples
    --------
    >>> is_count("NumRet(rel=1)"), is_count("nDCG@10")
    (True, False)
    """
    return re.split(r"[(@]", name, maxsplit=1)[0] in _COUNTS


def measure_names() -> tuple[str, ...]:
    """Return the names of all measures, without parameters and aliases.

    Examples
    --------
    >>> [name for name in measure_names() if name.startswith("n")]
    ['nDCG']
    """
    return tuple(sorted({m.NAME for n, m in _registry().items() if n == m.NAME and _refusal(m) is None}))


def parse_measures(names: Iterable[str | Measure]) -> tuple[Measure, ...]:
    """Parse names of measures.

    Parameters
    ----------
    names : iterable of str or ir_measures.Measure
        Names in the spelling of ir_measures, or measures. A measure that occurs twice, also under an alias, is kept
        once.

    Returns
    -------
    tuple of ir_measures.Measure
        In the order given; ``str`` of one is its canonical name.

    Raises
    ------
    UnknownNameError
        If a name is not a measure; the fix names the nearest ones, or translates a name of trec_eval.
    ParameterError
        If the syntax is wrong, a parameter is unknown, missing or out of range, or there is no name.
    MissingExtraError
        If the measure is computed by a package that is not installed.

    Examples
    --------
    >>> [str(measure) for measure in parse_measures(["nDCG@10", "MRR@10", "AP(rel=2)", "IPrec@0"])]
    ['nDCG@10', 'RR@10', 'AP(rel=2)', 'IPrec@0.0']
    >>> parse_measures(["ndcg@10"])
    Traceback (most recent call last):
    termwise.errors.UnknownNameError: unknown measure 'ndcg@10'  [unknown-name]
      given  ndcg@10
      fix    did you mean nDCG@10?
    """
    if isinstance(names, str):
        raise ParameterError(
            "measures must be a list of names",
            facts=[("given", repr(names)), ("expected", "a list of str")],
            fixes=[f"pass [{names!r}]"],
        )
    measures: dict[str, Measure] = {}
    problems: list[UsageError] = []
    for name in names:
        try:
            measure = _parse(name) if isinstance(name, str) else _check(name, str(name))
        except UsageError as error:
            problems.append(error)
        else:
            measures.setdefault(str(measure), measure)
    if len(problems) > 1:
        raise _combined(problems)
    if problems:
        raise problems[0]
    if not measures:
        raise ParameterError("there is no measure", fixes=["give one, for example nDCG@10"])
    for measure in measures.values():
        provider_of(measure)
    return tuple(measures.values())


def _combined(problems: list[UsageError]) -> UsageError:
    unknown = any(isinstance(problem, UnknownNameError) for problem in problems)
    error_type = UnknownNameError if unknown else ParameterError
    return error_type(
        f"{len(problems)} measures cannot be used",
        facts=[(str(number), problem.message) for number, problem in enumerate(problems, start=1)],
        fixes=[f"{number}: {p.fixes[0]}" for number, p in enumerate(problems, start=1) if p.fixes],
    )


def _registry() -> dict[str, Measure]:
    from ir_measures import measures

    return measures.registry


def _refusal(measure: Measure) -> str | None:
    if measure.NAME in _SUBTOPICS:
        return "it needs judgments per subtopic, and judgments are per query and document"
    if measure.NAME == "Accuracy":
        return "it is undefined for a query whose ranking holds no relevant document"
    return None


def _parse(name: str) -> Measure:
    try:
        node = ast.parse(name.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise _unreadable(name) from None
    cutoff: Any = None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        if isinstance(node.right, ast.Call):
            raise _unreadable(name)
        cutoff = _literal(name, node.right)
        node = node.left
    parameters: dict[str, Any] = {}
    if isinstance(node, ast.Call):
        if node.args or any(keyword.arg is None for keyword in node.keywords):
            raise _unreadable(name)
        parameters = {str(keyword.arg): _literal(name, keyword.value) for keyword in node.keywords}
        node = node.func
    if not isinstance(node, ast.Name):
        raise _unreadable(name)
    family = _registry().get(node.id)
    if family is None:
        raise _unknown(name, node.id)
    if cutoff is not None:
        parameters[family.AT_PARAM] = cutoff
    for key, value in parameters.items():
        info = family.SUPPORTED_PARAMS.get(key)
        if info is not None and info.dtype is float and type(value) is int:
            parameters[key] = float(value)
    return _check(family(**parameters) if parameters else family, name)


def _literal(name: str, node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise _unreadable(name) from None


def _unreadable(name: str) -> ParameterError:
    return ParameterError(
        f"the measure {name!r} has invalid syntax",
        facts=[("given", name), ("expected", _FORM)],
        fixes=["write it as in nDCG@10, AP(rel=2) or P(rel=2)@5, one measure per name"],
    )


def _unknown(name: str, base: str) -> UnknownNameError:
    translated = _from_trec_eval(name)
    if translated is not None:
        return UnknownNameError(
            f"unknown measure {name!r}",
            facts=[("given", name)],
            fixes=[f"write {translated}, the name in ir_measures"],
        )
    known = [known for known, measure in _registry().items() if _refusal(measure) is None]
    near = list(dict.fromkeys(str(_registry()[other]) for other in near_names(base, known, cutoff=0.6)))
    if near:
        suggestions = " or ".join(name.replace(base, other, 1) for other in near)
        facts, fixes = [("given", name)], [f"did you mean {suggestions}?"]
    else:
        facts, fixes = [("given", name), ("known", ", ".join(measure_names()))], []
    return UnknownNameError(f"unknown measure {name!r}", facts=facts, fixes=fixes)


def _from_trec_eval(name: str) -> str | None:
    if re.fullmatch(r"[a-z][A-Za-z_]*([_.][0-9.]+)?|P[_.][0-9]+", name) is None:
        return None
    from ir_measures import parse_trec_measure

    try:
        translated = parse_trec_measure(name)
    except (ValueError, TypeError, KeyError):
        return None
    return str(translated[0]) if len(translated) == 1 else None


def _check(measure: Measure, name: str) -> Measure:
    reason = _refusal(measure)
    if reason is not None:
        raise ParameterError(f"the measure {name!r} is not evaluated: {reason}", facts=[("given", name)])
    for key in measure.params:
        if key not in measure.SUPPORTED_PARAMS:
            known = ", ".join(sorted(measure.SUPPORTED_PARAMS)) or "none"
            raise ParameterError(
                f"the measure {measure.NAME} has no parameter {key!r}",
                facts=[("given", name), ("known", known)],
            )
    for key, info in measure.SUPPORTED_PARAMS.items():
        if key not in measure.params:
            if info.required:
                form = f"{measure.NAME}@10" if key == "cutoff" else f"{measure.NAME}({key}=…)"
                raise ParameterError(
                    f"the measure {measure.NAME} needs a value of {key!r}",
                    facts=[("given", name)],
                    fixes=[f"write {form}"],
                )
            continue
        value = measure.params[key]
        expected = _range(key, value)
        if not _has_type(info, value):
            dtype = info.dtype.__name__ if info.dtype is not None else "value"
            choices = f", one of {info.choices}" if isinstance(info.choices, list) else ""
            expected = f"{dtype}{choices}"
        if expected is not None:
            raise ParameterError(
                f"the parameter {key!r} of {measure.NAME} cannot be {value!r}",
                facts=[("given", name), ("expected", expected)],
            )
    return measure


def _has_type(info: ParamInfo, value: Any) -> bool:
    if info.dtype is not None and type(value) is not info.dtype:
        return False
    return not isinstance(info.choices, list) or value in info.choices


def _range(key: str, value: Any) -> str | None:
    """Return the valid range of a parameter if a value is outside it, else None."""
    if key in ("cutoff", "rel") and isinstance(value, int) and value < 1:
        return "at least 1"
    if key in ("cutoff", "rel") and isinstance(value, int) and value > 2**31 - 1:
        return f"at most {2**31 - 1:,}"
    if key == "recall" and isinstance(value, float) and not (0 <= value <= 1 and round(value, 2) == value):
        return "from 0 to 1, in hundredths"
    if key in ("p", "alpha") and isinstance(value, float) and not 0 < value < 1:
        return "between 0 and 1"
    if key in ("beta", "T") and isinstance(value, float) and not 0 < value < float("inf"):
        return "above 0"
    if key == "gains" and isinstance(value, dict):
        numbers = [*value.keys(), *value.values()]
        if not all(type(n) is int and abs(n) <= LARGEST_RELEVANCE for n in numbers) or any(
            gain < 0 for gain in value.values()
        ):
            return f"grades to gains, whole numbers, gains from 0 to {LARGEST_RELEVANCE}"
    return None


def provider_of(measure: Measure) -> Any:
    """Return the first available provider of a measure, as ir_measures does; raise an error if there is none."""
    import ir_measures

    supporting = [
        provider for provider in ir_measures.DefaultPipeline.providers if provider.supports(measure)
    ]
    available = next((provider for provider in supporting if provider.is_available()), None)
    if available is not None:
        return available
    settings = ", ".join(f"{key}={value!r}" for key, value in measure.params.items())
    shown = f"{measure.NAME}({settings})"
    if not supporting:
        needs_grade = measure.NAME == "RBP" and "rel" not in measure.params
        raise ParameterError(
            f"no evaluator of ir_measures computes {measure.NAME} with these parameters",
            facts=[("given", shown)],
            fixes=["give the lowest relevant grade: RBP(rel=1)"] if needs_grade else [],
        )
    fixes = [provider.install_instructions() for provider in supporting]
    raise MissingExtraError(
        f"the measure {measure.NAME} needs a package that is not installed",
        facts=[("given", shown), ("computed by", ", ".join(provider.NAME for provider in supporting))],
        fixes=[fix for fix in fixes if fix],
    )
