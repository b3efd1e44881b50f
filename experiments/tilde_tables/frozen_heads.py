"""The losses of TILDE on a frozen encoder: each head is fitted by its loss alone, with several seeds.

    python experiments/tilde_tables/frozen_heads.py --pairs PAIRS --base ENCODER --work WORK

Question
    Which loss of Table 3 of the TILDE paper gives the better query likelihood, if nothing but the loss differs?
Method
    The encoder reads each text once; its outputs at position 0 are kept in WORK. For each loss and seed, a new head,
    with the prior of its own targets, is fitted to these outputs (`termwise.train.loop.warm_start`). The heads of all
    losses see the same pairs, as often. Rows, seeds and sizes are in ``frozen_heads.toml``.
Scores
    QL = sum of ln P(t|d) over the kept tokens of the query; DL = mean of ln P(t|q) over the kept tokens of the
    document; QDL = α QL + (1 - α) DL. They re-rank the documents of BM25.
Limits
    The decoder is the frozen word embedding, and the encoder was made for sentence similarity. A trained network can
    order the losses otherwise; ``table3.toml`` measures that.

Results are ``results/tilde_frozen_heads.json``, ``.md`` and ``.svg``.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import record  # noqa: E402
from charts import line_chart  # noqa: E402
from indexes import index_counts  # noqa: E402
from judged_collection import Judged  # noqa: E402
from scipy.sparse import csr_matrix  # noqa: E402

from termwise.collection.training_pairs import PairSource, read_sources  # noqa: E402
from termwise.records import Run  # noqa: E402
from termwise.search.candidates import rank_candidates  # noqa: E402
from termwise.text.cleaned_analyzer import clean_vocabulary  # noqa: E402

PACKAGES = ("termwise", "numpy", "torch", "transformers", "ir-measures")


def main() -> None:
    parser = record.parser(__doc__, "work", "collections", "out", "threads")
    parser.add_argument("--pairs", type=Path, required=True, help="training pairs, one file per source")
    parser.add_argument("--base", type=Path, required=True, help="folder of the encoder")
    given = parser.parse_args()
    about = record.provenance(PACKAGES)
    plan = tomllib.loads((HERE / "frozen_heads.toml").read_text(encoding="utf-8"))
    heads = Heads(plan, given.base, given.work, given.threads)
    sources = [one.sample(plan["source_pairs"], 0) for one in read_sources(given.pairs)]
    curves = heads.fit(sources)
    collections = {
        name: measured(plan, heads, Judged.read(name, given.collections / name, "test"), given)
        for name in plan["collections"]
    }
    result = {
        "experiment": plan["name"],
        "config": plan,
        "pairs": sum(map(len, sources)),
        "collections": collections,
        "curves": curves,
        "provenance": about | {"seconds": record.seconds()},
    }
    record.save(result, page(result), given.out, plan["name"])
    chart = line_chart(
        {name: [(step, loss / points[0][1]) for step, loss in points] for name, points in curves.items()},
        title="Loss of a head on the frozen encoder, as a share of the first",
        x="steps of 256 pairs",
        y="loss",
    )
    record.write_whole(given.out / f"{plan['name']}.svg", chart)


class Heads:
    """Heads of all losses and seeds over the outputs of one encoder."""

    def __init__(self, plan: Mapping[str, Any], base: Path, work: Path, threads: int) -> None:
        import torch

        from termwise.train.base_encoder import base_analyzer
        from termwise.train.inputs import Pieces
        from termwise.train.settings import TrainSettings

        torch.set_num_threads(threads)
        self._plan, self._base, self._work = plan, base, work
        self.pieces = Pieces(base_analyzer(base), "tilde")
        shared = replace(TrainSettings.for_kind("tilde"), **plan["settings"])
        self.settings = {name: replace(shared, **own) for name, own in plan["heads"].items()}
        self._networks: dict[tuple[str, int], Any] = {}

    def fit(self, sources: Sequence[PairSource]) -> dict[str, list[tuple[int, float]]]:
        """Fit all heads, and return for each the mean loss over the seeds at every tenth step."""
        from transformers import set_seed

        from termwise.train.loop.initial_weights import initial_network
        from termwise.train.loop.warm_start import fit_head, set_prior_bias

        pairs = [
            (source.queries[query], source.passages[passage])
            for source in sources
            for query, passage in source.pairs.tolist()
        ]
        queries, passages = zip(*pairs, strict=True)
        outputs = self.outputs("queries", queries), self.outputs("passages", passages)
        losses: dict[str, list[Any]] = {name: [] for name in self.settings}
        for name, settings in self.settings.items():
            for seed in self._plan["seeds"]:
                set_seed(seed)
                network = initial_network("tilde", self._base)
                chosen = replace(settings, seed=seed)
                set_prior_bias(network, self.pieces, sources, chosen)
                found = fit_head(network, self.pieces, pairs, chosen, outputs=outputs)
                losses[name].append(found)
                self._networks[name, seed] = network.eval()
                record.say(
                    f"{name}, seed {seed}: loss {np.mean(found[:10]):.3g} to {np.mean(found[-10:]):.3g}"
                )
        steps = range(0, self._plan["settings"]["head_steps"], 10)
        return {
            name: [
                (step + 10, float(np.mean([found[step : step + 10] for found in curves]))) for step in steps
            ]
            for name, curves in losses.items()
        }

    def outputs(self, side: str, texts: Sequence[str]) -> Any:
        """Return the outputs of the encoder at position 0 for texts; they are computed once, and stored in WORK."""
        import torch

        from termwise.storage.file_record import texts_fingerprint
        from termwise.train.loop.initial_weights import initial_network
        from termwise.train.loop.warm_start import first_outputs

        settings = next(iter(self.settings.values()))
        file = self._work / f"outputs-{side}-{texts_fingerprint(texts)[-12:]}.npy"
        if not file.is_file():
            file.parent.mkdir(parents=True, exist_ok=True)
            record.say(f"reading {len(texts):,} {side}")
            rows = [self.pieces(text) for text in texts]
            network = initial_network("tilde", self._base)
            np.save(file, first_outputs(network, self.pieces, rows, side, settings).numpy())
        return torch.from_numpy(np.load(file))

    def log_likelihoods(self, name: str, seed: int, outputs: Any) -> Any:
        """Return ln P of all terms for each output, 0 for terms that are not kept: float32 of shape (n, V)."""
        import torch
        from torch.nn import functional

        from termwise.train.networks import language_model_head

        kept = clean_vocabulary(self.pieces.analyzer.vocabulary, self.settings[name].cleaning)
        with torch.inference_mode():
            logits = language_model_head(self._networks[name, seed].pretrained)(outputs)
            return functional.logsigmoid(logits).numpy() * kept

    def counts(self, name: str, texts: Sequence[str]) -> csr_matrix:
        """Return the number of occurrences of each kept term in each text."""
        kept = clean_vocabulary(self.pieces.analyzer.vocabulary, self.settings[name].cleaning)
        rows = [row[kept[row]] for row in map(self.pieces, texts)]
        numbers = np.repeat(np.arange(len(rows)), list(map(len, rows)))
        shape = (len(rows), len(kept))
        return csr_matrix((np.ones(len(numbers), np.float32), (numbers, np.concatenate(rows))), shape=shape)


def measured(plan: Mapping[str, Any], heads: Heads, judged: Judged, given: Any) -> dict[str, Any]:
    """Measure all rows on a collection, with each seed."""
    texts = {document.doc_id: document.text for document in judged.documents.documents()}
    doc_ids = {doc_id: place for place, doc_id in enumerate(texts)}
    asked = [query.text for query in judged.queries]
    bm25 = index_counts(
        judged.documents,
        given.work / f"bm25-{judged.name}",
        model="bm25",
        settings={"k1": "0.9", "b": "0.4"},
        analyzer="english",
        threads=given.threads,
        reuse=True,
    )
    first = bm25.searcher.rank_many(judged.queries, k=plan["depth"])
    outputs = {
        "documents": heads.outputs("passages", list(texts.values())),
        "queries": heads.outputs("queries", asked),
    }
    rows: dict[str, dict[str, list[float]]] = {name: {} for name in plan["rows"]}
    for seed in plan["seeds"]:
        scores: dict[tuple[str, str], Any] = {}
        for row, entry in plan["rows"].items():
            for side in ("ql", "dl"):
                head = entry.get(side)
                if head is not None and (side, head) not in scores:
                    scores[side, head] = likelihoods(
                        heads, side, head, seed, outputs, asked, list(texts.values())
                    )
            parts = [
                share * scores[side, entry[side]]
                for side, share in (("ql", entry["alpha"]), ("dl", 1 - entry["alpha"]))
                if side in entry
            ]
            evaluated = judged.evaluate(re_ranked(first, sum(parts), doc_ids, judged), plan["measures"])
            for measure, mean in evaluated.means.items():
                rows[row].setdefault(measure, []).append(mean)
    first_means = judged.evaluate(first, plan["measures"]).means
    return {"queries": len(asked), "documents": len(texts), "bm25": first_means, "rows": rows}


def likelihoods(
    heads: Heads,
    side: str,
    head: str,
    seed: int,
    outputs: Mapping[str, Any],
    queries: Sequence[str],
    documents: Sequence[str],
) -> Any:
    """Return QL or DL of each query and document: array of shape (queries, documents)."""
    if side == "ql":
        asked = heads.counts(head, queries)
        parts = [
            asked @ heads.log_likelihoods(head, seed, outputs["documents"][begin : begin + 1024]).T
            for begin in range(0, len(documents), 1024)
        ]
        return np.concatenate(parts, axis=1)
    counts = heads.counts(head, documents)
    lengths = np.maximum(1, np.asarray(counts.sum(axis=1)).ravel())
    return (counts @ heads.log_likelihoods(head, seed, outputs["queries"]).T).T / lengths


def re_ranked(first: Run, scores: Any, doc_ids: Mapping[str, int], judged: Judged) -> Run:
    """Return the documents of a run in the order of their scores."""
    numbers = {query.query_id: row for row, query in enumerate(judged.queries)}
    rankings = []
    for ranking in first:
        found = scores[numbers[ranking.query_id], [doc_ids[one] for one in ranking.doc_ids]].astype(
            np.float64
        )
        rankings.append(rank_candidates(ranking.doc_ids, found, ranking.query_id))
    return Run(rankings, "frozen")


def page(result: Mapping[str, Any]) -> str:
    """Return the page of the result."""
    plan = result["config"]
    steps, seeds = plan["settings"]["head_steps"], len(plan["seeds"])
    parts = [
        "# Losses of TILDE on a frozen encoder",
        "Table 3 of S. Zhuang and G. Zuccon, TILDE, SIGIR 2021, with one encoder that is not trained. Each head is "
        f"fitted to its own loss alone: {result['pairs']:,} pairs, {steps} steps of 256 of them, the prior of the "
        f"targets of this loss, {seeds} seeds. Values are means over the seeds, ± the standard deviation of one seed; "
        "the documents of BM25 are re-ranked. Published: MRR@10 of the paper, on MS MARCO, with networks that were "
        "trained as a whole. Made by `experiments/tilde_tables/frozen_heads.py`.",
        f"![Loss by step]({plan['name']}.svg)",
    ]
    for name, found in result["collections"].items():
        measures = plan["measures"]
        lines = [
            ["BM25", "", *(record.number(found["bm25"][measure]) for measure in measures)],
            *(
                [
                    row,
                    plan["rows"][row]["published"],
                    *(
                        f"{record.number(float(np.mean(values[measure])))} ± "
                        f"{record.number(float(np.std(values[measure], ddof=1)))}"
                        for measure in measures
                    ),
                ]
                for row, values in found["rows"].items()
            ),
        ]
        parts += [
            f"## {name}",
            f"{found['queries']:,} queries, {found['documents']:,} documents.",
            record.table(["row", "published", *measures], lines),
        ]
    parts.append(contrasts(result))
    parts.append(record.about(dict(result), intervals=False))
    return "\n\n".join(parts) + "\n"


def contrasts(result: Mapping[str, Any]) -> str:
    """Return a table of differences between rows in the mean nDCG@10 of the collections, paired by seed."""
    measure = result["config"]["measures"][0]

    def means(row: str) -> Any:
        return np.mean([found["rows"][row][measure] for found in result["collections"].values()], axis=0)

    pairs = (
        ("QL loss, QL score", "QL loss, not cleaned, QL score"),
        ("BiQDL loss, QL score", "QL loss, QL score"),
        ("BiQDL loss, DL score", "DL loss, DL score"),
        ("QL loss and DL loss, two networks, QDL score (α = .5)", "QL loss, QL score"),
        ("BiQDL loss, QDL score (α = .5)", "QL loss and DL loss, two networks, QDL score (α = .5)"),
    )
    lines = []
    for one, other in pairs:
        differences = means(one) - means(other)
        low, high = float(differences.min()), float(differences.max())
        cells = [record.number(float(value), signed=True) for value in (differences.mean(), low, high)]
        lines.append([one, other, *cells])
    head = ["row", "less", "mean difference", "smallest of the seeds", "largest"]
    return f"## Differences of {measure}, mean of the collections\n\n" + record.table(head, lines, left=2)


if __name__ == "__main__":
    record.script(main)
