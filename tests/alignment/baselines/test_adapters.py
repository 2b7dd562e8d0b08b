"""The adapters on tiny networks of random weights; without torch only the rules and the messages."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from vmmetrics.alignment.baselines.formulas import consistency, interpolation_smoothness
from vmmetrics.alignment.baselines.judge import JudgeSettings, LocalJudge, Turn, show
from vmmetrics.alignment.baselines.networks import fragments, stretches
from vmmetrics.alignment.baselines.suite import BaselineSuite
from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError

_spec = importlib.util.spec_from_file_location("tiny_vlm", Path(__file__).with_name("tiny_vlm.py"))
tiny_vlm = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tiny_vlm)


def installed(*names: str) -> bool:
    return all(importlib.util.find_spec(name) is not None for name in names)


needs_torch = pytest.mark.skipif(not installed("torch"), reason="needs torch")
needs_torchvision = pytest.mark.skipif(not installed("torch", "torchvision"), reason="needs torchvision")
needs_dover = pytest.mark.skipif(not installed("torch", "dover"), reason="needs the dover package")
needs_transformers = pytest.mark.skipif(not installed("torch", "transformers"), reason="needs transformers")


def test_consistency_by_hand():
    east, north, north_east = (1.0, 0.0), (0.0, 2.0), (3.0, 3.0)
    half = np.sqrt(0.5)
    assert consistency(np.array([east, east])) == 1
    assert consistency(np.array([east, north])) == 0
    assert consistency(np.array([east, north, north_east])) == pytest.approx((0 + (half + half) / 2) / 2)
    assert consistency(np.array([east, (-1.0, 0.0)])) == 0  # opposite counts as nothing, not as less
    for features in (np.array([east]), np.array([east, (0.0, 0.0)])):
        with pytest.raises(ValueError, match="Expected"):
            consistency(features)


@given(arrays(np.float64, st.tuples(st.integers(2, 6), st.just(4)), elements=st.floats(-5, 5)))
def test_consistency_frame_by_frame(features):
    """VBench's loop: each frame with the one before and with the first."""
    features = features + np.where(np.abs(features).sum(1, keepdims=True) == 0, 1.0, 0.0)
    if np.linalg.norm(features, axis=1).min() < 1e-100:
        return
    total = 0.0
    unit = [vector / np.linalg.norm(vector) for vector in features]
    for t in range(1, len(unit)):
        total += (max(0.0, float(unit[t - 1] @ unit[t])) + max(0.0, float(unit[0] @ unit[t]))) / 2
    assert consistency(features) == pytest.approx(total / (len(unit) - 1), abs=1e-9)


def average(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return ((a.astype(int) + b) // 2).astype(np.uint8)


def test_interpolation_by_hand():
    levels = (0, 10, 20, 50, 40, 7)  # odd frames 10, 50; between their neighbours lie 10, 30; 7 has none behind it
    frames = np.stack([np.full((4, 5, 3), level, np.uint8) for level in levels])
    assert interpolation_smoothness(frames, average) == pytest.approx((255 - 10) / 255)
    with pytest.raises(ValueError, match="three frames"):
        interpolation_smoothness(frames[:2], average)


@pytest.mark.parametrize("family", ["raft", "clip_consistency", "dino_consistency", "film_smoothness", "dover"])
def test_what_is_missing_is_named(family, tmp_path, monkeypatch):
    monkeypatch.setenv("VMMETRICS_WEIGHTS", str(tmp_path))
    with pytest.raises(SetupError, match=rf"\[baselines\]|{tmp_path}.*--weights {family}=PATH|VQAssessment"):
        BaselineSuite([family])


def test_a_judge_has_to_be_named():
    with pytest.raises(SetupError, match="--judge"):
        BaselineSuite(["vlm_judge"])


@pytest.fixture
def clip(translated) -> Clip:
    frames = translated(4, (2, 1))
    return Clip(frames, np.arange(4) / 8, 8.0)


def test_fragments_by_hand():
    rows, columns = np.mgrid[:300, :460]
    frames = np.stack([rows % 256, columns % 256, (rows + columns) % 256], -1).astype(np.uint8)[None]
    found = fragments(frames)
    assert found.shape == (1, 224, 224, 3)
    for i, j in ((0, 0), (2, 5), (6, 6)):  # cells of 42 x 65 pixels, pieces in their middle
        top, left = 42 * i + 5, 65 * j + 16
        piece = found[0, 32 * i : 32 * i + 32, 32 * j : 32 * j + 32]
        assert (piece == frames[0, top : top + 32, left : left + 32]).all()
    assert (fragments(frames[:, :224, :224]) == frames[:, :224, :224]).all()
    assert fragments(np.full((2, 100, 160, 3), 7, np.uint8)).shape == (2, 224, 224, 3)  # 224 x 358 first


@needs_dover
def test_dover_sees_what_its_own_code_sees(tmp_path, translated):
    import torch
    from dover.datasets import UnifiedFrameSampler, get_spatial_fragments
    from dover.models import DOVER

    torch.manual_seed(0)
    options = {"divide_head": True, "vqa_head": {"in_channels": 768, "hidden_channels": 64}}
    backbone = {"technical": {"type": "swin_tiny_grpb", "checkpoint": True, "pretrained": None}}
    network = DOVER(backbone=backbone, backbone_preserve_keys="technical", **options)
    torch.save({**network.state_dict(), "aesthetic_head.x": torch.zeros(1)}, tmp_path / "DOVER.pth")
    texture = np.pad(translated(5, (4, 2)), ((0, 0), (0, 80), (0, 32), (0, 0)), mode="reflect")  # 224 pixels a side
    places = UnifiedFrameSampler(32, 1, 2, 1)(5)  # too short and too small for anything to be drawn at random
    assert places.tolist() == stretches(5)[0].tolist()
    view = get_spatial_fragments(torch.from_numpy(texture[places].transpose(3, 0, 1, 2).copy()).float())
    mean, std = torch.tensor([123.675, 116.28, 103.53]), torch.tensor([58.395, 57.12, 57.375])
    view = ((view.permute(1, 2, 3, 0) - mean) / std).permute(3, 0, 1, 2)[None]
    expected = network({"technical": view})[0].mean().item()
    suite = BaselineSuite(["dover"], {"dover": str(tmp_path / "DOVER.pth")})
    assert suite.score_clip(texture, fps=8, layout="THWC").scores["dover"] == pytest.approx(expected, abs=1e-5)
    torch.save({"a": torch.zeros(1)}, tmp_path / "DOVER.pth")
    with pytest.raises(SetupError, match="technical branch"):
        BaselineSuite(["dover"], {"dover": str(tmp_path / "DOVER.pth")})


@needs_torchvision
@pytest.mark.parametrize("size", ["small", "large"])
def test_raft_from_a_file(size, tmp_path, clip):
    import torch
    from torchvision.models.optical_flow import raft_large, raft_small

    torch.manual_seed(0)
    network = {"small": raft_small, "large": raft_large}[size](weights=None).eval()
    torch.save(network.state_dict(), tmp_path / "raft.pth")
    suite = BaselineSuite(["raft"], {"raft": str(tmp_path / "raft.pth")}, threads=1)
    small = np.ascontiguousarray(clip.frames[:2, :128, :136])
    scene = suite.scene(Clip(small, clip.timestamps[:2], 8.0))
    scores = suite.score_scene(scene)
    assert not scores.errors
    assert set(scores.results) == {"raft_flow_magnitude", "raft_warping_error", "raft_forward_backward_error"}
    assert scene.calls["baselines:raft"] == 1
    assert "flow" not in scene.calls  # ours was not needed
    flow = scene._answers["baselines:raft"]
    assert flow.forward.shape == (1, 128, 136, 2)
    pair = [torch.from_numpy(small[t].transpose(2, 0, 1).copy())[None].float() / 127.5 - 1 for t in (0, 1)]
    with torch.inference_mode():
        expected = network(*pair)[-1][0].permute(1, 2, 0).numpy()
        back = network(*pair[::-1])[-1][0].permute(1, 2, 0).numpy()
    assert flow.forward[0] == pytest.approx(expected, abs=1e-3)
    assert flow.backward[0] == pytest.approx(back, abs=1e-3)
    speed = np.hypot(*np.moveaxis(flow.forward, -1, 0)).mean() / np.hypot(136, 128) * 8
    assert scores.scores["raft_flow_magnitude"] == pytest.approx(speed, rel=1e-4)
    assert suite.parts["raft_warping_error"]["weights"]["raft.pth"]


@needs_torchvision
@pytest.mark.parametrize("damage", ["other", "pickle", "cut", "misfit"])
def test_raft_refuses_other_files(damage, tmp_path):
    import torch
    from torchvision.models.optical_flow import raft_small

    state = raft_small(weights=None).state_dict()
    path = tmp_path / "raft.pth"
    if damage == "pickle":
        path.write_bytes(b"cos\nsystem\n(S'touch " + str(tmp_path / "owned").encode() + b"'\ntR.")
    else:
        if damage == "misfit":
            state.pop("context_encoder.conv.bias")
        torch.save({"a": torch.zeros(2)} if damage == "other" else state, path)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(SetupError, match=r"raft\.pth"):
        BaselineSuite(["raft"], {"raft": str(path)})
    assert not (tmp_path / "owned").exists()


@needs_transformers
def test_clip_from_a_folder(tmp_path, clip):
    import torch
    from transformers import CLIPConfig, CLIPModel, CLIPTextConfig, CLIPVisionConfig

    torch.manual_seed(0)
    small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    text = CLIPTextConfig(vocab_size=99, projection_dim=16, **small)
    vision = CLIPVisionConfig(image_size=224, patch_size=32, projection_dim=16, **small)
    whole = CLIPModel(CLIPConfig(text_config=text.to_dict(), vision_config=vision.to_dict(), projection_dim=16)).eval()
    whole.save_pretrained(tmp_path / "clip")
    suite = BaselineSuite(["clip_consistency"], {"clip_consistency": str(tmp_path / "clip")})
    score = suite.score_clip(clip).scores["clip_consistency"]
    from torchvision.transforms.v2 import functional as tv

    features = []
    for frame in clip.frames:  # another way: torchvision's transforms, the whole model
        picture = torch.from_numpy(frame.transpose(2, 0, 1).copy()).float() / 255
        picture = tv.resize(picture, [224], interpolation=tv.InterpolationMode.BICUBIC, antialias=True).clamp(0, 1)
        mean, std = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
        picture = tv.normalize(tv.center_crop(picture, [224, 224]), mean, std)
        with torch.inference_mode():
            pooled = whole.vision_model(pixel_values=picture[None]).pooler_output
            features.append(whole.visual_projection(pooled)[0].numpy())
    assert score == pytest.approx(consistency(np.array(features, np.float64)), abs=1e-4)
    assert score < 1
    assert suite.score_clip(Clip(clip.frames[[0, 0, 0]], clip.timestamps[:3], 8.0)).scores == pytest.approx(
        {"clip_consistency": 1}, abs=1e-6
    )


@needs_transformers
def test_dino_from_a_folder(tmp_path, clip):
    import torch
    from transformers import ViTConfig, ViTModel

    torch.manual_seed(0)
    config = ViTConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, image_size=224, patch_size=16
    )
    ViTModel(config, add_pooling_layer=False).save_pretrained(tmp_path / "dino")
    suite = BaselineSuite(["dino_consistency"], {"dino_consistency": str(tmp_path / "dino")})
    wide = suite.score_clip(clip).scores["dino_consistency"]
    assert 0 < wide < 1
    tall = Clip(np.ascontiguousarray(clip.frames.transpose(0, 2, 1, 3)), clip.timestamps, 8.0)
    assert suite.score_clip(tall).scores["dino_consistency"] != wide  # the picture is not cut to its middle
    single = suite.score_clip(Clip(clip.frames[:1], clip.timestamps[:1], 8.0))
    assert "one frame" in single.missing["dino_consistency"]
    with pytest.raises(SetupError, match="type 'vit', not 'clip'"):
        BaselineSuite(["clip_consistency"], {"clip_consistency": str(tmp_path / "dino")})


@needs_transformers
def test_a_folder_without_all_weights_is_refused(tmp_path):
    from safetensors.torch import load_file, save_file
    from transformers import ViTConfig, ViTModel

    config = ViTConfig(hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2)
    ViTModel(config, add_pooling_layer=False).save_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    weights = load_file(file)
    weights.pop(next(name for name in weights if name.endswith("cls_token")))
    save_file(weights, file, {"format": "pt"})
    with pytest.raises(SetupError, match="lacks weights"):
        BaselineSuite(["dino_consistency"], {"dino_consistency": str(tmp_path)})


@needs_transformers
def test_a_judge_of_transformers(tmp_path, clip):
    import torch
    from transformers import AutoModelForImageTextToText, AutoProcessor

    tiny_vlm.write(tmp_path / "model")
    settings = JudgeSettings(str(tmp_path / "model"), frames=2, tokens=12, cache=str(tmp_path / "cache"))
    judge = LocalJudge(settings, threads=1)
    _, pictures = show(clip, 2, 64)
    reply = judge.reply([Turn("system", "Rate."), Turn("user", "How is it?", pictures)])
    processor = AutoProcessor.from_pretrained(tmp_path / "model")
    model = AutoModelForImageTextToText.from_pretrained(tmp_path / "model")
    words = "system: Rate.\nuser: <image><image>How is it?\nassistant: "
    images = [Image.open(io.BytesIO(data)) for data in pictures]
    inputs = processor(images=images, text=words, return_tensors="pt")
    with torch.inference_mode():
        written = model.generate(**inputs, max_new_tokens=12, do_sample=False)[0, inputs["input_ids"].shape[1] :]
    assert reply.text == processor.decode(written, skip_special_tokens=True)
    assert reply.cut == (len(written) == 12)
    suite = BaselineSuite(["vlm_judge"], {"vlm_judge": settings}, threads=1)
    scores = suite.score_clip(clip)  # random weights answer in random letters
    assert len(scores.missing) == 5
    assert all("unusable" in reason for reason in scores.missing.values())
    assert suite.parts["judge_cas"]["weights"]["model.safetensors"]
    with pytest.raises(SetupError, match="not readable"):
        LocalJudge(JudgeSettings(str(tmp_path / "cache")))


@needs_torch
def test_film_from_torchscript(tmp_path):
    import torch

    class Middle(torch.nn.Module):
        """Half way by averaging; refuses what FILM could not halve."""

        def __init__(self) -> None:
            super().__init__()
            self.gain = torch.nn.Parameter(torch.ones(1))

        def forward(self, first: torch.Tensor, last: torch.Tensor, dt: torch.Tensor) -> torch.Tensor:
            assert first.shape[2] % 64 == 0 and first.shape[3] % 64 == 0
            assert self.gain.dtype == first.dtype
            return self.gain * (first * (1 - dt[0, 0]) + last * dt[0, 0])

    path = tmp_path / "film_net_fp16.pt"
    torch.jit.script(Middle().half()).save(str(path))
    suite = BaselineSuite(["film_smoothness"], {"film_smoothness": str(path)})
    fade = np.stack([np.full((50, 70, 3), 20 * t, np.uint8) for t in range(5)])
    assert suite.score_clip(fade, fps=8, layout="THWC").scores == {"film_smoothness": 1}
    fade[1] += 51
    assert suite.score_clip(fade, fps=8, layout="THWC").scores["film_smoothness"] == pytest.approx(1 - 0.2 / 2)
    assert "three frames" in suite.score_clip(fade[:2], fps=8, layout="THWC").missing["film_smoothness"]
    path.write_bytes(b"no network")
    with pytest.raises(SetupError, match="TorchScript"):
        BaselineSuite(["film_smoothness"], {"film_smoothness": str(path)})
