"""Which devices an ask selects, and how often expressions are evaluated for that."""

from __future__ import annotations

import pytest

from volcano_py.api.devices.claims import DeviceToleration
from volcano_py.api.devices.slices import DeviceTaint
from volcano_py.plugins.predicates.devices.cel.verdicts import CelError, Program
from volcano_py.plugins.predicates.devices.matching import Matches, Nothing, are_tolerated
from volcano_py.state.devices.device import Device, Value
from volcano_py.state.devices.needs import Ask

_GPU = 'device.driver == "gpu.example.com"'
_A100 = 'device.attributes["gpu.example.com"].model == "A100"'


def _gpu(name: str, model: str = "A100", **more: Value) -> Device:
    return Device(
        "gpu.example.com", "p", name, {"gpu.example.com/model": model} | {f"d/{k}": v for k, v in more.items()}
    )


def _selected(matches: Matches, *expressions: str) -> list[int]:
    selectable = matches.mask(Ask("a", "c", expressions)).selectable
    return [at for at, is_selected in enumerate(selectable.tolist()) if is_selected]


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the devices for which an expression was evaluated."""
    names: list[str] = []

    class Watched(Program):
        def judge(self, device: Device) -> bool | CelError:
            names.append(device.name)
            if (model := device.attributes.get("gpu.example.com/model")) is None:
                return CelError("no model")
            return model == "A100"

    monkeypatch.setattr("volcano_py.plugins.predicates.devices.matching.compile_cel", lambda expression: Watched())
    return names


def test_all_expressions_must_hold() -> None:
    matches = Matches()
    matches.follow((_gpu("a"), _gpu("b", "T4"), Device("nic.example.com", "p", "c")))
    assert _selected(matches) == [0, 1, 2]
    assert _selected(matches, _GPU) == [0, 1]
    assert _selected(matches, _GPU, _A100) == [0]


def test_an_expression_sees_only_devices_for_which_those_before_it_hold() -> None:
    matches = Matches()
    matches.follow((_gpu("a"), Device("nic.example.com", "p", "c")))
    guarded = matches.mask(Ask("a", "c", (_GPU, _A100)))
    assert guarded.errors == ()
    assert not guarded.failed.any()
    bare = matches.mask(Ask("a", "c", (_A100,)))
    assert bare.selectable.tolist() == [True, False]
    assert bare.failed.tolist() == [False, True]
    (error,) = bare.errors
    assert error.message.startswith(f'CEL expression `{_A100}` fails: the device has no "model";')


def test_errors_of_many_devices_are_named_once() -> None:
    matches = Matches()
    matches.follow((Device("x", "p", "a"), Device("y", "p", "b")))
    assert len(matches.mask(Ask("a", "c", (_A100,))).errors) == 1


def test_what_left_no_device_is_known() -> None:
    """An expression, and how many devices there were before it; or taints that are not tolerated."""
    taint, other = DeviceTaint("broken", "yes", "NoSchedule"), DeviceTaint("hot", "", "PreferNoSchedule")
    tainted = Device("nic.example.com", "p", "c", taints=(taint, other))
    matches = Matches()
    matches.follow((_gpu("a"), _gpu("b"), tainted, Device("d", "p", "x", unusable="needs conditions")))
    h100 = 'device.attributes["gpu.example.com"].model == "H100"'
    none, nic = 'device.driver == "none"', 'device.driver == "nic.example.com"'
    assert matches.mask(Ask("a", "c", (none, _A100))).nothing == Nothing(none, 3, is_first=True)
    assert matches.mask(Ask("a", "c", (_GPU, h100))).nothing == Nothing(h100, 2)
    assert matches.mask(Ask("a", "c", (nic,))).nothing == Nothing("", 1, taints=(taint,))
    assert matches.mask(Ask("a", "c", (_GPU,))).nothing is None
    assert matches.mask(Ask("a", "c", (nic,), (DeviceToleration("broken", "Exists"),))).nothing is None


def test_a_device_has_to_have_the_capacity_that_is_asked_for() -> None:
    """Whether it is shared or not."""
    small, large = (Device("d", "p", name, capacity={"d/memory": size}) for name, size in (("s", "1Gi"), ("l", "4Gi")))
    matches = Matches()
    matches.follow((small, large, large, Device("d", "p", "none")))
    assert matches.mask(Ask("a", "c", capacity=(("memory", "2Gi"),))).selectable.tolist() == [False, True, True, False]
    assert matches.mask(Ask("a", "c", capacity=(("memory", "8Gi"),))).nothing == Nothing("", 4)


def test_devices_that_can_be_given_to_nobody_are_not_selected() -> None:
    matches = Matches()
    matches.follow((Device("d", "p", "a", unusable="needs counters"), Device("d", "p", "b")))
    assert _selected(matches) == [1]


def test_devices_that_look_alike_to_an_expression_are_evaluated_once(judged: list[str]) -> None:
    matches = Matches()
    matches.follow((_gpu("a", uuid="1"), _gpu("b", uuid="2"), _gpu("c", "T4", uuid="3")))
    assert _selected(matches, _A100) == [0, 1]
    assert judged == ["a", "c"]


def test_verdicts_stay_while_devices_do(judged: list[str]) -> None:
    matches, kept = Matches(), _gpu("a")
    matches.follow((kept, _gpu("b", "T4")))
    assert _selected(matches, _A100) == [0]
    matches.follow((_gpu("c", "L4"), kept, _gpu("d", "T4")))
    assert _selected(matches, _A100) == [1]
    assert judged == ["a", "b", "c"]
    matches.follow(())
    assert _selected(matches, _A100) == []


def test_verdicts_of_one_expression_are_its_own(judged: list[str]) -> None:
    matches = Matches()
    matches.follow((_gpu("a"),))
    _selected(matches, _A100)
    _selected(matches, f"{_A100} || false")
    assert judged == ["a", "a"]


def test_the_expressions_that_were_asked_last_are_kept(judged: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("volcano_py.plugins.predicates.devices.matching._MOST_VERDICTS", 1)
    monkeypatch.setattr("volcano_py.plugins.predicates.devices.matching._FEWEST_EXPRESSIONS", 2)
    monkeypatch.setattr("volcano_py.plugins.predicates.devices.matching._MOST_MATCHES", 0)
    matches = Matches()
    matches.follow((_gpu("a"),))
    for expression in ("1 == 1", "2 == 2", "1 == 1", "3 == 3", "1 == 1"):
        _selected(matches, expression)
    assert judged == ["a", "a", "a"]
    _selected(matches, "2 == 2")
    assert judged == ["a"] * 4


def test_a_tainted_device_is_selected_by_those_who_tolerate_the_taint() -> None:
    matches = Matches()
    matches.follow((Device("d", "p", "a", taints=(DeviceTaint("broken", "", "NoSchedule"),)), Device("d", "p", "b")))
    assert matches.mask(Ask("a", "c")).selectable.tolist() == [False, True]
    tolerant = Ask("a", "c", tolerations=(DeviceToleration("broken", "Exists"),))
    assert matches.mask(tolerant).selectable.tolist() == [True, True]


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (DeviceToleration("k", "Equal", "v"), True),
        (DeviceToleration("k", "", "v"), True),
        (DeviceToleration("k", "Equal", "w"), False),
        (DeviceToleration("k", "Exists"), True),
        (DeviceToleration("", "Exists"), True),
        (DeviceToleration("j", "Exists"), False),
        (DeviceToleration("k", "Exists", "", "NoExecute"), True),
        (DeviceToleration("k", "Exists", "", "NoSchedule"), False),
        (DeviceToleration("k", "Gt", "v"), False),
    ],
)
def test_a_toleration_applies_to_its_key_value_and_effect(toleration: DeviceToleration, expected: bool) -> None:
    assert are_tolerated([DeviceTaint("k", "v", "NoExecute")], [toleration]) is expected


@pytest.mark.parametrize("effect", ["None", "", "PreferNoSchedule"])
def test_taints_with_other_effects_refuse_nothing(effect: str) -> None:
    assert are_tolerated([DeviceTaint("k", "v", effect)], [])


def test_each_taint_has_to_be_tolerated() -> None:
    taints = [DeviceTaint("a", "", "NoSchedule"), DeviceTaint("b", "", "NoSchedule")]
    assert not are_tolerated(taints, [DeviceToleration("a", "Exists")])
    assert are_tolerated(taints, [DeviceToleration("a", "Exists"), DeviceToleration("b", "Exists")])
