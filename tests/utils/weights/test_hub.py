"""huggingface_hub against a hub of our own on loopback."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from small_checkpoints import BODY, Heard, Publish, file, safetensors
from weights_server import Server

from vmmetrics.errors import SetupError
from vmmetrics.utils.weights.fetch import fetch
from vmmetrics.utils.weights.folder import resolve

pytest.importorskip("huggingface_hub")

FILES = {
    "config.json": b'{"a": 1}',
    "m-1-of-2.safetensors": safetensors(100),
    "m-2-of-2.safetensors": safetensors(3000),
    "m.safetensors.index.json": b'{"weight_map": {"x": "m-1-of-2.safetensors", "y": "m-2-of-2.safetensors"}}',
    "modeling_remote.py": b"raise SystemExit('remote code')",
    "../evil.json": b"{}",
}


@pytest.fixture
def hub(server: Server, home: Path, publish: Publish, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    publish("many", file("config.json"), file("*-of-*"), file("*.index.json"), hub="org/repo", revision="abc")
    server.put_repository("org/repo", "abc", FILES)
    return server


def test_the_files_that_belong_to_it_and_no_others(hub: Server, home: Path, heard: Heard) -> None:
    fetch(["many"], heard.listener)
    folder = resolve(["many"])["many"]
    there = {p.name for p in folder.iterdir()}
    assert there >= {name for name in FILES if name.startswith(("config", "m-", "m."))}
    assert "modeling_remote.py" not in there
    assert not list(home.rglob("evil.json"))
    assert all((folder / name).read_bytes() == FILES[name] for name in FILES if (folder / name).is_file())


def test_it_goes_on_with_what_has_come(hub: Server, home: Path, heard: Heard) -> None:
    big = "/org/repo/resolve/" + "c" * 40 + "/m-2-of-2.safetensors"
    hub.files[big].cuts = [1000, 0, 0, 0, 0, 0]
    with pytest.raises(SetupError, match="1000 bytes are in"):
        fetch(["many"], heard.listener)
    with pytest.raises(SetupError, match=r"m-2-of-2\.safetensors not found"):
        resolve(["many"])["many"]
    fetch(["many"], heard.listener)
    assert hub.ranges(big)[-1] == "bytes=1000-"
    assert resolve(["many"])["many"].is_dir()


def test_a_hub_that_serves_other_bytes_than_it_lists(hub: Server, home: Path, heard: Heard) -> None:
    path = "/org/repo/resolve/" + "c" * 40 + "/m-2-of-2.safetensors"
    body = bytearray(hub.files[path].body)
    body[-1] ^= 1
    hub.files[path].body = bytes(body)
    with pytest.raises(SetupError, match="announced"):
        fetch(["many"], heard.listener)


def test_a_file_that_the_repository_lacks(hub: Server, publish: Publish, heard: Heard) -> None:
    publish("more", file("a.bin", BODY), hub="org/repo", revision="abc")
    with pytest.raises(SetupError, match=r"org/repo@abc has no file a\.bin"):
        fetch(["more"], heard.listener)


def test_a_repository_that_is_not_there(hub: Server, publish: Publish, heard: Heard) -> None:
    publish("none", file("a.bin"), hub="org/none")
    with pytest.raises(SetupError, match=r"org/none@main: cannot be listed on http://127"):
        fetch(["none"], heard.listener)


def test_a_token_goes_to_the_hub(hub: Server, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    fetch(["many"], heard.listener)
    assert all(asked.headers.get("authorization") == "Bearer hf_secret" for asked in hub.asked)


@pytest.mark.parametrize(
    "listing", [b"[" * 1_000_000, b"{}", b'{"siblings": [3]}', b'{"siblings": [{"rfilename": 3}]}', b"\x1b]0;PWN\x07"]
)
def test_a_listing_of_the_hub_that_is_none(hub: Server, home: Path, heard: Heard, listing: bytes) -> None:
    hub.put("/api/models/org/repo/revision/abc", listing)
    with pytest.raises(SetupError, match=r"not a listing|has no file") as caught:
        fetch(["many"], heard.listener)
    assert str(caught.value).isprintable()


def test_a_hub_that_drips_its_listing(hub: Server, home: Path, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmmetrics.utils.weights.download.TIMEOUT", 0.3)

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        for _ in range(100):
            handler.wfile.write(b" ")
            threading.Event().wait(0.05)

    hub.put("/api/models/org/repo/revision/abc", b"", instead=drip)
    with pytest.raises(SetupError, match=r"not complete after 0\.3 s"):
        fetch(["many"], heard.listener)
