"""Idf of terms among training passages: as factors of document weights, or as fixed weights of query terms.

An index may multiply the weights of a network by a power of the idf of its collection (`termwise.models.idf_power`).
Training then applies the same factor, with the idf among the passages of the source of the query, so that the network
does not learn the document frequencies of its training collections.

Fixed query weights are instead part of the encoder, as ``query_weights.npy``: each term of a query has its idf among
the passages of all sources, regardless of its count in the query. This follows Geng et al. (arXiv 2411.04403, 2024).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from io import BytesIO
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.collection.training_pairs import PairSource
from termwise.encode.encoder_folder import QUERY_WEIGHTS, VECTORS, is_valid_vector
from termwise.errors import ModelFormatError
from termwise.fixes import Fix
from termwise.models.idf_power import idf_factors
from termwise.progress import Progress, no_progress
from termwise.storage.safe_read import read_input
from termwise.text.cleaned_analyzer import CleanMode, clean_vocabulary
from termwise.train.data.cached_arrays import corrupt_cache, load_arrays, load_or_compute, save_arrays
from termwise.train.inputs import Ids, Pieces
from termwise.train.library_errors import first_line
from termwise.train.run_folder import RunFolder
from termwise.train.settings import IDF

MOST_PASSAGES = 100_000
"""Largest number of counted passages per source; for larger sources, a sample is counted."""

QUERY_WEIGHTS_CACHE = "query_weights.npz"
"""Cache file of a run."""

_PROGRESS_INTERVAL = 1000
_MOST_BYTES = 1 << 30


def term_factors(rows: Sequence[Ids], *, power: float, terms: int) -> npt.NDArray[np.float32]:
    """Return the idf factor of each term among passages: ndarray of shape (V,), float32, above 0.

    The rows are the pieces of one passage or more. A term in no passage, such as an expansion term, gets the factor of
    a term in one passage.

    Examples
    --------
    >>> term_factors([np.array([0, 0, 1]), np.array([1])], power=1.0, terms=3).round(4)
    array([0.6931, 0.1823, 0.6931], dtype=float32)
    """
    df = np.zeros(terms, dtype=np.int64)
    for row in rows:
        df[row] += 1  # repeated terms of a row count once
    return idf_factors(np.maximum(df, 1), len(rows), power).astype(np.float32)


def source_term_factors(
    sources: Sequence[PairSource],
    pieces: Pieces,
    *,
    power: float,
    length: int,
    seed: int,
    progress: Progress = no_progress,
) -> list[npt.NDArray[np.float32]]:
    """Return the `term_factors` of the passages of each source: float32 arrays of shape (V,).

    The first `length` pieces of a passage are counted, the two special ones included, without expansion terms; of a
    source with more than `MOST_PASSAGES` passages, a sample that the seed determines.
    """
    rows = _sampled_rows(sources, pieces, length=length, seed=seed, progress=progress)
    return [term_factors(part, power=power, terms=len(pieces.analyzer.vocabulary)) for part in rows]


def load_or_make_query_weights(
    given: str,
    sources: Sequence[PairSource],
    pieces: Pieces,
    run: RunFolder,
    *,
    cleaning: CleanMode,
    length: int,
    seed: int,
) -> npt.NDArray[np.float32]:
    """Load the fixed query weights of a run from its folder, or make and save them: shape (V,), float32, 0 or more.

    `given` is ``idf``, for the idf among the passages of all sources together (`source_term_factors`), or a file
    (`read_query_weights`). Special pieces and terms outside the cleaned vocabulary have the weight 0.
    """
    file, progress = run.path / QUERY_WEIGHTS_CACHE, run.execution.progress
    terms = len(pieces.analyzer.vocabulary)

    def load() -> npt.NDArray[np.float32]:
        weights = load_arrays(file, {"weights": (np.float32, 1)})["weights"]
        if weights.shape != (terms,) or not is_valid_vector(QUERY_WEIGHTS, weights):
            raise corrupt_cache(file, f"it does not hold {VECTORS[QUERY_WEIGHTS]}")
        return weights

    def compute() -> npt.NDArray[np.float32]:
        if given == IDF:
            parts = _sampled_rows(sources, pieces, length=length, seed=seed, progress=progress)
            weights = term_factors([row for part in parts for row in part], power=1.0, terms=terms)
        else:
            weights = read_query_weights(given, terms=terms)
        kept = clean_vocabulary(pieces.analyzer.vocabulary, cleaning)
        kept[list(asdict(pieces.special).values())] = False
        weights = np.where(kept, weights, np.float32(0))
        save_arrays(file, {"weights": weights})
        return weights

    return load_or_compute(file, load, compute, run.execution.say)


def read_query_weights(file: str | Path, *, terms: int) -> npt.NDArray[np.float32]:
    """Read the weights of V terms from a file in the format of ``query_weights.npy`` of an encoder folder."""
    data = read_input(
        Path(file),
        _MOST_BYTES,
        "the query weights cannot be read",
        fixes=[Fix.use(query_weights=IDF), "name a file of numpy with one number for each term"],
    )
    try:
        weights = np.load(BytesIO(data), allow_pickle=False)
        seen = f"{weights.dtype} of shape {weights.shape}"
    except (ValueError, EOFError, AttributeError) as error:
        weights, seen = None, first_line(error)
    if (
        weights is None
        or weights.dtype.kind != "f"
        or weights.shape != (terms,)
        or not is_valid_vector(QUERY_WEIGHTS, weights)
    ):
        raise ModelFormatError(
            f"the query weights are not {VECTORS[QUERY_WEIGHTS]}",
            facts=[("file", file), ("expected", f"float32 of shape ({terms},), at least 0"), ("seen", seen)],
            fixes=[Fix.use(query_weights=IDF)],
        )
    return np.asarray(weights, dtype=np.float32)


def _sampled_rows(
    sources: Sequence[PairSource], pieces: Pieces, *, length: int, seed: int, progress: Progress
) -> Iterator[list[Ids]]:
    """Yield the pieces of the counted passages of each source."""
    counts = [min(len(source.passages), MOST_PASSAGES) for source in sources]
    done, total = 0, sum(counts)
    for number, (source, count) in enumerate(zip(sources, counts, strict=True)):
        chosen = range(len(source.passages))
        if count < len(source.passages):
            drawn = np.random.default_rng((seed, number)).choice(len(source.passages), count, replace=False)
            chosen = np.sort(drawn).tolist()
        rows = []
        for passage in chosen:
            rows.append(pieces(source.passages[passage])[: length - 2])
            done += 1
            if done % _PROGRESS_INTERVAL == 0 or done == total:
                progress("count terms of passages", done, total)
        yield rows
