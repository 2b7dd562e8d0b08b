"""Functions of tasks written by 'vmmetrics understand lmms-eval'; lmms-eval imports this file from their folder.

It needs nothing but Python. Its accuracy is a quick one: 'vmmetrics understand run NAME --model recorded:LOG' scores
the sample log with intervals and by task.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

VIDEOS = "VMMETRICS_VIDEOS"
"""Environment variable with the folder of the videos, if they moved since the tasks were written."""
_THOUGHT = re.compile(r"<think>.*?(?:</think>|$)|^.*</think>", re.DOTALL | re.IGNORECASE)
_CLAIM = re.compile(
    r"(?i:\b(?:answer|option|choice)\W*(?:is\W*)?)([A-Z])(?![\w'])"
    r"(?:(?<![AI])|(?=\s*(?:$|[^\w\s])))"  # "A" and "I" before a word are words
)
_LEADING = re.compile(r"[(*\s]*([A-Z])(?:[).:*,\s]*$|[).:*,]|\n)")


def doc_to_visual(doc: Mapping[str, Any]) -> list[str]:
    """Return the video of a question.

    Raises:
        FileNotFoundError: It is not there; a model must not be asked without it.
    """
    folder = os.environ.get(VIDEOS)
    path = Path(folder) / doc["file"] if folder else Path(doc["path"])
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing; set {VIDEOS}=FOLDER to the folder of the videos")
    return [str(path)]


def doc_to_text(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """Return the prompt, between the texts that lmms-eval adds for some models."""
    around = lmms_eval_specific_kwargs or {}
    return f"{around.get('pre_prompt', '')}{doc['prompt']}{around.get('post_prompt', '')}"


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """Return the letter of the right option; empty where it is hidden or there are no options."""
    return str(doc["answer"])


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the question's key and whether the answer is right; the sample log keeps both."""
    reply = results[0] if results else ""
    right = float(letter_of(reply, doc["options"]) == doc["answer"]) if doc["answer"] else None
    return {"vmmetrics_accuracy": {"id": doc["id"], "right": right}}


def letter_of(reply: str, options: Sequence[str]) -> str | None:
    """Return the letter that an answer chooses; None if it is ambiguous.

    >>> letter_of("B. it falls", ["rises", "falls"]), letter_of("A man falls", ["rises", "falls"])
    ('B', None)
    """
    text = _THOUGHT.sub("", reply).strip()
    letters = [chr(ord("A") + index) for index in range(len(options))]
    leading = _LEADING.match(text)
    if leading is not None and leading[1] in letters:
        return str(leading[1])
    claimed: list[str] = [letter for letter in _CLAIM.findall(text) if letter in letters]
    if claimed:
        return claimed[-1]
    whole = [letter for letter, option in zip(letters, options, strict=True) if option.casefold() == text.casefold()]
    return whole[0] if len(whole) == 1 else None


def mean(entries: Sequence[Mapping[str, Any]]) -> float:
    """Return the share of right answers among questions with a key; NaN where there are none."""
    values = [entry["right"] for entry in entries if entry["right"] is not None]
    return sum(values) / len(values) if values else float("nan")
