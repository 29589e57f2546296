"""Which devices an ask selects, all devices at a time.

Expressions are evaluated once for all devices that agree in what the expression looks at, and verdicts stay while the
devices do: only devices that are new are looked at.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.devices.claims import DeviceToleration
from volcano_py.api.devices.slices import DeviceTaint
from volcano_py.plugins.predicates.devices.cel.programs import compile_cel
from volcano_py.plugins.predicates.devices.cel.projection import projection_of
from volcano_py.plugins.predicates.devices.cel.verdicts import CelError
from volcano_py.state.devices.device import Device
from volcano_py.state.devices.needs import Ask
from volcano_py.state.devices.picture import DevicePicture
from volcano_py.state.devices.shares import Capacity, consumption
from volcano_py.state.nodes.terms import Mask

Codes = NDArray[np.int16]
"""[D] verdicts of an expression: `_UNKNOWN`, `_NO`, `_YES`, or `_FIRST_ERROR` and the position among its errors."""

_UNKNOWN: Final = -1
_NO: Final = 0
_YES: Final = 1
_FIRST_ERROR: Final = 2
_REMEMBERED: Final = "what requests for devices select"
_REFUSING_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})

_MOST_VERDICTS: Final = 2**24
"""Kept for all expressions: 32 MiB."""
_FEWEST_EXPRESSIONS: Final = 16
"""Whose verdicts are kept, however many devices there are."""
_MOST_MATCHES: Final = 256
"""Asks whose devices are kept; two masks of a byte for each device."""
_MOST_PROJECTIONS: Final = 16_384
_MOST_ERRORS: Final = 1_000


class Nothing(msgspec.Struct, frozen=True):
    """Why an ask selects no device.

    Attributes:
        expression: the first that left none, "" if some pass all: then none has the capacity, or of those that have it
            none has taints that are tolerated.
        of: how many devices there were before that.
        is_first: no expression came before.
        taints: what is not tolerated of devices that pass all expressions and have the capacity, each once.
    """

    expression: str
    of: int
    is_first: bool = False
    taints: tuple[DeviceTaint, ...] = ()


class Matched(msgspec.Struct, frozen=True, eq=False):
    """What an ask finds, before it is asked which devices are free.

    Attributes:
        selectable: [D] the expressions hold, the taints are tolerated, and the device can be given to pods at all.
        failed: [D] an expression ends in an error.
        errors: of `failed`, each once.
        nothing: set where no device is selectable, though there are some that can be given to pods.
    """

    selectable: Mask
    failed: Mask
    errors: tuple[CelError, ...] = ()
    nothing: Nothing | None = None


class _Verdicts:
    """Of one expression."""

    def __init__(self, expression: str, count: int) -> None:
        self._program = compile_cel(expression)
        self._projection = projection_of(expression)
        self._by_projection: dict[object, int] = {}
        self._errors: dict[CelError, int] = {}
        self.codes: Codes = np.full(count, _UNKNOWN, dtype=np.int16)

    def follow(self, origin: NDArray[np.intp]) -> None:
        """`origin` [D]: where each device was before, -1 for new ones."""
        known = np.append(self.codes, np.int16(_UNKNOWN))
        self.codes = known[origin]

    def judge(self, devices: Sequence[Device], among: NDArray[np.intp]) -> Codes:
        """The verdicts on the devices at these positions."""
        for at in among[self.codes[among] == _UNKNOWN].tolist():
            self.codes[at] = self._code(devices[at])
        return self.codes[among]

    def errors(self, codes: Codes) -> Iterable[CelError]:
        """Those that occur in the codes."""
        occurring = set(codes.tolist())
        return (error for error, code in self._errors.items() if code in occurring)

    def _code(self, device: Device) -> int:
        key = self._projection.of(device)
        code = self._by_projection.get(key)
        if code is None:
            verdict = self._program.judge(device)
            code = self._error_code(verdict) if isinstance(verdict, CelError) else int(verdict)
            if len(self._by_projection) >= _MOST_PROJECTIONS:
                self._by_projection.clear()
            self._by_projection[key] = code
        return code

    def _error_code(self, error: CelError) -> int:
        """Beyond the limit, an error is taken for the last one that has a number: both are errors."""
        known = len(self._errors)
        if known >= _MOST_ERRORS:
            return self._errors.get(error, _FIRST_ERROR + known - 1)
        return self._errors.setdefault(error, _FIRST_ERROR + known)


class Matches:
    """Kept across cycles: what asks find among the devices of the latest picture."""

    def __init__(self) -> None:
        self._devices: tuple[Device, ...] = ()
        self._usable = np.zeros(0, dtype=np.bool_)
        self._tainted: dict[tuple[DeviceTaint, ...], list[int]] = {}
        self._has_shared = False
        self._verdicts: OrderedDict[str, _Verdicts] = OrderedDict()
        self._matched: OrderedDict[Ask, Matched] = OrderedDict()

    def follow(self, devices: tuple[Device, ...]) -> None:
        """These are the devices from now on. Those that were there before keep their verdicts."""
        if devices is self._devices:
            return
        before = {id(device): at for at, device in enumerate(self._devices)}
        origin = np.array([before.get(id(device), -1) for device in devices], dtype=np.intp)
        for verdicts in self._verdicts.values():
            verdicts.follow(origin)
        self._devices = devices
        self._usable = np.array([not device.unusable for device in devices], dtype=np.bool_)
        self._tainted = _by_taints(devices)
        self._has_shared = any(device.is_shared for device in devices)
        self._matched.clear()

    def mask(self, ask: Ask) -> Matched:
        """Expressions are tried in order, each on the devices for which all before it hold."""
        found = self._matched.get(ask)
        if found is None:
            found = self._matched[ask] = self._match(ask)
            if len(self._matched) > _MOST_MATCHES:
                self._matched.popitem(last=False)
        return found

    def _match(self, ask: Ask) -> Matched:
        failed = np.zeros(len(self._devices), dtype=np.bool_)
        left, errors = np.flatnonzero(self._usable), dict[CelError, None]()
        nothing: Nothing | None = None
        for number, expression in enumerate(ask.expressions):
            verdicts = self._of(expression)
            codes = verdicts.judge(self._devices, left)
            wrong = codes >= _FIRST_ERROR
            if wrong.any():
                failed[left[wrong]] = True
                errors |= dict.fromkeys(verdicts.errors(codes))
            passing = left[codes == _YES]
            if len(left) and not len(passing):
                nothing = Nothing(expression, len(left), is_first=number == 0)
            left = passing
        if len(left) and (ask.capacity or self._has_shared):
            left, among = self._large_enough(left, ask.capacity), len(left)
            if not len(left):
                nothing = Nothing("", among)
        selectable = np.zeros(len(self._devices), dtype=np.bool_)
        selectable[left] = True
        for taints, positions in self._tainted.items():
            if not are_tolerated(taints, ask.tolerations):
                selectable[positions] = False
        if len(left) and not selectable.any():
            nothing = Nothing("", len(left), taints=self._refusing(left, ask))
        return Matched(selectable, failed, tuple(errors), nothing)

    def _large_enough(self, positions: NDArray[np.intp], capacity: Capacity) -> NDArray[np.intp]:
        """Those of the devices that could give so much, if nobody used them."""
        verdicts: dict[object, bool] = {}
        found = list[int]()
        for at in positions.tolist():
            device = self._devices[at]
            kind = device.driver, tuple(device.capacity.items()), tuple(device.policies.items())
            if kind not in verdicts:
                verdicts[kind] = consumption(device, capacity) is not None
            if verdicts[kind]:
                found.append(at)
        return np.array(found, dtype=np.intp)

    def _refusing(self, positions: NDArray[np.intp], ask: Ask) -> tuple[DeviceTaint, ...]:
        """Taints of these devices that are not tolerated."""
        taints = dict.fromkeys(taint for at in positions.tolist() for taint in self._devices[at].taints)
        return tuple(taint for taint in taints if not are_tolerated([taint], ask.tolerations))

    def _of(self, expression: str) -> _Verdicts:
        verdicts = self._verdicts.get(expression)
        if verdicts is None:
            verdicts = self._verdicts[expression] = _Verdicts(expression, len(self._devices))
            most = max(_FEWEST_EXPRESSIONS, _MOST_VERDICTS // max(len(self._devices), 1))
            while len(self._verdicts) > most:
                self._verdicts.popitem(last=False)
        self._verdicts.move_to_end(expression)
        return verdicts


def matches_in(memory: dict[str, Any], picture: DevicePicture) -> Matches:
    """Those that a plugin remembers from cycle to cycle, for the devices of this picture."""
    found: Matches = memory.setdefault(_REMEMBERED, Matches())
    found.follow(picture.devices)
    return found


def are_tolerated(taints: Iterable[DeviceTaint], tolerations: Sequence[DeviceToleration]) -> bool:
    """Taints with another effect than NoSchedule and NoExecute refuse nothing."""
    return all(
        taint.effect not in _REFUSING_EFFECTS or any(_tolerates(each, taint) for each in tolerations)
        for taint in taints
    )


def _tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """Empty key: all keys. Empty effect: all effects. An unknown operator tolerates nothing."""
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case operator:
            return operator == "Exists"


def _by_taints(devices: Sequence[Device]) -> dict[tuple[DeviceTaint, ...], list[int]]:
    found: dict[tuple[DeviceTaint, ...], list[int]] = {}
    for at, device in enumerate(devices):
        if device.taints:
            found.setdefault(device.taints, []).append(at)
    return found
