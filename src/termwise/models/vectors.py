"""Bring your own weights: documents that come with their term weights in a file.

Whatever made the weights, SPLADE, uniCOIL, DeepImpact or a model of one's own, they are kept as they are; the
score is their inner product with the weights of the query, and an absent term contributes 0.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from termwise.collection.lines import refuse_pipe
from termwise.errors import MissingFileError, ParameterError
from termwise.models.base import QueryWeighting, VectorSource
from termwise.models.checks import check_choice, check_number
from termwise.models.token_weights import read_token_weights, term_weights
from termwise.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from termwise.text.analyzer import Analyzer

_JSON_ENDINGS = (".jsonl", ".json", ".ndjson", ".jsonl.gz", ".json.gz", ".ndjson.gz")


@dataclass(frozen=True, kw_only=True)
class VectorModel:
    """Weights that were made elsewhere, and how queries weigh their tokens against them.

    Parameters
    ----------
    query : {"counts", "occurrences", "idf"}, optional
        Weight of a token of the query: how often it occurs in it (as uniCOIL-like models without a query
        encoder and Anserini's repeated tokens have it), 1, or a weight of its own from the file `idf`.
    idf : str, optional
        File of token weights, for ``query="idf"`` and only for it; see `read_token_weights`.
    idf_missing : float, optional
        Weight of tokens that the file `idf` does not have. OpenSearch takes 1, which is the default;
        sentence-transformers takes 0.

    Raises
    ------
    ParameterError
        If the parameters do not go together.
    UnknownNameError
        If there is no such query weighting.

    Examples
    --------
    >>> VectorModel(query="occurrences").parameters()
    {'query': 'occurrences', 'idf': None, 'idf_missing': 1.0}
    """

    query: QueryWeighting = "counts"
    idf: str | None = None
    idf_missing: float = 1.0

    name: ClassVar[str] = "vectors"

    def __post_init__(self) -> None:
        check_choice(self.name, "query", self.query, ("counts", "occurrences", "idf"))
        if (self.query == "idf") != (self.idf is not None):
            raise ParameterError(
                "query=idf and a file of token weights go together",
                facts=[("query", self.query), ("idf", self.idf or "none")],
                fixes=["--set query=idf --set idf=FILE"],
            )
        missing = check_number(
            self.name,
            "idf_missing",
            self.idf_missing,
            holds=lambda v: v >= 0,
            expected="a number of at least 0",
        )
        object.__setattr__(self, "idf_missing", missing)

    @property
    def query_weighting(self) -> QueryWeighting:
        """How queries weigh their tokens."""
        return self.query

    def parameters(self) -> dict[str, object]:
        """Return the parameters by name."""
        return dataclasses.asdict(self)

    def term_weights(self, vocabulary: Vocabulary) -> npt.NDArray[np.float32] | None:
        """Read the weights of the query side.

        Returns
        -------
        ndarray of shape (V,), float32, or None
            What `CountQueryEncoder` takes; None unless ``query="idf"``.

        Raises
        ------
        MissingFileError, MalformedRecordError, DataError
            If the file `idf` cannot be used.
        """
        if self.idf is None:
            return None
        return term_weights(read_token_weights(self.idf), vocabulary, missing=self.idf_missing)


def read_vectors(path: str | Path, *, analyzer: Analyzer | None = None) -> VectorSource:
    """Open a file of documents with their weights.

    Parameters
    ----------
    path : str or Path
        JSON lines, plain or ``.gz``, or a folder of such files (see `JsonVectors`); or a sparse matrix
        ``.npz`` (see `CsrVectors`).
    analyzer : Analyzer, optional
        The one that queries will be analysed with. Where its vocabulary is closed, every token must be part
        of it. Where it is open, or none is given, the vocabulary is made of the tokens of the file.

    Returns
    -------
    VectorSource
        Gives the vocabulary, and the documents batch by batch.

    Raises
    ------
    ParameterError
        If the name of the file has none of the known endings.
    MissingFileError
        If it cannot be read.
    DataError
        Of the kind that says what is wrong, naming file, line or row, and token.
    """
    from termwise.models.vectors_jsonl import JsonVectors
    from termwise.models.vectors_npz import CsrVectors

    path = Path(path)
    try:
        found = path.exists()
    except OSError as error:
        raise MissingFileError(
            "the file of weights cannot be read", facts=[("file", path), ("system says", error.strerror)]
        ) from error
    if not found:
        raise MissingFileError("there is no such file of weights", facts=[("file", path)])
    if not path.is_dir():
        refuse_pipe(path)
    if path.is_dir():
        parts = sorted(part for part in path.iterdir() if part.name.endswith(_JSON_ENDINGS))
        if parts:
            return JsonVectors.open(parts, analyzer=analyzer)
    elif path.name.endswith(_JSON_ENDINGS):
        return JsonVectors.open([path], analyzer=analyzer)
    elif path.suffix == ".npz":
        return CsrVectors.open(path, analyzer=analyzer)
    raise ParameterError(
        "no form of term weights goes by this name",
        facts=[("file", path), ("expected", f"a name ending in {', '.join(_JSON_ENDINGS)} or .npz")],
        fixes=["termwise index vectors.jsonl --model vectors --out DIR"],
    )
