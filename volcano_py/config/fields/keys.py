"""Which keys an argument model knows: dotted keys, families of keys with a free part, and their nested spellings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

import msgspec
from pydantic import AliasChoices, AliasPath, BaseModel
from pydantic.fields import FieldInfo

_PLACEHOLDER: Final = re.compile(r"<[^<>]+>")


class Family(msgspec.Struct, frozen=True):
    """Keys such as `predicate.resources.<name>.cpu`, collected in one mapping field."""

    field: str
    prefix: str
    suffix: str
    rank: int  # place among the field's spellings: 0 is the main one

    def name_in(self, key: str) -> str | None:
        """The free part of the key, or None when the key is not of this family."""
        end = len(key) - len(self.suffix)
        if end <= len(self.prefix) or not key.startswith(self.prefix) or not key.endswith(self.suffix):
            return None
        return key[len(self.prefix) : end]


class Target(msgspec.Struct, frozen=True):
    """Where the value of a key goes: a field, or one name in a field that is a mapping."""

    field: str
    name: str | None
    rank: int


class KeyTable(msgspec.Struct, frozen=True):
    exact: Mapping[str, Target]
    families: tuple[Family, ...]  # the most specific first

    def target(self, key: str) -> Target | None:
        if key in self.exact:
            return self.exact[key]
        for family in self.families:
            name = family.name_in(key)
            if name is not None:
                return Target(family.field, name, family.rank)
        return None

    def leads_on(self, key: str) -> bool:
        """Whether known keys begin with this one and a dot, so that a mapping under it is a nested spelling."""
        start = key + "."
        if any(known.startswith(start) for known in self.exact):
            return True
        return any(_continues(family, start) for family in self.families)

    def siblings(self, key: str) -> Iterator[str]:
        """Keys of families that differ from this one in their last part."""
        stem, dot, _ = key.rpartition(".")
        for family in self.families:
            if (
                dot
                and family.suffix.startswith(".")
                and len(stem) > len(family.prefix)
                and stem.startswith(family.prefix)
            ):
                yield stem + family.suffix

    def known(self) -> Iterator[str]:
        yield from self.exact
        yield from (f"{family.prefix}<name>{family.suffix}" for family in self.families)


@lru_cache(maxsize=256)
def key_table(model: type[BaseModel]) -> KeyTable:
    """The keys of a model's fields: validation alias, alias or name, as pydantic would take them."""
    exact: dict[str, Target] = {}
    families: list[Family] = []
    for field, info in model.model_fields.items():
        for rank, key in enumerate(keys_of(field, info)):
            if placeholder := _PLACEHOLDER.search(key):
                families.append(Family(field, key[: placeholder.start()], key[placeholder.end() :], rank))
            else:
                exact.setdefault(key, Target(field, None, rank))
    families.sort(key=lambda family: -len(family.prefix) - len(family.suffix))
    return KeyTable(exact, tuple(families))


def keys_of(field: str, info: FieldInfo) -> tuple[str, ...]:
    """All spellings of a field's key, the main one first."""
    alias = info.validation_alias or info.alias
    if isinstance(alias, AliasChoices):
        return tuple(choice for choice in alias.choices if isinstance(choice, str)) or (field,)
    return (field,) if alias is None or isinstance(alias, AliasPath) else (alias,)


def _continues(family: Family, start: str) -> bool:
    if family.prefix.startswith(start):
        return True
    return bool(family.suffix) and start.startswith(family.prefix) and len(start) > len(family.prefix)
