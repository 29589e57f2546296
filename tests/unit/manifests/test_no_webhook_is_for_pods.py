"""The overlay with admission webhooks: their objects, what happens while no replica answers, and their rights."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from volcano_py.api.names import ADMISSION, SYSTEM_NAMESPACE
from volcano_py.operator.webhooks.handlers import WEBHOOKS
from volcano_py.operator.webhooks.server import LIMITS

Manifest = dict[str, Any]


@pytest.fixture(scope="session")
def overlay(project: Path) -> list[Manifest]:
    directory = project / "manifests" / "overlays" / "admission"
    files = [path for path in sorted(directory.glob("*.yaml")) if path.name != "kustomization.yaml"]
    return [document for path in files for document in yaml.safe_load_all(path.read_text())]


@pytest.fixture(scope="session")
def webhooks(overlay: list[Manifest]) -> list[tuple[str, Manifest]]:
    """Kind of configuration, and webhook."""
    return [(each["kind"], hook) for each in overlay for hook in each.get("webhooks") or ()]


def one(overlay: list[Manifest], kind: str) -> Manifest:
    (found,) = (each for each in overlay if each["kind"] == kind)
    return found


def test_only_queues_and_work_of_ours_are_judged_and_never_a_status(webhooks: list[tuple[str, Manifest]]) -> None:
    for _, hook in webhooks:
        for rule in hook["rules"]:
            groups = {name.partition(".volcano.sh")[0] for name in rule["apiGroups"]}
            assert groups <= {"scheduling", "batch", "flow", "topology"}
            assert not any("/" in each or each in ("*", "pods") for each in rule["resources"])
            assert "*" not in rule["operations"]
            assert "CONNECT" not in rule["operations"]


def test_while_no_replica_answers_pods_and_their_groups_still_work(webhooks: list[tuple[str, Manifest]]) -> None:
    policies = {hook["rules"][0]["resources"][0]: hook["failurePolicy"] for _, hook in webhooks}
    assert policies == {
        "queues": "Fail", "podgroups": "Ignore", "jobs": "Fail", "cronjobs": "Fail", "jobflows": "Fail",
        "jobtemplates": "Fail", "hypernodes": "Ignore",
    }  # fmt: skip


def test_every_verb_that_can_do_harm_is_judged(webhooks: list[tuple[str, Manifest]]) -> None:
    for kind, hook in webhooks:
        (rule,) = hook["rules"]
        if kind == "MutatingWebhookConfiguration":
            assert rule["operations"] == (["CREATE", "UPDATE"] if rule["resources"] == ["jobs"] else ["CREATE"])
        elif rule["resources"] == ["queues"]:
            assert rule["operations"] == ["CREATE", "UPDATE", "DELETE"]
        else:
            assert rule["operations"] == ["CREATE", "UPDATE"]


def test_the_system_and_the_daemon_itself_are_left_out(webhooks: list[tuple[str, Manifest]]) -> None:
    account = f"system:serviceaccount:{SYSTEM_NAMESPACE}:volcano-scheduler"
    for _, hook in webhooks:
        conditions = {each["name"]: each["expression"] for each in hook["matchConditions"]}
        assert conditions["not-the-daemon-itself"] == f"request.userInfo.username != '{account}'"
        (rule,) = hook["rules"]
        if rule["scope"] == "Namespaced":
            (term,) = hook["namespaceSelector"]["matchExpressions"]
            assert term["operator"] == "NotIn"
            assert {"kube-system", SYSTEM_NAMESPACE} == set(term["values"])


def test_what_is_asked_for_is_what_is_answered(webhooks: list[tuple[str, Manifest]]) -> None:
    """Each path is a handler, on the kind that the handler is for, and there is no handler without a webhook."""
    asked = {
        (hook["clientConfig"]["service"]["path"].removeprefix("/"), rule["apiGroups"][0], rule["resources"][0])
        for _, hook in webhooks
        for rule in hook["rules"]
    }
    assert asked == {(name, group, plural) for name, (group, _, plural) in WEBHOOKS.items()}
    for _, hook in webhooks:
        (rule,) = hook["rules"]
        assert hook["name"] == f"{rule['resources'][0]}.{rule['apiGroups'][0]}"


def test_the_service_leads_to_the_port_of_every_replica(
    overlay: list[Manifest], webhooks: list[tuple[str, Manifest]], project: Path, pod_template: Manifest
) -> None:
    service = one(overlay, "Service")
    (port,) = service["spec"]["ports"]
    for _, hook in webhooks:
        target = hook["clientConfig"]["service"]
        assert (target["name"], target["namespace"], target["port"]) == (ADMISSION, SYSTEM_NAMESPACE, port["port"])
        assert "caBundle" not in hook["clientConfig"], "filled in by the daemon"
    assert service["spec"]["selector"].items() <= pod_template["metadata"]["labels"].items()
    assert not service["spec"].get("publishNotReadyAddresses"), "who cannot answer is not asked"
    kustomization = yaml.safe_load((project / "manifests/overlays/admission/kustomization.yaml").read_text())
    (patch,) = (yaml.safe_load(each["patch"]) for each in kustomization["patches"])
    values = [each["value"] for each in patch]
    assert values[0] == "--admission"
    assert (values[1]["name"], values[1]["containerPort"]) == (port["targetPort"], 8443)


def test_the_api_server_waits_longer_than_we_take(webhooks: list[tuple[str, Manifest]]) -> None:
    for _, hook in webhooks:
        assert LIMITS.judging < hook["timeoutSeconds"] <= 10
        assert hook["sideEffects"] == "None"


def test_rights_are_by_name_and_over_no_other_secret(overlay: list[Manifest]) -> None:
    (secrets,) = one(overlay, "Role")["rules"]
    assert secrets == {
        "apiGroups": [""], "resources": ["secrets"], "resourceNames": [ADMISSION], "verbs": ["get", "patch"],
    }  # fmt: skip
    (configurations,) = one(overlay, "ClusterRole")["rules"]
    assert configurations["resourceNames"] == [ADMISSION]
    assert configurations["verbs"] == ["get", "patch"]
    secret = one(overlay, "Secret")
    assert secret["metadata"]["name"] == ADMISSION
    assert "data" not in secret, "applying it again takes nothing away"


def test_the_reason_is_reported_in_its_place(project: Path) -> None:
    text = (project / "manifests/overlays/admission/validating.yaml").read_text()
    comment = re.sub(r"\n# ?", " ", text.split("apiVersion")[0])
    for word in ("No webhook is called for pods", "`Fail`", "`Ignore`", "caBundle"):
        assert word in comment


def test_the_policy_covers_the_pods_and_names_their_ports(overlay: list[Manifest], project: Path) -> None:
    policy, base = one(overlay, "NetworkPolicy"), project / "manifests" / "base"
    deployment = yaml.safe_load((base / "deployment.yaml").read_text())
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert policy["metadata"]["namespace"] == deployment["metadata"]["namespace"]
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    assert policy["spec"]["policyTypes"] == ["Ingress"], "what the daemon connects to is not limited"
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    added = yaml.safe_load((project / "manifests/overlays/admission/kustomization.yaml").read_text())["patches"]
    opened = {port["name"] for port in container["ports"]} | {
        change["value"]["name"] for patch in added for change in yaml.safe_load(patch["patch"])
        if change["path"].endswith("/ports/-")
    }  # fmt: skip
    rules = {port["port"]: rule for rule in policy["spec"]["ingress"] for port in rule["ports"]}
    assert rules.keys() == opened
    assert "from" not in rules["webhooks"], "the API server has no pod"
    assert all("namespaceSelector" in peer and "podSelector" not in peer for peer in rules["http"]["from"])
