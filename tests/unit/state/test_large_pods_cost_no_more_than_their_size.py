"""Large pods: the work for one grows as its size, however its containers divide it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.measuring.counted_work import CountedName, growth, work_of
from volcano_py.api.objects import Pod, ResourceList
from volcano_py.state.classes.limits import pod_limits
from volcano_py.state.task_class import signature_of

# A loop within a loop gives 4, and a sort a little more than 2.
LINEAR = 2.6
# Calls of functions, of Python and of C, for one container.
FEW = 70


def container(number: int, **fields: Any) -> dict[str, Any]:
    """Asks for what no other one asks for, by name and by amount."""
    return {"name": f"c{number}", "resources": {"requests": {f"x/r{number}": str(number + 1)}}, **fields}


def read(pod: dict[str, Any]) -> int:
    """The work of reading the pod, the names of whose resources are counted when they are touched."""
    parsed = msgspec.convert({"metadata": {}, "spec": pod}, Pod)
    for each in (*parsed.spec.containers, *parsed.spec.init_containers):
        requests: ResourceList = {CountedName(name): amount for name, amount in each.resources.requests.items()}
        each.resources.requests.clear()
        each.resources.requests.update(requests)
    return work_of(lambda: (signature_of(parsed), pod_limits(parsed.spec)))


def sidecars(number: int) -> list[dict[str, Any]]:
    return [container(n, restartPolicy="Always") for n in range(number)]


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(lambda size: {"containers": [container(n) for n in range(size)]}, id="containers"),
        pytest.param(lambda size: {"initContainers": sidecars(size)}, id="sidecars"),
        pytest.param(lambda size: {"initContainers": [container(n) for n in range(size)]}, id="init"),
        pytest.param(
            lambda size: {"initContainers": [*sidecars(size), *(container(n) for n in range(size))]},
            id="init-after-sidecars",
        ),
    ],
)
def test_reading_a_pod_is_linear_in_its_containers(pod: Any) -> None:
    """What all sidecars ask for was compared again for each: seconds, for a pod of 2,000."""
    assert growth(lambda size: read(pod(size)), 200) < LINEAR


def test_a_container_is_read_with_few_calls() -> None:
    """Fractions, and reading everything twice, made them twice as many, and these slower: 150 ms for a pod of 5,000."""
    amounts = {"cpu": "1", "memory": "1"}
    pod = {"containers": [{"name": "c", "resources": {"requests": amounts, "limits": amounts}}]}
    one, many = (read({"containers": pod["containers"] * size}) for size in (1, 101))
    assert (many - one) / 100 < FEW
