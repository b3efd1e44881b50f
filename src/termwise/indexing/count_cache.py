"""Counts kept in a work folder, so that a collection is analysed once for many settings of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from termwise.encode.document_encoder import Advance, fingerprint_of, no_advance
from termwise.errors import ParameterError
from termwise.kernels.counting import count_rows
from termwise.text import Analyzer, Vocabulary
from termwise.weights import TermWeights


@dataclass(frozen=True)
class CountEncoder:
    """Counts tokens as a `DocumentEncoder`, so that `encoded_blocks` keeps counts as it keeps the rows of networks.

    Parameters
    ----------
    analyzer : Analyzer
        Must have a vocabulary of its own, since terms are numbered before all documents are read.

    Raises
    ------
    ParameterError
        If it has none.
    """

    analyzer: Analyzer

    def __post_init__(self) -> None:
        if self.analyzer.vocabulary is None:
            raise ParameterError(
                "counts can be kept only where the analyzer has a vocabulary of its own",
                facts=[("analyzer", self.analyzer.spec.name)],
                fixes=["leave the encoding out"],
            )

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the analyzer."""
        assert self.analyzer.vocabulary is not None
        return self.analyzer.vocabulary

    @property
    def query_weights(self) -> None:
        """None."""

    @property
    def floors(self) -> None:
        """None."""

    @property
    def gives_log_likelihoods(self) -> bool:
        """False."""
        return False

    @property
    def idf_power(self) -> float:
        """0."""
        return 0.0

    @property
    def only_text_terms(self) -> bool:
        """True: counted terms occur in the text."""
        return True

    @property
    def block(self) -> int:
        """Documents of a block."""
        return 4096

    @property
    def fingerprint(self) -> str:
        """A digest of the analyzer."""
        return fingerprint_of({"counts": self.analyzer.spec.fingerprint})

    @property
    def description(self) -> dict[str, Any]:
        """The name and the settings of the analyzer."""
        return {"name": f"counts of {self.analyzer.spec.name}", "settings": dict(self.analyzer.spec.options)}

    def encode_documents(self, texts: Sequence[str], *, advance: Advance = no_advance) -> TermWeights:
        """Return how often each term occurs in each text."""
        numbers = {token: number for number, token in enumerate(self.vocabulary)}
        found: list[int] = []
        indptr = [0]
        for done, text in enumerate(texts, 1):
            found.extend(numbers[token] for token in self.analyzer.tokens(text))
            indptr.append(len(found))
            advance(done / len(texts))
        rows = count_rows(np.array(indptr, dtype=np.int64), np.array(found, dtype=np.int32))
        return TermWeights(*rows, self.vocabulary.id)
