"""Commands: deleted first and carried out then, at most once, and only those for queues."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from tests.support.jobs.controllers import Controlled
from volcano_py.cluster.kubernetes.http.errors import UnreachableError, api_error
from volcano_py.operator.queues.commands import Command, CommandController
from volcano_py.operator.queues.states import QueueAction

COMMANDS = "/apis/bus.volcano.sh/v1alpha1/namespaces/ns/commands"
Requests = list[tuple[str, QueueAction, str, str]]


class Bus(Controlled[CommandController]):
    """The API, and a controller that is shown the Commands in it."""

    def __init__(self, api: Any) -> None:
        self.api, self.leads = api, True
        self.requests: Requests = []
        self.controller = CommandController(api, self, active=lambda: self.leads)

    def request(self, queue: str, action: QueueAction, asked_by: str, uid: str = "") -> None:
        self.requests.append((queue, action, asked_by, uid))

    def command(self, name: str = "c", /, action: str = "CloseQueue", **target: str) -> Command:
        reference = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": "team", "uid": "uid-team"}
        body = {"metadata": {"name": name, "namespace": "ns"}, "action": action, "target": reference | target}
        command = msgspec.convert(self.api.put(f"{COMMANDS}/{name}", body), Command)
        self.controller.upsert(command)
        return command


@pytest.fixture
def bus(api: Any) -> Bus:
    return Bus(api)


@pytest.mark.parametrize("action", ["OpenQueue", "CloseQueue", "SyncQueue"])
async def test_a_command_is_deleted_and_carried_out(bus: Bus, action: str) -> None:
    bus.command(action=action)
    await bus.settle()
    assert bus.requests == [("team", QueueAction(action), "Command ns/c", "uid-team")]
    assert bus.api.requests == [f"DELETE {COMMANDS}/c"]
    assert bus.api.objects == {}


@pytest.mark.parametrize(
    "target",
    [
        {"kind": "Job", "apiVersion": "batch.volcano.sh/v1alpha1"},
        {"apiVersion": "example.com/v1"},
        {"kind": "PodGroup"},
    ],
)
async def test_commands_for_others_are_left_to_them(bus: Bus, target: dict[str, str]) -> None:
    bus.command(**target)
    await bus.settle()
    assert bus.requests == []
    assert bus.api.requests == []


async def test_an_unknown_action_is_deleted_and_does_nothing(bus: Bus) -> None:
    bus.command(action="PauseQueue")
    await bus.settle()
    assert bus.requests == []
    assert bus.api.objects == {}


@pytest.mark.parametrize("name", ["", "a/b", "..", "x HTTP/1.1\r\nHost: h\r\n\r\nDELETE /api/v1/pods"])
async def test_a_command_about_what_cannot_exist_is_deleted_and_does_nothing(bus: Bus, name: str) -> None:
    bus.command(name=name)
    await bus.settle()
    assert bus.requests == []
    assert bus.api.objects == {}


async def test_a_command_that_another_client_has_deleted_is_not_carried_out(bus: Bus) -> None:
    bus.command()
    bus.api.objects.clear()
    await bus.settle()
    assert bus.requests == []


async def test_a_command_under_deletion_belongs_to_another_client(bus: Bus) -> None:
    command = bus.command("c")
    bus.controller.delete(command.metadata.uid)
    body = {"metadata": {"name": "d", "namespace": "ns", "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    target = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": "team"}
    bus.controller.upsert(msgspec.convert(body | {"action": "CloseQueue", "target": target}, Command))
    await bus.settle()
    assert bus.requests == []


async def test_a_namesake_that_came_later_is_a_command_of_its_own(bus: Bus) -> None:
    bus.command(action="CloseQueue")
    bus.command(action="OpenQueue")
    await bus.settle()
    assert [action for _, action, _, _ in bus.requests] == [QueueAction.OPEN]


async def test_a_late_event_of_a_command_does_not_repeat_it(bus: Bus) -> None:
    command = bus.command()
    await bus.settle()
    bus.controller.upsert(command)
    await bus.settle()
    assert len(bus.requests) == 1


async def test_a_command_whose_deletion_got_no_answer_is_carried_out_once(bus: Bus) -> None:
    bus.command()
    bus.api.refuse("DELETE", "commands", UnreachableError("DELETE", COMMANDS, "reset"))
    await bus.settle()
    assert len(bus.requests) == 1


@pytest.mark.parametrize("is_reported_first", [False, True])
@pytest.mark.parametrize(
    "error", [UnreachableError("DELETE", COMMANDS, "reset"), api_error("DELETE", COMMANDS, 504, b"")]
)
async def test_a_command_that_was_deleted_without_an_answer_is_carried_out_all_the_same(
    bus: Bus, error: Exception, is_reported_first: bool
) -> None:
    """No other client did it: the next attempt finds it gone, or the watch says so even before."""
    command = bus.command()

    def carried_out(verb: str, path: str) -> None:
        if bus.api.objects.pop(path, None) is not None:
            if is_reported_first:
                bus.controller.delete(command.metadata.uid)
            raise error

    bus.api.on_request = carried_out
    await bus.settle()
    bus.controller.delete(command.metadata.uid)
    await bus.settle()
    assert len(bus.requests) == 1


async def test_a_command_that_was_refused_and_is_gone_then_belonged_to_another_client(bus: Bus) -> None:
    bus.command()
    refusal = api_error("DELETE", COMMANDS, 429, b"")
    bus.api.refuse("DELETE", "commands", refusal)
    bus.api.on_request = lambda verb, path: bus.api.objects.clear()
    await bus.settle()
    assert bus.requests == []


async def test_two_replicas_carry_it_out_once(bus: Bus) -> None:
    other = Bus(bus.api)
    other.controller.upsert(bus.command())
    bus.api.latency = 0.01
    await asyncio.gather(bus.settle(), other.settle())
    assert len(bus.requests + other.requests) == 1


async def test_without_the_lease_commands_wait(bus: Bus) -> None:
    bus.leads = False
    bus.command()
    await bus.settle()
    assert bus.api.requests == []
    bus.leads = True
    await bus.settle()
    assert len(bus.requests) == 1


async def test_a_new_list_forgets_what_is_not_in_it_unless_it_is_newer(bus: Bus) -> None:
    bus.leads = False
    bus.command("gone")
    kept = bus.command("kept")
    newer = bus.command("newer")
    bus.controller.listed([kept], kept.metadata.resource_version)
    bus.leads = True
    await bus.settle()
    assert bus.api.requests == [f"DELETE {COMMANDS}/kept", f"DELETE {COMMANDS}/{newer.metadata.name}"]
