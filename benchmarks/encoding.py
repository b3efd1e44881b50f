r"""Speed of document encoding: onnxruntime in comparison with torch, and two ways to form batches.

    pip install -e '.[train]'
    python benchmarks/encoding.py --base ENCODER --work SCRATCH

The network is made from an encoder in the layout of transformers, with the head of ``--kind``; the values of the
weights do not affect the speed. It is exported in float32 and in int8 as by ``termwise train``, into an encoder
folder in SCRATCH, and torch runs the same network. ``--encoder FOLDER`` uses the networks of an encoder folder instead.

Passages are those of ``python:stdlib`` or of a collection named with ``--data``; longer ones are cut at ``--length``
(repeatable), by default at the window of the encoder and at 256 pieces. With ``--base``, the window is that of the
shipped encoder of this kind. The length determines the share of padding.

==========  ==========================================================================================================
by length   batches of termwise: sorted by length, limited by the number of pieces with padding
as come     ``--batch`` passages per batch in the order of the collection, padded to the longest of the batch
whole way   `DocumentEncoder.encode_documents`, from texts to rows: tokenising, windows, network by length, pooling
==========  ==========================================================================================================

In each round, each contestant makes one pass over all passages, after a pause in which the threads of the contestant
before stop. Except for the whole way, the clock covers batching and the network only.

Targets, by the median ratio: with the same batches at least the speed of torch in float32; batches by length at least
1.6 times the speed of torch in float32 with batches as they come. Before timing, all batches are compared with torch:
float32 outputs must agree to 1e-4. Results are printed and appended as one JSON object to
``benchmarks/results/encoding.jsonl``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

from record import parser, script  # noqa: E402
from timing import RESULTS, about, append, passes, say, show_rates, speedup  # noqa: E402

from termwise.collection import open_collection  # noqa: E402
from termwise.encode import EncoderFolder, open_document_encoder, shipped_encoders  # noqa: E402
from termwise.encode.batches import PIECES, PIECES_OF_LOGITS, plan_batches  # noqa: E402
from termwise.encode.cpu_features import processor_class  # noqa: E402
from termwise.encode.encoder_manifest import EncoderKind, NetworkPrecision  # noqa: E402
from termwise.encode.network_inputs import framed, padded  # noqa: E402
from termwise.encode.onnx_session import OnnxSession  # noqa: E402
from termwise.errors import CheckFailedError, ParameterError  # noqa: E402
from termwise.models import NetworkModel, make_model  # noqa: E402
from termwise.text import Analyzer  # noqa: E402
from termwise.train.export.folder_writer import EncoderContents  # noqa: E402

Ids = npt.NDArray[np.int32]
Batches = list[npt.NDArray[np.int64]]
Network = Callable[[npt.NDArray[np.int64], npt.NDArray[np.int64]], npt.NDArray[np.float32]]
Contestant = Callable[[], object]
"""One pass over all passages."""

KINDS = ("tilde", "tildev2", "splade-doc")
BY_LENGTH, AS_COME, WHOLE = "by length", "as come", "whole way"
TORCH = f"torch float32, {BY_LENGTH}"
TORCH_AS_COME = f"torch float32, {AS_COME}"

TARGETS = {TORCH: 1.0, TORCH_AS_COME: 1.6}
"""Target ratios of batches by length in onnxruntime to these contestants."""

TOLERANCE = 1e-4
"""Largest difference in float32, relative to outputs above 1."""

LONGER = 256
PAUSE = 0.05
"""Seconds before each pass, in which idle threads of the contestant before stop."""


def main(given: Sequence[str] | None = None) -> None:
    command = parser(__doc__, "work")
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--base", type=Path, help="an encoder in the layout of transformers, such as all-MiniLM-L6-v2"
    )
    source.add_argument(
        "--encoder", type=Path, help="an encoder folder with a float32 network made by termwise train"
    )
    command.add_argument("--kind", choices=sorted(KINDS), default="tildev2")
    command.add_argument("--data", default="python:stdlib", help="a collection, as for termwise index")
    command.add_argument("--passages", type=int, default=512)
    command.add_argument(
        "--length",
        type=int,
        action="append",
        help="maximum pieces of a passage with special pieces; repeatable",
    )
    command.add_argument("--batch", type=int, default=32, help="passages per batch as they come")
    command.add_argument("--threads", type=int, default=2)
    command.add_argument("--rounds", type=int, default=5)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--out", type=Path, default=RESULTS)
    arguments = command.parse_args(given)

    torch_network, folder = networks(arguments)
    precisions = folder.manifest.networks()
    report: dict[str, Any] = {
        "about": about(("numpy", "onnxruntime", "torch", "transformers")) | {"class": processor_class()},
        "settings": {
            "kind": folder.manifest.kind,
            "network": str((arguments.base or arguments.encoder).name),
            "file bytes": {name: folder.path(file).stat().st_size for name, file in precisions.items()},
            "data": arguments.data,
            "threads": arguments.threads,
            "batch as they come": arguments.batch,
            "rounds": arguments.rounds,
        },
        "wanted": TARGETS,
        "lengths": {},
    }
    for length in dict.fromkeys(arguments.length or windows(folder)):
        say(f"\npassages of up to {length} pieces")
        report["lengths"][str(length)] = measure(torch_network, folder, length, arguments)
    append(report, "encoding", arguments.out)


def windows(folder: EncoderFolder) -> list[int]:
    """Return the default lengths of passages: the window of the encoder, and `LONGER` if the network allows it."""
    return [folder.manifest.length, min(LONGER, folder.manifest.positions)]


def measure(
    torch_network: Network, folder: EncoderFolder, length: int, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Compare and time all contestants on passages of one maximum length."""
    kind = folder.manifest.kind
    texts = passages(folder.analyzer, length, arguments)
    special = folder.manifest.special
    inputs = [framed(special.cls, folder.analyzer.numbers(text), sep=special.sep) for text in texts]
    lengths = [len(one) for one in inputs]
    ours = plan_batches(lengths, pieces=PIECES_OF_LOGITS if kind == "splade-doc" else PIECES)
    come = [
        np.arange(first, min(first + arguments.batch, len(inputs)))
        for first in range(0, len(inputs), arguments.batch)
    ]

    def over(network: Network, batches: Batches) -> Contestant:
        return lambda: run(network, batches, inputs, special.pad)

    contestants = {TORCH: over(torch_network, ours), TORCH_AS_COME: over(torch_network, come)}
    agreement = {}
    for precision in folder.manifest.networks():
        session = OnnxSession(folder, precision=precision, threads=arguments.threads)
        contestants[f"onnxruntime {precision}, {BY_LENGTH}"] = over(session.run, ours)
        contestants[f"onnxruntime {precision}, {AS_COME}"] = over(session.run, come)
        contestants[f"onnxruntime {precision}, {WHOLE}"] = whole_way(
            folder, precision, length, texts, arguments
        )
        agreement[precision] = difference(session.run, torch_network, ours, inputs, special.pad)
    check(agreement)
    seconds = passes(contestants, arguments.rounds, pause=PAUSE)
    report: dict[str, Any] = {
        "passages": len(inputs),
        "pieces": {
            "mean": float(np.mean(lengths)),
            "p50": float(np.percentile(lengths, 50)),
            "p90": float(np.percentile(lengths, 90)),
            "most": int(max(lengths)),
        },
        "pieces with padding": {BY_LENGTH: filled(ours, lengths), AS_COME: filled(come, lengths)},
        "agreement with torch, all batches": agreement,
        "passages a second": show_rates("passages a second", seconds, len(inputs)),
        "ratios": {
            f"{one} / {other}": speedup(seconds[one], seconds[other])
            for one, other in pairs(list(contestants))
        },
    }
    report["verdicts"] = verdicts(report["ratios"])
    say("\nspeed of one over that of the other: median, least and most of the rounds")
    for name, found in report["ratios"].items():
        verdict = report["verdicts"].get(name)
        reached = {None: "", True: "reached", False: "NOT REACHED"}[verdict and verdict["reached"]]
        said = "" if verdict is None else f"   wanted {verdict['wanted']}: {reached}"
        say(f"  {name:74}{found['median']:6.2f}{found['least']:7.2f}{found['most']:6.2f}{said}")
    return report


def pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of contestants to compare."""
    ours = [name for name in names if name.startswith("onnxruntime")]
    found = [(name, TORCH) for name in ours if name.endswith(BY_LENGTH)]
    found += [(name, TORCH_AS_COME) for name in ours]
    found += [(name, name.replace(WHOLE, BY_LENGTH)) for name in ours if name.endswith(WHOLE)]
    int8 = f"onnxruntime int8, {BY_LENGTH}"
    float32 = f"onnxruntime float32, {BY_LENGTH}"
    return found + ([(int8, float32)] if int8 in names and float32 in names else [])


def verdicts(ratios: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """Compare the ratios of batches by length with their targets."""
    found = {}
    for name, row in ratios.items():
        one, other = name.split(" / ")
        if one.endswith(BY_LENGTH) and other in TARGETS:
            found[name] = {"wanted": TARGETS[other], "reached": row["median"] >= TARGETS[other]}
    return found


# --- the networks -----------------------------------------------------------------------------------------------


def networks(arguments: argparse.Namespace) -> tuple[Network, EncoderFolder]:
    """Return the network in torch, and the encoder folder with its exports."""
    import onnx
    import torch

    from termwise.train.base_encoder import base_analyzer
    from termwise.train.export.folder_writer import write_encoder_folder
    from termwise.train.export.onnx_export import network_of
    from termwise.train.export.quantise import dequantised_weights
    from termwise.train.networks import network_on_base, positions

    torch.set_num_threads(arguments.threads)
    if arguments.encoder is not None:
        folder = EncoderFolder.open(arguments.encoder)
        files = folder.manifest.networks()
        if "float32" not in files:
            raise ParameterError(
                "the encoder has no network in float32, which torch needs",
                facts=[("encoder", arguments.encoder)],
                fixes=["name a folder written by termwise train", "--base ENCODER"],
            )
        model = onnx.load(folder.path(files["float32"]))
        return torch_runner(network_of(model, dequantised_weights(model)).eval()), folder
    torch.manual_seed(arguments.seed)
    kind: EncoderKind = arguments.kind
    network = network_on_base(kind, arguments.base).eval()
    length = EncoderFolder.open(kind).manifest.length if kind in shipped_encoders() else LONGER // 2
    out = arguments.work / f"{arguments.base.resolve().name}-{kind}-{arguments.seed}"
    if not (out / "encoder.json").is_file():
        say("exporting")
        analyzer = base_analyzer(arguments.base)
        floors = np.full(len(analyzer.vocabulary or ()), -8, dtype=np.float32) if kind == "tilde" else None
        write_encoder_folder(
            network,
            analyzer,
            out,
            EncoderContents(cleaning="repo", length=min(length, positions(network)), floors=floors),
            trained={"base": "none"},
        )
    return torch_runner(network), EncoderFolder.open(out)


def torch_runner(network: Any) -> Network:
    """Run a network of torch on arrays with scaled dot-product attention, the default of transformers."""
    import torch

    network.pretrained.set_attn_implementation("sdpa")

    def run(ids: npt.NDArray[np.int64], mask: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        with torch.inference_mode():
            found: npt.NDArray[np.float32] = network(torch.from_numpy(ids), torch.from_numpy(mask)).numpy()
        return found

    return run


def whole_way(
    folder: EncoderFolder,
    precision: NetworkPrecision,
    length: int,
    texts: Sequence[str],
    arguments: argparse.Namespace,
) -> Contestant:
    """Encode the texts as ``termwise index`` does."""
    kind = folder.manifest.kind
    settings = {"encoder": str(folder.folder), "length": str(length)}
    if kind == "tildev2":
        settings["expansion_encoder"] = "none"  # one network, as for other contestants
    model = make_model(kind, settings)
    assert isinstance(model, NetworkModel)
    encoder = open_document_encoder(model, threads=arguments.threads, precision=precision)
    return lambda: encoder.encode_documents(texts)


# --- passages ---------------------------------------------------------------------------------------------------


def passages(analyzer: Analyzer, length: int, arguments: argparse.Namespace) -> list[str]:
    """Return passages of a collection in random order, cut at a number of pieces."""
    texts = [document.text for document in open_collection(arguments.data).documents()]
    random = np.random.default_rng(arguments.seed)
    chosen = random.permutation(len(texts))[: arguments.passages]
    cut = []
    for place in chosen.tolist():
        spans = analyzer.analyze(texts[place]).spans
        cut.append(texts[place] if len(spans) <= length - 2 else texts[place][: int(spans[length - 3][1])])
    return cut


def filled(batches: Batches, lengths: Sequence[int]) -> int:
    """Return the number of pieces in batches, padding included."""
    return sum(len(batch) * max(lengths[place] for place in batch.tolist()) for batch in batches)


def run(network: Network, batches: Batches, inputs: Sequence[Ids], pad: int) -> None:
    """Run a network over all inputs, batch by batch."""
    for batch in batches:
        network(*padded([inputs[place] for place in batch.tolist()], pad))


def difference(
    one: Network, other: Network, batches: Batches, inputs: Sequence[Ids], pad: int
) -> dict[str, float]:
    """Return the differences of two networks over all batches, without padding.

    The largest difference is relative to outputs of the second network above 1.
    """
    largest, apart, size, outputs = 0.0, 0.0, 0.0, 0
    for batch in batches:
        ids, mask = padded([inputs[place] for place in batch.tolist()], pad)
        first, second = one(ids, mask).astype(np.float64), other(ids, mask).astype(np.float64)
        if first.shape == mask.shape:
            first, second = first[mask != 0], second[mask != 0]
        between = np.abs(first - second)
        largest = float(
            np.maximum(largest, (between / np.maximum(1, np.abs(second))).max())
        )  # maximum() keeps NaN
        apart, size = apart + float(between.sum()), size + float(np.abs(second).sum())
        outputs += between.size
    return {"largest": largest, "mean": apart / outputs, "mean of torch": size / outputs}


def check(agreement: Mapping[str, Mapping[str, float]]) -> None:
    """Check that the float32 network computes the outputs of torch.

    Raises
    ------
    CheckFailedError
        If outputs differ by more than `TOLERANCE`.
    """
    seen = agreement["float32"]["largest"]
    if not seen <= TOLERANCE:
        raise CheckFailedError(
            "onnxruntime does not compute the outputs of torch",
            facts=[("largest difference", f"{seen:.3g}"), ("allowed", TOLERANCE)],
            fixes=["remove the exported network and run again"],
        )


if __name__ == "__main__":
    script(main)
