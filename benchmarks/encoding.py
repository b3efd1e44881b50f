r"""How fast documents are encoded: onnxruntime beside torch, and batches by length beside batches as they come.

    pip install -e '.[train]'
    python benchmarks/encoding.py --base ENCODER --work SCRATCH

The network is made from an encoder in the layout of transformers, with the head of ``--kind``; weights do not matter
for speed. It is exported in float32 and in int8 as ``termwise train`` does it, into SCRATCH, and torch runs the very
same network. ``--encoder FOLDER`` takes the networks of an encoder folder instead.

Passages are those of ``python:stdlib``, which every reader has, or of a collection named with ``--data``; longer ones
are cut at ``--length`` pieces. Two ways to make batches:

==========  ==========================================================================================================
by length   as termwise makes them: sorted by length, so many that pieces and padding together stay below a limit
as come     as many passages as ``--batch`` says, in the order of the collection, padded to the longest of the batch
==========  ==========================================================================================================

Contestants take turns, one pass over all passages each, for several rounds; shared machines drift, ratios within a
round do not. The clock runs around batching and the network, not around tokenising and what is made of the outputs.
Results are printed and appended, one JSON object, to ``benchmarks/results/encoding.jsonl``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from retrieval import about, say  # noqa: E402

from termwise.collection import open_collection  # noqa: E402
from termwise.encode.batching import PIECES, PIECES_OF_LOGITS, padded, plan_batches  # noqa: E402
from termwise.encode.folder import OUTPUTS  # noqa: E402
from termwise.encode.manifest import Kind  # noqa: E402
from termwise.encode.pieces import joined, numbers_of  # noqa: E402
from termwise.encode.processor import processor_class  # noqa: E402
from termwise.text import WordPieceAnalyzer  # noqa: E402

Ids = npt.NDArray[np.int32]
Batches = list[npt.NDArray[np.int64]]
Network = Callable[[npt.NDArray[np.int64], npt.NDArray[np.int64]], npt.NDArray[np.float32]]

CLS, SEP, PAD = 101, 102, 0

OURS = "onnxruntime float32, by length"
TORCH = "torch float32, by length"
TORCH_AS_COME = "torch float32, as come"


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--base", type=Path, help="an encoder in the layout of transformers, such as all-MiniLM-L6-v2"
    )
    source.add_argument(
        "--encoder", type=Path, help="an encoder folder with a float32 network made by termwise train"
    )
    parser.add_argument("--kind", choices=sorted(OUTPUTS), default="tildev2")
    parser.add_argument("--work", type=Path, required=True, help="folder for the exported networks; kept")
    parser.add_argument("--data", default="python:stdlib", help="a collection, as termwise index takes it")
    parser.add_argument("--passages", type=int, default=512)
    parser.add_argument(
        "--length", type=int, default=256, help="most pieces of a passage, special ones included"
    )
    parser.add_argument("--batch", type=int, default=32, help="passages of a batch as they come")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    arguments = parser.parse_args(given)

    kind, torch_network, files = networks(arguments)
    inputs = passages(arguments)
    lengths = [len(one) for one in inputs]
    limit = PIECES_OF_LOGITS if kind == "splade-doc" else PIECES
    ours = plan_batches(lengths, pieces=limit)
    come = [
        np.arange(first, min(first + arguments.batch, len(inputs)))
        for first in range(0, len(inputs), arguments.batch)
    ]
    contestants: dict[str, tuple[Network, Batches]] = {
        TORCH: (torch_network, ours),
        TORCH_AS_COME: (torch_network, come),
    }
    for precision, path in files.items():
        network = onnx_network(path, kind, arguments.threads)
        contestants[f"onnxruntime {precision}, by length"] = network, ours
        contestants[f"onnxruntime {precision}, as come"] = network, come
    seconds = interleaved(contestants, inputs, arguments.rounds)
    report: dict[str, Any] = {
        "about": about()
        | {
            "class": processor_class(),
            "packages": {name: version(name) for name in ("numpy", "onnxruntime", "torch", "transformers")},
        },
        "settings": {
            "kind": kind,
            "network": str((arguments.base or arguments.encoder).name),
            "file bytes": {precision: path.stat().st_size for precision, path in files.items()},
            "data": arguments.data,
            "passages": len(inputs),
            "pieces": {
                "mean": float(np.mean(lengths)),
                "p50": float(np.percentile(lengths, 50)),
                "p90": float(np.percentile(lengths, 90)),
                "most": int(max(lengths)),
            },
            "pieces with padding": {"by length": filled(ours, lengths), "as come": filled(come, lengths)},
            "threads": arguments.threads,
            "batch as they come": arguments.batch,
            "rounds": arguments.rounds,
        },
        "agreement with torch": {
            precision: difference(
                contestants[f"onnxruntime {precision}, by length"], contestants[TORCH], inputs
            )
            for precision in files
        },
        "passages a second": show(seconds, len(inputs)),
        "ratios": {},
    }
    for one, other in pairs(list(contestants)):
        report["ratios"][f"{one} / {other}"] = ratio(seconds[one], seconds[other])
    say("\nspeed of one over that of the other: median, least and most of the rounds")
    for name, found in report["ratios"].items():
        say(f"  {name:74}{found['median']:6.2f}{found['least']:7.2f}{found['most']:6.2f}")
    report["load at the end"] = os.getloadavg()
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = arguments.out / "encoding.jsonl"
    with results.open("a") as file:
        file.write(json.dumps(report) + "\n")
    say(f"appended to {results}")


def pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the comparisons that are wanted: ours over torch on the same batches, and over its usual ones."""
    found = [(name, TORCH) for name in names if name.startswith("onnxruntime") and name.endswith("by length")]
    found += [
        (name, TORCH_AS_COME)
        for name in names
        if name.startswith("onnxruntime") and name.endswith("by length")
    ]
    found += [
        (name, TORCH_AS_COME) for name in names if name.startswith("onnxruntime") and name.endswith("as come")
    ]
    int8 = "onnxruntime int8, by length"
    return found + ([(int8, OURS)] if int8 in names else [])


# --- the networks -----------------------------------------------------------------------------------------------


def networks(arguments: argparse.Namespace) -> tuple[Kind, Network, dict[str, Path]]:
    """Return the kind, the network in torch, and the files for onnxruntime by precision."""
    import onnx
    import torch

    from termwise.train.export import initialisers, network_of, to_onnx
    from termwise.train.networks import network_from
    from termwise.train.quantise import quantise

    torch.set_num_threads(arguments.threads)
    if arguments.encoder is not None:
        from termwise.encode import EncoderFolder

        folder = EncoderFolder.open(arguments.encoder)
        files = {precision: folder.path(name) for precision, name in folder.manifest.networks().items()}
        if "float32" not in files:
            raise SystemExit("the encoder has no network in float32, which torch needs; use --base")
        model = onnx.load(files["float32"])
        network = network_of(model, initialisers(model)).eval()
        return folder.manifest.kind, torch_runner(network), dict(files)
    torch.manual_seed(arguments.seed)
    network = network_from(arguments.kind, arguments.base).eval()
    arguments.work.mkdir(parents=True, exist_ok=True)
    exported = {
        precision: arguments.work
        / f"{arguments.base.resolve().name}-{arguments.kind}-{arguments.seed}-{precision}.onnx"
        for precision in ("float32", "int8")
    }
    if not all(path.is_file() for path in exported.values()):
        say("exporting")
        model = to_onnx(network)
        onnx.save(quantise(model), exported["int8"])
        onnx.save(model, exported["float32"])
    return arguments.kind, torch_runner(network), exported


def torch_runner(network: Any) -> Network:
    """Run a network of torch on arrays, as transformers runs it where nothing is said: scaled dot-product attention."""
    import torch

    network.pretrained.set_attn_implementation("sdpa")

    def run(ids: npt.NDArray[np.int64], mask: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        with torch.inference_mode():
            found: npt.NDArray[np.float32] = network(torch.from_numpy(ids), torch.from_numpy(mask)).numpy()
        return found

    return run


def onnx_network(path: Path, kind: Kind, threads: int) -> Network:
    """Run a network of onnxruntime with the options of `termwise.encode.session.OnnxSession`."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def run(ids: npt.NDArray[np.int64], mask: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        (found,) = session.run([OUTPUTS[kind]], {"input_ids": ids, "attention_mask": mask})
        values: npt.NDArray[np.float32] = found
        return values

    return run


# --- passages ---------------------------------------------------------------------------------------------------


def passages(arguments: argparse.Namespace) -> list[Ids]:
    """Return inputs of real passages, in an order drawn by the seed, as the passages of a mixed collection come."""
    analyzer = WordPieceAnalyzer.shipped()
    texts = [document.text for document in open_collection(arguments.data).documents()]
    random = np.random.default_rng(arguments.seed)
    chosen = random.permutation(len(texts))[: arguments.passages]
    return [
        joined(CLS, numbers_of(analyzer, texts[place])[: arguments.length - 2], SEP)
        for place in chosen.tolist()
    ]


def filled(batches: Batches, lengths: Sequence[int]) -> int:
    """Return the pieces that a network reads, padding included."""
    return sum(len(batch) * max(lengths[place] for place in batch.tolist()) for batch in batches)


# --- the clock --------------------------------------------------------------------------------------------------


def interleaved(
    contestants: dict[str, tuple[Network, Batches]], inputs: Sequence[Ids], rounds: int
) -> dict[str, npt.NDArray[np.float64]]:
    """Let every contestant encode all passages in turn, round after round; return the seconds of each pass."""
    for network, batches in contestants.values():
        for batch in (batches[0], batches[-1]):
            network(*padded([inputs[place] for place in batch.tolist()], PAD))
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds):
        for name, (network, batches) in contestants.items():
            begin = time.perf_counter()
            for batch in batches:
                network(*padded([inputs[place] for place in batch.tolist()], PAD))
            seconds[name].append(time.perf_counter() - begin)
        say(f"round {number + 1} of {rounds}")
    return {name: np.array(times) for name, times in seconds.items()}


def difference(
    one: tuple[Network, Batches], other: tuple[Network, Batches], inputs: Sequence[Ids]
) -> dict[str, float]:
    """Return how far two networks are apart on one batch: largest and mean difference where there are pieces."""
    batch = one[1][len(one[1]) // 2]
    ids, mask = padded([inputs[place] for place in batch.tolist()], PAD)
    first, second = one[0](ids, mask), other[0](ids, mask)
    apart = np.abs(first - second)
    apart = apart[mask != 0] if first.shape == mask.shape else apart
    return {
        "largest": float(apart.max()),
        "mean": float(apart.mean()),
        "mean of torch": float(np.abs(second).mean()),
    }


def show(seconds: dict[str, npt.NDArray[np.float64]], count: int) -> dict[str, dict[str, float]]:
    """Print and return passages a second: of the median round, the slowest and the fastest."""
    say(f"\n{'passages a second':40}{'median':>9}{'least':>9}{'most':>9}")
    table = {}
    for name, times in seconds.items():
        row = {
            "median": count / float(np.median(times)),
            "least": count / float(times.max()),
            "most": count / float(times.min()),
        }
        table[name] = row
        say(f"{name:40}{row['median']:9.1f}{row['least']:9.1f}{row['most']:9.1f}")
    return table


def ratio(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> dict[str, float]:
    """Return how many times as fast one is as the other, round by round."""
    found = other / one
    return {"median": float(np.median(found)), "least": float(found.min()), "most": float(found.max())}


def version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


if __name__ == "__main__":
    sys.exit(main())
