"""An operation of the API: address, role, and what the OpenAPI document says of it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import field
from typing import Any

from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from termwise.fast_dataclass import dataclass
from termwise.serve.keys import Needed
from termwise.serve.service import Service


class AnyText(Convertor[str]):
    """Convertor ``any`` for a part of an address: any characters, also ``/`` and line ends, to the end."""

    regex = r"[\s\S]*"

    def convert(self, value: str) -> str:
        """Return the part."""
        return value

    def to_string(self, value: str) -> str:
        """Return the part."""
        return value


class WholeRoute(Route):
    """Route that matches whole addresses: that of Starlette also matches one with a line end behind it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.path_regex = re.compile(f"(?:{self.path_regex.pattern.removesuffix('$')})\\Z")


register_url_convertor("any", AnyText())  # that of Starlette stops at a line end, and finds another document

Handler = Callable[[Service, Request], Awaitable[Response]]


@dataclass(frozen=True)
class Operation:
    """One operation.

    Attributes
    ----------
    method : str
    path : str
        Template of the address.
    name : str
        Identifier in the OpenAPI document.
    summary : str
    handler : Handler
    answer : type
        Typed dictionary of the answer; str for text.
    role : Needed
    body : type or None
        Model of the body.
    body_lines : bool
        Whether the body has one JSON object on each line.
    example : dict, str or None
        Example of a body; text for a body of lines.
    parameters : dict, or a model
        JSON schema of an object with the parameters of the address besides those of the path, or their model.
    """

    method: str
    path: str
    name: str
    summary: str
    handler: Handler
    answer: Any
    role: Needed = "search"
    body: Any = None
    body_lines: bool = False
    example: dict[str, Any] | str | None = None
    parameters: dict[str, Any] | type = field(default_factory=dict)
