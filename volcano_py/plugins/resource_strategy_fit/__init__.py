"""The resource-strategy-fit plugin: a strategy for each resource; scarce devices are kept free."""

from __future__ import annotations

from volcano_py.plugins.resource_strategy_fit.plugin import ResourceStrategyFit

__all__ = ["ResourceStrategyFit"]
