"""Extended resources in mixed clusters, where some nodes have them and others have devices of the class that offers
them, as pods come and go: no node gives more than it has, and no device is given twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.placement.devices import (
    device,
    device_claim,
    device_class,
    request,
    resource_slice,
    with_claims,
)
from tests.support.registries import checked_registry
from tests.support.sessions import node, pod, pod_group
from volcano_py.api.devices.claims import EXTENDED_CLAIM, ResourceClaim
from volcano_py.api.objects import ApiObject, Pod
from volcano_py.config.parse import parse_configuration
from volcano_py.simulation import Simulation

CONF = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: nodeorder}]
"""
BY_CLASS = "deviceclass.resource.kubernetes.io/gpu"
BY_NAME = "example.com/gpu"
FABRIC = "fabric"
"""The pool of devices that all nodes can use."""


@dataclass(frozen=True)
class Wish:
    """What a pod asks for: so much of the resource, under either name, and devices by a claim of its own."""

    resource: str
    amount: int
    claimed: int


@dataclass(frozen=True)
class World:
    """Per node: cores, how much it has of the resource itself, and how many devices; devices of the network; gangs."""

    nodes: dict[str, tuple[int, int, int]]
    common: int
    gangs: list[list[Wish]]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    kinds = st.tuples(st.integers(1, 4), st.sampled_from([0, 0, 1, 2]), st.integers(0, 3))
    nodes = {f"n{number}": draw(kinds) for number in range(draw(st.integers(1, 3)))}
    wishes = st.builds(Wish, st.sampled_from([BY_NAME, BY_NAME, BY_CLASS]), st.integers(0, 2), st.integers(0, 1))
    gangs = draw(st.lists(st.lists(wishes, min_size=1, max_size=3), min_size=1, max_size=4))
    return World(nodes, draw(st.sampled_from([0, 0, 1, 2])), gangs)


def objects(world: World) -> list[tuple[str, ApiObject]]:
    found: list[ApiObject] = [device_class(extended=BY_NAME)]
    for name, (cores, itself, devices) in world.nodes.items():
        found.append(node(name, cpu=str(cores), devices={BY_NAME: str(itself)} if itself else None))
        if devices:
            found.append(resource_slice(name, *(device(f"d{at}") for at in range(devices)), on=name))
    if world.common:
        found.append(resource_slice(FABRIC, *(device(f"d{at}") for at in range(world.common))))
    for gang, members in enumerate(world.gangs):
        found.append(pod_group(f"g{gang}", min_member=len(members)))
        for at, wish in enumerate(members):
            asked = {wish.resource: str(wish.amount)} if wish.amount else None
            waiting = pod(f"p{gang}-{at}", group=f"g{gang}", cpu="1", devices=asked)
            if wish.claimed:
                found.append(device_claim(f"c{gang}-{at}", request(count=wish.claimed)))
                waiting = with_claims(waiting, f"c{gang}-{at}")
            found.append(waiting)
    return [(type(each).__name__, each) for each in found]


def pods_of(simulation: Simulation) -> dict[str, Pod]:
    return {each.metadata.name: each for each in simulation.cluster.objects("Pod", Pod)}


def given_devices(simulation: Simulation) -> Counter[tuple[str, str]]:
    return Counter(
        (result.pool, result.device)
        for claim in simulation.cluster.objects("ResourceClaim", ResourceClaim)
        if claim.status.allocation is not None
        for result in claim.status.allocation.devices.results
    )


def wishes_of(world: World) -> dict[str, Wish]:
    return {f"p{gang}-{at}": wish for gang, members in enumerate(world.gangs) for at, wish in enumerate(members)}


def is_by_devices(world: World, node_name: str, wish: Wish) -> bool:
    """Whether devices stand in for what the pod asks for on the node."""
    return wish.amount > 0 and not (wish.resource == BY_NAME and world.nodes[node_name][1])


def itself_used(world: World, pods: dict[str, Pod], node_name: str) -> int:
    """How much of what the node has itself is in use."""
    there = [wish for name, wish in wishes_of(world).items() if name in pods and pods[name].spec.node_name == node_name]
    return sum(wish.amount for wish in there if wish.resource == BY_NAME and not is_by_devices(world, node_name, wish))


def check(world: World, simulation: Simulation) -> None:
    """What holds at every moment."""
    pods, claims = pods_of(simulation), simulation.cluster.objects("ResourceClaim", ResourceClaim)
    assert max(given_devices(simulation).values(), default=0) <= 1, "a device is given once"
    for name, (_, itself, _) in world.nodes.items():
        assert itself_used(world, pods, name) <= itself
    extended = {
        user.name: claim
        for claim in claims
        if EXTENDED_CLAIM in claim.metadata.annotations
        for user in claim.status.reserved_for
    }
    for name, wish in wishes_of(world).items():
        one = pods.get(name)
        if one is None or not one.spec.node_name or not is_by_devices(world, one.spec.node_name, wish):
            assert name not in extended
            continue
        claim, named = extended[name], one.status.extended_resource_claim_status
        assert claim.status.allocation is not None
        results = claim.status.allocation.devices.results
        assert len(results) == wish.amount
        assert {each.pool for each in results} <= {one.spec.node_name, FABRIC}
        assert named is not None
        assert named.resource_claim_name == claim.metadata.name
        (mapping,) = named.request_mappings
        assert {mapping.request_name} == {each.request for each in results}
    for gang, members in enumerate(world.gangs):
        there = [pods[f"p{gang}-{at}"] for at in range(len(members)) if f"p{gang}-{at}" in pods]
        if len(there) == len(members):
            assert len({bool(each.spec.node_name) for each in there}) == 1, "a gang is bound whole"


def check_nothing_waits_that_could_run(world: World, simulation: Simulation) -> None:
    """Of gangs of one pod."""
    pods, used = pods_of(simulation), given_devices(simulation)
    busy = Counter(each.spec.node_name for each in pods.values())
    for gang, members in enumerate(world.gangs):
        waiting, wish = pods.get(f"p{gang}-0"), members[0]
        if len(members) > 1 or waiting is None or waiting.spec.node_name:
            continue
        for name, (cores, itself, devices) in world.nodes.items():
            free = sum(not used[name, f"d{at}"] for at in range(devices))
            free += sum(not used[FABRIC, f"d{at}"] for at in range(world.common))
            by_devices = is_by_devices(world, name, wish)
            fits = free >= wish.claimed + (wish.amount if by_devices else 0)
            if wish.amount and not by_devices:
                fits = fits and itself - itself_used(world, pods, name) >= wish.amount
            assert not (fits and busy[name] < cores), f"{waiting.metadata.name} could run on {name}"


@settings(deadline=None, max_examples=150)
@given(world=worlds(), ends=st.lists(st.integers(0, 11), max_size=3))
def test_extended_resources_are_amounts_or_devices(world: World, ends: list[int]) -> None:
    registry = checked_registry()
    parsed = parse_configuration(CONF, registry.catalogue())
    assert parsed.config is not None
    simulation = Simulation(objects(world), parsed.config, registry)
    for end in [None, *ends]:
        running = [each for each in pods_of(simulation).values() if each.spec.node_name]
        if end is not None and running:
            simulation.cluster.remove("Pod", running[end % len(running)].metadata.key)
        result = simulation.run()
        assert not any(report.plugin_errors for report in result.reports)
        assert simulation.state.drift() == 0
        check(world, simulation)
        check_nothing_waits_that_could_run(world, simulation)
