"""Every scenario file below this folder, run through the same simulation as `volcano-py simulate`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.scenario import Scenario, scenarios_below

_HERE = Path(__file__).parent


@pytest.mark.parametrize(
    "scenario", [pytest.param(each, id=f"{each.path.parent.name}/{each.path.stem}") for each in scenarios_below(_HERE)]
)
def test_scenario(scenario: Scenario) -> None:
    """What the file's `expect` says."""
    scenario.check()
