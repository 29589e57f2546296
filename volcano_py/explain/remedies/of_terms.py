"""Where the pod may go: a selector dropped, a toleration added, a scheduling gate removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from volcano_py.api.objects import Node, PodSpec, Taint, Toleration
from volcano_py.explain.model import Remedy
from volcano_py.explain.remedies.candidate import Candidate
from volcano_py.explain.target import Target
from volcano_py.explain.world import Change, World


def other_terms(world: World, target: Target) -> Iterator[Candidate]:
    """One term at a time, for all waiting pods."""
    if not target.waiting:
        return
    spec = target.waiting[0].spec
    for key, value in spec.node_selector.items():
        yield _changed(target, "selector", f"drop the nodeSelector {key}={value}", _without_selector(key))
    if spec.affinity is not None:
        yield _changed(target, "affinity", "drop the affinity", lambda old: replace(old, affinity=None))
    if spec.topology_spread_constraints:
        text = "drop the topologySpreadConstraints"
        yield _changed(target, "spread", text, lambda old: replace(old, topology_spread_constraints=[]))
    for gate in spec.scheduling_gates[:1]:
        text = f"remove the scheduling gate {gate.name}"
        yield _changed(target, "gate", text, lambda old: replace(old, scheduling_gates=[]))
    taints = {(t.key, t.value, t.effect): t for node in world.objects("Node", Node) for t in node.spec.taints}
    for taint in taints.values():
        if taint.effect != "PreferNoSchedule" and not taint.key.startswith("node.kubernetes.io/"):
            text = f"tolerate the taint {taint.key}={taint.value}:{taint.effect}"
            yield _changed(target, "toleration", text, _tolerating(taint))


def _without_selector(key: str) -> Callable[[PodSpec], PodSpec]:
    def changed(old: PodSpec) -> PodSpec:
        return replace(old, node_selector={name: each for name, each in old.node_selector.items() if name != key})

    return changed


def _tolerating(taint: Taint) -> Callable[[PodSpec], PodSpec]:
    toleration = Toleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
    return lambda old: replace(old, tolerations=[*old.tolerations, toleration])


def _changed(target: Target, kind: str, text: str, change: Callable[[PodSpec], PodSpec]) -> Candidate:
    return Candidate(
        Remedy(kind, text),
        tuple(Change("Pod", pod.metadata.key, replace(pod, spec=change(pod.spec))) for pod in target.waiting),
    )
