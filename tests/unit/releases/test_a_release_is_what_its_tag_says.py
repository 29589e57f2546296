"""Before anything is published: tag, version, chart, changelog and the home of the project agree."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

PROJECT: dict[str, Any] = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
VERSION: str = PROJECT["version"]
HOME: str = PROJECT["urls"]["Homepage"]
FILES = ("pyproject.toml", "charts/volcano-py/Chart.yaml", ".ci/release-check", ".ci/release-notes")
NOTES = "### Added\n\n- Everything."


@pytest.fixture
def checkout(project: Path, tmp_path: Path) -> Path:
    """A copy of what is looked at, and a changelog."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(project / name, tmp_path / name)
    entries = f"## Unreleased\n\n## {VERSION} - 2026-12-01\n\n{NOTES}\n\n## 0.0.9\n\n- Less.\n"
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{entries}")
    return tmp_path


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def run(checkout: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([checkout / ".ci" / script, *arguments], capture_output=True, text=True, check=False)


def test_a_tag_that_agrees_gives_the_version(checkout: Path) -> None:
    done = run(checkout, "release-check", f"v{VERSION}", HOME)
    assert (done.returncode, done.stdout) == (0, f"version={VERSION}\n"), done.stderr


def test_its_notes_are_the_entry_of_the_changelog(checkout: Path) -> None:
    done = run(checkout, "release-notes", VERSION)
    assert done.stdout.strip() == NOTES


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("pyproject.toml", f'version = "{VERSION}"', 'version = "9.9.9"', f"tag v{VERSION} is not 9.9.9"),
        (
            "charts/volcano-py/Chart.yaml",
            f"\nversion: {VERSION}",
            "\nversion: 0.0.1",
            "version in charts/volcano-py/Chart.yaml",
        ),
        ("charts/volcano-py/Chart.yaml", f"appVersion: {VERSION}", "appVersion: 0.0.1", "appVersion in charts/"),
        ("CHANGELOG.md", f"## {VERSION} - 2026-12-01", "## Soon", f"CHANGELOG.md has nothing under '## {VERSION}'"),
        ("CHANGELOG.md", NOTES, "", f"CHANGELOG.md has nothing under '## {VERSION}'"),
    ],
)
def test_what_differs_is_named(checkout: Path, file: str, old: str, new: str, message: str) -> None:
    change(checkout / file, old, new)
    done = run(checkout, "release-check", f"v{VERSION}", HOME)
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr


def test_no_other_repository_publishes_links_to_this_one(checkout: Path) -> None:
    done = run(checkout, "release-check", f"v{VERSION}", "https://github.com/example/fork")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"Homepage in pyproject.toml is {HOME}, but https://github.com/example/fork releases" in done.stderr
