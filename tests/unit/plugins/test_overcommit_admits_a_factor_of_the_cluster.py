"""overcommit: which jobs may enter."""

from __future__ import annotations

import pytest

from tests.support.sessions import Objects, Opened, gang, node, open_session, pod, pod_group
from volcano_py.actions.enqueue import Enqueue
from volcano_py.api.names import QUEUE_ALLOCATION_GATE
from volcano_py.api.reasons import Reason
from volcano_py.config.parse import parse_configuration
from volcano_py.framework.registry import Registry
from volcano_py.framework.votes import Vote
from volcano_py.plugins.overcommit import Overcommit, OvercommitArguments


def opened(*objects: Objects, factor: float = 1.2) -> Opened:
    """A cluster of 100 cpu."""
    choice = (Overcommit, {"arguments": {"overcommit-factor": factor}})
    nodes = [node(f"n{index}", cpu="50") for index in range(2)]
    return open_session(*nodes, *objects, tiers=[[choice]], actions=[Enqueue])


def waiting(name: str, cpu: str | None, **more: str) -> Objects:
    """A pending PodGroup that asks for so much."""
    return pod_group(name, phase="Pending", min_resources=None if cpu is None else {"cpu": cpu, **more})


def may_enter(session: Opened, job: str) -> bool:
    return session.ssn.ask.job_enqueueable(session.job(job)).vote is not Vote.REJECT


def used(cpu: int) -> Objects:
    """Foreign pods that use so much."""
    return [pod(f"foreign-{index}", cpu="10", on=f"n{index % 2}", scheduler="other") for index in range(cpu // 10)]


def test_what_is_idle_is_the_factor_times_the_cluster_less_what_pods_use() -> None:
    session = opened(
        used(80), pod_group("let-in", min_resources={"cpu": "30"}), waiting("ten", "10"), waiting("eleven", "11")
    )
    assert may_enter(session, "ten")
    assert not may_enter(session, "eleven")


def test_the_refusal_says_what_is_used_promised_and_asked() -> None:
    session = opened(used(80), pod_group("let-in", min_resources={"cpu": "30"}), waiting("eleven", "11"))
    refusal = session.ssn.ask.job_enqueueable(session.job("eleven")).refusal
    assert refusal is not None
    assert refusal.reason is Reason.CLUSTER_OVERCOMMITTED
    assert refusal.message == (
        "cluster: 80 cpu used + 30 promised + 11 asked > 120 (100 allocatable x overcommit-factor 1.2); "
        "wait until jobs finish, add nodes or raise the factor"
    )


def test_a_job_without_min_resources_always_enters() -> None:
    session = opened(used(100), pod_group("let-in", min_resources={"cpu": "500"}), waiting("any", None))
    assert may_enter(session, "any")


def test_a_job_that_was_admitted_counts_for_those_after_it() -> None:
    session = opened(waiting("first", "70"), waiting("second", "51"), waiting("third", "50"))
    Enqueue(None).execute(session.ssn)
    assert session.job("first").phase.text == "Inqueue"
    assert session.job("second").phase.text == "Pending"
    assert session.job("third").phase.text == "Inqueue"


def test_a_running_job_counts_with_what_it_does_not_hold_yet() -> None:
    session = opened(
        gang("train", pods=2, min_member=1, cpu="10", min_resources={"cpu": "30"}, running_on=["n0"]),
        waiting("fits", "90"),
        waiting("too-much", "91"),
    )
    # 120 - 10 used - 20 outstanding
    assert may_enter(session, "fits")
    assert not may_enter(session, "too-much")


def test_a_gang_that_is_just_being_bound_counts_once() -> None:
    """Its phase follows when the bindings have passed, and that starts no cycle for jobs that it would block."""
    train = gang("train", pods=2, cpu="30", min_resources={"cpu": "60"}, running_on=["n0", "n1"], group_phase="Inqueue")
    session = opened(train, waiting("fits", "60"), waiting("too-much", "61"))
    assert may_enter(session, "fits")
    assert not may_enter(session, "too-much")


def test_a_gang_that_is_admitted_again_counts_once() -> None:
    """It has lost a pod, and holds the other two."""
    whole = {"cpu": "60"}
    train = gang("a", pods=3, cpu="20", min_resources=whole, running_on=["n0", "n1"], group_phase="Pending")
    session = opened(train, waiting("fits", "60"), waiting("too-much", "1"))
    Enqueue(None).execute(session.ssn)
    phases = [session.job(name).phase.text for name in ("a", "fits", "too-much")]
    assert phases == ["Inqueue", "Inqueue", "Pending"]


def test_a_running_job_below_its_minimum_counts_with_nothing_more() -> None:
    session = opened(
        gang("train", pods=2, min_member=2, cpu="10", min_resources={"cpu": "30"}, running_on=["n0"]),
        waiting("fits", "110"),
    )
    assert may_enter(session, "fits")


@pytest.mark.parametrize("phase", ["Inqueue", "Running"])
@pytest.mark.parametrize("minimum", [0, 2])
def test_a_job_that_has_just_ended_counts_with_nothing(phase: str, minimum: int) -> None:
    """Its phase follows at the end of the cycle, and that starts no cycle for jobs that it would block."""
    group = pod_group("train", min_member=minimum, min_resources={"cpu": "60"}, phase=phase)
    ended = [pod(f"train-{index}", group="train", cpu="30", on="n0", phase="Succeeded") for index in range(2)]
    assert may_enter(opened(group, ended, waiting("fits", "120")), "fits")


def test_nor_does_a_job_of_which_too_few_are_left_though_it_never_was_seen_to_run() -> None:
    group = pod_group("train", min_member=2, min_resources={"cpu": "60"}, phase="Inqueue")
    ended, runs = (
        pod(f"train-{phase}", group="train", cpu="30", on="n0", phase=phase) for phase in ("Failed", "Running")
    )
    assert may_enter(opened(group, ended, runs, waiting("fits", "90")), "fits")


@pytest.mark.parametrize(("gate", "left"), [("example.com/wait", 80), (QUEUE_ALLOCATION_GATE, 70)])
def test_gated_pods_are_not_promised_anything_but_for_volcanos_own_gate(gate: str, left: int) -> None:
    session = opened(
        pod_group("let-in", min_member=2, min_resources={"cpu": "50"}),
        pod("let-in-0", group="let-in", cpu="40"),
        pod("let-in-1", group="let-in", cpu="10", gates=[gate]),
        waiting("fits", str(left)),
        waiting("too-much", str(left + 1)),
    )
    assert may_enter(session, "fits")
    assert not may_enter(session, "too-much")


def test_every_resource_asked_for_must_fit_and_others_do_not_matter() -> None:
    session = opened(used(100), gang("hog", cpu="30", running_on=["n0"]), waiting("memory", None), waiting("gpu", "0"))
    assert may_enter(session, "gpu"), "cpu is overcommitted already, but it asks for none"
    session = opened(waiting("gpu", "1", **{"nvidia.com/gpu": "1"}))
    assert not may_enter(session, "gpu"), "the cluster has none"


def test_places_for_pods_do_not_matter() -> None:
    session = opened(waiting("many", "1", pods="100000"))
    assert may_enter(session, "many")


def test_nodes_that_are_gone_are_no_part_of_the_cluster() -> None:
    session = opened(pod("orphan", cpu="100", on="vanished", scheduler="other"), waiting("fits", "120"))
    assert may_enter(session, "fits")


def test_the_factor_is_exact() -> None:
    session = opened(waiting("fits", "115"), waiting("too-much", "115001m"), factor=1.15)
    assert may_enter(session, "fits")
    assert not may_enter(session, "too-much")


def test_a_huge_factor_admits_every_job() -> None:
    session = opened(used(100), waiting("any", "1000000"), factor=1e300)
    assert may_enter(session, "any")


@pytest.mark.parametrize(("written", "factor"), [("0.5", 1.2), ("-3", 1.2), ("1", 1.0), ("2.5", 2.5)])
def test_a_factor_below_one_becomes_the_default_with_a_warning(written: str, factor: float) -> None:
    text = (
        "actions: enqueue\ntiers:\n- plugins:\n  - name: overcommit\n"
        f"    arguments:\n      overcommit-factor: {written}\n"
    )
    result = parse_configuration(text, Registry.of([Overcommit], [Enqueue]).catalogue())
    assert result.config is not None
    (entry,) = result.config.plugins()
    assert isinstance(entry.arguments, OvercommitArguments)
    assert entry.arguments.factor == factor
    reported = [problem for problem in result.warnings if "overcommit-factor" in problem.path]
    assert bool(reported) is (factor == 1.2)


def test_the_default_factor_is_six_fifths() -> None:
    assert OvercommitArguments().factor == 1.2
