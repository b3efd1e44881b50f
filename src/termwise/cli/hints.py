"""Fixes of errors, worded as commands and options of the command line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

_COMMANDS = {
    "build_index": "index COLLECTION --out DIR",
    "convert_checkpoint": "train convert FOLDER --out DIR",
    "families": "probe --list --suite all",
    "fuse": "fuse RUN RUN --output FILE",
    "fuse_indexes": "fuse-indexes DIR DIR --out DIR",
    "learn": "learn-weights RUN RUN --qrels FILE --output FILE",
    "probe_rankers": "probe RANKER --out DIR",
    "rank_run": "search DIR --queries FILE --output RUN",
    "rerank": "rerank INDEX --run RUN --queries FILE --output FILE",
    "train_bert_model1": "train bert-model1 --data DATA --base ENCODER --out DIR",
    "train_encoder": "train KIND --data DATA --out DIR",
    "train_model1": "train model1 --data DATA --out DIR",
}
"""Public functions, and the command that does the same."""

_OPTIONS = frozenset(
    "alpha analyzer base candidates collection confidence data delta device documents encode encoding expand_with "  # noqa: SIM905
    "expansion_terms fail_if fields float floors_from folds index judged kind learn level like_file memory method "
    "missing model normalise oracle out overwrite precision qrels queries resamples resume run scorer separator "
    "settings store_text table threads validation".split()
)
"""Arguments that have an option of the same name; all others are given with --set."""

_OPTION_OF = {"expansion": "expand_with", "scaling": "normalise"}
"""Arguments that have an option of another name."""

_SPECIAL = {
    "expand_with=None": "--expand-with none",
    "missing=encode": "--encode",
    "quantiser=float32": "--float",
}
"""Arguments whose option has another name and value."""

_EXPANSION = re.compile(r"Expansion\(([^,]*),.*\)", re.DOTALL)
"""An expansion; its encoder is the value of --expand-with."""

_CALL = re.compile(r"([a-z_0-9]+)\((.*)\)", re.DOTALL)
_ARGUMENT = re.compile(r"(settings\.)?([A-Za-z_0-9]+)=(.*)", re.DOTALL)
"""An argument, or an attribute of the argument `settings`, which is given with --set."""


def spell(code: str) -> str:
    """Return the command or the options for a call or arguments of the Python interface.

    Parameters
    ----------
    code : str
        A call of a public function, arguments separated by commas, or anything else, which is returned as it is.

    Examples
    --------
    >>> spell("store_text=True"), spell("lambda=0.3"), spell("hidden='128,64', projection=128")
    ('--store-text', '--set lambda=0.3', '--set hidden=128,64 --set projection=128')
    >>> spell("settings.precision='float32'"), spell("expansion=None")
    ('--set precision=float32', '--expand-with none')
    >>> spell("build_index(model='tilde', side='query')")
    'termwise index COLLECTION --out DIR --model tilde --set side=query'
    >>> spell("convert_checkpoint(my-tilde, floors_from=COLLECTION)")
    'termwise train convert my-tilde --out DIR --floors-from COLLECTION'
    >>> spell("build_index(out=docs.tw)")
    'termwise index COLLECTION --out docs.tw'
    >>> print(spell("fail_if='typos<-0.3'"))
    --fail-if 'typos<-0.3'
    >>> spell("quantiser='float32'")
    '--float'
    """
    call = _CALL.fullmatch(code)
    if call and call[1] in _COMMANDS:
        command = _COMMANDS[call[1]]
        first = call[2].partition(",")[0]
        if first and "=" not in first:  # a positional argument is the first placeholder
            command = re.sub(r"\b[A-Z]{2,}\b", lambda _: first.strip("\"'"), command, count=1)
        options = []
        for option in _options(call[2]):
            name = option.partition(" ")[0]
            if f"{name} " in command:
                command = re.sub(rf"{name} \S+", option.replace("\\", r"\\"), command)
            else:
                options.append(option)
        return " ".join(["termwise", command, *options])
    return " ".join(_options(code)) if _ARGUMENT.fullmatch(code) else code


def _options(arguments: str) -> Iterator[str]:
    for argument in re.split(r",\s*(?=[A-Za-z_0-9]+=)", arguments):
        found = _ARGUMENT.fullmatch(argument)
        if found is None:
            continue
        name, value = _OPTION_OF.get(found[2], found[2]), _EXPANSION.sub(r"\1", found[3]).strip("\"'")
        if f"{name}={value}" in _SPECIAL:
            yield _SPECIAL[f"{name}={value}"]
        elif found[1] or name not in _OPTIONS:
            yield f"--set {name}={value}"
        else:
            shown = shlex.quote(value) if set(value) & set("<>*") else value  # as a shell takes it
            yield f"--{name.replace('_', '-')}" + ("" if value == "True" else f" {shown}")
