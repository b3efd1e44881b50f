"""``termwise fuse`` with folders of indexes in the place of runs: one index whose scores are their fused scores."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from termwise.cli.built import say_built
from termwise.cli.options import available_processors, memory_size
from termwise.cli.terminal import progress_bar
from termwise.cli.weights import say_stand_ins
from termwise.errors import UsageError


def fuse_folders(
    folders: Sequence[Path],
    out: Path | None,
    *,
    alpha: float | None,
    weights: Path | None,
    normalise: Sequence[str] | None,
    overwrite: bool,
    float_weights: bool,
    threads: int | None,
    memory: str,
    as_json: bool,
) -> None:
    """Fuse indexes as the options say.

    Raises
    ------
    UsageError
        If options are missing, or would be ignored.
    TermwiseError
        As `index_weights` and `fuse_indexes` do.
    """
    if len(folders) < 2:
        raise UsageError(
            "there is nothing to fuse", facts=[("indexes", len(folders))], fixes=["give two indexes or more"]
        )
    if out is None:
        raise UsageError("there is no folder for the new index", fixes=["add --out DIR"])
    if (alpha is None) == (weights is None):
        raise UsageError(
            "say where the weights come from, in one way",
            facts=[("expected", "--weights FILE, or --alpha A --normalise raw")],
            fixes=["--weights FILE", "--alpha 0.5 --normalise raw"],
        )
    if alpha is not None and len(folders) != 2:
        raise UsageError(
            "--alpha is the share of the first of two indexes",
            facts=[("indexes", len(folders))],
            fixes=["--weights FILE"],
        )
    if weights is not None and normalise:
        raise UsageError(
            "--normalise goes with other weights than those of a file, which says itself how it is used"
        )
    from termwise.fusion import Fusion, fuse_indexes, index_weights
    from termwise.fusion.interpolation import shares_of
    from termwise.index import Index

    if weights is not None:
        fusion = Fusion.open(weights)
    else:
        scaling: Any = normalise or ["z"]
        fusion = Fusion(
            [folder.name.removesuffix(".tw") for folder in folders],
            shares_of(cast(float, alpha)),
            missing="drop",
            scaling=scaling[0] if len(scaling) == 1 else scaling,
        )
    indexes = [Index.open(folder) for folder in folders]
    shares = index_weights(fusion, indexes)
    if weights is not None:
        say_stand_ins(weights, fusion, [index.path.name.removesuffix(".tw") for index in indexes])
    begin = time.perf_counter()
    with progress_bar() as progress:
        searcher = fuse_indexes(
            indexes,
            shares,
            out,
            quantiser="float32" if float_weights else None,
            overwrite=overwrite,
            threads=threads or available_processors(),
            memory=memory_size(memory),
            progress=progress,
        )
    say_built(out, searcher.index.manifest, time.perf_counter() - begin, as_json)
