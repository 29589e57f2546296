"""The local control plane itself, without the scheduler: workloads, simulated nodes, access, restarts, and its end.

Pods are bound here by the test, in the scheduler's place.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.conftest import SimulatedNodes
from e2e.harness.cluster import Cluster
from e2e.harness.namespace import Namespace
from e2e.harness.objects import deployment, job, pod
from volcano_py.local.client import APIClient, APIError
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.errors import ProcessFailedError
from volcano_py.local.workdir.layout import Settings


async def _bind(cluster: Cluster, namespace: str, pod: str, node: str) -> None:
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    await cluster.client.create(
        f"/api/v1/namespaces/{namespace}/pods/{pod}/binding", {"metadata": {"name": pod}, "target": target}
    )


async def test_kubectl_talks_to_the_cluster(cluster: Cluster) -> None:
    version = await cluster.kubectl.json("version")
    assert version["serverVersion"]["major"] == "1"
    assert "kube-system" in await cluster.kubectl("get", "namespaces")


async def test_a_deployments_pods_wait_for_a_node_and_run_once_bound(
    namespace: Namespace, simulated_nodes: SimulatedNodes
) -> None:
    pool = await simulated_nodes(1)
    await namespace.apply(deployment("web", 3))
    for waiting in await namespace.wait_phases(Pending=3):
        assert waiting.node == ""
        await _bind(namespace.cluster, namespace.name, waiting.name, pool.names[0])
    pods = await namespace.wait_phases(Running=3)
    assert {each.node for each in pods} == {pool.names[0]}
    assert all(each.condition("Ready")["status"] == "True" and each.status["podIP"] for each in pods)

    async def counted() -> None:
        status = (await namespace.cluster.kubectl.json("get", "deployment", "web", "-n", namespace.name))["status"]
        assert status.get("readyReplicas") == 3, status

    # Its controller waits for five minutes for a pod that it has created and that is gone before it sees it.
    await namespace.cluster.eventually("the Deployment counts its pods", counted)
    replaced = pods[0].name
    await namespace.delete_pod(replaced)
    pods = await namespace.wait_phases(Running=2, Pending=1)
    assert replaced not in {each.name for each in pods}


async def test_pods_complete_and_fail_when_their_annotations_say_so(
    namespace: Namespace, simulated_nodes: SimulatedNodes
) -> None:
    pool = await simulated_nodes(1)
    await namespace.apply(
        job("done", 1, annotations={"pod-complete.stage.kwok.x-k8s.io/delay": "10ms"}),
        pod("broken", annotations={"pod-fail.stage.kwok.x-k8s.io/delay": "10ms"}, restartPolicy="Never"),
        pod("steady"),
    )
    for waiting in await namespace.wait_phases(Pending=3):
        await _bind(namespace.cluster, namespace.name, waiting.name, pool.names[0])
    pods = await namespace.wait_phases(Succeeded=1, Failed=1, Running=1)
    ended = {each.phase: each.status["containerStatuses"][0]["state"] for each in pods}
    assert ended["Succeeded"]["terminated"]["exitCode"] == 0
    assert ended["Failed"]["terminated"]["exitCode"] == 1

    async def complete() -> None:
        conditions = (await namespace.cluster.kubectl.json("get", "job", "done", "-n", namespace.name))["status"]
        assert conditions.get("succeeded") == 1, conditions

    await namespace.cluster.eventually("the Job counts its pod", complete)


async def test_a_pod_whose_deletion_was_cut_off_half_way_goes_all_the_same(
    namespace: Namespace, simulated_nodes: SimulatedNodes
) -> None:
    """Of a pod that has ended, the API server first notes that it is to go, then deletes it. It does not come to that
    when whoever has asked for it is gone; then it is the kubelet's to finish."""
    client, pods = namespace.cluster.client, f"/api/v1/namespaces/{namespace.name}/pods"
    pool = await simulated_nodes(1)
    fails = {"pod-fail.stage.kwok.x-k8s.io/delay": "1ms"}
    await namespace.apply(pod(f"ended-{n}", annotations=fails, restartPolicy="Never") for n in range(40))
    for waiting in await namespace.wait_phases(Pending=40):
        await _bind(namespace.cluster, namespace.name, waiting.name, pool.names[0])
    left = await namespace.wait_phases(Failed=40)

    async def cut_off(name: str, seconds: float) -> None:
        with contextlib.suppress(TimeoutError, APIError):
            await asyncio.wait_for(client.delete(f"{pods}/{name}"), seconds)

    seeded, noted = random.Random(1), set[str]()
    for _ in range(100):
        await asyncio.gather(*(cut_off(each.name, seeded.uniform(0.001, 0.05)) for each in left))
        left = await namespace.pods()
        noted = {each.name for each in left if each.phase == "Terminating"}
        if noted or not left:
            break
    assert noted, "no deletion could be cut off at the right moment: try other moments"

    async def gone() -> None:
        assert not noted & {each.name for each in await namespace.pods()}

    await namespace.cluster.eventually("pods that are being deleted are gone", gone)


async def test_a_pod_that_follows_one_of_its_name_is_not_deleted_in_its_place(
    namespace: Namespace, simulated_nodes: SimulatedNodes
) -> None:
    """What is left to be done about a pod that is gone is not done to the next one, which is another one."""
    pool = await simulated_nodes(1)
    names = {f"again-{n}" for n in range(40)}

    async def bind(expected: int) -> None:
        for waiting in await namespace.wait_phases(Pending=expected):
            await _bind(namespace.cluster, namespace.name, waiting.name, pool.names[0])
        await namespace.wait_phases(Running=expected)

    for _ in range(5):
        await namespace.apply(pod(name) for name in sorted(names))
        await bind(40)
        await asyncio.gather(*(namespace.delete_pod(name) for name in names))
        await namespace.wait_phases()
        await namespace.apply(pod(name) for name in sorted(names))
        created = {each.raw["metadata"]["uid"] for each in await namespace.pods()}

        # The kubelet has had its time once a pod runs that takes longer than it does for the rest of a deletion.
        clock = pod("clock", annotations={"pod-ready.stage.kwok.x-k8s.io/delay": "2s"})
        await namespace.apply(clock)
        await _bind(namespace.cluster, namespace.name, "clock", pool.names[0])
        await namespace.wait_phases(Running=1, Pending=40)
        assert {each.raw["metadata"]["uid"] for each in await namespace.pods() if each.name in names} == created
        for name in ("clock", *names):
            await namespace.delete_pod(name)
        await namespace.wait_phases()


async def test_a_simulated_node_can_be_broken_and_healed(cluster: Cluster, simulated_nodes: SimulatedNodes) -> None:
    pool = await simulated_nodes(1)
    path = f"/api/v1/nodes/{pool.names[0]}"
    label = "node-not-ready.stage.kwok.x-k8s.io"

    async def ready(expected: str, taints: set[str]) -> None:
        node = await cluster.client.get(path)
        conditions = {condition["type"]: condition["status"] for condition in node["status"]["conditions"]}
        assert conditions["Ready"] == expected, conditions
        assert {taint["key"] for taint in node["spec"].get("taints") or []} == taints, node["spec"]

    await cluster.client.merge_patch(path, {"metadata": {"labels": {label: "true"}}})
    await cluster.eventually("not ready", lambda: ready("False", {"node.kubernetes.io/not-ready"}))
    await cluster.client.merge_patch(path, {"metadata": {"labels": {label: None}}})
    await cluster.eventually("ready again", lambda: ready("True", set()))


async def test_users_and_service_accounts_may_do_what_rbac_says(
    control_plane: ControlPlane, namespace: Namespace
) -> None:
    pods = f"/api/v1/namespaces/{namespace.name}/pods"
    await control_plane.kubectl("create", "serviceaccount", "reader", "-n", namespace.name)
    kubeconfigs = [
        await control_plane.kubeconfig_for_service_account(namespace.name, "reader"),
        control_plane.kubeconfig_for_user("jane", ["readers"]),
    ]
    for kubeconfig in kubeconfigs:
        async with APIClient(kubeconfig) as stranger:
            with pytest.raises(APIError, match="403 Forbidden"):
                await stranger.get(pods)
    grant = ("create", "rolebinding", "view", "--clusterrole=view", "-n", namespace.name)
    await control_plane.kubectl(*grant, f"--serviceaccount={namespace.name}:reader", "--group=readers")
    for kubeconfig in kubeconfigs:
        async with APIClient(kubeconfig) as reader:

            async def allowed(reader: APIClient = reader) -> None:
                try:
                    assert (await reader.get(pods))["items"] == []
                except APIError as error:
                    raise AssertionError(str(error)) from error

            await namespace.cluster.eventually("the grant is known", allowed)


async def test_after_a_restart_of_the_api_server_everything_goes_on(
    control_plane: ControlPlane, namespace: Namespace, simulated_nodes: SimulatedNodes
) -> None:
    await namespace.cluster.wait_namespaces_gone()
    pool = await simulated_nodes(1)
    await namespace.apply(deployment("web", 1))
    await namespace.wait_phases(Pending=1)
    server = control_plane.server
    await control_plane.restart_apiserver()
    assert control_plane.server == server
    (waiting,) = await namespace.wait_phases(Pending=1)
    await _bind(namespace.cluster, namespace.name, waiting.name, pool.names[0])
    await namespace.wait_phases(Running=1)
    await control_plane.kubectl("scale", "deployment/web", "--replicas=2", "-n", namespace.name)
    await namespace.wait_phases(Running=1, Pending=1)


async def test_pods_bound_while_the_kubelets_were_away_run_once_they_are_back(
    control_plane: ControlPlane, namespace: Namespace, simulated_nodes: SimulatedNodes
) -> None:
    pool = await simulated_nodes(1)
    await namespace.apply(pod("early"))
    await control_plane.kill("kwok")
    try:
        await _bind(namespace.cluster, namespace.name, "early", pool.names[0])
        await namespace.wait_phases(Pending=1)
    finally:
        await control_plane.start("kwok")
    await namespace.wait_phases(Running=1)


async def test_a_process_that_dies_is_noticed_with_its_last_words(control_plane: ControlPlane) -> None:
    watching = asyncio.create_task(control_plane.watch())
    # A process that was stopped on purpose has not died.
    await control_plane.stop("kwok")
    await control_plane.start("kwok")
    control_plane.process("kwok").send_signal(signal.SIGKILL)
    try:
        with pytest.raises(ProcessFailedError, match=r"^kwok stopped unexpectedly; it was ended by SIGKILL "):
            await watching
    finally:
        await control_plane.start("kwok")


async def test_nothing_is_left_after_the_end(tmp_path: Path) -> None:
    work_dir = tmp_path / "plane"
    async with ControlPlane(work_dir, settings=Settings(controllers=(), audit_log=True)) as control_plane:
        pids = {name: process.pid for name, process in control_plane.processes.items()}
        assert set(pids) == {"etcd", "kube-apiserver", "kwok"}
        assert all(pid is not None and _runs(pid) for pid in pids.values())
        # Without controllers there are no service accounts, and pods need none.
        pods = "/api/v1/namespaces/default/pods"
        await control_plane.client.create(pods, pod("lonely"))
        await _audited(control_plane, "pods", "create")
    assert {name for name, pid in pids.items() if pid is not None and _runs(pid)} == set()
    assert not work_dir.exists()


async def _audited(control_plane: ControlPlane, resource: str, verb: str) -> None:
    """The audit log is written in batches, up to half a minute apart: stopping the API server writes the last."""
    await control_plane.stop("kube-apiserver")
    log = control_plane.audit_log.read_text()
    assert f'"verb":"{verb}"' in log
    assert f'"resource":"{resource}"' in log
    assert "RequestReceived" not in log


_KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.workdir.layout import Settings

async def main():
    async with ControlPlane(Path(sys.argv[1]), settings=Settings(controllers=())) as control_plane:
        print(*[process.pid for process in control_plane.processes.values()], flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_nothing_is_left_running_when_we_are_killed(cluster: Cluster, tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _KILLED, str(tmp_path / "plane"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    output, _ = await process.communicate()
    assert process.returncode == -signal.SIGKILL
    pids = [int(pid) for pid in output.split()]
    assert len(pids) == 3

    async def gone() -> None:
        left = [pid for pid in pids if _runs(pid)]
        assert not left, f"processes {left} still run"

    await cluster.eventually("the processes died with us", gone)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
