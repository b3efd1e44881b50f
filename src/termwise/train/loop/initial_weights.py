"""The network that training begins with."""

from __future__ import annotations

import tempfile
from pathlib import Path

from termwise.encode.encoder_folder import EncoderFolder
from termwise.train.base_encoder import encoder_folder
from termwise.train.export.folder_writer import CONFIG, WEIGHTS, save_weights
from termwise.train.export.published_checkpoints import dequantised, load
from termwise.train.networks import TermNetwork, network_from


def start_from(kind: str, base: str | Path) -> TermNetwork:
    """Load an encoder and put the head of a kind on it, or keep the one that it was trained with.

    Parameters
    ----------
    kind : str
        ``tilde``, ``tildev2`` or ``splade-doc``.
    base : str or Path
        A folder in the layout of transformers, the name of a model on its hub, an encoder that ships with the
        package, or an encoder folder. Encoders that ship hold no weights for torch: those of their int8 graph are
        taken for what they stand for, see `dequantised`.

    Returns
    -------
    TermNetwork
        In training mode, float32. A language-model head that the base has is kept, and so is the head of an encoder
        of this kind, see `continued_encoder`; parameters it does not bring start at random: set the seed first.

    Raises
    ------
    ModelFormatError
        If no encoder can be loaded from there.
    """
    encoder = encoder_folder(base)
    if encoder is None:
        return network_from(kind, base)
    same = encoder.manifest.kind == kind
    if (encoder.folder / CONFIG).is_file() and (encoder.folder / WEIGHTS).is_file():
        return load(encoder.folder, kind=kind).network if same else network_from(kind, encoder.folder)
    network = dequantised(base)
    if same:
        return network
    with tempfile.TemporaryDirectory() as place:
        save_weights(network, Path(place))
        return network_from(kind, place)


def continued_encoder(kind: str, base: str | Path) -> EncoderFolder | None:
    """Return the base where it is an encoder of this kind, so that training goes on with its head; otherwise None."""
    encoder = encoder_folder(base)
    return encoder if encoder is not None and encoder.manifest.kind == kind else None
