"""Health of the scheduler itself: leading, cycles, writes, the API server, webhooks, the process."""

from __future__ import annotations

from typing import Final

from volcano_py.observe.monitoring.boards.common import AMBER, GREEN, RED, SCHEDULER_UID, at_most, configuration, leads
from volcano_py.observe.monitoring.panels import Dashboard, Panel, Row, Shape, Step, Target, Unit
from volcano_py.observe.monitoring.queries import (
    SCRAPED,
    else_zero,
    gauge,
    increase,
    observations,
    of_process,
    process,
    rate,
)


def _flag(title: str, text: str, metric: str, yes: str, no: str) -> Panel:
    return Panel(
        title=title,
        text=text,
        shape=Shape.STAT,
        targets=(Target(gauge(metric)),),
        words=((0, no, GREEN), (1, yes, RED)),
        width=4,
        height=4,
    )


def _lines(title: str, text: str, unit: Unit, *targets: Target, width: int = 8) -> Panel:
    return Panel(title=title, text=text, unit=unit, targets=targets, width=width)


def _quantiles(metric: str) -> tuple[Target, ...]:
    return tuple(Target(at_most(share, metric), name) for share, name in ((0.5, "half"), (0.99, "99 %")))


_NOW: Final = Row(
    "Does it work?",
    (
        leads(),
        configuration(),
        _flag(
            "Another scheduler",
            "While another process binds pods of our scheduler name, this one decides nothing.",
            "other_scheduler",
            "binds pods",
            "none",
        ),
        Panel(
            title="Decisions are paused",
            text="For how long a kind of objects has not been followed. Above two seconds no cycle begins, because its "
            "picture of the cluster would be old. The log names the kind.",
            shape=Shape.STAT,
            unit=Unit.SECONDS,
            targets=(Target(gauge("informer_behind_seconds")),),
            steps=(Step(2, AMBER), Step(30, RED)),
            width=4,
            height=4,
        ),
        _flag(
            "Record",
            "Whether the record that --record asks for has ended because it could not be written.",
            "record_stopped",
            "stopped",
            "not stopped",
        ),
        Panel(
            title="State drift",
            text="How far running sums were from the pods at the last self-audit. Anything but 0 is a bug: report it "
            "with a dump.",
            shape=Shape.STAT,
            targets=(Target(gauge("state_drift")),),
            steps=(Step(1, RED),),
            width=4,
            height=4,
        ),
    ),
)
_LEADING: Final = Row(
    "Leading",
    (
        _lines(
            "Which replica leads",
            "1 for the one that holds the Lease.",
            Unit.COUNT,
            Target(gauge("leader", SCRAPED), "{{instance}}"),
        ),
        _lines(
            "Changes of the leader",
            "Each loses a few seconds: the next leader lists everything again.",
            Unit.COUNT,
            Target(increase("leader_changes_total", ("instance",)), "{{instance}}"),
        ),
        _lines(
            "Uptime",
            "A line that falls to 0 is a restart; the log of the last container says why.",
            Unit.SECONDS,
            Target(of_process(f"time() - {process('process_start_time_seconds')}"), "{{instance}}"),
        ),
    ),
)
_CYCLES: Final = Row(
    "Cycles",
    (
        _lines(
            "Cycles",
            "An idle cluster runs none. failed: an error ended it; the log has it.",
            Unit.PER_SECOND,
            Target(rate("cycles_total", ("outcome",)), "{{outcome}}"),
        ),
        _lines(
            "Duration of a cycle",
            "From its snapshot to its last decision; 0: there was none.",
            Unit.SECONDS,
            *_quantiles("cycle_duration_seconds"),
        ),
        _lines(
            "The cycle that runs now",
            "A line that rises is a cycle that does not end; at 300 seconds the process is restarted.",
            Unit.SECONDS,
            Target(gauge("cycle_running_seconds", ("instance",)), "{{instance}}"),
        ),
        _lines(
            "Duration of actions: 99 %",
            "Which step of the cycle takes the time.",
            Unit.SECONDS,
            Target(at_most(0.99, "action_duration_seconds", ("action",)), "{{action}}"),
        ),
        _lines(
            "Duration of plugins: 99 %",
            "Their work when a session opens and closes; answers given in between count for the actions.",
            Unit.SECONDS,
            Target(at_most(0.99, "plugin_duration_seconds", ("plugin",)), "{{plugin}}"),
        ),
        _lines(
            "Snapshot, and opening the session: 99 %",
            "The fixed cost of a cycle; grows with the cluster.",
            Unit.SECONDS,
            Target(at_most(0.99, "snapshot_duration_seconds"), "snapshot"),
            Target(at_most(0.99, "open_session_duration_seconds"), "open session"),
        ),
        _lines(
            "Errors of plugins",
            "Calls that raised; each counts as a refusal, so pods may wait for it. The log has the stack.",
            Unit.COUNT,
            Target(else_zero(increase("plugin_errors_total", ("plugin",)), plugin="none"), "{{plugin}}"),
        ),
        _lines(
            "Errors of actions",
            "Runs that raised; what they had not committed was undone.",
            Unit.COUNT,
            Target(else_zero(increase("action_errors_total", ("action",)), action="none"), "{{action}}"),
        ),
        _lines(
            "Configurations that were read",
            "invalid: an edit was rejected.",
            Unit.COUNT,
            Target(increase("config_reloads_total", ("outcome",)), "{{outcome}}"),
        ),
    ),
)
_WRITES: Final = Row(
    "Bindings, evictions, statuses",
    (
        _lines(
            "Bindings",
            "conflict and gone: the pod was changed or deleted meanwhile. refused and failed: see the log; the pod "
            "is tried again.",
            Unit.PER_SECOND,
            Target(rate("binds_total", ("outcome",)), "{{outcome}}"),
        ),
        _lines(
            "Duration of a binding",
            "Retries included: mostly the API server's. 0: there was none.",
            Unit.SECONDS,
            *_quantiles("bind_duration_seconds"),
        ),
        _lines(
            "Evictions that failed",
            "By action and outcome.",
            Unit.COUNT,
            Target(
                else_zero(increase("evictions_total", ("action", "outcome"), {"outcome": "!=done"}), action="none"),
                "{{action}} {{outcome}}",
            ),
        ),
        _lines(
            "Waiting to be written",
            "What was decided faster than the API server takes it.",
            Unit.COUNT,
            Target(gauge("effects_queue_depth", ("kind",)), "{{kind}}"),
        ),
        _lines(
            "Requests under way",
            "By kind of write.",
            Unit.COUNT,
            Target(gauge("goroutines", ("operation",)), "{{operation}}"),
        ),
        _lines(
            "Events",
            "Written by type, and those that did not become objects of their own.",
            Unit.PER_SECOND,
            Target(else_zero(rate("events_emitted_total", ("type",)), type="none"), "{{type}}"),
            Target(rate("events_dropped_total", ("reason",)), "not written: {{reason}}"),
        ),
    ),
)
_API: Final = Row(
    "The API server",
    (
        _lines(
            "Requests",
            "By verb, without those of the Lease.",
            Unit.PER_SECOND,
            Target(rate("api_requests_total", ("verb",)), "{{verb}}"),
        ),
        _lines(
            "Requests that failed",
            "0: no answer. 409 and 404 are other writers. 403: a right is missing. 429: the server "
            "throttles. 5xx: it is in trouble.",
            Unit.PER_SECOND,
            Target(
                else_zero(rate("api_requests_total", ("verb", "status"), {"status": "=~0|4..|5.."}), status="none"),
                "{{verb}} {{status}}",
            ),
        ),
        _lines(
            "Kinds that are not followed",
            "Seconds without an open watch. Above 2 decisions are paused.",
            Unit.SECONDS,
            Target(gauge("informer_behind_seconds", ("kind",)), "{{kind}}"),
        ),
        _lines(
            "Events of watches",
            "How much changes in the cluster.",
            Unit.PER_SECOND,
            Target(rate("watch_events_total", ("kind",)), "{{kind}}"),
        ),
        _lines(
            "Lists that were repeated",
            "The server had forgotten where a watch ended.",
            Unit.COUNT,
            Target(increase("informer_relists_total", ("kind",)), "{{kind}}"),
        ),
        _lines(
            "Objects that could not be read",
            "They are left out; the log and an event name each.",
            Unit.COUNT,
            Target(else_zero(increase("informer_bad_objects_total", ("kind",)), kind="none"), "{{kind}}"),
        ),
    ),
)
_ADMISSION: Final = Row(
    "Webhooks (with admission)",
    (
        _lines(
            "Reviews",
            "failed: could not be checked.",
            Unit.PER_SECOND,
            Target(else_zero(rate("admission_reviews_total", ("outcome",)), outcome="none"), "{{outcome}}"),
        ),
        _lines(
            "Duration of a review: 99 %",
            "The API server waits for ten seconds.",
            Unit.SECONDS,
            Target(at_most(0.99, "admission_review_seconds", ("webhook",)), "{{webhook}}"),
        ),
        _lines(
            "Callers that were turned away",
            "By HTTP status; 0: cut off without an answer.",
            Unit.COUNT,
            Target(else_zero(increase("admission_turned_away_total", ("status",)), status="none"), "{{status}}"),
        ),
        _lines(
            "Until the certificate expires",
            "It is renewed in time by itself; 0 without webhooks.",
            Unit.SECONDS,
            Target(else_zero(f"({gauge('admission_certificate_expiry_timestamp_seconds')} > 0) - time()"), "left"),
            width=24,
        ),
    ),
)
_PROCESS: Final = Row(
    "The process",
    (
        _lines(
            "Memory",
            "Grows with the number of objects, and stays flat.",
            Unit.BYTES,
            Target(of_process(process("process_resident_memory_bytes")), "{{instance}}"),
        ),
        _lines(
            "CPU",
            "Cores in use.",
            Unit.COUNT,
            Target(of_process(f"rate({process('process_cpu_seconds_total')}[$__rate_interval])"), "{{instance}}"),
        ),
        _lines(
            "Open files",
            "Connections, mostly.",
            Unit.COUNT,
            Target(of_process(process("process_open_fds")), "{{instance}}"),
        ),
        _lines(
            "Cycles measured",
            "Observations behind the durations above: few make rough quantiles.",
            Unit.PER_SECOND,
            Target(observations("cycle_duration_seconds"), "cycles"),
            width=12,
        ),
        Panel(
            title="Versions",
            text="Replicas of different versions are an upgrade under way, or one that is stuck.",
            shape=Shape.TABLE,
            keys=("instance", "version", "python", "platform"),
            targets=(Target(gauge("build_info", ("instance", "version", "python", "platform"))),),
            width=12,
        ),
    ),
)

SCHEDULER: Final = Dashboard(
    uid=SCHEDULER_UID,
    title="volcano-py / Scheduler",
    text="Whether the scheduler leads, decides and writes, and what it costs.",
    rows=(_NOW, _LEADING, _CYCLES, _WRITES, _API, _ADMISSION, _PROCESS),
)
