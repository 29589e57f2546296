"""What is granted in addition to an installation: one right each, for those who use what needs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from volcano_py.cluster.load.custom_metrics import CPU, MEMORY

MANIFESTS = Path(__file__).resolve().parents[4] / "manifests"
DAEMON = {"kind": "ServiceAccount", "name": "volcano-scheduler", "namespace": "volcano-system"}


def documents(folder: str) -> dict[str, dict[str, Any]]:
    """Kind → the only object of that kind in the folder's rbac.yaml."""
    return {each["kind"]: each for each in yaml.safe_load_all((MANIFESTS / folder / "rbac.yaml").read_text())}


@pytest.mark.parametrize(
    ("folder", "kind", "expected"),
    [
        ("node-load", "ClusterRole", {"apiGroups": ["metrics.k8s.io"], "resources": ["nodes"], "verbs": ["list"]}),
        (
            "node-load-custom-metrics",
            "ClusterRole",
            {
                "apiGroups": ["custom.metrics.k8s.io"],
                "resources": [f"nodes/{CPU}", f"nodes/{MEMORY}"],
                "verbs": ["get"],
            },
        ),
        ("overlays/queue-gates", "ClusterRole", {"apiGroups": [""], "resources": ["pods"], "verbs": ["patch"]}),
        (
            "ufm",
            "Role",
            {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["ufm-credentials"], "verbs": ["get"]},
        ),
    ],
)
def test_it_is_one_rule_for_the_daemon_alone(folder: str, kind: str, expected: dict[str, Any]) -> None:
    found = documents(folder)
    assert set(found) == {kind, f"{kind}Binding"}
    (rule,) = found[kind]["rules"]
    assert rule == expected
    binding = found[f"{kind}Binding"]
    assert binding["roleRef"]["name"] == found[kind]["metadata"]["name"]
    assert binding["subjects"] == [DAEMON]


def test_that_for_ufm_is_only_in_its_own_namespace() -> None:
    assert {each["metadata"]["namespace"] for each in documents("ufm").values()} == {"volcano-system"}
