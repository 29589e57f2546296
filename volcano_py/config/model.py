"""A configuration that has been read and found valid: frozen values, shared by every cycle until the next one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel

from volcano_py.config.flags import Flags


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """One plugin at one place. `tier` and `index` count from 0; `arguments` is the plugin's own model."""

    name: str
    flags: Flags
    arguments: BaseModel = field(hash=False)
    tier: int = 0
    index: int = 0

    @property
    def path(self) -> str:
        """Its path in the file, such as `tiers[0].plugins[2]`."""
        return f"tiers[{self.tier}].plugins[{self.index}]"


@dataclass(frozen=True, slots=True)
class Tier:
    plugins: tuple[PluginEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class SchedulerConfiguration:
    """What volcano-scheduler.conf says.

    `configurations` has the arguments of every configured action, defaults where the file says nothing. `metrics`
    may hold credentials and is not in the repr. `digest` is the same for two texts that mean the same.
    """

    actions: tuple[str, ...]
    tiers: tuple[Tier, ...]
    configurations: Mapping[str, BaseModel] = field(default_factory=dict, hash=False)
    metrics: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    digest: str = ""

    def plugins(self) -> Iterator[PluginEntry]:
        """Every plugin entry, tier by tier, in file order."""
        for tier in self.tiers:
            yield from tier.plugins
