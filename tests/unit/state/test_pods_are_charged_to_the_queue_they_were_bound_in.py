"""A placed pod counts in the queue that it was bound in, whatever becomes of its PodGroup and its annotations."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.sessions import NAMESPACE, node, pod, pod_group, queue
from tests.unit.state.watched import Watched, as_status, deleted, on, with_meta, with_spec
from volcano_py.api.effects import Bind, ObjectRef
from volcano_py.api.names import CHARGED_QUEUE, GROUP_NAME
from volcano_py.api.objects import Pod
from volcano_py.state.pods import _MANY

WAITS = pod("a", group="g", cpu="1")
UID = WAITS.metadata.uid


@pytest.fixture
def watched() -> Watched:
    """A waiting pod of a group in queue `team`."""
    return Watched(node("n1", cpu="64"), node("n2"), queue("team"), queue("other"), pod_group("g", queue="team"), WAITS)


def charged(watched: Watched) -> dict[str, tuple[int, int]]:
    """Queue → cpus that are allocated and that are leaving, of queues that have any."""
    snapshot = watched.snapshot()
    queues = snapshot.ledger.queues
    cpus = {
        name: (int(queues.allocated[slot, 0]) // 1000, int(queues.leaving[slot, 0]) // 1000)
        for slot, name in enumerate(snapshot.queue_names)
    }
    assert watched.state.drift() == 0
    return {name: held for name, held in cpus.items() if any(held)}


def bound(pod: Pod, queue: str = "team", **annotations: str) -> Pod:
    """The pod as the API server has it once our binding has passed."""
    written = {**pod.metadata.annotations, CHARGED_QUEUE: queue, **annotations}
    made: Pod = with_meta(on(pod, "n1", "Running"), annotations=written)
    return made


def test_a_waiting_pod_is_charged_to_no_queue(watched: Watched) -> None:
    assert charged(watched) == {}
    watched.put(with_meta(WAITS, annotations={**WAITS.metadata.annotations, CHARGED_QUEUE: "other"}))
    assert charged(watched) == {}


def test_it_is_charged_from_the_moment_it_is_handed_to_the_binder(watched: Watched) -> None:
    assert watched.state.assume_bound(UID, "n1", queue="team")
    assert charged(watched) == {"team": (1, 0)}
    watched.put(bound(WAITS))
    assert charged(watched) == {"team": (1, 0)}


def test_a_binding_that_fails_charges_nothing(watched: Watched) -> None:
    watched.state.assume_bound(UID, "n1", queue="team")
    watched.state.bind_failed(UID, retry_at=0.0)
    assert charged(watched) == {}


def test_many_that_are_handed_over_together_are_charged_each(watched: Watched) -> None:
    pods = [pod(f"many-{index}", group="g", cpu="1") for index in range(_MANY)]
    watched.put(*pods)
    refs = [ObjectRef("Pod", NAMESPACE, each.metadata.name, each.metadata.uid) for each in pods]
    binds = [Bind(ref, "n1", "team/g", ("team", "other")[index % 2]) for index, ref in enumerate(refs)]
    assert all(watched.state.assume_all_bound(binds))
    assert charged(watched) == {"team": (_MANY // 2, 0), "other": (_MANY // 2, 0)}


GROUP = pod_group("g", queue="team")
EDITS: dict[str, list[Any]] = {
    "the group is moved": [with_spec(GROUP, queue="other")],
    "the group is moved to a queue that does not exist": [with_spec(GROUP, queue="nowhere")],
    "the pod names another group": [pod_group("h", queue="other"), bound(WAITS, **{GROUP_NAME: "h"})],
    "the pod names no group": [with_meta(bound(WAITS), annotations={CHARGED_QUEUE: "team"})],
    "the pod names nothing": [with_meta(bound(WAITS), annotations={})],
    "the pod names another queue": [bound(WAITS, "other")],
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
@pytest.mark.parametrize("was_seen", [True, False], ids=["bound by us", "bound by a predecessor"])
def test_edits_change_nothing_once_it_is_known(watched: Watched, edit: list[Any], was_seen: bool) -> None:
    if was_seen:
        watched.state.assume_bound(UID, "n1", queue="team")
    watched.put(bound(WAITS))
    watched.put(*edit)
    assert charged(watched) == {"team": (1, 0)}


def test_the_group_may_be_deleted(watched: Watched) -> None:
    watched.put(bound(WAITS))
    watched.delete(GROUP)
    assert charged(watched) == {"team": (1, 0)}


def test_so_may_the_queue(watched: Watched) -> None:
    """Should it be made again, its pods still count in it."""
    watched.put(bound(WAITS))
    watched.delete(queue("team"), GROUP)
    watched.put(queue("new"))
    assert charged(watched) == {"team": (1, 0)}
    watched.put(queue("team"))
    assert charged(watched) == {"team": (1, 0)}


def test_after_a_restart_the_binding_says_it(watched: Watched) -> None:
    watched.put(with_spec(GROUP, queue="other"), bound(WAITS))
    assert charged(watched) == {"team": (1, 0)}


def test_a_pod_that_an_older_version_bound_is_charged_as_its_group_says_when_it_is_first_seen(watched: Watched) -> None:
    watched.put(on(WAITS, "n1", "Running"))
    assert charged(watched) == {"team": (1, 0)}
    watched.put(with_spec(GROUP, queue="other"))
    assert charged(watched) == {"team": (1, 0)}


def test_its_group_may_come_later() -> None:
    watched = Watched(node("n1"), queue("team"), on(WAITS, "n1", "Running"))
    assert charged(watched) == {}
    watched.put(GROUP)
    assert charged(watched) == {"team": (1, 0)}


def test_a_pod_that_is_leaving_counts_until_it_is_gone(watched: Watched) -> None:
    watched.put(bound(WAITS))
    watched.put(deleted(bound(WAITS)))
    assert charged(watched) == {"team": (0, 1)}
    watched.delete(WAITS)
    assert charged(watched) == {}


def test_so_does_one_that_is_lost(watched: Watched) -> None:
    watched.put(as_status(bound(WAITS), "Unknown"))
    assert charged(watched) == {"team": (0, 1)}


def test_one_that_was_deleted_before_it_was_bound_counts_nowhere(watched: Watched) -> None:
    watched.put(deleted(WAITS))
    assert charged(watched) == {}


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_one_that_has_ended_counts_no_more(watched: Watched, phase: str) -> None:
    watched.put(bound(WAITS))
    watched.put(as_status(bound(WAITS), phase))
    assert charged(watched) == {}


def test_pods_of_other_schedulers_are_charged_to_no_queue(watched: Watched) -> None:
    watched.put(pod("b", group="g", cpu="1", on="n1", scheduler="else", annotations={CHARGED_QUEUE: "team"}))
    assert charged(watched) == {}


def test_an_evicted_pod_is_leaving_until_it_is_gone_or_stays(watched: Watched) -> None:
    watched.put(bound(WAITS))
    watched.state.assume_evicted(UID)
    assert charged(watched) == {"team": (0, 1)}
    watched.state.evict_failed(UID, retry_at=0.0)
    assert charged(watched) == {"team": (1, 0)}


def test_queues_that_are_no_longer_named_leave_nothing_behind(watched: Watched) -> None:
    for number in range(5):
        watched.put(bound(pod("b", cpu="1", annotations={}), f"invented-{number}"))
        watched.put(deleted(bound(WAITS)))
        watched.delete(pod("b"))
        watched.put(bound(with_meta(pod("c"), uid=f"c-{number}"), f"invented-{number}"))
        watched.delete(with_meta(pod("c"), uid=f"c-{number}"))
    watched.delete(WAITS)
    names = [name for name in watched.snapshot().queue_names if name.startswith("invented")]
    assert names == []
