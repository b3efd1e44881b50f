r"""Speed of the export of neural Model 1: all pairs of pieces to a translation table.

    pip install -e '.[train]' -r benchmarks/requirements.txt
    python benchmarks/neural_export.py

How long does it take to compute T(t|u) for every pair of the 30,522 pieces of BERT's vocabulary on two threads? And
how much time does the factored first layer save, in comparison with the network as its formula is written: for each
pair the two projected vectors and their product, concatenated, through all layers?

The network has the default widths and random initial weights; the number of operations does not depend on the weights.
The likeliest 256 of each row are kept, so that the table has a realistic size. ``--rows`` rows are computed in both
ways, in turns, on one thread; `export_table` computes all pairs once, as in ``termwise train neural-model1``. Results
are printed and appended as one JSON object to ``benchmarks/results/neural_export.jsonl``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "experiments")]

from record import parser  # noqa: E402
from timing import RESULTS, about, append, passes, say, show_rates, speedup  # noqa: E402

from termwise.text import WordPieceAnalyzer  # noqa: E402
from termwise.train.neural_model1.network import PairNetwork, TranslationNetwork, make_network  # noqa: E402
from termwise.train.neural_model1.scoring import vectors_of  # noqa: E402
from termwise.train.neural_model1.settings import NeuralModel1Settings, layer_widths  # noqa: E402
from termwise.train.neural_model1.table_export import export_table  # noqa: E402

KEPT = 256
LIMIT = 15 * 60.0
"""Limit for all pairs, seconds."""

TOLERANCE = 1e-5


def main(given: Sequence[str] | None = None) -> None:
    command = parser(__doc__)
    command.add_argument("--rows", type=int, default=64, help="rows that are computed in both ways")
    command.add_argument("--pieces", type=int, default=0, help="pieces of the vocabulary; 0 for all")
    command.add_argument("--rounds", type=int, default=5)
    command.add_argument("--threads", type=int, default=2)
    command.add_argument("--out", type=Path, default=RESULTS)
    arguments = command.parse_args(given)
    torch.set_num_threads(1)
    analyzer = WordPieceAnalyzer.shipped()
    settings = NeuralModel1Settings()
    network = made(len(analyzer.vocabulary), settings)
    pieces = np.arange(arguments.pieces or len(analyzer.vocabulary), dtype=np.int64)
    few = pieces[: arguments.rows]
    report: dict[str, Any] = {
        "about": about(("torch", "numpy")),
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
        settings=replace(settings, keep=KEPT),
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
    """Compare values and speed of the factored rows and the plain ones."""
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
    """Compute T of all pairs by the formula."""
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
