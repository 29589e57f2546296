"""Why a pod waits for a node, as its own status says."""

from __future__ import annotations

from volcano_py.api.names import POD_SCHEDULED
from volcano_py.api.objects import Pod
from volcano_py.api.reasons import Reason
from volcano_py.api.wording import explain


def why_pod_waits(pod: Pod) -> str:
    """What its condition PodScheduled says, or "" for a pod with a node and for one without that condition.

    Of a gated pod the API server reports that it has gates, but not which: they are named here.
    """
    if pod.spec.node_name:
        return ""
    if pod.spec.scheduling_gates:
        gates = [gate.name for gate in pod.spec.scheduling_gates]
        return explain.message(Reason.SCHEDULING_GATED, explain.scheduling_gated(gates))
    reported = (each for each in pod.status.conditions if each.type == POD_SCHEDULED and each.status == "False")
    return next((each.message or each.reason for each in reported), "")
