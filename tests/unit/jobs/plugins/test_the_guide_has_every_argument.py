"""The guide's page on job plugins: all plugins, all arguments, and their defaults as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from volcano_py.jobs.plugins import BUILTIN, JobPlugin

PAGE = Path(__file__).resolve().parents[4] / "docs" / "guide" / "job-plugins.md"
ROW = re.compile(r"^\| `([A-Za-z-]+)` \| (?:`([^`]*)`|[a-z]*) \|", re.MULTILINE)


def sections() -> dict[str, str]:
    """Heading → text."""
    parts = re.split(r"^## (.+)$", PAGE.read_text(), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def known(plugin: type[JobPlugin]) -> set[str]:
    """The arguments that a plugin itself says it has."""
    (warning,) = plugin(["--nonsense"]).warnings
    return set(re.findall(r"--([A-Za-z-]+)", warning.partition("known: ")[2]))


def test_every_plugin_has_its_section() -> None:
    assert set(sections()) == {plugin.name for plugin in BUILTIN} | {"Your own"}


@pytest.mark.parametrize("plugin", BUILTIN, ids=lambda plugin: plugin.name)
def test_every_argument_is_there_and_its_default_is_taken(plugin: type[JobPlugin]) -> None:
    rows = dict(ROW.findall(sections()[plugin.name]))
    assert rows.keys() == known(plugin)
    for name, default in rows.items():
        if default:
            given, without = plugin([f"--{name}={default}"]), plugin()
            given.arguments = without.arguments
            assert vars(given) == vars(without), name
