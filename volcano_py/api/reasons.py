"""Why something waits: one closed enumeration for conditions, events, metrics, the command line and the docs."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class Rank(IntEnum):
    """Precedence of reasons: when several hold, the one of the lowest rank is reported, as it has to be fixed first."""

    MISCONFIGURED = 0
    NEVER_FITS = 1
    GATED = 2
    OVER_CEILING = 3
    NODES = 4
    WAITS_FOR_OTHERS = 5
    WAITS_FOR_VICTIMS = 6
    NOT_EVALUATED = 7


class Reason(StrEnum):
    """A closed set. Each member carries its rank and a text for the documentation: what it means, then what to do.

    The value is what people see at the start of messages, in metric labels and in JSON.
    """

    rank: Rank
    text: str

    def __new__(cls, value: str, rank: Rank, text: str) -> Reason:
        member = str.__new__(cls, value)
        member._value_ = value
        member.rank = rank
        member.text = text
        return member

    INVALID_POD = (
        "InvalidPod",
        Rank.MISCONFIGURED,
        (
            "The pod's specification cannot be read, or asks for an impossible quantity. Fix the field that the "
            "message names; for most fields this means to delete the pod and create it again."
        ),
    )
    INVALID_POD_GROUP = (
        "InvalidPodGroup",
        Rank.MISCONFIGURED,
        "The PodGroup cannot be read. Fix the field that the message names.",
    )
    UNSUPPORTED = (
        "Unsupported",
        Rank.MISCONFIGURED,
        (
            "The pod asks for something that this scheduler does not support yet, and waits rather than being placed "
            "without it. Leave out what the message names, or give the pod to another scheduler in "
            "`spec.schedulerName`."
        ),
    )
    POD_GROUP_NOT_FOUND = (
        "PodGroupNotFound",
        Rank.MISCONFIGURED,
        (
            "The pod names a PodGroup that does not exist in its namespace. Create the PodGroup, or recreate the pod "
            "with another one in its annotation `scheduling.k8s.io/group-name`. Without the annotation, a PodGroup is "
            "generated for the pod."
        ),
    )
    QUEUE_NOT_FOUND = (
        "QueueNotFound",
        Rank.MISCONFIGURED,
        (
            "The queue does not exist; the message says what names it: the PodGroup, the Job, the pod, or the "
            "namespace. Create the queue, or name another one there."
        ),
    )
    INVALID_QUEUE = (
        "InvalidQueue",
        Rank.MISCONFIGURED,
        (
            "The queue breaks a rule of the queue tree (missing parent, cycle, jobs in a queue that has child queues), "
            "or cannot be read. Fix the field of the queue that the message names, or use another queue."
        ),
    )
    PLUGIN_ERROR = (
        "PluginError",
        Rank.MISCONFIGURED,
        (
            "A plugin failed while it evaluated the pod, so the pod is skipped in this cycle and evaluated again in "
            "the next. Read the traceback in the scheduler's log, and fix the plugin or remove it from the "
            "configuration."
        ),
    )
    NOT_ENOUGH_TASKS = (
        "NotEnoughTasks",
        Rank.MISCONFIGURED,
        (
            "The gang has fewer pods than its minMember (or minTaskMember) asks for: the rest have not been created, "
            "or have failed. Look at the events of the controller that creates them, or lower the minimum."
        ),
    )
    NEVER_FITS = (
        "NeverFits",
        Rank.NEVER_FITS,
        (
            "The pod asks for more than any node that may take it has in total, so waiting does not help. Ask for "
            "less, or add a larger node."
        ),
    )
    SCHEDULING_GATED = (
        "SchedulingGated",
        Rank.GATED,
        (
            "The pod has scheduling gates (`spec.schedulingGates`). The message names them; the controller or "
            "user that set them must remove them."
        ),
    )
    VOLUME_NOT_READY = (
        "VolumeNotReady",
        Rank.GATED,
        (
            "A PersistentVolumeClaim of the pod is missing, lost, being deleted or not bound. Look at the claim that "
            "the message names with `kubectl describe pvc`."
        ),
    )
    DEVICES_NOT_READY = (
        "DevicesNotReady",
        Rank.GATED,
        (
            "A ResourceClaim of the pod is missing, not generated yet, or being deleted, or cannot get devices as it "
            "is. Look at the claim that the message names with `kubectl describe resourceclaim`."
        ),
    )
    QUEUE_CLOSED = (
        "QueueClosed",
        Rank.OVER_CEILING,
        (
            "The queue, or one above it, is Closed or Closing and starts nothing. Open it (`volcano-py queue open`), "
            "or use another queue."
        ),
    )
    OVER_CAPABILITY = (
        "OverCapability",
        Rank.OVER_CEILING,
        (
            "The queue, or one above it, would hold more than its `spec.capability`, or more than guarantees of other "
            "queues leave. Wait until its jobs finish, or change what the message names."
        ),
    )
    OVER_DESERVED = (
        "OverDeserved",
        Rank.OVER_CEILING,
        (
            "The queue would hold more than its share of the cluster. Wait until its jobs finish or others ask for "
            "less, or raise its weight or what it deserves."
        ),
    )
    CLUSTER_OVERCOMMITTED = (
        "ClusterOvercommitted",
        Rank.OVER_CEILING,
        (
            "The cluster, times its overcommit factor, is already promised to other jobs. Wait until jobs finish, add "
            "nodes, or raise `overcommit-factor`."
        ),
    )
    PROMISE_LAPSED = (
        "PromiseLapsed",
        Rank.OVER_CEILING,
        (
            "The job was admitted, but none of its pods was created in time (argument `promiseTimeout` of the action "
            "`enqueue`). Or it was admitted because evictions could make room for it, but got no place in time. Or "
            "this happened to another job of its namespace and queue. It goes behind the jobs that waited then. Look "
            "at the events of the controller that creates the pods. Delete a PodGroup that will have no pods."
        ),
    )
    OVER_QUOTA = (
        "OverQuota",
        Rank.OVER_CEILING,
        (
            "The job would exceed a ResourceQuota of its namespace. Wait until pods there finish, ask for less, or "
            "raise the quota that the message names."
        ),
    )
    REFUSED_BY_PLUGIN = (
        "RefusedByPlugin",
        Rank.OVER_CEILING,
        (
            "A rule refuses the job: a plugin's rule, or the rule against two jobs evicting each other in turn. "
            "The message says which rule, and what would help."
        ),
    )
    NODES_REFUSE = (
        "NodesRefuse",
        Rank.NODES,
        (
            "No node takes the pod: each is full or refuses it. The message counts the nodes by refusal, then says "
            "what the pod asks for, what nodes have, and what would help. Adding a node may help, too."
        ),
    )
    PLACES_HELD = (
        "PlacesHeld",
        Rank.NODES,
        (
            "Nodes that could take the pod are held for a job that has waited for a long time (plugin `reservation`), "
            "and the others are full. The message names the job, and says when it is to start, if that is known. Wait, "
            "or declare how long the pod runs: pods that end in time may use held nodes."
        ),
    )
    GANG_INCOMPLETE = (
        "GangIncomplete",
        Rank.WAITS_FOR_OTHERS,
        (
            "This pod has a place, but not enough pods of its gang have one, so none is bound. The message says why "
            "the others have none, and so do their own messages."
        ),
    )
    WAITING_FOR_RELEASE = (
        "WaitingForRelease",
        Rank.WAITS_FOR_VICTIMS,
        (
            "A place is kept for the pod on a node whose pods are still terminating. Wait until those that the message "
            "names are gone; if they hang, `kubectl describe pod` on them shows why."
        ),
    )
    NOT_YET_EVALUATED = (
        "NotYetEvaluated",
        Rank.NOT_EVALUATED,
        (
            "The scheduler has not evaluated it yet. If that lasts, check in the scheduler's `/status` and log that it "
            "runs and leads."
        ),
    )
