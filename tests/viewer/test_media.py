"""Videos of a report: what plays is linked, everything else is transcoded with the same frames at the same times."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

import av
import numpy as np
import pytest

from tests.file_server import serving
from tests.viewer.made_videos import PLAYABLE, UNPLAYABLE, decoded, record_of, write_animation, write_video
from vmmetrics.scoring.record import Record
from vmmetrics.video import encoding, read_clip, timing
from vmmetrics.video.content import file_state, fingerprint, state
from vmmetrics.video.encoding import TICKS
from vmmetrics.video.pixels import TRANSPARENT
from vmmetrics.viewer import media
from vmmetrics.viewer.media import MediaFolder, Placed


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    folder = tmp_path / "clips"
    folder.mkdir()
    return folder


@pytest.fixture
def report(tmp_path: Path) -> Path:
    folder = tmp_path / "out" / "report"
    folder.mkdir(parents=True)
    return folder


def place(record: Record, report: Path, mode: media.Mode = "link", previous: Path | None = None) -> Placed:
    return MediaFolder(report, report, mode, previous).place(record)


def linked(record: Record, report: Path, folder: MediaFolder | None = None) -> Path:
    """The file that a browser reaches from the report by the place of a clip."""
    folder = folder or MediaFolder(report, report)
    placed = folder.place(record)
    assert placed.reason is None
    url = placed.url if placed.base is None else folder.bases[placed.base] + quote(record.clip, safe="/")
    assert url is not None and "?" not in url and "#" not in url and " " not in url
    return Path(os.fsdecode(os.path.normpath(os.fsencode(report) + b"/" + unquote_to_bytes(url))))


def psnr(one: np.ndarray, other: np.ndarray) -> float:
    error = float(np.mean((one.astype(float) - other.astype(float)) ** 2))
    return 10 * np.log10(255**2 / max(error, 1e-9))


@pytest.mark.parametrize("kind", UNPLAYABLE)
def test_a_transcode_has_the_scored_frames_at_the_scored_times(kind: str, clips: Path, report: Path) -> None:
    record = record_of(UNPLAYABLE[kind](clips))
    assert place(record, report) == Placed(url=f"media/{record.sha256[:16]}.mp4")
    frames, ticks, end = decoded(report / "media" / f"{record.sha256[:16]}.mp4")
    scored = read_clip(record.path)
    assert len(frames) == len(scored)
    assert np.abs(np.array(ticks) - scored.timestamps * TICKS).max() <= 0.5 + 1e-6 * TICKS  # records keep microseconds
    assert end - ticks[-1] == pytest.approx(np.median(np.diff(ticks)), abs=1)
    height, width = scored.frames.shape[1:3]
    assert frames[0].shape[:2] == (height + height % 2, width + width % 2)
    alike = np.array([[psnr(frame[:height, :width], other) for other in scored.frames] for frame in frames])
    assert (alike.argmax(axis=1) == np.arange(len(frames))).all()
    assert alike.diagonal().min() > 27  # dithered colours of a GIF; the others are above 30


@pytest.mark.parametrize("size", [(96, 64), (1280, 64)])
def test_a_transcode_has_the_colours_that_players_take_an_untagged_video_for(
    size: tuple[int, int], clips: Path, report: Path
) -> None:
    record = record_of(write_animation(clips / "a.webp", 100, size, lossless=True))
    place(record, report)
    shown = read_clip(next((report / "media").iterdir())).frames  # the reader takes BT.709 from 1280 columns on
    difference = shown.astype(float).mean(axis=(0, 1, 2)) - read_clip(record.path).frames.mean(axis=(0, 1, 2))
    assert np.abs(difference).max() < 1


def test_a_transcode_seeks_quickly_and_begins_with_its_index(clips: Path, report: Path) -> None:
    place(record_of(write_animation(clips / "a.gif", 100)), report)
    path = next((report / "media").iterdir())
    content = path.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")
    with av.open(str(path)) as container:
        keys = [number for number, packet in enumerate(container.demux(video=0)) if packet.is_keyframe]
    assert keys[:2] == [0, 12]


def test_transcodes_have_the_same_bytes_twice(clips: Path, report: Path) -> None:
    record = record_of(write_animation(clips / "a.gif", 100))
    contents = []
    for _ in range(2):
        place(record, report)
        contents.append(next((report / "media").iterdir()).read_bytes())
        shutil.rmtree(report / "media")
    assert contents[0] == contents[1]


@pytest.mark.parametrize("kind", PLAYABLE)
@pytest.mark.parametrize("known", [True, False])
def test_playable_files_are_linked(kind: str, known: bool, clips: Path, report: Path) -> None:
    path = PLAYABLE[kind](clips)
    record = record_of(path)
    assert linked(record if known else replace(record, codec=None), report) == path
    assert not (report / "media").exists()


@pytest.mark.parametrize("flags", ["", "+faststart", "+frag_keyframe+empty_moov"])
@pytest.mark.parametrize(("pixels", "plays"), [("yuv420p", True), ("yuv422p", False), ("yuv420p10le", False)])
def test_h264_is_judged_by_its_index_alone_where_that_tells(
    flags: str, pixels: str, plays: bool, clips: Path, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = record_of(write_video(clips / "a.mp4", "libx264", pixels, flags=flags))
    if plays:
        monkeypatch.setattr(media, "opened", None)  # FFmpeg takes 5 ms a file
    assert media.is_playable(record, Path(str(record.path))) == plays


@pytest.mark.parametrize(
    "name", ["a b.mp4", "50%25.mp4", "a#b?c.mp4", "猫.mp4", "a:b.mp4", "x/../a.mp4", "d/e/f.mp4", b"\xff\xfe.mp4"]
)
def test_links_lead_to_files_of_any_name(name: str | bytes, clips: Path, report: Path) -> None:
    (clips / "x").mkdir()
    path = clips / os.fsdecode(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_video(clips / "plain.mp4", "libx264").rename(path)
    shown = name if isinstance(name, str) else "\\udcff\\udcfe.mp4"
    assert linked(record_of(path, shown), report).samefile(path)


def test_clips_of_one_folder_share_a_base(clips: Path, report: Path) -> None:
    folder = MediaFolder(report, report)
    for name in ("m1/a.mp4", "m1/b.mp4", "m2/a.mp4"):
        (clips / name).parent.mkdir(exist_ok=True)
        path = write_video(clips / name, "libx264")
        assert folder.place(record_of(path, name)) == Placed(base=0)
    other = record_of(clips / "m1" / "a.mp4", "a.mp4")  # a run that began in the folder below
    assert folder.place(other) == Placed(base=1)
    renamed = record_of(clips / "m1" / "a.mp4", "given another name")
    assert folder.place(renamed) == Placed(url="../../clips/m1/a.mp4")
    assert folder.bases == ["../../clips/", "../../clips/m1/"]


@pytest.mark.parametrize(
    "repaired",
    [
        timing.from_times([0.0, None, 0.2], 8.0, 8.0),
        timing.from_times([0.0, 0.1, 0.1, 0.3], 8.0, 8.0),
        timing.from_times([0.0, 0.0, 0.0], 8.0, 8.0),
        timing.from_times([None, None], None, 8.0),
        timing.without_gaps(timing.from_times([0.0, 0.1, 0.2, 0.3, 50.0], 8.0, 8.0)),
    ],
)
def test_a_file_that_plays_at_other_times_is_transcoded(repaired: timing.Timing, clips: Path, report: Path) -> None:
    assert repaired.notes
    record = record_of(write_video(clips / "a.mp4", "libx264"))
    assert place(replace(record, notes=repaired.notes), report).url == f"media/{record.sha256[:16]}.mp4"


@pytest.mark.parametrize("note", [TRANSPARENT, "2 frames before the first key frame cannot be decoded"])
def test_a_file_of_which_a_browser_shows_other_pictures_is_transcoded(note: str, clips: Path, report: Path) -> None:
    record = record_of(write_video(clips / "a.mp4", "libx264"))
    assert place(replace(record, notes=(note,)), report).url == f"media/{record.sha256[:16]}.mp4"


def test_a_file_that_plays_as_scored_in_spite_of_notes_is_linked(clips: Path, report: Path) -> None:
    hold = timing.without_gaps(timing.from_times([0.0, 0.1, 0.2, 0.3, 5.0], 8.0, 8.0))
    record = record_of(write_video(clips / "a.mp4", "libx264"))
    assert hold.notes and place(replace(record, notes=(*hold.notes, "downscaled")), report).base == 0


def test_copies_are_the_files_and_moving_the_report_keeps_them(clips: Path, report: Path) -> None:
    record = record_of(PLAYABLE["vp9"](clips))
    assert place(record, report, "copy") == Placed(url=f"media/{record.sha256[:16]}.webm")
    assert (report / "media" / f"{record.sha256[:16]}.webm").read_bytes() == Path(record.path).read_bytes()
    assert place(record_of(UNPLAYABLE["gif"](clips)), report, "copy").url.startswith("media/")


def test_a_clip_that_is_there_twice_is_stored_once(clips: Path, report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = record_of(write_animation(clips / "a.gif", 0))
    folder = MediaFolder(report, report)
    assert folder.place(record) == folder.place(replace(record, clip="b.gif"))
    faster = folder.place(replace(record, fps=24.0))  # of a run that assumed another rate
    assert faster == Placed(url=f"media/{record.sha256[:16]}-2.mp4")
    assert decoded(report / str(faster.url))[1][1] == TICKS / 24


def test_transcodes_of_an_earlier_report_are_taken_over(
    clips: Path, report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = record_of(write_animation(clips / "a.gif", 0))
    url = str(place(record, report).url)
    calls: list[Path] = []
    made = media.transcode
    monkeypatch.setattr(media, "transcode", lambda source, *more: (calls.append(source), made(source, *more)))
    second, third, fourth = (tmp_path / name for name in ("2", "3", "4"))
    for folder in (second, third, fourth):
        folder.mkdir()
    place(record, second, previous=report)
    assert not calls and (second / url).read_bytes() == (report / url).read_bytes()
    place(replace(record, fps=24.0), third, previous=report)  # other times
    assert len(calls) == 1 and decoded(third / url)[1][1] == TICKS / 24
    (report / url).write_bytes((report / url).read_bytes()[:-2000])  # cut short
    place(record, fourth, previous=report)
    assert len(calls) == 2 and (fourth / url).read_bytes() == (second / url).read_bytes()


def test_a_copy_is_no_transcode(clips: Path, report: Path, tmp_path: Path) -> None:
    record = record_of(write_video(clips / "a.mp4", "libx264"))
    copied = place(record, report, "copy")
    place(record, tmp_path, "transcode", previous=report)
    assert (tmp_path / str(copied.url)).read_bytes() != (report / str(copied.url)).read_bytes()


def test_clips_without_a_video_have_a_reason(clips: Path, report: Path) -> None:
    record = record_of(write_video(clips / "a.mp4", "libx264"))
    gone, array = replace(record, path=str(clips / "b.mp4")), replace(record, path=None)
    for changed, reason in (
        (gone, "no longer where it was scored"),
        (replace(record, path="a.mp4"), "no longer where it was scored"),
        (array, "handed in as an array"),
        (replace(record, error="cut short"), "could not be scored"),
        (replace(record, path="https://host/a.mp4"), "on a server"),
        (replace(record, codec="hevc", frames=7), "15 frames, but 7 were scored"),
        (replace(record, codec="hevc", frames=None), "does not state the times"),
    ):
        placed = place(changed, report)
        assert placed.reason is not None and reason in placed.reason and placed.url is placed.base is None
    assert not list(report.glob("media/*"))


def test_a_changed_clip_has_a_reason_and_a_touched_one_none(clips: Path, report: Path) -> None:
    path = write_video(clips / "a.mp4", "libx264")
    record = record_of(path)
    os.utime(path, ns=(1, 1))
    for stored in (record.state, None):  # None: the run is of an older version
        assert place(replace(record, state=stored), report).base == 0
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    for stored in (record.state, None):
        assert place(replace(record, state=stored), report).reason == "the video has changed since it was scored"


def test_a_damaged_clip_is_a_reason_and_leaves_no_file(clips: Path, report: Path) -> None:
    path = write_animation(clips / "a.gif", 100)
    record = record_of(path)
    path.write_bytes(path.read_bytes()[:-3000])
    damaged = replace(record, sha256=fingerprint(path), state=file_state(state(path)))
    assert "ends before its trailer" in str(place(damaged, report).reason)
    assert not list(report.glob("media/*"))


def test_an_encoder_that_fails_is_a_reason_and_ctrl_c_ends_without_half_a_file(
    clips: Path, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = record_of(write_animation(clips / "a.gif", 100))

    def failing(error: BaseException) -> None:
        def write(target: Path, *_: object, **__: object) -> None:
            target.write_bytes(b"half")
            raise error

        monkeypatch.setattr(encoding, "write_h264", write)

    failing(ValueError("no such encoder"))
    assert "no such encoder" in str(place(record, report).reason)
    failing(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        place(record, report)
    assert not list(report.glob("media/*"))


def test_clips_on_a_server_are_fetched_for_copies(clips: Path, report: Path) -> None:
    path = write_video(clips / "a.mp4", "libx264")
    with serving() as server:
        server.files["/a.mp4"] = path.read_bytes(), "one"
        record = replace(record_of(path), path=f"{server.url}/a.mp4")
        assert "on a server" in str(place(record, report).reason) and not server.requests
        assert "on a server: --media copy --fetch" in str(place(record, report, "copy").reason) and not server.requests
        fetching = MediaFolder(report, report, "copy", fetch=True)
        assert fetching.place(record).url == f"media/{record.sha256[:16]}.mp4"
        assert next((report / "media").iterdir()).read_bytes() == path.read_bytes()
        server.files["/a.mp4"] = path.read_bytes() + b"x", "two"
        changed = MediaFolder(report, report, "transcode", fetch=True).place(record)
        assert "has changed" in str(changed.reason)
