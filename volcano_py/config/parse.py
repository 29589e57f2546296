"""Parse volcano-scheduler.conf into a SchedulerConfiguration, or into all of its problems."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec
from pydantic import BaseModel

from volcano_py.config.catalogue import REMOVED_ACTIONS, Catalogue
from volcano_py.config.checks import Origins, check_conflicts, check_contradictions
from volcano_py.config.fields.coercion import found
from volcano_py.config.fields.reading import read_model
from volcano_py.config.flags import Flags
from volcano_py.config.metrics import SECRETS, check_metrics
from volcano_py.config.model import PluginEntry, SchedulerConfiguration, Tier
from volcano_py.config.text.document import read_document
from volcano_py.config.text.logins import without_login
from volcano_py.config.text.problems import Code, Position, Problem, Problems, Severity, Where, quoted
from volcano_py.config.text.tree import Entry, MappingNode, Node, ScalarNode, SequenceNode

_TOP_KEYS: Final = ("actions", "tiers", "configurations", "metrics")
# Far more than any cycle has; keeps a list of commas from costing seconds.
_MAX_ACTIONS: Final = 1000
_START: Final = Position(1, 1)


class ParseResult(msgspec.Struct, frozen=True):
    """`config` is None exactly when there is an error among the problems."""

    config: SchedulerConfiguration | None
    problems: tuple[Problem, ...]
    source: str

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity is Severity.WARNING)


def parse_configuration(
    text: str, catalogue: Catalogue, *, source: str = "volcano-scheduler.conf", strict: bool = False
) -> ParseResult:
    """Reads a configuration; never raises, whatever the text.

    `catalogue` names the plugins and actions there are. `strict` turns warnings about unknown keys and values of
    another type into errors; warnings about switches that contradict each other stay warnings.
    """
    problems = Problems(strict)
    root = read_document(text, problems)
    config = None
    if isinstance(root, MappingNode):
        config = _Parser(catalogue, problems).configuration(root)
    elif problems.valid:
        what = "nothing" if root is None else found(root)
        message = f"a configuration is a mapping with the keys actions and tiers, found {what}"
        problems.error(Code.MISSING, Where("", root.position if root else _START), message)
    return ParseResult(config if problems.valid else None, problems.in_order(), source)


class _Parser(msgspec.Struct):
    catalogue: Catalogue
    problems: Problems
    origins: Origins = msgspec.field(default_factory=Origins)

    def configuration(self, root: MappingNode) -> SchedulerConfiguration:
        for entry in root.entries.values():
            if entry.key not in _TOP_KEYS:
                message = f"unknown key, ignored{self.problems.suggestion(entry.key, _TOP_KEYS)}"
                self.problems.lenient(Code.UNKNOWN_KEY, Where().key(entry.key, entry.position), message)
        actions = self._actions(root.entries.get("actions"), root.position)
        tiers = self._tiers(root.entries.get("tiers"))
        self._note_repetitions(tiers)
        configurations = self._configurations(root.entries.get("configurations"), actions)
        metrics = self._metrics(root.entries.get("metrics"))
        config = SchedulerConfiguration(
            actions,
            tiers,
            MappingProxyType(configurations),
            MappingProxyType(metrics),
            _digest(actions, tiers, configurations, metrics),
        )
        check_conflicts(config, self.catalogue, self.origins, self.problems)
        if self.problems.valid:  # with parts missing, these would accuse what stands in a part that was refused
            check_contradictions(config, self.catalogue, self.origins, self.problems)
        return config

    # actions

    def _actions(self, entry: Entry | None, start: Position) -> tuple[str, ...]:
        if entry is None or (isinstance(entry.value, ScalarNode) and not entry.value.text.strip()):
            where = Where("actions", entry.position if entry else start)
            message = 'names no action; write them separated by commas, such as "enqueue, allocate, backfill"'
            self.problems.error(Code.MISSING, where, message)
            return ()
        where = Where("actions", entry.position)
        if not isinstance(entry.value, ScalarNode):
            message = f'must be text such as "enqueue, allocate, backfill", found {found(entry.value)}'
            self.problems.error(Code.WRONG_TYPE, where, message)
            return ()
        self.origins.note(where)
        names: list[str] = []
        offset = 0
        parts = entry.value.text.split(",")
        if len(parts) > _MAX_ACTIONS:
            message = f"{len(parts)} actions; a cycle may have {_MAX_ACTIONS} at most"
            self.problems.error(Code.TOO_LARGE, where, message)
            return ()
        for index, part in enumerate(parts):
            leading = len(part) - len(part.lstrip())
            place = where.item(index, entry.value.position_at(offset + leading))
            self.origins.note(place)
            names.append(part.strip())
            self._check_action(part.strip(), place)
            offset += len(part) + 1
        return tuple(names)

    def _check_action(self, name: str, where: Where) -> None:
        if not name:
            message = "an action without a name; remove the extra comma"
            self.problems.error(Code.UNKNOWN_ACTION, where, message)
        elif name in self.catalogue.actions:
            return
        elif name in self.catalogue.actions_known_elsewhere:
            message = f"the action {name} exists in Volcano but not in this scheduler; remove it"
            self.problems.error(Code.UNSUPPORTED, where, message)
        elif name in REMOVED_ACTIONS:
            message = f"Volcano has dropped the action {name}, and this scheduler does not have it; remove it"
            self.problems.error(Code.UNKNOWN_ACTION, where, message)
        else:
            actions = self.catalogue.actions
            advice = self.problems.suggestion(name, actions) or f"; known: {_listed(actions)}"
            self.problems.error(Code.UNKNOWN_ACTION, where, f"unknown action {quoted(name)}{advice}")

    # tiers and plugins

    def _tiers(self, entry: Entry | None) -> tuple[Tier, ...]:
        items = self._items(entry, "tiers", "a list of tiers, each with `plugins:`")
        return tuple(self._tier(index, node, where) for index, (node, where) in enumerate(items))

    def _tier(self, index: int, node: Node, where: Where) -> Tier:
        if not isinstance(node, MappingNode):
            message = f"a tier must be a mapping with the key plugins, found {found(node)}"
            self.problems.error(Code.WRONG_TYPE, where, message)
            return Tier()
        for entry in node.entries.values():
            if entry.key != "plugins":
                message = (
                    f"unknown key, ignored{self.problems.suggestion(entry.key, ('plugins',))}; a tier has only plugins"
                )
                self.problems.lenient(Code.UNKNOWN_KEY, where.key(entry.key, entry.position), message)
        items = self._items(node.entries.get("plugins"), "plugins", "a list of plugins, each with `name:`", where)
        entries = (self._plugin(index, position, *item) for position, item in enumerate(items))
        return Tier(tuple(entry for entry in entries if entry is not None))

    def _plugin(self, tier: int, index: int, node: Node, where: Where) -> PluginEntry | None:
        if not isinstance(node, MappingNode):
            message = f"a plugin must be a mapping with the key name, found {found(node)}"
            if isinstance(node, ScalarNode) and node.text in self.catalogue.plugins:
                message += f"; write `name: {node.text}`"
            self.problems.error(Code.WRONG_TYPE, where, message)
            return None
        self.origins.note(where)
        switches = {key: entry for key, entry in node.entries.items() if key not in ("name", "arguments")}
        for entry in switches.values():
            self.origins.note(where.key(entry.key, entry.position))
        flags = read_model(Flags, MappingNode(node.position, switches), where, self.problems)
        model = self._plugin_model(node.entries.get("name"), where)
        if model is None:
            return None
        name, model_type = model
        arguments = self._arguments(model_type, node.entries.get("arguments"), where)
        return PluginEntry(name, flags or Flags(), arguments, tier, index)

    def _plugin_model(self, entry: Entry | None, where: Where) -> tuple[str, type[BaseModel]] | None:
        name = self._name(entry, where, "plugin")
        if name is None or entry is None:
            return None
        known = self.catalogue.plugins
        if name in known:
            return name, known[name]
        place = where.key("name", entry.value.position)
        if name in self.catalogue.plugins_known_elsewhere:
            message = f"the plugin {name} exists in Volcano but not in this scheduler; remove it"
            self.problems.error(Code.UNSUPPORTED, place, message)
        else:
            message = f"unknown plugin {quoted(name)}{self.problems.suggestion(name, known)}; known: {_listed(known)}"
            self.problems.error(Code.UNKNOWN_PLUGIN, place, message)
        return None

    def _arguments(self, model: type[BaseModel], entry: Entry | None, where: Where) -> BaseModel:
        place = where.key("arguments", entry.position) if entry else where
        read = read_model(model, entry.value if entry else None, place, self.problems)
        # Refused arguments leave an error behind, so this stand-in is only seen by the checks for conflicts.
        return read if read is not None else model.model_construct()

    def _note_repetitions(self, tiers: tuple[Tier, ...]) -> None:
        first: dict[str, PluginEntry] = {}
        for tier in tiers:
            for entry in tier.plugins:
                earlier = first.setdefault(entry.name, entry)
                if earlier is entry:
                    continue
                differ = "" if earlier.arguments == entry.arguments else ", with other arguments, which are used"
                message = f"the plugin {entry.name} is listed at {earlier.path} already{differ}; one entry is enough"
                self.problems.warning(Code.REPEATED, self.origins.at(entry.path), message)

    # configurations and metrics

    def _configurations(self, entry: Entry | None, actions: tuple[str, ...]) -> dict[str, BaseModel]:
        """Arguments by action: of every configured action, and of those the file gives although not configured."""
        read: dict[str, BaseModel] = {}
        items = self._items(entry, "configurations", "a list of actions, each with `name:` and `arguments:`")
        for node, where in items:
            if not isinstance(node, MappingNode):
                message = f"must be a mapping with the keys name and arguments, found {found(node)}"
                self.problems.error(Code.WRONG_TYPE, where, message)
                continue
            for key, extra in node.entries.items():
                if key not in ("name", "arguments"):
                    message = f"unknown key, ignored{self.problems.suggestion(key, ('name', 'arguments'))}"
                    self.problems.lenient(Code.UNKNOWN_KEY, where.key(key, extra.position), message)
            name = self._configured_action(node.entries.get("name"), where, actions)
            if name is None:
                continue
            arguments = self._arguments(self.catalogue.actions[name], node.entries.get("arguments"), where)
            if name in read:
                message = f"the action {name} has arguments already, and the first entry is used; remove this one"
                self.problems.warning(Code.REPEATED, where, message)
            read.setdefault(name, arguments)
        for name in actions:
            if name in self.catalogue.actions and name not in read:
                read[name] = self._arguments(self.catalogue.actions[name], None, Where(f"configurations.{name}"))
        return read

    def _configured_action(self, entry: Entry | None, where: Where, actions: tuple[str, ...]) -> str | None:
        name = self._name(entry, where, "action")
        if name is None or entry is None:
            return None
        place = where.key("name", entry.value.position)
        if name in self.catalogue.actions:
            # gangpreempt and gangreclaim read their predicate cache switch here.
            if name not in actions and name != "allocate":
                message = f"the action {name} is not among `actions`, so its arguments have no effect"
                self.problems.warning(Code.CONTRADICTION, place, message)
            return name
        if name in self.catalogue.actions_known_elsewhere and name not in actions:
            message = f"the action {name} does not exist in this scheduler, so its arguments have no effect"
            self.problems.warning(Code.CONTRADICTION, place, message)
        else:
            self._check_action(name, place)
        return None

    def _metrics(self, entry: Entry | None) -> dict[str, str]:
        if entry is None or (isinstance(entry.value, ScalarNode) and entry.value.value is None):
            return {}
        where = Where("metrics", entry.position)
        if not isinstance(entry.value, MappingNode):
            message = f"must be a mapping such as `type: prometheus`, found {found(entry.value)}"
            self.problems.error(Code.WRONG_TYPE, where, message)
            return {}
        read: dict[str, str] = {}
        for key, item in entry.value.entries.items():
            if isinstance(item.value, ScalarNode):
                read[key] = "" if item.value.value is None else item.value.text
            else:
                message = f"must be text, found {found(item.value)}; write nested keys with dots"
                self.problems.error(Code.WRONG_TYPE, where.key(key, item.position), message)
        check_metrics(entry.value, where, self.problems)
        return read

    # shared

    def _items(
        self, entry: Entry | None, key: str, shape: str, parent: Where | None = None
    ) -> list[tuple[Node, Where]]:
        """Items of a list, each with its place; nothing when the list is absent or empty."""
        if entry is None or (isinstance(entry.value, ScalarNode) and entry.value.value is None):
            return []
        where = (parent or Where()).key(key, entry.position)
        if not isinstance(entry.value, SequenceNode):
            self.problems.error(Code.WRONG_TYPE, where, f"must be {shape}, found {found(entry.value)}")
            return []
        return [(node, where.item(index, node.position)) for index, node in enumerate(entry.value.items)]

    def _name(self, entry: Entry | None, where: Where, kind: str) -> str | None:
        if entry is not None and isinstance(entry.value, ScalarNode) and entry.value.text:
            return entry.value.text
        if entry is None or isinstance(entry.value, ScalarNode):
            self.problems.error(Code.MISSING, where, f"the {kind} has no name; add `name:`")
        else:
            message = f"must be the name of a {kind}, found {found(entry.value)}"
            self.problems.error(Code.WRONG_TYPE, where.key("name", entry.position), message)
        return None


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(sorted(names)) or "none"


def _digest(
    actions: tuple[str, ...],
    tiers: tuple[Tier, ...],
    configurations: Mapping[str, BaseModel],
    metrics: Mapping[str, str],
) -> str:
    """SHA-256 over what the configuration means: comments, order of keys and written defaults do not count, nor do
    passwords, which could be guessed from it."""
    meaning = {
        "actions": actions,
        "tiers": [[_entry_meaning(entry) for entry in tier.plugins] for tier in tiers],
        "configurations": {name: _meaning(model) for name, model in configurations.items()},
        "metrics": {key: without_login(text) for key, text in metrics.items() if key not in SECRETS},
    }
    return hashlib.sha256(json.dumps(meaning, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def _entry_meaning(entry: PluginEntry) -> list[Any]:
    return [entry.name, _meaning(entry.flags), _meaning(entry.arguments)]


def _meaning(model: BaseModel) -> Any:
    try:
        return model.model_dump(mode="json")
    except Exception:  # a third-party model that cannot be serialised still needs a digest
        return repr(model)
