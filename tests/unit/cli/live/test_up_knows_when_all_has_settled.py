"""`--once`: what counts as settled, for the sample and for anything else, and what is said when it is not."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.unit.cli.up_objects import WHY, group_row, lone_row, pod_row, waiting_row
from volcano_py.api.reasons import Reason
from volcano_py.cli.live.follower import DRAWING_SECONDS, Follower
from volcano_py.cli.live.mirror import Mirror
from volcano_py.cli.live.overview import Overview, PodRow
from volcano_py.cli.processes.local_cluster import Goal, NotSettledError, during, reach
from volcano_py.cli.processes.settling import SAMPLE, lacks, sample_lacks
from volcano_py.cluster.manifests import read_paths
from volcano_py.local.errors import LocalError


def sample(*, pods: tuple[PodRow, ...] | None = None, why: str = WHY, **too_large: int) -> Overview:
    """The sample as it should be in the end, but for what is given."""
    all_pods = (
        pod_row("default/hello", group="default/podgroup-1"),
        *(pod_row(f"default/train-{number}", group="default/train") for number in range(4)),
        *(pod_row(f"default/web-{number}", group="default/podgroup-2", labels={"app": "web"}) for number in range(3)),
    )
    generated = (
        group_row("default/podgroup-1", minimum=1, pods=1, bound=1, running=1),
        group_row("default/podgroup-2", minimum=1, pods=3, bound=3, running=3),
    )
    return Overview(
        groups=(group_row("default/train"), waiting_row("default/too-large", why=why, **too_large), *generated),
        pods=all_pods if pods is None else pods,
    )


def but(overview: Overview, key: str, **fields: str) -> Overview:
    """The overview with one pod changed."""
    pods = tuple(replace(pod, **fields) if pod.key == key else pod for pod in overview.pods)  # type: ignore[arg-type]
    return replace(overview, pods=pods)


def test_the_sample_has_settled_when_all_is_as_its_manifests_say() -> None:
    assert sample_lacks(sample()) == []


def test_a_sample_that_is_not_there_lacks_everything() -> None:
    assert sample_lacks(Overview()) == [
        "the gang default/train: 0 of 4 pods run",
        "the pod default/hello: 0 of 1 pods run",
        "the Deployment default/web: 0 of 3 pods run",
        "the gang default/too-large: 0 of 3 pods exist",
    ]


@pytest.mark.parametrize(
    ("seen", "missing"),
    [
        (but(sample(), "default/train-3", phase="Pending"), "the gang default/train: 3 of 4 pods run"),
        (
            but(sample(), "default/hello", phase="Pending", node="", why=WHY),
            f"the pod default/hello: 0 of 1 pods run: {WHY}",
        ),
        (but(sample(), "default/web-0", phase="Failed"), "the Deployment default/web: 2 of 3 pods run"),
        (sample(bound=2), "the gang default/too-large: 2 of its pods have a node,"),
        (sample(why=""), "the gang default/too-large: its PodGroup does not say why it waits"),
        (sample(why="NotYetEvaluated: not looked at"), "does not say why it waits (NotYetEvaluated: not looked at)"),
        (sample(why="NotEnoughTasks: 1 more"), "does not say why it waits (NotEnoughTasks: 1 more)"),
        (sample(why="pod group is not ready"), "does not say why it waits (pod group is not ready)"),
    ],
)
def test_whatever_is_missing_is_named(seen: Overview, missing: str) -> None:
    (reported,) = sample_lacks(seen)
    assert missing in reported


def test_the_podgroups_of_bound_pods_have_to_be_there() -> None:
    """They are made for pods that name none, when these are bound already."""
    seen = replace(sample(), groups=sample().groups[:-1])
    late = ["PodGroup default/podgroup-2: its pods have a node, and it is not there yet"]
    assert sample_lacks(seen) == late
    assert lacks(seen) == late


def test_the_sample_is_what_the_manifests_hold() -> None:
    """The names here and in the YAML must not part."""
    bodies = [document.body for document in read_paths([SAMPLE])]
    named = {(body["kind"], body["metadata"]["name"]): body for body in bodies}
    assert named["PodGroup", "train"]["spec"]["minMember"] == 4
    assert named["PodGroup", "too-large"]["spec"]["minMember"] == 3
    assert named["Deployment", "web"]["spec"]["replicas"] == 3
    assert named["Deployment", "web"]["spec"]["template"]["metadata"]["labels"]["app"] == "web"
    members = [body["metadata"].get("annotations", {}).get("scheduling.k8s.io/group-name") for body in bodies]
    assert (members.count("train"), members.count("too-large")) == (4, 3)
    assert ("Pod", "hello") in named


def test_anything_has_settled_when_it_runs_is_done_or_explains_itself() -> None:
    seen = Overview(groups=(group_row(), group_row(running=0, finished=4, phase="Completed"), waiting_row()))
    assert lacks(seen) == []


@pytest.mark.parametrize(
    ("group", "missing"),
    [
        (group_row(running=3), "1 of 4 pods have a node and do not run yet"),
        (waiting_row(why=""), "3 of 3 pods wait, and nothing says why"),
        (waiting_row(why=f"{Reason.NOT_YET_EVALUATED}: not looked at"), "3 of 3 pods wait, and nothing says why"),
        (waiting_row(bound=2, running=2), "2 of 3 pods have a node, minMember is 3"),
    ],
)
def test_what_is_not_at_rest_is_named(group: object, missing: str) -> None:
    assert isinstance(group, type(group_row()))
    assert lacks(Overview(groups=(group,))) == [f"PodGroup {group.name}: {missing}"]


def test_pods_without_a_pod_group_need_a_reason_as_well() -> None:
    assert lacks(Overview(alone=(lone_row(),))) == []
    reported_nothing = (
        lone_row(why=""),
        lone_row("default/a", others=2, why=f"{Reason.NOT_YET_EVALUATED}: not looked at"),
    )
    assert lacks(Overview(alone=reported_nothing)) == [
        "1 pod without a PodGroup (default/orphan): nothing says why",
        "3 pods without a PodGroup (default/a): nothing says why",
    ]


def test_a_pod_whose_place_is_being_cleared_will_run() -> None:
    """Next to waiting pods of its PodGroup, which are shown for the group."""
    waiting = [
        pod_row("default/a-0", group="default/a", phase="Pending", node="", why=WHY),
        pod_row("default/a-1", group="default/a", phase="Pending", node="", why=f"{Reason.WAITING_FOR_RELEASE}: of n1"),
    ]
    seen = Overview(groups=(waiting_row("default/a"),), pods=tuple(waiting))
    assert lacks(seen) == ["pod default/a-1: its place is still being cleared"]


class Unseen:
    """A display without a screen."""

    def __enter__(self) -> Unseen:
        return self

    def __exit__(self, *_: object) -> None: ...

    def show(self, seen: Overview, log_line: str) -> None: ...


class Passing:
    """A clock that moves on by sleeping."""

    def __init__(self) -> None:
        self.time = 1000.0

    def monotonic(self) -> float:
        return self.time

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.time, UTC)

    async def sleep(self, seconds: float) -> None:
        self.time += seconds


async def reached(goal: Goal, *, within: float = 60.0) -> float:
    """After how many seconds; the deadline is `within` seconds ahead."""
    clock = Passing()
    began = clock.time
    await reach(goal, Follower(Mirror(), Unseen(), lambda: ""), began + within, clock)
    return clock.time - began


async def test_a_goal_is_reached_as_soon_as_nothing_is_missing() -> None:
    asked: list[int] = []

    def missing(_: Overview) -> list[str]:
        asked.append(1)
        return ["a pod"] if len(asked) < 3 else []

    assert await reached(Goal(lacks=missing, calm=0, timeout=60)) == pytest.approx(2 * DRAWING_SECONDS)
    assert len(asked) == 3


async def test_a_goal_must_hold_for_as_long_as_it_says() -> None:
    answers = itertools.chain([[], ["again a pod"]], itertools.repeat([]))
    goal = Goal(lacks=lambda _: next(answers), calm=3 * DRAWING_SECONDS, timeout=60)
    assert await reached(goal) == pytest.approx(5 * DRAWING_SECONDS)


async def test_after_the_deadline_what_is_missing_is_reported() -> None:
    goal = Goal(lacks=lambda _: ["a pod", "another"], calm=0, timeout=90)
    with pytest.raises(NotSettledError, match=r"not settled within 90 s:\n  a pod\n  another$"):
        await reached(goal, within=-1)


async def test_what_settles_at_the_last_moment_has_settled() -> None:
    assert await reached(Goal(lacks=lambda _: [], calm=0, timeout=1), within=-1) == 0


async def test_an_error_of_a_parallel_task_ends_the_work_and_is_raised_unchanged() -> None:
    async def dies() -> None:
        raise LocalError("the daemon died")

    with pytest.raises(LocalError, match=r"^the daemon died$"):
        await during(asyncio.Event().wait(), asyncio.Event().wait(), dies())


async def test_a_parallel_task_ends_with_the_work() -> None:
    ended = asyncio.Event()

    async def beside() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def work() -> str:
        await asyncio.sleep(0)
        return "done"

    assert await during(work(), beside()) == "done"
    assert ended.is_set()


async def test_an_error_of_the_work_is_raised_as_it_is() -> None:
    async def fails() -> None:
        raise NotSettledError("no")

    with pytest.raises(NotSettledError, match=r"^no$"):
        await during(fails(), asyncio.Event().wait())


@pytest.mark.parametrize("what_lacks", [sample_lacks, lacks])
def test_a_group_whose_phase_lags_behind_its_pods_has_not_settled(what_lacks: Callable[[Overview], list[str]]) -> None:
    seen = sample()
    late = replace(seen, groups=(group_row("default/train", phase="Inqueue"), *seen.groups[1:]))
    assert what_lacks(late) == ["PodGroup default/train: 4 of 4 pods run, and its phase is Inqueue"]
