"""Victims may take an hour to go; a node that has room meanwhile is taken at once, unless it was promised to others."""

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


def promised(name: str, group: str, on: str) -> Pod:
    made = pod(name, group=group, cpu="2")
    return msgspec.structs.replace(made, status=msgspec.structs.replace(made.status, nominated_node_name=on))


def leaving(name: str, on: str) -> list[ApiObject]:
    return [pod_group(name, phase="Running"), pod(f"{name}-0", group=name, cpu="2", on=on, deleting=True)]


def allocated(*objects: ApiObject) -> Opened:
    opened = open_session(*objects, priority_class("urgent", 1000), tiers=TIERS, actions=[Allocate])
    Allocate(None).execute(opened.ssn)
    return opened


@pytest.mark.parametrize("running", [0, 1], ids=["a gang", "a pod more of a gang that runs"])
def test_it_goes_where_there_is_room_now(running: int) -> None:
    more = [pod("hot-run", group="hot", cpu="2", on="n3")] if running else []
    opened = allocated(
        *[node(name, cpu="2") for name in ("n1", "n2", "n3")],
        *leaving("gone", "n1"),
        pod_group("hot", phase="Running" if running else "Inqueue"),
        *more,
        promised("hot-0", "hot", "n1"),
    )
    assert opened.binds == {"hot-0": "n2"}


def test_it_waits_while_what_is_free_was_promised_to_others() -> None:
    opened = allocated(
        *[node(name, cpu="2") for name in ("n1", "n2")],
        *leaving("gone", "n1"),
        pod_group("hot", priority_class="urgent"),
        promised("hot-0", "hot", "n1"),
        pod_group("lesser"),
        promised("lesser-0", "lesser", "n2"),
    )
    assert opened.binds == {"lesser-0": "n2"}
    assert opened.ssn.ledger.tasks.status[opened.rows("hot-0")].tolist() == [TaskStatus.PIPELINED]


def test_a_gang_that_has_room_for_some_waits_where_it_was_promised() -> None:
    opened = allocated(
        *[node(name, cpu="2") for name in ("n1", "n2", "n3")],
        *leaving("gone", "n1"),
        *leaving("too", "n2"),
        pod_group("hot", min_member=2),
        promised("hot-0", "hot", "n1"),
        promised("hot-1", "hot", "n2"),
    )
    assert opened.binds == {}
    assert opened.ssn.ledger.tasks.status[opened.rows("hot-0", "hot-1")].tolist() == [TaskStatus.PIPELINED] * 2
