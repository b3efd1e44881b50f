"""The card of a scorer: README.md of its folder, made of the facts of its training alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from termwise.train.loop.validation import CHOSEN_BY

_NOTICE = (
    "A patent publication (US 12,026,187 B2, of the family of US20220253447A1) may concern neural Model 1 layers for "
    "ranking. Take advice of your own before you use this network in earnest."
)


def scorer_card(name: str, facts: Mapping[str, Any]) -> str:
    """Write the card of a BERT-Model1.

    Parameters
    ----------
    name : str
        What it is called.
    facts : mapping
        What `termwise.yardsticks.bert_model1.training.train_bert_model1` returns.

    Returns
    -------
    str
        Markdown.
    """
    best = facts["best"]
    measures = ", ".join(f"{key} {value:.4f}" for key, value in best.items() if key != "step")
    kept = (
        f"The weights of step {best['step']:,} of {facts['steps']:,}: {measures} on held-out queries "
        f"({facts['validation']}). Checkpoints are told apart by {CHOSEN_BY}; each held-out query ranks its relevant "
        "passages among those that BM25 finds in the held-out ones, so the numbers are no test of the network."
        if best
        else f"The last weights, of step {facts['steps']:,}. They were not validated."
    )
    parts = [
        f"# {name}",
        "BERT-Model1: reads a query and a text together, and says of each word of the query how likely it is asked for "
        "where the text has the words it has. It re-ranks; it runs once for each pair of texts.",
        f"> {_NOTICE}",
        "## Use",
        f"```sh\ntermwise rerank INDEX --scorer {name} --run RUN --queries QUERIES --output FILE\n```",
        "## Data",
        _table(
            ["source", "pairs", "digest"],
            [[one["name"], f"{one['pairs']:,}", one["digest"]] for one in facts["data"]],
        ),
        f"{facts['queries']:,} of their queries could be trained on. Their licences are not recorded here.",
        "## Training",
        f"From {facts['base']}, with termwise {facts['package']} and torch {facts['torch']}; "
        f"{facts['seconds']:,.0f} seconds.",
        kept,
        _table(
            ["setting", "value"],
            [
                [key, str(value).lower() if isinstance(value, bool) else value]
                for key, value in sorted(facts["settings"].items())
            ],
        ),
        "## Limits",
        "- Texts unlike those it was trained on were not tried.\n"
        f"- Of a query {facts['settings']['query_length']:,} word pieces are read, "
        f"of a text {_length(facts['settings']['document_length'])}.",
    ]
    return "\n\n".join(parts) + "\n"


def _length(pieces: int) -> str:
    return f"{pieces:,}" if pieces else "all"


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(
        f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    )
