"""The Helm chart, as far as it can be checked without Helm: e2e/installing renders and installs it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import yaml


def values_of(project: Path) -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load((project / "charts/volcano-py/values.yaml").read_text(encoding="utf-8"))
    return values


def test_its_version_is_that_of_the_program(project: Path) -> None:
    chart = yaml.safe_load((project / "charts/volcano-py/Chart.yaml").read_text(encoding="utf-8"))
    version = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert (chart["version"], chart["appVersion"]) == (version, version)


def test_every_value_has_a_schema_and_every_schema_a_value(project: Path) -> None:
    schema = json.loads((project / "charts/volcano-py/values.schema.json").read_text(encoding="utf-8"))
    sections = {name: part for name, part in schema["properties"].items() if name != "global"}
    values = values_of(project)
    assert values.keys() == sections.keys()
    for name, section in sections.items():
        assert section["additionalProperties"] is False, "a typing mistake is refused"
        assert values[name].keys() == section["properties"].keys()


def test_every_value_is_used_in_a_template(project: Path) -> None:
    templates = "".join(
        path.read_text(encoding="utf-8") for path in (project / "charts/volcano-py/templates").iterdir()
    )
    unused = [
        f"{part}.{name}" for part, names in values_of(project).items() for name in names if f".{name}" not in templates
    ]
    assert not unused


def test_its_manifests_are_the_files_that_kustomize_reads(project: Path) -> None:
    """Links, so that there is no second copy. Of the overlay admission, its own objects."""
    files = project / "charts/volcano-py/files"
    assert {path.name: path.resolve() for path in files.iterdir()} == {
        "crds": project / "crds",
        "base": project / "manifests/base",
        "ui": project / "manifests/ui",
        "admission": project / "manifests/overlays/admission",
        "alerts": project / "manifests/monitoring/alerts",
        "dashboards": project / "manifests/monitoring/dashboards",
        "ufm": project / "manifests/ufm",
        "node-load": project / "manifests/node-load",
        "node-load-custom-metrics": project / "manifests/node-load-custom-metrics",
        "queue-gates": project / "manifests/overlays/queue-gates",
    }
