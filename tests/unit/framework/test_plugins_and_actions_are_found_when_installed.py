"""Plugins and actions of other packages, by entry point: what is taken in, and what is left out and said."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.support.registries import checked_registry
from volcano_py.config.parse import parse_configuration
from volcano_py.framework import registry as module
from volcano_py.framework.action import Action
from volcano_py.framework.job import Job
from volcano_py.framework.plugin import POINTS, Key, Plugin, points_of
from volcano_py.framework.registry import ACTION_GROUP, PLUGIN_GROUP, Registry
from volcano_py.framework.session import Session
from volcano_py.plugins import BUILTIN_PLUGINS
from volcano_py.scheduler import builtin_registry


class Mine(Plugin):
    """Stands for a plugin of another package."""

    name = "mine"

    def job_order(self, job: Job) -> Key:
        return 0


class MyAction(Action):
    """Stands for an action of another package."""

    name = "tidy"

    def execute(self, ssn: Session) -> None:
        raise NotImplementedError


class Builtin(Plugin):
    name = "builtin"


class Impostor(Plugin):
    """Would like to be the built-in one."""

    name = "builtin"


class Misnamed(Plugin):
    name = "other"


not_a_class = Mine.name


def entries(monkeypatch: pytest.MonkeyPatch, **found: str) -> None:
    """What is installed: name → what its entry names in this module, plugins unless it is an action."""
    installed = [
        EntryPoint(
            name.replace("_", "-"),
            value if ":" in value else f"{__name__}:{value}",
            ACTION_GROUP if "Action" in value else PLUGIN_GROUP,
        )
        for name, value in found.items()
    ]
    monkeypatch.setattr(module, "entry_points", lambda: EntryPoints(installed))


def with_installed() -> tuple[Registry, list[str]]:
    """The registry, and why entries were ignored."""
    with capture_logs() as logs:
        registry = Registry.of([Builtin], []).with_installed()
    return registry, [entry["why"] for entry in logs if entry["event"] == "entry point ignored"]


def test_plugins_and_actions_are_taken_in_under_the_name_of_their_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    entries(monkeypatch, mine="Mine", tidy="MyAction")
    registry, logs = with_installed()
    assert set(registry.plugins) == {"builtin", "mine"}
    assert registry.plugins["mine"] is Mine
    assert dict(registry.actions) == {"tidy": MyAction}
    assert registry.points["mine"] == {"job_order"}
    assert logs == []


def test_only_answers_of_those_from_outside_are_checked_in_production(monkeypatch: pytest.MonkeyPatch) -> None:
    entries(monkeypatch, mine="Mine", tidy="MyAction")
    registry = Registry.of([Builtin], []).without_checks().with_installed()
    assert registry.unchecked == {"builtin"}
    assert set(registry.plugins) == {"builtin", "mine"}
    assert builtin_registry().unchecked == set(BUILTIN_PLUGINS)


def test_in_tests_all_answers_are_checked() -> None:
    assert checked_registry().plugins == builtin_registry().plugins
    assert checked_registry().unchecked == set()


def test_they_can_be_configured_like_those_that_are_built_in(monkeypatch: pytest.MonkeyPatch) -> None:
    entries(monkeypatch, mine="Mine", tidy="MyAction")
    registry, _ = with_installed()
    text = "actions: tidy\ntiers:\n- plugins:\n  - name: mine\n"
    parsed = parse_configuration(text, registry.catalogue())
    assert parsed.config is not None
    assert parsed.config.actions == ("tidy",)
    assert [entry.name for entry in parsed.config.plugins()] == ["mine"]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        pytest.param({"builtin": "Impostor"}, "the name is taken by a built-in", id="a built-in name"),
        pytest.param({"gone": "no_such_module:Plugin"}, "it cannot be imported", id="no such module"),
        pytest.param({"gone": "NoSuchClass"}, "it cannot be imported", id="no such class"),
        pytest.param(
            {"mine": "not_a_class"}, "it is not a subclass of volcano_py.framework.plugin.Plugin", id="no class"
        ),
        pytest.param(
            {"job": "volcano_py.framework.job:Job"},
            "it is not a subclass of volcano_py.framework.plugin.Plugin",
            id="another class",
        ),
        pytest.param({"mine": "Misnamed"}, "the `name` of the class differs from that of its entry", id="another name"),
    ],
)
def test_what_cannot_be_used_is_left_out_and_said(
    monkeypatch: pytest.MonkeyPatch, found: dict[str, str], said: str
) -> None:
    entries(monkeypatch, **found, tidy="MyAction")
    registry, logs = with_installed()
    assert set(registry.plugins) == {"builtin"}
    assert registry.plugins["builtin"] is Builtin
    assert set(registry.actions) == {"tidy"}, "the others are taken in all the same"
    assert logs == [said]


def test_a_name_that_two_packages_claim_is_the_first_ones_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = [EntryPoint("mine", f"{__name__}:{value}", PLUGIN_GROUP) for value in ("Mine", "Rival")]
    monkeypatch.setattr(module, "entry_points", lambda: EntryPoints(installed))
    registry, logs = with_installed()
    assert registry.plugins["mine"] is Mine
    assert logs == ["another package has installed this name"]


class Rival(Plugin):
    name = "mine"


def test_the_points_that_a_plugin_fills_are_those_it_overrides() -> None:
    everything: Any = type("Everything", (Plugin,), dict.fromkeys(POINTS, lambda _self, *_args: None))
    assert points_of(everything) == set(POINTS)
    assert points_of(Builtin) == frozenset()

    class Inherits(Mine):
        name = "inherits"

    assert points_of(Inherits) == {"job_order"}
