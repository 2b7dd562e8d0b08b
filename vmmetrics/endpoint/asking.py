"""A question asked until the answer can be used, or it is plain that none will come."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from vmmetrics.endpoint.messages import Reply, Turn
from vmmetrics.endpoint.reading import read_object, refuses, without_thought

ASKED = 3
"""An answer that cannot be used is asked for so often in all."""
AGAIN = "That answer cannot be used: {why}. Answer again with the JSON object alone, in the shape that was asked for."
"""What is said to an answer that cannot be read."""
CUT = "it was cut off for its length; be shorter"

Kind = Literal["answered", "refused", "unusable", "unreachable"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a question.

    Attributes:
        value: The JSON object, of the shape that was asked for; None unless ``kind`` is "answered".
        kind: "answered"; "refused" by the model or a filter before it; "unusable" however often asked, or a
            request that the endpoint does not take (too long); "unreachable": no reply could be had, another time it
            might.
        why: What was wrong, where anything was.
        text: The last reply, word by word.
    """

    value: dict[str, Any] | None
    kind: Kind
    why: str | None = None
    text: str = ""


def converse(
    say: Callable[[Sequence[Turn]], Reply],
    turns: Sequence[Turn],
    fault: Callable[[Reply], str | None],
    again: str = AGAIN,
    asked: int = ASKED,
) -> Reply:
    """Ask until a reply can be used, at most ``asked`` times; each time the model is told what was wrong.

    Args:
        say: Replies to a conversation.
        turns: The question.
        fault: What is wrong with a reply, in words for the model; None where nothing is, or where
            asking again is no use.
        again: What is said to a reply at fault, with ``{why}``.
        asked: How often in all.

    Returns:
        The last reply.
    """
    said = list(turns)
    reply = say(said)
    for _ in range(asked - 1):
        why = fault(reply)
        if why is None:
            break
        said += [Turn("assistant", reply.text), Turn("user", again.format(why=why))]
        reply = say(said)
    return reply


def read_answer(
    reply: Reply, shape: Mapping[str, Any], check: Callable[[dict[str, Any]], str | None] | None = None
) -> Answer:
    """Read a reply.

    Args:
        reply: The reply.
        shape: JSON schema of the answer.
        check: What is wrong with an answer of that shape, in words for the model; None where nothing is.
    """
    said = without_thought(reply.text)
    value, why = (None, None) if reply.refused else read_object(said, shape)
    if value is not None and check is not None:
        why = check(value)
    if value is not None and why is None:
        return Answer(value, "answered", text=reply.text)
    if reply.refused or ("{" not in said and refuses(said)):
        return Answer(None, "refused", "the model refused", reply.text)
    return Answer(None, "unusable", CUT if reply.cut else why, reply.text)
