"""The OpenAPI document is true: requests made from it never fail in the service, and answers are as described."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.unit.serve.conftest import TEAS, running

import termwise
from termwise.serve.api import OPERATIONS

schemathesis = pytest.importorskip("schemathesis")
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi.checks import (  # noqa: E402
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("service") / "shop.tw"
    termwise.build_index(TEAS, folder, store_text=True)
    with running(str(folder)) as service:
        yield schemathesis.openapi.from_url(f"http://localhost:{service.port}/openapi.json")


@schemathesis.serializer("application/x-ndjson")
def lines_of_json(context: Any, value: Any) -> bytes:
    return str(value).encode(errors="replace")


CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]


@pytest.mark.parametrize("name", [operation.name for operation in OPERATIONS])
def test_generated_requests(api: Any, name: str) -> None:
    operation = _operations(api)[name]

    @settings(
        max_examples=25,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def check(case: Any) -> None:
        case.call_and_validate(checks=CHECKS)

    check()


def _operations(api: Any) -> dict[str, Any]:
    return {each.ok().definition.raw["operationId"]: each.ok() for each in api.get_all_operations()}


def test_every_operation_is_described(api: Any) -> None:
    assert list(_operations(api)) == [operation.name for operation in OPERATIONS]
