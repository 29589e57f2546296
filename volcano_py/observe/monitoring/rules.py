"""The alerts as a rules file of Prometheus, and as a PrometheusRule of its operator."""

from __future__ import annotations

from typing import Any, Final

from volcano_py.observe.monitoring.alerts import GROUPS, PAGE, Alert, Group

Json = dict[str, Any]

_RUNBOOKS: Final = f"https://github.com/volcano-py/volcano-py/blob/main/{PAGE}"


def rules() -> Json:
    """The content of a rules file."""
    return {"groups": [_group(group) for group in GROUPS]}


def prometheus_rule() -> Json:
    """The same for the Prometheus operator."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {
            "name": "volcano-py",
            "namespace": "volcano-system",
            "labels": {"app.kubernetes.io/name": "volcano-py"},
        },
        "spec": rules(),
    }


def runbook(alert: Alert) -> str:
    """Where the guide says what to do about it."""
    return f"{_RUNBOOKS}#{alert.name.lower()}"


def _group(group: Group) -> Json:
    return {"name": group.name, "rules": [_rule(alert) for alert in group.alerts]}


def _rule(alert: Alert) -> Json:
    return {
        "alert": alert.name,
        "expr": alert.query,
        "for": alert.lasts,
        "labels": {"severity": alert.severity.value},
        "annotations": {
            "summary": alert.summary,
            "description": alert.description,
            "runbook_url": runbook(alert),
            "dashboard_uid": alert.dashboard,
        },
    }
