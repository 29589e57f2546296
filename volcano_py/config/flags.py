"""The `enable…` switches of a plugin entry, and the extension point that each of them gates."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from volcano_py.config.arguments import Arguments, argument


class Flags(Arguments):
    """Switches of one plugin entry. The keys' mixed spelling (`enable…`, `enabled…`) is Volcano's."""

    job_order: bool = argument("enableJobOrder", True, "Enables the plugin's order of jobs.")
    namespace_order: bool = argument(
        "enableNamespaceOrder",
        False,
        "Enables the plugin's order of namespaces inside a queue (fair share between namespaces).",
    )
    hierarchy: bool = argument(
        "enableHierarchy",
        False,
        "Enables hierarchical queues: hierarchical fair share in drf, the tree of queues in capacity and proportion, "
        "inheritance of node group affinity in nodegroup.",
    )
    job_ready: bool = argument("enableJobReady", True, "Enables the plugin's test of whether a job is ready.")
    job_pipelined: bool = argument(
        "enableJobPipelined", True, "Enables the plugin's vote on whether what a job waits for is kept."
    )
    task_order: bool = argument("enableTaskOrder", True, "Enables the plugin's order of the tasks of a job.")
    preemptable: bool = argument(
        "enablePreemptable",
        True,
        "Enables the plugin's choice of victims for preempt, and (unless enabledAllocatable is on) "
        "its simulated adding and removing of tasks.",
    )
    reclaimable: bool = argument("enableReclaimable", True, "Enables the plugin's choice of victims for reclaim.")
    preemptive: bool = argument(
        "enablePreemptive", True, "Enables the plugin's test of whether a queue may reclaim for a task."
    )
    queue_order: bool = argument("enableQueueOrder", True, "Enables the plugin's order of queues.")
    cluster_order: bool = argument(
        "enabledClusterOrder", False, "Enables the plugin's order of clusters (multi-cluster scheduling)."
    )
    predicate: bool = argument(
        "enablePredicate", True, "Enables the plugin's predicates: which nodes can take a task at all."
    )
    best_node: bool = argument("enableBestNode", True, "Enables the plugin's direct choice of the best node.")
    node_order: bool = argument("enableNodeOrder", True, "Enables the plugin's scores of nodes.")
    target_job: bool = argument(
        "enableTargetJob", True, "Formerly: the choice of a job to reserve nodes for. Accepted, without effect."
    )
    reserved_nodes: bool = argument(
        "enableReservedNodes", True, "Formerly: the reservation of nodes. Accepted, without effect."
    )
    job_enqueued: bool = argument(
        "enableJobEnqueued",
        True,
        "Enables both the plugin's vote on admitting a job to its queue and its note of admitted jobs.",
    )
    victim: bool = argument("enabledVictim", True, "Enables the plugin's choice of victims for shuffle.")
    job_starving: bool = argument(
        "enableJobStarving",
        True,
        "Enables the plugin's test of whether a job is starving, which starts preempt and reclaim.",
    )
    overused: bool = argument("enabledOverused", True, "Enables the plugin's test of whether a queue is overused.")
    allocatable: bool = argument(
        "enabledAllocatable", True, "Enables the plugin's test of whether a queue may take one more task."
    )
    hyper_node_order: bool = argument(
        "enabledHyperNodeOrder", True, "Enables the plugin's scores of network topology domains."
    )
    hyper_node_gradient: bool = argument(
        "enabledHyperNodeGradient", True, "Enables the plugin's list of network topology domains to try."
    )
    sub_job_ready: bool = argument(
        "enabledSubJobReady", True, "Enables the plugin's test of whether a sub-group of a job is ready."
    )
    sub_job_pipelined: bool = argument(
        "enabledSubJobPipelined", True, "Enables the plugin's vote on whether what a sub-group waits for is kept."
    )
    sub_job_order: bool = argument("enabledSubJobOrder", True, "Enables the plugin's order of the sub-groups of a job.")

    def allow(self, point: str) -> bool:
        """Whether these switches let the plugin take part in an extension point.

        Points without a switch (job validity, victim queue order, …) are always open.
        """
        if point in SIMULATION_POINTS:
            return self.preemptable or self.allocatable
        name = FLAG_OF_POINT.get(point)
        if name is None:
            return True
        is_on: bool = getattr(self, name)
        return is_on


# Extension points that one switch gates. job_valid, victim_queue_order and unified_evictable have none.
FLAG_OF_POINT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "job_order": "job_order",
        "namespace_order": "namespace_order",
        "job_ready": "job_ready",
        "tasks_to_ready": "job_ready",
        "job_pipelined": "job_pipelined",
        "task_order": "task_order",
        "preemptable": "preemptable",
        "reclaimable": "reclaimable",
        "preemptive": "preemptive",
        "queue_order": "queue_order",
        "cluster_order": "cluster_order",
        "pre_predicate": "predicate",
        "predicate": "predicate",
        "simulate_predicate": "predicate",
        "best_node": "best_node",
        "node_order": "node_order",
        "batch_node_order": "node_order",
        "job_enqueueable": "job_enqueued",
        "job_enqueued": "job_enqueued",
        "victim_tasks": "victim",
        "spared_tasks": "victim",
        "job_starving": "job_starving",
        "overused": "overused",
        "allocatable": "allocatable",
        "simulate_allocatable": "allocatable",
        "hyper_node_order": "hyper_node_order",
        "hyper_node_gradient": "hyper_node_gradient",
        "sub_job_ready": "sub_job_ready",
        "sub_job_pipelined": "sub_job_pipelined",
        "sub_job_order": "sub_job_order",
    }
)
# Either of two switches opens these.
SIMULATION_POINTS: Final = frozenset({"simulate_add_task", "simulate_remove_task"})
