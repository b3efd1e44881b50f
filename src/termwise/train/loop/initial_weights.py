"""Loading of the initial network of training."""

from __future__ import annotations

import tempfile
from pathlib import Path

from termwise.encode.encoder_folder import EncoderFolder
from termwise.storage.safe_read import is_file
from termwise.train.base_encoder import open_base
from termwise.train.export.folder_writer import CONFIG, WEIGHTS, save_weights
from termwise.train.export.published_checkpoints import dequantised_network, load_checkpoint
from termwise.train.networks import TermNetwork, network_on_base


def initial_network(kind: str, base: str | Path) -> TermNetwork:
    """Load a base encoder with the head of a kind of network.

    Parameters
    ----------
    kind : {"tilde", "tildev2", "splade-doc"}
    base : str or Path
        A folder in the layout of transformers, the name of a model on its hub, an encoder that ships with the package,
        or an encoder folder. Shipped encoders contain no torch weights; the weights of their int8 graph are used, see
        `dequantised_network`.

    Returns
    -------
    TermNetwork
        In training mode, float32. The head of a masked language model or of an encoder of this kind is kept. Parameters
        that the base lacks are random: set the seed first.

    Raises
    ------
    ModelFormatError
        If no encoder can be loaded from `base`.
    """
    encoder = open_base(base)
    if encoder is None:
        return network_on_base(kind, base)
    same = encoder.manifest.kind == kind
    if is_file(encoder.folder / CONFIG) and is_file(encoder.folder / WEIGHTS):
        return (
            load_checkpoint(encoder.folder, kind=kind).network
            if same
            else network_on_base(kind, encoder.folder)
        )
    network = dequantised_network(base)
    if same:
        return network
    with tempfile.TemporaryDirectory() as folder:
        save_weights(network, Path(folder))
        return network_on_base(kind, folder)


def encoder_of_same_kind(kind: str, base: str | Path) -> EncoderFolder | None:
    """Return the base if it is an encoder of this kind, so that its head is trained further; otherwise None."""
    encoder = open_base(base)
    return encoder if encoder is not None and encoder.manifest.kind == kind else None
