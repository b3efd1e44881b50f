"""Facts of a model card, from a training run and from its author."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from termwise.encode.encoder_folder import EncoderFolder
from termwise.encode.encoder_manifest import ExpansionRecord
from termwise.errors import ParameterError, UnknownNameError
from termwise.storage.safe_read import folder_entries, is_file
from termwise.text.characters import without_surrogates
from termwise.train.settings import NEGATIVES_PER_PAIR, TrainSettings

GIVEN: Mapping[str, tuple[type, str]] = {
    "name": (str, "name of the model"),
    "summary": (str, "description in one paragraph"),
    "language": (str, "language of the texts as ISO 639-1, such as en"),
    "license": (str, "license of the weights as SPDX, such as Apache-2.0"),
    "base": (dict, "name, license and seen (training data) of the initial encoder"),
    "data": (dict, "license and origin of each source by name"),
    "reasons": (dict, "reason for each departure by setting"),
    "evaluation": (dict, "columns (names), rows (lists) and note (text), or only a note"),
    "limits": (list, "known weaknesses and untested uses, one sentence each"),
    "usage": (list, "commands of termwise, in order"),
}
"""Facts that the author of a model may give: type and meaning."""

_PLACEHOLDERS = ("", "todo", "tbd", "fixme", "unknown", "n/a", "…", "...")
_UNSTATED = "not stated by the author"
_SUMMARIES = {
    "tilde": "Estimates the likelihood of each term of a vocabulary in queries for a text.",
    "tildev2": "Weighs each word of a text, and each of its expansion terms, by its importance for queries.",
    "splade-doc": "Weighs the terms of a vocabulary for a text, by the largest output over its positions.",
    "lookup": "Maps a document to a vector, and a query to the sum of one row of a table for each of its tokens.",
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
        "pairs, so a query occurs once for each of its passages",
        "every judgment is used",
    ),
    (
        "relevant passages in the batch",
        "negatives, except the one of the pair",
        "excluded from the loss, except the one of the pair",
        "a relevant passage is not a negative",
    ),
)
"""Departures of the code from the published one in contrastive training, regardless of settings: what, published, here
and reason. The kind ``splade-doc`` also follows the code of TILDEv2."""

_NEGATIVES = (
    "hard negatives of a pair",
    "drawn at each step from all negatives",
    f"drawn at each step from {NEGATIVES_PER_PAIR} that are drawn once",
    "they are mined before training and stored, so that a resumed run has the same ones",
)

_EXPANDED = (
    "expanded passage",
    "128 pieces and the expansion, 192 in all",
    "{length} pieces, and the expansion in addition",
    "neither passage nor expansion is truncated for the other",
)


def check_card_facts(given: Mapping[str, Any]) -> None:
    """Check the facts that the author gives for a card, before a long run."""
    problems = []
    for name, value in given.items():
        if name not in GIVEN:
            raise UnknownNameError.of("fact of a model card", name, GIVEN)
        problems += _problems(name, value)
    if problems:
        raise ParameterError(
            "facts for the model card are wrong",
            facts=problems,
            fixes=["correct these facts, or omit them"],
        )


def _problems(name: str, value: Any) -> list[tuple[str, str]]:
    kind, meaning = GIVEN[name]
    for path, leaf in _leaves(name, value):
        if without_surrogates(text := f"{path} {leaf}") != text:
            return [(name, f"has a lone surrogate: {text!r:.80}")]
    entries = list(value.values()) if name == "data" and isinstance(value, dict) else []
    if not isinstance(value, kind) or not all(isinstance(entry, dict) for entry in entries):
        return [(name, f"is {value!r:.80}, expected {meaning}")]
    if isinstance(value, dict) and name == "evaluation":
        return _table_problems(value)
    if value == []:
        return [(name, f"empty: {meaning}")]
    return [
        (path, f"is {text!r:.80}, expected a text that is not a placeholder")
        for path, text in _leaves(name, value)
        if not isinstance(text, str) or _is_placeholder(text)
    ]


def _table_problems(table: Mapping[str, Any]) -> list[tuple[str, str]]:
    required = ("columns", "rows", "note") if table.get("columns") or table.get("rows") else ("note",)
    problems = [(f"evaluation.{part}", "missing") for part in required if not table.get(part)]
    if not problems and any(len(row) != len(table["columns"]) for row in table.get("rows", ())):
        problems.append(("evaluation.rows", "not as long as the columns"))
    return problems


def _leaves(path: str, value: object) -> list[tuple[str, object]]:
    """List the values inside a fact with their paths."""
    if isinstance(value, Mapping):
        return [leaf for key, part in value.items() for leaf in _leaves(f"{path}.{key}", part)]
    if isinstance(value, list):
        return [leaf for number, part in enumerate(value) for leaf in _leaves(f"{path}[{number}]", part)]
    return [(path, value)]


def _is_placeholder(text: str) -> bool:
    plain = text.strip().strip("<>[]()?.!").lower()
    return text.strip().lower() in _PLACEHOLDERS or plain in _PLACEHOLDERS or plain.startswith("todo")


def card_facts(
    out: Path, kind: str, run: Mapping[str, Any], settings: TrainSettings, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Collect the facts of a card, the argument of `model_card`.

    Parameters
    ----------
    out : Path
        The encoder folder, complete except for the card.
    run : mapping
        Facts of `train_network`, and the origin of the held-out pairs; ``trained_with`` holds the values of
        ``length``, ``idf_power``, ``expansion_terms``, ``counting`` and ``expansion_lift`` in training if the defaults
        of the encoder differ.
    given : mapping
        Some of `GIVEN`; see `check_card_facts`. ``data`` maps names of sources to ``{"license": ..., "origin": ...}``;
        ``reasons`` maps names of settings to the reasons of their departures. Missing facts are listed as not stated;
        only the language is omitted.
    """
    reasons = given.get("reasons", {})
    best = run["best"]
    measured = {name: value for name, value in best.items() if name in ("nDCG@10", "RR@10")}
    last = run["settings"].get("take") == "last"
    selection = (
        f"The checkpoint of step {best['step']} of {run['steps']}, "
        f"{'the last, as set' if last else 'the best by nDCG@10 on held-out pairs'} ({run['validation']})."
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
            "note": "Each query is ranked over the pool of all held-out passages, which is small: the values compare "
            "checkpoints with each other, and cannot be compared with those of a collection.",
        }
    return {
        **_common_facts(out, kind, base=run["base"], counts=run["sources"], given=given),
        "unit": "pairs",
        "seen": f"{run['pairs_seen']:,} pairs were seen in training, repetitions counted.",
        "settings": run["settings"],
        "departures": [
            *(
                {"setting": name, "published": paper, "here": here, "reason": reasons.get(name, _UNSTATED)}
                for name, (paper, here) in _departures(out, kind, run, settings).items()
            ),
            *(
                dict(zip(("setting", "published", "here", "reason"), departure, strict=True))
                for departure in _code_departures(out, kind, settings)
            ),
        ],
        "selection": " ".join([selection, *_later_defaults(out, run)]),
        "evaluation": given.get("evaluation", evaluation),
    }


def lookup_card_facts(out: Path, run: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Collect the facts of the card of an encoder of kind lookup, from those of `train_lookup`; see `card_facts`.

    The reasons in `given` have no effect, because there is no published training to depart from.
    """
    manifest = EncoderFolder.open(out).manifest
    prompts = "".join(
        f" The encoder read `{prompt}` before each {what}."
        for what, prompt in (("text", run.get("query_prompt")), ("document", manifest.document_prompt))
        if prompt
    )
    tokenizers = ""
    if manifest.document_tokenizer is not None:
        pieces = run["settings"].get("vocabulary") or "uncased BERT"
        tokenizers = (
            f" Documents have the tokenizer of the document encoder, queries the word pieces of {pieces}."
        )
    measured = "No text was held out."
    if run["cosine"] is not None:
        centred = ", less the mean of all," if run["settings"]["centred"] else ""
        measured = (
            f"On held-out texts, the mean cosine of the vector of the encoder{centred} and the sum of the rows is "
            f"{run['cosine']:.3f}. It does not measure the ranking of documents."
        )
    return {
        **_common_facts(out, run["kind"], base=run["teacher"], counts=run["sources"], given=given),
        "unit": "texts",
        "seen": f"The query table was fitted to {run['fitted']:,} texts, with {run['tokens']:,} tokens in all texts. "
        f"The document encoder was not trained.{prompts}",
        "settings": run["settings"],
        "selection": f"{run['terms']:,} tokens have a row of {run['dimensions']} dimensions, computed by ridge "
        f"regression: {len(run['residuals'])} steps of conjugate gradients, relative residual "
        f"{run['residuals'][-1]:.4f}. A token that no text has adds nothing to a query.{tokenizers}",
        "evaluation": given.get("evaluation", {"note": measured}),
    }


def _common_facts(
    out: Path, kind: str, *, base: str, counts: Mapping[str, int], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Collect the facts that do not depend on the training; `counts` has the pairs or texts of each source."""
    data = given.get("data", {})
    return {
        "name": given.get("name", out.resolve().name),
        "kind": kind,
        "summary": given.get("summary", _SUMMARIES[kind]),
        **{name: given[name] for name in ("language",) if name in given},
        "license": given.get("license", _UNSTATED),
        "base": {"name": base, "license": _UNSTATED, "seen": _UNSTATED} | given.get("base", {}),
        "data": [
            {"name": name, "count": count, "license": _UNSTATED, "origin": _UNSTATED} | data.get(name, {})
            for name, count in counts.items()
        ],
        "limits": given.get("limits", ["Not tested on texts unlike the training data."]),
        "usage": given.get("usage", [f"termwise index COLLECTION --model {out.resolve().name} --out INDEX"]),
        "files": {
            path.name: path.stat().st_size
            for path in folder_entries(out)
            if is_file(path) and path.name != "README.md"
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
        pairs.pop("take", None)  # without validation nothing is selected
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


def _later_defaults(out: Path, run: Mapping[str, Any]) -> list[str]:
    """Describe the defaults of an index that were changed after training."""
    before = run.get("trained_with", {})
    if not before:
        return []
    now = EncoderFolder.open(out).manifest.defaults
    changes = [f"`{name}` {now[name]} ({then} in training)" for name, then in sorted(before.items())]
    return [f"Defaults of an index changed after training: {', '.join(changes)}."]


def _expansion(record: ExpansionRecord | None, run: Mapping[str, Any]) -> str:
    if record is None:
        return "none"
    before = run.get("trained_with", {})
    lift = before.get("expansion_lift", record.lift)
    terms = f"{before.get('expansion_terms', record.terms)} {before.get('counting', record.counting)} terms"
    return terms + (f", lift {lift:g}" if lift else "")
