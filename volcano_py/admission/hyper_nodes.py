"""HyperNodes: what an object by itself has to be, and what of it will do nothing.

What needs the other HyperNodes, such as cycles, is never refused: they may be created in any order. The link in
dispute is left out of the tree, and reported in a condition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from volcano_py.admission.violation import Violation, Violations, new_violations
from volcano_py.api.dns_names import is_subdomain
from volcano_py.api.hyper_nodes import HyperNode, Member
from volcano_py.state.topology.patterns import fault_of

_NODE: Final = "Node"
_HYPER_NODE: Final = "HyperNode"
_ANCHORED: Final = re.compile(r"\^.*\$|\\A.*\\z", re.DOTALL)


def validate_create(hyper_node: HyperNode) -> Violations:
    """What is wrong with a new HyperNode."""
    return tuple(_breaks(hyper_node))


def validate_update(before: HyperNode, after: HyperNode) -> Violations:
    """What the update breaks."""
    return new_violations(validate_create(after), validate_create(before))


def _breaks(hyper_node: HyperNode) -> Iterator[Violation]:
    spec = hyper_node.spec
    if spec.tier < 0:
        yield Violation(field="spec.tier", value=str(spec.tier), rule="is negative", fix="write 0 or more")
    if not spec.members:
        rule, fix = "at least one member is required", "add a node or a HyperNode"
        yield Violation(field="spec.members", value="", rule=rule, fix=fix)
    for number, member in enumerate(spec.members):
        yield from _member(f"spec.members[{number}]", member)


def _member(field: str, member: Member) -> Iterator[Violation]:
    selector = member.selector
    if member.type not in (_NODE, _HYPER_NODE):
        rule, fix = "is not a type of member", "write Node or HyperNode"
        yield Violation(field=f"{field}.type", value=member.type, rule=rule, fix=fix)
    given = [
        name
        for name, value in (
            ("exactMatch", selector.exact_match),
            ("regexMatch", selector.regex_match),
            ("labelMatch", selector.label_match),
        )
        if value is not None
    ]
    if len(given) != 1:
        rule = "are set together" if given else "selects nothing"
        fix = "use exactly one of exactMatch, regexMatch and labelMatch"
        yield Violation(field=f"{field}.selector", value=" and ".join(given), rule=rule, fix=fix)
    exact, regex = selector.exact_match, selector.regex_match
    if exact is not None and not is_subdomain(exact.name):
        rule, fix = f"cannot be the name of a {member.type or 'member'}", "write the name of an object"
        yield Violation(field=f"{field}.selector.exactMatch.name", value=exact.name, rule=rule, fix=fix)
    if regex is not None and (fault := fault_of(regex.pattern)):
        rule, fix = f"cannot be used: {fault}", "correct the regular expression (syntax of RE2)"
        yield Violation(field=f"{field}.selector.regexMatch.pattern", value=regex.pattern, rule=rule, fix=fix)


def children(hyper_node: HyperNode) -> frozenset[str]:
    """The HyperNodes that it names among its members."""
    exact = (member.selector.exact_match for member in hyper_node.spec.members if member.type == _HYPER_NODE)
    return frozenset(each.name for each in exact if each is not None)


def warnings(hyper_node: HyperNode, tiers: Mapping[str, int]) -> Iterator[str]:
    """What is admitted, but hardly does what is meant. `tiers`: those of the HyperNodes there are."""
    spec = hyper_node.spec
    for number, member in enumerate(spec.members):
        field, selector = f"spec.members[{number}].selector", member.selector
        if member.type == _HYPER_NODE and selector.exact_match is None:
            yield f"{field} selects no HyperNode: only exactMatch selects HyperNodes; name them one by one"
        elif member.type == _NODE and selector.regex_match is not None:
            pattern = selector.regex_match.pattern
            if not _ANCHORED.fullmatch(pattern):
                yield (
                    f"{field}.regexMatch.pattern {pattern} may be found anywhere in a name, as node-1 is in node-10; "
                    f"write ^ before and $ after it"
                )
        elif selector.label_match is not None:
            match = selector.label_match
            if not match.match_labels and not match.match_expressions:
                yield f"{field}.labelMatch is empty, so it selects no node; name a label"
    for child in sorted(children(hyper_node)):
        if (tier := tiers.get(child)) is not None and tier >= spec.tier:
            yield (
                f"spec.tier is {spec.tier}, not above {tier} of its member {child}, which is not put below it; "
                f"write {tier + 1} or more"
            )
