"""Bodies of requests, read within the limits of size and time, and answers in JSON."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TypeVar

from jiter import from_json
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, to_json
from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from termwise.display.safe_text import shown
from termwise.errors import UnknownNameError
from termwise.serve.byte_budget import ByteShare
from termwise.serve.errors import (
    MediaTypeError,
    OverloadError,
    ServiceError,
    SlowRequestError,
    TooLargeError,
    invalid_request,
)
from termwise.serve.search_pool import SearchPool, client_name
from termwise.serve.service import Service
from termwise.serve.settings import BodyLimits
from termwise.text.characters import without_surrogates

Model = TypeVar("Model", bound=BaseModel)
T = TypeVar("T")

BODY_SECONDS = 10.0
"""Time for the body of a request to arrive."""

SMALL = 4 << 10
"""Largest size in bytes of a body that is parsed on the event loop; a thread parses larger ones."""

GZIP = "gzip", "x-gzip"
"""Names of the compression that a body may have."""

PART = 64 << 10
"""Largest number of bytes that are decompressed at once."""

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


SHARE = "termwise.body"
"""Name of the `ByteShare` of a body in the scope of its request, which whoever answers it ends."""


async def body_of(request: Request, limits: BodyLimits, media_types: tuple[str, ...] = (JSON,)) -> bytes:
    """Return the body of a request, decompressed.

    A media type is required, so that a page of another site cannot send a request that a browser takes as simple.

    Raises
    ------
    MediaTypeError
        If the body has another media type, or another compression than gzip.
    TooLargeError
        If the decompressed body has more bytes, or more values, than its limits allow.
    OverloadError
        If the bodies of all requests are over the bound of the service; see `ByteBudget`.
    SlowRequestError
        If it does not arrive in time.
    """
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in media_types:
        raise MediaTypeError(
            "the body of a request is JSON",
            facts=[("content-type", given or "none"), ("expected", " or ".join(media_types))],
        )
    service: Service = request.app.state.service
    share = request.scope[SHARE] = ByteShare(service.bodies, client_name.get())
    chunks: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in _decoded(request):
                size += len(chunk)
                if size > limits.size:
                    raise TooLargeError(
                        "the body of the request is too large", facts=[("most bytes", limits.size)]
                    )
                if not share.take(len(chunk)):
                    raise OverloadError(
                        "the service reads too many bodies", fixes=["repeat the request later"]
                    )
                chunks.append(chunk)
                if limits.values is not None and size > SMALL:
                    await service.wait_fairly(service.body_pace, len(chunk))
    except TimeoutError:
        raise SlowRequestError(
            "the body of the request did not arrive in time", facts=[("seconds", f"{BODY_SECONDS:g}")]
        ) from None
    except ClientDisconnect:
        raise ServiceError("the client left before the end of its request") from None
    data = b"".join(chunks)
    if limits.values is not None and _has_more_values(data, limits.values):
        raise TooLargeError(
            "the body of the request has too many values",
            facts=[("most", limits.values)],
            fixes=["send several requests"],
        )
    return data


async def _decoded(request: Request) -> AsyncIterator[bytes]:
    """Yield the parts of a body, decompressed, so that its size can be checked before more is decompressed."""
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in (*GZIP, "identity"):
        raise MediaTypeError(
            "the body of a request is plain or compressed with gzip",
            facts=[("content-encoding", shown(coding))],
        )
    if coding == "identity":
        async for chunk in request.stream():
            yield chunk
        return
    decoder = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        async for chunk in request.stream():
            while chunk and not decoder.eof:
                yield decoder.decompress(chunk, PART)
                chunk = decoder.unconsumed_tail
            if chunk or decoder.unused_data:
                break
        complete = decoder.eof and not decoder.unused_data
    except zlib.error:
        complete = False
    if not complete:
        raise ServiceError("the body is not valid gzip", facts=[("content-encoding", coding)])


_BEFORE_VALUES = b"{", b"[", b",", b"\n"
"""Characters of JSON that values follow; lines are values of a request of several searches."""


def _has_more_values(data: bytes, most: int) -> bool:
    r"""Return whether a JSON text, or the JSON texts in the lines of one, have more values than `most`.

    Examples
    --------
    >>> [_has_more_values(data, 2) for data in (b'{"a": "1, 2, 3, 4"}', b'["a", "\\\\", "\\","]', b'"\n[1, 2]')]
    [False, True, True]
    """
    if sum(map(data.count, _BEFORE_VALUES)) <= most:
        return False
    plain = data.replace(rb"\\", b"").replace(rb"\"", b"")
    if plain.count(b'"') > 4 * most or plain.count(b"\n") > most:  # values and their keys have four quotes
        return True
    outside = b"\n".join(b"".join(line.split(b'"')[::2]) for line in plain.split(b"\n"))
    return sum(map(outside.count, _BEFORE_VALUES)) > most


def parsed_json(data: bytes) -> object:
    """Return the value of a JSON text in UTF-8; a key given twice in an object is an error, as is deep nesting."""
    try:
        value: object = from_json(data, allow_inf_nan=False, catch_duplicate_keys=True)
    except ValueError as error:
        raise ServiceError("the body is not JSON", facts=[("reason", str(error))]) from None
    if data.count(b"{") + data.count(b"[") > MOST_LEVELS and _levels(value) > MOST_LEVELS:
        raise ServiceError("the body is nested too deeply", facts=[("most levels", MOST_LEVELS)])
    return value


def _levels(value: object) -> int:
    """Return how deeply objects and arrays are nested; at most one more than `MOST_LEVELS`."""
    levels, inside = 0, [value]
    while inside and levels <= MOST_LEVELS:
        nested = [each for each in inside if isinstance(each, dict | list)]
        levels += bool(nested)
        inside = [each for one in nested for each in (one.values() if isinstance(one, dict) else one)]
    return levels


async def json_of(request: Request, limits: BodyLimits, media_types: tuple[str, ...] = (JSON,)) -> object:
    """Return the JSON body of a request; see `body_of` and `parsed_json`."""
    return await _read(request, await body_of(request, limits, media_types), parsed_json)


async def model_of(request: Request, model: type[Model], limits: BodyLimits) -> Model:
    """Check the JSON body of a request against a model; see `body_of` and `checked_model`."""
    data = await body_of(request, limits)
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
    refuse_unknown(parameters, model)
    for name in parameters:
        given = parameters.getlist(name)
        is_list = "list" in str(model.model_fields[name].annotation)
        if not is_list:
            refuse_repeated(parameters, name)
        values[name] = given if is_list else given[-1]
    return checked_model(values, model, strict=False)


def refuse_repeated(parameters: QueryParams, name: str) -> None:
    """Refuse a query parameter that occurs several times."""
    if len(parameters.getlist(name)) > 1:
        raise ServiceError("a parameter is given twice", facts=[("parameter", shown(name))])


def checked_model(value: object, model: type[Model], *, strict: bool = True) -> Model:
    """Check a value against a model, and return it as one; unless `strict`, strings are converted to other types."""
    if isinstance(value, dict):
        refuse_unknown(value, model)
    try:
        return model.model_validate(value, strict=strict)
    except ValidationError as error:
        raise invalid_request(error) from None


def refuse_unknown(given: Iterable[str], model: type[BaseModel]) -> None:
    """Refuse the first field that a model does not have; pydantic describes each, which takes long for many."""
    for name in given:
        if name not in model.model_fields:
            raise UnknownNameError.of("field of the request", name, model.model_fields)
