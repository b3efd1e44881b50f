"""Choices on the dev splits: settings first, one after the other, then the shares of interpolations and mixtures.

Only the judged queries of the dev splits are ranked, and no other judgments are read.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import record
from plan import ALPHA, AS_SHIPPED, FEEDBACK, WEIGHTS, Choices, Chosen, Plan, SettingChoice
from systems import Bench, Tools

from termwise.errors import ParameterError
from termwise.search import Feedback


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
    choices = Choices(encoders={name: identities[name] for name in used})
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
            means, each = _interpolations(plan, benches, choices, name)
            choices = choices.with_one(_shares(plan, name, ALPHA, plan.alpha, means, each))
        if plan.systems[name].mix:
            tried = weights_grid(len(plan.systems[name].mix), plan.weights_step)
            means, each = _mixtures(plan, benches, choices, name, tried)
            choices = choices.with_one(_shares(plan, name, WEIGHTS, tried, means, each))
        if plan.systems[name].feedback:
            pairs = [list(pair) for pair in plan.feedback]
            weights = choices.weights[name]
            found = [
                _mixtures(plan, benches, choices, name, [weights], Feedback(int(documents), weight))
                for documents, weight in pairs
            ]
            means = [one for (one,), _ in found]
            each = {one: [column[one][0] for _, column in found] for one in benches}
            _, without = _mixtures(plan, benches, choices, name, [weights])
            losses = [
                min(each[one][place] - without[one][0] for one in benches) for place in range(len(pairs))
            ]
            place = least_harm(means, losses, plan.feedback_tolerance)
            choices = choices.with_one(_shares(plan, name, FEEDBACK, pairs, means, each, place))
    return choices


def least_harm(means: Sequence[float], losses: Sequence[float], tolerance: float) -> int:
    """Return the place of the value that loses least on any collection, among those near the best mean.

    Examples
    --------
    >>> least_harm([0.50, 0.501, 0.48], [-0.003, -0.009, 0.0], 0.005)
    0
    """
    near = [place for place, mean in enumerate(means) if mean >= (1 - tolerance) * max(means)]
    return max(near, key=lambda place: losses[place])


def weights_grid(parts: int, step: float) -> list[list[float]]:
    """Return all weights of a number of parts that are multiples of a step, above 0, with the sum 1.

    Examples
    --------
    >>> weights_grid(2, 0.25)
    [[0.25, 0.75], [0.5, 0.5], [0.75, 0.25]]
    """
    units = round(1 / step)
    chosen = itertools.product(range(1, units), repeat=parts - 1)
    return [
        [round(unit * step, 10) for unit in (*first, units - sum(first))]
        for first in chosen
        if sum(first) < units
    ]


def _shares(
    plan: Plan,
    name: str,
    setting: str,
    values: Sequence[Any],
    means: Sequence[float],
    each: Mapping[str, Sequence[float]],
    place: int | None = None,
) -> Chosen:
    best = int(np.argmax(means)) if place is None else place
    record.say(f"{name}: {setting} {values[best]}, macro {plan.measure} {means[best]:.4f}")
    return Chosen(
        system=name,
        setting=setting,
        value=values[best],
        by=name,
        tried=_tried(values, means, each),
        plan=plan.digest(name, setting),
    )


def values_of(plan: Plan, tools: Tools, choice: SettingChoice) -> list[str]:
    """Return the distinct values to try, with the default of the encoder in place of `AS_SHIPPED`."""
    values = [
        tools.as_shipped(plan, choice) if value == AS_SHIPPED else str(value) for value in choice.values
    ]
    return list(dict.fromkeys(values))


def _setting(
    plan: Plan, benches: Mapping[str, Bench], choices: Choices, choice: SettingChoice, values: Sequence[str]
) -> Chosen:
    measured = plan.mixture_of(choice.system) if choice.by == "mixed" else choice.system
    means, each = [], []
    for value in values:
        tried = choices.with_one(_chosen(plan, choice, value, measured, []))
        if choice.by == "mixed":
            macro, per = _interpolations(plan, benches, tried, measured)
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
    return _chosen(plan, choice, values[best], measured, _tried(values, means, columns))


def _chosen(plan: Plan, choice: SettingChoice, value: str, by: str, tried: list[dict[str, Any]]) -> Chosen:
    return Chosen(
        system=choice.system,
        setting=choice.setting,
        value=value,
        by=by,
        tried=tried,
        plan=plan.digest(choice.system, choice.setting),
    )


def _mixtures(
    plan: Plan,
    benches: Mapping[str, Bench],
    choices: Choices,
    name: str,
    tried: Sequence[Sequence[float]],
    feedback: Feedback | None = None,
) -> tuple[list[float], dict[str, list[float]]]:
    """Return the macro mean and the mean of each collection, with each of the weights."""
    each: dict[str, list[float]] = {}
    for collection, bench in benches.items():
        chosen = bench.with_choices(choices)
        each[collection] = [
            _measured(plan, bench, chosen.mixture(plan.systems[name], weights, feedback).run)
            for weights in tried
        ]
    return np.mean(list(each.values()), axis=0).tolist(), each


def _interpolations(
    plan: Plan, benches: Mapping[str, Bench], choices: Choices, name: str
) -> tuple[list[float], dict[str, list[float]]]:
    """Return the macro mean and the mean of each collection, at each alpha."""
    each: dict[str, list[float]] = {}
    for collection, bench in benches.items():
        chosen = bench.with_choices(choices)
        each[collection] = [
            _measured(plan, bench, chosen.interpolation(plan.systems[name], alpha)) for alpha in plan.alpha
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
