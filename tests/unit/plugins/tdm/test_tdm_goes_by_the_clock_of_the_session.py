"""Revocable zones: hours, the pods that may use them, and who has to go when they are over."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from time import tzset
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.placement.node_answers import refusing_for_good, scores, willing
from tests.support.registries import checked_registry
from tests.support.sessions import NOW, Opened, gang, node, open_session
from volcano_py.actions.shuffle import Shuffle
from volcano_py.api.objects import PodGroup
from volcano_py.config.parse import parse_configuration
from volcano_py.framework.votes import Vote
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.tdm import Tdm
from volcano_py.plugins.tdm.arguments import TdmArguments
from volcano_py.plugins.tdm.hours import Hours, local_time, read_hours

assert NOW.time() == time(12, 0)
OPEN, CLOSED = "11:00-13:00", "13:00-14:00"
BERLIN = "Europe/Berlin"
BEFORE_SPRING = datetime(2026, 3, 28, 23, tzinfo=ZoneInfo(BERLIN)).timestamp()
BEFORE_AUTUMN = datetime(2026, 10, 24, 23, tzinfo=ZoneInfo(BERLIN)).timestamp()
BATCH = {"volcano.sh/preemptable": "true"}


def zone(name: str, label: str) -> Any:
    return node(name, cpu="8", labels={"volcano.sh/revocable-zone": label})


def opened_with(*objects: Any, period: str = "1m") -> Opened:
    arguments = {
        "tdm.revocable-zone.open": OPEN,
        "tdm.revocable-zone.closed": CLOSED,
        "tdm.evict.period": period,
        "tdm.timezone": "UTC",
    }
    return open_session(
        zone("in", "open"),
        zone("out", "closed"),
        zone("lost", "unheard-of"),
        node("plain", cpu="8"),
        *objects,
        tiers=[[Gang, (Tdm, {"arguments": arguments})]],
    )


def budgeted(job: list[Any], **annotations: str) -> list[Any]:
    """The job with annotations on its PodGroup."""
    group, *pods = job
    assert isinstance(group, PodGroup)
    marks = {f"volcano.sh/{key.replace('_', '-')}": text for key, text in annotations.items()}
    metadata = msgspec.structs.replace(group.metadata, annotations=marks)
    return [msgspec.structs.replace(group, metadata=metadata), *pods]


# -- nodes ---------------------------------------------------------------------------------------------------------


def test_the_message_says_how_a_pod_may_use_revocable_nodes() -> None:
    opened = opened_with(gang("job", cpu="1"))
    message = opened.ssn.placer.misfit(opened.task("job-0").task_class).refusal.message
    assert message.endswith(
        "These nodes take only pods that may be evicted when the hours of the zone end: annotate the pod "
        'volcano.sh/revocable-zone: "*".'
    )


@pytest.mark.parametrize(
    ("annotations", "nodes"),
    [
        pytest.param({}, ["plain"], id="without a word"),
        pytest.param({"volcano.sh/preemptable": "true"}, ["in", "plain"], id="preemptable"),
        pytest.param({"volcano.sh/preemptable": "false"}, ["plain"], id="not preemptable"),
        pytest.param({"volcano.sh/revocable-zone": "*"}, ["in", "plain"], id="any zone"),
        pytest.param({"volcano.sh/revocable-zone": "open"}, ["plain"], id="a zone by name is none"),
        pytest.param({**BATCH, "volcano.sh/revocable-zone": ""}, ["plain"], id="preemptable, but no zone"),
    ],
)
def test_which_pods_may_use_revocable_nodes(annotations: dict[str, str], nodes: list[str]) -> None:
    opened = opened_with(gang("job", cpu="1", annotations=annotations))
    assert willing(opened, Tdm, "job-0") == nodes
    assert scores(opened, Tdm, "job-0")["in"] == (100 if "in" in nodes else 0)
    assert scores(opened, Tdm, "job-0")["plain"] == 0


def test_evictions_do_not_help_against_zones() -> None:
    opened = opened_with(gang("job", cpu="1"))
    assert refusing_for_good(opened, Tdm, "job-0") == ["in", "lost", "out"]


def test_an_eviction_a_minute_is_the_default() -> None:
    assert TdmArguments().period == timedelta(minutes=1)


def test_the_next_change_of_hours_is_worth_a_cycle() -> None:
    assert opened_with().ssn.wakeups.next_recheck == (NOW + timedelta(hours=1)).timestamp()


# -- hours ---------------------------------------------------------------------------------------------------------

minutes = st.integers(0, 24 * 60 - 1).map(lambda minute: time(minute // 60, minute % 60))
YEAR = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
DAY = 86_400.0
moments = st.floats(YEAR, YEAR + 365 * DAY) | st.floats(BEFORE_SPRING, BEFORE_SPRING + 2 * DAY)


@given(minutes, minutes, moments | st.floats(BEFORE_AUTUMN, BEFORE_AUTUMN + 2 * DAY), st.sampled_from(["UTC", BERLIN]))
def test_nothing_changes_before_the_next_change_and_something_does_then(
    start: time, end: time, now: float, zone: str
) -> None:
    hours = Hours(start, end)

    def include(moment: float) -> bool:
        return hours.include(local_time(moment, zone).time())

    change = hours.next_change(now, zone)
    if change is None:
        assert start == end
        assert include(now)
        return
    assert now < change <= now + 2 * DAY
    quarters = (now + (change - now) * part / 4 for part in range(4))
    assert {include(moment) for moment in (*quarters, change - 0.001 if change - 0.001 > now else now)} == {
        include(now)
    }
    assert include(change) is not include(now)


@pytest.mark.parametrize("zone", [BERLIN, ""], ids=["configured", "of the process"])
@pytest.mark.parametrize(
    ("now", "hours", "wait"),
    [
        pytest.param(BEFORE_SPRING, "22:00-06:00", 6, id="a night that lacks an hour"),
        pytest.param(BEFORE_AUTUMN, "22:00-06:00", 8, id="a night that has one twice"),
        pytest.param(BEFORE_SPRING, "22:00-02:30", 3, id="an end that is left out"),
        pytest.param(BEFORE_AUTUMN + 4.5 * 3600, "22:00-02:45", 0.25, id="an end that comes a second time"),
        pytest.param(BEFORE_AUTUMN + 3.75 * 3600, "22:00-02:45", 0.25, id="a beginning with the clocks"),
    ],
)
def test_hours_go_by_the_clock_on_the_wall_when_it_is_changed(
    zone: str, now: float, hours: str, wait: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", BERLIN)
    tzset()
    try:
        assert read_hours(hours).next_change(now, zone) == now + wait * 3600
    finally:
        monkeypatch.undo()
        tzset()


@given(minutes, minutes)
def test_hours_are_read_as_they_are_written(start: time, end: time) -> None:
    assert read_hours(str(Hours(start, end))) == Hours(start, end)


def test_a_night_goes_on_until_the_morning() -> None:
    night = read_hours(" 22:00 - 6:00 ")
    assert [night.include(time(hour)) for hour in (21, 22, 0, 5, 6)] == [False, True, True, True, False]


def test_time_zones_are_respected() -> None:
    assert local_time(NOW.timestamp(), "Asia/Tokyo").time() == time(21, 0)
    assert local_time(NOW.timestamp(), "").timestamp() == NOW.timestamp()


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("tdm.revocable-zone.rz: 25:00-26:00", "are not hours, a day goes from 00:00 to 23:59"),
        ("tdm.revocable-zone.rz: all day", "are not hours; write the hours of a day as 08:30-21:00"),
        ("tdm.revocable-zone.rz: 12", "are not hours"),
        ("tdm.revocable-zone.rz: [1]", "are not hours"),
        ("tdm.evict.period: 0s", "longer than 0"),
        ("tdm.timezone: Middle/Earth", "is not a time zone; write a name such as Europe/Berlin"),
        ("tdm.timezone: ../../etc/passwd", "is not a time zone"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused_with_their_place(argument: str, message: str) -> None:
    text = f"actions: allocate\ntiers:\n- plugins:\n  - name: tdm\n    arguments:\n      {argument}\n"
    result = parse_configuration(text, checked_registry().catalogue())
    assert result.config is None
    (problem,) = result.errors
    assert message in problem.message
    assert problem.line == 6
    assert argument.split(":")[0] in problem.path


# -- jobs ----------------------------------------------------------------------------------------------------------


def test_jobs_that_are_not_preemptable_go_first_and_may_starve() -> None:
    opened = opened_with(
        budgeted(gang("batch", cpu="1", age=60), preemptable="true"),
        budgeted(gang("firm", cpu="1"), preemptable="false"),
        gang("plain", cpu="1"),
        gang("done", cpu="1", running_on=["plain"]),
    )
    tdm = opened.plugin(Tdm)
    jobs = {name: opened.job(name) for name in ("batch", "firm", "plain", "done")}
    assert {name: tdm.job_starving(job) for name, job in jobs.items()} == {
        "batch": False,
        "firm": True,
        "plain": True,
        "done": False,
    }
    waiting = sorted(("batch", "firm", "plain"), key=lambda name: opened.ssn.ask.job_key(jobs[name]))
    assert waiting[-1] == "batch"
    assert tdm.job_order(jobs["firm"]) == tdm.job_order(jobs["plain"])


def test_a_job_holds_on_to_what_is_released_only_for_its_minimum() -> None:
    opened = opened_with(gang("job", pods=3, min_member=2, cpu="1"))
    tdm, job = opened.plugin(Tdm), opened.job("job")
    opened.pipeline("job", {"job-0": "plain"})
    assert tdm.job_pipelined(job).vote is Vote.REJECT
    opened.pipeline("job", {"job-1": "plain"})
    assert tdm.job_pipelined(job).vote is Vote.PERMIT


# -- victims -------------------------------------------------------------------------------------------------------


def test_preemptable_pods_on_ordinary_nodes_give_way_within_their_budget() -> None:
    opened = opened_with(
        gang("batch", pods=3, cpu="1", running_on=["plain"] * 3, annotations=BATCH),
        budgeted(gang("free", pods=3, cpu="1", running_on=["plain"] * 3, annotations=BATCH), jdb_min_available="1"),
        gang("away", cpu="1", running_on=["in"], annotations=BATCH),
        gang("firm", cpu="1", running_on=["plain"]),
        gang("service", cpu="1"),
        gang("other", cpu="1", annotations=BATCH),
        gang("anywhere", cpu="1", annotations={"volcano.sh/revocable-zone": "*", "volcano.sh/preemptable": "false"}),
    )
    candidates = opened.running("batch", "free", "away", "firm")
    tdm = opened.plugin(Tdm)

    def victims(preemptor: str) -> list[str]:
        mask = tdm.preemptable(opened.task(f"{preemptor}-0"), candidates)
        possible = tdm.possible_victims("preemptable", opened.task(f"{preemptor}-0"), candidates)
        assert (possible | ~mask).all()
        return sorted(opened.names(candidates[mask]))

    assert victims("service") == ["batch-0", "free-0", "free-1"]
    assert victims("other") == []
    assert victims("anywhere") == [], "it may use the nodes of the hour instead"


@pytest.mark.parametrize(
    ("budget", "gone"),
    [
        ({}, 1),
        ({"jdb_min_available": "2"}, 2),
        ({"jdb_min_available": "75%"}, 1),
        ({"jdb_min_available": "51%"}, 1),
        ({"jdb_min_available": "9"}, 1),
        ({"jdb_min_available": "4"}, 0),
        ({"jdb_max_unavailable": "3"}, 3),
        ({"jdb_max_unavailable": "30%"}, 2),
        ({"jdb_max_unavailable": "0"}, 0),
        ({"jdb_max_unavailable": "1", "jdb_min_available": "1"}, 3),
        ({"jdb_max_unavailable": "some"}, 1),
        ({"jdb_max_unavailable": "-3"}, 1),
    ],
)
def test_when_hours_are_over_a_job_loses_what_its_budget_allows(budget: dict[str, str], gone: int) -> None:
    job = gang("batch", pods=4, min_member=1, cpu="1", running_on=["out"] * 4, annotations=BATCH)
    opened = opened_with(budgeted(job, **budget))
    Shuffle(Shuffle.arguments_type()).execute(opened.ssn)
    assert len(opened.evictions) == gone


@pytest.mark.parametrize(("most", "gone"), [("2", 1), ("1", 0), ("50%", 1), ("100%", 3)])
def test_what_is_missing_already_counts_against_the_budget(most: str, gone: int) -> None:
    """Four tasks: three run, one waits."""
    job = gang("batch", pods=4, min_member=1, cpu="1", running_on=["out"] * 3, annotations=BATCH)
    opened = opened_with(budgeted(job, jdb_max_unavailable=most))
    Shuffle(Shuffle.arguments_type()).execute(opened.ssn)
    assert len(opened.evictions) == gone


def test_only_preemptable_pods_in_zones_with_hours_that_are_over_have_to_go() -> None:
    opened = opened_with(
        gang("out", cpu="1", running_on=["out"], annotations={"volcano.sh/revocable-zone": "*"}),
        gang("stays", cpu="1", running_on=["out"], annotations={"volcano.sh/preemptable": "false"}),
        gang("in", cpu="1", running_on=["in"], annotations=BATCH),
        gang("lost", cpu="1", running_on=["lost"], annotations=BATCH),
        gang("plain", cpu="1", running_on=["plain"], annotations=BATCH),
    )
    Shuffle(Shuffle.arguments_type()).execute(opened.ssn)
    assert opened.evictions == ["out-0"]


def test_no_second_eviction_happens_before_the_period_is_over() -> None:
    opened = opened_with(gang("batch", pods=3, cpu="1", running_on=["out"] * 3, annotations=BATCH), period="5m")
    ssn = opened.ssn
    Shuffle(Shuffle.arguments_type()).execute(ssn)
    assert len(opened.evictions) == 1
    assert ssn.wakeups.next_progress == ssn.now + 300
    for later, gone in ((299, 1), (300, 2)):
        ssn.wakeups.next_progress = 0.0
        ssn.now = NOW.timestamp() + later
        Shuffle(Shuffle.arguments_type()).execute(ssn)
        assert len(opened.evictions) == gone
    assert ssn.wakeups.next_progress == ssn.now + 300


def test_once_all_have_gone_the_clock_starts_no_cycle() -> None:
    opened = opened_with(gang("batch", cpu="1", running_on=["out"], annotations=BATCH), period="5m")
    Shuffle(Shuffle.arguments_type()).execute(opened.ssn)
    assert (len(opened.evictions), opened.ssn.wakeups.next_progress) == (1, 0)


def test_victims_get_the_reason() -> None:
    opened = opened_with(gang("batch", cpu="1", running_on=["out"], annotations=BATCH))
    named = opened.plugin(Tdm).victim_tasks(opened.running("batch"))
    assert list(named.values()) == [
        "team/batch-0 leaves node out: the hours of revocable zone closed, 13:00-14:00, are over"
    ]
