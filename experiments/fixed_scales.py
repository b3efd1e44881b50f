r"""Mixtures with fixed scales in place of z-scores of each query: constants and nDCG@10 on dev splits.

Question
    An engine that only adds up weighted scores cannot compute mean and deviation over the candidates of a query. How
    much is lost if each part is divided by a constant, and which constants are these?
Ways
    The mean of a part is the same for all candidates of a query, so leaving it out changes no ranking. The deviation is
    replaced by its mean over queries and collections; scores by vectors are first divided by the length of the query.
    *one of each collection* has the mean over the queries of the collection instead. There is no feedback, which such
    an engine cannot have either.
Run
    ``fixed_scales.py --work WORK``, with the work folder of ``zero_shot.py choose``, whose encoded documents are used.
Quality
    nDCG@10, and the paired difference from z-scores.
Result
    ``results/fixed_scales.md`` and ``.json``.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import record
from indexes import index_counts, index_encoded
from judged_collection import Judged, documents_folder
from macro_means import macro_ratios

from termwise.export.linear_form import query_length
from termwise.indexing.recipes import RECIPES, Recipe
from termwise.models import NetworkModel, make_model
from termwise.records import Ranking, Run
from termwise.search import Search, Searcher

HERE = Path(__file__).resolve().parent
PACKAGES = ("termwise", "numpy", "onnxruntime", "tokenizers", "ir-measures")
Z, FIXED, OWN = "z-scores", "fixed scales", "one of each collection"

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Scored:
    """Candidates of a query with their scores in each part, those by vectors for a query of length 1."""

    doc_ids: list[str]
    parts: list[Floats]


def mixture(recipe: Recipe, judged: Judged, work: Path, threads: int) -> Searcher:
    """Build the parts of a recipe and mix them, without feedback."""
    searchers = {}
    for part in recipe.parts:
        model = make_model(part.model, part.settings)
        if isinstance(model, NetworkModel):
            built = index_encoded(judged.documents, work / part.name, model=model, threads=threads)
        else:
            built = index_counts(
                judged.documents, work / part.name, model=part.model, settings={}, analyzer="english"
            )
        searchers[part.name] = built.searcher
    only = [part.name for part in recipe.parts if not part.retrieves]
    weights = [part.weight for part in recipe.parts]
    return Searcher.mix(searchers, weights, depth=recipe.depth, only_scoring=only)


def scored(searcher: Searcher, judged: Judged) -> dict[str, Scored]:
    """Score the candidates of each query in each part."""
    found = {}
    for query in judged.queries:
        exclude = judged.seeds.get(query.query_id, ()) if judged.seeds else ()
        results = searcher.search(Search(query, k=1, exclude=exclude))
        matches: Any = results.matches(frozenset(results.search.exclude))
        parts = []
        for vector, scores in zip(
            matches.query.vectors, matches.part_scores(matches.candidates), strict=True
        ):
            length = 1.0 if vector.vector is None else query_length(vector) or 1.0
            parts.append(scores / length)
        found[query.query_id] = Scored(searcher.index.doc_ids(matches.candidates), parts)
    return found


def deviation(scores: Floats) -> float:
    """Return the deviation of scores; 0 if all are equal, of which rounding would leave 1e-17, or if there are none."""
    return float(scores.std()) if len(scores) and scores.min() < scores.max() else 0.0


def deviations(queries: Mapping[str, Scored]) -> Floats:
    """Return the mean deviation of the scores of each part over the queries with candidates that differ."""
    of_queries = np.array(
        [[deviation(part) for part in one.parts] for one in queries.values() if len(one.doc_ids) > 1]
    )
    return np.array([column[column > 0].mean() for column in of_queries.T])


def values_with(
    judged: Judged,
    queries: Mapping[str, Scored],
    weights: Floats,
    scales: Floats | None,
    plan: Mapping[str, Any],
) -> Floats:
    """Return the measure of each query, with fixed scales or with the scales of the query."""
    rankings = []
    for query_id, one in queries.items():
        total = np.zeros(len(one.doc_ids))
        for place, part in enumerate(one.parts):
            total += weights[place] * part / ((deviation(part) or 1.0) if scales is None else scales[place])
        order = np.argsort(-total, kind="stable")[: plan["depth"]]
        rankings.append(Ranking([one.doc_ids[place] for place in order.tolist()], total[order], query_id))
    found: Floats = judged.evaluate(Run(rankings, "mixed"), [plan["measure"]]).values[plan["measure"]]
    return found


def page(result: Mapping[str, Any]) -> str:
    """Write the tables."""
    plan = result["config"]
    parts = [
        f"# {plan['title']}",
        f"Made by `experiments/fixed_scales.py` on dev splits, by {plan['measure']}.",
    ]
    for name, one in result["recipes"].items():
        systems = one["macro"]["systems"]
        scales = ", ".join(f"{part} {scale:.4g}" for part, scale in one["scales"].items())
        rows = [[way, record.number(systems[way]["mean"], digits=4)] for way in (Z, FIXED, OWN)]
        for row, contrast in zip(rows[1:], one["macro"]["contrasts"], strict=True):
            row += [
                record.number(contrast["difference"], digits=4, signed=True),
                record.interval(contrast["interval"], digits=4, signed=True),
            ]
        rows[0] += ["", ""]
        parts += [
            f"## {name}",
            f"Constants: {scales}. By collection: "
            + "; ".join(
                f"{collection} {', '.join(f'{scale:.4g}' for scale in own)}"
                for collection, own in one["of collections"].items()
            )
            + ".",
            record.table(("scales", plan["measure"], "difference", "95 %"), rows),
        ]
    return "\n\n".join([*parts, record.about(dict(result))])


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    parser = record.parser(__doc__, "work", "collections", "only", "out", "threads")
    parser.add_argument("--plan", type=Path, default=HERE / "fixed_scales.toml")
    arguments: argparse.Namespace = parser.parse_args(given)
    provenance = record.provenance(PACKAGES)
    plan = tomllib.loads(arguments.plan.read_text(encoding="utf-8"))
    names = record.selected("collection", arguments.only, plan["collections"])
    recipes: dict[str, Any] = {}
    for recipe_name in plan["recipes"]:
        recipe = RECIPES[recipe_name]
        weights = np.array([part.weight for part in recipe.parts])
        every, judged_by, own = {}, {}, {}
        for name in names:
            source = arguments.collections / name
            judged = Judged.read(name, source, plan["collections"][name])
            searcher = mixture(recipe, judged, documents_folder(arguments.work, source), arguments.threads)
            every[name], judged_by[name] = scored(searcher, judged), judged
            own[name] = deviations(every[name])
            record.say(f"{recipe_name}, {name}: scored, {record.seconds()} s")
        scales = np.mean(list(own.values()), axis=0)
        values = {
            name: {
                way: values_with(judged_by[name], every[name], weights, chosen, plan)
                for way, chosen in ((Z, None), (FIXED, scales), (OWN, own[name]))
            }
            for name in names
        }
        macro = macro_ratios(values, [Z, FIXED, OWN], Z, counted=names, contrasts=[(FIXED, Z), (OWN, Z)])
        part_names = [part.name for part in recipe.parts]
        recipes[recipe_name] = {
            "scales": dict(zip(part_names, scales.tolist(), strict=True)),
            "of collections": {name: found.tolist() for name, found in own.items()},
            "macro": macro,
        }
    result = {
        "experiment": plan["name"],
        "config": plan,
        "recipes": recipes,
        "provenance": provenance | {"seconds": record.seconds()},
    }
    record.save(result, page(result), arguments.out, plan["name"] + ("_partial" if arguments.only else ""))


if __name__ == "__main__":
    record.script(main)
