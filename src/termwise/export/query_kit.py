"""Query kit: a folder that computes the queries of an index in front of any engine.

It has the vocabulary, the analyzer and the weights of queries as data, and two programs that need nothing else, in
Python and in JavaScript. They make the same tokens and weights as termwise. ``docs/reference/query-kit.md`` documents
the files and the results.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from termwise._version import __version__
from termwise.errors import ParameterError
from termwise.export.analyzer_description import describe_analyzer
from termwise.export.source import ExportSource
from termwise.fixes import Code, Fix
from termwise.kernels.retrieval import max_score
from termwise.models.count_query_encoder import CountQueryEncoder
from termwise.search import Searcher
from termwise.search.parts import Part
from termwise.storage.atomic_file import write_bytes_whole
from termwise.text import unknown_token

NAME = "query_kit.json"
FORMAT = "termwise-query-kit"
VERSION = 1

PROGRAMS = ("query_kit.py", "query_kit.js", "command.js", "analyzers.js", "package.json", "README.md")
"""Files that are equal in all kits."""


def write_query_kit(searcher: Searcher, out: Path, *, scales: Mapping[str, float] | None = None) -> None:
    """Write the query kit of an index or a mixture.

    Equal indexes give equal bytes. ``query_kit.json`` is written last. Files of other names in the folder stay.

    Parameters
    ----------
    searcher : Searcher
        Of the index or the mixture.
    out : Path
        Folder of the kit; it is made if it does not exist.
    scales : mapping of str to float, optional
        Scales of parts of a mixture by name, in place of those that it keeps; see `ExportSource`.

    Raises
    ------
    ParameterError
        If the analyzer of a part is not one of `termwise.export.analyzer_description.SUPPORTED`, the searcher has a
        query encoder of its own, or a part of a mixture has no scale.
    StorageError
        If a file cannot be written.

    Examples
    --------
    >>> import tempfile, termwise
    >>> from termwise.export.kit.query_kit import QueryKit
    >>> teas = [termwise.Document("a", "green tea"), termwise.Document("b", "black tea")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     searcher = termwise.build_index(teas, Path(folder, "teas.tw"), model="bm25")
    ...     write_query_kit(searcher, Path(folder, "kit"))
    ...     QueryKit(Path(folder, "kit")).query("teas, a green tea")["parts"][0]["terms"]
    {'green': 1, 'tea': 2}
    """
    source = ExportSource(searcher, scales=scales)
    files = _Files()
    parts = [_part(part.part, files, part.scale) for part in source.parts]
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"termwise {__version__}",
        "parts": parts,
        "files": {
            name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in files.contents.items()
        },
    }
    out.mkdir(parents=True, exist_ok=True)
    programs = resources.files("termwise.export").joinpath("kit")
    for name in PROGRAMS:
        write_bytes_whole(out / name, programs.joinpath(name).read_bytes())
    for name, data in files.contents.items():
        write_bytes_whole(out / name, data)
    write_bytes_whole(out / NAME, json.dumps(manifest, indent=1, ensure_ascii=False).encode())


def described_analyzers(source: ExportSource) -> list[dict[str, Any]] | None:
    """Return the description of the analyzer of each part; None if the kit cannot reproduce one of them."""
    try:
        return [
            describe_analyzer(part.part.backend.encoder.analyzer, pieces=False, snowball=True)
            for part in source.parts
        ]
    except ParameterError:
        return None


def needs_snowball(description: Mapping[str, Any]) -> bool:
    """Return whether an analyzer needs the package snowballstemmer, from its description or that of a step.

    Examples
    --------
    >>> needs_snowball({"steps": [{"longer": 3, "steps": [{"stem": "snowball", "language": "greek"}]}]})
    True
    """
    return description.get("stem") == "snowball" or any(map(needs_snowball, description.get("steps", ())))


class _Files:
    """Contents of the data files by name; parts with equal contents share a file."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}

    def add(self, kind: str, suffix: str, data: bytes) -> str:
        """Add a file, and return its name."""
        of_kind = [name for name in self.contents if name.startswith(f"{kind}-")]
        for name in of_kind:
            if self.contents[name] == data:
                return name
        name = f"{kind}-{len(of_kind) + 1}.{suffix}"
        self.contents[name] = data
        return name

    def add_json(self, kind: str, value: object) -> str:
        """Add a JSON file, and return its name."""
        try:
            data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        except UnicodeEncodeError:  # a lone surrogate
            data = json.dumps(value, separators=(",", ":")).encode()
        return self.add(kind, "json", data)

    def add_array(self, kind: str, array: npt.NDArray[Any], dtype: str) -> str:
        """Add a file of numbers, and return its name."""
        return self.add(kind, "bin", np.ascontiguousarray(array, dtype=dtype).tobytes())


def _part(part: Part, files: _Files, scale: float | None) -> dict[str, Any]:
    """Add the files of a part, and return its description."""
    index, encoder = part.index, part.backend.encoder
    analyzer = describe_analyzer(encoder.analyzer, pieces=False, snowball=True)
    if not isinstance(encoder, CountQueryEncoder):
        raise ParameterError(
            "the query kit counts the tokens of a query, and this searcher has an encoder of its own",
            facts=[("part", part.name), ("encoder", type(encoder).__name__)],
            fixes=[Fix.call("termwise.open", Code("path"))],
        )
    manifest, table = index.manifest, index.term_vectors
    vocabulary = index.vocabulary
    tokens = vocabulary.tokens(np.arange(len(vocabulary)))
    names = {"analyzer": files.add_json("analyzer", analyzer)}
    if encoder.analyzer.vocabulary is not None:
        names["pieces"] = files.add_json("vocabulary", list(encoder.analyzer.vocabulary))
    names["vocabulary"] = files.add_json("vocabulary", tokens)
    if encoder.term_weights is not None:
        names["weights"] = files.add_array("weights", encoder.term_weights, "<f4")
    factors = index.query_factors(np.arange(manifest.terms + manifest.background, dtype=np.int32))
    if factors is not None:
        names["factors"] = files.add_array("factors", factors, "<f8")
    described = {
        "name": part.name,
        "kind": "sparse" if table is None else "dense",
        "weight": part.weight,
        "scale": scale,
        "weighting": encoder.weighting,
        "unknown": unknown_token(encoder.analyzer),
        "terms": manifest.terms,
        "background": manifest.background,
        "unit": manifest.quantiser.scale if table is None else table.scale,
    }
    if table is not None:
        names["rows"] = files.add_array("rows", table.rows, "i1")
        names["shifts"] = files.add_array("shifts", table.shifts, "u1")
        return {**described, "dimensions": table.dimensions, "files": names}
    if len(index.floors):
        names["floors"] = files.add_array("floors", index.floors, "<f8")
    return {
        **described,
        "exact": manifest.quantiser.kind == "float32",
        "bias_bits": manifest.quantiser.bias_bits,
        "limit": max_score(len(index)),
        "largest_shift": index.segments.largest_shift,
        "files": names,
    }
