"""Checks of a graph in the format of usearch, which follows links without checking them.

The bytes of version 2, little-endian:

1. the matrix of vectors: numbers of rows and bytes of a row (u32 each), then the rows
2. 64 bytes: ``usearch``, its version (three u16), kinds of metric, number, key and link (u8 each), numbers of nodes,
   of deleted ones and of dimensions (u64 each), and 0 for one vector a key (u8)
3. numbers of nodes, of links of a node above the lowest layer and in it, the top layer, and the node where searches
   begin (u64 each)
4. the top layer of each node (i16)
5. the nodes: key (u64) and layer (i16), then for each layer from the lowest one the number of links (u32), and as many
   places for links (u32) as the layer has
"""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

from termwise.storage.manifest_json import Misfit

_KINDS = b"c\x17\x0e\x0f"
"""Expected codes in the header of a usearch file: metric (cosine), type of numbers (i8), keys (u64) and links (u32)."""

_HEAD = 64
_NUMBERS = 5
_BATCH = 1 << 14
"""Nodes that are checked at once."""


def check_graph(data: npt.NDArray[np.uint8], shape: tuple[int, int], connectivity: int) -> None:
    """Check sizes, layers and links of a graph.

    Parameters
    ----------
    data : ndarray of uint8
    shape : (int, int)
        Number of vectors, and their dimensions of one byte each.
    connectivity : int
        Links of a node in each layer; twice as many in the lowest one.

    Raises
    ------
    Misfit
        If a number is not as expected.
    """
    nodes, width = shape
    start = 8 + nodes * width
    layers_at = start + _HEAD + 8 * _NUMBERS
    tape = layers_at + 2 * nodes
    if len(data) < tape or tuple(data[:8].view("<u4").tolist()) != shape:
        raise Misfit(f"a matrix of {nodes:,} by {width}", f"{len(data):,} bytes")
    if bytes(data[start : start + 9]) != b"usearch\x02\x00":
        raise Misfit("usearch of version 2", repr(bytes(data[start : start + 9])))
    head = bytes(data[start + 13 : start + 42])
    if head != _KINDS + struct.pack("<QQQB", nodes, 0, width, 0):
        raise Misfit("a graph of all windows in 8 bits, by cosine", head.hex())
    size, links, links_below, top, entry = data[start + _HEAD : layers_at].view("<u8").tolist()
    layers = data[layers_at:tape].view("<i2").astype(np.int64)
    expected = (nodes, connectivity, 2 * connectivity)
    if (size, links, links_below) != expected:
        raise Misfit(f"nodes and links {expected}", (size, links, links_below))
    if nodes == 0:
        return
    if layers.min() < 0 or layers.max() != top or entry >= nodes or layers[entry] != top:
        raise Misfit("a first node in the top layer", f"node {entry}, layer {top}")
    below, above = 10 + 4 + 4 * links_below, 4 + 4 * links
    ends = tape + np.cumsum(below + above * layers)
    if ends[-1] != len(data):
        raise Misfit(f"nodes of {int(ends[-1]) - tape:,} bytes", len(data) - tape)
    begins = ends - below - above * layers
    seen = np.zeros(nodes, dtype=np.bool_)
    for first in range(0, nodes, _BATCH):
        heads = _rows(data, begins[first : first + _BATCH], below)
        keys = heads[:, :8].copy().view("<u8")[:, 0]
        if (keys >= nodes).any():
            raise Misfit(f"keys below {nodes}", int(keys.max()))
        seen[keys.astype(np.int64)] = True
        if (heads[:, 8:10].copy().view("<i2")[:, 0] != layers[first : first + _BATCH]).any():
            raise Misfit("the layer of each node", "another layer")
        _check_links(heads[:, 10:], layers, 0)
    if not seen.all():
        raise Misfit("a node for each vector", "a vector without one")
    for layer in range(1, int(top) + 1):
        places = begins[layers >= layer] + below + above * (layer - 1)
        for first in range(0, len(places), _BATCH):
            _check_links(_rows(data, places[first : first + _BATCH], above), layers, layer)


def _rows(data: npt.NDArray[np.uint8], places: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.uint8]:
    """Return the `size` bytes that begin at each of several offsets, as rows of a matrix."""
    rows: npt.NDArray[np.uint8] = data[places[:, None] + np.arange(size)]
    return rows


def _check_links(rows: npt.NDArray[np.uint8], layers: npt.NDArray[np.int64], layer: int) -> None:
    """Check the number of links of each node in a layer, and that each link leads to a node of this layer."""
    numbers = np.ascontiguousarray(rows).view("<u4").astype(np.int64)
    counts, links = numbers[:, 0], numbers[:, 1:]
    if (counts > links.shape[1]).any():
        raise Misfit(f"at most {links.shape[1]} links", int(counts.max()))
    used = links[np.arange(links.shape[1]) < counts[:, None]]
    if len(used) and used.max() >= len(layers):
        raise Misfit(f"links to nodes below {len(layers)}", int(used.max()))
    if (layers[used] < layer).any():
        raise Misfit(f"links inside layer {layer}", "one to a node below it")
