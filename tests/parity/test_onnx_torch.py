"""Parity of encoder folders with their torch networks, for every kind and precision.

The folder is written, opened and run as indexing does it, and the outputs compared with torch, text by text.
"""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("onnx")

from termwise.encode.onnx_session import OnnxSession  # noqa: E402
from termwise.text import AnalyzerSpec, WordPieceAnalyzer  # noqa: E402
from termwise.train.export.folder_writer import EncoderContents, write_encoder_folder  # noqa: E402
from termwise.train.export.onnx_export import TOLERANCE  # noqa: E402
from termwise.train.export.published_checkpoints import dequantised_network  # noqa: E402
from termwise.train.networks import TildeV2Network, untrained  # noqa: E402

SPECIAL = ("[PAD]", "[unused0]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PIECES = (*SPECIAL, *(f"{first}{second}" for first in "abcdefgh" for second in "ijklmnop"))
SIZES = {"vocab_size": len(PIECES), "num_attention_heads": 2, "hidden_size": 40, "intermediate_size": 72}
CONFIGURATIONS = {
    "tilde": transformers.BertConfig(**SIZES, num_hidden_layers=2, max_position_embeddings=40),
    "tildev2": transformers.MPNetConfig(**SIZES, num_hidden_layers=2, max_position_embeddings=42),
    "splade-doc": transformers.DistilBertConfig(
        vocab_size=len(PIECES), dim=40, n_layers=2, n_heads=2, hidden_dim=72, max_position_embeddings=40
    ),
}


@pytest.fixture(scope="module", params=sorted(CONFIGURATIONS))
def pair(request, tmp_path_factory):
    """A network and its encoder folder."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(11)
    network = untrained(request.param, CONFIGURATIONS[request.param])
    if isinstance(network, TildeV2Network):
        torch.nn.init.normal_(network.token_projection.weight)
    vocabulary = "\n".join(PIECES).encode() + b"\n"
    analyzer = WordPieceAnalyzer(AnalyzerSpec("wordpiece", {}, {"vocab.txt": vocabulary}))
    out = tmp_path_factory.mktemp("encoders") / request.param
    yield (
        network.eval(),
        write_encoder_folder(network, analyzer, out, EncoderContents(cleaning="repo", length=32), trained={}),
    )
    torch.set_num_threads(before)


def batches():
    random = np.random.default_rng(12)
    for rows, length in ((1, 3), (5, 40), (2, 17), (8, 9)):
        ids = random.integers(7, len(PIECES), size=(rows, length))
        lengths = random.integers(2, length + 1, size=rows)
        mask = (np.arange(length) < lengths[:, None]).astype(np.int64)
        yield np.where(mask == 1, ids, 0), mask


def in_torch(network, ids, mask):
    with torch.no_grad():
        values = network(torch.from_numpy(ids), torch.from_numpy(mask)).numpy()
    return np.where(mask == 1, values, 0) if values.shape == mask.shape else values


def test_float32_is_torch(pair):
    network, folder = pair
    session = OnnxSession(folder, precision="float32")
    for ids, mask in batches():
        np.testing.assert_allclose(
            session.run(ids, mask), in_torch(network, ids, mask), atol=TOLERANCE, rtol=0
        )


def test_int8_is_near(pair):
    network, folder = pair
    session = OnnxSession(folder, precision="int8")
    for ids, mask in batches():
        expected = in_torch(network, ids, mask)
        off = np.linalg.norm(session.run(ids, mask) - expected) / np.linalg.norm(expected)
        assert off < 0.03


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_company_in_the_batch_changes_nothing(pair, precision):
    _, folder = pair
    session = OnnxSession(folder, precision=precision)
    ids, mask = list(batches())[1]
    together = session.run(ids, mask)
    for row, length in enumerate(mask.sum(axis=1)):
        alone = session.run(ids[row : row + 1, :length], mask[row : row + 1, :length])
        np.testing.assert_allclose(together[row][: alone.shape[1]], alone[0], atol=2e-6)


def test_a_network_built_from_the_folder_is_the_network(pair):
    network, folder = pair
    rebuilt = dequantised_network(folder.folder).eval()
    for ids, mask in batches():
        np.testing.assert_array_equal(in_torch(rebuilt, ids, mask), in_torch(network, ids, mask))
