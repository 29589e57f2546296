"""`what-if` and `config plan`: tables, JSON, and exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from tests.unit.capture.clusters import forbid, serve, waiting
from tests.unit.cli.cluster import UserOfCluster
from tests.unit.what_if.clusters import CLUSTER, NEW_JOB
from volcano_py.capture.file import written
from volcano_py.capture.manifests import of_manifests
from volcano_py.cli.main import main
from volcano_py.cli.options.trials import FINDINGS
from volcano_py.cluster.kubernetes.watching import kinds
from volcano_py.cluster.manifests import read_text
from volcano_py.what_if.difference import Finding
from volcano_py.what_if.trial import MOST_CYCLES

RAISE = ("--set", "queue/research.spec.capability.cpu=16")
RECLAIM = """
actions: "enqueue, allocate, reclaim"
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: predicates}, {name: proportion}]
"""


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    path = tmp_path / "cluster.yaml"
    path.write_text(CLUSTER, encoding="utf-8")
    return str(path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_what_starts_is_printed_and_the_status_says_that_something_changes(cluster: str) -> None:
    result = run("what-if", "--from", cluster, *RAISE)

    assert result.exit_code == 3
    assert "│ team/train │ 2 wait: OverCapability │ 2 placed │" in result.output
    assert "│ research │ allocated cpu  │ 6       │ 14   │" in result.output
    assert result.output.endswith("Pods: 2 newly placed\n")


OWNED = """
kind: Pod
apiVersion: v1
metadata:
  name: web-5d8f-x
  namespace: team
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5d8f, uid: 0d3a, controller: true}]
spec: {schedulerName: volcano, containers: [{name: main, resources: {requests: {cpu: "2"}}}]}
---
kind: Pod
apiVersion: v1
metadata: {name: alone, namespace: team, uid: "17"}
spec: {schedulerName: volcano, containers: [{name: main, resources: {requests: {cpu: "2"}}}]}
"""


def test_generated_pod_groups_are_named_after_their_owners(cluster: str, tmp_path: Path) -> None:
    submitted = tmp_path / "pods.yaml"
    submitted.write_text(OWNED, encoding="utf-8")
    what_if = ("what-if", "--from", cluster, "--submit", str(submitted))

    printed = run(*what_if).output
    assert "│ team/alone (Pod)           │ -       │ 1 placed │" in printed
    assert "│ team/web-5d8f (ReplicaSet) │ -       │ 1 placed │" in printed
    assert "podgroup-" not in printed

    work = json.loads(run(*what_if, "--output", "json").output)["work"]
    assert [(each["podGroup"], each["owner"]) for each in work] == [
        ("team/podgroup-0d3a", "ReplicaSet/web-5d8f"),
        ("team/podgroup-17", "Pod/alone"),
    ]


def test_no_difference_is_a_sentence_and_status_0(cluster: str) -> None:
    result = run("what-if", "--from", cluster, "--set", "queue/research.spec.weight=1")

    assert (result.exit_code, result.output) == (0, "Nothing changes.\n")


def test_only_warnings_that_the_changes_bring_are_printed_and_each_once(tmp_path: Path) -> None:
    known, submitted = tmp_path / "cluster.yaml", tmp_path / "queue.yaml"
    known.write_text(CLUSTER.replace("spec: {weight: 1}", "spec: {capability: {cpu: plenty}}"), "utf-8")
    assert "'plenty'" in run("simulate", "--from", str(known)).stderr
    assert run("what-if", "--from", str(known), *RAISE).stderr == ""

    queue = {"kind": "Queue", "metadata": {"name": "new"}, "spec": {"capability": {"cpu": "many"}}}
    submitted.write_text(json.dumps(queue), encoding="utf-8")
    (warning,) = run("what-if", "--from", str(known), "--submit", str(submitted)).stderr.splitlines()
    assert "queue=new" in warning
    assert "'many'" in warning


def test_all_changes_may_be_given_at_once(cluster: str, tmp_path: Path) -> None:
    job, conf = tmp_path / "job.yaml", tmp_path / "new.conf"
    job.write_text(NEW_JOB.replace("CPU", "4"), encoding="utf-8")
    conf.write_text(RECLAIM, encoding="utf-8")
    changes = [
        "--add-nodes",
        "gpu-2=2",
        "--remove-node",
        "gpu-1",
        "--cordon",
        "gpu-2",
        "--delete",
        "podgroup/team/train",
    ]

    result = run(
        "what-if",
        "--from",
        cluster,
        *changes,
        *RAISE,
        "--submit",
        str(job),
        "--scheduler-conf",
        str(conf),
        "-o",
        "json",
    )

    found = json.loads(result.stdout)
    assert result.exit_code == 3
    assert {each["podGroup"]: each["after"]["placed"] for each in found["work"]} == {
        "team/extra": 1,
        "team/old": 0,
        "team/train": 0,
    }
    assert found["idle"]["cpu"] == {"before": "10", "after": "12"}


@pytest.mark.parametrize(
    ("fail_on", "status"),
    [((), 3), (("evictions",), 0), (("evictions", "changes"), 3), (("waits",), 0), (("nothing",), 0)],
    ids=str,
)
def test_what_makes_the_status_3_can_be_chosen(cluster: str, fail_on: tuple[str, ...], status: int) -> None:
    chosen = [option for finding in fail_on for option in ("--fail-on", finding)]

    assert run("what-if", "--from", cluster, *RAISE, *chosen).exit_code == status


def test_a_new_configuration_is_planned_with_the_pods_it_would_evict(cluster: str, tmp_path: Path) -> None:
    conf, job = tmp_path / "new.conf", tmp_path / "job.yaml"
    conf.write_text(RECLAIM, encoding="utf-8")
    job.write_text(NEW_JOB.replace("CPU", "3"), encoding="utf-8")
    small = tmp_path / "small.yaml"
    small.write_text(
        CLUSTER.replace('cpu: "8", memory', 'cpu: "6", memory').replace("name: gpu-2", "name: gpu-1"), "utf-8"
    )

    result = run("config", "plan", "--from", str(small), "--from", str(job), str(conf), "--fail-on", "evictions")

    assert result.exit_code == 3
    assert "│ team/old-0 │ reclaim │" in result.output
    assert "1 more evicted" in result.output


def test_the_same_configuration_changes_nothing(cluster: str, tmp_path: Path) -> None:
    conf = tmp_path / "same.conf"
    conf.write_text(RECLAIM, encoding="utf-8")
    indented = "".join(f"    {line}\n" for line in RECLAIM.strip().splitlines())
    installed = tmp_path / "map.yaml"
    installed.write_text(
        "kind: ConfigMap\nmetadata: {name: volcano-scheduler-configmap}\ndata:\n  volcano-scheduler.conf: |\n"
        + indented,
        encoding="utf-8",
    )

    result = run("config", "plan", "--from", cluster, "--from", str(installed), str(conf))

    assert (result.exit_code, result.output) == (0, "Nothing changes.\n")


def test_a_run_that_is_ended_says_so(cluster: str) -> None:
    result = run("what-if", "--from", cluster, *RAISE, "--cycles", "1")

    assert "The cluster had not settled after 1 cycles: more may change.\n" in result.output


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ((), 2, "name a change to try, such as --add-nodes gpu-1=3; see --help"),
        (("--delete", "pod/none"), 1, "--delete pod/none: there is no pod none in the cluster"),
    ],
    ids=["no change", "no object"],
)
def test_what_cannot_be_tried_is_an_error(cluster: str, arguments: tuple[str, ...], status: int, message: str) -> None:
    result = run("what-if", "--from", cluster, *arguments)

    assert result.exit_code == status
    assert message in result.stderr


@pytest.mark.parametrize("verb", [("what-if", *RAISE), ("config", "plan", "new.conf")], ids=["what-if", "config plan"])
def test_where_the_clusters_configuration_is_invalid_the_built_in_one_is_the_basis(
    verb: tuple[str, ...], cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("new.conf").write_text(RECLAIM, encoding="utf-8")
    broken = msgspec.structs.replace(
        of_manifests(read_text(CLUSTER, cluster)), configuration="tiers: 7\n", source="ConfigMap a/b"
    )
    Path("cluster.capture").write_bytes(written(broken))

    valid, result = run(*verb, "--from", cluster), run(*verb, "--from", "cluster.capture")

    assert (result.exit_code, result.stdout) == (valid.exit_code, valid.stdout)
    assert "The configuration in ConfigMap a/b is invalid; the built-in one is used instead:\n" in result.stderr
    assert "ConfigMap a/b:1:1: error: tiers: must be a list" in result.stderr
    assert "--scheduler-conf" not in result.stderr  # it names what is tried, not what it is compared with


def test_a_configuration_to_try_that_is_invalid_is_an_error(cluster: str, tmp_path: Path) -> None:
    conf = tmp_path / "new.conf"
    conf.write_text("tiers: 7\n", encoding="utf-8")

    result = run("what-if", "--from", cluster, "--scheduler-conf", str(conf))

    assert (result.exit_code, result.stdout) == (1, "")
    assert "the scheduler configuration is invalid" in result.stderr


def test_options_and_findings_agree() -> None:
    assert set(FINDINGS) == set(Finding)
    assert "default: 500" in run("what-if", "--help").output
    assert MOST_CYCLES == 500


@pytest.mark.real_time
async def test_the_live_cluster_is_tried_on_with_the_users_login(user: UserOfCluster) -> None:
    serve(user.api, {"Pod": (waiting("alone"),)})

    result = await user.run("what-if", "--set", "pod/alone.spec.priority=7")

    assert (result.exit_code, result.stdout) == (0, "Nothing changes.\n")
    assert {request.method for request in user.api.requests} == {"GET"}


@pytest.mark.real_time
async def test_nothing_is_tried_where_too_little_can_be_read(user: UserOfCluster) -> None:
    serve(user.api)
    forbid(user.api, kinds.POD, kinds.NODE, kinds.SERVICE)

    result = await user.run("what-if", "--set", "queue/default.spec.weight=7")

    assert (result.exit_code, result.stdout) == (1, "")
    assert (
        "Error: nothing can be tried without Pod and Node objects: the ClusterRole view has the right to list them"
        in result.stderr
    )
