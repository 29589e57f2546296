"""What is remembered of promises that were not used goes when it no longer matters, and never grows without end."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tests.support.sessions import node, open_session, pod_group
from volcano_py.framework.status.unused_promises import UnusedPromises
from volcano_py.state.snapshot import Snapshot


def snapshot(*groups: Any) -> Snapshot:
    return open_session(node("n1", cpu="4"), *groups).ssn.snapshot


def empty(name: str) -> Any:
    return pod_group(name, min_resources={"cpu": "4"})


WAITS = pod_group("waits", min_resources={"cpu": "4"}, phase="Pending", age=1000)


def test_a_promise_that_is_gone_is_forgotten_and_its_time_kept_while_a_job_waits() -> None:
    memory: dict[str, Any] = {}
    before = snapshot(empty("g"), WAITS)
    promises = UnusedPromises(before, memory)
    row = next(row for row, info in enumerate(before.jobs) if info is not None and info.ref.name == "g")
    info = before.jobs[row]
    assert info is not None
    promises.since(row, info)
    after = replace(snapshot(WAITS), now=before.now + 50)
    left = UnusedPromises(after, memory).left_over(info.ref.namespace)
    assert left is not None
    assert (left.seconds, left.at) == (50, after.now)
    assert not memory["promises"]
    UnusedPromises(replace(snapshot(), now=before.now + 51), memory)
    assert memory == {"promises": {}, "left over": {}}


def test_namespaces_without_end_leave_no_more_than_some() -> None:
    """A job that will never be admitted waits all the time."""
    memory: dict[str, Any] = {}
    seen = snapshot(WAITS)
    for number in range(5000):
        UnusedPromises(seen, memory).leave(f"namespace-{number}", 1.0)
    left = memory["left over"]
    assert len(left) <= 1000 + 2 * len(seen.jobs) + 1
    assert "namespace-4999" in left
