"""Claims to devices as they come: what they mean for the pods that use them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.placement.devices import (
    DRIVER,
    GPU,
    allocated,
    device_binding,
    device_claim,
    device_class,
    first_available,
    on_node,
    request,
    way,
    with_claims,
)
from tests.support.sessions import NAMESPACE, node, pod, pod_group
from tests.unit.state.watched import Watched, as_status, on
from volcano_py.api.devices.claims import (
    ALL_DEVICES,
    AllocatedDevices,
    Allocation,
    CapacityRequests,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceToleration,
    ExactDeviceRequest,
)
from volcano_py.api.objects import Pod
from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain import devices_not_chosen
from volcano_py.state.devices.needs import (
    ALL,
    Ask,
    Constraint,
    DeviceNeed,
    DeviceTrouble,
    GivenDevices,
    OpenDevices,
    Request,
)
from volcano_py.state.table.change import Change

OF_DRIVER = f'device.driver == "{DRIVER}"'
ONE = ((GPU, 1),)
PLAIN = OpenDevices(requests=(Request("gpu", (Ask("gpu", GPU, (OF_DRIVER,)),)),))
"""What a claim to one device requires."""


def mine(name: str, *claims: str, **generated: str | None) -> Pod:
    return with_claims(pod(name, group="g", cpu="1"), *claims, generated=generated)


def uid(name: str) -> str:
    return pod(name).metadata.uid


def watching(*objects: Any) -> Watched:
    return Watched(node("n1"), node("n2"), pod_group("g"), device_class(), *objects)


def needs(watched: Watched, name: str = "p") -> tuple[DeviceNeed, ...]:
    return watched.class_of(name).devices


def trouble(watched: Watched, name: str = "p") -> str:
    (need,) = needs(watched, name)
    assert isinstance(need, DeviceTrouble)
    return need.message


def claims_of(watched: Watched, name: str) -> tuple[str, ...]:
    info = watched.snapshot().tasks[watched.row(name)]
    assert info is not None
    return info.device_claims


# -- classes -----------------------------------------------------------------------------------------------------------


def test_pods_of_a_gang_with_a_claim_each_are_one_class() -> None:
    watched = watching(
        [device_claim(f"made-{name}", owner=uid(name)) for name in "ab"],
        [mine(name, gpu=f"made-{name}") for name in "ab"],
        device_claim("c", request(count=2)),
        mine("c", "c"),
    )
    assert watched.class_of("a") is watched.class_of("b")
    assert watched.class_of("a") is not watched.class_of("c")
    assert needs(watched, "a") == (PLAIN,)
    assert claims_of(watched, "a") == (f"{NAMESPACE}/made-a",)


def test_pods_with_claims_are_of_another_class_than_those_without() -> None:
    watched = watching(device_claim("c"), mine("p", "c"), pod("q", group="g", cpu="1"), mine("r", gpu=None))
    assert watched.class_of("p") is not watched.class_of("q")
    assert watched.class_of("r") is watched.class_of("q"), "no claim was needed"
    assert (watched.class_of("p").uses_amounts_only, watched.class_of("q").uses_amounts_only) == (False, True)


def test_no_pod_with_a_claim_is_placed_where_no_plugin_chooses_devices() -> None:
    problem = watching(device_claim("c"), mine("p", "c")).class_of("p").problem
    assert problem is not None
    assert (problem.reason, problem.message) == (Reason.UNSUPPORTED, devices_not_chosen())


def test_what_a_claim_asks_for_is_read_with_its_classes() -> None:
    toleration = DeviceToleration(key="broken", operator="Exists")
    claim = device_claim(
        "c",
        request("one", "a", "b", tolerations=[toleration], admin_access=True),
        request("every", of="big", mode="All"),
        first_available("any", way("large", of="big", count=2), way("small", "c")),
        constraints=[
            DeviceConstraint(requests=["one", "any/large"], match_attribute="model"),
            DeviceConstraint(distinct_attribute=f"{DRIVER}/slot"),
        ],
    )
    watched = watching(device_class("big", "x", "y"), claim, mine("p", "c"))
    assert needs(watched) == (
        OpenDevices(
            requests=(
                Request("one", (Ask("one", GPU, (OF_DRIVER, "a", "b"), (toleration,), is_admin=True),)),
                Request("every", (Ask("every", "big", ("x", "y"), count=ALL),)),
                Request(
                    "any",
                    (Ask("any/large", "big", ("x", "y"), count=2), Ask("any/small", GPU, (OF_DRIVER, "c"))),
                ),
            ),
            constraints=(
                Constraint(("one", "any/large"), "model"),
                Constraint((), f"{DRIVER}/slot", is_distinct=True),
            ),
        ),
    )


def test_allocated_claims_count_by_where_their_devices_can_be_used() -> None:
    watched = watching(
        device_claim("a", allocation=allocated(("n1", "d0"), node="n1")),
        device_claim("b", allocation=allocated(("n1", "d1"), node="n1")),
        device_claim("c", allocation=allocated(("net", "d2"))),
        [mine(name, name) for name in "abc"],
    )
    assert watched.class_of("a") is watched.class_of("b")
    assert needs(watched, "a") == (GivenDevices(nodes=on_node("n1"), devices=ONE),)
    assert needs(watched, "c") == (GivenDevices(devices=ONE),)


def test_a_claim_that_several_pods_use_is_reported_by_its_name_while_they_are_several() -> None:
    watched = watching(device_claim("c"), mine("p", "c"))
    assert needs(watched) == (PLAIN,)
    watched.put(mine("q", "c"))
    shared = msgspec.structs.replace(PLAIN, claim=f"{NAMESPACE}/c")
    assert needs(watched, "p") == needs(watched, "q") == (shared,)
    watched.put(as_status(on(mine("q", "c"), "n1"), "Succeeded"))
    assert needs(watched) == (PLAIN,)


def test_each_claim_of_a_pod_counts_once() -> None:
    watched = watching(device_claim("c"), device_claim("d", request(count=3)), mine("p", "d", "c", "d"))
    assert len(needs(watched)) == 2
    assert needs(watched)[1] == PLAIN
    assert claims_of(watched, "p") == (f"{NAMESPACE}/d", f"{NAMESPACE}/c")


# -- troubles ----------------------------------------------------------------------------------------------------------


def test_a_claim_that_does_not_exist() -> None:
    assert trouble(watching(mine("p", "c"))) == f"ResourceClaim {NAMESPACE}/c does not exist; create it"


def test_a_claim_that_is_not_generated_yet() -> None:
    watched = watching(mine("p", gpu=""), mine("q", gpu=""))
    assert trouble(watched) == (
        "the ResourceClaim for entry gpu of spec.resourceClaims is not generated yet; Kubernetes generates it from "
        f"ResourceClaimTemplate {NAMESPACE}/t. If this lasts, check that the template exists, and look at the log of "
        "kube-controller-manager"
    )
    assert watched.class_of("p") is watched.class_of("q")
    assert claims_of(watched, "p") == ()
    watched.put(device_claim("made", owner=uid("p")), mine("p", gpu="made"))
    assert Change.DECISION in watched.reported()
    assert needs(watched) == (PLAIN,)


def test_a_generated_claim_that_is_gone() -> None:
    assert trouble(watching(mine("p", gpu="made"))) == (
        f"ResourceClaim {NAMESPACE}/made, which status.resourceClaimStatuses of the pod names, does not exist; if this "
        "lasts, it was deleted: recreate the pod"
    )


@pytest.mark.parametrize("owner", ["", "another"])
def test_a_generated_claim_of_another_pod(owner: str) -> None:
    assert trouble(watching(device_claim("made", owner=owner), mine("p", gpu="made"))) == (
        f"ResourceClaim {NAMESPACE}/made was not generated for this pod, but status.resourceClaimStatuses of the pod "
        "names it; recreate the pod, so that a claim is generated for it"
    )


def test_what_is_asked_of_capacity_is_kept_in_one_order() -> None:
    amounts: dict[str, str | int | float] = {"memory": "1Gi", "lanes": 2}
    for given in (amounts, dict(reversed(amounts.items()))):
        watched = watching(device_claim("c", request("r", capacity=CapacityRequests(requests=given))), mine("p", "c"))
        (need,) = needs(watched)
        assert isinstance(need, OpenDevices)
        assert need.requests[0].ways[0].capacity == (("lanes", "2"), ("memory", "1Gi"))


@pytest.mark.parametrize("allocation", [None, allocated(("n1", "d"), node="n1")])
def test_a_claim_that_is_being_deleted(allocation: Any) -> None:
    assert trouble(watching(device_claim("c", deleting=True, allocation=allocation), mine("p", "c"))) == (
        f"ResourceClaim {NAMESPACE}/c is being deleted; create it again when it is gone"
    )


def test_a_class_that_does_not_exist() -> None:
    watched = watching(device_claim("c", request("card", of="gqu")), mine("p", "c"))
    assert trouble(watched) == (
        f"request card of ResourceClaim {NAMESPACE}/c names DeviceClass gqu, which does not exist; create that class, "
        "or recreate the claim with an existing one"
    )
    watched.put(device_class("gqu"))
    assert Change.DECISION in watched.reported()
    assert isinstance(needs(watched)[0], OpenDevices)


def test_an_entry_that_names_no_claim() -> None:
    entry = msgspec.structs.replace(mine("p").spec, resource_claims=[{"name": "gpu"}])
    assert trouble(watching(msgspec.structs.replace(mine("p"), spec=entry))) == (
        "entry gpu of spec.resourceClaims names neither resourceClaimName nor resourceClaimTemplateName; recreate the "
        "pod with one of them"
    )


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        pytest.param(
            DeviceRequest(name="r"),
            "request r of ResourceClaim {} has neither exactly nor firstAvailable, and other kinds of requests are not "
            "evaluated yet; recreate the claim with one of them",
            id="another kind of request",
        ),
        pytest.param(
            request("r", capacity=CapacityRequests(requests={"memory": "much"})),
            "request r of ResourceClaim {} asks for an amount of capacity that cannot be read: 'much' is not a "
            "quantity (examples: 2, 500m, 1.5Gi, 1e3); recreate the claim with a quantity",
            id="capacity",
        ),
        pytest.param(
            first_available("r", way("a"), way("b", allocation_mode="Most")),
            "request r/b of ResourceClaim {} has allocationMode Most, which is not evaluated yet; recreate the claim "
            "with ExactCount or All",
            id="another mode",
        ),
        pytest.param(
            DeviceRequest(name="r", exactly=ExactDeviceRequest(device_class_name=GPU, selectors=[DeviceSelector()])),
            "request r of ResourceClaim {}, or its DeviceClass, has a selector without cel.expression, and other kinds "
            "of selectors are not evaluated yet; recreate it with one",
            id="another kind of selector",
        ),
    ],
)
def test_what_is_not_evaluated_is_refused_and_named(asked: DeviceRequest, message: str) -> None:
    watched = watching(device_claim("c", asked), mine("p", "c"))
    assert needs(watched) == (DeviceTrouble(message.format(f"{NAMESPACE}/c"), is_unsupported=True),)


def test_a_constraint_of_another_kind_is_refused() -> None:
    watched = watching(device_claim("c", constraints=[DeviceConstraint(requests=["gpu"])]), mine("p", "c"))
    assert trouble(watched) == (
        f"ResourceClaim {NAMESPACE}/c has a constraint with neither matchAttribute nor distinctAttribute, and other "
        "kinds of constraints are not evaluated yet; recreate the claim with one of them"
    )


def test_given_devices_count_by_the_class_of_the_request_they_were_given_for() -> None:
    """The second alternative was chosen; access as administrator takes nothing from others."""
    card = first_available("card", way("big", of="big"), way("small", of="small", count=2))
    watcher = request("watch", mode=ALL_DEVICES, admin_access=True)
    results = (
        *allocated(("n1", "d0"), ("n1", "d1"), name="card/small").devices.results,
        *allocated(("n1", "d2"), admin=True, name="watch").devices.results,
        *allocated(("n1", "d3"), name="gpu").devices.results,
    )
    given = Allocation(devices=AllocatedDevices(results=list(results)))
    watched = watching(device_claim("c", card, watcher, request(), allocation=given), mine("p", "c"))
    assert needs(watched) == (GivenDevices(devices=((GPU, 1), ("small", 2))),)


def test_a_claim_has_256_users_at_most() -> None:
    users = [f"u{number}" for number in range(255)]
    devices = allocated(("n1", "d"), node="n1")
    watched = watching(device_claim("c", allocation=devices, users=[*users, uid("q")]), mine("p", "c"), mine("q", "c"))
    assert trouble(watched) == (
        f"ResourceClaim {NAMESPACE}/c is reserved for 256 pods, which is the most that a claim can have; wait for one "
        "of them to end, or name another claim"
    )
    given = (GivenDevices(f"{NAMESPACE}/c", on_node("n1"), ONE),)
    assert needs(watched, "q") == given
    watched.put(device_claim("c", allocation=devices, users=users))
    assert needs(watched) == given
    assert watched.state.assume_bound(uid("q"), "n1", (), [device_binding("c")])
    assert isinstance(needs(watched)[0], DeviceTrouble)


def test_a_pod_on_a_node_has_no_troubles() -> None:
    watched = watching(on(mine("p", "missing"), "n1"))
    assert needs(watched) == ()
    watched.put(device_claim("missing", deleting=True, allocation=allocated(("n1", "d"), node="n1")))
    assert needs(watched) == (GivenDevices(devices=ONE),)
    assert claims_of(watched, "p") == (f"{NAMESPACE}/missing",)


def test_pods_on_all_nodes_are_one_class_once_they_have_their_devices() -> None:
    watched = watching([device_claim(name) for name in "ab"], [mine(name, name) for name in "ab"])
    for name, place in (("a", "n1"), ("b", "n2")):
        devices = allocated((place, "d"), node=place)
        assert watched.state.assume_bound(uid(name), place, (), [device_binding(name, devices)])
        watched.put(device_claim(name, allocation=devices, users=[uid(name)]))
    assert watched.class_of("a") is not watched.class_of("b")
    watched.quiet()
    watched.put(on(mine("a", "a"), "n1"), on(mine("b", "b"), "n2"))
    assert Change.DECISION not in watched.reported(), "the API server shows what was decided"
    assert watched.class_of("a") is watched.class_of("b")
    assert needs(watched, "a") == (GivenDevices(devices=(("gpu", 1),)),)


# -- changes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "change", "expected"),
    [
        pytest.param([], device_claim("c"), OpenDevices, id="the claim comes"),
        pytest.param([device_claim("c")], device_claim("c", deleting=True), DeviceTrouble, id="the claim goes"),
        pytest.param(
            [device_claim("c")],
            device_claim("c", allocation=allocated(("n1", "d"))),
            GivenDevices,
            id="it gets devices",
        ),
        pytest.param(
            [device_claim("c", allocation=allocated(("n1", "d")))], device_claim("c"), OpenDevices, id="it loses them"
        ),
        pytest.param([device_claim("c")], device_class(GPU, "another"), OpenDevices, id="its class changes"),
    ],
)
def test_what_changes_about_a_claim_moves_its_pod_and_wakes(before: list[Any], change: Any, expected: type) -> None:
    watched = watching(before, mine("p", "c"))
    old = watched.class_of("p")
    watched.put(change)
    assert Change.DECISION in watched.reported()
    assert watched.class_of("p") is not old
    assert isinstance(needs(watched)[0], expected)
    assert watched.state.drift() == 0
    watched.put(change)
    assert watched.reported() == []


def test_a_claim_of_the_same_name_is_another_claim() -> None:
    watched = watching(device_claim("c"), mine("p", "c"))
    watched.delete(device_claim("c", uid="another"))
    assert needs(watched) == (PLAIN,)
    watched.delete(device_claim("c"))
    assert isinstance(needs(watched)[0], DeviceTrouble)


def test_a_further_user_of_a_claim_is_nothing_to_the_others() -> None:
    devices = allocated(("n1", "d"), node="n1")
    watched = watching(device_claim("c", allocation=devices, users=["u1"]), mine("p", "c"), mine("q", "c"))
    watched.put(device_claim("c", allocation=devices, users=["u1", "u2"]))
    assert watched.reported() == []
