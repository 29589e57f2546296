"""Volumes against a plain reading of the rules: node by node, claim by claim, volume by volume.

The oracle knows nothing of masks, pools, classes or sweeps. It places a gang pod by pod on the nodes that the scheduler
chose, and must agree with each choice, and with the volumes that came with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.placement.node_answers import class_of, willing
from tests.support.placement.volumes import HOST, LOCAL, MADE, claim, csi_node, storage_class, using, volume
from tests.support.sessions import Opened, node, open_session, pod, pod_group
from volcano_py.actions.allocate import Allocate
from volcano_py.api.effects import Bind
from volcano_py.api.objects import Pod
from volcano_py.api.volumes import PersistentVolume, PersistentVolumeClaim
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.predicates import Predicates

NODES = ("n1", "n2", "n3", "n4")
DRIVER = "disk.csi"
BOTH = "both"  # a class with volumes that exist, whose others are made on n1 only
_MADE_ON = {LOCAL: frozenset[str](), MADE: frozenset(NODES), BOTH: frozenset({"n1"})}


@dataclass(frozen=True)
class World:
    """Volumes, the pods' claims, and how many volumes a node attaches."""

    volumes: list[PersistentVolume]
    pods: list[list[PersistentVolumeClaim]]
    limit: int


@dataclass
class Oracle:
    """What is taken so far."""

    world: World
    taken: set[str] = field(default_factory=set)
    made: dict[str, int] = field(default_factory=dict)

    def volumes_on(self, where: str, claims: list[PersistentVolumeClaim]) -> dict[str, str] | None:
        """Claim → volume on that node ("" for one that is made); None when the node will not do."""
        new = sum(each.spec.storage_class_name != LOCAL for each in claims)
        if new and self.made.get(where, 0) + new > self.world.limit:
            return None
        found: dict[str, str] = {}
        for each in sorted(claims, key=_gigabytes):
            suiting = [
                (_capacity(one), one.metadata.name)
                for one in self.world.volumes
                if one.spec.storage_class_name == each.spec.storage_class_name
                and one.metadata.name not in self.taken | {*found.values()}
                and _capacity(one) >= _gigabytes(each)
                and _reaches(one, where)
            ]
            if suiting:
                found[each.metadata.name] = min(suiting)[1]
            elif where in _MADE_ON[str(each.spec.storage_class_name)]:
                found[each.metadata.name] = ""
            else:
                return None
        return found

    def place(self, where: str, claims: list[PersistentVolumeClaim], got: dict[str, str]) -> None:
        self.taken |= {*got.values()} - {""}
        self.made[where] = self.made.get(where, 0) + sum(each.spec.storage_class_name != LOCAL for each in claims)


def _gigabytes(each: PersistentVolumeClaim) -> int:
    return int(str(each.spec.resources.requests["storage"]).removesuffix("Gi"))


def _capacity(each: PersistentVolume) -> int:
    return int(str(each.spec.capacity["storage"]).removesuffix("Gi"))


def _reaches(each: PersistentVolume, where: str) -> bool:
    if each.spec.node_affinity is None or each.spec.node_affinity.required is None:
        return True
    (term,) = each.spec.node_affinity.required.node_selector_terms
    return where in term.match_expressions[0].values


@st.composite
def worlds(draw: st.DrawFn) -> World:
    sizes = st.sampled_from(["10Gi", "20Gi", "30Gi"])
    reaches = st.one_of(
        st.sampled_from(NODES).map(lambda name: [name]),
        st.lists(st.sampled_from(NODES), min_size=2, max_size=3, unique=True),
        st.none(),
    )
    kinds = st.sampled_from([LOCAL, LOCAL, BOTH])
    local_only = draw(st.booleans())  # such volumes concern one node each, which is the fast way
    volumes = [
        volume(
            f"v{number}",
            on=draw(st.sampled_from(NODES).map(lambda name: [name]) if local_only else reaches),
            size=draw(sizes),
            of=draw(kinds),
        )
        for number in range(draw(st.integers(0, 9)))
    ]
    shapes = draw(st.lists(st.tuples(st.sampled_from([LOCAL, MADE, BOTH]), sizes), min_size=1, max_size=3))
    alike = draw(st.booleans())
    pods: list[list[PersistentVolumeClaim]] = []
    for number in range(draw(st.integers(1, 6))):
        if not alike:
            shapes = draw(st.lists(st.tuples(st.sampled_from([LOCAL, MADE, BOTH]), sizes), min_size=1, max_size=3))
        pods.append([claim(f"c{number}-{at}", of=of, size=size) for at, (of, size) in enumerate(shapes)])
    return World(volumes, pods, draw(st.integers(1, 6)))


def members(world: World) -> list[Pod]:
    return [
        using(pod(f"p-{number}", group="g", cpu="1"), *(each.metadata.name for each in claims))
        for number, claims in enumerate(world.pods)
    ]


def session(world: World, minimum: int) -> Opened:
    return open_session(
        [storage_class(LOCAL), storage_class(MADE, provisioner=DRIVER), storage_class(BOTH, provisioner=DRIVER)],
        storage_class(BOTH, provisioner=DRIVER, zones=["z1"]),
        [node(name, labels={HOST: name, "topology.kubernetes.io/zone": f"z{name[1:]}"}) for name in NODES],
        [csi_node(name, **{DRIVER: world.limit}) for name in NODES],
        world.volumes,
        *world.pods,
        pod_group("g", min_member=minimum),
        members(world),
        tiers=[[Gang, Predicates]],
        actions=[Allocate],
    )


@given(worlds())
@settings(max_examples=2 * settings().max_examples, deadline=None)
def test_a_node_will_do_when_its_claims_find_volumes_one_after_the_other(world: World) -> None:
    opened, oracle = session(world, 1), Oracle(world)
    statement = opened.ssn.statement()
    for number, claims in enumerate(world.pods):
        expected = [name for name in NODES if oracle.volumes_on(name, claims) is not None]
        assert willing(opened, Predicates, f"p-{number}") == expected
        if expected:
            where = expected[number % len(expected)]
            got = oracle.volumes_on(where, claims)
            assert got is not None
            opened.place("g", {f"p-{number}": where}, statement)
            oracle.place(where, claims, got)
    statement.discard()
    assert opened.ssn.findings.claim_bindings == {}
    untouched = Oracle(world)
    for number, claims in enumerate(world.pods):
        expected = [name for name in NODES if untouched.volumes_on(name, claims) is not None]
        assert willing(opened, Predicates, f"p-{number}") == expected


@given(worlds(), st.booleans())
@settings(max_examples=2 * settings().max_examples, deadline=None)
def test_what_allocate_binds_the_oracle_would_have_bound_in_that_order(world: World, whole: bool) -> None:
    opened = session(world, len(world.pods) if whole else 1)
    Allocate(None).execute(opened.ssn)
    assert not opened.ssn.dispatch.failures.counts
    binds = [effect for effect in opened.effects if isinstance(effect, Bind)]
    assert not whole or len(binds) in (0, len(world.pods))
    oracle = Oracle(world)
    for bind in binds:
        claims = world.pods[int(bind.pod.name.removeprefix("p-"))]
        expected = oracle.volumes_on(bind.node, claims)
        assert {each.claim.name: each.volume for each in bind.claims} == expected
        assert expected is not None
        oracle.place(bind.node, claims, expected)
    if not whole:
        left = {f"p-{number}" for number in range(len(world.pods))} - {bind.pod.name for bind in binds}
        for name in left:
            assert not any(oracle.volumes_on(each, world.pods[int(name[2:])]) for each in NODES), name
    assert all(class_of(opened, f"p-{number}").problem is None for number in range(len(world.pods)))
