"""Write the tables of the reference of probes from their definitions, one table per section.

Run from the root of the repository after a probe was added or changed::

    python -m tests.docs.probes
"""

from __future__ import annotations

from tests.docs.snippets import ROOT

from termwise.cli.probe_output import by_definition
from termwise.probes.core.suites import SECTIONS
from termwise.probes.inputs import open_inputs
from termwise.probes.manipulations.manipulation_probes import FAMILY_BY_GRADES
from termwise.probes.registry import probes_of
from termwise.probes.report.tables import cell_text

BY_GRADES = (
    "Each textual manipulation, applied to a part of the judged texts. `NAME-higher` uses the texts whose grade\n"
    "is above the middle of all grades, such as 2 and 3 if the grades are 0 to 3. `NAME-lower` uses the other\n"
    "texts. The pairs are those of the probe over all grades."
)
"""Text in place of a table with two rows for each probe of the table before."""

PAGE = ROOT / "docs" / "reference" / "probes.md"


def reference() -> str:
    """Return the page: the text before the first table, and the tables."""
    head, _, _ = PAGE.read_text(encoding="utf-8").partition("\n## ")
    parts = [head]
    inputs = open_inputs(language="rules")
    judged = inputs.judged[0].name
    for section, probes in by_definition(probes_of(["all"], inputs)).items():
        if section == SECTIONS[FAMILY_BY_GRADES.name]:
            parts.append(f"\n## {section}\n\n{BY_GRADES}\n")
            continue
        parts.append(
            f"\n## {section}\n\n| probe | title | texts | expected | definition |\n|---|---|---|--:|---|\n"
        )
        for one, texts in probes.items():
            of = ", ".join(f"`{'judged' if text == judged else text}`" for text in texts)
            title = cell_text(one.title) + (" (symmetric)" if one.symmetric else "")
            parts.append(
                f"| `{one.name}` | {title} | {of} | {one.expected} | {cell_text(one.definition)} |\n"
            )
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
