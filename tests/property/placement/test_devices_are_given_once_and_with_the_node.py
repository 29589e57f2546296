"""Devices of ResourceClaims as pods come and go: against a plain reading of the rules, device by device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from itertools import permutations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.placement.devices import (
    DRIVER,
    consumes,
    counter_set,
    device,
    device_claim,
    device_class,
    request,
    resource_slice,
    with_claims,
)
from tests.support.registries import checked_registry
from tests.support.sessions import node, pod, pod_group
from volcano_py.api.devices.claims import DeviceRequest, ResourceClaim
from volcano_py.api.devices.slices import DeviceCapacity, RequestPolicy, SliceDevice
from volcano_py.api.objects import ApiObject, Pod
from volcano_py.config.parse import parse_configuration
from volcano_py.simulation import Simulation

CONF = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: nodeorder}]
"""
FABRIC = "fabric"
"""The pool of devices that all nodes can use."""
ANY = ""
CARD = 2
SHARED = "c"
"""A model of which each device has two slots."""


@dataclass(frozen=True)
class Ask:
    """So many devices of a model, or of `ANY`."""

    model: str
    count: int


Claim = tuple[Ask, ...]


@dataclass(frozen=True)
class World:
    """Cores of nodes; models of devices by pool (a node, or FABRIC), and what each of them takes of a card of CARD that
    the pool has; claims by name; gangs of pods, each with the names of its claims."""

    cores: dict[str, int]
    models: dict[str, list[str]]
    parts: dict[str, list[int]]
    claims: dict[str, Claim]
    gangs: list[list[list[str]]]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    cores = {f"n{number}": draw(st.integers(1, 4)) for number in range(draw(st.integers(1, 3)))}
    models = st.lists(st.sampled_from("ab" if draw(st.booleans()) else "abc"), max_size=4)
    pools = {name: draw(models) for name in [*cores, FABRIC]}
    amounts = st.sampled_from([[0], [0, 1], [1, 2]])
    parts = {name: draw(st.lists(st.sampled_from(draw(amounts)), min_size=4, max_size=4)) for name in pools}
    if draw(st.booleans()):
        pools[FABRIC] = []
    asks = st.builds(Ask, st.sampled_from([ANY, "a", "b"]), st.integers(1, 2))
    requests = st.lists(asks, min_size=1, max_size=2).map(tuple)
    claims: dict[str, Claim] = {"shared": draw(requests)}
    gangs: list[list[list[str]]] = []
    for gang in range(draw(st.integers(1, 4))):
        alike, members = draw(requests), list[list[str]]()
        for member in range(draw(st.integers(1, 3))):
            own = f"c{gang}-{member}"
            claims[own] = alike if draw(st.booleans()) else draw(requests)
            members.append(draw(st.sampled_from([[own], [own], [own], [own, "shared"], ["shared"], []])))
        gangs.append(members)
    return World(cores, pools, parts, claims, gangs)


def objects(world: World) -> list[tuple[str, ApiObject]]:
    found: list[ApiObject] = [device_class()]
    for name, cores in world.cores.items():
        found.append(node(name, cpu=str(cores)))
    for pool, models in world.models.items():
        devices = [
            _device(f"d{at}", model, part)
            for at, (model, part) in enumerate(zip(models, world.parts[pool], strict=False))
        ]
        if devices:
            on = "" if pool == FABRIC else pool
            found.append(resource_slice(pool, *devices, on=on, count=2))
            counters = [counter_set("card", memory=CARD)]
            found.append(resource_slice(f"{pool}-card", on=on, pool=pool, count=2, shared_counters=counters))
    for name, asks in world.claims.items():
        found.append(device_claim(name, *(_request(at, each) for at, each in enumerate(asks))))
    for gang, members in enumerate(world.gangs):
        found.append(pod_group(f"g{gang}", min_member=len(members)))
        found += [
            with_claims(pod(f"p{gang}-{at}", group=f"g{gang}", cpu="1"), *claims) for at, claims in enumerate(members)
        ]
    return [(type(each).__name__, each) for each in found]


def _device(name: str, model: str, part: int) -> SliceDevice:
    """A request takes one slot, unless it says something else."""
    found = device(name, {"model": model}, consumes_counters=[consumes("card", memory=part)] if part else [])
    if model != SHARED:
        return found
    slots = DeviceCapacity(value="2", request_policy=RequestPolicy(default="1"))
    return msgspec.structs.replace(found, allow_multiple_allocations=True, capacity={"slots": slots})


def _slots(model: str) -> int:
    return 2 if model == SHARED else 1


def _request(at: int, ask: Ask) -> DeviceRequest:
    expressions = [] if ask.model == ANY else [f'device.attributes["{DRIVER}"].model == "{ask.model}"']
    return request(f"r{at}", *expressions, count=ask.count)


def claims_of(simulation: Simulation) -> dict[str, ResourceClaim]:
    return {each.metadata.name: each for each in simulation.cluster.objects("ResourceClaim", ResourceClaim)}


def pods_of(simulation: Simulation) -> dict[str, Pod]:
    return {each.metadata.name: each for each in simulation.cluster.objects("Pod", Pod)}


def check(world: World, simulation: Simulation) -> None:
    """What holds at every moment."""
    claims, pods = claims_of(simulation), pods_of(simulation)
    given_to: Counter[tuple[str, str]] = Counter()
    for name, claim in claims.items():
        if claim.status.allocation is None:
            assert not claim.status.reserved_for
            continue
        results = claim.status.allocation.devices.results
        for at, ask in enumerate(world.claims[name]):
            got = [each for each in results if each.request == f"r{at}"]
            assert len(got) == ask.count
            for each in got:
                assert ask.model in (ANY, world.models[each.pool][int(each.device[1:])])
        given_to.update((each.pool, each.device) for each in results)
        placed = [one for one in pods.values() if one.spec.node_name and name in _names(one)]
        users = {one.uid for one in claim.status.reserved_for}
        assert users == {one.metadata.uid for one in placed}, "reserved for the pods that have a node, and for no other"
        for user in placed:
            assert {each.pool for each in results} <= {user.spec.node_name, FABRIC}
    for (pool, device_name), count in given_to.items():
        assert count <= _slots(world.models[pool][int(device_name[1:])]), "a device is in one claim, or shared"
    assert is_within_cards(world, given_to)
    for one in pods.values():
        if one.spec.node_name:
            assert all(claims[name].status.allocation is not None for name in _names(one))
    for gang, members in enumerate(world.gangs):
        there = [pods[f"p{gang}-{at}"] for at in range(len(members)) if f"p{gang}-{at}" in pods]
        if len(there) == len(members):
            assert len({bool(each.spec.node_name) for each in there}) == 1, "a gang is bound whole"


def is_within_cards(world: World, devices: Collection[tuple[str, str]]) -> bool:
    """Whether these devices can be used at once."""
    taken: Counter[str] = Counter()
    for pool, name in devices:
        taken[pool] += world.parts[pool][int(name[1:])]
    return max(taken.values(), default=0) <= CARD


def _names(each: Pod) -> list[str]:
    return [str(entry["resourceClaimName"]) for entry in each.spec.resource_claims]


def check_nothing_waits_that_could_run(world: World, simulation: Simulation) -> None:
    """Of gangs of one pod with a claim of its own."""
    claims, pods = claims_of(simulation), pods_of(simulation)
    used = Counter(
        (result.pool, result.device)
        for claim in claims.values()
        if claim.status.allocation is not None
        for result in claim.status.allocation.devices.results
    )
    busy = Counter(each.spec.node_name for each in pods.values())
    for gang, members in enumerate(world.gangs):
        waiting = pods.get(f"p{gang}-0")
        if len(members) > 1 or waiting is None or waiting.spec.node_name or members[0] != [f"c{gang}-0"]:
            continue
        asks = world.claims[f"c{gang}-0"]
        wanted = [(number, ask.model) for number, ask in enumerate(asks) for _ in range(ask.count)]
        for name, cores in world.cores.items():
            free = [
                (model, (pool, f"d{at}"))
                for pool, models in world.models.items()
                for at, model in enumerate(models)
                if pool in (name, FABRIC)
                for _ in range(_slots(model) - used[pool, f"d{at}"])
            ]
            fits = any(
                all(ask in (ANY, model) for (_, ask), (model, _) in zip(wanted, some, strict=True))
                and len({(request, at) for (request, _), (_, at) in zip(wanted, some, strict=True)}) == len(wanted)
                and is_within_cards(world, {*used, *(at for _, at in some)})
                for some in permutations(free, len(wanted))
            )
            assert not (fits and busy[name] < cores), f"{waiting.metadata.name} could run on {name}"


@settings(deadline=None, max_examples=150)
@given(world=worlds(), ends=st.lists(st.integers(0, 11), max_size=3))
def test_devices_are_given_once_and_with_the_node(world: World, ends: list[int]) -> None:
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
        check(world, simulation)
        check_nothing_waits_that_could_run(world, simulation)
