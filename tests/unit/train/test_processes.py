"""Training with several processes; here two on the CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.unit.train.conftest import write_jsonl


def test_two_processes_share_the_batches_and_one_writes(base: Path, tmp_path: Path) -> None:
    words = ("wing", "heat", "sort", "graph", "cache", "packet", "shock", "queue")
    pairs = [{"query": f"what {a} {b}", "passage": f"{a} of the {b} flow"} for a in words for b in words]
    data = write_jsonl(tmp_path / "pairs.jsonl", *pairs)
    out = tmp_path / "made"
    settings = ["batch=4", "epochs=1", "negatives=1", "document_length=16", "validation_queries=4"]
    command = [
        *(sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", "--standalone"),
        *("-m", "termwise", "train", "tildev2", "--expand-with", "none", "--threads", "1", "--json"),
        *("--data", str(data), "--base", str(base), "--out", str(out)),
        *(part for setting in settings for part in ("--set", setting)),
    ]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = done.stdout.splitlines()
    facts = json.loads(line)
    held_out = 1
    batches = (len(pairs) - held_out) // 4
    assert facts["processes"] == 2
    assert facts["steps"] == -(-batches // 2)
    assert facts["pairs_seen"] == facts["best"].get("step", facts["steps"]) * 2 * 4
    assert (out / "encoder.json").is_file()
    assert len((out / "training" / "log.jsonl").read_text().splitlines()) >= 1
