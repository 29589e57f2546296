"""kube-scheduler, asked which nodes a pod fits."""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import yaml

from e2e.differential.extender import BIND, FILTER, RecordingExtender
from e2e.differential.words import GPU
from e2e.harness.waiting import eventually
from volcano_py.local.controlplane import ControlPlane

SCHEDULER_NAME: Final = "default-scheduler"
MOST_ALLOCATED: Final = "most-allocated"
"""A second profile, which fills nodes."""

FEATURE_GATES: Final = "TaintTolerationComparisonOperators=true"
"""What is not on by default in this version and evaluated here nevertheless."""

_SCORED: Final = re.compile(r'"Plugin scored node for pod" pod="([^"]+)" plugin="([^"]+)" node="([^"]+)" score=(-?\d+)')

_QPS: Final = 10_000
_ANSWER_SECONDS: Final = 60.0
"""For a whole round of pods; some of them are tried again after a back-off of a second or more."""


class KubeScheduler:
    """A running kube-scheduler that binds nothing."""

    def __init__(self, control_plane: ControlPlane, extender: RecordingExtender) -> None:
        self._client = control_plane.client
        self._log = control_plane.process("kube-scheduler").log
        self._extender = extender
        self._messages: dict[str, str] = {}

    def passed(self, uid: str) -> frozenset[str] | None:
        """The nodes that passed when the pod was tried last; None when none ever did."""
        return self._extender.passed.get(uid)

    def says(self, uid: str) -> str:
        """Why the pod was not scheduled, in kube-scheduler's words; the extender's refusals are among the reasons."""
        return self._messages.get(uid, "")

    async def fitting(self, uids: Sequence[str], selector: str) -> dict[str, frozenset[str]]:
        """The nodes that passed all filters for each of the pods, by UID, once it has tried them all.

        `selector` is a label selector that finds the pods. The extender is only asked when a node passed, but every
        failed attempt ends with a condition of the pod.
        """
        wanted = set(uids)

        async def tried() -> None:
            pods = (await self._client.get("/api/v1/pods", labelSelector=selector))["items"]
            self._messages |= {pod["metadata"]["uid"]: text for pod in pods if (text := _refusal(pod)) is not None}
            waiting = wanted - self._messages.keys()
            assert not waiting, f"{len(waiting)} of {len(wanted)} pods have not been tried yet"

        await eventually("kube-scheduler tries every pod", tried, seconds=_ANSWER_SECONDS)
        return {uid: self.passed(uid) or frozenset() for uid in uids}

    def scores(self) -> Mapping[tuple[str, str], Mapping[str, int]]:
        """Node → score by pod (`namespace/name`) and plugin, normalised and weighted, from the log.

        Plugins that have nothing to say about a pod are not there, nor are pods that fit less than two nodes.
        """
        scores: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        for pod, plugin, node, score in _SCORED.findall(self._log.read_text(encoding="utf-8", errors="replace")):
            scores[pod, plugin][node] = int(score)
        return scores

    async def has_seen(self, node: str, uid: str) -> None:
        """Wait until the pod, which fits this node alone, passed on it: nodes that came before it are known as well."""

        async def passed() -> None:
            assert self.passed(uid) == frozenset({node}), f"{node} is not known yet"

        await eventually(f"kube-scheduler knows {node}", passed, seconds=_ANSWER_SECONDS)


def _refusal(pod: Mapping[str, Any]) -> str | None:
    """The message of the condition that a failed attempt leaves, None before."""
    return next(
        (
            str(condition.get("message", ""))
            for condition in pod["status"].get("conditions") or ()
            if condition["type"] == "PodScheduled" and condition["status"] == "False"
        ),
        None,
    )


@asynccontextmanager
async def kube_scheduler(control_plane: ControlPlane, *, scoring: bool = False) -> AsyncIterator[KubeScheduler]:
    """Start kube-scheduler with its default plugins and the recording extender.

    With `scoring` it goes on to score the nodes, and logs that, before binding fails.
    """
    async with RecordingExtender(scoring=scoring) as extender:
        path = control_plane.work_dir / "kube-scheduler.yaml"
        kubeconfig = str(control_plane.kubeconfig_for_user("system:kube-scheduler"))
        configuration = _configuration(_extender(extender.url, scoring=scoring), kubeconfig)
        await asyncio.to_thread(path.write_text, yaml.safe_dump(configuration), encoding="utf-8")
        # Scores are logged at this level, by that file; everything at this level would be too much.
        verbosity = ("--vmodule=schedule_one=10",) if scoring else ()
        await control_plane.start_kube_scheduler(f"--config={path}", f"--feature-gates={FEATURE_GATES}", *verbosity)
        try:
            yield KubeScheduler(control_plane, extender)
        finally:
            await control_plane.stop("kube-scheduler")


def _extender(url: str, *, scoring: bool) -> dict[str, Any]:
    verbs = {"filterVerb": FILTER, "bindVerb": BIND} if scoring else {"filterVerb": FILTER}
    return {"urlPrefix": url, "nodeCacheCapable": True, "httpTimeout": "30s", **verbs}


def _configuration(extender: dict[str, Any], kubeconfig: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": kubeconfig, "qps": _QPS, "burst": 2 * _QPS},
        "percentageOfNodesToScore": 100,
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 1,
        "extenders": [extender],
        "profiles": [_profile(SCHEDULER_NAME, "LeastAllocated"), _profile(MOST_ALLOCATED, "MostAllocated")],
    }


def _profile(name: str, strategy: str) -> dict[str, Any]:
    """The default plugins, with the resources that Volcano balances, and without preemption, which would look for
    victims without effect."""
    balanced = [{"name": resource, "weight": 1} for resource in ("cpu", "memory", GPU)]
    filled = [{"name": resource, "weight": 1} for resource in ("cpu", "memory")]
    return {
        "schedulerName": name,
        "plugins": {"postFilter": {"disabled": [{"name": "*"}]}},
        "pluginConfig": [
            {"name": "NodeResourcesBalancedAllocation", "args": {"resources": balanced}},
            {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": strategy, "resources": filled}}},
        ],
    }
