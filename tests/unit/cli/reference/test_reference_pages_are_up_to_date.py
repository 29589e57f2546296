"""docs/reference says what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.registries import checked_registry
from volcano_py.cli.main import VERBS
from volcano_py.cli.processes.run import WITHOUT_EFFECT
from volcano_py.cli.reference.__main__ import PAGES, main
from volcano_py.cli.reference.commands import commands_page
from volcano_py.cli.reference.configuration import configuration_page
from volcano_py.config import Flags, describe

DIRECTORY = Path(__file__).parents[4] / "docs" / "reference"


@pytest.mark.parametrize("name", sorted(PAGES))
def test_the_page_is_what_the_code_makes(name: str) -> None:
    """When this fails: python -m volcano_py.cli.reference."""
    assert (DIRECTORY / name).read_text(encoding="utf-8") == PAGES[name]()


def test_every_plugin_action_argument_and_switch_is_described() -> None:
    page, registry = configuration_page(), checked_registry()
    for name, arguments in {**registry.catalogue().plugins, **registry.catalogue().actions}.items():
        assert f"\n### {name}\n" in page
        for row in describe(arguments):
            assert f"\n| `{row.key}`" in page
            assert row.description, f"{name}: {row.key} has no description"
    for row in describe(Flags):
        assert f"\n| `{row.key}` | `{row.default}` |" in page


def test_every_verb_and_flag_is_described() -> None:
    page = commands_page()
    for verb in VERBS:
        assert f"\n## volcano-py {verb}\n" in page
    assert all(f"`--{flag}`" in page for flag in WITHOUT_EFFECT)
    assert "\n## volcano-py config check\n" in page
    assert "\n| `--schedule-period` duration | `1s` |" in page
    assert "Sentinel" not in page


def test_writing_fixes_what_checking_finds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "docs"
    assert main(["--check", "--directory", str(directory)]) == 1
    assert f"{directory / 'cli.md'} is out of date: run python -m" in capsys.readouterr().err
    assert main(["--directory", str(directory)]) == 0
    assert main(["--check", "--directory", str(directory)]) == 0
    (directory / "cli.md").write_text("old")
    assert main(["--check", "--directory", str(directory)]) == 1
