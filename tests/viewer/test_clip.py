"""The clip view: overlays as Python reads them, events in lanes and list, keys, and links to a frame."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import cv2
import numpy as np
import pytest

from tests.viewer.conftest import OpenReport
from tests.viewer.made_run import number_in
from vmmetrics.clip import Clip
from vmmetrics.perception.scene import Camera, Objects, PointTracks, Poses, SceneObject
from vmmetrics.scoring.show.findings import Perceived
from vmmetrics.scoring.show.overlay import decode_overlay, encode_overlay

pytestmark = pytest.mark.browser
CLIP = "first/beta/0-a-dog-runs.webm"
CLIP_HASH = "view=clip&clip=" + CLIP.replace("/", "%2F")

DECODE = """stored => {
  const { overlay, error } = vm.decodeOverlay(stored);
  const plain = value => JSON.parse(JSON.stringify(value, (_, part) => ArrayBuffer.isView(part) ? [...part] : part));
  return { overlay: plain(overlay), error };
}"""


def irregular(count: int = 9) -> Perceived:
    """Return two objects with holes and absences, tracks partly hidden, and two people of whom one leaves."""
    random = np.random.default_rng(3)
    labels = np.zeros((count, 48, 64), np.uint8)
    for frame in range(count):
        cv2.circle(labels[frame], (20 + frame, 24), 12, 1, -1)
        cv2.circle(labels[frame], (20 + frame, 24), 5, 0, -1)
        if frame != 4:
            labels[frame, 5:9, 50:60] = 2
        labels[frame, 40, 60] = 2
    present, hidden = np.ones(count, np.bool_), np.arange(count) == 4
    objects = Objects(
        labels,
        (SceneObject(1, "object", present, ~present), SceneObject(2, "patch", ~hidden, hidden, hidden)),
        (1.5, 1.5),
    )
    xy = random.uniform(-5, 70, (count, 7, 2))
    tracks = PointTracks(xy, random.random((count, 7)) > 0.3, random.integers(0, count, 7))
    keypoints, scores = random.uniform(0, 64, (count, 2, 17, 2)), random.random((count, 2, 17))
    boxes = random.uniform(0, 64, (count, 2, 4))
    keypoints[5:, 1], boxes[5:, 1], scores[5:, 1] = np.nan, np.nan, 0
    camera = Camera(np.tile(np.eye(3), (count - 1, 1, 1)), ("still",) * (count - 1), np.ones(count - 1))
    return Perceived(objects, {1: tracks}, Poses(keypoints, scores, boxes), camera)


def stored_overlay() -> tuple[bytes, dict[str, Any]]:
    clip = Clip(np.zeros((9, 72, 96, 3), np.uint8), np.arange(9) / 8, 8.0)
    data = encode_overlay(clip, irregular())
    return data, json.loads(gzip.decompress(data))


def test_overlays_are_decoded_as_python_decodes_them(open_report: OpenReport) -> None:
    data, stored = stored_overlay()
    expected = decode_overlay(data)
    decoded = open_report().evaluate(DECODE, stored)
    assert decoded["error"] is None
    overlay = decoded["overlay"]
    assert expected.objects is not None
    assert expected.poses is not None
    labels = np.zeros_like(expected.objects.labels)
    for item, like in zip(overlay["objects"], expected.objects.objects, strict=True):
        assert (item["id"], item["label"]) == (like.id, like.label)
        assert [mark == "1" for mark in item["present"]] == like.present.tolist()
        for frame, rings in enumerate(item["outlines"]):
            if rings:
                cv2.fillPoly(labels[frame], [np.reshape(ring, (-1, 2)).astype(np.int32) for ring in rings], item["id"])
    np.testing.assert_array_equal(labels, expected.objects.labels)
    assert overlay["scale"] == list(expected.objects.scale)
    (tracks,) = overlay["tracks"]
    for point, track in enumerate(tracks["points"]):
        np.testing.assert_array_equal(np.reshape(track["xy"], (-1, 2)), expected.tracks[1].xy[:, point])
        assert [mark == "1" for mark in track["visible"]] == expected.tracks[1].visible[:, point].tolist()
    for number, person in enumerate(overlay["people"]):
        for frame, pose in enumerate(person):
            joints = expected.poses.keypoints[frame, number]
            assert (pose is None) == bool(np.isnan(joints).all())
            if pose is not None:
                np.testing.assert_array_equal(np.reshape(pose["joints"], (-1, 2)), joints)
                np.testing.assert_array_equal(pose["scores"], expected.poses.scores[frame, number])
                np.testing.assert_array_equal(pose["box"], expected.poses.boxes[frame, number])


DAMAGES = (
    lambda stored: stored.update(format=2),
    lambda stored: stored.update(frames=0),
    lambda stored: stored.update(frames="9"),
    lambda stored: stored.update(objects=7),
    lambda stored: stored["objects"][0]["outlines"].pop(),
    lambda stored: stored["objects"][0]["outlines"][0][0].pop(),
    lambda stored: stored["objects"][0].update(present="1x"),
    lambda stored: stored["tracks"][0]["xy"].pop(),
    lambda stored: stored["tracks"][0]["xy"][0].extend([1, 1]),
    lambda stored: stored["tracks"][0]["xy"][0].__setitem__(0, "1"),
    lambda stored: stored["people"][0]["frames"].pop(),
    lambda stored: stored["people"][0]["frames"][0].pop(),
    lambda stored: stored["people"].append(None),
    lambda stored: stored.pop("size"),
)


def test_a_damaged_overlay_is_a_message(open_report: OpenReport) -> None:
    page = open_report()
    for number, damage in enumerate(DAMAGES):
        _, stored = stored_overlay()
        damage(stored)
        decoded = page.evaluate(DECODE, stored)
        assert decoded["overlay"] is None, number
        assert decoded["error"], number
        with pytest.raises(ValueError):
            decode_overlay(gzip.compress(json.dumps(stored).encode()))


def settled(page: Any) -> None:
    page.wait_for_selector(".timeline-bar")
    page.evaluate("new Promise(done => setTimeout(done, 400))")


def at(page: Any, **values: object) -> None:
    """Wait until the URL has a value."""
    ((name, value),) = values.items()
    page.wait_for_url(lambda url: parse_qs(urlsplit(url).fragment).get(name) == [str(value)])


def shown(page: Any) -> int:
    return number_in(page.locator(".player-stage").screenshot())


def without_layers(hash_: str) -> str:
    return f"{hash_}&layers="


def test_a_clip_opens_at_its_most_costly_event(open_report: OpenReport) -> None:
    clip = "first%2Falpha%2F1-a-cat-jumps-over-a-wall.webm"  # its only event in frames that is not excused is of TCS
    page = open_report(without_layers(f"view=clip&clip={clip}"))
    settled(page)
    at(page, frame=3)
    assert shown(page) == 3
    assert "vanished without cause" in page.locator(".clip-choice").inner_text()


@pytest.mark.parametrize("frame", [0, 7])
def test_a_link_opens_its_frame(open_report: OpenReport, frame: int) -> None:
    page = open_report(without_layers(f"{CLIP_HASH}&frame={frame}"))
    settled(page)
    assert shown(page) == frame
    assert f"frame={frame}" in page.evaluate("location.hash")


def test_keys_step_and_the_url_follows(open_report: OpenReport) -> None:
    page = open_report(without_layers(f"{CLIP_HASH}&frame=2"))
    settled(page)
    for key, frame in (
        (".", 3),
        ("ArrowRight", 4),
        (",", 3),
        ("ArrowLeft", 2),
        ("Shift+ArrowRight", 12),
        ("Shift+<", 2),
    ):
        page.keyboard.press(key)
        at(page, frame=frame)
        assert shown(page) == frame
    page.keyboard.press("1")
    at(page, layers="boxes")
    page.keyboard.press("?")
    assert page.locator("dialog[open]").is_visible()
    page.keyboard.press("?")
    page.locator("dialog[open]").wait_for(state="detached")
    page.evaluate(  # a closed dialog keeps the focus until the next frame is drawn
        """() => {
        const dialog = document.querySelector("dialog");
        dialog.showModal();
        dialog.close();
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true }));
    }"""
    )
    page.wait_for_url(lambda url: "0-a-dog" not in url)
    assert page.locator("h2").inner_text() == page.evaluate("vm.data.name(vm.data.find(vm.state.clip))")
    page.keyboard.press("k")
    page.wait_for_url(lambda url: "0-a-dog" in url)


def test_an_event_is_gone_to_looped_and_lit(open_report: OpenReport) -> None:
    page = open_report(without_layers(f"{CLIP_HASH}&frame=11"))
    settled(page)
    bar = page.locator(".timeline-bar.excused")
    assert bar.count() == 1
    bar.scroll_into_view_if_needed()
    box = bar.bounding_box()
    assert box["width"] >= 4
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    at(page, frame=8)
    assert shown(page) == 8
    page.locator(".clip-list button.clip-item", has_text="limb length changed").click()
    at(page, frame=2)
    page.keyboard.press("l")
    page.wait_for_selector(".clip-choice button[aria-pressed=true]")
    frames = page.evaluate(
        """() => new Promise(done => {
          const canvas = document.querySelector("canvas[role=img]"), frames = [];
          new MutationObserver(() => {
            frames.push(Number(canvas.getAttribute("aria-label").split(" ")[1]));
            if (frames.length === 16) done(frames);
          }).observe(canvas, { attributes: true, attributeFilter: ["aria-label"] });
        })"""
    )
    assert set(frames) <= set(range(5))  # half a second around frames 2 and 3
    assert {2, 3} <= set(frames)


def test_who_sorts_by_a_score_sees_its_events(open_report: OpenReport) -> None:
    page = open_report(without_layers(f"{CLIP_HASH}&sort=ois"))
    settled(page)
    at(page, frame=2)
    items = page.locator(".clip-list .clip-item")
    assert [text.split("\n")[0] for text in items.all_inner_texts()] == ["OIS"]
    page.get_by_role("button", name="All", exact=True).click()
    assert items.count() == 4
    page.keyboard.press(" ")  # after a click the space bar plays
    page.wait_for_function("() => !document.querySelector('video').paused")


def test_a_link_to_a_frame_names_its_event(open_report: OpenReport) -> None:
    page = open_report(without_layers(f"{CLIP_HASH}&frame=4"))
    settled(page)
    assert "vanished without cause" in page.locator(".clip-choice").inner_text()
    assert page.locator(".clip-list [data-chosen]").count() == 1


def test_the_cursor_is_the_frame(open_report: OpenReport) -> None:
    page = open_report(without_layers(f"{CLIP_HASH}&frame=5"))
    settled(page)
    page.locator(".timeline-plot").nth(1).scroll_into_view_if_needed()
    strip = page.locator(".timeline-strip").first.bounding_box()
    count = page.evaluate(f"vm.data.frames(vm.data.find('{CLIP}'))")

    def cursor() -> float:
        line = page.locator(".timeline-cursor").bounding_box()
        return float((line["x"] + line["width"] / 2 - strip["x"]) / strip["width"] * count - 0.5)

    assert cursor() == pytest.approx(5, abs=0.1)
    plot = page.locator(".timeline-plot .u-over").first.bounding_box()
    assert plot["x"] == pytest.approx(strip["x"], abs=1.5)
    assert plot["width"] == pytest.approx(strip["width"], abs=1.5)
    page.mouse.move(plot["x"] + plot["width"] * 9.5 / count, plot["y"] + 20)
    page.mouse.down()
    page.mouse.move(plot["x"] + plot["width"] * 1.5 / count, plot["y"] + 25, steps=4)
    page.mouse.up()
    at(page, frame=1)
    assert cursor() == pytest.approx(1, abs=0.1)
    assert shown(page) == 1
    page.locator(".timeline-ruler[role=slider]").focus()
    page.keyboard.press("End")
    at(page, frame=count - 1)


def test_with_reduced_motion_nothing_plays_by_itself(browser: Any, report: Path) -> None:
    page = browser.new_page(reduced_motion="reduce")
    page.goto((report / "index.html").as_uri() + "#" + CLIP_HASH)
    settled(page)
    assert page.evaluate("[...document.querySelectorAll('video')].every(video => video.paused)")
    page.close()
