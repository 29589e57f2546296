"""How large one object may be, and how many terms the objects of one namespace may have together.

Users who may create a pod or a Job make the scheduler work on it. Below these bounds the work for one object takes
milliseconds. What is beyond a bound is refused for that object alone, with a reason that names the bound. Bounds are
far above what people write by hand; those of Kubernetes itself are not repeated here.
"""

from __future__ import annotations

from typing import Final

import msgspec


class Bound(msgspec.Struct, frozen=True):
    """At most `most` of `what`; `refused` says what happens beyond it, for the documentation."""

    most: int
    what: str
    refused: str


_NO_PODS: Final = "The webhook refuses the Job. Without webhooks, the Job gets no pods, and its status says why."
_WAITS: Final = "The pod waits with the reason `InvalidPod`."
_GROUP_WAITS: Final = "The PodGroup waits with the reason `InvalidPodGroup`."

TASKS: Final = Bound(1_000, "tasks of a Job", _NO_PODS)
DEPENDENCIES: Final = Bound(10_000, "names in `dependsOn` of all tasks of a Job together", _NO_PODS)
POLICIES: Final = Bound(300, "policies of a Job, and of each of its tasks", _NO_PODS)
MOUNTS: Final = Bound(10_000, "volumes of a Job times containers of one of its tasks", _NO_PODS)
HOSTS: Final = Bound(10_000, "pods of a Job whose host names a plugin lists", "The plugin refuses the Job.")
ARGUMENTS: Final = Bound(100, "arguments of one plugin of a Job", _NO_PODS)
SSH_KEY: Final = Bound(8_192, "characters of the private key that the plugin `ssh` is given", _NO_PODS)
VARIABLES: Final = Bound(
    10_000,
    "variables that the plugin `svc` adds to one pod",
    "The pod is not created; the Job has an event that says why.",
)
FLOW_STEPS: Final = Bound(1_000, "steps of a JobFlow", "No Jobs are created for the JobFlow.")
FLOW_TARGETS: Final = Bound(10_000, "targets in `dependsOn` of all steps of a JobFlow", "As above.")
GROUP_TASKS: Final = Bound(1_000, "entries in `minTaskMember` of a PodGroup", _GROUP_WAITS)
GROUP_RESOURCES: Final = Bound(1_000, "names in `minResources` of a PodGroup", _GROUP_WAITS)
POD_TERMS: Final = Bound(32, "terms about other pods in a pod's `affinity`", _WAITS)
SPREADS: Final = Bound(32, "entries in a pod's `topologySpreadConstraints`", _WAITS)
NODE_TERMS: Final = Bound(500, "terms about nodes in a pod's `affinity`", _WAITS)
SELECTOR_VALUES: Final = Bound(
    1_000, "conditions, values and namespaces in one term about other pods, or in one spread", _WAITS
)
TERMS: Final = Bound(
    2_000,
    "different terms about other pods in all pods of a namespace (`affinity`, and the selectors of"
    " `topologySpreadConstraints`)",
    f"{_WAITS} It is looked at again when other pods of the namespace are gone.",
)
CROWDED_TERMS: Final = Bound(
    50,
    "such terms that are looked up by the same condition: by a label with its value if the term has one, else by a"
    " label that has to exist, else by the namespace",
    "As above.",
)
SERVICES: Final = Bound(
    20,
    "selectors of Services with the same longest label, for the spread of pods that have no"
    " `topologySpreadConstraints`",
    "The others do not count for that spread.",
)
TERMS_IN_ALL: Final = Bound(50_000, "different terms about other pods in the whole cluster", "As above.")
CARDS: Final = Bound(
    128,
    "GPUs of a node that pods may share, by its annotation `volcano.sh/node-vgpu-register` or its capacity"
    " `volcano.sh/gpu-number`",
    "The node offers no parts of these GPUs; an event says so of the annotation, the log of the capacity.",
)
CPUS: Final = Bound(
    4_096,
    "CPUs of a node, by the keys of `spec.cpuDetail` of its Numatopology",
    "Its CPUs cannot be aligned; an event says so.",
)
NUMA_NODES: Final = Bound(8, "NUMA nodes of a node, by its Numatopology", "As above.")
# A user who may create a pod can invent resource names; each costs a column in every table.
RESOURCES_ASKED: Final = Bound(
    64,
    "names of resources in the whole cluster, as far as only pods and PodGroups bring them up",
    "A pod that asks for another one waits with the reason `InvalidPod`, a PodGroup with `InvalidPodGroup`. No node"
    " offers it, nor does a queue name it.",
)
RESOURCES_LIMITED: Final = Bound(
    96, "the same with those that queues name", "The queue counts without it, and its condition says so."
)
RESOURCES: Final = Bound(
    128, "the same with those that nodes offer", "The node is used without it, and the log says so."
)

ALL: Final = (
    TASKS,
    DEPENDENCIES,
    POLICIES,
    MOUNTS,
    HOSTS,
    ARGUMENTS,
    SSH_KEY,
    VARIABLES,
    FLOW_STEPS,
    FLOW_TARGETS,
    GROUP_TASKS,
    GROUP_RESOURCES,
    POD_TERMS,
    SPREADS,
    NODE_TERMS,
    SELECTOR_VALUES,
    TERMS,
    CROWDED_TERMS,
    TERMS_IN_ALL,
    SERVICES,
    CARDS,
    CPUS,
    NUMA_NODES,
    RESOURCES_ASKED,
    RESOURCES_LIMITED,
    RESOURCES,
)
"""All bounds, in the order of the documentation."""
