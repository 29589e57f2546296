"""The scheduler sees generated PodGroups as soon as they are planned; what is written gives bindings precedence."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from tests.support.cycles import Cycles
from tests.support.sessions import node
from tests.unit.cluster.fakes import eventually
from tests.unit.operator.podgroups.test_pod_group_controller import GROUPS, PODS, REPLICA_SET, Cluster
from volcano_py.api.effects import Bind, Event, PodCondition, PodGroupStatusUpdate
from volcano_py.api.objects import ObjectMeta, Pod, PodGroup
from volcano_py.cluster.kubernetes.http.errors import UnreachableError, api_error
from volcano_py.operator.podgroups.controller import Delays
from volcano_py.operator.podgroups.index import PodGroupIndex

AT_ONCE = Delays(group=0.0, name=0.0, look_again=0.01)


class Ahead(Cluster):
    """The controller with a scheduler behind it, which is fed as the daemon feeds it: after the controller."""

    def __init__(self, api: Any, events: list[Event], delays: Delays = AT_ONCE) -> None:
        super().__init__(api, events)
        self.cycles = Cycles(node("n1", cpu="8"))
        self.bindings_passed = True
        self.sink = self.controller.ahead(self.cycles.state, lambda: self.bindings_passed, delays)

    def pod(self, name: str, *, owner: dict[str, Any] | None = None, group: str = "", **labels: str) -> Pod:
        pod = super().pod(name, owner=owner, group=group, **labels)
        self.sink.upsert("Pod", pod)
        return pod

    def see(self, name: str) -> None:
        super().see(name)
        self.sink.upsert("PodGroup", self.stored(name))

    def lose(self, name: str) -> None:
        group = self.stored(name)
        super().lose(name)
        self.sink.delete("PodGroup", group)

    def stored(self, name: str) -> PodGroup:
        return msgspec.convert(self.api.objects[f"{GROUPS}/{name}"], PodGroup)

    def forget(self, pod: Pod) -> None:
        """The pod is deleted."""
        gone = Pod(metadata=ObjectMeta(name=pod.metadata.name, namespace="ns", uid=pod.metadata.uid))
        self.controller.delete("Pod", gone)
        self.sink.delete("Pod", gone)

    async def until_seen(self) -> None:
        """Let the controller work as long as it does without waiting for anything."""
        async with self.running():
            for _ in range(20):
                await asyncio.sleep(0)

    def bound(self) -> dict[str, str]:
        """Pod → job of what one more cycle binds."""
        self.cycles.effects.clear()
        self.cycles.run()
        return {effect.pod.name: effect.job for effect in self.cycles.effects if isinstance(effect, Bind)}

    @property
    def jobs(self) -> set[str]:
        """The PodGroups that the scheduler knows."""
        snapshot = self.cycles.state.snapshot(0.0)
        return {info.key for info in snapshot.jobs if info is not None}


def bare_pod(name: str, *, queue: str) -> dict[str, Any]:
    annotations = {"scheduling.volcano.sh/queue-name": queue}
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}", "annotations": annotations},
        "spec": {"schedulerName": "volcano", "containers": [{"resources": {"requests": {"cpu": "1"}}}]},
        "status": {"phase": "Pending"},
    }


@pytest.fixture
def ahead(api: Any, events: list[Event]) -> Ahead:
    return Ahead(api, events)


async def test_a_pod_is_bound_before_anything_is_written(ahead: Ahead) -> None:
    ahead.bindings_passed = False
    ahead.pod("solo")
    await ahead.until_seen()
    assert ahead.bound() == {"solo": "ns/podgroup-uid-solo"}
    assert ahead.api.requests == []


async def test_pods_of_one_owner_are_foreseen_in_one_gang(ahead: Ahead) -> None:
    """Its minimum counts: two of three are too few."""
    ahead.bindings_passed = False
    ahead.workload(minimum="3")
    ahead.pod("web-0", owner=REPLICA_SET)
    ahead.pod("web-1", owner=REPLICA_SET)
    await ahead.until_seen()
    assert ahead.bound() == {}
    ahead.pod("web-2", owner=REPLICA_SET)
    assert ahead.bound() == dict.fromkeys(("web-0", "web-1", "web-2"), "ns/podgroup-rs")


async def test_a_group_that_is_not_stored_has_no_status_and_no_events(ahead: Ahead) -> None:
    """There is nothing yet to write them on; once it is stored they are written."""
    ahead.bindings_passed = False
    ahead.pod("solo")
    await ahead.until_seen()
    ahead.cycles.run()
    reported = [effect for effect in ahead.cycles.effects if isinstance(effect, PodGroupStatusUpdate | Event)]
    assert reported == []
    ahead.bindings_passed = True
    await ahead.settle()
    ahead.see("podgroup-uid-solo")
    ahead.cycles.run()
    assert [effect.group.uid != "" for effect in ahead.cycles.effects if isinstance(effect, PodGroupStatusUpdate)]


async def test_when_bindings_have_passed_all_is_written_that_they_have_not(ahead: Ahead) -> None:
    ahead.bindings_passed = False
    ahead.pod("bound")
    ahead.pod("waits")
    async with ahead.running() as controller:
        await asyncio.sleep(0)
        assert ahead.api.requests == []
        ahead.pod("bound", group="podgroup-uid-bound")  # as its binding has named it
        ahead.bindings_passed = True
        await controller.idle()
    assert sorted(ahead.api.requests) == [f"PATCH {PODS}/waits", f"POST {GROUPS}", f"POST {GROUPS}"]
    assert ahead.group("podgroup-uid-bound")
    assert ahead.named("waits") == "podgroup-uid-waits"


async def test_what_is_put_off_is_not_looked_at_with_every_pod(
    api: Any, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An owner may have thousands, all of which are bound meanwhile."""
    ahead = Ahead(api, events, Delays(group=60.0))
    ahead.workload()
    ahead.pod("web-0", owner=REPLICA_SET)
    await ahead.until_seen()
    looks: list[str] = []
    pods_of = PodGroupIndex.pods_of

    def look(index: PodGroupIndex, key: str) -> list[Pod]:
        looks.append(key)
        return pods_of(index, key)

    monkeypatch.setattr(PodGroupIndex, "pods_of", look)
    for number in range(10):
        ahead.pod(f"web-{number}", owner=REPLICA_SET, group="podgroup-rs")
        await ahead.until_seen()
    assert looks == []


async def test_the_patience_with_bindings_has_an_end(api: Any, events: list[Event]) -> None:
    ahead = Ahead(api, events, Delays(group=0.0, name=0.0, patience=0.0))
    ahead.bindings_passed = False
    ahead.pod("solo")
    await ahead.settle()
    assert ahead.named("solo") == "podgroup-uid-solo"


async def test_what_is_stored_takes_the_place_of_what_was_foreseen(ahead: Ahead) -> None:
    ahead.pod("solo")
    await ahead.settle()
    ahead.see("podgroup-uid-solo")
    assert ahead.jobs == {"ns/podgroup-uid-solo"}
    assert ahead.bound() == {"solo": "ns/podgroup-uid-solo"}
    ahead.sink.replace("PodGroup", [])
    assert ahead.jobs == set(), "it is stored no more, and not foreseen either"


async def test_what_was_stored_while_it_was_planned_is_not_foreseen(ahead: Ahead) -> None:
    """The other replica may have made it while the owner was asked for."""
    ahead.api.put(f"{GROUPS}/podgroup-uid-solo", {"metadata": {"name": "podgroup-uid-solo", "namespace": "ns"}})
    ahead.see("podgroup-uid-solo")
    foreseen = PodGroup(metadata=ObjectMeta(name="podgroup-uid-solo", namespace="ns"))
    ahead.sink.show(foreseen)
    snapshot = ahead.cycles.state.snapshot(0.0)
    assert [info.ref.uid != "" for info in snapshot.jobs if info is not None] == [True]


async def test_what_cannot_be_written_for_now_is_stored_nevertheless(ahead: Ahead) -> None:
    """A PATCH without resourceVersion is answered with 409 when the server's own retries are used up."""
    ahead.workload()
    ahead.pod("web-0", owner=REPLICA_SET)
    await ahead.settle()
    ahead.see("podgroup-rs")
    ahead.api.refuse("PATCH", "/podgroups", api_error("PATCH", GROUPS, 409, b'{"reason": "Conflict"}'))
    ahead.workload(minimum="2")
    await ahead.settle()
    assert ahead.group("podgroup-rs")["spec"]["minMember"] == 2
    snapshot = ahead.cycles.state.snapshot(0.0)
    assert [info.ref.uid != "" for info in snapshot.jobs if info is not None] == [True]


async def test_a_status_of_a_group_does_not_pass_all_its_pods_on_again(
    ahead: Ahead, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ReplicaSet may have thousands, and the status changes with each of them."""
    ahead.bindings_passed = False
    for number in range(3):
        ahead.pod(f"web-{number}", owner=REPLICA_SET)
    await ahead.until_seen()
    stored = {"metadata": {"name": "podgroup-rs", "namespace": "ns"}}
    ahead.api.put(f"{GROUPS}/podgroup-rs", stored)
    passed_on: list[str] = []
    take = ahead.cycles.state.upsert

    def upsert(kind: str, obj: Any) -> None:
        passed_on.append(kind)
        take(kind, obj)

    monkeypatch.setattr(ahead.cycles.state, "upsert", upsert)
    for _ in range(5):
        ahead.see("podgroup-rs")
    assert passed_on == ["PodGroup"] * 5
    ahead.lose("podgroup-rs")
    ahead.api.put(f"{GROUPS}/podgroup-rs", stored)
    ahead.see("podgroup-rs")
    assert passed_on.count("Pod") == 6, "whether they have a group is another matter"


async def test_a_list_from_before_it_was_stored_does_not_take_a_foreseen_group_away(ahead: Ahead) -> None:
    ahead.bindings_passed = False
    ahead.pod("solo")
    await ahead.until_seen()
    ahead.sink.replace("PodGroup", [])
    assert ahead.jobs == {"ns/podgroup-uid-solo"}
    assert ahead.bound() == {"solo": "ns/podgroup-uid-solo"}


async def test_pods_that_come_together_have_the_groups_that_are_foreseen(ahead: Ahead) -> None:
    ahead.bindings_passed = False
    pods = [ahead.pod(f"web-{number}", owner=REPLICA_SET) for number in range(2)]
    await ahead.until_seen()
    ahead.cycles.state.replace("Pod", [])
    ahead.sink.upsert_all("Pod", pods)
    assert ahead.bound() == dict.fromkeys(("web-0", "web-1"), "ns/podgroup-rs")


async def test_lists_in_any_order_bring_pods_and_their_groups_together(api: Any, events: list[Event]) -> None:
    """As after a restart, between a group and its name on the pod."""
    before = Ahead(api, events)
    pod = before.pod("solo")
    await before.settle()
    group = before.stored("podgroup-uid-solo")
    for first, second in (("Pod", "PodGroup"), ("PodGroup", "Pod")):
        again = Ahead(api, events)
        objects: dict[str, list[Any]] = {"Pod": [pod], "PodGroup": [group]}
        for kind in (first, second):
            again.controller.replace(kind, objects[kind])
            again.sink.replace(kind, objects[kind])
        assert again.bound() == {"solo": "ns/podgroup-uid-solo"}, f"{first} first"


async def test_a_group_whose_pods_are_gone_is_not_foreseen_any_more(ahead: Ahead) -> None:
    ahead.bindings_passed = False
    pod = ahead.pod("solo")
    async with ahead.running() as controller:
        await asyncio.sleep(0)
        ahead.forget(pod)
        await controller.idle()
    assert ahead.jobs == set()
    assert ahead.api.requests == []


async def test_for_an_invalid_group_the_pod_gets_the_reason(ahead: Ahead, events: list[Event]) -> None:
    """Its queue cannot exist, as no queue can have such a name."""
    body = ahead.api.put(f"{PODS}/lost", bare_pod("lost", queue="no name"))
    pod = msgspec.convert(body, Pod)
    ahead.api.refuse_all("POST", "podgroups", api_error("POST", GROUPS, 422, b'{"reason": "Invalid"}'))
    ahead.controller.upsert("Pod", pod)
    ahead.sink.upsert("Pod", pod)
    async with ahead.running():
        await eventually(lambda: bool(events))
    ahead.cycles.run(after=60.0)
    (reported,) = [effect for effect in ahead.cycles.effects if isinstance(effect, PodCondition)]
    assert reported.message.startswith("QueueNotFound: queue no name does not exist")


FORBIDDEN = api_error("POST", GROUPS, 403, b'{"reason": "Forbidden"}')


async def test_a_group_that_is_forbidden_is_not_foreseen_any_more(ahead: Ahead, events: list[Event]) -> None:
    """An admission rule forbids it permanently; the pod gets an event."""
    ahead.pod("solo")
    ahead.api.refuse_all("POST", "podgroups", FORBIDDEN)
    async with ahead.running():
        await eventually(lambda: bool(events))
        assert ahead.jobs == set()
        assert ahead.bound() == {}
    assert "cannot be written" in events[0].message


async def test_a_group_that_is_forbidden_is_not_foreseen_with_the_next_attempts(ahead: Ahead) -> None:
    """Nor while they are made; when the rule is gone, the group is written, and seen as any other."""
    ahead.pod("solo")
    ahead.api.refuse_all("POST", "podgroups", FORBIDDEN)
    foreseen: list[set[str]] = []
    ahead.api.on_request = lambda verb, path: foreseen.append(ahead.jobs)
    async with ahead.running() as controller:
        await eventually(lambda: len(foreseen) >= 5)
        assert foreseen == [{"ns/podgroup-uid-solo"}, *[set()] * (len(foreseen) - 1)]
        ahead.api.relent()
        await controller.idle()
    ahead.see("podgroup-uid-solo")
    ahead.pod("solo", group=ahead.named("solo"))
    assert ahead.bound() == {"solo": "ns/podgroup-uid-solo"}


async def test_a_group_that_is_forbidden_at_the_second_attempt_is_not_foreseen_any_more(ahead: Ahead) -> None:
    """The first request did not reach the server."""
    ahead.pod("solo")
    ahead.api.refuse("POST", "podgroups", UnreachableError("POST", GROUPS, "reset"))
    ahead.api.refuse_all("POST", "podgroups", FORBIDDEN)
    async with ahead.running():
        await eventually(lambda: ahead.api.count("POST") >= 2)
        assert ahead.jobs == set()


async def test_when_a_stored_group_is_deleted_its_pods_wait_for_the_next(ahead: Ahead) -> None:
    ahead.pod("solo")
    await ahead.settle()
    ahead.see("podgroup-uid-solo")
    ahead.lose("podgroup-uid-solo")
    assert ahead.bound() == {}


async def test_pods_of_others_and_pods_with_a_group_are_passed_on_as_they_are(ahead: Ahead) -> None:
    ahead.pod("gang-0", group="my-gang")
    done = ahead.pod("solo")
    finished = msgspec.structs.replace(done, status=msgspec.structs.replace(done.status, phase="Succeeded"))
    ahead.controller.upsert("Pod", finished)
    ahead.sink.upsert("Pod", finished)
    await ahead.settle()
    assert ahead.jobs == set()
    assert ahead.api.requests == []


async def test_a_group_of_which_no_event_has_come_goes_with_its_pods(ahead: Ahead) -> None:
    """It was written and deleted, and a watch has lost both: a list shows none."""
    solo = ahead.pod("solo")
    ahead.pod("stays")
    await ahead.settle()
    assert ahead.jobs == {"ns/podgroup-uid-solo", "ns/podgroup-uid-stays"}

    ahead.forget(solo)
    listed = [ahead.stored("podgroup-uid-stays")]
    ahead.controller.replace("PodGroup", listed)
    ahead.sink.replace("PodGroup", listed)

    assert ahead.jobs == {"ns/podgroup-uid-stays"}
