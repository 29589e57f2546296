"""Which binary is used: $KUBEBUILDER_ASSETS, then PATH if the version will do, then the cache, then a build."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.local.machine import Machine
from volcano_py.local.binaries.binaries import (
    PROBES,
    ensure_binaries,
    given_binary,
    parse_kubectl_version,
    parse_version_line,
)
from volcano_py.local.binaries.recipes import RECIPES
from volcano_py.local.errors import LocalError


def _kubectl_answer(minor: str) -> str:
    return json.dumps({"clientVersion": {"major": "1", "minor": minor, "gitVersion": f"v1.{minor}.0"}})


def _cached(machine: Machine, name: str) -> Path:
    return machine.program(name, "", machine.cache / RECIPES[name].cache_key())


def test_every_binary_has_a_probe_and_a_recipe() -> None:
    assert PROBES.keys() == RECIPES.keys()


def test_our_own_version_passes_its_own_probe() -> None:
    for name, probe in PROBES.items():
        version = parse_version_line(RECIPES[name].version)
        assert version is not None
        assert probe.oldest <= version <= probe.newest


def test_a_binary_in_kubebuilder_assets_wins_over_everything(
    machine: Machine, answering: Callable[[str, str], Path]
) -> None:
    answering("kubectl", _kubectl_answer("36"))
    _cached(machine, "kubectl")
    assets = machine.program("kubectl", "exit 1", machine.root / "assets")
    environment = {**machine.environment, "KUBEBUILDER_ASSETS": str(assets.parent)}
    assert ensure_binaries(["kubectl"], environment=environment, progress=machine.progress) == {"kubectl": assets}


def test_what_the_assets_lack_is_looked_for_elsewhere(machine: Machine) -> None:
    cached = _cached(machine, "kwok")
    (machine.root / "assets").mkdir()
    environment = {**machine.environment, "KUBEBUILDER_ASSETS": str(machine.root / "assets")}
    assert ensure_binaries(["kwok"], environment=environment, progress=machine.progress) == {"kwok": cached}


@pytest.mark.parametrize("minor", ["35", "36", "36+", "37"])
def test_a_kubectl_on_path_within_one_minor_version_wins_over_the_cache(
    minor: str, machine: Machine, answering: Callable[[str, str], Path]
) -> None:
    _cached(machine, "kubectl")
    found = answering("kubectl", _kubectl_answer(minor))
    assert given_binary("kubectl", machine.environment, machine.progress) == found


@pytest.mark.parametrize("minor", ["34", "38", "9"])
def test_a_kubectl_on_path_outside_the_skew_is_ignored_with_a_message(
    minor: str, machine: Machine, answering: Callable[[str, str], Path]
) -> None:
    cached = _cached(machine, "kubectl")
    found = answering("kubectl", _kubectl_answer(minor))
    assert ensure_binaries(["kubectl"], environment=machine.environment, progress=machine.progress) == {
        "kubectl": cached
    }
    assert machine.said.getvalue() == (
        f"{found} is 1.{minor}, needed is 1.35 to 1.37: using our own kubectl {RECIPES['kubectl'].version}\n"
    )


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("exit 1", id="fails"),
        pytest.param("echo not json", id="prints something else"),
        pytest.param("echo '{\"clientVersion\": null}'", id="has no version"),
        pytest.param("printf '\\377'", id="prints no text"),
    ],
)
def test_a_kubectl_that_does_not_report_its_version_is_ignored(script: str, machine: Machine) -> None:
    found = machine.program("kubectl", script)
    assert given_binary("kubectl", machine.environment, machine.progress) is None
    assert machine.said.getvalue().startswith(f"{found} does not report its version, needed is 1.35 to 1.37")


@pytest.mark.parametrize(
    ("name", "answer", "good"),
    [
        ("kube-apiserver", "Kubernetes v1.36.0", True),
        ("kube-apiserver", "Kubernetes v1.31.2", False),
        ("kube-controller-manager", "Kubernetes v1.37.1-alpha.0", True),
        ("etcd", "etcd Version: 3.5.21\nGit SHA: a17edfd\nGo Version: go1.23.7", True),
        ("etcd", "etcd Version: 3.4.3\nGo Version: go1.12.12", False),
        ("kwok", "kwok version v0.8.1 go1.26.1 (linux/amd64)", True),
        ("kwok", "kwok version v0.6.1 go1.23.1 (linux/amd64)", False),
    ],
)
def test_the_others_on_path_are_asked_for_their_version_too(
    name: str, answer: str, good: bool, machine: Machine, answering: Callable[[str, str], Path]
) -> None:
    found = answering(name, answer)
    assert given_binary(name, machine.environment, machine.progress) == (found if good else None)


def test_a_link_on_path_is_not_followed(machine: Machine, answering: Callable[[str, str], Path]) -> None:
    """Programs such as k3s are kubectl only when they are called kubectl."""
    target = answering("k3s", _kubectl_answer("36"))
    link = machine.bin / "kubectl"
    link.symlink_to(target)
    assert given_binary("kubectl", machine.environment, machine.progress) == link


def test_an_unknown_name_is_refused_with_those_that_are_known(machine: Machine) -> None:
    with pytest.raises(LocalError, match=r"^no such binary: kubeadm; known: etcd, kube-apiserver, kubectl, kwok, "):
        ensure_binaries(["kubeadm", "etcd"], environment=machine.environment, progress=machine.progress)


def test_nothing_is_asked_for_that_was_not_wanted(machine: Machine) -> None:
    assert ensure_binaries([], environment=machine.environment, progress=machine.progress) == {}


@pytest.mark.parametrize(
    "output", ["", "[]", "null", '{"clientVersion": {"major": "1"}}', '{"clientVersion": {"major": "x", "minor": "1"}}']
)
def test_what_kubectl_does_not_answer_is_no_version(output: str) -> None:
    assert parse_kubectl_version(output) is None


def test_a_line_without_a_version_is_no_version() -> None:
    assert parse_version_line("development build") is None
