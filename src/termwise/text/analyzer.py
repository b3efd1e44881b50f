"""Protocol and specification of analyzers."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import settings_differences
from termwise.fast_dataclass import dataclass
from termwise.text.vocabulary import Vocabulary

MAX_ANALYZER_FILE = 1 << 27
"""Largest length of a file of an analyzer in bytes."""


@dataclass(frozen=True)
class Analysis:
    """The tokens of one text.

    Attributes
    ----------
    tokens : tuple of str of length n
        In the order of the text.
    spans : ndarray of shape (n, 2), int32
        Half-open character range of each token in the analyzed text, in code points.
    """

    tokens: tuple[str, ...]
    spans: npt.NDArray[np.int32]

    def spans_by_token(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """Return the spans of each distinct token, in the order of the text.

        Examples
        --------
        >>> Analysis(("to", "be", "to"), np.array([[0, 2], [3, 5], [6, 8]], dtype=np.int32)).spans_by_token()
        {'to': ((0, 2), (6, 8)), 'be': ((3, 5),)}
        """
        spans: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for token, (start, end) in zip(self.tokens, self.spans.tolist(), strict=True):
            spans[token].append((start, end))
        return {token: tuple(its_spans) for token, its_spans in spans.items()}

    def positions(self) -> npt.NDArray[np.int64]:
        """Return the half-open range of positions of each token, as int64 of shape (n, 2).

        A token that contains no other has one position. A compound has the positions of its parts that are tokens, so
        ``AB 1200`` is a sequence of positions in ``AB-1200``, and ``AB-1200`` a single step over them. Spans overlap in
        no other way.

        Examples
        --------
        >>> from termwise.text import make_analyzer
        >>> analysis = make_analyzer("code").analyze("int userId")
        >>> analysis.tokens, analysis.positions().tolist()
        (('int', 'userid', 'user', 'id'), [[0, 1], [1, 3], [1, 2], [2, 3]])
        """
        starts, ends = self.spans[:, 0], self.spans[:, 1]
        has_parts = np.append(starts[1:] < ends[:-1], False)[: len(starts)]
        return np.searchsorted(starts[~has_parts], self.spans)

    def compounds(self) -> list[range]:
        """Return the tokens of each compound, and of each word that is none, as ranges of their places.

        Tokens with equal spans, such as pieces of one character, are no compound.

        Examples
        --------
        >>> from termwise.text import make_analyzer
        >>> make_analyzer("code").analyze("int userId").compounds()
        [range(0, 1), range(1, 4)]
        """
        found: list[range] = []
        spans = self.spans.tolist()
        for place, span in enumerate(spans):
            if not found or span[1] > spans[found[-1].start][1] or span == spans[found[-1].start]:
                found.append(range(place, place))
            found[-1] = range(found[-1].start, place + 1)
        return found


@dataclass(frozen=True)
class AnalyzerSpec:
    """Specification from which an equal analyzer can be made.

    Attributes
    ----------
    name : str
        Name of a registered analyzer.
    options : mapping
        JSON values. Analyzers with equal name, options and files give equal output in all versions.
    files : mapping of str to bytes
        Contents of the files of the analyzer, such as a ``tokenizer.json``. An index keeps a copy.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """``sha256:`` and a digest of name, options and file contents."""
        digest = hashlib.sha256()
        description = {
            "name": self.name,
            "options": dict(self.options),
            "files": {name: hashlib.sha256(data).hexdigest() for name, data in self.files.items()},
        }
        digest.update(json.dumps(description, sort_keys=True, ensure_ascii=False).encode())
        return f"sha256:{digest.hexdigest()}"

    def differences(self, other: AnalyzerSpec) -> tuple[str, str]:
        """Return texts for this specification and another one: the names, with the differing values if they are equal.

        Examples
        --------
        >>> AnalyzerSpec("own", {"stop": True}).differences(AnalyzerSpec("own", {"stop": False}))
        ('own, stop True', 'own, stop False')
        >>> AnalyzerSpec("own").differences(AnalyzerSpec("standard"))
        ('own', 'standard')
        """
        if self.name != other.name:
            return self.name, other.name
        facts = [
            {**spec.options, **{name: hashlib.sha256(data).hexdigest() for name, data in spec.files.items()}}
            for spec in (self, other)
        ]
        first, second = settings_differences(*facts)
        return (f"{self.name}, {first}", f"{other.name}, {second}") if first else (self.name, other.name)


@runtime_checkable
class Analyzer(Protocol):
    """Splits text into tokens, without state: equal texts give equal tokens."""

    @property
    def spec(self) -> AnalyzerSpec:
        """Specification of this analyzer."""

    @property
    def vocabulary(self) -> Vocabulary | None:
        """Closed vocabulary of all tokens, or None if any token is possible."""

    def analyze(self, text: str) -> Analysis:
        """Return the tokens of a text with their character spans."""

    def tokens(self, text: str) -> list[str]:
        """Return ``analyze(text).tokens`` as a list, without computing spans."""


def unknown_token(analyzer: Analyzer) -> str | None:
    """Return the token of an analyzer that stands for all words without pieces, None if it has none.

    Documents have this token too, but it is no evidence of a common word, so queries leave it out.

    Examples
    --------
    >>> from termwise.text import WordPieceAnalyzer
    >>> unknown_token(WordPieceAnalyzer.shipped())
    '[UNK]'
    """
    number = getattr(analyzer, "unknown", None)
    return analyzer.vocabulary.token(number) if isinstance(number, int) and analyzer.vocabulary else None
