"""Which HyperNode is below which. A link in dispute is left out, and nothing else; both sides get a fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from volcano_py.api.wording.summarize import summarize
from volcano_py.state.topology.hyper_nodes import Fault, FaultReason, HyperNodeInfo


def parents_of(infos: Sequence[HyperNodeInfo]) -> tuple[dict[str, str], list[Fault]]:
    """Child → parent, and what is wrong. `infos` are sorted by name: of several parents the first keeps the child."""
    by_name = {info.name: info for info in infos}
    parents: dict[str, str] = {}
    faults: list[Fault] = []
    for info in infos:
        unknown = [child for child in info.children if child not in by_name]
        if unknown:
            text = f"HyperNodes that do not exist are among its members: {summarize(unknown)}"
            faults.append(Fault(info.name, FaultReason.UNKNOWN_MEMBER, text))
        for child in info.children:
            if child in by_name:
                faults.extend(_join(info, by_name[child], by_name, parents))
    return parents, faults


def _join(
    parent: HyperNodeInfo, child: HyperNodeInfo, by_name: Mapping[str, HyperNodeInfo], parents: dict[str, str]
) -> Iterator[Fault]:
    """Put the child below the parent; what is wrong if that cannot be."""
    if child.tier >= parent.tier:
        is_cycle = _is_below(parent.name, child, by_name)
        reason = FaultReason.CYCLE if is_cycle else FaultReason.TIER
        why = "each is below the other" if is_cycle else "a parent has to be of a higher tier"
        text = f"{child.name} (tier {child.tier}) is not put below {parent.name} (tier {parent.tier}): {why}"
        yield Fault(parent.name, reason, text)
        if child.name != parent.name:
            yield Fault(child.name, reason, text)
        return
    holder = parents.setdefault(child.name, parent.name)
    if holder != parent.name:
        text = f"{child.name} is a member of {holder} and of {parent.name}; it is put below {holder}"
        for name in (child.name, holder, parent.name):
            yield Fault(name, FaultReason.SECOND_PARENT, text)


def _is_below(name: str, top: HyperNodeInfo, by_name: Mapping[str, HyperNodeInfo]) -> bool:
    """Whether members of members of `top` lead to `name`, or it is `top` itself."""
    seen, left = {top.name}, [top]
    while left:
        info = left.pop()
        if info.name == name:
            return True
        fresh = [child for child in info.children if child in by_name and child not in seen]
        seen.update(fresh)
        left.extend(by_name[child] for child in fresh)
    return False
