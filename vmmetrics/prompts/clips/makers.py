"""Clip generators: any program, or a diffusers pipeline with safetensors and no custom code."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image

from vmmetrics.errors import ClipError, SetupError, install, os_reason
from vmmetrics.prompts.clips.folder import Job
from vmmetrics.utils.storage.provenance import version_of
from vmmetrics.video import read_clip
from vmmetrics.video.encoding import write_h264
from vmmetrics.video.first_frames import read_picture

# Clips from any program: a template of its command line, run without a shell.

FIELDS = ("prompt", "seed", "out", "index", "sample", "subject", "action", "place", "pattern", "first_frame")
_FIELD = re.compile(r"\{([a-z_]+)\}")
_LAST_WORDS = 2000  # bytes of a failed program's output that are recorded


class CommandMaker:
    """Generator that runs a program for each clip.

    Args:
        template: Its command line, split as a shell would but run without one; ``{prompt}``, ``{seed}``, ``{out}`` and
            the other :data:`FIELDS` are put in after the splitting, so that no text can become an argument of its own
            or anything a shell would act on. Other braces stay as they are.
        timeout: Seconds after which a program is killed; None for never.

    Raises:
        SetupError: The template cannot be split, lacks ``{prompt}`` or ``{out}``, or has another field.
    """

    def __init__(self, template: str, timeout: float | None = None) -> None:
        try:
            self._parts = shlex.split(template)
        except ValueError as error:
            raise SetupError(f"The command cannot be split into words: {error}") from error
        names = {name for part in self._parts for name in _FIELD.findall(part)}
        unknown = sorted(names - set(FIELDS))
        if unknown:
            raise SetupError(f"The command has {{{unknown[0]}}}; fields are {', '.join(FIELDS)}")
        if not {"prompt", "out"} <= names:
            raise SetupError("The command needs {prompt} and {out}: 'python gen.py --prompt={prompt} --out {out}'")
        self._timeout = timeout

    @property
    def configuration(self) -> Mapping[str, Any]:
        """Return the command template."""
        return {"command": self._parts}

    def load(self) -> Mapping[str, Any]:
        """Check that the program exists.

        Raises:
            SetupError: It is not.
        """
        if not _FIELD.search(self._parts[0]) and shutil.which(self._parts[0]) is None:
            raise SetupError(f"There is no program {self._parts[0]}")
        return {"program": shutil.which(self._parts[0]), "timeout": self._timeout}

    def make(self, job: Job, out: Path) -> None:
        """Run the program.

        Raises:
            ClipError: It failed or took too long; with its last words.
        """
        named = ("index", "subject", "action", "place", "pattern")
        values = {name: getattr(job.entry, name) for name in named}
        values |= {"prompt": job.text, "seed": str(job.seed), "out": str(out.absolute()), "sample": str(job.sample)}
        values["first_frame"] = "" if job.first_frame is None else str(job.first_frame.path.absolute())
        arguments = [_FIELD.sub(lambda field: values.get(field[1], field[0]), part) for part in self._parts]
        log = out.with_name("output.log")
        with log.open("wb") as file:
            try:
                process = subprocess.Popen(  # noqa: S603 - the user's own command, and no shell
                    arguments, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
                )
            except (OSError, ValueError) as error:  # no such program; a NUL in the prompt
                raise ClipError(f"The command cannot be run: {os_reason(error)}") from error
            try:
                code = process.wait(self._timeout)
            except subprocess.TimeoutExpired:
                raise ClipError(f"The command took longer than {self._timeout:g} s{_last_words(log)}") from None
            finally:
                _end(process)
        if code:
            names = {int(number): number.name for number in signal.Signals}
            cause = f"was killed by {names.get(-code, f'signal {-code}')}" if code < 0 else f"ended with code {code}"
            raise ClipError(f"The command {cause}{_last_words(log)}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program and all processes of its group."""
    if sys.platform == "win32":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_words(log: Path) -> str:
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _LAST_WORDS))
        words = file.read().decode("utf-8", "replace").strip()
    return f": {words}" if words else ""


# Frames of a generator as a video file.

_CRF = "10"
"""x264's quality, 0 lossless to 51. Scores look at fine detail, so well below 17, which x264's guide calls visually
lossless; yet a clip of a few seconds stays at some megabytes."""
_UNBOUNDED = 2**62  # bytes: what is written is never made smaller


def write_video(path: Path, frames: Any, fps: float) -> None:
    """Write an H.264 MP4.

    Args:
        path: The file.
        frames: One clip as a generator gives it: (T, H, W, C) or (T, C, H, W) array or tensor on any device, uint8, or
            floats in 0..1 or -1..1; or a list of PIL pictures or arrays.
        fps: Frames per second.

    Raises:
        ClipError: It is not a clip: ambiguous axes, values that are not finite.
    """
    pictures = read_clip(frames, fps=fps, max_memory=_UNBOUNDED).frames
    odd = any(side % 2 for side in pictures.shape[1:3])
    write_h264(path, pictures, fps, {"crf": _CRF}, chroma="yuv444p" if odd else "yuv420p")


_PACKAGES = ("diffusers", "torch", "transformers", "accelerate", "safetensors", "av")
_ENDS = 2**16  # bytes of a weight file's head and tail that name it
_OWN = ("prompt", "generator", "image")  # what a call gets from the loop
_FRAME_OPTIONS = ("num_frames", "video_length")  # what pipelines call the number of frames; most say num_frames
_RATE_OPTIONS = ("frame_rate", "fps")  # some are told the rate they are to make


@dataclass
class PipelineMaker:
    """Generator that runs a diffusers pipeline for each clip.

    Attributes:
        pipeline: Folder, or name on the Hugging Face hub of one that is in the local cache.
        fps: Frames per second of the files; the rate that the model was trained to make.
        frames: Frames per clip; None leaves it to the pipeline, as with the next two.
        size: Width and height in pixels.
        steps: Denoising steps.
        options: Further arguments of the call, by name.
        device: Where it runs; None takes a GPU where there is one.
        dtype: Type of its weights, such as ``"bfloat16"``; None takes that on a GPU and ``"float32"`` elsewhere.

    Raises:
        SetupError: diffusers is not installed, or the pipeline is missing or contains custom code.
    """

    pipeline: str
    fps: float
    frames: int | None = None
    size: tuple[int, int] | None = None
    steps: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    device: str | None = None
    dtype: str | None = None

    def __post_init__(self) -> None:
        reserved = [name for name in self.options if name in _OWN]
        if reserved:
            raise SetupError(f"--set {reserved[0]} is not allowed: it comes from the prompt list and the seed")
        self._folder = _folder_of(self.pipeline)
        _refuse_code(self._folder)
        self._torch, self._device, self._dtype = _where(self.device, self.dtype)

    @property
    def configuration(self) -> Mapping[str, Any]:
        """Return the weights and all arguments of the call."""
        name = Path(self.pipeline).name if Path(self.pipeline).is_dir() else self.pipeline
        weights = {"pipeline": name, "weights": _fingerprint(self._folder), "dtype": self._dtype}
        call = {"fps": self.fps, "frames": self.frames, "size": self.size, "steps": self.steps}
        return {**weights, **call, "options": dict(self.options)}

    def load(self) -> Mapping[str, Any]:
        """Load the pipeline.

        Raises:
            SetupError: It cannot be loaded, or does not take an option.
        """
        from diffusers import DiffusionPipeline

        try:
            pipeline = DiffusionPipeline.from_pretrained(
                str(self._folder),
                use_safetensors=True,
                trust_remote_code=False,
                local_files_only=True,
                dtype=getattr(self._torch, self._dtype),
            ).to(self._device)
        except Exception as error:  # diffusers raises many kinds for a folder that lacks something
            raise SetupError(f"The pipeline {self.pipeline} cannot be loaded: {error}") from error
        pipeline.set_progress_bar_config(disable=True)
        self._call = partial(pipeline, **self._arguments_of(pipeline))
        self._takes_image = "image" in inspect.signature(pipeline.__call__).parameters
        versions = {name: version for name in _PACKAGES if (version := version_of(name))}
        return {"class": type(pipeline).__name__, "device": str(self._device), "versions": versions}

    def _arguments_of(self, pipeline: Any) -> dict[str, Any]:
        """Return the arguments of each pipeline call besides prompt and generator."""
        takes = inspect.signature(pipeline.__call__).parameters
        frames = next((name for name in _FRAME_OPTIONS if name in takes), _FRAME_OPTIONS[0])
        width, height = self.size or (None, None)
        own = {frames: self.frames, "width": width, "height": height, "num_inference_steps": self.steps}
        arguments: dict[str, Any] = {name: value for name, value in own.items() if value is not None}
        twice = sorted(set(arguments) & set(self.options))
        if twice:
            raise SetupError(f"{twice[0]} is set twice: by --set and by its own option")
        offered: dict[str, Any] = dict.fromkeys(_RATE_OPTIONS, self.fps) | {"output_type": "np"}
        arguments = {name: value for name, value in offered.items() if name in takes} | arguments | dict(self.options)
        unknown = sorted(set(arguments) - set(takes))
        if unknown and not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in takes.values()):
            accepted = ", ".join(name for name in takes if name not in _OWN)
            raise SetupError(f"{type(pipeline).__name__} has no argument {unknown[0]}; it accepts {accepted}")
        return arguments

    def make(self, job: Job, out: Path) -> None:
        """Run the pipeline and write its frames.

        Raises:
            ClipError: It gave no clip, or the first frame cannot be read.
            SetupError: There is a first frame, and it takes none.
        """
        if job.first_frame is not None and not self._takes_image:
            raise SetupError(f"The pipeline {self.pipeline} takes no first frame (argument image)")
        # on the CPU whatever the device, so that a seed means the same noise everywhere
        generator = self._torch.Generator("cpu").manual_seed(job.seed)
        given: dict[str, Any] = {}
        if job.first_frame is not None:
            try:
                given = {"image": Image.fromarray(read_picture(job.first_frame.path))}
            except SetupError as error:  # of one clip
                raise ClipError(str(error)) from error
        with self._torch.inference_mode():
            output = self._call(prompt=job.text, generator=generator, **given)
        write_video(out, _frames_of(output), self.fps)


def _frames_of(output: Any) -> Any:
    """Return the only clip of an output: a batch of one as array, tensor or list, or a tuple with it."""
    frames = getattr(output, "frames", None)
    if frames is None and isinstance(output, tuple | list) and output:
        frames = output[0]
    if frames is None:
        raise ClipError(f"The pipeline returned a {type(output).__name__} without frames; is it a video pipeline?")
    if len(frames) != 1:
        raise ClipError(f"The pipeline returned {len(frames)} clips instead of one")
    return frames[0]


def _where(device: str | None, dtype: str | None) -> tuple[Any, str, str]:
    try:
        import diffusers  # noqa: F401
        import torch
    except ImportError as error:
        raise SetupError(
            f"--pipeline needs diffusers, which is not installed ({error}): {install('diffusers')}"
        ) from error
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = dtype or ("bfloat16" if device.startswith("cuda") else "float32")
    if not isinstance(getattr(torch, dtype, None), torch.dtype):
        raise SetupError(f"Expected a type such as float32, float16 or bfloat16 but got {dtype!r}")
    try:
        torch.empty(0, device=device)
    except Exception as error:  # torch has a kind of its own for each thing that a device may lack
        raise SetupError(f"The device {device} cannot be used: {error}") from error
    return torch, device, dtype


def _folder_of(pipeline: str) -> Path:
    """Return the folder, or the snapshot in the local cache; nothing is downloaded."""
    folder = Path(pipeline)
    if not folder.is_dir():
        try:
            from huggingface_hub import snapshot_download
            from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError
        except ImportError as error:
            raise SetupError(f"--pipeline needs diffusers, which is not installed: {install('diffusers')}") from error
        try:
            folder = Path(snapshot_download(pipeline, local_files_only=True))
        except (LocalEntryNotFoundError, HFValidationError) as error:
            raise SetupError(
                f"{pipeline} is neither a folder nor in the local cache; download it first: hf download {pipeline}"
            ) from error
    if not (folder / "model_index.json").is_file():
        raise SetupError(f"{folder} is not a diffusers pipeline: model_index.json is missing")
    return folder


def _refuse_code(folder: Path) -> None:
    """Refuse a pipeline folder with Python files, which diffusers would load."""
    code = sorted([*folder.glob("*.py"), *folder.glob("*/*.py")])
    if code:
        raise SetupError(
            f"{folder} contains custom code ({code[0].name}), which is not run; "
            "use --command with a script that you trust"
        )
    try:
        name = json.loads((folder / "model_index.json").read_text("utf-8"))["_class_name"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SetupError(f"{folder}/model_index.json cannot be read: {os_reason(error)}") from error
    if not isinstance(name, str):
        raise SetupError(f"{folder} needs custom pipeline code ({name}), which is not run")


def _fingerprint(folder: Path) -> str:
    """Return 16 hexadecimal digits for a pipeline's files: settings in full, weights by name, size, head and tail."""
    whole = hashlib.sha256()
    for file in sorted(file for file in folder.rglob("*") if file.suffix in (".json", ".safetensors")):
        size = file.stat().st_size
        whole.update(f"{file.relative_to(folder).as_posix()}\0{size}\0".encode())
        with file.open("rb") as opened:
            whole.update(opened.read(_ENDS))
            if size > _ENDS:
                opened.seek(max(_ENDS, size - _ENDS))
                whole.update(opened.read(_ENDS))
    return whole.hexdigest()[:16]
