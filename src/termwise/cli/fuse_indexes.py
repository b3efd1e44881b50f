"""``termwise fuse-indexes``: fuse indexes of the same documents into one index, or into a mixture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from termwise.cli.fusion_options import (
    Alpha,
    Weights,
    check_count,
    chosen_weights,
    note_weight_names,
    one_or_each,
)
from termwise.cli.index_notes import report_built
from termwise.cli.options import (
    JsonFlag,
    Memory,
    Overwrite,
    Threads,
    argument,
    available_processors,
    flag,
    memory_size,
    option,
    refuse_options,
)
from termwise.cli.progress_bars import progress_bar
from termwise.cli.terminal import note, note_line, working_seconds
from termwise.errors import UsageError
from termwise.storage.safe_read import is_file

if TYPE_CHECKING:
    from termwise.search import Feedback
    from termwise.search.mixture import Mixture


def command(
    folders: Annotated[
        list[Path],
        argument(
            "DIR", "Folders of indexes of the same documents, two or more, or of a mixture for its parts."
        ),
    ],
    out: Annotated[Path, option("--out DIR", "Folder of the new index or mixture.")],
    alpha: Alpha = None,
    weights: Weights = None,
    normalise: Annotated[
        list[str] | None,
        option(
            "--normalise NORMALISATION",
            "raw, which writes one index, or z, which writes a mixture; not with a weights file.  [default: z for a "
            "mixture or an index of vectors, else raw]",
        ),
    ] = None,
    feedback: Annotated[
        bool | None,
        flag(
            "--feedback/--no-feedback",
            "Of a mixture: move queries by vectors towards the first documents.  [default: as in a mixture among DIR]",
        ),
    ] = None,
    only_scoring: Annotated[
        list[str] | None,
        option(
            "--only-scoring NAME",
            "Of a mixture: the part of this name, which is that of its folder without .tw, finds no candidates and "
            "scores those of the others; repeatable.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    float_weights: Annotated[
        bool,
        flag(
            "--float",
            "Store weights as float32 instead of one byte; the default if one of the indexes has float32 weights.",
        ),
    ] = False,
    threads: Threads = None,
    memory: Memory = "2GB",
    as_json: JsonFlag = False,
) -> None:
    """Fuse indexes into one index, or into a mixture.

    Raw scores are added term by term in one index, whose scores are the fused scores; the indexes need the same
    analyzer. z-scores are added at search time: the mixture is a folder with all indexes, which need the same documents
    and nothing else.

    For example:

    termwise fuse-indexes bm25.tw model1.tw --alpha 0.7 --out both.tw

    termwise fuse-indexes bm25.tw tilde.tw --alpha 0.3 --normalise z --out both.tw

    termwise fuse-indexes best.tw tilde.tw --weights 0.2,0.5,0.3 --out three.tw

    termwise fuse-indexes bm25.tw tilde.tw --weights weights.json --out both.tw
    """
    from termwise.fusion import Fusion, fuse_indexes, index_weights, mix_indexes
    from termwise.fusion.index_weights import check_settings
    from termwise.fusion.mixture import distinct_names
    from termwise.fusion.weights_file import check_order
    from termwise.index import Index
    from termwise.search.mixture import Mixture
    from termwise.search.mixture_folder import DEPTH, is_mixture

    mixtures = {folder: Mixture.open(folder) for folder in folders if is_mixture(folder)}
    depth = max((mixture.depth for mixture in mixtures.values()), default=DEPTH)
    named = [each for folder in folders for each in _indexes(folder, mixtures.get(folder))]
    names, folders = [name for name, _, _ in named], [folder for _, folder, _ in named]
    distinct = distinct_names(names)
    scoring = [name for name, (_, _, retrieves) in zip(distinct, named, strict=True) if not retrieves]
    scoring += _named_once(only_scoring or (), names, distinct)
    check_count(folders, "indexes")
    files = [folder for folder in folders if is_file(folder)]
    if files:
        raise UsageError(
            "fuse-indexes takes folders of indexes, and one of these is a file",
            facts=[("file", files[0])],
            fixes=["termwise fuse RUN RUN fuses run files"],
        )
    numbers = chosen_weights(folders, "indexes", alpha, weights)
    if numbers is not None:
        weights = None
    parts = [part for mixture in mixtures.values() for part in mixture.parts]
    opened = {part.index.path: part.index for part in parts}
    indexes = [opened[folder] if folder in opened else Index.open(folder) for folder in folders]
    if weights is not None:
        refuse_options({"--normalise": normalise}, "with --weights FILE: the file states it")
        fusion = Fusion.open(weights)
    elif numbers is not None:
        if normalise is None:
            only_z = bool(mixtures) or any(index.term_vectors is not None for index in indexes)
            normalise = ["z"] if only_z else ["raw"]
        fusion = Fusion(names, numbers, missing="drop", scaling=one_or_each(normalise))
    begin = working_seconds()
    if set(fusion.scaling) == {"z"}:
        refuse_options({"--float": float_weights}, "to a mixture, which keeps the indexes as they are")
        check_order(fusion, names)
        check_settings(fusion, indexes)
        if weights is not None:
            note_weight_names(weights, fusion, names)
        with_vectors = any(
            index.term_vectors is not None
            for index, weight in zip(indexes, fusion.weights, strict=True)
            if weight != 0
        )
        searcher = mix_indexes(
            indexes,
            fusion.weights,
            out,
            names=distinct,
            depth=depth,
            feedback=_feedback(feedback, mixtures, with_vectors),
            only_scoring=scoring,
            overwrite=overwrite,
        )
        _note_left_out(names, fusion.weights)
        if not searcher.index.stores_text and any(index.stores_text for index in indexes):
            note(
                "the mixture stores no texts: those of the index that is left out are divided into other segments"
            )
    else:
        refuse_options(
            {"--feedback": feedback or None, "--only-scoring": only_scoring},
            "to one index, whose scores are added up before a search",
            "--normalise z",
        )
        _note_left_out(names, fusion.weights)
        shares = index_weights(fusion, indexes)
        if weights is not None:
            note_weight_names(weights, fusion, names)
        with progress_bar() as progress:
            searcher = fuse_indexes(
                indexes,
                shares,
                out,
                quantiser="float32" if float_weights else None,
                overwrite=overwrite,
                threads=threads or available_processors(),
                memory=memory_size(memory),
                progress=progress,
            )
    report_built(out, searcher, working_seconds() - begin, as_json)


def _note_left_out(names: Sequence[str], weights: Sequence[float]) -> None:
    """Name the indexes that add nothing."""
    for name, weight in zip(names, weights, strict=True):
        if weight == 0:
            note_line(f"{name} left out: weight 0")


def _indexes(folder: Path, mixture: Mixture | None) -> list[tuple[str, Path, bool]]:
    """Return name and folder of each part of a mixture, or of the index itself, and whether it retrieves."""
    from termwise.fusion.mixture import stem

    if mixture is None:
        return [(stem(folder), folder, True)]
    return [(part.name, part.index.path, part.retrieves) for part in mixture.parts]


def _named_once(chosen: Sequence[str], names: Sequence[str], distinct: Sequence[str]) -> Sequence[str]:
    """Return the names of chosen parts, each of which must be that of one part, or its name in the mixture."""
    for name in chosen:
        if (number := names.count(name)) != 1 and (number or name not in distinct):
            raise UsageError(
                f"{'no part has' if number == 0 else f'{number} parts have'} the name that --only-scoring gives",
                facts=[("given", name), ("parts of the new mixture", ", ".join(distinct))],
                fixes=[
                    f"--only-scoring {each}"
                    for each in distinct
                    if number == 0 or each.startswith(f"{name}-")
                ],
            )
    return chosen


def _feedback(chosen: bool | None, mixtures: Mapping[Path, Mixture], with_vectors: bool) -> Feedback | None:
    """Return the settings of feedback: those that the mixtures have, unless the user chose otherwise."""
    from termwise.search import Feedback

    if chosen is False or (chosen is None and not with_vectors):
        return None
    found = {folder: mixture.feedback for folder, mixture in mixtures.items() if mixture.feedback is not None}
    if len(set(found.values())) > 1:
        raise UsageError(
            "the mixtures have different settings of feedback",
            facts=[
                (str(folder), f"{each.documents} documents, weight {each.weight:g}")
                for folder, each in found.items()
            ],
            fixes=["--no-feedback", "mix them with Searcher.mix or mix_indexes in Python"],
        )
    return next(iter(found.values()), Feedback() if chosen else None)
