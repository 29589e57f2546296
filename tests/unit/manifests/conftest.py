"""The shipped YAML, read the way kustomize reads it: from a kustomization down to the objects it lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

Manifest = dict[str, Any]

PROJECT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the checkout."""
    return PROJECT


def _objects(directory: Path) -> Iterator[Manifest]:
    kustomization = yaml.safe_load((directory / "kustomization.yaml").read_text())
    for resource in kustomization["resources"]:
        path = directory / resource
        if path.is_dir():
            yield from _objects(path)
        else:
            yield from yaml.safe_load_all(path.read_text())


@pytest.fixture(scope="session")
def installation() -> list[Manifest]:
    """Every object of `kubectl apply -k manifests/`, in the order of the files."""
    return list(_objects(PROJECT / "manifests"))


@pytest.fixture(scope="session")
def named(installation: list[Manifest]) -> Callable[[str, str], Manifest]:
    """Finds the one object of a kind and name; more or fewer than one is a failure."""

    def find(kind: str, name: str) -> Manifest:
        found = [each for each in installation if (each["kind"], each["metadata"]["name"]) == (kind, name)]
        assert len(found) == 1, f"{len(found)} objects {kind}/{name} in the installation, expected one"
        return found[0]

    return find


@pytest.fixture(scope="session")
def pod_template(named: Callable[[str, str], Manifest]) -> Manifest:
    """The pod template of the daemon's Deployment."""
    template: Manifest = named("Deployment", "volcano-py")["spec"]["template"]
    return template
