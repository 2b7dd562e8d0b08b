"""Questions with JSON answers: schema checks, and asking again after unusable answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from vmmetrics.utils.endpoint.messages import Reply, Turn
from vmmetrics.utils.schema import finite

# Checks of a JSON value against its schema, and the schema as text.
#
# The part of JSON Schema that structured output knows: ``type`` (one or several), ``enum``, ``properties``,
# ``required``, ``additionalProperties: false``, ``items``, ``minItems``, ``maxItems``, ``minLength``, ``maxLength``,
# ``minimum``, ``maximum``.

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "number": (int, float), "integer": (int,),
    "boolean": (bool,), "null": (type(None),),
}  # fmt: skip


def problem(value: Any, shape: Mapping[str, Any], where: str = "the answer") -> str | None:
    """Return how a value violates a JSON schema, as text; None if it does not.

    Args:
        value: Read from JSON.
        shape: Its JSON schema.
        where: Name of the value in the text.

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
        wrong = _bounded(len(value), shape.get("minItems"), shape.get("maxItems"), where, "items")
        if wrong or "items" not in shape:
            return wrong
        problems = (problem(item, shape["items"], f"{where}[{number}]") for number, item in enumerate(value))
        return next(filter(None, problems), None)
    if isinstance(value, dict):
        return _object_problem(value, shape, "" if where == "the answer" else f"{where}.")
    return None


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind])


def _object_problem(value: Mapping[str, Any], shape: Mapping[str, Any], prefix: str) -> str | None:
    properties = shape.get("properties", {})
    for name in shape.get("required", ()):
        if name not in value:
            return f"{prefix}{name} is missing"
    for name in value:
        if name not in properties and shape.get("additionalProperties") is False:
            return f"{prefix}{name} was not asked for"
    problems = (problem(value[name], part, f"{prefix}{name}") for name, part in properties.items() if name in value)
    return next(filter(None, problems), None)


def _bounded(number: float, least: float | None, most: float | None, where: str, unit: str) -> str | None:
    if least is not None and number < least:
        return f"{where}: expected at least {least} {unit}".rstrip() + f" but got {number}"
    if most is not None and number > most:
        return f"{where}: expected at most {most} {unit}".rstrip() + f" but got {number}"
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def object_shape(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object with these properties, all of them, and no other."""
    names = list(properties)
    return {"type": "object", "properties": dict(properties), "required": names, "additionalProperties": False}


def list_shape(items: Mapping[str, Any], least: int | None = None, most: int | None = None) -> dict[str, Any]:
    """Return the JSON schema of a list of so many items."""
    bounds = {"minItems": least, "maxItems": most}
    return {"type": "array", "items": dict(items)} | {name: n for name, n in bounds.items() if n is not None}


def in_words(shape: Mapping[str, Any]) -> str:
    """Return the sentence that asks for an answer of this shape, for endpoints that take no schema."""
    return "Answer with one JSON object of this JSON schema and nothing else: " + json.dumps(shape)


# JSON objects in a model's text.

_REFUSING = re.compile(
    r"\b(i'?m sorry|i am sorry|i can(?:'|no)?t (?:help|assist|comply|provide|analy|rate|judge|write|create|generate"
    r"|fulfil|continue)|i cannot|i am unable|i'm unable|as an ai)\b",
    re.IGNORECASE,
)
_MOST_STARTS = 1000
"""Braces that are tried as the beginning of an object; text that only nests them deeper and deeper ends somewhere."""


def _whole(digits: str) -> int:
    finite(digits)  # who computes with it makes it a float
    return int(digits)


_DECODER = json.JSONDecoder(parse_float=finite, parse_int=_whole, parse_constant=finite)


def objects_in(text: str) -> Iterator[dict[str, Any]]:
    r"""Yield the JSON objects in a text, in order; text between them is skipped.

    >>> list(objects_in('Sure!\n```json\n{"a": {"b": 1}}\n``` {not this} {"c": 2}'))
    [{'a': {'b': 1}}, {'c': 2}]
    """
    position = 0
    for _ in range(_MOST_STARTS):
        position = text.find("{", position)
        if position < 0:
            return
        try:
            value, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            position += 1
            continue
        yield value


def without_thought(text: str) -> str:
    """Return a model's answer without its reasoning.

    >>> without_thought('<think>{"a": 1}?</think> {"a": 2}'), without_thought('<think>perhaps {"a": 1}')
    (' {"a": 2}', '')
    """
    return text.rpartition("</think>")[2].partition("<think>")[0]


def refuses(text: str) -> bool:
    """Return True if a text without an answer reads like a refusal."""
    return _REFUSING.search(text.replace("’", "'")) is not None


def read_object(text: str, shape: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str | None]:
    """Return the first object in a text that fits the schema, or the fault of the longest one.

    Args:
        text: Text of a model.
        shape: JSON schema of the object.

    Returns:
        The object and None, or None and the fault as text for the model.

    >>> read_object('Think: {"a": 1}. Answer: {"b": 2}', {"type": "object", "required": ["b"]})
    ({'b': 2}, None)
    >>> read_object('{"a": 1}', {"type": "object", "required": ["b"]})
    (None, 'b is missing')
    """
    objects = list(objects_in(text))
    for value in objects:
        if problem(value, shape) is None:
            return value, None
    if not objects:
        return None, "no JSON object" if text.strip() else "it was empty"
    return None, problem(max(objects, key=lambda value: len(json.dumps(value))), shape)


ASKED = 3
"""Attempts to get a usable answer, the first included."""
AGAIN = "That answer cannot be used: {why}. Answer again with the JSON object alone, in the shape that was asked for."
"""Message to the model after an unreadable answer."""
CUT = "it was cut off for its length; be shorter"

Kind = Literal["answered", "refused", "unusable", "unreachable"]


@dataclass(frozen=True, slots=True)
class Answer:
    """Outcome of a question.

    Attributes:
        value: The JSON object, of the shape that was asked for; None unless ``kind`` is "answered".
        kind: "answered"; "refused" by the model or a filter before it; "unusable" however often asked, or a
            request that the endpoint does not take (too long); "unreachable": no reply; a retry may help.
        why: Reason where ``kind`` is not "answered", else None.
        text: Text of the last reply.
    """

    value: dict[str, Any] | None
    kind: Kind
    why: str | None = None
    text: str = ""


def converse(
    say: Callable[[Sequence[Turn]], Reply],
    turns: Sequence[Turn],
    read: Callable[[Reply], Answer],
    again: str = AGAIN,
) -> Answer:
    """Ask until a reply can be used, at most :data:`ASKED` times, each time with the fault of the last reply.

    Args:
        say: Returns the reply to a conversation.
        turns: The question.
        read: Reads a reply.
        again: Message after a reply at fault, with ``{why}``.

    Returns:
        The answer in the last reply.
    """
    history = list(turns)
    reply = say(history)
    for _ in range(ASKED - 1):
        answer = read(reply)
        if answer.kind != "unusable":
            return answer
        history += [Turn("assistant", reply.text), Turn("user", again.format(why=answer.why))]
        reply = say(history)
    return read(reply)


def read_answer(
    reply: Reply, shape: Mapping[str, Any], check: Callable[[dict[str, Any]], str | None] | None = None
) -> Answer:
    """Read a reply.

    Args:
        reply: The reply.
        shape: JSON schema of the answer.
        check: Returns the fault of an answer of that shape as text for the model, or None.
    """
    text = without_thought(reply.text)
    value, why = (None, None) if reply.refused else read_object(text, shape)
    if value is not None and check is not None:
        why = check(value)
    if value is not None and why is None:
        return Answer(value, "answered", text=reply.text)
    if reply.refused or ("{" not in text and refuses(text)):
        return Answer(None, "refused", "the model refused", reply.text)
    return Answer(None, "unusable", CUT if reply.cut else why, reply.text)
