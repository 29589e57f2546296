"""Why something waits: one closed enumeration for conditions, events, metrics, the command line and the docs."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class Rank(IntEnum):
    """Precedence of reasons: when several hold, the lowest rank is told, as it must be mended first."""

    MISCONFIGURED = 0
    NEVER_FITS = 1
    GATED = 2
    OVER_CEILING = 3
    NODES = 4
    WAITS_FOR_OTHERS = 5
    WAITS_FOR_VICTIMS = 6
    NOT_EVALUATED = 7


class Reason(StrEnum):
    """A closed set. Each member carries its rank and one sentence for the documentation.

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
        "The pod's specification cannot be read or asks for an impossible quantity; the message names the field.",
    )
    INVALID_POD_GROUP = (
        "InvalidPodGroup",
        Rank.MISCONFIGURED,
        "The PodGroup cannot be read; the message names the field.",
    )
    UNSUPPORTED = (
        "Unsupported",
        Rank.MISCONFIGURED,
        "The pod asks for something this scheduler does not do yet; it waits rather than being placed without it.",
    )
    POD_GROUP_NOT_FOUND = (
        "PodGroupNotFound",
        Rank.MISCONFIGURED,
        "The pod names a PodGroup that does not exist in its namespace.",
    )
    QUEUE_NOT_FOUND = (
        "QueueNotFound",
        Rank.MISCONFIGURED,
        "The queue does not exist; the message says who names it: the PodGroup, the Job, the pod, or the namespace.",
    )
    INVALID_QUEUE = (
        "InvalidQueue",
        Rank.MISCONFIGURED,
        "The queue breaks a rule of the queue tree (missing parent, cycle, jobs in an inner queue).",
    )
    PLUGIN_ERROR = (
        "PluginError",
        Rank.MISCONFIGURED,
        "A plugin failed while it looked at the pod; the pod is left alone for this cycle.",
    )
    NOT_ENOUGH_TASKS = (
        "NotEnoughTasks",
        Rank.MISCONFIGURED,
        "The gang has fewer pods than its minMember (or minTaskMember); the rest have not been created.",
    )
    NEVER_FITS = (
        "NeverFits",
        Rank.NEVER_FITS,
        "The pod asks for more than any node has, even an empty one.",
    )
    SCHEDULING_GATED = ("SchedulingGated", Rank.GATED, "The pod has scheduling gates that somebody must remove.")
    VOLUME_NOT_READY = (
        "VolumeNotReady",
        Rank.GATED,
        "A PersistentVolumeClaim of the pod is missing, lost, being deleted or not bound; the message names it.",
    )
    QUEUE_CLOSED = ("QueueClosed", Rank.OVER_CEILING, "The queue is Closed or Closing.")
    OVER_CAPABILITY = ("OverCapability", Rank.OVER_CEILING, "The queue would exceed its capability.")
    OVER_DESERVED = ("OverDeserved", Rank.OVER_CEILING, "The queue would exceed its deserved share.")
    CLUSTER_OVERCOMMITTED = (
        "ClusterOvercommitted",
        Rank.OVER_CEILING,
        "The cluster, times its overcommit factor, is promised to others already.",
    )
    OVER_QUOTA = ("OverQuota", Rank.OVER_CEILING, "The job would exceed a ResourceQuota of its namespace.")
    REFUSED_BY_PLUGIN = (
        "RefusedByPlugin",
        Rank.OVER_CEILING,
        "A plugin's rule keeps the job out; the message names it.",
    )
    NODES_REFUSE = (
        "NodesRefuse",
        Rank.NODES,
        "No node fits: each is full or refuses the pod; the message counts the nodes by refusal.",
    )
    GANG_INCOMPLETE = (
        "GangIncomplete",
        Rank.WAITS_FOR_OTHERS,
        "This pod has a place, but not enough pods of its gang have one, so none is bound.",
    )
    BEHIND_OTHERS = ("BehindOthers", Rank.WAITS_FOR_OTHERS, "Others of its queue or gang come first in this cycle.")
    WAITING_FOR_RELEASE = (
        "WaitingForRelease",
        Rank.WAITS_FOR_VICTIMS,
        "A place is kept for the pod on a node whose pods are still terminating.",
    )
    NOT_YET_EVALUATED = ("NotYetEvaluated", Rank.NOT_EVALUATED, "The scheduler has not come to it yet.")
