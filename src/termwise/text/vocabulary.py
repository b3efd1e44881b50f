"""Vocabularies: the numbering of terms."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Protocol

from termwise.errors import DuplicateIdError

BACKGROUND = "[background]"
"""How the reserved term of a document bias is shown; it is never looked up by this name."""


class TermLookup(Protocol):
    """Vocabulary in memory (`Vocabulary`) or in the files of an index (`termwise.index.reader.MappedVocabulary`)."""

    def __len__(self) -> int:
        """Number of tokens, the reserved background term not counted."""
        ...

    def number(self, token: str) -> int | None:
        """Return the number of `token`, or None where it is unknown."""
        ...

    def token(self, number: int) -> str:
        """Return the token with this number."""
        ...

    @property
    def background(self) -> int | None:
        """Number of the reserved background term, or None."""
        ...

    @property
    def id(self) -> str:
        """Equal ids mean equal numberings."""
        ...


class Vocabulary:
    """A frozen numbering of tokens: token *i* has the number *i*.

    Parameters
    ----------
    tokens : iterable of str
        Distinct tokens in the order of their numbers.
    background : bool, optional
        Whether one more term, numbered ``len(tokens)``, is reserved for the document bias: what a model adds
        to every document whatever the query.

    Raises
    ------
    DuplicateIdError
        If a token occurs twice.

    Examples
    --------
    >>> vocabulary = Vocabulary(["merge", "sort"])
    >>> vocabulary.number("sort"), vocabulary.number("unknown")
    (1, None)
    >>> vocabulary.token(0)
    'merge'
    """

    def __init__(self, tokens: Iterable[str], *, background: bool = False) -> None:
        self._tokens = tuple(tokens)
        self._numbers = {token: number for number, token in enumerate(self._tokens)}
        self._background = background
        if len(self._numbers) != len(self._tokens):
            seen: set[str] = set()
            for token in self._tokens:
                if token in seen:
                    raise DuplicateIdError("a token is numbered twice", facts=[("token", repr(token))])
                seen.add(token)

    def __len__(self) -> int:
        """Number of tokens, the reserved background term not counted."""
        return len(self._tokens)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._numbers

    def number(self, token: str) -> int | None:
        """Return the number of `token`, or None where it is unknown."""
        return self._numbers.get(token)

    def token(self, number: int) -> str:
        """Return the token with this number (the background term as ``[background]``)."""
        if self._background and number == len(self._tokens):
            return BACKGROUND
        return self._tokens[number]

    @property
    def background(self) -> int | None:
        """Number of the reserved background term, or None."""
        return len(self._tokens) if self._background else None

    def with_background(self) -> Vocabulary:
        """Return the same numbering with the background term reserved."""
        return Vocabulary(self._tokens, background=True)

    @cached_property
    def id(self) -> str:
        """``sha256:`` and a digest of the tokens in order: equal ids mean equal numberings."""
        digest = hashlib.sha256(b"background\n" if self._background else b"")
        for token in self._tokens:
            data = token.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(4, "little"))
            digest.update(data)
        return f"sha256:{digest.hexdigest()}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self._tokens == other._tokens and self._background == other._background

    def __hash__(self) -> int:
        return hash((self._tokens, self._background))

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} tokens{', background' if self._background else ''})"
