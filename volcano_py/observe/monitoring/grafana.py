"""Dashboards as the JSON that Grafana imports (schema 39: Grafana 10.4 or later)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from volcano_py.observe.monitoring.panels import TAG, Dashboard, Panel, Shape, Step, Target, Variable

Json = dict[str, Any]

_SCHEMA: Final = 39
_COLUMNS: Final = 24
_SOURCE: Final[Json] = {"type": "prometheus", "uid": "${datasource}"}
_GREEN: Final = "green"


def dashboard_json(dashboard: Dashboard) -> Json:
    """The whole document. Identifiers follow from the order, so that the same dashboard is the same text."""
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": dashboard.text,
        "tags": [TAG],
        "schemaVersion": _SCHEMA,
        "editable": True,
        "graphTooltip": 1,  # the same moment is marked in all panels
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "browser",
        "links": [
            {
                "type": "dashboards",
                "title": "volcano-py",
                "tags": [TAG],
                "asDropdown": False,
                "includeVars": True,
                "keepTime": True,
                "targetBlank": False,
            }
        ],
        "templating": {"list": [_datasource(), *(_variable(each) for each in dashboard.variables)]},
        "panels": list(_laid_out(dashboard)),
    }


def _laid_out(dashboard: Dashboard) -> Iterator[Json]:
    """From left to right, and into the next line where there is no room."""
    number, top = 1, 0
    for row in dashboard.rows:
        place = {"x": 0, "y": top, "w": _COLUMNS, "h": 1}
        yield {"id": number, "type": "row", "title": row.title, "collapsed": False, "gridPos": place, "panels": []}
        number, top, left, height = number + 1, top + 1, 0, 0
        for panel in row.panels:
            if left + panel.width > _COLUMNS:
                top, left, height = top + height, 0, 0
            place = {"x": left, "y": top, "w": panel.width, "h": panel.height}
            yield {"id": number, "gridPos": place, **_panel(panel)}
            number, left, height = number + 1, left + panel.width, max(height, panel.height)
        top += height


def _panel(panel: Panel) -> Json:
    defaults: Json = {"unit": panel.unit.value, "min": 0, "custom": _custom(panel)}
    if panel.steps or panel.shape in (Shape.STAT, Shape.BARS):
        defaults["thresholds"] = {"mode": "absolute", "steps": _thresholds(panel.steps)}
    if panel.words:
        shown = {str(value): {"text": word, "color": color} for value, word, color in panel.words}
        defaults["mappings"] = [{"type": "value", "options": shown}]
    if panel.leads_to:
        url = (
            f"/d/{panel.leads_to}?var-queue=${{__field.labels.queue}}&${{__url_time_range}}&${{datasource:queryparam}}"
        )
        defaults["links"] = [{"title": "This queue", "url": url}]
    return {
        "type": panel.shape.value,
        "title": panel.title,
        "description": panel.text,
        "datasource": _SOURCE,
        "targets": [_target(panel, number, target) for number, target in enumerate(panel.targets)],
        "fieldConfig": {"defaults": defaults, "overrides": [*_overrides(panel)]},
        "options": _options(panel),
        **({"transformations": _table(panel)} if panel.shape is Shape.TABLE else {}),
    }


def _target(panel: Panel, number: int, target: Target) -> Json:
    is_now = panel.shape in (Shape.STAT, Shape.BARS, Shape.TABLE)
    formats = {Shape.TABLE: "table", Shape.HEATMAP: "heatmap"}
    return {
        "refId": chr(ord("A") + number),
        "datasource": _SOURCE,
        "expr": target.query,
        "legendFormat": "{{le}}" if panel.shape is Shape.HEATMAP else target.legend or "__auto",
        "format": formats.get(panel.shape, "time_series"),
        "instant": is_now,
        "range": not is_now,
    }


def _custom(panel: Panel) -> Json:
    if panel.shape is not Shape.LINES:
        return {}
    stacking = {"mode": "normal" if panel.stacked else "none", "group": "A"}
    return {"fillOpacity": 30 if panel.stacked else 8, "lineWidth": 1, "showPoints": "never", "stacking": stacking}


def _options(panel: Panel) -> Json:
    now = {"calcs": ["lastNotNull"], "fields": "", "values": False}
    match panel.shape:
        case Shape.STAT:
            return {"reduceOptions": now, "colorMode": "value", "graphMode": "area", "textMode": "auto"}
        case Shape.BARS:
            return {"reduceOptions": now, "orientation": "horizontal", "displayMode": "basic"}
        case Shape.HEATMAP:
            axis = {"unit": panel.unit.value}
            return {"calculate": False, "yAxis": axis, "color": {"mode": "scheme", "scheme": "Oranges"}, "cellGap": 1}
        case Shape.TABLE:
            return {"showHeader": True, "cellHeight": "sm"}
        case Shape.LINES:
            legend = {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]}
            return {"legend": legend, "tooltip": {"mode": "multi", "sort": "desc"}}


def _thresholds(steps: Sequence[Step]) -> list[Json]:
    return [{"value": None, "color": _GREEN}, *({"value": step.value, "color": step.color} for step in steps)]


def _overrides(panel: Panel) -> Iterator[Json]:
    for target in panel.targets:
        if target.unit is not None:
            properties = [{"id": "unit", "value": target.unit.value}]
            yield {"matcher": {"id": "byName", "options": target.legend}, "properties": properties}


def _table(panel: Panel) -> list[Json]:
    """One row for each combination of the keys, one column for each query."""
    columns = {_column(panel, number): target.legend for number, target in enumerate(panel.targets)}
    order = {name: number for number, name in enumerate([*panel.keys, *columns])}
    hidden = {"Time": True, **{name: True for name, title in columns.items() if not title}}
    titles = {name: title for name, title in columns.items() if title}
    return [
        {"id": "merge", "options": {}},
        {"id": "organize", "options": {"excludeByName": hidden, "indexByName": order, "renameByName": titles}},
    ]


def _column(panel: Panel, number: int) -> str:
    """What Grafana calls the value of a query."""
    return "Value" if len(panel.targets) == 1 else f"Value #{chr(ord('A') + number)}"


def _datasource() -> Json:
    return {"type": "datasource", "name": "datasource", "label": "Prometheus", "query": "prometheus", "hide": 0}


def _variable(variable: Variable) -> Json:
    query = f"label_values({variable.metric}, {variable.label})"
    chosen = {"text": "All", "value": ["$__all"]} if variable.many else _one(variable.default)
    return {
        "type": "query",
        "name": variable.name,
        "label": variable.title,
        "datasource": _SOURCE,
        "query": {"query": query, "refId": "A"},
        "definition": query,
        "refresh": 2,  # whenever the time range changes
        "sort": 1,
        "multi": variable.many,
        "includeAll": variable.many,
        # Not a list of all names: a thousand queues would make a query of 20 kB; and "(not found)" is one, too.
        **({"allValue": ".*"} if variable.many else {}),
        "current": chosen,
    }


def _one(value: str) -> Json:
    return {"text": value, "value": value}
