"""What became of bindings and evictions: the state, the metrics and the events hear of it."""

from __future__ import annotations

import msgspec
import pytest
from structlog.testing import capture_logs

from tests.support.sessions import NAMESPACE, gang, node, pod
from volcano_py.api.effects import Bind, Event, Evict, ObjectRef
from volcano_py.cluster.kubernetes.http.errors import ConflictError, NotFoundError, UnreachableError, api_error
from volcano_py.daemon import outcomes as module
from volcano_py.daemon.outcomes import FIRST_RETRY, LAST_RETRY, OutcomeRecorder
from volcano_py.observe.metrics import Metrics
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.table.change import Change

REFUSED = ConflictError("POST", "/api/v1/namespaces/team/pods/g-0/binding", 409, reason="Conflict", message="taken")
GONE = NotFoundError("POST", "/api/v1/namespaces/team/pods/g-0/binding", 404, reason="NotFound", message="no such pod")


class Bench:
    """A recorder over a real state, with a clock to be set."""

    def __init__(self) -> None:
        self.now = 100.0
        self.reported: list[Event] = []
        self.metrics = Metrics()
        self.state = ClusterState()
        for obj in (node("n1", cpu="8"), *gang("g", pods=2, cpu="1"), *gang("r", cpu="1", running_on=["n1"])):
            self.state.upsert(type(obj).__name__, obj)
        self.recorder = OutcomeRecorder(self.state, self.reported.append, self.metrics, clock=lambda: self.now)

    def bind(self, name: str = "g-0") -> Bind:
        """A binding that was handed over."""
        ref = ObjectRef("Pod", NAMESPACE, name, pod(name).metadata.uid)
        assert self.state.assume_bound(ref.uid, "n1")
        sent = Bind(ref, "n1", "team/g")
        self.recorder.sent(sent)
        return sent

    def fail(self, name: str = "g-0") -> float:
        """A binding fails; seconds until it is tried again."""
        self.recorder.bind_failed(self.bind(name), REFUSED, gone=False)
        retry = self.state.next_retry(self.now)
        assert retry is not None
        return retry - self.now

    def spare(self) -> float:
        """An eviction fails; seconds until the pod may be evicted again."""
        assert self.state.assume_evicted(VICTIM.pod.uid)
        self.recorder.evict_failed(VICTIM, REFUSED)
        retry = self.state.next_retry(self.now)
        assert retry is not None
        return retry - self.now

    def value(self, name: str, **labels: str) -> float:
        """A metric."""
        found = self.metrics.registry.get_sample_value(name, labels)
        return 0.0 if found is None else found


@pytest.fixture
def bench() -> Bench:
    return Bench()


# -- bindings ----------------------------------------------------------------------------------------------------


def test_a_binding_is_reported_as_kube_scheduler_reports_it(bench: Bench) -> None:
    bind = bench.bind()
    bench.recorder.bound(bind, 0.0)
    assert bench.reported == [
        Event(bind.pod, "Normal", "Scheduled", "Successfully assigned team/g-0 to n1", at=bench.now)
    ]


def test_a_binding_that_is_reported_late_counts_from_its_completion(bench: Bench) -> None:
    bind = msgspec.structs.replace(bench.bind(), created=99.0)
    bench.now += 3.0
    bench.recorder.bound(bind, 2.5)
    assert bench.reported[0].at == 100.5
    assert bench.value("volcano_bind_duration_seconds_sum") == 0.5
    assert bench.value("volcano_task_scheduling_duration_seconds_sum", stage="Bound") == 1.5


def test_a_binding_that_failed_waits_twice_as_long_each_time_up_to_a_minute(bench: Bench) -> None:
    assert [bench.fail() for _ in range(9)] == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert (FIRST_RETRY, LAST_RETRY) == (1.0, 60.0)


def test_a_binding_that_fails_for_days_still_comes_back(bench: Bench) -> None:
    pauses = [bench.fail() for _ in range(1200)]
    assert set(pauses[6:]) == {60.0}


def test_how_long_a_pod_took_until_its_claims_were_bound_is_measured(bench: Bench) -> None:
    bench.now = 130.0
    bench.recorder.prepared(msgspec.structs.replace(bench.bind(), created=100.0))
    labels = {"stage": "PreBound"}
    assert bench.value("volcano_task_scheduling_duration_seconds_count", **labels) == 1
    assert bench.value("volcano_task_scheduling_duration_seconds_sum", **labels) == 30


def test_every_pod_waits_for_itself(bench: Bench) -> None:
    assert [bench.fail("g-0"), bench.fail("g-0"), bench.fail("g-1")] == [1, 2, 1]


def test_success_starts_over(bench: Bench) -> None:
    bench.fail()
    bench.fail()
    bench.recorder.bound(Bind(ObjectRef("Pod", NAMESPACE, "g-0", pod("g-0").metadata.uid), "n1", "team/g"), 0.0)
    assert bench.fail() == 1


def test_a_failure_is_reported_with_its_node_cause_and_pause(bench: Bench) -> None:
    bench.fail()
    (event,) = bench.reported
    assert (event.about.key, event.type, event.reason) == ("team/g-0", "Warning", "FailedScheduling")
    assert event.message == f"SchedulerError: binding to node n1 failed: {REFUSED}; tried again in 1 s"


def test_the_memory_of_failures_is_bounded_the_oldest_is_forgotten_first(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_FAILURES", 1)
    assert [bench.fail("g-0"), bench.fail("g-0")] == [1, 2]
    assert bench.fail("g-1") == 1
    assert bench.fail("g-0") == 1, "g-1 has taken its place"


# -- evictions ---------------------------------------------------------------------------------------------------

VICTIM = Evict(
    ObjectRef("Pod", NAMESPACE, "r-0", "pod-team-r-0"), ObjectRef("PodGroup", NAMESPACE, "r", "g"), "preempt", "for g"
)


def test_a_pod_whose_eviction_failed_stays(bench: Bench) -> None:
    woken: list[Change] = []
    bench.state.on_change = woken.append
    assert bench.state.assume_evicted(VICTIM.pod.uid)
    bench.recorder.evict_failed(VICTIM, REFUSED)
    assert bench.state.assume_evicted(VICTIM.pod.uid), "it can be chosen again"
    assert woken == [Change.DECISION]


def test_a_pod_whose_eviction_fails_is_left_alone_twice_as_long_each_time(bench: Bench) -> None:
    assert [bench.spare() for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    bench.recorder.evicted(VICTIM)
    assert bench.spare() == 1


# -- metrics -----------------------------------------------------------------------------------------------------


def refused(status: int) -> Exception:
    return api_error("POST", "/api/v1/namespaces/team/pods/g-0/binding", status, b"no")


@pytest.mark.parametrize(
    ("error", "outcome", "result"),
    [
        pytest.param(None, "done", "scheduled", id="bound"),
        pytest.param(GONE, "gone", "", id="the pod is gone"),
        pytest.param(REFUSED, "conflict", "error", id="another client was faster"),
        pytest.param(refused(403), "refused", "error", id="refused"),
        pytest.param(refused(503), "failed", "error", id="the server failed"),
        pytest.param(UnreachableError("POST", "/", "time ran out"), "failed", "error", id="no answer"),
        pytest.param(ValueError("a defect of ours"), "failed", "error", id="anything else"),
    ],
)
def test_bindings_are_counted_by_what_became_of_them_and_how_long_it_took(
    bench: Bench, error: Exception | None, outcome: str, result: str
) -> None:
    bind = bench.bind()
    bench.now += 0.25
    if error is None:
        bench.recorder.bound(bind, 0.0)
    else:
        bench.recorder.bind_failed(bind, error, gone=error is GONE)
    assert bench.value("volcano_binds_total", outcome=outcome) == 1
    assert bench.value("volcano_bind_duration_seconds_sum") == 0.25
    attempts = {name: bench.value("volcano_schedule_attempts_total", result=name) for name in ("scheduled", "error")}
    assert attempts == {name: float(name == result) for name in attempts}


@pytest.mark.parametrize(("error", "outcome"), [(None, "done"), (REFUSED, "conflict"), (refused(403), "refused")])
def test_evictions_are_counted_by_action_and_by_what_became_of_them(
    bench: Bench, error: Exception | None, outcome: str
) -> None:
    if error is None:
        bench.recorder.evicted(VICTIM)
    else:
        bench.recorder.evict_failed(VICTIM, error)
    assert bench.value("volcano_evictions_total", action="preempt", outcome=outcome) == 1


def test_reporting_the_same_binding_twice_is_harmless(bench: Bench) -> None:
    bind = bench.bind()
    bench.recorder.bound(bind, 0.0)
    bench.recorder.bound(bind, 0.0)
    bench.recorder.bind_failed(bind, REFUSED, gone=False)
    assert bench.state.drift() == 0


def test_a_plan_counts_once_and_its_victims_are_reported(bench: Bench) -> None:
    bench.recorder.evictions_sent([VICTIM, VICTIM])
    assert bench.value("volcano_eviction_transactions_total", action="preempt") == 1
    assert bench.value("volcano_preemption_attempts_total") == 1
    assert bench.value("volcano_pod_preemption_victims") == 2


def test_what_a_pods_claims_take_is_distinguished_from_its_binding(bench: Bench) -> None:
    bind = bench.bind()
    bench.now += 3
    bench.recorder.prepared(bind)
    assert bench.value("volcano_scheduling_stage_duration_seconds_sum", stage="PreBind") == 3


def test_a_binding_in_a_namespace_that_is_being_deleted_is_no_warning(bench: Bench) -> None:
    """There is one for each pod and try, and neither can be helped."""
    body = b'{"reason": "Forbidden", "details": {"causes": [{"reason": "NamespaceTerminating", "field": ""}]}}'
    error = api_error("POST", "/api/v1/namespaces/team/pods/g-0/binding", 403, body)
    with capture_logs() as logs:
        bench.recorder.bind_failed(bench.bind(), error, gone=False)
    assert [entry["log_level"] for entry in logs] == ["debug"]
    assert bench.reported == []
    assert bench.state.next_retry(bench.now) is not None, "it is tried again all the same"


@pytest.mark.parametrize("causes", ["null", '["x"]', '[{"reason": "Other"}]'])
def test_other_refusals_are_warnings(causes: str, bench: Bench) -> None:
    body = f'{{"reason": "Forbidden", "details": {{"causes": {causes}}}}}'.encode()
    error = api_error("POST", "/api/v1/namespaces/team/pods/g-0/binding", 403, body)
    with capture_logs() as logs:
        bench.recorder.bind_failed(bench.bind(), error, gone=False)
    assert [entry["log_level"] for entry in logs] == ["warning"]
    assert len(bench.reported) == 1
