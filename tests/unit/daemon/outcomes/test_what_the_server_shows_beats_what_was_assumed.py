"""Outcomes of bindings that show the picture of the cluster to be wrong: a watch has lost something."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.sessions import gang, node, pod
from volcano_py.api.effects import Bind, Event, ObjectRef, PodCondition
from volcano_py.api.objects import Pod
from volcano_py.api.reasons import Reason
from volcano_py.cluster.kubernetes.http.errors import ConflictError, NotFoundError
from volcano_py.daemon.observing.dump import dump_state
from volcano_py.daemon.outcomes import OutcomeRecorder
from volcano_py.observe.metrics import Metrics
from volcano_py.state.cluster_state import ClusterState

PATH = "/api/v1/namespaces/team/pods/train-0"
GONE = NotFoundError("POST", PATH, 404, reason="NotFound", message="no such pod")
TAKEN = ConflictError("POST", PATH, 409, reason="Conflict", message="already assigned to node n2")


@pytest.fixture
def state() -> ClusterState:
    """A gang of two, the first of which was handed to the binder for n1."""
    state = ClusterState()
    for obj in (node("n1", cpu="2"), node("n2", cpu="2"), *gang("train", pods=2, cpu="1")):
        state.upsert(type(obj).__name__, obj)
    assert state.assume_bound("pod-team-train-0", "n1"), tasks(state)
    return state


@pytest.fixture
def messages() -> list[Event]:
    return []


@pytest.fixture
def outcomes(state: ClusterState, messages: list[Event]) -> OutcomeRecorder:
    return OutcomeRecorder(state, messages.append, Metrics(per_job=False), clock=lambda: 100.0)


BIND = Bind(ObjectRef("Pod", "team", "train-0", "pod-team-train-0"), "n1", "team/train")


def tasks(state: ClusterState) -> dict[str, Any]:
    dump: dict[str, Any] = dump_state(state.snapshot(100.0), None, state.drift())
    assert dump["drift"] == 0
    return {key: (task["status"], task["node"]) for key, task in dump["tasks"].items()}


def test_a_pod_that_is_gone_counts_no_more(
    state: ClusterState, outcomes: OutcomeRecorder, messages: list[Event]
) -> None:
    """Otherwise its gang would be bound without it, again and again, should the watch never report it."""
    outcomes.bind_failed(BIND, GONE, gone=True)

    assert tasks(state) == {"team/train-1": ("PENDING", None)}
    assert messages == []


def test_a_pod_that_is_refused_is_tried_again(
    state: ClusterState, outcomes: OutcomeRecorder, messages: list[Event]
) -> None:
    outcomes.bind_failed(BIND, TAKEN, gone=False)

    assert tasks(state)["team/train-0"] == ("PENDING", None)
    assert state.next_retry(100.0) == 101.0
    assert [event.reason for event in messages] == ["FailedScheduling"]


def test_a_pod_that_others_have_bound_is_counted_where_it_is(state: ClusterState, outcomes: OutcomeRecorder) -> None:
    seen: Pod = pod("train-0", group="train", on="n2", cpu="1")
    state.upsert("Pod", seen)
    outcomes.bind_failed(BIND, TAKEN, gone=False)

    status, where = tasks(state)["team/train-0"]
    assert where == "n2"
    assert status in ("BOUND", "RUNNING")


def test_a_condition_of_a_pod_whose_write_failed_is_written_again(state: ClusterState) -> None:
    """Unless something newer is on its way meanwhile."""
    ref = ObjectRef("Pod", "team", "train-1", "pod-team-train-1")
    old = PodCondition(ref, "Unschedulable", "0/2 nodes", Reason.NODES_REFUSE)
    new = PodCondition(ref, "Unschedulable", "0/3 nodes", Reason.NODES_REFUSE)
    state.assume_reported(old)
    state.assume_reported(new)

    state.condition_write_failed(old)
    assert messages_reason(state) == "0/3 nodes"

    state.condition_write_failed(new)
    assert messages_reason(state) == ""


def messages_reason(state: ClusterState) -> str:
    infos = (info for info in state.snapshot(100.0).tasks if info is not None)
    return next(info.reported[1] for info in infos if info.ref.name == "train-1")
