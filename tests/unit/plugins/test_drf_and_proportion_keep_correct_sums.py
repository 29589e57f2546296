"""Whatever is placed, promised, evicted and taken back: the plugins' own sums are those of the tasks."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from tests.support.book_keeping import Step, do_and_undo, held, most_held, steps
from tests.support.sessions import Opened, gang, node, open_session, queue
from volcano_py.plugins.amounts.shares import dominant_share
from volcano_py.plugins.drf import Drf
from volcano_py.plugins.proportion import Proportion

JOBS = ("a", "b", "c")


def opened() -> Opened:
    def job(name: str, queue: str, **asked: Any) -> list[Any]:
        return gang(name, pods=5, min_member=1, queue=queue, running_on=["n1", "n2"], **asked)

    return open_session(
        node("n1", cpu="32", devices={"nvidia.com/gpu": "8"}),
        node("n2", cpu="32"),
        queue("q1", weight=2),
        queue("q2"),
        job("a", "q1", cpu="2", memory="3Gi"),
        job("b", "q1", cpu="1", devices={"nvidia.com/gpu": "1"}),
        job("c", "q2", cpu="700m", memory="1Gi"),
        tiers=[[Drf, Proportion]],
    )


def books(session: Opened) -> dict[str, Any]:
    """What the plugins say."""
    drf, reported = session.plugin(Drf), session.plugin(Proportion).describe_queues()
    return {
        **{job: drf.job_order(session.job(job)) for job in JOBS},
        **{name: (reported[name]["share"], reported[name]["overused"]) for name in ("q1", "q2")},
    }


def expected(session: Opened) -> dict[str, Any]:
    """The same, from the tasks."""
    reported = session.plugin(Proportion).describe_queues()
    shares: dict[str, Any] = {
        job: float(dominant_share(held(session, job)[None], session.ssn.total)[0]) for job in JOBS
    }
    for name, jobs in (("q1", ("a", "b")), ("q2", ("c",))):
        amounts = most_held(session, *jobs)
        deserved = session.ssn.axis.vector(reported[name]["deserved"])
        shares[name] = (float(dominant_share(amounts[None], deserved)[0]), bool((deserved <= amounts).all()))
    return shares


@given(steps(JOBS, most=25))
def test_sums_follow_the_tasks_and_a_discard_restores_them(steps: list[Step]) -> None:
    session = opened()
    for _ in do_and_undo(session, steps, books):
        assert books(session) == expected(session)
