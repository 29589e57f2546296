"""Remedies for what is wrong with the workload itself: minResources beyond its pods, no PodGroup, no claim."""

from __future__ import annotations

import pytest

from tests.unit.explain.causes import CAPACITY, DEFAULT, OVERCOMMIT, QUOTA, explained, gang, node, queue, world_of
from volcano_py.explain.model import WorkloadExplanation
from volcano_py.explain.of_workload import explain_workload

SMALL = queue("vision", 'capability: {cpu: "6"}')
LARGE = gang(2, "2", group='queue: vision, minResources: {cpu: "8"}')
TO_MATCH = "lower minResources of PodGroup default/train to what its pods ask for: 4 cpu"
WITH_CLAIM = "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"


def remedies(found: WorkloadExplanation) -> dict[str, str]:
    return {each.kind: each.text for each in found.remedies}


@pytest.mark.parametrize("conf", [DEFAULT, CAPACITY])
def test_min_resources_beyond_what_pods_ask_for_are_lowered_or_the_queue_gives_that_much(conf: str) -> None:
    found = explained(node() + SMALL + LARGE, conf)
    assert remedies(found)["min-resources"] == TO_MATCH
    assert remedies(found)["capability"] == "raise capability of queue vision to 8 cpu"
    [binding] = [limit for limit in found.limits if limit.binding]
    assert (binding.kind, binding.asked, binding.limit) == ("queue", 8000, 6000)


def test_the_cluster_does_not_promise_min_resources_beyond_its_size() -> None:
    found = explained(node() + gang(2, "2", group='minResources: {cpu: "20"}'), OVERCOMMIT)
    assert remedies(found)["min-resources"] == TO_MATCH
    [binding] = [limit for limit in found.limits if limit.binding]
    assert (binding.kind, binding.asked, binding.limit) == ("cluster", 20000, 8000)


def test_a_quota_is_raised_by_what_min_resources_ask_for_beyond_the_pods_that_it_has_admitted() -> None:
    quota = """
apiVersion: v1
kind: ResourceQuota
metadata: {name: small}
spec: {hard: {requests.cpu: "6"}}
status: {hard: {requests.cpu: "6"}, used: {requests.cpu: "4"}}
---"""
    found = explained(node() + quota + gang(2, "2", group='minResources: {cpu: "8", requests.cpu: "8"}'), QUOTA)
    assert remedies(found)["quota"] == "raise the ResourceQuota small to 8 requests.cpu"
    assert remedies(found)["min-resources"] == TO_MATCH
    [binding] = [limit for limit in found.limits if limit.binding]
    assert (binding.kind, binding.used, binding.asked, binding.limit) == ("quota", 4000, 4000, 6000)


def test_min_resources_that_are_admitted_ask_for_nothing_more() -> None:
    """Its pods wait for nodes; they alone count."""
    admitted = LARGE.replace("---", "status: {phase: Inqueue}\n---", 1)
    found = explained(node(cpu="1") + queue("vision") + admitted)
    assert {limit.asked for limit in found.limits if limit.kind == "queue"} == {4000}


def test_fewer_pods_come_with_min_resources_to_match() -> None:
    found = remedies(explained(node() + SMALL + LARGE.replace('"2"', '"4"')))
    assert found["fewer-pods"] == (
        "start with fewer pods: lower minMember of PodGroup default/train from 2 to 1, with minResources to match"
    )
    assert "min-resources" not in found


def test_the_pod_group_that_pods_name_is_created() -> None:
    pods = gang(2, "2").split("---", 1)[1]
    found = remedies(explain_workload(world_of(node() + pods), "pod", "default/train-0"))
    assert found == {"group": "create the PodGroup default/train, with a minMember of 2"}


def test_claims_that_pods_name_are_created() -> None:
    found = remedies(explained(node() + gang(2, "2", pod=WITH_CLAIM)))
    assert found == {"claim": "create the PersistentVolumeClaim data, with a volume that every node can use"}


def test_a_claim_alone_does_not_help_pods_that_are_too_large() -> None:
    assert "claim" not in remedies(explained(node(cpu="3") + gang(2, "2", pod=WITH_CLAIM)))


CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---"""


def test_the_storage_class_that_claims_name_is_created() -> None:
    found = remedies(explained(node() + CLAIM + gang(2, "2", pod=WITH_CLAIM)))
    assert found == {"claim": "create the StorageClass fast, with volumes that every node can use"}


def test_a_class_that_exists_is_not_created() -> None:
    fast = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: example.com/none}"
    found = explained(node(cpu="1") + "\n" + fast + "\n---" + CLAIM + gang(2, "2", pod=WITH_CLAIM))
    assert found.now.reason == "NeverFits"
    assert "claim" not in remedies(found)
