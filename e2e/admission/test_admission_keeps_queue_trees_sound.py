"""Admission webhooks on a real API server, as people with kubectl meet them: verbs, messages, certificates, outages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import Object, deployment, gang, pod, pod_group, queue
from e2e.harness.webhooks.admission import (
    CONFIGURATION_PATHS,
    PROBE,
    QUEUES,
    SECRET_PATH,
    Door,
    answered,
    open_door,
    refusal_of,
    take_away,
)
from volcano_py.local.kubectl import KubectlError
from volcano_py.local.processes.ports import LOOPBACK
from volcano_py.operator.webhooks.certificate_rotation import service_hosts
from volcano_py.operator.webhooks.certificates import SERVING_VALID, issue

CreateQueues = Callable[..., Awaitable[None]]


@pytest_asyncio.fixture(loop_scope="session")
async def guarded(door: Door, start_daemon: StartDaemon) -> Door:
    """The same with a daemon that answers and has made its own queues, and an API server that has noticed."""
    daemon = await start_daemon(*door.flags)
    await daemon.wait_queues("root", "default")
    await answered(door)
    return door


async def kubectl_apply(cluster: Cluster, *objects: Object, namespace: str = "") -> None:
    """As people do: without --server-side."""
    import json

    text = "\n---\n".join(json.dumps(each) for each in objects)
    await cluster.kubectl("apply", "--filename", "-", *([f"--namespace={namespace}"] if namespace else []), stdin=text)


async def refusal(cluster: Cluster, *objects: Object, namespace: str = "") -> str:
    """What kubectl says when it applies something that is refused; the test fails when it is not."""
    try:
        await kubectl_apply(cluster, *objects, namespace=namespace)
    except KubectlError as error:
        return str(error)
    raise AssertionError(f"was accepted: {objects}")


async def kubectl_refused(cluster: Cluster, *arguments: str) -> str:
    """The same for any command."""
    try:
        await cluster.kubectl(*arguments)
    except KubectlError as error:
        return str(error)
    raise AssertionError(f"was accepted: {arguments}")


class Tree:
    """Names of the queues of one test."""

    def __init__(self, namespace: Namespace) -> None:
        self._prefix = namespace.name

    def name(self, name: str) -> str:
        return f"{self._prefix}-{name}"

    def queue(self, name: str, parent: str = "", **cpus: int) -> Object:
        spec: dict[str, Any] = {"parent": self.name(parent)} if parent else {}
        spec |= {field: {"cpu": amount} for field, amount in cpus.items()}
        return queue(self.name(name), **spec)


async def test_a_queue_that_breaks_rules_is_refused_with_all_of_them_in_one_message(
    guarded: Door, namespace: Namespace, create_queues: CreateQueues
) -> None:
    cluster, tree = guarded.cluster, Tree(namespace)
    await create_queues(tree.queue("dept", capability=10, deserved=10), tree.queue("one", "dept", deserved=6))

    message = await refusal(cluster, tree.queue("two", "dept", deserved=5, capability=12))

    dept = tree.name("dept")
    assert message.endswith(
        f'admission webhook "queues.scheduling.volcano.sh" denied the request: queue {tree.name("two")} breaks 2 '
        "rules:\n"
        f"- spec.capability[cpu]: 12 is more than that of queue {dept} above it, 10; "
        f"lower it, or raise that of queue {dept}\n"
        f"- spec.deserved[cpu]: 5 adds up to 11 with the other queues below queue {dept}, which has 10; "
        f"lower it, or raise spec.deserved of queue {dept}"
    ), message
    assert tree.name("two") not in await cluster.queues()


async def test_every_verb_is_judged(guarded: Door, namespace: Namespace, create_queues: CreateQueues) -> None:
    """apply, patch, replace, delete, and the deletion of many."""
    cluster, tree = guarded.cluster, Tree(namespace)
    dept, team = tree.name("dept"), tree.name("team")
    await create_queues(tree.queue("dept", deserved=4), tree.queue("team", "dept", deserved=4))

    patched = await kubectl_refused(
        cluster, "patch", "queue", dept, "--type=merge", '--patch={"spec":{"deserved":{"cpu":3}}}'
    )
    assert "spec.deserved[cpu]: 3 is less than the queues below it have together, 4" in patched
    circle = await refusal(cluster, tree.queue("dept", "team", deserved=4))
    assert f"spec.parent: {team} forms a cycle ({dept} → {team} → {dept})" in circle

    async def replaced() -> None:
        """By the whole object, on condition that it is as it was read; the daemon may write its status in between."""
        stored = await cluster.client.get(f"{QUEUES}/{team}")
        stored["spec"]["parent"] = "nowhere"
        message = await refusal(cluster, stored)
        assert "spec.parent: nowhere does not exist" in message, message

    await cluster.eventually("a replacement is judged", replaced)
    deleted = await kubectl_refused(cluster, "delete", "queue", dept)
    assert f"metadata.name: {dept} has queues below it ({team}); delete or move those first" in deleted
    for name in ("root", "default"):
        assert f"metadata.name: {name} is" in await kubectl_refused(cluster, "delete", "queue", name)
    root = await kubectl_refused(
        cluster, "patch", "queue", "root", "--type=merge", '--patch={"spec":{"capability":{"cpu":1}}}'
    )
    assert "root's amounts cannot change" in root

    # What has been deleted a moment ago no longer counts.
    await cluster.kubectl("delete", "queue", team)
    await cluster.kubectl("delete", "queue", dept)


async def test_defaults_are_filled_in(guarded: Door, namespace: Namespace, create_queues: CreateQueues) -> None:
    cluster, tree = guarded.cluster, Tree(namespace)
    placed = tree.queue("placed")
    placed["metadata"]["annotations"] = {
        "volcano.sh/hierarchy": f"{namespace.name}/dev", "volcano.sh/hierarchy-weights": "2/3",
    }  # fmt: skip
    await create_queues(placed, tree.queue("team"))
    await cluster.kubectl(
        "annotate", "namespace", namespace.name, f"scheduling.volcano.sh/queue-name={tree.name('team')}"
    )

    async def default_queue() -> None:
        await kubectl_apply(cluster, pod_group("work", 1), namespace=namespace.name)
        group = await namespace.pod_group("work")
        await namespace.delete_pod_group("work")
        assert group.spec["queue"] == tree.name("team"), group.spec

    stored = (await cluster.queues())[tree.name("placed")]
    assert stored.annotations["volcano.sh/hierarchy"] == f"root/{namespace.name}/dev"
    assert stored.annotations["volcano.sh/hierarchy-weights"] == "1/2/3"
    assert stored.spec["reclaimable"] is True
    await cluster.eventually("the namespace's queue is taken", default_queue)


async def test_work_goes_where_work_belongs(
    guarded: Door, namespace: Namespace, simulated_nodes: SimulatedNodes, create_queues: CreateQueues
) -> None:
    cluster, tree = guarded.cluster, Tree(namespace)
    pool = await simulated_nodes(1)
    await create_queues(tree.queue("dept"), tree.queue("team", "dept"), tree.queue("leaf"))

    inner = await refusal(cluster, pod_group("stray", 1, queue=tree.name("dept")), namespace=namespace.name)
    assert (
        f"podgroup stray: spec.queue: {tree.name('dept')} has queues below it ({tree.name('team')}), "
        "and only leaf queues run work; name one of those"
    ) in inner
    missing = await refusal(cluster, pod_group("stray", 1, queue="nowhere"), namespace=namespace.name)
    assert "spec.queue: nowhere does not exist; create it first, or name another queue" in missing

    # Queues that were made a moment ago count, and so does work.
    await create_queues(tree.queue("new"))
    await kubectl_apply(cluster, pod_group("soon", 1, queue=tree.name("new")), namespace=namespace.name)
    above = await refusal(cluster, tree.queue("below", "new"))
    assert f"spec.parent: {tree.name('new')} has 1 unfinished PodGroup" in above
    busy = await kubectl_refused(cluster, "delete", "queue", tree.name("new"))
    assert f"metadata.name: {tree.name('new')} has 1 unfinished PodGroup" in busy
    await namespace.delete_pod_group("soon")

    # Status and metadata of existing objects do not matter.
    await namespace.apply(gang("work", 1, queue=tree.name("leaf"), node_selector=pool.selector))
    await namespace.wait_phases(Running=1)
    await cluster.kubectl("annotate", "podgroup", "work", f"--namespace={namespace.name}", "a=b")
    await namespace.delete_pod_group("work")


def volcano_job(name: str, queue_name: str, *tasks: Object, **spec: Any) -> Object:
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"queue": queue_name, "tasks": list(tasks), **spec},
    }


def task(name: str, replicas: int, **fields: Any) -> Object:
    template = {
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10"}]}
    }
    return {"name": name, "replicas": replicas, "template": template, **fields}


async def test_jobs_are_judged_and_filled_in_and_can_be_applied_again(
    guarded: Door, namespace: Namespace, create_queues: CreateQueues
) -> None:
    cluster, tree = guarded.cluster, Tree(namespace)
    await create_queues(tree.queue("dept"), tree.queue("team", "dept"), tree.queue("leaf"))
    loop = [task("a", 1, dependsOn={"name": ["b"]}), task("b", 1, dependsOn={"name": ["a"]})]

    message = await refusal(
        cluster, volcano_job("train", tree.name("dept"), *loop, plugins={"gpu": []}), namespace=namespace.name
    )

    assert 'webhook "jobs.batch.volcano.sh" denied the request: job train breaks 3 rules:' in message, message
    assert "- spec.tasks[0].dependsOn.name: b forms a cycle (a → b → a); " in message
    assert "- spec.plugins[gpu]: gpu is not an installed job plugin (installed: " in message
    assert f"- spec.queue: {tree.name('dept')} has queues below it ({tree.name('team')}), " in message

    await kubectl_apply(cluster, volcano_job("train", tree.name("leaf"), task("worker", 2)), namespace=namespace.name)
    path = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace.name}/jobs/train"
    await kubectl_apply(cluster, volcano_job("train", tree.name("leaf"), task("worker", 2)), namespace=namespace.name)
    stored = (await cluster.client.get(path))["spec"]
    assert (stored["minAvailable"], stored["maxRetry"], stored["schedulerName"]) == (2, 3, "volcano")
    assert stored["tasks"][0]["minAvailable"] == 2
    moved = await kubectl_refused(
        cluster, "patch", "jobs.batch.volcano.sh", "train", f"--namespace={namespace.name}", "--type=merge",
        f'--patch={{"spec":{{"queue":"{tree.name("team")}"}}}}',
    )  # fmt: skip
    assert f"spec.queue: {tree.name('team')} differs from {tree.name('leaf')}, and cannot change" in moved

    async def gone() -> None:
        """The queue can be deleted once the job's PodGroup is gone, too."""
        await cluster.delete(path)
        for group in await namespace.pod_groups():
            await namespace.delete_pod_group(group.name)
        assert not await namespace.pod_groups()

    await cluster.eventually("no PodGroup is left", gone)


async def test_a_queue_that_was_wrong_before_is_not_locked(
    door: Door, start_daemon: StartDaemon, namespace: Namespace, create_queues: CreateQueues
) -> None:
    """Made while there were no webhooks: its weight and labels can change, and its parent be fixed."""
    cluster, tree = door.cluster, Tree(namespace)
    await take_away(cluster)
    await create_queues(tree.queue("lost", "gone", deserved=4))
    again = await open_door(cluster)
    await start_daemon(*again.flags)
    await answered(again)
    lost = tree.name("lost")
    for patch in ('{"spec":{"weight":3}}', '{"metadata":{"labels":{"a":"b"}}}'):
        await cluster.kubectl("patch", "queue", lost, "--type=merge", f"--patch={patch}")
    worse = await kubectl_refused(
        cluster, "patch", "queue", lost, "--type=merge", '--patch={"spec":{"parent":"elsewhere"}}'
    )
    assert "spec.parent: elsewhere does not exist" in worse
    await cluster.kubectl("patch", "queue", lost, "--type=merge", '--patch={"spec":{"parent":"root"}}')


async def test_a_replica_that_does_not_lead_answers_too(door: Door, start_daemon: StartDaemon) -> None:
    """The API server's calls go wherever the Service sends them."""
    leader = await start_daemon()
    await leader.wait_leading()
    standby = await start_daemon(*door.flags)
    await answered(door)
    await standby.wait_metric(
        "volcano_admission_reviews_total", 1, or_more=True, webhook="validate-queues", outcome="refused"
    )
    assert await standby.metric("volcano_leader") == 0


async def test_certificates_are_renewed_long_before_they_expire_without_interruption(
    door: Door, start_daemon: StartDaemon
) -> None:
    cluster = door.cluster
    hosts = (*service_hosts("volcano-system", "volcano-py-admission"), LOOPBACK)
    almost = datetime.now(UTC) - SERVING_VALID + timedelta(days=5)
    old = issue(hosts, almost)
    await cluster.client.merge_patch(SECRET_PATH, {"data": old.as_secret()})
    daemon = await start_daemon(*door.flags)
    await answered(door)

    served = await asyncio.to_thread(door.certificate)
    assert served.not_valid_after_utc > datetime.now(UTC) + timedelta(days=80)
    expiry = pytest.approx(served.not_valid_after_utc.timestamp())

    async def reported() -> None:
        assert await daemon.metric("volcano_admission_certificate_expiry_timestamp_seconds") == expiry

    await cluster.eventually("the metric says when the certificate expires", reported)

    # The other way to renew: a user empties the Secret while all is well.
    await cluster.client.merge_patch(SECRET_PATH, {"data": None})

    async def another() -> None:
        assert (await asyncio.to_thread(door.certificate)).serial_number != served.serial_number

    await cluster.eventually("another certificate is served", another)
    await answered(door)

    async def trusted() -> None:
        bundles = set()
        for path in CONFIGURATION_PATHS:
            webhooks = (await cluster.client.get(path))["webhooks"]
            bundles |= {webhook["clientConfig"]["caBundle"] for webhook in webhooks}
        assert bundles == {(await cluster.client.get(SECRET_PATH))["data"]["ca.crt"]}

    await cluster.eventually("every webhook trusts the new authority alone", trusted)


async def test_a_dead_webhook_stops_neither_pods_nor_gangs(
    door: Door, namespace: Namespace, simulated_nodes: SimulatedNodes, start_daemon: StartDaemon
) -> None:
    """The webhooks are installed and no replica answers; the daemon that schedules knows nothing of them."""
    cluster = door.cluster
    pool = await simulated_nodes(2)
    await start_daemon()
    await namespace.apply(
        pod("alone", node_selector=pool.selector),
        deployment("web", 2, node_selector=pool.selector),
        gang("work", 2, node_selector=pool.selector),
    )
    await namespace.wait_phases(Running=5)

    async def dead() -> None:
        refused = await refusal_of(door, queue(PROBE))
        assert "failed calling webhook" in refused, refused

    await cluster.eventually("the API server asks and gets no answer", dead)


async def test_without_webhooks_all_is_stored_and_the_scheduler_goes_on(
    daemon: Daemon, namespace: Namespace, simulated_nodes: SimulatedNodes, create_queues: CreateQueues
) -> None:
    """What it says of such queues is seen in the tests of the tree."""
    tree = Tree(namespace)
    pool = await simulated_nodes(1)
    await create_queues(tree.queue("two", "nowhere", deserved=5), tree.queue("fine"))
    await namespace.apply(gang("work", 1, queue=tree.name("fine"), node_selector=pool.selector))
    await namespace.wait_phases(Running=1)
    assert tree.name("two") in await namespace.cluster.queues()
