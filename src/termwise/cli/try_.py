"""``termwise try``: the whole of it in one command, on the documentation this Python carries."""

from __future__ import annotations

import platform
import time
from pathlib import Path
from typing import Annotated

import typer

from termwise.cli.options import JsonFlag, available_processors
from termwise.cli.terminal import note, print_json, progress_bar, stdout

QUESTION = "merge two sorted lists"


def command(
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help="What to ask about Python's standard library.")
    ] = QUESTION,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for the index; rebuilt each time.")
    ] = Path("python-stdlib.tw"),
    k: Annotated[int, typer.Option("-k", metavar="N", help="Documents to show.")] = 5,
    as_json: JsonFlag = False,
) -> None:
    """Index the Python documentation of this machine, answer, explain, and measure.

    Nothing is downloaded. The index stays in the folder, for the commands printed at the end.
    """
    from termwise.build import build_index
    from termwise.collection import PythonQuestions, open_collection
    from termwise.evaluate import evaluate

    begin = time.perf_counter()
    documents = list(open_collection("python:stdlib").documents())
    with progress_bar() as progress:
        searcher = build_index(
            documents,
            out,
            store_text=True,
            overwrite=True,
            threads=available_processors(),
            progress=progress,
        )
    built = time.perf_counter() - begin
    ranking = searcher.rank(question, k=k)
    explanations = [searcher.explain(question, doc_id, competitors=2) for doc_id in ranking.doc_ids]

    questions = PythonQuestions.load({document.doc_id for document in documents})
    run = searcher.rank_many(questions.queries, k=100).run
    evaluation = evaluate(run, questions.qrels, ["nDCG@10"])
    if as_json:
        print_json(
            {
                "index": str(out),
                "documents": len(documents),
                "seconds": round(built, 3),
                "question": question,
                "ranking": [explanation.to_dict() for explanation in explanations],
                "questions": len(evaluation.query_ids),
                "judgments_dropped": len(questions.dropped),
                "measures": evaluation.means,
            }
        )
        return
    from termwise.search.explain_terminal import explanation_renderable, ranking_renderable

    console = stdout()
    console.print(
        f"The documentation of Python {platform.python_version()}: {len(documents):,} documents, "
        f"{searcher.index.manifest.terms:,} terms, indexed in {built:.1f} s\n",
        soft_wrap=True,
    )
    console.print(ranking_renderable(ranking, explanations, explain=True))
    if explanations:
        console.print()
        console.print(explanation_renderable(explanations[0]))
    mean = evaluation.means["nDCG@10"]
    dropped = (
        f" ({len(questions.dropped)} judgments name what this Python lacks)" if questions.dropped else ""
    )
    console.print(
        f"\nBM25, measured on the {len(evaluation.query_ids)} judged questions that ship with termwise{dropped}: "
        f"nDCG@10 {'undefined' if mean is None else f'{mean:.4f}'}",
        soft_wrap=True,
    )
    best = ranking.doc_ids[0] if len(ranking) else "DOC_ID"
    note(
        "\nnext:\n"
        f'  termwise search {out} "random choice with weights" --explain\n'
        f'  termwise explain {out} "{question}" {best} --html explanation.html\n'
        f"  termwise inspect {out}"
    )
