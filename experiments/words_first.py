r"""Documents with all words of a short query before all others, in a mixture with vectors.

Question
    A shop expects a product with all words of a query above one that lacks some. A mixture orders both by one score.
    Up to which length of a query can documents with all of its words come first without a loss of quality?
Systems
    ``instant`` in the order of its scores, and with documents that have all words first, for queries of at most n typed
    words (`termwise.search.mixture.SHORT_QUERY`). Queries of which no document has all words are not changed.
Run
    ``words_first.py --work WORK``; indexes in WORK are used again. The length is chosen on the development splits.
Result
    ``results/words_first.md`` and ``.json``.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import record  # noqa: E402
from judged_collection import Judged  # noqa: E402

import termwise  # noqa: E402
from termwise.search.mixture import SHORT_QUERY, MixtureMatches  # noqa: E402

PACKAGES = ("termwise", "numpy", "ir-measures")

Rule = Callable[[MixtureMatches], bool]


def measured(judged: Judged, searcher: termwise.Searcher, rule: Rule, measure: str) -> npt.NDArray[Any]:
    """Return the measure of each query if a rule decides whether documents with all words come first."""
    stated = MixtureMatches.words_first
    MixtureMatches.words_first = property(rule)  # type: ignore[assignment, method-assign]
    try:
        run = searcher.rank_many(judged.queries, k=10 + judged.deepest)
    finally:
        MixtureMatches.words_first = stated  # type: ignore[method-assign]
    found: npt.NDArray[Any] = judged.evaluate(judged.without_seeds(run, 10), [measure]).values[measure]
    return found


def up_to(words: int) -> Rule:
    """Return the rule for queries of at most so many words."""
    return lambda matches: len(matches.query.text.split()) <= words and matches.level == "all"


def differences(judged: Judged, searcher: termwise.Searcher, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Compare the rule for each length with the order of the scores."""
    plain = measured(judged, searcher, lambda matches: False, plan["measure"])
    result: dict[str, Any] = {"queries": len(judged.queries), "plain": float(plain.mean()), "lengths": {}}
    for words in plan["lengths"]:
        difference = measured(judged, searcher, up_to(words), plan["measure"]) - plain
        result["lengths"][str(words)] = {
            "changed": int((difference != 0).sum()),
            "difference": float(difference.mean()),
            "interval": record.mean_interval(difference),
        }
    return result


def page(result: Mapping[str, Any]) -> str:
    """Write the tables."""
    plan, parts = result["config"], [f"# {result['config']['title']}"]
    parts += ["Made by `experiments/words_first.py`, which states the question."]
    for split, collections in result["splits"].items():
        rows = []
        for name, each in collections.items():
            by_length = [each["lengths"][str(words)] for words in plan["lengths"]]
            cells = [record.number(one["difference"], digits=4, signed=True) for one in by_length]
            rows.append([name, f"{each['queries']:,}", record.number(each["plain"], digits=4), *cells])
        means = [
            sum(each["lengths"][str(words)]["difference"] for each in collections.values()) / len(collections)
            for words in plan["lengths"]
        ]
        rows.append(["mean", "", "", *(record.number(mean, digits=4, signed=True) for mean in means)])
        head = ("collection", "queries", "by score", *(f"up to {words} words" for words in plan["lengths"]))
        parts += [f"## {plan['measure']}, {split}", record.table(head, rows)]
        rows = [
            [
                name,
                f"{each['lengths'][str(SHORT_QUERY)]['changed']:,}",
                record.number(each["lengths"][str(SHORT_QUERY)]["difference"], digits=4, signed=True),
                record.interval(each["lengths"][str(SHORT_QUERY)]["interval"], digits=4, signed=True),
            ]
            for name, each in collections.items()
        ]
        parts += [f"Up to {SHORT_QUERY} words, the default:"]
        parts += [record.table(("collection", "queries with another value", "difference", "95 %"), rows)]
    return "\n\n".join([*parts, record.about(dict(result))])


def main(given: Sequence[str] | None = None) -> None:
    """Run the experiment."""
    parser = record.parser(__doc__, "work", "collections", "only", "out")
    parser.add_argument("--plan", type=Path, default=HERE / "words_first.toml")
    arguments: argparse.Namespace = parser.parse_args(given)
    provenance = record.provenance(PACKAGES)
    plan = tomllib.loads(arguments.plan.read_text(encoding="utf-8"))
    splits: dict[str, Any] = {}
    for split, chosen in plan["splits"].items():
        for name in record.selected("collection", arguments.only, plan["splits"]["test"]):
            if name in chosen:
                judged = Judged.read(name, arguments.collections / name, chosen[name])
                folder = arguments.work / name
                if (folder / "mixture.json").is_file():
                    searcher = termwise.open(folder)
                else:
                    searcher = termwise.build_index(judged.documents, folder, model="instant", overwrite=True)
                splits.setdefault(split, {})[name] = differences(judged, searcher, plan)
                record.say(f"{split} {name}: {splits[split][name]}, {record.seconds()} s")
    result = {
        "experiment": plan["name"],
        "config": plan,
        "splits": splits,
        "provenance": provenance | {"seconds": record.seconds()},
    }
    record.save(result, page(result), arguments.out, plan["name"] + ("_partial" if arguments.only else ""))


if __name__ == "__main__":
    record.script(main)
