"""Tests of every ranker that is opened from a published checkpoint.

A test module has the fixtures ``folder``, a small checkpoint named "mine", and ``scorer``, opened from it, and a
subclass of `CheckpointContract` with the test data.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from termwise.errors import MissingFileError, ModelFormatError, ParameterError
from termwise.rankers import ScorerContext, open_scorer
from termwise.scorers import Background
from termwise.scorers.protocol import PairScorer, WindowedScorer, fingerprint_of


class CheckpointContract:
    """Tests of a kind of ranker.

    Attributes
    ----------
    opened : type
        Class of the ranker.
    kind, title : str
        Prefix of a specification, and the name in errors.
    queries, texts : sequence of str
        Of equal lengths.
    lengths : sequence of int
        Invalid window lengths.
    """

    opened: ClassVar[Any]
    kind: ClassVar[str]
    title: ClassVar[str]
    queries: ClassVar[Sequence[str]]
    texts: ClassVar[Sequence[str]]
    lengths: ClassVar[Sequence[int]]

    def saved(self, folder: Path, seed: int) -> Path:
        """Write the checkpoint of ``folder`` for the seed 5, and one like it for another."""
        raise NotImplementedError

    def spoil(self, scorer: Any) -> None:
        """Set a weight to NaN."""
        raise NotImplementedError

    def test_it_implements_the_protocols(self, scorer):
        assert isinstance(scorer, PairScorer)
        assert isinstance(scorer, WindowedScorer)
        assert fingerprint_of(scorer) == scorer.fingerprint
        assert scorer.name == "mine"

    @pytest.mark.parametrize("batch", [1, 2, 7])
    def test_scores_do_not_depend_on_the_batch(self, folder, scorer, batch):
        other = self.opened.open(folder, batch=batch)
        alone = [scorer.score(query, [text])[0] for query, text in zip(self.queries, self.texts, strict=True)]
        assert np.ptp(alone) > 0.01
        assert other.score_pairs(self.queries, self.texts) == pytest.approx(alone, rel=1e-5, abs=1e-4)
        assert other.score_pairs(self.queries[::-1], self.texts[::-1]) == pytest.approx(
            alone[::-1], rel=1e-5, abs=1e-4
        )
        assert scorer.score(self.queries[0], []).shape == (0,)

    def test_the_fingerprint_depends_on_weights_and_window_only(self, folder, scorer, tmp_path):
        assert self.opened.open(self.saved(tmp_path / "same", 5)).fingerprint == scorer.fingerprint
        assert self.opened.open(folder, name="else", batch=2).fingerprint == scorer.fingerprint
        other = self.opened.open(self.saved(tmp_path / "other", 6))
        found = {scorer.fingerprint, self.opened.open(folder, length=25).fingerprint, other.fingerprint}
        assert len(found) == 3

    def test_it_is_opened_by_its_prefix(self, folder, scorer):
        found = open_scorer(f"c={self.kind}:{folder}", ScorerContext(Background(list), device="cpu"))
        assert found.name == "c"
        given = self.queries[0], self.texts
        assert found.score(*given) == pytest.approx(scorer.score(*given))

    def test_scores_that_are_not_finite_are_refused(self, folder):
        scorer = self.opened.open(folder)
        self.spoil(scorer)
        with pytest.raises(ModelFormatError, match="not a finite number"):
            scorer.score(self.queries[0], self.texts)

    def test_invalid_arguments_are_refused(self, folder, scorer):
        for length in self.lengths:
            with pytest.raises(ParameterError, match="this length"):
                self.opened.open(folder, length=length)
        for wrong in ({"device": "abacus"}, {"batch": 0}):
            with pytest.raises(ParameterError, match=next(iter(wrong))):
                self.opened.open(folder, **wrong)
        with pytest.raises(ParameterError, match="query"):
            scorer.score(None, self.texts)
        with pytest.raises(ParameterError, match="texts"):
            scorer.score(self.queries[0], "wing")
        with pytest.raises(ParameterError, match="as many queries as texts"):
            scorer.score_pairs(self.queries[:1], self.texts)

    def test_a_missing_folder_is_refused(self, tmp_path):
        with pytest.raises(MissingFileError, match=f"no such checkpoint of {self.title}"):
            self.opened.open(tmp_path / "nowhere")
