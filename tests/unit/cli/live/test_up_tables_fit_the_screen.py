"""Tables for people: what they show, and that they never need more lines than there are."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from tests.unit.cli.up_objects import GIB, crowd, event_row, group_row, lone_row, node_row, queue_row, waiting_row
from volcano_py.api.wording import explain
from volcano_py.cli.live.overview import MissingQueueRow, Overview
from volcano_py.cli.live.screen import Head, screen
from volcano_py.cli.live.tables import resources_text, sections
from volcano_py.cli.printing.one_line import plain

HEAD = Head(
    ("volcano-py", "", "  export KUBECONFIG=/k", "  alias kubectl=/b", "", "Metrics"), ("  export KUBECONFIG=/k",)
)


def lines(seen: Overview, *, width: int = 100, height: int = 60, foot: str = "the log") -> list[str]:
    """A whole screen, line by line."""
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None)
    rendered = console.render_lines(screen(HEAD, seen, [foot], console), pad=False)
    return ["".join(segment.text for segment in line).rstrip() for line in rendered]


def table(seen: Overview, *, width: int = 160) -> str:
    """All tables without a limit, with blanks made single."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    for section in sections(seen, width):
        console.print(section.make(section.rows))
    assert isinstance(console.file, io.StringIO)
    return "\n".join(" ".join(line.split()) for line in console.file.getvalue().splitlines())


def test_queues_show_state_weight_pods_and_what_they_hold() -> None:
    seen = Overview(
        queues=(
            queue_row(
                "team-a", weight=2, running=4, pods=6, allocated={"nvidia.com/gpu": 8, "memory": 64 * GIB, "cpu": 16000}
            ),
            queue_row("team-b", depth=1, state="Closing", capability={"cpu": 24500}),
            queue_row("new", state=""),
        )
    )
    shown = table(seen)
    assert "team-a Open 2 4/6 16 cpu, 64Gi memory, 8 nvidia.com/gpu no limit" in shown
    assert "team-b Closing 1 0/0 - 24.5 cpu" in shown
    assert "new - 1 0/0 - no limit" in shown


def test_queues_that_do_not_exist_come_last() -> None:
    missing = (
        MissingQueueRow("gone", groups=2, running=3, pods=4),
        MissingQueueRow("typo", groups=1, running=0, pods=1),
    )
    *_, gone, typo = table(Overview(queues=(queue_row(),), missing=missing)).splitlines()
    assert gone == "gone does not exist - 3/4 - 2 PodGroups name it"
    assert typo == "typo does not exist - 0/1 - 1 PodGroup names it"


def test_pod_groups_show_phase_and_counts_and_the_reason_apart() -> None:
    shown = table(Overview(groups=(group_row(finished=1), waiting_row())))
    assert "default/train team-a Running 4 4/4, 1 done\n" in shown + "\n"
    assert "default/too-large team-a Inqueue 3 0/3 NodesRefuse" in shown
    assert "default/too-large 0/4 nodes are unavailable: 4 Insufficient cpu." in shown


def test_the_owner_of_a_generated_pod_group_is_named() -> None:
    assert "default/web-5f (ReplicaSet) team-a" in table(
        Overview(groups=(group_row("default/web-5f", owner="ReplicaSet"),))
    )


@pytest.mark.parametrize("why", ["no code in here", "0/4 nodes are unavailable: 4 Insufficient cpu", "odd code: text"])
def test_a_reason_without_a_code_is_shown_whole(why: str) -> None:
    assert f"default/too-large {why}" in table(Overview(groups=(waiting_row(why=why),)))


def test_all_waiting_pods_are_found_with_or_without_a_pod_group() -> None:
    reported, untold = waiting_row(), waiting_row("default/new", why="")
    alone = (lone_row(), lone_row("default/many-0", others=59), lone_row("default/young", why=""))
    shown = table(Overview(groups=(reported, untold, group_row()), alone=alone), width=180)
    _, _, reasons = shown.partition("Why they wait")
    assert reasons.splitlines()[3:] == [
        "default/too-large 0/4 nodes are unavailable: 4 Insufficient cpu.",
        f"default/new {explain.not_yet_evaluated()}",
        "default/orphan (Pod) PodGroup ml/missing does not exist: create it",
        "default/many-0 (Pod) and 59 more PodGroup ml/missing does not exist: create it",
        f"default/young (Pod) {explain.not_yet_evaluated()}",
    ]


def test_without_anything_that_waits_there_is_no_table_of_reasons() -> None:
    assert "Why they wait" not in table(Overview(groups=(group_row(),)))


@pytest.mark.parametrize(
    ("used", "shown"),
    [
        (0, "░░░░░░░░░░ 0/8"),
        (1, "█░░░░░░░░░ 0.001/8"),
        (4000, "█████░░░░░ 4/8"),
        (8000, "██████████ 8/8"),
        (9000, "██████████ 9/8"),
    ],
)
def test_usage_is_a_bar_and_two_numbers(used: int, shown: str) -> None:
    assert shown in table(Overview(nodes=(node_row(used={"cpu": used}),)))


def test_nodes_show_every_resource_that_one_of_them_has() -> None:
    seen = Overview(
        nodes=(
            node_row("cpu-1", allocatable={"cpu": 8000, "memory": 32 * GIB, "pods": 110, "ephemeral-storage": GIB}),
            node_row(
                "gpu-1", allocatable={"cpu": 8000, "memory": 32 * GIB, "nvidia.com/gpu": 8}, used={"nvidia.com/gpu": 8}
            ),
        )
    )
    shown = table(seen)
    assert "Node Pods cpu memory nvidia.com/gpu Which" in shown
    assert "cpu-1 0 ░░░░░░░░░░ 0/8 ░░░░░░░░░░ 0/32Gi -" in shown
    assert "gpu-1 0 ░░░░░░░░░░ 0/8 ░░░░░░░░░░ 0/32Gi ██████████ 8/8" in shown


def test_pods_of_a_node_are_named_where_there_is_room() -> None:
    seen = Overview(nodes=(node_row(pods=("default/a", "ml/b")),))
    assert "a ml/b" in table(seen, width=120)
    assert "a ml/b" not in table(seen, width=119)


def test_events_show_how_often_a_message_was_repeated() -> None:
    seen = Overview(events=(event_row("FailedScheduling", warning=True, message="no node", count=3),))
    assert "FailedScheduling Pod/train-0 no node (x3)" in table(seen)


def test_only_the_latest_events_are_shown() -> None:
    shown = table(crowd(events=9))
    assert "Event3" not in shown
    assert "Event4" in shown
    assert "Event8" in shown


def test_resources_come_in_an_order_that_people_expect() -> None:
    assert (
        resources_text({"b/x": 1, "memory": GIB, "a/x": 2, "cpu": 500, "c/x": 0}) == "0.5 cpu, 1Gi memory, 2 a/x, 1 b/x"
    )
    assert resources_text({}) == "-"


def test_what_comes_from_the_cluster_can_neither_move_the_cursor_nor_set_colours() -> None:
    assert plain("red \x1b[31m and\nnew") == "red  [31m and new"
    shown = table(Overview(groups=(waiting_row("default/[red]x", why="NodesRefuse: [bold]no\x1b[2J"),)))
    assert "default/[red]x" in shown
    assert "[bold]no [2J" in shown


def test_a_screen_with_room_shows_everything() -> None:
    shown = lines(crowd(), height=60)
    text = "\n".join(shown)
    for name in ("export KUBECONFIG=/k", "queue-002", "group-003", "node-003", "Event4"):
        assert name in text
    assert "more" not in text
    assert shown[-1] == "the log"


def test_a_small_screen_keeps_what_waits_and_what_is_used() -> None:
    text = "\n".join(lines(crowd(groups=40, nodes=100), width=80, height=24))
    assert "export KUBECONFIG=/k" in text
    assert "Metrics" not in text
    assert "default/group-000" in text
    assert "default/group-001" not in text  # runs
    assert "… and 37 more" in text
    assert "Nodes" in text
    assert "Events" not in text


def test_room_is_shared_between_long_tables() -> None:
    text = "\n".join(lines(crowd(groups=500, nodes=500, queues=3), height=60))
    assert all(f"queue-{number:03}" in text for number in range(3))
    groups, nodes = text.count("NodesRefuse"), text.count("░ 0/8")
    assert groups >= 4
    assert nodes >= 4


def test_a_long_line_of_the_log_is_cut() -> None:
    shown = lines(crowd(), width=100, foot="x" * 300)
    assert shown[-1] == "x" * 99 + "…"


@settings(max_examples=12, deadline=None)
@given(
    st.integers(80, 200),
    st.integers(24, 70),
    st.integers(0, 60),
    st.integers(0, 60),
    st.integers(0, 60),
    st.integers(0, 9),
)
def test_a_screen_is_never_taller_than_the_terminal(
    width: int, height: int, queues: int, groups: int, nodes: int, events: int
) -> None:
    seen = crowd(queues=queues, groups=groups, nodes=nodes, events=events)
    assert len(lines(seen, width=width, height=height)) <= height
