"""Installs an example package without pip: as a wheel would leave it, in a folder of its own.

pip would have to fetch the package's build backend first, and tests run where there is no network. What an
installation amounts to is the modules and a `.dist-info` with the entry points; both are taken from the package's own
pyproject.toml.
"""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path
from typing import Any, Final

PROJECT: Final = Path(__file__).resolve().parents[3]
PLUGINS: Final = PROJECT / "examples" / "plugins"


def packages() -> list[Path]:
    """The folders of all example packages."""
    return sorted(path.parent for path in PLUGINS.glob("*/pyproject.toml"))


def install_all(site: Path) -> None:
    """`install` all of them."""
    for package in packages():
        install(package, site)


def metadata(package: Path) -> dict[str, Any]:
    """The `project` table."""
    table: dict[str, Any] = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


def install(package: Path, site: Path) -> None:
    """Put the package into the folder `site`, which then has to be on Python's path."""
    pyproject = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))
    project = pyproject["project"]
    for module in pyproject["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]:
        shutil.copy(package / module, site)
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
