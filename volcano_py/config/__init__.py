"""volcano-scheduler.conf: its model, how it is read and checked, and which one is in force. No I/O.

Names of plugins and actions, and the models of their arguments, come from a `Catalogue`.
"""

from __future__ import annotations

from volcano_py.config.arguments import Arguments, NoArguments, advise, argument, instead
from volcano_py.config.catalogue import Catalogue
from volcano_py.config.defaults import default_configuration_text
from volcano_py.config.describe import Row, describe
from volcano_py.config.fields.reading import read_arguments
from volcano_py.config.flags import Flags
from volcano_py.config.model import PluginEntry, SchedulerConfiguration, Tier
from volcano_py.config.parse import ParseResult, parse_configuration
from volcano_py.config.reload import Outcome, OutcomeKind, Reloader
from volcano_py.config.text.problems import Code, Problem, Severity
from volcano_py.config.text.rendering import format_problems, in_short
from volcano_py.config.values import AtLeast, Duration, GoBool, PositiveDuration, ResourceNames

__all__ = [
    "Arguments",
    "AtLeast",
    "Catalogue",
    "Code",
    "Duration",
    "Flags",
    "GoBool",
    "NoArguments",
    "Outcome",
    "OutcomeKind",
    "ParseResult",
    "PluginEntry",
    "PositiveDuration",
    "Problem",
    "Reloader",
    "ResourceNames",
    "Row",
    "SchedulerConfiguration",
    "Severity",
    "Tier",
    "advise",
    "argument",
    "default_configuration_text",
    "describe",
    "format_problems",
    "in_short",
    "instead",
    "parse_configuration",
    "read_arguments",
]
