"""While pods of several namespaces are bound, a binding holds its slot until the watch shows it."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Sequence

import msgspec
import pytest

from tests.unit.cluster.fakes import (
    FakeApi,
    FakeClock,
    RecordingOutcomes,
    Reply,
    Request,
    eventually,
    pod,
    refusal,
    settle,
)
from volcano_py.api.effects import Bind, ObjectRef
from volcano_py.api.objects import Pod
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.writing.binder import Binder
from volcano_py.cluster.kubernetes.writing.binding_pace import NARROWEST, PATIENCE, SOON, WINDOW
from volcano_py.cluster.kubernetes.writing.sharing import SHARED_FOR

BURST = 40


def refs(namespace: str, count: int) -> list[ObjectRef]:
    return [ObjectRef("Pod", namespace, f"p{number}", f"uid-{namespace}-{number}") for number in range(count)]


BUSY, OTHER = refs("busy", BURST), refs("other", 1)


def binds(pods: Sequence[ObjectRef]) -> list[Bind]:
    return [Bind(ref, "node-1", f"{ref.namespace}/gang") for ref in pods]


def shown(ref: ObjectRef, **spec: str) -> Pod:
    return msgspec.convert(pod(ref.name, 1, uid=ref.uid, **spec), Pod)


@pytest.fixture
async def binder(
    api: FakeApi, client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock
) -> AsyncIterator[Binder]:
    for ref in (*BUSY, *OTHER):
        api.on("POST", path(ref), Reply(201))
    binder = Binder(client, outcomes, in_flight=BURST, clock=clock, rng=random.Random(1))
    yield binder
    await binder.drain(0)


def path(ref: ObjectRef) -> str:
    return f"/api/v1/namespaces/{ref.namespace}/pods/{ref.name}/binding"


async def bound(binder: Binder, number: int) -> None:
    """So many are bound, and no more without something else to happen."""
    await eventually(lambda: binder.stats().bound == number)
    await settle()
    assert binder.stats().bound == number


async def test_a_namespace_that_is_alone_waits_for_the_answers_only(binder: Binder) -> None:
    binder.submit(binds(BUSY))
    await bound(binder, BURST)
    assert binder.quiet.is_set()


async def test_one_of_several_goes_on_as_the_watch_shows_its_bindings(binder: Binder) -> None:
    binder.submit(binds([*OTHER, *BUSY]))
    await bound(binder, 1 + WINDOW)
    for ref in BUSY[:3]:
        binder.pace.upsert("Pod", shown(ref, nodeName="node-1"))
    await bound(binder, 1 + WINDOW + 3)


async def bind_and_show(binder: Binder, clock: FakeClock, seconds: float) -> None:
    """Pods of both namespaces; the watch shows them so long after the bindings were sent."""
    for _ in range(BURST // 2):
        binder.submit(binds([*OTHER, BUSY[0]]))
        await settle()
        await clock.advance(seconds)
        for ref in (*OTHER, BUSY[0]):
            binder.pace.upsert("Pod", shown(ref, nodeName="node-1"))
        await eventually(binder.quiet.is_set)


async def test_a_namespace_may_have_fewer_under_way_as_long_as_the_watch_is_late(
    binder: Binder, clock: FakeClock
) -> None:
    await bind_and_show(binder, clock, SOON / 2)
    assert binder.pace.limit() == WINDOW
    await bind_and_show(binder, clock, SOON * 2)
    assert binder.pace.limit() == NARROWEST
    await bind_and_show(binder, clock, SOON / 2)
    assert binder.pace.limit() == WINDOW


async def test_an_api_server_that_is_always_slow_is_not_taken_for_a_busy_one(binder: Binder, clock: FakeClock) -> None:
    await bind_and_show(binder, clock, SOON * 4)
    assert binder.pace.limit() == WINDOW


async def test_changes_of_the_pod_before_its_binding_count_for_nothing(binder: Binder) -> None:
    binder.submit(binds([*OTHER, *BUSY]))
    await bound(binder, 1 + WINDOW)
    binder.pace.upsert("Pod", shown(BUSY[0]))
    await bound(binder, 1 + WINDOW)


@pytest.mark.parametrize("how", ["deleted", "listed"])
async def test_deletions_and_lists_show_bindings_too(binder: Binder, how: str) -> None:
    binder.submit(binds([*OTHER, *BUSY]))
    await bound(binder, 1 + WINDOW)
    if how == "deleted":
        binder.pace.delete("Pod", shown(BUSY[0]))
    else:
        binder.pace.replace("Pod", [shown(BUSY[0], nodeName="node-1"), shown(BUSY[BURST - 1])])
    await bound(binder, 1 + WINDOW + 1)


async def test_the_watch_may_show_a_binding_before_it_is_answered(api: FakeApi, binder: Binder) -> None:
    def answers(ref: ObjectRef) -> Callable[[Request], Reply]:
        def answer(_request: Request) -> Reply:
            binder.pace.upsert("Pod", shown(ref, nodeName="node-1"))
            return Reply(201)

        return answer

    for ref in (*BUSY, *OTHER):
        api.on("POST", path(ref), answers(ref))
    binder.submit(binds([*OTHER, *BUSY]))
    await bound(binder, 1 + BURST)


async def test_a_binding_that_is_never_shown_holds_its_slot_for_a_second(binder: Binder, clock: FakeClock) -> None:
    binder.submit(binds([*OTHER, *BUSY]))
    await bound(binder, 1 + WINDOW)
    await clock.advance(PATIENCE)
    await bound(binder, 1 + 2 * WINDOW)


async def test_a_binding_that_fails_holds_no_slot(api: FakeApi, binder: Binder) -> None:
    for ref in (*BUSY, *OTHER):
        api.on("POST", path(ref), refusal(403, "Forbidden"))
    binder.submit(binds([*OTHER, *BUSY]))
    await eventually(binder.quiet.is_set)
    assert binder.stats().refused == 1 + BURST


async def test_a_namespace_whose_companions_have_had_nothing_for_a_while_is_alone_again(
    binder: Binder, clock: FakeClock
) -> None:
    binder.submit(binds(OTHER))
    await bound(binder, 1)
    await clock.advance(SHARED_FOR + 1)
    binder.submit(binds(BUSY))
    await bound(binder, 1 + BURST)


async def test_what_is_bound_and_not_shown_yet_is_no_failure_at_the_end(
    binder: Binder, outcomes: RecordingOutcomes
) -> None:
    binder.submit(binds([*OTHER, *BUSY[:2]]))
    await bound(binder, 3)
    await binder.drain(0)
    assert sorted(outcomes.lines) == ["bound p0", "bound p0", "bound p1"]
