"""JSON values to dataclasses and back.

Names of fields are snake_case in Python and camelCase in JSON; `field(metadata={"json": "podCIDR"})` names one that is not.
A field without a default must be there. Fields of the JSON that the dataclass does not have are left out.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from typing import Any, TypeVar, Union

from oarlock.errors import TerminalError

T = TypeVar("T")


class ShapeError(TerminalError):
    """A JSON value does not have the shape that was asked for. Terminal: a document does not change by itself."""


def from_json(shape: type[T] | Any, value: Any, what: str = "") -> T:
    """The value in this shape: a dataclass, a list, dict or optional of such, or a plain type.

    * `what` - names the value in errors; places in it are added: `metadata.name`.

    Raises `ShapeError`, with the place, when it does not fit.
    """
    if shape is Any or shape is object:
        return typing.cast(T, value)
    origin = typing.get_origin(shape)
    arguments = typing.get_args(shape)
    if origin in (Union, types.UnionType):
        return typing.cast(T, _one_of(arguments, value, what))
    if origin is typing.Literal:
        if value in arguments:
            return typing.cast(T, value)
        raise ShapeError(f"{_named(what)}expected one of {', '.join(map(repr, arguments))}")
    if dataclasses.is_dataclass(shape):
        fields = _fields(typing.cast(type, shape))
        known = {}
        for name, (key, hint, needed) in fields.items():
            if key in (value := _expect(dict, value, what)):
                known[name] = from_json(hint, value[key], f"{what}.{key}" if what else key)
            elif needed:
                raise ShapeError(f"{_named(what)}{key} is missing")
        return typing.cast(T, shape(**known))
    plain = origin or (dict if typing.is_typeddict(shape) else shape)
    _expect(plain, value, what)
    if plain is list and arguments:
        return typing.cast(T, [from_json(arguments[0], one, f"{what}[{place}]") for place, one in enumerate(value)])
    if plain is dict and len(arguments) == 2:
        of = {key: from_json(arguments[1], one, f"{what}.{key}" if what else key) for key, one in value.items()}
        return typing.cast(T, of)
    return typing.cast(T, float(value) if plain is float else value)


def to_json(value: Any) -> Any:
    """The JSON value of what may hold dataclasses. Fields that are None are left out."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = {name: key for name, (key, _, _) in _fields(type(value)).items()}
        fields = ((key, getattr(value, name)) for name, key in names.items())
        return {key: to_json(one) for key, one in fields if one is not None}
    if isinstance(value, dict):
        return {key: to_json(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(one) for one in value]
    return value


@functools.cache
def _fields(shape: type) -> dict[str, tuple[str, Any, bool]]:
    """Of each field its key in JSON, its type, and whether it must be there."""
    hints = typing.get_type_hints(shape)
    return {
        one.name: (
            one.metadata.get("json") or _camel(one.name),
            hints[one.name],
            one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING,
        )
        for one in dataclasses.fields(shape)
    }


def _camel(name: str) -> str:
    head, *rest = name.strip("_").split("_")
    return head + "".join(word.capitalize() for word in rest)


def _one_of(shapes: tuple[Any, ...], value: Any, what: str) -> Any:
    if value is None and types.NoneType in shapes:
        return None
    failures = []
    for shape in shapes:
        if shape is types.NoneType:
            continue
        try:
            return from_json(shape, value, what)
        except ShapeError as error:
            failures.append(error)
    # With one shape and None its own message says most.
    raise failures[0] if len(failures) == 1 else ShapeError(f"{_named(what)}expected one of several types")


_SPOKEN = {dict: "an object", list: "a list", str: "a string", bool: "true or false", int: "a whole number", float: "a number"}


def _expect(plain: Any, value: Any, what: str) -> Any:
    fits = (int, float) if plain is float else plain
    # In Python true is a number; in JSON it is not.
    if isinstance(value, fits) and (plain is bool or not isinstance(value, bool)):
        return value
    raise ShapeError(f"{_named(what)}expected {_SPOKEN.get(plain, plain)}")


def _named(what: str) -> str:
    return f"{what}: " if what else ""
