"""Query encoding, first-stage retrieval and scoring of given documents over one index."""

from termwise.engine.query_encoder import QueryEncoder
from termwise.engine.query_settings import QuerySettings

__all__ = ["QueryEncoder", "QuerySettings"]


def __dir__() -> list[str]:
    return __all__
