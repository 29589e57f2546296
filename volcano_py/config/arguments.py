"""Base class and helpers for the arguments of plugins and actions, ours and those of plugin authors.

    class MyArguments(Arguments):
        weight: float = argument("mine.weight", 1.0, "Weight of this plugin's score; 0 switches it off.")
        zones: Mapping[str, str] = argument("mine.zone.<name>", {}, "Opening hours of each zone.")

pydantic's own `Field(1.0, alias="mine.weight", description="…")` means the same. A key with `<…>` in it declares a
family of keys whose middle or end is free; its field is a mapping from that part to the value. Keys may be written
flat (`mine.weight: 2`) or nested (`mine: {weight: 2}`).

Validators report through `instead` (another value is used) and `advise` (a remark); a ValueError refuses the value.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar, cast

import msgspec
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationInfo
from pydantic_core import PydanticCustomError

T = TypeVar("T")

# Type of the error that a validator raises to ask for another value; only the reader of the file understands it.
INSTEAD: Final = "instead"


class Arguments(BaseModel):
    """Frozen, refuses unknown keys, NaN and infinity; fields can be set by name in Python.

    Derive nested structures from it too, so that unknown keys inside them are noticed.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        validate_by_name=True,
        validate_by_alias=True,
        loc_by_alias=False,
        defer_build=True,
    )

    def unused_points(self) -> frozenset[str]:
        """Extension points that the plugin fills and that are of no use with these arguments: it is not asked there."""
        return frozenset()


class NoArguments(Arguments):
    """For plugins and actions that take none."""


class Remark(msgspec.Struct, frozen=True):
    """What a validator said about a value it accepted; `field` is None when it is about the whole model."""

    field: str | None
    message: str


class Reading(msgspec.Struct):
    """Validation context of a model that is read from a configuration: takes the validators' remarks."""

    remarks: list[Remark] = msgspec.field(default_factory=list)


def argument(key: str | tuple[str, ...], default: T, description: str) -> T:
    """Declares an argument under its key in the configuration.

    Of several keys the first is the name in messages and documentation, the others are understood too; two of them with
    different values are refused. More than a default (`ge`, `pattern`, …) goes into the annotation:
    `Annotated[int, Field(ge=0)]`.
    """
    alias = key if isinstance(key, str) else AliasChoices(*key)
    return cast("T", Field(default=cast("Any", default), validation_alias=alias, description=description))


def instead(info: ValidationInfo, replacement: T, why: str) -> T:
    """Use `replacement` for the value being validated; `why` ends the sentence "<key> …, found <value>".

    While a configuration is read this raises, the reader records a warning with line and column, and validates
    again with the replacement. In Python code that builds the model the replacement is taken silently.
    """
    if isinstance(info.context, Reading):
        raise PydanticCustomError(INSTEAD, "{why}", {"why": why, "replacement": replacement})
    return replacement


def advise(info: ValidationInfo, message: str) -> None:
    """Records a warning about the value being validated, which stays as it is."""
    if isinstance(info.context, Reading):
        info.context.remarks.append(Remark(info.field_name, message))
