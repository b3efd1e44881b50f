"""Errors in the form of OpenSearch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from termwise.errors import DataError, DeadlineError, TermwiseError, UnknownIdError
from termwise.serve.errors import (
    ForbiddenError,
    OverloadError,
    ServiceError,
    UnknownIndexError,
    UnknownKeyError,
    UnreadableIndexError,
    error_record,
    status_of,
)


class UnsupportedError(ServiceError):
    """A part of OpenSearch's API that the service does not have."""

    slug = "unsupported"

    @classmethod
    def of(cls, what: str, name: object, known: Iterable[str] = (), fix: str = "") -> UnsupportedError:
        """Return the error for a part, with the names of the supported ones."""
        supported = ", ".join(known)
        return cls(
            f"{what} [{name}] is not supported",
            facts=[("supported", supported)] if supported else [],
            fixes=[fix] if fix else [],
        )


class ConflictError(ServiceError):
    """A request would create a document with an identifier that is already in the index."""

    slug = "conflict"
    status: ClassVar[int] = 409


class IndexExistsError(ServiceError):
    """An index that is to be created exists."""

    slug = "index-exists"


_TYPES: tuple[tuple[type[TermwiseError], str], ...] = (
    (UnsupportedError, "unsupported_operation_exception"),
    (ConflictError, "version_conflict_engine_exception"),
    (IndexExistsError, "resource_already_exists_exception"),
    (UnknownIndexError, "index_not_found_exception"),
    (UnknownKeyError, "security_exception"),
    (ForbiddenError, "security_exception"),
    (OverloadError, "rejected_execution_exception"),
    (DeadlineError, "timeout_exception"),
    (UnreadableIndexError, "no_shard_available_action_exception"),
    (ServiceError, "parsing_exception"),
    (UnknownIdError, "document_missing_exception"),
    (DataError, "mapper_parsing_exception"),
)
"""Types of errors in OpenSearch; the first fitting class counts."""


def cause_of(error: TermwiseError) -> dict[str, str]:
    """Return type and reason of an error."""
    record = error_record(error)
    kind = "exception"
    if status_of(error) != 500:
        kind = next((name for cls, name in _TYPES if isinstance(error, cls)), "illegal_argument_exception")
    facts = "; ".join(f"{name}: {value}" for name, value in record.get("facts", {}).items())
    fixes = "".join(f"; {fix}" for fix in record.get("fixes", ()))
    return {"type": kind, "reason": f"{record['message']}{f' ({facts})' if facts else ''}{fixes}"}


def opensearch_error(error: TermwiseError) -> dict[str, Any]:
    """Return the answer for an error.

    Examples
    --------
    >>> opensearch_error(UnsupportedError.of("query", "wildcard", ["match", "term"]))["error"]["reason"]
    'query [wildcard] is not supported (supported: match, term)'
    """
    cause = cause_of(error)
    return {"error": {"root_cause": [cause], **cause}, "status": status_of(error)}
