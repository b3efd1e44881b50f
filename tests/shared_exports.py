"""Exports of torch that tests share: one for each architecture, filled with the weights of the network at hand.

An export takes seconds, however small the network, and its graph depends on the architecture alone. The graph of the
first network of an architecture is kept; for later ones, only its weights are replaced. Every export of termwise
compares the outputs of its graph with those of torch, so that a wrong graph would be found.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

LARGEST = 1_000_000
"""Weights of the largest network whose graph is kept."""


class SharedExports:
    """Stand-in for ``torch.onnx.export``."""

    def __init__(self, export: Callable[..., Any]) -> None:
        self._export = export
        self._graphs: dict[str, Any] = {}

    def __call__(self, network: Any, arguments: tuple[Any, ...], **options: Any) -> Any:
        """Export a network of a new architecture; copy the graph of a known one and set its weights."""
        weights = {
            name: tensor.detach().contiguous().numpy() for name, tensor in network.state_dict().items()
        }
        if sum(array.size for array in weights.values()) > LARGEST:
            return self._export(network, arguments, **options)
        key = repr(
            (
                network,
                network.config.to_json_string(),
                {
                    name: value
                    for name, value in vars(network).items()
                    if isinstance(value, str | int | float | None)
                },
                [(name, array.shape, array.dtype) for name, array in weights.items()],
                [tuple(argument.shape) for argument in arguments],
                options,
            )
        )
        if key not in self._graphs:
            self._graphs[key] = self._export(network, arguments, **options).model_proto
        graph = type(self._graphs[key])()
        graph.CopyFrom(self._graphs[key])
        for tensor in graph.graph.initializer:
            if tensor.name in weights:
                tensor.raw_data = weights[tensor.name].tobytes()
        return SimpleNamespace(model_proto=graph)
