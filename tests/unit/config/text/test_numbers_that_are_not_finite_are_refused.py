"""Weights, ratios and thresholds of the plugins that place pods: what is no number is refused at its place."""

from __future__ import annotations

import pytest

from tests.support.registries import checked_registry
from volcano_py.config.parse import parse_configuration
from volcano_py.config.text.problems import Severity

GPU = "nvidia.com/gpu"
NUMBERS = [
    ("binpack", "binpack.weight"),
    ("binpack", "binpack.cpu"),
    ("binpack", f"binpack.resources.{GPU}"),
    ("nodeorder", "leastrequested.weight"),
    ("nodeorder", "podtopologyspread.weight"),
    ("predicates", f"predicate.resources.{GPU}.cpu"),
    ("predicates", f"predicate.resources.{GPU}.memory"),
    ("resource-strategy-fit", "resourceStrategyFitWeight"),
    ("resource-strategy-fit", f"resources.{GPU}.weight"),
    ("resource-strategy-fit", "sra.retention.weight"),
    ("resource-strategy-fit", f"sra.retention.{GPU}"),
    ("resource-strategy-fit", f"sra.proportional.{GPU}.cpu"),
    ("task-topology", "task-topology.weight"),
    ("usage", "usage.weight"),
    ("usage", "thresholds.cpu"),
    ("usage", "estimator.risk_factor"),
]


@pytest.mark.parametrize(("plugin", "key"), NUMBERS)
@pytest.mark.parametrize("text", [".nan", ".inf", "-.inf", "NaN", "Infinity", "much", "[1]", "{a: 1}"])
def test_what_is_no_number_is_refused_with_path_and_line(plugin: str, key: str, text: str) -> None:
    lines = ["actions: allocate", "tiers:", "- plugins:", f"  - name: {plugin}", "    arguments:"]
    lines.append(f"      {key}: {text}")
    result = parse_configuration("\n".join(lines), checked_registry().catalogue())
    errors = [problem for problem in result.problems if problem.severity is Severity.ERROR]
    assert result.config is None
    assert [(error.path, error.line) for error in errors] == [(f"tiers[0].plugins[0].arguments.{key}", 6)]
