"""`volcano-py evictions`: the events of victims, the oldest first, or what a record has of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
from click.testing import CliRunner

from tests.unit.cli.cluster import UserOfCluster
from tests.unit.cluster.fakes import page
from tests.unit.record.recording import record_contest, record_night
from volcano_py.cli.main import main

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


def test_a_record_has_the_queues_and_what_became_of_them(tmp_path: Path) -> None:
    asyncio.run(record_contest(tmp_path))
    printed = CliRunner().invoke(main, ["evictions", "--record", str(tmp_path)])
    header, *rows = printed.output.splitlines()
    assert header.split() == ["TIME", "POD", "QUEUE", "ACTION", "FOR", "OF", "QUEUE", "OUTCOME", "WHY"]
    assert len(rows) == 2
    for row in rows:
        time, pod, queue, action, claimant, its_queue, outcome, *_ = row.split()
        assert (time, queue, action, its_queue, outcome) == (AT, "research", "reclaim", "vision", "evicted")
        assert pod.startswith("team/sweep-")
        assert claimant.startswith("team/train-")


AT = "2026-11-21T10:00:00Z"


def test_a_record_is_asked_for_a_namespace_and_a_time(tmp_path: Path) -> None:
    asyncio.run(record_contest(tmp_path))

    def found(*options: str) -> list[Any]:
        result = CliRunner().invoke(main, ["evictions", "--record", str(tmp_path), "-o", "json", *options])
        assert result.exit_code == 0, result.output
        items: list[Any] = orjson.loads(result.output)
        return items

    assert [item["at"] for item in found("--namespace", "team")] == [AT, AT]
    assert found("--namespace", "tea") == found("--since", "1s") == []


def test_a_record_without_evictions_and_a_watch_are_reported(tmp_path: Path) -> None:
    asyncio.run(record_night(tmp_path))
    none = CliRunner().invoke(main, ["evictions", "--record", str(tmp_path)])
    assert (none.exit_code, none.stdout, none.stderr) == (0, "", "There is no eviction to show.\n")
    watch = CliRunner().invoke(main, ["evictions", "--record", str(tmp_path), "--watch"])
    assert watch.exit_code == 2
    missing = CliRunner().invoke(main, ["evictions", "--record", str(tmp_path / "none")])
    assert (missing.exit_code, "no record here" in missing.output) == (1, True)
