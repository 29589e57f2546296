"""Two daemons of different names on one cluster: each writes the statuses of its own PodGroups alone.

What was written is counted by resource versions, so a status that is written back and forth shows as well.
"""

from __future__ import annotations

from collections.abc import Mapping

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.harness.jobs import Jobs
from e2e.harness.namespace import Namespace
from e2e.harness.objects import deployment, gang, pod, pod_group, volcano_job

TRIAL = "volcano-trial"
_TRIAL_FLAGS = ("--scheduler-name", TRIAL, "--leader-elect=false", "--controllers=podgroup")


async def _versions(namespace: Namespace) -> dict[str, str]:
    return {group.name: group.raw["metadata"]["resourceVersion"] for group in await namespace.pod_groups()}


async def _runs(namespace: Namespace, name: str, scheduler: str, selector: Mapping[str, str]) -> None:
    """A pod of this scheduler runs, and its PodGroup shows it: cycles come and go."""
    mark = {"of": name}
    await namespace.apply(pod(name, cpu="100m", scheduler_name=scheduler, node_selector=selector, labels=mark))
    await namespace.wait_phases(selector=f"of={name}", Running=1)

    async def counted() -> None:
        (seen,) = await namespace.pods(f"of={name}")
        group = await namespace.pod_group(f"podgroup-{seen.raw['metadata']['uid']}")
        assert group.status.get("running") == 1, group.raw

    await namespace.cluster.eventually(f"the PodGroup of {name} counts it", counted)


async def _settled(namespace: Namespace, **groups: tuple[str, int, str]) -> None:
    """Wait until the scheduler of these PodGroups has written their whole status, which takes more than one cycle: the
    phase, how many pods run, and the newest condition."""

    async def written() -> None:
        for name, (phase, running, condition) in groups.items():
            group = await namespace.pod_group(name)
            seen = {each["type"] for each in group.status.get("conditions") or [] if each["status"] == "True"}
            assert (group.phase, group.status.get("running", 0)) == (phase, running), str(group)
            assert condition in seen, str(group)

    await namespace.cluster.eventually(f"{', '.join(groups)} have their statuses", written)


async def test_a_trial_writes_nothing_about_podgroups_of_volcano(
    namespace: Namespace, simulated_nodes: SimulatedNodes, start_daemon: StartDaemon
) -> None:
    """Those with pods that wait, those with no pods, and those whose pods run."""
    pool = await simulated_nodes(2)
    await start_daemon(*_TRIAL_FLAGS)
    await namespace.apply(gang("theirs", 2, node_selector=pool.selector), pod_group("empty", 1))
    before = await _versions(namespace)

    await _runs(namespace, "first", TRIAL, pool.selector)

    now = await _versions(namespace)
    assert {name: now[name] for name in before} == before
    assert not await namespace.events("PodGroup/theirs")
    assert not await namespace.events("Pod/theirs-0")

    await start_daemon()
    await _runs(namespace, "ours", "volcano", pool.selector)
    await _settled(namespace, theirs=("Running", 2, "Scheduled"), empty=("Inqueue", 0, "Unschedulable"))
    before = await _versions(namespace)
    await _runs(namespace, "second", TRIAL, pool.selector)
    await _runs(namespace, "third", TRIAL, pool.selector)
    now = await _versions(namespace)
    assert {name: now[name] for name in before} == before


async def test_a_job_that_names_the_trial_is_admitted_by_the_trial(
    namespace: Namespace, simulated_nodes: SimulatedNodes, start_daemon: StartDaemon
) -> None:
    """Its PodGroup has no pods until it is admitted, so the Job says whose it is."""
    pool, jobs = await simulated_nodes(2), Jobs(namespace)
    await start_daemon()
    job = volcano_job("mine", 2, node_selector=pool.selector)
    job["spec"]["schedulerName"] = TRIAL
    await namespace.apply(job)

    async def one_group() -> str:
        (group,) = await namespace.pod_groups()
        return str(group.name)

    name = await namespace.cluster.eventually("the PodGroup of the Job", one_group)
    before = (await _versions(namespace))[name]
    await _runs(namespace, "ours", "volcano", pool.selector)
    assert (await _versions(namespace))[name] == before

    await start_daemon(*_TRIAL_FLAGS)
    await jobs.wait("mine", "Running", running=2)


async def test_the_podgroup_of_a_deployment_of_volcano_outlasts_its_pods_under_a_trial(
    namespace: Namespace, simulated_nodes: SimulatedNodes, start_daemon: StartDaemon
) -> None:
    """The podgroup controller of the trial leaves it alone, too: it deletes PodGroups of owners without replicas."""
    pool = await simulated_nodes(1)
    main = await start_daemon()
    await namespace.apply(deployment("web", 1, node_selector=pool.selector))
    await namespace.wait_phases(Running=1)

    async def counted() -> None:
        (group,) = await namespace.pod_groups()
        assert group.status.get("running") == 1

    await namespace.cluster.eventually("the PodGroup counts its pod", counted)
    await main.stop()
    await start_daemon(*_TRIAL_FLAGS)
    before = await _versions(namespace)
    await namespace.cluster.kubectl("-n", namespace.name, "scale", "deployment/web", "--replicas=0")
    await namespace.wait_phases()
    await _runs(namespace, "own", TRIAL, pool.selector)
    now = await _versions(namespace)
    assert {name: now[name] for name in before} == before
