"""Names that must match Volcano's byte for byte: groups, annotations, labels, condition types and reasons."""

from __future__ import annotations

from typing import Final

DEFAULT_SCHEDULER_NAME: Final = "volcano"
KUBERNETES_SCHEDULER: Final = "default-scheduler"
"""The scheduler of pods that name none."""
DEFAULT_QUEUE: Final = "default"
ROOT_QUEUE: Final = "root"
SYSTEM_NAMESPACE: Final = "volcano-system"
CONFIG_MAP: Final = "volcano-scheduler-configmap"
CONFIG_KEY: Final = "volcano-scheduler.conf"
ADMISSION: Final = "volcano-py-admission"
"""The Service, the Secret and the webhook configurations of our own admission."""

SCHEDULING_API: Final = "scheduling.volcano.sh/v1beta1"
TOPOLOGY_API: Final = "topology.volcano.sh/v1alpha1"

# Links a pod to its PodGroup; the only key the scheduler itself looks at.
GROUP_NAME: Final = "scheduling.k8s.io/group-name"
GENERATED_GROUP_PREFIX: Final = "podgroup-"  # of PodGroups that are made for pods without one; a UID follows
QUEUE_NAME: Final = "scheduling.volcano.sh/queue-name"
# The queue that a bound pod is charged to; ours, not Volcano's. Written with the binding.
CHARGED_QUEUE: Final = "scheduling.volcano.sh/volcano-py-charged-queue"
# How long a job will run once it has begun, as a duration; ours, for Volcano's `spec.runningEstimate` of a Job.
RUNNING_ESTIMATE: Final = "volcano.sh/running-estimate"
# What `simulate --play` does with an object; ours. It comes so many times, so far apart; a pod runs for so long.
SIMULATE_TIMES: Final = "volcano.sh/simulate-times"
SIMULATE_EVERY: Final = "volcano.sh/simulate-every"
SIMULATE_RUNS_FOR: Final = "volcano.sh/simulate-runs-for"
GROUP_MIN_MEMBER: Final = "scheduling.volcano.sh/group-min-member"
DEVICES_OF_CLASS: Final = "deviceclass/"
"""With the name of a DeviceClass: the resource by which queues limit its devices."""
QUEUE_ALLOCATION_GATE: Final = "scheduling.volcano.sh/queue-allocation-gate"

VOLCANO_PREFIX: Final = "volcano.sh/"
TASK_SPEC: Final = "volcano.sh/task-spec"
TASK_PRIORITY: Final = "volcano.sh/task-priority"
PREEMPTABLE: Final = "volcano.sh/preemptable"
COOLDOWN_TIME: Final = "volcano.sh/cooldown-time"
RESOURCE_STRATEGY_TYPE: Final = "volcano.sh/resource-strategy-scoring-type"
RESOURCE_STRATEGY_WEIGHT: Final = "volcano.sh/resource-strategy-weight"
NUMA_POLICY: Final = "volcano.sh/numa-topology-policy"
REVOCABLE_ZONE: Final = "volcano.sh/revocable-zone"
NODE_GROUP: Final = "volcano.sh/nodegroup-name"
NODE_GROUP_LIMITS: Final = "volcano.sh/nodegroup-resource-limits"
TASK_TOPOLOGY_AFFINITY: Final = "volcano.sh/task-topology-affinity"
TASK_TOPOLOGY_ANTI_AFFINITY: Final = "volcano.sh/task-topology-anti-affinity"
TASK_TOPOLOGY_ORDER: Final = "volcano.sh/task-topology-task-order"
SLA_WAITING_TIME: Final = "volcano.sh/sla-waiting-time"
OLD_SLA_WAITING_TIME: Final = "sla-waiting-time"
JDB_MIN_AVAILABLE: Final = "volcano.sh/jdb-min-available"
JDB_MAX_UNAVAILABLE: Final = "volcano.sh/jdb-max-unavailable"
NETWORK_TOPOLOGY_MODE: Final = "volcano.sh/network-topology-mode"
NETWORK_TOPOLOGY_HIGHEST_TIER: Final = "volcano.sh/network-topology-highest-tier"
HIERARCHY: Final = "volcano.sh/hierarchy"
HIERARCHY_WEIGHTS: Final = "volcano.sh/hierarchy-weights"
CLOSED_BY_PARENT: Final = "volcano.sh/closed-by-parent"
OVERSUBSCRIPTION_LABEL: Final = "volcano.sh/oversubscription"
OVERSUBSCRIPTION_CPU: Final = "volcano.sh/oversubscription-cpu"
OVERSUBSCRIPTION_MEMORY: Final = "volcano.sh/oversubscription-memory"

# Shared GPUs (Volcano's older device plugin). Resources; on nodes; with the binding.
GPU_MEMORY: Final = "volcano.sh/gpu-memory"
GPU_NUMBER: Final = "volcano.sh/gpu-number"
GPU_UNHEALTHY: Final = "volcano.sh/gpu-unhealthy-ids"
GPU_INDEX: Final = "volcano.sh/gpu-index"
GPU_TIME: Final = "volcano.sh/predicate-time"

# Shared GPUs (HAMi's device plugin for Volcano). Resources; on nodes; on pods, by their authors; with the binding.
VGPU_NUMBER: Final = "volcano.sh/vgpu-number"
VGPU_MEMORY: Final = "volcano.sh/vgpu-memory"
VGPU_CORES: Final = "volcano.sh/vgpu-cores"
VGPU_REGISTER: Final = "volcano.sh/node-vgpu-register"
VGPU_MODE: Final = "volcano.sh/vgpu-mode"
VGPU_USE_UUID: Final = "volcano.sh/vgpu-use-gpuuuid"
VGPU_NO_USE_UUID: Final = "volcano.sh/vgpu-nouse-gpuuuid"
VGPU_USE_TYPE: Final = "nvidia.com/use-gputype"
VGPU_NO_USE_TYPE: Final = "nvidia.com/nouse-gputype"
VGPU_GROUP_POLICY: Final = "volcano.sh/vgpu-podgroup-policy"
VGPU_NODE: Final = "volcano.sh/vgpu-node"
VGPU_TIME: Final = "volcano.sh/vgpu-time"
VGPU_IDS: Final = "volcano.sh/vgpu-ids-new"
DEVICES_TO_ALLOCATE: Final = "volcano.sh/devices-to-allocate"
DEVICE_BIND_TIME: Final = "volcano.sh/bind-time"
DEVICE_BIND_PHASE: Final = "volcano.sh/bind-phase"

SYSTEM_CRITICAL_PRIORITY_CLASSES: Final = frozenset({"system-cluster-critical", "system-node-critical"})

# PodGroup condition types and reasons
UNSCHEDULABLE: Final = "Unschedulable"
SCHEDULED: Final = "Scheduled"
NOT_ENOUGH_RESOURCES: Final = "NotEnoughResources"
NOT_ENOUGH_TASKS: Final = "NotEnoughTasks"
NOT_ENOUGH_PODS_OF_TASK: Final = "NotEnoughPodsOfTask"
PLACE_HELD: Final = "PlaceHeld"  # ours, not Volcano's; see plugins/reservation
PLACED_IN_HYPER_NODE: Final = "PlacedInHyperNode"
"""Type of the condition, and reason of the event, of a PodGroup that is kept together; ours, not Volcano's."""
READY_TO_SCHEDULE: Final = "tasks in gang are ready to be scheduled"
FIELDS_IGNORED: Final = "FieldsIgnored"
"""Type of the condition, and reason of the event, of a Queue with fields that the configuration does not use."""
IGNORED_ANNOTATION: Final = "IgnoredAnnotation"
"""Reason of the event on an object with an annotation or label that cannot be read."""
NOT_USED_BY_CONFIGURATION: Final = "NotUsedByConfiguration"
USED_BY_CONFIGURATION: Final = "UsedByConfiguration"
POD_GROUP_READY: Final = "pod group is ready"

# PodScheduled=False reasons on pods. Autoscalers act on `Unschedulable` only.
POD_SCHEDULED: Final = "PodScheduled"
POD_REASON_UNSCHEDULABLE: Final = "Unschedulable"
POD_REASON_SCHEDULABLE: Final = "Schedulable"
POD_REASON_UNDETERMINED: Final = "Undetermined"
POD_REASON_ERROR: Final = "SchedulerError"

# Condition of a pod before it is deleted for the sake of others, and its reason when a scheduler does that.
DISRUPTION_TARGET: Final = "DisruptionTarget"
PREEMPTION_BY_SCHEDULER: Final = "PreemptionByScheduler"
