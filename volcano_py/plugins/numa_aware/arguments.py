"""The arguments of numa-aware."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from volcano_py.config.arguments import Arguments, argument
from volcano_py.config.values import AtLeast

Weight = Annotated[int, AtLeast(0, otherwise=1), Field(le=2**31 - 1)]


class NumaAwareArguments(Arguments):
    weight: Weight = argument("weight", 1, "Weight of the score; 0 switches it off.")
