"""Where nothing can be redrawn: one line for each change, and none when nothing changes."""

from __future__ import annotations

import io
import re

from rich.console import Console

from tests.unit.cli.up_objects import GIB, NO_GROUP, WHY, group_row, lone_row, node_row, queue_row, waiting_row
from volcano_py.cli.live.display import Lines, display
from volcano_py.cli.live.lines import changes
from volcano_py.cli.live.overview import MissingQueueRow, Overview
from volcano_py.cli.live.screen import Head

NOTHING = Overview()


def test_everything_is_new_at_first() -> None:
    seen = Overview(
        queues=(queue_row("team-b", capability={"cpu": 24000, "memory": GIB}), queue_row("new", state="")),
        groups=(group_row(), waiting_row(), group_row("default/web-5f", owner="ReplicaSet", finished=1)),
        nodes=(node_row("a"), node_row("b")),
    )
    assert list(changes(NOTHING, seen)) == [
        "2 nodes new: a, b",
        "Queue team-b: Open, weight 1, at most 24 cpu, 1Gi memory",
        "Queue new: no state yet, weight 1",
        "PodGroup default/train: Running in team-a, 4/4 pods running",
        f"PodGroup default/too-large: Inqueue in team-a, 0/3 pods running; waits: {WHY}",
        "PodGroup default/web-5f (ReplicaSet): Running in team-a, 4/4 pods running, 1 done",
    ]


def test_what_stays_the_same_is_not_reported_again() -> None:
    seen = Overview(queues=(queue_row(),), groups=(group_row(),), nodes=(node_row(),))
    more_used = Overview(
        queues=(queue_row(allocated={"cpu": 1000}),), groups=(group_row(),), nodes=(node_row(used={"cpu": 1000}),)
    )
    assert list(changes(seen, more_used)) == []


def test_a_queue_that_does_not_exist_is_reported_once_however_many_name_it() -> None:
    one, two = (Overview(missing=(MissingQueueRow("typo", groups=groups, running=0, pods=1),)) for groups in (1, 2))
    assert list(changes(NOTHING, one)) == ["Queue typo does not exist"]
    assert list(changes(one, two)) == []
    assert list(changes(two, NOTHING)) == []


def test_only_what_changed_is_reported() -> None:
    before = Overview(groups=(group_row(phase="Inqueue", running=1), waiting_row()))
    after = Overview(groups=(group_row(), waiting_row()))
    assert list(changes(before, after)) == ["PodGroup default/train: Running in team-a, 4/4 pods running"]


def test_pods_of_a_running_group_that_wait_are_reported() -> None:
    (line,) = changes(NOTHING, Overview(groups=(group_row(running=3, why="no node fits"),)))
    assert line.endswith("3/4 pods running; some wait: no node fits")


def test_pods_without_a_pod_group_are_reported_once_and_not_before_there_is_a_reason() -> None:
    young = Overview(alone=(lone_row(why=""),))
    reported = Overview(alone=(lone_row(), lone_row("default/many-0", others=59)))
    assert list(changes(NOTHING, young)) == []
    assert list(changes(young, reported)) == [
        f"Pod default/orphan waits without a PodGroup: {NO_GROUP}",
        f"Pod default/many-0 and 59 more wait without a PodGroup: {NO_GROUP}",
    ]
    assert list(changes(reported, reported)) == []


def test_what_is_gone_is_reported() -> None:
    before = Overview(groups=(group_row(),), nodes=(node_row("a"),))
    assert list(changes(before, NOTHING)) == ["1 node gone: a", "PodGroup default/train is gone"]


def test_many_nodes_are_one_line() -> None:
    seen = Overview(nodes=tuple(node_row(f"n{number:03}") for number in range(100)))
    assert list(changes(NOTHING, seen)) == ["100 nodes new: n000, n001, n002, n003, n004, n005, …"]


def test_a_message_of_several_lines_is_one_line() -> None:
    (line,) = changes(NOTHING, Overview(groups=(waiting_row(why="a\nb"),)))
    assert "\n" not in line


def test_outside_a_terminal_changes_are_lines_with_the_time_and_the_end_is_a_table() -> None:
    out = Console(file=io.StringIO(), width=120)
    head = Head(("  export KUBECONFIG=/somewhere",), ())
    with display(out, head) as shown:
        assert isinstance(shown, Lines)
        shown.show(Overview(groups=(waiting_row(why=WHY * 9),)), "a line of the log")
        shown.show(Overview(groups=(group_row("default/too-large"),)), "another one")
    assert isinstance(out.file, io.StringIO)
    said = out.file.getvalue().splitlines()
    assert said[:2] == ["  export KUBECONFIG=/somewhere", ""]
    assert re.fullmatch(r"\d\d:\d\d:\d\d  PodGroup default/too-large: .* waits: " + re.escape(WHY * 9), said[2])
    assert said[3].endswith("PodGroup default/too-large: Running in team-a, 4/4 pods running")
    assert said[4] == "PodGroups".ljust(len(said[4]))
    assert not any("log" in line for line in said)


def test_on_a_terminal_the_screen_comes_back_and_the_end_stays() -> None:
    out = Console(file=io.StringIO(), width=120, height=40, force_terminal=True)
    with display(out, Head()) as shown:
        shown.show(Overview(groups=(waiting_row(),)), "")
        shown.show(Overview(groups=(group_row("default/done"),)), "")
    assert isinstance(out.file, io.StringIO)
    live, _, rest = out.file.getvalue().partition("\x1b[?1049l")
    assert live.startswith("\x1b[?1049h")
    assert "default/too-large" in live
    assert "default/done" in rest
    assert "default/too-large" not in rest


def test_a_terminal_is_redrawn_only_when_there_is_something_new() -> None:
    out = Console(file=io.StringIO(), width=120, height=40, force_terminal=True)
    assert isinstance(out.file, io.StringIO)
    seen = Overview(groups=(group_row(),))
    with display(out, Head()) as shown:
        shown.show(seen, "log")
        drawn = out.file.tell()
        shown.show(Overview(groups=(group_row(),)), "log")
        assert out.file.tell() == drawn
        shown.show(seen, "another line of the log")
        assert out.file.tell() > drawn
