"""Pods that ask for the same host port never share a node."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import pytest

from tests.support.placement.node_answers import answers, class_of, willing
from tests.support.sessions import Opened, node, open_session, pod, pod_group
from volcano_py.api.objects import ContainerPort, Pod
from volcano_py.framework.plugin import Reach
from volcano_py.plugins.predicates import Predicates

TAKEN = "node(s) didn't have free ports for the requested pod ports"


def port(number: int, host_ip: str = "", protocol: str = "TCP") -> ContainerPort:
    return ContainerPort(host_port=number, container_port=80, host_ip=host_ip, protocol=protocol)


def ported(name: str, *ports: ContainerPort, on: str = "", group: str = "g", deleting: bool = False) -> Pod:
    made = pod(name, group=group, cpu="1", on=on, deleting=deleting)
    container = msgspec.structs.replace(made.spec.containers[0], ports=list(ports))
    return msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, containers=[container]))


def session(*pods: Pod, enabled: bool = True) -> Opened:
    entry = {"arguments": {"predicate.NodePortsEnable": enabled}}
    return open_session(node("n1"), node("n2"), pod_group("g"), pods, tiers=[[(Predicates, entry)]])


@pytest.mark.parametrize(
    ("wanted", "there", "conflict"),
    [
        pytest.param(port(8080), port(8080), True, id="the same"),
        pytest.param(port(8080), port(8081), False, id="another number"),
        pytest.param(port(8080), port(8080, protocol="UDP"), False, id="another protocol"),
        pytest.param(port(8080, protocol=""), port(8080), True, id="no protocol is TCP"),
        pytest.param(port(8080, "10.0.0.1"), port(8080, "10.0.0.1"), True, id="the same address"),
        pytest.param(port(8080, "10.0.0.1"), port(8080, "10.0.0.2"), False, id="another address"),
        pytest.param(port(8080), port(8080, "10.0.0.1"), True, id="every address wanted, one taken"),
        pytest.param(port(8080, "10.0.0.1"), port(8080, "0.0.0.0"), True, id="one wanted, every address taken"),
    ],
)
def test_ports_conflict_by_address_protocol_and_number(
    wanted: ContainerPort, there: ContainerPort, conflict: bool
) -> None:
    opened = session(ported("old", there, on="n1"), ported("new", wanted))
    assert answers(opened, Predicates, "new") == {"n1": TAKEN if conflict else "", "n2": ""}


def test_one_conflict_among_several_ports_is_enough() -> None:
    opened = session(ported("old", port(1), port(2), on="n1"), ported("new", port(3), port(2)))
    assert willing(opened, Predicates, "new") == ["n2"]


def test_pods_of_others_count_and_pods_without_host_ports_do_not_care() -> None:
    stranger = ported("stranger", port(8080), on="n1", group="")
    opened = session(stranger, ported("new", port(8080)), ported("plain", ContainerPort(container_port=8080)))
    assert willing(opened, Predicates, "new") == ["n2"]
    assert willing(opened, Predicates, "plain") == ["n1", "n2"]


def test_ports_of_a_pod_that_is_being_deleted_are_taken_until_it_is_gone() -> None:
    opened = session(ported("old", port(8080), on="n1", deleting=True), ported("new", port(8080)))
    assert willing(opened, Predicates, "new") == ["n2"]


def test_a_finished_pod_has_given_its_ports_back() -> None:
    old = ported("old", port(8080), on="n1")
    finished = msgspec.structs.replace(old, status=msgspec.structs.replace(old.status, phase="Succeeded"))
    assert willing(session(finished, ported("new", port(8080))), Predicates, "new") == ["n1", "n2"]


def test_what_is_placed_in_the_cycle_takes_its_ports_and_a_discard_gives_them_back() -> None:
    opened = session(ported("first", port(8080)), ported("second", port(8080, "10.0.0.1")))
    assert willing(opened, Predicates, "second") == ["n1", "n2"]
    statement = opened.place("g", {"first": "n1"})
    assert willing(opened, Predicates, "second") == ["n2"]
    assert willing(opened, Predicates, "first") == ["n2"]
    statement.discard()
    assert willing(opened, Predicates, "second") == ["n1", "n2"]


def test_a_promised_place_takes_its_ports_too() -> None:
    opened = session(ported("first", port(8080)), ported("second", port(8080)))
    assert willing(opened, Predicates, "second") == ["n1", "n2"]
    opened.pipeline("g", {"first": "n2"})
    assert willing(opened, Predicates, "second") == ["n1"]


def test_an_evicted_pod_keeps_its_ports_until_it_is_gone_and_an_eviction_taken_back_changes_nothing() -> None:
    opened = session(ported("old", port(8080), on="n1"), ported("new", port(8080)))
    assert willing(opened, Predicates, "new") == ["n2"]
    statement = opened.evict("old")
    assert willing(opened, Predicates, "new") == ["n2"]
    statement.discard()
    assert willing(opened, Predicates, "new") == ["n2"]


def test_an_eviction_can_help_against_a_taken_host_port() -> None:
    opened = session(ported("old", port(8080), on="n1"), ported("new", port(8080)))
    row = opened.node_row("n1")
    assert not opened.ssn.placer.may_take(class_of(opened, "new"), row)
    statement = opened.evict("old")
    assert opened.ssn.placer.may_take(class_of(opened, "new"), row)
    statement.discard()
    assert not opened.ssn.placer.may_take(class_of(opened, "new"), row)


def test_a_host_port_that_was_promised_to_another_is_not_there_for_the_taking_once_its_holder_is_gone() -> None:
    leaving = ported("old", port(8080), on="n1", deleting=True)
    opened = session(leaving, ported("first", port(8080)), ported("second", port(8080, "10.0.0.1")))
    row = opened.node_row("n1")
    assert opened.ssn.placer.may_take(class_of(opened, "second"), row)
    opened.pipeline("g", {"first": "n1"})
    assert not opened.ssn.placer.may_take(class_of(opened, "second"), row)


def test_placements_before_the_first_question_are_known() -> None:
    opened = session(ported("first", port(8080)), ported("second", port(8080)))
    opened.place("g", {"first": "n1"})
    assert willing(opened, Predicates, "second") == ["n2"]


def placed_by_the_placer(opened: Opened, names: Iterable[str]) -> dict[str, str]:
    """Pods placed one after the other by whoever chooses nodes."""
    statement, where = opened.ssn.statement(), {}
    for name in names:
        choice = opened.ssn.placer.choose(class_of(opened, name), 5)
        if len(choice.nodes):
            where[name] = opened.ssn.snapshot.nodes[int(choice.nodes[0])].name
            opened.place("g", {name: where[name]}, statement)
    return where


def test_identical_pods_go_to_different_nodes_and_the_one_too_many_gets_a_reason() -> None:
    opened = session(*(ported(f"p{number}", port(8080)) for number in range(3)))
    assert placed_by_the_placer(opened, ["p0", "p1", "p2"]) == {"p0": "n1", "p1": "n2"}
    error = opened.ssn.placer.misfit(class_of(opened, "p2"))
    assert error.counts == {TAKEN: 2}
    assert error.refusal.message.startswith(f"0/2 nodes are unavailable: 2 {TAKEN}. ")


def test_a_gang_with_a_host_port_is_placed_in_one_go_and_each_on_a_node_of_its_own() -> None:
    opened = session(*(ported(f"p{number}", port(8080)) for number in range(3)))
    assert opened.ssn.placer.choose(class_of(opened, "p0"), 3).nodes.tolist() == [
        opened.node_row("n1"),
        opened.node_row("n2"),
    ]


def test_only_pods_with_host_ports_are_looked_at_again_after_each_placement() -> None:
    opened = session(ported("with", port(8080)), ported("without"))
    reach = opened.plugin(Predicates).predicate_reach
    assert (reach(class_of(opened, "with")), reach(class_of(opened, "without"))) == (Reach.ROW, Reach.STATIC)


def test_ports_are_not_looked_at_when_switched_off() -> None:
    opened = session(ported("old", port(8080), on="n1"), ported("new", port(8080)), enabled=False)
    assert willing(opened, Predicates, "new") == ["n1", "n2"]
    assert opened.plugin(Predicates).predicate_reach(class_of(opened, "new")) is Reach.STATIC
