"""Choices on the dev splits: settings first, one after the other, then the shares of the mixtures.

Only the judgments and queries of the dev splits are opened here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import record
from plan import BASELINE, Choices, Plan, SettingChoice, encoder_ids
from systems import Bench

from termwise.errors import ParameterError


def choose(
    plan: Plan, benches: Mapping[str, Bench], encoders: Mapping[str, str], names: Sequence[str]
) -> Choices:
    """Choose settings and shares for the named systems.

    Parameters
    ----------
    plan : Plan
        The declarative file.
    benches : mapping of str to Bench
        The dev collections.
    encoders : mapping of str to str
        The encoders, whose ids are written down.
    names : sequence of str
        Systems that can be run.
    """
    choices = Choices(encoders=encoder_ids(encoders))
    for choice in plan.settings:
        if choice.system in names:
            chosen = choice.collections or tuple(benches)
            some = {collection: bench for collection, bench in benches.items() if collection in chosen}
            choices = _setting(plan, some, choices, choice)
    for name in names:
        if plan.systems[name].interpolate:
            means, each = _mixtures(plan, benches, choices, name)
            best = int(np.argmax(means))
            choices = replace(
                choices,
                alpha={**choices.alpha, name: plan.alpha[best]},
                trace=[*choices.trace, *_traced(name, "alpha", plan.alpha, means, each)],
            )
            record.say(f"{name}: alpha {plan.alpha[best]}, macro {plan.measure} {means[best]:.4f}")
    return choices


def _setting(plan: Plan, benches: Mapping[str, Bench], choices: Choices, choice: SettingChoice) -> Choices:
    means, each = [], []
    for value in choice.values:
        tried = _with(choices, choice, value)
        if choice.by == "mixed":
            mixture = _mixture_of(plan, choice.system)
            macro, per = _mixtures(plan, benches, tried, mixture)
            best = int(np.argmax(macro))
            found = {name: values[best] for name, values in per.items()}
        elif choice.by == "alone":
            found = {
                name: _value(plan, bench.choosing(tried), choice.system) for name, bench in benches.items()
            }
        else:
            raise ParameterError(
                "a setting is chosen by its system alone or mixed", facts=[("by", choice.by)]
            )
        means.append(float(np.mean(list(found.values()))))
        each.append(found)
        record.say(f"{choice.system}: {choice.setting} {value}, macro {plan.measure} {means[-1]:.4f}")
    best = int(np.argmax(means))
    if choice.tolerance:
        best = next(place for place, mean in enumerate(means) if mean >= (1 - choice.tolerance) * means[best])
    chosen = _with(choices, choice, choice.values[best])
    columns = {name: [found[name] for found in each] for name in benches}
    traced = _traced(choice.system, choice.setting, choice.values, means, columns)
    return replace(chosen, trace=[*choices.trace, *traced])


def _with(choices: Choices, choice: SettingChoice, value: str) -> Choices:
    before = choices.settings.get(choice.system, {})
    changed = {**before, choice.setting: value}
    return replace(choices, settings={**choices.settings, choice.system: changed})


def _mixture_of(plan: Plan, system: str) -> str:
    found = [name for name, mixture in plan.systems.items() if mixture.interpolate == (BASELINE, system)]
    if not found:
        raise ParameterError("no system mixes this one with the baseline", facts=[("system", system)])
    return found[0]


def _mixtures(
    plan: Plan, benches: Mapping[str, Bench], choices: Choices, name: str
) -> tuple[list[float], dict[str, list[float]]]:
    """Return the macro mean at each alpha, and the mean of each collection."""
    each: dict[str, list[float]] = {}
    for collection, bench in benches.items():
        chosen = bench.choosing(choices)
        each[collection] = [
            _measured(plan, bench, chosen.mixed(plan.systems[name], alpha).run) for alpha in plan.alpha
        ]
    means = np.mean(list(each.values()), axis=0)
    return means.tolist(), each


def _value(plan: Plan, bench: Bench, name: str) -> float:
    return _measured(plan, bench, bench.outcome(name).run)


def _measured(plan: Plan, bench: Bench, run: Any) -> float:
    return float(bench.judged.evaluate(run, [plan.measure]).means[plan.measure] or 0.0)


def _traced(
    system: str,
    setting: str,
    values: Sequence[object],
    means: Sequence[float],
    each: Mapping[str, Sequence[float]],
) -> list[dict[str, Any]]:
    return [
        {
            "system": system,
            "setting": setting,
            "value": value,
            "macro": means[place],
            "collections": {name: column[place] for name, column in each.items()},
        }
        for place, value in enumerate(values)
    ]
