"""Places among real footage and uncertainties, by tables made by hand."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vmmetrics.alignment.readers.columns import describes_clip
from vmmetrics.cli.results import print_results
from vmmetrics.cli.terminal import PlainConsole
from vmmetrics.errors import SetupError
from vmmetrics.functional.motion_index import INDEX_METRICS, motion_index
from vmmetrics.functional.motion_index import VERSION as INDEX_VERSION
from vmmetrics.metrics.registry import version_of
from vmmetrics.perception.presets import load_preset
from vmmetrics.scoring import anchors
from vmmetrics.scoring.anchors import ANCHORED, Anchors, Place, Scale, read_anchors, rounded
from vmmetrics.scoring.clip_scores import ClipScores
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.summary import anchor_lines
from vmmetrics.scoring.table import Table
from vmmetrics.types import AmplitudeResult, MetricResult

VERSIONS = {key: version_of(key) for key in INDEX_METRICS}
MODELS = {"flow": "a flow", "plausibility": "a classifier"}
WEIGHTS = {"cas-ladder": "aa", "pose": "bb"}
FIELDS: dict[str, Any] = {
    "format": 1,
    "preset": "embedded",
    "protocol": "vmmetrics",
    "versions": VERSIONS,
    "index_version": INDEX_VERSION,
    "models": MODELS,
    "weights": WEIGHTS,
    "made_by": "hand",
    "made_of": "00",
    "values": {key: [0.8, 0.6, 0.7, 0.9] for key in ANCHORED},
    "half_widths": {key: [[0.4, 0.2], [0.8, 0.04]] for key in ANCHORED},
}
CONFIGURATION = {"preset": "embedded", "protocol": "vmmetrics", "models": MODELS, "weights": WEIGHTS}
FIVE = {"cas": 0.512, "mss": 0.97, "ois": 0.7, "pas": 0.3, "tcs": 1.0}


@pytest.fixture
def table(tmp_path: Path) -> Anchors:
    file = tmp_path / "anchors.json"
    file.write_text(json.dumps(FIELDS))
    return read_anchors(file)


def test_a_place_is_the_number_of_sources_strictly_above(table: Anchors) -> None:
    expected = {0.59: 4, 0.6: 3, 0.65: 3, 0.7: 2, 0.9: 0, 1.0: 0}
    assert {score: table.place("cas", score).above for score in expected} == expected
    place = table.place("cas", 0.65)
    assert (place.sources, place.share, str(place)) == (4, 0.75, "below 3 of 4 real sources")


def test_half_widths_are_interpolated_and_held_at_the_ends(table: Anchors) -> None:
    widths = [table.place("tcs", score).half_width for score in (0.0, 0.4, 0.6, 0.8, 1.0)]
    assert widths == pytest.approx([0.2, 0.2, 0.12, 0.04, 0.04])


@pytest.mark.parametrize(
    ("width", "text"),
    [(0.9, "0.7"), (0.1, "0.7"), (0.099, "0.71"), (0.01, "0.71"), (0.0099, "0.715"), (0.00001, "0.7149"), (1.0, "0.7")],
)
def test_scores_are_rounded_to_the_first_digit_of_the_width(width: float, text: str) -> None:
    assert rounded(0.7149, width) == text
    assert rounded(0.7149, None) == "0.7149"


def test_an_interval_names_both() -> None:
    assert Place(0.7149, 54, 57, 0.0512).interval == "0.71 ± 0.05"


def test_every_score_but_pas_has_a_place(table: Anchors) -> None:
    places = Scale(CONFIGURATION, table).places({**FIVE, "motion_index": 0.61}, VERSIONS)
    assert {key: place.above for key, place in places.items()} == {
        "cas": 4, "mss": 0, "ois": 2, "tcs": 0, "motion_index": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "keys", "reason"),
    [
        ({"preset": "vmbench"}, ANCHORED, "preset embedded, the scores of vmbench"),
        ({"protocol": "vmbench"}, ANCHORED, "protocol vmmetrics, the scores of vmbench"),
        ({"weights": {**WEIGHTS, "pose": "cc"}}, ANCHORED, "other weights (pose)"),
        ({"models": {**MODELS, "flow": "another"}}, ANCHORED, "another model of flow"),
        (
            {"models": {**MODELS, "plausibility": "mine"}, "weights": {"pose": "bb", "mine.pt": "dd"}},
            ("cas", "motion_index"),
            "another CAS model",
        ),
    ],
)
def test_elsewhere_there_is_a_reason(table: Anchors, change: Any, keys: tuple[str, ...], reason: str) -> None:
    scale, scores = Scale({**CONFIGURATION, **change}, table), {**FIVE, "motion_index": 0.6}
    assert scale.places(scores, VERSIONS).keys() == set(ANCHORED) - set(keys)
    columns = scale.columns(scores, VERSIONS)
    assert reason in columns["no_anchor"]
    assert not any(key + end in columns for key in keys for end in ("_below_real", "_half_width"))


def test_scores_of_another_version_have_no_place_nor_an_index_of_them(table: Anchors) -> None:
    scale, scores = Scale(CONFIGURATION, table), {**FIVE, "motion_index": 0.6}
    older = {**VERSIONS, "pas": VERSIONS["pas"] - 1}
    assert scale.places(scores, older).keys() == set(ANCHORED) - {"motion_index"}
    expected = f"the table is of PAS version {VERSIONS['pas']}, the score of version {VERSIONS['pas'] - 1}"
    assert scale.text(scores, older) == f"INDEX: {expected}"
    without = {key: version for key, version in older.items() if key != "tcs"}  # format 1 stated none: version 1
    assert "TCS version" in scale.reason("tcs", scores, without)
    unscored = {key: score for key, score in scores.items() if key != "pas"}
    assert scale.reason("motion_index", unscored, older) == ""  # no PAS is in that index


def test_another_index_version_leaves_the_other_places(table: Anchors) -> None:
    scale = Scale(CONFIGURATION, replace(table, index_version="0"))
    scores = {**FIVE, "motion_index": 0.6}
    assert scale.places(scores, VERSIONS).keys() == set(ANCHORED) - {"motion_index"}
    assert scale.text(scores, VERSIONS).startswith("INDEX: the table is of INDEX version 0")


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"format": True},
        {"values": {**FIELDS["values"], "cas": []}},
        {"values": {**FIELDS["values"], "cas": [1.01]}},
        {"values": {**FIELDS["values"], "cas": ["0.5"]}},
        {"values": {"cas": [0.5]}},
        {"values": {**FIELDS["values"], "pas": [0.5]}},
        {"half_widths": {**FIELDS["half_widths"], "mss": [[0.5, 0.0]]}},
        {"half_widths": {**FIELDS["half_widths"], "mss": [[0.5, 1e9]]}},
        {"half_widths": {**FIELDS["half_widths"], "mss": [[0.5, 0.1], [0.5, 0.2]]}},
        {"half_widths": {**FIELDS["half_widths"], "mss": [[0.9, 0.1], [0.5, 0.2]]}},
        {"half_widths": {**FIELDS["half_widths"], "mss": [[0.5]]}},
        {"versions": {"cas": 1}},
        {"weights": None},
    ],
)
def test_a_damaged_table_is_refused(tmp_path: Path, change: Any) -> None:
    file = tmp_path / "anchors.json"
    file.write_text(json.dumps({**FIELDS, **change}))
    with pytest.raises(SetupError, match=r"^anchors\.json, .*expected"):
        read_anchors(file)


@pytest.mark.parametrize("content", [b"", b"[" * 100_000, b'{"format": NaN}', b"\xff\xfe", b"null"])
def test_a_file_that_is_no_table_costs_the_places_and_no_score(
    tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "anchors.json"
    file.write_bytes(content)
    monkeypatch.setattr(anchors, "_FILE", file)
    anchors._shipped.cache_clear()
    try:
        scale = Scale(CONFIGURATION)
        assert scale.places(FIVE, VERSIONS) == {}
        assert scale.text(FIVE, VERSIONS).startswith("the table of real footage cannot be used: ")
        assert "\n" not in scale.text(FIVE, VERSIONS)
    finally:
        anchors._shipped.cache_clear()


def test_the_shipped_table_is_of_the_shipped_scores() -> None:
    """Fails after a change of a metric until ``python -m benchmarks.anchors`` has made the table anew."""
    preset = load_preset("embedded")
    configuration = {**CONFIGURATION, "models": preset.description, "weights": preset.weights}
    scale, scores = Scale(configuration), {**FIVE, "motion_index": 0.6}
    assert scale.text(scores, VERSIONS) == ""
    places = scale.places(scores, VERSIONS)
    assert places.keys() == set(ANCHORED)
    assert all(place.sources >= 20 for place in places.values())


def record(scores: dict[str, float], **more: Any) -> Record:
    return Record("a.mp4", None, "/x/a.mp4", "00", "embedded", "vmmetrics", scores, score_version=VERSIONS, **more)


def test_rows_have_shares_and_full_widths_and_the_screen_is_rounded(table: Anchors) -> None:
    shown = Table([record(FIVE)], "label", scale=Scale(CONFIGURATION, table))
    (row,) = csv.DictReader(io.StringIO(shown.to_csv()))
    index = motion_index(FIVE).score
    assert index is not None
    assert (row["cas"], row["cas_below_real"]) == ("0.512", "1.0")
    assert float(row["ois_below_real"]) == 0.5
    assert float(row["cas_half_width"]) == pytest.approx(0.2 - 0.16 * 0.112 / 0.4)
    assert float(row["motion_index"]) == pytest.approx(index)
    assert (row["no_anchor"], "pas_below_real" in row) == ("", False)
    head, line, *rest = repr(shown).splitlines()
    assert head.split() == ["clip", "CAS", "MSS", "OIS", "PAS", "TCS", "INDEX"]
    assert "0.5 (4/4)" in line and "0.97 (0/4)" in line and "0.3000" in line and "1.00 (0/4)" in line
    assert any(text.startswith("(4/4): below 4 of 4 real sources; rounded") for text in rest)
    assert '<td title="">0.97 (0/4)</td>' in shown._repr_html_()


def test_a_table_of_unknown_models_says_so_and_shows_all_digits() -> None:
    shown = Table([record(FIVE)])
    assert "0.5120" in repr(shown)
    assert "no place among real footage: the models of these scores are not known" in repr(shown).splitlines()
    assert shown.rows()[0]["no_anchor"] == "the models of these scores are not known"
    assert shown.rows()[0]["cas_below_real"] is None


def test_the_reasons_are_those_of_all_clips_that_are_shown(table: Anchors) -> None:
    older = replace(record(FIVE), score_version={**VERSIONS, "cas": VERSIONS["cas"] - 1})
    shown = Table([*([record(FIVE)] * 40), older], scale=Scale(CONFIGURATION, table))
    legend, reason = anchor_lines(shown, 100)
    assert legend.startswith("(4/4): ") and "CAS version" in reason
    assert anchor_lines(shown) == [legend, reason] and anchor_lines(shown, 30) == [legend]
    output = PlainConsole(file=io.StringIO())
    print_results(shown, output, output)
    assert reason in output.file.getvalue()


def test_a_clip_without_scores_needs_no_reason(table: Anchors) -> None:
    row = Table([record({}, missing={"cas": "still"})], scale=Scale(CONFIGURATION, table)).rows()[0]
    assert (row["no_anchor"], row["cas_below_real"]) == (None, None)


def test_clip_scores_have_the_index_and_a_short_text(table: Anchors) -> None:
    series = {"value": np.zeros(500)}
    results: dict[str, MetricResult] = {key: MetricResult(score, series=series) for key, score in FIVE.items()}
    results["pas"] = AmplitudeResult(0.3, amplitude=0.1)
    scores = ClipScores("a.mp4", results, {}, 1.0, scale=Scale(CONFIGURATION, table))
    assert (scores.index, scores.index_missing) == (motion_index(FIVE).score, None)
    assert scores.places["cas"].above == 4
    assert repr(scores) == "ClipScores('a.mp4': CAS 0.5, MSS 0.97, OIS 0.70, PAS 0.3000, TCS 1.00, INDEX 0.6)"
    without = ClipScores("a.mp4", {"cas": MetricResult(None, "still"), "mss": results["mss"]}, {"tcs": "broken"}, 1.0)
    assert (without.index, without.index_missing) == (None, "no score for cas")
    assert repr(without) == "ClipScores('a.mp4': MSS 0.9700, CAS missing, TCS failed)"
    released = replace(scores, protocol="vmbench")
    assert (released.index, released.index_missing) == (None, "protocol vmbench has none")


def test_the_columns_are_no_scores_to_align() -> None:
    assert all(describes_clip(column) for column in anchors.COLUMNS)
    assert not describes_clip("cas")
