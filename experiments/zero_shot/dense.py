"""The dense encoder that users would otherwise take: one vector a text, cosine, exact search."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import record
from judged import Judged

from termwise.records import Ranking, Run

CHUNK = 1024
"""Documents that are encoded and kept together."""


class DenseEncoder:
    """A folder of sentence-transformers.

    Parameters
    ----------
    folder : Path
        The model, such as all-MiniLM-L6-v2.
    length : int
        Pieces that are read; what follows is cut off.
    threads : int
        Threads of torch.
    """

    def __init__(self, folder: Path, *, length: int, threads: int) -> None:
        module: Any = record.need("sentence_transformers", "sentence-transformers", "the dense encoder")
        record.need("torch", "torch", "the dense encoder").set_num_threads(threads)
        self._model = module.SentenceTransformer(str(folder), device="cpu", local_files_only=True)
        self._model.max_seq_length = length
        weights = sorted(folder.rglob("*.safetensors")) or sorted(folder.rglob("*.bin"))
        self.fingerprint = f"{length} {record.tree_hash(weights, folder)}"

    def encode(self, texts: list[str]) -> npt.NDArray[np.float32]:
        """Return unit vectors, shape (n, h)."""
        vectors: npt.NDArray[np.float32] = self._model.encode(
            texts, batch_size=32, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        return vectors.astype(np.float32)


class DenseIndex:
    """The vectors of a collection, in memory; encoded chunks are kept in a folder.

    Parameters
    ----------
    judged : Judged
        The collection.
    encoder : DenseEncoder
        What reads it.
    work : Path
        Folder for the vectors.
    """

    def __init__(self, judged: Judged, encoder: DenseEncoder, work: Path) -> None:
        described = f"{encoder.fingerprint} {sorted(judged.data.items())}"
        folder = work / f"dense-{hashlib.sha256(described.encode()).hexdigest()[:12]}"
        folder.mkdir(parents=True, exist_ok=True)
        documents = list(judged.documents.documents())
        account = folder / "seconds"
        parts = []
        for number, first in enumerate(range(0, len(documents), CHUNK)):
            path = folder / f"{number:06d}.npy"
            if not path.is_file():
                begin = time.perf_counter()
                vectors = encoder.encode([document.text for document in documents[first : first + CHUNK]])
                spent = (
                    time.perf_counter() - begin + (float(account.read_text()) if account.is_file() else 0.0)
                )
                with path.with_suffix(".part").open("wb") as file:
                    np.save(file, vectors)
                path.with_suffix(".part").replace(path)
                account.write_text(f"{spent}\n")
                record.say(
                    f"  {judged.name}: dense {min(first + CHUNK, len(documents)):,} of {len(documents):,}"
                )
            parts.append(np.load(path))
        self._doc_ids = [document.doc_id for document in documents]
        self._vectors = np.concatenate(parts)
        self._encoder = encoder
        self.seconds = float(account.read_text())

    @property
    def documents(self) -> int:
        """Number of documents."""
        return len(self._doc_ids)

    @property
    def bytes(self) -> int:
        """Bytes of the vectors."""
        return int(self._vectors.nbytes)

    def rank(self, judged: Judged, *, k: int, name: str) -> tuple[Run, npt.NDArray[np.float64]]:
        """Rank all documents for each query; return the run and the seconds of each query."""
        rankings, seconds = [], []
        self._encoder.encode(["warm"])
        for query in judged.queries:
            begin = time.perf_counter()
            scores = self._vectors @ self._encoder.encode([query.text])[0]
            best = np.argsort(-scores, kind="stable")[:k]
            seconds.append(time.perf_counter() - begin)
            doc_ids = [self._doc_ids[place] for place in best.tolist()]
            rankings.append(Ranking(doc_ids, scores[best].astype(np.float64), query.query_id))
        return Run(rankings, name), np.array(seconds)
