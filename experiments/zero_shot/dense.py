"""Dense retrieval as an alternative: one vector per text, cosine, exact search."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import record
from indexes import Account, Effort
from judged_collection import Judged

from termwise.records import Ranking, Run

CHUNK = 1024
"""Documents per stored chunk of vectors."""


def fingerprint(folder: Path, length: int) -> str:
    """Return the fingerprint of a dense encoder, without loading it."""
    weights = sorted(folder.rglob("*.safetensors")) or sorted(folder.rglob("*.bin"))
    return f"{length} {record.tree_hash(weights, folder)}"


class DenseEncoder:
    """Dense encoder of sentence-transformers.

    Parameters
    ----------
    folder : Path
        Folder of the model, such as all-MiniLM-L6-v2.
    length : int
        Maximum number of pieces; longer texts are truncated.
    threads : int
        Threads of torch for documents; queries have one.
    """

    def __init__(self, folder: Path, *, length: int, threads: int) -> None:
        module: Any = record.need("sentence_transformers", "sentence-transformers", "the dense encoder")
        self._torch: Any = record.need("torch", "torch", "the dense encoder")
        self._torch.set_num_threads(threads)
        self._model = module.SentenceTransformer(str(folder), device="cpu", local_files_only=True)
        self._model.max_seq_length = length
        self.fingerprint = fingerprint(folder, length)

    def encode(self, texts: list[str]) -> npt.NDArray[np.float32]:
        """Return unit vectors, shape (n, h)."""
        vectors: npt.NDArray[np.float32] = self._model.encode(
            texts, batch_size=32, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        return vectors.astype(np.float32)

    @contextmanager
    def one_thread(self) -> Iterator[None]:
        """Limit torch and BLAS to one thread, as for the queries of all systems."""
        module: Any = record.need("threadpoolctl", "threadpoolctl", "the latency of the dense encoder")
        before = self._torch.get_num_threads()
        self._torch.set_num_threads(1)
        try:
            with module.threadpool_limits(limits=1):
                yield
        finally:
            self._torch.set_num_threads(before)


class DenseIndex:
    """Vectors of a collection in memory, with encoded chunks in a folder.

    Parameters
    ----------
    judged : Judged
    encoder : DenseEncoder
    work : Path
        Folder of the vectors.
    """

    def __init__(self, judged: Judged, encoder: DenseEncoder, work: Path) -> None:
        described = f"{encoder.fingerprint} {sorted(judged.data.items())}"
        folder = work / f"dense-{hashlib.sha256(described.encode()).hexdigest()[:12]}"
        folder.mkdir(parents=True, exist_ok=True)
        documents = list(judged.documents.documents())
        account = Account(folder / "effort.json")
        parts = []
        for number, first in enumerate(range(0, len(documents), CHUNK)):
            path = folder / f"{number:06d}.npy"
            if not path.is_file():
                begin = time.perf_counter()
                vectors = encoder.encode([document.text for document in documents[first : first + CHUNK]])
                spent = time.perf_counter() - begin
                with path.with_suffix(".part").open("wb") as file:
                    np.save(file, vectors)
                path.with_suffix(".part").replace(path)
                account.add(spent, len(vectors))
                record.say(
                    f"  {judged.name}: dense {min(first + CHUNK, len(documents)):,} of {len(documents):,}"
                )
            parts.append(np.load(path))
        self._doc_ids = [document.doc_id for document in documents]
        self._vectors = np.concatenate(parts)
        self._encoder = encoder
        self.effort: Effort | None = account.effort

    @property
    def documents(self) -> int:
        """Number of documents."""
        return len(self._doc_ids)

    @property
    def bytes(self) -> int:
        """Bytes of the vectors."""
        return int(self._vectors.nbytes)

    def rank(self, judged: Judged, *, k: int, name: str) -> tuple[Run, npt.NDArray[np.float64]]:
        """Rank all documents for each query, and return the run and the seconds of each query."""
        rankings, seconds = [], []
        with self._encoder.one_thread():
            self._encoder.encode(["warm"])
            for query in judged.queries:
                begin = time.perf_counter()
                scores = self._vectors @ self._encoder.encode([query.text])[0]
                best = largest(scores, k)
                seconds.append(time.perf_counter() - begin)
                doc_ids = [self._doc_ids[place] for place in best.tolist()]
                rankings.append(Ranking(doc_ids, scores[best].astype(np.float64), query.query_id))
        return Run(rankings, name), np.array(seconds)


def largest(scores: npt.NDArray[np.float32], k: int) -> npt.NDArray[np.int64]:
    """Return the positions of the `k` largest scores, best first, ties in their order.

    Examples
    --------
    >>> largest(np.array([1, 3, 2, 3, 2], dtype=np.float32), 3).tolist()
    [1, 3, 2]
    """
    if k >= len(scores):
        return np.argsort(-scores, kind="stable")
    least = scores[np.argpartition(scores, len(scores) - k)[len(scores) - k]]
    places = np.flatnonzero(scores >= least)
    return places[np.argsort(-scores[places], kind="stable")[:k]]
