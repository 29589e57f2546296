"""Plugins that have no effect without another part of the configuration: `config check` says."""

from __future__ import annotations

from tests.support.registries import checked_registry
from volcano_py.config.catalogue import Catalogue
from volcano_py.config.parse import parse_configuration

RESCHEDULING = (
    "{name: rescheduling, arguments: {strategies: [{name: lowNodeUtilization, params: {targetThresholds: {cpu: 60}}}]}}"
)


def messages(actions: str, plugins: str, more: str = "") -> list[str]:
    text = f"""
actions: "{actions}"
tiers:
- plugins: [{{name: gang}}, {{name: predicates}}]
- plugins: [{plugins}]
{more}
"""
    result = parse_configuration(text, checked_registry().catalogue())
    assert result.config is not None, result.problems
    return [problem.message for problem in result.problems]


def test_hours_of_zones_without_the_action_that_evicts_when_they_are_over() -> None:
    (message,) = messages("enqueue, allocate", "{name: tdm}")
    assert message == "tdm moves no pod: only the action shuffle asks it which pods to evict; add that action"
    assert messages("enqueue, allocate, shuffle", "{name: tdm}") == []
    assert messages("enqueue, allocate", "{name: tdm, enabledVictim: false}") == []


def test_shuffle_without_plugins_to_ask() -> None:
    (message,) = messages("enqueue, allocate, shuffle", "{name: pdb}")
    assert message.startswith("shuffle will never do anything: no plugin names pods to move; configure tdm")


def test_usage_without_a_source_of_load() -> None:
    (message,) = messages("allocate", "{name: usage}")
    assert message.startswith("usage knows no load, because `metrics` names no source; add `metrics:`")
    assert messages("allocate", "{name: usage}", "metrics: {type: metrics-server}") == []


def test_rescheduling_without_a_source_of_load_or_without_a_preference_for_idle_nodes() -> None:
    of_load, of_return = messages("allocate, shuffle", RESCHEDULING)
    assert of_load.startswith("rescheduling knows no load, because `metrics` names no source")
    assert of_return.endswith(
        "may come back to the same node, because no plugin prefers nodes with a lower load; add the plugin usage"
    )
    assert messages("allocate, shuffle", f"{RESCHEDULING}, {{name: usage}}", "metrics: {type: metrics-server}") == []


def test_plugins_of_volcano_that_are_not_there_are_named() -> None:
    name, actions = "usage", checked_registry().catalogue().actions
    text = f"actions: allocate\ntiers:\n- plugins: [{{name: {name}}}]\n"
    result = parse_configuration(text, Catalogue({}, actions))
    assert result.config is None
    assert result.errors[0].message == f"the plugin {name} exists in Volcano but not in this scheduler; remove it"
