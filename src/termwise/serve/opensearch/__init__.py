"""Subset of the API of OpenSearch that clients of a search box use.

What is not supported is refused by name. `docs/reference/opensearch.md` lists what is supported, and what differs.
"""
