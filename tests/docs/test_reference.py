"""The reference pages are complete, and document nothing that does not exist."""

from __future__ import annotations

import dataclasses
import re
from inspect import signature as signature_of
from typing import Any

import pytest
from tests.commands import every_command
from tests.docs import probes
from tests.docs.snippets import ROOT

import termwise
from termwise import errors
from termwise.cli.main import app
from termwise.evaluate import measure_names
from termwise.models import make_model, model_names
from termwise.text import analyzer_names
from termwise.train.settings import FOR_KINDS, TrainSettings

DOCS = ROOT / "docs"
COMMANDS: Any = every_command(app)
KINDS = ("tilde", "tildev2", "splade-doc")


def sections(name: str) -> dict[str, str]:
    """Return the text under each second-level heading of a reference page."""
    text = (DOCS / name).read_text(encoding="utf-8")
    parts = re.split(r"^## +(.*)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def parameters(verb: str) -> list[Any]:
    """Return options and arguments of a verb, or of all verbs below it."""
    command = COMMANDS[verb]
    return [one for each in (command, *every_command(command).values()) for one in each.params]


def options(verb: str) -> set[str]:
    return {
        flag
        for parameter in parameters(verb)
        if parameter.param_type_name == "option"
        for flag in (*parameter.opts, *parameter.secondary_opts)
    } - {"--help"}


def test_summaries_are_those_of_the_commands():
    for group in (app, COMMANDS["train"]):
        for summaries in group.sections.values():
            for name, summary in summaries.items():
                assert group.get_command(None, name).get_short_help_str(200) == summary


def test_every_verb_has_its_section():
    named = {heading.strip("`").split()[-1] for heading in sections("reference/cli.md") if "`" in heading}
    assert named == set(COMMANDS)
    page = (DOCS / "reference/cli.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| \[`([a-z-]+)`\]", page, re.MULTILINE)) == sorted(COMMANDS)


@pytest.mark.parametrize("verb", sorted(COMMANDS))
def test_every_option_of_a_verb_is_described(verb):
    text = sections("reference/cli.md")[f"`termwise {verb}`"]
    described = set(re.findall(r"`(--?[a-zA-Z][\w-]*)", text))
    assert options(verb) <= described
    assert described - options(verb) <= {"--help"}


@pytest.mark.parametrize("verb", sorted(COMMANDS))
def test_every_argument_of_a_verb_is_described(verb):
    text = sections("reference/cli.md")[f"`termwise {verb}`"]
    for parameter in parameters(verb):
        if parameter.param_type_name == "argument":
            assert parameter.metavar.split()[0].rstrip(".") in text


@pytest.mark.parametrize(
    ("verb", "below"),
    [(verb, below) for verb, group in COMMANDS.items() for below in getattr(group, "commands", {})],
)
def test_every_verb_below_a_verb_is_described(verb, below):
    assert f"termwise {verb} {below} " in sections("reference/cli.md")[f"`termwise {verb}`"]


def test_every_training_setting_is_listed_with_its_defaults():
    text = (DOCS / "how-to/train-an-encoder.md").read_text(encoding="utf-8")
    rows = {
        cells[0].strip("`"): cells[1:4]
        for line in text.split("\n")
        if line.startswith("| `")
        for cells in [[cell.strip() for cell in line.strip("|").split("|")]]
    }
    for field in dataclasses.fields(TrainSettings):
        looking = FOR_KINDS.get(field.name, KINDS)
        usual = [
            shown(getattr(TrainSettings.for_kind(kind), field.name)) if kind in looking else "–"
            for kind in KINDS
        ]
        assert rows[field.name] == usual, field.name


@pytest.mark.parametrize("network", ["the table", "BERT-Model1", "re-rankers"])
def test_every_setting_of_a_network_is_listed_with_its_default(network):
    pytest.importorskip("torch")
    from termwise.train.neural_model1.settings import NeuralModel1Settings
    from termwise.yardsticks.rerankers.bert_model1 import BertModel1Settings
    from termwise.yardsticks.rerankers.settings import RerankerSettings

    if network == "re-rankers":
        text = sections("how-to/train-a-reranker.md")["Settings"]
    else:
        text = sections("how-to/neural-translation.md")[f"Settings of {network}"]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.split("\n")
        if line.startswith("| `")
    ]
    common = dataclasses.asdict(RerankerSettings())
    settings = {
        "the table": dataclasses.asdict(NeuralModel1Settings()),
        "BERT-Model1": {
            name: value
            for name, value in dataclasses.asdict(BertModel1Settings()).items()
            if name not in common
        },
        "re-rankers": common,
    }[network]
    expected = {f"`{name}`": shown(value) for name, value in settings.items()}
    assert {cells[0]: cells[1] for cells in rows} == expected


def test_every_setting_of_a_query_table_is_listed_with_its_default():
    from termwise.train.lookup.settings import LookupSettings

    text = sections("how-to/train-a-query-table.md")["Settings"]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.split("\n") if "| `" in line
    ]
    expected = {f"`{name}`": shown(value) for name, value in dataclasses.asdict(LookupSettings()).items()}
    assert {cells[0]: cells[1] for cells in rows} == expected


def shown(value: object) -> str:
    """Return a setting as the table writes it."""
    if isinstance(value, float):
        return f"{value:g}"
    return str(value).lower() if isinstance(value, bool) else str(value) or "–"


def kinds() -> list[type[errors.TermwiseError]]:
    found = [errors.TermwiseError]
    for kind in found:
        found.extend(kind.__subclasses__())
    return [kind for kind in found if kind.__module__ == errors.__name__]


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_every_error_is_listed_with_its_slug_and_exit_code(kind):
    rows = (DOCS / "reference/errors.md").read_text(encoding="utf-8").split("\n")
    row = next(line for line in rows if line.startswith("|") and f"`{kind.__name__}`" in line)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[0] == f"`{kind.slug}`"
    assert cells[1] == f"`{kind.__name__}`"
    assert cells[2] == str(kind.exit_code)


def test_every_public_name_is_described():
    text = (DOCS / "reference/python.md").read_text(encoding="utf-8")
    for name in termwise.__all__:
        assert f"`{name}`" in text or f"`{name}(" in text, name
    signature = ", ".join(signature_of(termwise.build_index).parameters).replace("path, ", "path, *, ")
    assert f"`build_index({signature})`" in " ".join(text.split())


def test_every_probe_is_in_the_reference_of_probes():
    assert probes.PAGE.read_text(encoding="utf-8") == probes.reference(), "python -m tests.docs.probes"


def test_the_citation_names_this_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {termwise.__version__}\n" in text


def test_every_measure_is_described():
    text = (DOCS / "reference/measures.md").read_text(encoding="utf-8")
    for name in measure_names():
        assert re.search(rf"`{name}[`@(]", text), name


def test_every_analyzer_is_in_the_table():
    text = (DOCS / "how-to/choose-an-analyzer.md").read_text(encoding="utf-8")
    for name in analyzer_names():
        assert re.search(rf"`{name}[`:]", text), name


@pytest.mark.parametrize("name", model_names())
def test_every_model_parameter_is_described(name):
    text = sections("reference/cli.md")["Models and their parameters"]
    assert f"`{name}`" in text
    for parameter in make_model(name, {}).parameters():
        assert f"`{parameter}`" in text, parameter
