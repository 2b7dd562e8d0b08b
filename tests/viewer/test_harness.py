"""The harness: what goes wrong in a page is noticed, and frames show their numbers."""

from __future__ import annotations

import pytest

from tests.viewer.conftest import OpenReport
from tests.viewer.made_run import number_in

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    "script",
    [
        "new Image().src = 'https://example.com/x.png'",
        "console.error('logged')",
        "setTimeout(() => { throw new Error('thrown') })",
        "document.head.append(Object.assign(document.createElement('script'), { textContent: 'window.ran = 1' }))",
    ],
)
def test_faults_of_a_page_are_noticed(open_report: OpenReport, faults: list[str], script: str) -> None:
    page = open_report()
    page.evaluate(script)
    page.evaluate("new Promise(done => setTimeout(done, 20))")
    assert faults
    faults.clear()


@pytest.mark.parametrize("clip", ["first/alpha/0-a-dog-runs.mp4", "first/alpha/1-a-cat-jumps-over-a-wall.webm"])
def test_the_burnt_in_number_is_that_of_the_frame(open_report: OpenReport, clip: str) -> None:
    page = open_report()
    page.evaluate(
        """async clip => {
          const video = vm.h("video", { src: vm.data.media(vm.data.find(clip)).url, id: "clip" });
          document.querySelector("main").replaceChildren(video);
          await new Promise(done => { video.onloadeddata = done; });
        }""",
        clip,
    )
    for frame in (0, 5, 11, 6):
        page.evaluate(
            """frame => new Promise(done => {
              const video = document.getElementById("clip");
              const shown = (now, { mediaTime }) => {
                if (Math.round(mediaTime * 8) === frame) requestAnimationFrame(done);
                else video.requestVideoFrameCallback(shown); // a frame of before the seek
              };
              video.requestVideoFrameCallback(shown);
              video.currentTime = (frame + 0.5) / 8;
            })""",
            frame,
        )
        assert number_in(page.locator("#clip").screenshot()) == frame
