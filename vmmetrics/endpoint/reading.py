"""A JSON object found in what a model said, whatever stands around it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from vmmetrics.endpoint.shape import problem

_REFUSING = re.compile(
    r"\b(i'?m sorry|i am sorry|i can(?:'|no)?t (?:help|assist|comply|provide|analy|rate|judge|write|create|generate"
    r"|fulfil|continue)|i cannot|i am unable|i'm unable|as an ai)\b",
    re.IGNORECASE,
)
_MOST_STARTS = 1000
"""Braces that are tried as the beginning of an object; text that only nests them deeper and deeper ends somewhere."""


def _finite(digits: str) -> float:
    """Read a number; NaN, infinities and what a float cannot hold are none in JSON, and break who computes with them.

    Raises:
        ValueError: It is one of these.
    """
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"Expected a finite number but got {digits[:20]}")
    return number


def _integer(digits: str) -> int:
    _finite(digits)
    return int(digits)


_DECODER = json.JSONDecoder(parse_float=_finite, parse_int=_integer, parse_constant=_finite)


def objects_in(text: str) -> Iterator[dict[str, Any]]:
    r"""The JSON objects in a text, in order; what stands between them is passed over.

    >>> list(objects_in('Sure!\n```json\n{"a": {"b": 1}}\n``` {not this} {"c": 2}'))
    [{'a': {'b': 1}}, {'c': 2}]
    """
    place = 0
    for _ in range(_MOST_STARTS):
        place = text.find("{", place)
        if place < 0:
            return
        try:
            value, place = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        yield value


def without_thought(text: str) -> str:
    """What a model said once it had thought: drafts of answers are none.

    >>> without_thought('<think>{"a": 1}?</think> {"a": 2}'), without_thought('<think>perhaps {"a": 1}')
    (' {"a": 2}', '')
    """
    return text.rpartition("</think>")[2].partition("<think>")[0]


def refuses(text: str) -> bool:
    """Whether a text without an answer reads like a refusal."""
    return _REFUSING.search(text.replace("’", "'")) is not None


def read_object(text: str, shape: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str | None]:
    """The first object in a text that has the shape, or what is wrong with the longest that has not.

    Args:
        text: What a model said.
        shape: JSON schema of the object.

    Returns:
        The object and None, or None and what is wrong, in words for the model.

    >>> read_object('Think: {"a": 1}. Answer: {"b": 2}', {"type": "object", "required": ["b"]})
    ({'b': 2}, None)
    >>> read_object('{"a": 1}', {"type": "object", "required": ["b"]})
    (None, 'b is missing')
    """
    found = list(objects_in(text))
    for value in found:
        if problem(value, shape) is None:
            return value, None
    if not found:
        return None, "no JSON object" if text.strip() else "it was empty"
    return None, problem(max(found, key=lambda value: len(json.dumps(value))), shape)
