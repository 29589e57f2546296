"""Expressions evaluated by cel-expr-python, Google's CEL for C++. Imported only when there is such an expression.

The library knows neither Kubernetes' functions (`functions.py`) nor a map in which every domain is found. Expressions
are compiled without the type check: the API server made it when it stored them, and the library's check refuses to
compare numbers of different types, which Kubernetes allows. What the library lacks (URLs, named formats, comprehensions
with two variables) is an error when it is evaluated, never a wrong verdict.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional, ext_strings

from volcano_py.plugins.predicates.devices.cel import addresses, comparable, lists, patterns
from volcano_py.plugins.predicates.devices.cel.functions import CelType, Function
from volcano_py.plugins.predicates.devices.cel.verdicts import CelError, FailedProgram, Program, error_of
from volcano_py.state.devices.device import Device, Value, Version

_FUNCTIONS: Final = (*comparable.FUNCTIONS, *lists.FUNCTIONS, *addresses.FUNCTIONS, *patterns.FUNCTIONS)
_LONGEST: Final = 10 * 1024
"""Bytes of an expression; the API server refuses longer ones."""
_INDEX: Final = re.compile(r"""\[\s*\??\s*("[^"\\\n]*"|'[^'\\\n]*')\s*\]""")
_FIELD: Final = r"\.\s*\??\s*([A-Za-z_]\w*)\b(?!\s*\()"
# Literals and comments come first, so that what looks like code in them is not taken for it.
_USE: Final = re.compile(
    r"""(?:[rR][bB]?|[bB][rR])(?:"{3}.*?"{3}|'{3}.*?'{3}|"[^"\n]*"|'[^'\n]*')"""
    r"""|"{3}(?:\\.|[^\\])*?"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
    r"""|//[^\n]*"""
    rf"""|\bdevice\s*\.\s*(?P<map>attributes|capacity)\b(?=\s*(?:\[|{_FIELD}))""",
    re.DOTALL | re.ASCII,
)
_DOMAIN_FIELD: Final = re.compile(rf"\b(?:attributes|capacity)\s*{_FIELD}", re.ASCII)
_MISSING_KEY: Final = re.compile(r'Key not found in map : "(.*)"', re.DOTALL)
_COMPLAINT: Final = re.compile(r"value type for 'Python function .*?>'': (.*)\. [(\[][A-Z]", re.DOTALL)
_STATUS: Final = re.compile(r"^[A-Z_]+: (?:ERROR: <input>:)?")

_NO_INT_BUT_TEXT: Final = (CelType.INT, CelType.DOUBLE, CelType.DYN)

_Domains = dict[str, dict[str, Any]]


def compile_with_library(expression: str) -> Program:
    if len(expression.encode()) > _LONGEST:
        return FailedProgram(error_of(expression, f"has more than {_LONGEST} bytes"))
    try:
        compiled = _environment().compile(_rewritten(expression), disable_check=True)
    except RuntimeError as error:
        return FailedProgram(error_of(expression, f"cannot be compiled: {_readable(str(error))}"))
    return _LibraryProgram(expression, compiled)


class _LibraryProgram(Program):
    """In Kubernetes, a domain that a device lacks is an empty map when it is indexed, but is not `in` the attributes.

    So indexing is rewritten to use another variable, with an empty map for each domain that the expression may mean.
    Where it finds its domain in another way (`cel.bind(all, device.attributes, all["x"].y)`), a domain that the device
    lacks is an error.
    """

    def __init__(self, expression: str, compiled: Any) -> None:
        self._expression = expression
        self._compiled = compiled
        self._domains = {match[1][1:-1] for match in _INDEX.finditer(expression)}
        self._domains |= {match[1] for match in _DOMAIN_FIELD.finditer(expression)}

    def judge(self, device: Device) -> bool | CelError:
        try:
            seen = self._seen(device)
        except ValueError as error:
            return error_of(self._expression, f"cannot be evaluated: {error}")
        try:
            result = self._compiled.eval(data={"device": seen})
        except RuntimeError as error:
            return error_of(self._expression, f"fails: {_readable(str(error))}")
        value, kind = result.value(), result.type().name()
        if kind == "ERROR":
            return error_of(self._expression, f"fails: {_readable(str(value))}")
        if not isinstance(value, bool):
            return error_of(self._expression, f"is of type {kind.lower()}; true or false is needed")
        return value

    def _seen(self, device: Device) -> dict[str, Any]:
        attributes, capacity = _attributes(device), _capacity(device)
        empty: _Domains = {domain: {} for domain in (*self._domains, device.driver)}
        return {
            "driver": device.driver,
            "allowMultipleAllocations": device.is_shared,
            "attributes": attributes,
            "capacity": capacity,
            "indexed_attributes": empty | attributes,
            "indexed_capacity": empty | capacity,
        }


def _rewritten(expression: str) -> str:
    return _USE.sub(lambda use: f"device.indexed_{use['map']}" if use["map"] else use[0], expression)


def _attributes(device: Device) -> _Domains:
    """Domain → name → value. Raises ValueError: a version is none."""
    found: _Domains = {}
    for qualified, value in device.attributes.items():
        domain, _, name = qualified.partition("/")
        found.setdefault(domain, {})[name] = _plain(value)
    return found


def _plain(value: Value) -> Any:
    return comparable.semver(value.text) if isinstance(value, Version) else value


def _capacity(device: Device) -> _Domains:
    """Domain → name → quantity. Raises ValueError: it is none."""
    found: _Domains = {}
    for qualified, text in device.capacity.items():
        domain, _, name = qualified.partition("/")
        found.setdefault(domain, {})[name] = comparable.quantity(text)
    return found


def _readable(message: str) -> str:
    """What the library says of an error, in one line; for the most frequent one also what to do."""
    if match := _MISSING_KEY.search(message):
        return f'the device has no "{match[1]}"; begin with has(….{match[1]}) && to leave such devices out'
    if match := _COMPLAINT.search(message):
        return match[1]
    return _STATUS.sub("", message.splitlines()[0])


@cache
def _environment() -> Any:
    by_name: dict[str, list[Any]] = {}
    for number, function in enumerate(_FUNCTIONS):
        by_name.setdefault(function.name, []).append(_overload(f"kubernetes_{number}", function))
    added = [cel.FunctionDecl(name, overloads) for name, overloads in by_name.items()]
    return cel.NewEnv(
        variables={"device": cel.Type.DYN},
        extensions=[
            ext_bindings.ExtBindings(),
            ext_optional.ExtOptional(),
            ext_strings.ExtStrings(),
            cel.CelExtension("kubernetes", added),
        ],
    )


def _overload(identifier: str, function: Function) -> Any:
    return cel.Overload(
        identifier,
        _type(function.result),
        [_type(each) for each in function.parameters],
        function.is_member,
        _without_exceptions(function),
    )


def _type(kind: CelType) -> Any:
    return getattr(cel.Type, kind.name)


def _without_exceptions(function: Function) -> Callable[..., Any]:
    """The call of a function, with an error of CEL for an exception, which would be printed.

    A result of a wrong type is an error in CEL. The error names that type, so the message is the name of a type. Where
    any type is right, the result is none of CEL: that ends the evaluation even if the other side of an `||` holds.
    """
    call, wrong = function.call, str if function.result in _NO_INT_BUT_TEXT else int

    def answer(*arguments: Any) -> Any:
        try:
            return call(*arguments)
        except (ValueError, OverflowError) as error:
            return type(str(error), (wrong,), {})()

    return answer
