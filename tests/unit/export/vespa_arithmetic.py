"""Stand-in for a server of Vespa: it keeps what is fed, and computes the operators and rank expressions of an export.

It understands the part of YQL and of rank expressions that the export uses, as the documentation of Vespa defines them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

Fields = Mapping[str, Any]


class Tensor:
    """Tensor: value by labels of the dimensions."""

    def __init__(self, dimensions: tuple[str, ...], cells: Mapping[tuple[str, ...], float]) -> None:
        self.dimensions, self.cells = dimensions, dict(cells)

    def __mul__(self, other: Tensor) -> Tensor:
        shared = [name for name in self.dimensions if name in other.dimensions]
        more = [place for place, name in enumerate(other.dimensions) if name not in shared]
        ours = [self.dimensions.index(name) for name in shared]
        theirs = [other.dimensions.index(name) for name in shared]
        joined: dict[tuple[str, ...], list[tuple[tuple[str, ...], float]]] = {}
        for labels, factor in other.cells.items():
            rest = tuple(labels[place] for place in more)
            joined.setdefault(tuple(labels[place] for place in theirs), []).append((rest, factor))
        cells = {
            (*labels, *rest): value * factor
            for labels, value in self.cells.items()
            for rest, factor in joined.get(tuple(labels[place] for place in ours), ())
        }
        return Tensor((*self.dimensions, *(other.dimensions[place] for place in more)), cells)


def reduced(tensor: Tensor, aggregate: Callable[[list[float]], float], *names: str) -> Any:
    """Return a tensor without some dimensions, or a number without all of them."""
    kept = tuple(name for name in tensor.dimensions if names and name not in names)
    groups: dict[tuple[str, ...], list[float]] = {}
    for labels, value in tensor.cells.items():
        key = tuple(label for name, label in zip(tensor.dimensions, labels, strict=True) if name in kept)
        groups.setdefault(key, []).append(value)
    if not kept:
        return aggregate(groups.get((), [0.0]))
    return Tensor(kept, {labels: aggregate(values) for labels, values in groups.items()})


def tensor_of(kind: str, value: Any) -> Tensor:
    """Return a tensor from its JSON form and the type in the schema."""
    dimensions = tuple(name for name, _ in re.findall(r"(\w+)(\{\}|\[\d+\])", kind))
    if value is None:
        return Tensor(dimensions, {})
    if "blocks" in value:
        cells = {(one, str(n)): x for one, block in value["blocks"].items() for n, x in enumerate(block)}
        return Tensor(dimensions, cells)
    if isinstance(value, list):
        return Tensor(dimensions, {(str(n),): x for n, x in enumerate(value)})
    return Tensor(dimensions, {(label,): x for label, x in value.get("cells", value).items()})


class Application:
    """Schema of an export, and the documents that were fed."""

    def __init__(self, schema: str) -> None:
        self.types = dict(re.findall(r"field (\w+) type (\S+(?: \S+\))?) \{", schema))
        inputs = schema.split("inputs {")[1].split("}\n        function")[0]
        self.inputs = dict(re.findall(r"query\((\w+)\) (\S+)", inputs))
        functions = re.findall(r"function (\w+)\(\) \{\s+expression: (.+)", schema)
        (self.first_phase,) = re.findall(r"first-phase \{\s+expression: (.+)", schema)
        for name, expression in functions:
            self.first_phase = self.first_phase.replace(name, f"({expression})")
        self.documents: dict[str, Fields] = {}

    def feed(self, name: str, fields: Fields) -> None:
        """Keep a document, all of whose fields are in the schema."""
        assert set(fields) <= set(self.types), set(fields) - set(self.types)
        self.documents[name] = fields

    def search(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a search."""
        inputs = {name[12:-1]: value for name, value in body.items() if name.startswith("input.query(")}
        assert set(inputs) <= set(self.inputs), inputs
        assert body["ranking.sorting"] == "-[relevance] +position"
        condition = Condition(re.fullmatch(r"select doc_id, position from \w+ where (.+)", body["yql"])[1])
        found = [
            {
                "relevance": self.score(fields, inputs),
                "fields": {name: fields[name] for name in ("doc_id", "position")},
            }
            for fields in self.documents.values()
            if condition(fields)
        ]
        found.sort(key=lambda hit: (-hit["relevance"], hit["fields"]["position"]))
        return {"root": {"children": found[: body["hits"]]}}

    def score(self, fields: Fields, inputs: Mapping[str, Any]) -> float:
        """Return the value of the rank expression."""

        def value(types: Mapping[str, str], given: Mapping[str, Any]) -> Callable[[str], Any]:
            def of(name: str) -> Any:
                kind = types[name]
                return tensor_of(kind, given.get(name)) if "tensor" in kind else given.get(name, 0)

            return of

        expression = re.sub(r"(query|attribute)\((\w+)\)", r"\1('\2')", self.first_phase)
        names = {
            "query": value(self.inputs, inputs),
            "attribute": value(self.types, fields),
            "sum": lambda tensor, *names: reduced(tensor, math.fsum, *names),
            "reduce": reduced,
            "count": lambda tensor: len(tensor.cells),
            "either": lambda condition, one, other: one if condition else other,
            "max": max,
            "x": "x",
        }
        return eval(expression.replace("if (", "either("), {"__builtins__": {}}, names)


TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|-?Infinity|-?\d[\w.+-]*|\w+|[(){}\[\],!=:])')


class Condition:
    """Condition in YQL."""

    def __init__(self, text: str) -> None:
        self.tokens = [*TOKEN.findall(text), ""]
        self.place = 0
        self.test = self._either()
        assert self.tokens[self.place] == "", self.tokens[self.place :]

    def __call__(self, fields: Fields) -> bool:
        return self.test(fields)

    def _next(self, *expected: str) -> str:
        token = self.tokens[self.place]
        assert not expected or token in expected, (token, expected)
        self.place += 1
        return token

    def _either(self) -> Callable[[Fields], bool]:
        return self._joined("or", lambda: self._joined("and", self._one, all), any)

    def _joined(self, word: str, part: Any, join: Any) -> Callable[[Fields], bool]:
        parts = [part()]
        while self.tokens[self.place] == word:
            self._next()
            parts.append(part())
        return lambda fields: join(each(fields) for each in parts)

    def _one(self) -> Callable[[Fields], bool]:
        token = self._next()
        if token == "!":
            test = self._one()
            return lambda fields: not test(fields)
        if token == "(" and self.tokens[self.place] == "{":
            assert self.tokens[self.place + 1] == "totalTargetHits"
            self.place += 5  # more documents than targetHits may match
            test = self._one()
            self._next(")")
            return test
        if token == "(":
            test = self._either()
            self._next(")")
            return test
        if token in ("true", "false"):
            return lambda fields: token == "true"
        if token in ("wand", "dotProduct"):
            field, terms = self._function()
            return lambda fields: any(str(term) in fields.get(field, {}) for term, _ in terms)
        if token == "range":
            field, low, high = self._function()
            return lambda fields: field in fields and low <= fields[field] <= high
        operator = self._next("in", "contains", "=")
        if operator == "in":
            values = self._list(")")
            return lambda fields: bool({*_values(fields.get(token))} & {*values})
        value = self._value()
        if operator == "contains":
            return lambda fields: value in _values(fields.get(token))
        return lambda fields: fields.get(token, False) is value

    def _function(self) -> list[Any]:
        self._next("(")
        self.place -= 1
        return self._list(")")

    def _list(self, end: str) -> list[Any]:
        self._next("(", "[")
        found = []
        while True:
            found.append(self._list("]") if self.tokens[self.place] == "[" else self._value())
            if self._next(",", end) == end:
                return found

    def _value(self) -> Any:
        token = self._next()
        if token.endswith("Infinity"):
            return float(token)
        if token in ("true", "false") or token[0] == '"':
            return json.loads(token)
        if token[0].isdigit() or token[0] == "-":
            number = float(token) if re.search(r"[.e]", token) else int(token.rstrip("L"))
            assert isinstance(number, float) or token.endswith("L") or -(2**31) <= number < 2**31
            return number
        return token


def _values(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def served(application: Application) -> Iterator[str]:
    """Serve an application, and yield its address."""
    from threading import Thread

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/search/":
                self._answer(application.search(body))
            else:
                application.feed(self._name(), body["fields"])
                self._answer({})

        def do_DELETE(self) -> None:
            application.documents.pop(self._name(), None)
            self._answer({})

        def log_message(self, *given: Any) -> None:
            pass

        def _name(self) -> str:
            found = re.fullmatch("/document/v1/termwise/termwise/docid/([^/]+)", self.path)
            assert found is not None
            return unquote(found[1])

        def _answer(self, body: Any) -> None:
            data = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
