r"""Neural Model 1: the export of all pairs of pieces to a translation table.

    pip install -e '.[train]' -r benchmarks/requirements.txt
    python benchmarks/neural_export.py

How long does it take to compute T(t|u) for every pair of the 30,522 pieces of BERT's vocabulary, on two threads? And
how much of that is saved by factoring the first layer, beside the same network written as its formula stands: for each
pair the two projected vectors and their product side by side, through all layers?

The network has the default widths and weights as training begins with, drawn with a seed: what it says does not change
the number of operations. Of each row the likeliest 256 are kept, so that the table has the size of a real one. The
other way is timed on ``--rows`` rows, ours on the same ones beside it, in turns, on one thread each; all pairs are
computed once, by `export_table`, as ``termwise train neural-model1`` calls it. Results are printed and appended, one
JSON object, to ``benchmarks/results/neural_export.jsonl``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from measuring import RESULTS, about, append, passes, say, show_rates, speedup, version  # noqa: E402

from termwise.text import WordPieceAnalyzer  # noqa: E402
from termwise.train.neural_model1.network import PairNetwork, TranslationNetwork, make_network  # noqa: E402
from termwise.train.neural_model1.scoring import vectors_of  # noqa: E402
from termwise.train.neural_model1.settings import NeuralModel1Settings, layer_widths  # noqa: E402
from termwise.train.neural_model1.table_export import export_table  # noqa: E402

KEPT = 256
LIMIT = 15 * 60.0
"""Seconds that all pairs may take."""

TOLERANCE = 1e-5


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=64, help="rows that the plain way computes too")
    parser.add_argument("--pieces", type=int, default=0, help="pieces of the vocabulary; 0 for all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(given)
    torch.set_num_threads(1)
    analyzer = WordPieceAnalyzer.shipped()
    settings = NeuralModel1Settings()
    network = made(len(analyzer.vocabulary), settings)
    pieces = np.arange(arguments.pieces or len(analyzer.vocabulary), dtype=np.int64)
    few = pieces[: arguments.rows]
    report: dict[str, Any] = {
        "about": about() | {"packages": {name: version(name) for name in ("torch", "numpy")}},
        "settings": {"pieces": len(pieces), "rows": len(few), "rounds": arguments.rounds, "kept": KEPT},
        "rows": of_rows(network, few, pieces, arguments.rounds),
    }
    begin = time.perf_counter()
    table = export_table(
        network,
        analyzer,
        sources=pieces,
        targets=pieces,
        occurrences=np.ones(len(analyzer.vocabulary), dtype=np.int64),
        p_self=settings.self_translation,
        least=settings.least,
        keep=KEPT,
        threads=arguments.threads,
    )
    seconds = time.perf_counter() - begin
    reached = seconds <= LIMIT
    report["all pairs"] = {
        "pairs": len(pieces) ** 2,
        "threads": arguments.threads,
        "seconds": seconds,
        "translations": len(table.targets),
        "wanted, seconds": LIMIT,
        "reached": reached,
    }
    say(
        f"\n{len(pieces) ** 2:,} pairs on {arguments.threads} threads: {seconds:.0f} s, {len(table.targets):,} kept; "
        f"{LIMIT:.0f} s {'reached' if reached else 'NOT REACHED'}"
    )
    append(report, "neural_export", arguments.out)


def made(terms: int, settings: NeuralModel1Settings) -> TranslationNetwork:
    """Make a network of the default form, with random weights."""
    torch.manual_seed(0)
    return make_network(
        terms,
        form=settings.form,
        width=settings.width,
        projection=settings.projection,
        hidden=layer_widths(settings.hidden),
        spread=settings.spread,
        expected=settings.expected,
    ).eval()


@torch.no_grad()
def of_rows(network: TranslationNetwork, few: Any, pieces: Any, rounds: int) -> dict[str, Any]:
    """Compare the factored rows with the plain ones: what they say, and how fast."""
    pair = network.pair
    assert isinstance(pair, PairNetwork)
    queries, documents = vectors_of(network, pieces, query=True), vectors_of(network, few, query=False)
    apart = float((pair.table(queries, documents) - plain(pair, queries, documents)).abs().max())
    if apart > TOLERANCE:
        raise SystemExit(f"the two ways differ by {apart:.2g}")
    seconds = passes(
        {
            "termwise, first layer factored": lambda: pair.table(queries, documents),
            "plain, pair by pair through all layers": lambda: plain(pair, queries, documents),
        },
        rounds,
    )
    ours, theirs = seconds.values()
    found = speedup(ours, theirs)
    rates = show_rates(f"pairs a second, one thread, {len(few)} rows", seconds, len(few) * len(pieces))
    say(f"  {found['median']:.3g} times as fast; largest difference {apart:.2g}")
    return {"pairs a second": rates, "times as fast": found, "largest difference": apart}


@torch.no_grad()
def plain(pair: PairNetwork, queries: torch.Tensor, documents: torch.Tensor) -> torch.Tensor:
    """Compute T of all pairs as the formula stands."""
    rows = []
    for document in documents:
        beside = document.expand_as(queries)
        outputs = torch.cat([queries, beside, queries * beside], dim=1)
        for number, layer in enumerate(pair.layers):
            outputs = layer(outputs if number == 0 else outputs.relu())
        rows.append(outputs.squeeze(-1).sigmoid())
    return torch.stack(rows)


if __name__ == "__main__":
    main()
