"""The overlay `split-accounts`, for one test: three processes, each as the account of its part."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio
import yaml

from e2e.harness.admission import answered, open_door, take_away
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon, daemon_kubeconfig
from e2e.harness.install import LEASE_PATH, SERVICE_ACCOUNT
from e2e.harness.rights import ADMISSION_ACCOUNT, CONTROLLERS_ACCOUNT, user_of
from e2e.rights.reviews import may
from volcano_py.daemon.options import CONTROLLERS_LEASE
from volcano_py.shipped import shipped


async def _rights(cluster: Cluster, *overlay: str) -> list[dict[str, Any]]:
    """Accounts, roles and bindings of an installation."""
    rendered = await cluster.kubectl("kustomize", str(shipped("manifests").joinpath(*overlay)))
    wanted = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
    return [each for each in yaml.safe_load_all(rendered) if each and each["kind"] in wanted]


@pytest_asyncio.fixture(loop_scope="session")
async def split(installed: Cluster, daemons: list[Daemon], tmp_path: Path) -> AsyncIterator[dict[str, Daemon]]:
    """The processes by their accounts; afterwards the rights are those of the usual installation again."""

    async def apply(objects: list[dict[str, Any]], *, split: bool) -> None:
        await installed.apply(objects)

        async def in_force() -> None:
            for verb, resource in (("create", "/secrets"), ("patch", "/pods")):
                for account, expected in ((SERVICE_ACCOUNT, not split), (CONTROLLERS_ACCOUNT, split)):
                    found = await may(installed, user_of(account), verb, resource, namespace="kube-public")
                    assert found is expected, f"{account} may {verb} {resource}: {found}"

        await installed.eventually("the authorizer knows the rights", in_force)

    usual, ours = await _rights(installed), await _rights(installed, "overlays", "split-accounts")
    try:
        door = await open_door(installed)
        await apply(ours, split=True)
        for account, verb, flags in (
            (SERVICE_ACCOUNT, "run", ["--controllers=none"]),
            (CONTROLLERS_ACCOUNT, "run", ["--scheduling=false"]),
            (ADMISSION_ACCOUNT, "admission", door.flags[1:]),
        ):
            kubeconfig = await daemon_kubeconfig(installed, tmp_path / f"{account}.kubeconfig", account=account)
            command = (sys.executable, "-m", "volcano_py", verb)
            daemons.append(Daemon(account, kubeconfig, tmp_path, flags, command=command))
            installed.diagnostics.append(daemons[-1].diagnosis)
            await daemons[-1].start()
        await answered(door)
        yield {daemon.name: daemon for daemon in daemons}
    finally:
        await take_away(installed)
        installed.diagnostics.clear()
        for daemon in daemons:
            await daemon.stop()
        await apply(usual, split=False)
        await installed.delete(LEASE_PATH)
        await installed.delete(f"{LEASE_PATH.rpartition('/')[0]}/{CONTROLLERS_LEASE}")
        shared = {each["metadata"]["name"] for each in usual}
        only_ours = "\n---\n".join(json.dumps(each) for each in ours if each["metadata"]["name"] not in shared)
        await installed.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=only_ours)
