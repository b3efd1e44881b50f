"""Relevance of documents beyond their texts, in a file that is read by searches and the service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, final

from termwise.display.safe_text import shown
from termwise.engine.boosts import Boost
from termwise.errors import MalformedRecordError, ParameterError, UnknownNameError
from termwise.fast_dataclass import dataclass
from termwise.storage.json_or_toml import read_json_or_toml
from termwise.validation import check, check_path

MOST_BYTES = 16 << 20
"""Largest relevance file."""

MOST_BOOSTS = 100
"""Largest number of boosts."""

Facts = list[tuple[str, object]]


@final
@dataclass(frozen=True)
class Relevance:
    """Relevance of documents beyond their texts: boosts by attributes.

    Parameters
    ----------
    boosts : sequence of Boost, optional
        Attributes that change the scores of documents.

    Raises
    ------
    ParameterError
        If an element has another type, or there are more than `MOST_BOOSTS`.

    Examples
    --------
    >>> Relevance.of({"boosts": [{"attribute": "sold", "weight": 2, "saturation": 100}]}).boosts[0].saturation
    100
    """

    boosts: tuple[Boost, ...] = ()

    def __post_init__(self) -> None:
        holds = isinstance(self.boosts, list | tuple) and all(isinstance(each, Boost) for each in self.boosts)
        check(
            "boosts", self.boosts, holds and len(self.boosts) <= MOST_BOOSTS, f"at most {MOST_BOOSTS} Boost"
        )
        object.__setattr__(self, "boosts", tuple(self.boosts))

    @classmethod
    def read(cls, path: str | Path) -> Relevance:
        r"""Read a relevance file in TOML or JSON.

        Parameters
        ----------
        path : str or Path
            File that ends in ``.toml`` or ``.json``, with a list ``boosts`` of tables with the parameters of `Boost`.

        Raises
        ------
        MissingFileError
            If the file cannot be read.
        MalformedRecordError
            If it is not valid TOML or JSON.
        ParameterError, UnknownNameError
            See `of`; the errors name the file.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "relevance.toml"
        ...     _ = path.write_text('[[boosts]]\nattribute = "sold"\nweight = 2\nsaturation = 100\n')
        ...     Relevance.read(path).boosts[0].attribute
        'sold'
        """
        check_path("the relevance file", path)
        file = Path(path)
        return cls.of(read_body(file), file=file)  # type: ignore[arg-type]

    @classmethod
    def of(cls, body: Mapping[str, Any], *, file: Path | None = None) -> Relevance:
        """Return the relevance that JSON-like data of a relevance file describe.

        Parameters
        ----------
        body : mapping
            ``boosts``: a list of mappings with the parameters of `Boost`.
        file : Path, optional
            File that errors name.

        Raises
        ------
        UnknownNameError
            If a key is unknown.
        ParameterError
            If a value has another type or is out of its range; the error names its key.
        """
        where: Facts = [] if file is None else [("file", file)]
        checked = _table(body, ("boosts",), "relevance", where)
        given = checked.get("boosts", [])
        if not isinstance(given, list | tuple):
            raise ParameterError(
                "a key of a relevance file has another type",
                facts=[*where, ("key", "boosts"), ("given", shown(given)), ("expected", "a list of tables")],
            )
        boosts = [_boost(each, f"boosts[{number}]", where) for number, each in enumerate(given)]
        with _naming(where):
            return cls(tuple(boosts))


def read_body(file: Path) -> object:
    """Return the data of a relevance file, without a check of their keys; errors as `Relevance.read`."""
    return read_json_or_toml(file, "relevance", MOST_BYTES, partial(_malformed, file))


def _boost(given: object, key: str, where: Facts) -> Boost:
    table = _table(given, [field.name for field in fields(Boost)], key, where)
    missing = [name for name in ("attribute", "weight") if name not in table]
    if missing:
        raise ParameterError(
            "a boost has an attribute and a weight",
            facts=[*where, ("key", key), ("missing", ", ".join(missing))],
        )
    with _naming([*where, ("key", key)]):
        return Boost(**table)


@contextmanager
def _naming(where: Facts) -> Iterator[None]:
    """Add the file and the key to errors."""
    try:
        yield
    except ParameterError as error:
        raise ParameterError(error.message, facts=[*where, *error.facts], fixes=error.fixes) from None


def _malformed(file: Path, expected: str, seen: str) -> MalformedRecordError:
    return MalformedRecordError(
        "a relevance file cannot be read",
        facts=[("file", file), ("expected", expected), ("seen", seen[:120])],
    )


def _table(given: object, known: Sequence[str], key: str, where: Facts) -> Mapping[str, Any]:
    """Return an object with known keys only."""
    if not isinstance(given, Mapping):
        raise ParameterError(
            "a key of a relevance file has another type",
            facts=[
                *where,
                ("key", key),
                ("given", shown(given)),
                ("expected", "an object of keys and values"),
            ],
        )
    for name in given:
        if name not in known:
            error = UnknownNameError.of("key", str(name), known)
            raise UnknownNameError(
                error.message, facts=[*where, ("in", key), *error.facts], fixes=error.fixes
            )
    return given
