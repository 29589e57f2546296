"""Scheduling policies, one small module or package a plugin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BUILTIN_PLUGINS: Final[Mapping[str, str]] = {
    "priority": "volcano_py.plugins.priority:Priority",
    "gang": "volcano_py.plugins.gang:Gang",
    "conformance": "volcano_py.plugins.conformance:Conformance",
    "drf": "volcano_py.plugins.drf.plugin:Drf",
    "predicates": "volcano_py.plugins.predicates.plugin:Predicates",
    "nodeorder": "volcano_py.plugins.nodeorder.plugin:NodeOrder",
    "binpack": "volcano_py.plugins.binpack:Binpack",
    "overcommit": "volcano_py.plugins.overcommit:Overcommit",
    "proportion": "volcano_py.plugins.proportion.plugin:Proportion",
    "capacity": "volcano_py.plugins.capacity.plugin:Capacity",
    "resource-strategy-fit": "volcano_py.plugins.resource_strategy_fit.plugin:ResourceStrategyFit",
    "pdb": "volcano_py.plugins.pdb:Pdb",
    "cdp": "volcano_py.plugins.cdp:Cdp",
    "sla": "volcano_py.plugins.sla:Sla",
    "nodegroup": "volcano_py.plugins.nodegroup.plugin:NodeGroup",
    "resourcequota": "volcano_py.plugins.resourcequota:ResourceQuota",
    "tdm": "volcano_py.plugins.tdm.plugin:Tdm",
    "task-topology": "volcano_py.plugins.task_topology.plugin:TaskTopology",
    "usage": "volcano_py.plugins.usage.plugin:Usage",
    "reservation": "volcano_py.plugins.reservation.plugin:Reservation",
    "network-topology-aware": "volcano_py.plugins.network_topology.plugin:NetworkTopologyAware",
    "deviceshare": "volcano_py.plugins.deviceshare.plugin:DeviceShare",
    "rescheduling": "volcano_py.plugins.rescheduling.plugin:Rescheduling",
    "numa-aware": "volcano_py.plugins.numa_aware.plugin:NumaAware",
    "extender": "volcano_py.plugins.extender.plugin:Extender",
}
"""Name in configurations → place of the class; its module is loaded when a configuration names it."""
