"""The tables of the page, from the objects of a cluster."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.unit.ui.cluster import OBJECTS, board, board_of, cluster
from volcano_py.api.objects import ObjectMeta, Pod
from volcano_py.api.report import CycleReport
from volcano_py.cluster.kubernetes.watching.kinds import ConfigMap
from volcano_py.scheduler import Scheduler
from volcano_py.standing import standings
from volcano_py.ui.board.board import BoardMaker
from volcano_py.ui.board.judgement import Judge
from volcano_py.ui.board.model import ConfigurationRow, JobRow


def row(table: str, key: str, text: str = OBJECTS) -> dict[str, Any]:
    """As the browser gets it."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(board(text)[table][key]))
    return found


def test_the_cluster_counts_what_is_used_and_idle_where_pods_may_go() -> None:
    cluster = row("cluster", "cluster")
    assert (cluster["nodes"], cluster["running"], cluster["waiting"]) == (2, 1, 1)
    assert cluster["allocatable"]["cpu"] == 16_000
    assert cluster["used"]["cpu"] == 3_000
    assert cluster["idle"]["cpu"] == 5_000, "n2 is cordoned"


def test_a_queue_has_the_sums_and_jobs_of_those_below_it() -> None:
    research, vision = row("queues", "research"), row("queues", "vision")
    assert (vision["parent"], vision["depth"]) == ("research", 2)
    assert research["allocated"]["cpu"] == vision["allocated"]["cpu"] == 3_000
    assert research["capability"] == {"cpu": 4_000}
    assert (research["running"], research["waiting"]) == (1, 1)
    assert research["leaf"] is False


def test_a_job_says_how_it_stands_and_why_it_waits() -> None:
    runs, waits = row("jobs", "team/runs"), row("jobs", "team/waits")
    assert (runs["state"], runs["placed"], runs["allocated"]["cpu"]) == ("Running", 1, 3_000)
    assert (waits["state"], waits["waiting"], waits["reason"]) == ("Waiting", 1, "NeverFits")
    assert "16 cpu" in waits["message"]
    assert not waits["message"].startswith("NeverFits")


def test_a_job_that_the_next_cycle_places_is_starting() -> None:
    assert row("jobs", "team/waits", OBJECTS.replace('cpu: "16"', 'cpu: "1"'))["state"] == "Starting"


def test_what_the_next_cycle_places_is_not_held_yet() -> None:
    assert row("queues", "vision", OBJECTS.replace('cpu: "16"', 'cpu: "1"'))["allocated"]["cpu"] == 3_000


@pytest.mark.parametrize("plugin", ["proportion", "capacity", "drf", "priority"])
def test_queues_are_judged_as_found_in_the_one_cycle_that_tries_the_jobs(
    plugin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = f'actions: "enqueue, allocate"\ntiers: [{{plugins: [{{name: gang}}, {{name: {plugin}}}]}}]'
    shown = cluster(OBJECTS.replace('cpu: "16"', 'cpu: "1"').replace("phase: Inqueue", "phase: Pending"))
    shown.upsert(
        "ConfigMap",
        ConfigMap(metadata=ObjectMeta(name="c", namespace="s"), data={"volcano-scheduler.conf": configuration}),
    )
    seen = shown.seen()
    assert seen.parsed.config is not None
    untouched = Scheduler(shown.registry, lambda effects: None).run_cycle(
        seen.snapshot, seen.configuration, decide=False
    )
    cycles, run_cycle = [], Scheduler.run_cycle

    def counted(scheduler: Scheduler, *args: Any, **kwargs: Any) -> CycleReport:
        cycles.append(scheduler)
        return run_cycle(scheduler, *args, **kwargs)

    monkeypatch.setattr(Scheduler, "run_cycle", counted)
    judgement = Judge(shown.registry).judge(seen.snapshot, seen.configuration)
    assert judgement.standings == tuple(standings(untouched.queues, seen.configuration))
    assert not judgement.pending, "the job has a place now"
    assert len(cycles) == 1


def test_pods_that_name_a_missing_podgroup_are_shown_with_their_reason() -> None:
    text = OBJECTS.replace("group-name: waits}", "group-name: nowhere}")
    missing = row("jobs", "team/nowhere", text)
    assert (missing["state"], missing["reason"], missing["waiting"]) == ("Waiting", "PodGroupNotFound", 1)


def test_a_node_says_what_is_used_and_where_it_is() -> None:
    first, second = row("nodes", "n1"), row("nodes", "n2")
    assert (first["used"]["cpu"], first["pods"], first["zone"]) == (3_000, 1, "z1")
    assert (second["closed"], second["pods"]) == (True, 0)


DEVICES = """
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu},
 spec: {extendedResourceName: example.com/gpu}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: n1},
 spec: {driver: gpu.example.com, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 1},
  devices: [{name: d0}, {name: d1}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: all},
 spec: {driver: gpu.example.com, allNodes: true, pool: {name: all, generation: 1, resourceSliceCount: 1},
  devices: [{name: d0}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: asks, namespace: team},
 spec: {schedulerName: volcano, containers: [{name: c, resources: {requests: {example.com/gpu: "9"}}}]}}
"""


def test_devices_that_stand_in_for_a_resource_count_for_nodes_and_once_for_the_cluster() -> None:
    text = OBJECTS + DEVICES
    assert [row("nodes", name, text)["allocatable"].get("example.com/gpu") for name in ("n1", "n2")] == [3, 1]
    cluster = row("cluster", "cluster", text)
    assert (cluster["allocatable"]["example.com/gpu"], cluster["idle"]["example.com/gpu"]) == (3, 3), "n2 is cordoned"


def test_a_node_names_its_hyper_nodes_from_the_widest_on() -> None:
    tree = """
---
{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: rack},
 spec: {tier: 1, members: [{type: Node, selector: {exactMatch: {name: n1}}}]}}
---
{apiVersion: topology.volcano.sh/v1alpha1, kind: HyperNode, metadata: {name: spine},
 spec: {tier: 2, members: [{type: HyperNode, selector: {exactMatch: {name: rack}}}]}}
"""
    assert row("nodes", "n1", OBJECTS + tree)["domains"] == ["spine", "rack"]
    assert "domains" not in row("nodes", "n2", OBJECTS + tree)


CONFIG_MAP = """
---
apiVersion: v1
kind: ConfigMap
metadata: {name: volcano-scheduler-configmap, namespace: volcano-system}
data:
  volcano-scheduler.conf: |"""


def test_the_configuration_shows_tiers_and_what_differs_from_the_defaults() -> None:
    text = (
        OBJECTS
        + CONFIG_MAP
        + """
    actions: "enqueue, allocate"
    tiers:
    - plugins: [{name: priority, enableJobOrder: false}]
    - plugins: [{name: nodeorder, arguments: {leastrequested.weight: 3}}, {name: gang, colour: red}]
"""
    )
    found = row("configuration", "configuration", text)
    assert found["actions"] == ["enqueue", "allocate"]
    assert [[plugin["name"] for plugin in tier] for tier in found["tiers"]] == [["priority"], ["nodeorder", "gang"]]
    assert found["tiers"][0][0]["says"] == {"enableJobOrder": "false"}
    assert found["tiers"][1][0]["says"] == {"leastrequested.weight": "3"}
    assert {each["severity"] for each in found["findings"]} == {"warning"}
    assert any("colour" in each["message"] + each["path"] for each in found["findings"])


def test_the_configuration_is_shown_without_passwords() -> None:
    text = (
        OBJECTS
        + CONFIG_MAP
        + """
    actions: "enqueue, allocate"
    tiers: [{plugins: [{name: gang}]}]
    metrics: {type: elasticsearch, address: "https://e", elasticsearch.username: me, elasticsearch.password: hunter2}
"""
    )
    found = row("configuration", "configuration", text)
    assert "elasticsearch.username" in str(found)
    assert "hunter2" not in str(found)


def test_the_board_is_shown_by_the_last_valid_configuration() -> None:
    shown = cluster()
    broken = ConfigMap(
        metadata=ObjectMeta(name="c", namespace="s"), data={"volcano-scheduler.conf": 'actions: "enqueue, sleep"'}
    )
    shown.upsert("ConfigMap", broken)
    found = board_of(shown)["configuration"]["configuration"]
    assert isinstance(found, ConfigurationRow)
    assert not found.in_use
    assert found.actions == ("enqueue", "allocate", "backfill")
    assert any("sleep" in each.message for each in found.findings)


def test_what_has_not_changed_is_the_same_row_and_what_has_is_another() -> None:
    shown = cluster()
    seen = shown.seen()
    judgement = Judge(shown.registry).judge(seen.snapshot, seen.configuration)
    maker = BoardMaker()
    before = maker.make(seen, judgement)
    (runs,) = (pod for pod in shown.objects("Pod", Pod) if pod.metadata.name == "runs-0")
    shown.delete("Pod", runs)
    after = maker.make(shown.seen(), judgement)
    same = {(table, key) for table in after for key, row in after[table].items() if before[table].get(key) is row}
    assert {("jobs", "team/waits"), ("nodes", "n2"), ("queues", "research")} <= same
    assert not {("jobs", "team/runs"), ("nodes", "n1")} & same


def test_a_job_is_new_until_the_scheduler_has_seen_it_and_waits_no_longer_once_it_is_placed() -> None:
    shown, earlier = cluster(), cluster(OBJECTS.replace("waits", "other"))
    seen = earlier.seen()
    judgement = Judge(shown.registry).judge(seen.snapshot, seen.configuration)
    jobs = BoardMaker().make(shown.seen(), judgement)["jobs"]
    assert isinstance(new := jobs["team/waits"], JobRow)
    assert new.state == "New"
    seen = shown.seen()
    judgement = Judge(shown.registry).judge(seen.snapshot, seen.configuration)
    (pod,) = (pod for pod in shown.objects("Pod", Pod) if pod.metadata.name == "waits-0")
    shown.upsert("Pod", replace(pod, spec=replace(pod.spec, node_name="n1")))
    placed = BoardMaker().make(shown.seen(), judgement)["jobs"]["team/waits"]
    assert isinstance(placed, JobRow)
    assert (placed.state, placed.reason) == ("Running", "")
