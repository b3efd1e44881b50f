"""Access to the service: which key a request has, and what its role allows."""

from __future__ import annotations

import base64
import binascii
import os

from starlette.requests import Request

from termwise.errors import TermwiseError
from termwise.serve.errors import ForbiddenError, UnknownKeyError
from termwise.serve.keys import ROLES, KeyFile, KeyRecord, matching_key
from termwise.serve.operations import Role
from termwise.serve.settings import ServiceSettings


class Access:
    """Checks the API keys of requests; without a file of keys, every request is allowed.

    The file is read again when it has changed, so that new and revoked keys count at once.

    Raises
    ------
    TermwiseError
        If the file of keys cannot be read.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self._file = None if settings.keys is None else KeyFile(settings.keys)
        self._records: dict[str, KeyRecord] = {}
        self._changed = 0
        if self._file is not None:
            self._changed = os.stat(self._file.path).st_mtime_ns if self._file.path.exists() else 0
            self._records = self._file.read()

    def check(self, request: Request, role: Role) -> None:
        """Check that the key of a request has a role, or a higher one.

        Raises
        ------
        UnknownKeyError
            If the request has no key, or an unknown one.
        ForbiddenError
            If the key has a lower role.
        """
        if self._file is None or role == "none":
            return
        key = given_key(request.headers.get("authorization", ""), request.headers.get("x-api-key", ""))
        record = matching_key(self._current(), key)
        if record is None:
            raise UnknownKeyError(
                "this service needs an API key" if not key else "the API key is unknown",
                fixes=["send the header: Authorization: Bearer KEY"],
            )
        request.scope["termwise.key"] = record.id
        if ROLES.index(record.role) < ROLES.index(role):
            raise ForbiddenError(
                "the role of the API key does not allow this", facts=[("role", record.role), ("needed", role)]
            )

    def _current(self) -> dict[str, KeyRecord]:
        assert self._file is not None
        try:
            changed = os.stat(self._file.path).st_mtime_ns
            if changed != self._changed:
                self._records, self._changed = self._file.read(), changed
        except (OSError, TermwiseError):
            self._records, self._changed = {}, 0  # without a readable file, no key is known
        return self._records


def given_key(authorization: str, api_key: str) -> str:
    """Return the key of a request: a bearer token, the password of basic authentication, or the header X-API-Key.

    Examples
    --------
    >>> given_key("Bearer tw_1_a", ""), given_key("", "tw_1_a"), given_key("Basic dXNlcjp0d18xX2E=", "")
    ('tw_1_a', 'tw_1_a', 'tw_1_a')
    """
    kind, _, value = authorization.partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    if kind.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, ValueError):
            return ""
    return api_key
