"""Whatever happens to a Job, in whatever order: counts agree with pods, no pod is made twice, an end is an end, what is
left alone settles, and a job that only the scheduler takes pods from keeps all its tries."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.support.jobs.job_objects import evicted
from volcano_py.api.objects import Condition, Pod, PodGroup
from volcano_py.jobs.actions import (
    Action,
    CreateGroup,
    CreatePods,
    DeleteGroup,
    DeleteJob,
    DeletePods,
    UpdateGroup,
    WriteStatus,
)
from volcano_py.jobs.defaults import JobRules, with_defaults
from volcano_py.jobs.members import is_victim
from volcano_py.jobs.model import FINISHED, JobAction, JobPhase, VolcanoJob
from volcano_py.jobs.plan import Request, World, plan

MOST_STEPS = 40
ACTIONS = st.sampled_from(
    ["RestartJob", "RestartTask", "RestartPod", "RestartPartition", "AbortJob", "TerminateJob", "CompleteJob"]
)
EVENTS = st.sampled_from(["*", "PodFailed", "PodEvicted", "Unknown", "TaskCompleted", "TaskFailed"])
POLICIES = st.lists(
    st.builds(
        lambda event, action, timeout: {"event": event, "action": action, "timeout": timeout},
        EVENTS,
        ACTIONS,
        st.sampled_from(["", "", "10s"]),
    ),
    max_size=3,
)


def _task(name: str, replicas: int, minimum: int, policies: list[dict[str, str]]) -> dict[str, Any]:
    return {"name": name, "replicas": replicas, "minAvailable": min(minimum, replicas), "policies": policies}


TASKS = st.tuples(
    st.builds(_task, st.just("a"), st.integers(0, 3), st.integers(0, 3), POLICIES),
    st.builds(_task, st.just("b"), st.integers(1, 3), st.integers(0, 3), POLICIES),
)


class Life(RuleBasedStateMachine):
    """The controller is `settle`, everything else happens to the job; it may be interrupted after any action."""

    @initialize(tasks=TASKS, policies=POLICIES, retries=st.integers(1, 4))
    def begin(self, tasks: tuple[dict[str, Any], ...], policies: list[dict[str, str]], retries: int) -> None:
        body = {
            "metadata": {"name": "j", "namespace": "ns", "uid": "u"},
            "spec": {"tasks": list(tasks), "policies": policies, "maxRetry": retries},
        }
        self.job: VolcanoJob | None = msgspec.convert(body, VolcanoJob)
        self.pods: dict[str, Pod] = {}
        self.group: PodGroup | None = None
        self.now = 1000.0
        self.uids = 0
        self.ended: JobPhase | None = None
        self.gone_victims: dict[str, Pod] = {}
        self.evictions = 0
        self.blameless = True
        """Whether nothing has happened to the job but evictions by the scheduler."""

    # The controller.

    def step(self, request: JobAction | None = None, only: int = 99) -> bool:
        """Ask the plan once, and carry out its first actions; whether there were any."""
        if self.job is None:
            return False
        job = with_defaults(self.job, JobRules())
        asked = Request(request) if request is not None else None
        gone = tuple(self.gone_victims.values())
        made = plan(World(job, tuple(self.pods.values()), self.group, self.now, request=asked, gone=gone))
        for action in made.actions[:only]:
            self.carry_out(action)
        return bool(made.actions)

    def carry_out(self, action: Action) -> None:
        assert self.job is not None
        match action:
            case WriteStatus(status):
                self.job = msgspec.structs.replace(self.job, status=status)
                if status.phase in FINISHED:
                    self.ended = status.phase
            case CreateGroup(body):
                assert self.group is None, "a second PodGroup"
                self.group = self._made(body, PodGroup)
            case UpdateGroup(changes=changes):
                assert self.group is not None
                spec = {**msgspec.to_builtins(self.group.spec), **changes["spec"]}
                self.group = msgspec.structs.replace(self.group, spec=msgspec.convert(spec, type(self.group.spec)))
            case DeleteGroup():
                self.group = None
            case CreatePods(bodies):
                assert self.job.status.phase in (JobPhase.PENDING, JobPhase.RUNNING)
                assert self.group is not None
                assert self.group.status.phase not in ("", "Pending"), "pods before their PodGroup is let in"
                for body in bodies:
                    name = body["metadata"]["name"]
                    assert name not in self.pods, "a pod is made twice"
                    self.pods[name] = self._made(body, Pod)
                    self.gone_victims.pop(name, None)
            case DeletePods(pods):
                for name, uid in pods:
                    assert self.pods[name].metadata.uid == uid
                    self._delete(name)
            case DeleteJob():
                raise AssertionError("the job has no time to live")

    def _made(self, body: dict[str, Any], of: type) -> Any:
        self.uids += 1
        return msgspec.convert({**body, "metadata": {**body["metadata"], "uid": f"uid-{self.uids}"}}, of, strict=False)

    def _delete(self, name: str) -> None:
        """A pod that runs takes its time to go."""
        pod = self.pods[name]
        if pod.status.phase != "Running":
            del self.pods[name]
            return
        metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp=_moment(self.now))
        self.pods[name] = msgspec.structs.replace(pod, metadata=metadata)

    @rule(actions=st.integers(1, 3))
    def interrupted(self, actions: int) -> None:
        self.step(only=actions)

    @rule()
    def settle(self) -> None:
        for _ in range(MOST_STEPS):
            if not self.step():
                break
        else:
            raise AssertionError("it does not come to rest")
        self._counts_agree()

    @rule(action=st.sampled_from([*JobAction, JobAction.RESTART_JOB, JobAction.RESUME, JobAction.RESUME]))
    def asked(self, action: JobAction) -> None:
        self.blameless = False
        self.step(action)

    # The world.

    @rule(phase=st.sampled_from(["Inqueue", "Running", "Unknown", "Completed"]))
    def scheduler(self, phase: str) -> None:
        self.blameless &= phase not in ("Unknown", "Completed")
        if self.group is not None:
            status = msgspec.structs.replace(self.group.status, phase=phase)
            self.group = msgspec.structs.replace(self.group, status=status)

    @precondition(lambda self: self.pods)
    @rule(number=st.integers(0, 5), phase=st.sampled_from(["Running", "Running", "Succeeded", "Failed"]))
    def kubelet(self, number: int, phase: str) -> None:
        name = sorted(self.pods)[number % len(self.pods)]
        pod = self.pods[name]
        if pod.status.phase in ("Succeeded", "Failed"):
            return
        self.blameless &= phase == "Running"
        conditions = [Condition(type="Ready", status="True", last_transition_time=_moment(self.now))]
        self.pods[name] = msgspec.structs.replace(
            pod, status=msgspec.structs.replace(pod.status, phase=phase, conditions=conditions)
        )

    @precondition(lambda self: self.pods)
    @rule(number=st.integers(0, 5))
    def gone(self, number: int) -> None:
        """A pod that is being deleted is gone, or one is deleted by force."""
        name = sorted(self.pods)[number % len(self.pods)]
        self.blameless &= self.pods[name].metadata.deletion_timestamp is not None
        self._let_go(name)

    def _let_go(self, name: str) -> None:
        pod = self.pods.pop(name)
        if is_victim(pod):
            self.gone_victims[name] = pod

    @precondition(lambda self: any(pod.status.phase == "Running" for pod in self.pods.values()))
    @rule(spared=st.sets(st.integers(0, 5), max_size=2), gone=st.sets(st.integers(0, 5)))
    def the_scheduler_evicts(self, spared: set[int], gone: set[int]) -> None:
        """The whole gang, or a part of it; some of the pods are gone before the controller looks."""
        running = sorted(name for name, pod in self.pods.items() if pod.status.phase == "Running")
        self.evictions += 1
        for number, name in enumerate(running):
            if number not in spared:
                self.pods[name] = evicted(self.pods[name])
        for number, name in enumerate(running):
            if number not in spared and number in gone:
                self._let_go(name)

    @rule()
    def another_controller(self) -> None:
        """It knows nothing of what is gone."""
        self.blameless &= not self.gone_victims
        self.gone_victims.clear()

    @rule()
    def all_goes_well(self) -> None:
        """The scheduler lets the group in and every pod gets to run; without this, lives are mostly beginnings."""
        self.settle()
        self.scheduler("Inqueue")
        self.settle()
        for number in range(len(self.pods)):
            self.kubelet(number, "Running")
        self.settle()

    @rule(replicas=st.integers(0, 4))
    def scaled(self, replicas: int) -> None:
        if self.job is not None:
            first, second = self.job.spec.tasks
            changed = msgspec.structs.replace(second, replicas=replicas, min_available=0)
            self.job = msgspec.structs.replace(
                self.job, spec=msgspec.structs.replace(self.job.spec, tasks=[first, changed])
            )

    @rule(seconds=st.sampled_from([1, 15]))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds

    # What holds.

    @invariant()
    def an_end_is_an_end(self) -> None:
        if getattr(self, "ended", None) is not None:
            assert self.job is not None
            assert self.job.status.phase == self.ended

    @invariant()
    def tries_are_bounded(self) -> None:
        """Commands may ask for one more; a job that has used up its tries goes no further."""
        if getattr(self, "job", None) is not None:
            assert self.job is not None
            status = self.job.status
            assert status.retry_count <= self.job.spec.max_retry
            assert status.version <= status.retry_count + self.evictions

    @invariant()
    def evictions_by_the_scheduler_are_no_tries(self) -> None:
        if getattr(self, "job", None) is not None and self.blameless:
            assert self.job is not None
            assert self.job.status.retry_count == 0

    def _counts_agree(self) -> None:
        assert self.job is not None
        status = self.job.status
        by_task = {
            phase: sum(state.phase.get(phase, 0) for state in status.task_status_count.values())
            for phase in ("Pending", "Running", "Succeeded", "Failed")
        }
        assert (status.pending, status.running, status.succeeded, status.failed) == tuple(by_task.values())
        there = [
            pod
            for pod in self.pods.values()
            if pod.metadata.deletion_timestamp is None
            and pod.metadata.annotations["volcano.sh/job-version"] == str(status.version)
            and int(pod.metadata.name.rpartition("-")[2]) < self._replicas(pod.metadata.name)
        ]
        assert sum(by_task.values()) == len(there)
        replicas = sum(task.replicas for task in self.job.spec.tasks)
        assert sum(by_task.values()) <= replicas

    def _replicas(self, name: str) -> int:
        assert self.job is not None
        return next(task.replicas for task in self.job.spec.tasks if name.startswith(f"j-{task.name}-"))


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=settings().max_examples, stateful_step_count=40, deadline=None)


@given(
    tasks=TASKS,
    event=st.sampled_from(["PodEvicted", "*"]),
    ways=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=6, max_size=6),
    at_once=st.sets(st.integers(0, 5)),
)
def test_a_gang_that_is_evicted_whole_is_restarted_once(
    tasks: tuple[dict[str, Any], ...], event: str, ways: list[tuple[int, int]], at_once: set[int]
) -> None:
    """In whatever order its pods leave, and however far the controller gets in between."""
    life = Life()
    life.begin([{**each, "policies": []} for each in tasks], [{"event": event, "action": "RestartJob"}], 1)
    life.all_goes_well()
    before = len(life.pods)
    life.the_scheduler_evicts(set(), at_once)
    for number, steps in ways:
        for _ in range(steps):
            life.step(only=1)
        leaving = sorted(name for name, pod in life.pods.items() if pod.metadata.deletion_timestamp is not None)
        if leaving:
            life.gone(sorted(life.pods).index(leaving[number % len(leaving)]))
    life.settle()
    life.all_goes_well()
    assert life.job is not None
    status = life.job.status
    assert (status.version, status.retry_count, len(life.pods)) == (1, 0, before)
    assert {pod.metadata.annotations["volcano.sh/job-version"] for pod in life.pods.values()} == {"1"}
