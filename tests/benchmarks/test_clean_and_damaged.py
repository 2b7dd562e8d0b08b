"""Windows changed for the benchmark of footage, and its figures by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import clean_and_damaged as program
from benchmarks.clean_and_damaged import INDEX, Job, auc, jobs, report_objects, weighted_quantile
from benchmarks.footage import Recording, code_digest
from benchmarks.footage_changes import CHANGES, OF_OBJECTS, STILLS, applies, damaged, in_two_layers, panned, zoomed
from vmmetrics.clip import Clip

ONE = Recording("a/one.mp4", "validation", "A", "s", "r", "", "", "", "", "0")


def noise(frames: int = 16, height: int = 120, width: int = 160) -> Clip:
    pictures = np.random.default_rng(0).integers(0, 256, (frames, height // 8, width // 8, 3)).astype(np.uint8)
    return Clip(np.ascontiguousarray(pictures.repeat(8, 1).repeat(8, 2)), np.arange(frames) / 8, 8.0, name="n")


@pytest.mark.parametrize("name", CHANGES)
def test_changes_keep_what_a_clip_is(name):
    clip = noise()
    changed = CHANGES[name](clip)
    assert changed.frames.dtype == np.uint8
    assert len(changed.timestamps) == len(changed)
    assert (len(changed), changed.fps) == ((8, 4.0) if name == "half the rate" else (16, 8.0))


@pytest.mark.parametrize("change", [panned, zoomed, in_two_layers])
def test_stills_are_of_the_first_frame(change):
    clip = noise()
    other = clip.frames.copy()
    other[1:] = 7
    np.testing.assert_array_equal(change(clip).frames, change(replace(clip, frames=other)).frames)
    assert np.abs(np.diff(change(clip).frames.astype(int), axis=0)).mean() > 1


def test_layers_move_apart():
    clip = noise()
    one, two = panned(clip).frames, in_two_layers(clip).frames
    np.testing.assert_array_equal(one[:, :10], two[:, :10])
    assert (one[0] != two[0]).any()


def test_damage_is_the_same_each_time():
    clip = noise()
    np.testing.assert_array_equal(damaged(clip, "boil", 0.5).frames, damaged(clip, "boil", 0.5).frames)
    assert not applies("half size", clip)
    assert applies("grey", clip)


def test_jobs_alternate_defects_and_strengths():
    items = [replace(ONE, file=f"a/{n}.mp4") for n in range(4)]
    made = [job for job in jobs(items, ("damage",), every=False) if job.strength]
    assert len(made) == 4 * 17 / 2
    boiling = {(job.item.file, job.strength) for job in made if job.kind == "boil"}
    assert len(boiling) == 2
    assert {strength for _, strength in boiling} == {0.5, 1.0}
    assert sum(job.strength > 0 for job in jobs(items, ("damage",), every=True)) == 4 * 17 * 2
    assert [job.kind for job in jobs([ONE], ("stills",), every=False)] == ["clean", *STILLS]
    other = replace(ONE, repo=program.UCF)
    assert [job.speed for job in jobs([other], program.PARTS, every=True)] == [1, 2, 3]


def test_quantiles_weigh_repositories_equally():
    rows = [{"item": replace(ONE, repo=repo)} for repo in ("a", "a", "a", "a", "b")]
    assert weighted_quantile(rows, [1, 2, 3, 4, 5], 0.5) == 4
    assert weighted_quantile(rows, [1, 2, 3, 4, 5], 0.4) == 4
    assert weighted_quantile(rows, [1, 2, 3, 4, 5], 0.1) == 1


def test_a_refused_window_is_the_worst_and_an_empty_side_says_nothing():
    rows = [{"item": ONE, INDEX: value} for value in (0.9, None)]
    assert auc(rows[:1], rows[1:]).value == 1
    assert np.isnan(auc([], rows).value)


def row(kind: str, events: list, changed: list) -> dict:
    scores = {INDEX: 0.9, "amplitude": 0.1}
    return {**scores, "events": events, "changed": changed, **Job(ONE, kind)._asdict()}


def test_an_event_answers_for_a_defect_at_its_time_and_place_alone(capsys):
    box, elsewhere = (10.0, 10.0, 20.0, 20.0), (50.0, 50.0, 60.0, 60.0)
    changed = [(frame, box) for frame in range(8, 20)]
    hit = ("tcs", (9,), "vanished without cause", box)
    cases = {
        "hit": ([hit], [], "1 of 1"),
        "too late": ([("tcs", (13,), "vanished without cause", box)], [], "0 of 1"),
        "elsewhere": ([("tcs", (9,), "vanished without cause", elsewhere)], [], "0 of 1"),
        "another metric": ([("ois", (9,), "snapped", box)], [], "0 of 1"),
        "in the clean window too": ([hit], [hit], "0 of 1"),
    }
    for name, (events, own, wanted) in cases.items():
        report_objects([row("clean", own, []), row("vanish", events, changed)])
        assert f"recall of vanish at 1: {wanted}" in capsys.readouterr().out, name
    report_objects([row("clean", [], []), row("limb_snap", [("ois", (11,), "snapped", box)], changed)])
    assert "recall of limb_snap at 1: 1 of 1" in capsys.readouterr().out
    assert {"vanish", "appear", "intruder", "limb_snap", "limb_stretch"} == {*OF_OBJECTS}


def test_a_cached_score_is_of_this_code(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(program, "_make", lambda job: made.append(job) or {"x": 1})
    for digest in ("a", "a", "b"):
        monkeypatch.setattr(program, "_digest", lambda digest=digest: digest)
        assert program.score(Job(ONE), tmp_path)["x"] == 1
    assert len(made) == 2
    assert len(code_digest()) == 8
