"""Training of cross-encoders with the Trainer of sentence-transformers.

The network is BERT over query and passage with one output. The candidates of a query are its passage, passages that
BM25 ranks high for it, and passages of other queries of the batch; the loss is the cross-entropy of the right one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import record

from termwise.collection.training_pairs import PairSource
from termwise.indexing import build_index
from termwise.records import Document, Query

FIRST_RANK, LAST_RANK = 2, 30
"""Ranks of BM25 from which negatives are drawn; the first rank is often relevant."""

SEED = 0

CHECKPOINT = 50
"""Number of training steps between two checkpoints."""


def train_cross_encoder(
    entry: Mapping[str, Any],
    sources: Sequence[PairSource],
    *,
    base: str,
    out: Path,
    work: Path,
    threads: int,
    seed: int = SEED,
) -> None:
    """Train a cross-encoder, or resume its training.

    Parameters
    ----------
    entry : mapping
        ``length`` of query and passage together, ``batch``, ``negatives`` of BM25, ``others`` of the batch,
        ``max_steps``, ``learning_rate`` and ``warm_up``, a share of the steps.
    sources : sequence of PairSource
        Training pairs.
    base : str
        Folder of the encoder, which gets a new head.
    out : Path
        Folder of the cross-encoder.
    work : Path
        Folder of the indexes of the passages.
    threads : int
    seed : int, optional
        Seed of the head, the queries and their negatives.
    """
    import torch

    datasets = record.need("datasets", "datasets", "training a cross-encoder")
    module = record.need(
        "sentence_transformers.cross_encoder", "sentence-transformers", "training a cross-encoder"
    )
    losses = record.need("sentence_transformers.cross_encoder.losses", "sentence-transformers", "its losses")
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    rows = list(training_rows(sources, entry, work, seed))
    record.say(f"{len(rows):,} queries with {entry['negatives']} negatives each")
    network = module.CrossEncoder(
        base, num_labels=1, max_length=entry["length"], device="cpu", activation_fn=torch.nn.Identity()
    )
    training = out.with_name(out.name + ".training")
    settings = module.CrossEncoderTrainingArguments(
        output_dir=str(training),
        per_device_train_batch_size=entry["batch"],
        max_steps=entry["max_steps"],
        learning_rate=entry["learning_rate"],
        warmup_steps=round(entry["warm_up"] * entry["max_steps"]),
        logging_steps=20,
        save_steps=CHECKPOINT,
        save_total_limit=1,
        report_to="none",
        seed=seed,
        bf16=True,
        use_cpu=True,
    )
    module.CrossEncoderTrainer(
        model=network,
        args=settings,
        train_dataset=datasets.Dataset.from_list(rows),
        loss=losses.MultipleNegativesRankingLoss(network, num_negatives=entry["others"]),
    ).train(resume_from_checkpoint=any(training.glob("checkpoint-*")))
    network.save_pretrained(str(out))


def training_rows(
    sources: Sequence[PairSource], entry: Mapping[str, Any], work: Path, seed: int = SEED
) -> Iterator[dict[str, str]]:
    """Yield the queries of all steps in random order, each with its passage and negatives of its source."""
    random = np.random.default_rng(seed)
    wanted = entry["batch"] * entry["max_steps"]
    owners = np.concatenate([np.full(len(source), number) for number, source in enumerate(sources)])
    places = np.concatenate([np.arange(len(source)) for source in sources])
    chosen = random.permutation(len(owners))[:wanted]
    found: dict[int, dict[str, str]] = {}
    for number, source in enumerate(sources):
        mine = [one for one in chosen.tolist() if owners[one] == number]
        if not mine:
            continue
        searcher = build_index(
            [Document(str(i), text) for i, text in enumerate(source.passages)],
            work / source.name,
            overwrite=True,
        )
        pairs = {one: source.pairs[places[one]].tolist() for one in mine}
        run = searcher.rank_many(
            [Query(str(one), source.queries[pair[0]]) for one, pair in pairs.items()], k=LAST_RANK
        )
        for one, (query, passage) in pairs.items():
            ranked = [int(doc_id) for doc_id in run[str(one)].doc_ids[FIRST_RANK - 1 :]]
            others = [place for place in ranked if place != passage]
            if len(others) < entry["negatives"]:
                continue
            drawn = random.choice(others, size=entry["negatives"], replace=False).tolist()
            found[one] = {"query": source.queries[query], "positive": source.passages[passage]}
            found[one] |= {f"negative_{i}": source.passages[place] for i, place in enumerate(drawn)}
    yield from (found[one] for one in chosen.tolist() if one in found)
