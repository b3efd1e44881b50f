"""The contract of an analyzer: text in, tokens and the places they came from out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from termwise.display.safe_text import settings_differences
from termwise.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class Analysis:
    """The tokens of one text.

    Attributes
    ----------
    tokens : tuple of str of length n
        In the order of the text.
    spans : ndarray of shape (n, 2), int32
        Half-open character range of each token in the text that was analysed, counted in code points.
    """

    tokens: tuple[str, ...]
    spans: npt.NDArray[np.int32]


@dataclass(frozen=True)
class AnalyzerSpec:
    """Everything needed to make the same analyzer again.

    Attributes
    ----------
    name : str
        A registered analyzer name.
    options : mapping
        JSON-like settings; two analyzers with equal name, options and files give equal output, for ever.
    files : mapping of str to bytes
        Contents of files the analyzer was made from (a ``tokenizer.json``), kept with an index so that it
        stays whole when the original moves.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """``sha256:`` and the digest of name, options and file contents."""
        digest = hashlib.sha256()
        head = {
            "name": self.name,
            "options": dict(self.options),
            "files": {name: hashlib.sha256(data).hexdigest() for name, data in self.files.items()},
        }
        digest.update(json.dumps(head, sort_keys=True, ensure_ascii=False).encode())
        return f"sha256:{digest.hexdigest()}"

    def beside(self, other: AnalyzerSpec) -> tuple[str, str]:
        """Name this recipe and another one, with what tells them apart where the names do not.

        Examples
        --------
        >>> AnalyzerSpec("own", {"stop": True}).beside(AnalyzerSpec("own", {"stop": False}))
        ('own, stop True', 'own, stop False')
        >>> AnalyzerSpec("own").beside(AnalyzerSpec("standard"))
        ('own', 'standard')
        """
        if self.name != other.name:
            return self.name, other.name
        facts = [
            {**spec.options, **{name: hashlib.sha256(data).hexdigest() for name, data in spec.files.items()}}
            for spec in (self, other)
        ]
        mine, theirs = settings_differences(*facts)
        return (f"{self.name}, {mine}", f"{other.name}, {theirs}") if mine else (self.name, other.name)


@runtime_checkable
class Analyzer(Protocol):
    """Cuts text into tokens. Stateless: the same text always gives the same tokens."""

    @property
    def spec(self) -> AnalyzerSpec:
        """The recipe this analyzer can be made from again."""
        ...

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The closed vocabulary all tokens come from, or None where tokens are open."""
        ...

    def analyze(self, text: str) -> Analysis:
        """Cut `text` into tokens with their character spans."""
        ...

    def tokens(self, text: str) -> list[str]:
        """Return ``analyze(text).tokens`` as a list, without the cost of spans."""
        ...
