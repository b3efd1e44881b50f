"""Facts of a model card, from a training run and from its author."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from termwise.encode.encoder_folder import EncoderFolder
from termwise.encode.encoder_manifest import ExpansionRecord
from termwise.errors import ParameterError, UnknownNameError
from termwise.train.data.hard_negatives import NEGATIVES_PER_PAIR
from termwise.train.settings import TrainSettings

GIVEN = ("name", "summary", "language", "license", "base", "data", "reasons", "evaluation", "limits", "usage")
"""Facts that the author of a model may give: some of `model_card.FACTS`, and the reasons of departures."""

_TYPES: dict[str, type] = {
    "base": dict,
    "data": dict,
    "reasons": dict,
    "evaluation": dict,
    "limits": list,
    "usage": list,
}
_UNSAID = "not stated by whoever trained it"
_SUMMARIES = {
    "tilde": "Says of a text how likely each term of a vocabulary is to be asked for, given the text.",
    "tildev2": "Weighs each word of a text, and each term the text is expanded by, for what a query with it means.",
    "splade-doc": "Weighs the terms of a vocabulary for a text, by the largest output over its positions.",
}

_PUBLISHED: Mapping[str, Mapping[str, str]] = {
    "tilde": {"take": "last"},
    "tildev2": {"take": "last", "precision": "float16"},
}
"""Settings of the published code that are not defaults here: it does not validate, and it needs a GPU."""

_EXPANSION = "200 raw terms"
"""Expansion of passages in the published code of TILDEv2."""

_CONTRASTIVE = (
    (
        "an epoch",
        "queries, each with one of its passages",
        "pairs, so a query as often as it has passages",
        "no judgment is passed over",
    ),
    (
        "relevant passages in the batch",
        "negatives, but for the one of the pair",
        "left out of the loss, but for the one of the pair",
        "what is judged relevant is no negative",
    ),
)
"""Departures of the code from the published one in contrastive training, regardless of settings: what, published, here
and reason. The kind ``splade-doc`` also follows the code of TILDEv2."""

_NEGATIVES = (
    "hard negatives of a pair",
    "drawn at each step from all that are given",
    f"drawn at each step from {NEGATIVES_PER_PAIR} that are drawn once",
    "they are mined beforehand and kept, so that a run that was stopped goes on with the same",
)

_EXPANDED = (
    "expanded passage",
    "128 pieces and the expansion, 192 in all",
    "{length} pieces, and the expansion on top",
    "nothing is cut off for the expansion, nor of it",
)


def check_card_facts(given: Mapping[str, Any]) -> None:
    """Check the facts that the author gives for a card, before a long run.

    Raises
    ------
    UnknownNameError
        If a fact does not belong to a card.
    ParameterError
        If a fact has another type.
    """
    for name, value in given.items():
        if name not in GIVEN:
            raise UnknownNameError.of("fact of a model card", name, GIVEN)
        expected = _TYPES.get(name, str)
        if not isinstance(value, expected):
            raise ParameterError(
                "a fact for the model card has the wrong type",
                facts=[("fact", name), ("given", repr(value)[:80]), ("expected", expected.__name__)],
            )


def card_facts(
    out: Path, kind: str, run: Mapping[str, Any], settings: TrainSettings, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Collect the facts of a card.

    Parameters
    ----------
    out : Path
        The encoder folder, complete except for the card.
    kind : str
        Kind of network.
    run : mapping
        Facts of `train_network`, and the origin of the held-out pairs; ``trained_with`` holds the values of
        ``length``, ``idf_power``, ``expansion_terms``, ``counting`` and ``expansion_lift`` in training if the defaults
        of the encoder differ.
    settings : TrainSettings
    given : mapping
        Some of `GIVEN`; see `check_card_facts`. ``data`` maps names of sources to ``{"license": ..., "origin": ...}``;
        ``reasons`` maps names of settings to the reasons of their departures. Missing facts are listed as not stated;
        only the language is omitted.

    Returns
    -------
    dict
        Argument of `model_card`.
    """
    data, reasons, base = given.get("data", {}), given.get("reasons", {}), given.get("base", {})
    best = run["best"]
    measured = {name: value for name, value in best.items() if name in ("nDCG@10", "RR@10")}
    last = run["settings"].get("take") == "last"
    selection = (
        f"The checkpoint of step {best['step']} of {run['steps']}, "
        f"{'the last, as was set' if last else 'the best by nDCG@10 on held-out pairs'} ({run['validation']})."
        if best
        else f"The last weights, after {run['steps']} steps; "
        + (
            "nothing was held out."
            if run["validation"] == "none"
            else "the best on held-out pairs were lost."
        )
    )
    evaluation: dict[str, Any] = {"note": "Nothing was measured."}
    if measured:
        evaluation = {
            "columns": ["held-out pairs", *measured],
            "rows": [[run["validation"], *(f"{value:.4f}" for value in measured.values())]],
            "note": "Each query is ranked over the pool of all held-out passages, which is small: the values tell one "
            "checkpoint from another and cannot be compared with those of a collection.",
        }
    return {
        "name": given.get("name", out.resolve().name),
        "kind": kind,
        "summary": given.get("summary", _SUMMARIES[kind]),
        **{name: given[name] for name in ("language",) if name in given},
        "license": given.get("license", _UNSAID),
        "base": {"name": run["base"], "license": _UNSAID, "seen": _UNSAID} | base,
        "data": [
            {"name": name, "pairs": pairs, "license": _UNSAID, "origin": _UNSAID} | data.get(name, {})
            for name, pairs in run["sources"].items()
        ],
        "pairs_seen": run["pairs_seen"],
        "settings": run["settings"],
        "departures": [
            *(
                {"setting": name, "published": paper, "here": here, "reason": reasons.get(name, _UNSAID)}
                for name, (paper, here) in _departures(out, kind, run, settings).items()
            ),
            *(
                dict(zip(("setting", "published", "here", "reason"), departure, strict=True))
                for departure in _code_departures(out, kind, settings)
            ),
        ],
        "selection": " ".join([selection, *_chosen_since(out, run)]),
        "evaluation": given.get("evaluation", evaluation),
        "limits": given.get("limits", ["Texts unlike those it was trained on were not tried."]),
        "usage": given.get("usage", [f"termwise index COLLECTION --model {out.resolve().name} --out INDEX"]),
        "files": {
            path.name: path.stat().st_size
            for path in sorted(out.iterdir())
            if path.is_file() and path.name != "README.md"
        },
    }


def _departures(
    out: Path, kind: str, run: Mapping[str, Any], settings: TrainSettings
) -> dict[str, tuple[str, str]]:
    """Return settings that differ from the published ones: name to (published, here)."""
    pairs = {name: (str(paper), str(here)) for name, (paper, here) in settings.departures(kind).items()}
    for name, paper in _PUBLISHED.get(kind, {}).items():
        pairs[name] = (paper, str(getattr(settings, name)))
    if not run["best"]:
        pairs.pop("take", None)  # without validation there is no choice
    if kind != "tilde":
        manifest = EncoderFolder.open(out).manifest
        if kind == "tildev2":
            pairs["expansion"] = (_EXPANSION, _expansion(manifest.expansion, run))
        pairs["idf_power"] = ("0", f"{manifest.idf_power:g}")
    return {name: (paper, here) for name, (paper, here) in pairs.items() if paper != here}


def _code_departures(out: Path, kind: str, settings: TrainSettings) -> list[tuple[str, ...]]:
    """Return departures of the code that do not depend on settings: what, published, here and reason."""
    if kind == "tilde":
        return []
    departures: list[tuple[str, ...]] = [*_CONTRASTIVE, *([_NEGATIVES] if settings.negatives else [])]
    if EncoderFolder.open(out).manifest.expansion is not None:
        departures.append(tuple(part.format(length=settings.document_length) for part in _EXPANDED))
    return departures


def _chosen_since(out: Path, run: Mapping[str, Any]) -> list[str]:
    """Describe the defaults of an index that differ from training."""
    before = run.get("trained_with", {})
    if not before:
        return []
    now = EncoderFolder.open(out).manifest.defaults
    changes = [f"`{name}` {now[name]} ({then} in training)" for name, then in sorted(before.items())]
    return [f"Chosen since, as defaults of an index: {', '.join(changes)}."]


def _expansion(record: ExpansionRecord | None, run: Mapping[str, Any]) -> str:
    """Describe the expansion of passages in training."""
    if record is None:
        return "none"
    before = run.get("trained_with", {})
    lift = before.get("expansion_lift", record.lift)
    terms = f"{before.get('expansion_terms', record.terms)} {before.get('counting', record.counting)} terms"
    return terms + (f", lift {lift:g}" if lift else "")
