"""Document frequencies of words in a large collection, when only some of its documents are available."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from termwise.collection import CollectionStatistics, EstimatedStatistics, read_lines
from termwise.display.safe_text import shown
from termwise.errors import MalformedRecordError
from termwise.fast_dataclass import dataclass
from termwise.text import Analyzer, Numbering, number_texts

_FIRST_LINE = re.compile(r"documents=(?P<documents>\d{1,15})\taverage_length=(?P<length>\d{1,9}(\.\d{1,9})?)")
_LINE = re.compile(r"(?P<word>[^\t]*[^\t\s][^\t]*)\t(?P<documents>\d{1,15})")


@dataclass(frozen=True, eq=False)
class WordFrequencies:
    """Document frequencies of some words in a collection, with its size.

    Attributes
    ----------
    documents : int
        N: number of documents, at least 1.
    average_length : float
        Mean number of tokens per document, above 0.
    frequencies : mapping of str to int
        df by word, from 1 to N.
    """

    documents: int
    average_length: float
    frequencies: Mapping[str, int]

    @classmethod
    def read(cls, path: Path) -> WordFrequencies:
        r"""Read a text file, plain or gzip.

        The first line has the number of documents and their average length, each further line a word and its document
        frequency, separated by tabs.

        Raises
        ------
        MissingFileError
            If the file cannot be read.
        MalformedRecordError
            If a line has another form, a word occurs twice, or a number is out of range.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "idf.tsv"
        ...     _ = path.write_text("documents=1000\taverage_length=39.8\nlists\t50\nmerge\t3\n")
        ...     words = WordFrequencies.read(path)
        >>> words.documents, words.average_length, words.frequencies
        (1000, 39.8, {'lists': 50, 'merge': 3})
        """
        lines = read_lines(path, joined=False)
        number, first = next(lines, (1, ""))
        size = _FIRST_LINE.fullmatch(first)
        documents, length = (int(size["documents"]), float(size["length"])) if size else (0, 0.0)
        if documents == 0 or length == 0:
            expected = "documents=N, a tab and average_length=TOKENS, both above 0"
            raise MalformedRecordError.at(path, number, expected=expected, seen=shown(first))
        frequencies: dict[str, int] = {}
        for number, line in lines:
            entry = _LINE.fullmatch(line)
            if entry is None or not 1 <= int(entry["documents"]) <= documents:
                expected = f"a word, a tab and a whole number from 1 to {documents}"
                raise MalformedRecordError.at(path, number, expected=expected, seen=shown(line))
            if entry["word"] in frequencies:
                raise MalformedRecordError.at(
                    path,
                    number,
                    expected="each word once",
                    seen=f"{shown(entry['word'])} for the second time",
                )
            frequencies[entry["word"]] = int(entry["documents"])
        return cls(documents, length, frequencies)

    def by_token(self, analyzer: Analyzer) -> dict[str, int]:
        """Return document frequencies by token; see `estimate`.

        Examples
        --------
        >>> from termwise.text import make_analyzer
        >>> words = WordFrequencies(1000, 39.8, {"list": 40, "lists": 50, "the": 900, "mp3-player": 7})
        >>> words.by_token(make_analyzer("english"))
        {'list': 50}
        """
        numbered = number_texts(analyzer, list(self.frequencies))
        found: dict[str, int] = {}
        for row, documents in enumerate(self.frequencies.values()):
            first, last = numbered.indptr[row : row + 2].tolist()
            if last - first == 1:
                token = numbered.tokens[numbered.numbers[first]]
                found[token] = max(documents, found.get(token, 0))
        return found

    def estimate(
        self, tokens: tuple[str, ...], counts: CollectionStatistics, analyzer: Analyzer
    ) -> tuple[tuple[str, ...], EstimatedStatistics]:
        """Estimate the statistics of the collection from these words and the counts of some of its documents.

        The analyzer makes tokens of the words. A word that it removes or cuts into several tokens is not used; of
        several words with the same token, the largest frequency is used. All other tokens have the document frequency
        of the counts, multiplied by the ratio of the numbers of documents; a token that the counts lack has that of a
        token of one document. The number of occurrences per document with the token is that of the counts.

        Parameters
        ----------
        tokens : tuple of str of length V
        counts : CollectionStatistics
            Over these tokens.
        analyzer : Analyzer

        Returns
        -------
        tuple of (tuple of str, EstimatedStatistics)
            The tokens, followed by those that only the words have, and the statistics over them.

        Examples
        --------
        Ten documents of a collection of 1,000. A token of two of them is estimated to occur in 200 documents:

        >>> from termwise.text import make_analyzer
        >>> counts = CollectionStatistics(10, 80, [2, 5], [6, 74], longest=20)
        >>> words = WordFrequencies(1000, 40.0, {"list": 50, "merge": 3})
        >>> tokens, estimated = words.estimate(("sort", "list"), counts, make_analyzer("english"))
        >>> tokens, estimated.document_frequencies, estimated.collection_frequencies
        (('sort', 'list', 'merg'), array([200,  50,   3]), array([600, 740,   3]))
        >>> estimated.avgdl, estimated.rarest
        (40.0, 100)
        """
        numbers = Numbering((token, number) for number, token in enumerate(tokens))
        known = self.by_token(analyzer)
        places = numbers.of(known)
        added = len(numbers) - len(tokens)
        ratio = self.documents / counts.n_documents
        counted, occurrences = (
            np.pad(array, (0, added))
            for array in (counts.document_frequencies, counts.collection_frequencies)
        )
        frequencies = np.minimum(np.rint(counted * ratio), self.documents)
        frequencies[places] = list(known.values())
        estimated = EstimatedStatistics(
            self.documents,
            max(1, round(self.documents * self.average_length)),
            frequencies.astype(np.int64),
            np.rint(frequencies * occurrences.clip(1) / counted.clip(1)).astype(np.int64),
            counts.longest,
            rarest=max(1, round(ratio)),
        )
        return tuple(numbers), estimated
