"""Load pretrained encoders with transformers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from logging import CRITICAL
from pathlib import Path
from typing import Any, cast

import torch
from transformers import AutoConfig, AutoModel, PreTrainedModel
from transformers.utils import logging

from termwise.errors import ModelFormatError
from termwise.storage.safe_read import is_folder
from termwise.train.hub import CONFIG, WEIGHTS, hub_options
from termwise.train.library_errors import errors_as

_POOLED = frozenset({"bert", "mpnet", "roberta", "xlm-roberta"})
"""Architectures whose encoders have a pooling layer by default."""


def load_encoder(base: str | Path) -> PreTrainedModel:
    """Load an encoder, a folder or a name on the hub of transformers, without head and pooling layer, in float32."""
    with _translated(base):
        architecture = AutoConfig.from_pretrained(base, **hub_options(base, CONFIG)).model_type
    options = {"add_pooling_layer": False} if architecture in _POOLED else {}
    return load_pretrained(AutoModel, base, options=options)


def load_pretrained(factory: Any, base: str | Path, *, options: Mapping[str, bool] = {}) -> PreTrainedModel:
    """Load a model in float32 with an ``AutoModel...`` class; `options` are passed to ``from_pretrained``.

    Reports of transformers are not shown, because a missing head is expected before training. Missing weights of the
    encoder, which transformers would replace by random numbers, are an error.
    """
    with _translated(base), quiet(bars=not is_folder(Path(base))):
        model, report = factory.from_pretrained(
            base,
            dtype=torch.float32,
            output_loading_info=True,
            **hub_options(base, CONFIG, WEIGHTS),
            **options,
        )
    encoder = {f"{model.base_model_prefix}.{name}" for name in model.base_model.state_dict()}
    if model.base_model is model:
        encoder = set(model.state_dict())
    missing = sorted(name for name in report["missing_keys"] if name in encoder)
    if missing:
        raise ModelFormatError(
            "weights of the encoder are missing",
            facts=[("base", base), ("missing", f"{len(missing)} tensors, first {missing[0]}")],
            fixes=["name a folder with model.safetensors and config.json of the same network"],
        )
    return cast(PreTrainedModel, model)


def _translated(base: str | Path) -> AbstractContextManager[None]:
    return errors_as(
        ModelFormatError,
        "the encoder cannot be loaded",
        facts=[("base", base)],
        fixes=["name a folder with config.json and model.safetensors, or a model of the hub"],
    )


@contextmanager
def quiet(*, bars: bool) -> Iterator[None]:
    """Suppress terminal output of transformers inside the block, and its progress bars unless `bars`."""
    verbosity, shown = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(CRITICAL)
    if not bars:
        logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if shown:
            logging.enable_progress_bar()
