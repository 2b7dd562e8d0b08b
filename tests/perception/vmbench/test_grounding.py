"""Grounding DINO through transformers, against what upstream answered (benchmarks/grounding_parity.py)."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers", reason="needs the extra vmbench")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from benchmarks.grounding_parity import (  # noqa: E402
    FIXTURE,
    FRAMES,
    QUERIES,
    TEXT,
    as_set,
    checkpoint,
    network_input,
    random_picture,
    sampled,
    stages,
    tiny_config,
    write_tokenizer,
)
from benchmarks.parity import publishers  # noqa: E402
from vmmetrics.errors import SetupError  # noqa: E402
from vmmetrics.perception.vmbench.adapters import grounding  # noqa: E402
from vmmetrics.perception.vmbench.adapters.grounding import (  # noqa: E402
    GroundingDINO,
    caption,
    load_grounding_dino,
    prepared,
    shrunk,
)
from vmmetrics.perception.vmbench.runtime import DeviceCache  # noqa: E402

CPU = DeviceCache(torch.device("cpu"))
UPSTREAM = np.load(FIXTURE)
TOLERANCE = {"backbone": 1e-5, "encoder": 1e-5, "text": 1e-5, "logits": 1e-4, "boxes": 1e-5}
"""Logits are sums of 256 products, of up to 25 in size."""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint as published."""
    folder = tmp_path_factory.mktemp("dino")
    weights = checkpoint()
    weights["module.label_enc.weight"] = torch.zeros(3)
    torch.save({"model": weights}, folder / "tiny.pth")
    return folder / "tiny.pth"


@pytest.fixture(scope="module")
def hub(file: Path) -> Path:
    """The same in the hub's layout, with its tokenizer."""
    publishers.grounding_dino(file, tiny_config()).save_pretrained(file.parent / "hub")
    return write_tokenizer(file.parent / "hub")


@pytest.fixture(scope="module")
def dino(hub: Path) -> GroundingDINO:
    return GroundingDINO(hub, CPU)


def differences(model: Any, hub: Path) -> dict[str, float]:
    got = stages(model, grounding.load_tokenizer(hub))
    return {stage: float(np.abs(got[stage] - UPSTREAM[stage]).max()) for stage in TOLERANCE}


def test_every_stage_equals_upstream(file: Path, hub: Path):
    apart = differences(publishers.grounding_dino(file, tiny_config()), hub)
    assert all(apart[stage] < TOLERANCE[stage] for stage in TOLERANCE), apart


def test_queries_equal_upstream_as_a_set(dino: GroundingDINO):
    logits, boxes = (answer[0] for answer in dino.queries(network_input()[None], caption(TEXT)))
    expected = np.column_stack([UPSTREAM["logits"], UPSTREAM["boxes"]])
    words = UPSTREAM["logits"].shape[1]
    assert logits.shape == (QUERIES, 256)
    assert torch.isneginf(logits[:, words:]).all()
    assert as_set(logits[:, :words].numpy(), boxes.numpy(), expected) < TOLERANCE["logits"]


def test_the_hubs_layout_gives_the_same(hub: Path):
    apart = differences(load_grounding_dino(hub), hub)
    assert all(apart[stage] < TOLERANCE[stage] for stage in TOLERANCE), apart


def _eager_text(model: Any) -> None:
    model.model.text_backbone.set_attn_implementation("eager")


def _epsilon(model: Any) -> None:
    for layer in model.model.encoder.layers:
        layer.deformable_layer.self_attn_layer_norm.eps = 1e-4


def _norms_exchanged(model: Any) -> None:
    layer = model.model.decoder.layers[0]
    layer.self_attn_layer_norm, layer.encoder_attn_layer_norm = (
        layer.encoder_attn_layer_norm,
        layer.self_attn_layer_norm,
    )


@pytest.mark.parametrize("fault", [_eager_text, _epsilon, _norms_exchanged])
def test_a_fault_shows(fault: Any, hub: Path):
    model = load_grounding_dino(hub)
    fault(model)
    apart = differences(model, hub)
    assert any(apart[stage] > 2 * TOLERANCE[stage] for stage in TOLERANCE), apart


@pytest.mark.parametrize("index", range(len(FRAMES)))
def test_frames_are_prepared_as_upstream_does(index: int):
    assert (
        np.abs(
            sampled(prepared(shrunk(random_picture(*FRAMES[index]))[None], CPU.device)[0]) - UPSTREAM[f"frame{index}"]
        ).max()
        < 1e-6
    )


def test_sizes():
    assert [grounding.resized(*size) for size in ((480, 720), (720, 1280), (480, 848), (848, 480), (800, 900))] == [
        (800, 1200),
        (750, 1333),
        (755, 1333),
        (1333, 755),
        (800, 900),
    ]


def test_boxes_are_the_queries_above_the_threshold_in_their_order(monkeypatch: pytest.MonkeyPatch, hub: Path):
    monkeypatch.setattr(grounding, "SHORT_SIDE", 96)
    frame = random_picture(48, 72)
    dino = GroundingDINO(hub, CPU)
    logits, boxes = (answer[0] for answer in dino.queries(prepared(shrunk(frame)[None], CPU.device), "a horse."))
    best = 1 / (1 + np.exp(-logits.numpy().max(axis=1).astype(np.float64)))
    threshold = float(np.median(best))  # of this picture, so that half are left out
    monkeypatch.setattr(grounding, "BOX_THRESHOLD", threshold)
    found = dino.boxes(frame, " A Horse")
    assert found.dtype == np.float32
    assert 0 < len(found) < QUERIES
    assert np.allclose(found, boxes.numpy()[best > threshold], atol=1e-6)


def test_frames_in_a_batch_do_not_mix(monkeypatch: pytest.MonkeyPatch, dino: GroundingDINO):
    monkeypatch.setattr(grounding, "SHORT_SIDE", 48)
    monkeypatch.setattr(grounding, "BOX_THRESHOLD", 0.0)  # every query, so that any difference shows
    frames = [np.ascontiguousarray(random_picture(48, 72)[::way]) for way in (1, -1)]
    alone = [dino.boxes(frame, "A horse") for frame in frames]
    monkeypatch.setattr(dino._model, "at_once", lambda most: 2)
    sizes: list[int] = []
    queries = dino.queries
    monkeypatch.setattr(dino, "queries", lambda pixels, text: sizes.append(len(pixels)) or queries(pixels, text))
    together = dino.boxes_in(frames, "A horse")
    assert sizes == [2]
    assert not np.allclose(alone[0], alone[1], atol=1e-3)
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_allclose(one, other, atol=TOLERANCE["boxes"])


def test_pixels_are_normalised_to_the_last_bit(monkeypatch: pytest.MonkeyPatch):
    image = random_picture(33, 47)
    values = (image.astype(np.float32) / np.float32(255) - np.float32(grounding.PIXEL_MEAN)) / np.float32(
        grounding.PIXEL_STD
    )
    assert np.array_equal(prepared(image[None].copy(), CPU.device)[0].numpy(), values.transpose(2, 0, 1))


def test_the_threshold_itself_is_not_above_it(monkeypatch: pytest.MonkeyPatch):
    logits = torch.full((3, 256), -torch.inf)
    logits[:, 1] = torch.tensor([-5.0, 0.0, 5.0])
    monkeypatch.setattr(grounding, "BOX_THRESHOLD", 0.5)
    dino = GroundingDINO(Path("nowhere"), CPU)
    monkeypatch.setattr(dino, "queries", lambda *_: (logits[None], torch.eye(4)[None, :3]))
    assert np.array_equal(dino.boxes(random_picture(8, 8), "x"), np.eye(4, dtype=np.float32)[[2]])


def test_half_precision_stays_near(dino: GroundingDINO, hub: Path):
    half = GroundingDINO(hub, CPU, "bf16")
    whole, rough = (model.queries(network_input()[None], "a horse.")[0][0, :, :4].numpy() for model in (dino, half))
    assert 0 < np.median(np.abs(whole - rough)) < 0.05 * np.abs(whole).max()


def test_loads_once_and_only_when_asked(monkeypatch: pytest.MonkeyPatch, hub: Path):
    calls = []
    real = grounding.load_grounding_dino
    monkeypatch.setattr(grounding, "load_grounding_dino", lambda *a: calls.append(a) or real(*a))
    dino = GroundingDINO(hub, CPU)
    assert not calls
    dino.queries(network_input()[None], "a.")
    dino.queries(network_input()[None], "a.")
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            lambda w: w.pop("model.encoder.layers.1.deformable_layer.final_layer_norm.bias"),
            "misses model.encoder.layers.1",
        ),
        (lambda w: w.update({"model.extra.weight": torch.zeros(1)}), "has model.extra.weight besides"),
        (lambda w: w.update({"model.text_projection.bias": torch.zeros(3)}), "has .*text_projection.bias"),
    ],
)
def test_a_wrong_checkpoint_names_the_weight(change: Any, named: str, hub: Path, tmp_path: Path):
    safetensors = pytest.importorskip("safetensors.torch")
    shutil.copytree(hub, tmp_path / "wrong")
    path = tmp_path / "wrong" / "model.safetensors"
    weights = safetensors.load_file(path)
    change(weights)
    safetensors.save_file(weights, path, metadata={"format": "pt"})
    with pytest.raises(SetupError, match=rf"wrong: the weights do not fit: it {named}.*fetch grounding-dino-base"):
        load_grounding_dino(tmp_path / "wrong")


def test_a_publishers_file_with_other_weights_names_them(tmp_path: Path):
    torch.save({"model": checkpoint() | {"module.transformer.extra.weight": torch.zeros(1)}}, tmp_path / "wrong.pth")
    with pytest.raises(SetupError, match=r"wrong\.pth: expected the weights of Grounding DINO but.*transformer\.extra"):
        publishers.grounding_dino(tmp_path / "wrong.pth", tiny_config())


def test_what_is_missing_is_told(file: Path, hub: Path, tmp_path: Path):
    with pytest.raises(SetupError, match=r"no\.pth: no such checkpoint.*groundingdino_swinb_cogcoor"):
        publishers.grounding_dino(tmp_path / "no.pth")
    with pytest.raises(SetupError, match=r"IDEA-Research/never-there.*weights fetch grounding-dino-base"):
        load_grounding_dino(Path("IDEA-Research/never-there"))
    (tmp_path / "cut.pth").write_bytes(file.read_bytes()[:100_000])
    with pytest.raises(SetupError, match=r"cut\.pth"):
        publishers.grounding_dino(tmp_path / "cut.pth", tiny_config())
    with pytest.raises(SetupError, match=r"tokenizer.*weights fetch grounding-dino-base"):
        grounding.load_tokenizer(tmp_path / "nowhere")
    write_tokenizer(tmp_path)
    text = (tmp_path / "vocab.txt").read_text().replace("\n.\n", "\nhere\n")
    (tmp_path / "vocab.txt").write_text(text)
    with pytest.raises(SetupError, match="vocabulary"):
        grounding.load_tokenizer(tmp_path)


def test_the_published_size(monkeypatch: pytest.MonkeyPatch):
    from transformers import GroundingDinoForObjectDetection

    with torch.device("meta"):
        model = GroundingDinoForObjectDetection(publishers.swin_b_config())
    count = sum(weight.numel() for name, weight in model.named_parameters() if "swin.layernorm" not in name)
    pooler = 768 * 768 + 768  # in upstream's count of 232.9 million
    assert abs(count + pooler - 232.9e6) < 0.1e6
