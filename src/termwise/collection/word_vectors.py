"""Word vectors in the formats of GloVe, word2vec and numpy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np
import numpy.typing as npt

from termwise.collection.lines import read_lines
from termwise.errors import DataError, MalformedRecordError, MissingFileError

_ARRAY = ".npy"
_WORDS = ".txt"


class WordTable(Mapping[str, npt.NDArray[np.float32]]):
    """Vectors by word, in order.

    Parameters
    ----------
    words : sequence of str of length n
        If a word occurs twice, its first vector is used.
    vectors : ndarray of shape (n, d)

    Raises
    ------
    DataError
        If there are no words, the numbers of words and vectors differ, or a number is not real and finite.

    Examples
    --------
    >>> table = WordTable(["cat", "dog"], np.array([[1.0, 0.0], [0.5, 0.5]]))
    >>> table["dog"].tolist(), "cow" in table, list(table)
    ([0.5, 0.5], False, ['cat', 'dog'])
    """

    def __init__(self, words: Sequence[str], vectors: npt.ArrayLike) -> None:
        array = np.asarray(vectors)
        if array.dtype.kind not in "fiu":
            raise DataError("word vectors must be real numbers", facts=[("numbers", array.dtype.name)])
        rows = np.ascontiguousarray(array, dtype=np.float32)
        if rows.ndim != 2 or not rows.size or len(rows) != len(words) or not np.isfinite(rows).all():
            raise DataError(
                "words and vectors do not match",
                facts=[
                    ("words", f"{len(words):,}"),
                    ("vectors", " x ".join(map(str, rows.shape))),
                    ("expected", "as many vectors as words, of finite numbers"),
                ],
            )
        self.vectors = rows
        self._rows: dict[str, int] = {}
        for row, word in enumerate(words):
            self._rows.setdefault(word, row)

    def __getitem__(self, word: str) -> npt.NDArray[np.float32]:
        vector: npt.NDArray[np.float32] = self.vectors[self._rows[word]]
        return vector

    def __contains__(self, word: object) -> bool:
        return word in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, word: str) -> int | None:
        """Return the row number of a word in `vectors`, or None."""
        return self._rows.get(word)

    @cached_property
    def digest(self) -> str:
        """Digest of words and vectors, in hexadecimal digits."""
        digest = sha256("\n".join(f"{row} {word}" for word, row in self._rows.items()).encode())
        digest.update(repr(self.vectors.shape).encode())
        digest.update(np.ascontiguousarray(self.vectors, dtype="<f4").tobytes())
        return digest.hexdigest()


def read_word_vectors(path: str | Path) -> WordTable:
    r"""Read word vectors from a file.

    =======================  =====================================================================================
    text, plain or gzip      lines of a word and its numbers, separated by spaces; a first line of word2vec has two
                             whole numbers: the number of words and the dimension
    ``NAME.npy``             an array of numpy with a row for each line of ``NAME.txt``, with one word per line
    =======================  =====================================================================================

    Raises
    ------
    MissingFileError
        If a file cannot be read.
    MalformedRecordError
        If a line has no numbers, or more or fewer numbers than earlier lines.
    DataError
        If there is no vector, words and vectors do not match, or lines are missing.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "vectors.txt"
    ...     _ = path.write_text("cat 1 0\ndog 0.5 0.5\n")
    ...     read_word_vectors(path)["cat"].tolist()
    [1.0, 0.0]
    """
    path = Path(path)
    return _of_array(path) if path.suffix == _ARRAY else _of_lines(path)


def _of_lines(path: Path) -> WordTable:
    words: list[str] = []
    vectors: list[npt.NDArray[np.float32]] = []
    size = announced = None
    for number, line in read_lines(path, joined=False):
        word, *numbers = line.rstrip().split(" ")
        if number == 1 and len(numbers) == 1 and word.isdecimal() and numbers[0].isdecimal():
            announced = int(word[:18])
            continue
        try:
            vector = np.array(numbers, dtype=np.float32)
        except ValueError:
            vector = np.empty(0, dtype=np.float32)
        size = len(vector) if size is None else size
        if not size or len(vector) != size or not np.isfinite(vector).all():
            expected = f"a word and {size} numbers" if size else "a word and its numbers"
            raise MalformedRecordError.at(path, number, expected=expected, seen=line)
        words.append(word)
        vectors.append(vector)
    if not words:
        raise DataError("a file of word vectors is empty", facts=[("file", path)])
    if announced is not None and len(words) < announced:
        raise DataError(
            "a file of word vectors has fewer words than its first line says",
            facts=[("file", path), ("first line", f"{announced:,}"), ("words", f"{len(words):,}")],
            fixes=["download the file again: it seems to be cut off"],
        )
    return WordTable(words, np.stack(vectors))


def _of_array(path: Path) -> WordTable:
    try:
        vectors = np.load(path, allow_pickle=False)
    except OSError as error:
        raise MissingFileError.of("a file cannot be read", path, error) from error
    except (ValueError, EOFError, MemoryError) as error:
        reason = str(error).partition(". ")[0]  # the rest explains how to load pickled objects
        raise DataError(
            "a file is not an array of numpy", facts=[("file", path), ("reason", reason)]
        ) from error
    words_path = path.with_suffix(_WORDS)
    words = [line for _, line in read_lines(words_path, joined=False)]
    try:
        return WordTable(words, vectors)
    except (DataError, TypeError, ValueError) as error:
        facts = error.facts if isinstance(error, DataError) else [("reason", error)]
        raise DataError(
            "words and vectors do not match",
            facts=[("vectors in", path), ("words in", words_path), *facts],
            fixes=[f"write one word per line to {words_path.name}, in the order of the rows"],
        ) from error
