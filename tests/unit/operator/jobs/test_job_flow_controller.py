"""The JobFlow controller against an API server in memory, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import pairwise
from typing import Any

import pytest

from tests.support.jobs.maker_cluster import FLOWS, JOBS, TEMPLATES, MakerCluster
from volcano_py.cluster.kubernetes.http.errors import UnreachableError, api_error
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.jobs.flows.plan import PodProbe
from volcano_py.operator.jobs.job_flows import JobFlowController

TEMPLATE = {"tasks": [{"name": "work", "replicas": 1}]}


class Pods:
    """Pods that answer from a certain second on."""

    def __init__(self, cluster: MakerCluster, *, answer_after: float) -> None:
        self._cluster, self._answer_after = cluster, answer_after
        self.asked: list[tuple[float, PodProbe]] = []

    async def holds(self, namespace: str, probe: PodProbe) -> bool:
        assert namespace == "ns"
        second = self._cluster.now().timestamp() % 3600
        self.asked.append((second, probe))
        return second >= self._answer_after


def controller(cluster: MakerCluster, *, answer_after: float = 0.0) -> JobFlowController:
    pods = Pods(cluster, answer_after=answer_after)
    made = JobFlowController(
        cluster.api,
        pods,
        active=lambda: cluster.is_leading,
        record=cluster.events.append,
        now=lambda: cluster.now().timestamp(),
    )
    made.pods = pods  # type: ignore[attr-defined]
    return made


def steps(*names: str, **targets: list[str]) -> dict[str, Any]:
    """The spec of a flow: steps that depend on nothing, and others with their targets."""
    free = [{"name": name} for name in names]
    return {"flows": [*free, *({"name": name, "dependsOn": {"targets": its}} for name, its in targets.items())]}


def submit(cluster: MakerCluster, spec: dict[str, Any], *, without: str = "") -> None:
    for each in spec["flows"]:
        if each["name"] != without:
            cluster.submit(TEMPLATES, each["name"], TEMPLATE)
    cluster.submit(FLOWS, "f", spec)


@pytest.fixture
async def cluster(api: Any) -> AsyncIterator[MakerCluster]:
    made = MakerCluster(api, controller)
    yield made
    await made.stop()


async def test_jobs_are_created_one_after_the_other(cluster: MakerCluster) -> None:
    cluster.start()
    submit(cluster, steps("a", b=["a"], c=["a", "b"]))
    await cluster.live(3)
    assert cluster.jobs() == {"f-a": "Running"}
    assert cluster.status(FLOWS, "f")["state"]["phase"] == "Running"
    await cluster.live(5)
    assert cluster.jobs() == {"f-a": "Completed", "f-b": "Running"}
    await cluster.live(12)
    status = cluster.status(FLOWS, "f")
    assert (status["state"]["phase"], status["completedJobs"]) == ("Succeed", ["f-a", "f-b", "f-c"])
    assert "runningJobs" not in status
    assert cluster.messages("Created") == ["Job f-a was created", "Job f-b was created", "Job f-c was created"]
    assert cluster.status(TEMPLATES, "b") == {"jobDependsOnList": ["f-b"]}


async def test_a_flow_that_stands_still_costs_nothing(cluster: MakerCluster) -> None:
    cluster.ends = lambda name: ""
    cluster.start()
    submit(cluster, steps("a", b=["a"]))
    await cluster.live(3)
    calls = cluster.calls
    await cluster.live(300)
    assert cluster.calls == calls


async def test_counts_that_are_gone_are_gone_from_the_status(cluster: MakerCluster) -> None:
    cluster.ends = lambda name: ""
    cluster.start()
    submit(cluster, steps("a"))
    await cluster.live(1)
    for phase in ("Pending", "Running"):
        cluster.job_is(f"{JOBS}/f-a", "Running", taskStatusCount={"work": {"phase": {phase: 1}}})
        await cluster.live(1)
    condition = cluster.status(FLOWS, "f")["conditions"]["f-a"]
    assert condition["taskStatusCount"] == {"work": {"phase": {"Running": 1}}}


async def test_a_template_that_comes_later_is_waited_for(cluster: MakerCluster) -> None:
    cluster.start()
    submit(cluster, steps("a", "b"), without="a")
    await cluster.live(10)
    assert set(cluster.jobs()) == {"f-b"}
    assert len(cluster.messages("JobTemplateNotFound")) == 1
    cluster.submit(TEMPLATES, "a", TEMPLATE)
    await cluster.live(1)
    assert set(cluster.jobs()) == {"f-a", "f-b"}


async def test_a_job_that_is_refused_keeps_no_other_from_it(cluster: MakerCluster) -> None:
    refusal = api_error("POST", JOBS, 422, b'{"reason": "Invalid", "message": "spec.tasks: Required value"}')
    cluster.api.refuse("POST", JOBS, refusal)
    cluster.start()
    submit(cluster, steps("a", "b"))
    await cluster.live(0.5)
    assert "spec.tasks: Required value" in cluster.messages("FailedCreate")[0]
    assert set(cluster.jobs()) >= {"f-b"}
    await cluster.live(2)
    assert set(cluster.jobs()) == {"f-a", "f-b"}


async def test_a_patch_that_makes_no_job_keeps_no_other_step_from_it(cluster: MakerCluster) -> None:
    original = cluster.api.post

    async def post(path: ApiPath, body: Any) -> bytes:
        if str(path) == JOBS and not isinstance(body["spec"]["tasks"][0]["name"], str):
            raise api_error(
                "POST", str(path), 422, b'{"reason": "Invalid", "message": "spec.tasks[0].name: must be string"}'
            )
        answer: bytes = await original(path, body)
        return answer

    cluster.api.post = post
    cluster.start()
    spec = steps("a", "b")
    spec["flows"][0]["patch"] = {"jobSpec": {"tasks": [{"name": {"x": 1}}]}}
    submit(cluster, spec)
    await cluster.live(10)
    assert cluster.jobs() == {"f-b": "Completed"}
    assert cluster.status(FLOWS, "f")["completedJobs"] == ["f-b"]
    assert "spec.tasks[0].name: must be string" in cluster.messages("FailedCreate")[0]


async def test_a_job_that_cannot_be_read_keeps_no_other_from_it(cluster: MakerCluster) -> None:
    """Where the API server lets it in: with other CRDs than ours, say."""
    cluster.start()
    spec = steps("a", "b")
    spec["flows"][0]["patch"] = {"jobSpec": {"tasks": [{"name": {"x": 1}}]}}
    submit(cluster, spec)
    await cluster.live(30)
    assert cluster.jobs()["f-b"] == "Completed"
    assert cluster.status(FLOWS, "f")["completedJobs"] == ["f-b"]
    (reported,) = cluster.messages("FailedCreate")
    assert reported.startswith(
        "Job f-a cannot be read: Expected `str`, got `object` - at `$.spec.tasks[0].name`; correct"
    )


async def test_nothing_is_reported_for_a_flow_that_is_deleted_while_its_job_is_created(cluster: MakerCluster) -> None:
    """It would never be forgotten."""

    def deleted(verb: str, path: str) -> None:
        if (verb, path) == ("POST", JOBS) and f"{FLOWS}/f" in cluster.api.objects:
            cluster.remove(f"{FLOWS}/f")

    cluster.api.on_request = deleted
    cluster.start()
    submit(cluster, steps("a"))
    await cluster.live(5)
    assert (cluster.jobs(), cluster.events) == ({"f-a": "Completed"}, [])


async def test_a_name_that_another_object_has_is_left_alone(cluster: MakerCluster) -> None:
    cluster.submit(JOBS, "f-a", {})
    cluster.start()
    submit(cluster, steps("a", "b", c=["a"]))
    await cluster.live(20)
    assert set(cluster.jobs()) == {"f-a", "f-b"}
    (message,) = cluster.messages("ForeignJob")
    assert message.startswith("Job f-a exists but does not belong to this JobFlow")


@pytest.mark.parametrize("is_seen", [True, False])
async def test_a_name_that_becomes_free_is_taken(cluster: MakerCluster, is_seen: bool) -> None:
    """The event says: delete it. A watch that was down meanwhile shows it by a list."""
    cluster.submit(JOBS, "f-a-b", {})
    cluster.start()
    submit(cluster, steps("a-b"))
    await cluster.live(3)
    assert len(cluster.messages("ForeignJob")) == 1
    calls = cluster.calls
    await cluster.live(600)
    assert cluster.calls == calls
    if is_seen:
        cluster.remove(f"{JOBS}/f-a-b")
    else:
        del cluster.api.objects[f"{JOBS}/f-a-b"]
        cluster._seen.pop(f"{JOBS}/f-a-b")
        assert cluster.controller is not None
        cluster.controller.replace("VolcanoJob", [])
    await cluster.live(2)
    assert cluster.made == {"f-a-b": 2}
    assert cluster.messages("Created") == ["Job f-a-b was created"]


async def test_jobs_go_at_the_end_where_that_is_the_policy(cluster: MakerCluster) -> None:
    cluster.start()
    submit(cluster, {**steps("a", b=["a"]), "jobRetainPolicy": "delete"})
    await cluster.live(30)
    assert cluster.jobs() == {}
    assert cluster.made == {"f-a": 1, "f-b": 1}
    status = cluster.status(FLOWS, "f")
    assert (status["state"]["phase"], status["completedJobs"]) == ("Succeed", ["f-a", "f-b"])
    assert cluster.status(TEMPLATES, "a") == {"jobDependsOnList": []} or cluster.status(TEMPLATES, "a") == {}


async def test_jobs_that_are_gone_soon_after_their_end_are_not_created_again(cluster: MakerCluster) -> None:
    """As with ttlSecondsAfterFinished."""
    cluster.start()
    submit(cluster, steps("a", b=["a"]))
    await cluster.live(6)
    assert cluster.jobs()["f-a"] == "Completed"
    cluster.remove(f"{JOBS}/f-a")
    await cluster.live(20)
    assert cluster.made == {"f-a": 1, "f-b": 1}
    assert cluster.status(FLOWS, "f")["state"]["phase"] == "Succeed"


@pytest.mark.parametrize(("phase", "at_the_end"), [("Completed", "Succeed"), ("Failed", "Failed")])
async def test_a_job_that_ends_and_goes_while_the_status_cannot_be_written_is_not_created_again(
    cluster: MakerCluster, phase: str, at_the_end: str
) -> None:
    cluster.ends = lambda name: phase
    cluster.start()
    submit(cluster, steps("a", b=["a"]))
    await cluster.live(3)
    cluster.api.refuse_all("PATCH", "/jobflows/f/status", api_error("PATCH", FLOWS, 500, b"{}"))
    await cluster.live(4)
    assert cluster.jobs()["f-a"] == phase
    cluster.remove(f"{JOBS}/f-a")
    await cluster.live(10)
    cluster.api.relent()
    await cluster.live(40)
    assert cluster.made["f-a"] == 1
    assert cluster.status(FLOWS, "f")["state"]["phase"] == at_the_end


async def test_pods_are_asked_now_and_then_until_they_answer(api: Any) -> None:
    cluster = MakerCluster(api, lambda cluster: controller(cluster, answer_after=17.0))
    cluster.takes = 100.0
    cluster.start()
    probe = {"tcpSocketList": [{"taskName": "work", "port": 80}]}
    submit(cluster, {"flows": [{"name": "a"}, {"name": "b", "dependsOn": {"targets": ["a"], "probe": probe}}]})
    for _ in range(30):
        await cluster.live(1)
        if cluster.jobs().keys() == {"f-a"}:  # its status changes all the time, and wakes the controller
            cluster.job_is(f"{JOBS}/f-a", "Running", running=_)
    asked = cluster.controller.pods.asked  # type: ignore[union-attr]
    await cluster.stop()
    assert set(cluster.jobs()) == {"f-a", "f-b"}
    assert {question for _, question in asked} == {PodProbe("f-a", "work", 1, 80)}
    assert 4 <= len(asked) <= 5  # in 20 seconds
    assert all(later - earlier >= 5 for (earlier, _), (later, _) in pairwise(asked))


async def test_an_answer_that_is_lost_does_no_harm(cluster: MakerCluster) -> None:
    cluster.api.refuse("POST", JOBS, UnreachableError("POST", JOBS, "reset"))
    cluster.api.refuse("PATCH", FLOWS, api_error("PATCH", FLOWS, 409, b'{"reason": "Conflict"}'))
    cluster.start()
    submit(cluster, steps("a", b=["a"]))
    await cluster.live(30)
    assert cluster.made == {"f-a": 1, "f-b": 1}
    assert cluster.status(FLOWS, "f")["state"]["phase"] == "Succeed"


async def test_without_the_lease_nothing_is_written(cluster: MakerCluster) -> None:
    cluster.leads = False
    cluster.start()
    submit(cluster, steps("a"))
    await cluster.live(30)
    assert cluster.calls == 0
    cluster.leads = True
    assert isinstance(cluster.controller, JobFlowController)
    cluster.controller.leadership_gained()
    await cluster.live(1)
    assert set(cluster.jobs()) == {"f-a"}


async def lived(api: Any, life: Callable[[MakerCluster], Awaitable[None]], killing: Any) -> MakerCluster:
    cluster = MakerCluster(api, controller)
    cluster.killing = killing
    cluster.start()
    await life(cluster)
    await cluster.stop()
    return cluster


def summary(cluster: MakerCluster) -> dict[str, Any]:
    """How everything stands, without what depends on when it came about."""
    status = cluster.status(FLOWS, "f")
    return {
        "jobs": cluster.jobs(),
        "made": cluster.made,
        "phase": status["state"]["phase"],
        "lists": {key: value for key, value in status.items() if key.endswith("Jobs")},
        "states": [(each["name"], each["state"]) for each in status["jobStatusList"]],
        "templates": [obj.get("status") for obj in cluster.of(TEMPLATES).values()],
    }


LIVES: dict[str, tuple[dict[str, Any], str, str]] = {
    # the flow, the job that fails, the phase at the end
    "all complete": (steps("a", b=["a"], c=["a"], d=["b", "c"]), "", "Succeed"),
    "jobs go": ({**steps("a", b=["a"]), "jobRetainPolicy": "delete"}, "", "Succeed"),
    "one fails": (steps("a", "x", b=["a"], c=["b"]), "f-b", "Failed"),
}


@pytest.mark.parametrize("name", LIVES)
async def test_it_may_be_killed_at_any_request_and_comes_to_the_same_end(api: Any, name: str) -> None:
    """Nothing but the API server's objects outlives it."""
    spec, failing, phase = LIVES[name]

    async def life(cluster: MakerCluster) -> None:
        cluster.ends = lambda job: "Failed" if job == failing else "Completed"
        submit(cluster, spec)
        await cluster.live(40)

    undisturbed = await lived(type(api)(), life, None)
    expected = summary(undisturbed)
    assert expected["phase"] == phase
    assert set(expected["made"].values()) == {1}
    assert undisturbed.calls >= 10
    for number in range(1, undisturbed.calls + 1):
        for carried_out in (False, True):
            found = summary(await lived(type(api)(), life, (number, carried_out)))
            assert found == expected, f"killed at request {number}, carried out: {carried_out}"
