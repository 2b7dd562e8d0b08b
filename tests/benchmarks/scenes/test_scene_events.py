"""Events, glitches, timing, textures and suites of the rendered clips."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.scenes import (
    SUITES,
    CameraSpec,
    GlitchSpec,
    MotionSpec,
    ObjectSpec,
    PresenceSpec,
    SceneSpec,
    TimingSpec,
    render,
)
from benchmarks.scenes.paths import CameraPath, ObjectPath
from benchmarks.scenes.spec import STRENGTHS
from benchmarks.scenes.textures import TextureBank, pink_noise, procedural
from vmmetrics.alignment.perturbations.frames import GLITCHES

BANK = TextureBank((), held_out=False)
PLAIN = SceneSpec("test", (240, 160), 16, 8.0, noise=1.0)
STAYS = ObjectSpec("blob", 0.2, MotionSpec("oscillating", (0.1, 0.05), 0.05, 8.0, (0.5, 0.5)))


@pytest.mark.parametrize("kind", ["vanish", "appear"])
@pytest.mark.parametrize(("style", "length"), [("pop", 0), ("fade", 3), ("dissolve", 2)])
def test_unexplained_changes_are_seen_in_the_pixels_where_stated(kind: str, style: str, length: int) -> None:
    presence = PresenceSpec(kind, 6, style, length)  # type: ignore[arg-type]
    spec = replace(PLAIN, noise=0.0, objects=(replace(STAYS, presence=(presence,)),))
    clip = render(spec, 1, BANK)
    (event,) = clip.events
    assert (event.kind, event.frames, event.cause, event.excused) == (kind, (6, 6 + length), style, False)
    empty = render(replace(spec, objects=()), 1, BANK)
    share = np.abs(clip.frames.astype(int) - empty.frames).sum(axis=(1, 2, 3))
    there, gone = (slice(0, 6), slice(6 + length, None)) if kind == "vanish" else (slice(6 + length, None), slice(0, 6))
    assert share[there].min() > 0 and share[gone].max() == 0
    x0, y0, x1, y1 = event.box
    rows, columns = np.nonzero(clip.mask(1).any(axis=0))
    assert columns.min() - 1 <= x0 < x1 <= columns.max() + 2 and rows.min() - 1 <= y0 < y1 <= rows.max() + 2


def test_explained_changes_carry_their_cause() -> None:
    runner = MotionSpec("linear", (0.5, 0.0), 0.1, 0.0, (0.4, 0.5))
    (leaves,) = render(replace(PLAIN, objects=(replace(STAYS, motion=runner),)), 2, BANK).events
    assert (leaves.kind, leaves.cause) == ("vanish", "edge")
    far = replace(STAYS.motion, grow=(1.0, 0.01))
    (shrinks,) = render(replace(PLAIN, objects=(replace(STAYS, motion=far),)), 2, BANK).events
    assert (shrinks.kind, shrinks.cause) == ("vanish", "small")
    small = ObjectSpec("blob", 0.08, MotionSpec("linear", (0.3, 0.0), 0.1, 7.5, (0.5, 0.5)))
    pillar = ObjectSpec("pillar", 0.45, MotionSpec(anchor=(0.5, 0.5)), subject=False)
    hides, returns = render(replace(PLAIN, objects=(small, pillar)), 2, BANK).events
    assert (hides.kind, returns.kind, hides.cause, returns.cause) == ("vanish", "appear", "occlusion", "occlusion")
    assert hides.excused and leaves.excused and shrinks.excused


@pytest.mark.parametrize("kind", GLITCHES)
def test_a_glitch_spoils_its_frames_alone_and_more_the_stronger_it_is(kind: str) -> None:
    clean = render(replace(PLAIN, objects=(STAYS,)), 3, BANK).frames
    damage = []
    for strength in STRENGTHS:
        clip = render(replace(PLAIN, objects=(STAYS,), glitches=(GlitchSpec(kind, strength, (5, 6)),)), 3, BANK)
        error = np.abs(clip.frames.astype(int) - clean).mean(axis=(1, 2, 3))
        assert set(np.flatnonzero(error)) == {5, 6} == set(clip.glitch_frames)
        assert clip.owner == "mss"
        damage.append(error[5])
    assert damage[0] < damage[1] < damage[2]


def test_repeated_frames_repeat_and_truth_stands_still_with_them() -> None:
    spec = replace(PLAIN, camera=CameraSpec(pan=(0.2, 0)), objects=(STAYS,), timing=TimingSpec("freeze", (5, 6, 7)))
    clip = render(spec, 4, BANK)
    for t in range(1, 16):
        assert np.array_equal(clip.frames[t], clip.frames[t - 1]) == (t in {5, 6, 7})
    np.testing.assert_allclose(clip.homographies[4:7], np.broadcast_to(np.eye(3), (3, 3, 3)), atol=1e-12)
    np.testing.assert_array_equal(clip.objects[0].points[4], clip.objects[0].points[7])


def test_rendering_is_deterministic_and_seeds_differ() -> None:
    spec = replace(SUITES["pas"](8), size=(160, 120), num_frames=4)
    first, again, other = render(spec, 8, BANK), render(spec, 8, BANK), render(spec, 9, BANK)
    assert np.array_equal(first.frames, again.frames) and not np.array_equal(first.frames, other.frames)


@settings(max_examples=40)
@given(st.integers(0, 30_000), st.sampled_from(sorted(SUITES)))
def test_every_seed_describes_a_scene(seed: int, name: str) -> None:
    spec = SUITES[name](seed)
    assert spec == SUITES[name](seed)
    assert spec.owner == (name if name != "negatives" and spec.owner else None)
    frames = [t for glitch in spec.glitches for t in glitch.frames]
    assert all(0 < t < spec.num_frames for t in frames)
    assert all(p.frame > 0 and p.frame + p.length < spec.num_frames for o in spec.objects for p in o.presence)


@settings(max_examples=25)
@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0, 60), st.floats(0, 0.07))
def test_unwobble_undoes_wobble(x: float, y: float, time: float, deform: float) -> None:
    rng = np.random.default_rng(0)
    path = ObjectPath(replace(STAYS, deform=deform), PLAIN, CameraPath(PLAIN, rng), rng)
    rest = np.array([x, y])
    np.testing.assert_allclose(path.unwobble(rest + path.wobble(rest, time), time), rest, atol=5e-4)


def test_development_and_held_out_pictures_are_disjoint(tmp_path: Path) -> None:
    for i in range(5):
        (tmp_path / f"{i}.png").write_bytes(b"")
    halves = [{path for path, _ in TextureBank((tmp_path,), held).sources} for held in (False, True)]
    assert not halves[0] & halves[1] and len(halves[0] | halves[1]) == 5


def test_procedural_pictures_are_the_same_each_time_and_have_the_spectrum_of_photographs() -> None:
    drawn = procedural(np.random.default_rng(1))
    np.testing.assert_array_equal(drawn, procedural(np.random.default_rng(1)))
    for picture in (drawn.mean(axis=-1), pink_noise(np.random.default_rng(2), 512, 512)):
        side = min(picture.shape)
        square = picture[:side, :side] * np.hanning(side)[:, None] * np.hanning(side)
        power = np.abs(np.fft.fft2(square - square.mean())) ** 2
        radius = np.hypot(*np.meshgrid(*[np.fft.fftfreq(side) * side] * 2)).astype(int)
        radial = np.bincount(radius.ravel(), power.ravel()) / np.bincount(radius.ravel())
        band = np.arange(8, side // 4)
        slope = np.polyfit(np.log(band), np.log(radial[band]), 1)[0]
        assert -3.0 < slope < -1.5  # photographs: about -2


@pytest.mark.parametrize(("name", "count"), [("pas", 70), ("tcs", 91)])
@pytest.mark.parametrize("first", [0, 10_000])
def test_consecutive_seeds_cross_every_kind_with_every_camera(name: str, count: int, first: int) -> None:
    names = [SUITES[name](seed).name for seed in range(first, first + count)]
    assert len(set(names)) == count
