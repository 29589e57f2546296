"""Conflicts refuse the file; contradictions warn that something written cannot have its effect."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.registries import checked_registry
from volcano_py.config import Catalogue, Code, NoArguments, ParseResult, parse_configuration
from volcano_py.config.flags import FLAG_OF_POINT, SIMULATION_POINTS, Flags

Parse = Callable[..., ParseResult]

BASIS = "  - name: priority\n  - name: gang\n    enablePreemptable: false\n  - name: predicates\n"

OFF = ["enableHierarchy", "enabledClusterOrder", "enableNamespaceOrder"]
ON = [
    "enableJobOrder",
    "enableJobReady",
    "enableJobPipelined",
    "enableTaskOrder",
    "enablePreemptable",
    "enableReclaimable",
    "enablePreemptive",
    "enableQueueOrder",
    "enablePredicate",
    "enableBestNode",
    "enableNodeOrder",
    "enableTargetJob",
    "enableReservedNodes",
    "enableJobEnqueued",
    "enabledVictim",
    "enableJobStarving",
    "enabledOverused",
    "enabledAllocatable",
    "enabledHyperNodeOrder",
    "enabledHyperNodeGradient",
    "enabledSubJobReady",
    "enabledSubJobPipelined",
    "enabledSubJobOrder",
]


def configuration(actions: str, *plugins: str, basis: str = BASIS) -> str:
    entries = "".join(f"  - {plugin}\n" for plugin in plugins)
    return f'actions: "{actions}"\ntiers:\n- plugins:\n{basis}{entries}'


def messages(result: ParseResult) -> list[str]:
    return [problem.message for problem in result.problems]


@pytest.mark.parametrize("between", ["", "- plugins:\n"], ids=["same tier", "another tier"])
@pytest.mark.parametrize("drf_first", [True, False])
def test_hierarchical_drf_refuses_proportion_in_any_tier(parse: Parse, between: str, drf_first: bool) -> None:
    drf, proportion = "  - name: drf\n    enableHierarchy: true\n", "  - name: proportion\n"
    first, second = (drf, proportion) if drf_first else (proportion, drf)
    result = parse(configuration("allocate") + first + between + second)
    assert result.config is None
    (problem,) = result.errors
    assert problem.code is Code.CONFLICT
    assert problem.message.startswith("proportion cannot work together with drf's enableHierarchy (tiers[")
    assert problem.line > 0


def test_a_conflict_is_reported_together_with_other_errors(parse: Parse) -> None:
    result = parse(
        configuration(
            "allocate, nothing",
            "{name: drf, enableHierarchy: true, arguments: 3}",
            "{name: unknown}",
            "{name: proportion}",
        )
    )
    assert {problem.code for problem in result.errors} == {
        Code.UNKNOWN_ACTION,
        Code.WRONG_TYPE,
        Code.UNKNOWN_PLUGIN,
        Code.CONFLICT,
    }


def test_flat_drf_goes_with_proportion(parse: Parse) -> None:
    assert parse(configuration("allocate", "name: drf", "name: proportion")).problems == ()


def test_two_owners_of_the_tree_of_queues_are_refused(parse: Parse) -> None:
    result = parse(
        configuration("allocate", "{name: drf, enableHierarchy: true}", "{name: capacity, enableHierarchy: true}")
    )
    (problem,) = result.problems
    assert (problem.path, problem.line, problem.code) == (
        "tiers[0].plugins[4].enableHierarchy",
        9,
        Code.CONFLICT,
    )
    assert problem.message == (
        "enableHierarchy is set for drf and for capacity (tiers[0].plugins[3]), but the tree of queues can have one "
        "owner only; keep it for capacity (parents by spec.parent) or for drf (parents by annotation)"
    )


def test_proportion_and_capacity_cannot_both_own_the_tree(parse: Parse) -> None:
    result = parse(
        configuration(
            "allocate", "{name: proportion, enableHierarchy: true}", "{name: capacity, enableHierarchy: true}"
        )
    )
    (problem,) = result.problems
    assert (problem.path, problem.code) == ("tiers[0].plugins[4].enableHierarchy", Code.CONFLICT)
    assert problem.message == (
        "enableHierarchy is set for proportion and for capacity (tiers[0].plugins[3]), but the tree of queues can have "
        "one owner only; keep it for capacity (queues get what spec.deserved says) or for proportion (by spec.weight)"
    )


def test_proportion_may_own_the_tree(parse: Parse) -> None:
    assert parse(configuration("allocate", "{name: proportion, enableHierarchy: true}")).problems == ()


def test_hierarchical_proportion_next_to_hierarchical_drf_is_one_error(parse: Parse) -> None:
    result = parse(
        configuration("allocate", "{name: drf, enableHierarchy: true}", "{name: proportion, enableHierarchy: true}")
    )
    (problem,) = result.problems
    assert problem.message.startswith("proportion cannot work together with drf's enableHierarchy")


@pytest.mark.parametrize(
    "other", ["{name: proportion}", "{name: drf, enableHierarchy: true}"], ids=["proportion", "drf"]
)
def test_two_flat_owners_are_a_warning(parse: Parse, other: str) -> None:
    result = parse(configuration("allocate", other, "{name: capacity}"))
    assert result.config is not None
    (message,) = messages(result)
    assert "(tiers[0].plugins[3]) and capacity both divide the cluster among queues" in message


@pytest.mark.parametrize(
    ("action", "plugins", "missing"),
    [
        ("preempt", [], ["preempt will never do anything: no plugin reports which jobs are starving"]),
        (
            "reclaim",
            ["{name: proportion}"],
            ["reclaim will never do anything: no plugin reports which jobs are starving"],
        ),
    ],
)
def test_an_action_that_no_plugin_can_start(parse: Parse, action: str, plugins: list[str], missing: list[str]) -> None:
    basis = (
        "  - {name: priority, enableJobStarving: false}\n"
        "  - {name: gang, enableJobStarving: false, enablePreemptable: false}\n"
        "  - name: predicates\n"
    )
    result = parse(configuration(f"allocate, {action}", *plugins, basis=basis))
    (problem,) = result.problems
    assert (problem.path, problem.line, problem.column) == ("actions[1]", 1, 21)
    assert problem.message.startswith(missing[0])
    assert problem.message.endswith(f"configure gang or priority with enableJobStarving, or remove {action}")


def test_preempt_while_every_choice_of_victims_is_switched_off(parse: Parse) -> None:
    basis = (
        "  - {name: priority, enablePreemptable: false}\n"
        "  - {name: gang, enablePreemptable: false}\n"
        "  - name: predicates\n"
    )
    (message,) = messages(parse(configuration("allocate, preempt", basis=basis)))
    assert message == (
        "preempt will never do anything: no plugin names pods that may be preempted; configure priority or drf with "
        "enablePreemptable, or remove preempt"
    )


@pytest.mark.parametrize("switch", ["", ", enablePreemptable: true", ", enablePreemptable: false"])
def test_preempt_with_gang_is_in_order_whatever_its_switch_says(parse: Parse, switch: str) -> None:
    basis = f"  - name: priority\n  - {{name: gang{switch}}}\n  - name: predicates\n"
    assert parse(configuration("allocate, preempt", basis=basis)).problems == ()


def test_overcommit_without_enqueue_has_no_effect(parse: Parse) -> None:
    (problem,) = parse(configuration("allocate", "name: overcommit")).problems
    assert problem.path == "tiers[0].plugins[3]"
    assert problem.message == ("overcommit has no effect: only the action enqueue asks it, and that is not configured")
    assert parse(configuration("enqueue, allocate", "name: overcommit")).problems == ()
    sla_first = "  - name: sla\n- plugins:\n" + BASIS
    assert parse(configuration("allocate", basis=sla_first)).problems == ()


def test_sla_is_reported_in_which_tier_it_has_no_effect(parse: Parse) -> None:
    late = configuration("enqueue, allocate") + "- plugins:\n  - name: sla\n  - name: overcommit\n"
    admits, keeps = parse(late).problems
    assert admits.path == keeps.path == "tiers[1].plugins[0]"
    assert admits.message == (
        "sla admits no job whose time has come: overcommit votes in the same tier or an earlier one, where a no is "
        "final; put sla into a tier before overcommit"
    )
    assert keeps.message == (
        "sla keeps no places for a job whose time is up: gang votes in the same tier or an earlier one, where a no is "
        "final; put sla into a tier before gang"
    )
    early = "  - name: sla\n- plugins:\n" + BASIS + "  - name: overcommit\n"
    assert parse(configuration("enqueue, allocate", basis=early)).problems == ()


def test_a_switch_that_sla_is_not_asked_by_is_no_reason_to_warn(parse: Parse) -> None:
    off = "{name: sla, enableJobPipelined: false, enableJobEnqueued: false}"
    assert parse(configuration("enqueue, allocate", off, "name: overcommit")).problems == ()


def test_reservation_is_reported_that_it_cannot_admit_and_is_no_filter_of_nodes() -> None:
    catalogue = checked_registry().catalogue()
    text = configuration("enqueue, allocate", "name: overcommit", "name: reservation")
    (problem,) = parse_configuration(text, catalogue).problems
    assert problem.message.startswith("reservation admits no job whose time has come: overcommit votes")
    text = configuration("enqueue, allocate", "name: reservation", basis="  - name: gang\n")
    (problem,) = parse_configuration(text, catalogue).problems
    assert problem.message.startswith("no plugin filters nodes")


@pytest.mark.parametrize("gang", ["", "  - {name: gang, enableJobReady: false}\n"], ids=["absent", "switched off"])
def test_gangs_without_the_gang_plugin(parse: Parse, gang: str) -> None:
    result = parse(configuration("allocate", basis=f"{gang}  - name: predicates\n"))
    (message,) = messages(result)
    assert message == (
        "no plugin decides when a job is ready, so pods of a gang are bound one by one; "
        "configure gang with enableJobReady"
    )


def test_nodes_without_a_filter(parse: Parse) -> None:
    for plugins in ("", "  - name: tdm\n", "  - {name: predicates, enablePredicate: false}\n"):
        (message,) = messages(parse(configuration("allocate", basis=f"  - name: gang\n{plugins}")))
        assert message.startswith("no plugin filters nodes, so taints, selectors and affinities of pods are ignored")


def test_limits_of_the_network_that_are_switched_off() -> None:
    """As in Volcano, jobs with a hard limit are then placed without it."""
    catalogue = checked_registry().catalogue()
    switched_off = "{name: network-topology-aware, enabledHyperNodeGradient: false}"
    (problem,) = parse_configuration(configuration("allocate", switched_off), catalogue).problems
    assert problem.path == "tiers[0].plugins[3].enabledHyperNodeGradient"
    assert problem.message == (
        "hard limits of networkTopology do not hold: only scores keep a job together; remove enabledHyperNodeGradient"
    )
    assert parse_configuration(configuration("allocate", "{name: network-topology-aware}"), catalogue).problems == ()


def test_nothing_is_placed_without_allocate(parse: Parse) -> None:
    (problem,) = parse(configuration("enqueue, backfill")).problems
    assert problem.path == "actions"
    assert problem.message == "without the action allocate, no pod that requests resources is placed; add it"


def test_reclaim_that_ignores_what_queues_deserve(parse: Parse) -> None:
    switched_off = parse(configuration("allocate, reclaim", "{name: capacity, enableReclaimable: false}"))
    assert messages(switched_off) == [
        (
            "reclaim will take from queues below their share: capacity does not guard it with enableReclaimable: "
            "false; remove that line"
        )
    ]
    ownerless = parse(configuration("allocate, reclaim"))
    assert messages(ownerless) == [
        (
            "reclaim has no plugin that knows what a queue deserves, so queues take from each other at will; "
            "configure capacity or proportion, or remove reclaim"
        )
    ]
    assert parse(configuration("allocate, reclaim", "name: proportion")).problems == ()
    assert parse(configuration("allocate, reclaim", "{name: drf, enableHierarchy: true}")).problems == ()


def test_flat_drf_does_not_count_as_choosing_victims_for_reclaim(parse: Parse) -> None:
    gang = "  - {name: gang, enableReclaimable: false, enablePreemptable: false}\n"
    basis = f"  - name: priority\n{gang}  - name: predicates\n"
    (message,) = messages(parse(configuration("allocate, reclaim", "name: drf", basis=basis)))
    assert message.startswith("reclaim will never do anything: no plugin names pods that may be reclaimed")


def test_hierarchy_without_queue_order(parse: Parse) -> None:
    result = parse(configuration("allocate", "{name: capacity, enableHierarchy: true, enableQueueOrder: false}"))
    (problem,) = result.problems
    assert problem.path == "tiers[0].plugins[3].enableQueueOrder"
    assert problem.message == (
        "enableHierarchy of capacity does not affect which queue is next while enableQueueOrder is false; "
        "remove one of the two"
    )


@pytest.mark.parametrize(
    ("entry", "flag"),
    [
        ("{name: nodeorder, enablePreemptable: false}", "enablePreemptable"),
        ("{name: binpack, enableHierarchy: true}", "enableHierarchy"),
        ("{name: binpack, enableNamespaceOrder: true}", "enableNamespaceOrder"),
    ],
)
def test_a_switch_that_gates_nothing_of_its_plugin(parse: Parse, entry: str, flag: str) -> None:
    (problem,) = parse(configuration("allocate", entry)).problems
    assert problem.path == f"tiers[0].plugins[3].{flag}"
    assert problem.message.endswith("which does not take part in what it switches; remove it")


@pytest.mark.parametrize(
    "entry",
    [
        "{name: drf, enableNamespaceOrder: true}",
        "{name: binpack, enableTargetJob: false, enableReservedNodes: false}",
        "{name: binpack, enablePreemptable: true}",
        "{name: nodeorder, enableNodeOrder: false}",
    ],
)
def test_switches_that_mean_something_or_are_harmless_are_not_reported(parse: Parse, entry: str) -> None:
    assert parse(configuration("allocate", entry)).problems == ()


def test_nothing_is_held_against_a_plugin_whose_points_are_unknown() -> None:
    """A plugin that does not say what it fills may fill everything."""
    catalogue = Catalogue({"mine": NoArguments}, {"allocate": NoArguments, "preempt": NoArguments})
    text = (
        "actions: allocate, preempt\ntiers: [{plugins: [{name: mine, enableHierarchy: true, enablePredicate: true}]}]"
    )
    result = parse_configuration(text, catalogue, strict=True)
    assert result.config is not None
    assert result.problems == ()


def test_contradictions_stay_warnings_when_strict(parse: Parse) -> None:
    result = parse(configuration("allocate", "name: overcommit"), strict=True)
    assert result.config is not None
    assert [problem.code for problem in result.warnings] == [Code.CONTRADICTION]


def test_every_gate_is_a_switch_and_every_other_point_is_open() -> None:
    assert set(FLAG_OF_POINT.values()) <= set(Flags.model_fields)
    ungated = set(Flags.model_fields) - set(FLAG_OF_POINT.values())
    assert ungated == {"hierarchy", "target_job", "reserved_nodes"}
    closed = Flags(**dict.fromkeys(Flags.model_fields, False))
    assert [point for point in (*FLAG_OF_POINT, *SIMULATION_POINTS) if closed.allow(point)] == []
    assert all(closed.allow(point) for point in ("job_valid", "victim_queue_order", "unified_evictable"))
    for point in SIMULATION_POINTS:
        assert Flags(preemptable=False).allow(point)
        assert Flags(allocatable=False).allow(point)
        assert not Flags(preemptable=False, allocatable=False).allow(point)


def test_switches_have_the_spelling_and_the_defaults_of_volcano(parse: Parse) -> None:
    defaults = Flags()
    for key, default in [*((key, False) for key in OFF), *((key, True) for key in ON)]:
        result = parse(configuration("allocate", f"{{name: sla, {key}: {str(not default).lower()}}}"))
        assert result.config is not None, key
        flags = list(result.config.plugins())[-1].flags
        changed = [name for name in Flags.model_fields if getattr(flags, name) != getattr(defaults, name)]
        assert len(changed) == 1, key
        assert getattr(defaults, changed[0]) is default, key
    assert len(Flags.model_fields) == len(OFF) + len(ON)


@pytest.mark.parametrize("action", ["preempt", "reclaim"])
def test_an_action_alongside_its_kind_for_gangs_is_reported(action: str) -> None:
    plugins = ", ".join(f"{{name: {name}}}" for name in ("priority", "gang", "capacity", "predicates", "nodeorder"))
    text = f'actions: "enqueue, allocate, {action}, gang{action}"\ntiers:\n- plugins: [{plugins}]\n'
    (problem,) = parse_configuration(text, checked_registry().catalogue()).problems
    assert problem.message.startswith(f"{action} and gang{action} do the same for gangs")
