"""VideoReward: motion quality (MQ) of a clip from Qwen2-VL-2B with a reward head, run from the user's own files.

The model reads the frames and its instruction; the hidden state at the token ``<|MQ_reward|>``, times the second row of
the reward head, is the raw reward (Liu et al., arXiv 2501.13918). The decoder is causal and the clip's prompt stands
behind that token, so nothing after it matters: the text is cut there and no prompt is needed. As in training, every
token has its plain place in the sequence as position on all three axes, not Qwen2-VL's multimodal positions.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vmmetrics.cas.label import videoreward_files as files
from vmmetrics.cas.label.comparisons import shown_prompts
from vmmetrics.cas.label.videoreward_files import MQ, REWARD_TOKENS, require
from vmmetrics.clip import Clip
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.utils.statistics.ties import RaoKupper
from vmmetrics.utils.storage.journal import Journal
from vmmetrics.utils.tensors import quiet_transformers
from vmmetrics.video import Source, read_clip
from vmmetrics.video.content import fingerprint
from vmmetrics.video.prompts import Prompts
from vmmetrics.video.reader import check_header

_MIN_FRAMES, _MAX_FRAMES = 4, 768  # FPS_MIN_FRAMES and FPS_MAX_FRAMES of the reference's sampler
_MIN_PIXELS = 128 * 28 * 28  # VIDEO_MIN_PIXELS there
_PATCH, _MERGE, _TUBELET = 14, 2, 2  # Qwen2-VL: patch side, patches merged per side, frames per patch
_MEAN = (0.48145466, 0.4578275, 0.40821073)  # CLIP's, as in Qwen2-VL's preprocessor_config.json
_STD = (0.26862954, 0.26130258, 0.27577711)
_VIDEO_TOKEN = "<|video_pad|>"  # noqa: S105


class MotionReward(NamedTuple):
    """Motion quality of a clip.

    Attributes:
        raw: The reward as trained; P(A beats B) = σ(raw A − raw B − ln 5).
        normalised: (raw − mean) / std with the authors' figures.
    """

    raw: float
    normalised: float


class VideoReward:
    """The model, ready to score. Build it with :meth:`load`.

    Args:
        model: A ``transformers.Qwen2VLModel`` with the LoRA merged and the embeddings of the checkpoint.
        head: (3, D) reward head.
        tokenizer: Tokenizer with the reward tokens.
        text: Chat text up to and including the MQ token, with one video token.
        settings: What the checkpoint says.
    """

    def __init__(self, model: Any, head: Any, tokenizer: Any, text: str, settings: Any) -> None:
        self.model, self.head, self.tokenizer, self.settings = model, head, tokenizer, settings
        self.text = text
        before, after = text.split(_VIDEO_TOKEN)
        self._before = tokenizer(before, add_special_tokens=False)["input_ids"]
        self._after = tokenizer(after, add_special_tokens=False)["input_ids"]

    @classmethod
    def load(
        cls, folder: Path, base: Path, *, instruction: Path | None = None, device: str = "cpu", dtype: str = "bfloat16"
    ) -> VideoReward:
        """Load from local folders; nothing is downloaded and no code of theirs is run.

        Args:
            folder: Download of KwaiVGI/VideoReward.
            base: Download of Qwen/Qwen2-VL-2B-Instruct.
            instruction: VideoAlign's ``prompt_template.py``, or a file with the instruction; looked for in and above
                ``folder`` where None.
            device: Where to run, as torch names it.
            dtype: ``"bfloat16"`` as trained (4.4 GB), ``"float16"`` or ``"float32"``.

        Raises:
            SetupError: Something is missing or does not fit; the text names it.
        """
        torch, transformers = require("torch"), require("transformers")
        settings = files.read_settings(folder)
        text = files.find_instruction(folder, instruction)
        plain, lora = files.read_weights(folder, settings)
        for name in ("config.json", "tokenizer_config.json"):
            if not (base / name).is_file():
                raise SetupError(f"{base} lacks {name}; it must be a download of Qwen/Qwen2-VL-2B-Instruct")
        options = {"local_files_only": True, "trust_remote_code": False}
        tokenizer = transformers.AutoTokenizer.from_pretrained(base, **options)
        if tokenizer.chat_template is None:  # older downloads keep it in a file of its own
            try:
                tokenizer.chat_template = json.loads((base / "chat_template.json").read_text("utf-8"))["chat_template"]
            except (OSError, ValueError, KeyError) as error:
                raise SetupError(f"{base} has no chat template, neither in its tokenizer nor beside it") from error
        tokenizer.add_tokens(list(REWARD_TOKENS), special_tokens=True)
        with quiet_transformers():
            whole, report = transformers.Qwen2VLForConditionalGeneration.from_pretrained(
                base, dtype=torch.float32, attn_implementation="sdpa", output_loading_info=True, **options
            )
        missing = sorted(name for name in report["missing_keys"] if name != "lm_head.weight")
        if missing or report["mismatched_keys"]:
            raise SetupError(f"{base} does not fit its config; missing: {', '.join(missing[:5]) or 'none'}")
        model = whole.model
        head = plain.pop("rm_head.weight").float()
        _merge(model, plain, lora, settings.scale)
        rows = len(model.language_model.embed_tokens.weight)
        if rows != len(tokenizer):
            raise SetupError(f"The checkpoint has {rows} embeddings, the tokenizer in {base} {len(tokenizer)} tokens")
        if head.shape != (len(REWARD_TOKENS), model.language_model.embed_tokens.weight.shape[1]):
            raise SetupError(f"Expected a reward head of 3 rows but got {tuple(head.shape)}")
        precision = getattr(torch, dtype)
        model = model.to(device, precision).eval().requires_grad_(requires_grad=False)
        return cls(model, head.to(device, precision), tokenizer, _chat(tokenizer, text), settings)

    def score(self, clip: Clip) -> MotionReward:
        """Score one clip.

        Raises:
            ClipError: It is too short or too narrow for the model.
        """
        torch = require("torch")
        patches, grid = self._patches(clip)
        device, precision = self.head.device, self.head.dtype
        video = self.tokenizer.convert_tokens_to_ids(_VIDEO_TOKEN)
        tokens = math.prod(grid) // _MERGE**2
        ids = torch.tensor([[*self._before, *[video] * tokens, *self._after]], device=device)
        with torch.inference_mode():
            sizes = torch.tensor([grid], device=device)
            seen = self.model.visual(patches.to(device, precision), grid_thw=sizes).pooler_output
            embedded = self.model.language_model.embed_tokens(ids)
            embedded = embedded.masked_scatter((ids == video).unsqueeze(-1), seen.to(embedded.dtype))
            positions = torch.arange(ids.shape[1], device=device).expand(3, 1, -1)
            hidden = self.model.language_model(inputs_embeds=embedded, position_ids=positions, use_cache=False)
            raw = float(hidden.last_hidden_state[0, -1] @ self.head[MQ])
        return MotionReward(raw, (raw - self.settings.mean) / self.settings.std)

    def _patches(self, clip: Clip) -> tuple[Any, tuple[int, int, int]]:
        """Return (patches, 1176) of the chosen, resized, normalised frames, and patches in time, height and width."""
        torch = require("torch")
        count = frames_shown(len(clip), clip.fps, self.settings.fps, self.settings.frames)
        # in float32, as the reference's sampler
        chosen = np.linspace(0, len(clip) - 1, count, dtype=np.float32).round().astype(int)
        height, width = frame_size(clip.height, clip.width, self.settings.max_pixels)
        frames = torch.from_numpy(np.ascontiguousarray(clip.frames[chosen])).permute(0, 3, 1, 2).float()
        frames = torch.nn.functional.interpolate(frames, (height, width), mode="bicubic", antialias=True)
        frames = frames.clamp(0, 255).round() / 255  # the reference resizes bytes
        frames = (frames - torch.tensor(_MEAN)[:, None, None]) / torch.tensor(_STD)[:, None, None]
        grid = (count // _TUBELET, height // _PATCH, width // _PATCH)
        cut = frames.reshape(grid[0], _TUBELET, 3, grid[1] // _MERGE, _MERGE, _PATCH, grid[2] // _MERGE, _MERGE, _PATCH)
        # one row per patch, the patches that are merged beside each other; within it colour, time, height, width
        return cut.permute(0, 3, 6, 4, 7, 2, 1, 5, 8).reshape(math.prod(grid), -1), grid


def frames_shown(frames: int, fps: float, target_fps: float | None, target: int | None) -> int:
    """Return how many frames the model is shown: an even number, at ``target_fps`` at least four if there are.

    Raises:
        ClipError: The clip has one frame.
    """
    if frames < _TUBELET:
        raise ClipError(f"VideoReward needs at least two frames but the clip has {frames}")
    if target_fps is None:
        count = round((target or 0) / _TUBELET) * _TUBELET
    else:
        most = min(frames, _MAX_FRAMES) // _TUBELET * _TUBELET
        count = round(min(max(frames / fps * target_fps, _MIN_FRAMES), most) / _TUBELET) * _TUBELET
    return max(_TUBELET, min(count, frames // _TUBELET * _TUBELET))


def frame_size(height: int, width: int, max_pixels: int) -> tuple[int, int]:
    """Return height and width to resize to: multiples of 28 near the given ones, within the bounds on their product."""
    side = _PATCH * _MERGE
    sizes = max(side, round(height / side) * side), max(side, round(width / side) * side)
    if math.prod(sizes) > max_pixels:
        shrink = math.sqrt(height * width / max_pixels)
        sizes = math.floor(height / shrink / side) * side, math.floor(width / shrink / side) * side
    elif math.prod(sizes) < _MIN_PIXELS:
        grow = math.sqrt(_MIN_PIXELS / (height * width))
        sizes = math.ceil(height * grow / side) * side, math.ceil(width * grow / side) * side
    if min(sizes) < side:
        raise ClipError(f"A clip of {width} x {height} is too narrow for VideoReward")
    return sizes


def _chat(tokenizer: Any, text: str) -> str:
    """Return the conversation up to the MQ token."""
    turn = {"role": "user", "content": [{"type": "video"}, {"type": "text", "text": text}]}
    whole: str = tokenizer.apply_chat_template([turn], tokenize=False, add_generation_prompt=True)
    if whole.count(_VIDEO_TOKEN) != 1 or whole.count(REWARD_TOKENS[MQ]) != 1:
        raise SetupError("The chat template does not put one video and the instruction into the conversation")
    if whole.index(_VIDEO_TOKEN) > whole.index(REWARD_TOKENS[MQ]):
        raise SetupError("The chat template puts the video behind the instruction, where the reward cannot see it")
    return whole[: whole.index(REWARD_TOKENS[MQ]) + len(REWARD_TOKENS[MQ])]


def _merge(model: Any, plain: dict[str, Any], lora: dict[str, tuple[Any, Any]], scale: float) -> None:
    """Load the checkpoint's weights and add the LoRA products, in float32."""
    torch = require("torch")
    own = model.state_dict()
    if surplus := sorted(name for name in [*plain, *lora] if name not in own):
        raise SetupError(f"The checkpoint has weights that Qwen2-VL does not: {', '.join(surplus[:5])}")
    embedding = "language_model.embed_tokens.weight"  # its rows are those of the tokenizer with the reward tokens
    model.language_model.embed_tokens.weight = torch.nn.Parameter(plain.pop(embedding).float())
    for name, tensor in plain.items():
        if own[name].shape != tensor.shape:
            raise SetupError(f"{name} is {tuple(tensor.shape)} in the checkpoint, {tuple(own[name].shape)} in the base")
        own[name].copy_(tensor)
    for name, (down, up) in lora.items():
        if own[name].shape != (up.shape[0], down.shape[1]):
            update = up.shape[0], down.shape[1]
            raise SetupError(f"{name}: the LoRA update has shape {update}, the base weight {tuple(own[name].shape)}")
        own[name] += scale * (up.float() @ down.float())


# From rewards to comparisons: what VideoReward would say of each pair.
#
# It was trained with ties in Rao and Kupper's form: P(A beats B) = σ(a − b − ln 5), P(B beats A) = σ(b − a − ln 5), a
# tie otherwise, with a and b the raw rewards. Fitted with that model, all pairs give back the rewards but for their
# mean.

LOG_TIE = math.log(5)
"""ln k of the training loss ("btt", k = 5)."""


@dataclass(frozen=True, slots=True)
class RewardStep:
    """Result of one clip.

    Attributes:
        clip: Its name.
        reward: Raw motion quality, or None where it failed.
        error: Why it failed, or None.
        cached: Whether the reward was read from the file of an earlier run.
        prompt: Its prompt, or None.
    """

    clip: str
    reward: float | None
    error: str | None = None
    cached: bool = False
    prompt: str | None = None


def compare_rewards(steps: Iterable[RewardStep], *, across_prompts: bool = False) -> list[dict[str, Any]]:
    """Compare clips by their rewards, all pairs of one prompt.

    A pair gives three lines, one per outcome, weighted with its probability: no noise, but then intervals say how well
    one comparison per pair would do. The lines name no rater, since they are one judgement in parts.

    Args:
        steps: Clips; those without a reward are left out.
        across_prompts: Compare clips of different prompts too.

    Returns:
        Lines in the format of comparisons.
    """
    pools: Mapping[Hashable, list[tuple[RewardStep, float]]] = defaultdict(list)
    for step in steps:
        if step.reward is not None:
            pools[None if across_prompts else step.prompt].append((step, step.reward))
    pairs = [pair for pool in pools.values() for pair in combinations(pool, 2)]
    differences = np.array([a - b for (_, a), (_, b) in pairs], np.float64)
    probabilities = np.exp(RaoKupper().log_probabilities(differences, LOG_TIE)).reshape(-1, 3)
    lines = []
    for ((a, _), (b, _)), chances in zip(pairs, probabilities.tolist(), strict=True):
        line: dict[str, Any] = {"a": a.clip, "b": b.clip, **shown_prompts(a.prompt, b.prompt)}
        weighed = zip(("a", "tie", "b"), chances, strict=True)
        lines += [line | {"winner": outcome, "weight": chance} for outcome, chance in weighed if chance > 0]
    return lines


def reward_clips(
    sources: Sequence[Source], prompts: Prompts, model: VideoReward, model_id: str, rewards: Path
) -> Iterator[RewardStep]:
    """Score clips one after another; those in ``rewards`` with the same content and model are not scored again.

    Args:
        sources: The clips.
        prompts: Their prompts.
        model: What scores them.
        model_id: Names the model and its settings; rewards of another are not used.
        rewards: JSON Lines file of rewards, appended to.

    Yields:
        A step per clip.

    Raises:
        SetupError: The file holds rewards of another model, or cannot be written.
    """
    journal = Journal(rewards)
    cached: dict[tuple[str, str], float] = {}
    for line in journal.read_as(_Line):
        if line.model != model_id:
            raise SetupError(f"{rewards} has rewards of another model or setting; name another file")
        cached[line.clip, line.sha256] = line.mq_raw
    if journal.damaged:
        raise SetupError(*journal.warnings(), f"remove these lines from {rewards}, or name another file")
    for source in sources:
        try:
            check_header(source.path)
            prompt, content = prompts.lookup(source).prompt, fingerprint(source.path)
            if (source.name, content) in cached:
                yield RewardStep(source.name, cached[source.name, content], cached=True, prompt=prompt)
                continue
            reward = model.score(read_clip(source.path, name=source.name))
        except (ClipError, OSError) as error:
            yield RewardStep(source.name, None, str(error))
            continue
        record = {"clip": source.name, "sha256": content, "model": model_id, "prompt": prompt, "group": source.model}
        journal.append([record | {"mq_raw": reward.raw, "mq": reward.normalised}])
        yield RewardStep(source.name, reward.raw, prompt=prompt)


@dataclass(frozen=True, slots=True)
class _Line:
    """Fields of a line of the file."""

    clip: str
    sha256: str
    model: str
    mq_raw: float
