"""API keys: random secrets with a role, kept as hashes in a file, and the access that they give.

A key is ``tw_ID_SECRET``. The secret has 256 random bits, so that its SHA-256 hash needs no salt and no slow function.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import logging
import os
import re
import secrets
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

from starlette.requests import Request

from termwise.errors import MalformedRecordError, ParameterError, TermwiseError
from termwise.fast_dataclass import dataclass
from termwise.fixes import Fix
from termwise.serve.errors import ForbiddenError, UnknownKeyError
from termwise.serve.search_pool import client_name
from termwise.storage.atomic_file import locked_folder, write_secret_whole
from termwise.storage.safe_read import path_exists, read_input

logger = logging.getLogger("termwise.serve")

Role = Literal["search", "write", "admin"]
"""What a key allows; each role includes those before it."""

ROLES: tuple[Role, ...] = get_args(Role)

Needed = Role | Literal["none"]
"""What a key must allow for a request: none for all requests."""

MOST_BYTES = 1 << 20
_NO_HASH = "0" * 64


@dataclass(frozen=True)
class KeyRecord:
    """An API key without its secret.

    Attributes
    ----------
    id : str
        Public part of the key, as in the log.
    role : Role
    sha256 : str
        Hash of the secret.
    created : str
        Date and time in UTC.
    name : str
        Who uses the key.
    """

    id: str
    role: Role
    sha256: str
    created: str
    name: str = ""


class KeyFile:
    """File of API keys.

    Parameters
    ----------
    path : Path
        It need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, KeyRecord]:
        """Return the keys by id.

        Raises
        ------
        MalformedRecordError
            If the file is not a file of keys.
        MissingFileError
            If the file does not exist or cannot be read.
        """
        data = read_input(
            self.path,
            MOST_BYTES,
            "the file of API keys cannot be read",
            fixes=[Fix.sentence("create a key: {}", Fix.call("KeyFile(path).create", role="search"))],
        )
        try:
            records = [KeyRecord(**record) for record in json.loads(data)["keys"]]
            if not all(map(_is_valid, records)):
                raise ValueError
        except (ValueError, TypeError, KeyError, RecursionError):
            raise MalformedRecordError(
                "a file of API keys is not in the expected form",
                facts=[("file", self.path)],
                fixes=["move the file away, and create new keys"],
            ) from None
        return {record.id: record for record in records}

    def create(self, role: Role, name: str = "") -> str:
        """Add a key, and return it; the file keeps only the hash of its secret.

        Raises
        ------
        ParameterError
            If the role is unknown.
        StorageError
            If the file cannot be written.
        """
        if role not in ROLES:
            raise ParameterError(
                "the role of a key is unknown", facts=[("role", role), ("known", ", ".join(ROLES))]
            )
        identity, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        with locked_folder(self.path.parent):
            records = self.read() if path_exists(self.path) else {}
            records[identity] = KeyRecord(identity, role, _hash(secret), created, name)
            self._write(records)
        return f"tw_{identity}_{secret}"

    def revoke(self, identity: str) -> None:
        """Remove a key.

        Raises
        ------
        ParameterError
            If there is no such key.
        """
        with locked_folder(self.path.parent):
            records = self.read()
            if records.pop(identity, None) is None:
                raise ParameterError(
                    "there is no such key", facts=[("id", identity), ("known", ", ".join(records) or "none")]
                )
            self._write(records)

    def _write(self, records: dict[str, KeyRecord]) -> None:
        keys = [asdict(record) for record in records.values()]
        write_secret_whole(self.path, (json.dumps({"keys": keys}, indent=2) + "\n").encode())


class Access:
    """Checks the API keys of requests; without a file of keys, every request is allowed.

    The file is read again when it has changed, so that new and revoked keys count at once. If it cannot be read, the
    keys that are known stay valid, and the log says so.

    Attributes
    ----------
    failed : bool
        Whether the file cannot be read now.

    Raises
    ------
    TermwiseError
        If the file of keys cannot be read.
    """

    def __init__(self, path: Path | None) -> None:
        self._file = None if path is None else KeyFile(path)
        self._records = {} if self._file is None else self._file.read()
        self._signature: tuple[int, ...] = ()
        self.failed = False

    def check(self, request: Request, role: Needed) -> None:
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
        self.follow()
        record = _matching_key(self._records, key)
        if record is None:
            raise UnknownKeyError(
                "this service needs an API key" if not key else "the API key is unknown",
                fixes=["send the header: Authorization: Bearer KEY"],
            )
        request.scope["termwise.key"] = record.id
        client_name.set(f"key {record.id}")
        if ROLES.index(record.role) < ROLES.index(role):
            raise ForbiddenError(
                "the role of the API key does not allow this", facts=[("role", record.role), ("needed", role)]
            )

    def follow(self) -> bool:
        """Read the file of keys again if it has changed; return whether it could be read."""
        if self._file is None:
            return True
        signature: tuple[int, ...] = ()
        with suppress(OSError):
            found = os.stat(self._file.path)
            signature = found.st_mtime_ns, found.st_ino, found.st_size, found.st_ctime_ns
        if signature and signature == self._signature:
            return not self.failed
        try:
            self._records = self._file.read()
            self.failed = False
        except TermwiseError as error:
            if not self.failed or signature != self._signature:
                logger.error("the API keys cannot be read; those that were known stay valid: %s", error)
            self.failed = True
        self._signature = signature
        return not self.failed


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


def _is_valid(record: KeyRecord) -> bool:
    texts = all(isinstance(value, str) for value in vars(record).values())
    return texts and record.role in ROLES and re.fullmatch("[0-9a-f]{64}", record.sha256) is not None


def _matching_key(records: dict[str, KeyRecord], key: str) -> KeyRecord | None:
    """Return the record of a key, or None; unknown identifiers take as long as wrong secrets."""
    kind, _, rest = key.partition("_")
    identity, _, secret = rest.partition("_")
    record = records.get(identity) if kind == "tw" else None
    expected = _NO_HASH if record is None else record.sha256
    return record if hmac.compare_digest(_hash(secret), expected) else None


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
