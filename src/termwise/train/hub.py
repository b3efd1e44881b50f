"""Models named as on the hub of transformers: whether they can be had, before anything waits for a network."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from huggingface_hub import get_hf_file_metadata, hf_hub_url, try_to_load_from_cache

from termwise.errors import ModelFormatError
from termwise.train.telling import first_line

CONFIG = ("config.json",)
WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
TOKENIZER = ("tokenizer.json", "vocab.txt")

_PATIENCE = 5.0
"""Seconds to wait for the hub to answer."""


def hub_options(
    base: str | Path,
    *needed: tuple[str, ...],
    noun: str = "encoder",
    fix: str = "--base FOLDER, one with config.json, model.safetensors and tokenizer.json",
) -> dict[str, bool]:
    """Find out how a model is loaded: from its folder, from what was downloaded before, or from the hub.

    Parameters
    ----------
    base : str or Path
        A folder, or a name on the hub.
    *needed : tuple of str
        Files of the model, one of each tuple.
    noun, fix : str, optional
        For the error: what is looked for, and what to do.

    Returns
    -------
    dict
        Further options of ``from_pretrained``, which otherwise asks the hub again and again where it does not answer.
        No code that a model brings along is run.

    Raises
    ------
    ModelFormatError
        If there is no such folder, nothing of that name was downloaded, and the hub does not answer or has none.
    """
    options = {"trust_remote_code": False}
    if Path(base).is_dir():
        return options
    if all(any(_is_cached(str(base), name) for name in names) for names in needed):
        return options | {"local_files_only": True}
    reason = _refusal(str(base))
    if reason is None:
        return options
    raise ModelFormatError(
        f"there is no {noun} of that name",
        facts=[
            ("name", base),
            ("as a folder", "there is none"),
            ("downloaded before", "no"),
            ("the hub", reason),
        ],
        fixes=[fix],
    )


def _is_cached(base: str, name: str) -> bool:
    try:
        return isinstance(try_to_load_from_cache(base, name), str)
    except ValueError:  # no name that a hub could have
        return False


@cache
def _refusal(base: str) -> str | None:
    """Ask the hub for the configuration of a model, once; return why it cannot be had."""
    try:
        get_hf_file_metadata(hf_hub_url(base, CONFIG[0]), timeout=_PATIENCE)
    except Exception as error:  # the client has one tree of errors of its own, and that of its HTTP library
        return first_line(error)
    return None
