"""What admission knows: fed a moment ago, or read again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest

from tests.support.queues.queue_worlds import queue
from volcano_py.api.names import QUEUE_NAME
from volcano_py.api.objects import Namespace, ObjectMeta, PodGroup, PodGroupSpec, PodGroupStatus
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import RequestError, api_error
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.operator.webhooks.view import AdmissionView

QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/podgroups"


class Api:
    """Queues and numbers of PodGroups; lists take as long as the test says."""

    def __init__(self) -> None:
        self.queues: list[Any] = [queue("root"), queue("default")]
        self.groups: dict[str, int] = {}
        self.selects = True
        self.lists = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.fails = False

    async def request(self, verb: str, where: ApiPath, *, params: Any = None, **_: Any) -> bytes:
        path = str(where)
        if self.fails:
            raise api_error(verb, path, 500, b"")
        if path == QUEUES:
            found = [msgspec.to_builtins(each) for each in self.queues]
            self.lists += 1
            await self.gate.wait()
            return msgspec.json.encode({"items": found})
        assert path == GROUPS
        if not self.selects:
            raise api_error(verb, path, 400, b"")
        name = params["fieldSelector"].removeprefix("spec.queue=").partition(",")[0]
        assert params["fieldSelector"] == f"spec.queue={name},status.phase!=Completed"
        return msgspec.json.encode({"items": [{}] * self.groups.get(name, 0)})


def group(name: str, queue_name: str, phase: str = "Running") -> PodGroup:
    return PodGroup(
        metadata=ObjectMeta(name=name, namespace="ns"),
        spec=PodGroupSpec(queue=queue_name),
        status=PodGroupStatus(phase=phase),
    )


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def view(api: Api) -> AdmissionView:
    view = AdmissionView(cast(KubernetesClient, api), "default")
    view.replace("Queue", [queue("root"), queue("team", "dept"), queue("dept")])
    return view


def test_it_follows_what_it_is_fed(view: AdmissionView) -> None:
    before = view.world()
    view.upsert("Queue", queue("more", "dept"))
    view.delete("Queue", queue("team"))
    assert [each.name for each in view.world().children("dept")] == ["more"]
    assert [each.name for each in before.children("dept")] == ["team"], "what was handed out stays as it was"
    view.replace("Queue", [queue("root")])
    assert set(view.world().queues) == {"root"}


def test_podgroups_count_until_they_are_finished(view: AdmissionView) -> None:
    view.replace("PodGroup", [group("a", "team"), group("b", "team"), group("c", "")])
    assert view.world().pod_groups == {"team": 2, "default": 1}
    view.upsert("PodGroup", group("a", "other"))
    view.upsert("PodGroup", group("b", "team", phase="Completed"))
    view.delete("PodGroup", group("c", ""))
    view.delete("PodGroup", group("c", ""))
    assert view.world().pod_groups == {"other": 1}
    view.replace("PodGroup", [])
    assert view.world().pod_groups == {}


def test_annotations_of_namespaces_are_kept(view: AdmissionView) -> None:
    namespace = Namespace(metadata=ObjectMeta(name="ns", annotations={QUEUE_NAME: "team"}))
    view.upsert("Namespace", namespace)
    assert view.namespace_annotations("ns") == {QUEUE_NAME: "team"}
    view.delete("Namespace", namespace)
    assert view.namespace_annotations("ns") == {}


async def test_what_is_read_again_is_newer_than_what_was_fed(api: Api, view: AdmissionView) -> None:
    view.upsert("PodGroup", group("stale", "team"))
    api.queues.append(queue("new"))
    api.groups = {"new": 2}
    world = await view.fresh("new", "team", "")
    assert set(world.queues) == {"root", "default", "new"}
    assert world.pod_groups == {"new": 2, "team": 0}


async def test_without_selectable_fields_the_informer_counts(api: Api, view: AdmissionView) -> None:
    api.selects = False
    view.upsert("PodGroup", group("work", "team"))
    assert (await view.fresh("team")).pod_groups["team"] == 1


async def test_a_queue_that_cannot_be_read_hides_no_other(api: Api, view: AdmissionView) -> None:
    api.queues.insert(0, {"metadata": {"name": "bad"}, "spec": {"weight": "much"}})
    assert set((await view.fresh()).queues) == {"root", "default"}


async def test_a_field_that_is_null_counts_as_left_out(api: Api, view: AdmissionView) -> None:
    """The scheduler runs such a queue."""
    api.queues.append({"metadata": {"name": "team"}, "spec": {"capability": None, "weight": 1}})
    assert (await view.fresh()).queues["team"].capability == {}


async def test_an_api_server_that_does_not_answer_is_reported(api: Api, view: AdmissionView) -> None:
    api.fails = True
    for _ in range(2):
        with pytest.raises(RequestError):
            await view.fresh()
    api.fails = False
    assert set((await view.fresh()).queues) == {"root", "default"}


async def settled(condition: Callable[[], bool]) -> None:
    for _ in range(50):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not come to that")


async def test_edits_that_come_together_share_a_list_that_began_after_them(api: Api, view: AdmissionView) -> None:
    api.gate.clear()
    first = asyncio.create_task(view.fresh())
    await settled(lambda: api.lists == 1)
    api.queues.append(queue("late"))
    later = [asyncio.create_task(view.fresh()) for _ in range(20)]
    await asyncio.sleep(0)
    assert api.lists == 1, "one at a time"
    api.gate.set()
    assert "late" not in (await first).queues
    for world in await asyncio.gather(*later):
        assert "late" in world.queues
    assert api.lists == 2


async def test_a_caller_that_goes_away_does_not_cancel_the_list_of_others(api: Api, view: AdmissionView) -> None:
    api.gate.clear()
    hasty, patient = asyncio.create_task(view.fresh()), asyncio.create_task(view.fresh())
    await settled(lambda: api.lists == 1)
    hasty.cancel()
    api.gate.set()
    assert "root" in (await patient).queues


async def test_an_edit_that_was_admitted_counts_before_it_is_stored(api: Api, view: AdmissionView) -> None:
    """Two edits that come at once and do not fit together: the second is checked together with the first."""
    view.promise(queue("new", deserved={"cpu": 3}))
    assert (await view.fresh()).queues["new"].deserved == {"cpu": 3}
    view.forget_promise("new")
    assert "new" not in (await view.fresh()).queues


async def test_news_of_before_an_edit_take_no_promise_back(api: Api, view: AdmissionView) -> None:
    """The scheduler writes statuses all the time: such an event is of the queue as it was."""
    api.queues.append(queue("team", deserved={"cpu": 2}))
    view.promise(queue("team", deserved={"cpu": 7}, state="Open"))
    view.upsert("Queue", queue("team", deserved={"cpu": 2}, state="Closing"))
    assert (await view.fresh()).queues["team"].deserved == {"cpu": 7}


async def test_what_is_stored_keeps_a_promise_though_its_state_is_another(api: Api, view: AdmissionView) -> None:
    api.queues.append(queue("team", deserved={"cpu": 7}, state="Closing"))
    view.promise(queue("team", deserved={"cpu": 7}, state="Open"))
    view.upsert("Queue", queue("team", deserved={"cpu": "7"}, state="Closing"))
    assert (await view.fresh()).queues["team"].state == "Closing"


async def test_what_was_promised_counts_until_the_feed_brings_it_or_it_never_comes(
    api: Api, view: AdmissionView
) -> None:
    view.promise(queue("stored"))
    view.promise(queue("lost"))
    view.upsert("Queue", queue("stored"))
    assert {"stored", "lost"} & set((await view.fresh()).queues) == {"lost"}
    await asyncio.sleep(3)  # by the tests' own clock
    assert "lost" not in (await view.fresh()).queues
