"""A wheel is built from the sdist, so that both hold the same. `make dist` builds them."""

from __future__ import annotations

import tomllib
from pathlib import Path


def test_every_part_of_the_wheel_is_in_the_sdist_by_its_name(project: Path) -> None:
    """The chart has links to folders. A walk finds such a folder once, and then not under its own name."""
    targets = tomllib.loads((project / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    needed = {*targets["wheel"]["packages"], *targets["wheel"]["force-include"], "README.md", "LICENSE"}
    assert needed <= set(targets["sdist"]["only-include"])
    assert all((project / name).exists() for name in targets["sdist"]["only-include"])
