"""A judge on this machine: an image-text-to-text model of transformers, from the user's folder."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from vmmetrics.alignment.baselines.adapters.files import (
    find,
    hashes,
    model_from_folder,
    prepare_device,
    require,
    versions,
)
from vmmetrics.alignment.baselines.judge.asking import JudgeSettings
from vmmetrics.alignment.baselines.judge.questions import schema
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.utils.endpoint import Endpoint as AnyEndpoint
from vmmetrics.utils.endpoint import NoAnswerError, Reply, Turn

# A judge behind an OpenAI-compatible endpoint.


class Endpoint:
    """Asks a model behind an endpoint.

    Args:
        settings: Which, and where.
    """

    identity: Mapping[str, Any] = {"temperature": 0}

    def __init__(self, settings: JudgeSettings) -> None:
        self._endpoint = AnyEndpoint(settings.at_endpoint())

    def reply(self, turns: Sequence[Turn]) -> Reply:
        """Answer what was said so far; what may pass is tried again.

        Raises:
            ClipError: No answer, however often it was tried.
            SetupError: The endpoint does not take such requests, or not from us.
        """
        try:
            return self._endpoint.reply(turns, schema())
        except NoAnswerError as error:
            raise ClipError(f"The judge gave {error}") from error


class LocalModel:
    """Answers with a model that ``AutoModelForImageTextToText`` can load; greedy, so that answers can be had again.

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
        try:
            self._processor = AutoProcessor.from_pretrained(path, local_files_only=True, trust_remote_code=False)
        except (OSError, ValueError, RuntimeError, KeyError) as error:
            raise SetupError(f"{path}: not readable as a processor of transformers: {error}") from error
        self._model = model_from_folder(AutoModelForImageTextToText, path, dtype="auto").to(self._device)
        self.identity: Mapping[str, Any] = {
            "weights": hashes(path),
            "versions": versions("torch", "transformers"),
            "greedy": True,
        }

    def reply(self, turns: Sequence[Turn]) -> Reply:
        """Answer what was said so far."""
        import torch
        from PIL import Image

        messages = []
        for turn in turns:
            pictures = [
                {"type": "image", "image": Image.open(io.BytesIO(data)).convert("RGB")} for data in turn.pictures
            ]
            messages.append({"role": turn.role, "content": [*pictures, {"type": "text", "text": turn.text}]})
        inputs = self._processor.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
        ).to(self._device, dtype=self._model.dtype)
        with torch.inference_mode():
            written = self._model.generate(**inputs, max_new_tokens=self._tokens, do_sample=False)
        answer = written[0, inputs["input_ids"].shape[1] :]
        text = self._processor.decode(answer, skip_special_tokens=True)
        return Reply(text, cut=len(answer) >= self._tokens)
