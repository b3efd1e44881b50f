"""Query encoding, first-stage retrieval and scoring of given documents over one index."""

from typing import TYPE_CHECKING

from termwise.lazy_names import lazy_names

if TYPE_CHECKING:
    from termwise.engine.query_encoder import QueryEncoder
    from termwise.engine.query_settings import QuerySettings
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "query_encoder": "QueryEncoder",
            "query_settings": "QuerySettings",
        },
    )

__all__ = ["QueryEncoder", "QuerySettings"]
