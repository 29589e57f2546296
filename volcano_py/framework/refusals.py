"""Refusals as small integers, so that an answer for thousands of nodes is an array of codes."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain import plugin_failed
from volcano_py.framework.calls.answers import PLUGIN_ERROR_CODE
from volcano_py.framework.views import Codes
from volcano_py.state.task_class import Refusal

_PLUGIN_ERROR: Final = Refusal(Reason.PLUGIN_ERROR, plugin_failed())


class Refusals:
    """The refusals of one session by code. 0 is none; an unregistered code is a plugin's mistake."""

    def __init__(self) -> None:
        self._known: list[Refusal] = [_PLUGIN_ERROR] * (PLUGIN_ERROR_CODE + 1)
        self._resolvable: list[bool] = [True, False]
        self._transient: list[bool] = [False, False]
        self._codes: dict[tuple[Refusal, bool, bool], int] = {(_PLUGIN_ERROR, False, False): PLUGIN_ERROR_CODE}

    def code(self, refusal: Refusal, *, resolvable: bool, transient: bool = False) -> int:
        """The code of a refusal; a new one when it is first used."""
        key = (refusal, resolvable, transient)
        found = self._codes.get(key)
        if found is None:
            found = self._codes[key] = len(self._known)
            self._known.append(refusal)
            self._resolvable.append(resolvable)
            self._transient.append(transient)
        return found

    def of(self, code: int) -> Refusal:
        """The refusal of a code other than 0."""
        return self._known[code] if 0 < code < len(self._known) else _PLUGIN_ERROR

    def resolvable(self, codes: Codes) -> NDArray[np.bool_]:
        """[K] where the node accepts the class, or may once pods are evicted from it."""
        return self._look_up(self._resolvable, codes)

    def transient(self, codes: Codes) -> NDArray[np.bool_]:
        """[K] where the node refuses because of a pod that is leaving, or for lack of one that is promised to it."""
        return self._look_up(self._transient, codes)

    @staticmethod
    def _look_up(flags: list[bool], codes: Codes) -> NDArray[np.bool_]:
        known = (codes >= 0) & (codes < len(flags))
        return np.array(flags, dtype=np.bool_)[np.where(known, codes, PLUGIN_ERROR_CODE)]
