"""manifests/ui: the page for all users. Its rights, its Deployment, and the flags that the program has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from volcano_py.api import names
from volcano_py.capture.kinds import KINDS
from volcano_py.cli.main import main
from volcano_py.ui.cluster import EVICTION
from volcano_py.ui.rights import reviewed, tokens

Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def objects(project: Path) -> dict[tuple[str, str], Manifest]:
    folder = project / "manifests" / "ui"
    files = [path for path in sorted(folder.glob("*.yaml")) if path.name != "kustomization.yaml"]
    every = [each for path in files for each in yaml.safe_load_all(path.read_text())]
    return {(each["kind"], each["metadata"]["name"]): each for each in every}


@pytest.fixture(scope="module")
def pod(objects: dict[tuple[str, str], Manifest]) -> Manifest:
    spec: Manifest = objects["Deployment", "volcano-py-ui"]["spec"]["template"]["spec"]
    return spec


def rights(role: Manifest) -> set[tuple[str, str, str]]:
    return {
        (verb, group, resource)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_each_right_is_one_that_the_page_uses_and_no_more(objects: dict[tuple[str, str], Manifest]) -> None:
    """It lists and watches what a capture has and evictions, and asks for reviews."""
    read = {(kind.path.group_version.rpartition("/")[0], kind.path.plural) for kind in (*KINDS, EVICTION)}
    asked = {
        ("create", path.group_version.partition("/")[0], path.plural) for path in (tokens.REVIEWS, reviewed.REVIEWS)
    }
    used = {(verb, *each) for each in read for verb in ("list", "watch")} | asked
    assert rights(objects["ClusterRole", "volcano-py-ui"]) == used
    (own,) = objects["Role", "volcano-py-ui"]["rules"]
    assert own == {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": [names.CONFIG_MAP],
        "verbs": ["list", "watch"],
    }


def test_the_rights_are_those_of_its_own_account(objects: dict[tuple[str, str], Manifest], pod: Manifest) -> None:
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        binding = objects[kind, "volcano-py-ui"]
        assert binding["roleRef"]["name"] == "volcano-py-ui"
        assert binding["subjects"] == [
            {"kind": "ServiceAccount", "name": pod["serviceAccountName"], "namespace": names.SYSTEM_NAMESPACE}
        ]
    assert objects["ServiceAccount", "volcano-py-ui"]["automountServiceAccountToken"] is False
    assert pod["automountServiceAccountToken"] is True


def test_the_pod_is_hardened_as_the_daemons(pod: Manifest, pod_template: Manifest) -> None:
    daemon = pod_template["spec"]
    (own,), (other,) = pod["containers"], daemon["containers"]
    assert pod["securityContext"] == daemon["securityContext"]
    assert own["securityContext"] == other["securityContext"]
    assert own["image"] == other["image"]
    assert pod["schedulerName"] == "default-scheduler"
    assert own["resources"]["limits"].keys() == {"memory"}


def test_ports_probes_and_policies_name_the_same_port(objects: dict[tuple[str, str], Manifest], pod: Manifest) -> None:
    (container,) = pod["containers"]
    (port,) = container["ports"]
    assert f"--listen-address=:{port['containerPort']}" in container["args"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": "/healthz", "port": port["name"], "scheme": "HTTPS"}
    (service,) = objects["Service", "volcano-py-ui"]["spec"]["ports"]
    (rule,) = objects["NetworkPolicy", "volcano-py-ui"]["spec"]["ingress"]
    assert service["targetPort"] == port["name"] == rule["ports"][0]["port"]
    labels = objects["Deployment", "volcano-py-ui"]["spec"]["template"]["metadata"]["labels"]
    assert objects["Service", "volcano-py-ui"]["spec"]["selector"] == labels
    assert objects["NetworkPolicy", "volcano-py-ui"]["spec"]["podSelector"]["matchLabels"] == labels


def test_the_certificate_is_where_the_flag_says(pod: Manifest) -> None:
    (container,) = pod["containers"]
    (mount,), (volume,) = container["volumeMounts"], pod["volumes"]
    assert (mount["name"], f"--tls-cert-dir={mount['mountPath']}" in container["args"]) == (volume["name"], True)
    assert "subPath" not in mount
    assert volume["secret"]["secretName"] == "volcano-py-ui-tls"


def test_the_program_takes_the_flags(pod: Manifest) -> None:
    (container,) = pod["containers"]
    result = CliRunner().invoke(main, [*container["args"], "--kubeconfig=nowhere"])
    assert "nowhere" in result.output
    assert "Usage" not in result.output
