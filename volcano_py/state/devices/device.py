"""One device, and the amounts of its capacity that a claim can take."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import msgspec

from volcano_py.api.devices.slices import DeviceTaint, RequestPolicy
from volcano_py.api.objects import NodeSelector
from volcano_py.api.quantity import QuantityError, parse_quantity


class Policy(msgspec.Struct, frozen=True):
    """Which amounts of a capacity can be taken: one of `values`, or from `least` to `most` in steps; `default` where a
    request says nothing."""

    default: Fraction | None = None
    values: tuple[Fraction, ...] = ()
    least: Fraction = Fraction(0)
    most: Fraction | None = None
    step: Fraction | None = None


class Version(msgspec.Struct, frozen=True):
    """An attribute that is a semantic version, as written."""

    text: str


Value = bool | int | str | Version
"""Of an attribute. Values of different types are never equal; mind that `True == 1` in Python."""


class Device(msgspec.Struct, frozen=True, eq=False):
    """One device of a complete, valid pool.

    Attributes:
        attributes: by `domain/name`; the domain is the driver's where the driver gave none.
        capacity: by `domain/name`, quantities as written.
        node: the only node on which it can be used; "" for devices of the network.
        nodes: from which nodes a device of the network can be used; None with `node` "": from all.
        binds_to_node: once given it can be used from the node it was given for only, wherever it could be before.
        is_shared: several claims can have it at once, as long as its capacity lasts.
        policies: for capacity, by `domain/name`.
        published: of devices that are shared, how the driver calls each capacity.
        unusable: why it is given to nobody: it needs something that is not evaluated. "" for most.
    """

    driver: str
    pool: str
    name: str
    attributes: Mapping[str, Value] = msgspec.field(default_factory=dict)
    capacity: Mapping[str, str] = msgspec.field(default_factory=dict)
    taints: tuple[DeviceTaint, ...] = ()
    node: str = ""
    nodes: NodeSelector | None = None
    unusable: str = ""
    binds_to_node: bool = False
    is_shared: bool = False
    policies: Mapping[str, Policy] = msgspec.field(default_factory=dict)
    published: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, str]:
        return self.driver, self.pool, self.name


def read_policy(given: RequestPolicy) -> Policy:
    """Raises QuantityError."""
    bounds = given.valid_range
    policy = Policy(
        default=_optional(given.default),
        values=tuple(map(parse_quantity, given.valid_values)),
        least=Fraction(0) if bounds is None else parse_quantity(bounds.min),
        most=None if bounds is None else _optional(bounds.max),
        step=None if bounds is None else _optional(bounds.step),
    )
    if policy.step is not None and policy.step <= 0:
        raise QuantityError(f"{policy.step} is not a step: it has to be above 0")
    return policy


def _optional(text: str | int | float | None) -> Fraction | None:
    return None if text is None else parse_quantity(text)
