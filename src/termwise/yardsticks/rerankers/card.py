"""Model card of a scorer, the README.md of its folder, from the facts of its training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from termwise.train.data.held_out import SELECTION_MEASURE
from termwise.train.export.model_card import markdown_table
from termwise.yardsticks.rerankers.network import Reranker


def scorer_card(name: str, network: type[Reranker], facts: Mapping[str, Any]) -> str:
    """Return the card of a network in Markdown, from the result of `train_reranker`."""
    best = facts["best"]
    measures = ", ".join(f"{key} {value:.4f}" for key, value in best.items() if key != "step")
    selection = (
        f"The weights of step {best['step']:,} of {facts['steps']:,}: {measures} on held-out queries "
        f"({facts['validation']}). Checkpoints are selected by {SELECTION_MEASURE}. Each held-out query ranks its "
        "relevant passages among the held-out passages that BM25 finds, so the numbers are not a test of the network."
        if best
        else f"The last weights, of step {facts['steps']:,}. They were not validated."
    )
    settings = facts["settings"]
    limit = settings["document_length"]
    parts = [
        f"# {name}",
        f"{network.about} It re-ranks, with one forward pass for each pair.",
        *([f"> {network.notice}"] if network.notice else []),
        "## Use",
        f"```sh\ntermwise rerank INDEX --scorer {name} --run RUN --queries QUERIES --out FILE\n```",
        "## Data",
        markdown_table(
            ["source", "pairs", "digest"],
            [[source["name"], source["pairs"], source["digest"]] for source in facts["data"]],
        ),
        f"{facts['queries']:,} of their queries were used for training. Their licences are not recorded here.",
        "## Training",
        f"From {facts['base']}, with termwise {facts['package']} and torch {facts['torch']}; "
        f"{facts['seconds']:,.0f} seconds.",
        selection,
        markdown_table(["setting", "value"], sorted(settings.items())),
        "## Limits",
        "- It was not tested on texts unlike the training data.\n"
        f"- It reads {settings['query_length']:,} tokens of a query, "
        f"and {f'{limit:,} tokens' if limit else 'all tokens'} of a text.",
    ]
    return "\n\n".join(parts) + "\n"
