"""The network that training begins with."""

from __future__ import annotations

import tempfile
from pathlib import Path

from termwise.train.base import encoder_folder
from termwise.train.networks import TermNetwork, network_from
from termwise.train.published import dequantised
from termwise.train.write_folder import CONFIG, WEIGHTS, save_weights


def start_from(kind: str, base: str | Path) -> TermNetwork:
    """Load an encoder and put the head of a kind on it.

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
        In training mode, float32. A language-model head that the base has is kept; parameters it does not bring
        start at random: set the seed first.

    Raises
    ------
    ModelFormatError
        If no encoder can be loaded from there.
    """
    encoder = encoder_folder(base)
    if encoder is None:
        return network_from(kind, base)
    if (encoder.folder / CONFIG).is_file() and (encoder.folder / WEIGHTS).is_file():
        return network_from(kind, encoder.folder)
    with tempfile.TemporaryDirectory() as place:
        save_weights(dequantised(base), Path(place))
        return network_from(kind, place)
