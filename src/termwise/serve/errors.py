"""Errors of the service, and the status that each error of termwise has in HTTP."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ValidationError

from termwise.display.safe_text import legible
from termwise.errors import (
    BudgetError,
    DataError,
    DeadlineError,
    IndexFormatError,
    IndexLockedError,
    MissingFileError,
    StorageError,
    TermwiseError,
    UnknownIdError,
    UsageError,
)
from termwise.fixes import Arguments, Code, Fix, Name, Part
from termwise.serve.requests import SearchRequest

logger = logging.getLogger("termwise.serve")


class ServiceError(TermwiseError):
    """A request that the service refuses."""

    slug = "refused"
    status: ClassVar[int] = 400


class UnknownIndexError(ServiceError):
    """The service has no index of this name."""

    slug = "unknown-index"
    status = 404


class UnknownKeyError(ServiceError):
    """The request has no API key, or an unknown one."""

    slug = "unknown-key"
    status = 401


class ForbiddenError(ServiceError):
    """The role of the key does not allow the request, or the service allows no changes."""

    slug = "forbidden"
    status = 403


class TooLargeError(ServiceError):
    """The body of a request is over the limit."""

    slug = "too-large"
    status = 413


class MediaTypeError(ServiceError):
    """The body of a request has another media type."""

    slug = "media-type"
    status = 415


class SlowRequestError(ServiceError):
    """The body of a request did not arrive in time."""

    slug = "slow-request"
    status = 408


class PartialUpdateError(ServiceError):
    """A part of a document cannot be changed, because the index does not keep the other parts."""

    slug = "partial-update"


class OverloadError(ServiceError):
    """The service has as many requests as it can answer in time."""

    slug = "overload"
    status = 503


class UnreadableIndexError(ServiceError):
    """The folder of an index is damaged or removed; the log has the reason."""

    slug = "unreadable-index"
    status = 503

    @classmethod
    def of(cls, name: str) -> UnreadableIndexError:
        """Return the error for the name of an index."""
        return cls("the index cannot be read; see the log of the service", facts=[("index", name)])


def status_of(error: TermwiseError) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, ServiceError):
        return error.status
    if isinstance(error, UnknownIdError):
        return 404
    if isinstance(error, IndexLockedError | DeadlineError):
        return 503
    if isinstance(error, IndexFormatError | MissingFileError | StorageError):
        return 500
    return 400 if isinstance(error, UsageError | DataError | BudgetError) else 500


def headers_of(status: int) -> dict[str, str]:
    """Return the headers that an error with a status needs."""
    if status == 503:
        return {"retry-after": "1"}
    if status == 401:
        return {"www-authenticate": 'Basic realm="termwise", charset="UTF-8"'}
    return {"connection": "close"} if status in (408, 413) else {}


def log_failure(error: TermwiseError) -> None:
    """Write an error to the log whose answer does not describe it."""
    if status_of(error) == 500:
        logger.error("%s", error)


_BUILT_WITH = {
    "attributes": "all attributes",
    "fields": "weights of fields",
    "store_text": "store_text",
}
"""What an index is built with, for an argument that a user of the service can pass on to whoever builds the index;
lists of names are named themselves."""


def over_http(fix: Fix) -> str | None:
    """Return a fix with fields of a request; None if it has other arguments, a call or code.

    Examples
    --------
    >>> print(over_http(Fix.omit("fuzzy")), over_http(Fix.use(k=10)), over_http(Fix.call("fuse")), sep=", ")
    omit "fuzzy", use "k": 10, None
    >>> over_http(Fix.build(store_text=True))
    'build the index with store_text'
    """
    return fix.worded(_part)


def _part(part: Part) -> str | None:
    if isinstance(part, Name) and part.name in SearchRequest.model_fields:
        return f'"{part.name}"'
    if isinstance(part, Arguments):
        names = {name for name, _ in part.values}
        if part.of == "index" and names <= _BUILT_WITH.keys():
            return " and ".join(
                f"{name} {', '.join(map(str, value))}" if isinstance(value, list) else _BUILT_WITH[name]
                for name, value in part.values
            )
        if part.of == "call" and names <= SearchRequest.model_fields.keys():
            return ", ".join(f'"{name}": {_json(value)}' for name, value in part.values)
    return None


def _json(value: object) -> str:
    return value if isinstance(value, Code) else json.dumps(value, ensure_ascii=False)


def error_record(error: TermwiseError, word: Callable[[Fix], str | None] = over_http) -> dict[str, Any]:
    """Return an error as JSON-like data, without the paths of files; `word` words its fixes."""
    if status_of(error) == 500:
        return {
            "type": error.slug,
            "message": "the index cannot be read or written; see the log of the service",
        }
    fixes = error.fixes_worded(word)
    facts = {name: legible(str(value)) for name, value in error.facts if not isinstance(value, Path)}
    return {
        "type": error.slug,
        "message": legible(error.message),
        **({"facts": facts} if facts else {}),
        **({"fixes": [legible(fix) for fix in fixes]} if fixes else {}),
    }


_REASONS = {
    "missing": "the field is necessary",
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), "an object is expected"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number is expected"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number is expected"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false is expected"),
    "string_type": "a string is expected",
    "list_type": "a list is expected",
}
"""Reasons by the type of an error of pydantic, whose own words name classes; for other types, they are used."""


def invalid_request(
    error: ValidationError, fix: str = "see /docs for the fields of each request"
) -> TermwiseError:
    """Return the error for a body, for parameters or for arguments of a tool that are not as described.

    `fix` says where the fields are described.
    """
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return ServiceError(
        "the request is not as expected",
        facts=[
            ("field", where or "body"),
            ("reason", _REASONS.get(first["type"], first["msg"].removeprefix("Value error, "))),
        ],
        fixes=[fix],
    )
