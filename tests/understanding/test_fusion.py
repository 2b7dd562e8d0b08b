"""The laws of the fusion paradigms, on tiny random encoders of timm and transformers."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
timm = pytest.importorskip("timm")

from vmmetrics.understanding.fusion import PARADIGMS, FusedEncoder, fuse  # noqa: E402 - needs torch

PIXELS, PATCH, WIDTH, OUT = 16, 4, 16, 12
P, L = 16, 4
COMPRESSING = [name for name in PARADIGMS if name != "none"]
AFTER = ("average", "concatenate", "qformer")
"""Paradigms whose frames meet behind the encoder."""
TRANSFORMERS = {
    "ViTModel": "ViTConfig",
    "CLIPVisionModel": "CLIPVisionConfig",
    "SiglipVisionModel": "SiglipVisionConfig",
    "Dinov2Model": "Dinov2Config",
}


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(7)
    with torch.random.fork_rng():
        yield
    torch.set_num_threads(before)


def of_timm(**options: object) -> torch.nn.Module:
    sizes = {"img_size": PIXELS, "patch_size": PATCH, "embed_dim": WIDTH, "depth": 3, "num_heads": 2, "num_classes": 0}
    vit = timm.models.vision_transformer.VisionTransformer(**(sizes | options)).eval()
    for parameter in vit.parameters():  # biases and class tokens start as good as zero
        torch.nn.init.normal_(parameter, std=0.2)
    return vit


def of_transformers(name: str) -> torch.nn.Module:
    transformers = pytest.importorskip("transformers")
    config = getattr(transformers, TRANSFORMERS[name])(
        image_size=PIXELS,
        patch_size=PATCH,
        hidden_size=WIDTH,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=32,
    )
    return getattr(transformers, name)(config).eval()


def encoder(name: str) -> torch.nn.Module:
    return of_timm() if name == "timm" else of_transformers(name)


def frames(n: int, batch: int = 2) -> torch.Tensor:
    return torch.randn(batch, n, 3, PIXELS, PIXELS)


def by_frame(fused: FusedEncoder, video: torch.Tensor) -> torch.Tensor:
    """The encoder's tokens, (B, N, P, H)."""
    return fused.encoded(video).reshape(len(video), video.shape[1], P, WIDTH)


def changed_frames(fused: FusedEncoder, video: torch.Tensor, j: int) -> list[int]:
    """Frames of video 0 whose tokens behind the encoder change with frame j; the other video's must not."""
    other = video.clone()
    other[0, j] += torch.randn_like(other[0, j])
    with torch.no_grad():
        moved = (by_frame(fused, video) - by_frame(fused, other)).abs().amax(dim=(2, 3))
    assert moved[1].max() == 0
    return torch.nonzero(moved[0]).flatten().tolist()


@pytest.mark.parametrize("model", ["timm", *TRANSFORMERS])
@pytest.mark.parametrize("paradigm", PARADIGMS)
def test_shapes_and_counts_of_tokens(model: str, paradigm: str) -> None:
    k = 1 if paradigm == "none" else 2
    fused = fuse(encoder(model), paradigm, k, OUT)
    video = frames(4)
    encoded = fused.encoded(video)
    behind = {"pre-encoder": (2, 4 // k, P, WIDTH), "through-encoder": (2, 4 // k, k * P, WIDTH)}
    assert tuple(encoded.shape) == behind.get(paradigm, (2, 4, P, WIDTH))
    tokens = fused(video)
    assert tuple(tokens.shape) == (2, 4 // k, L, OUT)
    assert tokens.shape[1] * tokens.shape[2] == 4 * fused.tokens // k
    tokens.square().sum().backward()
    assert all(p.grad is not None for p in fused.downsample.parameters())
    assert fused.encoder.patch_convolution.weight.grad.abs().sum() > 0


@pytest.mark.parametrize("k", [2, 4, 8])
@pytest.mark.parametrize("paradigm", COMPRESSING)
def test_equal_decoder_length_whatever_k(paradigm: str, k: int) -> None:
    assert fuse(of_timm(depth=1), paradigm, k, OUT)(frames(2 * k)).shape == (2, 2, L, OUT)


@pytest.mark.parametrize("model", ["timm", "ViTModel"])
@pytest.mark.parametrize("paradigm", COMPRESSING)
def test_one_frame_a_group_is_the_baseline(model: str, paradigm: str) -> None:
    vit = encoder(model)
    baseline = fuse(copy.deepcopy(vit), "none", 1, OUT)
    fused = fuse(vit, paradigm, 1, OUT)
    fused.load_state_dict(baseline.state_dict(), strict=True)  # not one parameter more
    video = frames(3)
    assert torch.equal(fused(video), baseline(video))


def test_baseline_is_the_encoder_itself_without_class_token() -> None:
    vit = of_timm()
    video = frames(2, batch=1)
    patches = vit.forward_features(video[0])[:, 1:]
    fused = fuse(vit, "none", 1, OUT)
    assert torch.equal(fused.encoded(video)[0], patches)
    weight, bias = fused.downsample.project.weight, fused.downsample.project.bias
    for row in range(2):
        for column in range(2):
            corner = 2 * PATCH * row + 2 * column
            four = torch.cat([patches[:, corner + step] for step in (0, 1, PATCH, PATCH + 1)], dim=1)
            assert torch.allclose(fused(video)[0, :, 2 * row + column], four @ weight.T + bias, atol=1e-5)


@pytest.mark.parametrize("model", ["timm", *TRANSFORMERS])
def test_through_the_encoder_attention_spans_the_group_and_no_more(model: str) -> None:
    fused = fuse(encoder(model), "through-encoder", 3, OUT)
    video = frames(6)
    assert changed_frames(fused, video, 1) == [0, 1, 2]
    assert changed_frames(fused, video, 5) == [3, 4, 5]


@pytest.mark.parametrize("model", ["timm", *TRANSFORMERS])
@pytest.mark.parametrize("paradigm", AFTER)
def test_behind_the_encoder_frames_have_not_met(model: str, paradigm: str) -> None:
    fused = fuse(encoder(model), paradigm, 3, OUT)
    video = frames(6)
    assert changed_frames(fused, video, 1) == [1]
    assert changed_frames(fused, video, 5) == [5]


@pytest.mark.parametrize("paradigm", COMPRESSING)
def test_decoder_tokens_depend_on_all_frames_of_their_group_alone(paradigm: str) -> None:
    fused = fuse(of_timm(), paradigm, 3, OUT).eval()
    video = frames(6)
    for j in range(6):
        other = video.clone()
        other[0, j] += 1
        moved = (fused(video) - fused(other)).abs().amax(dim=(2, 3))
        assert moved[0, j // 3] > 0
        assert moved[0, 1 - j // 3] == 0
        assert moved[1].max() == 0


def test_group_attention_in_every_layer() -> None:
    fused = fuse(of_timm(reg_tokens=2), "through-encoder", 4, OUT)
    lengths: list[tuple[int, int]] = []
    for block in fused.encoder.vit.blocks:
        block.attn.register_forward_pre_hook(lambda _, inputs: lengths.append(tuple(inputs[0].shape[:2])))
    fused(frames(8))
    assert lengths == [(4, 4 * (P + 3))] * 3  # two videos of two groups; class and register tokens go along


def test_through_the_encoder_is_attention_masked_by_group() -> None:
    """Against timm's own layers over all frames of a video as one sequence, masked to blocks of k frames."""
    k, n = 2, 6
    vit = of_timm()
    fused = fuse(copy.deepcopy(vit), "through-encoder", k, OUT)
    video = frames(n, batch=1)
    each = vit._pos_embed(vit.patch_embed(video[0]))
    each = each + fused.places.repeat(n // k, 1)[:, None]
    group = torch.arange(n).repeat_interleave(P + 1) // k
    x = each.reshape(1, n * (P + 1), WIDTH)
    for block in vit.blocks:
        x = block(x, attn_mask=(group[:, None] == group[None, :])[None, None])
    expected = vit.norm(x).reshape(1, n, P + 1, WIDTH)[:, :, 1:]
    assert torch.allclose(by_frame(fused, video), expected, atol=1e-5)


@pytest.mark.parametrize("model", ["timm", "ViTModel"])
def test_spatial_positions_are_shared_and_places_tell_the_order(model: str) -> None:
    fused = fuse(encoder(model), "through-encoder", 3, OUT)
    video = frames(3)
    order = [2, 0, 1]
    assert not torch.allclose(by_frame(fused, video[:, order]), by_frame(fused, video)[:, order], atol=1e-4)
    torch.nn.init.zeros_(fused.places)
    assert torch.allclose(by_frame(fused, video[:, order]), by_frame(fused, video)[:, order], atol=1e-5)


@pytest.mark.parametrize("model", ["timm", *TRANSFORMERS])
def test_equal_frames_stacked_before_the_encoder_are_one_picture(model: str) -> None:
    vit = encoder(model)
    baseline = fuse(copy.deepcopy(vit), "none", 1, OUT)
    fused = fuse(vit, "pre-encoder", 4, OUT)
    video = frames(1)
    assert torch.allclose(fused.encoded(video.expand(-1, 4, -1, -1, -1)), baseline.encoded(video), atol=1e-5)


def test_who_sees_the_order_within_a_group() -> None:
    video = frames(4)
    for paradigm in COMPRESSING:
        fused = fuse(of_timm(), paradigm, 4, OUT).eval()
        if paradigm == "pre-encoder":  # its kernels start equal for all frames
            fused.encoder.patch_convolution.reset_parameters()
        same = torch.allclose(fused(video), fused(video.flip(1)), atol=1e-6)
        assert same == (paradigm == "average"), paradigm


def test_average_is_the_mean_of_the_baseline() -> None:
    vit = of_timm()
    baseline = fuse(copy.deepcopy(vit), "none", 1, OUT)
    fused = fuse(vit, "average", 2, OUT)
    fused.load_state_dict(baseline.state_dict())
    video = frames(4)
    tokens = baseline(video)
    assert torch.allclose(fused(video)[:, 1], (tokens[:, 2] + tokens[:, 3]) / 2, atol=1e-6)


@pytest.mark.parametrize("paradigm", COMPRESSING)
def test_frames_that_leave_a_group_short(paradigm: str) -> None:
    vit = of_timm()
    video = frames(5)
    with pytest.raises(ValueError, match="5 frames are no multiple of k = 4"):
        fuse(copy.deepcopy(vit), paradigm, 4, OUT)(video)
    fused = fuse(vit, paradigm, 4, OUT, remainder="repeat").eval()
    whole = torch.cat([video, video[:, -1:], video[:, -1:], video[:, -1:]], dim=1)
    tokens = fused(video)
    assert tokens.shape == (2, 2, L, OUT)
    assert torch.equal(tokens, fused(whole))


def test_a_copy_has_places_of_its_own() -> None:
    fused = fuse(of_timm(), "through-encoder", 2, OUT)
    video = frames(2)
    before = fused(video)
    twin = copy.deepcopy(fused)
    torch.nn.init.normal_(twin.places)
    assert torch.equal(fused(video), before)
    assert not torch.allclose(twin(video), before, atol=1e-3)


@pytest.mark.parametrize("paradigm", COMPRESSING)
def test_what_is_added_has_the_encoders_precision(paradigm: str) -> None:
    fused = fuse(of_timm(depth=1).bfloat16(), paradigm, 2, OUT)
    assert {parameter.dtype for parameter in fused.parameters()} == {torch.bfloat16}
    assert fused(frames(4).bfloat16()).dtype == torch.bfloat16


@pytest.mark.parametrize("paradigm", COMPRESSING)
def test_weights_go_through_safetensors(paradigm: str, tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.torch")
    fused, other = (fuse(of_timm(depth=1), paradigm, 2, OUT) for _ in range(2))
    safetensors.save_file(fused.state_dict(), tmp_path / "fused.safetensors")
    other.load_state_dict(safetensors.load_file(tmp_path / "fused.safetensors"), strict=True)
    video = frames(4)
    assert torch.equal(other(video), fused(video))


def test_gradient_checkpointing_changes_nothing() -> None:
    fused = fuse(of_timm(), "through-encoder", 2, OUT)
    video = frames(4)
    fused(video).square().sum().backward()
    expected = {name: p.grad.clone() for name, p in fused.named_parameters() if p.grad is not None}
    fused.zero_grad()
    fused.encoder.vit.set_grad_checkpointing(True)
    fused(video).square().sum().backward()
    assert "places" in expected
    for name, parameter in fused.named_parameters():
        if name in expected:
            assert torch.allclose(parameter.grad, expected[name], rtol=1e-4, atol=1e-5), name


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="no paradigm 'late'"):
        fuse(of_timm(), "late", 2, OUT)
    with pytest.raises(ValueError, match="without fusion k is 1"):
        fuse(of_timm(), "none", 2, OUT)
    with pytest.raises(ValueError, match="at least 1, not 0"):
        fuse(of_timm(), "average", 0, OUT)
    with pytest.raises(ValueError, match="no multiple of 3 x 3"):
        fuse(of_timm(), "average", 2, OUT, side=3)
    with pytest.raises(ValueError, match="drops patches"):
        fuse(of_timm(patch_drop_rate=0.5), "average", 2, OUT)
    with pytest.raises(ValueError, match="Linear is not supported"):
        fuse(torch.nn.Linear(2, 2), "average", 2, OUT)
    of_others = type("VisionTransformer", (torch.nn.Module,), {"__module__": "torchvision.models.vision_transformer"})
    with pytest.raises(ValueError, match=r"torchvision.*VisionTransformer is not supported; timm's or transformers'"):
        fuse(of_others(), "average", 2, OUT)
    with pytest.raises(ValueError, match=r"frames are \(B, N, C, 16, 16\)"):
        fuse(of_timm(), "average", 2, OUT)(torch.zeros(1, 2, 3, 8, 8))
    used = of_timm()
    fuse(used, "through-encoder", 2, OUT)
    with pytest.raises(ValueError, match="hooked already"):
        fuse(used, "through-encoder", 2, OUT)
