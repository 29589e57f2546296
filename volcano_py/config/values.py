"""Types for the fields of argument models: what Volcano's arguments hold that is neither a plain number nor text."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, TypeAlias

import msgspec
from pydantic import BeforeValidator, GetCoreSchemaHandler, PlainSerializer, ValidationInfo
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from volcano_py.api.go_values import format_duration, parse_bool, parse_duration, split_names
from volcano_py.config.arguments import instead
from volcano_py.config.text.problems import quoted


class TypeName(msgspec.Struct, frozen=True):
    """What a type is called in the reference pages, in place of its Python name."""

    text: str


class AtLeast(msgspec.Struct, frozen=True):
    """A lower bound that replaces smaller values, with a warning, as Volcano's plugins do.

    `Annotated[float, AtLeast(1.0, otherwise=1.2)]`: 0.5 becomes 1.2. With `exclusive`, the bound itself is
    replaced too.
    """

    minimum: float
    otherwise: float
    exclusive: bool = False

    def __str__(self) -> str:
        return f"{'above' if self.exclusive else 'at least'} {self.minimum:g}"

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_after_validator_function(self._check, handler(source))

    def _check(self, value: Any, info: ValidationInfo) -> Any:
        fits = value > self.minimum if self.exclusive else value >= self.minimum
        return value if fits else instead(info, type(value)(self.otherwise), f"must be {self}")


def _to_bool(value: object) -> object:
    return parse_bool(value) if isinstance(value, str) else value


def _to_duration(value: object) -> object:
    if isinstance(value, bool):
        raise PydanticCustomError("duration_type", "must be a duration such as 30s, 5m or 1h30m")
    return parse_duration(str(value)) if isinstance(value, str | int | float) else value


def _to_positive_duration(value: object) -> object:
    duration = _to_duration(value)
    if isinstance(duration, timedelta) and duration <= timedelta():
        raise PydanticCustomError("duration_positive", "must be a duration longer than 0, such as 30s")
    return duration


def _to_names(value: object) -> object:
    if isinstance(value, str):
        return split_names(value)
    what = "must be names separated by commas, or a list of them"
    if not isinstance(value, list | tuple):
        raise PydanticCustomError("names_type", what)
    for item in value:
        if not isinstance(item, str):
            raise PydanticCustomError(
                "names_type", "{what}; {item} in it is not a name", {"what": what, "item": quoted(str(item))}
            )
    return split_names(",".join(value))


_DURATION_TEXT = PlainSerializer(format_duration, return_type=str, when_used="json")

# A boolean, or text that Go's ParseBool takes ("true", "1", "F"): Volcano's own reading of boolean arguments.
GoBool: TypeAlias = Annotated[bool, BeforeValidator(_to_bool), TypeName("boolean")]
# Written as in Go: 30s, 1m30s, 250ms, 0.
Duration: TypeAlias = Annotated[timedelta, BeforeValidator(_to_duration), _DURATION_TEXT, TypeName("duration")]
PositiveDuration: TypeAlias = Annotated[
    timedelta, BeforeValidator(_to_positive_duration), _DURATION_TEXT, TypeName("duration above 0")
]
# Resource names separated by commas, blanks allowed; a YAML list is understood too.
ResourceNames: TypeAlias = Annotated[
    tuple[str, ...], BeforeValidator(_to_names), TypeName("comma-separated resource names")
]
