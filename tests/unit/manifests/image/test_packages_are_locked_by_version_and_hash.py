"""The lock files of the image: what pyproject.toml asks for, in one version each, every file by its hash."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

BUILD, RUN = "requirements-build.lock", "requirements.lock"

# Time zones are data without an API, so every later version will do.
WITHOUT_UPPER_BOUND = {"tzdata"}


def entries(lock: Path) -> list[str]:
    """One line for each locked package, with its hashes."""
    text = re.sub(r"\s*\\\n\s*", " ", lock.read_text())
    return [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def locked(lock: Path) -> dict[str, Version]:
    requirements = [Requirement(entry.partition(" --hash")[0]) for entry in entries(lock)]
    return {
        canonicalize_name(each.name): Version(str(each.specifier).removeprefix("=="))
        for each in requirements
        if each.marker is None or each.marker.evaluate()
    }


@pytest.fixture
def pyproject(project: Path) -> dict[str, Any]:
    return tomllib.loads((project / "pyproject.toml").read_text())


@pytest.mark.parametrize("name", [BUILD, RUN])
def test_every_entry_is_one_version_with_hashes(project: Path, name: str) -> None:
    found = entries(project / name)
    assert found
    for entry in found:
        assert re.match(r"[a-z0-9.-]+==[^ ,;]+( ;.*?)? --hash=sha256:[0-9a-f]{64}", entry), entry


@pytest.mark.parametrize("name", [BUILD, RUN])
def test_packages_are_named_without_the_place_they_came_from(project: Path, name: str) -> None:
    text = (project / name).read_text()
    assert "://" not in text
    assert not re.search(r"^\s*(--(extra-)?index-url|--find-links|-i )", text, re.MULTILINE)


def test_the_locked_versions_are_among_those_that_the_project_accepts(project: Path, pyproject: dict[str, Any]) -> None:
    """When it fails: `make lock`."""
    for lock, wanted in (
        (RUN, pyproject["project"]["dependencies"] + pyproject["project"]["optional-dependencies"]["cel"]),
        (BUILD, pyproject["build-system"]["requires"]),
    ):
        versions = locked(project / lock)
        for each in map(Requirement, wanted):
            if each.marker is None or each.marker.evaluate():
                assert versions[canonicalize_name(each.name)] in each.specifier, f"{each} in {lock}"


def test_every_dependency_has_an_upper_bound(pyproject: dict[str, Any]) -> None:
    """An untested major version must not get into an installation by itself."""
    everything = [
        *pyproject["build-system"]["requires"],
        *pyproject["project"]["dependencies"],
        *(each for extra in pyproject["project"]["optional-dependencies"].values() for each in extra),
    ]
    unbounded = {
        each.name
        for each in map(Requirement, everything)
        if not any(clause.operator in {"<", "<=", "==", "~="} for clause in each.specifier)
    }
    assert unbounded == WITHOUT_UPPER_BOUND
