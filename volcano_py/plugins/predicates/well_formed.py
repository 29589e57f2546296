"""What is wrong with a pod's node selector, node affinity and tolerations, if anything.

The API server refuses most of this when a pod is made, but pods older than a rule, and manifests that never saw an API
server, come as they are. A pod whose terms cannot be read waits, and its message names the field and the fix; no other
pod is affected. The rules are those of Kubernetes' validation of node selector requirements and of label keys and
values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from volcano_py.api.objects import NodeSelectorTerm, SelectorRequirement, Toleration
from volcano_py.api.wording.explain import invalid_field
from volcano_py.plugins.predicates.taints import COMPARISONS, EFFECTS, TOLERATION_OPERATORS
from volcano_py.state.nodes.terms import FIELD_OPERATORS, NAME_FIELD, OPERATORS, whole_number
from volcano_py.state.task_class import TaskClass
from volcano_py.state.terms.label_syntax import LABEL_KEY, LABEL_VALUE

# Each requirement costs a pass over the nodes, and a pod of 1.5 MB, the most that etcd takes by default, could hold
# tens of thousands. Generated affinities list values, not requirements.
MOST_REQUIREMENTS: Final = 1000

_REQUIRED: Final = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[{}]"
_PREFERRED: Final = "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[{}].preference"


def selection_fault(task_class: TaskClass) -> str | None:
    """The first thing wrong with the class's node selector or node affinity, required or preferred, as field, finding
    and fix."""
    return next(_faults_of_selector(task_class), None) or _affinity_fault(task_class)


def toleration_fault(task_class: TaskClass) -> str | None:
    """The first thing wrong with the class's tolerations: values without a meaning. A toleration that matches nothing
    is fine.
    """
    faults = (
        fault
        for number, toleration in enumerate(task_class.tolerations)
        for fault in _faults_of_toleration(f"spec.tolerations[{number}]", toleration)
    )
    return next(faults, None)


def _faults_of_selector(task_class: TaskClass) -> Iterator[str]:
    for key, value in task_class.node_selector:
        if not LABEL_KEY.fullmatch(key):
            yield invalid_field("spec.nodeSelector", key, "name a label, such as topology.kubernetes.io/zone")
        if not LABEL_VALUE.fullmatch(value):
            yield invalid_field(f"spec.nodeSelector[{key}]", value, "a label cannot have this value; correct it")


def _faults_of_toleration(path: str, toleration: Toleration) -> Iterator[str]:
    operator, value = toleration.operator, toleration.value
    if operator and operator not in TOLERATION_OPERATORS:
        yield invalid_field(f"{path}.operator", operator, f"use {_either(TOLERATION_OPERATORS)}")
    if toleration.effect and toleration.effect not in EFFECTS:
        yield invalid_field(f"{path}.effect", toleration.effect, f"use {_either(EFFECTS)}, or none for all")
    if operator in COMPARISONS and whole_number(value) is None:
        yield invalid_field(f"{path}.value", value, f"{operator} needs an integer")


def _affinity_fault(task_class: TaskClass) -> str | None:
    required = task_class.required_node_affinity
    terms = [(_REQUIRED, number, term) for number, term in enumerate(required.node_selector_terms if required else ())]
    terms += [
        (_PREFERRED, number, preferred.preference)
        for number, preferred in enumerate(task_class.preferred_node_affinity)
    ]
    count = sum(len(term.match_expressions) + len(term.match_fields) for _, _, term in terms)
    if count > MOST_REQUIREMENTS:
        return (
            f"spec.affinity.nodeAffinity has {count} requirements: at most {MOST_REQUIREMENTS} are evaluated; list "
            "values of the same key in one requirement"
        )
    faults = (fault for where, number, term in terms for fault in _faults_of_term(where.format(number), term))
    return next(faults, None)


def _faults_of_term(path: str, term: NodeSelectorTerm) -> Iterator[str]:
    for number, requirement in enumerate(term.match_expressions):
        yield from _faults_of_expression(f"{path}.matchExpressions[{number}]", requirement)
    for number, requirement in enumerate(term.match_fields):
        yield from _faults_of_field(f"{path}.matchFields[{number}]", requirement)


def _faults_of_expression(path: str, requirement: SelectorRequirement) -> Iterator[str]:
    key, operator, values = requirement.key, requirement.operator, requirement.values
    if not LABEL_KEY.fullmatch(key):
        yield invalid_field(f"{path}.key", key, "name a label, such as topology.kubernetes.io/zone")
    if operator not in OPERATORS:
        yield invalid_field(f"{path}.operator", operator, f"use {_either(OPERATORS)}")
    elif operator in ("In", "NotIn"):
        if not values:
            yield invalid_field(f"{path}.values", values, f"{operator} needs at least one value")
        for number, value in enumerate(values):
            if not LABEL_VALUE.fullmatch(value):
                yield invalid_field(f"{path}.values[{number}]", value, "a label cannot have this value; correct it")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield invalid_field(f"{path}.values", values, f"{operator} takes none; remove them or use In")
    elif len(values) != 1 or whole_number(values[0]) is None or not LABEL_VALUE.fullmatch(values[0]):
        # values are label values, which cannot begin with a sign
        yield invalid_field(f"{path}.values", values, f"{operator} needs exactly one integer of 0 or more")


def _faults_of_field(path: str, requirement: SelectorRequirement) -> Iterator[str]:
    if requirement.key != NAME_FIELD:
        yield invalid_field(f"{path}.key", requirement.key, f"use {NAME_FIELD}, or matchExpressions for a label")
    if requirement.operator not in FIELD_OPERATORS:
        yield invalid_field(f"{path}.operator", requirement.operator, f"use {_either(FIELD_OPERATORS)}")
    if len(requirement.values) != 1:
        fix = "give exactly one name; use one term for each name"
        yield invalid_field(f"{path}.values", requirement.values, fix)


def _either(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
