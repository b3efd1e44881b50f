"""Errors of the service, and the status that each error of termwise has in HTTP."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ValidationError

from termwise.display.safe_text import legible
from termwise.errors import (
    DataError,
    IndexFormatError,
    IndexLockedError,
    MissingFileError,
    StorageError,
    TermwiseError,
    UnknownIdError,
    UnknownNameError,
    UsageError,
)
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


class DeadlineError(ServiceError):
    """The answer was not ready in time."""

    slug = "deadline"
    status = 503


def status_of(error: TermwiseError) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, ServiceError):
        return error.status
    if isinstance(error, UnknownIdError):
        return 404
    if isinstance(error, IndexLockedError):
        return 503
    if isinstance(error, IndexFormatError | MissingFileError | StorageError):
        return 500
    return 400 if isinstance(error, UsageError | DataError) else 500


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


_CODE = re.compile("`([^`]*)`")
_ARGUMENT = re.compile(r"(\w+)(?:=(.+))?")
_JSON = {"True": "true", "False": "false", "None": "null"}
_OPTIONS = {"store_text=True": "--store-text", "attributes=all": "--attributes all"}
"""Options of ``termwise index`` for arguments that a user of the service can pass on to whoever builds the index."""


def fixes_over_http(error: TermwiseError) -> list[str]:
    """Return the fixes of an error with fields of a request instead of Python arguments, without fixes of other code.

    Examples
    --------
    >>> from termwise.errors import ParameterError
    >>> fixes_over_http(ParameterError("no", fixes=["omit `fuzzy`", "set `k=10`", "`Searcher.open(path)`"]))
    ['omit "fuzzy"', 'set "k": 10']
    >>> fixes_over_http(ParameterError("no", fixes=["build the index with `store_text=True`"]))
    ['build the index with --store-text']
    """
    return [
        _CODE.sub(lambda code: _over_http(code[1]), fix)
        for fix in error.fixes
        if all(map(_over_http, _CODE.findall(fix))) and not fix.startswith("in Python")
    ]


def _over_http(code: str) -> str:
    """Return an argument as a field of a request or an option of ``termwise index``; nothing for other code."""
    found = _ARGUMENT.fullmatch(code)
    if code in _OPTIONS or found is None or found[1] not in SearchRequest.model_fields:
        return _OPTIONS.get(code, "")
    if found[2] is None:
        return f'"{found[1]}"'
    value = found[2].replace("'", '"')
    return f'"{found[1]}": {_JSON.get(value, value)}'


def error_record(error: TermwiseError) -> dict[str, Any]:
    """Return an error as JSON-like data, without the paths of files."""
    if status_of(error) == 500:
        return {
            "type": error.slug,
            "message": "the index cannot be read or written; see the log of the service",
        }
    fixes = fixes_over_http(error)
    facts = {name: legible(str(value)) for name, value in error.facts if not isinstance(value, Path)}
    return {
        "type": error.slug,
        "message": legible(error.message),
        **({"facts": facts} if facts else {}),
        **({"fixes": [legible(fix) for fix in fixes]} if fixes else {}),
    }


def invalid_request(
    error: ValidationError,
    *,
    known: Collection[str] = (),
    fix: str = "see /docs for the fields of each request",
) -> TermwiseError:
    """Return the error for a body, for parameters or for arguments of a tool that are not as described.

    Parameters
    ----------
    error : ValidationError
    known : collection of str, optional
        Names of the fields, for an error about an unknown one.
    fix : str, optional
        Where the fields are described.
    """
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    if known and first["type"] == "extra_forbidden" and len(first["loc"]) == 1:
        return UnknownNameError.of("field of the request", str(first["loc"][0]), known)
    where = ".".join(str(part) for part in first["loc"])
    return ServiceError(
        "the request is not as expected",
        facts=[("field", where or "body"), ("reason", first["msg"])],
        fixes=[fix],
    )
