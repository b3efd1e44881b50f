"""Model for precomputed term weights that are read from a file.

The weights may come from any model, such as SPLADE, uniCOIL or DeepImpact, and are not changed. The score is their
inner product with the query weights; an absent term contributes 0.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from termwise.collection.lines import refuse_pipe
from termwise.errors import MissingFileError, ParameterError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Code, Fix
from termwise.models.base import Model, QueryWeighting
from termwise.models.token_weights import read_token_weights, term_weights
from termwise.storage.safe_read import folder_entries, is_folder, path_exists
from termwise.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from termwise.models.vectors_jsonl import JsonVectors
    from termwise.models.vectors_npz import CsrVectors
    from termwise.text.analyzer import Analyzer

_JSON_ENDINGS = (".jsonl", ".json", ".ndjson", ".jsonl.gz", ".json.gz", ".ndjson.gz")


@dataclass(frozen=True, kw_only=True)
class VectorModel(Model):
    """Precomputed document weights, and the weighting of queries.

    Parameters
    ----------
    query : {"counts", "log-counts", "occurrences", "idf"}, optional
        Weight of a query token: its number c of occurrences (as in uniCOIL without a query encoder, and in Anserini's
        repeated tokens), 1 + ln c, 1, or its entry in the file `idf`.
    idf : str, optional
        File of token weights, see `read_token_weights`; required for ``query="idf"``, refused otherwise.
    idf_missing : float, optional
        Weight of tokens without an entry in the file `idf`: 1 in OpenSearch and by default, 0 in sentence-transformers.

    Raises
    ------
    ParameterError
        If the parameters are incompatible.
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
        super().__post_init__()
        if (self.query == "idf") != (self.idf is not None):
            raise ParameterError(
                "query=idf and a file of token weights require each other",
                facts=[("query", self.query), ("idf", self.idf or "none")],
                fixes=[Fix.use(query="idf", idf=Code("FILE"))],
            )

    @property
    def query_weighting(self) -> QueryWeighting:
        """Weighting of query tokens."""
        return self.query

    def term_weights(self, vocabulary: Vocabulary) -> npt.NDArray[np.float32] | None:
        """Return the query weight of each term.

        Returns
        -------
        ndarray of shape (V,), float32, or None
            Argument of `CountQueryEncoder`; None unless ``query="idf"``.

        Raises
        ------
        MissingFileError, MalformedRecordError, DataError
            If the file `idf` is missing or malformed.
        """
        if self.idf is None:
            return None
        return term_weights(read_token_weights(self.idf), vocabulary, missing=self.idf_missing)


def read_vectors(path: str | Path, *, analyzer: Analyzer | None = None) -> JsonVectors | CsrVectors:
    """Open a file of documents with their weights.

    Parameters
    ----------
    path : str or Path
        JSON lines, plain or ``.gz``, or a folder of such files (see `JsonVectors`); or a sparse matrix
        ``.npz`` (see `CsrVectors`).
    analyzer : Analyzer, optional
        Analyzer of the queries. If its vocabulary is closed, every token of the file must be part of it. Otherwise, and
        without an analyzer, the tokens of the file are the vocabulary.

    Returns
    -------
    JsonVectors or CsrVectors
        Both have `vocabulary`, `length` and `batches`.

    Raises
    ------
    ParameterError
        If the file name has an unknown ending.
    MissingFileError
        If it cannot be read.
    DataError
        If it is malformed; the error names file, line or row, and token.
    """
    from termwise.models.vectors_jsonl import JsonVectors
    from termwise.models.vectors_npz import CsrVectors

    path = Path(path)
    if not path_exists(path):
        raise MissingFileError("there is no such file of weights", facts=[("file", path)])
    if is_folder(path):
        parts = [part for part in folder_entries(path) if part.name.endswith(_JSON_ENDINGS)]
        if parts:
            return JsonVectors.open(parts, analyzer=analyzer)
    else:
        refuse_pipe(path)
        if path.name.endswith(_JSON_ENDINGS):
            return JsonVectors.open([path], analyzer=analyzer)
        if path.suffix == ".npz":
            return CsrVectors.open(path, analyzer=analyzer)
    raise ParameterError(
        "the file name has an unknown ending",
        facts=[("file", path), ("expected", f"a name ending in {', '.join(_JSON_ENDINGS)} or .npz")],
        fixes=["rename the file"],
    )
