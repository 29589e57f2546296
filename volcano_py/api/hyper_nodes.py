"""HyperNodes (`topology.volcano.sh/v1alpha1`): parts of the network, such as racks, in which nodes are near."""

from __future__ import annotations

from volcano_py.api.objects import ApiObject, Condition, Integer, LabelSelector, ObjectMeta


class ExactMatch(ApiObject, frozen=True):
    name: str = ""


class RegexMatch(ApiObject, frozen=True):
    pattern: str = ""


class MemberSelector(ApiObject, frozen=True):
    """Exactly one of the three is set."""

    exact_match: ExactMatch | None = None
    regex_match: RegexMatch | None = None
    label_match: LabelSelector | None = None


class Member(ApiObject, frozen=True):
    """`type` is `Node` or `HyperNode`."""

    type: str = ""
    selector: MemberSelector = MemberSelector()


class HyperNodeSpec(ApiObject, frozen=True):
    """A tier that is missing is 0: Go clients leave out zeros."""

    tier: Integer = 0
    tier_name: str = ""
    members: list[Member] = []


class HyperNodeStatus(ApiObject, frozen=True):
    node_count: Integer | None = None
    conditions: list[Condition] = []


class HyperNode(ApiObject, frozen=True):
    metadata: ObjectMeta
    spec: HyperNodeSpec = HyperNodeSpec()
    status: HyperNodeStatus = HyperNodeStatus()
