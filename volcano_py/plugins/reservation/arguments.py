"""Arguments of reservation."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, Field, PlainSerializer
from pydantic_core import PydanticCustomError

from volcano_py.config.arguments import Arguments, argument
from volcano_py.config.values import PositiveDuration, TypeName


def _to_share(value: object) -> object:
    """`10%` is 0.1."""
    if not isinstance(value, str) or not value.endswith("%"):
        return value
    try:
        return float(value[:-1]) / 100
    except ValueError:
        raise PydanticCustomError("share_type", "must be a share such as 10% or 0.1") from None


Share: TypeAlias = Annotated[
    float,
    BeforeValidator(_to_share),
    Field(ge=0, le=1),
    PlainSerializer(lambda share: f"{share:.6%}".rstrip("0%").rstrip(".") + "%", return_type=str, when_used="json"),
    TypeName("share, as `10%` or `0.1`"),
]


class ReservationArguments(Arguments):
    after: PositiveDuration = argument(
        "after",
        timedelta(minutes=5),
        "How long a job waits before a place is held for it.",
    )
    max_idle: Share = argument(
        "maxIdle",
        0.1,
        "How much of each resource of the cluster may lie idle, at most, for a held place if it is not known when the "
        "place will be free.",
    )
    hold_for: PositiveDuration = argument(
        "holdFor",
        timedelta(minutes=30),
        "How long a place is held after the expected start of the job or, if that is not known, after the place was "
        "given. Then other jobs have their turn.",
    )
    window: PositiveDuration = argument(
        "window",
        timedelta(hours=24),
        "How far the plugin looks ahead. A pod that ends later counts as one whose end is not known.",
    )
