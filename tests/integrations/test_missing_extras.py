"""Without its library, an adapter for researchers names the extra that installs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

USES = [
    ("pyterrier", "pyterrier", "import termwise.integrations.pyterrier"),
    ("sklearn", "sklearn", "import termwise.integrations.vectorizer"),
    (
        "mteb",
        "mteb",
        "from termwise.integrations.mteb import TermwiseSearch; TermwiseSearch().mteb_model_meta",
    ),
    (
        "pyarrow",
        "dataframes",
        "import termwise; from termwise.integrations.dataframes import run_to_arrow; run_to_arrow(termwise.Run([]))",
    ),
]


@pytest.mark.parametrize(("package", "extra", "use"), USES)
def test_a_missing_library_names_its_extra(package, extra, use):
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from termwise.errors import MissingExtraError\n"
        f"try:\n    exec({use!r})\n"
        "except MissingExtraError as error:\n    print(dict(error.facts)['extra'], *error.fixes)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{extra} pip install 'termwise[{extra}]'\n"
