"""The workflows, which cannot be run here. `make lint` also gives them to actionlint and zizmor."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

PROJECT = Path(__file__).resolve().parents[3]
WORKFLOWS = sorted((PROJECT / ".github" / "workflows").glob("*.yml"))


def jobs() -> list[Any]:
    return [
        pytest.param(job, id=f"{path.stem}-{name}")
        for path in WORKFLOWS
        for name, job in yaml.safe_load(path.read_text())["jobs"].items()
    ]


def test_there_is_one_for_tests_docs_and_releases() -> None:
    assert [path.name for path in WORKFLOWS] == ["docs.yml", "release.yml", "tests.yml"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_has_no_rights_of_its_own_and_does_not_run_twice_at_once(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {}
    assert workflow["concurrency"]["group"]


@pytest.mark.parametrize("job", jobs())
def test_a_job_has_its_rights_a_limit_and_actions_of_one_commit(job: dict[str, Any]) -> None:
    assert job["permissions"]
    assert "uses" in job or job["timeout-minutes"] <= 120
    for used in [step["uses"] for step in job.get("steps", ()) if "uses" in step]:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", used), used


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_make_targets_and_scripts_exist(path: Path) -> None:
    text, makefile = path.read_text(), (PROJECT / "Makefile").read_text()
    for target in re.findall(r"run: make ([\w-]+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    scripts = re.findall(r"\.ci/[\w-]+", text)
    assert all((PROJECT / script).exists() for script in scripts)


def test_the_release_publishes_with_the_uv_of_the_makefile() -> None:
    release, makefile = ((PROJECT / name).read_text() for name in (".github/workflows/release.yml", "Makefile"))
    in_release = re.search(r"UV_VERSION: (\S+)", release)
    in_makefile = re.search(r"^UV_VERSION := (\S+)", makefile, re.MULTILINE)
    assert in_release is not None
    assert in_makefile is not None
    assert in_release[1] == in_makefile[1]
