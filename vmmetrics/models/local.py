"""A video language model on this machine: any image-text-to-text model of transformers, from the user's folder.

Weights are read from safetensors alone, and nothing in the folder is run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.models.frames import Frames
from vmmetrics.models.protocol import Form, OneByOne, Said, said
from vmmetrics.models.questions import Question
from vmmetrics.utils.endpoint.messages import RejectedError, Reply, Turn
from vmmetrics.utils.storage.provenance import version_of
from vmmetrics.utils.tables import sha256_of

INSTALL = "pip install 'vmmetrics[baselines]'"
"""What brings torch, transformers and safetensors."""
_SAFE = {"local_files_only": True, "trust_remote_code": False}
_READ = (".json", ".safetensors", ".txt", ".model", ".jinja")  # what transformers reads of the folder
_TICKS = 1000  # of a second: the clock in which the model is told the times of frames


class LocalModel(OneByOne):
    """Answers greedily, so that answers can be had again.

    Args:
        folder: A folder with a model that ``AutoModelForImageTextToText`` loads, and its processor.
        tokens: Most tokens of an answer.
        form: How frames are handed over; "auto" is a video where the processor takes videos. One frame is a picture.
        threads: For torch on the CPU.

    Raises:
        SetupError: A package is missing, or the folder holds no such model.
    """

    sees = True

    def __init__(self, folder: Path, tokens: int, form: Form = "auto", threads: int | None = None) -> None:
        try:
            import torch
            from transformers import AutoModelForImageTextToText, AutoProcessor
        except ImportError as error:
            raise SetupError(f"Local models need torch and transformers ({error}): {INSTALL}") from error
        if not folder.is_dir():
            raise SetupError(f"There is no folder {folder}; expected one with a model of transformers")
        if threads is not None:
            torch.set_num_threads(threads)
        try:
            self._processor = AutoProcessor.from_pretrained(folder, **_SAFE)
            model, found = AutoModelForImageTextToText.from_pretrained(
                folder, dtype="auto", use_safetensors=True, output_loading_info=True, **_SAFE
            )
        except (OSError, ValueError, RuntimeError, KeyError, ImportError) as error:
            raise SetupError(f"{folder}: not readable as an image-text-to-text model: {error}") from error
        if found["missing_keys"]:
            raise SetupError(f"{folder} lacks weights: {', '.join(sorted(found['missing_keys'])[:4])}")
        videos = getattr(self._processor, "video_processor", None) is not None
        if form == "video" and not videos:
            raise SetupError(f"The processor in {folder} takes no videos; choose images")
        self._video = videos and form != "images"
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._model = model.eval().to(self._device)
        self._tokens = tokens
        self.name = folder.resolve().name
        files = sorted(file for file in folder.iterdir() if file.is_file() and file.suffix in _READ)
        self.identity: Mapping[str, Any] = {
            "weights": {file.name: sha256_of(file) for file in files},
            "versions": {package: version_of(package) for package in ("torch", "transformers")},
            "device": self._device.type,
            "dtype": str(self._model.dtype),
            "tokens": tokens,
            "form": "video" if self._video else "images",
        }

    def answer(self, question: Question, turns: Sequence[Turn], frames: Frames) -> Said:  # noqa: ARG002
        """Write on from the conversation; see :class:`~vmmetrics.models.protocol.Model`.

        Raises:
            RejectedError: These frames or words are too many for the model or the memory, or not to its taste.
        """
        import torch

        greedy = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        try:
            inputs = self._inputs(turns, frames).to(self._device, dtype=self._model.dtype)
            given = inputs["input_ids"].shape[1]
            with torch.inference_mode():
                written = self._model.generate(**inputs, max_new_tokens=self._tokens, **greedy)[0, given:]
        except (ValueError, RuntimeError, IndexError) as error:
            raise RejectedError(f"{self.name} does not take this: {error}") from error
        text = self._processor.decode(written, skip_special_tokens=True)
        ends = self._model.generation_config.eos_token_id
        ended = int(written[-1]) in (ends if isinstance(ends, list) else [ends]) if len(written) else True
        cut = len(written) >= self._tokens and not ended
        return said(Reply(text.strip(), cut=cut, input_tokens=given, output_tokens=len(written)))

    def _inputs(self, turns: Sequence[Turn], frames: Frames) -> Any:
        """What the model takes: the words by its own template, the frames through its own processor."""
        import torch

        count = len(frames.pictures)
        as_video = self._video and count > 1
        parts = [{"type": "video"}] if as_video else [{"type": "image"}] * count
        messages = [{"role": turn.role, "content": [{"type": "text", "text": turn.text}]} for turn in turns[:-1]]
        messages.append({"role": turns[-1].role, "content": [*parts, {"type": "text", "text": turns[-1].text}]})
        text = self._processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        options: dict[str, Any] = {"text": [text], "return_tensors": "pt"}
        if count:
            pictures = torch.from_numpy(frames.pictures).permute(0, 3, 1, 2)
            if as_video:
                options |= {"videos": [pictures], "video_metadata": [_times(frames)], "do_sample_frames": False}
            else:
                options["images"] = list(pictures)
        begins = getattr(self._processor.tokenizer, "bos_token", None)
        if begins and text.startswith(begins):
            options["add_special_tokens"] = False  # the template put it there
        return self._processor(**options)


def _times(frames: Frames) -> Mapping[str, Any]:
    """The times of the frames as transformers' video metadata has them: places on a clock of 1,000 a second."""
    return {
        "fps": float(_TICKS),
        "frames_indices": [round(told * _TICKS) for told in frames.told],
        "total_num_frames": max(1, round(len(frames.told) * _TICKS / frames.fps)),
        "duration": len(frames.told) / frames.fps,
    }
