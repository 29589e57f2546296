"""examples/plugins: packages that users copy, so they are installed and run like a user's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.registries import checked_registry
from tests.unit.examples.installation import PROJECT, install_all, metadata, packages
from volcano_py.config import parse_configuration
from volcano_py.framework.registry import PLUGIN_GROUP

EACH = pytest.mark.parametrize("package", packages(), ids=lambda package: package.name)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which all example packages are installed."""
    folder = tmp_path_factory.mktemp("site")
    install_all(folder)
    return folder


def python(*arguments: str, site: Path, at: Path) -> subprocess.CompletedProcess[str]:
    """Python in a process of its own, where the packages are installed as far as it can see."""
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=at, env=environment, capture_output=True, text=True, timeout=100, check=False
    )


def test_there_is_an_example() -> None:
    assert "spare-devices" in {package.name for package in packages()}


@EACH
def test_its_own_tests_pass(package: Path, site: Path) -> None:
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests", site=site, at=package)
    assert done.returncode == 0, done.stdout + done.stderr


@EACH
def test_a_configuration_may_name_it_once_it_is_installed(package: Path, site: Path, tmp_path: Path) -> None:
    """And not before: the daemon then says that there is no such plugin."""
    for name in metadata(package)["entry-points"][PLUGIN_GROUP]:
        text = f"actions: allocate\ntiers:\n- plugins:\n  - name: gang\n  - name: predicates\n  - name: {name}\n"
        conf = tmp_path / "volcano-scheduler.conf"
        conf.write_text(text)
        done = python("-m", "volcano_py", "config", "check", "--strict", str(conf), site=site, at=PROJECT)
        assert (done.returncode, done.stdout) == (0, f"{conf}: valid\n"), done.stdout + done.stderr
        (problem,) = parse_configuration(text, checked_registry().with_installed().catalogue()).problems
        assert f'unknown plugin "{name}"' in problem.message


@EACH
def test_it_depends_on_us_and_on_nothing_else(package: Path) -> None:
    """So that installing it changes nothing else in the image of the daemon."""
    assert metadata(package)["dependencies"] == ["volcano-py"]
