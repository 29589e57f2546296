"""`volcano-py pod list` and `podgroup list`: whose they are, and why they wait."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.unit.cli.cluster import SCHEDULING, UserOfCluster, found, pod_group, user_of_cluster
from tests.unit.cluster.fakes import eventually, page, refusal
from volcano_py.api.names import CHARGED_QUEUE

PODS, GROUPS = "/api/v1/pods", f"{SCHEDULING}/podgroups"
NO_ROOM = "NoNodeFits: 0/3 nodes are available: 3 insufficient cpu"


def pod(name: str, group: str = "", namespace: str = "ns", *, version: str = "1", **more: Any) -> dict[str, Any]:
    """A pod as a list has it; `job`, `node`, `phase`, `why`, `ready` and `scheduler` among the keywords."""
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": more.get("why", "")}
    ready = {"name": "main", "ready": True, "restartCount": 3}
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "resourceVersion": version,
            "annotations": {"scheduling.k8s.io/group-name": group} if group else {},
            "labels": {"volcano.sh/job-name": more["job"]} if "job" in more else {},
        },
        "spec": {
            "schedulerName": more.get("scheduler", "default-scheduler"),
            "nodeName": more.get("node", ""),
            "containers": [{"name": "main"}, {"name": "helper"}],
        },
        "status": {
            "phase": more.get("phase", "Pending"),
            "conditions": [condition] if "why" in more else [],
            "containerStatuses": [ready] if more.get("ready") else [],
        },
    }


def on_pods(user: UserOfCluster, *pods: dict[str, Any], path: str = PODS, groups: str = GROUPS) -> None:
    user.api.on("GET", path, page(7, *pods))
    user.api.on("GET", groups, page(7, pod_group("train", queue="team-a"), pod_group("plain")))


# -- pods -----------------------------------------------------------------------------------------------------------


async def test_pods_are_reported_with_job_queue_node_and_why_they_wait(user: UserOfCluster) -> None:
    on_pods(
        user,
        pod("train-1", "train", job="train", why=NO_ROOM),
        pod("train-0", "train", job="train", node="n1", phase="Running", ready=True, why="long past"),
        pod("single", "plain", phase="Succeeded", node="n2"),
        pod("new", scheduler="volcano"),
        pod("of-another-user"),
    )
    assert (await user.prints("pod", "list", "--all-namespaces")).splitlines() == [
        "NAMESPACE  NAME     JOB    QUEUE    READY  STATUS     RESTARTS  AGE  NODE  WHY IT WAITS",
        "ns         new      -      -          0/2  Pending           0  -    -     -",
        "ns         single   -      default    0/2  Succeeded         0  -    n2    -",
        "ns         train-0  train  team-a     1/2  Running           3  -    n1    -",
        f"ns         train-1  train  team-a     0/2  Pending           0  -    -     {NO_ROOM}",
    ]


async def test_pods_of_one_job_or_one_queue(user: UserOfCluster) -> None:
    on_pods(user, pod("a", "train"), pod("b", "plain"))
    assert [line.split()[1] for line in (await user.prints("pod", "list", "-A", "-q", "team-a")).splitlines()[1:]] == [
        "a"
    ]
    await user.prints("pod", "list", "-A", "--job", "train")
    asked = [request.query.get("labelSelector") for request in user.api.sent("GET", PODS)]
    assert asked == [None, "volcano.sh/job-name=train"]


async def test_a_pod_is_listed_in_the_queue_it_was_bound_in(user: UserOfCluster) -> None:
    """Its PodGroup was moved since. Before it is bound the annotation means nothing."""
    bound, waits = pod("bound", "train", node="n1", phase="Running"), pod("waits", "train")
    for each in (bound, waits):
        each["metadata"]["annotations"][CHARGED_QUEUE] = "team-b"
    on_pods(user, bound, waits)
    lines = (await user.prints("pod", "list", "-A")).splitlines()[1:]
    assert [line.split()[1:4] for line in lines] == [["bound", "-", "team-b"], ["waits", "-", "team-a"]]


async def test_pods_for_programs_are_the_objects_themselves(user: UserOfCluster) -> None:
    on_pods(user, pod("a", "train"), pod("of-another-user"))
    printed = orjson.loads(await user.prints("pod", "list", "-A", "-o", "json"))
    assert printed == {
        "apiVersion": "v1",
        "kind": "List",
        "items": [{"apiVersion": "v1", "kind": "Pod", **pod("a", "train")}],
    }


async def test_the_podgroup_of_a_pod_that_comes_later_is_looked_up(user: UserOfCluster) -> None:
    on_pods(user, pod("a", "train"))
    late = f"{SCHEDULING}/namespaces/ns/podgroups/late"
    user.api.on("GET", late, refusal(404, "NotFound", details={"name": "late"}))
    running = asyncio.create_task(user.run("pod", "list", "-A", "--queue", "team-b", "--watch"))
    watch = await user.api.watch()
    await watch.send("ADDED", pod("early", "late", version="8"))
    await watch.send("ADDED", pod("known", "train", version="9"))
    await eventually(lambda: user.api.sent("GET", late))
    user.api.on("GET", late, found(pod_group("late", queue="team-b")))
    await watch.send("MODIFIED", pod("early", "late", version="10"))
    await watch.send("DELETED", pod("early", "late", version="11"))
    user.api.refuse_watch(refusal(403, "Forbidden"))
    watch.end()
    lines = (await running).stdout.splitlines()
    assert [line.split()[1:6] for line in lines] == [
        ["NAME", "JOB", "QUEUE", "READY", "STATUS"],
        ["early", "-", "team-b", "0/2", "Pending"],
        ["early", "-", "team-b", "0/2", "Deleted"],
    ]


# -- namespaces -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of_context", "arguments", "namespace"),
    [
        ("", (), "default"),
        ("research", (), "research"),
        ("research", ("--namespace", "ops"), "ops"),
    ],
    ids=["none", "the context's", "the one asked for"],
)
async def test_the_namespace_is_the_one_asked_for_or_the_contexts(
    tmp_path: Path, of_context: str, arguments: tuple[str, ...], namespace: str
) -> None:
    async with user_of_cluster(tmp_path, of_context) as user:
        path, groups = f"/api/v1/namespaces/{namespace}/pods", f"{SCHEDULING}/namespaces/{namespace}/podgroups"
        on_pods(user, path=path, groups=groups)
        for verb, kind in (("pod", "Pod"), ("podgroup", "PodGroup")):
            result = await user.run(verb, "list", *arguments)
            assert result.exit_code == 0, result.output
            assert verb == "podgroup" or result.stderr == f"There is no {kind} to show.\n"


@pytest.mark.parametrize("verb", ["pod", "podgroup"])
async def test_one_namespace_or_all_but_not_both(user: UserOfCluster, verb: str) -> None:
    result = await user.run(verb, "list", "--namespace", "a", "--all-namespaces")
    assert result.exit_code == 2
    assert result.stderr.endswith("Error: --all-namespaces and --namespace exclude each other: use only one of them\n")


# -- PodGroups ------------------------------------------------------------------------------------------------------


async def test_podgroups_are_reported_with_what_they_wait_for(user: UserOfCluster) -> None:
    """What a PodGroup that runs has waited for is past."""
    waiting = pod_group("b", phase="Inqueue", why="NoNodeFits: 1/4", queue="team-a")
    running = pod_group("a", phase="Running", why="past", queue="team-a", minMember=4)
    running["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "train", "uid": "1", "controller": True}]
    running["status"] |= {"running": 3, "succeeded": 1, "failed": 2}
    user.api.on("GET", GROUPS, page(7, waiting, running, pod_group("c")))
    assert (await user.prints("podgroup", "list", "-A")).splitlines() == [
        "NAMESPACE  NAME  OWNER      QUEUE    PHASE    MIN MEMBER  RUNNING  SUCCEEDED  FAILED  AGE  WHY IT WAITS",
        "ns         a     Job/train  team-a   Running           4        3          1       2  -    -",
        "ns         b     -          team-a   Inqueue           1        0          0       0  -    NoNodeFits: 1/4",
        "ns         c     -          default  Pending           1        0          0       0  -    -",
    ]
    queued = await user.prints("podgroup", "list", "-A", "--queue", "default", "-o", "json")
    assert [each["metadata"]["name"] for each in orjson.loads(queued)["items"]] == ["c"]


async def test_podgroups_that_run_say_that_their_queue_does_not_exist(user: UserOfCluster) -> None:
    why = "QueueNotFound: queue team-a does not exist: create it"
    missing, back, at_once, done = (
        pod_group(name, phase=phase, why=why, queue="team-a")
        for name, phase in (("a", "Running"), ("b", "Running"), ("c", "Running"), ("d", "Completed"))
    )
    for group, well in ((missing, 7), (back, 9), (at_once, 8)):
        group["status"]["conditions"][0]["lastTransitionTime"] = "2026-11-02T12:00:08Z"
        ready = {"type": "Scheduled", "status": "True", "lastTransitionTime": f"2026-11-02T12:00:0{well}Z"}
        group["status"]["conditions"].append(ready)
    user.api.on("GET", GROUPS, page(7, missing, back, at_once, done))
    lines = (await user.prints("podgroup", "list", "-A")).splitlines()[1:]
    assert [line.rpartition("  -    ")[2] for line in lines] == [why, "-", "-", "-"]


async def test_a_narrow_terminal_shows_whose_podgroups_they_are(
    user: UserOfCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    generated = pod_group("podgroup-0f5c6e2e-5d0c-4b3e-9f0e-3c9c0b1d2e3f", phase="Running")
    generated["metadata"]["ownerReferences"] = [
        {"kind": "ReplicaSet", "name": "web-5d4f8c7b9", "uid": "1", "controller": True}
    ]
    for name, value in {"TTY_COMPATIBLE": "1", "TERM": "dumb", "COLUMNS": "100", "LINES": "50"}.items():
        monkeypatch.setenv(name, value)
    user.api.on("GET", GROUPS, page(7, generated))
    lines = (await user.prints("podgroup", "list", "-A")).splitlines()
    assert [line.split() for line in lines] == [
        ["NAMESPACE", "NAME", "OWNER", "PHASE", "AGE"],
        ["WHY", "IT", "WAITS"],
        ["ns", generated["metadata"]["name"], "ReplicaSet/web-5d4f8c7b9", "Running", "-", "-"],
    ]

    user.api.on("GET", f"{SCHEDULING}/namespaces/ns/podgroups", page(7, generated))
    in_one = (await user.prints("podgroup", "list", "-n", "ns")).splitlines()
    assert in_one[0].split()[:3] == ["NAME", "OWNER", "PHASE"], "NAMESPACE is the same in all rows"


@pytest.mark.parametrize("verb", ["pod", "podgroup"])
async def test_all_namespaces_can_be_distinguished_on_a_narrow_terminal(
    user: UserOfCluster, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("COLUMNS", "50")
    user.api.on("GET", GROUPS, page(7, pod_group("quota-train")))
    user.api.on("GET", PODS, page(7, pod("quota-train-0", "quota-train")))
    assert "NAMESPACE" in (await user.prints(verb, "list", "-A")).splitlines()[0]


async def test_one_that_cannot_be_read_is_a_row_and_spoils_no_other(user: UserOfCluster) -> None:
    user.api.on("GET", GROUPS, page(7, pod_group("odd", queue="team-a", minMember="three"), pod_group("train")))
    assert (await user.prints("podgroup", "list", "-A")).splitlines() == [
        "NAMESPACE  NAME   OWNER  QUEUE    PHASE       MIN MEMBER  RUNNING  SUCCEEDED  FAILED  AGE  WHY IT WAITS",
        "ns         odd    -      -        Unreadable           -        -          -       -  -    -",
        "ns         train  -      default  Pending              1        0          0       0  -    -",
    ]
    assert "Unreadable" in await user.prints("podgroup", "list", "-A", "--queue", "team-a")
    user.api.on("GET", PODS, page(7, pod("a", "odd"), {**pod("b", "train"), "spec": {"containers": "none"}}))
    assert (await user.prints("pod", "list", "-A")).splitlines() == [
        "NAMESPACE  NAME  JOB  QUEUE   READY  STATUS      RESTARTS  AGE  NODE  WHY IT WAITS",
        "ns         a     -    team-a    0/2  Pending            0  -    -     -",
        "ns         b     -    -           -  Unreadable         -  -    -     -",
    ]


async def test_a_null_is_nothing(user: UserOfCluster) -> None:
    user.api.on("GET", GROUPS, page(7, pod_group("train", queue=None, priorityClassName=None)))
    assert "train  -      default  Pending" in await user.prints("podgroup", "list", "-A", "-q", "default")


async def test_a_message_of_several_lines_is_one_line(user: UserOfCluster) -> None:
    user.api.on("GET", GROUPS, page(7, pod_group("a", why="one\ntwo \x1b[31m")))
    (_, line) = (await user.prints("podgroup", "list", "-A")).splitlines()
    assert line.endswith("-    one two  [31m")
