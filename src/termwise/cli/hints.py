"""Fixes of errors, worded as commands and options of the command line."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping
from typing import TypeGuard

from termwise.fixes import Arguments, Call, Code, Fix, Name, Part

_COMMANDS = {
    "KeyFile(path).create": "serve-key --keys FILE --role ROLE",
    "build_graph": "build-graph DIR",
    "build_index": "index COLLECTION --out DIR",
    "convert_checkpoint": "train convert FOLDER --out DIR",
    "export_changes": "export DIR --out DIR --since last",
    "export_index": "export DIR --to TARGET --out DIR",
    "families": "probe --list --suite all",
    "fuse": "fuse RUN RUN --out FILE",
    "learn": "learn-weights RUN RUN --qrels FILE --out FILE",
    "mix_indexes": "fuse-indexes DIRS --weights 0.5,0.5 --normalise z --out DIR",
    "open_table": "table DIR WORD",
    "probe_rankers": "probe RANKER --out DIR",
    "read_scorer_folder": "rerank --scorer DIR INDEX --run RUN --queries FILE --out FILE",
    "renew_index": "merge DIR --renew",
    "termwise.open": 'search DIR "your question"',
    "train_reranker": "train cross-encoder --data DATA --base ENCODER --out DIR",
    "train_encoder": "train KIND --data DATA --out DIR",
    "train_lookup": "train lookup --data DATA --out DIR",
    "train_model1": "train model1 --data DATA --out DIR",
    "tune": "tune DIR --table NAME --first RUN --queries FILE --qrels FILE --out FILE",
}
"""Commands by the public function with the same task; words in capitals are placeholders."""

_OPTIONS = {
    name: f"--{name.replace('_', '-')}"
    for name in (  # noqa: SIM905
        "activation after alpha analyzer approximate at attributes base candidates centred chunk collapse "
        "collapse_size collection confidence data delta device documents encoding expansion_terms "
        "facets fail_if feedback fields floors_from folds fuzzy host html idf index judged kind lang level measure "
        "memory method min_relevance min_score missing model normalise only_words or_filter out overwrite port "
        "precision prefix qrels queries relevance resamples resume role run scorer separator settings since sort "
        "statistics store_text table teacher threads validation weights"
    ).split()
} | {
    "id_field": "--id",
    "output": "--out",
    "providers": "--provider",
    "scales": "--scale",
    "expansion": "--expand-with",
    "scaling": "--normalise",
    "whole": "--whole-words",
}
"""Arguments with a separate option; all others are given with ``--set``."""

_WITHOUT_OPTION = {"ranges"}
"""Arguments that the command line lacks."""

_SETTINGS_TOO = {"activation", "expansion_terms", "table", "teacher"}
"""Arguments that are also parameters of a model, given with ``--set`` to commands without the option."""

_VALUES = (
    ("counts", "saturated", "--set counts=saturated"),
    ("like_text", "TEXT", "--like-file FILE"),
    ("expansion", None, "--expand-with none"),
    ("quantiser", "float32", "--float"),
)
"""Arguments whose value has an option of another form."""

_CALLS = {
    "Expansion": "--expand-with {} --expansion-terms {}",
    "QueryScales.of": "--queries FILE --index DIR",
    "Schema.read": "--schema {}",
    "make_analyzer_by_attribute": "--analyzer-by {} --detect-language",
}
"""Options for an argument whose value is a call."""


def spell(fix: Fix, known: Collection[str] | None = None) -> str | None:
    """Return a fix with the commands and options of the command line; None if the command has no such option.

    Parameters
    ----------
    fix : Fix
    known : collection of str, optional
        Options of the command that runs; by default every option is known.

    Examples
    --------
    >>> spell(Fix.build(store_text=True)), spell(Fix.use(hidden="128,64", projection=128))
    ('build the index with --store-text', 'use --set hidden=128,64 --set projection=128')
    >>> spell(Fix.settings(precision="float32")), spell(Fix.use(expansion=None)), spell(Fix.omit("floors_from"))
    ('use --set precision=float32', 'use --expand-with none', 'omit --floors-from')
    >>> spell(Fix.call("build_index", model="tilde", side="query"))
    'termwise index COLLECTION --out DIR --model tilde --set side=query'
    >>> spell(Fix.call("build_index", model="ml", options=Call.of("BuildOptions", quantiser="float32")))
    'termwise index COLLECTION --out DIR --model ml --float'
    >>> spell(Fix.call("mix_indexes", ["one.tw", "other.tw"], weights=[0.3, 0.7]))
    'termwise fuse-indexes one.tw other.tw --weights 0.3,0.7 --normalise z --out DIR'
    >>> print(spell(Fix.call("build_graph", "my index")), spell(Fix.use(port=8001), known={"--out"}))
    termwise build-graph 'my index' None
    """
    if fix.text == "{}" and not _is_known(fix.parts[0]):
        return f"in Python: {fix.parts[0]}"
    return fix.worded(lambda part: _part(part, known))


def _is_known(part: str | Part) -> bool:
    return part.function in _COMMANDS if isinstance(part, Call) else not isinstance(part, Code)


def _part(part: Part, known: Collection[str] | None) -> str | None:
    if isinstance(part, Call):
        return _command(part) if _is_known(part) else str(part)
    if isinstance(part, Name):
        option = _OPTIONS.get(part.name, part.name)
        return "--set" if part.name == "settings" and known and option not in known else option
    if isinstance(part, Code):
        return part
    if any(name in _WITHOUT_OPTION for name, _ in part.values):
        return None
    options = list(_options(part, known if part.of == "call" else None))
    if known is not None and part.of != "index" and not all(name in known for name, _ in options):
        return None
    return " ".join(text for _, text in options)


def _command(call: Call) -> str:
    """Return the command for a call; positional arguments replace its first placeholders, options its defaults."""
    given = [_quoted(each) for value in call.positional for each in (value if _is_list(value) else [value])]
    options = dict(_options(call.arguments))
    words = _COMMANDS[call.function].split(" ")
    spelt = ["termwise"]
    for before, word in zip(["", *words], words, strict=False):
        if before in options:
            continue
        if word in options:
            spelt.append(options[word])
        elif word == "DIRS":
            spelt += given or ["DIR", "DIR"]
            given = []
        else:
            spelt.append(given.pop(0) if word.isupper() and given else word)
    return " ".join([*spelt, *(text for name, text in options.items() if name not in words)])


def _options(arguments: Arguments, known: Collection[str] | None = None) -> Iterator[tuple[str, str]]:
    """Yield the option of each argument with its value: ``("--out", "--out DIR")``."""
    for name, value in arguments.values:
        if isinstance(value, Call) and value.function == "BuildOptions":
            yield from _options(value.arguments, known)
            continue
        option = None if arguments.of == "settings" else _OPTIONS.get(name)
        if name in _SETTINGS_TOO and known is not None and option not in known:
            option = None
        special = [text for other, seen, text in _VALUES if (other, seen) == (name, value)]
        if isinstance(value, Call) and value.function in _CALLS:
            special = [_CALLS[value.function].format(*map(_quoted, value.positional))]
        if special:
            yield special[0].split(" ")[0], special[0]
        elif option:
            yield option, option if value is True else f"{option} {_quoted(_text(value))}"
        else:
            yield "--set", f"--set {_quoted(f'{name}={_text(value)}')}"


def _text(value: object) -> str:
    """Return a value as an option takes it: ``NAME,NAME`` for names, ``title^3,text^2`` for weights of fields."""
    if isinstance(value, Mapping):
        return ",".join(f"{name}^{weight}" for name, weight in value.items())
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if _is_list(value) else str(value)


def _is_list(value: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    return isinstance(value, list | tuple)


def _quoted(value: object) -> str:
    return shlex.quote(str(value))
