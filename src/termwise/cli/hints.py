"""Fixes of errors, worded as commands and options of the command line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator
from itertools import chain, takewhile

_COMMANDS = {
    "Searcher.open": "search DIR --queries FILE --output RUN",
    "build_graph": "build-graph DIR",
    "build_index": "index COLLECTION --out DIR",
    "convert_checkpoint": "train convert FOLDER --out DIR",
    "families": "probe --list --suite all",
    "fuse": "fuse RUN RUN --output FILE",
    "fuse_indexes": "fuse-indexes DIR DIR --out DIR",
    "learn": "learn-weights RUN RUN --qrels FILE --output FILE",
    "mix_indexes": "fuse-indexes DIRS --weights 0.5,0.5 --normalise z --out DIR",
    "probe_rankers": "probe RANKER --out DIR",
    "read_scorer_folder": "rerank --scorer DIR INDEX --run RUN --queries FILE --output FILE",
    "open_searcher": 'search DIR "your question"',
    "open_writer": "add DIR COLLECTION",
    "open_table": "table DIR WORD",
    "renew_index": "merge DIR --renew",
    "tune": "tune DIR --table NAME --first RUN --queries FILE --qrels FILE --output FILE",
    "train_bert_model1": "train bert-model1 --data DATA --base ENCODER --out DIR",
    "train_encoder": "train KIND --data DATA --out DIR",
    "train_lookup": "train lookup --texts PATH --out DIR",
    "train_model1": "train model1 --data DATA --out DIR",
}
"""Commands by the public function with the same task."""

_OPTIONS = {
    name: f"--{name.replace('_', '-')}"
    for name in (  # noqa: SIM905
        "alpha analyzer approximate attributes base candidates chunk collapse collapse_size collection confidence "
        "data delta device documents encode encoding expand_with expansion_terms fail_if fields float floors_from "
        "folds fuzzy index judged kind level like_file measure memory method missing model normalise out output "
        "overwrite port precision prefix qrels queries resamples resume run scorer separator settings store_text table "
        "teacher threads validation weights"
    ).split()
} | {"expansion": "--expand-with", "scaling": "--normalise"}
"""Arguments with a separate option; all others are given with ``--set``."""

_SETTINGS_TOO = {"expansion_terms", "table", "teacher"}
"""Arguments that are also parameters of a model, given with ``--set`` to commands without the option."""

_SPECIAL = {
    "attributes=(NAME, NAME)": "--attributes NAME,NAME",
    "attributes=Schema.read(FILE)": "--schema FILE",
    "counts=saturated": "--weigh counts=saturated",
    "expansion=None": "--expand-with none",
    "fields=(NAME, NAME)": "--fields NAME,NAME",
    "fields={NAME: 3, NAME: 2}": "--fields NAME^3,NAME^2",
    "missing='encode'": "--encode",
    "quantiser='float32'": "--float",
    "queries=QueryScales.of(index, queries)": "--queries FILE --index DIR",
}
"""Arguments whose value has another form on the command line."""

_EXPANSION = re.compile(r"expansion=Expansion\((.*), (\w+)\)", re.DOTALL)
_NUMBERS = re.compile(r"weights=\[([^]]*)\]")
_QUOTED = """(?:'[^']*'|"[^"]*")"""
"""A quoted positional argument, which may hold commas and signs of equality."""

_BUILD_OPTIONS = re.compile(r"options=BuildOptions\((.*)\)(?=\)$)", re.DOTALL)
_CALL = re.compile(r"([A-Za-z_.0-9]+)\((.*)\)", re.DOTALL)
_ARGUMENT = re.compile(r"(settings\.)?([A-Za-z_0-9]+)=(.*)", re.DOTALL)
"""An argument, or an attribute of the argument `settings`, which is given with ``--set``."""


def spell(code: str, known: Collection[str] | None = None) -> str:
    """Return the command or the options for a call or arguments of the Python interface.

    Parameters
    ----------
    code : str
        A call of a public function, arguments separated by commas, or the name of an argument. Other text is returned
        unchanged.
    known : collection of str, optional
        Options of the command that runs; by default every option is known.

    Examples
    --------
    >>> spell("store_text=True"), spell("lambda=0.3"), spell("hidden='128,64', projection=128")
    ('--store-text', '--set lambda=0.3', '--set hidden=128,64 --set projection=128')
    >>> spell("settings.precision='float32'"), spell("expansion=None"), spell("floors_from")
    ('--set precision=float32', '--expand-with none', '--floors-from')
    >>> spell("build_index(model='tilde', side='query')")
    'termwise index COLLECTION --out DIR --model tilde --set side=query'
    >>> spell("build_index(model='ml', options=BuildOptions(quantiser='float32'))")
    'termwise index COLLECTION --out DIR --model ml --float'
    >>> spell('build_index(COLLECTION, "docs.tw")')
    'termwise index COLLECTION --out docs.tw'
    >>> spell("convert_checkpoint(my-tilde, floors_from=COLLECTION)")
    'termwise train convert my-tilde --out DIR --floors-from COLLECTION'
    >>> spell("train_lookup(teacher=all-MiniLM-L6-v2)")
    'termwise train lookup --texts PATH --out DIR --teacher all-MiniLM-L6-v2'
    >>> spell("mix_indexes(one.tw, other.tw, weights=[0.3, 0.7])")
    'termwise fuse-indexes one.tw other.tw --weights 0.3,0.7 --normalise z --out DIR'
    >>> spell("build_graph('a=b, c.tw')")
    "termwise build-graph 'a=b, c.tw'"
    >>> print(spell("fail_if='typos<-0.3'"), spell("out=my index"))
    --fail-if 'typos<-0.3' --out 'my index'
    """
    code = _BUILD_OPTIONS.sub(r"\1", code)
    call = _CALL.fullmatch(code)
    if call and call[1] in _COMMANDS:
        command = _COMMANDS[call[1]]
        rest = re.sub(rf"^(?:{_QUOTED}(?:,\s*|$))*", "", call[2])
        first = call[2].removesuffix(rest)
        unquoted = takewhile(lambda value: value and not _ARGUMENT.fullmatch(value), re.split(r",\s*", rest))
        given = chain((value[1:-1] for value in re.findall(_QUOTED, first)), unquoted)
        if "DIRS" in command:
            command = command.replace("DIRS", " ".join(map(_quoted, given)) or "DIR DIR")
        # Positional arguments replace the first placeholders of the command.
        command = re.sub(r"\b[A-Z]{2,}\b", lambda found: _quoted(next(given, found[0])), command)
        options = []
        for option in _options(rest):
            name = option.partition(" ")[0]
            if f"{name} " in command:
                command = re.sub(rf"{name} \S+", option.replace("\\", r"\\"), command)
            else:
                options.append(option)
        return " ".join(["termwise", command, *options])
    return _OPTIONS.get(code) or (" ".join(_options(code, known)) if _ARGUMENT.fullmatch(code) else code)


def _options(arguments: str, known: Collection[str] | None = None) -> Iterator[str]:
    for argument in re.split(r",\s*(?=[A-Za-z_.0-9]+=)", arguments):
        found = _ARGUMENT.fullmatch(argument)
        option = _OPTIONS.get(found[2]) if found and not found[1] else None
        if found and found[2] in _SETTINGS_TOO and known is not None and option not in known:
            option = None
        if argument in _SPECIAL:
            yield _SPECIAL[argument]
        elif numbers := _NUMBERS.fullmatch(argument):
            yield f"--weights {numbers[1].replace(' ', '')}"
        elif expansion := _EXPANSION.fullmatch(argument):
            yield f"--expand-with {_quoted(expansion[1])} --expansion-terms {expansion[2]}"
        elif found and option:
            yield option if found[3] == "True" else f"{option} {_quoted(found[3])}"
        elif found:
            yield f"--set {_quoted(f'{found[2]}={_unquoted(found[3])}')}"


def _unquoted(value: str) -> str:
    return value.strip("\"'")


def _quoted(value: str) -> str:
    """Return a value without the quotes of Python, and with quotes for the shell if necessary."""
    return shlex.quote(_unquoted(value))
