"""A probe of metrics whose answers are known."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import toy_metrics

from vmmetrics.alignment.perturbations.library import DEFECTS, INVARIANCES
from vmmetrics.alignment.perturbations.traps import TRAPS
from vmmetrics.alignment.probe import Plan, Tolerance, probe
from vmmetrics.alignment.probe.cases import CLEAN, score, window
from vmmetrics.alignment.probe.session import LINES, sources_of
from vmmetrics.errors import SetupError
from vmmetrics.perception.embedded.flow import DISFlow

QUICK = {"invariances": ("mirror", "brightness"), "harmless_strengths": (1.0,), "rates": False}


def test_the_smallest_strength_noticed_is_where_the_metric_turns(clips):
    plan = Plan(defects=("standstill",), strengths=(0.2, 0.4, 0.5, 0.9), **QUICK)
    found = probe(clips, toy_metrics.lively, plan=plan)
    curve = found.curve("lively", "standstill")
    assert [p.change.mean for p in curve.points] == [0, 0, -1, -1]  # 0.64 of the steps move at 0.4, 0.55 at 0.5
    assert curve.noticed == 0.5
    assert curve.unnoticed is None
    assert curve.fitted == (0, 0, -1, -1)
    assert curve.monotone
    assert found.metrics[0].noise == pytest.approx(0.01)  # it never minds what is harmless: 1 % of its range
    assert all(i.within and i.largest == 0 for i in found.invariances)


def test_a_metric_that_sees_nothing_says_so(clips):
    found = probe(clips, toy_metrics.lively, plan=Plan(defects=("noise", "standstill"), strengths=(0.1,), **QUICK))
    curve = found.curve("lively", "noise")
    assert curve.noticed is None
    assert "no change beyond chance" in curve.unnoticed


def test_three_clips_give_a_mean_and_no_interval(clips):
    found = probe(clips[:3], toy_metrics.lively, plan=Plan(defects=("standstill",), strengths=(1.0,), **QUICK))
    (point,) = found.curve("lively", "standstill").points
    assert point.change.mean == -1
    assert point.change.low is None
    assert "an interval needs 4" in found.curve("lively", "standstill").unnoticed


def test_each_defect_is_seen_by_the_metric_made_for_it(clips):
    plan = Plan(defects=("standstill", "blur"), strengths=(0.5, 1.0), **QUICK)
    found = probe(clips, [toy_metrics.moving_share, toy_metrics.sharpness], plan=plan)
    first = {s.defect: next(iter(s.effects)) for s in found.specificity}
    assert first == {"standstill": "moving_share", "blur": "sharpness"}
    assert found.specificity[0].effects.keys() == {"moving_share", "sharpness"}
    assert all(s.owner_first is None for s in found.specificity)  # the owners, MSS and PAS, were not probed


def test_baselines_take_the_flow_of_our_metrics(clips, monkeypatch):
    calls, estimate = [], DISFlow.estimate
    monkeypatch.setattr(DISFlow, "estimate", lambda *of: calls.append(of) or estimate(*of))
    names = ["mss", "pas", "flow_magnitude", "track_survival"]
    each = [score(sources_of(name, "embedded"), clips[0])["scores"] for name in names]
    assert len(calls) == 4
    together = score(sources_of(names, "embedded"), clips[0])["scores"]
    assert together == {name: value for scores in each for name, value in scores.items()}
    assert len(calls) == 5


@pytest.mark.parametrize(("strides_left", "expected", "bounded"), [(36, 6.0, True), (12, 6.0, False)])
def test_min_fps_is_where_the_metric_turns_unless_frames_run_out(clips, strides_left, expected, bounded):
    few = [type(c)(c.frames[:strides_left], c.timestamps[:strides_left], c.fps, name=c.name) for c in clips]
    plan = Plan(defects=(), invariances=("mirror",))
    found = probe(few, toy_metrics.above_5_fps, plan=plan)
    assert {r.lowest for r in found.rates} == {expected}
    assert {r.bounded for r in found.rates} == {bounded}
    assert found.rates[0].native == 12.0
    assert found.rates[0].tried[0] == (pytest.approx(6.0), 0.0)


def test_a_metric_may_give_several_scores_and_lack_some(clips):
    found = probe(clips[:1], "toy_metrics:several", plan=Plan(defects=("blur",), strengths=(1.0,), **QUICK))
    facts = {m.name: m for m in found.metrics}
    assert set(facts) == {"lively", "sharpness", "never", "broken"}
    assert facts["never"].lost == {"gravel-0": "no score"}
    assert facts["broken"].lost == {"gravel-0": "the score is nan"}
    assert found.curve("never", "blur").unnoticed == "no clip has a score before and after"
    json.dumps(found.to_json(), allow_nan=False)


def test_a_metric_that_raises_costs_nobody_else_anything(clips):
    plan = Plan(defects=("blur", "noise"), strengths=(1.0,), **QUICK)
    found = probe(clips[:2], [toy_metrics.raises, toy_metrics.sharpness], plan=plan)
    assert {f[:3] for f in found.failures} == {(c.name, "blur 1", "raises") for c in clips[:2]}
    assert "cannot bear blur" in found.failures[0][3]
    assert found.curve("sharpness", "blur").points[0].change.clips == 2
    assert found.curve("raises", "blur").points[0].change is None
    assert found.curve("raises", "noise").points[0].change.clips == 2


def test_what_cannot_be_done_is_said(clips):
    still = type(clips[0])(np.repeat(clips[0].frames[:1], 36, axis=0), clips[0].timestamps, 12.0, name="still")
    found = probe([still], toy_metrics.sharpness, plan=Plan(defects=("loop", "noise"), strengths=(0.5, 1.0), **QUICK))
    ((clip, defect, why),) = found.inapplicable
    assert (clip, defect) == ("still", "loop")
    assert "too little motion" in why
    assert found.failures == ()


@pytest.mark.slow
def test_every_defect_and_harmless_change_runs_with_what_the_models_see(clips):
    found = probe(clips[0], toy_metrics.sharpness, plan=Plan(strengths=(1.0,), harmless_strengths=(1.0,)))
    assert found.defects == tuple(DEFECTS)
    assert {i.change for i in found.invariances} == set(INVARIANCES)
    assert found.failures == ()
    done = {c.defect for c in found.curves if c.points[0].change is not None}
    told = {defect for _, defect, _ in found.inapplicable}
    assert done | told == set(DEFECTS)
    assert not done & told
    assert {"limb_snap", "limb_stretch"} <= told  # gravel has no limbs


def test_without_the_models_that_see_things_the_rest_is_probed(clips, monkeypatch):
    def refuse(*_):
        raise SetupError("weights are missing")

    monkeypatch.setattr("vmmetrics.alignment.probe.cases._find", refuse)
    found = probe(clips[0], toy_metrics.sharpness, plan=Plan(defects=("vanish", "blur"), strengths=(1.0,), **QUICK))
    assert [(d, "weights are missing" in why) for _, d, why in found.inapplicable] == [("vanish", True)]
    assert found.curve("sharpness", "blur").points[0].change is not None


@pytest.mark.slow
def test_jobs_change_nothing(clips):
    plan = Plan(defects=("boil", "blur"), strengths=(0.5,), **QUICK)
    one, two = (probe(clips[:2], "toy_metrics:sharpness", plan=plan, jobs=jobs) for jobs in (0, 2))
    assert one.curves == two.curves
    assert one.invariances == two.invariances


@pytest.mark.slow
def test_a_case_that_kills_its_worker_is_named_and_the_rest_is_done(clips):
    plan = Plan(defects=("blur", "noise"), strengths=(0.5, 1.0), **QUICK)
    found = probe(clips[:1], "toy_metrics:dies", plan=plan, jobs=2)
    ((_, case, _, why),) = found.failures
    assert case == "blur 1"
    assert "worker process died" in why
    assert found.curve("dies", "noise").points[1].change.clips == 1


@pytest.mark.slow
def test_a_case_that_hangs_is_named_and_the_rest_is_done(clips):
    plan = Plan(defects=("blur", "noise"), strengths=(1.0,), **QUICK)
    report = probe(clips[:1], "toy_metrics:hangs", plan=plan, jobs=1, timeout=3)
    ((_, case, _, why),) = report.failures
    assert case == "blur 1"
    assert "took longer than 3 s; raise --timeout" in why
    assert report.curve("hangs", "noise").points[0].change.clips == 1
    with pytest.raises(ValueError, match="set jobs to 1 or more"):
        probe(clips[:1], "toy_metrics:hangs", plan=plan, timeout=5)


def test_going_on_does_only_what_is_new(clips, tmp_path):
    calls = []

    def counted(clip):
        calls.append(clip.notes)
        return toy_metrics.sharpness(clip)

    first = probe(clips[:2], counted, plan=Plan(defects=("noise",), strengths=(1.0,), **QUICK), out=tmp_path)
    before = len(calls)
    assert before == 2 * 4  # clean, mirror, brightness, noise
    again = probe(clips[:2], counted, plan=Plan(defects=("noise",), strengths=(1.0,), **QUICK), out=tmp_path)
    assert len(calls) == before
    assert again.curves == first.curves
    probe(clips[:2], counted, plan=Plan(defects=("noise",), strengths=(0.5, 1.0), **QUICK), out=tmp_path)
    assert len(calls) == before + 2
    with pytest.raises(SetupError, match="other settings"):
        probe(clips[:2], counted, plan=Plan(defects=("noise",), seed=1, **QUICK), out=tmp_path)


def test_traps_are_added_to_a_probe_and_resumed_without_a_change_of_its_report(clips, tmp_path):
    made, two, blur = [], clips[:2], {"defects": ("blur",), "strengths": (1.0,), **QUICK}

    def counted(clip):
        made.append(clip.notes)
        return toy_metrics.sharpness(clip)

    first = probe(two, counted, plan=Plan(**blur), out=tmp_path)
    before, plan = len(made), Plan(traps=("black", "frozen", "pure_noise"), **blur)
    again = probe(two, counted, plan=plan, out=tmp_path)
    assert made[before:] == [("frozen",), ("pure_noise",), ("black",)] * 2
    assert replace(again, seconds=first.seconds) == first
    probe(two, counted, plan=plan, out=tmp_path)
    assert len(made) == before + 6
    lines = {(line["clip"], line["kind"]): line for line in map(json.loads, (tmp_path / LINES).open(encoding="utf-8"))}
    clean, noise = (lines["gravel-0", kind]["scores"]["counted"] for kind in (CLEAN, "pure_noise"))
    assert lines["gravel-0", "black"]["scores"]["counted"] == 0 < clean < noise
    assert {line["strength"] for (_, kind), line in lines.items() if kind in plan.traps} == {1.0}
    rng = plan.generator("gravel-0", "pure_noise")
    assert toy_metrics.sharpness(TRAPS["pure_noise"](clips[0], rng)) == noise


def test_a_trap_that_changes_nothing_is_no_case_and_one_that_fails_is_told(clips, tmp_path):
    still = replace(clips[0], frames=np.repeat(clips[0].frames[:1], 36, axis=0))

    def minds_black(clip):
        if not clip.frames.any():
            raise RuntimeError("too dark")
        return 1.0

    found = probe([still], minds_black, plan=Plan(defects=(), traps=("frozen", "black"), **QUICK), out=tmp_path)
    assert [failure[1:3] for failure in found.failures] == [("black 1", "minds_black")]
    assert found.inapplicable == ()
    lines = {line["kind"]: line for line in map(json.loads, (tmp_path / LINES).open(encoding="utf-8"))}
    assert lines["frozen"]["inapplicable"] == "nothing of this clip changes"


def test_traps_are_chosen_by_name_and_none_are_by_default():
    assert Plan().traps == ()
    assert Plan(traps=None).traps == tuple(TRAPS)
    assert {(name, 1.0) for name in TRAPS} == set(Plan(traps=None).cases()) - set(Plan().cases())
    with pytest.raises(ValueError, match="frozzen"):
        Plan(traps=("frozzen",))


def test_a_torn_line_is_done_again(clips, tmp_path):
    plan = Plan(defects=("blur",), strengths=(1.0,), **QUICK)
    whole = probe(clips[:1], toy_metrics.sharpness, plan=plan, out=tmp_path)
    journal = tmp_path / LINES
    data = journal.read_bytes()
    journal.write_bytes(data[:-40])
    assert probe(clips[:1], toy_metrics.sharpness, plan=plan, out=tmp_path).curves == whole.curves
    assert len(journal.read_bytes().splitlines()) == len(data.splitlines())


def test_unknown_names_and_numbers_are_refused(clips, tmp_path):
    with pytest.raises(ValueError, match="blurr"):
        Plan(defects=("blurr",))
    with pytest.raises(ValueError, match="strengths"):
        Plan(strengths=(0.0, 1.0))
    with pytest.raises(ValueError, match="nonsense"):
        probe(clips[:1], "nonsense")
    with pytest.raises(SetupError, match="toy_metrics:absent"):
        probe(clips[:1], "toy_metrics:absent")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(SetupError, match="other files"):
        probe(clips[:1], toy_metrics.lively, out=tmp_path)


def test_the_window_is_the_middle_in_the_size_and_rate_wanted(clips):
    cut = window(clips[0], Plan(seconds=1.0, short_side=32, most_fps=5))
    assert cut.fps == pytest.approx(4.0)
    assert cut.frames.shape == (4, 32, 42, 3)
    whole = window(clips[0], Plan())
    np.testing.assert_array_equal(whole.frames, clips[0].frames)
    assert next(Plan().cases()) == (CLEAN, 0.0)


def test_a_seed_is_a_seed(clips):
    plans = [Plan(defects=("boil",), strengths=(1.0,), seed=seed, **QUICK) for seed in (0, 0, 1)]
    first, again, other = (probe(clips[:1], toy_metrics.sharpness, plan=p, tolerance=Tolerance()) for p in plans)
    assert first.curves == again.curves
    assert first.curves != other.curves
