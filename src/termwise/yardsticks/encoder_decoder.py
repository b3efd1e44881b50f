"""Checkpoints of encoder-decoders such as T5: network, tokenizer and token ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
from transformers import AutoModelForSeq2SeqLM, PreTrainedModel, PreTrainedTokenizerBase

from termwise.errors import ModelFormatError
from termwise.storage.file_record import folder_fingerprint
from termwise.text.characters import without_surrogates
from termwise.yardsticks.checkpoint import open_tokenizer, readable_words, tokenizer_folder
from termwise.yardsticks.compatibility import check_complete, check_length, load_errors, torch_device
from termwise.yardsticks.locate import locate_model

_TOKENS = ("decoder_start_token_id", "eos_token_id", "pad_token_id")


class EncoderDecoder(NamedTuple):
    """A network in float32 and evaluation mode, its tokenizer, and the fingerprint of both."""

    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    fingerprint: str


def open_encoder_decoder(
    kind: str,
    place: str | Path,
    *options: object,
    device: str,
    length: int,
    least: int,
    tokenizer: str | Path | None,
    fixes: tuple[str, ...],
) -> EncoderDecoder:
    """Load a folder in the layout of transformers, or a model of the hub; see `termwise.yardsticks.network_scorer`.

    `kind` and `fixes` are for errors, `options` are part of the fingerprint, and `least` is the smallest `length`.
    """
    noun = f"checkpoint of {kind}"
    torch_place = torch_device(device)
    folder = locate_model(noun, place, fixes)
    check_length(folder, length, least)
    network = _load(noun, folder, fixes)
    tokenizer_place, tokenizer_digest = tokenizer_folder(tokenizer, folder)
    return EncoderDecoder(
        network.to(torch_place),  # type: ignore[arg-type]
        open_tokenizer(kind, tokenizer_place, network.config.vocab_size, fixes),
        folder_fingerprint(folder, kind, *options, *tokenizer_digest),
    )


def token_ids(
    tokenizer: PreTrainedTokenizerBase, text: str, length: int, *, special: bool = True
) -> list[int]:
    """Return the first ids of a text, at most `length` with the special tokens, which are left out unless `special`."""
    ids: list[int] = tokenizer(
        without_surrogates(readable_words(text, length)),
        add_special_tokens=special,
        truncation=True,
        max_length=length if special else length - tokenizer.num_special_tokens_to_add(),
        verbose=False,
    )["input_ids"]
    return ids


def _load(noun: str, folder: Path, fixes: tuple[str, ...]) -> PreTrainedModel:
    factory: Any = AutoModelForSeq2SeqLM
    with load_errors(noun, folder, fixes):
        network, report = factory.from_pretrained(
            folder,
            dtype=torch.float32,
            output_loading_info=True,
            local_files_only=True,
            trust_remote_code=False,
        )
    check_complete(noun, folder, report["missing_keys"], fixes)
    tokens = [(name, getattr(network.config, name, None)) for name in _TOKENS]
    if None in dict(tokens).values():
        raise ModelFormatError(
            f"the configuration of the {noun} lacks a special token",
            facts=[("folder", folder), *tokens],
            fixes=fixes,
        )
    return cast(PreTrainedModel, network.eval())
