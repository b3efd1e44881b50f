"""Families of probes from other packages."""

from __future__ import annotations

import sys
import types
from importlib.metadata import EntryPoint

import pytest

from termwise.errors import DataError, ParameterError
from termwise.probes import Probe, Sample, plugins
from termwise.probes.core.probe_inputs import Family, ProbeInputs
from termwise.probes.core.run_suite import ProbeSamples
from termwise.probes.language.rules import RuleLanguage

MATERIAL = ProbeInputs(RuleLanguage(), frozenset())


class Nothing(Probe):
    name, title, strategy = "nothing", "Nothing", "transfer"
    definition = "Two texts of nothing."

    def samples(self, seed):
        yield from ()


def refuse(inputs):
    raise ParameterError("not like this")


def fail(inputs):
    raise KeyError("grade")


@pytest.fixture
def install(monkeypatch):
    """Return a function that makes entry points of the group, each for an attribute of a module."""

    def installed(**families):
        module = types.ModuleType("their_probes")
        vars(module).update(families)
        monkeypatch.setitem(sys.modules, "their_probes", module)
        points = [EntryPoint(name, f"their_probes:{name}", plugins.GROUP) for name in families]
        monkeypatch.setattr(plugins, "entry_points", lambda group: points if group == plugins.GROUP else [])

    return installed


def test_families_are_ordered_by_name(install):
    install(
        zebra=Family("stripes", "Stripes?", lambda inputs: [Nothing()]),
        ant=Family("legs", "Legs?", lambda inputs: []),
    )
    found = plugins.plugin_families()
    assert [family.name for family in found] == ["legs", "stripes"]
    assert [probe.name for probe in found[1].make(MATERIAL)] == ["nothing"]
    assert found[0].make(MATERIAL) == []


def test_without_plugins_there_are_only_built_in_families():
    assert plugins.plugin_families() == []


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("a string", "it is a str, not a Family"),
        (Family, "it is a type, not a Family"),
        (Family("noise", "?", lambda inputs: []), "the family 'noise' exists already, in termwise"),
    ],
)
def test_errors_name_an_invalid_entry_point(install, broken, reason):
    install(theirs=broken)
    with pytest.raises(DataError) as caught:
        plugins.plugin_families(["noise"])
    facts = dict(caught.value.facts)
    assert facts == {"plug-in": "theirs = their_probes:theirs", "package": "unknown", "reason": reason}


def test_duplicate_entry_points_are_refused(install):
    install(one=Family("x", "?", refuse), two=Family("x", "?", refuse))
    with pytest.raises(DataError, match="two = their_probes:two"):
        plugins.plugin_families()


@pytest.mark.parametrize(
    ("value", "reason"),
    [("their_probes:missing", "AttributeError"), ("no_such_package_of_theirs:x", "ModuleNotFoundError")],
)
def test_errors_name_an_entry_point_that_cannot_be_loaded(install, monkeypatch, value, reason):
    install()
    monkeypatch.setattr(plugins, "entry_points", lambda group: [EntryPoint("gone", value, group)])
    with pytest.raises(DataError, match=reason) as caught:
        plugins.plugin_families()
    assert dict(caught.value.facts)["plug-in"] == f"gone = {value}"


def test_errors_name_a_family_that_fails_later(install):
    install(
        bad=Family("a", "?", fail),
        typed=Family("b", "?", refuse),
        wrong=Family("c", "?", lambda inputs: ["not a probe"]),
        none=Family("d", "?", lambda inputs: None),
        leaving=Family("e", "?", sys.exit),
    )
    made = {family.name: family.make for family in plugins.plugin_families()}
    with pytest.raises(DataError, match="making its probes failed: KeyError: 'grade'"):
        made["a"](MATERIAL)
    with pytest.raises(ParameterError, match="not like this"):
        made["b"](MATERIAL)
    with pytest.raises(DataError, match="it made a str, not a Probe"):
        made["c"](MATERIAL)
    with pytest.raises(DataError, match="none = their_probes:none"):
        made["d"](MATERIAL)
    with pytest.raises(DataError, match="making its probes failed: SystemExit"):
        made["e"](MATERIAL)


def test_errors_name_a_probe_that_cannot_make_its_samples(install):
    class Failing(Nothing):
        name, symmetric, definition = "failing", True, ""

        def samples(self, seed):
            yield Sample("1", "q", "a", "b")
            raise KeyError("grade")

    class Odd(Nothing):
        name = "odd"

        def samples(self, seed):
            raise ParameterError("not like this")

    class Leaving(Nothing):
        name = "leaving"

        def samples(self, seed):
            raise SystemExit(0)

    class Nameless(Probe):
        def samples(self, seed):
            yield from ()

    install(
        bad=Family("a", "?", lambda inputs: [Failing(), Odd(), Leaving(), Nothing()]),
        none=Family("b", "?", lambda inputs: [Nameless()]),
    )
    family, nameless = plugins.plugin_families()
    failing, odd, leaving, nothing = family.make(MATERIAL)
    assert (failing.name, failing.title, failing.strategy, failing.symmetric) == (
        "failing", "Nothing", "transfer", True,
    )  # fmt: skip
    assert (failing.definition, nothing.definition) == ("", "Two texts of nothing.")
    for options in ({}, {"limit": 3}):
        with pytest.raises(DataError, match="the samples of failing failed: KeyError: 'grade'") as caught:
            ProbeSamples.of(failing, seed=0, **options)
        assert dict(caught.value.facts)["plug-in"] == "bad = their_probes:bad"
        with pytest.raises(ParameterError, match="not like this") as caught:
            ProbeSamples.of(odd, seed=0, **options)
        assert caught.value.facts[0] == ("probe", "odd")
        with pytest.raises(DataError, match="the samples of leaving failed: SystemExit: 0"):
            ProbeSamples.of(leaving, seed=0, **options)
        assert ProbeSamples.of(nothing, seed=0, **options).samples.items == ()
    with pytest.raises(DataError, match="none = their_probes:none") as caught:
        nameless.make(MATERIAL)
    assert dict(caught.value.facts)["reason"] == "Nameless.name cannot have this value: None"
