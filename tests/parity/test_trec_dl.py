"""Parity of measures with the values reported by the authors of TILDE for their BM25 run on TREC DL 2019.

Neither run nor judgments are part of the repository. They are `data/runs/run.trec2019-bm25.res` and
`data/qrels/2019qrels-pass.txt` of https://github.com/ielab/TILDE, and are looked for beside the judged collections.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from termwise.collection import read_qrels, read_run
from termwise.evaluate import evaluate

pytestmark = pytest.mark.shared

RUN, QRELS = "run.trec2019-bm25.res", "2019qrels-pass.txt"


@pytest.fixture
def given(shared: Path) -> Path:
    folder = shared / "trec-dl-2019"
    missing = [name for name in (RUN, QRELS) if not (folder / name).is_file()]
    if missing:
        message = f"skipped: the run of BM25 on TREC DL 2019 cannot be measured; {folder} lacks {', '.join(missing)}"
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn(message, stacklevel=1)
        pytest.skip(message)
    return folder


def test_values_that_are_reported_for_bm25(given: Path) -> None:
    # The average precision counts every grade above 0; the convention of TREC DL is AP(rel=2), which is lower.
    means = evaluate(read_run(given / RUN), read_qrels(given / QRELS), ["nDCG@10", "AP", "AP(rel=2)"]).means
    assert means["nDCG@10"] == pytest.approx(0.4973, abs=5e-5)
    assert means["AP"] == pytest.approx(0.3766, abs=5e-5)
    assert means["AP(rel=2)"] < means["AP"]
