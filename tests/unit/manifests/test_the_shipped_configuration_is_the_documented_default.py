"""The ConfigMap that an installation starts with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml

from volcano_py.api import names
from volcano_py.config import Catalogue, NoArguments, parse_configuration
from volcano_py.config.catalogue import VOLCANO_ACTIONS, VOLCANO_PLUGINS


def test_it_is_the_built_in_default_with_binpack_a_tree_and_without_preemption_by_gang_and_drf(
    named: Callable[[str, str], dict[str, Any]],
) -> None:
    configuration = yaml.safe_load(named("ConfigMap", names.CONFIG_MAP)["data"][names.CONFIG_KEY])
    assert configuration == {
        "actions": "enqueue, allocate, backfill",
        "tiers": [
            {
                "plugins": [
                    {"name": "priority"},
                    {"name": "gang", "enablePreemptable": False},
                    {"name": "conformance"},
                ]
            },
            {
                "plugins": [
                    {"name": "overcommit"},
                    {"name": "drf", "enablePreemptable": False},
                    {"name": "predicates"},
                    {"name": "proportion", "enableHierarchy": True},
                    {"name": "nodeorder"},
                    {"name": "binpack"},
                ]
            },
        ],
    }


def test_the_daemon_reads_it_without_a_remark(named: Callable[[str, str], dict[str, Any]]) -> None:
    catalogue = Catalogue(
        plugins=dict.fromkeys(VOLCANO_PLUGINS, NoArguments), actions=dict.fromkeys(VOLCANO_ACTIONS, NoArguments)
    )
    text = named("ConfigMap", names.CONFIG_MAP)["data"][names.CONFIG_KEY]
    result = parse_configuration(text, catalogue, strict=True)
    assert result.problems == ()
    assert result.config is not None
