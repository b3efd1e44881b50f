r"""Relevance of true queries, of nonsense and of queries of other collections, and the ranking with the default.

Question
    The relevance of a document is the share of unrelated queries, sums of the vectors of three random terms, whose best
    document is less near (`termwise.engine.unrelated_queries`). Which share of the true queries of a collection, of
    nonsense, and of queries of other collections has a best document above a level? Which level is the default for
    results that match by meaning only, where no document matches by words? What does it change in the ranking?
Queries
    ``true``: the judged queries of the split. ``letters``: one to three words of 4 to 10 random letters. ``shuffled``:
    the true queries, with the letters of each word in random order. ``other words``: two to six random words of the
    queries of other collections. ``other queries``: those of other collections. Some of the last two are related to the
    collection, because collections share subjects.
Choice
    On ``dev``: the level with the largest sum of two shares, in the mean over collections and over the two kinds of
    nonsense (``letters`` and ``shuffled``): true queries with a best document above the level, and nonsense without.
Measures
    Of the best document of each query: area under the ROC curve, and shares above the default. Of whole searches:
    queries without a result, and nDCG@10 with the default, and with ``min_relevance`` at the same level, each minus
    that with ``min_relevance=0``.
Run
    ``min_relevance.py --work WORK``; indexes in WORK are used again. ``--recipes instant`` needs no network.
Result
    ``results/min_relevance.md``, ``.json`` and ``.svg``.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from string import ascii_lowercase
from typing import Any

import numpy as np
import numpy.typing as npt
import record
from charts import line_chart
from judged_collection import Judged

import termwise
from termwise.engine.query_vector import query_vector
from termwise.engine.retrieval import first_stage
from termwise.engine.unrelated_queries import LEAST_RELEVANCE, cosines
from termwise.evaluate import evaluate
from termwise.records import Query, Run
from termwise.search import Search, Searcher
from termwise.search.mixture import Mixture

HERE = Path(__file__).resolve().parent
PACKAGES = ("termwise", "numpy", "onnxruntime", "tokenizers", "ir-measures")
NONSENSE = ("letters", "shuffled")
OTHERS = (*NONSENSE, "other words", "other queries")
Floats = npt.NDArray[np.float64]


def opened(documents: Any, folder: Path, recipe: str) -> Searcher:
    """Open the mixture in a folder, or build it."""
    if (folder / "mixture.json").is_file():
        return termwise.open(folder)
    record.say(f"{folder}: indexing, {record.seconds()} s")
    return termwise.build_index(documents, folder, model=recipe, overwrite=True)


def other_texts(
    name: str, own: Sequence[str], others: Sequence[str], most: int, seed: int
) -> dict[str, list[str]]:
    """Return nonsense and queries of other collections."""
    random = Random(f"{name} {seed}")
    words = [word for text in others for word in text.split()]

    def letters() -> str:
        lengths = [random.randint(4, 10) for _ in range(random.randint(1, 3))]
        return " ".join("".join(random.choices(ascii_lowercase, k=length)) for length in lengths)

    return {
        "letters": [letters() for _ in range(most)],
        "shuffled": [
            " ".join("".join(random.sample(word, len(word))) for word in text.split()) for text in own
        ],
        "other words": [" ".join(random.sample(words, random.randint(2, 6))) for _ in range(most)],
        "other queries": random.sample(others, most),
    }


def best_relevance(searcher: Searcher, texts: Sequence[str]) -> Floats:
    """Return the relevance of the nearest document to each text; 0 without one."""
    mixture = searcher.backend
    assert isinstance(mixture, Mixture), "a recipe is a mixture"
    assert mixture.unrelated is not None, "it was built by this version"
    assert mixture.meaning_part is not None, "it has vectors"
    backend = mixture.parts[mixture.meaning_part].backend
    found = np.full(len(texts), -np.inf)
    for place, text in enumerate(texts):
        query = query_vector(backend.index, backend.encoder.encode_query(text))
        best, _ = first_stage(backend.index, query, 1)
        found[place] = cosines(backend.index, query, best).max(initial=-np.inf)
    return mixture.unrelated.relevance(found)


def area(true: Floats, others: Floats) -> float:
    """Return the area under the ROC curve: the probability that a true query has the larger value, ties half.

    Examples
    --------
    >>> area(np.array([0.9, 0.5]), np.array([0.5, 0.1]))
    0.875
    """
    return float((true[:, None] > others).mean() + (true[:, None] == others).mean() / 2)


def measured(
    plan: Mapping[str, Any], judged: Judged, searcher: Searcher, others: Sequence[str]
) -> dict[str, Any]:
    """Measure one collection."""
    measure, most = plan["measure"], plan["most"]
    queries = Random(plan["seed"]).sample(judged.queries, min(most, len(judged.queries)))
    wanted = {query.query_id for query in queries}
    qrels = [qrel for qrel in judged.qrels if qrel.query_id in wanted]
    texts = {"true": [query.text for query in queries]}
    texts |= other_texts(judged.name, texts["true"], others, most, plan["seed"])
    best = {kind: best_relevance(searcher, of_kind) for kind, of_kind in texts.items()}

    def values(least: float | None) -> Floats:
        k = 10 + judged.deepest
        rankings = [searcher.search(Search(query, k=k, min_relevance=least)).ranking for query in queries]
        run = judged.without_seeds(Run(rankings), 10)
        found = evaluate(run, qrels, [measure], exclude=judged.seeds or None).values[measure]
        return np.asarray(found, dtype=np.float64)

    def searches(of_kind: Sequence[str]) -> dict[str, float]:
        found = [searcher.search(Search(text, k=1)) for text in of_kind]
        return {
            "none": float(np.mean([not len(each.ranking) for each in found])),
            "without words": float(np.mean([each.count() == 0 for each in found])),
        }

    every = values(0.0)
    changes = {}
    for name, least in (("default", None), ("all", LEAST_RELEVANCE)):
        difference = values(least) - every
        changes[name] = {"difference": float(difference.mean()), "interval": record.mean_interval(difference)}
    return {
        "queries": len(queries),
        "documents": searcher.documents,
        "data": judged.data,
        "kinds": {
            kind: {
                "area": None if kind == "true" else area(best["true"], best[kind]),
                "above": {f"{level:g}": float((best[kind] >= level).mean()) for level in plan["levels"]},
                "curve": [float((best[kind] >= level).mean()) for level in np.linspace(0, 1, 101)],
                **searches(of_kind),
            }
            for kind, of_kind in texts.items()
        },
        "value": float(every.mean()),
        "changes": changes,
    }


def choice(plan: Mapping[str, Any], collections: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return for each level the mean shares of true queries above it and of nonsense below it, and their sum."""
    found = {}
    for level in (f"{level:g}" for level in plan["levels"]):
        kinds = [each["kinds"] for each in collections.values()]
        true = float(np.mean([each["true"]["above"][level] for each in kinds]))
        nonsense = float(np.mean([1 - each[kind]["above"][level] for each in kinds for kind in NONSENSE]))
        found[level] = {"true": true, "nonsense": nonsense, "sum": true + nonsense}
    return found


def curves(collections: Mapping[str, Any]) -> dict[str, list[tuple[float, float]]]:
    """Return the points of the ROC curves, each in the mean over the collections."""

    def mean(kind: str) -> list[float]:
        return np.mean([each["kinds"][kind]["curve"] for each in collections.values()], axis=0).tolist()

    return {kind: sorted(zip(mean(kind), mean("true"), strict=True)) for kind in OTHERS}


def page(result: Mapping[str, Any]) -> str:
    """Write the tables."""
    plan, level = result["config"], f"{LEAST_RELEVANCE:g}"
    parts = [
        f"# {plan['title']}",
        "Made by `experiments/min_relevance.py`, which states the question and the kinds of queries: judged queries "
        "(*true*), words of random letters (*letters*), true queries with the letters of each word in random order "
        "(*shuffled*), and words and queries of other collections.",
        f"![ROC curves on the test splits]({plan['name']}.svg)",
        "The figure has the means over the test splits of `instant`.",
    ]
    for recipe, splits in result["recipes"].items():
        if "dev" in splits:
            chosen = choice(plan, splits["dev"])
            best = max(chosen, key=lambda each: chosen[each]["sum"])
            rows = [
                [name, *(record.number(each[key]) for key in ("true", "nonsense", "sum"))]
                for name, each in chosen.items()
            ]
            parts += [
                f"## {recipe}: levels, on the development splits",
                f"Shares of the queries, in the mean over {', '.join(splits['dev'])}. The largest sum is that of "
                f"{best}; the default is {level}, the choice of `instant`.",
                record.table(("level", "true above", "nonsense below", "sum"), rows),
            ]
        for split, collections in splits.items():
            rows = [
                [
                    name,
                    f"{each['queries']:,}",
                    *(record.number(each["kinds"][kind]["area"]) for kind in OTHERS),
                    *(f"{each['kinds'][kind]['above'][level]:.0%}" for kind in ("true", *OTHERS)),
                ]
                for name, each in collections.items()
            ]
            head = ("collection", "true queries", *(f"AUC {kind}" for kind in OTHERS))
            head += tuple(f"{kind} from {level}" for kind in ("true", *OTHERS))
            parts += [
                f"## {recipe}: the nearest document, {split}",
                f"Area under the ROC curve of true queries against each other kind, and the share of queries whose "
                f"nearest document has a relevance of at least {level}.",
                record.table(head, rows),
            ]
            rows = [
                [
                    name,
                    *(f"{each['kinds'][kind]['without words']:.0%}" for kind in ("true", *OTHERS)),
                    *(f"{each['kinds'][kind]['none']:.1%}" for kind in ("true", *OTHERS)),
                ]
                for name, each in collections.items()
            ]
            head = ("collection", *(f"{kind}: no word" for kind in ("true", *OTHERS)))
            head += tuple(f"{kind}: no result" for kind in ("true", *OTHERS))
            parts += [
                f"## {recipe}: searches, {split}",
                "Share of the queries of which no document has a word, and with the default, without a result.",
                record.table(head, rows),
            ]
            rows = [
                [
                    name,
                    record.number(each["value"], digits=4),
                    *(
                        cell
                        for change in each["changes"].values()
                        for cell in (
                            record.number(change["difference"], digits=4, signed=True),
                            record.interval(change["interval"], digits=4, signed=True),
                        )
                    ),
                ]
                for name, each in collections.items()
            ]
            head = ("collection", plan["measure"], "default", "95 %", f"min_relevance {level}", "95 %")
            parts += [
                f"## {recipe}: {plan['measure']} of true queries, {split}",
                "With `min_relevance=0`, and the difference with the default, which applies if no document matches by "
                f"words, and with `min_relevance={level}`, which applies to all results that match by meaning only.",
                record.table(head, rows),
            ]
    return "\n\n".join([*parts, record.about(dict(result))])


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    parser = record.parser(__doc__, "work", "collections", "only", "out")
    parser.add_argument("--plan", type=Path, default=HERE / "min_relevance.toml")
    parser.add_argument("--recipes", metavar="A,B", help="recipes (default: all of the plan)")
    arguments: argparse.Namespace = parser.parse_args(given)
    provenance = record.provenance(PACKAGES)
    plan = tomllib.loads(arguments.plan.read_text(encoding="utf-8"))
    names = record.selected("collection", arguments.only, plan["recipes"]["instant"]["test"])
    recipes: dict[str, Any] = {}
    for recipe in record.selected("recipe", arguments.recipes, plan["recipes"]):
        for split, folders in plan["recipes"][recipe].items():
            found = recipes.setdefault(recipe, {}).setdefault(split, {})
            of_all = plan["recipes"]["instant"][split]
            queries: dict[str, list[Query]] = {
                name: Judged.read(name, arguments.collections / name, each).queries
                for name, each in of_all.items()
            }
            for name in (name for name in names if name in folders):
                judged = Judged.read(name, arguments.collections / name, folders[name])
                searcher = opened(judged.documents, arguments.work / recipe / name, recipe)
                others = [query.text for other, of in queries.items() if other != name for query in of]
                found[name] = measured(plan, judged, searcher, others)
                record.say(f"{recipe} {split} {name}: {found[name]['changes']}, {record.seconds()} s")
    result = {
        "experiment": plan["name"],
        "config": plan,
        "recipes": recipes,
        "provenance": provenance | {"seconds": record.seconds()},
    }
    whole = not (arguments.only or arguments.recipes)
    name = plan["name"] + ("" if whole else "_partial")
    record.save(result, page(result), arguments.out, name)
    if "instant" in recipes:
        chart = line_chart(
            curves(recipes["instant"]["test"]),
            title="Nearest documents above a level of relevance",
            x="share of the other queries",
            y="share of the true queries",
        )
        record.write_whole(arguments.out / f"{name}.svg", chart)


if __name__ == "__main__":
    record.script(main)
