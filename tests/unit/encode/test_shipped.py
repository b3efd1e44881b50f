"""The encoders that ship with the package."""

from __future__ import annotations

import pytest

from termwise.encode import EncoderFolder, shipped_encoders

LARGEST = {"granite": 34_000_000}
"""Bytes of a folder without a query table, 25 million by default: with its embeddings once."""

LARGEST_TABLE = 15_000_000
"""Bytes of a query table."""


def test_three_kinds_ship():
    assert {"tilde", "tildev2", "lookup"} <= set(shipped_encoders())


@pytest.mark.parametrize("name", shipped_encoders())
def test_shipped_encoders_are_small_and_undamaged(name):
    encoder = EncoderFolder.open(name)
    assert encoder.manifest.kind == ("lookup" if name == "granite" else name)
    assert list(encoder.manifest.networks()) == ["int8"]
    for file in encoder.manifest.files:
        encoder.path(file)  # compares it with its checksum
    largest = LARGEST.get(name, 25_000_000) + (LARGEST_TABLE if encoder.manifest.kind == "lookup" else 0)
    assert sum(path.stat().st_size for path in encoder.folder.iterdir()) <= largest
    assert (encoder.folder / "README.md").is_file()


def test_the_expanding_encoder_of_tildev2_ships():
    trained = EncoderFolder.open("tildev2").manifest.expansion
    assert trained is not None
    assert trained.encoder == EncoderFolder.open("tilde").id
