"""Optional packages that another package would load, and that this process has no use for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast


@contextmanager
def not_installed(package: str) -> Iterator[None]:
    """What is imported meanwhile does without `package`, as if it were not installed; unless it is loaded already."""
    modules = cast("dict[str, object]", sys.modules)
    if package in modules:
        yield
        return
    modules[package] = None  # the import system's own sign for "there is none"
    try:
        yield
    finally:
        del modules[package]
