"""Events in a capture: the newest of each object, without what may be secret, for the history of an explanation."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.capture.clusters import MARK, serve
from tests.unit.cluster.fakes import FakeApi, page, refusal
from volcano_py.capture.anonymous import anonymized
from volcano_py.capture.events import MOST_EVENTS
from volcano_py.capture.file import of_bytes, written
from volcano_py.capture.live import of_cluster
from volcano_py.capture.model import Capture, CapturedEvent
from volcano_py.cluster.kubernetes.http.client import KubernetesClient

EVENTS = "/api/v1/events"
FIRST = datetime(2026, 11, 24, 9, tzinfo=UTC)


def event(kind: str, name: str, reason: str, *, by: str = "volcano", minute: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": f"{name}.{minute}", "namespace": "team"},
        "involvedObject": {"kind": kind, "namespace": "team", "name": name, "uid": "1", "fieldPath": MARK},
        "reason": reason,
        "lastTimestamp": FIRST.replace(minute=minute).isoformat(),
        "source": {"component": by, "host": MARK},
        **more,
    }


async def captured(api: FakeApi, client: KubernetesClient, *events: dict[str, Any]) -> Capture:
    serve(api)
    api.on("GET", EVENTS, page(9, *events))
    return await of_cluster(client, with_events=True)


@pytest.mark.real_time
async def test_events_of_workloads_queues_and_nodes_are_kept_oldest_first(
    api: FakeApi, client: KubernetesClient
) -> None:
    found = await captured(
        api,
        client,
        event("Pod", "waits", "FailedScheduling", minute=5, message="0/2 nodes fit", count=3),
        event("PodGroup", "train", "Unschedulable", minute=2, message="1/1 tasks in gang unschedulable"),
        event("Queue", "default", "FieldsIgnored", minute=3),
        event("Node", "n1", "NodeReady", minute=1),
        event("Job", "sweep", "Running", minute=4),
        event("Pod", "gone", "FailedScheduling", message=MARK),
        event("Secret", "key", "Rotated", message=MARK),
        {**event("Pod", "waits", "NoTime"), "lastTimestamp": None},
    )

    assert found.events is not None
    assert [(each.kind, each.namespace, each.name, each.reason) for each in found.events] == [
        ("Node", "", "n1", "NodeReady"),
        ("PodGroup", "team", "train", "Unschedulable"),
        ("Queue", "", "default", "FieldsIgnored"),
        ("Job", "team", "sweep", "Running"),
        ("Pod", "team", "waits", "FailedScheduling"),
    ]
    assert found.events[-1] == CapturedEvent(
        FIRST.replace(minute=5), "Pod", "team", "waits", "FailedScheduling", "0/2 nodes fit", 3, uid="1"
    )
    assert of_bytes(written(found), "f") == found


@pytest.mark.real_time
async def test_of_one_object_the_newest_are_kept(api: FakeApi, client: KubernetesClient) -> None:
    many = [event("Pod", "waits", f"R{minute}", minute=minute) for minute in range(MOST_EVENTS + 5)]

    found = await captured(api, client, *many, event("Pod", "alone", "Other"))

    assert [each.reason for each in found.events or ()] == ["Other", *(f"R{5 + n}" for n in range(MOST_EVENTS))]


@pytest.mark.real_time
@pytest.mark.parametrize("by", ["kubelet", "some-operator", ""])
async def test_messages_of_others_than_schedulers_are_left_out(api: FakeApi, client: KubernetesClient, by: str) -> None:
    message = f"Error: couldn't find key {MARK} in Secret team/{MARK}"

    found = await captured(api, client, event("Pod", "runs", "Failed", by=by, message=message))

    assert [(each.reason, each.message) for each in found.events or ()] == [("Failed", "")]
    assert MARK not in gzip.decompress(written(found)).decode()


@pytest.mark.real_time
async def test_a_scheduler_of_another_name_speaks_too_and_no_message_is_long(
    api: FakeApi, client: KubernetesClient
) -> None:
    serve(api)
    api.on("GET", EVENTS, page(9, event("Pod", "waits", "FailedScheduling", by="mine", message="x" * 5000)))

    found = await of_cluster(client, scheduler_names=("mine",), with_events=True)

    assert [each.message for each in found.events or ()] == ["x" * 1024]


@pytest.mark.real_time
async def test_events_that_may_not_be_read_are_said(api: FakeApi, client: KubernetesClient) -> None:
    serve(api)
    api.on("GET", EVENTS, refusal(403, "Forbidden", "not yours"))

    found = await of_cluster(client, with_events=True)

    assert found.events is None
    assert [str(each) for each in found.unread] == ["Event not read: not yours; the history has conditions only"]


@pytest.mark.real_time
async def test_events_have_the_other_names_of_their_objects_and_no_message(
    api: FakeApi, client: KubernetesClient
) -> None:
    found = await captured(api, client, event("Pod", "waits", "FailedScheduling", message="team waits"))

    hidden = anonymized(found)

    pods = {obj.metadata.key for kind, obj in hidden.items if kind == "Pod" and hasattr(obj, "metadata")}
    (about,) = hidden.events or ()
    assert f"{about.namespace}/{about.name}" in pods
    assert (about.reason, about.message) == ("FailedScheduling", "")
    assert "waits" not in gzip.decompress(written(hidden)).decode()


def test_a_file_of_an_earlier_version_has_no_events() -> None:
    content = json.loads(gzip.decompress(written(Capture(taken=1.0, items=(), configuration="", events=()))))
    assert content.pop("events") == []

    assert of_bytes(gzip.compress(json.dumps(content).encode()), "f").events is None
