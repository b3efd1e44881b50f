"""Training of a translation table: from judged pairs to the folder of the table."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from termwise._version import __version__
from termwise.collection.training_pairs import PairSource, different_sources
from termwise.progress import Execution
from termwise.storage.model_folder import TRAINING
from termwise.storage.safe_read import path_exists
from termwise.text import make_analyzer
from termwise.translation.bitext import make_bitext
from termwise.translation.em import STATE, estimate, refuse_foreign, refuse_unfinished
from termwise.translation.settings import Model1Settings
from termwise.translation.table import TranslationTable
from termwise.translation.table_folder import FOLDER, write_table
from termwise.translation.transforms import cut_vocabulary, refuse_empty
from termwise.validation import check, check_threads

_TABLE_SETTINGS = ("vocabulary", "least", "precision")
"""Settings that apply after estimation, and may change when a run resumes."""


def train_model1(
    data: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    settings: Model1Settings = Model1Settings(),  # noqa: B008
    resume: bool = False,
    execution: Execution = Execution(),  # noqa: B008
) -> dict[str, Any]:
    """Train IBM Model 1 on judged pairs and write the folder of its table.

    Parameters
    ----------
    data : str, Path or sequence of them
        Training pairs, see `read_sources`; several sources are combined.
    out : str or Path
        Folder of the table. During training its folder ``training`` holds the state of the run.
    settings : Model1Settings, optional
    resume : bool, optional
        Resume an interrupted run, or start one if there is none; the table is the same, byte for byte.
    execution : Execution, optional
        With more than one thread, processes read large bitexts, and a script needs ``if __name__ == "__main__":``.

    Returns
    -------
    dict
        JSON-like facts: judged ``pairs``, and ``empty`` ones without terms on one side; ``chunks`` paired with their
        query, and skipped ones, ``uneven`` or ``unsampled``; ``sequences``, chunks and swapped pairs; ``terms`` and
        ``tokens`` of the source sides; ``cells`` of the model and ``updates`` of cells per iteration; ``perplexities``;
        ``entries`` of the table; ``lost``, the fraction of the probability mass, over all source tokens, that the table
        lacks; ``bytes``; ``seconds`` by stage and in total.

    Raises
    ------
    ParameterError
        If two sources have the same name, or the settings remove every entry of the table. In the second case the
        estimate is kept, and a run with other settings can resume from it.
    EmptyCollectionError
        If there are no training pairs.
    ForeignFolderError
        If the folder holds foreign files, a run without `resume`, or a finished table.
    StorageError
        If the folder cannot be created or written; this is checked before any data is read.
    TermwiseError
        If there is another error in data, settings or folder.
    """
    check("execution", execution, isinstance(execution, Execution), "an Execution")
    check_threads(execution.threads)
    out = Path(out)
    FOLDER.check_output(out)
    work = out / TRAINING
    refuse_foreign(work)
    if not resume:
        refuse_unfinished(work)
    if not path_exists(work / STATE):
        FOLDER.refuse_finished(out)
        if resume:
            execution.say(f"nothing to resume in {work}: starting from the beginning")
    clock = _Clock()
    read: list[dict[str, Any]] = []
    with FOLDER.working_in(work):
        analyzer = make_analyzer(settings.analyzer)
        bitext = make_bitext(_sources(data, read), analyzer, settings, folder=work, execution=execution)
        clock.lap("read")
        described = {"package": __version__, "data": read, "settings": asdict(settings)}
        model = estimate(
            bitext,
            iterations=settings.iterations,
            tolerance=settings.tolerance,
            floor=settings.floor,
            drop=settings.drop,
            folder=work,
            identity=_identity(described, analyzer.spec.fingerprint),
            resume=resume,
            threads=execution.threads,
            progress=execution.progress,
        )
    clock.lap("train")
    indptr, targets, probabilities = model.rows(least=settings.least)
    table = TranslationTable(
        vocabulary=bitext.vocabulary,
        indptr=indptr,
        targets=targets,
        probabilities=probabilities,
        occurrences=bitext.occurrences,
        analyzer=analyzer.spec,
    )
    table = cut_vocabulary(table, bitext.passage_frequencies, settings.vocabulary)
    refuse_empty(table, least=settings.least)
    tokens = int(bitext.occurrences.sum())
    facts: dict[str, Any] = {
        **described,
        **asdict(bitext.facts),
        "sequences": bitext.sequences,
        "terms": int((bitext.occurrences > 0).sum()),
        "tokens": tokens,
        "cells": len(model.sources),
        "updates": model.updates,
        "perplexities": list(model.perplexities),
        "entries": table.nnz,
        "lost": float(bitext.occurrences @ np.maximum(1 - table.row_sums, 0) / tokens),
    }
    table = replace(table, description=facts)
    size = write_table(table, out, precision=settings.precision)
    shutil.rmtree(work, ignore_errors=True)
    clock.lap("write")
    return {**facts, "bytes": size, "seconds": clock.laps}


def _sources(data: str | Path | Sequence[str | Path], read: list[dict[str, Any]]) -> Iterator[PairSource]:
    """Yield the sources, and append the facts of each to `read`."""
    for source in different_sources([data] if isinstance(data, str | Path) else data):
        read.append(source.facts())
        yield source


def _identity(described: dict[str, Any], analyzer: str) -> dict[str, Any]:
    settings = {name: value for name, value in described["settings"].items() if name not in _TABLE_SETTINGS}
    return {
        "version": described["package"],
        "data": described["data"],
        "settings": settings,
        "analyzer": analyzer,
    }


class _Clock:
    """Seconds of each stage and in total."""

    def __init__(self) -> None:
        self._begin = self._last = time.monotonic()
        self.laps: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        now = time.monotonic()
        self.laps[stage] = round(now - self._last, 2)
        self.laps["total"] = round(now - self._begin, 2)
        self._last = now
