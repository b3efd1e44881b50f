"""AdamW with sparse updates of the embedding rows, and the learning-rate schedule.

The embedding tables hold nearly all parameters: 31 million for 30,522 pieces of width 512. A batch of 32 queries uses a
few thousand of the 61,044 rows, but dense Adam would read and write all rows, gradients and moments at every step.
Therefore `torch.optim.SparseAdam` updates only rows with a gradient. Moments and weights of other rows do not decay: at
1e-7 times the learning rate, decay would shrink a row by a third of a percent in 10 million steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from termwise.train.neural_model1.network import TranslationNetwork
from termwise.train.neural_model1.settings import NeuralModel1Settings

_COOLED = 25.0
"""Divisor of the learning rate at the start of an epoch in the published schedule."""


class Optimiser:
    """AdamW: dense for the layers, by rows for the embedding tables."""

    def __init__(self, network: TranslationNetwork, *, weight_decay: float) -> None:
        self._network = network
        self._weight_decay = weight_decay
        self.reset()

    def reset(self) -> None:
        """Reset all moments."""
        self._parts: dict[str, torch.optim.Optimizer] = {
            "shared": torch.optim.AdamW(self._network.shared_parameters(), weight_decay=self._weight_decay),
            "rows": torch.optim.SparseAdam(self._network.row_parameters()),
        }

    def step(self, rate: float) -> None:
        """Update the weights and clear the gradients."""
        for parameter in self._network.row_parameters():
            if parameter.grad is not None:
                parameter.grad = parameter.grad.coalesce()
                with torch.no_grad():
                    rows = parameter.grad.indices()[0]
                    parameter[rows] *= 1 - rate * self._weight_decay
        for part in self._parts.values():
            for group in part.param_groups:
                group["lr"] = rate
            part.step()
            part.zero_grad(set_to_none=True)

    def state(self) -> dict[str, Tensor]:
        """Return the moments and step counts by name."""
        return {
            f"{name}.{number}.{key}": torch.as_tensor(value)
            for name, part in self._parts.items()
            for number, states in part.state_dict()["state"].items()
            for key, value in states.items()
        }

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Restore moments and step counts that `state` returned."""
        for name, part in self._parts.items():
            states: dict[int, dict[str, Any]] = {}
            for path, value in state.items():
                owner, number, key = path.split(".")
                if owner == name:
                    is_count = key == "step" and name == "rows"
                    states.setdefault(int(number), {})[key] = int(value) if is_count else value.clone()
            part.load_state_dict({**part.state_dict(), "state": states})


def learning_rate(step: int, settings: NeuralModel1Settings, *, steps: int, epoch_steps: int) -> float:
    """Return the learning rate of a step, counted from 0.

    Examples
    --------
    >>> settings = NeuralModel1Settings(learning_rate=1.0, decay=0.5, warm_up=0.25)
    >>> [learning_rate(step, settings, steps=8, epoch_steps=4) for step in range(6)]
    [0.5, 1.0, 1.0, 1.0, 0.5, 0.5]
    """
    epoch, position = divmod(step, epoch_steps)
    rate = settings.learning_rate * settings.decay**epoch
    if not settings.restart:
        warm_up_steps = settings.warm_up * steps
        return rate * min(1.0, (step + 1) / warm_up_steps) if warm_up_steps else rate
    peak = settings.warm_up * epoch_steps
    if position < peak:
        return rate * (1 / _COOLED + (1 - 1 / _COOLED) * position / peak)
    return rate * (epoch_steps - position) / max(1.0, epoch_steps - peak)
