"""Training and conversion of encoders and translation tables, with torch (the extra ``train``).

The functions are loaded when they are first used, so that importing this package needs neither torch nor transformers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from termwise.progress import Execution
    from termwise.train.export.published_checkpoints import convert_checkpoint
    from termwise.train.export.sparse_encoder_writer import write_sparse_encoder
    from termwise.train.fit import train_encoder
    from termwise.train.lookup.fit import train_lookup
    from termwise.train.lookup.settings import LookupSettings
    from termwise.train.neural_model1.fit import train_neural_model1
    from termwise.train.neural_model1.settings import NeuralModel1Settings
    from termwise.train.settings import TrainSettings

__all__ = [
    "Execution",
    "LookupSettings",
    "NeuralModel1Settings",
    "TrainSettings",
    "convert_checkpoint",
    "train_encoder",
    "train_lookup",
    "train_neural_model1",
    "write_sparse_encoder",
]

_MODULES = {
    "Execution": "termwise.progress",
    "LookupSettings": "termwise.train.lookup.settings",
    "NeuralModel1Settings": "termwise.train.neural_model1.settings",
    "TrainSettings": "termwise.train.settings",
    "convert_checkpoint": "termwise.train.export.published_checkpoints",
    "train_encoder": "termwise.train.fit",
    "train_lookup": "termwise.train.lookup.fit",
    "train_neural_model1": "termwise.train.neural_model1.fit",
    "write_sparse_encoder": "termwise.train.export.sparse_encoder_writer",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
