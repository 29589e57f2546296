"""docs/reference/configuration.md: the file, its switches, and the arguments of every plugin and action."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from pydantic import BaseModel

from volcano_py.cli.reference import MARK
from volcano_py.cli.reference.markdown import cell, code, paragraphs, sentence, spaced, table
from volcano_py.config import Flags, Row, default_configuration_text, describe
from volcano_py.config.catalogue import Catalogue
from volcano_py.config.fields.keys import keys_of
from volcano_py.config.flags import FLAG_OF_POINT
from volcano_py.framework.action import Action
from volcano_py.framework.plugin import POINTS, Plugin
from volcano_py.framework.registry import Registry
from volcano_py.scheduler import builtin_registry

_INTRODUCTION: Final = """\
The scheduler reads one YAML text, `volcano-scheduler.conf`. On a cluster it is that key of the ConfigMap
`volcano-scheduler-configmap` in the namespace `volcano-system`; elsewhere it is the file given by `--scheduler-conf`.
An edit applies from the next cycle on. `volcano-py config check FILE` says what is wrong with a file beforehand.

How to change it: [Configure plugins and actions](../guide/configure.md)."""

_TOP_KEYS: Final = (
    ("actions", "text", "The steps of a cycle in their order, separated by commas."),
    ("tiers", "list", "Each with `plugins`, a list of plugin entries. The order of tiers, and of plugins, matters."),
    ("configurations", "list", "Arguments of actions: each entry has the `name` of an action and its `arguments`."),
    (
        "metrics",
        "mapping",
        (
            "Where the load of nodes is read for the plugins `usage` and `rescheduling`: `type` (`prometheus`, "
            "`metrics-server`, `prometheus_adaptor` or `elasticsearch`), `interval` (30s); for Prometheus and "
            "Elasticsearch `address`, `tls.insecureSkipVerify` and `tls.caFile`; and for Elasticsearch "
            "`elasticsearch.index` (`metricbeat-*`), `elasticsearch.hostnameFieldName` (`host.hostname`), "
            "`elasticsearch.username` and `elasticsearch.password`."
        ),
    ),
)
_ENTRY_KEYS: Final = (
    ("name", "text", "Name of the plugin. It may be listed in several tiers, and takes part in each."),
    ("arguments", "mapping", "Its arguments, see [Plugins](#plugins). Keys with dots may be nested instead."),
    ("enable…", "boolean", "Its switches, see [Switches](#switches)."),
)
_TYPES: Final = """\
- A value of another type that can be understood (`"10"` for a number) is taken, with a warning. With `--strict` the
  warning is an error. A value that cannot be understood makes the file invalid.
- An unknown key is ignored with a warning; with `--strict` it is an error. An unknown plugin or action, a repeated key
  and text that is not YAML always make the file invalid.
- *boolean*: `true` or `false`; for arguments also the text that Go's ParseBool takes (`"1"`, `"T"`, `"False"`).
- *duration*: as Go writes them, such as `30s`, `1m30s` or `500ms`.
- *comma-separated resource names*: `nvidia.com/gpu, example.com/fpga`; a YAML list is understood too.
- "at least 1 (else 1.2)": a smaller value is replaced by 1.2, with a warning."""
_INT32_BOUNDS: Final = re.compile(r" at (least -|most )2147483647")
_SWITCHES: Final = """\
Each plugin entry may switch single extension points of its plugin off (or on). The mixed spelling, `enable…` and
`enabled…`, is Volcano's. A switch of a point that the plugin does not use is reported as having no effect."""


def configuration_page() -> str:
    """docs/reference/configuration.md."""
    registry = builtin_registry()
    catalogue = registry.catalogue()
    blocks: list[Sequence[str]] = [
        [MARK],
        ["# Configuration reference"],
        _INTRODUCTION.splitlines(),
        ["## The file"],
        ["When no file is given, this one is used:"],
        ["```yaml", *default_configuration_text().splitlines(), "```"],
        _keys(_TOP_KEYS),
        ["A plugin entry has these keys:"],
        _keys(_ENTRY_KEYS),
        ["### How values are read"],
        _TYPES.splitlines(),
        ["## Switches"],
        _SWITCHES.splitlines(),
        _switches(),
        ["## Actions"],
        *_actions(registry, catalogue),
        ["## Plugins"],
        *_plugins(registry, catalogue),
    ]
    return "\n".join(spaced(blocks)) + "\n"


def _keys(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    return table(("Key", "Type", "Meaning"), ((code(key), kind, meaning) for key, kind, meaning in rows))


def _switches() -> list[str]:
    rows = ((code(row.key), code(row.default), cell(row.description)) for row in describe(Flags))
    return table(("Switch", "Default", "Meaning"), rows)


def _actions(registry: Registry, catalogue: Catalogue) -> Iterator[Sequence[str]]:
    absent = catalogue.actions_known_elsewhere
    if absent:
        yield [f"Not there yet: {_listed(absent)}. A file that names one of them is invalid."]
    for name in sorted(registry.actions):
        action = registry.actions[name]
        yield [f"### {name}"]
        yield from ([paragraph] for paragraph in _documentation(action, name))
        yield _arguments(action.arguments_type)


def _plugins(registry: Registry, catalogue: Catalogue) -> Iterator[Sequence[str]]:
    absent = catalogue.plugins_known_elsewhere
    if absent:
        yield [f"Not there yet: {_listed(absent)}. A file that names one of them is invalid."]
    yield ["What the extension points mean: [Plugin author's guide](../plugin-guide.md#extension-points)."]
    for name in sorted(registry.plugins):
        plugin = registry.plugins[name]
        yield [f"### {name}"]
        yield from ([paragraph] for paragraph in _documentation(plugin, name))
        yield _points(registry.points[name])
        yield _unsupported(plugin)
        yield _arguments(plugin.arguments_type)


def _documentation(described: type[Plugin] | type[Action], name: str) -> list[str]:
    """What the module, or the package of a plugin in several modules, says; then what the class adds to it."""
    module = described.__module__
    found = [paragraphs(sys.modules[place].__doc__) for place in (module, module.rpartition(".")[0])]
    begun = next((text for text in found if text and text[0].startswith(f"{name}: ")), found[0])
    if begun:
        begun[0] = sentence(begun[0].removeprefix(f"{name}: "))
    own = [] if described.__doc__ is None else paragraphs(described.__doc__)
    return begun + [paragraph for paragraph in own if paragraph != "See the module."]


def _points(points: frozenset[str]) -> list[str]:
    """The extension points and, for those that can be switched off, how."""
    found = [f"`{point}`" for point in POINTS if point in points]
    switches = dict.fromkeys(
        _switch(FLAG_OF_POINT[point]) for point in POINTS if point in points & FLAG_OF_POINT.keys()
    )
    lines = [f"Extension points: {', '.join(found)}."]
    if switches:
        lines.append(f"Switches: {', '.join(f'`{switch}`' for switch in switches)}.")
    return lines


def _unsupported(plugin: type[Plugin]) -> list[str]:
    refused = [f"`{_switch(flag)}` ({why})" for flag, why in plugin.unsupported_flags.items()]
    return [f"Refused, because it cannot be done yet: {', '.join(refused)}."] if refused else []


def _arguments(model: type[BaseModel]) -> list[str]:
    rows = describe(model)
    if not rows:
        return ["It takes no arguments."]
    cells = ((_key(row), _type(row), code(row.default), cell(row.description)) for row in rows)
    return table(("Argument", "Type", "Default", "Meaning"), cells)


def _type(row: Row) -> str:
    """Without the bounds that every integer has."""
    return _INT32_BOUNDS.sub("", row.type)


def _key(row: Row) -> str:
    return ", ".join(code(key) for key in (row.key, *row.also))


def _switch(flag: str) -> str:
    return keys_of(flag, Flags.model_fields[flag])[0]


def _listed(names: frozenset[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))
