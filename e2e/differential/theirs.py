"""kube-scheduler, asked which nodes a pod fits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import yaml

from e2e.differential.extender import RecordingExtender
from e2e.harness.waiting import eventually
from volcano_py.local.controlplane import ControlPlane

SCHEDULER_NAME: Final = "default-scheduler"

FEATURE_GATES: Final = "TaintTolerationComparisonOperators=true"
"""What is not on by default in this version and evaluated here nevertheless."""

_QPS: Final = 10_000
_ANSWER_SECONDS: Final = 60.0
"""For a whole round of pods; some of them are tried again after a back-off of a second or more."""


class KubeScheduler:
    """A running kube-scheduler that binds nothing."""

    def __init__(self, control_plane: ControlPlane, extender: RecordingExtender) -> None:
        self._client = control_plane.client
        self._extender = extender

    def passed(self, uid: str) -> frozenset[str] | None:
        """The nodes that passed when the pod was tried last; None when none ever did."""
        return self._extender.passed.get(uid)

    async def fitting(self, uids: Sequence[str], selector: str) -> dict[str, frozenset[str]]:
        """The nodes that passed all filters for each of the pods, by UID, once it has tried them all.

        `selector` is a label selector that finds the pods. The extender is only asked when a node passed, but every
        failed attempt ends with a condition of the pod.
        """
        wanted = set(uids)

        async def tried() -> None:
            pods = await self._client.get("/api/v1/pods", labelSelector=selector)
            waiting = wanted - {pod["metadata"]["uid"] for pod in pods["items"] if _was_tried(pod)}
            assert not waiting, f"{len(waiting)} of {len(wanted)} pods have not been tried yet"

        await eventually("kube-scheduler tries every pod", tried, seconds=_ANSWER_SECONDS)
        return {uid: self.passed(uid) or frozenset() for uid in uids}

    async def has_seen(self, node: str, uid: str) -> None:
        """Wait until the pod, which fits this node alone, passed on it: nodes that came before it are known as well."""

        async def passed() -> None:
            assert self.passed(uid) == frozenset({node}), f"{node} is not known yet"

        await eventually(f"kube-scheduler knows {node}", passed, seconds=_ANSWER_SECONDS)


def _was_tried(pod: Mapping[str, Any]) -> bool:
    return any(
        condition["type"] == "PodScheduled" and condition["status"] == "False"
        for condition in pod["status"].get("conditions") or ()
    )


@asynccontextmanager
async def kube_scheduler(control_plane: ControlPlane) -> AsyncIterator[KubeScheduler]:
    """Start kube-scheduler with its default plugins and the recording extender."""
    async with RecordingExtender() as extender:
        path = control_plane.work_dir / "kube-scheduler.yaml"
        configuration = _configuration(extender.url, str(control_plane.kubeconfig_for_user("system:kube-scheduler")))
        await asyncio.to_thread(path.write_text, yaml.safe_dump(configuration), encoding="utf-8")
        await control_plane.start_kube_scheduler(f"--config={path}", f"--feature-gates={FEATURE_GATES}")
        try:
            yield KubeScheduler(control_plane, extender)
        finally:
            await control_plane.stop("kube-scheduler")


def _configuration(extender: str, kubeconfig: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": kubeconfig, "qps": _QPS, "burst": 2 * _QPS},
        "percentageOfNodesToScore": 100,
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 1,
        "extenders": [{"urlPrefix": extender, "filterVerb": "filter", "nodeCacheCapable": True, "httpTimeout": "30s"}],
        # Preemption would look for victims on every node, for nothing.
        "profiles": [{"schedulerName": SCHEDULER_NAME, "plugins": {"postFilter": {"disabled": [{"name": "*"}]}}}],
    }
