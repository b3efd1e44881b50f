"""What is trained on: queries and passages cut into terms, and which of them are drawn together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from termwise.collection.pairs import PairSource
from termwise.progress import Progress, no_progress
from termwise.text import Analyzer, Vocabulary
from termwise.train.data.sampling import Judged
from termwise.train.neural_model1.bags import Bags, bags_of


@dataclass(frozen=True, eq=False)
class Questions:
    """The queries of all sources that can be trained on.

    Attributes
    ----------
    judged : Judged
        n queries, each with terms, and their passages.
    queries, passages : Bags
        Of these n queries, and of all passages.
    """

    judged: Judged
    queries: Bags
    passages: Bags

    @classmethod
    def of(
        cls,
        sources: Sequence[PairSource],
        mined: Sequence[npt.NDArray[np.int32]],
        analyzer: Analyzer,
        vocabulary: Vocabulary,
        *,
        negatives: int,
        query_length: int,
        document_length: int,
        progress: Progress = no_progress,
    ) -> Questions:
        """Cut the texts of sources.

        Parameters
        ----------
        sources : sequence of PairSource
        mined : sequence of ndarray of shape (pairs, m), int32
            See `termwise.train.data.hard_negatives.mine_negatives`.
        analyzer, vocabulary
            See `bags_of`.
        negatives : int
            How many are taken of each query.
        query_length, document_length : int
            Tokens that are read; 0 for all.
        progress : callable, optional

        Raises
        ------
        EmptyCollectionError
            If no query is left that has terms, a passage with terms, and another passage to tell it from.
        """
        texts = [text for source in sources for text in source.queries]
        queries = bags_of(
            texts, analyzer, vocabulary, length=query_length, stage="read queries", progress=progress
        )
        texts = [text for source in sources for text in source.passages]
        passages = bags_of(
            texts, analyzer, vocabulary, length=document_length, stage="read passages", progress=progress
        )
        judged = Judged.of(
            sources, mined, queries=queries.sizes > 0, passages=passages.sizes > 0, negatives=negatives
        )
        return cls(judged, queries.take(judged.queries), passages)
