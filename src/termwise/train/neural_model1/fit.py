"""Train neural Model 1 on judged pairs and write its translation table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from termwise._version import __version__
from termwise.errors import ParameterError
from termwise.fixes import Fix
from termwise.progress import Execution
from termwise.text import Analyzer, Vocabulary, make_analyzer
from termwise.train.base_encoder import base_analyzer, base_name
from termwise.train.data.hard_negatives import load_or_mine_negatives
from termwise.train.data.held_out import HeldOut, measure_scores
from termwise.train.data.training_data import read_training_data
from termwise.train.loop.initial_weights import initial_network
from termwise.train.networks import TildeV2Network, torch_threads
from termwise.train.neural_model1.bags import JudgedBags, bags_of
from termwise.train.neural_model1.network import TranslationNetwork, make_network
from termwise.train.neural_model1.scoring import rank_all
from termwise.train.neural_model1.settings import FROM_SCRATCH, NeuralModel1Settings
from termwise.train.neural_model1.table_export import export_table
from termwise.train.neural_model1.training_loop import Validate, train
from termwise.train.run_folder import RunFolder, check_sources
from termwise.translation.em import refuse_unfinished
from termwise.translation.table_folder import FOLDER, write_table
from termwise.translation.transforms import refuse_empty
from termwise.validation import check

_MAY_CHANGE = ("least", "unseen", "keep", "precision")
"""Settings of the export, which may change when a run is resumed."""


def train_neural_model1(
    data: Sequence[str | Path],
    out: str | Path,
    *,
    settings: NeuralModel1Settings = NeuralModel1Settings(),  # noqa: B008
    validation: str | Path | None = None,
    resume: bool = False,
    execution: Execution = Execution(),  # noqa: B008
) -> dict[str, Any]:
    """Train neural Model 1 without context, and write the folder of its translation table.

    Parameters
    ----------
    data : sequence of str or Path
        Training pairs, see `read_sources`; one or more.
    out : str or Path
        The folder of the table. Its folder ``training`` holds settings, log, checkpoint and best weights.
    settings : NeuralModel1Settings, optional
    validation : str or Path, optional
        Held-out pairs, see `termwise.train.data.training_data.read_training_data`.
    resume : bool, optional
        Continue an interrupted run, or start if there is none; a finished run is exported again. On one CPU the result
        equals the result of an uninterrupted run, bit for bit.
    execution : Execution, optional
        Its threads are also those of torch during training.

    Returns
    -------
    dict
        JSON-like facts: ``data`` and ``settings``; ``queries``, the number of training queries; ``steps``; ``best``,
        the selected step and its measures; ``validation``, the origin of the held-out pairs; ``sources``, ``targets``,
        ``entries`` and ``bytes`` of the table; ``seconds`` of training, of the export and in total.

    Raises
    ------
    ParameterError
        If the analyzer has no fixed vocabulary, two sources have the same name, or the table would be empty.
    EmptyCollectionError
        If there is no training data.
    ForeignFolderError
        If the folder contains something else, a run and `resume` is false, or a table without a run.
    TermwiseError
        If data or folder cannot be used.
    """
    check_sources("data", data)
    check("settings", settings, isinstance(settings, NeuralModel1Settings), "NeuralModel1Settings")
    begin = time.monotonic()
    run = RunFolder.of(FOLDER, out, resume=resume, execution=execution)
    refuse_unfinished(run.path)
    read = read_training_data(
        data, validation=validation, queries=settings.validation_queries, seed=settings.seed
    )
    torch.manual_seed(settings.seed)
    analyzer, network = _initial_network(settings)
    vocabulary = analyzer.vocabulary
    assert vocabulary is not None
    identity = {
        **read.identity(),
        "analyzer": analyzer.spec.fingerprint,
        "settings": asdict(settings),
    }
    with run.claimed(identity, may_change=_MAY_CHANGE):
        mined = load_or_mine_negatives(read.sources, run, depth=settings.negative_depth, seed=settings.seed)
        judged_bags = JudgedBags.of(
            read.sources,
            mined,
            analyzer,
            vocabulary,
            negatives=settings.negatives,
            query_length=settings.query_length,
            document_length=settings.document_length,
            progress=execution.progress,
        )
    execution.say(
        f"training neural Model 1 on {len(judged_bags.judged):,} queries with "
        f"{len(judged_bags.judged.relevant):,} passages: "
        f"{sum(parameter.numel() for parameter in network.parameters()):,} parameters"
    )
    with torch_threads(execution.threads):
        trained = train(
            network,
            judged_bags,
            run,
            settings=settings,
            validate=None
            if read.held_out is None
            else _validation(network, analyzer, vocabulary, read.held_out, settings),
        )
    terms = len(vocabulary)
    occurrences = judged_bags.passages.totals(terms)
    sources, targets = (
        np.arange(terms) if settings.unseen else np.flatnonzero(totals)
        for totals in (occurrences, judged_bags.queries.totals(terms))
    )
    facts: dict[str, Any] = {
        "package": __version__,
        "torch": torch.__version__,
        "data": [source.facts() for source in read.sources],
        "settings": asdict(_public_settings(settings)),
        "queries": len(judged_bags.judged),
        "validation": read.origin,
        "steps": trained["steps"],
        "best": trained["best"],
        "sources": len(sources),
        "targets": len(targets),
    }
    export_start = time.monotonic()
    table = export_table(
        network,
        analyzer,
        sources=sources,
        targets=targets,
        occurrences=occurrences,
        settings=settings,
        threads=execution.threads,
        folder=run.path,
        description=facts,
        progress=execution.progress,
    )
    refuse_empty(table, least=settings.least)
    computed = time.monotonic()
    size = write_table(table, out, precision=settings.precision)
    seconds = {
        "train": trained["seconds"],
        "export": round(computed - export_start, 1),
        "write": round(time.monotonic() - computed, 1),
        "total": round(time.monotonic() - begin, 1),
    }
    return {**facts, "entries": table.nnz, "bytes": size, "seconds": seconds}


def _initial_network(settings: NeuralModel1Settings) -> tuple[Analyzer, TranslationNetwork]:
    analyzer: Analyzer
    embeddings = None
    if settings.embeddings == FROM_SCRATCH:
        analyzer = make_analyzer(settings.analyzer)
    else:
        analyzer = base_analyzer(settings.embeddings)
        encoder = initial_network(TildeV2Network.kind, settings.embeddings).encoder
        rows = cast(nn.Embedding, encoder.get_input_embeddings()).weight.detach()
        embeddings = rows[: len(analyzer.vocabulary)].to(torch.float32)
    if analyzer.vocabulary is None:
        raise ParameterError(
            "neural Model 1 needs an analyzer with a fixed vocabulary",
            facts=[("analyzer", settings.analyzer)],
            fixes=[Fix.settings(analyzer="wordpiece"), Fix.settings(analyzer="wordpiece:PATH/vocab.txt")],
        )
    network = make_network(
        len(analyzer.vocabulary),
        form=settings.form,
        width=settings.width if embeddings is None else embeddings.shape[1],
        projection=settings.projection,
        hidden=settings.widths,
        spread=settings.spread,
        expected=settings.expected,
    )
    if embeddings is not None:
        with torch.no_grad():
            for rows in network.row_parameters():
                rows.copy_(embeddings)
    return analyzer, network.to("cuda" if torch.cuda.is_available() else "cpu")


def _public_settings(settings: NeuralModel1Settings) -> NeuralModel1Settings:
    """Return settings with names instead of local paths."""
    name, colon, path = settings.analyzer.partition(":")
    scratch = settings.embeddings == FROM_SCRATCH
    return replace(
        settings,
        analyzer=f"{name}{colon}{Path(path).name}",
        embeddings=FROM_SCRATCH if scratch else base_name(settings.embeddings),
    )


def _validation(
    network: TranslationNetwork,
    analyzer: Analyzer,
    vocabulary: Vocabulary,
    held_out: HeldOut,
    settings: NeuralModel1Settings,
) -> Validate:
    """Return a function that ranks the held-out passages, without truncation, for every held-out query."""
    queries = bags_of(held_out.queries, analyzer, vocabulary)
    passages = bags_of(held_out.passages, analyzer, vocabulary)
    return lambda: measure_scores(
        rank_all(network, queries, passages, p_self=settings.self_translation), held_out
    )
