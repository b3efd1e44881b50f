"""Training of re-ranking networks: from judged pairs and a base encoder to the folder of a scorer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from accelerate import PartialState
from transformers import set_seed

from termwise._version import __version__
from termwise.collection.training_pairs import PairSource
from termwise.errors import ParameterError
from termwise.fixes import Code, Fix
from termwise.progress import Execution
from termwise.search.candidates import rank_candidates
from termwise.text import WordPieceAnalyzer
from termwise.train.base_encoder import base_analyzer, base_name
from termwise.train.data.expansions import Place
from termwise.train.data.hard_negatives import load_or_mine_negatives, mine_negatives
from termwise.train.data.held_out import HeldOut, measure_rankings
from termwise.train.data.sampling import JudgedQueries
from termwise.train.data.teacher import TeacherVectors
from termwise.train.data.training_data import read_training_data
from termwise.train.dense_encoder import load_dense_encoder
from termwise.train.inputs import Pieces
from termwise.train.loop.checkpoints import last_checkpoint, step_of
from termwise.train.loop.trainer import TermTrainer, Validate, check_precision, training_arguments
from termwise.train.networks import report_slow_bfloat16, set_dropout, torch_threads
from termwise.train.run_folder import CHECKPOINTS, RunFolder, check_sources
from termwise.train.settings import NO_TEACHER
from termwise.validation import check
from termwise.yardsticks.rerankers.bm25_teacher import Bm25Teacher
from termwise.yardsticks.rerankers.card import scorer_card
from termwise.yardsticks.rerankers.folder import FOLDER, scorer_tokenizer, write_scorer
from termwise.yardsticks.rerankers.kinds import network_type
from termwise.yardsticks.rerankers.network import Reranker, check_windows
from termwise.yardsticks.rerankers.scorer import RerankerScorer
from termwise.yardsticks.rerankers.settings import Reading, TrainingSettings
from termwise.yardsticks.rerankers.step import PairCollator, RankingStep, SampledBatches

_MAY_CHANGE = ("learning_rate", "head_learning_rate", "workers")
"""Settings that may change when a run is resumed: learning rates, to save a run that diverged, and settings that do not
affect the result."""


def train_reranker(
    kind: str,
    data: Sequence[str | Path],
    base: str | Path,
    out: str | Path,
    *,
    settings: TrainingSettings | None = None,
    validation: str | Path | None = None,
    resume: bool = False,
    execution: Execution = Execution(),  # noqa: B008
) -> dict[str, Any]:
    """Train a re-ranking network, and write a folder for `termwise.yardsticks.rerankers.folder.read_scorer_folder`.

    Parameters
    ----------
    kind : str
        One of `termwise.yardsticks.rerankers.kinds.KINDS`.
    data : sequence of str or Path
        Training pairs, see `read_sources`; several sources are joined.
    base : str or Path
        The initial encoder, see `termwise.train.loop.initial_weights.initial_network`.
    out : str or Path
        The scorer folder; its folder ``training`` has settings, log and checkpoints.
    settings : TrainingSettings, optional
        Of the ``settings_type`` of the kind; by default its defaults.
    validation : str or Path, optional
        Held-out pairs, see `termwise.train.data.training_data.read_training_data`.
    resume : bool, optional
        Continue from the last complete checkpoint, or begin if there is none. On one CPU the result is identical, bit
        for bit, to that of an uninterrupted run.

    Returns
    -------
    dict
        JSON-like facts, the value of ``trained`` in ``scorer.json``.
    """
    network_kind = network_type(kind)
    settings = network_kind.settings_type() if settings is None else settings
    expected = network_kind.settings_type
    check_sources("data", data)
    check("base", base, isinstance(base, str | Path), "a name or a folder")
    check("settings", settings, isinstance(settings, expected), expected.__name__)
    run = RunFolder.of(FOLDER, out, resume=resume, execution=execution, base=base)
    checkpoints, threads, say = run.path / CHECKPOINTS, execution.threads, execution.say
    process = _process(network_kind.title)
    check_precision(settings.precision)
    report_slow_bfloat16(settings.precision, say)
    training_data = read_training_data(
        data, validation=validation, queries=settings.validation_queries, seed=settings.seed
    )
    sources, held_out = training_data.sources, training_data.held_out
    if settings.source_queries:
        sources = [source.sample(settings.source_queries, settings.seed) for source in sources]
    analyzer = scorer_tokenizer(base) or base_analyzer(base)
    set_seed(settings.seed)
    network = network_kind.from_base(base, reading_of(settings, network_kind)).to(process.device)
    check_windows(network, analyzer)
    set_dropout(network, settings.dropout)
    if settings.checkpointing:
        network.checkpoint_activations()
    encoder = None
    if settings.teacher != NO_TEACHER and not network_kind.generative:
        encoder = load_dense_encoder(settings.teacher, say=say)
    judged_of = partial(
        JudgedQueries.of,
        sources,
        queries=_not_empty([text for source in sources for text in source.queries], analyzer),
        passages=_not_empty([text for source in sources for text in source.passages], analyzer),
        negatives=settings.negatives,
    )
    judged_of(
        [np.empty((len(source), 0), np.int32) for source in sources]
    )  # raises an error if there are none
    request = {
        "kind": kind,
        "base": str(base),
        **training_data.identity(),
        "settings": asdict(settings),
    }
    run.claim(request, may_change=_MAY_CHANGE)
    checkpoint = last_checkpoint(checkpoints, say=say) if resume else None
    mined = load_or_mine_negatives(sources, run, depth=settings.negative_depth, seed=settings.seed)
    judged = judged_of(mined)
    batches = SampledBatches(judged, settings, generative=network_kind.generative)
    steps = -(-len(batches) // settings.accumulate)
    say(
        f"training {network_kind.title} from {base_name(base)} on {len(judged):,} queries with "
        f"{len(judged.relevant):,} passages: {steps:,} steps of {settings.batch * settings.accumulate:,} queries"
    )
    run.report_resumption(0 if checkpoint is None else step_of(checkpoint), steps)
    joined = _joined(sources)
    teacher = None
    if encoder is not None:
        with torch_threads(threads):
            teacher = TeacherVectors.make(
                encoder, [joined], *_read_places(batches), run, length=network.reading.chunk_length
            )
    bm25 = None
    if teacher is not None and settings.teacher_bm25:
        bm25 = Bm25Teacher(joined.passages, settings.teacher_bm25)
    trainer = TermTrainer(
        RankingStep(network, settings),
        training_arguments(checkpoints, settings, steps=steps, validation=held_out is not None),
        batches,
        PairCollator(network, Pieces(analyzer, kind), joined, batches, teacher, bm25),
        settings=settings,
        validate=None
        if held_out is None
        else validation_of(network, analyzer, held_out, settings, threads=threads),
        folder=run,
    )
    with torch_threads(threads):
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    facts = {
        "package": __version__,
        "torch": torch.__version__,
        "kind": kind,
        "base": base_name(base),
        "data": [source.facts() for source in sources],
        "settings": asdict(settings) | {"teacher": base_name(settings.teacher)},  # no local path
        "queries": len(judged),
        "pairs_read": sum(batches.passages(number).size for number in range(len(batches))),
        "validation": training_data.origin,
        "steps": trainer.state.global_step,
        "best": trainer.best,
        "seconds": round(trainer.seconds, 1),
    }
    run.write_facts(facts)
    card = scorer_card(Path(out).resolve().name, network_kind, facts)
    write_scorer(network, analyzer, out, trained=facts, card=card)
    return facts


def reading_of(settings: TrainingSettings, kind: type[Reranker]) -> Reading:
    """Return the configuration of a network from its settings."""
    return kind.reading_type(**{one.name: getattr(settings, one.name) for one in fields(kind.reading_type)})


def _joined(sources: Sequence[PairSource]) -> PairSource:
    """Return the texts of all sources as one, numbered as in `JudgedQueries`; it has no pairs."""
    return PairSource(
        "all",
        [text for source in sources for text in source.queries],
        [text for source in sources for text in source.passages],
        np.empty((0, 2), dtype=np.int32),
    )


def _read_places(batches: SampledBatches) -> tuple[set[Place], set[Place]]:
    """Return the queries and the passages of all batches, in the joined source."""
    queries, passages = set[int](), set[int]()
    for number in range(len(batches)):
        queries.update(batches.sample(number).queries.tolist())
        passages.update(batches.passages(number).ravel().tolist())
    return {(0, query) for query in queries}, {(0, passage) for passage in passages}


def _process(title: str) -> PartialState:
    process = PartialState(cpu=not torch.cuda.is_available())
    if process.num_processes > 1:
        raise ParameterError(
            f"{title} is trained in one process",
            facts=[("processes", process.num_processes)],
            fixes=[
                "start it without torchrun",
                Fix.use("{}, for steps of more queries", accumulate=Code("N")),
            ],
        )
    return process


def _not_empty(texts: Sequence[str], analyzer: WordPieceAnalyzer) -> npt.NDArray[np.bool_]:
    return np.array([bool(analyzer.tokens(text)) for text in texts], dtype=np.bool_)


def validation_of(
    network: Reranker,
    analyzer: WordPieceAnalyzer,
    held_out: HeldOut,
    settings: TrainingSettings,
    *,
    threads: int = 1,
) -> Validate:
    """Return a function that ranks the relevant passages and the BM25 results of each held-out query."""
    candidates = candidates_of(held_out, depth=settings.validation_depth, seed=settings.seed, threads=threads)

    def validate() -> Mapping[str, float]:
        training = network.training
        scorer = RerankerScorer(network=network, analyzer=analyzer)
        rankings = []
        for number, passages in enumerate(candidates):
            scores = scorer.score(
                held_out.queries[number], [held_out.passages[position] for position in passages]
            )
            rankings.append(rank_candidates([str(position) for position in passages], scores, str(number)))
        network.train(training)
        return measure_rankings(rankings, held_out)

    return validate


def candidates_of(held_out: HeldOut, *, depth: int, seed: int, threads: int = 1) -> list[list[int]]:
    """Return the candidates of each held-out query: passages retrieved by BM25, then the relevant ones.

    In this order, a network with equal scores for all candidates ranks the relevant ones last.
    """
    judged = dict.fromkeys((int(one.query_id), int(one.doc_id)) for one in held_out.qrels)
    pairs = np.array(list(judged), dtype=np.int32)  # distinct, in order
    source = PairSource("held-out", held_out.queries, held_out.passages, pairs.reshape(-1, 2))
    mined = mine_negatives(source, depth=depth, seed=seed, threads=threads)
    candidates: list[list[int]] = [[] for _ in held_out.queries]
    for (query, _), passages in zip(pairs.tolist(), mined.tolist(), strict=True):
        candidates[query] = [passage for passage in passages if passage >= 0]
    for query, passage in pairs.tolist():
        candidates[query].append(passage)
    return candidates
