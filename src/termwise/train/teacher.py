"""Frozen dense encoder that ranks the passages of a batch, for distillation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel

from termwise.train.pretrained import load_encoder


class Teacher(nn.Module):
    """Dense encoder with mean pooling and unit vectors; frozen.

    Parameters
    ----------
    encoder : PreTrainedModel
        With the vocabulary of the student network.
    """

    def __init__(self, encoder: PreTrainedModel) -> None:
        super().__init__()
        self.encoder = encoder.train(False).requires_grad_(False)

    @classmethod
    def load(cls, base: str | Path) -> Teacher:
        """Load an encoder by folder or hub name; see `load_encoder`."""
        return cls(load_encoder(base))

    @property
    def config(self) -> Any:
        """The transformers configuration of the encoder."""
        return self.encoder.config

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return unit vectors of shape (b, h); their inner products are cosines."""
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
        return functional.normalize((hidden * mask).sum(dim=1) / mask.sum(dim=1), dim=-1)
