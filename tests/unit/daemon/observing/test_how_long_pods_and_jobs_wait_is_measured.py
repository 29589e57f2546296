"""From the watch and from reports of cycles: when pods are seen, and how often PodGroups are tried without effect."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from tests.support.sessions import node, pod, pod_group
from tests.unit.observe.scraping import value
from volcano_py.api.effects import Bind, ObjectRef
from volcano_py.api.objects import Pod
from volcano_py.api.reasons import Reason
from volcano_py.api.report import CycleReport, PendingJob
from volcano_py.daemon.fan_out import FanOut
from volcano_py.daemon.observing.job_metrics import JobMetrics
from volcano_py.daemon.observing.pods_seen import PodsSeen
from volcano_py.observe.metrics import Metrics
from volcano_py.state.cluster_state import ClusterState

WAITS = pod("a", cpu="1")


class Watch:
    """What the informer of pods reports; each pod is seen two seconds after it was made."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        state = ClusterState()
        now = WAITS.metadata.created + 2
        self.sink = FanOut(PodsSeen(state, self.metrics, clock=lambda: now), state)
        self.sink.upsert("Node", node("n1"))

    def seen(self, *pods: Pod) -> None:
        for each in pods:
            self.sink.upsert("Pod", each)

    @property
    def counted(self) -> tuple[float, float]:
        """How many pods, and seconds of all together."""
        name, stage = "task_scheduling_duration_seconds", {"stage": "Watched"}
        found = (value(self.metrics, f"{name}_count", **stage), value(self.metrics, f"{name}_sum", **stage))
        return (found[0] or 0, found[1] or 0)


@pytest.fixture
def watch() -> Watch:
    return Watch()


def test_a_pod_is_counted_when_it_is_seen_for_the_first_time(watch: Watch) -> None:
    watch.seen(WAITS, WAITS)
    assert watch.counted == (1, 2)


def test_what_existed_before_the_first_watch_was_not_late(watch: Watch) -> None:
    watch.sink.replace("Pod", [WAITS])
    watch.seen(WAITS)
    assert watch.counted == (0, 0)


def test_a_namesake_is_another_pod(watch: Watch) -> None:
    watch.seen(WAITS)
    watch.sink.delete("Pod", WAITS)
    watch.seen(msgspec.structs.replace(WAITS, metadata=msgspec.structs.replace(WAITS.metadata, uid="another")))
    assert watch.counted == (2, 4)


def test_pods_that_are_not_ours_or_placed_already_do_not_wait(watch: Watch) -> None:
    watch.seen(pod("b", scheduler="default-scheduler"), pod("c", on="n1"))
    assert watch.counted == (0, 0)


def test_a_job_has_waited_since_its_podgroup_was_created_however_young_its_pods_are() -> None:
    """Once for each of its gangs' bindings, which leave together; a pod that is placed later counts again."""
    metrics = Metrics(per_job=True, clock=lambda: 1_000.0)
    jobs = JobMetrics(metrics)
    jobs.replace("PodGroup", [pod_group("a", namespace="ml"), pod_group("b", namespace="ml")])
    jobs.placed([bind("a-0", created=990.0), bind("a-1", created=995.0), bind("b-0", job="ml/b", job_created=999.0)])
    assert value(metrics, "job_scheduling_duration_seconds_count") == 2
    assert value(metrics, "job_scheduling_duration_seconds_sum") == 101
    labels = {"job_name": "a", "queue": "q", "job_namespace": "ml"}
    assert value(metrics, "e2e_job_scheduling_duration", **labels) == 100_000
    jobs.placed([bind("a-2", created=999.0)])
    assert value(metrics, "job_scheduling_duration_seconds_count") == 3


def bind(name: str, *, job: str = "ml/a", created: float = 999.0, job_created: float = 900.0) -> Bind:
    pod_ref = ObjectRef("Pod", "ml", name, name)
    return Bind(pod_ref, "n1", job, "q", created, job_created=job_created)


def test_cycles_that_left_a_podgroup_waiting_are_counted_but_not_those_that_only_write() -> None:
    metrics = Metrics(per_job=True)
    jobs = JobMetrics(metrics)
    jobs.upsert("PodGroup", pod_group("a", namespace="ml"))
    pending = PendingJob("ml/a", "q", "Inqueue", Reason.NODES_REFUSE, "no room", 1)
    report = CycleReport("c", 1, started=0.0, duration=0.1, actions={"allocate": 0.1}, pending=(pending,))
    for messages in (report, replace(report, actions={}), report, replace(report, pending=())):
        jobs.reported(messages)
    assert value(metrics, "job_retry_counts", job_id="ml/a") == 2
    jobs.delete("PodGroup", pod_group("a", namespace="ml"))
    assert value(metrics, "job_retry_counts", job_id="ml/a") is None


def test_a_podgroup_that_a_list_leaves_out_is_gone() -> None:
    """Its deletion was lost with the watch."""
    metrics = Metrics(per_job=True)
    jobs = JobMetrics(metrics)
    a, b = pod_group("a", namespace="ml"), pod_group("b", namespace="ml")
    jobs.replace("PodGroup", [a, b])
    jobs.placed([bind("a-0"), bind("b-0", job="ml/b")])
    jobs.replace("Pod", [])
    jobs.replace("PodGroup", [b])
    labels = {"queue": "q", "job_namespace": "ml"}
    assert value(metrics, "e2e_job_scheduling_duration", job_name="a", **labels) is None
    assert value(metrics, "e2e_job_scheduling_duration", job_name="b", **labels) is not None
    jobs.placed([bind("a-1")])
    assert value(metrics, "e2e_job_scheduling_duration", job_name="a", **labels) is None


def test_a_cycle_that_began_before_a_podgroup_was_deleted_brings_its_series_not_back() -> None:
    """The next ones that only bring statuses up to date report it again."""
    metrics = Metrics(per_job=True)
    jobs, group = JobMetrics(metrics), pod_group("a", namespace="ml")
    jobs.upsert("PodGroup", group)
    pending = PendingJob("ml/a", "q", "Inqueue", Reason.NODES_REFUSE, "no room", 1)
    report = CycleReport("c", 1, started=0.0, duration=0.1, actions={"allocate": 0.1}, pending=(pending,))
    labels = {"job_name": "a", "queue": "q", "job_namespace": "ml"}
    jobs.reported(report)
    assert value(metrics, "e2e_job_scheduling_start_time", **labels) is not None
    jobs.delete("PodGroup", group)
    jobs.placed([bind("a-0")])
    jobs.reported(report)
    jobs.reported(replace(report, actions={}))
    for name in ("start_time", "last_time", "duration"):
        assert value(metrics, f"e2e_job_scheduling_{name}", **labels) is None


def test_a_pod_that_is_bound_before_its_podgroup_is_created_counts() -> None:
    metrics = Metrics(per_job=True)
    jobs = JobMetrics(metrics)
    jobs.placed([bind("a", job="ml/podgroup-pod-ml-a")])
    assert value(metrics, "job_scheduling_duration_seconds_count") == 1
