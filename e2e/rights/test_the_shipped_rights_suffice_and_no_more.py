"""The shipped roles, asked of a real authorizer: what the daemon's account and a namespace's people may do."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio

from e2e.harness.cluster import Cluster
from e2e.harness.install import CONFIG_MAP, LEASE, SERVICE_ACCOUNT, SYSTEM_NAMESPACE
from e2e.harness.namespace import Namespace
from e2e.harness.rights import user_of
from e2e.rights.reviews import may

DAEMON = user_of(SERVICE_ACCOUNT)
VOLCANO = "scheduling.volcano.sh"


async def wait_allowed(cluster: Cluster, user: str, verb: str, resource: str, **attributes: Any) -> None:
    """The authorizer learns of roles by a watch of its own, a moment after they are installed."""

    async def known() -> None:
        assert await may(cluster, user, verb, resource, **attributes)

    await cluster.eventually(f"{user} may {verb} {resource} {attributes}", known)


@pytest_asyncio.fixture(loop_scope="session")
async def authorized(installed: Cluster) -> Cluster:
    """The cluster whose authorizer knows the shipped roles: what it does not allow now, it does not allow."""
    await wait_allowed(installed, DAEMON, "watch", "/pods", namespace="kube-public")
    await wait_allowed(installed, DAEMON, "get", "coordination.k8s.io/leases", namespace=SYSTEM_NAMESPACE, name=LEASE)
    return installed


@pytest.mark.parametrize(
    ("verb", "resource"),
    [
        ("watch", "/pods"),
        ("create", "/pods/binding"),
        ("patch", "/pods/status"),
        ("patch", "/pods"),
        ("delete", "/pods"),
        ("list", "/nodes"),
        ("list", "/resourcequotas"),
        ("watch", "/services"),
        ("watch", "/replicationcontrollers"),
        ("watch", "apps/replicasets"),
        ("watch", "apps/statefulsets"),
        ("list", "/persistentvolumeclaims"),
        ("list", "/persistentvolumes"),
        ("list", "storage.k8s.io/storageclasses"),
        ("patch", "/persistentvolumeclaims"),
        ("patch", "/persistentvolumes"),
        ("list", "storage.k8s.io/csinodes"),
        ("list", "storage.k8s.io/csidrivers"),
        ("list", "storage.k8s.io/csistoragecapacities"),
        ("get", "resource.k8s.io/resourceclaims"),
        ("list", "resource.k8s.io/deviceclasses"),
        ("list", "resource.k8s.io/resourceslices"),
        ("create", "resource.k8s.io/resourceclaims"),
        ("patch", "resource.k8s.io/resourceclaims"),
        ("delete", "resource.k8s.io/resourceclaims"),
        ("patch", "resource.k8s.io/resourceclaims/status"),
        ("patch", "resource.k8s.io/resourceclaims/binding"),
        ("list", "scheduling.k8s.io/priorityclasses"),
        ("list", "policy/poddisruptionbudgets"),
        ("get", "apps/replicasets"),
        ("get", "apps/statefulsets"),
        ("get", "apps/daemonsets"),
        ("get", "batch/jobs"),
        ("create", f"{VOLCANO}/podgroups"),
        ("patch", f"{VOLCANO}/podgroups"),
        ("patch", f"{VOLCANO}/podgroups/status"),
        ("delete", f"{VOLCANO}/podgroups"),
        ("create", f"{VOLCANO}/queues"),
        ("patch", f"{VOLCANO}/queues"),
        ("patch", f"{VOLCANO}/queues/status"),
        ("delete", "bus.volcano.sh/commands"),
        ("list", "batch.volcano.sh/jobs"),
        ("delete", "batch.volcano.sh/jobs"),
        ("patch", "batch.volcano.sh/jobs/status"),
        ("update", "batch.volcano.sh/jobs/finalizers"),
        ("create", "/pods"),
        ("create", "/persistentvolumeclaims"),
        ("create", "/services"),
        ("patch", "/configmaps"),
        ("create", "networking.k8s.io/networkpolicies"),
        ("create", "/secrets"),
        ("create", "/events"),
        ("patch", "/events"),
    ],
)
async def test_the_daemon_may_do_its_work_in_every_namespace(installed: Cluster, verb: str, resource: str) -> None:
    await wait_allowed(installed, DAEMON, verb, resource, namespace="kube-public")


@pytest.mark.parametrize(
    ("verb", "resource"),
    [
        ("get", "/secrets"),
        ("patch", "/services"),
        ("patch", "networking.k8s.io/networkpolicies"),
        ("create", "events.k8s.io/events"),
        ("get", "/nodes"),
        ("patch", "/secrets"),
        ("list", "/configmaps"),
        ("delete", "/configmaps"),
        ("patch", "batch.volcano.sh/jobs"),
        ("update", "/pods"),
        ("create", "/pods/exec"),
        ("create", "/serviceaccounts/token"),
        ("update", "/persistentvolumeclaims"),
        ("delete", "/persistentvolumeclaims"),
        ("create", "/persistentvolumes"),
        ("update", "resource.k8s.io/resourceclaims/binding"),
        ("create", "resource.k8s.io/resourceclaimtemplates"),
        ("update", "resource.k8s.io/resourceclaims"),
        ("patch", "resource.k8s.io/resourceslices"),
        ("patch", "/nodes"),
        ("patch", "/nodes/status"),
        ("delete", f"{VOLCANO}/queues"),
        ("create", "bus.volcano.sh/commands"),
        ("patch", "apps/replicasets"),
        ("create", "/replicationcontrollers"),
        ("delete", "batch/jobs"),
        ("get", "coordination.k8s.io/leases"),
        ("create", "coordination.k8s.io/leases"),
        ("create", "rbac.authorization.k8s.io/clusterroles"),
        ("impersonate", "/users"),
        ("patch", "apiextensions.k8s.io/customresourcedefinitions"),
        ("patch", "admissionregistration.k8s.io/validatingwebhookconfigurations"),
    ],
)
async def test_the_daemon_may_not_do_what_it_has_no_need_for(authorized: Cluster, verb: str, resource: str) -> None:
    assert not await may(authorized, DAEMON, verb, resource, namespace="kube-public")


@pytest.mark.parametrize("verb", ["list", "watch"])
async def test_it_follows_its_own_configuration_and_no_other(authorized: Cluster, verb: str) -> None:
    own = {"namespace": SYSTEM_NAMESPACE}
    await wait_allowed(authorized, DAEMON, verb, "/configmaps", name=CONFIG_MAP, **own)
    assert not await may(authorized, DAEMON, verb, "/configmaps", name="volcano-admission-configmap", **own)
    assert not await may(authorized, DAEMON, verb, "/configmaps", **own)


async def test_it_holds_its_own_lease_and_no_other(authorized: Cluster) -> None:
    own = {"namespace": SYSTEM_NAMESPACE}
    await wait_allowed(authorized, DAEMON, "create", "coordination.k8s.io/leases", **own)
    for verb in ("get", "patch"):
        await wait_allowed(authorized, DAEMON, verb, "coordination.k8s.io/leases", name=LEASE, **own)
        assert not await may(authorized, DAEMON, verb, "coordination.k8s.io/leases", name="kube-scheduler", **own)


async def test_editors_of_a_namespace_may_create_podgroups_there_but_no_queues(namespace: Namespace) -> None:
    cluster, own = namespace.cluster, {"namespace": namespace.name}
    for role in ("edit", "view"):
        grant = ("create", "rolebinding", role, f"--clusterrole={role}", f"--user=e2e-{role}", "-n", namespace.name)
        await cluster.kubectl(*grant)

    async def aggregated() -> None:
        """The API server's own controller copies our rules into the built-in roles, and caches follow."""
        assert await may(cluster, "e2e-edit", "create", f"{VOLCANO}/podgroups", **own)
        assert await may(cluster, "e2e-view", "list", f"{VOLCANO}/podgroups", **own)

    await cluster.eventually("our rules are part of edit and view", aggregated)
    assert not await may(cluster, "e2e-edit", "create", f"{VOLCANO}/podgroups", namespace="kube-public")
    assert not await may(cluster, "e2e-edit", "patch", f"{VOLCANO}/queues")
    assert not await may(cluster, "e2e-view", "patch", f"{VOLCANO}/podgroups", **own)
