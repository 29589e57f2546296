"""Volcano's scheduling gate: taken off as many pods as their queue has room for, and of no others."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.sessions import Opened, node, open_session, pod, pod_group, queue
from volcano_py.api.names import QUEUE_ALLOCATION_GATE
from volcano_py.api.objects import Pod
from volcano_py.framework.status.queue_gates import open_gates
from volcano_py.plugins.capacity import Capacity
from volcano_py.plugins.gang import Gang


def gated(name: str, *, group: str = "g", cpu: str = "1", gates: tuple[str, ...] = (QUEUE_ALLOCATION_GATE,)) -> Pod:
    return pod(name, group=group, cpu=cpu, gates=gates)


def opened(session: Opened) -> list[str]:
    return [effect.pod.name for effect in open_gates(session.ssn)]


def session_of(*objects: Any, capability: str = "2", **options: Any) -> Opened:
    return open_session(
        node("n1", cpu="32"), queue("team", capability={"cpu": capability}), *objects,
        tiers=[[Gang, Capacity]], **options,
    )  # fmt: skip


def test_as_many_open_as_the_queue_has_room_for_and_the_job_says_why_no_more_do() -> None:
    session = session_of(pod_group("g", queue="team"), *(gated(f"g-{number}") for number in range(4)))
    assert opened(session) == ["g-0", "g-1"]
    (note,) = session.ssn.findings.notes.values()
    assert note.message == (
        "queue team has no room left after its waiting pods without a gate, which come first: the gate "
        "scheduling.volcano.sh/queue-allocation-gate is removed when there is more room"
    )


def test_where_the_queue_is_full_its_ceiling_is_the_reason() -> None:
    session = session_of(
        pod_group("g", queue="team"), gated("g-0"), pod_group("h", queue="team"), pod("h", group="h", cpu="2", on="n1")
    )
    assert opened(session) == []
    (note,) = session.ssn.findings.notes.values()
    assert "capability" in note.message


def test_pods_without_the_gate_that_wait_come_first() -> None:
    objects = [pod_group("h", queue="team"), pod("h", group="h", cpu="1")]
    assert opened(session_of(pod_group("g", queue="team"), gated("g-0"), gated("g-1"), *objects)) == ["g-0"]


def test_what_other_queues_wait_for_does_not_count() -> None:
    objects = [queue("others"), pod_group("h", queue="others"), pod("h", group="h", cpu="8")]
    assert opened(session_of(pod_group("g", queue="team"), gated("g-0"), gated("g-1"), *objects)) == ["g-0", "g-1"]


@pytest.mark.parametrize("gates", [("example.com/quota",), (QUEUE_ALLOCATION_GATE, "example.com/quota")])
def test_other_gates_are_left_alone(gates: tuple[str, ...]) -> None:
    assert opened(session_of(pod_group("g", queue="team"), gated("g-0", gates=gates))) == []


def test_jobs_that_are_not_admitted_keep_their_gates() -> None:
    assert opened(session_of(pod_group("g", queue="team", phase="Pending"), gated("g-0"))) == []


def test_without_a_plugin_that_limits_queues_every_gate_opens() -> None:
    session = open_session(node("n1"), pod_group("g"), gated("g-0"), gated("g-1"), tiers=[[Gang]])
    assert opened(session) == ["g-0", "g-1"]


def test_a_gate_that_was_taken_off_is_not_asked_for_again_while_that_does_not_show_yet() -> None:
    """And the pod has a claim to the room already."""
    session = session_of(pod_group("g", queue="team"), *(gated(f"g-{number}") for number in range(3)))
    assert opened(session) == ["g-0", "g-1"]
    assert opened(session) == []
    session.ssn.now += 31
    assert opened(session) == ["g-0", "g-1"]


def test_pods_of_different_size_count_with_the_larger_share() -> None:
    session = session_of(pod_group("g", queue="team"), gated("g-0", cpu="3"), gated("g-1", cpu="2"), capability="4")
    assert opened(session) == ["g-0"]
    assert msgspec.structs.astuple(next(iter(session.ssn.findings.notes.values())))[0] == "SchedulingGated"
