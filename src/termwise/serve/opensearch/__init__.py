"""Subset of the API of OpenSearch that clients of a search box use.

What is not supported is refused by name. `docs/reference/opensearch.md` lists what is supported, and what differs.
"""

from termwise.serve.opensearch.routes import info_route, opensearch_routes

__all__ = ["info_route", "opensearch_routes"]


def __dir__() -> list[str]:
    return __all__
