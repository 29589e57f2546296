"""Which controllers run, and how they are put together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from volcano_py.api.objects import ApiObject
from volcano_py.cluster.kubernetes.client import KubernetesClient
from volcano_py.cluster.kubernetes.credentials import Credentials
from volcano_py.operator.controllers import ControllersError, Operator, OperatorOptions, parse_controllers


@pytest.mark.parametrize(
    ("text", "on"),
    [
        ("*", "command podgroup queue"),
        ("", ""),
        ("podgroup", "podgroup"),
        (" queue , podgroup ", "podgroup queue"),
        ("*,-podgroup", "command queue"),
        ("-podgroup", "command queue"),
        ("-command", "podgroup queue"),
        ("-queue", "podgroup"),
        ("*,-queue", "podgroup"),
        ("-podgroup,*", "command queue"),
        ("queue,command", "command queue"),
        ("queue-controller", "command queue"),
        ("pg-controller", "podgroup"),
        ("-pg-controller,-queue-controller", ""),
    ],
)
def test_controllers_are_chosen_by_name(text: str, on: str) -> None:
    assert parse_controllers(text) == frozenset(on.split())


@pytest.mark.parametrize("text", ["jobs", "*,-jobs", "queues", "--queue"])
def test_an_unknown_controller_is_refused_with_those_there_are(text: str) -> None:
    with pytest.raises(ControllersError, match=r"there is no controller '.+'; there are command, podgroup, queue"):
        parse_controllers(text)


def test_commands_need_the_queue_controller() -> None:
    with pytest.raises(ControllersError, match="command needs queue"):
        parse_controllers("command,podgroup")


class State:
    """The scheduler's sink."""

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None: ...

    def upsert(self, kind: str, obj: ApiObject) -> None: ...

    def delete(self, kind: str, obj: ApiObject) -> None: ...


def operator(controllers: str, synced: asyncio.Event | None = None) -> tuple[Operator, KubernetesClient]:
    client = KubernetesClient(Credentials(None, None))
    made = Operator(
        client,
        State(),
        OperatorOptions(controllers=parse_controllers(controllers)),
        active=lambda: True,
        record=lambda event: None,
        own_signals=lambda: None,
        bad_object=lambda kind, key, uid, error: None,
        synced=(synced or asyncio.Event()).wait,
    )
    return made, client


@pytest.mark.parametrize(
    ("controllers", "children", "sinks"),
    [
        ("*", ["kopf", "podgroup controller", "queue controller", "command controller"], 2),
        ("-command", ["kopf", "podgroup controller", "queue controller"], 2),
        ("podgroup", ["kopf", "podgroup controller"], 1),
        ("", ["kopf"], 0),
    ],
)
async def test_what_is_switched_off_does_not_run(controllers: str, children: list[str], sinks: int) -> None:
    made, client = operator(controllers)
    assert list(made.children) == children
    assert len(made.sinks) == sinks
    made.leadership_gained()
    await client.aclose()


async def test_controllers_wait_until_everything_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    synced, ran = asyncio.Event(), list[str]()

    async def run(controller: Any) -> None:
        ran.append(type(controller).__name__)

    for name in ("PodGroupController", "QueueController", "CommandController"):
        monkeypatch.setattr(f"volcano_py.operator.controllers.{name}.run", run)
    made, client = operator("*", synced)
    tasks = [asyncio.ensure_future(start()) for name, start in made.children.items() if name != "kopf"]
    await asyncio.sleep(0)
    made.kopf.listed.set()
    await asyncio.sleep(1)
    assert ran == []
    synced.set()
    await asyncio.gather(*tasks)
    assert sorted(ran) == ["CommandController", "PodGroupController", "QueueController"]
    await client.aclose()
