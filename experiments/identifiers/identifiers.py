r"""Identifiers in queries: first places in made products, and nDCG@10 on the judged collections.

Question
    A mixture gives the parts other weights if the query has an identifier (`termwise.search.part_weights`). How often
    is the product with the identifier first, with and without the rule? Does the rule lower the quality of queries in
    natural language?
Made set
    5,000 products, each with an identifier of one of five shapes; 500 queries, each for one product, two of five of
    them the identifier alone; see `made_products`.
Collections
    All queries of the splits. The rule changes the rankings of those with an identifier only. Its constants were fixed
    before any query was measured, but for the least length of an identifier, which was set after a look at ``dev``.
Systems
    ``bm25``: the part of words alone. ``before``: the weights of the recipe. ``after``: the rule.
Run
    ``identifiers.py --work WORK``; indexes in WORK are used again. ``--recipes instant`` needs no network.
Result
    ``results/identifiers.md`` and ``.json``.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import record  # noqa: E402
from judged_collection import Judged  # noqa: E402
from made_products import SHAPES, made  # noqa: E402

import termwise  # noqa: E402
from termwise.search import Searcher, mixture  # noqa: E402
from termwise.search.part_weights import PartWeights  # noqa: E402

PACKAGES = ("termwise", "numpy", "onnxruntime", "tokenizers", "ir-measures")
SYSTEMS = ("bm25", "before", "after")


@contextmanager
def without_rule() -> Iterator[None]:
    """Give the parts of mixtures the weights of the recipe."""
    rule = mixture.part_weights
    mixture.part_weights = lambda parts, own, *others: PartWeights(own, own)
    try:
        yield
    finally:
        mixture.part_weights = rule


def opened(documents: Any, folder: Path, recipe: str) -> Searcher:
    """Open the mixture in a folder, or build it."""
    if (folder / "mixture.json").is_file():
        return termwise.open(folder)
    record.say(f"{folder}: indexing, {record.seconds()} s")
    return termwise.build_index(documents, folder, model=recipe, overwrite=True)


def has_identifier(searcher: Searcher, text: str) -> bool:
    """Return whether the rule finds an identifier in a query."""
    backend = searcher.backend
    assert isinstance(backend, mixture.Mixture), "a recipe is a mixture"
    own = tuple(part.weight for part in backend.parts)
    return bool(mixture.part_weights(backend.parts, own, backend.word_part, text).identifiers)


def products(plan: Mapping[str, Any], work: Path, recipe: str) -> dict[str, Any]:
    """Measure the share of first places in the made set."""
    of = made(plan["products"], plan["queries"], plan["seed"])
    searcher = opened(of.documents, work / recipe / "products", recipe)
    words = Searcher(searcher.parts[0].backend)

    def ranks(one: Searcher) -> npt.NDArray[np.float64]:
        run = one.rank_many(of.queries, k=1000)
        return np.array([(*run[q.query_id].doc_ids, q.query_id).index(q.query_id) + 1 for q in of.queries])

    found = {"bm25": ranks(words), "after": ranks(searcher)}
    with without_rule():
        found["before"] = ranks(searcher)
    groups = [(shape, place) for shape in SHAPES for place in ("alone", "in a longer query")]
    return {
        name: {
            "first": float((ranked == 1).mean()),
            "interval": record.mean_interval((ranked == 1).astype(np.float64)),
            "lowest": int(ranked.max()),
            "groups": {
                f"{shape}, {place}": float(
                    (ranked == 1)[[of.shapes[q.query_id] == f"{shape}, {place}" for q in of.queries]].mean()
                )
                for shape, place in groups
            },
        }
        for name, ranked in found.items()
    }


def quality(judged: Judged, searcher: Searcher, measure: str) -> dict[str, Any]:
    """Compare the rankings of the queries with an identifier; all others are equal."""
    fired = [query for query in judged.queries if has_identifier(searcher, query.text)]

    def values() -> npt.NDArray[np.float64]:
        run = searcher.rank_many(judged.queries, k=10 + judged.deepest)
        found: npt.NDArray[np.float64] = judged.evaluate(judged.without_seeds(run, 10), [measure]).values[
            measure
        ]
        return found

    after = values()
    with without_rule():
        before = values()
    difference = after - before
    return {
        "queries": len(judged.queries),
        "identifiers": len(fired),
        "before": float(before.mean()),
        "after": float(after.mean()),
        "difference": float(difference.mean()),
        "interval": record.mean_interval(difference),
        "examples": [query.text[:100] for query in fired[:20]],
    }


def page(result: Mapping[str, Any]) -> str:
    """Write the tables."""
    plan = result["config"]
    parts = [
        f"# {plan['title']}",
        "Made by `experiments/identifiers/identifiers.py`, which states the question.",
    ]
    for recipe, one in result["recipes"].items():
        found = one["products"]
        rows = [
            [
                name,
                f"{found[name]['first']:.1%}",
                " to ".join(f"{bound:.1%}" for bound in found[name]["interval"]),
                f"{found[name]['lowest']:,}",
                *(f"{share:.0%}" for share in found[name]["groups"].values()),
            ]
            for name in SYSTEMS
        ]
        head = ("ranking", "first", "95 %", "lowest rank", *found["bm25"]["groups"])
        parts += [f"## {recipe}: {plan['queries']} identifiers in {plan['products']:,} made products"]
        parts += [record.table(head, rows)]
        for split, collections in one["splits"].items():
            rows = [
                [
                    name,
                    f"{each['queries']:,}",
                    f"{each['identifiers']:,}",
                    *(record.number(each[way], digits=4) for way in ("before", "after")),
                    record.number(each["difference"], digits=4, signed=True),
                    record.interval(each["interval"], digits=4, signed=True),
                ]
                for name, each in collections.items()
            ]
            head = ("collection", "queries", "with an identifier", "before", "after", "difference", "95 %")
            parts += [f"## {recipe}: {plan['measure']}, {split}", record.table(head, rows)]
    return "\n\n".join([*parts, record.about(dict(result))])


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    parser = record.parser(__doc__, "work", "collections", "only", "out")
    parser.add_argument("--plan", type=Path, default=HERE / "identifiers.toml")
    parser.add_argument("--recipes", metavar="A,B", help="recipes (default: all of the plan)")
    parser.add_argument("--splits", metavar="A,B", help="splits (default: dev,test)")
    arguments: argparse.Namespace = parser.parse_args(given)
    provenance = record.provenance(PACKAGES)
    plan = tomllib.loads(arguments.plan.read_text(encoding="utf-8"))
    recipes: dict[str, Any] = {}
    for recipe in record.selected("recipe", arguments.recipes, plan["recipes"]):
        recipes[recipe] = {"products": products(plan, arguments.work, recipe), "splits": {}}
        for split in record.selected("split", arguments.splits, plan["splits"]):
            measured = recipes[recipe]["splits"].setdefault(split, {})
            for name in record.selected("collection", arguments.only, plan["splits"]["test"]):
                if name in plan["splits"][split]:
                    judged = Judged.read(name, arguments.collections / name, plan["splits"][split][name])
                    searcher = opened(judged.documents, arguments.work / recipe / name, recipe)
                    measured[name] = quality(judged, searcher, plan["measure"])
                    record.say(f"{recipe} {split} {name}: {measured[name]}, {record.seconds()} s")
    result = {
        "experiment": plan["name"],
        "config": plan,
        "recipes": recipes,
        "provenance": provenance | {"seconds": record.seconds()},
    }
    whole = not (arguments.only or arguments.recipes or arguments.splits)
    record.save(result, page(result), arguments.out, plan["name"] + ("" if whole else "_partial"))


if __name__ == "__main__":
    record.script(main)
