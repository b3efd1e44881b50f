"""Inference-free search: it needs no neural library, not even an installed one."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

NETWORKS = ("torch", "transformers", "onnxruntime", "tensorflow", "sentence_transformers", "spacy", "usearch")
"""Neural libraries, and that of approximate search."""

PROGRAM = textwrap.dedent(
    """
    import sys

    class Refuse:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] in {networks!r}:
                raise ImportError(f"{{name}} was asked for")

    if {refuse}:
        sys.meta_path.insert(0, Refuse())

    import termwise
    folder = sys.argv[1]
    searcher = termwise.open(folder)
    assert searcher.rank("merge lists", k=1).doc_ids == ("a",)
    assert searcher.explain("merge lists", "a").contributions
    loaded = sorted(set({networks!r}) & set(sys.modules))
    assert not loaded, loaded
    print("searched")
    """
)


def build(folder):
    from termwise import Document, build_index

    build_index([Document("a", "merge two lists"), Document("b", "shuffle cards")], folder, store_text=True)


def build_with_vectors(folder):
    from tests.unit.search.vector_index import write_vector_index

    from termwise.text import Vocabulary
    from termwise.vectors import DocumentVectors, TermVectors

    vocabulary = Vocabulary(["merge", "lists", "cards"])
    vectors = DocumentVectors([0, 1, 2], [[100, 3], [-4, 100]], [0.5, 0.5])
    table = TermVectors([[7, 0], [5, 1], [0, 9]], [0, 0, 0], 1.0, vocabulary.id)
    write_vector_index(folder, "ab", vectors, table, vocabulary, texts=["merge two lists", "shuffle cards"])


def run(folder, *, refuse):
    program = PROGRAM.format(networks=NETWORKS, refuse=refuse)
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.stdout == "searched\n", done.stderr


@pytest.mark.parametrize("build", [build, build_with_vectors])
def test_nothing_neural_is_loaded(tmp_path, build):
    build(tmp_path / "index")
    run(tmp_path / "index", refuse=False)


@pytest.mark.parametrize("build", [build, build_with_vectors])
def test_nothing_neural_need_be_installed(tmp_path, build):
    build(tmp_path / "index")
    run(tmp_path / "index", refuse=True)


def test_importing_does_nothing():
    program = (
        "import sys, termwise; print(sorted({'numba', 'numpy', 'ir_measures', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
