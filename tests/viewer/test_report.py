"""Folders that reports are written to: their bytes, what they hold of the runs, and what they must not hold."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import vmmetrics
from tests.viewer.made_run import MadeClip, example_clips, write_run
from vmmetrics.errors import SetupError
from vmmetrics.scoring.pictures import POSTERS, overlay_path
from vmmetrics.scoring.records import read_records
from vmmetrics.types import Event
from vmmetrics.viewer.media import Placed
from vmmetrics.viewer.page import values_of
from vmmetrics.viewer.report import write_report

SCORES = {"cas": 0.5, "mss": 0.75, "ois": 1.0, "pas": 0.25, "tcs": 0.5}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    return write_run(folder / "first", example_clips(0.0), root=folder / "clips")


def small(folder: Path, *clips: MadeClip, name: str = "run") -> Path:
    return write_run(folder / name, clips or [MadeClip(f"{n}.mp4", scores=SCORES) for n in "abc"])


def index_of(folder: Path) -> dict[str, Any]:
    index: dict[str, Any] = values_of((folder / "data" / "index.js").read_text("utf-8"))[0]
    return index


def details_of(folder: Path, shard: int = 0) -> list[dict[str, Any]]:
    clips: list[dict[str, Any]] = values_of((folder / "data" / f"detail-{shard:03}.js").read_text("utf-8"))[1]
    return clips


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_index_has_the_scores_of_every_clip_and_files_what_the_run_kept(run: Path, tmp_path: Path) -> None:
    report = vmmetrics.write_report(run, tmp_path / "out")
    folder, records = report.path.parent, read_records(run)
    index = index_of(folder)
    assert report.clips == len(records) == len(index["clips"]["name"])
    assert index["clips"]["name"] == [record.clip for record in records]
    for number, record in enumerate(records):
        for metric in ("cas", "mss", "ois", "pas", "tcs"):
            score = record.scores.get(metric) if record.error is None else None
            assert index["clips"]["scores"][metric][number] == (
                None if score is None else pytest.approx(score, abs=5e-5)
            )
        poster = folder / "posters" / f"{number:06}.webp"
        assert poster.is_file() == (index["clips"]["poster"][number] == 1) == (record.error is None)
        overlay = folder / "overlays" / f"{number:06}.js"
        assert overlay.is_file() == (index["clips"]["overlay"][number] == 1) == (record.error is None)
        if record.error is None:
            kept = overlay_path(run, record.sha256 or "").read_bytes()
            assert values_of(overlay.read_text())[1] == base64.b64encode(kept).decode()
    assert set(index) >= {"format", "provenance", "runs", "boards", "pairs", "changes", "groups", "bases", "shard"}


def test_the_same_bytes_twice_also_in_place_of_an_earlier_report(run: Path, tmp_path: Path) -> None:
    write_report(run, tmp_path / "a")
    write_report(run, tmp_path / "b")
    write_report(run, tmp_path / "b")
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_no_path_host_or_user_is_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.node", lambda: "secret-host")
    monkeypatch.setenv("HOME", "/home/secret-user")
    secret = tmp_path / "secret place"
    file = f"{secret}/clips/a/1.mp4"
    texts = (f"{file} is odd", "read /home/secret-user/prompts.json", "by secret-host:12", f"in {secret}/run")
    event = Event("tcs", (1,), f"as {file} says", f"{file} 1", excuse=None)
    clips = [
        MadeClip("a/1.mp4", "a", scores=SCORES, notes=texts, events=(event,)),
        MadeClip("a/2.mp4", "a", error=f"{secret}/clips/a/2.mp4 on secret-host cannot be read"),
        MadeClip("a/3.mp4", "a", errors={"tcs": f"no {file}"}, missing={"ois": texts[0]}, tags={"of": texts[1]}),
    ]
    run = write_run(secret / "run", clips, root=secret / "clips")
    header = json.loads((run / "run.json").read_text())
    header["sessions"][0] |= {"folder": str(secret), "machine": {"host": "secret-host"}}
    header["sessions"][0]["command"] = [
        "/home/secret-user/bin/vmmetrics",
        "score",
        f"{secret}/clips",
        "--out=/secret/x",
    ]
    (run / "run.json").write_text(json.dumps(header))
    write_report(run, secret / "out")
    for name, data in files_of(secret / "out").items():
        for word in (b"secret", str(tmp_path).encode()):
            assert word not in data, name
    index, details = index_of(secret / "out"), details_of(secret / "out")
    assert index["runs"][0]["notes"] == [
        "vmmetrics score clips --out=x",
        "no place among real footage: the table is of another model of flow",
    ]
    assert index["reasons"][index["clips"]["failed"][1]] == "clips/a/2.mp4 on (host) cannot be read"
    assert details[0]["notes"] == ["a/1.mp4 is odd", "read prompts.json", "by (host)", "in run"]
    assert details[0]["path"] is None
    write_report(run, secret / "out", show_paths=True)
    assert details_of(secret / "out")[0]["path"] == file
    assert details_of(secret / "out")[0]["notes"] == list(texts)


def test_folders_that_hold_anything_else_are_refused_and_left_as_they_are(run: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "index.html").write_text("my page")
    (tmp_path / "file").write_text("x")
    write_report(run, tmp_path / "report")
    (tmp_path / "report" / "notes.txt").write_text("mine")
    before = files_of(tmp_path)
    for name, words in (("mine", "holds no report"), ("file", "is a file"), ("report", "notes.txt")):
        with pytest.raises(SetupError, match=words):
            write_report(run, tmp_path / name)
    with pytest.raises(SetupError, match="holds no report"):
        write_report(run, run)
    assert files_of(tmp_path) == before
    (tmp_path / "empty").mkdir()
    assert write_report(run, tmp_path / "empty").path.is_file()


def test_a_failure_leaves_the_earlier_report(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_report(run, tmp_path / "out")
    before = files_of(tmp_path)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("vmmetrics.viewer.report.write_page", fail)
    with pytest.raises(OSError, match="No space"):
        write_report(run, tmp_path / "out")
    assert files_of(tmp_path) == before


def test_what_is_left_out_is_counted_and_statistics_are_over_all_clips(run: Path, tmp_path: Path) -> None:
    every, some = write_report(run, tmp_path / "all"), write_report(run, tmp_path / "some", clips="worst:2")
    all_of, some_of = index_of(tmp_path / "all"), index_of(tmp_path / "some")
    assert some.clips == len(some_of["clips"]["name"]) == 2
    assert some.left_out["not among the worst 2 clips by motion index"] == every.clips - 2
    assert some_of["provenance"]["total"] == every.clips and some_of["provenance"]["shown"] == 2
    assert some_of["boards"] == all_of["boards"]
    assert some_of["pairs"] == all_of["pairs"]
    assert some_of["runs"] == all_of["runs"]


def test_runs_that_cannot_be_compared_are_of_different_groups(tmp_path: Path) -> None:
    runs = [
        small(tmp_path, name="one"), small(tmp_path, name="two"),
        write_run(tmp_path / "other", [MadeClip("a.mp4", scores=SCORES)], preset="vmbench"),
    ]  # fmt: skip
    write_report(runs, tmp_path / "out")
    assert [of_run["group"] for of_run in index_of(tmp_path / "out")["runs"]] == [0, 0, 1]


def test_a_run_of_another_metric_version_is_of_a_group_of_its_own(tmp_path: Path) -> None:
    one, two = small(tmp_path, name="one"), small(tmp_path, name="two")
    file = two / "scores.jsonl"
    file.write_text(file.read_text().replace('"tcs":2}', '"tcs":3}'))
    write_report([one, two], tmp_path / "out")
    runs = index_of(tmp_path / "out")["runs"]
    assert [of_run["group"] for of_run in runs] == [0, 1]
    assert [of_run["versions"]["tcs"] for of_run in runs] == [[2], [3]]


def test_names_of_runs_and_clips_are_unique(tmp_path: Path) -> None:
    """Scoring names a clip by its path where another folder has one of that name."""
    twins = [MadeClip("a.mp4", scores=SCORES), MadeClip("/data/other/a.mp4", scores=SCORES)]
    twins += [MadeClip("/more/other/a.mp4", scores=SCORES)]
    runs = [small(tmp_path / "x", *twins), small(tmp_path / "y", *twins)]
    write_report(runs, tmp_path / "out")
    index = index_of(tmp_path / "out")
    names = [of_run["name"] for of_run in index["runs"]]
    assert len(set(names)) == 2
    identifiers = [
        f"{names[run]}/{clip}" for run, clip in zip(index["clips"]["run"], index["clips"]["name"], strict=True)
    ]
    assert len(set(identifiers)) == 6
    assert not any(clip.startswith("/") for clip in index["clips"]["name"])
    with pytest.raises(SetupError, match="listed twice"):
        write_report([runs[0], runs[0]], tmp_path / "out")


def test_a_clip_whose_name_was_taken_still_has_its_video(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmmetrics.viewer.media.is_playable", lambda *_: True)
    made = [MadeClip("a.mp4", scores=SCORES), MadeClip("b.mp4", scores=SCORES)]
    run = write_run(tmp_path / "run", made, root=tmp_path / "clips")
    lines = [json.loads(line) for line in (run / "scores.jsonl").read_text().splitlines()]
    lines[1]["clip"] = lines[1]["path"]  # as scoring names the second of two clips of one name
    (run / "scores.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_report(run, tmp_path / "out")
    index = index_of(tmp_path / "out")
    urls = {name: media if isinstance(media, str) else index["bases"][media] + name
            for media, name in zip(index["clips"]["media"], index["clips"]["name"], strict=True)}  # fmt: skip
    assert sorted((tmp_path / "out" / url).resolve().name for url in urls.values()) == ["a.mp4", "b.mp4"]
    assert all(Path(name).name == Path(url).name for name, url in urls.items())


def test_costs_and_losses_are_points(tmp_path: Path) -> None:
    """TCS 0.5 with one event that costs: it costs 50 points. MSS 0.75 of 12 frames: 8.33 points an event."""
    events = (
        Event("tcs", (3, 4, 6), "vanished without cause", "object 1", (0.0, 0.0, 8.0, 8.0)),
        Event("tcs", (5,), "appeared without cause", "object 2", excuse="came from behind"),
        Event("mss", (2,), "quality drops", magnitude=0.33333333, threshold=0.2),
    )
    write_report(small(tmp_path, MadeClip("a.mp4", scores=SCORES, events=events)), tmp_path / "out")
    (clip,) = details_of(tmp_path / "out")
    by_reason = {event["reason"]: event for event in clip["events"]}
    assert by_reason["vanished without cause"]["cost"] == 50
    assert by_reason["vanished without cause"]["frames"] == [[3, 4], [6, 6]]
    assert (by_reason["appeared without cause"]["cost"], by_reason["appeared without cause"]["excuse"]) == (
        0,
        "came from behind",
    )
    assert by_reason["quality drops"]["cost"] == pytest.approx(100 / 12, abs=0.01)
    assert clip["lost"]["mss"] == {"points": 25, "unexplained": pytest.approx(25 - 100 / 12, abs=0.02)}
    assert "pas" not in clip["lost"] and "ois" not in clip["lost"]
    index = index_of(tmp_path / "out")
    costly = {index["events"][number]["reason"] for number in index["clips"]["events"][0]}
    assert costly == {"vanished without cause", "quality drops"}


def test_details_are_in_shards_of_the_size_that_the_index_names(tmp_path: Path) -> None:
    run = small(
        tmp_path, *(MadeClip(f"{n:03}.mp4", prompt=f"p {n}", scores=SCORES, notes=(f"n {n}",)) for n in range(300))
    )
    write_report(run, tmp_path / "out")
    size = index_of(tmp_path / "out")["shard"]
    notes = [clip["notes"] for shard in (0, 1) for clip in details_of(tmp_path / "out", shard)]
    assert notes == [[f"n {n}"] for n in range(300)]
    assert len(details_of(tmp_path / "out", 0)) == size == 256


def test_damaged_pictures_and_events_are_left_out_with_a_warning(tmp_path: Path) -> None:
    made = [MadeClip(f"{name}.mp4", scores=SCORES) for name in "abc"]
    run = write_run(tmp_path / "run", made, root=tmp_path / "clips")
    records = read_records(run)
    posters = [json.loads(line) for line in (run / POSTERS).read_text().splitlines()]
    posters[0]["webp"] = base64.b64encode(b"<svg onload=alert(1)>" * 9).decode()
    posters[1]["webp"] = base64.b64encode(base64.b64decode(posters[1]["webp"])[:-4]).decode()
    (run / POSTERS).write_text("".join(json.dumps(line) + "\n" for line in posters))
    overlay_path(run, records[2].sha256 or "").write_bytes(b"no gzip")
    events = (run / "events.jsonl").read_text().replace('"frames":[', '"frames":[-5,99999,', 1)
    (run / "events.jsonl").write_text(events)
    report = write_report(run, tmp_path / "out")
    index = index_of(tmp_path / "out")
    assert index["clips"]["poster"] == [0, 0, 1]
    assert index["clips"]["overlay"] == [1, 1, 0]
    assert {path.name for path in (tmp_path / "out" / "posters").iterdir()} == {"000002.webp"}
    assert sum("posters.jsonl" in text for text in report.warnings) == 2
    assert any("overlay of c.mp4 is damaged" in text for text in report.warnings)
    assert index["provenance"]["notes"] == list(report.warnings)


def test_one_file_holds_everything_and_is_bounded(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_report(run, tmp_path / "folder", media="copy")
    report = write_report(run, tmp_path / "one", single_file=True)
    assert set(files_of(tmp_path / "one")) == {"index.html"}
    text = report.path.read_text("utf-8")
    blocks = re.findall(r'<script type="application/json" id="([a-z-]+)">(.*?)</script>', text, re.DOTALL)
    inline, index = (json.loads(block) for _, block in blocks)
    expected = index_of(tmp_path / "folder")
    assert [name for name, _ in blocks] == ["data-inline", "data-index"]
    assert inline["details"] == [details_of(tmp_path / "folder")]
    for part, suffix in (("posters", "webp"), ("overlays", "js")):
        numbers = {str(n) for n, there in enumerate(expected["clips"][part[:-1]]) if there}
        assert (
            set(inline[part]) == numbers == {str(int(p.stem)) for p in (tmp_path / "folder" / part).glob(f"*.{suffix}")}
        )
    for place, url in zip(expected["clips"]["media"], index["clips"]["media"], strict=True):
        if isinstance(place, str):
            kind, _, data = url.partition(";base64,")
            assert kind in ("data:video/mp4", "data:video/webm")
            assert base64.b64decode(data) == (tmp_path / "folder" / place).read_bytes()
        else:
            assert url == place < 0
    monkeypatch.setattr("vmmetrics.viewer.folder.MOST_BYTES", 10_000)
    with pytest.raises(SetupError, match=r"MB, more than .*videos .* MB, posters .*--clips worst:"):
        write_report(run, tmp_path / "large", single_file=True)
    assert not (tmp_path / "large").exists()


def test_overlays_are_drawn_again_for_the_worst_clips_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [MadeClip(f"{n}.mp4", scores={**SCORES, "cas": n / 10, "tcs": n / 10}) for n in (5, 1, 9, 3)]
    run = write_run(tmp_path / "run", made, root=tmp_path / "clips")
    shutil.rmtree(run / "overlays")
    drawn: list[str] = []

    def redraw(folder: Path, record: Any, warnings: Any = None, **_: Any) -> bytes:
        drawn.append(record.clip)
        return gzip.compress(b"{}", mtime=0)

    monkeypatch.setattr("vmmetrics.viewer.pictures.redraw", redraw)
    report = write_report(run, tmp_path / "out", overlays=2)
    assert drawn == ["1.mp4", "3.mp4"]
    assert index_of(tmp_path / "out")["clips"]["overlay"] == [1, 1, 0, 0]
    assert [clips for reason, clips in report.left_out.items() if "--overlays N" in reason] == [2]
    monkeypatch.setattr("vmmetrics.viewer.pictures.SECONDS", 4.5)  # of clips that took 1.5 s each
    (tmp_path / "clips" / "3.mp4").unlink()
    drawn.clear()
    write_report(run, tmp_path / "unasked")
    assert drawn == ["1.mp4", "5.mp4", "9.mp4"]


def test_ratings_are_columns_and_agreement_is_over_all_clips(tmp_path: Path) -> None:
    made = [
        MadeClip(f"{m}/{n}.mp4", m, f"p {n}", {**SCORES, "tcs": (n + 0.5 * (m == "b")) / 10})
        for m in "ab"
        for n in range(8)
    ]
    run = write_run(tmp_path / "run", made)
    table = ["clip,quality_1,quality_2"] + [f"{c.name},{1 + i % 5},{1 + (i + 1) % 5}" for i, c in enumerate(made)]
    (tmp_path / "ratings.csv").write_text("\n".join(table))
    for name, clips in (("all", "all"), ("some", "worst:3")):
        write_report(run, tmp_path / name, clips=clips, ratings=tmp_path / "ratings.csv")
    every, some = index_of(tmp_path / "all"), index_of(tmp_path / "some")
    assert every["agreement"] == some["agreement"] and every["agreement"][0]["clips"] == len(made)
    means = {clip.name: (1 + i % 5 + 1 + (i + 1) % 5) / 2 for i, clip in enumerate(made)}
    for index in (every, some):
        assert index["clips"]["scores"]["rating:quality"] == [means[name] for name in index["clips"]["name"]]
        assert index["metrics"][-1]["kind"] == "rating"
    assert details_of(tmp_path / "some")[0]["ratings"]["quality"]["mean"] == means[some["clips"]["name"][0]]


def test_numbers_that_no_clip_can_have_are_left_out(tmp_path: Path) -> None:
    run = small(tmp_path)
    records = read_records(run)
    wrong = [
        replace(records[0], frames=-1, fps=0.0, size=(0, 5)),
        replace(records[1], timestamps=tuple(float(n % 3) for n in range(12))),
        replace(
            records[2], timestamps=tuple(n * 0.5 for n in range(12)), notes=("downscaled from 64x48 to 32x24 to stay",)
        ),
    ]
    (run / "scores.jsonl").write_text("".join(json.dumps(record.to_json()) + "\n" for record in wrong))
    write_report(run, tmp_path / "out")
    index, details = index_of(tmp_path / "out"), details_of(tmp_path / "out")
    assert (index["clips"]["frames"][0], index["clips"]["fps"][0], details[0]["size"]) == (None, None, None)
    assert details[1]["timestamps"] is None
    assert details[2]["timestamps"] == [n * 0.5 for n in range(12)]
    assert (details[2]["size"], details[2]["pixels"]) == ([64, 48], [32, 24])


def test_no_run_and_no_clips_are_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="needs a run"):
        write_report([], tmp_path / "out")
    with pytest.raises(SetupError, match="not a run directory"):
        write_report(tmp_path, tmp_path / "out")
    with pytest.raises(SetupError, match="no scored clips"):
        write_report(write_run(tmp_path / "none", []), tmp_path / "out")


def test_reasons_that_are_rare_are_counted_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def place(_: object, record: Any) -> Placed:
        return Placed(reason="often" if record.clip < "05" else f"only {record.clip}")

    monkeypatch.setattr("vmmetrics.viewer.report.MediaFolder.place", place)
    report = write_report(
        small(tmp_path, *(MadeClip(f"{n:02}.mp4", scores=SCORES) for n in range(20))), tmp_path / "out"
    )
    videos = {reason: clips for reason, clips in report.left_out.items() if reason.startswith("no video")}
    assert videos["no video: often"] == 5
    assert videos["no video: other reasons"] == 20 - sum(n for reason, n in videos.items() if "other" not in reason)
    assert len(videos) < 12
