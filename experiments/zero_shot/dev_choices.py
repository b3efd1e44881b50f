"""Choices on the dev splits: settings first, one after the other, then the shares of the mixtures.

Only the judged queries of the dev splits are ranked, and no other judgments are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import record
from plan import ALPHA, AS_SHIPPED, BASELINE, Choices, Chosen, Plan, SettingChoice
from systems import Bench, Tools

from termwise.errors import ParameterError


def choose(plan: Plan, benches: Mapping[str, Bench], tools: Tools, names: Sequence[str]) -> Choices:
    """Choose settings and shares for the named systems.

    Parameters
    ----------
    plan : Plan
    benches : mapping of str to Bench
        The dev collections.
    tools : Tools
        The encoders, whose ids and precisions are recorded.
    names : sequence of str
        Systems that can run.
    """
    identities = tools.identities()
    used = plan.networks(names)
    choices = Choices(encoders={name: identities[name] for name in used}, plan=plan.digest)
    for choice in plan.settings:
        if choice.system in names:
            collections = choice.collections or tuple(benches)
            some = {name: bench for name, bench in benches.items() if name in collections}
            if not some:
                raise ParameterError(
                    "none of the collections of a setting is selected",
                    facts=[
                        ("setting", f"{choice.setting} of {choice.system}"),
                        ("needs one of", ", ".join(collections)),
                    ],
                )
            values = values_of(plan, tools, choice)
            choices = choices.with_one(_setting(plan, some, choices, choice, values))
    for name in names:
        if plan.systems[name].interpolate:
            means, each = _mixtures(plan, benches, choices, name)
            best = int(np.argmax(means))
            tried = _tried(plan.alpha, means, each)
            choices = choices.with_one(
                Chosen(system=name, setting=ALPHA, value=plan.alpha[best], by=name, tried=tried)
            )
            record.say(f"{name}: alpha {plan.alpha[best]}, macro {plan.measure} {means[best]:.4f}")
    return choices


def values_of(plan: Plan, tools: Tools, choice: SettingChoice) -> list[str]:
    """Return the distinct values to try, with the default of the encoder in place of `AS_SHIPPED`."""
    values = [
        tools.as_shipped(plan, choice) if value == AS_SHIPPED else str(value) for value in choice.values
    ]
    return list(dict.fromkeys(values))


def _setting(
    plan: Plan, benches: Mapping[str, Bench], choices: Choices, choice: SettingChoice, values: Sequence[str]
) -> Chosen:
    measured = _mixture_of(plan, choice.system) if choice.by == "mixed" else choice.system
    means, each = [], []
    for value in values:
        tried = choices.with_one(_chosen(choice, value, measured, []))
        if choice.by == "mixed":
            macro, per = _mixtures(plan, benches, tried, measured)
            best = int(np.argmax(macro))
            found = {name: column[best] for name, column in per.items()}
        else:
            found = {
                name: _value(plan, bench.with_choices(tried), choice.system)
                for name, bench in benches.items()
            }
        means.append(float(np.mean(list(found.values()))))
        each.append(found)
        record.say(f"{choice.system}: {choice.setting} {value}, macro {plan.measure} {means[-1]:.4f}")
    best = int(np.argmax(means))
    if choice.tolerance:
        best = next(place for place, mean in enumerate(means) if mean >= (1 - choice.tolerance) * means[best])
    columns = {name: [found[name] for found in each] for name in benches}
    return _chosen(choice, values[best], measured, _tried(values, means, columns))


def _chosen(choice: SettingChoice, value: str, by: str, tried: list[dict[str, Any]]) -> Chosen:
    return Chosen(system=choice.system, setting=choice.setting, value=value, by=by, tried=tried)


def _mixture_of(plan: Plan, system: str) -> str:
    found = [name for name, mixture in plan.systems.items() if mixture.interpolate == (BASELINE, system)]
    if not found:
        raise ParameterError("no mixture of the system with the baseline", facts=[("system", system)])
    return found[0]


def _mixtures(
    plan: Plan, benches: Mapping[str, Bench], choices: Choices, name: str
) -> tuple[list[float], dict[str, list[float]]]:
    """Return the macro mean and the mean of each collection, at each alpha."""
    each: dict[str, list[float]] = {}
    for collection, bench in benches.items():
        chosen = bench.with_choices(choices)
        each[collection] = [
            _measured(plan, bench, chosen.mixture(plan.systems[name], alpha)) for alpha in plan.alpha
        ]
    means = np.mean(list(each.values()), axis=0)
    return means.tolist(), each


def _value(plan: Plan, bench: Bench, name: str) -> float:
    return _measured(plan, bench, bench.outcome(name).run)


def _measured(plan: Plan, bench: Bench, run: Any) -> float:
    return float(bench.judged.evaluate(run, [plan.measure]).means[plan.measure] or 0.0)


def _tried(
    values: Sequence[object], means: Sequence[float], each: Mapping[str, Sequence[float]]
) -> list[dict[str, Any]]:
    return [
        {
            "value": value,
            "macro": means[place],
            "collections": {name: column[place] for name, column in each.items()},
        }
        for place, value in enumerate(values)
    ]
