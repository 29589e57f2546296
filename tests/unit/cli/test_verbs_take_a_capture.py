"""`capture`, and the verbs that look at what it has written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.unit.capture.clusters import CONFIG_MAP, config_map, forbid, serve
from tests.unit.cli.cluster import UserOfCluster
from volcano_py.capture.file import read
from volcano_py.cli.main import main
from volcano_py.cluster.kubernetes.watching import kinds

CLUSTER = """
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 16Gi, pods: "110"}}
---
kind: Queue
metadata: {name: lab}
spec: {capability: {cpu: "2"}}
---
kind: PodGroup
metadata: {name: train}
spec: {minMember: 1, queue: lab}
status: {phase: Inqueue}
---
kind: Pod
metadata: {name: train-0, annotations: {scheduling.k8s.io/group-name: train}}
spec: {schedulerName: volcano, containers: [{name: main, resources: {requests: {cpu: "1"}}}]}
"""


@pytest.fixture
def manifests(tmp_path: Path) -> str:
    path = tmp_path / "cluster.yaml"
    path.write_text(CLUSTER, encoding="utf-8")
    return str(path)


@pytest.fixture
def captured(manifests: str, tmp_path: Path) -> str:
    path = str(tmp_path / "cluster.capture")
    written = run("capture", "--from", manifests, path)
    assert (written.exit_code, written.stdout) == (0, "")
    assert "6 objects of 2026-01-01T00:00:00Z" in written.stderr
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_simulate_decides_on_a_capture_as_on_the_manifests_it_was_made_of(captured: str, manifests: str) -> None:
    of_capture = run("simulate", "--from", captured, "-o", "json")
    of_manifests = run("simulate", "-f", manifests, "-o", "json")

    assert json.loads(of_capture.stdout)["binds"] == {"default/train-0": "n1"}
    assert json.loads(of_capture.stdout)["binds"] == json.loads(of_manifests.stdout)["binds"]


def test_simulate_takes_another_configuration_for_a_capture(captured: str, tmp_path: Path) -> None:
    conf = tmp_path / "new.conf"
    conf.write_text('actions: "enqueue"\ntiers:\n- plugins:\n  - name: gang\n', encoding="utf-8")

    assert (
        json.loads(run("simulate", "--from", captured, "--scheduler-conf", str(conf), "-o", "json").stdout)["binds"]
        == {}
    )


def test_the_tree_is_drawn_as_it_was(captured: str) -> None:
    queues = json.loads(run("queue", "tree", "--from", captured, "-o", "json").stdout)["queues"]

    lab = next(each for each in queues if each["name"] == "lab")
    assert (lab["allocated"], lab["capability"]) == ({}, {"cpu": "2"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("simulate",), "name what to simulate: manifests with --filename, or a cluster with --from or --from-cluster"),
        (("simulate", "-f", "a", "--from-cluster"), "name what to simulate"),
        (("simulate", "--from-cluster", "--play", "1h"), "--play needs manifests: name them with --filename"),
        (("queue", "tree", "-f", "a", "--from", "b"), "--filename shows manifests, the other options a cluster"),
    ],
)
def test_what_excludes_each_other_is_said(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)

    assert result.exit_code == 2
    assert message in result.output


def test_a_place_that_cannot_be_written_is_named(manifests: str, tmp_path: Path) -> None:
    result = run("capture", "--from", manifests, str(tmp_path / "none" / "file"))

    assert (result.exit_code, result.stdout) == (1, "")
    assert "No such file or directory" in result.stderr


def test_standard_output_takes_a_capture(manifests: str, tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(run("capture", "--from", manifests, "-").stdout_bytes)

    assert len(read(path).items) == 6


@pytest.mark.real_time
async def test_the_cluster_is_captured_with_its_configuration_and_what_is_missing(
    user: UserOfCluster, tmp_path: Path
) -> None:
    serve(user.api)
    forbid(user.api, kinds.CSI_NODE)
    user.api.on("GET", CONFIG_MAP, config_map("actions: allocate\n"))
    path = tmp_path / "cluster.capture"

    result = await user.run("capture", str(path))

    assert result.exit_code == 0
    assert 'CSINode not read: User "ann" cannot list resource "csinodes"; nodes take any number' in result.stderr
    assert read(path).configuration == "actions: allocate\n"
    assert [each.what for each in read(path).unread] == ["CSINode"]


def test_a_capture_that_is_named_as_a_manifest_is_for_the_option_from(captured: str, manifests: str) -> None:
    result = run("simulate", "-f", manifests, "-f", captured)
    assert result.exit_code == 1
    assert result.stderr == (
        f"Error: {captured}: a capture, not a manifest; simulate, explain and what-if read it with --from {captured}\n"
    )
