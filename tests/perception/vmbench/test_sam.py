"""SAM against answers of segment-anything 1.0 (tests/data/vmbench/make_sam.py), and what can be wrong with weights."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
DATA = Path(__file__).resolve().parents[2] / "data" / "vmbench"
sys.path[:0] = [str(DATA), str(DATA.parents[2])]

from make_sam import CASES, GAIN, SEED, TINY, random_frame, random_weights  # noqa: E402

from benchmarks.parity import publishers  # noqa: E402
from vmmetrics.errors import SetupError  # noqa: E402
from vmmetrics.perception.vmbench.adapters.sam import Sam, fitted, prepared  # noqa: E402
from vmmetrics.perception.vmbench.runtime import DeviceCache  # noqa: E402

TOLERANCE = 2e-6
"""Of logits of order 0.3. Measured: 9.5e-7. A wrong epsilon moves 4.0e-6 in the encoder, 1.3e-5 in the upscaling and
3.1e-5 in the decoder, where transformers has a wrong one."""

UPSTREAM = np.load(DATA / "sam.npz")


TINY_SAM = {
    "vision_config": {
        "hidden_size": TINY["width"],
        "num_hidden_layers": TINY["depth"],
        "num_attention_heads": TINY["heads"],
        "output_channels": TINY["channels"],
        "image_size": TINY["side"],
        "window_size": TINY["window"],
        "global_attn_indexes": TINY["global"],
        "num_pos_feats": TINY["channels"] // 2,
        "mlp_dim": 4 * TINY["width"],
    },
    "prompt_encoder_config": {"hidden_size": TINY["channels"], "image_size": TINY["side"]},
    "mask_decoder_config": {
        "hidden_size": TINY["channels"],
        "mlp_dim": TINY["mlp"],
        "iou_head_hidden_dim": TINY["channels"],
    },
}
RECIPE = replace(publishers.SAM, options=TINY_SAM)


@cache
def weights() -> dict[str, torch.Tensor]:
    arrays = random_weights(json.loads(str(UPSTREAM["layout"])), SEED, GAIN)
    assert sum(float(w.sum()) for w in arrays.values()) == pytest.approx(float(UPSTREAM["checksum"]), rel=1e-6)
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The publisher's file in the hub's layout."""
    torch.save(weights(), tmp_path / "sam.pth")
    publishers.load(RECIPE, tmp_path / "sam.pth").save_pretrained(tmp_path / "folder")
    return tmp_path / "folder"


@pytest.fixture
def model(folder: Path) -> Iterator[Sam]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield Sam(folder, DeviceCache(torch.device("cpu")))
    torch.set_num_threads(threads)


def answers(model: Sam) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Our logits, upstream's at every third pixel, and upstream's masks, per case."""
    for name, (size, boxes) in CASES.items():
        logits = model.logits(random_frame(*size, SEED), np.array(boxes)).numpy()
        masks = np.unpackbits(UPSTREAM[f"{name} masks"], count=logits.size).reshape(logits.shape).astype(bool)
        yield logits, UPSTREAM[f"{name} logits"], masks


def largest_difference(model: Sam) -> float:
    return max(float(np.abs(ours[:, ::3, ::3] - theirs).max()) for ours, theirs, _ in answers(model))


def test_logits_and_masks_equal_upstream(model: Sam):
    assert largest_difference(model) < TOLERANCE
    for ours, theirs, masks in answers(model):
        assert 0.25 < np.abs(theirs).max() < 5
        assert np.mean(masks) == pytest.approx(0.5, abs=0.2)
        assert np.sum(masks & (ours > 0)) / np.sum(masks | (ours > 0)) >= 0.9999


def test_masks_are_where_logits_are_above_zero(model: Sam):
    size, boxes = CASES["wide"]
    frame = random_frame(*size, SEED)
    masks = model.masks(frame, np.array(boxes, np.float32))
    assert masks.dtype == bool
    assert np.array_equal(masks, model.logits(frame, np.array(boxes)).numpy() > 0)


def test_every_norm_has_upstreams_epsilon(model: Sam):
    theirs = json.loads(str(UPSTREAM["epsilons"]))
    ours = {name: part.eps for name, part in model.model.get().named_modules() if hasattr(part, "eps")}
    assert {
        publishers.publisher_names(f"{name}.weight", publishers.SAM_RULES)[0]: eps for name, eps in ours.items()
    } == {f"{name}.weight": eps for name, eps in theirs.items()}


def _epsilon_as_transformers_has_it(net: Any) -> None:
    for layer in net.mask_decoder.transformer.layers:
        for norm in (layer.layer_norm1, layer.layer_norm2, layer.layer_norm3, layer.layer_norm4):
            norm.eps = 1e-6


def _epsilon_of_the_encoder(net: Any) -> None:
    for layer in net.vision_encoder.layers:
        layer.layer_norm1.eps = layer.layer_norm2.eps = 1e-5


def _epsilon_of_the_upscaling(net: Any) -> None:
    net.mask_decoder.upscale_layer_norm.eps = 1e-5


def _biases_exchanged(net: Any) -> None:
    attention = net.mask_decoder.transformer.final_attn_token_to_image
    attention.q_proj.bias, attention.v_proj.bias = attention.v_proj.bias, attention.q_proj.bias


def _corners_exchanged(net: Any) -> None:
    corners = net.prompt_encoder.point_embed
    corners[2].weight, corners[3].weight = corners[3].weight, corners[2].weight


@pytest.mark.parametrize(
    "fault",
    [
        _epsilon_as_transformers_has_it,
        _epsilon_of_the_encoder,
        _epsilon_of_the_upscaling,
        _biases_exchanged,
        _corners_exchanged,
    ],
)
def test_a_fault_shows(model: Sam, fault: Callable[[Any], None]):
    fault(model.model.get())
    assert largest_difference(model) > 1.5 * TOLERANCE


def test_the_published_file_would_find_its_places():
    with torch.device("meta"):
        net = transformers.SamModel(transformers.SamConfig(**publishers.VIT_HUGE))
    assert publisher_layout(net, publishers.SAM_RULES) == json.loads(str(UPSTREAM["published"]))
    assert [layer.window_size for layer in net.vision_encoder.layers] == UPSTREAM["windows"].tolist()


def publisher_layout(net: Any, rules: publishers.Rules) -> dict[str, list[int]]:
    """Names and shapes that a publisher's file must have."""
    layout = {}
    for name, weight in net.state_dict().items():
        theirs = publishers.publisher_names(name, rules, len(weight))
        layout |= {key: [len(weight) // len(theirs), *weight.shape[1:]] for key in theirs}
    return layout


def test_the_frame_is_resized_by_its_longer_side_and_padded_with_zeros():
    assert fitted(720, 1280, 1024) == (576, 1024)
    assert fitted(848, 480, 1024) == (1024, 580)  # 579.6
    pixels = prepared(np.full((50, 100, 3), 255, np.uint8), 40, torch.device("cpu"))
    assert pixels.shape == (1, 3, 40, 40)
    assert pixels[0, 0, :20].unique().tolist() == pytest.approx([(255 - 123.675) / 58.395])
    assert torch.all(pixels[..., 20:, :] == 0)


def test_smaller_batches_where_memory_does_not_do_and_it_says_so(model: Sam, monkeypatch: pytest.MonkeyPatch):
    size, boxes = CASES["wide"]
    frame = random_frame(*size, SEED)
    expected = model.logits(frame, np.array(boxes))
    decoder = model.model.get().mask_decoder
    whole = decoder.forward

    def cramped(**arguments: Any) -> Any:
        if arguments["sparse_prompt_embeddings"].shape[1] > 1:
            raise torch.OutOfMemoryError
        return whole(**arguments)

    monkeypatch.setattr(decoder, "forward", cramped)
    assert torch.allclose(model.logits(frame, np.array(boxes)), expected, atol=TOLERANCE)
    assert model.model.cache.notes == ["SAM: batches of 1: out of memory"]


def _missing(found: dict[str, Any]) -> None:
    del found["mask_decoder.iou_token.weight"]


def _surplus(found: dict[str, Any]) -> None:
    found["mask_decoder.hf_token.weight"] = torch.zeros(1, 32)  # of SAM-HQ


def _other_shape(found: dict[str, Any]) -> None:
    found["image_encoder.neck.0.weight"] = torch.zeros(32, 48, 1, 1)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_missing, "it misses mask_decoder.iou_token.weight"),
        (_surplus, "it has mask_decoder.hf_token.weight besides"),
        (_other_shape, r"it has image_encoder.neck.0.weight as \(32, 48, 1, 1\) where \(32, 32, 1, 1\) is expected"),
    ],
)
def test_a_wrong_publishers_file_is_named(tmp_path: Path, change: Callable[[dict[str, Any]], None], told: str):
    found = dict(weights())
    change(found)
    torch.save(found, tmp_path / "sam.pth")
    with pytest.raises(SetupError, match=rf"sam\.pth: the weights do not fit: {told}"):
        publishers.load(RECIPE, tmp_path / "sam.pth")


def test_what_is_no_checkpoint_is_named(folder: Path, tmp_path: Path):
    cache = DeviceCache(torch.device("cpu"))
    message = "no folder that transformers can load; fetch it with: vmmetrics weights fetch sam-vit-huge. The cause: "
    with pytest.raises(SetupError, match=message):
        Sam(tmp_path / "none", cache).model.get()
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(SetupError, match=f"folder: {message}"):
        Sam(folder, cache).model.get()


def test_a_folder_with_other_weights_is_named(folder: Path):
    safetensors = pytest.importorskip("safetensors.torch")
    path = folder / "model.safetensors"
    found = safetensors.load_file(path)
    found["mask_decoder.hf_token"] = found.pop("mask_decoder.iou_token.weight")
    safetensors.save_file(found, path, metadata={"format": "pt"})
    told = r"misses mask_decoder\.iou_token\.weight; it has mask_decoder\.hf_token besides; fetch it with: vmmetrics"
    with pytest.raises(SetupError, match=told):
        Sam(folder, DeviceCache(torch.device("cpu"))).model.get()
    found["mask_decoder.iou_token.weight"] = torch.zeros(3)
    del found["mask_decoder.hf_token"]
    safetensors.save_file(found, path, metadata={"format": "pt"})
    with pytest.raises(SetupError, match=r"the weights do not fit: it has .*mask_decoder\.iou_token\.weight"):
        Sam(folder, DeviceCache(torch.device("cpu"))).model.get()


def test_nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with pytest.raises(SetupError, match="facebook/sam-vit-huge: no folder that transformers can load"):
        Sam(Path("facebook/sam-vit-huge"), DeviceCache(torch.device("cpu"))).model.get()
