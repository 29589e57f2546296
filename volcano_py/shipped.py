"""Where the CRDs, manifests and examples are: in an installed package, or in the repository next to it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Literal

_PACKAGE = Path(__file__).parent


def shipped(folder: Literal["crds", "manifests", "charts", "examples"], package: Path = _PACKAGE) -> Path:
    """The path of one of the folders that come with the program.

    A wheel has them below `_data` (see force-include in pyproject.toml), side by side as in the repository, because the
    kustomizations refer to one another.
    """
    installed = package / "_data" / folder
    return installed if installed.is_dir() else package.parent / folder


def shown(path: Path) -> str:
    """The path as one would type it in a shell: relative when it is below the working directory."""
    here = Path.cwd()
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))
