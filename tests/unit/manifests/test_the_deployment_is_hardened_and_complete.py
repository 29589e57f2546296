"""The daemon's Deployment: the restricted pod security profile, two replicas, and references that resolve."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from volcano_py.api import names

Manifest = dict[str, Any]
Find = Callable[[str, str], Manifest]

# https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
RESTRICTED_VOLUMES = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret",
}  # fmt: skip


@pytest.fixture
def pod(pod_template: Manifest) -> Manifest:
    spec: Manifest = pod_template["spec"]
    return spec


@pytest.fixture
def container(pod: Manifest) -> Manifest:
    (only,) = pod["containers"]
    assert isinstance(only, dict)
    return only


def test_the_pod_meets_the_restricted_profile(pod: Manifest, container: Manifest) -> None:
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == pod["securityContext"]["runAsGroup"] == 65532
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    context = container["securityContext"]
    assert context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert context["readOnlyRootFilesystem"] is True
    assert not context.get("privileged")
    assert "initContainers" not in pod
    assert not {"hostNetwork", "hostPID", "hostIPC", "hostUsers"} & set(pod)
    assert not any("hostPort" in port for port in container["ports"])
    for volume in pod["volumes"]:
        assert set(volume) - {"name"} <= RESTRICTED_VOLUMES


def test_the_token_is_mounted_here_and_nowhere_by_default(named: Find, pod: Manifest) -> None:
    account = named("ServiceAccount", pod["serviceAccountName"])
    assert account["automountServiceAccountToken"] is False
    assert pod["automountServiceAccountToken"] is True


def test_two_replicas_elect_a_leader_and_prefer_different_hosts(
    named: Find, pod: Manifest, pod_template: Manifest, container: Manifest
) -> None:
    assert named("Deployment", "volcano-py")["spec"]["replicas"] == 2
    assert "--leader-elect=true" in container["args"]
    (term,) = pod["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert term["podAffinityTerm"]["topologyKey"] == "kubernetes.io/hostname"
    assert term["podAffinityTerm"]["labelSelector"]["matchLabels"] == pod_template["metadata"]["labels"]


def test_it_is_not_left_to_itself_to_schedule(pod: Manifest) -> None:
    assert pod["schedulerName"] == "default-scheduler"
    assert pod["priorityClassName"] == "system-cluster-critical"


def test_everything_that_selects_the_pod_matches_its_labels(named: Find, pod_template: Manifest) -> None:
    labels = pod_template["metadata"]["labels"].items()
    for selector in (
        named("Deployment", "volcano-py")["spec"]["selector"]["matchLabels"],
        named("PodDisruptionBudget", "volcano-py")["spec"]["selector"]["matchLabels"],
        named("Service", "volcano-py-metrics")["spec"]["selector"],
    ):
        assert selector
        assert selector.items() <= labels


def test_probes_and_metrics_ask_the_port_it_listens_on(named: Find, container: Manifest) -> None:
    (port,) = container["ports"]
    assert port["containerPort"] == 8080
    assert "--listen-address=:8080" in container["args"]
    for probe, path in (("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        assert container[probe]["httpGet"] == {"path": path, "port": port["name"]}
    service = named("Service", "volcano-py-metrics")
    assert [(each["port"], each["targetPort"]) for each in service["spec"]["ports"]] == [(8080, port["name"])]
    assert service["metadata"]["annotations"]["prometheus.io/port"] == "8080"


def test_the_configuration_is_mounted_as_a_directory_where_the_flag_points(
    named: Find, pod: Manifest, container: Manifest
) -> None:
    """Mounted by subPath, a ConfigMap's edits would never arrive."""
    (flag,) = (arg for arg in container["args"] if arg.startswith("--scheduler-conf="))
    file = PurePosixPath(flag.removeprefix("--scheduler-conf="))
    mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
    mount = mounts[str(file.parent)]
    assert "subPath" not in mount
    (volume,) = (each for each in pod["volumes"] if each["name"] == mount["name"])
    assert volume["configMap"]["name"] == names.CONFIG_MAP
    assert file.name in named("ConfigMap", names.CONFIG_MAP)["data"]
    assert file.name == names.CONFIG_KEY


def test_every_mount_has_its_volume_and_the_other_way_round(pod: Manifest, container: Manifest) -> None:
    assert sorted(each["name"] for each in container["volumeMounts"]) == sorted(each["name"] for each in pod["volumes"])


def test_it_asks_for_resources_and_bounds_its_memory(container: Manifest) -> None:
    assert set(container["resources"]["requests"]) == {"cpu", "memory"}
    assert "memory" in container["resources"]["limits"]


def test_the_image_is_this_version(container: Manifest, project: Path) -> None:
    version = tomllib.loads((project / "pyproject.toml").read_text())["project"]["version"]
    assert container["image"] == f"volcano-py:{version}"


def test_a_drained_node_takes_one_replica_at_a_time(named: Find) -> None:
    assert named("PodDisruptionBudget", "volcano-py")["spec"]["maxUnavailable"] == 1


def test_namespaced_objects_live_in_the_namespace_that_is_created(installation: list[Manifest]) -> None:
    cluster_scoped = {
        "Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "PriorityClass",
        "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
    }  # fmt: skip
    (namespace,) = (each["metadata"]["name"] for each in installation if each["kind"] == "Namespace")
    assert namespace == names.SYSTEM_NAMESPACE
    for each in installation:
        expected = None if each["kind"] in cluster_scoped else names.SYSTEM_NAMESPACE
        assert each["metadata"].get("namespace") == expected, each["metadata"]["name"]


def test_the_policy_guards_the_annotations_that_the_scheduler_goes_by(named: Find) -> None:
    policy = named("ValidatingAdmissionPolicy", "volcano-py-charged-queue")["spec"]
    queue, group = policy["validations"]
    (condition,) = policy["matchConditions"]
    for key, rule in ((names.CHARGED_QUEUE, queue), (names.GROUP_NAME, group)):
        assert f"variables.annotationsBefore[{'?' if rule is queue else ''}'{key}']" in rule["expression"]
        assert key in rule["message"]
        assert f"'{key}'" in condition["expression"], "an edit of it would not be looked at"
    binding = named("ValidatingAdmissionPolicyBinding", "volcano-py-charged-queue")["spec"]
    assert binding == {"policyName": "volcano-py-charged-queue", "validationActions": ["Deny"]}


def test_no_priority_class_becomes_the_default_of_the_cluster(installation: list[Manifest]) -> None:
    classes = [each for each in installation if each["kind"] == "PriorityClass"]
    assert classes
    for each in classes:
        assert not each.get("globalDefault")
        assert each["value"] <= 1_000_000_000, "larger values are reserved for the system"
