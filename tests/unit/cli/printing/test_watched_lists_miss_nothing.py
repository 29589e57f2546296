"""A watch that ends, breaks or is forgotten by the server goes on where it was."""

from __future__ import annotations

import asyncio

from tests.unit.cli.cluster import SCHEDULING, UserOfCluster, queue
from tests.unit.cluster.fakes import page, refusal

QUEUES = f"{SCHEDULING}/queues"
END = refusal(403, "Forbidden", "enough")


def reported(output: str) -> list[tuple[str, str]]:
    """Name and state in each row."""
    rows = [line.split() for line in output.splitlines()[1:]]
    return [(row[0], row[2]) for row in rows]


async def test_a_watch_that_ends_or_breaks_goes_on_at_the_last_version(user: UserOfCluster) -> None:
    user.api.on("GET", QUEUES, page(7, queue("a")))
    running = asyncio.create_task(user.run("queue", "list", "--watch"))
    first = await user.api.watch()
    await first.send("MODIFIED", queue("a", version="8", state="Closing"))
    first.end()
    second = await user.api.watch()
    await second.send("BOOKMARK", {"metadata": {"resourceVersion": "20"}})
    second.end()
    third = await user.api.watch()
    assert [watch.resource_version for watch in (first, second, third)] == ["7", "8", "20"]
    await third.send("MODIFIED", queue("a", version="21", state="Closed"))
    user.api.refuse_watch(END)
    third.end()
    assert reported((await running).stdout) == [("a", "Open"), ("a", "Closing"), ("a", "Closed")]
    assert len(user.api.sent("GET", QUEUES)) == 1


async def test_what_a_forgetful_server_did_not_report_is_found(user: UserOfCluster) -> None:
    """It answers 410: the list is read again, and only what differs is printed."""
    now = page(30, queue("same", version="3"), queue("changed", version="29", state="Closed"), queue("new"))
    before = page(7, queue("same", version="3"), queue("changed", version="4"), queue("gone", version="5"))
    user.api.on("GET", QUEUES, before, now)
    user.api.refuse_watch(refusal(410, "Expired"))
    running = asyncio.create_task(user.run("queue", "list", "--watch"))
    watch = await user.api.watch()
    assert watch.resource_version == "30"
    user.api.refuse_watch(END)
    watch.end()
    assert reported((await running).stdout) == [
        ("changed", "Open"), ("gone", "Open"), ("same", "Open"),
        ("changed", "Closed"), ("gone", "Deleted"), ("new", "Open"),
    ]  # fmt: skip


async def test_an_error_in_the_stream_counts_as_forgotten(user: UserOfCluster) -> None:
    user.api.on("GET", QUEUES, page(7, queue("a")), page(9, queue("a", version="9", state="Closed")))
    running = asyncio.create_task(user.run("queue", "list", "--watch"))
    watch = await user.api.watch()
    await watch.send("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"})
    second = await user.api.watch()
    assert second.resource_version == "9"
    user.api.refuse_watch(END)
    second.end()
    assert reported((await running).stdout) == [("a", "Open"), ("a", "Closed")]
