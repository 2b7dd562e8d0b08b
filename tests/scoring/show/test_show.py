"""Pictures with known content: a grey clip with one square object, one person and one fault."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
from fake_suite import fake_models

from vmmetrics.clip import Clip
from vmmetrics.perception.scene import Scene
from vmmetrics.scoring.anchors import Place
from vmmetrics.scoring.show import sheet
from vmmetrics.scoring.show.film import write_film
from vmmetrics.scoring.show.findings import Findings, Perceived, perceive
from vmmetrics.scoring.show.plot import MARGIN, draw_plot, frame_x, strips_of
from vmmetrics.scoring.show.sheet import describe, draw_frame, draw_sheet, key_frames
from vmmetrics.types import Event, MetricResult
from vmmetrics.utils.display.style import FAULT, OBJECTS, fitted, text_width, wrapped

CLIP = Clip(np.full((20, 64, 96, 3), 128, np.uint8), np.arange(20) / 8, 8.0, name="grey.mp4")
VANISHED = Event("tcs", (12, 13), "vanished without cause", "object 1", (40.0, 20.0, 60.0, 50.0), 0.9, 0.5)
EXCUSED = Event("tcs", (5,), "vanished", "object 2", excuse="left through the edge")
SERIES = {"value": np.r_[np.nan, np.linspace(0, 1, 19)], "constant": np.zeros(20), "short": np.zeros(3)}
RESULTS = {
    "tcs": MetricResult(0.5, events=(VANISHED, EXCUSED), series=SERIES),
    "ois": MetricResult(1.0),
    "cas": MetricResult(None, "no classifier"),
}
FINDINGS = Findings("grey.mp4", "preset embedded", RESULTS, {"mss": "broken"}, "a grey 视频 − nothing")


@pytest.fixture(scope="module")
def perceived() -> Perceived:
    return perceive(Scene(CLIP, fake_models()), RESULTS)


def red(picture: np.ndarray) -> np.ndarray:
    """(H, W) bool: the colour of faults."""
    return (np.abs(picture.astype(int) - FAULT) < 30).all(axis=-1)


def test_the_mask_is_tinted_and_the_rest_is_left_alone(perceived: Perceived) -> None:
    picture = draw_frame(CLIP, 0, FINDINGS, Perceived(perceived.objects), (480, 320)).astype(int)
    inside = picture[25:45, 25:45]  # rows and columns 5 to 9 of the clip, five times enlarged
    blue = np.array(OBJECTS[0])
    np.testing.assert_allclose(inside, np.broadcast_to(128 * 0.72 + blue * 0.28, inside.shape), atol=1.5)
    assert (picture[60:, :] == 128).all()


def test_a_fault_is_boxed_in_its_frames_only_and_in_its_place(perceived: Perceived) -> None:
    for frame in (11, 14):
        assert not red(draw_frame(CLIP, frame, FINDINGS, perceived, (480, 320))).any()
    marked = red(draw_frame(CLIP, 12, FINDINGS, perceived, (480, 320)))
    assert marked[100:250, 199:203].all(axis=0).any()  # left side: x = 40 of 96, five times enlarged
    assert marked[100:250, 298:302].all(axis=0).any()
    assert not marked[255:].any()


def test_a_fault_of_the_whole_frame_gets_the_rim() -> None:
    event = Event("mss", (3,), "quality drops")
    findings = Findings("x", "y", {"mss": MetricResult(0.9, events=(event,))})
    marked = red(draw_frame(CLIP, 3, findings, Perceived(), (96, 64)))
    assert marked[-1].all()
    assert marked[:, 0].all()
    assert not marked[40:-5, 8:-8].any()


def test_a_skeleton_and_tracks_are_drawn_where_they_are(perceived: Perceived) -> None:
    bare = draw_frame(CLIP, 0, FINDINGS, Perceived(), (480, 320))
    changed = (draw_frame(CLIP, 0, FINDINGS, Perceived(poses=perceived.poses), (480, 320)) != bare).any(axis=-1)
    rows, columns = np.nonzero(changed)
    assert abs(columns - (92 + 0.5) * 5).max() < 10
    assert rows.min() < 15
    assert rows.max() > 305
    tracks = Perceived(objects=perceived.objects, tracks=perceived.tracks)
    assert (draw_frame(CLIP, 0, FINDINGS, tracks, (480, 320)) != bare)[20:50, 20:50].any()


def test_what_the_models_cannot_see_is_left_out() -> None:
    class Broken:
        def segment(self, scene: Scene) -> None:
            from vmmetrics.errors import ClipError

            raise ClipError("cannot")

    models = fake_models()
    models.segmenter = Broken()
    assert perceive(Scene(CLIP, models), RESULTS).objects is None
    assert perceive(Scene(CLIP, models), {"tcs": MetricResult(None, "no object")}) == Perceived()


def test_curves_mark_faults_red_at_their_frames_and_excuses_grey() -> None:
    strips = strips_of(FINDINGS, 20)
    assert [s.name for s in strips] == ["value", "constant"]
    plot = np.asarray(draw_plot(strips, 20, 8.0, 1000)).astype(int)

    def colour_at(frame: float) -> np.ndarray:
        return plot[60, round(frame_x(frame, 20, 1000))]

    assert colour_at(12.5)[0] > colour_at(12.5)[1] + 20
    assert np.ptp(colour_at(10.5)) < 8
    assert np.ptp(colour_at(5)) < 8
    assert colour_at(5).max() < 245
    assert frame_x(0, 20, 1000) == MARGIN
    assert frame_x(19, 20, 1000) == 1000 - MARGIN


def test_a_threshold_is_drawn_into_its_curve_and_not_as_one() -> None:
    series = {"amplitude": np.linspace(0.1, 0.2, 20), "threshold": np.full(20, 0.5)}
    findings = Findings("x", "y", {"pas": MetricResult(0.3, series=series)})
    (strip,) = strips_of(findings, 20)
    assert strip.name == "amplitude"
    assert strip.threshold is not None
    assert np.asarray(draw_plot([strip], 20, 8.0, 600)).min() < 140


def test_key_frames_hold_the_gravest_faults_and_spread_the_rest() -> None:
    assert key_frames(Findings("x", "y", {}), 11) == (0, 2, 4, 6, 8, 10)
    assert key_frames(Findings("x", "y", {}), 3) == (0, 1, 2)
    assert key_frames(Findings("x", "y", {}), 1) == (0,)
    assert 13 in key_frames(FINDINGS, 20)
    many = tuple(Event("tcs", (f,), "x", magnitude=f / 10, threshold=1.0) for f in range(0, 100, 5))
    chosen = key_frames(Findings("x", "y", {"tcs": MetricResult(0.5, events=many)}), 100)
    assert chosen == (70, 75, 80, 85, 90, 95)


@pytest.mark.parametrize("shape", [(1, 64, 96, 3), (2, 8, 8, 3), (7, 300, 33, 3), (5, 33, 401, 3)])
def test_clips_of_any_length_and_shape_get_their_page_and_film(shape: tuple[int, ...], tmp_path: Path) -> None:
    clip = Clip(np.full(shape, 90, np.uint8), np.arange(shape[0]) ** 1.1 / 8, 8.0)
    series = {"value": np.linspace(0, 1, shape[0])}
    findings = Findings("n" * 300, "l", {"mss": MetricResult(0.9, series=series)}, {}, "p " * 300)
    assert draw_sheet(clip, findings, Perceived()).width == 1500
    write_film(tmp_path / "film.mp4", clip, findings, Perceived())
    with av.open(str(tmp_path / "film.mp4")) as film:
        times = [float(frame.time) for frame in film.decode(video=0)]
    np.testing.assert_allclose(times, clip.timestamps, atol=1e-3)


def test_a_whole_page(perceived: Perceived) -> None:
    page = np.asarray(draw_sheet(CLIP, FINDINGS, perceived))
    assert red(page).any()
    assert page.shape[1] == 1500


def test_the_index_is_drawn_without_a_place_and_with_its_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    monkeypatch.setattr(sheet, "write", lambda draw, at, text, *other, **more: texts.append(text))
    pan = {"index": 0.3149, "index_remark": "×0.5: one picture moved as a whole"}
    place = Place(0.3149, 57, 57, 0.1)
    for findings, shown in (
        (replace(FINDINGS, index=0.7149), ["INDEX", "0.7149"]),
        (replace(FINDINGS, **pan), ["INDEX", "0.3149", "×0.5: one picture moved as a whole"]),
        (replace(FINDINGS, **pan, places={"motion_index": place}), ["INDEX", "0.3 ± 0.1", "×0.5: one picture"]),
    ):
        texts.clear()
        draw_sheet(CLIP, findings, Perceived())
        start = texts.index("INDEX")
        assert all(text.startswith(known) for text, known in zip(texts[start:], shown, strict=False)), texts
    assert "57 of 57 real sources" in " ".join(texts)


def test_a_film_has_scores_as_sheets_round_them_and_the_index_with_its_factor() -> None:
    pan = replace(FINDINGS, index=0.3149, index_remark="×0.5: one picture moved as a whole")
    assert FINDINGS.scores == {"tcs": "0.5000", "ois": "1.0000"}
    assert pan.scores["motion_index"] == "0.3149 ×0.5"
    assert replace(pan, places={"tcs": Place(0.5, 9, 10, 0.1)}).scores["tcs"] == "0.5"


def test_words() -> None:
    assert describe(VANISHED) == "frames 12 to 13: object 1 vanished without cause (0.9, threshold 0.5)"
    assert describe(EXCUSED) == "frame 5: object 2 vanished, excused: left through the edge"
    assert describe(Event("pas", (), "nothing moves")) == "clip: nothing moves"
    assert text_width(fitted("wide " * 40, 14, 200), 14) <= 200
    lines = wrapped("one two three four five six seven", 14, 90, 2)
    assert len(lines) == 2
    assert all(text_width(line, 14) <= 90 for line in lines)
    assert wrapped("short", 14, 90, 2) == ["short"]


def test_what_unsteadiness_took_off_is_told():
    from vmmetrics.functional import motion_smoothness_score
    from vmmetrics.scoring.show.findings import Findings

    quality, unsteady = [0.9, 0.9, 0.5, 0.9], [0.5, 0.3, 0.4, 0.1]
    result = motion_smoothness_score(quality, threshold=0.1, unsteadiness=unsteady)
    told = [event for event in Findings("clip", "", {"mss": result}).events if not event.frames]
    assert [event.magnitude for event in told] == [pytest.approx((0.25 + 0.09 + 0.01) / 4)]
    steady = motion_smoothness_score(quality, threshold=0.1)
    assert all(event.frames for event in Findings("clip", "", {"mss": steady}).events)
