"""Vectors to start with: the word embeddings of an encoder."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from termwise.text import WordPieceAnalyzer
from termwise.train.base_encoder import base_analyzer
from termwise.train.loop.initial_weights import start_from
from termwise.train.networks import TildeV2Network


def word_embeddings(encoder: str) -> tuple[WordPieceAnalyzer, Tensor]:
    """Read the tokenizer of an encoder, and the vector it starts each piece with.

    Parameters
    ----------
    encoder : str
        A folder in the layout of transformers, the name of a model on its hub, an encoder that ships, or an encoder
        folder; one that cuts words into WordPieces.

    Returns
    -------
    analyzer : WordPieceAnalyzer
    embeddings : float32 tensor of shape (V, width)

    Raises
    ------
    ModelFormatError
        If no such encoder can be loaded.
    """
    analyzer = base_analyzer(encoder)
    network = start_from(TildeV2Network.kind, encoder)
    rows = cast(nn.Embedding, network.encoder.get_input_embeddings())
    return analyzer, rows.weight.detach()[: len(analyzer.vocabulary)].to(torch.float32).clone()
