"""`volcano-py explain` over a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from volcano_py.api.objects import metadata_of
from volcano_py.capture import file
from volcano_py.capture.kinds import CONSEQUENCES
from volcano_py.capture.manifests import of_manifests
from volcano_py.capture.model import Unread
from volcano_py.cli.main import main
from volcano_py.cluster.manifests import read_text

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110"}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: team-a}
spec: {capability: {cpu: "4"}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: train}
spec: {queue: team-a, minMember: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: train-0, annotations: {scheduling.k8s.io/group-name: train}}
spec: {schedulerName: volcano, containers: [{name: main, image: pause, resources: {requests: {cpu: "6"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {schedulerName: volcano, containers: [{name: main, image: pause, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: foreign}
spec: {containers: [{name: main, image: pause}]}
"""


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(CLUSTER, encoding="utf-8")
    return path


def explained(source: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments, "--from", str(source)])


def test_the_reason_comes_first_then_what_would_help(manifests: Path) -> None:
    lines = explained(manifests, "podgroup", "train").output.splitlines()
    assert lines[0].startswith("default/train: Waiting")
    assert lines[1].startswith("  OverCapability: queue team-a: 0 cpu allocated + 6 asked > 4 capability")
    helps = lines[lines.index("What would help") :]
    assert "  raise capability of queue team-a to 6 cpu" in helps


def test_what_runs_is_said_to_run_and_where(manifests: Path) -> None:
    assert explained(manifests, "pod", "web").output == ("default/web: Starting, 1 of 1 pod placed\n  On n1 (1 pod)\n")


def test_json_has_the_same(manifests: Path) -> None:
    found = json.loads(explained(manifests, "podgroup", "train", "-o", "json").output)
    assert found["now"]["reason"] == "OverCapability"
    assert [limit["name"] for limit in found["limits"] if limit.get("binding")] == ["team-a"]


@pytest.mark.parametrize("kind", ["podgroup", "job", "pod", "queue", "node"])
def test_what_does_not_exist_is_an_error(kind: str, manifests: Path) -> None:
    result = explained(manifests, kind, "nothing")
    assert result.exit_code == 1
    assert "nothing does not exist" in result.output


def test_a_pod_of_another_scheduler_is_not_explained(manifests: Path) -> None:
    result = explained(manifests, "pod", "foreign")
    assert result.exit_code == 1
    assert "has schedulerName default-scheduler" in result.output


def test_what_could_not_be_read_is_said(tmp_path: Path) -> None:
    whole = of_manifests(read_text(CLUSTER, "cluster"))
    unread = (Unread("Queue", "forbidden", CONSEQUENCES["Queue"]),)
    items = tuple((kind, obj) for kind, obj in whole.items if metadata_of(obj).name != "team-a")
    path = tmp_path / "cluster.capture"
    path.write_bytes(
        file.written(type(whole)(taken=whole.taken, items=items, configuration=whole.configuration, unread=unread))
    )
    output = explained(path, "podgroup", "train").stdout
    assert "Not read\n  Queue not read: forbidden;" in output


def test_a_queue_and_a_node_are_explained(manifests: Path) -> None:
    assert "Queue team-a: Open, 1 job waiting" in explained(manifests, "queue", "team-a").output
    assert "Node n1 still takes 7 cpu" in explained(manifests, "node", "n1").output
