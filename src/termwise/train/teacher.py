"""A dense encoder that ranks the passages of a batch, for another network to learn from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel

from termwise.train.pretrained import load_encoder


class Teacher(nn.Module):
    """Unit vectors by mean pooling; frozen.

    Parameters
    ----------
    encoder : PreTrainedModel
        With the same vocabulary as the network that learns.
    """

    def __init__(self, encoder: PreTrainedModel) -> None:
        super().__init__()
        self.encoder = encoder.train(False).requires_grad_(False)

    @classmethod
    def load(cls, base: str | Path) -> Teacher:
        """Load an encoder by folder or hub name.

        Raises
        ------
        ModelFormatError
            If transformers cannot load it.
        """
        return cls(load_encoder(base))

    @property
    def config(self) -> Any:
        """The configuration of the encoder, as transformers has it."""
        return self.encoder.config

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return unit vectors, of shape (b, h); their inner products are cosines."""
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        shown = attention_mask.unsqueeze(-1).to(hidden.dtype)
        return functional.normalize((hidden * shown).sum(dim=1) / shown.sum(dim=1), dim=-1)
