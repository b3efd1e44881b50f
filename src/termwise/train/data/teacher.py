"""Teacher of a run: vectors that a dense encoder computes for the queries and passages, and their cosines.

The vectors are computed once, before the first step, and stored in the folder of the run. Only texts that the run reads
are encoded. The teacher reads as many pieces of a text as the network reads of a passage, but at least 64, and it may
have another vocabulary than the network.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from termwise.collection.training_pairs import PairSource
from termwise.progress import Progress, no_progress
from termwise.storage.file_record import folder_fingerprint, texts_fingerprint
from termwise.train.data.expansions import Place
from termwise.train.data.hard_negatives import relevant_passages
from termwise.train.data.teacher_vectors import VectorsManifest, teacher_vectors
from termwise.train.data.tokenised_texts import TokenisedTexts
from termwise.train.dense_encoder import DenseEncoder
from termwise.train.run_folder import RunFolder
from termwise.train.settings import NEGATIVES_PER_PAIR

VECTORS = "teacher"
"""Folder of the vectors in the folder of a run."""

_SHORTEST = 64
_BATCH = 64
_QUERIES = 256


class TeacherVectors:
    """Vectors of length 1 of n queries and m passages, given by source and position.

    `vectors`, of shape (n + m, dimensions), has those of the queries, then those of the passages.
    """

    def __init__(
        self,
        queries: Sequence[Place],
        passages: Sequence[Place],
        vectors: npt.NDArray[np.floating[np.generic]],  # type: ignore[type-var]
    ) -> None:
        self._vectors = vectors
        self._queries = {place: row for row, place in enumerate(queries)}
        self._passages = {place: row for row, place in enumerate(passages, len(queries))}

    @classmethod
    def make(
        cls,
        encoder: DenseEncoder,
        sources: Sequence[PairSource],
        queries: Collection[Place],
        passages: Collection[Place],
        run: RunFolder,
        *,
        length: int,
    ) -> TeacherVectors:
        """Compute the vectors, or read them from the folder of the run if it has them; see `teacher_vectors`.

        `length` is the largest number of pieces that the network reads of a passage, the special ones included.
        """
        progress, say = run.execution.progress, run.execution.say
        asked, ranked = sorted(queries), sorted(passages)
        texts = [sources[owner].queries[query] for owner, query in asked]
        texts += [sources[owner].passages[passage] for owner, passage in ranked]
        prompts = [encoder.query_prompt] * len(asked) + [encoder.document_prompt] * len(ranked)
        prompted = [prompt + text for prompt, text in zip(prompts, texts, strict=True)]
        length = min(encoder.length, max(length, _SHORTEST))
        say(f"encoding {len(asked):,} queries and {len(ranked):,} passages with the teacher")
        shards = teacher_vectors(
            encoder,
            TokenisedTexts.of(prompted, encoder.tokenizer, most=length - 2, progress=progress),
            run.path / VECTORS,
            VectorsManifest(
                encoder=folder_fingerprint(encoder.folder),
                texts=texts_fingerprint(texts),
                count=len(texts),
                dimensions=encoder.network.config.hidden_size,
                length=length,
            ),
            batch=_BATCH,
            progress=progress,
            say=say,
        )
        return cls(asked, ranked, np.concatenate(shards))

    def cosines(self, queries: Sequence[Place], passages: Sequence[Place]) -> npt.NDArray[np.float32]:
        """Return the cosines of queries and passages: float32 of shape (Q, D)."""
        left = self._rows([self._queries[place] for place in queries])
        return left @ self._rows([self._passages[place] for place in passages]).T

    def mine_negatives(
        self, number: int, source: PairSource, *, depth: int, seed: int, progress: Progress = no_progress
    ) -> npt.NDArray[np.int32]:
        """Rank the passages of a source by the teacher, and draw negatives as `mine_negatives` does.

        `number` is the number of the source. The passages have a vector. Pairs of a query without a vector have no
        negatives.
        """
        random = np.random.default_rng((seed, number))
        relevant = relevant_passages(source)
        drawn = np.full((len(source.queries), NEGATIVES_PER_PAIR), -1, dtype=np.int32)
        asked = [query for owner, query in self._queries if owner == number]
        pool = np.array([passage for owner, passage in self._passages if owner == number], dtype=np.int32)
        right = self._rows([self._passages[number, int(passage)] for passage in pool]).T
        for start in range(0, len(asked), _QUERIES):
            part = asked[start : start + _QUERIES]
            cosines = self._rows([self._queries[number, query] for query in part]) @ right
            for query, row in zip(part, cosines, strict=True):
                most = min(depth + len(relevant[query]), len(pool))
                top = np.argpartition(-row, most - 1)[:most]
                order = top[np.lexsort((top, -row[top]))]
                best = [passage for passage in pool[order].tolist() if passage not in relevant[query]][:depth]
                chosen = random.permutation(np.array(best, dtype=np.int32))[:NEGATIVES_PER_PAIR]
                drawn[query, : len(chosen)] = chosen
            progress("mine negatives", start + len(part), len(asked))
        return drawn[source.pairs[:, 0]]

    def _rows(self, numbers: Sequence[int]) -> npt.NDArray[np.float32]:
        return self._vectors[numbers].astype(np.float32)
