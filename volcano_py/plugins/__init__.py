"""Scheduling policies, one small module or package a plugin."""

from volcano_py.plugins.binpack import Binpack
from volcano_py.plugins.capacity import Capacity
from volcano_py.plugins.cdp import Cdp
from volcano_py.plugins.conformance import Conformance
from volcano_py.plugins.deviceshare import DeviceShare
from volcano_py.plugins.drf import Drf
from volcano_py.plugins.extender import Extender
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.network_topology import NetworkTopologyAware
from volcano_py.plugins.nodegroup import NodeGroup
from volcano_py.plugins.nodeorder.plugin import NodeOrder
from volcano_py.plugins.numa_aware import NumaAware
from volcano_py.plugins.overcommit import Overcommit
from volcano_py.plugins.pdb import Pdb
from volcano_py.plugins.predicates.plugin import Predicates
from volcano_py.plugins.priority import Priority
from volcano_py.plugins.proportion import Proportion
from volcano_py.plugins.rescheduling import Rescheduling
from volcano_py.plugins.reservation import Reservation
from volcano_py.plugins.resource_strategy_fit.plugin import ResourceStrategyFit
from volcano_py.plugins.resourcequota import ResourceQuota
from volcano_py.plugins.sla import Sla
from volcano_py.plugins.task_topology import TaskTopology
from volcano_py.plugins.tdm import Tdm
from volcano_py.plugins.usage import Usage

BUILTIN_PLUGINS = (
    Priority,
    Gang,
    Conformance,
    Drf,
    Predicates,
    NodeOrder,
    Binpack,
    Overcommit,
    Proportion,
    Capacity,
    ResourceStrategyFit,
    Pdb,
    Cdp,
    Sla,
    NodeGroup,
    ResourceQuota,
    Tdm,
    TaskTopology,
    Usage,
    Reservation,
    NetworkTopologyAware,
    DeviceShare,
    Rescheduling,
    NumaAware,
    Extender,
)
