"""Reports and metrics to look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from volcano_py.api.report import CycleReport
from volcano_py.observe.metrics import Metrics


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(clock=lambda: 1_000_000.0)


@pytest.fixture
def report() -> Callable[..., CycleReport]:
    def make(**fields: Any) -> CycleReport:
        return CycleReport(**{"cycle": "c-1", "number": 1, "started": 0.0, "duration": 0.25, **fields})

    return make
