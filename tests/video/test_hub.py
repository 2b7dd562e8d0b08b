"""Data sets of the Hugging Face Hub: from a server that speaks its protocol, and from a stand-in of its client."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import pytest

from tests.bad_inputs import moving_frames, write_video
from tests.video.test_discover import snapshot
from vmmetrics.errors import SetupError
from vmmetrics.video import Prompts, discover, read_clip
from vmmetrics.video.locations import is_on_hub

REVISION = "0123456789abcdef0123456789abcdef01234567"


def files_of_a_data_set(tmp_path: Path) -> dict[str, bytes]:
    clip = write_video(tmp_path / "made.mp4", moving_frames(3, (32, 32))).read_bytes()
    return {
        "README.md": b"---\nlicense: mit\n---",
        "loader.py": b"raise SystemExit('a script of the data set was run')",
        "model.safetensors": b"weights",
        "metadata.jsonl": b'{"file_name": "videos/wan/a.mp4", "prompt": "a dog runs", "model": "wan"}\n',
        "videos/wan/a.mp4": clip,
        "videos/ltx/B.MP4": clip,
        "videos/ltx/B.txt": b"a cat runs",
    }


def filtered(names: Iterable[str], allow_patterns: list[str]) -> list[str]:
    return [name for name in names if any(fnmatch.fnmatch(name, pattern) for pattern in allow_patterns)]


class Client:
    """Stands for ``huggingface_hub.snapshot_download``: takes what the patterns name, in the layout of its cache."""

    def __init__(self, cache: Path, files: dict[str, bytes]) -> None:
        self.cache, self.files = cache, files
        self.asked: list[dict[str, Any]] = []
        self.error: Exception | None = None

    def names(self, *_: Any, **__: Any) -> list[str]:
        return list(self.files)

    def __call__(self, repo_id: str, **options: Any) -> str:
        self.asked.append({"repo_id": repo_id, **options})
        if self.error:
            raise self.error
        taken = {name: self.files[name] for name in filtered(self.files, options["allow_patterns"])}
        folder = self.cache / "datasets--org--name" / "snapshots" / REVISION
        missing = {name: content for name, content in taken.items() if not (folder / name).is_symlink()}
        folder.mkdir(parents=True, exist_ok=True)
        return str(snapshot(self.cache, missing, REVISION)) if missing else str(folder)


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    made = Client(tmp_path / "hub", files_of_a_data_set(tmp_path))
    utils = SimpleNamespace(disable_progress_bars=lambda: None, filter_repo_objects=filtered)
    package = SimpleNamespace(snapshot_download=made, HfApi=lambda: SimpleNamespace(list_repo_files=made.names))
    monkeypatch.setitem(sys.modules, "huggingface_hub", package)
    monkeypatch.setitem(sys.modules, "huggingface_hub.constants", SimpleNamespace(HF_HUB_OFFLINE=False))
    monkeypatch.setitem(sys.modules, "huggingface_hub.utils", utils)
    return made


@pytest.mark.parametrize("address", ["hf://datasets/org/name", Path("hf://datasets/org/name")])
def test_clips_prompts_and_models_come_and_nothing_else(client: Client, tmp_path: Path, address: Any) -> None:
    sources = discover([address])
    told = [Prompts().lookup(source) for source in sources]
    assert [(source.name, found.prompt, found.model) for source, found in zip(sources, told, strict=True)] == [
        ("videos/ltx/B.MP4", "a cat runs", "videos"),
        ("videos/wan/a.mp4", "a dog runs", "wan"),
    ]
    assert len(read_clip(sources[0].path)) == 3
    fetched = {path.name for path in (tmp_path / "hub").rglob("*") if path.is_symlink()}
    assert fetched == {"metadata.jsonl", "a.mp4", "B.MP4", "B.txt"}
    assert client.asked[0]["repo_type"] == "dataset"


def fetched(tmp_path: Path) -> set[str]:
    return {path.name for path in (tmp_path / "hub").rglob("*") if path.is_symlink()}


def test_no_more_clips_come_than_are_wanted(client: Client, tmp_path: Path) -> None:
    client.files["data/train.parquet"] = b"a gigabyte"
    (source,) = discover(["hf://datasets/org/name"], limit=1)
    assert source.name == "videos/ltx/B.MP4"
    assert Prompts().lookup(source).prompt == "a cat runs"
    assert fetched(tmp_path) == {"metadata.jsonl", "B.MP4", "B.txt"}


def test_no_more_parquet_files_come_than_hold_the_clips_wanted(client: Client, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from tests.video.test_shards import write

    made = write(tmp_path / "made.parquet", clips=[{"bytes": b"x", "path": f"{number}.mp4"} for number in range(3)])
    content = made.read_bytes()
    client.files = {f"data/{number}.parquet": content for number in range(1, 4)}
    client.files["data/2.parquet"] = write(made, clips=[{"bytes": b"y", "path": "y.mp4"}] * 3).read_bytes()
    for limit, files in ((2, {"1.parquet"}), (4, {"1.parquet", "2.parquet"})):
        discover(["hf://datasets/org/name"], limit=limit)
        assert fetched(tmp_path) == files


def test_a_listing_fetches_what_is_said_of_clips_and_no_clip(client: Client, tmp_path: Path) -> None:
    client.files["data/train.parquet"] = b"a gigabyte"
    sources = discover(["hf://datasets/org/name"], listing=True)
    assert [(source.name, Prompts().lookup(source).prompt) for source in sources] == [
        ("data/train.parquet", None),
        ("videos/ltx/B.MP4", "a cat runs"),
        ("videos/wan/a.mp4", "a dog runs"),
    ]
    assert fetched(tmp_path) == {"metadata.jsonl", "B.txt"}
    (one,) = discover(["hf://datasets/org/name/videos/wan/a.mp4"], listing=True)
    assert (one.name, Prompts().lookup(one).prompt) == ("a.mp4", "a dog runs")
    with pytest.raises(SetupError, match="no clip, metadata or Parquet file there"):
        discover(["hf://datasets/org/name/nowhere"], listing=True)
    assert not any(path.suffix.lower() == ".mp4" for path in (tmp_path / "hub").rglob("*"))


@pytest.mark.parametrize(
    ("address", "revision", "names"),
    [
        ("hf://datasets/org/name@v1.0", "v1.0", ["videos/ltx/B.MP4", "videos/wan/a.mp4"]),
        (
            "hf://datasets/org/name@refs/convert/parquet",
            "refs/convert/parquet",
            ["videos/ltx/B.MP4", "videos/wan/a.mp4"],
        ),
        ("hf://datasets/org/name@refs%2Fpr%2F3/videos", "refs/pr/3", ["ltx/B.MP4", "wan/a.mp4"]),
        ("hf://datasets/org/name/videos/wan", None, ["a.mp4"]),
        ("hf://datasets/org/name/videos/wan/", None, ["a.mp4"]),
        ("hf://datasets/org/name/videos/wan/a.mp4", None, ["a.mp4"]),
    ],
)
def test_revisions_and_paths(client: Client, address: str, revision: str | None, names: list[str]) -> None:
    sources = discover([address])
    assert [source.name for source in sources] == names
    assert client.asked[0]["revision"] == revision
    told = next(source for source in sources if source.path.name == "a.mp4")
    assert Prompts().lookup(told).prompt == "a dog runs"  # the list lies above what was asked for


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("hf://org/name", r"hf:/*org/name: expected hf://datasets/ORG/NAME"),
        ("hf://datasets/name", "expected hf://datasets/ORG/NAME"),
        ("hf://datasets/org/name/../../other", r"leads out"),
        ("hf://datasets/org/name/nowhere", "hf://datasets/org/name/nowhere: no clip, metadata or Parquet file there"),
    ],
)
def test_addresses_that_are_none(client: Client, address: str, said: str) -> None:
    with pytest.raises(SetupError, match=said):
        discover([Path(address)])


def test_what_the_hub_refuses_is_said_in_a_line(client: Client) -> None:
    class RepositoryNotFoundError(Exception):
        pass

    client.error = RepositoryNotFoundError("401\nClient Error")
    with pytest.raises(SetupError, match=r"Cannot fetch hf://datasets/org/name: .*HF_TOKEN"):
        discover(["hf://datasets/org/name"])
    client.error = ConnectionError("no\nroute " + "x" * 2000)
    with pytest.raises(SetupError, match="no route") as caught:
        discover(["hf://datasets/org/name"])
    assert len(str(caught.value)) < 400


def test_without_the_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(SetupError, match=r"pip install .*\[hf\]"):
        discover(["hf://datasets/org/name"])


def test_a_folder_of_that_name_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_on_hub("hf:/datasets/org/name")
    (tmp_path / "hf:" / "datasets").mkdir(parents=True)
    (tmp_path / "hf:" / "datasets" / "a.mp4").write_bytes(b"x")
    assert [source.name for source in discover(["hf:/datasets"])] == ["a.mp4"]


@contextmanager
def hub_with(files: dict[str, bytes]) -> Iterator[tuple[str, list[str]]]:
    """A server that answers as the Hub does for a data set; its address, and the paths it was asked for."""
    asked: list[str] = []
    info = {"_id": "0", "id": "org/name", "sha": REVISION, "private": False, "gated": False, "downloads": 0, "likes": 0}
    info |= {"disabled": False, "tags": [], "siblings": [{"rfilename": name} for name in files]}
    tree = [
        {"type": "file", "path": name, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}  # noqa: S324
        for name, content in files.items()
    ]

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            path = unquote(self.path.partition("?")[0])
            asked.append(path)
            name = path.removeprefix(f"/datasets/org/name/resolve/{REVISION}/")
            if path.startswith("/api/datasets/org/name"):
                self.answer(json.dumps(tree if "/tree/" in path else info).encode())
            elif name in files:
                self.answer(files[name], ETag=f'"{hashlib.sha256(files[name]).hexdigest()}"')
            else:
                self.answer(b"", 404, **{"X-Error-Code": "RepoNotFound"})

        do_HEAD = do_GET  # noqa: N815

        def answer(self, body: bytes, status: int = 200, **headers: str) -> None:
            self.send_response(status)
            for key, value in {**headers, "X-Repo-Commit": REVISION, "Content-Length": str(len(body))}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.slow
def test_the_real_client_brings_a_data_set_from_the_endpoint_named(tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    code = (
        "import sys\n"
        "from vmmetrics.errors import SetupError\n"
        "from vmmetrics.video import Prompts, discover, read_clip\n"
        "for source in discover(['hf://datasets/org/name']):\n"
        "    print(source.name, Prompts().lookup(source).prompt, len(read_clip(source.path)))\n"
        "try:\n"
        "    discover(['hf://datasets/org/other'])\n"
        "except SetupError as error:\n"
        "    print(error)\n"
    )
    with hub_with(files_of_a_data_set(tmp_path)) as (address, asked):
        environment = {**os.environ, "HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "0"}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == [
            "videos/ltx/B.MP4 a cat runs 3",
            "videos/wan/a.mp4 a dog runs 3",
            "Cannot fetch hf://datasets/org/other: there is no such data set, or it needs a login: hf auth login, "
            "or set HF_TOKEN",
        ]
        assert not any(name.endswith((".py", ".safetensors", ".md")) for name in asked)
        there = len(asked)
        offline = {**environment, "HF_HUB_OFFLINE": "1"}
        again = subprocess.run(
            [sys.executable, "-c", code], env=offline, capture_output=True, text=True, timeout=60, check=False
        )
        assert again.stdout.splitlines()[:2] == done.stdout.splitlines()[:2]
        assert len(asked) == there


@pytest.mark.slow
def test_a_dry_run_asks_the_hub_for_no_clip(tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    command = [sys.executable, "-m", "vmmetrics", "score", "hf://datasets/org/name", "--dry-run", "--metrics", "mss"]
    with hub_with(files_of_a_data_set(tmp_path)) as (address, asked):
        environment = {**os.environ, "HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "0"}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path
        )
        assert "2 clips" in done.stdout, done.stderr
        assert "a dog runs" in done.stdout and "a cat runs" in done.stdout
        assert not any(name.lower().endswith(".mp4") for name in asked)
