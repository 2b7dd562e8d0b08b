from __future__ import annotations

import pytest

from vmmetrics.alignment.readers.columns import aspects_of, pair_dimensions
from vmmetrics.errors import SetupError
from vmmetrics.metrics import METRICS


@pytest.mark.parametrize(
    ("dimension", "aspects"),
    [
        ("commonsense adherence", {"cas"}),
        ("physics law", {"cas"}),
        ("factual consistency", {"cas"}),
        ("movement smoothness", {"mss"}),
        ("Object Integrity", {"ois"}),
        ("shape throughout", {"ois"}),
        ("object motion dynamic", {"pas"}),
        ("dynamic degree", {"pas"}),
        ("published_tcs", {"tcs"}),
        ("temporal coherence", {"tcs"}),
        ("temporal consistency", {"mss", "tcs"}),
    ],
)
def test_dimensions_about_one_aspect(dimension: str, aspects: set[str]) -> None:
    assert aspects_of(dimension) == aspects


def test_dimensions_about_motion_in_general_or_other_things() -> None:
    for general in ("temporal_quality", "motion_effects", "overall motion", "preference", "rating", "mos", "anything"):
        assert aspects_of(general) is None, general
    for other in (
        "static_quality", "aesthetic_quality", "visual quality", "text-to-video alignment", "video-text_consistency",
        "camera motion dynamic", "object_class", "image quality stability", "alignment",
    ):  # fmt: skip
        assert aspects_of(other) == frozenset(), other


def test_one_dimension_about_motion_is_faced_by_all() -> None:
    facing, notes = pair_dimensions([*METRICS, "ssim"], ["temporal_quality", "static_quality"])
    assert facing == dict.fromkeys((*METRICS, "ssim"), ("temporal_quality",))
    assert any("static_quality" in note and "Not compared" in note for note in notes)
    assert pair_dimensions(["cas"], ["alignment"])[0] == {"cas": ("alignment",)}


def test_each_metric_faces_its_aspect_and_baselines_face_all() -> None:
    dimensions = ["smoothness", "integrity", "dynamic degree", "overall motion", "aesthetics"]
    facing, _ = pair_dimensions([*METRICS, "ssim", "aesthetic_score"], dimensions)
    assert facing["mss"] == ("smoothness", "overall motion")
    assert facing["ois"] == ("integrity", "overall motion")
    assert facing["pas"] == ("dynamic degree", "overall motion")
    assert facing["cas"] == facing["tcs"] == ("overall motion",)
    assert facing["ssim"] == tuple(dimensions[:4])


def test_a_metric_without_a_dimension_of_its_own_faces_those_about_quality_of_motion() -> None:
    facing, _ = pair_dimensions(["ois", "run:pas"], ["temporal consistency", "dynamic degree", "visual quality"])
    assert facing == {"ois": ("temporal consistency",), "run:pas": ("dynamic degree",)}


def test_names_alike_face_each_other_whatever_they_are_about() -> None:
    facing, _ = pair_dimensions(["visual_quality", "mss"], ["visual quality", "smoothness", "integrity"])
    assert facing["visual_quality"] == ("visual quality", "smoothness", "integrity")
    assert facing["mss"] == ("smoothness",)


def test_what_is_given_is_taken_and_the_rest_guessed() -> None:
    dimensions = ["smoothness", "integrity", "static_quality"]
    facing, notes = pair_dimensions(["mss", "ois"], dimensions, {"MSS": "static quality"})
    assert facing == {"mss": ("static_quality",), "ois": ("integrity",)}
    assert notes[0] == "Paired by names: ois compared with integrity"
    both, _ = pair_dimensions(["a:mss", "b:mss"], dimensions, {"mss": ["integrity", "smoothness"]})
    assert both == dict.fromkeys(("a:mss", "b:mss"), ("integrity", "smoothness"))
    asked, _ = pair_dimensions(["ssim"], ["static_quality", "alignment"], asked=["static_quality", "alignment"])
    assert asked == {"ssim": ("static_quality", "alignment")}


@pytest.mark.parametrize(
    ("given", "message"),
    [({"xyz": "smoothness"}, "No metric 'xyz'"), ({"mss": "beauty"}, "No dimension 'beauty' for mss")],
)
def test_unknown_names(given: dict[str, str], message: str) -> None:
    with pytest.raises(SetupError, match=message):
        pair_dimensions(["mss"], ["smoothness", "integrity"], given)


def test_nothing_to_face() -> None:
    with pytest.raises(SetupError, match="No dimension of the ratings is about motion"):
        pair_dimensions(["mss"], ["static_quality", "alignment"])


def test_a_dimension_that_no_score_measures_is_said() -> None:
    _, notes = pair_dimensions(["mss"], ["smoothness", "naturalness", "static_quality"])
    assert any(note.startswith("No score measures naturalness: not compared") for note in notes)
    assert any(note.endswith("not about motion: static_quality") for note in notes)
