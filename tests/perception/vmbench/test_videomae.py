"""Our VideoMAE V2 against logits of the upstream code (benchmarks/videomae_parity.py), and what training needs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from benchmarks.videomae_parity import logits_of, our_model, random_clips, random_weights  # noqa: E402
from vmmetrics.perception.vmbench.ported import videomae  # noqa: E402
from vmmetrics.perception.vmbench.ported.videomae import SIZES, Architecture, VideoMAE  # noqa: E402

TOLERANCE = 2e-6
UPSTREAM = {case["name"]: case for case in json.loads((ROOT / "tests/data/videomae_parity.json").read_text())}
TINY = Architecture(width=24, depth=3, heads=2, mlp_width=48, patch=8, image=16, frames=4)


def case(name: str) -> tuple[Architecture, dict[str, torch.Tensor], torch.Tensor, np.ndarray]:
    """Architecture, weights and clip by seed, and what upstream made of them."""
    kept = UPSTREAM[name]
    net = Architecture(**kept["net"])
    return net, random_weights(net, kept["seed"]), random_clips(net, kept["seed"]), np.array(kept["logits"])


def tiny(**options: object) -> VideoMAE:
    model = VideoMAE(TINY, 5, **options)
    model.initialise(seed=1)
    model.load_state_dict(random_weights(TINY, 5))
    return model


@pytest.mark.parametrize("name", UPSTREAM)
def test_logits_equal_upstream(name: str):
    net, weights, clips, expected = case(name)
    assert 1 < np.abs(expected).max() < 10
    assert np.abs(logits_of(our_model(net, weights), clips) - expected).max() < TOLERANCE


def test_the_fixture_has_the_shapes_of_published_sizes():
    assert Architecture(**UPSTREAM["small"]["net"]) == SIZES["small"]
    narrow, giant = Architecture(**UPSTREAM["narrow giant"]["net"]), SIZES["giant"]
    assert narrow.tokens == giant.tokens == 2048
    assert narrow.width / narrow.heads == giant.width / giant.heads == 88
    assert narrow.mlp_width * 11 == narrow.width * 48


def _epsilon_of_the_last_norm(model: VideoMAE) -> None:
    model.fc_norm.eps = 1e-5


def _epsilon_of_the_blocks(model: VideoMAE) -> None:
    for block in model.blocks:
        block.norm1.eps = block.norm2.eps = 1e-5


def _approximate_gelu(model: VideoMAE) -> None:
    for block in model.blocks:
        block.mlp.forward = partial(_approximate_perceptron, block.mlp)


def _approximate_perceptron(mlp: videomae.Perceptron, tokens: torch.Tensor) -> torch.Tensor:
    return mlp.fc2(torch.nn.functional.gelu(mlp.fc1(tokens), approximate="tanh"))


def _positions_from_one(model: VideoMAE) -> None:
    model.positions = videomae.sinusoid(2049, 176)[:, 1:]


def _biases_exchanged(model: VideoMAE) -> None:
    attention = model.blocks[0].attn
    attention.q_bias, attention.v_bias = attention.v_bias, attention.q_bias


@pytest.mark.parametrize(
    "fault",
    [_epsilon_of_the_last_norm, _epsilon_of_the_blocks, _approximate_gelu, _positions_from_one, _biases_exchanged],
)
def test_a_fault_shows(fault: Callable[[VideoMAE], None]):
    net, weights, clips, expected = case("narrow giant")
    model = our_model(net, weights)
    fault(model)
    assert np.abs(logits_of(model, clips) - expected).max() > 2 * TOLERANCE


def test_the_giant_has_the_published_number_of_weights():
    with torch.device("meta"):
        model = VideoMAE(SIZES["giant"], 5)
    assert sum(weight.numel() for weight in model.parameters()) == 1_011_617_797
    assert len(model.state_dict()) == 526


def test_compiles_without_breaks():
    model = tiny().eval()
    clips = random_clips(TINY, 0)
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    assert np.array_equal(logits_of(compiled, clips), logits_of(model, clips))
    training = torch.compile(tiny(drop_path=0.2), backend="eager", fullgraph=True)
    training(clips).sum().backward()


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.bfloat16, 0.1), (torch.float16, 0.02)])
def test_half_precision_stays_near(dtype: torch.dtype, tolerance: float):
    clips = random_clips(TINY, 0)
    expected = logits_of(tiny().eval(), clips)
    with torch.autocast("cpu", dtype=dtype):
        mixed = logits_of(lambda c: tiny().eval()(c).float(), clips)
    whole = logits_of(lambda c: tiny().eval().to(dtype)(c.to(dtype)).float(), clips)
    for got in (mixed, whole):
        assert 0 < np.abs(got - expected).max() < tolerance


def test_checkpointing_changes_no_gradient():
    gradients = []
    for checkpointing in (False, True):
        model = tiny(drop_path=0.5, checkpointing=checkpointing).train()
        torch.manual_seed(3)
        model(random_clips(TINY, 0).repeat(4, 1, 1, 1, 1)).square().sum().backward()
        gradients.append([weight.grad for weight in model.parameters()])
    for plain, saved in zip(*gradients, strict=True):
        torch.testing.assert_close(plain, saved, rtol=0, atol=0)


def test_stochastic_depth_is_right_on_average_and_off_in_evaluation():
    block = tiny(drop_path=0.4).blocks[-1]
    branch = torch.ones(20000, 1, 1)
    thinned = block.train()._thinned(branch)
    assert thinned.unique().tolist() == pytest.approx([0, 1 / 0.6])
    assert float(thinned.mean()) == pytest.approx(1, abs=0.02)  # standard error 0.006
    assert block.eval()._thinned(branch) is branch
    assert [b.drop for b in tiny(drop_path=0.4).blocks] == pytest.approx([0, 0.2, 0.4])


def test_initial_weights_come_from_the_seed_alone():
    first, again, other = VideoMAE(TINY, 5), VideoMAE(TINY, 5), VideoMAE(TINY, 5)
    first.initialise(7)
    torch.rand(10)
    again.initialise(7)
    other.initialise(8)
    pairs = zip(first.parameters(), again.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert not torch.equal(first.head.weight, other.head.weight)
    assert logits_of(first.eval(), random_clips(TINY, 0)) == pytest.approx(np.zeros((1, 5)), abs=1e-3)


def test_refuses_another_shape():
    with pytest.raises(ValueError, match=r"Expected clips \(B, 3, 4, 16, 16\) but got \(1, 3, 4, 16, 24\)"):
        tiny()(torch.zeros(1, 3, 4, 16, 24))
    with pytest.raises(ValueError, match="multiple of heads"):
        Architecture(width=10, depth=1, heads=3, mlp_width=4, patch=8)
