"""Builds one binary from its pinned Go modules into the cache."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from volcano_py.local.binaries import cache
from volcano_py.local.binaries.progress import Progress
from volcano_py.local.binaries.recipes import BUILD_ENVIRONMENT, Recipe
from volcano_py.local.binaries.toolchain import building, ensure_toolchain
from volcano_py.local.errors import BinaryUnavailableError

_SHOWN_OUTPUT_CHARACTERS = 3000

_NO_NETWORK = re.compile(
    r"dial tcp|no such host|network is unreachable|connection refused|i/o timeout|TLS handshake timeout"
    r"|proxyconnect|module lookup disabled|server misbehaving|context deadline exceeded",
)
"""What Go's module download says when it cannot reach its proxy (or when GOPROXY=off forbids it)."""


_PROVIDE_IT = "put the binary on PATH or into $KUBEBUILDER_ASSETS"


def cached_binary(recipe: Recipe, root: Path) -> Path | None:
    """The binary in the cache below `root`, if it was built before."""
    path = _cache_path(recipe, root)
    return path if path.is_file() else None


def build_binary(recipe: Recipe, root: Path, environment: Mapping[str, str], progress: Progress) -> Path:
    """The binary's path in the cache below `root`; built when it is not there yet.

    Concurrent callers wait for one another, and the later ones find the entry of the first. Raises
    BinaryUnavailableError, with the end of the compiler's output, when the build fails.
    """

    def waiting() -> None:
        progress.note(f"waiting for another process that builds {recipe.binary}")

    path = _cache_path(recipe, root)
    with cache.exclusive(root / f"{path.parent.name}.lock", waiting), building(root):
        if not path.is_file():
            _build(recipe, root, environment, progress)
    return path


def _cache_path(recipe: Recipe, root: Path) -> Path:
    return root / recipe.cache_key() / recipe.binary


def _build(recipe: Recipe, root: Path, environment: Mapping[str, str], progress: Progress) -> None:
    toolchain = ensure_toolchain(environment, root, progress)
    with (
        cache.publishing(_cache_path(recipe, root).parent) as scratch,
        progress.step(f"building {recipe.binary} {recipe.version} (once, into {root})", recipe.expected_seconds),
    ):
        done = subprocess.run(
            [str(toolchain.go), *recipe.build_arguments(scratch / recipe.binary)],
            cwd=recipe.source,
            env={**environment, **toolchain.environment, **BUILD_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise BinaryUnavailableError(recipe.binary, build_failure(recipe, done.stdout))


def build_failure(recipe: Recipe, output: str) -> str:
    """The message for a user whose build failed with `output`: the likely cause first, then the compiler's words."""
    if _NO_NETWORK.search(output):
        cause = (
            f"version {recipe.version} is not in the cache, and its Go modules cannot be downloaded: no network, or a "
            f"GOPROXY that does not answer. Try again with a network, or {_PROVIDE_IT}."
        )
    else:
        cause = f"building version {recipe.version} failed. Fix what the compiler says, or {_PROVIDE_IT}."
    return f"{cause}\n--- end of the output of `go build` ---\n{output.strip()[-_SHOWN_OUTPUT_CHARACTERS:]}"
