"""Model `vectors`: its parameters, and the choice of the reader by file name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from termwise.errors import MissingFileError, ParameterError
from termwise.models import (
    CountModel,
    CsrVectors,
    JsonVectors,
    Model,
    VectorModel,
    read_vectors,
)

LINE = '{"id": "a", "vector": {"wing": 1.5}}\n'


def test_is_not_a_count_model() -> None:
    assert isinstance(VectorModel(), Model)
    assert not isinstance(VectorModel(), CountModel)
    assert VectorModel(query="occurrences").query_weighting == "occurrences"


@pytest.mark.parametrize("name", ["v.jsonl", "v.json", "v.ndjson"])
def test_json_lines_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(LINE)
    source = read_vectors(tmp_path / name)
    assert isinstance(source, JsonVectors)


def test_a_matrix_by_name(tmp_path: Path) -> None:
    scipy.sparse.save_npz(tmp_path / "v.npz", scipy.sparse.csr_matrix(np.eye(2)))
    source = read_vectors(str(tmp_path / "v.npz"))
    assert isinstance(source, CsrVectors)


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    (tmp_path / "part-1.jsonl").write_text(LINE.replace("a", "second"))
    (tmp_path / "part-0.jsonl").write_text(LINE.replace("a", "first"))
    (tmp_path / "README.md").write_text("not read")
    (batch,) = read_vectors(tmp_path).batches()
    assert batch.doc_ids == ("first", "second")


@pytest.mark.parametrize("name", ["v.txt", "v.npy", "v.jsonl.bz2", "empty-folder"])
def test_other_names_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.mkdir() if name == "empty-folder" else path.write_text(LINE)
    with pytest.raises(ParameterError, match="npz"):
        read_vectors(path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        read_vectors(tmp_path / "absent.jsonl")
