"""The rights of the daemon: named one by one, and complete enough that each binding leads somewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from volcano_py.api import names

Manifest = dict[str, Any]
READ = {"get", "list", "watch"}
DAEMON = {"kind": "ServiceAccount", "name": "volcano-scheduler", "namespace": names.SYSTEM_NAMESPACE}

# Everything the daemon may change anywhere in the cluster. An addition here is a decision about security.
CLUSTER_WRITES = {
    ("", "pods/binding"): {"create"},
    ("", "pods/status"): {"patch"},
    ("", "pods"): {"create", "delete", "patch"},
    ("", "persistentvolumes"): {"patch"},
    ("", "persistentvolumeclaims"): {"create", "patch"},
    ("resource.k8s.io", "resourceclaims"): {"create", "delete", "patch"},
    ("resource.k8s.io", "resourceclaims/status"): {"patch"},
    ("resource.k8s.io", "resourceclaims/binding"): {"patch"},
    ("", "events"): {"create", "patch"},
    ("scheduling.volcano.sh", "podgroups"): {"create", "patch", "delete"},
    ("scheduling.volcano.sh", "podgroups/status"): {"patch"},
    ("scheduling.volcano.sh", "queues"): {"create", "patch"},
    ("scheduling.volcano.sh", "queues/status"): {"patch"},
    ("bus.volcano.sh", "commands"): {"delete"},
    ("batch.volcano.sh", "jobs"): {"create", "delete"},
    ("batch.volcano.sh", "jobs/status"): {"patch"},
    ("batch.volcano.sh", "jobs/finalizers"): {"update"},
    ("batch.volcano.sh", "cronjobs/status"): {"patch"},
    ("flow.volcano.sh", "jobflows/status"): {"patch"},
    ("flow.volcano.sh", "jobtemplates/status"): {"patch"},
    ("topology.volcano.sh", "hypernodes"): {"create", "patch", "delete"},
    ("topology.volcano.sh", "hypernodes/status"): {"patch"},
    ("shard.volcano.sh", "nodeshards/status"): {"patch"},
    ("", "services"): {"create"},
    ("", "configmaps"): {"create", "patch"},
    ("", "secrets"): {"create"},
    ("networking.k8s.io", "networkpolicies"): {"create"},
}

CLAIMS_OF_JOBS = ("volcano-py-job-controller", ["persistentvolumeclaims"])


@pytest.fixture
def roles(installation: list[Manifest]) -> list[Manifest]:
    return [each for each in installation if each["kind"] in {"Role", "ClusterRole"}]


@pytest.fixture
def daemon_cluster_rules(installation: list[Manifest], named: Callable[[str, str], Manifest]) -> list[Manifest]:
    """Rules of all cluster roles that are bound to the daemon's account."""
    return [
        rule
        for binding in installation
        if binding["kind"] == "ClusterRoleBinding" and DAEMON in binding["subjects"]
        for rule in named("ClusterRole", binding["roleRef"]["name"])["rules"]
    ]


def test_nothing_is_granted_by_wildcard(roles: list[Manifest]) -> None:
    assert roles
    for role in roles:
        for rule in role["rules"]:
            for part in ("apiGroups", "resources", "verbs"):
                assert rule[part], f"{role['metadata']['name']}: {part} is empty"
                assert not any("*" in each for each in rule[part]), f"{role['metadata']['name']}: wildcard in {part}"
            assert "nonResourceURLs" not in rule


def test_nothing_leads_to_more_rights(roles: list[Manifest]) -> None:
    """No reading of secrets, no tokens, no roles, no impersonation, no shell in a pod; pods are made for Jobs alone."""
    forbidden = {
        "serviceaccounts/token", "roles", "clusterroles", "rolebindings", "clusterrolebindings",
        "pods/exec", "pods/attach", "pods/ephemeralcontainers", "nodes/proxy", "customresourcedefinitions",
    }  # fmt: skip
    for role in roles:
        for rule in role["rules"]:
            assert not forbidden & set(rule["resources"])
            assert not {"escalate", "bind", "impersonate"} & set(rule["verbs"])
            if "secrets" in rule["resources"]:
                assert (role["metadata"]["name"], rule["verbs"]) == ("volcano-py-job-secrets", ["create"])
            if "pods" in rule["resources"]:
                makes_pods = {"create"} if role["metadata"]["name"] == "volcano-py-job-controller" else set()
                assert {"create", "update"} & set(rule["verbs"]) == makes_pods


def test_the_daemon_changes_only_what_is_listed_here(daemon_cluster_rules: list[Manifest]) -> None:
    writes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for rule in daemon_cluster_rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                writes[group, resource] |= set(rule["verbs"]) - READ
    assert {key: verbs for key, verbs in writes.items() if verbs} == CLUSTER_WRITES


def test_whatever_is_followed_can_be_listed_and_watched(roles: list[Manifest]) -> None:
    """An informer needs both; one verb missing shows only when the watch breaks. Leases, and what is made for Jobs, are
    read one by one."""
    for role in roles:
        if role["metadata"]["name"] in {"volcano-py-job-plugins", "volcano-py-leader-election"}:
            assert not {"list", "watch"} & {verb for rule in role["rules"] for verb in rule["verbs"]}
            continue
        for rule in role["rules"]:
            if READ & set(rule["verbs"]) and (role["metadata"]["name"], rule["resources"]) != CLAIMS_OF_JOBS:
                assert set(rule["verbs"]) >= {"list", "watch"}, role["metadata"]["name"]


def test_each_controller_has_a_role_of_its_own(named: Callable[[str, str], Manifest]) -> None:
    for concern in (
        "scheduler",
        "podgroup-controller",
        "queue-controller",
        "job-controller",
        "cronjob-controller",
        "jobflow-controller",
        "hypernode-controller",
        "job-plugins",
        "job-secrets",
    ):
        binding = named("ClusterRoleBinding", f"volcano-py-{concern}")
        assert binding["roleRef"]["name"] == f"volcano-py-{concern}"
        assert binding["subjects"] == [DAEMON]


def test_the_scheduler_alone_cannot_make_podgroups_nor_remove_them_or_queues(
    named: Callable[[str, str], Manifest],
) -> None:
    """With both controllers left to Volcano, their bindings can go. It creates queues that must exist, as there."""
    for rule in named("ClusterRole", "volcano-py-scheduler")["rules"]:
        if "podgroups" in rule["resources"]:
            assert not {"create", "delete", "update"} & set(rule["verbs"])
        if "queues" in rule["resources"]:
            assert not {"delete", "update", "patch"} & set(rule["verbs"])


def test_configuration_and_lease_are_the_named_ones_in_the_own_namespace(
    named: Callable[[str, str], Manifest], daemon_cluster_rules: list[Manifest]
) -> None:
    (configuration,) = named("Role", "volcano-py-configuration")["rules"]
    assert configuration["resourceNames"] == [names.CONFIG_MAP]
    assert configuration["verbs"] == ["list", "watch"]
    creating, holding = named("Role", "volcano-py-leader-election")["rules"]
    assert (creating["resources"], creating["verbs"]) == (["leases"], ["create"])
    assert holding["resourceNames"] == [names.DEFAULT_SCHEDULER_NAME]
    assert "delete" not in holding["verbs"]
    everywhere = {
        (resource, verb) for rule in daemon_cluster_rules for resource in rule["resources"] for verb in rule["verbs"]
    }
    assert not {("configmaps", "list"), ("configmaps", "watch")} & everywhere
    assert "leases" not in {resource for resource, _ in everywhere}


def test_every_binding_binds_an_existing_role_to_an_existing_account(
    installation: list[Manifest], named: Callable[[str, str], Manifest]
) -> None:
    bindings = [each for each in installation if each["kind"].endswith("RoleBinding") or each["kind"] == "RoleBinding"]
    assert len(bindings) == 12
    for binding in bindings:
        role = named(binding["roleRef"]["kind"], binding["roleRef"]["name"])
        assert role["metadata"].get("namespace") == binding["metadata"].get("namespace")
        for subject in binding["subjects"]:
            account = named(subject["kind"], subject["name"])
            assert account["metadata"]["namespace"] == subject["namespace"]


def test_people_may_make_jobs_and_podgroups_where_they_may_make_pods_but_no_queues(
    named: Callable[[str, str], Manifest],
) -> None:
    edit = named("ClusterRole", "volcano-py-edit")
    assert edit["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-edit"] == "true"
    assert [rule["resources"] for rule in edit["rules"]] == [
        ["podgroups"],
        ["jobs", "cronjobs"],
        ["jobflows", "jobtemplates"],
    ]
    for rule in named("ClusterRole", "volcano-py-view")["rules"]:
        assert set(rule["verbs"]) == READ
