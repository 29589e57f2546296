"""Reads the arguments of one plugin or action into its model, with every problem at its line and column.

pydantic validates strictly. Where it refuses a value that can be understood (text for a number, a validator that
asks for another value, an unknown key), the value is corrected, the correction is recorded as a warning, and the model
is validated again; what remains refused is an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError

from volcano_py.config.arguments import Reading
from volcano_py.config.fields.coercion import DROP, Correction, correct, describe
from volcano_py.config.fields.keys import KeyTable, Target, key_table, keys_of
from volcano_py.config.text.problems import Code, Problem, Problems, Where
from volcano_py.config.text.tree import MappingNode, Node, ScalarNode, SequenceNode, node_of, plain, value_position

M = TypeVar("M", bound=BaseModel)

# A value is corrected twice at most in practice (text to number, number into range).
_MAX_PASSES: Final = 8


def read_arguments(
    model: type[M], values: Mapping[str, object], *, strict: bool = False
) -> tuple[M | None, tuple[Problem, ...]]:
    """Reads arguments given as a Python mapping, as a configuration file would: for tests of argument models."""
    problems = Problems(strict)
    instance = read_model(model, node_of(values), Where(), problems)
    return instance, problems.in_order()


def read_model(model: type[M], node: Node | None, where: Where, problems: Problems) -> M | None:
    """The model from a mapping of arguments (None: no arguments given). None, with errors added, when refused."""
    if node is None or (isinstance(node, ScalarNode) and node.value is None):
        node = MappingNode(where.position, {})
    if not isinstance(node, MappingNode):
        message = f"must be a mapping of arguments, found {describe(node)}; write each as `key: value` below it"
        problems.error(Code.WRONG_TYPE, where, message)
        return None
    errors = problems.errors
    draft = _Draft(model, where, problems)
    draft.collect(node)
    instance = draft.validate()
    return instance if problems.errors == errors else None


class _Site(msgspec.Struct, frozen=True):
    """Where a value of the draft was written."""

    where: Where
    node: Node
    rank: int


class _Draft(msgspec.Struct, Generic[M]):
    """Values on their way into the model, keyed by field name, each with the place it came from."""

    model: type[M]
    where: Where
    problems: Problems
    values: dict[str, Any] = msgspec.field(default_factory=dict)
    sites: dict[tuple[str, str | None], _Site] = msgspec.field(default_factory=dict)

    def collect(self, node: MappingNode) -> None:
        self._collect(node, "", key_table(self.model))

    def _collect(self, node: MappingNode, prefix: str, table: KeyTable) -> None:
        for entry in node.entries.values():
            key = prefix + entry.key
            where = self.where.key(key, entry.position)
            at_value = self.where.key(key, value_position(entry))
            target = table.target(key)
            if isinstance(entry.value, MappingNode) and table.leads_on(key) and not _is_whole(target):
                self._collect(entry.value, key + ".", table)
            elif target is not None:
                self._put(target, _Site(at_value, entry.value, target.rank))
            elif self.model.model_config.get("extra") == "allow":
                self.values[key] = plain(entry.value)
                self.sites[key, None] = _Site(at_value, entry.value, 0)
            elif table.leads_on(key):
                self._refuse_group(key, at_value, entry.value, table)
            else:
                message = f"unknown key, ignored{self.problems.suggestion(key, table.known())}"
                self.problems.lenient(Code.UNKNOWN_KEY, where, message)

    def _refuse_group(self, key: str, where: Where, value: Node, table: KeyTable) -> None:
        if isinstance(value, ScalarNode) and value.value is None:
            self.problems.lenient(Code.EMPTY_VALUE, where, "has no value, ignored; give it one or remove the line")
            return
        message = f"must be a mapping (it groups arguments such as {key}.…), found {describe(value)}"
        self.problems.error(Code.WRONG_TYPE, where, f"{message}{self.problems.suggestion(key, table.siblings(key))}")

    def _put(self, target: Target, site: _Site) -> None:
        earlier = self.sites.get((target.field, target.name))
        if earlier is not None:
            at = earlier.where
            message = f"gives the same argument as {at.path} at line {at.position.line}"
            is_alike = plain(earlier.node) == plain(site.node)
            if earlier.rank == site.rank:  # the same key, flat and nested
                report = self.problems.lenient if is_alike else self.problems.error
                report(Code.REPEATED if is_alike else Code.DUPLICATE_KEY, site.where, f"{message}; remove one")
                return
            if not is_alike:
                # it is not known which of the two spellings its author means
                other = at.path.removeprefix(f"{self.where.path}.")
                message = f"contradicts {other} at line {at.position.line}; remove one"
                self.problems.error(Code.CONFLICT, site.where, message)
                return
            kept, lost = (earlier, site) if earlier.rank < site.rank else (site, earlier)
            message = f"{message}; {kept.where.path} is used; remove {lost.where.path}"
            self.problems.lenient(Code.REPEATED, site.where, message)
            site = kept
        self.sites[target.field, target.name] = site
        if target.name is None:
            self.values[target.field] = plain(site.node)
        else:
            self.values.setdefault(target.field, {})[target.name] = plain(site.node)

    def validate(self) -> M | None:
        for _ in range(_MAX_PASSES):
            reading = Reading()
            try:
                instance = self.model.model_validate_json(
                    json.dumps(self.values), strict=True, by_alias=True, by_name=True, context=reading
                )
            except ValidationError as refused:
                faults = refused.errors(include_url=False)
                if not self._correct_all(faults):
                    self._report_all(faults)
                    return None
            except Exception as crash:  # a validator of a third-party model may raise anything
                message = f"the argument model {self.model.__name__} failed: {type(crash).__name__}: {crash}"
                self.problems.error(Code.INVALID_VALUE, self.where, message)
                return None
            else:
                self._remark_all(reading)
                return instance
        message = f"the validators of {self.model.__name__} keep asking for other values"
        self.problems.error(Code.INVALID_VALUE, self.where, message)
        return None

    def _correct_all(self, faults: Sequence[Any]) -> bool:
        """Correct what can be corrected; whether anything was."""
        corrected = False
        for fault in faults:
            site, rest = self._locate(fault["loc"])
            if site is None:
                continue
            where, node = _descend(site, rest)
            correction = correct(fault, node)
            if correction is not None and self._apply(fault["loc"], correction):
                self._note(correction, where)
                corrected = True
        return corrected

    def _note(self, correction: Correction, where: Where) -> None:
        if correction.code is Code.OUT_OF_RANGE:
            self.problems.warning(correction.code, where, correction.message)
        else:
            self.problems.lenient(correction.code, where, correction.message)

    def _apply(self, loc: tuple[int | str, ...], correction: Correction) -> bool:
        container: Any = self.values
        for step in (self._field(loc[0]), *loc[1:])[:-1]:
            try:
                container = container[step]
            except (KeyError, IndexError, TypeError):
                return False
        last = self._field(loc[0]) if len(loc) == 1 else loc[-1]
        try:
            if correction.value is DROP:
                del container[last]
            elif container[last] == correction.value and type(container[last]) is type(correction.value):
                return False
            else:
                container[last] = correction.value
        except (KeyError, IndexError, TypeError):
            return False
        return True

    def _report_all(self, faults: Sequence[Any]) -> None:
        for fault in faults:
            site, rest = self._locate(fault["loc"])
            if site is not None:
                where, node = _descend(site, rest)
                advice = self._advice(fault["loc"])
                self.problems.error(_error_code(fault), where, describe(node, fault) + advice)
            elif fault["type"] == "missing" and len(fault["loc"]) == 1:
                where = self.where.key(self._main_key(fault["loc"][0]), self.where.position)
                self.problems.error(Code.MISSING, where, "is required; add it to the arguments")
            else:
                self.problems.error(Code.INVALID_VALUE, self.where, describe(None, fault))

    def _remark_all(self, reading: Reading) -> None:
        for remark in reading.remarks:
            site = self.sites.get((remark.field, None)) if remark.field else None
            self.problems.warning(Code.ADVICE, site.where if site else self.where, remark.message)

    def _advice(self, loc: tuple[int | str, ...]) -> str:
        """The default of a plain field, as the way out."""
        info = self.model.model_fields.get(self._field(loc[0])) if len(loc) == 1 else None
        default = info.default if info else None
        if isinstance(default, bool):
            return f"; the default is {str(default).lower()}"
        return f"; the default is {default:g}" if isinstance(default, int | float) else ""

    def _locate(self, loc: tuple[int | str, ...]) -> tuple[_Site | None, tuple[int | str, ...]]:
        """The site of the value that a validation error is about, and the way from there to the very value."""
        if not loc:
            return None, ()
        name = self._field(loc[0])
        if (site := self.sites.get((name, None))) is not None:
            return site, loc[1:]
        if len(loc) > 1 and (site := self.sites.get((name, str(loc[1])))) is not None:
            return site, loc[2:]
        return None, ()

    def _field(self, step: int | str) -> str:
        """Field name for the first step of a location, which is an alias in models that locate by alias."""
        if step in self.model.model_fields or not isinstance(step, str):
            return str(step)
        target = key_table(self.model).target(step)
        return target.field if target else step

    def _main_key(self, step: int | str) -> str:
        name = self._field(step)
        info = self.model.model_fields.get(name)
        return keys_of(name, info)[0] if info else name


def _is_whole(target: Target | None) -> bool:
    """Whether a key names one member of a family, whose value is taken unchanged."""
    return target is not None and target.name is not None


def _descend(site: _Site, rest: tuple[int | str, ...]) -> tuple[Where, Node]:
    """Follows a location into the node as far as it goes."""
    where, node = site.where, site.node
    for step in rest:
        if isinstance(node, MappingNode) and str(step) in node.entries:
            entry = node.entries[str(step)]
            where, node = where.key(entry.key, value_position(entry)), entry.value
        elif isinstance(node, SequenceNode) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
            where = where.item(step, node.position)
        else:
            break
    return where, node


def _error_code(fault: Any) -> Code:
    if fault["type"] == "missing":
        return Code.MISSING
    is_type = fault["type"].endswith(("_type", "_parsing")) or fault["type"] == "int_from_float"
    return Code.WRONG_TYPE if is_type else Code.INVALID_VALUE
