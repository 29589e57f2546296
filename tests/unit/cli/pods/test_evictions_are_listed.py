"""`volcano-py evictions`: the events of victims, the oldest first."""

from __future__ import annotations

from typing import Any

import orjson

from tests.unit.cli.cluster import UserOfCluster
from tests.unit.cluster.fakes import page

EVENTS = "/api/v1/events"


def event(pod: str, at: str, claimant: str = "due-0", **more: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": f"{pod}.1", "namespace": "ns", "uid": f"uid-{pod}", "resourceVersion": "1"},
        "involvedObject": {"kind": "Pod", "namespace": "ns", "name": pod},
        "related": {"kind": "Pod", "namespace": "other", "name": claimant},
        "action": "reclaim",
        "reason": "Evict",
        "message": f"reclaim: ns/{pod} (priority 0) in queue a makes room for other/{claimant}; allowed by capacity",
        "lastTimestamp": at,
        **more,
    }


async def test_victims_are_listed_with_what_they_went_for_and_why(user: UserOfCluster) -> None:
    user.api.on("GET", EVENTS, page(7, event("b", "2026-01-02T00:00:00Z"), event("a", "2026-01-01T00:00:00Z")))
    lines = [line.split() for line in (await user.prints("evictions", "-A")).splitlines()]
    assert lines[0] == ["NAMESPACE", "POD", "AGE", "ACTION", "FOR", "WHY"]
    assert [(line[1], line[3], line[4]) for line in lines[1:]] == [
        ("a", "reclaim", "other/due-0"),
        ("b", "reclaim", "other/due-0"),
    ]
    assert " ".join(lines[1][5:]) == "ns/a (priority 0) in queue a makes room for other/due-0; allowed by capacity"
    (asked,) = user.api.sent("GET", EVENTS)
    assert asked.query["fieldSelector"] == "reason=Evict,involvedObject.kind=Pod"


async def test_older_evictions_are_left_out_on_request(user: UserOfCluster) -> None:
    recent = event("new", "2999-01-01T00:00:00Z")
    user.api.on("GET", EVENTS, page(7, event("old", "2026-01-01T00:00:00Z"), recent))
    items = orjson.loads(await user.prints("evictions", "-A", "--since", "1h", "-o", "json"))["items"]
    assert [item["involvedObject"]["name"] for item in items] == ["new"]


async def test_an_event_of_an_older_version_has_its_action_in_the_message(user: UserOfCluster) -> None:
    plain = event("a", "2026-01-01T00:00:00Z", message="shuffle: too busy")
    del plain["related"], plain["action"]
    user.api.on("GET", EVENTS, page(7, plain))
    row = (await user.prints("evictions", "-A")).splitlines()[1].split()
    assert row[3:] == ["shuffle", "-", "too", "busy"]


async def test_where_nothing_was_evicted_the_list_says_so(user: UserOfCluster) -> None:
    user.api.on("GET", EVENTS, page(7))
    result = await user.run("evictions", "-A")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "There is no eviction to show.\n")
