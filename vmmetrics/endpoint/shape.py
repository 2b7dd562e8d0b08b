"""Whether a JSON value has the shape that was asked for, and the shape in words.

The part of JSON Schema that structured output knows: ``type`` (one or several), ``enum``, ``properties``, ``required``,
``additionalProperties: false``, ``items``, ``minItems``, ``maxItems``, ``minLength``, ``maxLength``, ``minimum``,
``maximum``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "number": (int, float), "integer": (int,),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip


def problem(value: Any, shape: Mapping[str, Any], where: str = "the answer") -> str | None:
    """What is wrong with a value, in words for who is to mend it; None where nothing is.

    Args:
        value: Read from JSON.
        shape: Its JSON schema.
        where: What the value is called.

    >>> speed = {"type": "string", "enum": ["slow", "fast"]}
    >>> problem({"speed": "quick"}, {"type": "object", "properties": {"speed": speed}, "required": ["speed"]})
    "speed: expected one of 'slow', 'fast' but got 'quick'"
    """
    kinds = shape.get("type")
    if kinds is not None:
        allowed = [kinds] if isinstance(kinds, str) else list(kinds)
        if not any(_is(value, kind) for kind in allowed):
            return f"{where}: expected {' or '.join(allowed)} but got {_short(value)}"
    if "enum" in shape and value not in shape["enum"]:
        return f"{where}: expected one of {', '.join(map(repr, shape['enum']))} but got {_short(value)}"
    if isinstance(value, str):
        return _bounded(len(value), shape.get("minLength"), shape.get("maxLength"), where, "characters")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _bounded(value, shape.get("minimum"), shape.get("maximum"), where, "")
    if isinstance(value, list):
        return _list_problem(value, shape, where)
    if isinstance(value, dict):
        return _object_problem(value, shape, "" if where == "the answer" else f"{where}.")
    return None


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind])


def _list_problem(value: Sequence[Any], shape: Mapping[str, Any], where: str) -> str | None:
    wrong = _bounded(len(value), shape.get("minItems"), shape.get("maxItems"), where, "items")
    if wrong or "items" not in shape:
        return wrong
    found = (problem(item, shape["items"], f"{where}[{number}]") for number, item in enumerate(value))
    return next((wrong for wrong in found if wrong), None)


def _object_problem(value: Mapping[str, Any], shape: Mapping[str, Any], prefix: str) -> str | None:
    known = shape.get("properties", {})
    for name in shape.get("required", ()):
        if name not in value:
            return f"{prefix}{name} is missing"
    if shape.get("additionalProperties") is False:
        unknown = [name for name in value if name not in known]
        if unknown:
            return f"{prefix}{unknown[0]} was not asked for"
    found = (problem(value[name], part, f"{prefix}{name}") for name, part in known.items() if name in value)
    return next((wrong for wrong in found if wrong), None)


def _bounded(number: float, least: float | None, most: float | None, where: str, unit: str) -> str | None:
    if least is not None and number < least:
        return f"{where}: expected at least {least} {unit}".rstrip() + f" but got {number}"
    if most is not None and number > most:
        return f"{where}: expected at most {most} {unit}".rstrip() + f" but got {number}"
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def in_words(shape: Mapping[str, Any]) -> str:
    """The sentence that asks for an answer of this shape, for endpoints that take no schema."""
    return "Answer with one JSON object of this JSON schema and nothing else: " + json.dumps(shape)
