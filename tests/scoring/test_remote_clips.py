"""Runs over clips at addresses: the same scores as of files here, each clip fetched once, nothing of secrets kept."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import vmmetrics
from tests.file_server import FileServer, serving
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.scoring.mirror import Mirror, restore
from vmmetrics.scoring.pictures import keep_overlay
from vmmetrics.scoring.run import Start, prepare, run
from vmmetrics.scoring.scored_clip import recall
from vmmetrics.scoring.settings import Settings
from vmmetrics.scoring.tasks import tasks_of_paths
from vmmetrics.utils.storage import remote
from vmmetrics.utils.storage.scratch import Scratch

pytestmark = pytest.mark.usefixtures("fake_suite")
os_scandir, upload = os.scandir, remote.upload
SECRET = "AKIAEXAMPLE" + "SIGNATURE"


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "PAUSE", 0.001)


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving() as served:
        yield served


@pytest.fixture
def store() -> Any:
    return pytest.importorskip("fsspec").filesystem("memory")


@pytest.fixture
def bucket(store: Any) -> Iterator[str]:
    name = f"/run-{uuid.uuid4().hex}"
    yield f"memory:/{name}"
    if store.exists(name):
        store.rm(name, recursive=True)


def offer(server: FileServer, folder: Path, tag: str = "one") -> None:
    for path in folder.rglob("*.npy"):
        server.files["/" + path.relative_to(folder).as_posix()] = path.read_bytes(), tag


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "scores.jsonl").read_text().splitlines()]


def test_the_scores_are_those_of_the_files_here_and_no_secret_is_kept(
    make_clips: Any, server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clips = make_clips("wan/a", "wan/b", "ltx/a")
    offer(server, clips)
    server.faults = {"/wan/a.npy": [503, "cut"], "/ltx/a.npy": ["drop"]}
    here = vmmetrics.score(clips)
    signed = f"?X-Amz-Signature={SECRET}"
    urls = [server.url.replace("//", "//me:hidden-word@") + f"/{record.clip}{signed}" for record in here]
    urls.append(f"{server.url}/wan/gone.npy{signed}")
    (tmp_path / "urls.txt").write_text("\n".join(urls))
    monkeypatch.setattr("sys.argv", ["vmmetrics", "score", *urls])
    scratch = Scratch(str(tmp_path / "scratch"))
    there = vmmetrics.score(tmp_path / "urls.txt", out=tmp_path / "run", scratch=scratch)
    told = {r.clip: (r.model, r.sha256, r.scores, r.missing) for r in there if r.error is None}
    assert told == {r.clip: (r.model, r.sha256, r.scores, r.missing) for r in here}
    (failed,) = there.failed
    assert failed.clip == "wan/gone.npy"
    assert failed.error == f"{server.url}/wan/gone.npy cannot be fetched: the server says 404: there is no such file"
    for file in filter(Path.is_file, (tmp_path / "run").rglob("*")):
        assert SECRET.encode() not in file.read_bytes(), file
        assert b"hidden-word" not in file.read_bytes(), file
    assert [path.name for path in (tmp_path / "scratch").iterdir()] in ([], ["scratch.lock"])


def test_each_clip_is_fetched_once_and_a_resumed_run_fetches_what_changed(
    make_clips: Any, server: FileServer, tmp_path: Path
) -> None:
    offer(server, make_clips("a", "b"))
    urls = [f"{server.url}/{name}.npy" for name in "ab"]
    for fetched in ((1, 1), (1, 1)):
        vmmetrics.score(urls, out=tmp_path / "run", metrics=["pas"])
        assert tuple(server.gets(f"/{name}.npy") for name in "ab") == fetched
    record = lines(tmp_path / "run")[0]
    assert record["path"] == urls[0]
    assert record["state"] == {"bytes": len(server.files["/a.npy"][0]), "etag": "one"}
    server.files["/b.npy"] = server.files["/a.npy"][0], "two"
    table = vmmetrics.score(urls, out=tmp_path / "run", metrics=["pas"])
    assert [server.gets(f"/{name}.npy") for name in "ab"] == [1, 2]
    assert len({record.sha256 for record in table}) == 1


def test_a_kept_listing_says_what_changed_behind_it(
    make_clips: Any, store: Any, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clips, folder = make_clips("wan/a", "wan/b"), bucket.removeprefix("memory:/")
    for name in "ab":
        store.pipe_file(f"{folder}/wan/{name}.npy", (clips / f"wan/{name}.npy").read_bytes())
    out = tmp_path / "run"
    vmmetrics.score(bucket, out=out, metrics=["pas"])
    assert (out / "clips.jsonl").exists()
    (out / "scores.jsonl").write_text("")  # so that both are wanted again
    for path in out.glob("index*"):
        path.unlink()
    store.pipe_file(f"{folder}/wan/b.npy", (clips / "wan/a.npy").read_bytes() + b" ")
    table = vmmetrics.score(bucket, out=out, metrics=["pas"])
    assert [record.error and record.error[:34] for record in table] == [None, "It changed since it was listed (th"]
    assert not vmmetrics.score(bucket, out=out, metrics=["pas"], relist=True).failed
    opened: list[str] = []
    monkeypatch.setattr(remote, "download", lambda *_: opened.append("fetched"))
    assert len(vmmetrics.score(bucket, out=out, metrics=["pas"])) == 2
    assert not opened


def test_a_dead_worker_leaves_a_record_without_the_clip_being_read_here(
    make_clips: Any, server: FileServer, tmp_path: Path
) -> None:
    offer(server, make_clips("a", "kill"))
    settings = Settings(metrics=("pas",), scratch=Scratch(str(tmp_path / "scratch")))
    urls = [f"{server.url}/{name}.npy" for name in ("a", "kill")]
    tasks = tasks_of_paths(urls, ("pas",))[0]
    table = run(prepare(settings), tasks, Start(1), tmp_path / "run")
    a, kill = sorted(table, key=lambda record: record.clip)
    assert (a.error, kill.sha256 is None or len(kill.sha256)) == (None, 64)
    assert str(kill.error).startswith("The worker process died on this clip (killed by signal SIGKILL")
    assert server.gets("/kill.npy") == 1  # ahead of its turn; never by this process
    assert not list((tmp_path / "scratch").glob(".*"))


def test_a_full_scratch_ends_the_run_and_keeps_what_was_scored(
    make_clips: Any, server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(server, make_clips("a", "b"))
    monkeypatch.setattr("vmmetrics.utils.storage.scratch.WAIT_SECONDS", 0.0)
    urls = [f"{server.url}/{name}.npy" for name in "ab"]
    place = tmp_path / "scratch"
    settings = Settings(metrics=("pas",), scratch=Scratch(str(place), 6000))
    other = place / ".clips.00000000-1.partial"  # of another machine
    other.mkdir(parents=True)
    (other / "0.npy").write_bytes(bytes(5000))
    with pytest.raises(SetupError, match=r"scratch folder .* is full: [0-9.e-]+ MiB of [0-9.e-]+ MiB are taken"):
        run(prepare(settings), tasks_of_paths(urls, ("pas",))[0], Start(), tmp_path / "run")
    assert not (tmp_path / "run/scores.jsonl").exists() or not lines(tmp_path / "run")
    (other / "0.npy").unlink()
    assert not run(prepare(settings), tasks_of_paths(urls, ("pas",))[0], Start(), tmp_path / "run").failed


def test_a_mirror_holds_the_run_and_gives_it_back(make_clips: Any, store: Any, bucket: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    for names in (("a", "b"), ("a", "b", "c")):
        clips = make_clips(*names)
        with Mirror(out, bucket) as mirror:
            vmmetrics.score(clips, out=out)
        assert mirror.behind is None
    pieces = sorted(store.find(f"{bucket.removeprefix('memory:/')}/scores.jsonl.parts"))
    assert len(pieces) == 2  # one a session, the first as it was
    restore(bucket, tmp_path / "back")
    for name in ("scores.jsonl", "events.jsonl", "run.json", "scores.csv"):
        assert (tmp_path / "back" / name).read_bytes() == (out / name).read_bytes(), name
    assert not (tmp_path / "back/run.lock").exists()
    make_clips("z", folder="more", value=99)
    with pytest.raises(SetupError, match="holds another run; choose another address"), Mirror(tmp_path / "no", bucket):
        pytest.fail("it was begun")
    assert not (tmp_path / "no").exists()
    with pytest.raises(SetupError, match=r"back already exists; choose a new folder"):
        restore(bucket, tmp_path / "back")


def test_a_restore_that_is_cut_off_can_be_repeated(
    make_clips: Any, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Mirror(tmp_path / "run", bucket):
        vmmetrics.score(make_clips("a"), out=tmp_path / "run")

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("vmmetrics.scoring.mirror._append", fail)
        restore(bucket, tmp_path / "back")
    assert not list(tmp_path.glob("*back*"))
    restore(bucket, tmp_path / "back")
    assert (tmp_path / "back/scores.jsonl").read_bytes() == (tmp_path / "run/scores.jsonl").read_bytes()


def test_a_mirror_looks_only_where_something_was_put(
    store: Any, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, looked, sent = tmp_path / "run", [], []
    for number in range(300):
        keep_overlay(run, f"{number:03x}" + "0" * 61, b"old")
    for path in [run / "old", *(run / "overlays").rglob("*")]:
        path.touch()
        os.utime(path, (10**9, 10**9))
    with Mirror(run, bucket) as mirror:
        mirror.copy()
        monkeypatch.setattr("vmmetrics.scoring.mirror.os.scandir", lambda p: (looked.append(Path(p)), os_scandir(p))[1])
        monkeypatch.setattr(
            "vmmetrics.scoring.mirror.upload", lambda _, uri, **k: (sent.append(uri), upload(_, uri))[1]
        )
        mirror.copy()
        assert (looked, sent) == ([run], [])
        keep_overlay(run, "000" + "1" * 61, b"new")
        future = run / "future"
        future.touch()
        os.utime(future, (2 * 10**9, 2 * 10**9))
        mirror.copy()
        assert looked[1:] == [run, run / "overlays/00"]
        keep_overlay(run, "000" + "0" * 61, b"old")
        (run / "scores.csv").touch()
        mirror.copy()
    new = [f"{bucket}/future", f"{bucket}/overlays/00/000{'1' * 61}.json.gz"]
    assert sorted(sent) == sorted([*new, f"{bucket}/overlays/00/000{'0' * 61}.json.gz", f"{bucket}/scores.csv"])
    assert len(store.find(bucket.removeprefix("memory:/"))) == 300 + 1 + 3
    sent.clear()
    with Mirror(run, bucket):  # another start, which remembers nothing
        pass
    assert sent == [f"{bucket}/future"]


def test_a_mirror_that_fails_does_not_stop_the_run(
    make_clips: Any, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise remote.RemoteError("the server says 403")

    monkeypatch.setattr("vmmetrics.scoring.mirror.upload", fail)
    told: list[str] = []
    with Mirror(tmp_path / "run", bucket, told.append) as mirror:
        assert not vmmetrics.score(make_clips("a"), out=tmp_path / "run").failed
    assert (told, mirror.behind) == (["mirror: the server says 403"], "the server says 403")


def test_a_clip_known_by_a_query_is_drawn_from_a_file_of_its_content(
    make_clips: Any, server: FileServer, tmp_path: Path
) -> None:
    offer(server, clips := make_clips("a", "b"))
    vmmetrics.score([f"{server.url}/{name}.npy?token={SECRET}" for name in "ab"], out=tmp_path / "run", metrics=["mss"])
    name = lines(tmp_path / "run")[0]["clip"]
    with pytest.raises(ClipError, match=r"stored as .*\?[0-9a-f]{8}, without.*name the file"):
        recall(tmp_path / "run", name)
    assert recall(tmp_path / "run", str(clips / "a.npy")).record.clip == name
    (tmp_path / "c.npy").write_bytes(b"other")
    with pytest.raises(SetupError, match="has no clip"):
        recall(tmp_path / "run", str(tmp_path / "c.npy"))


def test_no_address_is_contacted_without_being_asked_to(make_clips: Any, server: FileServer, tmp_path: Path) -> None:
    offer(server, make_clips("a"))
    vmmetrics.score([f"{server.url}/a.npy"], out=tmp_path / "run", metrics=["mss"])
    name = lines(tmp_path / "run")[0]["clip"]
    server.requests.clear()
    with pytest.raises(ClipError, match=r"is at http://.*/a\.npy: --fetch fetches it from there"):
        recall(tmp_path / "run", name)
    for options in ({"media": "copy"}, {"media": "transcode"}, {"single_file": True}, {"overlays": 1}):
        vmmetrics.write_report(tmp_path / "run", tmp_path / "page", **options)
    assert not server.requests
    assert recall(tmp_path / "run", name, fetch=True).record.clip == name
    assert server.requests


def test_a_run_that_is_refused_keeps_its_listing(make_clips: Any, store: Any, bucket: str, tmp_path: Path) -> None:
    clips, out = make_clips("a"), tmp_path / "run"
    for name in ("mine", "other"):
        store.pipe_file(f"{bucket.removeprefix('memory:/')}/{name}/a.npy", (clips / "a.npy").read_bytes())
    vmmetrics.score(f"{bucket}/mine", out=out, metrics=["pas"])
    before = {path.name: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(SetupError, match="was scored with another configuration"):
        vmmetrics.score(f"{bucket}/other", out=out, metrics=["pas"], assume_fps=5)
    full = tmp_path / "full"
    full.mkdir()
    (full / "notes.txt").touch()
    with pytest.raises(SetupError, match="holds other files"):
        vmmetrics.score(f"{bucket}/other", out=full, metrics=["pas"])
    assert {path.name: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert [path.name for path in full.iterdir()] == ["notes.txt"]
