"""The report of a cycle about every queue."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from volcano_py.api.queues.fields import QueueField
from volcano_py.api.report import Amounts, QueueReport
from volcano_py.api.wording.explain_evictions import Standing
from volcano_py.framework.calls.answer_checks import NonsenseError, mapping_of
from volcano_py.framework.devices.sums import add_devices
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.status.queue_conditions import ignored_by_queue
from volcano_py.state.snapshot import PHASES, Phase

if TYPE_CHECKING:
    from volcano_py.framework.session import Session


def queue_reports(ssn: Session) -> dict[str, QueueReport]:
    """Sums and ceilings by queue; the plugin that owns queues completes them through `describe_queues`."""
    jobs = ssn.ledger.jobs
    rows = np.flatnonzero(jobs.known)
    allocated = ssn.used_by_queue()
    add_devices(ssn, allocated)
    phases = ssn.sum_by_queue(np.eye(len(Phase), dtype=np.int64)[jobs.phase[rows]], rows)
    ignored = ssn.shared(ignored_by_queue)
    reports = {
        name: QueueReport(
            name=name,
            weight=queue.weight,
            parent=queue.parent,
            state=queue.state or "Open",
            allocated=ssn.axis.amounts(allocated[name]),
            deserved=ssn.axis.amounts(queue.deserved),
            capability=ssn.axis.amounts(queue.capability),
            guarantee=ssn.axis.amounts(queue.guarantee),
            ignored=tuple(field.message for field in ignored[name]),
            pod_groups=_by_phase(phases[name]),
        )
        for name, queue in ssn.queues.items()
    }
    for plugin in ssn.dispatch.plugins:
        complete = partial(_completed, reports, plugin)
        reports = ssn.dispatch.guard(plugin, "describe_queues", complete, otherwise=reports)
    return reports


def missing_queues(ssn: Session) -> dict[str, Amounts]:
    """What is charged to queues that do not exist. The room of these pods is shared among no queues, and they are not
    evicted."""
    return {name: ssn.axis.amounts(held) for name, held in sorted(ssn.used_without_queue().items())}


def standing(ssn: Session, queue: str, dim: int) -> Standing:
    """What a queue holds and deserves of the resource at `dim`, by the sums of the plugin that divides the cluster.

    They include the queues below.
    """
    resource, report, division = ssn.axis.names[dim], ssn.shared(queue_reports)[queue], ssn.shared(_Division)
    deserved: int | None = report.deserved.get(resource)
    if division.is_by_amounts:
        deserved = deserved or 0
    elif division.is_by_shares:
        deserved = None  # whatever the spec says
    return Standing(queue, resource, report.allocated.get(resource, 0), deserved, in_spec=division.is_in_spec)


class _Division:
    """By what the plugins of a cycle divide the cluster between queues: amounts (those of the spec, or others), or
    shares that are compared."""

    def __init__(self, ssn: Session) -> None:
        plugins = ssn.dispatch.plugins
        fields = {field for plugin in plugins for field in plugin.queue_fields}
        self.is_in_spec = QueueField.DESERVED in fields
        self.is_by_amounts = self.is_in_spec or QueueField.GUARANTEE in fields
        self.is_by_shares = any(plugin.hierarchy_queue_fields for plugin in plugins)


def _completed(reports: dict[str, QueueReport], plugin: Plugin) -> dict[str, QueueReport]:
    answer = mapping_of(plugin.describe_queues(), Mapping)
    if not answer:  # true for most plugins: skip the pass over a thousand queues
        return reports
    return {name: _complete(report, answer[name]) if answer.get(name) else report for name, report in reports.items()}


def _complete(report: QueueReport, fields: Mapping[str, Any]) -> QueueReport:
    for name, value in fields.items():
        kind = Mapping if isinstance(getattr(report, name, None), Mapping) else str | int | float | np.number | np.bool_
        if not isinstance(value, kind):
            raise NonsenseError(f"{name} of queue {report.name} is {value!r}, expected {kind}")
    return replace(report, **fields)


def _by_phase(counts: NDArray[np.int64]) -> dict[str, int]:
    """PodGroups by phase; one without a phase is pending."""
    none, *named = counts.tolist()
    named[Phase.PENDING - 1] += none
    return {phase.text: count for phase, count in zip(PHASES[1:], named, strict=True) if count}
