"""Token weights for queries: reader of ``idf.json`` or lines of token and weight, and arrays by term number."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.collection.lines import read_lines
from termwise.errors import DataError, MalformedRecordError
from termwise.fixes import Code, Fix
from termwise.storage.safe_read import read_input
from termwise.text.vocabulary import Vocabulary

_MAX_JSON = 1 << 30
"""Largest length of a JSON file in bytes."""

_FORM = "a JSON object {token: weight}, or lines of token TAB weight, weights finite and at least 0"


def read_token_weights(path: str | Path) -> dict[str, float]:
    """Read a file of token weights.

    Parameters
    ----------
    path : str or Path
        A name that ends in ``.json`` is read as a JSON object ``{token: weight}``, such as OpenSearch's ``idf.json``;
        any other as UTF-8 lines of token, tab, weight.

    Returns
    -------
    dict of str to float
        Weights finite and at least 0, in the order of the file.

    Raises
    ------
    MissingFileError
        If the file cannot be read.
    MalformedRecordError
        If a line is malformed, or repeats a token.
    DataError
        If a JSON file is malformed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "idf.json")
    ...     _ = path.write_text('{"wing": 7.1, "the": 0}')
    ...     read_token_weights(path)
    {'wing': 7.1, 'the': 0.0}
    """
    path = Path(path)
    return _from_json(path) if path.suffix == ".json" else _from_lines(path)


def _from_json(path: Path) -> dict[str, float]:
    data = read_input(
        path,
        _MAX_JSON,
        "the file of token weights cannot be read",
        fixes=[Fix.use("use {}, the path of an idf.json", idf=Code("FILE"))],
    )
    try:
        loaded = json.loads(data, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError) as error:
        raise _malformed(path, [("reason", str(error))]) from error
    if not isinstance(loaded, _Pairs):
        raise _malformed(path, [("seen", f"a JSON {type(loaded).__name__}")])
    weights: dict[str, float] = {}
    for token, value in loaded:
        if token in weights:
            raise _malformed(path, [("token", repr(token)), ("seen", "the token twice")])
        if isinstance(value, bool) or not isinstance(value, int | float) or not _usable(value):
            raise _malformed(path, [("token", repr(token)), ("seen", f"{value!r}"[:60])])
        weights[token] = float(value)
    return weights


class _Pairs(list[tuple[str, object]]):
    """Items of a JSON object, repeated keys included."""


def _from_lines(path: Path) -> dict[str, float]:
    weights: dict[str, float] = {}
    for number, line in read_lines(path, joined=False):
        token, _, value = line.rpartition("\t")
        try:
            weight = float(value)
        except ValueError:
            weight = math.nan
        if not token or token in weights or not _usable(weight):
            raise MalformedRecordError.at(
                path,
                number,
                expected="token TAB weight, each token once, weights finite and at least 0",
                seen=line,
            )
        weights[token] = weight
    return weights


def _usable(weight: float) -> bool:
    return 0 <= weight <= float(np.finfo(np.float32).max)


def _malformed(path: Path, facts: list[tuple[str, object]]) -> DataError:
    return DataError(
        "the file of token weights is malformed", facts=[("file", path), *facts, ("expected", _FORM)]
    )


def term_weights(
    token_weights: Mapping[str, float], vocabulary: Vocabulary, *, missing: float
) -> npt.NDArray[np.float32]:
    """Return token weights as an array by term number, shape (V,); unknown tokens are ignored.

    `missing` is the weight of terms without an entry: 1 in OpenSearch, 0 in sentence-transformers.

    Examples
    --------
    >>> term_weights({"wing": 7.5}, Vocabulary(["flutter", "wing"]), missing=1.0)
    array([1. , 7.5], dtype=float32)
    """
    weights = (token_weights.get(token, missing) for token in vocabulary)
    return np.fromiter(weights, dtype=np.float32, count=len(vocabulary))


def token_weights(weights: npt.NDArray[np.float32], vocabulary: Vocabulary) -> dict[str, float]:
    """Return an array by term number as token weights: the content of an ``idf.json``.

    Parameters
    ----------
    weights : ndarray of shape (V,), float32
        Such as `Index.query_weights` or `EncoderFolder.query_weights`.
    vocabulary : Vocabulary
        Of V terms.

    Returns
    -------
    dict of str to float
        All terms in the order of their numbers. Terms of weight 0 are in it, because OpenSearch gives weight 1 to a
        term without an entry.

    Examples
    --------
    >>> token_weights(np.array([0, 7.5], dtype=np.float32), Vocabulary(["flutter", "wing"]))
    {'flutter': 0.0, 'wing': 7.5}
    """
    return dict(zip(vocabulary, weights.tolist(), strict=True))
