"""A queue or a PodGroup over time, as a picture: what it held, what waited, and what was evicted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from volcano_py.api.quantity import parse_quantity
from volcano_py.record.evictions import Eviction
from volcano_py.record.history import Figures, PodCounts
from volcano_py.state.table.units import canonical

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_RESOURCES: Final = 4
_STEP: Final = "steps-post"  # what is recorded holds until the next change
_WIDTH, _PANEL, _LAST_PANEL, _MARGIN = 9.0, 1.9, 1.3, 0.9  # inches
_USE, _DESERVED, _WAITS, _LOST, _GAINED = "#4477aa", "#222222", "#ccbb44", "#ee6677", "#228833"
_SAME_EACH_TIME: Final = {"svg.hashsalt": "volcano-py", "svg.fonttype": "none"}


def plot_queue(file: Path, name: str, figures: Sequence[Figures], evictions: Sequence[Eviction], until: float) -> None:
    """Write the picture, in the format that the name of the file ends with; svg if with none.

    `until`: the end of the record, in seconds since the epoch.

    Raises:
        ImportError: matplotlib is not installed.
        OSError: the file cannot be written.
        ValueError: there is no such format.
    """
    resources = resources_of(figures)
    with _picture(file, f"Queue {name}", [*(_PANEL for _ in resources), _LAST_PANEL]) as panels:
        for panel, resource in zip(panels, resources, strict=False):
            _draw_use(panel, resource, figures, until)
        times, waiting = _times([each.at for each in figures], until), [each.figures.waiting for each in figures]
        _fill(panels[-1], times, waiting, _WAITS, "PodGroups waiting")
        lost = [_day(each.at) for each in evictions if each.queue == name]
        gained = [_day(each.at) for each in evictions if each.claimant_queue == name]
        _draw_evictions(panels[-1], lost, gained)
        _finish(panels[-1], "waiting", max(waiting))


def plot_pod_group(
    file: Path, name: str, counts: Sequence[PodCounts], pods: Set[str], evictions: Sequence[Eviction], until: float
) -> None:
    """The same of a PodGroup (namespace/name): how many of its `pods` (namespace/name) had a node, and how many waited.

    Raises:
        ImportError: matplotlib is not installed.
        OSError: the file cannot be written.
        ValueError: there is no such format.
    """
    with _picture(file, f"PodGroup {name}", [_PANEL, _LAST_PANEL]) as panels:
        times = _times([each.at for each in counts], until)
        for panel, values, color, label in (
            (panels[0], [each.placed for each in counts], _USE, "pods placed"),
            (panels[1], [each.waiting for each in counts], _WAITS, "pods waiting"),
        ):
            _fill(panel, times, values, color, label)
            if panel is panels[1]:
                lost = [_day(each.at) for each in evictions if each.pod_group == name]
                _draw_evictions(panel, lost, [_day(each.at) for each in evictions if each.claimant in pods])
            _finish(panel, label.rpartition(" ")[2], max(values))


@contextmanager
def _picture(file: Path, title: str, heights: Sequence[float]) -> Iterator[Sequence[Axes]]:
    """Panels of these heights (inches) over one axis of time; at the end the picture is written."""
    import matplotlib as mpl
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.figure import Figure

    with mpl.rc_context(_SAME_EACH_TIME):
        picture = Figure(figsize=(_WIDTH, sum(heights) + _MARGIN), layout="constrained")
        panels = picture.subplots(len(heights), sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        yield [*panels]
        panels[0].set_title(title, loc="left")
        locator = AutoDateLocator()
        panels[-1].xaxis.set_major_locator(locator)
        panels[-1].xaxis.set_major_formatter(ConciseDateFormatter(locator))
        panels[-1].set_xlabel("UTC")
        form = file.suffix.removeprefix(".") or "svg"
        picture.savefig(file, format=form, metadata={"Date": None} if form == "svg" else None)


def resources_of(figures: Sequence[Figures]) -> list[str]:
    """What the queue held or deserved: cpu and memory first, pods only where there is nothing else."""
    found = {name for each in figures for amounts in _both(each) for name, amount in amounts.items() if amount}
    ordered = [*(name for name in ("cpu", "memory") if name in found), *sorted(found - {"cpu", "memory", "pods"})]
    return ordered[:MOST_RESOURCES] or ["pods"]


def _both(each: Figures) -> tuple[Mapping[str, int], Mapping[str, int]]:
    return each.figures.allocated, each.figures.deserved


def _draw_use(panel: Axes, resource: str, figures: Sequence[Figures], until: float) -> None:
    times = _times([each.at for each in figures], until)
    held, deserved = (_amounts(resource, [_both(each)[side] for each in figures]) for side in (0, 1))
    panel.fill_between(times, held, step="post", color=_USE, alpha=0.35, linewidth=0)
    panel.plot(times, held, drawstyle=_STEP, color=_USE, label="allocated")
    panel.plot(times, deserved, drawstyle=_STEP, color=_DESERVED, linestyle="--", label="deserved")
    panel.set_ylabel("memory, GiB" if resource == "memory" else resource)
    panel.set_ylim(bottom=0)
    panel.grid(alpha=0.25)
    panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def _fill(panel: Axes, times: Sequence[float], values: Sequence[int], color: str, label: str) -> None:
    panel.fill_between(times, [*values, values[-1]], step="post", color=color, linewidth=0, label=label)


def _draw_evictions(panel: Axes, lost: Sequence[float], gained: Sequence[float]) -> None:
    for moments, mark, color, what in ((lost, "v", _LOST, "evicted from it"), (gained, "^", _GAINED, "evicted for it")):
        if moments:
            panel.scatter(moments, [0.0] * len(moments), marker=mark, color=color, s=60, zorder=3, clip_on=False)
            panel.scatter([], [], marker=mark, color=color, s=60, label=f"{what}: {len(moments)}")


def _finish(panel: Axes, label: str, most: int) -> None:
    """A panel of whole numbers."""
    from matplotlib.ticker import MaxNLocator

    panel.set_ylim(0, max(most, 1) * 1.15)
    panel.set_ylabel(label)
    panel.yaxis.set_major_locator(MaxNLocator(integer=True))
    panel.grid(alpha=0.25)
    panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def _times(changes: Sequence[float], until: float) -> list[float]:
    """Of each change, and of the end, up to which the last one holds; in days, as matplotlib counts them."""
    return [*map(_day, changes), _day(max(until, changes[-1]))]


def _day(seconds: float) -> float:
    return seconds / 86_400


def _amounts(resource: str, amounts: Sequence[Mapping[str, int]]) -> list[float]:
    """As people write quantities of the resource: cpu in cores, memory in GiB."""
    scale = 2.0**30 if resource == "memory" else 1.0
    values = [float(parse_quantity(canonical(resource, each.get(resource, 0)))) / scale for each in amounts]
    return [*values, values[-1]]
