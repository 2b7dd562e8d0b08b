"""Screenshots of a report of the sample clips, for docs/pictures: every view, two widths, light and dark.

    python -m benchmarks.report_screenshots [--out docs/pictures] [--chromium /usr/bin/chromium]

Needs playwright, and Chromium. The sample clips are scored first, which takes about a minute.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import vmmetrics

SAMPLES = Path(__file__).parents[1] / "tests" / "data" / "samples"
CLIP = "samples/cogvideo/woman-walks-and-sits.mp4"
VIEWS = {
    "leaderboard": "view=leaderboard",
    "gallery": "view=gallery&sort=tcs",
    "clip": f"view=clip&clip={CLIP}",
    "compare": "view=compare&a=0/text2video-zero&b=0/zeroscope&metric=tcs"
    "&clip=samples/text2video-zero/woman-walks-and-sits.gif",
}
ONE_SIZE = {"distributions": "view=distributions", "about": "view=about"}
SIZES = {1280: 900, 400: 860}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "pictures")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        run, report = Path(folder, "samples"), Path(folder, "report")
        vmmetrics.score(SAMPLES, out=run, jobs=2)
        vmmetrics.write_report(run, report, media="copy", title="Eight sample clips")
        browser = playwright.chromium.launch(executable_path=options.chromium, args=["--no-sandbox", "--disable-gpu"])
        shots = [
            (name, hash_, width, theme)
            for name, hash_ in VIEWS.items()
            for width in SIZES
            for theme in ("light", "dark")
        ]
        shots += [(name, hash_, 1280, "light") for name, hash_ in ONE_SIZE.items()]
        for name, hash_, width, theme in shots:
            page = browser.new_page(viewport={"width": width, "height": SIZES[width]}, color_scheme=theme)
            page.goto(f"{(report / 'index.html').as_uri()}#{hash_}")
            page.wait_for_timeout(1500)  # the video is at its frame
            picture = Image.open(io.BytesIO(page.screenshot()))
            page.close()
            picture.save(options.out / f"report-{name}-{width}-{theme}.webp", quality=80, method=6)
        browser.close()


if __name__ == "__main__":
    main()
