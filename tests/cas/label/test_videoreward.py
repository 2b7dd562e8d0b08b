"""VideoReward against a second computation on a tiny random model in the layout of the released files."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vmmetrics.cas.label.videoreward import VideoReward, frame_size, frames_shown
from vmmetrics.cas.label.videoreward_files import REWARD_TOKENS, find_instruction, read_settings, read_weights
from vmmetrics.clip import Clip
from vmmetrics.errors import ClipError, SetupError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
safetensors = pytest.importorskip("safetensors.torch")

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>"]
SPECIALS += ["<|image_pad|>", "<|video_pad|>"]
UNKNOWN = "[UNK]"
WORDS = [UNKNOWN, "judge", "this", "clip", ":", "looks", "moves", "fits", "system", "user", "assistant", "you", "help"]
WORDS += ["vq", "mq", "ta"]
TEMPLATE = (
    "{% for m in messages %}<|im_start|> {{ m['role'] }} {% for c in m['content'] %}{% if c['type'] == 'video' %}"
    "<|vision_start|><|video_pad|><|vision_end|>{% else %}{{ c['text'] }}{% endif %}{% endfor %}<|im_end|> "
    "{% endfor %}<|im_start|> assistant"
)
INSTRUCTION = (
    "judge this clip : looks vq <|VQ_reward|> moves mq <|MQ_reward|> fits {text_prompt} ta <|TA_reward|> you help"
)
RANK, ALPHA = 4, 8


def write_base(folder: Path) -> Any:
    """A tiny Qwen2-VL with random weights, biases and norms, saved in the hub's old names; returns the model."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocab = {word: number for number, word in enumerate(WORDS)}
    inner = Tokenizer(models.WordLevel(vocab, unk_token=UNKNOWN))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, unk_token=UNKNOWN)
    tokenizer.add_tokens(SPECIALS, special_tokens=True)
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    ids = {name: tokenizer.convert_tokens_to_ids(f"<|{name}|>") for name in ("image_pad", "video_pad", "vision_start")}
    text = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "bos_token_id": 0}
    text |= {"num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": True, "eos_token_id": 0}
    text |= {"rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 10000.0}}
    config = transformers.Qwen2VLConfig(
        text_config=text,
        vision_config={"depth": 2, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 2},
        image_token_id=ids["image_pad"],
        video_token_id=ids["video_pad"],
        vision_start_token_id=ids["vision_start"],
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    model = transformers.Qwen2VLForConditionalGeneration(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, 0.0 if parameter.ndim > 1 else 0.5, 0.3)
    config.save_pretrained(folder)
    old = {}
    for name, tensor in model.model.state_dict().items():
        old[name.replace("language_model.", "model.")] = tensor.contiguous()
    safetensors.save_file(old, folder / "model.safetensors", metadata={"format": "pt"})
    return model


def write_checkpoint(folder: Path, base: Any) -> dict[str, Any]:
    """A checkpoint as the released training code saves it; returns its tensors."""
    generator = torch.Generator().manual_seed(1)

    def random(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator) * 0.3

    width = base.config.text_config.hidden_size
    rows = len(WORDS) + len(SPECIALS) + len(REWARD_TOKENS)
    rest = {
        "base_model.model.rm_head.weight": 30 * random(3, width),
        "base_model.model.model.embed_tokens.weight": random(rows, width),
    }
    for name, tensor in base.model.visual.state_dict().items():
        rest[f"base_model.model.visual.{name}"] = random(*tensor.shape)
    lora = {}
    for name, module in base.model.language_model.named_modules():
        if isinstance(module, torch.nn.Linear):
            lora[f"base_model.model.model.{name}.lora_A.weight"] = random(RANK, module.in_features)
            lora[f"base_model.model.model.{name}.lora_B.weight"] = random(module.out_features, RANK)
    step = folder / "checkpoint-20"
    step.mkdir(parents=True)
    (folder / "checkpoint-3").mkdir()
    torch.save(rest, step / "non_lora_state_dict.pth")
    safetensors.save_file(lora, step / "adapter_model.safetensors")
    config = {
        "data_config": {"fps": 2.0, "num_frames": None, "max_frame_pixels": 200704, "sample_type": "uniform"},
        "model_config": {"output_dim": 3, "use_special_tokens": True, "reward_token": "special"},
        "peft_lora_config": {"lora_r": RANK, "lora_alpha": ALPHA, "use_rslora": False},
        "inference_config": {"MQ_mean": 1.25, "MQ_std": 2.0},
    }
    config["data_config"]["eval_dim"] = ["VQ", "MQ", "TA"]
    (folder / "model_config.json").write_text(json.dumps(config))
    (folder / "prompt_template.py").write_text(f'OTHER = "no tokens"\nFULL = """{INSTRUCTION}"""\n')
    return rest | lora


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Any, dict[str, Any]]:
    root = tmp_path_factory.mktemp("videoreward")
    (root / "base").mkdir()
    base = write_base(root / "base")
    tensors = write_checkpoint(root / "reward", base)
    return root / "reward", root / "base", base, tensors


@pytest.fixture(scope="module")
def scorer(files: tuple[Path, Path, Any, dict[str, Any]]) -> VideoReward:
    return VideoReward.load(files[0], files[1], dtype="float32")


def a_clip(seed: int = 0, frames: int = 9, height: int = 320, width: int = 384) -> Clip:
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (frames, height // 16, width // 16, 3), dtype=np.uint8)
    return Clip(small.repeat(16, 1).repeat(16, 2), np.arange(frames) / 8, 8.0)


def second_computation(clip: Clip, files: tuple[Path, Path, Any, dict[str, Any]], prompt: str) -> Any:
    """(3, 3) head outputs at each reward token: whole text, LoRA beside the weights, patches by loops."""
    import copy

    _, place, base, tensors = files
    model = copy.deepcopy(base).model
    model.language_model.embed_tokens.weight = torch.nn.Parameter(
        tensors["base_model.model.model.embed_tokens.weight"].clone()
    )
    prefix = "base_model.model.visual."
    model.visual.load_state_dict({k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)})
    for name, module in model.language_model.named_modules():
        if isinstance(module, torch.nn.Linear):
            key = f"base_model.model.model.{name}"
            down, up = (tensors[f"{key}.lora_{side}.weight"] for side in "AB")
            module.register_forward_hook(lambda _m, x, y, down=down, up=up: y + ALPHA / RANK * (x[0] @ down.T @ up.T))
    tokenizer = transformers.AutoTokenizer.from_pretrained(place)
    tokenizer.add_tokens(list(REWARD_TOKENS), special_tokens=True)
    shown = clip.frames[np.linspace(0, len(clip) - 1, 4).round().astype(int)]  # 9 frames at 8 fps, so the least: 4
    mean, std = np.array([0.48145466, 0.4578275, 0.40821073]), np.array([0.26862954, 0.26130258, 0.27577711])
    frames = (torch.from_numpy(shown).permute(0, 3, 1, 2)).float()
    frames = torch.nn.functional.interpolate(frames, (308, 392), mode="bicubic", antialias=True).clamp(0, 255).round()
    pixels = (frames.numpy() / 255 - mean[:, None, None]) / std[:, None, None]
    rows = []
    for t in range(2):
        for y in range(0, 308, 28):
            for x in range(0, 392, 28):
                for dy, dx in ((0, 0), (0, 14), (14, 0), (14, 14)):
                    patch = pixels[2 * t : 2 * t + 2, :, y + dy : y + dy + 14, x + dx : x + dx + 14]
                    rows.append(patch.transpose(1, 0, 2, 3).ravel())
    grid = torch.tensor([[2, 22, 28]])
    text = (
        "<|im_start|> user <|vision_start|>" + "<|video_pad|>" * (2 * 11 * 14) + "<|vision_end|>"
        + INSTRUCTION.format(text_prompt=prompt) + "<|im_end|> <|im_start|> assistant"
    )  # fmt: skip
    ids = torch.tensor([tokenizer(text)["input_ids"]])
    with torch.no_grad():
        seen = model.visual(torch.tensor(np.array(rows)).float(), grid_thw=grid).pooler_output
        embedded = model.language_model.embed_tokens(ids)
        embedded[ids == tokenizer.convert_tokens_to_ids("<|video_pad|>")] = seen
        hidden = model.language_model(inputs_embeds=embedded).last_hidden_state[0]
        out = hidden @ tensors["base_model.model.rm_head.weight"].T
    at = [int((ids[0] == tokenizer.convert_tokens_to_ids(token)).nonzero()) for token in REWARD_TOKENS]
    return out[at].numpy()


def test_equals_a_second_computation_whatever_the_prompt(
    scorer: VideoReward, files: tuple[Path, Path, Any, dict[str, Any]]
) -> None:
    for seed, prompt in ((0, "judge this"), (1, "system user clip clip")):
        clip = a_clip(seed)
        expected = second_computation(clip, files, prompt)
        found = scorer.score(clip)
        assert found.raw == pytest.approx(expected[1, 1], abs=1e-4)
        assert found.normalised == pytest.approx((expected[1, 1] - 1.25) / 2, abs=1e-4)
        others = np.delete(expected.ravel(), 4)
        assert np.abs(others - expected[1, 1]).min() > 1e-2  # another token or another row would show


def test_the_lora_and_the_frames_matter(scorer: VideoReward, files: tuple[Path, Path, Any, dict[str, Any]]) -> None:
    assert scorer.score(a_clip(0)).raw != pytest.approx(scorer.score(a_clip(1)).raw, abs=1e-2)
    settings = read_settings(files[0])
    assert settings.scale == ALPHA / RANK
    assert len(read_weights(files[0], settings)[1]) == 2 * 7


def test_patches_equal_those_of_the_processor_of_transformers(scorer: VideoReward) -> None:
    pytest.importorskip("torchvision")
    from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor

    clip = a_clip(3, frames=4, height=336, width=448)
    patches, grid = scorer._patches(clip)
    video = torch.from_numpy(clip.frames).permute(0, 3, 1, 2)
    theirs = Qwen2VLVideoProcessor()(video, do_sample_frames=False, do_resize=False, return_tensors="pt")
    assert tuple(theirs["video_grid_thw"][0].tolist()) == grid
    torch.testing.assert_close(patches, theirs["pixel_values_videos"], atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("frames", "fps", "expected"), [(2, 8, 2), (3, 8, 2), (16, 8, 4), (49, 8, 12), (49, 24, 4), (160, 8, 40)]
)
def test_frames_shown(frames: int, fps: float, expected: int) -> None:
    assert frames_shown(frames, fps, 2.0, None) == expected


def test_too_little_to_see() -> None:
    with pytest.raises(ClipError, match="two frames"):
        frames_shown(1, 8, 2.0, None)
    with pytest.raises(ClipError, match="too narrow"):
        frame_size(4, 40_000, 200704)


@pytest.mark.parametrize(
    ("size", "expected"), [((480, 720), (364, 532)), ((720, 1280), (336, 588)), ((64, 64), (336, 336))]
)
def test_frame_size(size: tuple[int, int], expected: tuple[int, int]) -> None:
    assert frame_size(*size, 200704) == expected


def broken(files: tuple[Path, Path, Any, dict[str, Any]], to: Path) -> Path:
    import shutil

    shutil.copytree(files[0], to / "reward")
    return to / "reward"


def resave(path: Path, change: Any) -> None:
    if path.suffix == ".pth":
        tensors = torch.load(path, weights_only=True)
        change(tensors)
        torch.save(tensors, path)
    else:
        tensors = safetensors.load_file(path)
        change(tensors)
        safetensors.save_file(tensors, path)


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        ("non_lora_state_dict.pth", lambda t: t.pop("base_model.model.rm_head.weight"), "rm_head.weight"),
        ("non_lora_state_dict.pth", lambda t: t.pop("base_model.model.model.embed_tokens.weight"), "embed_tokens"),
        (
            "non_lora_state_dict.pth",
            lambda t: t.update({"base_model.model.visual.extra": torch.ones(1)}),
            "visual.extra",
        ),
        (
            "non_lora_state_dict.pth",
            lambda t: t.update({"base_model.model.visual.merger.ln_q.bias": torch.ones(3)}),
            r"merger.ln_q.bias is \(3,\)",
        ),
        (
            "adapter_model.safetensors",
            lambda t: t.pop("base_model.model.model.layers.1.mlp.up_proj.lora_B.weight"),
            "layers.1.mlp.up_proj.weight",
        ),
        (
            "adapter_model.safetensors",
            lambda t: [t.pop(k) for k in [k for k in t if "layers.0.self_attn.q_proj" in k]],
            "layers.0.self_attn.q_proj.weight",
        ),
        ("adapter_model.safetensors", lambda t: t.clear(), "no LoRA weights"),
    ],
)
def test_errors_name_what_is_wrong(
    files: tuple[Path, Path, Any, dict[str, Any]], tmp_path: Path, file: str, change: Any, said: str
) -> None:
    folder = broken(files, tmp_path)
    resave(folder / "checkpoint-20" / file, change)
    with pytest.raises(SetupError, match=said):
        VideoReward.load(folder, files[1], dtype="float32")


def test_missing_files_are_named(files: tuple[Path, Path, Any, dict[str, Any]], tmp_path: Path) -> None:
    folder = broken(files, tmp_path)
    (folder / "prompt_template.py").unlink()
    with pytest.raises(SetupError, match="KwaiVGI/VideoAlign"):
        find_instruction(folder, None)
    (folder / "checkpoint-20" / "adapter_model.safetensors").unlink()
    with pytest.raises(SetupError, match=r"adapter_model\.safetensors"):
        read_weights(folder, read_settings(folder))
    (folder / "model_config.json").unlink()
    with pytest.raises(SetupError, match=r"model_config\.json"):
        read_settings(folder)


def test_pickled_code_is_refused(files: tuple[Path, Path, Any, dict[str, Any]], tmp_path: Path) -> None:
    folder = broken(files, tmp_path)
    torch.save({"x": math.sqrt}, folder / "checkpoint-20" / "non_lora_state_dict.pth")
    with pytest.raises(SetupError, match="Cannot read the weights"):
        read_weights(folder, read_settings(folder))


def test_the_command_from_clips_to_labels(files: tuple[Path, Path, Any, dict[str, Any]], tmp_path: Path) -> None:
    import typer
    from typer.testing import CliRunner

    from vmmetrics.cas.label.comparisons import read_comparisons
    from vmmetrics.cas.label.label import LabelSettings, label_clips
    from vmmetrics.cli.cas import reward

    app = typer.Typer()
    app.command("reward")(reward)
    folder, out = tmp_path / "clips", tmp_path / "pairs.jsonl"
    folder.mkdir()
    for seed in range(3):
        np.save(folder / f"{seed}.npy", a_clip(seed, frames=4, height=64, width=64).frames)
    (folder / "torn.gif").write_bytes(b"GIF89a")
    arguments = [
        str(folder),
        "--model",
        str(files[0]),
        "--base",
        str(files[1]),
        "--out",
        str(out),
        "--dtype",
        "float32",
    ]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 3, result.output
    assert "failed" in result.output
    kept = [json.loads(line) for line in (tmp_path / "pairs.rewards.jsonl").read_text().splitlines()]
    raw = {line["clip"]: line["mq_raw"] for line in kept}
    assert len(raw) == 3
    labels = label_clips(read_comparisons([out]).rows, settings=LabelSettings(ties="rao-kupper"))
    expected = np.array([raw[entry.clip] for entry in labels.clips])
    np.testing.assert_allclose(labels.fit.strength, expected - expected.mean(), atol=1e-3)
    (folder / "torn.gif").unlink()
    again = CliRunner().invoke(app, arguments)
    assert again.exit_code == 0
    assert again.output.count("(cached)") == 3
