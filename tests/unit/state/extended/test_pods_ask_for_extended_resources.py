"""What pods ask of extended resources, as requests of a claim: the names are those that kube-scheduler gives."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from volcano_py.api.objects import Pod
from volcano_py.state.extended.asked import Asked, asked_of, extended_resources

GPU = "example.com/gpu"


def pod(*containers: dict[str, Any], init: tuple[dict[str, Any], ...] = ()) -> Pod:
    spec = {"containers": list(containers), "initContainers": list(init)}
    return msgspec.convert({"metadata": {"name": "p"}, "spec": spec}, Pod)


def asks(name: str, count: int | str, *, more: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    amounts = {GPU: count, **dict.fromkeys(more, "1")}
    return {"name": name, "resources": {"requests": amounts}, **fields}


def of(asked: Asked) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Requests, and (container, request)."""
    return dict(asked.requests), [(each.container_name, each.request_name) for each in asked.mappings]


@pytest.mark.parametrize(
    ("name", "can_be_offered"),
    [
        (GPU, True),
        ("deviceclass.resource.kubernetes.io/gpu", True),
        ("cpu", False),
        ("hugepages-2Mi", False),
        ("attachable.kubernetes.io/disks", False),
        ("requests.example.com/gpu", False),
    ],
)
def test_resources_with_a_domain_of_their_own_can_be_offered(name: str, can_be_offered: bool) -> None:
    found = extended_resources(pod({"name": "main", "resources": {"requests": {name: "1", "memory": "1Gi"}}}))
    assert found == ((name,) if can_be_offered else ())


def test_a_limit_without_a_request_is_one() -> None:
    waiting = pod({"name": "main", "resources": {"limits": {GPU: "2", "cpu": "1"}}})
    assert extended_resources(waiting) == (GPU,)
    assert of(asked_of(waiting, GPU)) == ({"container-0-request-1": 2}, [("main", "container-0-request-1")])


def test_each_container_that_runs_has_a_request_numbered_by_its_place_among_what_it_asks_for() -> None:
    waiting = pod(asks("a", 2, more=("cpu", "memory")), {"name": "b"}, asks("c", 1))
    assert of(asked_of(waiting, GPU)) == (
        {"container-0-request-1": 2, "container-2-request-0": 1},
        [("a", "container-0-request-1"), ("c", "container-2-request-0")],
    )


def test_an_init_container_uses_the_devices_of_the_containers_after_it() -> None:
    """The first needs one more than they have together, and a second one no more than one of them has."""
    waiting = pod(asks("main", 2), init=(asks("first", 3), asks("second", 1)))
    assert of(asked_of(waiting, GPU)) == (
        {"container-0-request-0": 1, "container-2-request-0": 2},
        [
            ("main", "container-2-request-0"),
            ("first", "container-2-request-0"),
            ("second", "container-2-request-0"),
            ("first", "container-0-request-0"),
        ],
    )


def test_what_init_containers_need_beyond_that_is_requested_once_for_all_of_them() -> None:
    waiting = pod(asks("main", 1), init=(asks("first", 2), asks("second", 4)))
    requests, mappings = of(asked_of(waiting, GPU))
    assert requests == {"container-1-request-0": 3, "container-2-request-0": 1}
    assert mappings[-2:] == [("first", "container-1-request-0"), ("second", "container-1-request-0")]


def test_a_sidecar_keeps_its_devices_and_those_before_it_use_them() -> None:
    waiting = pod(asks("main", 1), init=(asks("early", 2), asks("side", 1, restartPolicy="Always"), asks("late", 2)))
    requests, mappings = of(asked_of(waiting, GPU))
    assert requests == {"container-1-request-0": 1, "container-2-request-0": 1, "container-3-request-0": 1}
    assert ("early", "container-1-request-0") in mappings
    assert ("late", "container-1-request-0") not in mappings, "the sidecar runs by then"
    assert ("late", "container-2-request-0") in mappings


@pytest.mark.parametrize("count", [0, "0", "500m", "many", "-1"])
def test_no_amount_and_none_that_can_be_read_asks_for_no_device(count: int | str) -> None:
    assert asked_of(pod(asks("main", count)), GPU) == Asked()
