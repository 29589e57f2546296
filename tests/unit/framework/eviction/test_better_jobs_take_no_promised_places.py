"""Allocate gives every pod its promised place before it looks for anything else, however good the job."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.sessions import Opened, PluginChoice, node, open_session, pod, pod_group, priority_class
from volcano_py.actions.allocate import Allocate
from volcano_py.api.objects import ApiObject, Pod
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.predicates.plugin import Predicates
from volcano_py.plugins.priority import Priority
from volcano_py.state.status import TaskStatus

TIERS: list[list[PluginChoice]] = [[Priority, Gang, Predicates]]
URGENT = priority_class("urgent", 1000)


def promised(name: str, group: str, on: str) -> Pod:
    made = pod(name, group=group, cpu="2")
    return msgspec.structs.replace(made, status=msgspec.structs.replace(made.status, nominated_node_name=on))


def lesser() -> list[ApiObject]:
    return [pod_group("lesser"), promised("lesser-0", "lesser", "n2")]


def allocated(*objects: ApiObject) -> Opened:
    opened = open_session(*objects, URGENT, tiers=TIERS, actions=[Allocate])
    Allocate(None).execute(opened.ssn)
    return opened


def better(*pods: Pod) -> list[ApiObject]:
    return [pod_group("better", min_member=len(pods), priority_class="urgent"), *pods]


@pytest.mark.parametrize(
    ("more", "binds"),
    [
        ([], {"lesser-0": "n2"}),
        ([node("n3", cpu="2")], {"lesser-0": "n2", "better-0": "n1", "better-1": "n3"}),
    ],
    ids=["and waits", "and goes elsewhere"],
)
def test_a_pod_without_a_promise_leaves_it_alone(more: list[ApiObject], binds: dict[str, str]) -> None:
    gang = better(promised("better-0", "better", "n1"), pod("better-1", group="better", cpu="2"))
    assert allocated(node("n1", cpu="2"), node("n2", cpu="2"), *more, *gang, *lesser()).binds == binds


@pytest.mark.parametrize(
    ("more", "binds"),
    [([], {"lesser-0": "n2"}), ([node("n3", cpu="2")], {"lesser-0": "n2", "better-0": "n3"})],
    ids=["and waits", "and goes elsewhere"],
)
def test_a_pod_whose_own_promised_place_is_gone_leaves_it_alone(more: list[ApiObject], binds: dict[str, str]) -> None:
    gang = better(promised("better-0", "better", "n1"))
    nodes = node("n1", cpu="2", unschedulable=True), node("n2", cpu="2")
    assert allocated(*nodes, *more, *gang, *lesser()).binds == binds


def test_of_two_that_lack_more_than_they_were_promised_neither_takes_the_others_place() -> None:
    gang = better(promised("better-0", "better", "n1"), pod("better-1", group="better", cpu="2"))
    other = [
        pod_group("lesser", min_member=2),
        promised("lesser-0", "lesser", "n2"),
        pod("lesser-1", group="lesser", cpu="2"),
    ]
    opened = allocated(node("n1", cpu="2"), node("n2", cpu="2"), node("n3", cpu="2"), *gang, *other)
    assert opened.binds == {"better-0": "n1", "better-1": "n3"}


def test_what_a_gang_finds_free_does_not_wait_for_a_place_that_is_still_being_left() -> None:
    leaver = pod("gone-0", group="gone", on="n2", cpu="2", deleting=True)
    gang = [
        pod_group("better", min_member=2),
        promised("better-0", "better", "n1"),
        promised("better-1", "better", "n2"),
        pod("better-2", group="better", cpu="2"),
    ]
    opened = allocated(
        node("n1", cpu="2"), node("n2", cpu="2"), node("n3", cpu="2"), pod_group("gone", phase="Running"), leaver, *gang
    )
    assert opened.binds == {"better-0": "n1", "better-1": "n3"}
    assert opened.ssn.ledger.tasks.status[opened.rows("better-2")].tolist() == [TaskStatus.PIPELINED]
