"""The overlay `split-accounts`: scheduler, controllers and admission as processes with the rights of their part."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio
import yaml

from e2e.conftest import SimulatedNodes
from e2e.harness.admission import answered, open_door, take_away
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon, daemon_kubeconfig
from e2e.harness.install import LEASE_PATH, SERVICE_ACCOUNT, SYSTEM_NAMESPACE
from e2e.harness.namespace import Namespace
from e2e.harness.objects import deployment, pod_spec
from e2e.harness.rights import ADMISSION_ACCOUNT, CONTROLLERS_ACCOUNT
from e2e.harness.views import listed
from volcano_py.daemon.options import CONTROLLERS_LEASE
from volcano_py.shipped import shipped

REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


async def rights(cluster: Cluster, *overlay: str) -> list[dict[str, Any]]:
    """Accounts, roles and bindings of an installation."""
    rendered = await cluster.kubectl("kustomize", str(shipped("manifests").joinpath(*overlay)))
    wanted = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
    return [each for each in yaml.safe_load_all(rendered) if each and each["kind"] in wanted]


async def may_make_secrets(cluster: Cluster, account: str) -> bool:
    asked = {"verb": "create", "group": "", "resource": "secrets", "namespace": "kube-public"}
    user = f"system:serviceaccount:{SYSTEM_NAMESPACE}:{account}"
    answer = await cluster.client.create(REVIEWS, {"spec": {"user": user, "resourceAttributes": asked}})
    return bool(answer["status"]["allowed"])


@pytest_asyncio.fixture(loop_scope="session")
async def split(installed: Cluster, daemons: list[Daemon], tmp_path: Path) -> AsyncIterator[dict[str, Daemon]]:
    """The processes by their accounts; afterwards the rights are those of the usual installation again."""

    async def apply(objects: list[dict[str, Any]], *, split: bool) -> None:
        await installed.apply(objects)

        async def in_force() -> None:
            assert await may_make_secrets(installed, SERVICE_ACCOUNT) is not split
            assert await may_make_secrets(installed, CONTROLLERS_ACCOUNT) is split

        await installed.eventually("the authorizer knows the rights", in_force)

    usual, ours = await rights(installed), await rights(installed, "overlays", "split-accounts")
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


async def test_pods_of_deployments_and_jobs_run_and_no_account_is_refused_anything(
    split: dict[str, Daemon], namespace: Namespace, simulated_nodes: SimulatedNodes
) -> None:
    """A Job needs Secrets, Services, ConfigMaps, a NetworkPolicy and claims; the bare pods get a PodGroup."""
    pool = await simulated_nodes(2)
    spec = pod_spec(node_selector=pool.selector, scheduler_name="", restartPolicy="Never")
    task = {"name": "worker", "replicas": 2, "template": {"spec": spec}}
    claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}}
    volume = {"mountPath": "/data", "volumeClaim": claim}
    plugins: dict[str, list[str]] = {"ssh": [], "svc": [], "env": []}
    await namespace.apply(
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"name": "job"},
            "spec": {"minAvailable": 2, "tasks": [task], "plugins": plugins},
        },
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"name": "with-a-claim"},
            "spec": {"minAvailable": 1, "tasks": [{**task, "replicas": 1}], "volumes": [volume]},
        },
        deployment("web", 2, node_selector=pool.selector),
    )
    await namespace.wait_phases(Running=4, Pending=1)

    async def known() -> None:
        groups = await namespace.pod_groups()
        assert sorted(group.phase for group in groups) == ["Inqueue", "Running", "Running"], listed(groups)
        job = await namespace.cluster.client.get(
            f"/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace.name}/jobs/job"
        )
        assert job["status"]["state"]["phase"] == "Running"

    await namespace.cluster.eventually("the groups are Running but for that of the unbound claim", known)
    for daemon in split.values():
        assert (await daemon.get("/readyz"))[0] == 200
        # A namespace this young may have no service account yet, which is "forbidden" as well.
        refused = [text for text in map(json.dumps, daemon.log_records()) if re.search(r"User .* cannot ", text)]
        assert not refused, "\n".join(refused)
    for account in (SERVICE_ACCOUNT, CONTROLLERS_ACCOUNT):
        assert await split[account].metric("volcano_leader") == 1
    assert await split[SERVICE_ACCOUNT].metric("volcano_state_drift") == 0
