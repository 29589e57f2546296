"""`history --plot`: what is in the picture, and what is said where there can be none."""

from __future__ import annotations

import asyncio
import re
import runpy
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.unit.docs.pages import PROJECT
from tests.unit.record.recording import record_contest, record_night
from volcano_py.cli.main import main
from volcano_py.cli.records.plotting import MOST_RESOURCES, plot_queue, resources_of
from volcano_py.record.entries import QueueFigures
from volcano_py.record.evictions import of_evictions
from volcano_py.record.history import Figures, pods_of
from volcano_py.record.segments import segments


def plot(record: Path, file: Path, kind: str = "queue", name: str = "research") -> Result:
    return CliRunner().invoke(main, ["history", kind, name, "--record", str(record), "--plot", str(file)])


def labels(picture: Path) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]+)</text>", picture.read_text(encoding="utf-8"))


def test_use_shares_waits_and_evictions_are_in_the_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    asyncio.run(record_contest(tmp_path / "night"))
    lost, gained = tmp_path / "research.svg", tmp_path / "vision.svg"
    assert plot(tmp_path / "night", lost).exit_code == 0
    assert plot(tmp_path / "night", gained, name="vision").exit_code == 0
    assert {"Queue research", "cpu", "allocated", "deserved", "PodGroups waiting"} <= {*labels(lost)}
    assert "evicted from it: 2" in labels(lost)
    assert "evicted for it: 2" in labels(gained)
    assert {"10:00", "13:00"} <= {*labels(lost)}


def test_memory_has_its_unit(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    at_noon = Figures(at=43_200.0, figures=QueueFigures(allocated={"memory": 2**31}, deserved={}))
    plot_queue(tmp_path / "queue.svg", "research", [at_noon], [], 43_260.0)
    assert "memory, GiB" in labels(tmp_path / "queue.svg")


def test_the_picture_of_the_page_is_what_the_command_draws(tmp_path: Path) -> None:
    """When this fails: PYTHONPATH=. python docs/images/last_night.py."""
    pytest.importorskip("matplotlib")
    script = runpy.run_path(str(PROJECT / "docs" / "images" / "last_night.py"))
    script["draw"](tmp_path / "now.svg")
    assert labels(script["PICTURE"]) == labels(tmp_path / "now.svg")


def test_the_end_of_the_name_says_the_format(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    asyncio.run(record_night(tmp_path / "night"))
    file = tmp_path / "queue.png"
    assert plot(tmp_path / "night", file, name="default").exit_code == 0
    assert file.read_bytes().startswith(b"\x89PNG")
    unknown = plot(tmp_path / "night", tmp_path / "queue.txt", name="default")
    assert unknown.exit_code == 1
    assert "queue.txt: Format 'txt' is not supported" in unknown.output
    nowhere = plot(tmp_path / "night", tmp_path / "none" / "queue.svg", name="default")
    assert nowhere.exit_code == 1
    assert "queue.svg: No such file or directory" in nowhere.output


def test_without_matplotlib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(record_night(tmp_path / "night"))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = plot(tmp_path / "night", tmp_path / "queue.svg", name="default")
    assert result.exit_code == 1
    assert "pip install 'volcano-py[plot]'" in result.output


@pytest.mark.parametrize("kind", ["queue", "podgroup"])
def test_what_the_record_does_not_have_is_refused(kind: str, tmp_path: Path) -> None:
    asyncio.run(record_night(tmp_path / "night"))
    unknown = plot(tmp_path / "night", tmp_path / "q.svg", kind=kind, name="unknown")
    assert unknown.exit_code == 1
    assert f"has no {kind} unknown" in unknown.output


def test_places_waits_and_evictions_of_a_podgroup_are_in_the_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    asyncio.run(record_contest(tmp_path / "night"))
    evictions = of_evictions(segments(tmp_path / "night"))
    (lost,) = {each.pod_group for each in evictions}
    (gained,) = {each.claimant.rpartition("-")[0] for each in evictions}
    for name, says in ((lost, "evicted from it: 2"), (gained, "evicted for it: 2")):
        file = tmp_path / f"{name.rpartition('/')[2]}.svg"
        assert plot(tmp_path / "night", file, kind="podgroup", name=name).exit_code == 0
        assert {f"PodGroup {name}", "pods placed", "pods waiting", says} <= {*labels(file)}


def test_pods_of_a_podgroup_are_counted_when_they_change(tmp_path: Path) -> None:
    asyncio.run(record_contest(tmp_path))
    paths = segments(tmp_path)
    (gained,) = {each.claimant.rpartition("-")[0] for each in of_evictions(paths)}
    counts, pods = pods_of(paths, gained)
    assert max(each.waiting for each in counts) == max(each.placed for each in counts) == len(pods)
    assert all(one.at < other.at for one, other in pairwise(counts))
    assert all((one.placed, one.waiting) != (other.placed, other.waiting) for one, other in pairwise(counts))


def test_a_few_resources_are_drawn_and_pods_only_alone() -> None:
    def of(**amounts: int) -> list[str]:
        return resources_of([Figures(0.0, QueueFigures(allocated={**amounts, "pods": 3}))])

    assert of() == ["pods"]
    assert of(memory=1, cpu=1, a=1, nothing=0) == ["cpu", "memory", "a"]
    assert of(**dict.fromkeys("abcdef", 1)) == ["a", "b", "c", "d"]
    assert MOST_RESOURCES == 4
