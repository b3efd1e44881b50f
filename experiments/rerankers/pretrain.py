"""Train an encoder further on the texts of a collection, as before the ranking networks of the paper on neural Model 1.

    python experiments/rerankers/pretrain.py --collection FOLDER --base ENCODER --out OUT

The objectives are those of BERT: 15 % of the pieces are masked, and the second part of a window is the continuation of
the first in half of the windows (Boytsov & Kolter, ECIR 2021, section 4.1). Learning rate, warm-up and batch are those
of the published code. A document is cut into two parts at a random sentence. OUT is an encoder for ``termwise train``;
OUT/pretraining.json records the training. An interrupted training continues.
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

from termwise.collection import open_collection  # noqa: E402

CHECKPOINT = 50
"""Number of training steps between two checkpoints."""

FEWEST = 8
"""Smallest number of pieces of a document that is used."""


def main() -> None:
    parser = record.parser(__doc__, "threads")
    parser.add_argument("--collection", required=True, help="BEIR folder, file or ir_datasets:ID")
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--length", type=int, default=160, help="pieces of a window")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--max-steps", type=int, default=0, help="0 for all windows")
    parser.add_argument("--learning-rate", type=float, default=3e-5)
    parser.add_argument("--seed", type=int, default=0)
    train(parser.parse_args())


def train(given: argparse.Namespace) -> None:
    """Train the encoder, or resume its training."""
    import torch
    import transformers

    torch.set_num_threads(given.threads)
    transformers.set_seed(given.seed)
    network = transformers.BertForPreTraining.from_pretrained(given.base, dtype=torch.float32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(given.base)
    texts = [document.text for document in open_collection(given.collection).documents()]
    rows = [tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"] for text in texts]
    examples = [one for epoch in range(given.epochs) for one in windows(rows, given, tokenizer, epoch)]
    steps = -(-len(examples) // given.batch)
    steps = min(steps, given.max_steps) if given.max_steps else steps
    record.say(f"{len(examples):,} windows of {len(texts):,} documents, {steps:,} steps")
    training = given.out.with_name(given.out.name + ".training")
    trainer = transformers.Trainer(
        model=network,
        args=transformers.TrainingArguments(
            output_dir=str(training),
            per_device_train_batch_size=given.batch,
            max_steps=steps,
            learning_rate=given.learning_rate,
            warmup_steps=steps // 10,
            logging_steps=max(1, min(50, steps // 10)),
            save_steps=CHECKPOINT,
            save_total_limit=1,
            report_to="none",
            seed=given.seed,
            use_cpu=not torch.cuda.is_available(),
            disable_tqdm=True,
        ),
        train_dataset=examples,
        data_collator=transformers.DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15),
    )
    trainer.train(resume_from_checkpoint=any(training.glob("checkpoint-*")))
    network.bert.save_pretrained(given.out)
    tokenizer.save_pretrained(given.out)
    facts = {
        "settings": {
            name: getattr(given, name) for name in ("length", "epochs", "batch", "learning_rate", "seed")
        },
        "base": given.base.resolve().name,
        "collection": Path(given.collection).name,
        "documents": len(texts),
        "windows": len(examples),
        "steps": steps,
        "loss": {
            str(entry["step"]): round(entry["loss"], 4)
            for entry in trainer.state.log_history
            if "loss" in entry
        },
    }
    (given.out / "pretraining.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    shutil.rmtree(training, ignore_errors=True)


def windows(
    rows: Sequence[Sequence[int]], given: argparse.Namespace, tokenizer: Any, epoch: int
) -> Iterator[dict[str, Any]]:
    """Yield a window of two parts for each document of two parts; ``next_sentence_label`` is 0 for a continuation."""
    random = np.random.default_rng((given.seed, epoch))
    end = tokenizer.convert_tokens_to_ids(".")
    usable = [row for row in rows if len(row) >= FEWEST]
    room = given.length - 3
    for number in random.permutation(len(usable)).tolist():
        row = usable[number]
        ends = [place + 1 for place, piece in enumerate(row[:-2]) if piece == end]
        cut = int(random.choice(ends)) if ends else len(row) // 2
        first, second = row[max(0, cut - room // 2) : cut], row[cut:]
        other = bool(random.random() < 0.5) and len(usable) > 1
        if other:
            row = usable[(number + int(random.integers(1, len(usable)))) % len(usable)]
            second = row[len(row) // 2 :]
        second = second[: room - len(first)]
        ids = [tokenizer.cls_token_id, *first, tokenizer.sep_token_id, *second, tokenizer.sep_token_id]
        yield {
            "input_ids": ids,
            "token_type_ids": [0] * (len(first) + 2) + [1] * (len(second) + 1),
            "attention_mask": [1] * len(ids),
            "next_sentence_label": int(other),
        }


if __name__ == "__main__":
    record.script(main)
