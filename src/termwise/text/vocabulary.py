"""Vocabularies: numberings of terms."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Protocol

from termwise.errors import DuplicateIdError

BACKGROUND = "[background]"
"""Output form of the reserved term of a document bias, which a lookup does not find."""


class TermLookup(Protocol):
    """Vocabulary in memory (`Vocabulary`) or in the files of an index (`MappedVocabulary`)."""

    def __len__(self) -> int:
        """Return the number of tokens, without the reserved background term."""

    def number(self, token: str) -> int | None:
        """Return the number of a token, or None if it is unknown."""

    def token(self, number: int) -> str:
        """Return the token with this number."""

    @property
    def background(self) -> int | None:
        """Number of the reserved background term, or None."""

    @property
    def id(self) -> str:
        """Equal ids mean equal numberings."""


class Vocabulary:
    """Immutable numbering of tokens: token *i* has the number *i*.

    Parameters
    ----------
    tokens : iterable of str
        Distinct tokens in the order of their numbers.
    background : bool, optional
        Reserve one more term, numbered ``len(tokens)``, for a document bias: a weight that does not depend on the
        query.

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
            repeated = next(
                token for number, token in enumerate(self._tokens) if self._numbers[token] != number
            )
            raise DuplicateIdError("a token is numbered twice", facts=[("token", repr(repeated))])

    def __len__(self) -> int:
        """Return the number of tokens, without the reserved background term."""
        return len(self._tokens)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._numbers

    def number(self, token: str) -> int | None:
        """Return the number of a token, or None if it is unknown."""
        return self._numbers.get(token)

    def token(self, number: int) -> str:
        """Return the token with this number; ``[background]`` for the background term."""
        if self._background and number == len(self._tokens):
            return BACKGROUND
        return self._tokens[number]

    @property
    def background(self) -> int | None:
        """Number of the reserved background term, or None."""
        return len(self._tokens) if self._background else None

    @cached_property
    def id(self) -> str:
        """``sha256:`` and a digest of the tokens in order; equal ids mean equal numberings."""
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
