"""``termwise try``: index, search, explain and evaluate the shipped documentation of Python."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from termwise.cli.options import JsonFlag, argument, available_processors, option
from termwise.cli.progress_bars import progress_bar
from termwise.cli.terminal import note, print_json, quoted, stdout
from termwise.display.safe_text import legible_line
from termwise.fast_dataclass import dataclass

if TYPE_CHECKING:
    from rich.table import Table

    from termwise.collection import PythonQuestions
    from termwise.encode import DocumentEncoder
    from termwise.index import Index
    from termwise.models import Model
    from termwise.records import Document, Ranking, Run
    from termwise.search import Results, Searcher

QUESTION = "merge two sorted lists"

MEASURE = "nDCG@10"

LABELS = {
    "bm25": "BM25",
    "model1": "Model 1",
    "tilde": "TILDE",
    "tildev2": "TILDEv2",
    "instant": "instant",
    "best": "best",
    "best-large": "best-large",
}
"""Models that are evaluated, with their titles."""

SIDE_BY_SIDE = ("bm25", "instant", "best", "best-large")
"""Models whose rankings are shown side by side."""


@dataclass(frozen=True)
class _System:
    """Index, ranking and measures of one model; `mixed` has the measures of its fusion with the first model."""

    name: str
    folder: Path
    searcher: Searcher
    results: Results
    run: Run
    measures: dict[str, float | None]
    mixed: dict[str, float | None] | None = None

    @property
    def ranking(self) -> Ranking:
        return self.results.ranking

    @property
    def label(self) -> str:
        return LABELS[self.name]


def command(
    question: Annotated[str, argument("QUESTION", "Query about the standard library of Python.")] = QUESTION,
    out: Annotated[Path, option("--out DIR", "Folder of the index; rebuilt each time.")] = Path(
        "python-stdlib.tw"
    ),
    k: Annotated[int, option("-k N", "Number of results.")] = 5,
    as_json: JsonFlag = False,
) -> None:
    """Try termwise on the included documentation of Python.

    Indexes it, searches it, explains the best score of the recommended mixture and evaluates the rankings. Nothing is
    downloaded. The indexes are kept for the commands printed at the end.
    """
    from termwise.collection import PythonQuestions, open_collection
    from termwise.encode.shipped_rows import shipped_rows
    from termwise.indexing.recipes import RECIPES
    from termwise.models import make_model
    from termwise.translation import shipped_tables

    begin = time.perf_counter()
    documents = list(open_collection("python:stdlib").documents())
    questions = PythonQuestions.load()
    words = _indexed("bm25", documents, out)
    built = time.perf_counter() - begin
    parts = {"bm25": words.index}
    systems = [_evaluated("bm25", out, words, question, k, questions)]
    searcher: Searcher | None
    for name in LABELS:
        folder = _folder_for(out, name)
        if name in RECIPES:
            searcher = _mixed(name, parts, documents, folder)
        elif shipped_rows(name) is not None:
            searcher = _index_shipped_rows(make_model(name, {}), documents, folder)
        elif name in shipped_tables():
            searcher = _indexed(name, documents, folder)
        else:
            continue
        if searcher is None:
            continue
        system = _evaluated(name, folder, searcher, question, k, questions)
        if len(searcher.parts) == 1:
            system = replace(system, mixed=_fused_measures([systems[0].run, system.run], questions))
        systems.append(system)
    if as_json:
        _print_json(systems, questions, question, len(documents), built)
    else:
        _print(systems, questions, question, len(documents), built)


def _indexed(
    model: str | Model,
    documents: Sequence[Document],
    folder: Path,
    encoder: DocumentEncoder | None = None,
    *,
    store_text: bool = True,
) -> Searcher:
    """Index documents with a model, for a network with an encoder of shipped rows."""
    from termwise.indexing import BuildOptions, build_index

    with progress_bar() as progress:
        return build_index(
            documents,
            folder,
            model=model,
            store_text=store_text,
            overwrite=True,
            options=BuildOptions(threads=available_processors(), encoder=encoder, progress=progress),
        )


def _index_shipped_rows(
    model: Model, documents: Sequence[Document], folder: Path, *, store_text: bool = True
) -> Searcher:
    """Index documents with the shipped weights or vectors of a model."""
    from termwise.encode.shipped_rows import open_shipped_encoder, shipped_rows
    from termwise.models import NetworkModel

    assert isinstance(model, NetworkModel), "rows are those of networks"
    rows = shipped_rows(_rows_name(model))
    assert rows is not None, "they ship"
    texts = [document.text for document in documents]
    encoder = open_shipped_encoder(model, texts, rows, threads=available_processors())
    return _indexed(model, documents, folder, encoder, store_text=store_text)


def _rows_name(model: Model) -> str:
    """Return the name of the shipped rows of a model: that of its encoder."""
    return str(model.parameters().get("encoder", model.name))


def _mixed(
    name: str, built: dict[str, Index], documents: Sequence[Document], folder: Path
) -> Searcher | None:
    """Mix the parts of a recipe, and add those that are not in `built` to it; None if something does not ship."""
    from tempfile import TemporaryDirectory

    from termwise.encode import shipped_encoders
    from termwise.encode.shipped_rows import shipped_rows
    from termwise.fusion import mix_indexes
    from termwise.indexing.recipes import RECIPES
    from termwise.models import Lookup, make_model

    recipe = RECIPES[name]
    models = {part.name: make_model(part.model, part.settings) for part in recipe.parts}
    encoders = [model for model in models.values() if isinstance(model, Lookup)]
    if any(model.encoder not in shipped_encoders() for model in encoders):
        return None
    if any(model.runs_network and shipped_rows(model.encoder) is None for model in encoders):
        return None
    with TemporaryDirectory(dir=folder.parent) as place:
        for part, model in models.items():
            if part not in built:
                runs_network = isinstance(model, Lookup) and model.runs_network
                index = _index_shipped_rows if runs_network else _indexed
                built[part] = index(model, documents, Path(place) / part, store_text=False).index
        searcher = mix_indexes(
            [built[part] for part in models],
            [part.weight for part in recipe.parts],
            folder,
            names=list(models),
            depth=recipe.depth,
            feedback=recipe.feedback,
            only_scoring=[part.name for part in recipe.parts if not part.retrieves],
            scales={part.name: part.scale for part in recipe.parts},
            overwrite=True,
        )
    built |= {part.name: part.index for part in searcher.parts}
    return searcher


def _evaluated(
    name: str,
    folder: Path,
    searcher: Searcher,
    question: str,
    k: int,
    questions: PythonQuestions,
) -> _System:
    from termwise.search import Search

    results = searcher.search(Search(question, k=k))
    run = searcher.rank_many(questions.queries, k=100, threads=available_processors())
    return _System(name, folder, searcher, results, run, _means(run, questions))


def _fused_measures(runs: Sequence[Run], questions: PythonQuestions) -> dict[str, float | None]:
    """Return the measures of two runs fused with equal weights."""
    from termwise.fusion import fuse

    return _means(fuse(runs, weights=(0.5, 0.5), missing="minimum", scaling="z"), questions)


def _means(run: Run, questions: PythonQuestions) -> dict[str, float | None]:
    from termwise.evaluate import evaluate

    return dict(evaluate(run, questions.qrels, [MEASURE]).means)


def _print_json(
    systems: Sequence[_System], questions: PythonQuestions, question: str, documents: int, seconds: float
) -> None:
    shown = _recommended(systems)
    report: dict[str, Any] = {
        "index": str(shown.folder),
        "documents": documents,
        "seconds": round(seconds, 3),
        "question": question,
        "ranking": [explanation.to_dict() for explanation in shown.results.explain(competitors=2)],
        "questions": len(questions.queries),
        "measures": shown.measures,
        "systems": [
            {
                "model": system.name,
                "index": str(system.folder),
                "ranking": list(system.ranking.doc_ids),
                "measures": system.measures,
                "mixed": system.mixed,
            }
            for system in systems
        ],
    }
    print_json(report)


def _print(
    systems: Sequence[_System], questions: PythonQuestions, question: str, documents: int, seconds: float
) -> None:
    from termwise.collection.python_docs import PYTHON_VERSION
    from termwise.explain.explanation_terminal import explanation_renderable
    from termwise.explain.ranking_terminal import ranking_renderable

    first, shown = systems[0], _recommended(systems)
    explanations = shown.results.explain(competitors=2)
    console = stdout()
    console.print(
        f"The documentation of Python {PYTHON_VERSION}: {documents:,} documents, "
        f"{first.searcher.index.manifest.terms:,} terms, indexed in {seconds:.1f} s\n",
        soft_wrap=True,
    )
    if shown is not first:
        console.print(f"{shown.label}\n")
    console.print(ranking_renderable(shown.ranking, explanations, explain=True))
    if explanations:
        console.print()
        console.print(explanation_renderable(explanations[0]))
    if len(systems) > 1:
        console.print()
        shown_systems = [system for system in systems if system.name in SIDE_BY_SIDE]
        console.print(_side_by_side(shown_systems, console.width))
    where = f"measured on the {len(questions.queries)} judged questions that ship with termwise"
    console.print()
    for system in systems:
        mixed = (
            ""
            if system.mixed is None
            else f", mixed with {first.label} half and half {_formatted(system.mixed[MEASURE])}"
        )
        figure = _formatted(system.measures[MEASURE])
        console.print(f"{system.label}, {where}: {MEASURE} {figure}{mixed}", soft_wrap=True)
        where = "on the same questions"
    note("\n".join(["\nnext:", *(f"  termwise {line}" for line in _next_commands(systems, question))]))


def _recommended(systems: Sequence[_System]) -> _System:
    """Return the recommended mixture, or the first system without it."""
    return next((system for system in systems if system.name == "best"), systems[0])


def _next_commands(systems: Sequence[_System], question: str) -> list[str]:
    shown = _recommended(systems)
    best = shlex.quote(shown.ranking.doc_ids[0]) if len(shown.ranking) else "DOC_ID"
    folders = {system.name: shlex.quote(str(system.folder)) for system in systems}
    last = list(folders.values())[-1]
    query = f"{quoted('random choice with weights')} --explain"
    lines = [f"search {folder} {query}" for folder in dict.fromkeys([folders.get("model1", last), last])]
    lines.append(f"explain {folders[shown.name]} {quoted(question)} {best} --html explanation.html")
    if "model1" in folders:
        pieces, mixed = (
            shlex.quote(str(_folder_for(systems[0].folder, name))) for name in ("pieces", "mixed")
        )
        lines += [
            f"index python:stdlib --analyzer wordpiece-clean --store-text --out {pieces}",
            f"fuse-indexes {pieces} {folders['model1']} --alpha 0.7 --normalise raw --out {mixed}",
            f"search {mixed} {query}",
        ]
    return [*lines, f"inspect {last}"]


def _folder_for(out: Path, name: str) -> Path:
    """Return the folder for the index of another model."""
    return out.with_name(f"{out.stem}-{name}{out.suffix}")


def _formatted(mean: float | None) -> str:
    return "undefined" if mean is None else f"{mean:.4f}"


def _side_by_side(systems: Sequence[_System], width: int) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("rank", justify="right")
    for system in systems:
        table.add_column(system.label, overflow="fold")
    room = (width - len("rank")) // len(systems) - 2
    for position in range(max(len(system.ranking) for system in systems)):
        found = [
            system.ranking.doc_ids[position] if position < len(system.ranking) else "" for system in systems
        ]
        names = [broken_name(legible_line(doc_id), room) for doc_id in found]
        table.add_row(f"{position + 1}", *(Text(name, "bold") for name in names))
    return table


def broken_name(name: str, width: int) -> str:
    """Break a long name into lines, after dots, dashes, slashes, colons and underscores.

    Examples
    --------
    >>> print(broken_name("unittest.util.sorted_list_difference", 20))
    unittest.util.
    sorted_list_
    difference
    """
    lines = [""]
    for part in re.split(r"(?<=[._/:-])(?=[^._/:-])", name):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)
