"""Attributes of documents: types, schemas, dates."""

from typing import TYPE_CHECKING

from termwise.lazy_names import lazy_names

if TYPE_CHECKING:
    from termwise.attributes.field_types import FIELD_TYPES, FieldType
    from termwise.attributes.schema import Schema
    from termwise.records import Attributes, AttributeValue
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "field_types": "FIELD_TYPES FieldType",
            "schema": "Schema",
            ".records": "Attributes AttributeValue",
        },
    )

__all__ = ["FIELD_TYPES", "AttributeValue", "Attributes", "FieldType", "Schema"]
