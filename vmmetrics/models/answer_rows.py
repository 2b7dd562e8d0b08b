"""Answer files as programs write them: ours, released benchmarks', lmms-eval's, VLMEvalKit's, OpenAI batches.

Names of fields were looked up in the released code and documentation; a row says what it can of its question, and
:mod:`.recorded` finds the question.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.models.questions import LETTERS
from vmmetrics.utils.schema import parse_json
from vmmetrics.utils.tables import SEPARATORS, json_lines, read_rows, read_text

IDS = ("id", "uid", "question_id", "question_key", "index", "question", "video_name")
"""Fields that may hold a question's key; the first one present counts."""
TEXTS = ("prediction", "raw_response", "text", "output", "response", "candidate_caption", "caption")
"""Fields that may hold the answer; the first one present and not empty counts. Not ``answer``: in released files that
is the key, and a key read as answers scores 100 %."""
LARGEST = 2**30
"""Largest file read, bytes; a sample log of 10,000 questions with their prompts has a tenth of this."""
_NO_WORDS = "rows with likelihoods but no text"
_FAILED = "Failed to obtain answer via API"  # what VLMEvalKit writes for an answer that never came
_DOC_IDS = ("id", "uid", "question_id", "question_key", "qid", "key", "index")
_PROMPTS = ("question", "prompt", "query")  # and "text", but in a row of answers that is the answer
_VIDEOS = ("video", "video_name", "video_path", "video_id")


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """A recorded answer, as read from a file.

    Attributes:
        key: Key of its question in the file.
        text: The answer; empty where there is an error.
        error: Reason for a missing answer.
        position: Number of the question in the benchmark, as the file counts.
        asked: The prompt, or the question with its options.
        video: Its video.
        right: Letter of the right option by the file.
        options: Texts of the options in the order of the file; empty where it does not state them.
    """

    key: str
    text: str
    error: str | None = None
    position: int | None = None
    asked: str | None = None
    video: str | None = None
    right: str | None = None
    options: tuple[str, ...] = ()


def answers_in(path: Path, problems: Counter[str] | None = None) -> Iterator[RecordedAnswer]:
    """Yield the answers in a file, in its order.

    Args:
        path: JSON, JSON lines or a table; ``{key: text}``, ``{key: row}``, or rows with keys in them. A list under a
            key (FAVOR-Bench's results) answers the questions ``key_0``, ``key_1``, ...
        problems: Lines that cannot be read and rows without words are counted here.

    Raises:
        SetupError: It cannot be read, or none of its lines can.
    """
    counted = Counter[str]() if problems is None else problems
    if path.suffix.lower() in (".xlsx", ".xls"):
        raise SetupError(f"{path} is a spreadsheet; save it as TSV or CSV with its columns index, question, prediction")
    table = path.suffix.lower() in (*SEPARATORS, ".parquet")
    for value in read_rows(path) if table else _values(path, counted):
        logs = value.get("logs") if isinstance(value, Mapping) else None  # an earlier lmms-eval's
        whole = logs if isinstance(logs, list) and any(map(_is_sample, logs)) else value
        for row in whole if isinstance(whole, list) else [whole]:
            if isinstance(row, Mapping):
                yield from _in_row(row, counted)


def _values(path: Path, problems: Counter[str]) -> list[Any]:
    """Yield the JSON values of a file: a single one, or one a line; a last line may be cut off."""
    text = read_text(path, LARGEST, "recorded answers are expected")
    with suppress(ValueError):
        return [parse_json(text, gaps=True)]
    lines = text.split("\n")  # other line ends may stand in a text
    return list(json_lines(lines, path, problems, "lines of recorded answers"))


def _in_row(row: Mapping[str, Any], problems: Counter[str]) -> Iterator[RecordedAnswer]:
    if _is_sample(row):
        yield from _of_sample(row, problems)
    elif "custom_id" in row and ("response" in row or "error" in row):
        yield _of_batch(row)
    else:
        yield from _plain_rows(row)


# lmms-eval: a line per question with doc_id, target, filtered_resps, and what the task's scoring returned


def _is_sample(row: Any) -> bool:
    return isinstance(row, Mapping) and "doc_id" in row and ("filtered_resps" in row or "resps" in row)


def _of_sample(row: Mapping[str, Any], problems: Counter[str]) -> Iterator[RecordedAnswer]:
    texts = (_first_text(row.get(name)) for name in ("filtered_resps", "resps"))
    if (text := next((answer for answer in texts if answer is not None), None)) is None:
        problems[_NO_WORDS] += 1
        return
    doc = row.get("doc")
    parts = [doc] if isinstance(doc, Mapping) else []
    # the log of later versions has no doc: the key is in what the task's scoring returned, the prompt under "input"
    parts += [
        value for name, value in row.items() if isinstance(value, Mapping) and name not in ("doc", "token_counts")
    ]
    prompts = (row.get("input"), row.get("prompt_0"), _asked(parts[0], "text") if parts else None)
    asked = next((prompt for prompt in prompts if isinstance(prompt, str)), None)
    doc_id = plain(row["doc_id"])
    number = int(doc_id) if doc_id is not None and doc_id.isdecimal() else None
    key, video = _named(parts, _DOC_IDS) or f"doc {doc_id}", _named(parts, _VIDEOS)
    right, options = _letter(row.get("target")), _options(parts[0]) if parts else ()
    yield RecordedAnswer(key, text, None, number, asked, video, right, options)


def _named(parts: Iterable[Mapping[str, Any]], names: Sequence[str]) -> str | None:
    """Return the first text under one of some names, or None."""
    values = (plain(part.get(name)) for part in parts for name in names)
    return next((text for text in values if text is not None), None)


def _first_text(value: Any) -> str | None:
    """Return the first text in a list of lists; None where there are numbers."""
    if isinstance(value, list):
        return next((text for item in value[:1] if (text := _first_text(item)) is not None), None)
    return value if isinstance(value, str) else None


# OpenAI's batches: a line per request, in any order


def _of_batch(row: Mapping[str, Any]) -> RecordedAnswer:
    key, response = str(row["custom_id"]), _mapping(row.get("response"))
    body = _mapping(response.get("body"))
    error = row.get("error") or body.get("error")
    status = response.get("status_code", 200)
    text = _of_body(body)
    if error is None and status == 200 and text is not None:
        return RecordedAnswer(key, text)
    reason = error.get("message") or error.get("code") if isinstance(error, Mapping) else error
    return RecordedAnswer(key, "", f"batch: {reason or f'no text in the response, status {status}'}")


def _of_body(body: Mapping[str, Any]) -> str | None:
    """Return the text of a chat completion or of a response, or None."""
    choices = body.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        message = choices[0].get("message")
        return _of_content(message.get("content")) if isinstance(message, Mapping) else None
    output = body.get("output")
    messages = [item for item in output if isinstance(item, Mapping)] if isinstance(output, list) else []
    return next((text for item in messages if (text := _of_content(item.get("content"))) is not None), None)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _of_content(content: Any) -> str | None:
    if isinstance(content, list):
        texts = [part["text"] for part in content if isinstance(part, Mapping) and isinstance(part.get("text"), str)]
        return "".join(texts) if texts else None
    return content if isinstance(content, str) else None


# Rows with a key, VLMEvalKit's among them (index, question, A, B, ..., answer, prediction); keys and answers


def _plain_rows(row: Mapping[str, Any]) -> Iterator[RecordedAnswer]:
    if (key := _named([row], IDS)) is not None:  # without a text: no answer was had
        text = _text(row)
        if text is None:
            return
        index = plain(row.get("index"))
        position = int(index) if index is not None and index.isdecimal() else None
        error = text.strip() if text.strip().startswith(_FAILED) else None
        answer = "" if error else text
        right, video = _letter(row.get("answer")), _named([row], _VIDEOS)
        yield RecordedAnswer(plain_key(key), answer, error, position, _asked(row), video, right, _options(row))
        return
    for name, value in row.items():  # keys and answers
        items = value if isinstance(value, list) else [value]
        for position, item in enumerate(items):
            inner = _text(item) if isinstance(item, Mapping) else plain(item)
            if inner is not None:
                numbered = f"{plain_key(name)}_{position}" if isinstance(value, list) else plain_key(name)
                yield RecordedAnswer(numbered, inner)


def _asked(row: Mapping[str, Any], *more: str) -> str | None:
    """Return the question of a row with its options, or None."""
    text = next(
        (value for name in (*_PROMPTS, *more) if isinstance(value := row.get(name), str) and value.strip()), None
    )
    return None if text is None else "\n".join([text, *_options(row)])


def _options(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the options of a row, of a list or of the columns A, B, ..."""
    listed = row.get("options") if isinstance(row.get("options"), list) else row.get("candidates")
    options = listed if isinstance(listed, list) else [row.get(letter) for letter in LETTERS]
    return tuple(value for option in options if (value := plain(option)) is not None and value.strip())


def _letter(value: Any) -> str | None:
    letter = value.strip().strip("()[]'\".").upper() if isinstance(value, str) else ""
    return letter if len(letter) == 1 and letter in LETTERS else None


def plain_key(key: str) -> str:
    """Return the key under which an answer is stored: without the suffix of a video file."""
    return str(key).removesuffix(".mp4")


def _text(row: Mapping[str, Any]) -> str | None:
    texts = [text for name in TEXTS if (text := plain(row.get(name))) is not None]
    return next((text for text in texts if text.strip()), texts[0] if texts else None)


def plain(value: Any) -> str | None:
    """Return a text or number as text; tables write NaN for missing values, and 7.0 for 7 next to them."""
    if isinstance(value, float):
        return None if math.isnan(value) else str(int(value)) if value.is_integer() else str(value)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None
