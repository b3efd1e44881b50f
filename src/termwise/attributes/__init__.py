"""Attributes of documents: types, schemas, dates."""

from termwise.attributes.field_types import FIELD_TYPES, FieldType
from termwise.attributes.schema import Schema
from termwise.records import Attributes, AttributeValue

__all__ = ["FIELD_TYPES", "AttributeValue", "Attributes", "FieldType", "Schema"]


def __dir__() -> list[str]:
    return __all__
