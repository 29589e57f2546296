"""The arguments of task-topology."""

from __future__ import annotations

from typing import Annotated

from volcano_py.config.arguments import Arguments, argument
from volcano_py.config.values import AtLeast


class TaskTopologyArguments(Arguments):
    weight: Annotated[int, AtLeast(0, otherwise=1)] = argument(
        "task-topology.weight", 1, "Weight of this plugin's score; 0 switches it off."
    )
