"""FLOPs of the published networks, counted from the metrics' own calls, against figures counted elsewhere."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import vmbench_flops as flops  # noqa: E402


def test_a_matrix_product_backwards_too():
    meter = flops.Meter("x")
    layer = torch.nn.Linear(8, 4).to("meta").requires_grad_(False)

    def both(pixels: torch.Tensor) -> torch.Tensor:
        given = pixels.clone().requires_grad_()
        return torch.autograd.grad(layer(given).sum(), given)[0]

    for _ in range(2):
        assert meter.metered("forward", layer)(torch.ones(3, 8)).shape == (3, 4)
    meter.metered("both", both, gradients=True)(torch.ones(3, 8))
    assert meter.flops["x", "forward"] == 2 * 2 * 3 * 8 * 4
    assert meter.flops["x", "both"] == 2 * 2 * 3 * 8 * 4
    assert meter.calls["x", "forward"] == 2


def test_ois_costs_what_its_49_frames_cost():
    """One pass of RTMDet and two of RTMPose per frame: .0779 and .0038 TFLOP each, counted by other means."""
    meter = flops.count(["ois"], "vmbench", 1)
    assert meter.of("ois") == pytest.approx(49 * (0.0779 + 2 * 0.0038), rel=0.01)
    assert meter.of("ois") <= flops.LIMITS["ois"]


def test_cas_costs_three_views():
    meter = flops.count(["cas"], "vmbench", 1)
    assert meter.of("cas") == pytest.approx(3 * 5.086, rel=0.001)
    assert meter.of("cas") <= flops.LIMITS["cas"]


def test_no_limit_is_above_the_lean_count():
    assert flops.LIMITS.keys() == flops.LEAN.keys()
    assert all(flops.LIMITS[metric] <= flops.LEAN[metric] for metric in flops.LEAN)
