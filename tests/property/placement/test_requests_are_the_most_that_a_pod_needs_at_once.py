"""A pod's requests are the most that its containers need at any moment, as Kubernetes' documentation has it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from volcano_py.api.objects import ObjectMeta, Pod, PodSpec
from volcano_py.api.quantity import parse_quantity
from volcano_py.api.requests import pod_requests
from volcano_py.state.task_class import NONZERO_MEMORY, NONZERO_MILLI_CPU, signature_of

AMOUNTS = st.sampled_from(["0", "1", "250m", "1.5", "3n", "1e-12", "2Ki", "0.5Mi", "7u", "1E"])
RESOURCES = st.dictionaries(st.sampled_from(["cpu", "memory", "x/a"]), AMOUNTS)


def containers(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    resources = st.fixed_dictionaries({"requests": RESOURCES})
    return st.lists(st.fixed_dictionaries({"resources": resources, **fields}), max_size=4)


SPECS = st.fixed_dictionaries(
    {
        "containers": containers(),
        "initContainers": containers(restartPolicy=st.sampled_from(["", "Always"])),
        "overhead": RESOURCES,
    }
)


def at_most(spec: PodSpec, name: str, missing: Fraction) -> Fraction:
    """The most of one resource at any moment, looked at one moment after the other."""

    def asked(container: Any) -> Fraction:
        text = container.resources.requests.get(name)
        return missing if text is None else parse_quantity(text)

    moments, sidecars = [], Fraction(0)
    for container in spec.init_containers:
        moments.append(sidecars + asked(container))
        if container.restart_policy == "Always":
            sidecars += asked(container)
    moments.append(sidecars + sum(map(asked, spec.containers), Fraction(0)))
    return max(moments) + parse_quantity(spec.overhead.get(name, "0"))


@given(SPECS)
def test_requests_are_the_most_that_is_needed_at_once(body: dict[str, Any]) -> None:
    spec = msgspec.convert(body, PodSpec)
    found = pod_requests(spec)
    for name in ("cpu", "memory", "x/a"):
        assert found.get(name, 0) == at_most(spec, name, Fraction(0))


@given(SPECS)
def test_containers_that_ask_for_nothing_count_with_a_stand_in(body: dict[str, Any]) -> None:
    """For scores alone, and where they do not say 0 themselves."""
    spec = msgspec.convert(body, PodSpec)
    missing = {"cpu": Fraction(NONZERO_MILLI_CPU, 1000), "memory": Fraction(NONZERO_MEMORY)}
    wanted = {name: at_most(spec, name, amount) for name, amount in missing.items()}
    cpu, memory = signature_of(Pod(metadata=ObjectMeta(), spec=spec)).nonzero
    assert cpu == min(-(-wanted["cpu"] * 1000 // 1), 2**50)
    assert memory == min(-(-wanted["memory"] // 1), 2**50)
