"""Names that tenants choose end in no request but the one that was meant: with CR and LF in them, they deleted pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from e2e.conftest import SimulatedNodes
from e2e.harness.daemon import Daemon
from e2e.harness.jobs import job, task
from e2e.harness.objects import pod
from e2e.harness.tenant import Tenant
from volcano_py.local.client import APIError

_PODS = 4


def smuggling(victim: str, index: int) -> str:
    """A name that ends its own request and begins the deletion of a pod, which gets the token."""
    return f"x HTTP/1.1\r\nHost: h\r\n\r\nDELETE /api/v1/namespaces/{victim}/pods/v{index}?gracePeriodSeconds=0"


def owned(by: str, selector: Mapping[str, str], **owner: str) -> dict[str, Any]:
    """A pod with such a controller."""
    manifest = pod(by, node_selector=selector)
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "uid": "0f5c1b7e", "controller": True, **owner}
    manifest["metadata"]["ownerReferences"] = [reference]
    return manifest


def with_a_claim(claim: str, selector: Mapping[str, str]) -> dict[str, Any]:
    """A Job that mounts this claim."""
    return job("by-volume", task("t", 1, selector=selector), volumes=[{"mountPath": "/data", "volumeClaimName": claim}])


def about(target: str) -> dict[str, Any]:
    """A Command about a Job of this name."""
    return {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {"name": "by-target"},
        "action": "AbortJob",
        "target": {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": target, "uid": "u"},
    }


async def test_names_with_requests_in_them_delete_nothing_of_another_tenant(
    daemon: Daemon, attacker: Tenant, victim: Tenant, simulated_nodes: SimulatedNodes
) -> None:
    pool = await simulated_nodes(3)
    await victim.apply(*(pod(f"v{index}", node_selector=pool.selector) for index in range(_PODS)))
    before = await victim.namespace.wait_phases(Running=_PODS)

    # The garbage collector deletes these, whose owner does not exist; it cannot look for the owner of the last one.
    owners = [{"name": smuggling(victim.name, index)} for index in range(_PODS)]
    await attacker.apply(*(owned(f"by-name-{index}", pool.selector, **name) for index, name in enumerate(owners)))
    await attacker.apply(owned("by-version", pool.selector, name="x", apiVersion="apps/v 1"))
    for manifest in (with_a_claim(smuggling(victim.name, 0), pool.selector), about(smuggling(victim.name, 1))):
        path = f"/apis/{manifest['apiVersion']}/namespaces/{attacker.name}/{manifest['kind'].lower()}s"
        # Commands are not among the rights of `edit`: the namespace's administrator writes them.
        with pytest.raises(APIError, match="should match"):
            await attacker.namespace.cluster.client.create(path, manifest)

    async def bound() -> None:
        (last,) = [each for each in await attacker.namespace.pods() if each.name == "by-version"]
        assert last.phase == "Running", str(last)

    await attacker.namespace.cluster.eventually("the attacker's own pod runs", bound)
    what = "the pod's controller has no valid name"
    await attacker.namespace.wait_event("PodGroupError", "Pod/by-version", saying=what)
    after = await victim.namespace.wait_phases(Running=_PODS)
    assert [each.raw["metadata"]["uid"] for each in after] == [each.raw["metadata"]["uid"] for each in before]


async def test_names_that_can_exist_are_taken(
    daemon: Daemon, attacker: Tenant, simulated_nodes: SimulatedNodes
) -> None:
    pool = await simulated_nodes(1)
    name = f"{'a' * 63}.{'b' * 63}.0-c"
    await attacker.apply(owned("by-name", pool.selector, name=name, apiVersion="apps/v1beta7"))
    await attacker.apply(with_a_claim(name, pool.selector))
    await attacker.namespace.apply(about(name))

    async def bound() -> None:
        (owned_one,) = [each for each in await attacker.namespace.pods() if each.name == "by-name"]
        assert owned_one.phase == "Running", str(owned_one)

    await attacker.namespace.cluster.eventually("a pod of an owner that is nowhere runs", bound)
    await attacker.namespace.wait_event("PVCError", "Job/by-volume", saying=f"{name} does not exist")
