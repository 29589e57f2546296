"""What is worth waking or telling a person, as values; `rules` writes them for Prometheus."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from volcano_py.api.reasons import Rank, Reason
from volcano_py.observe.monitoring.boards.common import (
    CLUSTER_UID,
    QUEUES_UID,
    SCHEDULER_UID,
    WAITS_UID,
    of_queues,
)
from volcano_py.observe.monitoring.boards.waits import LASTING
from volcano_py.observe.monitoring.queries import (
    gauge,
    increase,
    of_process,
    process,
    quantile,
    rate,
)

PAGE: Final = "docs/guide/alerts.md"
"""Has a section for each alert, under its name."""

_ROOM_RANKS: Final = (Rank.OVER_CEILING, Rank.NODES, Rank.WAITS_FOR_OTHERS, Rank.WAITS_FOR_VICTIMS)
WAITS_FOR_ROOM: Final = tuple(reason.value for reason in Reason if reason.rank in _ROOM_RANKS)
"""Reasons that others, limits or nodes give, not mistakes in what waits."""


class Severity(StrEnum):
    """critical: no pod is scheduled, now. warning: look at it today. info: the owner of a workload should know."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """`summary` and `description` are templates of Prometheus; the description names the object and the fix."""

    name: str
    severity: Severity
    query: str
    lasts: str
    """How long the query must have a result, as Prometheus writes durations."""
    summary: str
    description: str
    dashboard: str
    """The uid of the dashboard to look at first."""


class Group(msgspec.Struct, frozen=True):
    name: str
    alerts: tuple[Alert, ...]


def _flag(metric: str) -> str:
    return f"{gauge(metric, ('job', 'instance'))} == 1"


_LEADING: Final = Group(
    "volcano-py-leading",
    (
        Alert(
            name="VolcanoPyAbsent",
            severity=Severity.CRITICAL,
            query="absent(volcano_build_info)",
            lasts="5m",
            summary="No volcano-py is scraped",
            description="Prometheus has no metrics of volcano-py: no replica runs, or none is scraped. Look at the "
            "pods of Deployment volcano-py in its namespace, then at the targets of Prometheus.",
            dashboard=SCHEDULER_UID,
        ),
        Alert(
            name="VolcanoPyNoLeader",
            severity=Severity.CRITICAL,
            query=f"{gauge('leader', ('job',))} == 0",
            lasts="2m",
            summary="No replica of {{ $labels.job }} leads",
            description="Replicas of {{ $labels.job }} run, and none holds the Lease: no pod is scheduled. Look at who "
            "holds the Lease (`kubectl -n volcano-system get lease`), and at the logs for what keeps them from "
            "renewing it.",
            dashboard=SCHEDULER_UID,
        ),
        Alert(
            name="VolcanoPyLeaderChanges",
            severity=Severity.WARNING,
            query=f"{increase('leader_changes_total', ('job',), window='1h')} > 6",
            lasts="10m",
            summary="The leader of {{ $labels.job }} changes again and again",
            description="Replicas of {{ $labels.job }} won or lost the Lease {{ $value | humanize }} times in an hour. "
            "Each change pauses decisions for seconds. Look at the latency of the API server, and at the CPU of the "
            "nodes they run on.",
            dashboard=SCHEDULER_UID,
        ),
        Alert(
            name="VolcanoPyRestarts",
            severity=Severity.WARNING,
            query=of_process(f"changes({process('process_start_time_seconds')}[1h]) > 2"),
            lasts="5m",
            summary="volcano-py at {{ $labels.instance }} restarts again and again",
            description="The process at {{ $labels.instance }} has started {{ $value | humanize }} times in an hour. "
            "`kubectl -n volcano-system logs --previous` says why; OOMKilled asks for a higher memory limit.",
            dashboard=SCHEDULER_UID,
        ),
        Alert(
            name="VolcanoPyOtherScheduler",
            severity=Severity.CRITICAL,
            query=_flag("other_scheduler"),
            lasts="1m",
            summary="Another scheduler binds pods of this scheduler's name",
            description="volcano-py at {{ $labels.instance }} decides nothing, because another process binds pods of "
            "its scheduler name. `/status` shows the last such pod. Scale the other scheduler to zero, or give one of "
            "them another name.",
            dashboard=SCHEDULER_UID,
        ),
    ),
)
_DECIDING: Final = Group(
    "volcano-py-deciding",
    (
        Alert(
            name="VolcanoPyConfigurationRejected",
            severity=Severity.WARNING,
            query=f"{gauge('config_valid', ('job', 'instance'), over='min')} == 0",
            lasts="5m",
            summary="The configuration of volcano-py has errors",
            description="The newest volcano-scheduler.conf that {{ $labels.instance }} read has errors, so the last "
            "good one is in force; a replica that starts now has none. `volcano-py config check --live` names the "
            "lines to fix.",
            dashboard=SCHEDULER_UID,
        ),
        Alert(
            name="VolcanoPyDecisionsPaused",
            severity=Severity.CRITICAL,
            query=f"{gauge('informer_behind_seconds', ('job', 'instance', 'kind'))} > 30",
            lasts="2m",
            summary="volcano-py does not follow {{ $labels.kind }}",
            description="{{ $labels.instance }} has no open watch of {{ $labels.kind }} for {{ $value | "
            "humanizeDuration }}, so it decides nothing. Look at the API server, and in the log for what it answers: "
            "403 is a missing right.",
            dashboard=SCHEDULER_UID,
        ),
        Alert(
            name="VolcanoPyCycleDoesNotEnd",
            severity=Severity.CRITICAL,
            query=f"{gauge('cycle_running_seconds', ('job', 'instance'))} > 60",
            lasts="1m",
            summary="A cycle of volcano-py does not end",
            description="A cycle at {{ $labels.instance }} has been running for {{ $value | humanizeDuration }}; at "
            "five minutes the process logs where it is and is restarted. Save a dump (`volcano-py dump`), and switch "
            "off the plugin that takes the time.",
            dashboard=SCHEDULER_UID,
        ),
        Alert(
            name="VolcanoPyCyclesFail",
            severity=Severity.CRITICAL,
            query=f"{increase('cycles_total', ('job',), {'outcome': 'failed'}, window='10m')} > 3",
            lasts="5m",
            summary="Cycles of volcano-py fail",
            description="{{ $value | humanize }} cycles of {{ $labels.job }} ended with an error in ten minutes. The "
            "log has the "
            'stack ("cycle failed"). Undo the last change of the configuration or of a plugin, and report the error.',
            dashboard=SCHEDULER_UID,
        ),
        Alert(
            name="VolcanoPyCyclesSlow",
            severity=Severity.WARNING,
            query=f"{quantile(0.99, 'cycle_duration_seconds', ('job',), window='10m')} > 2",
            lasts="15m",
            summary="Cycles of volcano-py take long",
            description="One cycle of a hundred of {{ $labels.job }} takes {{ $value | humanizeDuration }} or more. "
            "The panels of actions and plugins show which step; a CPU limit on the Deployment slows down all of them.",
            dashboard=SCHEDULER_UID,
        ),
        Alert(
            name="VolcanoPyPluginErrors",
            severity=Severity.WARNING,
            query=f"{increase('plugin_errors_total', ('job', 'plugin'), window='10m')} > 0",
            lasts="5m",
            summary="Plugin {{ $labels.plugin }} fails",
            description="Plugin {{ $labels.plugin }} of {{ $labels.job }} raised {{ $value | humanize }} times in ten "
            "minutes. Each counts as a refusal, so pods wait for it. The log has the stack; fix the plugin or take it "
            "out of the configuration.",
            dashboard=SCHEDULER_UID,
        ),
        Alert(
            name="VolcanoPyActionErrors",
            severity=Severity.WARNING,
            query=f"{increase('action_errors_total', ('job', 'action'), window='10m')} > 0",
            lasts="5m",
            summary="Action {{ $labels.action }} fails",
            description="Action {{ $labels.action }} of {{ $labels.job }} raised {{ $value | humanize }} times in ten "
            "minutes; what it had not committed was undone. The log has the stack; report it with a dump.",
            dashboard=SCHEDULER_UID,
        ),
        Alert(
            name="VolcanoPyStateDrift",
            severity=Severity.WARNING,
            query=f"{gauge('state_drift', ('job', 'instance'))} != 0",
            lasts="1m",
            summary="Sums of volcano-py differed from the pods",
            description="The last self-audit of {{ $labels.instance }} corrected its sums by {{ $value }}. That is a "
            "bug: please report it with `volcano-py dump` and the log.",
            dashboard=SCHEDULER_UID,
        ),
        Alert(
            name="VolcanoPyRecordStopped",
            severity=Severity.WARNING,
            query=_flag("record_stopped"),
            lasts="1m",
            summary="The record of volcano-py has stopped",
            description="{{ $labels.instance }} could not write its record and has ended it; scheduling goes on. Look "
            "at the free space of the volume of --record, then restart the replica.",
            dashboard=SCHEDULER_UID,
        ),
    ),
)
_OUTCOME: Final = {"outcome": "=~refused|failed"}
_WRITING: Final = Group(
    "volcano-py-writing",
    (
        Alert(
            name="VolcanoPyBindingsFail",
            severity=Severity.CRITICAL,
            query=f"{rate('binds_total', ('job',), _OUTCOME, window='10m')} "
            f"/ {rate('binds_total', ('job',), window='10m')} > 0.05",
            lasts="10m",
            summary="Bindings of volcano-py fail",
            description="{{ $value | humanizePercentage }} of the bindings of {{ $labels.job }} were refused or got no "
            "answer. The log names pods and answers: 403 is a missing right, a webhook may refuse pods/binding, 429 "
            "and 5xx are the API server's.",
            dashboard=SCHEDULER_UID,
        ),
        Alert(
            name="VolcanoPyEvictionsFail",
            severity=Severity.WARNING,
            query=f"{increase('evictions_total', ('job', 'action'), _OUTCOME, window='30m')} > 0",
            lasts="15m",
            summary="Evictions of volcano-py by {{ $labels.action }} fail",
            description="{{ $value | humanize }} evictions by {{ $labels.action }} were refused or got no answer in "
            "half an hour, so jobs with a right to the place go on waiting. The log names pods and answers.",
            dashboard=SCHEDULER_UID,
        ),
        Alert(
            name="VolcanoPyApiServerFails",
            severity=Severity.WARNING,
            query=f"{rate('api_requests_total', ('job',), {'status': '=~0|429|5..'}, window='10m')} "
            f"/ {rate('api_requests_total', ('job',), window='10m')} > 0.05",
            lasts="10m",
            summary="The API server does not answer volcano-py",
            description="{{ $value | humanizePercentage }} of the requests of {{ $labels.job }} got no answer, were "
            "throttled or failed in the API server. Look at it first; then give the scheduler a priority level of its "
            "own.",
            dashboard=SCHEDULER_UID,
        ),
        Alert(
            name="VolcanoPyForbidden",
            severity=Severity.WARNING,
            query=f"{increase('api_requests_total', ('job', 'verb'), {'status': '403'}, window='15m')} > 0",
            lasts="10m",
            summary="volcano-py lacks a right ({{ $labels.verb }})",
            description="The API server refused {{ $value | humanize }} requests {{ $labels.verb }} of {{ $labels.job "
            "}} with 403. The log names the path; apply the ClusterRoles and Roles of this version again, with "
            "those of the optional parts that are on.",
            dashboard=SCHEDULER_UID,
        ),
    ),
)
_ADMISSION: Final = Group(
    "volcano-py-admission",
    (
        Alert(
            name="VolcanoPyWebhookErrors",
            severity=Severity.WARNING,
            query=f"{rate('admission_reviews_total', ('job', 'webhook'), {'outcome': 'failed'}, window='10m')} "
            f"/ {rate('admission_reviews_total', ('job', 'webhook'), window='10m')} > 0.01",
            lasts="10m",
            summary="Webhook {{ $labels.webhook }} cannot check objects",
            description="{{ $value | humanizePercentage }} of the reviews of webhook {{ $labels.webhook }} could not "
            "be answered, so users cannot create these objects. The log says why.",
            dashboard=SCHEDULER_UID,
        ),
        Alert(
            name="VolcanoPyWebhookSlow",
            severity=Severity.WARNING,
            query=f"{quantile(0.99, 'admission_review_seconds', ('job', 'webhook'), window='10m')} > 4",
            lasts="10m",
            summary="Webhook {{ $labels.webhook }} is slow",
            description="One review of a hundred of webhook {{ $labels.webhook }} takes {{ $value | humanizeDuration "
            "}} or more; the API server gives up after ten seconds. Look at the CPU of {{ $labels.job }}, and at who "
            "sends many or large objects.",
            dashboard=SCHEDULER_UID,
        ),
        Alert(
            name="VolcanoPyCertificateExpires",
            severity=Severity.CRITICAL,
            query=f"0 < {gauge('admission_certificate_expiry_timestamp_seconds', ('job', 'instance'))} < time() + 7 * "
            "86400",
            lasts="1h",
            summary="The certificate of the webhooks expires soon",
            description="The certificate that {{ $labels.instance }} serves ends within a week, and has not been "
            "renewed. Look in the log for refused writes to Secret volcano-py-admission; without webhooks objects "
            "cannot be created.",
            dashboard=SCHEDULER_UID,
        ),
    ),
)
_DESERVED: Final = of_queues("deserved", {}, by="resource")
_HELD: Final = of_queues("allocated", {}, by="resource")
_ASKED: Final = of_queues("request", {}, by="resource")
_ROOM: Final = {"reason": f"=~{'|'.join(WAITS_FOR_ROOM)}"}
_PENDING: Final = gauge("pending_pod_groups", ("queue", "reason"), _ROOM)
_OLDEST: Final = gauge("pending_oldest_timestamp_seconds", ("queue",), _ROOM, over="min")
_MISTAKEN: Final = gauge("pending_pod_groups", ("queue", "reason"), {"reason": f"=~{'|'.join(LASTING)}"})
_QUEUES: Final = Group(
    "volcano-py-queues",
    (
        Alert(
            name="VolcanoPyQueueStarves",
            severity=Severity.WARNING,
            query=f"{_DESERVED} > 0 "
            f"unless on (queue, resource) {_HELD} >= 0.9 * {_DESERVED} "
            f"unless on (queue, resource) {_HELD} >= 0.9 * {_ASKED} "
            f"and on (queue) sum by (queue) ({_PENDING}) > 0",
            lasts="1h",
            summary="Queue {{ $labels.queue }} waits below what it deserves",
            description="Queue {{ $labels.queue }} deserves {{ $value | humanize }} of {{ $labels.resource }}, has "
            "held less for an hour, and has PodGroups that wait. `volcano-py explain queue {{ $labels.queue }}` says "
            "who holds it, and what would help: the action reclaim, reclaimable queues, nodes that fit.",
            dashboard=QUEUES_UID,
        ),
        Alert(
            name="VolcanoPyGangWaits",
            severity=Severity.WARNING,
            query=f"time() - {_OLDEST} > 6 * 3600",
            lasts="1h",
            summary="A PodGroup of queue {{ $labels.queue }} waits for hours",
            description="A PodGroup of queue {{ $labels.queue }} that was created {{ $value | humanizeDuration }} ago "
            "waits for room. `volcano-py podgroup list -A` shows it, `volcano-py explain podgroup NAME` says what "
            "would help; the plugin reservation keeps small jobs from overtaking it.",
            dashboard=WAITS_UID,
        ),
        Alert(
            name="VolcanoPyWillNotStart",
            severity=Severity.INFO,
            query=f"{_MISTAKEN} > 0",
            lasts="30m",
            summary="PodGroups of queue {{ $labels.queue }} will not start by themselves",
            description="{{ $value }} PodGroups of queue {{ $labels.queue }} wait for {{ $labels.reason }}, which does "
            "not end by itself. Their conditions say what their owners must change.",
            dashboard=WAITS_UID,
        ),
        Alert(
            name="VolcanoPyGuaranteeNotKept",
            severity=Severity.WARNING,
            query=f"{of_queues('guarantee_not_kept', {}, by='resource')} > 0",
            lasts="30m",
            summary="Queue {{ $labels.queue }} is guaranteed more than there is",
            description="{{ $value | humanize }} of {{ $labels.resource }} that the spec of queue {{ $labels.queue }} "
            "guarantees cannot be reserved: the cluster, or a queue above, has less. Lower the guarantee, or add "
            "nodes.",
            dashboard=QUEUES_UID,
        ),
        Alert(
            name="VolcanoPyNothingIsPlaced",
            severity=Severity.WARNING,
            query=f"{rate('schedule_attempts_total', (), {'result': 'scheduled'}, window='1h')} == 0 "
            f"and on () sum({_PENDING}) > 0",
            lasts="1h",
            summary="PodGroups wait, and no pod has been placed for an hour",
            description="PodGroups wait for room, and no pod was bound in an hour: the cluster is full of long jobs, "
            "or a rule keeps everything out. `volcano-py explain podgroup NAME` of the oldest one says which.",
            dashboard=CLUSTER_UID,
        ),
    ),
)

GROUPS: Final = (_LEADING, _DECIDING, _WRITING, _ADMISSION, _QUEUES)
ALERTS: Final = tuple(alert for group in GROUPS for alert in group.alerts)
