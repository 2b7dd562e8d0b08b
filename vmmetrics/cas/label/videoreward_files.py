"""The files of VideoReward: its checkpoint (KwaiVGI/VideoReward), merged into plain weights, and its instruction.

A checkpoint folder holds ``model_config.json`` and ``checkpoint-STEP/`` with ``adapter_model.safetensors`` (LoRA of the
language model) and ``non_lora_state_dict.pth`` (vision, embeddings, reward head), or with one ``model.pth``. Names are
those of transformers 4.45 under peft; they are turned into those of transformers 5.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError, os_reason
from vmmetrics.utils.storage.opening import read_regular
from vmmetrics.utils.tables import sha256_of
from vmmetrics.utils.tensors import load_tensors, reading

REWARD_TOKENS = ("<|VQ_reward|>", "<|MQ_reward|>", "<|TA_reward|>")
"""Tokens at which visual quality, motion quality and text alignment are read, in order of the outputs."""
MQ = 1
"""Index of motion quality among them."""
INSTALL = "pip install torch transformers safetensors"
_PROMPT_FIELD = "{text_prompt}"
_LORA = re.compile(r"(?P<target>.+)\.lora_(?P<side>[AB])(?:\.default)?\.weight")


def require(module: str) -> Any:
    """Import a module that only this adapter needs.

    Raises:
        SetupError: It is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise SetupError(f"VideoReward needs {module.partition('.')[0]}: {INSTALL} ({error})") from error


@dataclass(frozen=True, slots=True)
class RewardSettings:
    """Settings in ``model_config.json`` that a score depends on.

    Attributes:
        fps: Frames per second shown to the model, or None where ``frames`` says how many.
        frames: Number of frames shown, or None.
        max_pixels: Pixels a frame may have.
        mean: Mean of MQ over the authors' clips, 0 where not given.
        std: Its standard deviation, 1 where not given.
        rank: Rank of the LoRA.
        scale: Factor of the LoRA's product.
    """

    fps: float | None
    frames: int | None
    max_pixels: int
    mean: float
    std: float
    rank: int
    scale: float


def read_settings(folder: Path) -> RewardSettings:
    """Read ``model_config.json``.

    Raises:
        SetupError: It is not there, lacks something, or describes another kind of model.
    """
    path = folder / "model_config.json"
    try:
        config = json.loads(read_regular(path))
    except (OSError, ValueError) as error:
        raise SetupError(f"Cannot read {path}, which every VideoReward checkpoint has: {os_reason(error)}") from error
    try:
        data, model, lora = config["data_config"], config["model_config"], config["peft_lora_config"]
        kind = (model["output_dim"], model["use_special_tokens"], list(data["eval_dim"]), data["sample_type"])
        norm = config.get("inference_config") or {"MQ_mean": 0.0, "MQ_std": 1.0}
        rank, alpha = int(lora["lora_r"]), float(lora["lora_alpha"])
        frames = data.get("num_frames")
        fps, shown = (float(data["fps"]), None) if frames is None else (None, int(frames))
        numbers = int(data["max_frame_pixels"]), float(norm["MQ_mean"]), float(norm["MQ_std"])
        scale = alpha / (math.sqrt(rank) if lora.get("use_rslora") else rank)
        settings = RewardSettings(fps, shown, *numbers, rank, scale)
    except (KeyError, TypeError, ValueError) as error:
        raise SetupError(f"{path} lacks something or has it in another form: {error!r}") from error
    if kind != (3, True, ["VQ", "MQ", "TA"], "uniform"):
        raise SetupError(
            f"{path}: expected output_dim 3, special tokens, eval_dim VQ MQ TA and uniform sampling but got {kind}"
        )
    return settings


def read_weights(folder: Path, settings: RewardSettings) -> tuple[dict[str, Any], dict[str, tuple[Any, Any]]]:
    """Read the newest checkpoint of a folder.

    Returns:
        Tensors by the name they have in ``Qwen2VLModel`` (and ``rm_head.weight``), and the (A, B) pairs of the LoRA by
        the name of the weight they are added to.

    Raises:
        SetupError: Files or weights are missing, named in the text.
    """
    plain: dict[str, Any] = {}
    sides: dict[str, dict[str, Any]] = {}
    for name, tensor in _load(_newest(folder)).items():
        short = name.removeprefix("base_model.model.")
        if match := _LORA.fullmatch(short):
            sides.setdefault(_today(match["target"] + ".weight"), {})[match["side"]] = tensor
        elif not short.startswith("lm_head."):  # writes text, which a reward model does not
            plain[_today(short.replace(".base_layer.", "."))] = tensor
    for needed in ("rm_head.weight", "language_model.embed_tokens.weight"):
        if needed not in plain:
            raise SetupError(f"The checkpoint in {folder} lacks {needed}")
    _check_lora(sides, settings, folder)
    return plain, {name: (pair["A"], pair["B"]) for name, pair in sides.items()}


def weights_hash(folder: Path) -> str:
    """Return the first twelve hexadecimal digits of a hash of the newest checkpoint's weight files."""
    newest = _newest(folder)
    files = sorted([*newest.glob("*.pth"), *newest.glob("*.safetensors")])
    return hashlib.sha256(b"".join(bytes.fromhex(sha256_of(path)) for path in files)).hexdigest()[:12]


def _newest(folder: Path) -> Path:
    steps = {int(p.name.split("-")[1]): p for p in folder.glob("checkpoint-*") if p.name.split("-")[1].isdecimal()}
    if not steps:
        raise SetupError(f"No checkpoint-STEP folder in {folder}; it must be a download of KwaiVGI/VideoReward")
    return steps[max(steps)]


def _load(checkpoint: Path) -> dict[str, Any]:
    require("torch")
    full = checkpoint / "model.pth"
    adapter, rest = checkpoint / "adapter_model.safetensors", checkpoint / "non_lora_state_dict.pth"
    missing = [path.name for path in (adapter, rest) if not path.is_file()]
    if missing and not full.is_file():
        raise SetupError(f"{checkpoint} has neither model.pth nor {' and '.join(missing)}")
    with reading(f"Cannot read the weights in {checkpoint}"):
        if full.is_file():
            return dict(load_tensors(full))
        return {**load_tensors(rest), **require("safetensors.torch").load_file(adapter)}


def _today(name: str) -> str:
    """Return a name of transformers 4.45 as ``Qwen2VLModel`` has it in transformers 5."""
    return "language_model." + name.removeprefix("model.") if name.startswith("model.") else name


def _check_lora(sides: dict[str, dict[str, Any]], settings: RewardSettings, folder: Path) -> None:
    if not sides:
        raise SetupError(f"The checkpoint in {folder} has no LoRA weights")
    layers = {name.split(".")[2] for name in sides}
    kinds = {".".join(name.split(".")[3:]) for name in sides}
    expected = [f"language_model.layers.{n}.{kind}" for n in sorted(layers) for kind in sorted(kinds)]
    missing = sorted(name for name, pair in sides.items() if len(pair) < 2)
    missing += [name for name in expected if name not in sides]
    if missing:
        raise SetupError(f"The LoRA in {folder} is incomplete, it lacks {', '.join(missing[:5])}")
    ranks = {int(pair["A"].shape[0]) for pair in sides.values()}
    if ranks != {settings.rank}:
        raise SetupError(f"The LoRA in {folder} has rank {sorted(ranks)}, model_config.json says {settings.rank}")


def find_instruction(folder: Path, file: Path | None) -> str:
    """Return the instruction the model was trained with, its prompt left out.

    It belongs to the authors and is not part of this package: it is read, as data, from their ``prompt_template.py``
    (the text with all three reward tokens), or from a text file that holds it.

    Args:
        folder: Checkpoint folder; the file is looked for in it and above it, where VideoAlign's checkout has it.
        file: The file, or None to look for it.

    Raises:
        SetupError: There is no such file, or no such text in it.
    """
    candidates = [file] if file else [folder / "prompt_template.py", folder.resolve().parent / "prompt_template.py"]
    path = next((candidate for candidate in candidates if candidate.is_file()), None)
    if path is None:
        raise SetupError(
            f"VideoReward's instruction is not in {', '.join(map(str, candidates))}. Get prompt_template.py from the "
            "repository KwaiVGI/VideoAlign and name it (--instruction)"
        )
    texts = [read_regular(path).decode("utf-8-sig")]
    if path.suffix == ".py":
        try:
            nodes = ast.walk(ast.parse(texts[0]))
        except SyntaxError as error:
            raise SetupError(f"Cannot read {path} as Python: {error}") from error
        texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    matches = [t for t in texts if all(t.count(token) == 1 for token in REWARD_TOKENS)]
    if len(matches) != 1:
        raise SetupError(
            f"Expected one text with each of {', '.join(REWARD_TOKENS)} once in {path}, found {len(matches)}"
        )
    return matches[0].replace(_PROMPT_FIELD, "")
