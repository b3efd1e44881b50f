"""Bodies of requests, read within the limits of size and time, and answers in JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json
from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Scope

from termwise.display.safe_text import shown
from termwise.serve.errors import (
    MediaTypeError,
    OverloadError,
    ServiceError,
    SlowRequestError,
    TooLargeError,
    invalid_request,
)
from termwise.serve.search_pool import SearchPool
from termwise.text.characters import without_surrogates

Model = TypeVar("Model", bound=BaseModel)
T = TypeVar("T")

BODY_SECONDS = 10.0
"""Time for the body of a request to arrive."""

SMALL = 4 << 10
"""Bytes of a body that is read on the event loop."""

MOST_PARAMETERS = 300
"""Query parameters of an address."""

MOST_FIELDS = 300
"""Fields of a request in JSON."""

MOST_LEVELS = 30
"""Nesting of objects and arrays in a body."""

JSON = "application/json"
NDJSON = "application/x-ndjson"
MERGE_PATCH = "application/merge-patch+json"


class JsonAnswer(Response):
    """An answer in JSON; see `json_bytes`."""

    media_type = JSON

    def render(self, content: object) -> bytes:
        """Return the bytes of the body."""
        return json_bytes(content)


def json_bytes(content: object) -> bytes:
    r"""Write JSON; numbers that are not finite become null, and lone surrogates, which an old index may hold, U+FFFD.

    Examples
    --------
    >>> json_bytes({"tags": ["half \ud83d"]}).decode()
    '{"tags":["half �"]}'
    """
    try:
        return to_json(content, inf_nan_mode="null")
    except PydanticSerializationError:
        return to_json(_with_whole_characters(content), inf_nan_mode="null")


def _with_whole_characters(value: object) -> object:
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, dict):
        return {_with_whole_characters(name): _with_whole_characters(each) for name, each in value.items()}
    return [_with_whole_characters(each) for each in value] if isinstance(value, list | tuple) else value


class BodyBudget:
    """Limit on the bytes of all request bodies that a process holds at the same time.

    Parameters
    ----------
    most : int
        Bytes.

    Attributes
    ----------
    held : int
        Bytes of the requests that are not answered yet.
    """

    def __init__(self, most: int) -> None:
        self.held = 0
        self._most = most

    def take(self, scope: Scope, size: int) -> None:
        """Count bytes that a request got; raise `OverloadError` if they would exceed the bound."""
        if self.held + size > self._most:
            raise OverloadError("the service reads too many bodies", fixes=["repeat the request later"])
        self.held += size
        scope[_HELD] = scope.get(_HELD, 0) + size

    def give_back(self, scope: Scope) -> None:
        """Forget the bytes of a request that is answered."""
        self.held -= scope.pop(_HELD, 0)


_HELD = "termwise.body"
"""Name of the number of bytes of a body in the scope of its request."""


async def body_of(request: Request, most: int, media_types: tuple[str, ...] = (JSON,)) -> bytes:
    """Return the body of a request.

    A media type is required, so that a page of another site cannot send a request that a browser takes as simple.

    Raises
    ------
    MediaTypeError
        If the body has another media type.
    TooLargeError
        If the body has more than `most` bytes.
    OverloadError
        If the bodies of all requests are over the bound of the service; see `BodyBudget`.
    SlowRequestError
        If it does not arrive in time.
    """
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in media_types:
        raise MediaTypeError(
            "the body of a request is JSON",
            facts=[("content-type", given or "none"), ("expected", " or ".join(media_types))],
        )
    budget: BodyBudget = request.app.state.service.bodies
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                size += len(chunk)
                if size > most:
                    raise TooLargeError("the body of the request is too large", facts=[("most bytes", most)])
                budget.take(request.scope, len(chunk))
                chunks.append(chunk)
    except TimeoutError:
        raise SlowRequestError(
            "the body of the request did not arrive in time", facts=[("seconds", f"{BODY_SECONDS:g}")]
        ) from None
    except ClientDisconnect:
        raise ServiceError("the client left before the end of its request") from None
    return b"".join(chunks)


def parsed_json(data: bytes) -> object:
    """Return the value of a JSON text in UTF-8; a key given twice in an object is an error, as is deep nesting."""
    try:
        value = from_json(data, allow_inf_nan=False)
    except ValueError as error:
        raise ServiceError("the body is not JSON", facts=[("reason", str(error))]) from None
    if data.count(b"{") + data.count(b"[") > MOST_LEVELS and _levels(value) > MOST_LEVELS:
        raise ServiceError("the body is nested too deeply", facts=[("most levels", MOST_LEVELS)])
    _KEYS.decode(data.decode())
    return value


def _refuse_repeated_key(pairs: list[tuple[str, object]]) -> None:
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ServiceError("a key is given twice in one object", facts=[("key", shown(repeated))])


_KEYS = json.JSONDecoder(object_pairs_hook=_refuse_repeated_key, parse_int=len, parse_float=len)
"""Reader that only checks the keys of objects: `from_json` keeps the last value of a repeated one."""


def _levels(value: object) -> int:
    """Return how deeply objects and arrays are nested; at most one more than `MOST_LEVELS`."""
    levels, inside = 0, [value]
    while inside and levels <= MOST_LEVELS:
        nested = [each for each in inside if isinstance(each, dict | list)]
        levels += bool(nested)
        inside = [each for one in nested for each in (one.values() if isinstance(one, dict) else one)]
    return levels


async def json_of(request: Request, most: int, media_types: tuple[str, ...] = (JSON,)) -> object:
    """Return the JSON body of a request; see `body_of` and `parsed_json`."""
    return await _read(request, await body_of(request, most, media_types), parsed_json)


async def model_of(request: Request, model: type[Model], most: int) -> Model:
    """Check the JSON body of a request against a model; see `body_of` and `checked_model`."""
    data = await body_of(request, most)
    return await _read(request, data, lambda data: checked_model(parsed_json(data), model))


async def _read(request: Request, data: bytes, read: Callable[[bytes], T]) -> T:
    """Parse a body: a small one on the event loop, a large one in a thread of the search pool."""
    if len(data) <= SMALL:
        return read(data)
    pool: SearchPool = request.app.state.service.pool
    return await pool.run(lambda: read(data))


def model_of_parameters(parameters: QueryParams, model: type[Model]) -> Model:
    """Check the query parameters of a URL against a model; only those of list type may be repeated."""
    values: dict[str, object] = {}
    check_number_of_parameters(parameters)
    for name in parameters:
        given = parameters.getlist(name)
        field = model.model_fields.get(name)
        is_list = field is not None and "list" in str(field.annotation)
        if not is_list:
            refuse_repeated(parameters, name)
        values[name] = given if is_list else given[-1]
    return checked_model(values, model, strict=False)


def check_number_of_parameters(parameters: QueryParams) -> None:
    """Refuse an address with very many query parameters: each is compared with the names of all others."""
    if len(parameters.multi_items()) > MOST_PARAMETERS:
        raise ServiceError(
            "the address has too many parameters",
            facts=[("given", len(parameters.multi_items())), ("most", MOST_PARAMETERS)],
        )


def refuse_repeated(parameters: QueryParams, name: str) -> None:
    """Refuse a query parameter that occurs several times."""
    if len(parameters.getlist(name)) > 1:
        raise ServiceError("a parameter is given twice", facts=[("parameter", shown(name))])


def checked_model(value: object, model: type[Model], *, strict: bool = True) -> Model:
    """Check a value against a model, and return it as one; unless `strict`, strings are converted to other types."""
    if isinstance(value, dict) and len(value) > MOST_FIELDS:  # there would be an error for each unknown one
        raise ServiceError(
            "the request has too many fields", facts=[("given", len(value)), ("most", MOST_FIELDS)]
        )
    try:
        return model.model_validate(value, strict=strict)
    except ValidationError as error:
        raise invalid_request(error, known=model.model_fields) from None
