"""Each right of the shipped roles is one that the daemon has used in these tests; without it, some of them would fail.

This comes after all other tests, and only when all of them were run. Here one account has the rights of all parts, and
which of them uses a right does not show; `e2e/rights/apart` looks at each account.
"""

from __future__ import annotations

import asyncio

import yaml

from e2e.harness.cluster import Cluster
from e2e.harness.rights import UI_ACCOUNT, Right, granted_rights, refused_requests, used_rights
from e2e.rights.excused import WITHOUT_A_REQUEST
from volcano_py.local.controlplane import ControlPlane
from volcano_py.shipped import shipped


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
    """Verb, group and resource: which of the accounts has used a right does not matter here."""
    return {(right.verb, right.group, right.resource) for right in rights}
