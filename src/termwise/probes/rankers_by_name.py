"""Functions that open the rankers of a probe run from their names, and compute the scales of mixtures."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from termwise.collection import read_run
from termwise.display.safe_text import shown
from termwise.errors import DataError, MissingFileError, ParameterError, UnknownNameError, UsageError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.probes.core.judged_texts import JudgedTexts
from termwise.probes.core.reference_rankings import ReferenceRankings
from termwise.probes.core.sample import ScorePairs
from termwise.rankers import ScorerContext, open_mixture_parts, open_scorer
from termwise.rankers.specification import ScorerSpecification, parse_specification
from termwise.scorers import MixedScorer, RunScorer
from termwise.scorers.http import is_address
from termwise.scorers.mixture import Scale
from termwise.scorers.protocol import TextScorer, fingerprint_of
from termwise.storage.safe_read import path_exists


@dataclass(frozen=True)
class MixtureSpecification:
    """Mixture of rankers, before mean and deviation of the scores of each part are known."""

    name: str
    parts: tuple[Ranker, ...]
    weights: tuple[float, ...]

    @classmethod
    def of(cls, specification: ScorerSpecification, opened: Mapping[str, Ranker]) -> MixtureSpecification:
        """Parse ``FIRST+SECOND,alpha=0.5``; both rankers must be in `opened`, and neither may be a run."""
        names = specification.target.split("+")
        specification.check_settings(("alpha",))
        if len(names) != 2 or not set(names) <= set(opened):
            raise UsageError(
                "a mixture has two rankers that are named before it",
                facts=[("given", specification.text), ("named before", ", ".join(opened) or "none")],
                fixes=["name three rankers: bm25 tildev2 bm25+tildev2,alpha=0.3"],
            )
        for name in names:
            if isinstance(opened[name], RunScorer):
                raise UsageError(
                    "a run cannot be mixed: it has scores only for the texts that it ranks",
                    facts=[("given", specification.text), ("run", name)],
                    fixes=[
                        "name the ranker that made the run",
                        Fix.sentence("fuse the runs with {}", Fix.call("fuse")),
                    ],
                )
        try:
            alpha = float(specification.settings.get("alpha", "0.5"))
        except ValueError:
            alpha = -1.0
        if not 0 <= alpha <= 1:
            raise UsageError("alpha is a number from 0 to 1", facts=[("given", specification.text)])
        parts = tuple(opened[name] for name in names)
        return cls(specification.name or specification.target, parts, (alpha, 1 - alpha))


Ranker = TextScorer | MixtureSpecification


def open_rankers(
    rankers: Iterable[str | TextScorer], judged: Sequence[JudgedTexts], context: ScorerContext
) -> dict[str, Ranker]:
    """Open rankers by name, in the given order; objects are returned unchanged. Names are distinct."""
    opened: dict[str, Ranker] = {}
    given: dict[str, str | TextScorer] = {}
    for ranker in rankers:
        scorer = _open(ranker, opened, judged, context) if isinstance(ranker, str) else ranker
        if isinstance(scorer, type) or not isinstance(scorer, TextScorer | MixtureSpecification):
            raise ParameterError(
                "a ranker is an object with a name and a method score",
                facts=[("given", shown(scorer))],
                fixes=[
                    Fix.python("termwise.scorers.FunctionScorer(function, name=...)", "wrap a function, {}"),
                    Fix.python("termwise.scorers.index_scorer", "name the folder of an index, or call {}"),
                ],
            )
        if not isinstance(scorer.name, str) or not scorer.name:
            raise ParameterError(
                "the name of a ranker is a non-empty string",
                facts=[("ranker", shown(scorer)), ("name", shown(scorer.name))],
            )
        if scorer.name in opened:
            raise UsageError(
                "two rankers have one name",
                facts=[("name", scorer.name), ("given", shown(ranker))],
                fixes=[_naming_fix(given[scorer.name], ranker)],
            )
        opened[scorer.name] = scorer
        given[scorer.name] = ranker
    return opened


def _naming_fix(first: str | TextScorer, second: str | TextScorer) -> str:
    """Return the fix for two rankers with the same name."""
    if not isinstance(first, str) or not isinstance(second, str):
        return "give one of them another name"
    targets = [text.partition("=")[2] if parse_specification(text).name else text for text in (first, second)]
    return f"name them: FIRST={targets[0]} SECOND={targets[1]}"


def _open(
    text: str, opened: Mapping[str, Ranker], judged: Sequence[JudgedTexts], context: ScorerContext
) -> Ranker:
    specification = parse_specification(text)
    target = specification.target
    if _is_file(target):
        return run_scorer(specification, judged)
    is_new_path = ":" not in target and not path_exists(Path(target))
    if "+" in target and (is_new_path or set(target.split("+")) <= set(opened)):
        return MixtureSpecification.of(specification, opened)
    mixture = open_mixture_parts(specification, context)
    if mixture is not None:
        name = specification.name or Path(target).resolve().name
        return MixtureSpecification(name, _opened_before(mixture.scorers, opened), tuple(mixture.weights))
    if Path(target).suffix and is_new_path:
        raise MissingFileError(
            "there is no such run, and no such folder", facts=[("given", target)], fixes=["check the path"]
        )
    if target.startswith("python:"):
        _add_current_folder_to_path()
    return open_scorer(specification, context)


def _opened_before(parts: Iterable[TextScorer], opened: Mapping[str, Ranker]) -> tuple[TextScorer, ...]:
    """Replace parts of a mixture by equal scorers that are open already, so that these score each text once."""
    known = {fingerprint_of(one): one for one in opened.values() if isinstance(one, TextScorer)}
    known.pop(None, None)
    return tuple(known.get(fingerprint_of(part), part) for part in parts)


def build_mixtures(
    rankers: Iterable[Ranker], reference: ReferenceRankings | None, score_pairs: ScorePairs
) -> list[TextScorer]:
    """Return the scorers of all rankers; the scales of mixtures come from the reference rankings."""
    scorers: list[TextScorer] = []
    for ranker in rankers:
        if not isinstance(ranker, MixtureSpecification):
            scorers.append(ranker)
        elif reference is not None:
            parts = build_mixtures(ranker.parts, reference, score_pairs)
            scales = [Scale.of(reference.score(part, score_pairs), name=part.name) for part in parts]
            scorers.append(MixedScorer(parts, weights=ranker.weights, scales=scales, name=ranker.name))
    return scorers


def run_scorer(specification: ScorerSpecification, judged: Sequence[JudgedTexts]) -> RunScorer:
    """Open a run file; the setting ``judged=NAME`` names the collection of its identifiers."""
    specification.check_settings(("judged",))
    chosen = specification.settings.get("judged")
    names = [collection.name for collection in judged]
    if chosen is not None and chosen not in names:
        raise UnknownNameError.of("judged collection", chosen, names)
    name = specification.name or Path(specification.target).name.split(".")[0]
    run = read_run(Path(specification.target), name=name)
    collections = [
        collection
        for collection in judged
        if chosen in (None, collection.name) and not run.rankings.keys().isdisjoint(collection.queries)
    ]
    doc_ids = {doc_id for ranking in run.rankings.values() for doc_id in ranking.doc_ids}
    queries = _unique_texts(
        "query", specification, run.rankings, {one.name: one.queries for one in collections}
    )
    texts = _unique_texts("document", specification, doc_ids, {one.name: one.texts for one in collections})
    if not queries or not texts:
        raise DataError(
            "the run ranks no judged text of these collections",
            facts=[
                ("run", specification.target),
                ("judged collections", ", ".join(names)),
                ("queries of the run", _count_with_example(run.rankings)),
                ("documents of the run", _count_with_example(doc_ids)),
            ],
            fixes=[Fix.use("name the collection of the run, {}", judged="COLLECTION")],
        )
    return RunScorer(run, queries, texts)


def _count_with_example(ids: Collection[str]) -> str:
    return f"{len(ids):,}, such as {shown(min(ids))}" if ids else "none"


def _unique_texts(
    noun: str,
    specification: ScorerSpecification,
    ids: Iterable[str],
    texts_by_collection: Mapping[str, Mapping[str, str]],
) -> dict[str, str]:
    """Return the texts of identifiers; `UsageError` if an identifier has different texts in two collections."""
    texts: dict[str, str] = {}
    origins: dict[str, str] = {}
    for item_id in ids:
        for collection, known in texts_by_collection.items():
            text = known.get(item_id)
            if text is None:
                continue
            if texts.setdefault(item_id, text) != text:
                run, origin = specification.target, origins[item_id]
                raise UsageError(
                    "an identifier of the run has different texts in two collections",
                    facts=[
                        ("run", run),
                        (noun, item_id),
                        (origin, shown(texts[item_id])),
                        (collection, shown(text)),
                    ],
                    fixes=[f"{run},judged={origin}", f"{run},judged={collection}"],
                )
            origins.setdefault(item_id, collection)
    return texts


def _is_file(target: str) -> bool:
    if is_address(target):
        return False
    try:
        return Path(target).is_file()
    except PermissionError as error:
        raise MissingFileError.of("a path cannot be read", Path(target), error) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(
            "the name of a ranker is not a valid path",
            facts=[("given", shown(target)), ("characters", f"{len(target):,}"), ("reason", reason)],
            fixes=["name a model, a folder, an address, a function or a run file"],
        ) from None


def _add_current_folder_to_path() -> None:
    """Make modules in the current folder importable, after all others."""
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.append(folder)
