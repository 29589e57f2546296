"""Writes the schema of a Job's spec, as crds/batch.volcano.sh_jobs.yaml has it, into the definitions that embed it.

Run `.venv/bin/python -m tests.unit.manifests.crds.refresh` when a test says that they differ.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

CRDS: Final = Path(__file__).resolve().parents[4] / "crds"
SOURCE: Final = "batch.volcano.sh_jobs.yaml"
EMBEDDING: Final = ("batch.volcano.sh_cronjobs.yaml", "flow.volcano.sh_jobtemplates.yaml")

_MARKED: Final = re.compile(r"(?m)^( *)# begin: the spec of a Job\n(?:.*\n)*?\1# end: the spec of a Job\n")
_PROPERTIES: Final = "            properties:\n"


def job_properties() -> str:
    """The lines `properties:` of the spec and all that is below it, without their indentation."""
    lines = (CRDS / SOURCE).read_text().splitlines(keepends=True)
    spec = lines.index("          spec:\n")
    start = lines.index(_PROPERTIES, spec)
    end = lines.index("          status:\n", start)
    return "".join(line.removeprefix(" " * 12) for line in lines[start:end])


def refreshed(text: str) -> str:
    """The text of a definition with the properties as they are today."""

    def replacement(match: re.Match[str]) -> str:
        indent = match[1]
        body = "".join(f"{indent}{line}\n" if line else "\n" for line in job_properties().splitlines())
        return f"{indent}# begin: the spec of a Job\n{body}{indent}# end: the spec of a Job\n"

    return _MARKED.sub(replacement, text)


if __name__ == "__main__":
    for name in EMBEDDING:
        path = CRDS / name
        path.write_text(refreshed(path.read_text()))
