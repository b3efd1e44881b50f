"""Opening the networks that read queries, by folder, by name, or by the kind of a published checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from termwise.errors import ParameterError
from termwise.scorers.protocol import TextScorer
from termwise.storage.model_folder import kind_of
from termwise.train.hub import CONFIG
from termwise.validation import check_path
from termwise.yardsticks.ance import AnceScorer
from termwise.yardsticks.bert_model1.folder import read_scorer_folder
from termwise.yardsticks.colbert import ColbertScorer
from termwise.yardsticks.cross_encoder import CrossEncoderScorer
from termwise.yardsticks.epic import EpicScorer
from termwise.yardsticks.locate import is_hub_name
from termwise.yardsticks.mono_t5 import MonoT5Scorer

PUBLISHED: Mapping[str, Callable[..., TextScorer]] = {
    "mono-t5:": MonoT5Scorer.open,
    "colbert:": ColbertScorer.open,
    "epic:": EpicScorer.open,
    "ance:": AnceScorer.open,
}
"""What opens a published checkpoint, by what is put before its folder or file."""


def open_text_scorer(
    name: str | Path, *, device: str = "cpu", called: str | None = None, **numbers: int
) -> TextScorer:
    """Open the folder of a scorer, a cross-encoder of sentence-transformers, or a published checkpoint.

    Parameters
    ----------
    name : str or Path
        A folder with ``scorer.json``, see `termwise.yardsticks.bert_model1.folder`; a folder of a cross-encoder in the
        layout of
        transformers; the name of one on the hub, such as ``cross-encoder/ms-marco-MiniLM-L6-v2``; or a kind of
        `PUBLISHED` and a folder, a file or a name on the hub, such as ``colbert:colbert-ir/colbertv2.0``.
    device : str, optional
        Where the network runs, as torch names it.
    called : str, optional
        What the scorer is called in tables; by default like its folder, or like its name on the hub.
    **numbers : int
        ``batch``, and ``length`` of all but a folder with ``scorer.json``, which reads texts of any length.

    Returns
    -------
    TextScorer

    Raises
    ------
    ParameterError
        If such a folder gets a length.
    TermwiseError
        As `read_scorer_folder`, `CrossEncoderScorer.open` and those of `PUBLISHED` do.
    """
    check_path("the scorer", name)
    for prefix, opened in PUBLISHED.items():
        if str(name).startswith(prefix):
            return opened(str(name).removeprefix(prefix), device=device, called=called, **numbers)
    folder = Path(name)
    of_transformers = kind_of(folder) is None and (folder / CONFIG[0]).is_file()
    if of_transformers or is_hub_name(name):
        return CrossEncoderScorer.open(name, device=device, called=called, **numbers)
    if "length" in numbers:
        raise ParameterError(
            "this scorer reads texts of any length", facts=[("scorer", name), ("length", numbers["length"])]
        )
    return read_scorer_folder(folder, device=device, name=called, **numbers)
