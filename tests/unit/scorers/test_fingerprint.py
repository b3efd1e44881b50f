"""Fingerprints: their values are keys of score caches on disk, so they must not change."""

from __future__ import annotations

from termwise import Document
from termwise.scorers import Background, FunctionScorer, MixedScorer, Scale, model_scorer
from termwise.scorers.protocol import fingerprint_of
from termwise.storage.file_record import json_fingerprint, text_fingerprint

BM25 = "sha256:cda311df2c0ce92c235dc9f69f4b6459e468caa4fbad18a32dfa4d76457c183f"
MIXTURE = "sha256:12f5ae2b08d747823306ac7c100a20c244683052d4d38ab08ddb96bf08e8a3c8"


def test_a_scorer_without_a_fingerprint():
    class Constant:
        name = "constant"

        def score(self, query, texts):
            return [0.0] * len(texts)

    assert fingerprint_of(Constant()) is None
    assert fingerprint_of(FunctionScorer(lambda queries, texts: [], name="f")) is None
    assert fingerprint_of(FunctionScorer(lambda queries, texts: [], name="f", fingerprint="1")) == "1"


def test_digests_do_not_change():
    assert text_fingerprint("é") == "sha256:4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"
    assert json_fingerprint({"b": [1.5], "a": None}) == json_fingerprint({"a": None, "b": [1.5]})
    background = Background(lambda: [Document("a", "merge sorted lists"), Document("b", "a list of cats")])
    first = FunctionScorer(lambda queries, texts: [1.0] * len(texts), name="f", fingerprint="1")
    bm25 = model_scorer("bm25", background)
    assert bm25.fingerprint == BM25
    scales = (Scale(0, 1), Scale(1, 2))
    assert MixedScorer([first, bm25], weights=[0.3, 0.7], scales=scales).fingerprint == MIXTURE
