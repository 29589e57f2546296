"""The strategies of rescheduling, as they are written: a list of names with parameters.

`lowNodeUtilization` is the only one. What Volcano reads and does not use is accepted, and reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from volcano_py.config.text.problems import quoted

LOW_NODE_UTILIZATION: Final = "lowNodeUtilization"
RESOURCES: Final = ("cpu", "memory")
"""What is measured of nodes, in the order of all arrays."""
_ALL: Final = 100
_UNUSED: Final = {
    "numberOfNodes": "one node below its thresholds is enough",
    "thresholdPriority": "pods of low priority go first, and none is spared for its priority",
    "thresholdPriorityClassName": "pods of low priority go first, and none is spared for its priority",
    "nodeFit": "pods that fit no node with a low load always stay",
}
"""Parameter → what happens instead."""
_NOT_MEASURED: Final = frozenset({"pods"})


class Percents(msgspec.Struct, frozen=True):
    """Parts of a node, in percent."""

    cpu: int = _ALL
    memory: int = _ALL

    def __str__(self) -> str:
        return f"cpu {self.cpu} % and memory {self.memory} %"

    @property
    def both(self) -> tuple[int, int]:
        """In the order of `RESOURCES`."""
        return self.cpu, self.memory


class LowNodeUtilization(msgspec.Struct, frozen=True):
    """Nodes below all `thresholds` get pods from nodes above one of the `targets`."""

    thresholds: Percents = Percents()
    targets: Percents = Percents()

    def __str__(self) -> str:
        """As in a configuration."""
        if self == LowNodeUtilization():
            return f"[{{name: {LOW_NODE_UTILIZATION}}}]"
        return str(self.as_written())

    def as_written(self) -> list[dict[str, Any]]:
        """The list that means the same."""
        params = {
            "thresholds": msgspec.to_builtins(self.thresholds),
            "targetThresholds": msgspec.to_builtins(self.targets),
        }
        return [{"name": LOW_NODE_UTILIZATION, "params": params}]

    def useless(self) -> Iterator[str]:
        """Why it can never move a pod, as sentences."""
        if all(percent >= _ALL for percent in self.targets.both):
            yield "no pod is ever moved: all targetThresholds are 100; set those of cpu or memory lower"
        if 0 in self.thresholds.both:
            yield "no pod is ever moved: no load is below a threshold of 0; set thresholds.cpu and memory higher"
        for name, low, target in zip(RESOURCES, self.thresholds.both, self.targets.both, strict=True):
            if target < low < _ALL:
                yield (
                    f"targetThresholds.{name} ({target}) is below thresholds.{name} ({low}): nodes in between take "
                    "pods and lose none; set it higher"
                )


def read_strategies(value: object) -> tuple[LowNodeUtilization | None, list[str]]:
    """The strategy of a list as it is written, None where it names none; and remarks about what has no effect.

    Raises:
        ValueError: the list, or a number in it, cannot be read; the text says where.
    """
    if not isinstance(value, list):
        raise ValueError(f"must be a list of strategies, each with `name:`, such as `- name: {LOW_NODE_UTILIZATION}`")
    remarks: list[str] = []
    found: LowNodeUtilization | None = None
    for index, item in enumerate(value):
        place = f"strategies[{index}]"
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            raise ValueError(f"must be a list of mappings with the key name; {place} is none")
        if (name := item["name"]) != LOW_NODE_UTILIZATION:
            remarks.append(f"{place}: unknown strategy {quoted(name)}, ignored; known: {LOW_NODE_UTILIZATION}")
        elif found is not None:
            remarks.append(f"{place} is ignored: {name} is listed before; remove one of them")
        else:
            remarks.extend(_unknown(item, ("name", "params"), place))
            found = _read(item.get("params"), f"{place}.params", remarks)
    if found is None:
        remarks.append(f"no pod is ever moved: the list has no strategy {LOW_NODE_UTILIZATION}; add it")
    return found, remarks


def _read(params: object, place: str, remarks: list[str]) -> LowNodeUtilization:
    written = _mapping(params, place)
    remarks.extend(f"{place}.{key} has no effect: {_UNUSED[key]}; remove it" for key in written if key in _UNUSED)
    remarks.extend(_unknown(written, ("thresholds", "targetThresholds", *_UNUSED), place))
    strategy = LowNodeUtilization(
        _percents(written.get("thresholds"), f"{place}.thresholds", remarks),
        _percents(written.get("targetThresholds"), f"{place}.targetThresholds", remarks),
    )
    remarks.extend(strategy.useless())
    return strategy


def _percents(value: object, place: str, remarks: list[str]) -> Percents:
    written = _mapping(value, place)
    remarks.extend(
        f"{place}.{key} has no effect: it is not measured; remove it" for key in written if key in _NOT_MEASURED
    )
    remarks.extend(_unknown(written, (*RESOURCES, *_NOT_MEASURED), place))
    return Percents(**{name: _percent(written[name], f"{place}.{name}") for name in RESOURCES if name in written})


def _percent(value: object, place: str) -> int:
    text = value.strip().removesuffix("%").strip() if isinstance(value, str) else ""
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(_ALL)) else value
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= _ALL:
        raise ValueError(f"must have percentages from 0 to {_ALL}; {place} is {quoted(str(value))}")
    return number


def _mapping(value: object, place: str) -> dict[str, Any]:
    if value is not None and not isinstance(value, dict):
        raise ValueError(f"must have mappings as parameters; {place} is {quoted(str(value))}")
    return value or {}


def _unknown(written: dict[str, Any], known: tuple[str, ...], place: str) -> Iterator[str]:
    for key in written:
        if key not in known:
            yield f"{place}: unknown key {quoted(key)}, ignored; known: {', '.join(known)}"
