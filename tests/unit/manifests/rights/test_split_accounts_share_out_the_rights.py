"""The overlay with one account for each part: who gets which role, and that nothing else differs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from volcano_py.daemon.options import CONTROLLERS_LEASE

Manifest = dict[str, Any]

CONTROLLERS, ADMISSION = "volcano-controllers", "volcano-admission"

# What the scheduler's account may still change anywhere in the cluster. An addition here is a decision about security.
SCHEDULER_WRITES = {
    ("pods/binding", "create"),
    ("pods/status", "patch"),
    ("pods", "delete"),
    ("persistentvolumes", "patch"),
    ("persistentvolumeclaims", "patch"),
    ("resourceclaims", "create"),
    ("resourceclaims", "delete"),
    ("resourceclaims", "patch"),
    ("resourceclaims/status", "patch"),
    ("resourceclaims/binding", "patch"),
    ("podgroups", "patch"),
    ("podgroups/status", "patch"),
    ("queues", "create"),
    ("queues/status", "patch"),
    ("nodeshards/status", "patch"),
    ("events", "create"),
    ("events", "patch"),
}


@pytest.fixture(scope="session")
def directory(project: Path) -> Path:
    return project / "manifests" / "overlays" / "split-accounts"


@pytest.fixture(scope="session")
def kustomization(directory: Path) -> Manifest:
    found: Manifest = yaml.safe_load((directory / "kustomization.yaml").read_text())
    return found


@pytest.fixture(scope="session")
def added(directory: Path) -> list[Manifest]:
    files = [path for path in sorted(directory.glob("*.yaml")) if path.name != "kustomization.yaml"]
    return [document for path in files for document in yaml.safe_load_all(path.read_text())]


@pytest.fixture(scope="session")
def handed_over(kustomization: Manifest, installation: list[Manifest]) -> set[str]:
    """Names of the cluster roles that go to the controllers."""
    (patch,) = (each for each in kustomization["patches"] if "controller" in each["target"]["name"])
    assert yaml.safe_load(patch["patch"]) == [{"op": "replace", "path": "/subjects/0/name", "value": CONTROLLERS}]
    bindings = {each["metadata"]["name"] for each in installation if each["kind"] == "ClusterRoleBinding"}
    return {name for name in bindings if re.fullmatch(patch["target"]["name"], name)}


def one(objects: list[Manifest], kind: str, name: str) -> Manifest:
    (found,) = (each for each in objects if (each["kind"], each["metadata"]["name"]) == (kind, name))
    return found


def test_the_scheduler_keeps_bindings_evictions_and_statuses_alone(
    installation: list[Manifest], handed_over: set[str]
) -> None:
    bound = {
        each["roleRef"]["name"]
        for each in installation
        if each["kind"] == "ClusterRoleBinding" and each["metadata"]["name"] not in handed_over
    }
    writes = {
        (resource, verb)
        for role in installation
        if role["kind"] == "ClusterRole" and role["metadata"]["name"] in bound
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if verb not in {"get", "list", "watch"}
    }
    assert writes == SCHEDULER_WRITES


def test_every_role_of_a_controller_goes_to_the_controllers(handed_over: set[str]) -> None:
    assert handed_over == {
        "volcano-py-podgroup-controller",
        "volcano-py-queue-controller",
        "volcano-py-job-controller",
        "volcano-py-job-plugins",
        "volcano-py-job-secrets",
        "volcano-py-cronjob-controller",
        "volcano-py-jobflow-controller",
        "volcano-py-hypernode-controller",
    }


@pytest.mark.parametrize(
    ("deployment", "account", "command"),
    [
        ("volcano-py-controllers", CONTROLLERS, ["run", "--scheduling=false"]),
        ("volcano-py-admission", ADMISSION, ["admission"]),
    ],
)
def test_each_part_runs_with_its_account(
    added: list[Manifest], deployment: str, account: str, command: list[str]
) -> None:
    pod = one(added, "Deployment", deployment)["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == one(added, "ServiceAccount", account)["metadata"]["name"]
    assert pod["containers"][0]["args"][: len(command)] == command


def test_the_scheduler_is_left_without_controllers_and_admission(kustomization: Manifest) -> None:
    (patch,) = (each for each in kustomization["patches"] if each["target"]["kind"] == "Deployment")
    arguments = [each for each in yaml.safe_load(patch["patch"]) if "/args/" in each["path"]]
    assert [(each["op"], each["value"]) for each in arguments] == [
        ("test", "--admission"),
        ("replace", "--controllers=none"),
    ]


def test_the_controllers_hold_a_lease_of_their_own(added: list[Manifest]) -> None:
    _, holding = one(added, "Role", "volcano-py-controllers-leader-election")["rules"]
    assert holding["resourceNames"] == [CONTROLLERS_LEASE]


def test_admission_may_only_read(added: list[Manifest]) -> None:
    rules = one(added, "ClusterRole", "volcano-py-admission-rules")["rules"]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"list", "watch"}


@pytest.mark.parametrize("deployment", ["volcano-py-controllers", "volcano-py-admission"])
def test_the_others_are_as_hardened_as_the_scheduler(
    pod_template: Manifest, added: list[Manifest], deployment: str
) -> None:
    ours, theirs = one(added, "Deployment", deployment)["spec"]["template"]["spec"], pod_template["spec"]
    for field in ("securityContext", "automountServiceAccountToken", "enableServiceLinks", "priorityClassName"):
        assert ours[field] == theirs[field]
    for field in ("image", "securityContext", "livenessProbe", "readinessProbe", "startupProbe"):
        assert ours["containers"][0][field] == theirs["containers"][0][field]
