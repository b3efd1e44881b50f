"""Opening whatever reads a query and a text together, by its folder or its name."""

from __future__ import annotations

import re
from pathlib import Path

from termwise.arguments import check_path
from termwise.folder_kinds import kind_of
from termwise.rerank.cross_encoder import CrossEncoderScorer
from termwise.rerank.folder import open_scorer
from termwise.scoring import TextScorer
from termwise.train.hub import CONFIG

_ON_A_HUB = re.compile(r"[\w.-]*\w/[\w.-]+")


def open_text_scorer(name: str | Path, *, device: str = "cpu", called: str | None = None) -> TextScorer:
    """Open the folder of a scorer, or a cross-encoder of sentence-transformers.

    Parameters
    ----------
    name : str or Path
        A folder with ``scorer.json``, see `termwise.rerank.folder`; a folder of a cross-encoder in the layout of
        transformers; or the name of one on the hub, such as ``cross-encoder/ms-marco-MiniLM-L6-v2``.
    device : str, optional
        Where the network runs, as torch names it.
    called : str, optional
        What the scorer is called in tables; by default like its folder, or like its name on the hub.

    Returns
    -------
    TextScorer

    Raises
    ------
    TermwiseError
        As `open_scorer` and `CrossEncoderScorer.open` do.
    """
    check_path("the scorer", name)
    folder = Path(name)
    of_transformers = kind_of(folder) is None and (folder / CONFIG[0]).is_file()
    named = not folder.exists() and _ON_A_HUB.fullmatch(str(name)) is not None
    if of_transformers or named:
        return CrossEncoderScorer.open(name, device=device, called=called)
    return open_scorer(folder, device=device, name=called)
