"""The queue controller against an API server in memory: what it writes and when, and what it does in trouble."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from tests.support.jobs.controllers import Controlled
from volcano_py.api.effects import Event
from volcano_py.api.objects import ObjectMeta, PodGroup, PodGroupSpec, PodGroupStatus, Queue
from volcano_py.cluster.kubernetes.http.errors import UnreachableError, api_error
from volcano_py.operator.queues.controller import QueueController
from volcano_py.operator.queues.states import PodGroupCounts, QueueAction

QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
OPEN, CLOSE = QueueAction.OPEN, QueueAction.CLOSE


NO_COUNTS = PodGroupCounts().as_status()


class Cluster(Controlled[QueueController]):
    """The API with root and default in it, and a controller that is shown what is there."""

    def __init__(self, api: Any, events: list[Event], **options: Any) -> None:
        self.api, self.events, self.leads = api, events, True
        self.controller = QueueController(api, active=lambda: self.leads, record=events.append, **options)

    def queue(self, name: str, state: str = "Open", *, parent: str = "root", **status: Any) -> Queue:
        """Create a queue, or change it, and let the controller see it."""
        spec = {} if name == "root" else {"parent": parent}
        body: dict[str, Any] = {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": spec}
        if state:
            body["status"] = {"state": state, "allocated": {"cpu": "1"}} | NO_COUNTS | status
        self.api.put(f"{QUEUES}/{name}", body)
        return self.see(name)

    def see(self, name: str) -> Queue:
        """Let the controller see the queue as it is."""
        queue = msgspec.convert(self.api.objects[f"{QUEUES}/{name}"], Queue)
        self.controller.upsert("Queue", queue)
        return queue

    def group(self, name: str, queue: str = "team", phase: str = "Pending") -> PodGroup:
        """Let the controller see a PodGroup."""
        group = PodGroup(
            metadata=ObjectMeta(name=name, namespace="ns"),
            spec=PodGroupSpec(queue=queue),
            status=PodGroupStatus(phase=phase),
        )
        self.controller.upsert("PodGroup", group)
        return group

    def status(self, name: str) -> dict[str, Any]:
        status: dict[str, Any] = self.api.objects[f"{QUEUES}/{name}"]["status"]
        return status

    def state(self, name: str) -> str:
        state: str = self.status(name)["state"]
        return state

    def mark(self, name: str) -> str | None:
        metadata = self.api.objects[f"{QUEUES}/{name}"]["metadata"]
        mark: str | None = metadata.get("annotations", {}).get("volcano.sh/closed-by-parent")
        return mark

    def messages(self) -> list[tuple[str, str, str]]:
        return [(event.type, event.reason, event.message) for event in self.events]


@pytest.fixture
def cluster(api: Any, events: list[Event]) -> Cluster:
    cluster = Cluster(api, events)
    cluster.queue("root")
    cluster.queue("default")
    return cluster


async def test_the_queues_that_must_exist_are_created(api: Any, events: list[Event]) -> None:
    cluster = Cluster(api, events)
    async with cluster.running() as controller:
        await asyncio.sleep(1)
        await controller.idle()
    assert api.objects[f"{QUEUES}/root"]["spec"] == {"weight": 1, "reclaimable": False}
    assert api.objects[f"{QUEUES}/default"]["spec"] == {"weight": 1, "reclaimable": True, "parent": "root"}
    assert (cluster.state("root"), cluster.state("default")) == ("Open", "Open")
    assert events == []


async def test_queues_that_exist_are_not_created(cluster: Cluster) -> None:
    await cluster.settle()
    assert cluster.api.requests == []


async def test_the_queues_that_must_exist_are_there_once_all_have_been_seen(api: Any, events: list[Event]) -> None:
    """Seen in the feed, which reports everything; here the answer to their creation is not passed to it."""
    cluster = Cluster(api, events)
    async with cluster.running() as controller:
        await asyncio.sleep(1)
        assert not controller.initial.exist.is_set()
        cluster.see("root")
        assert not controller.initial.exist.is_set()
        cluster.see("default")
        assert controller.initial.exist.is_set()


@pytest.mark.parametrize("theirs", [(), ("root",), ("root", "default")], ids=["none", "one", "both"])
async def test_queues_that_had_to_be_created_are_known_without_a_watch(
    theirs: tuple[str, ...], api: Any, events: list[Event]
) -> None:
    """Nor when another replica was faster with some."""
    made: list[str] = []

    def feed(queue: Queue) -> None:
        made.append(queue.metadata.name)
        world.controller.upsert("Queue", queue)

    world = Cluster(api, events, on_created=feed)
    for name in theirs:
        api.put(f"{QUEUES}/{name}", {"metadata": {"name": name, "uid": f"uid-{name}"}})
    async with world.running() as controller:
        await controller.initial.exist.wait()

    assert made == ["root", "default"]


async def test_queues_that_cannot_be_created_are_not_waited_for(api: Any, events: list[Event]) -> None:
    cluster = Cluster(api, events)
    api.refuse_all("POST", "queues", api_error("POST", QUEUES, 403, b""))
    async with cluster.running() as controller:
        await asyncio.sleep(0.5)
        assert controller.initial.exist.is_set()


async def test_a_queue_that_another_replica_has_just_created_is_no_failure(cluster: Cluster) -> None:
    cluster.controller.replace("Queue", [])
    async with cluster.running():
        await asyncio.sleep(1)
    assert cluster.api.count("POST") == 2


async def test_creating_is_tried_every_second_until_it_works(api: Any, events: list[Event]) -> None:
    cluster = Cluster(api, events, default_queue="research")
    api.refuse("POST", "queues", *[UnreachableError("POST", QUEUES, "refused")] * 59)
    async with cluster.running():
        await asyncio.sleep(58.5)
        assert f"{QUEUES}/root" not in api.objects
        await asyncio.sleep(1)
    assert {f"{QUEUES}/root", f"{QUEUES}/research"} <= api.objects.keys()


async def test_after_a_minute_of_failures_it_is_tried_less_often_but_never_given_up(
    api: Any, events: list[Event]
) -> None:
    cluster = Cluster(api, events)
    api.refuse("POST", "queues", *[api_error("POST", QUEUES, 403, b"")] * 61)
    async with cluster.running():
        await asyncio.sleep(59.5)
        assert api.count("POST") == 60
        await asyncio.sleep(31)
        assert api.count("POST") == 61
        await asyncio.sleep(30)
    assert f"{QUEUES}/default" in api.objects


async def test_a_deleted_default_queue_is_created_again(cluster: Cluster) -> None:
    async with cluster.running() as controller:
        await controller.idle()
        controller.delete("Queue", msgspec.convert(cluster.api.objects.pop(f"{QUEUES}/default"), Queue))
        await asyncio.sleep(1)
    assert f"{QUEUES}/default" in cluster.api.objects


async def test_a_new_queue_gets_a_state_and_a_parent(cluster: Cluster) -> None:
    cluster.queue("team", "", parent="")
    await cluster.settle()
    assert cluster.api.objects[f"{QUEUES}/team"]["spec"]["parent"] == "root"
    # Volcano's own CRD requires `allocated`.
    assert cluster.status("team") == {"state": "Open", "allocated": {}} | NO_COUNTS
    assert cluster.events == []


async def test_counts_follow_the_phases_of_the_pod_groups(cluster: Cluster) -> None:
    cluster.queue("team")
    for name, phase in {"a": "", "b": "Inqueue", "c": "Running", "d": "Running", "e": "Completed"}.items():
        cluster.group(name, phase=phase)
    elsewhere = cluster.group("x", queue="")
    await cluster.settle()
    assert cluster.status("team") == {
        "state": "Open",
        "allocated": {"cpu": "1"},
        "pending": 1,
        "inqueue": 1,
        "running": 2,
        "unknown": 0,
        "completed": 1,
    }
    assert cluster.status("default")["pending"] == 1
    cluster.group("b", phase="Running")
    cluster.group("c", queue="default", phase="Running")
    cluster.controller.delete("PodGroup", elsewhere)
    await asyncio.sleep(1)
    await cluster.settle()
    assert {key: cluster.status("team")[key] for key in ("inqueue", "running")} == {"inqueue": 0, "running": 2}
    assert {key: cluster.status("default")[key] for key in ("pending", "running")} == {"pending": 0, "running": 1}


async def test_a_new_list_of_pod_groups_corrects_the_counts(cluster: Cluster) -> None:
    cluster.queue("team")
    kept, _ = cluster.group("kept"), cluster.group("gone")
    cluster.controller.replace("PodGroup", [kept])
    await cluster.settle()
    assert cluster.status("team")["pending"] == 1


async def test_counts_are_written_once_a_second_at_most(cluster: Cluster) -> None:
    cluster.queue("team")
    async with cluster.running() as controller:
        for number in range(1000):
            cluster.group(f"g-{number}")
            await asyncio.sleep(0.01)
        await controller.idle()
    assert cluster.status("team")["pending"] == 1000
    assert 10 <= cluster.api.count("PATCH") <= 12


async def test_a_change_of_state_does_not_wait_for_the_second_to_pass(cluster: Cluster) -> None:
    cluster.queue("team")
    async with cluster.running() as controller:
        cluster.group("a")
        await asyncio.sleep(0.5)
        controller.request("team", CLOSE, "Command ns/c")
        await asyncio.sleep(0.1)
        assert cluster.state("team") == "Closing"


async def test_a_queue_as_it_should_be_is_never_written(cluster: Cluster) -> None:
    cluster.queue("team", pending=1)
    cluster.group("a")
    await cluster.settle()
    cluster.queue("team", pending=1, allocated={"cpu": "7"})
    await cluster.settle()
    assert cluster.api.requests == []


async def test_what_is_allocated_is_never_written(cluster: Cluster) -> None:
    cluster.queue("team")
    cluster.group("a")
    await cluster.settle()
    (patch,) = cluster.api.patches
    assert patch == (f"{QUEUES}/team/status", {"metadata": {"uid": "uid-team"}, "status": {"pending": 1}})


async def test_a_queue_closes_when_its_last_pod_group_is_gone(cluster: Cluster) -> None:
    cluster.queue("team")
    group = cluster.group("a")
    async with cluster.running() as controller:
        controller.request("team", CLOSE, "Command ns/close-team")
        await controller.idle()
        assert cluster.state("team") == "Closing"
        controller.delete("PodGroup", group)
        await controller.idle()
    assert cluster.state("team") == "Closed"
    assert cluster.messages() == [
        (
            "Normal",
            "CloseQueue",
            "queue team is Closing until its 1 PodGroup is gone, requested by Command ns/close-team",
        ),
        ("Normal", "SyncQueue", "queue team is Closed"),
    ]


async def test_children_close_and_open_with_their_parent(cluster: Cluster) -> None:
    """root ── dept ── team ── user, and `other`, closed by hand, below dept."""
    cluster.queue("dept")
    cluster.queue("team", parent="dept")
    cluster.queue("user", parent="team")
    cluster.queue("other", "Closed", parent="dept")
    cluster.group("a", queue="user")
    async with cluster.running() as controller:
        controller.request("dept", CLOSE, "Command ns/c")
        await controller.idle()
        states = {name: (cluster.state(name), cluster.mark(name)) for name in ("dept", "team", "user", "other")}
        assert states == {
            "dept": ("Closed", None),
            "team": ("Closed", "true"),
            "user": ("Closing", "true"),
            "other": ("Closed", None),
        }
        controller.request("dept", OPEN, "Command ns/o")
        await controller.idle()
    states = {name: (cluster.state(name), cluster.mark(name)) for name in ("dept", "team", "user", "other")}
    assert states == {
        "dept": ("Open", None),
        "team": ("Open", "false"),
        "user": ("Open", "false"),
        "other": ("Closed", None),
    }
    assert ("Normal", "SyncQueue", "queue team is Closed, like its parent dept") in cluster.messages()


async def test_a_child_is_not_opened_under_a_closed_parent(cluster: Cluster) -> None:
    cluster.queue("dept", "Closed")
    cluster.queue("team", "Closed", parent="dept")
    async with cluster.running() as controller:
        controller.request("team", OPEN, "Command ns/o")
        await controller.idle()
    assert cluster.state("team") == "Closed"
    assert cluster.messages() == [
        ("Warning", "OpenQueue", "queue team cannot be opened while its parent dept is Closed; open the parent first")
    ]


async def test_a_change_of_state_is_not_based_on_an_old_view(cluster: Cluster) -> None:
    """The queue was opened behind our back; what looks as if it could close must not."""
    cluster.queue("team", "Closing")
    newer: dict[str, Any] = {"metadata": {"name": "team", "uid": "uid-team"}, "spec": {"parent": "root"}}
    newer["status"] = {"state": "Open"} | NO_COUNTS
    cluster.api.put(f"{QUEUES}/team", newer)
    await cluster.settle()
    assert cluster.state("team") == "Open"
    assert cluster.api.requests == [f"PATCH {QUEUES}/team/status", f"GET {QUEUES}/team"]


async def test_a_late_event_from_before_our_own_write_is_ignored(cluster: Cluster) -> None:
    old = cluster.queue("team", "Closing")
    async with cluster.running() as controller:
        await controller.idle()
        controller.request("team", OPEN, "Command ns/o")
        await controller.idle()
        controller.upsert("Queue", old)
        await controller.idle()
    assert cluster.state("team") == "Open"


async def test_a_stop_between_mark_and_state_is_repaired_by_the_next_replica(
    cluster: Cluster, events: list[Event]
) -> None:
    cluster.queue("dept", "Closed")
    cluster.queue("team", parent="dept")
    cluster.api.refuse_all("PATCH", "team/status", UnreachableError("PATCH", QUEUES, "stopped"))
    async with cluster.running():
        await asyncio.sleep(0.1)
    assert (cluster.state("team"), cluster.mark("team")) == ("Open", "true")
    cluster.api.relent()
    again = Cluster(cluster.api, events)
    for name in ("root", "default", "dept", "team"):
        again.see(name)
    await again.settle()
    assert (cluster.state("team"), cluster.mark("team")) == ("Closed", "true")


async def test_two_replicas_at_once_agree(cluster: Cluster, events: list[Event]) -> None:
    other = Cluster(cluster.api, events)
    cluster.queue("dept", "Closed")
    cluster.queue("team", "", parent="dept")
    for name in ("root", "default", "dept", "team"):
        other.see(name)
    cluster.api.latency = 0.01
    async with cluster.running() as one, other.running() as two:
        await asyncio.gather(one.idle(), two.idle())
    assert (cluster.state("team"), cluster.mark("team")) == ("Closed", "true")


async def test_without_the_lease_nothing_is_written_and_with_it_everything_is(cluster: Cluster) -> None:
    cluster.leads = False
    cluster.queue("team", "")
    async with cluster.running() as controller:
        await asyncio.sleep(1)
        assert cluster.api.requests == []
        cluster.leads = True
        controller.leadership_gained()
        await controller.idle()
    assert cluster.state("team") == "Open"


async def test_a_write_that_keeps_failing_is_given_up_with_a_warning(cluster: Cluster) -> None:
    cluster.queue("team")
    cluster.api.refuse_all("PATCH", "team", api_error("PATCH", QUEUES, 403, b'{"message": "no"}'))
    async with cluster.running() as controller:
        controller.request("team", CLOSE, "Command ns/c")
        await controller.idle()
    assert cluster.api.count("PATCH") == 16
    assert cluster.messages() == [
        ("Warning", "CloseQueue", f"CloseQueue of queue team failed 16 times: PATCH {QUEUES}: 403: no")
    ]
    assert cluster.state("team") == "Open"


async def test_a_server_that_is_away_for_long_is_waited_for(cluster: Cluster) -> None:
    """Nothing else would bring the queue to the controller's attention again."""
    cluster.queue("team")
    cluster.api.refuse("PATCH", "team", *[api_error("PATCH", QUEUES, 503, b"")] * 40)
    async with cluster.running() as controller:
        controller.request("team", CLOSE, "Command ns/c")
        await controller.idle()
    assert cluster.state("team") == "Closed"


async def test_with_a_negative_number_it_is_never_given_up(api: Any, events: list[Event]) -> None:
    cluster = Cluster(api, events, max_requeues=-1)
    cluster.queue("team")
    api.refuse("PATCH", "team", *[api_error("PATCH", QUEUES, 403, b"")] * 40)
    async with cluster.running() as controller:
        controller.request("team", CLOSE, "Command ns/c")
        await controller.idle()
    assert cluster.state("team") == "Closed"


async def test_counts_that_cannot_be_written_are_tried_again(cluster: Cluster) -> None:
    cluster.queue("team")
    cluster.api.refuse("PATCH", "team", *[api_error("PATCH", QUEUES, 500, b"")] * 3)
    cluster.group("a")
    await cluster.settle()
    assert cluster.status("team")["pending"] == 1


async def test_a_queue_that_is_gone_is_no_failure(cluster: Cluster) -> None:
    cluster.queue("team", "")
    del cluster.api.objects[f"{QUEUES}/team"]
    await cluster.settle()
    assert cluster.events == []


async def test_a_request_for_a_queue_not_seen_yet_reads_it(cluster: Cluster) -> None:
    body = {"metadata": {"name": "new", "uid": "uid-new"}, "spec": {"parent": "root"}, "status": {"state": "Open"}}
    cluster.api.put(f"{QUEUES}/new", body)
    cluster.controller.request("new", CLOSE, "Command ns/c")
    await cluster.settle()
    assert cluster.state("new") == "Closed"


@pytest.mark.parametrize(("name", "uid"), [("nowhere", ""), ("team", "uid-of-its-predecessor")])
async def test_a_request_for_a_queue_that_is_not_there_is_dropped(cluster: Cluster, name: str, uid: str) -> None:
    cluster.queue("team")
    cluster.controller.request(name, CLOSE, "Command ns/c", uid)
    await cluster.settle()
    assert cluster.state("team") == "Open"
    assert cluster.api.count("PATCH") == 0


async def test_a_later_request_replaces_an_earlier_one(cluster: Cluster) -> None:
    cluster.queue("team")
    cluster.api.latency = 1
    async with cluster.running() as controller:
        controller.request("team", CLOSE, "Command ns/c")
        await asyncio.sleep(0.5)
        controller.request("team", OPEN, "Command ns/o")
        await controller.idle()
    assert cluster.state("team") == "Open"


async def test_a_queue_in_an_unknown_state_is_left_alone_with_a_warning(cluster: Cluster) -> None:
    cluster.queue("team", "Paused")
    await cluster.settle()
    assert cluster.state("team") == "Paused"
    ((severity, reason, message),) = cluster.messages()
    assert (severity, reason) == ("Warning", "SyncQueue")
    assert "queue team is not managed: status.state is 'Paused'; it must be one of" in message


SPOILT = {"weight": "heavy"}
"""A spec that cannot be read: without validation in the CRD it can be stored."""


async def test_a_queue_that_must_exist_and_cannot_be_read_is_not_waited_for(api: Any, events: list[Event]) -> None:
    """It exists, and who reads it says what is wrong with it; decisions wait for the queues that must exist."""
    world = Cluster(api, events)
    api.put(f"{QUEUES}/default", {"metadata": {"name": "default", "uid": "uid-default"}, "spec": SPOILT})
    async with world.running() as controller:
        await controller.initial.exist.wait()
        assert f"{QUEUES}/root" in api.objects
        await asyncio.sleep(1)
        assert api.count("POST") == 2


async def test_the_answer_to_a_write_that_cannot_be_read_is_no_reason_to_write_again(cluster: Cluster) -> None:
    """The queue was made unreadable in the meantime; its counts are written, and no more often than others'."""
    cluster.queue("team")
    cluster.api.objects[f"{QUEUES}/team"]["spec"] = SPOILT
    async with cluster.running() as controller:
        cluster.group("one")
        await asyncio.sleep(1)
        await controller.idle()
        writes = cluster.api.count("PATCH")
        cluster.group("one", phase="Running")
        await asyncio.sleep(5)
        await controller.idle()

    assert cluster.status("team")["running"] == 1
    assert writes == 1
    assert cluster.api.count("PATCH") == 2
    assert cluster.events == []
