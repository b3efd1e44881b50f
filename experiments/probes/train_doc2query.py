"""Train doc2query, a T5 that generates queries for a passage, for probes and `termwise probe doc2query:OUT`.

    python experiments/probes/train_doc2query.py --pairs WORK/prepared/train --base FLAN_T5_SMALL --out OUT

The pairs are the output of ``shipped_models/prepare.py``, one JSONL file of ``{"query", "passage"}`` per source.
Passages and queries have no prompt, as in castorini/doc2query-t5-base-msmarco. The pairs of all steps are drawn at
random, at most ``--most`` per source. ``--both`` also generates the passage of each pair from its query, which the
document likelihood of QLM-T5 needs (``qlm-t5:OUT,likelihood=both``). OUT/doc2query.json records the training.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

import record  # noqa: E402

from termwise.collection.training_pairs import PairSource, read_sources  # noqa: E402

MARGIN = 8
"""Passages are padded to a multiple of this number of pieces."""

CHECKPOINT = 50
"""Number of training steps between two checkpoints."""


def main() -> None:
    parser = record.parser(__doc__)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sources", nargs="*", help="names of sources (default: all)")
    parser.add_argument("--most", type=int, default=20_000, help="maximum pairs per source")
    parser.add_argument("--max-steps", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--learning-rate", type=float, default=3e-4)
    parser.add_argument("--length", type=int, default=192, help="maximum pieces of a passage")
    parser.add_argument("--longest", type=int, default=64, help="maximum pieces of the generated text")
    parser.add_argument("--both", action="store_true", help="train passage from query, too")
    parser.add_argument(
        "--bfloat16", action="store_true", help="faster on processors with AVX-512 BF16 or AMX, and on GPUs"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    sources = [one for one in read_sources(given.pairs) if not given.sources or one.name in given.sources]
    missing = sorted(set(given.sources or ()) - {one.name for one in sources})
    if missing:
        parser.error(f"no such source: {', '.join(missing)}")
    train(given, sources)


def train(given: argparse.Namespace, sources: Sequence[PairSource]) -> None:
    """Train the network, or resume its training."""
    import torch
    import transformers

    torch.set_num_threads(given.threads)
    transformers.set_seed(given.seed)
    network = transformers.AutoModelForSeq2SeqLM.from_pretrained(given.base, dtype=torch.float32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(given.base)
    wanted = given.batch * given.max_steps // (2 if given.both else 1)
    chosen = list(drawn(sources, wanted, given.most, given.seed))
    record.say(f"{len(chosen):,} pairs of {len({name for name, _, _ in chosen})} sources")
    directions = [(passage, query) for _, query, passage in chosen]
    if given.both:
        directions += [(query, passage) for _, query, passage in chosen]
    rows = [
        {
            **tokenizer(condition, truncation=True, max_length=given.length),
            "labels": tokenizer(target, truncation=True, max_length=given.longest)["input_ids"],
        }
        for condition, target in directions
    ]
    training = given.out.with_name(given.out.name + ".training")
    trainer = transformers.Seq2SeqTrainer(
        model=network,
        args=transformers.Seq2SeqTrainingArguments(
            output_dir=str(training),
            per_device_train_batch_size=given.batch,
            max_steps=given.max_steps,
            learning_rate=given.learning_rate,
            warmup_steps=given.max_steps // 10,
            logging_steps=max(1, min(50, given.max_steps // 10)),
            save_steps=CHECKPOINT,
            save_total_limit=1,
            report_to="none",
            seed=given.seed,
            use_cpu=given.device == "cpu",
            bf16=given.bfloat16 or given.device == "cuda",
            dataloader_pin_memory=given.device == "cuda",
            disable_tqdm=True,
        ),
        train_dataset=rows,
        data_collator=transformers.DataCollatorForSeq2Seq(
            tokenizer, model=network, pad_to_multiple_of=MARGIN
        ),
    )
    trainer.train(resume_from_checkpoint=any(training.glob("checkpoint-*")))
    network.save_pretrained(given.out)
    tokenizer.save_pretrained(given.out)
    (given.out / "doc2query.json").write_text(
        json.dumps(training_record(given, chosen, trainer), indent=1) + "\n"
    )
    shutil.rmtree(training, ignore_errors=True)


def drawn(sources: Sequence[PairSource], wanted: int, most: int, seed: int) -> Iterator[tuple[str, str, str]]:
    """Yield source, query and passage of pairs in random order, at most `most` per source."""
    random = np.random.default_rng(seed)
    places = [
        (number, place)
        for number, source in enumerate(sources)
        for place in random.permutation(len(source))[:most].tolist()
    ]
    for one in random.permutation(len(places))[:wanted].tolist():
        number, place = places[one]
        query, passage = sources[number].pairs[place].tolist()
        yield sources[number].name, sources[number].queries[query], sources[number].passages[passage]


def training_record(
    given: argparse.Namespace, chosen: Sequence[tuple[str, str, str]], trainer: Any
) -> dict[str, Any]:
    """Return settings, pairs per source, and losses of the training."""
    names = [name for name, _, _ in chosen]
    return {
        "settings": {
            name: getattr(given, name)
            for name in (
                *("max_steps", "batch", "learning_rate", "length", "longest", "both", "most", "seed"),
                "bfloat16",
            )
        },
        "base": given.base.resolve().name,
        "pairs": {name: names.count(name) for name in sorted(set(names))},
        "loss": {
            str(entry["step"]): round(entry["loss"], 4)
            for entry in trainer.state.log_history
            if "loss" in entry
        },
    }


if __name__ == "__main__":
    record.script(main)
