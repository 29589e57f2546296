"""Before anything is published: tag, version, chart, changelog and the home of the project agree."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

FILES = ("pyproject.toml", "CHANGELOG.md", "charts/volcano-py/Chart.yaml", ".ci/release-check", ".ci/release-notes")
NOTES = "### Added\n\n- Everything."


@pytest.fixture
def checkout(project: Path, tmp_path: Path) -> Path:
    """A copy of what is looked at, with an entry for 0.1.0 in the changelog."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(project / name, tmp_path / name)
    change(
        tmp_path / "CHANGELOG.md", "## Unreleased\n", f"## Unreleased\n\n## 0.1.0 - 2026-12-01\n\n{NOTES}\n\n## 0.0.9\n"
    )
    return tmp_path


@pytest.fixture
def home(project: Path) -> str:
    urls: dict[str, str] = tomllib.loads((project / "pyproject.toml").read_text())["project"]["urls"]
    return urls["Homepage"]


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def run(checkout: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([checkout / ".ci" / script, *arguments], capture_output=True, text=True, check=False)


def test_a_tag_that_agrees_gives_the_version(checkout: Path, home: str) -> None:
    done = run(checkout, "release-check", "v0.1.0", home)
    assert (done.returncode, done.stdout) == (0, "version=0.1.0\n"), done.stderr


def test_its_notes_are_the_entry_of_the_changelog(checkout: Path) -> None:
    done = run(checkout, "release-notes", "0.1.0")
    assert done.stdout.strip() == NOTES


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("pyproject.toml", 'version = "0.1.0"', 'version = "0.2.0"', "tag v0.1.0 is not 0.2.0"),
        (
            "charts/volcano-py/Chart.yaml",
            "\nversion: 0.1.0",
            "\nversion: 0.0.1",
            "version in charts/volcano-py/Chart.yaml",
        ),
        ("charts/volcano-py/Chart.yaml", "appVersion: 0.1.0", "appVersion: 0.0.1", "appVersion in charts/"),
        ("CHANGELOG.md", "## 0.1.0 - 2026-12-01", "## Soon", "CHANGELOG.md has nothing under '## 0.1.0'"),
        ("CHANGELOG.md", NOTES, "", "CHANGELOG.md has nothing under '## 0.1.0'"),
    ],
)
def test_what_differs_is_named(checkout: Path, home: str, file: str, old: str, new: str, message: str) -> None:
    change(checkout / file, old, new)
    done = run(checkout, "release-check", "v0.1.0", home)
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr


def test_no_other_repository_publishes_links_to_this_one(checkout: Path, home: str) -> None:
    done = run(checkout, "release-check", "v0.1.0", "https://github.com/example/fork")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"Homepage in pyproject.toml is {home}, but https://github.com/example/fork releases" in done.stderr
