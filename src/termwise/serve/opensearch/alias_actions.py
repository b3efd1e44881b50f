"""Actions of OpenSearch on aliases, which are additional names of indexes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from termwise.fast_dataclass import dataclass
from termwise.serve.errors import ServiceError, UnknownIndexError
from termwise.serve.indexes import NAME
from termwise.serve.opensearch.errors import UnsupportedError
from termwise.serve.opensearch.json_checks import flag, known_keys, several, single, texts

MOST_ACTIONS = 1000
"""Actions of a request."""

_IGNORED = ("is_write_index", "is_hidden", "must_exist")
"""Keys of an action that need no meaning, because an alias is of one index."""


@dataclass(frozen=True)
class AliasAction:
    """Change of aliases.

    Attributes
    ----------
    kind : str
        ``add`` or ``remove``.
    indexes, aliases : tuple of str
    must_exist : bool
        Whether it is an error to remove an alias that does not exist.
    """

    kind: str
    indexes: tuple[str, ...]
    aliases: tuple[str, ...]
    must_exist: bool = True


def read_actions(body: Mapping[str, Any]) -> list[AliasAction]:
    """Read the actions of a request.

    Raises
    ------
    UnsupportedError, ServiceError
        If an action is not supported, or not as expected.
    """
    actions = several(known_keys(body, "a change of aliases", ("actions",)).get("actions", []))
    if not actions or len(actions) > MOST_ACTIONS:
        raise ServiceError(
            "a change of aliases has actions", facts=[("given", len(actions)), ("most", MOST_ACTIONS)]
        )
    return [_action(*single(each, "an action on aliases")) for each in actions]


def _action(kind: str, body: object) -> AliasAction:
    if kind not in ("add", "remove"):
        fix = "send DELETE /INDEX after it" if kind == "remove_index" else ""
        raise UnsupportedError.of("the action on aliases", kind, ["add", "remove"], fix)
    where = f"the action {kind}"
    given = known_keys(body, where, ("index", "indices", "alias", "aliases", *_IGNORED))
    found: dict[str, tuple[str, ...]] = {}
    for one, more in (("index", "indices"), ("alias", "aliases")):
        names = [
            *texts(given.get(one, []), f"{one} of {where}"),
            *texts(given.get(more, []), f"{more} of {where}"),
        ]
        if not names:
            raise ServiceError(f"{where} needs {one}")
        for name in names:
            if not NAME.fullmatch(name):
                raise UnsupportedError.of(
                    f"the {one} of {where}", name[:100], ["names of small letters, digits, and . _ - inside"]
                )
        found[one] = tuple(names)
    must_exist = flag(given.get("must_exist", True), "must_exist")
    return AliasAction(kind, found["index"], found["alias"], must_exist)


def apply_actions(actions: Iterable[AliasAction], names: dict[str, str]) -> None:
    """Add and remove aliases; all removals come first, so that an alias can move to another index.

    Raises
    ------
    UnsupportedError
        If an alias would be of two indexes.
    UnknownIndexError
        If an alias to remove is not of the index.
    """
    ordered = sorted(actions, key=lambda action: action.kind != "remove")
    for action in ordered:
        for alias in action.aliases:
            for index in action.indexes:
                if action.kind == "add":
                    if names.get(alias, index) != index:
                        raise UnsupportedError.of(
                            "for several indexes, the alias",
                            alias,
                            fix=f"remove it from the index {names[alias]} in the same request",
                        )
                    names[alias] = index
                elif names.get(alias) == index:
                    del names[alias]
                elif action.must_exist:
                    raise UnknownIndexError(
                        "the index has no such alias", facts=[("alias", alias), ("index", index)]
                    )


def check_new(actions: Iterable[AliasAction], names: Mapping[str, str]) -> None:
    """Check that the aliases of a new index can be added; see `apply_actions`."""
    apply_actions(actions, dict(names))
