"""Which build this is: for `/version`, the metric `volcano_build_info` and the first line of the log."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Final

_DISTRIBUTION: Final = "volcano-py"


def build_info() -> dict[str, str]:
    """`version`, `python` and `platform` (as `linux/x86_64`)."""
    try:
        release = version(_DISTRIBUTION)
    except PackageNotFoundError:  # run from a checkout that is not installed
        release = "unknown"
    return {
        "version": release,
        "python": platform.python_version(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }
