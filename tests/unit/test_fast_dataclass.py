"""Frozen data classes are those of the standard library, but for the time of making them."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from dataclasses import dataclass as standard
from functools import cached_property
from typing import ClassVar

import pytest

from termwise.fast_dataclass import dataclass


def classes(make):
    @make(frozen=True)
    class Point:
        """Point."""

        kind: ClassVar[str] = "point"
        x: int
        y: float = 2.0
        tags: list[str] = field(default_factory=list, compare=False)
        hidden: int = field(default=3, repr=False)
        size: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "size", self.x * 2)

        @cached_property
        def double(self) -> float:
            return 2 * self.y

    @make(frozen=True, kw_only=True)
    class Named(Point):
        name: str

    @make(frozen=True, eq=False, repr=False)
    class Plain:
        values: int

    return Point, Named, Plain


@pytest.fixture(params=[standard, dataclass], ids=["standard", "fast"])
def made(request):
    return classes(request.param)


def test_values_and_defaults(made):
    point_class, named, _ = made
    point = point_class(1)
    assert (point.x, point.y, point.tags, point.hidden, point.size, point.kind) == (1, 2.0, [], 3, 2, "point")
    assert point_class(1).tags is not point.tags
    assert point.double == 4.0
    assert named(5, name="n", y=1.0).name == "n"
    with pytest.raises(TypeError):
        named(5, 1.0, [], 3, "n")
    with pytest.raises(TypeError):
        point_class()


def test_comparison_hash_and_text(made):
    point_class, named, plain = made
    assert point_class(1, tags=["a"]) == point_class(1)
    assert hash(point_class(1)) == hash((1, 2.0, 3, 2))
    assert point_class(1) != point_class(2)
    assert point_class(1) != named(1, name="n")
    assert repr(point_class(1)).endswith("Point(x=1, y=2.0, tags=[], size=2)")
    assert plain(1) != plain(1)
    assert repr(plain(1)).startswith("<")


def test_nothing_can_be_set_or_deleted(made):
    point = made[0](1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'other'"):
        point.other = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x


def test_other_attributes_of_classes_that_inherit(made):
    heir = type("Heir", (made[0],), {})(1)
    heir.other = 3
    assert heir.other == 3
    with pytest.raises(FrozenInstanceError):
        heir.x = 2
    del heir.other


def test_functions_of_the_standard_library(made):
    point_class, _, _ = made
    point = point_class(1)
    assert replace(point, x=4).size == 8
    assert asdict(point) == {"x": 1, "y": 2.0, "tags": [], "hidden": 3, "size": 2}
    assert [each.name for each in fields(point_class)] == ["x", "y", "tags", "hidden", "size"]
    assert copy.deepcopy(point) == point
    assert list(inspect.signature(point_class).parameters) == ["x", "y", "tags", "hidden"]
    assert "tags: 'list[str]' = <factory>" in str(inspect.signature(point_class))
    assert point_class.__match_args__ == ("x", "y", "tags", "hidden")


@dataclass(frozen=True)
class Pickled:
    """Record of a module, which can be pickled."""

    value: int


def test_records_can_be_pickled():
    assert pickle.loads(pickle.dumps(Pickled(3))) == Pickled(3)


def test_own_methods_stay():
    @dataclass(frozen=True)
    class Own:
        value: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    assert (repr(Own(1)), Own(1) == 2, hash(Own(1))) == ("own", True, 7)


@pytest.mark.parametrize(
    ("base", "heir"), [(standard, dataclass), (dataclass, standard), (dataclass, dataclass)]
)
def test_frozen_classes_inherit_from_each_other(base, heir):
    @base(frozen=True)
    class First:
        one: int = 1

    @heir(frozen=True)
    class Second(First):
        two: int = 2

    second = Second(two=3)
    assert (second, second.one) == (Second(1, 3), 1)
    with pytest.raises(FrozenInstanceError):
        second.one = 2
    with pytest.raises(FrozenInstanceError):
        First().one = 2
    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):
        standard(type("Third", (First,), {}))


def test_other_classes_are_those_of_the_standard_library():
    @dataclass
    class Open:
        value: int = 0

    @dataclass(frozen=True, slots=True)
    class Slots:
        value: int

    opened = Open()
    opened.value = 3
    assert opened == Open(3)
    assert not hasattr(Slots(1), "__dict__")
