"""The single scores of nodeorder, and the plugins of kube-scheduler that they must equal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import yaml

from e2e.differential.ours import Objects, Ours
from e2e.differential.theirs import MOST_ALLOCATED, SCHEDULER_NAME
from e2e.differential.words import HOST, Manifest
from volcano_py.api.objects import Node, Pod
from volcano_py.local.nodes import simulated_node
from volcano_py.plugins.nodeorder.arguments import NodeOrderArguments


@dataclass(frozen=True, slots=True)
class Component:
    """`argument` switches it on here; `weight` is what kube-scheduler's plugin has by default.

    `profile` names the only profile whose pods can be compared, "" for any. `wish` is a part of a pod's spec that makes
    it prefer a node without pods of the app `web` over one with such a pod, for scores that may not be there yet.
    `constraints` says whether pods with topology spread constraints can be compared, or those without; None for both.
    """

    name: str
    argument: str
    plugin: str
    weight: int = 1
    profile: str = ""
    wish: str = ""
    constraints: bool | None = None

    def concerns(self, pod: Mapping[str, Any]) -> bool:
        """Whether the score of this pod's nodes is compared."""
        has_constraints = bool(pod["spec"].get("topologySpreadConstraints"))
        return self.profile in ("", pod["spec"]["schedulerName"]) and self.constraints in (None, has_constraints)

    @property
    def configuration(self) -> str:
        """A volcano-scheduler.conf with nothing but this score."""
        names = [field.validation_alias for field in NodeOrderArguments.model_fields.values()]
        arguments = {str(name): int(name == self.argument) for name in names if str(name).endswith(".weight")}
        plugins = [{"name": "predicates"}, {"name": "nodeorder", "arguments": arguments}]
        return yaml.safe_dump({"actions": "enqueue, allocate", "tiers": [{"plugins": plugins}]})


_SELECTOR: Final[Manifest] = {"matchLabels": {"app": "web"}}
_AWAY: Final = {"weight": 1, "podAffinityTerm": {"topologyKey": HOST, "labelSelector": _SELECTOR}}
_WISHES: Final[dict[str, Any]] = {
    "away": {
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [_AWAY]}},
    },
    "spread": {
        "topologySpreadConstraints": [
            {"topologyKey": HOST, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": _SELECTOR}
        ],
    },
}

COMPONENTS: Final = (
    Component("least allocated", "leastrequested.weight", "NodeResourcesFit", profile=SCHEDULER_NAME),
    Component("most allocated", "mostrequested.weight", "NodeResourcesFit", profile=MOST_ALLOCATED),
    Component("balanced", "balancedresource.weight", "NodeResourcesBalancedAllocation"),
    Component("node affinity", "nodeaffinity.weight", "NodeAffinity", 2),
    Component("taint toleration", "tainttoleration.weight", "TaintToleration", 3),
    Component("image locality", "imagelocality.weight", "ImageLocality"),
    Component("pod affinity", "podaffinity.weight", "InterPodAffinity", 2, wish="away"),
    Component("topology spread", "podtopologyspread.weight", "PodTopologySpread", 2, "", "spread", True),
    Component("spread by default", "podtopologyspread.weight", "PodTopologySpread", 2, constraints=False),
)


def scored(components: Iterable[Component]) -> list[Component]:
    """Those that this scheduler works out: it is shown a pod that has such a preference."""
    return [component for component in components if not component.wish or _heeded(component)]


def _heeded(component: Component) -> bool:
    empty, taken = Ours(_example(_WISHES[component.wish]), component.configuration).scores("asked", ["empty", "taken"])
    return empty > taken


def _example(spec: Manifest) -> Objects:
    nodes = [msgspec.convert(simulated_node(name), Node) for name in ("empty", "taken")]
    return {"Node": nodes, "Pod": [_pod("running", {"nodeName": "taken"}), _pod("asked", spec)]}


def _pod(name: str, spec: Manifest) -> Pod:
    metadata = {"name": name, "uid": name, "namespace": "any", "labels": {"app": "web"}}
    containers = [{"name": "main", "image": "any"}]
    body = {"metadata": metadata, "spec": {"schedulerName": SCHEDULER_NAME, "containers": containers, **spec}}
    return msgspec.convert(body, Pod)
