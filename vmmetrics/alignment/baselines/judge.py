"""The five ratings of a judge as baselines; a clip is shown to it once."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from vmmetrics.alignment.baselines.catalogue import Loaded
from vmmetrics.alignment.baselines.files import find, identity, model_from_folder, prepare_device, require
from vmmetrics.clip import Clip
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.metrics.registry import METRICS, registered
from vmmetrics.perception.scene import Scene
from vmmetrics.utils.endpoint.asking import Answer, converse, object_shape, read_answer
from vmmetrics.utils.endpoint.client import ReplyCache, default_folder, key_of
from vmmetrics.utils.endpoint.messages import EndpointSettings, NoAnswerError, Reply, Turn
from vmmetrics.utils.endpoint.wire import Endpoint
from vmmetrics.utils.tensors import quiet_transformers, reading

VERSION = 1
"""Version of the questions; increase it with any change of their text."""

LEVELS = (1, 5)
"""Worst and best level of an answer."""

DIMENSIONS = {
    key: asked for key, metric in sorted(registered().items()) if key in METRICS and (asked := metric.question)
}
"""Description of the aspect that each of our metrics measures."""

SYSTEM = (
    "You rate the motion in short video clips. You are shown frames of one clip in order, with the time of each. Judge "
    "only what changes between frames, not beauty, style or whether a description is followed. Use the whole scale; "
    "where you are unsure between two levels, take the lower one. Answer with one JSON object and nothing else."
)

AGAIN = (
    "That answer cannot be used: {why}. Answer with the JSON object alone, every key once, whole numbers from 1 to 5."
)
"""Follow-up message after an answer that cannot be parsed."""


def question(times: Sequence[float], prompt: str | None) -> str:
    """Return the text that goes with the frames.

    Args:
        times: Seconds of the frames shown.
        prompt: What the clip was generated from, or None.
    """
    about = "" if prompt is None else f" It was made from the text: {prompt!r}."
    lines = [f"- {key}: {text}" for key, text in DIMENSIONS.items()]
    shape = ", ".join(f'"{key}": LEVEL' for key in DIMENSIONS)
    return (
        f"{len(times)} frames of a clip, taken at {', '.join(f'{t:.2f}' for t in times)} seconds.{about}\n"
        f"Rate, each with a whole number from 1 to 5:\n" + "\n".join(lines) + f"\nAnswer as {{{shape}}}."
    )


def schema() -> dict[str, Any]:
    """Return the JSON schema of an answer."""
    level = {"type": ["integer", "null"], "minimum": LEVELS[0], "maximum": LEVELS[1]}
    return object_shape(dict.fromkeys(DIMENSIONS, level))


REFUSED = "the judge refused to rate the clip"


def read_levels(reply: Reply) -> Answer:
    """Read a reply: level by dimension, None where the judge found nothing to rate; other keys do no harm."""
    return read_answer(reply, schema() | {"additionalProperties": True})


def show(clip: Clip, count: int, side: int) -> tuple[tuple[float, ...], tuple[bytes, ...]]:
    """Return what the judge sees: the times in seconds and the JPEGs of frames spread evenly over the clip.

    Args:
        clip: The clip.
        count: How many, at equal distances in time from the first to the last; fewer where the clip has fewer.
        side: Longer side in pixels; larger frames are made smaller.
    """
    times = np.linspace(0, clip.timestamps[-1], count)
    indices = np.unique(np.abs(clip.timestamps[:, None] - times).argmin(axis=0))
    factor = min(1.0, side / max(clip.width, clip.height))
    size = max(1, round(clip.width * factor)), max(1, round(clip.height * factor))
    pictures = []
    for index in indices:
        small = cv2.resize(clip.frames[index], size, interpolation=cv2.INTER_AREA)
        written, data = cv2.imencode(".jpg", cv2.cvtColor(small, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, 92])
        assert written  # noqa: S101  (an uint8 picture can always be written)
        pictures.append(data.tobytes())
    return tuple(clip.timestamps[indices].tolist()), tuple(pictures)


KEY_VARIABLE = "VMMETRICS_JUDGE_KEY"
"""Environment variable with the endpoint's key, which is never written anywhere."""


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Settings of a judge: the model and the frames it is shown.

    Attributes:
        model: Name of the model at the endpoint, or a folder with one for transformers.
        url: Base address of an OpenAI-compatible endpoint (``http://localhost:8000/v1``); None runs the folder.
        frames: Frames shown of a clip.
        side: Their longer side in pixels.
        tokens: Most tokens of an answer; models that think before they answer need more.
        per_minute: Most requests a minute and process; None leaves it to the endpoint.
        key_variable: Environment variable that holds the key; the key itself is never part of anything kept.
        cache: Folder of the replies; None takes ``judge`` beside the folder of weights.
    """

    model: str
    url: str | None = None
    frames: int = 12
    side: int = 512
    tokens: int = 1024
    per_minute: float | None = None
    key_variable: str = KEY_VARIABLE
    cache: str | None = None

    def __post_init__(self) -> None:
        if min(self.frames, self.side, self.tokens) < 1 or (self.per_minute is not None and self.per_minute <= 0):
            raise ValueError(f"Expected positive numbers but got {self}")
        if self.url is not None:
            self.at_endpoint()

    def at_endpoint(self) -> EndpointSettings:
        """Return the settings of the endpoint; decoding is greedy, so that answers are reproducible.

        Raises:
            ValueError: There is none, or its address cannot be.
        """
        return EndpointSettings(
            self.url or "", self.model, tokens=self.tokens, per_minute=self.per_minute, key_variable=self.key_variable
        )

    def part(self) -> dict[str, Any]:
        """Return what an answer depends on, ready for JSON."""
        asked = {"questions": VERSION, "frames": self.frames, "side": self.side, "tokens": self.tokens}
        return {"model": self.model, "url": self.url, **asked}


class Panel:
    """A judge that rates clips.

    Args:
        judge: Who answers a conversation; its ``identity`` is what else its replies depend on, ready for JSON.
        settings: What it is shown, and where its replies are kept.
    """

    def __init__(self, judge: EndpointJudge | LocalJudge, settings: JudgeSettings) -> None:
        self.judge, self.settings = judge, settings
        self._cache = ReplyCache(default_folder("judge") if settings.cache is None else Path(settings.cache))

    def rate(self, clip: Clip) -> Answer:
        """Rate a clip; ask again a few times while the answer cannot be parsed.

        Raises:
            ClipError: The judge cannot be reached.
        """
        times, pictures = show(clip, self.settings.frames, self.settings.side)
        turns = [Turn("system", SYSTEM), Turn("user", question(times, clip.prompt), pictures)]
        return converse(self._reply, turns, read_levels, AGAIN)

    def _reply(self, turns: Sequence[Turn]) -> Reply:
        key = self.key(turns)
        if (reply := self._cache.get(key)) is None:
            reply = self.judge.reply(turns)
            self._cache.put(key, reply)
        return reply

    def key(self, turns: Sequence[Turn]) -> str:
        """Hash of everything that a reply depends on."""
        return key_of(self.settings.part(), dict(self.judge.identity), schema(), turns=turns)


class EndpointJudge:
    """A judge behind an endpoint.

    Args:
        settings: Which, and where.
    """

    identity: Mapping[str, Any] = {"temperature": 0}

    def __init__(self, settings: JudgeSettings) -> None:
        self._endpoint = Endpoint(settings.at_endpoint())

    def reply(self, turns: Sequence[Turn]) -> Reply:
        """Return the model's answer to the conversation so far; retry temporary errors.

        Raises:
            ClipError: No answer, however often it was tried.
            SetupError: The endpoint does not take such requests, or not from us.
        """
        try:
            return self._endpoint.reply(turns, schema())
        except NoAnswerError as error:
            raise ClipError(f"The judge gave {error}") from error


class LocalJudge:
    """A judge loaded by ``AutoModelForImageTextToText``; decoding is greedy, so that answers are reproducible.

    Args:
        settings: The folder, and how long answers may be.
        threads: For torch on the CPU.

    Raises:
        SetupError: A package is missing, or the folder holds no such model.
    """

    def __init__(self, settings: JudgeSettings, threads: int | None = None) -> None:
        require("torch", "transformers")
        from transformers import AutoModelForImageTextToText, AutoProcessor

        path = find("vlm_judge", settings.model, "judge", "a folder with an image-text-to-text model of transformers")
        self._device = prepare_device(threads)
        self._tokens = settings.tokens
        with reading(f"{path}: not readable as a processor of transformers"), quiet_transformers():
            self._processor = AutoProcessor.from_pretrained(path, local_files_only=True, trust_remote_code=False)
        self._model = model_from_folder(AutoModelForImageTextToText, path, dtype="auto").to(self._device)
        self.identity: Mapping[str, Any] = {**identity(path, "torch", "transformers"), "greedy": True}

    def reply(self, turns: Sequence[Turn]) -> Reply:
        """Return the model's answer to the conversation so far."""
        import torch
        from PIL import Image

        messages = []
        for turn in turns:
            pictures = (Image.open(io.BytesIO(data)).convert("RGB") for data in turn.pictures)
            shown = [{"type": "image", "image": picture} for picture in pictures]
            messages.append({"role": turn.role, "content": [*shown, {"type": "text", "text": turn.text}]})
        inputs = self._processor.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
        ).to(self._device, dtype=self._model.dtype)
        with torch.inference_mode():
            written = self._model.generate(**inputs, max_new_tokens=self._tokens, do_sample=False)
        answer = written[0, inputs["input_ids"].shape[1] :]
        text = self._processor.decode(answer, skip_special_tokens=True)
        return Reply(text, cut=len(answer) >= self._tokens)


def load(settings: JudgeSettings | None, threads: int | None) -> Loaded:
    """Make the judge ready.

    Raises:
        SetupError: None was named, or the local one cannot be loaded.
    """
    if settings is None:
        raise SetupError(
            "vlm_judge needs a model: --judge MODEL --judge-url http://.../v1 for an endpoint, "
            "or --judge FOLDER for one of transformers"
        )
    panel = Panel(LocalJudge(settings, threads) if settings.url is None else EndpointJudge(settings), settings)

    def measure(key: str, scene: Scene) -> float | str:
        answer = scene.once("baselines:judge", lambda: panel.rate(scene.clip))
        if answer.value is None:  # without the level itself, so that reasons can be counted
            why = (answer.why or "").partition(" but got ")[0]
            return REFUSED if answer.kind == "refused" else f"the judge's answer was unusable: {why}"
        level = answer.value[key]
        return "the judge found nothing to rate" if level is None else float(level)

    part = settings.part() | dict(panel.judge.identity)
    return {f"judge_{key}": partial(measure, key) for key in DIMENSIONS}, part
