"""Which plugins and actions exist: passed in, so that reading a configuration imports only those that it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from pydantic import BaseModel

# All names that Volcano's own scheduler registers; those the catalogue lacks get an answer of their own.
VOLCANO_PLUGINS: Final = frozenset(
    {
        "binpack",
        "capacity",
        "cdp",
        "conformance",
        "deviceshare",
        "drf",
        "extender",
        "gang",
        "network-topology-aware",
        "nodegroup",
        "nodeorder",
        "numa-aware",
        "overcommit",
        "pdb",
        "predicates",
        "priority",
        "proportion",
        "rescheduling",
        "resource-strategy-fit",
        "resourcequota",
        "sla",
        "task-topology",
        "tdm",
        "usage",
    }
)
OUR_PLUGINS: Final = frozenset({"reservation"})
"""Built in here, and not among Volcano's. (Volcano once had a plugin of that name, for another purpose.)"""
BUILTIN_NAMES: Final = VOLCANO_PLUGINS | OUR_PLUGINS
VOLCANO_ACTIONS: Final = frozenset(
    {"enqueue", "allocate", "backfill", "preempt", "reclaim", "shuffle", "gangpreempt", "gangreclaim"}
)
# Old files may still list them; Volcano dropped them when reservation went.
REMOVED_ACTIONS: Final = frozenset({"elect", "reserve"})


class Catalogue(msgspec.Struct, frozen=True):
    """Argument models by name, and which extension points each plugin fills (names as in `flags.FLAG_OF_POINT`).

    A plugin missing from `provides` is taken to fill any point, so that no warning is raised on its account.
    `unsupported_flags`: by plugin, the switches (fields of `Flags`) that it does not accept, and why.
    """

    plugins: Mapping[str, type[BaseModel]]
    actions: Mapping[str, type[BaseModel]]
    provides: Mapping[str, frozenset[str]] = msgspec.field(default_factory=dict)
    unsupported_flags: Mapping[str, Mapping[str, str]] = msgspec.field(default_factory=dict)

    def may_provide(self, plugin: str, point: str) -> bool:
        points = self.provides.get(plugin)
        return points is None or point in points

    @property
    def plugins_known_elsewhere(self) -> frozenset[str]:
        """Plugins of Volcano that are absent here."""
        return VOLCANO_PLUGINS - self.plugins.keys()

    @property
    def actions_known_elsewhere(self) -> frozenset[str]:
        """Actions of Volcano that are absent here."""
        return VOLCANO_ACTIONS - self.actions.keys()
