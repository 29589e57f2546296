"""Each right of the shipped roles is one that the daemon has used in these tests; without it, some of them would fail.

This comes after all other tests, and only when all of them were run.
"""

from __future__ import annotations

import asyncio

import yaml

from e2e.harness.cluster import Cluster
from e2e.harness.rights import UI_ACCOUNT, Right, granted_rights, refused_requests, used_rights
from volcano_py.local.controlplane import ControlPlane
from volcano_py.shipped import shipped

WITHOUT_A_REQUEST = {
    # The admission plugin OwnerReferencesPermissionEnforcement checks it, where a cluster has that plugin.
    ("update", "batch.volcano.sh", "jobs/finalizers"),
    # Used where the CRD of PodGroups has the status as a subresource; ours and Volcano's have not.
    ("patch", "scheduling.volcano.sh", "podgroups/status"),
    # The owner of a pod is read while its own watch has not brought it yet. Which kinds of owners that happens to is up
    # to the API server; unit tests of the podgroup controller do it.
    ("get", "apps", "replicasets"),
    ("get", "apps", "statefulsets"),
    ("get", "apps", "daemonsets"),
    ("get", "batch", "jobs"),
    # Read after a conflict, which these tests cannot bring about at will; unit tests of the controllers do.
    ("get", "bus.volcano.sh", "commands"),
    ("get", "batch.volcano.sh", "cronjobs"),
    ("get", "flow.volcano.sh", "jobflows"),
    ("get", "topology.volcano.sh", "hypernodes"),
    ("get", "shard.volcano.sh", "nodeshards"),
    ("get", "flow.volcano.sh", "jobtemplates"),
    ("get", "scheduling.volcano.sh", "podgroups"),
}
"""Rights that are needed although no request of these tests shows it."""


async def test_every_granted_right_was_used_and_no_other_was_asked_for(
    installed: Cluster, control_plane: ControlPlane, used_elsewhere: set[Right]
) -> None:
    await control_plane.stop("kube-apiserver")  # the audit log is written in batches, the last one now
    try:
        used = used_elsewhere | await asyncio.to_thread(used_rights, control_plane.audit_log)
        refused = await asyncio.to_thread(refused_requests, control_plane.audit_log)
    finally:
        await control_plane.start("kube-apiserver")
    granted = set[Right]()
    # In the first, one account has all rights of the daemon.
    for overlay in ("admission", "split-accounts", "queue-gates", "ui"):
        rendered = await installed.kubectl("kustomize", str(shipped("manifests") / "overlays" / overlay))
        granted |= granted_rights(document for document in yaml.safe_load_all(rendered) if document)
    assert granted, "no rights were found in the manifests"
    unused = _of_anybody(granted) - _of_anybody(used) - WITHOUT_A_REQUEST
    assert not unused, f"granted, but never used: {sorted(unused)}"
    of_page = {right for right in granted - used if right.user.endswith(f":{UI_ACCOUNT}")}
    assert not of_page, f"granted to the page, but never used by it: {sorted(of_page)}"
    unexpected = sorted(map(str, refused - granted))
    assert not unexpected, "asked for, but not granted: " + "; ".join(unexpected)


def _of_anybody(rights: set[Right]) -> set[tuple[str, str, str]]:
    """Verb, group and resource: which of the accounts has used a right does not matter."""
    return {(right.verb, right.group, right.resource) for right in rights}
