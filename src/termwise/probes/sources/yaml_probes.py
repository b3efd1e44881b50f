"""Reader of user-defined probes in YAML.

A file has a list of probes. The probe of this example has two cases; the first makes six samples, the second one::

    probes:
      - name: opening-hours              # lower case, digits, hyphens; unique in the file
        title: The right day             # for tables; the name by default
        definition: The first is open.   # optional; describes the two texts
        symmetric: false                 # optional; true: only a difference of the scores counts
        expectation: first               # optional; preference of a good ranker: first, second or neither
        combine: all                     # optional; all combinations of slot values, or zip
        limit: 100                       # optional; upper bound for the samples of each case, drawn with the seed
        slots:                           # optional; for all cases of this probe
          day: [Monday, Sunday, Friday]
        cases:
          - query: museum open on {day}
            first: The museum of {thing} is open on {day}.
            second: The museum of {thing} is closed on {day}.
            slots:                       # optional; for this case, in addition to those of the probe
              thing: [clocks, tea]
          - query: shops open at night
            first: The shop is open at night.
            second: The shop is closed at night.
            second_query: shops open all day    # optional; query of the second text

A positive effect means that the first text is preferred. ``{{`` and ``}}`` stand for braces. Every value is a string;
values that YAML reads as numbers, dates or truth values need quotes. With ``combine: zip`` all slots of a case have the
same number of values. Unused slots are an error. A filling with two identical sides makes no sample.

The identifier of a sample is a hash of its content, and samples with the same query are grouped. The samples that a
limit keeps depend on the seed and on the samples, not on their order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from termwise.probes.core.probe import EXPECTATIONS, SYMMETRIC_EXPECTATIONS
from termwise.probes.sources.template_probe import SLOT_NAME, TemplateCase, UserProbe, count_of, slots_of
from termwise.probes.sources.yaml_nodes import Node, read_yaml

MAX_FILLINGS = 1_000_000
"""Upper bound for the fillings of a case."""

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_TEXTS = ("query", "first", "second")
_COMBINE = ("all", "zip")


def read_probes(path: str | Path) -> list[UserProbe]:
    """Read the probes of a YAML file; the module describes the format.

    Raises
    ------
    MissingExtraError
        If PyYAML is not installed.
    MissingFileError, StorageError
        If the file cannot be read.
    MalformedRecordError
        If the file has another format; the facts name file, line and place in the file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "mine.yaml"
    ...     _ = file.write_text('''
    ... probes:
    ...   - name: colours
    ...     title: The right colour
    ...     slots: {colour: [red, blue]}
    ...     cases:
    ...       - {query: "{colour} cars", first: "A {colour} car.", second: A green car.}
    ... ''')
    ...     [sorted(sample.first for sample in probe.samples(0)) for probe in read_probes(file)]
    [['A blue car.', 'A red car.']]
    """
    root = read_yaml(Path(path)).mapping(["probes"])
    probes: dict[str, UserProbe] = {}
    for node in root["probes"].sequence():
        probe = _probe(node)
        if probe.name in probes:
            raise node.error("two probes have the same name", expected="unique names", seen=probe.name)
        probes[probe.name] = probe
    return list(probes.values())


def _probe(node: Node) -> UserProbe:
    given = node.mapping(
        ["name", "cases"], ["title", "definition", "symmetric", "expectation", "combine", "limit", "slots"]
    )
    name = given["name"].text()
    if not _NAME.fullmatch(name):
        raise given["name"].error(
            "a name is invalid", expected="lower-case letters and digits, separated by single hyphens"
        )
    combine = given["combine"].text() if "combine" in given else "all"
    if combine not in _COMBINE:
        raise given["combine"].error("an unknown way to combine slots", expected=" or ".join(_COMBINE))
    shared = _slots(given["slots"]) if "slots" in given else {}
    cases = tuple(_case(case, shared, zipped=combine == "zip") for case in given["cases"].sequence())
    for slot in shared:
        if not any(slot in case.slots for case in cases):
            raise given["slots"].error("a slot is not used", expected=f"{{{slot}}} in a case", seen=slot)
    symmetric = given["symmetric"].truth() if "symmetric" in given else False
    expectation = given["expectation"].text() if "expectation" in given else ""
    expectations = SYMMETRIC_EXPECTATIONS if symmetric else EXPECTATIONS
    if expectation not in expectations:
        raise given["expectation"].error(
            "an unknown expectation", expected=" or ".join(filter(None, expectations))
        )
    return UserProbe(
        name,
        given["title"].text() if "title" in given else name,
        cases,
        definition=given["definition"].text() if "definition" in given else "",
        symmetric=symmetric,
        expectation=expectation,
        zipped=combine == "zip",
        limit=given["limit"].count() if "limit" in given else None,
    )


def _slots(node: Node) -> dict[str, tuple[str, ...]]:
    slots: dict[str, tuple[str, ...]] = {}
    given = node.mapping(optional=None)
    if not given:
        raise node.error("there are no slots", expected="names with lists of values")
    for name, values in given.items():
        if not SLOT_NAME.fullmatch(name):
            raise values.error(
                "the name of a slot is invalid",
                expected="a lower-case letter, then lower-case letters, digits and _",
                seen=name,
            )
        seen: dict[str, None] = {}
        for value in values.sequence():
            if (text := value.text()) in seen:
                raise value.error("a value is duplicate", expected="distinct values", seen=repr(text))
            seen[text] = None
        slots[name] = tuple(seen)
    return slots


def _case(node: Node, shared: Mapping[str, tuple[str, ...]], *, zipped: bool) -> TemplateCase:
    given = node.mapping(_TEXTS, ["second_query", "slots"])
    own = _slots(given["slots"]) if "slots" in given else {}
    for slot in own:
        if slot in shared:
            raise given["slots"].error(
                "a slot of a case has the name of a slot of the probe", expected="unique names", seen=slot
            )
    known = {**shared, **own}
    texts = {name: given[name].text() for name in (*_TEXTS, "second_query") if name in given}
    used: dict[str, tuple[str, ...]] = {}
    for name, text in texts.items():
        for slot in _slots_in(given[name], text):
            if slot not in known:
                raise given[name].error(
                    "a slot has no values",
                    expected=f"one of: {', '.join(known)}" if known else "its values under slots",
                    seen=f"{{{slot}}}",
                    fixes=["write {{ and }} for literal braces"],
                )
            used[slot] = known[slot]
    for slot in own:
        if slot not in used:
            raise given["slots"].error("a slot is not used", expected=f"{{{slot}}} in the case", seen=slot)
    _check_fillings(node, used, zipped=zipped)
    if texts["first"] == texts["second"] and texts.get("second_query", texts["query"]) == texts["query"]:
        raise node.error("both sides are identical", expected="a difference", seen=repr(texts["first"][:60]))
    return TemplateCase(texts["query"], texts["first"], texts["second"], texts.get("second_query"), used)


def _slots_in(node: Node, text: str) -> list[str]:
    try:
        return slots_of(text)
    except ValueError as error:
        raise node.error(
            "a brace encloses no slot name",
            expected="{slot}",
            seen=str(error),
            fixes=["write {{ and }} for literal braces"],
        ) from error


def _check_fillings(node: Node, slots: Mapping[str, tuple[str, ...]], *, zipped: bool) -> None:
    lengths = {name: len(values) for name, values in slots.items()}
    if zipped and len(set(lengths.values())) > 1:
        raise node.error(
            "zipped slots differ in length",
            expected="equal numbers of values",
            seen=", ".join(f"{name}: {length}" for name, length in lengths.items()),
        )
    if (count := count_of(slots, zipped=zipped)) > MAX_FILLINGS:
        raise node.error(
            "the slots of a case have too many combinations",
            expected=f"{MAX_FILLINGS:,} at most",
            seen=f"{count:,}",
            fixes=["give fewer values, or combine: zip"],
        )
