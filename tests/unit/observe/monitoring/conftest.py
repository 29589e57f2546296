"""Fixtures: the files that are kept, and promtool."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from volcano_py.local.binaries.binaries import ensure_binaries, given_binary
from volcano_py.local.binaries.builder import cached_binary
from volcano_py.local.binaries.cache import cache_root
from volcano_py.local.binaries.progress import Progress
from volcano_py.local.binaries.recipes import RECIPES

Promtool = Callable[..., str]
"""Runs `promtool ARGUMENTS`; what it prints. A test fails with that when promtool does."""


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the checkout."""
    return Path(__file__).resolve().parents[4]


@pytest.fixture(scope="session")
def promtool() -> Promtool:
    """The machine's own, or that of the cache. Continuous integration builds one where .ci/run could not install it."""
    binary = given_binary("promtool", os.environ, Progress()) or cached_binary(
        RECIPES["promtool"], cache_root(os.environ)
    )
    if binary is None:
        if "CI" not in os.environ:
            pytest.skip("there is no promtool: `apt-get install prometheus`, or run the e2e tests once, which build it")
        binary = ensure_binaries(["promtool"])["promtool"]

    def run(*arguments: str) -> str:
        done = subprocess.run([binary, *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.fail(f"promtool {' '.join(arguments)}: {done.stdout}{done.stderr}", pytrace=False)
        return done.stdout

    return run
