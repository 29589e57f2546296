"""What a cycle needed is freed when it ends, not when Python next looks for garbage: there are arrays among it."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tests.support.cycles import Cycles
from tests.support.measuring.garbage import garbage_kept
from tests.support.registries import ACTIONS, PLUGINS
from tests.support.sessions import gang, node
from volcano_py.framework.plugin import Plugin
from volcano_py.plugins.gang import Gang


@pytest.fixture
def garbage() -> Iterator[list[object]]:
    """What only the garbage collector would find, once it was asked."""
    with garbage_kept() as garbage:
        yield garbage


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)
def test_nothing_of_a_cycle_waits_for_the_garbage_collector(plugin: type[Plugin], garbage: list[object]) -> None:
    cycles = Cycles(
        node("n1", cpu="4"),
        node("n2", cpu="4"),
        gang("runs", cpu="1", running_on=["n1", "n1"]),
        gang("fits", pods=2, min_member=2, cpu="1"),
        gang("too-large", pods=3, min_member=3, cpu="3"),
        actions=ACTIONS,
        plugins=[Gang, plugin] if plugin is not Gang else [Gang],
    )
    for _ in range(3):
        cycles.run()
    assert cycles.effects, "the cycles did something"
    gc.collect()
    ours = sorted({type(each).__qualname__ for each in garbage if type(each).__module__.startswith("volcano_py")})
    assert ours == []
