"""The chain of limits has what each queue holds, deserves and may have."""

from __future__ import annotations

from tests.unit.explain.causes import CAPACITY, explained, gang, node, queue

TWO = node("n1") + node("n2")


def test_what_guarantees_keep_for_other_queues_is_a_column() -> None:
    """16 CPUs, of which 12 are guaranteed to another queue: 4 are left."""
    others = queue("other", "guarantee: {resource: {cpu: '12'}}")
    found = explained(TWO + others + queue("q") + gang(1, "6", group="queue: q"), CAPACITY)
    binding = next(limit for limit in found.limits if limit.binding)
    assert (found.now.reason, binding.name) == ("OverCapability", "q")
    assert (binding.resource, binding.used, binding.asked, binding.limit) == ("cpu", 0, 6000, 16000)
    assert binding.kept_for_others == 12000


def test_what_a_queue_deserves_binds_where_it_is_the_reason() -> None:
    """Two queues that both want all 16 CPUs deserve 8 each."""
    rivals = queue("q") + queue("r") + gang(3, "4", group="queue: r").replace("train", "rival")
    found = explained(TWO + rivals + gang(3, "4", group="queue: q"))
    limit = next(limit for limit in found.limits if limit.binding)
    assert (found.now.reason, limit.name) == ("OverDeserved", "q")
    assert (limit.resource, limit.asked, limit.deserved, limit.limit) == ("cpu", 12000, 8000, None)


def test_what_admitted_jobs_may_still_use_counts() -> None:
    admitted = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: promised}
spec: {queue: q, minMember: 1, minResources: {cpu: "3"}}
status: {phase: Inqueue}
---"""
    waits = gang(1, "2", group='queue: q, minResources: {cpu: "2"}')
    found = explained(TWO + queue("q", "capability: {cpu: '4'}") + admitted + waits, CAPACITY)
    binding = next(limit for limit in found.limits if limit.binding)
    assert (binding.used, binding.promised, binding.asked, binding.limit) == (0, 3000, 2000, 4000)
