"""manifests/node-load: the one right that metrics-server as a source of load needs, for those who use it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).resolve().parents[3] / "manifests" / "node-load"


def documents() -> dict[str, dict[str, Any]]:
    return {each["kind"]: each for each in yaml.safe_load_all((FOLDER / "rbac.yaml").read_text())}


def test_nodes_may_be_listed_and_nothing_else() -> None:
    (rule,) = documents()["ClusterRole"]["rules"]
    assert rule == {"apiGroups": ["metrics.k8s.io"], "resources": ["nodes"], "verbs": ["list"]}


def test_it_is_bound_to_the_daemon_alone() -> None:
    binding = documents()["ClusterRoleBinding"]
    assert binding["roleRef"]["name"] == documents()["ClusterRole"]["metadata"]["name"]
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "volcano-scheduler", "namespace": "volcano-system"}
    ]
