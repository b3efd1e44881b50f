"""Probes of YAML files: their samples, and the errors for every invalid file."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from termwise.errors import MalformedRecordError, MissingExtraError, MissingFileError
from termwise.probes import Samples
from termwise.probes.core.expectations import expectation_of
from termwise.probes.sources.template_probe import count_of, filled, fillings, slots_of
from termwise.probes.sources.yaml_probes import read_probes

pytest.importorskip("yaml")

GOOD = """
probes:
  - name: opening-hours
    title: The right day
    definition: 'First: open. Second: closed.'
    slots:
      day: [Monday, Sunday, Friday]
    cases:
      - query: museum open on {day}
        first: The museum of {thing} is open on {day}.
        second: The museum of {thing} is closed on {day}.
        slots:
          thing: [clocks, tea]
      - query: shops open at night
        first: The shop is open at night.
        second: The shop is open at night.
        second_query: shops open all day
  - name: other
    title: Another one
    symmetric: true
    cases:
      - {query: braces, first: "{{a}}", second: b}
"""


def read(tmp_path, text):
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return read_probes(path)


def one(tmp_path, case="{query: q, first: a, second: b}", rest=""):
    return read(tmp_path, f"probes:\n- name: x\n  title: X\n  {rest}\n  cases:\n  - {case}\n")


def test_a_file_makes_its_probes(tmp_path):
    first, second = read(tmp_path, GOOD)
    found = {(s.query, s.first, s.second, s.second_query) for s in first.samples(0)}
    assert found == {
        *(
            (
                f"museum open on {day}",
                f"The museum of {thing} is open on {day}.",
                f"The museum of {thing} is closed on {day}.",
                None,
            )
            for day in ("Monday", "Sunday", "Friday")
            for thing in ("clocks", "tea")
        ),
        (
            "shops open at night",
            "The shop is open at night.",
            "The shop is open at night.",
            "shops open all day",
        ),
    }
    assert (first.name, first.title, first.symmetric) == ("opening-hours", "The right day", False)
    assert (first.definition, second.definition) == ("First: open. Second: closed.", "")
    assert second.symmetric
    assert [(s.first, s.query_id) for s in second.samples(0)] == [("{a}", "braces")]


def test_values_can_be_zipped(tmp_path):
    slots = "slots: {a: [one, two], b: [red, blue]}"
    (zipped,) = one(tmp_path, '{query: q, first: "{a}", second: "{b}"}', f"combine: zip\n  {slots}")
    assert sorted((s.first, s.second) for s in zipped.samples(0)) == [("one", "red"), ("two", "blue")]
    (every,) = one(tmp_path, '{query: q, first: "{a}", second: "{b}"}', slots)
    assert len(list(every.samples(0))) == 4


def test_a_case_uses_only_the_slots_that_it_names(tmp_path):
    slots = "slots: {a: [one, two], b: [red, blue, green]}"
    case = '{query: q, first: "{a}", second: z}\n  - {query: r, first: "{b}", second: z}'
    (probe,) = one(tmp_path, case, f"combine: zip\n  {slots}")
    assert sorted(s.first for s in probe.samples(0)) == ["blue", "green", "one", "red", "two"]


def test_identical_sides_make_no_sample(tmp_path):
    (probe,) = one(tmp_path, '{query: q, first: "{a}", second: one}', "slots: {a: [one, two]}")
    assert [s.first for s in probe.samples(0)] == ["two"]


def test_duplicate_samples_of_two_cases_are_dropped(tmp_path):
    (probe,) = one(tmp_path, "{query: q, first: a, second: b}\n  - {query: q, first: a, second: b}")
    assert len(list(probe.samples(0))) == 1


def test_a_limit_depends_on_the_seed_and_not_on_order(tmp_path):
    values = [f"v{n}" for n in range(30)]

    def drawn(order, seed, limit=5):
        slots = f"limit: {limit}\n  slots: {{a: [{', '.join(order)}]}}"
        (probe,) = one(tmp_path, '{query: q, first: "{a}", second: z}', slots)
        return {sample.first for sample in probe.samples(seed)}

    assert len(drawn(values, 0)) == 5
    assert drawn(values, 0) == drawn(values[::-1], 0) != drawn(values, 1)
    assert drawn(values, 0) < drawn(values, 0, limit=6)
    assert drawn(values, 0, limit=99) == set(values)


def test_sample_ids_depend_on_the_content_only(tmp_path):
    (before,) = one(tmp_path, "{query: q, first: a, second: b}\n  - {query: r, first: a, second: b}")
    (after,) = one(tmp_path, "{query: r, first: a, second: b}\n  - {query: q, first: a, second: b}")
    assert Samples.of(before.samples(0)).content == Samples.of(after.samples(5)).content


@given(st.text())
def test_double_braces_are_literal(text):
    assert filled(text.replace("{", "{{").replace("}", "}}"), {}) == text


@given(st.dictionaries(st.sampled_from("abc"), st.lists(st.text(max_size=2), min_size=1, max_size=3)))
def test_fillings_are_counted(slots):
    assert len(list(fillings(slots, zipped=False))) == count_of(slots, zipped=False)


def test_slots_by_hand():
    assert slots_of("{b} {a} {b}") == ["b", "a"]
    assert list(fillings({}, zipped=True)) == [{}]
    assert count_of({}, zipped=True) == 1
    for wrong in ("{", "}", "{}", "{A}", "{a b}", "{a!r}", "{0}", "{{a}"):
        with pytest.raises(ValueError):
            slots_of(wrong)


CASE = "{query: q, first: a, second: b}"


@pytest.mark.parametrize(
    ("text", "message", "place", "seen"),
    [
        ("- a\n", "a mapping is required here", "the whole file", "a list"),
        ("other: 1\n", "an unknown key", "other", "'other'"),
        ("{}\n", "a key is missing", "the whole file", "no key"),
        ("probes:\n", "a list is required here", "probes", "nothing"),
        ("probes: []\n", "a list is empty", "probes", "an empty list"),
        ("probes: [x]\n", "a mapping is required here", "probes[0]", "'x' (str)"),
        ("probes: [{name: a, name: b}]\n", "a key is duplicate", "probes[0].name", "'name'"),
        ("probes: [{nmae: a}]\n", "an unknown key", "probes[0].nmae", "'nmae'"),
        ("probes: [{name: a, title: b}]\n", "a key is missing", "probes[0]", "name, title"),
        (
            f"probes: [{{name: A b, title: t, cases: [{CASE}]}}]",
            "a name is invalid",
            "probes[0].name",
            "A b",
        ),
        (
            f"probes: [{{name: 5, title: t, cases: [{CASE}]}}]",
            "a string is required here",
            "probes[0].name",
            "'5' (int)",
        ),
        (
            f"probes: [{{name: a, title: ' ', cases: [{CASE}]}}]",
            "a string is empty",
            "probes[0].title",
            "' '",
        ),
        (
            f"probes: [{{name: a, title: t, cases: [{CASE}]}}, {{name: a, title: u, cases: [{CASE}]}}]",
            "two probes have the same name",
            "probes[1]",
            "a",
        ),
        ("probes: [{name: a, title: t, cases: []}]", "a list is empty", "probes[0].cases", "an empty list"),
        (
            f"probes: [{{name: a, title: t, combine: sum, cases: [{CASE}]}}]",
            "an unknown way to combine slots",
            "probes[0].combine",
            "'sum'",
        ),
        (
            f"probes: [{{name: a, title: t, symmetric: yes, cases: [{CASE}]}}]",
            "true or false is required here",
            "probes[0].symmetric",
            "'yes' (bool)",
        ),
        (
            f"probes: [{{name: a, title: t, limit: 0, cases: [{CASE}]}}]",
            "a number is required here",
            "probes[0].limit",
            "'0' (int)",
        ),
        (
            f"probes: [{{name: a, title: t, limit: 2.5, cases: [{CASE}]}}]",
            "a number is required here",
            "probes[0].limit",
            "'2.5' (float)",
        ),
        (
            f"probes: [{{name: a, title: t, slots: {{}}, cases: [{CASE}]}}]",
            "there are no slots",
            "probes[0].slots",
            "an empty mapping",
        ),
        (
            f"probes: [{{name: a, title: t, slots: {{s: []}}, cases: [{CASE}]}}]",
            "a list is empty",
            "probes[0].slots.s",
            "an empty list",
        ),
        (
            f"probes: [{{name: a, title: t, slots: {{s: one}}, cases: [{CASE}]}}]",
            "a list is required here",
            "probes[0].slots.s",
            "'one' (str)",
        ),
        (
            f"probes: [{{name: a, title: t, slots: {{s: [one, 2020-01-01]}}, cases: [{CASE}]}}]",
            "a string is required here",
            "probes[0].slots.s[1]",
            "'2020-01-01' (timestamp)",
        ),
        (
            f"probes: [{{name: a, title: t, slots: {{s: [one, one]}}, cases: [{CASE}]}}]",
            "a value is duplicate",
            "probes[0].slots.s[1]",
            "'one'",
        ),
        (
            f"probes: [{{name: a, title: t, slots: {{S: [one]}}, cases: [{CASE}]}}]",
            "the name of a slot is invalid",
            "probes[0].slots.S",
            "S",
        ),
        (
            f"probes: [{{name: a, title: t, slots: {{s: [one]}}, cases: [{CASE}]}}]",
            "a slot is not used",
            "probes[0].slots",
            "s",
        ),
        (
            "probes: [{name: a, title: t, cases: [{query: q, first: a, second: b, slots: {s: [one]}}]}]",
            "a slot is not used",
            "probes[0].cases[0].slots",
            "s",
        ),
        (
            "probes: [{name: a, title: t, slots: {s: [u]}, cases: "
            '[{query: "{s}", first: a, second: b, slots: {s: [one]}}]}]',
            "a slot of a case has the name of a slot of the probe",
            "probes[0].cases[0].slots",
            "s",
        ),
        (
            'probes: [{name: a, title: t, cases: [{query: q, first: "{where}", second: b}]}]',
            "a slot has no values",
            "probes[0].cases[0].first",
            "{where}",
        ),
        (
            'probes: [{name: a, title: t, cases: [{query: q, first: a, second: "a } b"}]}]',
            "a brace encloses no slot name",
            "probes[0].cases[0].second",
            "}",
        ),
        (
            "probes: [{name: a, title: t, cases: [{query: q, first: a, second: a}]}]",
            "both sides are identical",
            "probes[0].cases[0]",
            "'a'",
        ),
        (
            "probes: [{name: a, title: t, combine: zip, slots: {s: [u], w: [u, v]}, cases: "
            '[{query: "{s}", first: "{w}", second: b}]}]',
            "zipped slots differ in length",
            "probes[0].cases[0]",
            "s: 1, w: 2",
        ),
        (
            "probes: [{name: a, title: t, cases: [{query: q, first: null, second: b}]}]",
            "a string is required here",
            "probes[0].cases[0].first",
            "'null' (null)",
        ),
    ],
)
def test_errors_name_the_place(tmp_path, text, message, place, seen):
    with pytest.raises(MalformedRecordError) as caught:
        read(tmp_path, text)
    facts = dict(caught.value.facts)
    assert caught.value.message == message
    assert facts["file"] == tmp_path / "mine.yaml"
    assert facts["place"] == place
    assert seen in facts["seen"]
    assert facts["line"] == 1


def test_errors_name_the_line_and_similar_keys(tmp_path):
    with pytest.raises(MalformedRecordError) as caught:
        read(tmp_path, GOOD.replace("symmetric: true", "simmetric: true"))
    assert dict(caught.value.facts)["line"] == 20
    assert caught.value.fixes == ("did you mean symmetric?",)


def test_too_many_combinations_are_refused(tmp_path):
    values = ", ".join(f"v{n}" for n in range(101))
    slots = f"slots: {{a: [{values}], b: [{values}], c: [{values}]}}"
    with pytest.raises(MalformedRecordError, match="1,030,301"):
        one(tmp_path, '{query: "{a}", first: "{b}", second: "{c}"}', slots)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("# nothing\n", 1),
        ("probes: [\n", 2),
        ("probes: a\n---\nprobes: b\n", 2),
        ("probes: *nowhere\n", 1),
        ("a\x07b", 1),
        ("[" * 2000, 1),
        ('a: b\nc: "\\UFFFFFFFF"\n', 2),
        ('a: b\nc: "\\U00110000"\n', 2),
    ],
)
def test_invalid_yaml_is_refused(tmp_path, text, line):
    with pytest.raises(MalformedRecordError) as caught:
        read(tmp_path, text)
    assert dict(caught.value.facts)["line"] == line


@pytest.mark.parametrize("text", ["- name: a\n", "5\n", ""])
def test_errors_name_the_top_level_key(tmp_path, text):
    with pytest.raises(MalformedRecordError) as caught:
        read(tmp_path, text)
    assert "probes" in dict(caught.value.facts)["expected"]


def test_a_probe_can_state_its_expectation(tmp_path):
    for said, expectation in ((", expectation: second", "second"), ("", "")):
        (probe,) = read(tmp_path, f"probes: [{{name: typos, cases: [{CASE}]{said}}}]")
        assert expectation_of(probe) == expectation, "its name means nothing"
    for said in ("expectation: third", "expectation: first, symmetric: true"):
        with pytest.raises(MalformedRecordError, match="an unknown expectation"):
            read(tmp_path, f"probes: [{{name: a, {said}, cases: [{CASE}]}}]")


def test_missing_and_invisible_strings_are_refused(tmp_path):
    with pytest.raises(MalformedRecordError, match="a string is required") as caught:
        read(tmp_path, f"probes: [{{name: a, definition: , cases: [{CASE}]}}]")
    assert caught.value.fixes == ()
    with pytest.raises(MalformedRecordError, match="a string is empty"):
        read(tmp_path, f'probes: [{{name: a, title: "\\u200b", cases: [{CASE}]}}]')
    with pytest.raises(MalformedRecordError, match="with at most 18 digits"):
        read(tmp_path, f"probes: [{{name: a, limit: {10**18}, cases: [{CASE}]}}]")


@pytest.mark.parametrize("value", ["!!python/object/apply:os.getcwd []", "!own text", "!!binary aGk="])
def test_tags_build_no_objects(tmp_path, value):
    with pytest.raises(MalformedRecordError, match="a string is required"):
        one(tmp_path, f"{{query: q, first: a, second: {value} }}")


def test_merge_keys_are_refused(tmp_path):
    with pytest.raises(MalformedRecordError, match=r"a string is required|an unknown key"):
        one(tmp_path, "{<<: {query: q}, first: a, second: b}")


def test_missing_files_and_other_encodings_are_refused(tmp_path):
    with pytest.raises(MissingFileError):
        read_probes(tmp_path / "none.yaml")
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"probes:\n- \xe9\n")
    with pytest.raises(MalformedRecordError, match="0xe9") as caught:
        read_probes(path)
    assert dict(caught.value.facts)["line"] == 2


def test_without_pyyaml_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingExtraError, match=r"termwise\[probe\]"):
        read(tmp_path, GOOD)


@pytest.mark.parametrize(
    ("case", "place"),
    [
        (r'{query: q, first: "one \ud800 a", second: b}', "probes[0].cases[0].first"),
        (r'{query: "\ud83d\ude00", first: a, second: b}', "probes[0].cases[0].query"),
        (r'{query: "{a}", first: a, second: b, slots: {a: ["\udcff"]}}', "probes[0].cases[0].slots.a[0]"),
    ],
)
def test_unpaired_surrogates_are_refused_with_their_place(tmp_path, case, place):
    with pytest.raises(MalformedRecordError, match="surrogate") as caught:
        one(tmp_path, case)
    assert dict(caught.value.facts)["place"] == place
    assert one(tmp_path, r'{query: "\U0001F600", first: a, second: b}')


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: 1\n# two\nb: \x07\n", 3), ("a: 1\r\nb: \u00e9\r\nc: \x1b[2J\r\n", 3), ("\ufeffa\n\x00", 2)],
)
def test_invalid_characters_are_refused_with_their_line(tmp_path, text, line):
    path = tmp_path / "odd.yaml"
    path.write_bytes(text.encode())
    with pytest.raises(MalformedRecordError, match=r"U\+00") as caught:
        read_probes(path)
    assert dict(caught.value.facts)["line"] == line
