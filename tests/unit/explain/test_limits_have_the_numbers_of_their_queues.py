"""The chain of limits has what each queue holds, deserves and may have."""

from __future__ import annotations

import pytest

from tests.unit.explain.causes import CAPACITY, DEFAULT, explained, gang, node, queue

TWO = node("n1") + node("n2")


def test_the_gang_counts_its_own_pods_that_have_not_ended() -> None:
    """One has failed, and one is another scheduler's."""
    failed = gang(1).partition("---")[2].replace("train-0", "failed").replace("---", "status: {phase: Failed}\n---")
    foreign = gang(1).partition("---")[2].replace("train-0", "foreign").replace("schedulerName: volcano", "")
    of_gang = explained(TWO + gang(2, "9", minimum=3) + failed + foreign).limits[0]
    assert (of_gang.kind, of_gang.note) == ("gang", "2 of the 3 pods that must start together exist")


def test_pods_beyond_the_minimum_of_a_gang_are_counted_apart() -> None:
    of_gang = explained(TWO + gang(4, "9", minimum=2)).limits[0]
    assert of_gang.note == "2 of the 2 pods that must start together exist, and 2 more"


def test_pods_of_another_scheduler_do_not_start_a_gang() -> None:
    """Two of three pods have nodes, but one of those is another scheduler's."""
    bound = "nodeName: n1\n  schedulerName: default-scheduler"
    foreign = gang(1).partition("---")[2].replace("train-0", "foreign").replace("schedulerName: volcano", bound)
    found = explained(TWO + gang(2, "9") + foreign)
    assert (found.now.state, found.now.running, found.now.wanted) == ("Waiting", 0, 2)


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


@pytest.mark.parametrize("plugins", [DEFAULT, CAPACITY])
def test_what_the_workload_itself_was_promised_counts_once(plugins: str) -> None:
    """It was admitted, and nodes take two of its three pods."""
    waits = gang(3, "5", group='queue: q, minResources: {cpu: "15"}')
    found = explained(TWO + queue("q") + waits, plugins)
    of_queue = next(limit for limit in found.limits if (limit.kind, limit.name) == ("queue", "q"))
    assert found.now.reason == "NodesRefuse"
    assert (of_queue.resource, of_queue.used, of_queue.promised, of_queue.asked) == ("cpu", 0, 0, 15000)


DEVICES = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices: [{name: d0}, {name: d1}, {name: d2}, {name: d3}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: pair}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, count: 2}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: other}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, count: 2}}]}}
---"""


def test_devices_of_claims_count_in_the_limits_of_queues() -> None:
    """The two pods of the gang share a claim; a pod that runs has the other one."""

    def using(claim: str, count: int) -> str:
        claims = f"resourceClaims: [{{name: gpu, resourceClaimName: {claim}}}]"
        return gang(count, "1", group="queue: q", pod=claims)

    runs, waits = using("other", 1).replace("train", "first"), using("pair", 2)
    found = explained(TWO + DEVICES + queue("q", "capability: {deviceclass/gpu: 3}") + runs + waits, CAPACITY)
    binding = next(limit for limit in found.limits if limit.binding)
    assert (found.now.reason, binding.name, binding.resource) == ("OverCapability", "q", "deviceclass/gpu")
    assert (binding.used, binding.asked, binding.limit) == (2, 2, 3)
    assert [remedy.text for remedy in found.remedies] == ["raise capability of queue q to 4 deviceclass/gpu"]
