"""one-align's files: every layout of the hub loads, and nothing loads in part."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parent))

from qalign_tiny import UPSTREAM, tiny_weights, write_model  # noqa: E402

from vmmetrics.errors import SetupError  # noqa: E402
from vmmetrics.perception.vmbench.adapters.qalign import (  # noqa: E402
    QAlignRater,
    load_network,
    read_sizes,
)
from vmmetrics.perception.vmbench.ported.qalign_network import read_prompt  # noqa: E402
from vmmetrics.perception.vmbench.runtime import DeviceCache  # noqa: E402

CPU = torch.device("cpu")
Weights = dict[str, torch.Tensor]
NORM = "model.layers.1.input_layernorm.multiway.1.weight"


@pytest.mark.parametrize("files", [1, 3])
@pytest.mark.parametrize("safe", [False, True], ids=["bin", "safetensors"])
def test_layouts_of_the_hub(files: int, safe: bool, tmp_path: Path):
    if safe:
        pytest.importorskip("safetensors")
    network = load_network(write_model(tmp_path, files=files, safe=safe), CPU, torch.float32)
    assert not network.training
    assert not any(weight.requires_grad for weight in network.parameters())
    weights = tiny_weights()
    assert network.state_dict().keys() == weights.keys()
    assert all(torch.equal(value, weights[name]) for name, value in network.state_dict().items())


def test_weights_are_converted_and_derived_ones_left_out(tmp_path: Path):
    stored = {name: weight.bfloat16() for name, weight in tiny_weights().items()}
    derived = {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(6)}
    network = load_network(write_model(tmp_path, {**stored, **derived}, files=2), CPU, torch.float16)
    assert {value.dtype for value in network.state_dict().values()} == {torch.float16}
    assert torch.equal(network.lm_head.weight, stored["lm_head.weight"].half())


def test_nothing_there(tmp_path: Path):
    with pytest.raises(SetupError, match=r"tokenizer\.model is missing; fetch it with: vmmetrics weights fetch"):
        QAlignRater(tmp_path, DeviceCache(CPU)).logits(UPSTREAM["tokens"], UPSTREAM["windows1"])


def _without(name: str) -> Callable[[Weights], Weights]:
    return lambda w: {key: value for key, value in w.items() if key != name}


CHANGES: list[tuple[Callable[[Weights], Weights], str]] = [
    (_without(NORM), rf"misses {NORM}"),
    (lambda w: {**w, "model.extra.weight": torch.ones(3)}, r"has model\.extra\.weight besides"),
    (lambda w: {**w, NORM: torch.ones(3)}, rf"{NORM} as \(3,\) where \(48,\) is expected"),
]


@pytest.mark.parametrize("files", [1, 2])
@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_what_does_not_fit_is_named(change: Callable[[Weights], Weights], message: str, files: int, tmp_path: Path):
    folder = write_model(tmp_path, change(tiny_weights()), files=files)
    with pytest.raises(SetupError, match=rf"(?s)model.*\.bin.*{message}"):
        load_network(folder, CPU, torch.float32)


@pytest.mark.parametrize("safe", [False, True], ids=["bin", "safetensors"])
def test_an_index_that_lies_is_told(safe: bool, tmp_path: Path):
    if safe:
        pytest.importorskip("safetensors")
    folder = write_model(tmp_path, files=2, safe=safe)
    first, second = sorted(folder.glob("*model-*"))
    second.write_bytes(first.read_bytes())
    with pytest.raises(SetupError, match=r"index\.json: the weights do not fit: it misses"):
        load_network(folder, CPU, torch.float32)
    second.unlink()
    with pytest.raises(SetupError, match=rf"index\.json names {second.name}, missing beside it; fetch it again"):
        load_network(folder, CPU, torch.float32)
    (folder / f"{second.name.split('-')[0]}{second.suffix}.index.json").write_text("{")
    with pytest.raises(SetupError, match="not readable as JSON"):
        load_network(folder, CPU, torch.float32)


@pytest.mark.parametrize("name", ["../outside.bin", "/etc/passwd", "\x1b]0;x.bin", 3, ["a"]])
def test_an_index_names_files_of_its_folder_alone(name: object, tmp_path: Path):
    (tmp_path / "outside.bin").write_bytes(b"")
    folder = write_model(tmp_path / "model", files=2)
    (index,) = folder.glob("*.index.json")
    index.write_text(json.dumps({"weight_map": dict.fromkeys(json.loads(index.read_text())["weight_map"], name)}))
    with pytest.raises(SetupError, match=r"expected weight_map to name files in its folder; fetch it again"):
        load_network(folder, CPU, torch.float32)


@pytest.mark.parametrize("safe", [False, True], ids=["bin", "safetensors"])
@pytest.mark.parametrize("kept", [0, 40, 5000, 200_000])
def test_truncated_files_are_refused(safe: bool, kept: int, tmp_path: Path):
    if safe:
        pytest.importorskip("safetensors")
    folder = write_model(tmp_path, safe=safe)
    (file,) = folder.glob("*-of-*")
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(SetupError, match=rf"{file.name}: .*fetch it again with: vmmetrics weights fetch vmbench"):
        load_network(folder, CPU, torch.float32)


class Harmful:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (print, ("this must not run",))


@pytest.mark.parametrize("content", [{"lm_head.weight": Harmful()}, {"lm_head.weight": 3}, [1, 2], torch.ones(2)])
def test_only_weights_are_read(content: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = write_model(tmp_path)
    (file,) = folder.glob("*-of-*")
    torch.save(content, file)
    with pytest.raises(SetupError, match=rf"{file.name}: "):
        load_network(folder, CPU, torch.float32)
    assert "must not run" not in capsys.readouterr().out


def test_sizes_are_upstream_s_where_nothing_is_said(tmp_path: Path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "mplug_owl2", "rms_norm_eps": 1e-5}))
    sizes = read_sizes(tmp_path)
    eyes, language = sizes.vision, sizes.language
    assert (eyes.hidden_size, eyes.num_hidden_layers, eyes.image_size, eyes.tokens) == (1024, 24, 448, 1025)
    assert (sizes.abstractor.num_learnable_queries, sizes.abstractor.num_hidden_layers) == (64, 6)
    assert (language.vocab_size, language.intermediate_size, language.rms_norm_eps) == (32000, 11008, 1e-5)


def test_the_layout_of_transformers_5_is_understood(tmp_path: Path):
    config = json.loads(str(UPSTREAM["config"]))
    config.pop("rope_theta", None)
    config["rope_parameters"] = {"rope_theta": 5e5, "rope_type": "default"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert read_sizes(tmp_path).language.rope_theta == 5e5


@pytest.mark.parametrize(
    ("part", "entry", "message"),
    [
        ((), {"model_type": "llama"}, "expected model_type mplug_owl2 but got llama"),
        ((), {"num_key_value_heads": 2}, r"num_key_value_heads 2 \(only 4\)"),
        ((), {"rope_scaling": {"type": "linear", "factor": 2.0}}, "rope_scaling"),
        (
            (),
            {"rope_parameters": {"rope_type": "linear", "factor": 2.0}},
            r"rope_type linear .*rope_parameters .*factor",
        ),
        ((), {"rope_theta": 5e5, "rope_parameters": {"rope_theta": 1e4}}, r"rope_theta 10000.0 \(only 500000.0\)"),
        ((), {"rope_parameters": 3}, "not understood"),
        ((), {"attention_bias": True}, "attention_bias True"),
        ((), {"visual_config": 3}, "not understood"),
        ((), {"hidden_size": 50}, "hidden_size 50 .*4 heads"),
        (("visual_config", "visual_abstractor"), {"grid_size": 5}, r"grid_size 5 \(only 4\)"),
        (("visual_config", "visual_model"), {"num_channels": 1}, "num_channels 1"),
    ],
)
def test_variants_are_refused(part: tuple[str, ...], entry: dict[str, object], message: str, tmp_path: Path):
    config = inner = json.loads(str(UPSTREAM["config"]))
    for name in part:
        inner = inner[name]
    inner.update(entry)
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(SetupError, match=rf"config\.json: .*{message}"):
        read_sizes(tmp_path)


def test_other_preprocessing_is_refused(tmp_path: Path):
    folder = write_model(tmp_path)
    path = folder / "preprocessor_config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "size": {"shortest_edge": 56}}))
    read_sizes(folder)
    path.write_text(json.dumps({**config, "size": 224, "resample": 2}))
    with pytest.raises(SetupError, match=r"size 224 \(expected 56\), resample 2 \(expected 3\)"):
        read_sizes(folder)
    path.unlink()
    read_sizes(folder)


def test_vocabularies(tmp_path: Path):
    pytest.importorskip("sentencepiece")
    path = tmp_path / "tokenizer.model"
    with pytest.raises(SetupError, match=r"tokenizer\.model is missing; fetch it with"):
        read_prompt(path)
    path.write_bytes(b"no vocabulary")
    with pytest.raises(SetupError, match="not readable as a SentencePiece vocabulary"):
        read_prompt(path)


def test_levels_must_be_single_tokens(tmp_path: Path):
    sentencepiece = pytest.importorskip("sentencepiece")
    path = tmp_path / "tokenizer.model"
    with path.open("wb") as file:
        words = ["excellent excellent good good fair fair bad bad", "p o r"] * 20
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(words), model_writer=file, model_type="bpe", vocab_size=50, minloglevel=2,
            hard_vocab_limit=False,
        )  # fmt: skip
    with pytest.raises(SetupError, match=r"tokenizer\.model: poor should be one token each"):
        read_prompt(path)
