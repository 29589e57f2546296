"""The cluster as a cycle found it, for the other verbs and as a scenario test."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from tests.scenarios.scenario import Scenario
from tests.unit.record.recording import record_night
from volcano_py.api.objects import Pod
from volcano_py.capture.file import read
from volcano_py.cli.main import main
from volcano_py.record.moment import capture_at
from volcano_py.record.segments import Limits, RecordError, segments

RAN = {f"early-{number}": "n1" for number in range(3)}


@pytest.mark.parametrize("limits", [Limits(), Limits(size=10**9, segments=10**9)])
async def test_what_was_decided_before_counts_and_what_came_later_is_not_there(tmp_path: Path, limits: Limits) -> None:
    await record_night(tmp_path, limits=limits)
    capture = capture_at(segments(tmp_path), 2)
    nodes = {obj.metadata.name: obj.spec.node_name for _, obj in capture.items if isinstance(obj, Pod)}
    assert nodes == {**RAN, "late-0": "", "late-1": ""}
    assert [obj.metadata.name for kind, obj in capture.items if kind == "Node"] == ["n1"]  # type: ignore[attr-defined]
    assert capture.moment == "2026-11-21T09:30:01Z"


async def test_a_cycle_that_is_not_there_is_reported(tmp_path: Path) -> None:
    await record_night(tmp_path)
    with pytest.raises(RecordError, match="no cycle 99 in the record; it has 1 to 3"):
        capture_at(segments(tmp_path), 99)


async def test_other_verbs_take_the_capture(tmp_path: Path) -> None:
    await record_night(tmp_path / "record")
    file = tmp_path / "then.capture"
    result = CliRunner().invoke(main, ["replay", str(tmp_path / "record"), "--at", "2", "--capture", str(file)])
    assert result.exit_code == 0, result.output
    assert len(read(file).items) > 5
    explained = CliRunner().invoke(main, ["explain", "podgroup", "late", "-n", "team", "--from", str(file)])
    assert "1 of 2 pods has a place" in explained.output, explained.output


async def test_an_exported_scenario_is_a_test_that_passes(tmp_path: Path) -> None:
    await record_night(tmp_path / "record")
    file = tmp_path / "exported.yaml"
    result = CliRunner().invoke(main, ["replay", str(tmp_path / "record"), "--at", "3", "--export", str(file)])
    assert result.exit_code == 0, result.output
    scenario = Scenario.read(file)
    scenario.check()
    header = next(yaml.safe_load_all(file.read_text(encoding="utf-8")))
    assert header["expect"]["bound"] == {"team/early": 3, "team/late": 2}
